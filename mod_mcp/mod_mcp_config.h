/* SPDX-License-Identifier: Apache-2.0 */

/* Sections, what they inherit, and the endpoints that they make. */

#ifndef MOD_MCP_CONFIG_H
#define MOD_MCP_CONFIG_H

#include "mod_mcp.h"

#include "ap_expr.h"

#include "mcp_cluster_conf.h"
#include "mcp_setup.h"
#include "mcp_worker.h"

#define MOD_MCP_HANDLER          "mcp"
#define MOD_MCP_PUBLISH_HANDLER  "mcp-publish"
#define MOD_MCP_STATUS_HANDLER   "mcp-status"
#define MOD_MCP_DETAILS_HANDLER  "mcp-status-details"
#define MOD_MCP_DOCUMENT_HANDLER  "mcp-document"

#define MOD_MCP_MAX_BODY  (1024 * 1024)

/* The whole server's, from the main server's configuration. */
typedef struct {
    apr_size_t store_size;              /* bytes, MCPStore */
    int threads;                        /* job threads, MCPThreads; -1: as
                                           many as ThreadsPerChild */
    apr_interval_time_t hold;           /* MCPHold, 0: no limit */
    mod_mcp_cluster_conf_t *cluster;    /* NULL: none */
    unsigned has_store:1;               /* the directive was given */
    unsigned has_threads:1;
    unsigned has_hold:1;
} mod_mcp_global_t;

/*
 * A section, or all sections that apply to a request, merged.
 *
 * httpd merges sections for every request, and a call outlives its request.
 * So each combination of sections is merged once, and the result is found again
 * afterwards.  It lives as long as the configuration.
 */
struct mod_mcp_dir_t {
    mcp_setup_t *setup;
    ap_expr_info_t *principal;          /* NULL: r->user */
    ap_expr_info_t *link_origin;        /* NULL: from the request */
    int publish_open;                   /* -1: not set */
    int shares_place;                   /* 1 if its server and path are those
                                           of another catalog, too */
    apr_off_t max_body;                 /* bytes; -1: not set */

    mod_mcp_dir_t *add;                 /* merged from its parent and this */
    mod_mcp_dir_t *children;            /* the results of merging into it */
    mod_mcp_dir_t *next;
    mcp_endpoint_t *endpoint;           /* NULL until it is needed */
};

void *mod_mcp_config_create_server(apr_pool_t *p, server_rec *s);
void *mod_mcp_config_merge_server(apr_pool_t *p, void *base, void *add);
void *mod_mcp_config_create_dir(apr_pool_t *p, char *dir);
void *mod_mcp_config_merge_dir(apr_pool_t *p, void *base, void *add);

/* pre_config: begins a configuration, if LoadModule did not. */
int mod_mcp_config_reset(apr_pool_t *pconf);

/* Returns the version of the httpd that runs. */
mcp_str_t mod_mcp_config_version(void);

mod_mcp_global_t *mod_mcp_config_global(server_rec *s);

/* The sections that apply to a request, merged; never NULL. */
mod_mcp_dir_t *mod_mcp_config_dir(request_rec *r);

/*
 * Returns the endpoint that the sections make, or NULL when memory is out.  It
 * lives as long as the configuration.  Any thread may call this.
 */
const mcp_endpoint_t *mod_mcp_config_endpoint(mod_mcp_dir_t *dir,
                                              const mcp_keys_t *keys);

/* Says where the section's catalog stands, in words that the next configuration
 * will have, too.  Returns what mcp_setup_stand() does. */
int mod_mcp_config_stand(mod_mcp_dir_t *dir, const cmd_parms *cmd);

/* Calls add() for the keys of each section, until it returns something else
 * than MCP_OK, and returns what it returned last. */
int mod_mcp_config_keys(int (*add)(void *ctx, const mcp_keys_t *keys),
                        void *ctx);

/* Keeps a directive's warning, which lives as long as the configuration, until
 * the error log is open; returns all of them, as const char *. */
void mod_mcp_config_warn(const char *text);
const apr_array_header_t *mod_mcp_config_warnings(void);

/* Tells the core which configuration this child serves. */
void mod_mcp_config_begin(mcp_worker_t *worker, const mcp_keys_t *keys);

#endif /* MOD_MCP_CONFIG_H */

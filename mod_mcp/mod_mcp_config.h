/* SPDX-License-Identifier: Apache-2.0 */

/* Creates and merges the configurations of sections, and creates endpoints. */

#ifndef MOD_MCP_CONFIG_H
#define MOD_MCP_CONFIG_H

#include "mod_mcp.h"

#include "ap_expr.h"

#include "mcp_cluster_conf.h"
#include "mcp_setup_directive.h"
#include "mcp_worker.h"

#define MOD_MCP_HANDLER          "mcp"
#define MOD_MCP_PUBLISH_HANDLER  "mcp-publish"
#define MOD_MCP_STATUS_HANDLER   "mcp-status"
#define MOD_MCP_DETAILS_HANDLER  "mcp-status-details"
#define MOD_MCP_DOCUMENT_HANDLER  "mcp-document"

#define MOD_MCP_MAX_BODY  (1024 * 1024)

/* Settings of the whole server, from the main server's configuration. */
typedef struct {
    apr_size_t store_size;              /* bytes, MCPStore */
    int threads;                        /* backend threads, MCPThreads; -1: as
                                           many as ThreadsPerChild, at least
                                           4 */
    apr_interval_time_t hold;           /* MCPHold, microseconds; 0: no
                                           limit */
    mod_mcp_cluster_conf_t *cluster;    /* NULL if there is none */
    unsigned has_store:1;               /* 1 if MCPStore is set */
    unsigned has_threads:1;
    unsigned has_hold:1;
} mod_mcp_global_t;

/*
 * A section, or all sections that apply to a request, merged.
 *
 * httpd merges sections for every request, but a call outlives its request.
 * So each combination of sections is merged once, and later requests reuse the
 * result, which lives as long as the configuration.
 */
struct mod_mcp_dir_t {
    mcp_setup_t *setup;
    ap_expr_info_t *principal;          /* MCPPrincipal; NULL: r->user */
    ap_expr_info_t *link_origin;        /* MCPLinkOrigin; NULL: derived from
                                           the request */
    int publish_open;                   /* MCPPublishOpen: 1 on, 0 off, -1 not
                                           set */
    int shares_catalog_key;             /* 1 if another section's catalog has
                                           the same server and path */
    apr_off_t max_body;                 /* MCPMaxBody, bytes; -1: not set */

    mod_mcp_dir_t *add;                 /* if this is the result of a merge: the
                                           section that was merged into the
                                           parent; otherwise NULL */
    mod_mcp_dir_t *children;            /* list of the results of merging other
                                           sections into this one */
    mod_mcp_dir_t *next;
    mcp_endpoint_t *endpoint;           /* endpoint of the merged sections; NULL
                                           until first used */
};

void *mod_mcp_config_create_server(apr_pool_t *p, server_rec *s);
void *mod_mcp_config_merge_server(apr_pool_t *p, void *base, void *add);
void *mod_mcp_config_create_dir(apr_pool_t *p, char *dir);
void *mod_mcp_config_merge_dir(apr_pool_t *p, void *base, void *add);

/*
 * Hook pre_config: begins a new configuration, unless it began when the module
 * was loaded.
 */
int mod_mcp_config_reset(apr_pool_t *pconf);

/* Returns the version of the httpd that runs. */
mcp_str_t mod_mcp_config_version(void);

mod_mcp_global_t *mod_mcp_config_global(server_rec *s);

/* Returns the merged sections that apply to a request; never NULL. */
mod_mcp_dir_t *mod_mcp_config_dir(request_rec *r);

/*
 * Returns the endpoint of the merged sections, or NULL when out of memory.  The
 * endpoint lives as long as the configuration.  Any thread may call this.
 */
const mcp_endpoint_t *mod_mcp_config_endpoint(mod_mcp_dir_t *dir,
                                              const mcp_keys_t *keys);

/*
 * Checks that MCPUpstream and all directives MCPUpstream... have the same
 * values in sections with one path, because an endpoint uses only one of them.
 * Call this when the whole configuration has been read.  Returns OK, or logs an
 * error to the log of s and returns HTTP_INTERNAL_SERVER_ERROR.
 */
int mod_mcp_config_check_upstreams(server_rec *s);

/*
 * Records for mcp_setup_warning() which directives each section itself sets,
 * and which sections are used as backends.
 */
void mod_mcp_config_mark(void);

/*
 * Identifies the section's catalog by its server and path, so that the next
 * configuration finds the same catalog.  Returns the result of
 * mcp_setup_set_catalog_key().
 */
int mod_mcp_config_set_catalog_key(mod_mcp_dir_t *dir, const cmd_parms *cmd);

/*
 * Calls add() for the signing keys of each section, until add() returns a
 * value other than MCP_OK.  Returns the last value of add(), or MCP_OK if
 * there are no keys.
 */
int mod_mcp_config_keys(int (*add)(void *ctx, const mcp_keys_t *keys),
                        void *ctx);

/*
 * _warn() stores a directive's warning until the error log is open; the text
 * must live as long as the configuration. _warnings() returns all stored
 * warnings, as const char *.
 */
void mod_mcp_config_warn(const char *text);
const apr_array_header_t *mod_mcp_config_warnings(void);

/* Passes this child's configuration to the core. */
void mod_mcp_config_begin(mcp_worker_t *worker, const mcp_keys_t *keys);

/* --- mod_mcp_check.c --- */

/*
 * Hook check_config: reports mistakes that can be detected only when the whole
 * configuration has been read.
 */
int mod_mcp_check_config(apr_pool_t *pconf, apr_pool_t *plog,
                         apr_pool_t *ptemp, server_rec *s);

/*
 * Warns about settings of the MPM that leave too few threads for streams or
 * calls.
 */
void mod_mcp_check_mpm(server_rec *s);

#endif /* MOD_MCP_CONFIG_H */

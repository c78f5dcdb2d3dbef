/* SPDX-License-Identifier: Apache-2.0 */

/* Reads the directives of a cluster and completes its configuration. */

#ifndef MOD_MCP_CLUSTER_CONF_H
#define MOD_MCP_CLUSTER_CONF_H

#include "mod_mcp_config.h"

#ifdef MCP_CLUSTER

/* The cluster configuration, which only the main server has. */
struct mod_mcp_cluster_conf_t {
    mcp_mem_t mem;
    mcp_cluster_setup_t *setup;
    const mcp_cluster_conf_t *conf;
    const char *file;                   /* file and line of the first directive
                                           of the cluster */
    int line;
    void *tls;                          /* SSL_CTX, or NULL without TLS */
    apr_array_header_t *endpoints;      /* endpoints that
                                           mod_mcp_cluster_add_endpoint() has
                                           added; NULL: none */
};

const char *mod_mcp_cluster_add(cmd_parms *cmd, void *dir, int argc,
                                char *const argv[]);
const char *mod_mcp_cluster_sync(cmd_parms *cmd, void *dir, const char *text,
                                 const char *replicas);
const char *mod_mcp_cluster_option(cmd_parms *cmd, void *dir,
                                   const char *arg);

/*
 * Hook check_config: checks and completes the cluster's settings as a whole.
 * Returns OK, or an HTTP error after an error in the log.
 */
int mod_mcp_cluster_check(apr_pool_t *pconf, server_rec *s);

/*
 * Returns 1 if an endpoint has a configured key, or if there is no cluster;
 * otherwise 0, after an error in the log. dir may be NULL: the endpoint has no
 * key then.
 */
int mod_mcp_cluster_has_key(server_rec *s, const char *path,
                            const mod_mcp_dir_t *dir);

/*
 * Adds an endpoint.  Returns 1, or 0 after an error in the log, if another
 * endpoint has the same identity, or if MCPClusterEndpoint is set without a
 * cluster.
 */
int mod_mcp_cluster_add_endpoint(apr_pool_t *pconf, server_rec *s,
                                 const char *path, const mod_mcp_dir_t *dir);

/* Calls add() for the identity of each endpoint of the cluster, until add()
 * returns a value other than MCP_OK.  Returns the last value of add(). */
int mod_mcp_cluster_endpoints(const mod_mcp_cluster_conf_t *cluster,
                              int (*add)(void *ctx, mcp_str_t identity),
                              void *ctx);

/* Returns the configuration of the cluster, or NULL if there is none. */
const mod_mcp_cluster_conf_t *mod_mcp_cluster_conf(server_rec *s);

#endif /* MCP_CLUSTER */

#endif /* MOD_MCP_CLUSTER_CONF_H */

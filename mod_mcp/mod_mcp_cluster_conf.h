/* SPDX-License-Identifier: Apache-2.0 */

/* The directives of a cluster, and what results. */

#ifndef MOD_MCP_CLUSTER_CONF_H
#define MOD_MCP_CLUSTER_CONF_H

#include "mod_mcp_config.h"

#ifdef MCP_CLUSTER

/* The main server's. */
struct mod_mcp_cluster_conf_t {
    mcp_mem_t mem;
    mcp_cluster_setup_t *setup;
    const mcp_cluster_conf_t *conf;
    const char *file;                   /* where the first directive stands */
    int line;
    void *tls;                          /* SSL_CTX; NULL: none */
    apr_array_header_t *endpoints;      /* mod_mcp_cluster_add_endpoint() */
};

const char *mod_mcp_cluster_add(cmd_parms *cmd, void *dir, int argc,
                                char *const argv[]);
const char *mod_mcp_cluster_sync(cmd_parms *cmd, void *dir, const char *text,
                                 const char *replicas);
const char *mod_mcp_cluster_option(cmd_parms *cmd, void *dir,
                                   const char *arg);

/* check_config: checks what was said as a whole; OK, or an HTTP error. */
int mod_mcp_cluster_check(apr_pool_t *pconf, server_rec *s);

/* The same for an endpoint, whose sections may be NULL: 1 if it has a key, or
 * needs none as there is no cluster. */
int mod_mcp_cluster_has_key(server_rec *s, const char *path,
                            const mod_mcp_dir_t *dir);

/* Adds an endpoint.  Returns 0, after an error in the log, if another one has
 * the same identity, or if it has MCPClusterEndpoint without a cluster. */
int mod_mcp_cluster_add_endpoint(apr_pool_t *pconf, server_rec *s,
                                 const char *path, const mod_mcp_dir_t *dir);

/* The configuration of the cluster; NULL if there is none. */
const mod_mcp_cluster_conf_t *mod_mcp_cluster_conf(server_rec *s);

#endif /* MCP_CLUSTER */

#endif /* MOD_MCP_CLUSTER_CONF_H */

/* SPDX-License-Identifier: Apache-2.0 */

/* Reads the directives of clusters and completes their configuration. */


#ifndef NGX_HTTP_MCP_CLUSTER_CONF_H_INCLUDED
#define NGX_HTTP_MCP_CLUSTER_CONF_H_INCLUDED


#include "ngx_http_mcp_config.h"


#if (MCP_CLUSTER)


/*
 * A host name of the configuration and its addresses, resolved when the
 * configuration was read.
 */
typedef struct {
    mcp_str_t                  host;
    ngx_addr_t                *addrs;
    ngx_uint_t                 naddrs;
} ngx_http_mcp_cluster_name_t;


struct ngx_http_mcp_cluster_s {
    mcp_cluster_setup_t       *setup;
    const mcp_cluster_conf_t  *conf;
    ngx_str_t                  file;
    ngx_uint_t                 line;

#if (NGX_SSL)
    ngx_ssl_t                  ssl;    /* TLS for Redis; ssl.ctx is NULL without
                                          TLS */
#endif

    /* "resolver" of the http block; if it is NULL, the addresses in "names"
     * are used */
    ngx_resolver_t            *resolver;
    ngx_http_mcp_cluster_name_t  names[MCP_CLUSTER_SEEDS];
    ngx_uint_t                 n_names;

    /* members below: state of this process, see ngx_http_mcp_cluster.c */
    void                      *cluster;  /* mcp_cluster_t; NULL if it could not
                                            be created */
    ngx_queue_t                links;
    /* log of the connections to Redis, without a handler; unless debugging is
     * on, it drops messages below level "alert", because the core logs failures
     * itself */
    ngx_log_t                  log;
};


/* Setters of directives. */
char *ngx_http_mcp_cluster_add(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_http_mcp_cluster_sync(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_mcp_cluster_option(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/*
 * Completes and checks the clusters of all zones, after the whole
 * configuration has been read.  Returns NGX_OK, or NGX_ERROR after an error in
 * the log.
 */
ngx_int_t ngx_http_mcp_cluster_finish(ngx_conf_t *cf);


#endif /* MCP_CLUSTER */


#endif /* NGX_HTTP_MCP_CLUSTER_CONF_H_INCLUDED */

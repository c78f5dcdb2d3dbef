/* SPDX-License-Identifier: Apache-2.0 */

/* The directives of clusters, and what results.  */


#ifndef NGX_HTTP_MCP_CLUSTER_CONF_H_INCLUDED
#define NGX_HTTP_MCP_CLUSTER_CONF_H_INCLUDED


#include "ngx_http_mcp_config.h"


#if (MCP_CLUSTER)


/* A name of the configuration, and what it stood for when that was read.  */
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
    ngx_ssl_t                  ssl;    /* ctx is NULL: no TLS */
#endif

    /* "resolver" of the http block, or what its names stood for */
    ngx_resolver_t            *resolver;
    ngx_http_mcp_cluster_name_t  names[MCP_CLUSTER_SEEDS];
    ngx_uint_t                 n_names;

    /* of this process: ngx_http_mcp_cluster.c */
    void                      *cluster;
    ngx_queue_t                links;
    ngx_log_t                  log;    /* without what the core logs itself */
};


/* Setters.  */
char *ngx_http_mcp_cluster_add(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_http_mcp_cluster_sync(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_mcp_cluster_option(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_mcp_cluster_endpoint(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/* After all of the configuration has been read.  */
ngx_int_t ngx_http_mcp_cluster_finish(ngx_conf_t *cf);


#endif /* MCP_CLUSTER */


#endif /* NGX_HTTP_MCP_CLUSTER_CONF_H_INCLUDED */

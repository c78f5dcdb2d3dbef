/* SPDX-License-Identifier: Apache-2.0 */

/* The configuration: what stands where, and its life.  */


#ifndef NGX_HTTP_MCP_CONFIG_H_INCLUDED
#define NGX_HTTP_MCP_CONFIG_H_INCLUDED


#include "ngx_http_mcp_fastcgi.h"
#include "ngx_http_mcp_zone.h"

#include "mcp_cluster_conf.h"
#include "mcp_setup.h"


typedef struct {
    ngx_array_t           zones;       /* of ngx_http_mcp_zone_t * */
    ngx_array_t           endpoints;   /* of ngx_http_mcp_loc_conf_t * */
    ngx_array_t           variables;   /* of ngx_http_mcp_used_t */
    ngx_array_t           told;        /* those that backends are told */
    ngx_uint_t            has_documents;       /* some server has */
    uint32_t              number;      /* of this configuration, at random */
#if (MCP_CLUSTER)
    mcp_cluster_setup_t  *cluster;     /* of all zones in a cluster; NULL: none
                                          was said */
    ngx_str_t             cluster_file;        /* where the first stands */
    ngx_uint_t            cluster_line;
#endif
} ngx_http_mcp_main_conf_t;


typedef struct {
    mcp_setup_t          *setup;
    ngx_http_complex_value_t  *principal;
    ngx_flag_t            principal_said;      /* even if it is "off" */
    ngx_http_complex_value_t  *link_origin;

    ngx_http_mcp_zone_t  *zone;        /* "mcp" */
    ngx_http_mcp_zone_t  *publish_zone;
    ngx_flag_t            publish_open;
    ngx_http_mcp_zone_t  *status_zone;
    unsigned              status_details:1;
    ngx_http_handler_pt   handler;     /* of one of these three; NULL in other
                                          locations, and in blocks of theirs */

    /* made of the rest by the merge, where "mcp" or "mcp_publish" stands */
    mcp_endpoint_t        endpoint;
    mcp_str_t            *host_names;  /* of "server_name" */
    ngx_uint_t            n_host_names;

    ngx_array_t          *documents;   /* of a server: const mcp_auth_t * */

    unsigned              is_backend:1;        /* some endpoint names it */
    unsigned              guarded:1;   /* see ngx_http_mcp_guard.h */
    ngx_http_mcp_fastcgi_t    *fastcgi;        /* of a backend; or NULL */

    ngx_http_core_srv_conf_t  *cscf;   /* where the endpoint stands */
    ngx_str_t             file;
    ngx_uint_t            line;
} ngx_http_mcp_loc_conf_t;


/* What nginx calls while it reads the configuration; finish: after all of
 * it.  */
void *ngx_http_mcp_config_create_main(ngx_conf_t *cf);
char *ngx_http_mcp_config_init_main(ngx_conf_t *cf, void *conf);
void *ngx_http_mcp_config_create_loc(ngx_conf_t *cf);
char *ngx_http_mcp_config_merge_loc(ngx_conf_t *cf, void *parent, void *child);
ngx_int_t ngx_http_mcp_config_finish(ngx_conf_t *cf);

/* Adds a handler to a phase; in each, those that are added last run first.  */
ngx_int_t ngx_http_mcp_config_add_handler(ngx_conf_t *cf,
    ngx_http_phases phase, ngx_http_handler_pt handler);


#endif /* NGX_HTTP_MCP_CONFIG_H_INCLUDED */

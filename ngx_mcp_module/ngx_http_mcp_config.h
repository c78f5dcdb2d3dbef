/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The module's configuration structures, and the functions that create, merge
 * and complete them.
 */


#ifndef NGX_HTTP_MCP_CONFIG_H_INCLUDED
#define NGX_HTTP_MCP_CONFIG_H_INCLUDED


#include "ngx_http_mcp_zone.h"

#include "mcp_cluster_conf.h"
#include "mcp_setup_directive.h"


typedef struct {
    ngx_array_t           zones;       /* ngx_http_mcp_zone_t *: the zones that
                                          directives define or use */
    ngx_array_t           endpoints;   /* ngx_http_mcp_loc_conf_t *: the
                                          locations with "mcp" */
    /* ngx_http_mcp_loc_conf_t *: locations that set directives of this module,
     * but are not endpoints */
    ngx_array_t           others;
    ngx_array_t           variables;   /* ngx_http_mcp_used_t: the variables
                                          of this module that the
                                          configuration uses */
    ngx_array_t           exported;    /* ngx_http_mcp_used_t: the entries
                                          of "variables" that backends also
                                          get as MCP_* */
    ngx_uint_t            has_documents;       /* 1 if a server has metadata
                                                  documents */
    uint32_t              number;      /* random number, by which the core
                                          distinguishes this configuration
                                          from earlier ones */
#if (MCP_CLUSTER)
    mcp_cluster_setup_t  *cluster;     /* settings for all clusters, such as
                                          "mcp_cluster_sync"; NULL if none is
                                          set */
    ngx_str_t             cluster_file;        /* file and line of the first
                                                  directive in "cluster" */
    ngx_uint_t            cluster_line;
#endif
} ngx_http_mcp_main_conf_t;


typedef struct {
    mcp_setup_t          *setup;
    ngx_http_complex_value_t  *principal;
    ngx_flag_t            principal_set;       /* 1 if "mcp_principal" is
                                                  set, even to "off" */
    ngx_http_complex_value_t  *link_origin;

    ngx_http_mcp_zone_t  *zone;        /* zone of "mcp" */
    ngx_http_mcp_zone_t  *publish_zone;
    ngx_flag_t            publish_open;        /* 1 if "mcp_publish" has the
                                                  parameter "open" */
    ngx_http_mcp_zone_t  *status_zone;
    unsigned              status_details:1;
    /* content handler of "mcp", "mcp_publish" or "mcp_status"; NULL in
     * locations without these directives, and in blocks (such as "if") inside
     * the location */
    ngx_http_handler_pt   handler;

    /* "endpoint" is set when a location with "mcp" or "mcp_publish" is merged,
     * "host_names" also when a location with "mcp_status" is merged */
    mcp_endpoint_t       *endpoint;
    mcp_str_t            *host_names;  /* names of "server_name" */
    ngx_uint_t            n_host_names;

    ngx_array_t          *documents;   /* const mcp_auth_t *; in the
                                          configuration of a server: its
                                          metadata documents */

    void                 *outer;       /* ngx_http_mcp_loc_conf_t of the
                                          enclosing block or server */
    unsigned              is_backend:1;        /* 1 if an endpoint uses this
                                                  location as a backend */
    unsigned              has_inner:1; /* 1 if a location inside this one has a
                                          content handler of this module */
    unsigned              error_headers:1; /* 1 if error responses that do not
                                              come from the core get CORS
                                              headers or authentication
                                              challenges */

    ngx_http_core_srv_conf_t  *cscf;   /* server of the endpoint */
    ngx_str_t             name;        /* name of the location if it is in
                                          mmcf->others */
    ngx_str_t             file;        /* file and line of "mcp",
                                          "mcp_publish" or "mcp_status" */
    ngx_uint_t            line;
} ngx_http_mcp_loc_conf_t;


/*
 * Callbacks of nginx for reading the configuration.
 * ngx_http_mcp_config_finish() runs after the whole configuration has been
 * read.
 */
void *ngx_http_mcp_config_create_main(ngx_conf_t *cf);
char *ngx_http_mcp_config_init_main(ngx_conf_t *cf, void *conf);
void *ngx_http_mcp_config_create_loc(ngx_conf_t *cf);
char *ngx_http_mcp_config_merge_loc(ngx_conf_t *cf, void *parent, void *child);
ngx_int_t ngx_http_mcp_config_finish(ngx_conf_t *cf);

/*
 * Adds a handler to a phase.  Handlers of a phase run in reverse order of
 * their addition.
 */
ngx_int_t ngx_http_mcp_config_add_handler(ngx_conf_t *cf,
    ngx_http_phases phase, ngx_http_handler_pt handler);


#endif /* NGX_HTTP_MCP_CONFIG_H_INCLUDED */

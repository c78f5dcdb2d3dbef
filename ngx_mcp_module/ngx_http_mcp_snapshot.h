/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The data of a client's request that backend requests need after the client's
 * request has been freed.
 */


#ifndef NGX_HTTP_MCP_SNAPSHOT_H_INCLUDED
#define NGX_HTTP_MCP_SNAPSHOT_H_INCLUDED


#include "ngx_http_mcp_module.h"


/* A header line of the client's request. */
typedef struct {
    ngx_table_elt_t              elt;
    ngx_http_header_t           *header;   /* the entry for this name in
                                              nginx's table of known headers;
                                              NULL if there is none */
} ngx_http_mcp_line_t;


/* A variable of nginx, and its value in the client's request. */
typedef struct {
    ngx_uint_t                   index;
    ngx_http_variable_value_t    value;
} ngx_http_mcp_frozen_t;


/* A snapshot is one allocation: strings and addresses follow the
 * structures. */
typedef struct {
    ngx_uint_t                   refs;     /* number of references: one for the
                                              call, one for each backend
                                              request */
    const mcp_mem_t             *mem;      /* allocator with which the snapshot
                                              is freed */

    ngx_http_addr_conf_t        *addr_conf;
    ngx_http_conf_ctx_t         *conf_ctx;
    void                       **main_conf;
    void                       **srv_conf;
    void                       **loc_conf;
    ngx_listening_t             *listening;
    ngx_log_t                    log;      /* copy of the client's log without
                                              its handler, which is in
                                              log_handler */
    ngx_log_handler_pt           log_handler;

    struct sockaddr             *sockaddr;
    socklen_t                    socklen;
    struct sockaddr             *local_sockaddr;
    socklen_t                    local_socklen;

    ngx_str_t                    addr_text;
    ngx_str_t                    server;   /* server name as nginx has
                                              normalized it */
    ngx_str_t                    host;     /* header Host as the client sent
                                              it; empty if missing */
    ngx_str_t                    request_line;
    ngx_str_t                    unparsed_uri;
    ngx_str_t                    uri;
    ngx_str_t                    args;

    ngx_http_mcp_line_t         *lines;
    ngx_uint_t                   nlines;
    ngx_http_mcp_frozen_t       *frozen;
    ngx_uint_t                   nfrozen;
} ngx_http_mcp_snapshot_t;


/*
 * Copies the data of a client's request.  The caller owns one reference.
 * Returns NULL if out of memory, or if the local address is unavailable.
 */
ngx_http_mcp_snapshot_t *ngx_http_mcp_snapshot_create(ngx_http_request_t *r);

/* Returns 1 if the nginx variable with this index identifies the user of the
 * client. "r" needs its main_conf. */
ngx_uint_t ngx_http_mcp_snapshot_is_user(ngx_http_request_t *r,
    ngx_uint_t index);

/* Drops one reference. snapshot may be NULL. */
void ngx_http_mcp_snapshot_release(ngx_http_mcp_snapshot_t *snapshot);


#endif /* NGX_HTTP_MCP_SNAPSHOT_H_INCLUDED */

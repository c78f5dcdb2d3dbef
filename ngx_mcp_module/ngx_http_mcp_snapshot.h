/* SPDX-License-Identifier: Apache-2.0 */

/* What a call keeps of the client's request.  */


#ifndef NGX_HTTP_MCP_SNAPSHOT_H_INCLUDED
#define NGX_HTTP_MCP_SNAPSHOT_H_INCLUDED


#include "ngx_http_mcp_module.h"


typedef struct {
    ngx_table_elt_t              elt;
    ngx_http_header_t           *header;   /* NULL: not known to nginx */
} ngx_http_mcp_line_t;


typedef struct {
    ngx_uint_t                   index;
    ngx_http_variable_value_t    value;
} ngx_http_mcp_frozen_t;


/* One allocation: the strings and addresses stand behind the structures.  */
typedef struct {
    ngx_uint_t                   refs;     /* the call's and invocations' */
    const mcp_mem_t             *mem;      /* where it lies */

    ngx_http_addr_conf_t        *addr_conf;
    ngx_http_conf_ctx_t         *conf_ctx;
    void                       **main_conf;
    void                       **srv_conf;
    void                       **loc_conf;
    ngx_listening_t             *listening;
    ngx_log_t                    log;      /* without the handler */
    ngx_log_handler_pt           log_handler;

    struct sockaddr             *sockaddr;
    socklen_t                    socklen;
    struct sockaddr             *local_sockaddr;
    socklen_t                    local_socklen;

    ngx_str_t                    addr_text;
    ngx_str_t                    server;   /* normalized */
    ngx_str_t                    host;     /* as sent, if at all */
    ngx_str_t                    request_line;
    ngx_str_t                    unparsed_uri;
    ngx_str_t                    uri;
    ngx_str_t                    args;

    ngx_http_mcp_line_t         *lines;
    ngx_uint_t                   nlines;
    ngx_http_mcp_frozen_t       *frozen;
    ngx_uint_t                   nfrozen;
} ngx_http_mcp_snapshot_t;


/* Copies what is needed of a client's request.  The caller has one reference;
 * NULL: no memory, or no local address.  */
ngx_http_mcp_snapshot_t *ngx_http_mcp_snapshot_create(ngx_http_request_t *r);

/* Gives one reference back; the snapshot may be NULL. */
void ngx_http_mcp_snapshot_release(ngx_http_mcp_snapshot_t *snapshot);


#endif /* NGX_HTTP_MCP_SNAPSHOT_H_INCLUDED */

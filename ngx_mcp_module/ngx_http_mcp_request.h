/* SPDX-License-Identifier: Apache-2.0 */

/* The request in a backend's location.  */


#ifndef NGX_HTTP_MCP_REQUEST_H_INCLUDED
#define NGX_HTTP_MCP_REQUEST_H_INCLUDED


#include "ngx_http_mcp_call.h"


/* What all of them have in common.  */
void ngx_http_mcp_request_init_process(void);

/*
 * Makes the request of an invocation on its connection.  end: the handler of
 * its clean-up, called with the invocation.
 *
 * NULL: no memory, or a header that nginx refuses.  c->destroyed tells then
 * whether the connection is gone, and the clean-up was called.
 */
ngx_http_request_t *ngx_http_mcp_request_create(ngx_connection_t *c,
    ngx_http_mcp_invocation_t *inv, ngx_http_cleanup_pt end);


#endif /* NGX_HTTP_MCP_REQUEST_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* Requests in the locations of backends. */


#ifndef NGX_HTTP_MCP_REQUEST_H_INCLUDED
#define NGX_HTTP_MCP_REQUEST_H_INCLUDED


#include "ngx_http_mcp_call.h"


/* Initializes the strings that all requests to backends share. */
void ngx_http_mcp_request_init_process(void);

/*
 * Creates a request for a backend on its connection c. end() is the handler of
 * the request's clean-up; its argument is req.
 *
 * Returns NULL if out of memory, or if nginx rejects a header line.  If
 * c->destroyed is then 1, the connection has been closed and end() has run; if
 * it is 0, the caller must close the connection and end the backend request.
 */
ngx_http_request_t *ngx_http_mcp_request_create(ngx_connection_t *c,
    ngx_http_mcp_backend_request_t *req, ngx_http_cleanup_pt end);


#endif /* NGX_HTTP_MCP_REQUEST_H_INCLUDED */

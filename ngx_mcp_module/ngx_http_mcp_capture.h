/* SPDX-License-Identifier: Apache-2.0 */

/* Output filters that capture a backend's response. */


#ifndef NGX_HTTP_MCP_CAPTURE_H_INCLUDED
#define NGX_HTTP_MCP_CAPTURE_H_INCLUDED


#include "ngx_http_mcp_call.h"


void ngx_http_mcp_capture_init(void);

/*
 * Passes req->out to the core: the output that the core has not taken yet.
 *
 * Returns
 *   NGX_OK     the core has taken all; the connection is writable again
 *   NGX_AGAIN  the core still has no room for the rest
 *   NGX_ERROR  the response cannot be read
 */
ngx_int_t ngx_http_mcp_capture_unpark(ngx_http_mcp_backend_request_t *req);


#endif /* NGX_HTTP_MCP_CAPTURE_H_INCLUDED */

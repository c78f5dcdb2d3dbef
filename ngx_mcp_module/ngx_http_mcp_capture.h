/* SPDX-License-Identifier: Apache-2.0 */

/* The filter that catches a backend's answer.  */


#ifndef NGX_HTTP_MCP_CAPTURE_H_INCLUDED
#define NGX_HTTP_MCP_CAPTURE_H_INCLUDED


#include "ngx_http_mcp_call.h"


void ngx_http_mcp_capture_init(void);

/*
 * Offers the core what it has not taken.
 *
 * Returns NGX_OK if all is taken, and the connection can be written to again,
 *   or
 *   NGX_AGAIN  the core has still no room
 *   NGX_ERROR  the answer cannot be read
 */
ngx_int_t ngx_http_mcp_capture_unpark(ngx_http_mcp_invocation_t *inv);


#endif /* NGX_HTTP_MCP_CAPTURE_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* The handler of "mcp_status": state and counters of a zone. */


#ifndef NGX_HTTP_MCP_STATUS_H_INCLUDED
#define NGX_HTTP_MCP_STATUS_H_INCLUDED


#include "ngx_http_mcp_module.h"


ngx_int_t ngx_http_mcp_status_handler(ngx_http_request_t *r);


#endif /* NGX_HTTP_MCP_STATUS_H_INCLUDED */

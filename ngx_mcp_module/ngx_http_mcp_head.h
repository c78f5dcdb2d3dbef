/* SPDX-License-Identifier: Apache-2.0 */

/* A client request's head, as the core wants it.  */


#ifndef NGX_HTTP_MCP_HEAD_H_INCLUDED
#define NGX_HTTP_MCP_HEAD_H_INCLUDED


#include "ngx_http_mcp_config.h"

#include "mcp_exchange.h"


/* Makes the header lines of *head, which live as long as the request.  */
ngx_int_t ngx_http_mcp_head_lines(ngx_http_request_t *r, mcp_head_t *head);

/* Makes so much of *head as its Origin is judged by.  What that refers to lives
 * as long as the request; mlcf: of the endpoint.  */
ngx_int_t ngx_http_mcp_head_origin(ngx_http_request_t *r,
    ngx_http_mcp_loc_conf_t *mlcf, mcp_head_t *head);

/* What *head refers to lives as long as the request.  */
ngx_int_t ngx_http_mcp_head_make(ngx_http_request_t *r, mcp_head_t *head);


#endif /* NGX_HTTP_MCP_HEAD_H_INCLUDED */

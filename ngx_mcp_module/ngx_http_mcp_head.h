/* SPDX-License-Identifier: Apache-2.0 */

/* Converts a client request's head into the core's mcp_head_t. */


#ifndef NGX_HTTP_MCP_HEAD_H_INCLUDED
#define NGX_HTTP_MCP_HEAD_H_INCLUDED


#include "ngx_http_mcp_config.h"

#include "mcp_exchange.h"


/* Sets the header lines of *head.  The lines live as long as the request.
 * Returns NGX_OK or NGX_ERROR. */
ngx_int_t ngx_http_mcp_head_lines(ngx_http_request_t *r, mcp_head_t *head);

/*
 * Sets the members of *head that the check of Origin needs: header lines,
 * method, target, server names and connection.  Referenced data lives as long
 * as the request. mlcf is the endpoint's location.
 */
ngx_int_t ngx_http_mcp_head_origin(ngx_http_request_t *r,
    ngx_http_mcp_loc_conf_t *mlcf, mcp_head_t *head);

/* Sets all members of *head.  Referenced data lives as long as the request. */
ngx_int_t ngx_http_mcp_head_make(ngx_http_request_t *r, mcp_head_t *head);


#endif /* NGX_HTTP_MCP_HEAD_H_INCLUDED */

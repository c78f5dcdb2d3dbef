/* SPDX-License-Identifier: Apache-2.0 */

/* A client that reads a stream.  */


#ifndef NGX_HTTP_MCP_STREAM_H_INCLUDED
#define NGX_HTTP_MCP_STREAM_H_INCLUDED


#include "ngx_http_mcp_handler.h"


/* STREAM and PULL.  The request may be freed when they return, but only by its
 * posted requests.  */
void ngx_http_mcp_stream_start(ngx_http_mcp_ctx_t *ctx);
void ngx_http_mcp_stream_pull(ngx_http_mcp_ctx_t *ctx);

/* Frees the stream's buffers, also those that filters have not consumed.  */
void ngx_http_mcp_stream_destroy(ngx_http_mcp_ctx_t *ctx);


#endif /* NGX_HTTP_MCP_STREAM_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* Sends a stream to a client. */


#ifndef NGX_HTTP_MCP_STREAM_H_INCLUDED
#define NGX_HTTP_MCP_STREAM_H_INCLUDED


#include "ngx_http_mcp_handler.h"


/*
 * Carry out the actions STREAM and PULL.  Both may finalize the request, so
 * the caller must not use the request afterwards.
 */
void ngx_http_mcp_stream_start(ngx_http_mcp_ctx_t *ctx);
void ngx_http_mcp_stream_pull(ngx_http_mcp_ctx_t *ctx);

/*
 * Frees the stream's buffers, including those that filters have not consumed.
 */
void ngx_http_mcp_stream_destroy(ngx_http_mcp_ctx_t *ctx);


#endif /* NGX_HTTP_MCP_STREAM_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* Connections without a socket, on which backend requests run.  */


#ifndef NGX_HTTP_MCP_CONNECTION_H_INCLUDED
#define NGX_HTTP_MCP_CONNECTION_H_INCLUDED


#include "ngx_http_mcp_snapshot.h"


ngx_int_t ngx_http_mcp_connection_init_process(ngx_cycle_t *cycle);

/*
 * A connection that is always ready for writing and never for reading; it has
 * the addresses of the client's.  Events are for the request in c->data.  The
 * pool is not freed on failure.
 */
ngx_connection_t *ngx_http_mcp_connection_create(ngx_pool_t *pool,
    ngx_log_t *log, ngx_http_mcp_snapshot_t *snapshot);

/* A bare one: for its events, or its place in the cycle.  */
ngx_connection_t *ngx_http_mcp_connection_dummy(ngx_log_t *log);

/* Drops what is sent.  It marks these connections: everything else in them may
 * be found in others, too.  */
ngx_chain_t *ngx_http_mcp_connection_send_chain(ngx_connection_t *c,
    ngx_chain_t *in, off_t limit);


static ngx_inline ngx_uint_t
ngx_http_mcp_connection_is_ours(ngx_connection_t *c)
{
    return c->send_chain == ngx_http_mcp_connection_send_chain;
}


#endif /* NGX_HTTP_MCP_CONNECTION_H_INCLUDED */

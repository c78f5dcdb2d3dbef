/* SPDX-License-Identifier: Apache-2.0 */

/* Connections without a socket, for requests to backends. */


#ifndef NGX_HTTP_MCP_CONNECTION_H_INCLUDED
#define NGX_HTTP_MCP_CONNECTION_H_INCLUDED


#include "ngx_http_mcp_snapshot.h"


ngx_int_t ngx_http_mcp_connection_init_process(ngx_cycle_t *cycle);

/*
 * Creates a connection with the addresses of the client's connection.  It is
 * always writable and never readable.  Its events go to the request in
 * c->data. Returns NULL on failure; the caller still owns the pool.
 */
ngx_connection_t *ngx_http_mcp_connection_create(ngx_pool_t *pool,
    ngx_log_t *log, ngx_http_mcp_snapshot_t *snapshot);

/*
 * Takes one of the cycle's connections, for an object that needs the events of
 * a connection, but no I/O.  The connection has no pool.  Returns NULL if no
 * connection is free.
 */
ngx_connection_t *ngx_http_mcp_connection_dummy(ngx_log_t *log);

/*
 * c->send_chain of the connections that ngx_http_mcp_connection_create()
 * creates: discards all output and reports it as sent.  These connections are
 * recognized by the address of this function, because no other member of
 * ngx_connection_t identifies them reliably.
 */
ngx_chain_t *ngx_http_mcp_connection_send_chain(ngx_connection_t *c,
    ngx_chain_t *in, off_t limit);


static ngx_inline ngx_uint_t
ngx_http_mcp_connection_is_ours(ngx_connection_t *c)
{
    return c->send_chain == ngx_http_mcp_connection_send_chain;
}


#endif /* NGX_HTTP_MCP_CONNECTION_H_INCLUDED */

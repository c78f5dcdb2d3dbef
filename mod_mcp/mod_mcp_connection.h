/* SPDX-License-Identifier: Apache-2.0 */

/* Serves a client on the thread of its request, and suspends its connection. */

#ifndef MOD_MCP_CONNECTION_H
#define MOD_MCP_CONNECTION_H

#include "mod_mcp.h"

/*
 * Serves the client on the current thread.  Returns OK when the response is
 * complete or the client has disconnected, and SUSPENDED when the client needs
 * no thread any more.  Called under mod_mcp_lock(), and releases the lock.
 */
int mod_mcp_connection_attend(mod_mcp_client_t *client);

/*
 * Begins to send the response if todo contains MOD_MCP_RESPOND and nothing was
 * sent before.  Called under mod_mcp_lock().
 */
void mod_mcp_connection_begin(mod_mcp_client_t *client, unsigned todo);

/* If mod_mcp_connection_begin() has begun a response, sends the rest of it.
 * Otherwise begins a stream if "todo" contains MOD_MCP_STREAM, and sends the
 * available bytes of the client's stream.  Waits for the socket. */
void mod_mcp_connection_serve(mod_mcp_client_t *client, unsigned todo);

/* Returns 1 if the client's connection can be suspended. */
int mod_mcp_connection_can_suspend(mod_mcp_client_t *client);

/*
 * Returns 1 if the event loop may write to the client while the client's
 * thread runs a backend request.
 */
int mod_mcp_connection_can_lend(mod_mcp_client_t *client);

/*
 * Adds "Connection: close" to the response.  Called if the server will close
 * the connection after the response, because no thread will read the next
 * request: the connection is suspended, or its thread runs a backend request.
 */
void mod_mcp_connection_announce_close(mod_mcp_client_t *client);

/* Hook suspend_connection: the MPM has released the connection. */
void mod_mcp_connection_suspended(conn_rec *c, request_rec *r);

/* --- mod_mcp_handler.c --- */

int mod_mcp_handler(request_rec *r);

/* --- mod_mcp_body.c --- */

/*
 * Stores the Content-Length in client->expected, and gets memory for a small
 * body from the exchange.  Called under mod_mcp_lock(), after the head was
 * passed to the core.
 */
void mod_mcp_body_expect(mod_mcp_client_t *client);

/*
 * Reads the body into the exchange and lets the core parse it.  Sets *length
 * to the length of the body, bytes.  Calls mod_mcp_lock() only to get memory.
 * Returns OK, or an HTTP status.
 */
int mod_mcp_body_read(mod_mcp_client_t *client, mod_mcp_dir_t *dir,
                      apr_size_t *length);

#endif /* MOD_MCP_CONNECTION_H */

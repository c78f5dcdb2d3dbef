/* SPDX-License-Identifier: Apache-2.0 */

/* The thread of a client, and suspension of its connection. */

#ifndef MOD_MCP_CONNECTION_H
#define MOD_MCP_CONNECTION_H

#include "mod_mcp.h"

/* Serves the client until its response is over (OK) or needs no thread
 * (SUSPENDED).  Called under the lock, which it releases. */
int mod_mcp_connection_attend(mod_mcp_client_t *client);

/* Under the lock: begins the response, if there is one. */
void mod_mcp_connection_begin(mod_mcp_client_t *client, unsigned todo);

/* Sends the response that has begun, or the stream. */
void mod_mcp_connection_serve(mod_mcp_client_t *client, unsigned todo);

/* 1 if the connection can go on without a thread. */
int mod_mcp_connection_can_suspend(mod_mcp_client_t *client);

/* 1 if the pump may send while the client's thread runs a backend call. */
int mod_mcp_connection_can_lend(mod_mcp_client_t *client);

/* Says in the head of a response that the connection takes no more requests. */
void mod_mcp_connection_announce_close(mod_mcp_client_t *client);

/* suspend_connection: the MPM lets go of the connection. */
void mod_mcp_connection_suspended(conn_rec *c, request_rec *r);

#endif /* MOD_MCP_CONNECTION_H */

/* SPDX-License-Identifier: Apache-2.0 */

/* The event MPM's data of a connection. */

#ifndef MOD_MCP_EVENT_H
#define MOD_MCP_EVENT_H

#include "mod_mcp.h"

void mod_mcp_event_init(void);

/* Gives an internal connection the MPM's data that the MPM expects in every
 * connection. */
void mod_mcp_event_pretend(conn_rec *c);

/*
 * For the hook suspend_connection: returns the MPM's data of the connection,
 * or NULL if its layout is not the expected one.
 */
const mod_mcp_event_t *mod_mcp_event_data(conn_rec *c, request_rec *r);

/*
 * Returns 1 if the thread that suspended the connection at time "since"
 * (mod_mcp_now()) does not use the connection any more.
 */
int mod_mcp_event_has_left(const conn_rec *c, const mod_mcp_event_t *data,
                           apr_time_t since);

#endif /* MOD_MCP_EVENT_H */

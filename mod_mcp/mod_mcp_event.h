/* SPDX-License-Identifier: Apache-2.0 */

/* The event MPM's own data of a connection. */

#ifndef MOD_MCP_EVENT_H
#define MOD_MCP_EVENT_H

#include "mod_mcp.h"

void mod_mcp_event_init(void);

/* Gives a connection of ours the data that the MPM looks for. */
void mod_mcp_event_pretend(conn_rec *c);

/* For the hook suspend_connection: the MPM's data of the connection, or NULL if
 * it does not look as expected. */
const mod_mcp_event_t *mod_mcp_event_part(conn_rec *c, request_rec *r);

/* 1 if the thread that suspended the connection at that time will not touch it
 * any more. */
int mod_mcp_event_has_left(const conn_rec *c, const mod_mcp_event_t *part,
                           apr_time_t since);

#endif /* MOD_MCP_EVENT_H */

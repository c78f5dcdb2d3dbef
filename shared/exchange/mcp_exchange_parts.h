/* SPDX-License-Identifier: Apache-2.0 */

/* What the files that take requests in share. */


#ifndef MCP_EXCHANGE_PARTS_H_INCLUDED
#define MCP_EXCHANGE_PARTS_H_INCLUDED


#include "call/mcp_call_parts.h"


/* --- mcp_exchange.c --- */

/* What belongs to the message: moves to the call that it becomes. */
mcp_arena_t *mcp_exchange_arena(mcp_exchange_t *x);

/* A line of the life of the exchange's session, at info. */
void mcp_session_log(mcp_exchange_t *x, const char *what);

/* Verifies the protocol version header; or the session and that. */
mcp_fault_e mcp_exchange_check_revision(const mcp_exchange_t *x);
mcp_fault_e mcp_exchange_check_session(mcp_exchange_t *x);


/* --- mcp_dispatch.c --- */

int mcp_dispatch(mcp_exchange_t *x, size_t len);


/* --- mcp_publish.c --- */

int mcp_publish_head(mcp_exchange_t *x, const mcp_head_t *head);
int mcp_publish_body(mcp_exchange_t *x, size_t len);


#endif /* MCP_EXCHANGE_PARTS_H_INCLUDED */

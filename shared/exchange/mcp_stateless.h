/* SPDX-License-Identifier: Apache-2.0 */

/* Checks of requests whose revision has no sessions. Each such request
 * identifies its client. */


#ifndef MCP_STATELESS_H_INCLUDED
#define MCP_STATELESS_H_INCLUDED


#include "exchange/mcp_exchange_internal.h"


/*
 * Returns 1 if the MCP-Protocol-Version header names a revision without
 * sessions and the endpoint serves such a revision, otherwise 0. Stores the
 * result in x->head.stateless. For some bodies, only this header shows whether
 * they belong to a revision without sessions: messages without params, and
 * bodies that are not a message.
 */
int mcp_stateless_read(mcp_exchange_t *x);

/* Returns 1 if mcp_stateless_read() returned 1, or the endpoint serves no
 * revision with sessions. */
int mcp_stateless_era(const mcp_exchange_t *x);

/* Returns 1 if the message of x is of a revision without sessions (2026-07-28,
 * basic/versioning, "Backward Compatibility"). */
int mcp_stateless_is(const mcp_exchange_t *x);

/* Initializes x->client as a client of the endpoint's latest revision without
 * sessions. If an error is written before the client's own revision is known,
 * it has the form of this revision. */
void mcp_stateless_begin(mcp_exchange_t *x);

/*
 * Checks the members of _meta that identify the client, and the headers that
 * repeat the body. Sets x->client.
 *
 * Returns MCP_NEXT_CONTINUE if the request may proceed, or
 *   MCP_NEXT_RESPOND  the request was rejected
 *   MCP_NEXT_ERROR
 */
mcp_next_e mcp_stateless_enter(mcp_exchange_t *x);

/* Appends the result of server/discover, which names the endpoint's revisions
 * without sessions. */
void mcp_stateless_discover(const mcp_exchange_t *x, mcp_buf_t *out);

/* Rejects initialize at an endpoint without a revision with sessions. */
mcp_next_e mcp_stateless_initialize(mcp_exchange_t *x);


#endif /* MCP_STATELESS_H_INCLUDED */

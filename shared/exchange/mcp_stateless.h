/* SPDX-License-Identifier: Apache-2.0 */

/* The entrance for requests of revisions without sessions, each of which says
 * who asks: in what order it is checked, and how it is refused. */


#ifndef MCP_STATELESS_H_INCLUDED
#define MCP_STATELESS_H_INCLUDED


#include "exchange/mcp_exchange_parts.h"


/* Notes, and returns, whether the MCP-Protocol-Version header names a stateless
 * revision, and the endpoint serves one: all that a message without params, or
 * no message at all, can say of its era. */
int mcp_stateless_read(mcp_exchange_t *x);

/* Returns 1 if it was so, or the endpoint serves no revision with sessions:
 * nobody can be of another era there. */
int mcp_stateless_era(const mcp_exchange_t *x);

/* Returns 1 if the message of x is of a stateless revision (2026-07-28,
 * basic/versioning, "Backward Compatibility"). */
int mcp_stateless_is(const mcp_exchange_t *x);

/* Makes the client of x one of the latest stateless revision, of which nothing
 * else is known yet: refusals are worded for it. */
void mcp_stateless_begin(mcp_exchange_t *x);

/*
 * Checks the envelope and the headers of the request of x, and makes x->client
 * of them.
 *
 * Returns MCP_AGAIN if the request may enter, or
 *   MCP_OK  it is refused, with an answer
 *   or an error of mcp_answer_fault()
 */
int mcp_stateless_enter(mcp_exchange_t *x);

/* Appends the result of server/discover, which names the stateless revisions of
 * the endpoint. */
void mcp_stateless_discover(const mcp_exchange_t *x, mcp_buf_t *out);

/* Refuses an initialize where no revision with sessions is served. */
int mcp_stateless_initialize(mcp_exchange_t *x);


#endif /* MCP_STATELESS_H_INCLUDED */

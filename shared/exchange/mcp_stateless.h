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


/* --- Mcp-Param headers --- */

/* Reading of the Mcp-Param-* headers, which repeat arguments of a tool, and
 * comparison with these arguments (2026-07-28,
 * basic/transports/streamable-http, "Custom Headers from Tool Parameters"). */


/*
 * Stores the request's Mcp-Param-* headers: at most MCP_CATALOG_HEADERS_MAX
 * headers with MCP_TOOL_PARAMS_SIZE bytes together. If there are more, stores
 * none, and mcp_exchange_param_check() rejects calls of tools that need such
 * headers. To be called for revisions without sessions only. Returns MCP_OK or
 * MCP_ERR_MEMORY.
 */
int mcp_exchange_param_read(mcp_exchange_t *x, const mcp_head_t *head);

/*
 * Checks that the Mcp-Param-* headers of a tools/call agree with its arguments.
 * "arguments" has the type MCP_JSON_NONE if the call has none. Headers that the
 * catalog does not declare are ignored.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  *detail is the name of a header that differs or is missing,
 *                   or a text about too many headers
 *   MCP_ERR_MEMORY
 */
int mcp_exchange_param_check(mcp_exchange_t *x, mcp_str_t tool,
    const mcp_json_value_t *arguments, mcp_str_t *detail);


#endif /* MCP_STATELESS_H_INCLUDED */

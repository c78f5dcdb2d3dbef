/* SPDX-License-Identifier: Apache-2.0 */

/* Calls that are asked for again. */


#ifndef MCP_JOIN_H_INCLUDED
#define MCP_JOIN_H_INCLUDED


#include "exchange/mcp_exchange_parts.h"


/*
 * Joins the call that runs, or has ended, of those that ask for the same.
 *
 * Returns what mcp_exchange_body() does, or
 *   MCP_ERR_NOT_FOUND  there is none: one is to be made of the message
 */
int mcp_join(mcp_exchange_t *x, const mcp_verdict_t *v);

/*
 * Says by what a request joins others, or they join it.
 *
 * Returns MCP_OK, or
 *   MCP_DONE        nobody may join it
 *   MCP_ERR_SYNTAX  its key is wrong
 *   MCP_ERR_MEMORY
 */
int mcp_join_ask(mcp_exchange_t *x, const mcp_verdict_t *v, mcp_join_t *ask);

/*
 * Lets others join a call that is about to start.
 *
 * Returns what mcp_exchange_body() does, if it is refused or somebody has come
 * before it: then this call is no more; or
 *   MCP_ERR_NOT_FOUND  there is none before it: it is to be started
 */
int mcp_join_begin(mcp_exchange_t *x, mcp_call_t *call,
    const mcp_verdict_t *v);


#endif /* MCP_JOIN_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* What a subscription is about (2026-07-28, basic/patterns/subscriptions): what
 * is asked for, and what is honoured of that. */


#ifndef MCP_LISTEN_FILTER_H_INCLUDED
#define MCP_LISTEN_FILTER_H_INCLUDED


#include "exchange/mcp_listen_task.h"
#include "rpc/mcp_topic.h"


/* What a client wants to hear of. */
typedef struct {
    unsigned            lists; /* bits of mcp_topic_e */
    mcp_str_t           uris;  /* a raw array; empty: none */
    mcp_listen_tasks_t  tasks;
} mcp_listen_filter_t;


/*
 * Reads what the request of x asks for.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  *wrong is the member's name
 *   MCP_ERR_DENIED  the client does not know of the tasks that it asks for
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL
 */
int mcp_listen_filter_read(mcp_exchange_t *x, mcp_listen_filter_t *filter,
    mcp_str_t *wrong);

/* Takes out what the endpoint does not have. */
void mcp_listen_filter_honour(const mcp_exchange_t *x,
    mcp_listen_filter_t *filter);

/* Takes out what is hidden from the caller.  *scope is what it lacks for the
 * rest, empty if nothing.  MCP_OK or MCP_ERR_MEMORY. */
int mcp_listen_filter_permit(mcp_exchange_t *x, mcp_listen_filter_t *filter,
    mcp_str_t *scope);

/* Appends the filter, an object. */
void mcp_listen_filter_write(const mcp_listen_filter_t *filter,
    mcp_buf_t *out);


#endif /* MCP_LISTEN_FILTER_H_INCLUDED */

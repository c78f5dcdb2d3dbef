/* SPDX-License-Identifier: Apache-2.0 */

/* Declares mcp_listen(), the handler of subscriptions/listen (2026-07-28,
 * basic/patterns/subscriptions). */


#ifndef MCP_LISTEN_H_INCLUDED
#define MCP_LISTEN_H_INCLUDED


#include "exchange/mcp_exchange_internal.h"
#include "exchange/mcp_listen_task.h"
#include "rpc/mcp_subscription.h"


/* Responds with a stream of the notifications that the request's filter selects
 * and the endpoint offers. The stream ends with the connection. Returns
 * the values of mcp_exchange_body(). */
mcp_next_e mcp_listen(mcp_exchange_t *x);


/* --- the filter --- */

/* The filter of subscriptions/listen (2026-07-28,
 * basic/patterns/subscriptions): the requested notifications, reduced to those
 * that the endpoint will send. */


/* The notifications that a client requests. */
typedef struct {
    unsigned            lists; /* requested lists: bit 1 << mcp_topic_e for each
                                  list */
    mcp_str_t           uris;  /* resources, raw JSON array; empty: none */
    mcp_listen_tasks_t  tasks;
} mcp_listen_filter_t;


/*
 * Reads the filter in the request of x.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  *wrong is the name of the invalid member
 *   MCP_ERR_DENIED  the client has not declared the task extension that the
 *                   filter uses
 *   MCP_AGAIN, MCP_ERR_UNREACHABLE, MCP_ERR_MEMORY, MCP_ERR_INTERNAL
 *                   as mcp_listen_task_filter()
 */
int mcp_listen_filter_read(mcp_exchange_t *x, mcp_listen_filter_t *filter,
    mcp_str_t *wrong);

/* Removes the lists and the resources from the filter if the endpoint offers no
 * items of their kinds. */
void mcp_listen_filter_honour(const mcp_exchange_t *x,
    mcp_listen_filter_t *filter);

/* Removes from the filter the resources that the caller may not read. If some
 * were removed because the caller lacks a scope, sets *scope to all scopes that
 * these resources require, otherwise to an empty string. Returns MCP_OK or
 * MCP_ERR_MEMORY. */
int mcp_listen_filter_permit(mcp_exchange_t *x, mcp_listen_filter_t *filter,
    mcp_str_t *scope);

/* Appends the filter as a JSON object. */
void mcp_listen_filter_write(const mcp_listen_filter_t *filter,
    mcp_buf_t *out);


#endif /* MCP_LISTEN_H_INCLUDED */

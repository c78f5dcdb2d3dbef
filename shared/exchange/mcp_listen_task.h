/* SPDX-License-Identifier: Apache-2.0 */

/* Subscriptions to tasks by subscriptions/listen: reads the task ids of a
 * request, and writes a notification when one of these tasks has changed
 * (io.modelcontextprotocol/tasks, "Task Status Notifications"). */


#ifndef MCP_LISTEN_TASK_H_INCLUDED
#define MCP_LISTEN_TASK_H_INCLUDED


#include "exchange/mcp_task.h"
#include "rpc/mcp_subscription.h"


#define MCP_LISTEN_TASKS_MAX  1000


/* A task in a subscription. */
typedef struct {
    mcp_task_t        task;
    mcp_exchange_t   *x;
    mcp_operation_t  *op;       /* lookup of a task that is at another node */
    mcp_store_lookup_t sent;    /* last state that the client was notified of;
                                   at first the state at the start of the
                                   subscription */
    uint64_t          again;    /* for a task that is at another node: when it
                                   is looked up again even if no change was
                                   reported, ms; 0: the task is at this
                                   node */
    unsigned          changed:1;       /* 1: the stream has a mark for a change
                                          of the task that was not handled
                                          yet */
    unsigned          lookup_pending:1; /* 1: the lookup in "op" is pending */
    unsigned          ready:1;  /* 1: the lookup in "op" has found a change, and
                                   a notification can be written */
} mcp_listen_task_t;


typedef struct {
    mcp_listen_task_t  *list;          /* the subscribed tasks, in the arena of
                                          the exchange */
    size_t              n;
} mcp_listen_tasks_t;


/*
 * Reads the task ids in a filter. Stores the tasks that belong to the client in
 * *tasks, and ignores all other ids.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX       the value is not an array of strings, or has more than
 *                        MCP_LISTEN_TASKS_MAX ids
 *   MCP_AGAIN            other nodes are queried: the entry function has to
 *                        return MCP_NEXT_WAIT
 *   MCP_ERR_UNREACHABLE  the other nodes are unreachable
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL
 */
int mcp_listen_task_filter(mcp_exchange_t *x, const mcp_json_value_t *value,
    mcp_listen_tasks_t *tasks);

/* Subscribes the stream to the tasks. Returns the values of
 * mcp_store_subscribe(). */
int mcp_listen_task_subscribe(mcp_exchange_t *x,
    const mcp_listen_tasks_t *tasks, const mcp_stream_ref_t *ref);

/* Appends the array of the tasks' ids. */
void mcp_listen_task_ids(const mcp_listen_tasks_t *tasks, mcp_buf_t *out);

/* The hook "read" of a subscription with tasks. Its stream contains a mark for
 * each change of a task; the client gets a notification with the task's current
 * state instead. */
int mcp_listen_task_read(mcp_exchange_t *x, mcp_listen_tasks_t *tasks,
    mcp_subscription_splice_t *splice);


#endif /* MCP_LISTEN_TASK_H_INCLUDED */

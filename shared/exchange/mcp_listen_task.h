/* SPDX-License-Identifier: Apache-2.0 */

/* Subscriptions to tasks (io.modelcontextprotocol/tasks, "Task Status
 * Notifications"). */


#ifndef MCP_LISTEN_TASK_H_INCLUDED
#define MCP_LISTEN_TASK_H_INCLUDED


#include "exchange/mcp_task.h"
#include "rpc/mcp_subscription.h"


#define MCP_LISTEN_TASKS_MAX  1000


/* A task that a subscription is about. */
typedef struct {
    mcp_task_t       task;
    mcp_exchange_t  *x;
    mcp_ask_t       *ask;      /* how a task of another node is */
    mcp_store_look_t told;     /* how it was when the client was told, or when
                                  it began to listen */
    unsigned         changed:1;        /* and the client is still to be told */
    unsigned         asking:1; /* the answer is to come, */
    unsigned         ready:1;  /* or is there */
} mcp_listen_task_t;


typedef struct {
    mcp_listen_task_t  *list;          /* in the arena of the exchange */
    size_t              n;
} mcp_listen_tasks_t;


/*
 * Reads the ids that a filter has, and keeps those of the client's own tasks.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  it is no array of strings, or they are too many
 *   MCP_AGAIN       stop, and return this: other nodes are asked
 *   MCP_ERR_AWAY    they cannot be reached
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL
 */
int mcp_listen_task_filter(mcp_exchange_t *x, const mcp_json_value_t *value,
    mcp_listen_tasks_t *tasks);

/* Subscribes the stream to the tasks.  Returns what mcp_store_subscribe()
 * does. */
int mcp_listen_task_subscribe(mcp_exchange_t *x,
    const mcp_listen_tasks_t *tasks, const mcp_stream_ref_t *ref);

/* Appends the array of their ids. */
void mcp_listen_task_ids(const mcp_listen_tasks_t *tasks, mcp_buf_t *out);

/* The hook "read" of a subscription that has tasks: each mark of a change
 * becomes a notification of how the task is now. */
int mcp_listen_task_read(mcp_exchange_t *x, mcp_listen_tasks_t *tasks,
    mcp_subscription_splice_t *splice);


#endif /* MCP_LISTEN_TASK_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* Delivery of a notification to many subscribers, in slices. */


#ifndef MCP_NOTIFICATION_SLICE_H_INCLUDED
#define MCP_NOTIFICATION_SLICE_H_INCLUDED


#include "worker/mcp_worker_internal.h"


/* Number of subscribers that get a notification before the process does other
 * work. */
#define MCP_NOTIFY_SLICE  1024


/*
 * Appends a message to the streams that are subscribed to a topic at this
 * time: to the first MCP_NOTIFY_SLICE of them before the function returns, to
 * the others by a timer. Each stream gets the messages in the order of the
 * calls of this function. All streams get the message before the function
 * returns if the process shuts down or there is no memory to queue the
 * message.
 */
void mcp_notify_slices(mcp_worker_t *worker,
    const unsigned char topic[MCP_DIGEST_LEN], mcp_str_t message,
    const mcp_publish_to_t *to);

/* Delivers all queued notifications. */
void mcp_notify_flush(mcp_worker_t *worker);

/* Frees all queued notifications. */
void mcp_notify_drop(mcp_worker_t *worker);


#endif /* MCP_NOTIFICATION_SLICE_H_INCLUDED */

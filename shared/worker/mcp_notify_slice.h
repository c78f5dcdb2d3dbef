/* SPDX-License-Identifier: Apache-2.0 */

/* Delivery of a notification to many subscribers, in slices. */


#ifndef MCP_NOTIFY_SLICE_H_INCLUDED
#define MCP_NOTIFY_SLICE_H_INCLUDED


#include "worker/mcp_worker_internal.h"


/* Number of subscribers that are served without a pause. */
#define MCP_NOTIFY_SLICE  1024


/*
 * Appends a message to the streams that are subscribed to a topic now: to the
 * first MCP_NOTIFY_SLICE of them before the return, to the others by a timer.
 * Notifications reach each stream in the order of the calls. If the process
 * shuts down, or there is no memory to store the message, everything is
 * delivered before the return.
 */
void mcp_notify_slices(mcp_worker_t *worker,
    const unsigned char topic[MCP_DIGEST_LEN], mcp_str_t message,
    const mcp_publish_to_t *to);

/* Delivers all queued notifications. */
void mcp_notify_flush(mcp_worker_t *worker);

/* Frees all queued notifications. */
void mcp_notify_drop(mcp_worker_t *worker);


#endif /* MCP_NOTIFY_SLICE_H_INCLUDED */

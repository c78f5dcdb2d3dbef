/* SPDX-License-Identifier: Apache-2.0 */

/* Sends notifications to subscribers: about a change of a list, of a resource
 * or of a task. These notifications do not belong to a call. The file also
 * manages each session's own stream, and decides which log messages a client
 * gets. */


#ifndef MCP_NOTIFICATION_H_INCLUDED
#define MCP_NOTIFICATION_H_INCLUDED


#include "rpc/mcp_subscription.h"
#include "worker/mcp_worker_internal.h"


/* Writes the id of a session's own stream. Returns MCP_OK or the values of
 * mcp_digest(). */
int mcp_notify_listener_id(const unsigned char session[MCP_DIGEST_LEN],
    unsigned char id[MCP_STREAM_ID_LEN]);

/* Finds the session's own stream, or creates and replicates it. A new stream
 * counts towards the quota of this tenant. Returns MCP_OK, or an error of
 * mcp_store_create() or mcp_store_subscribe(). */
int mcp_notify_listener(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    const mcp_client_t *client, const unsigned char tenant[MCP_DIGEST_LEN],
    mcp_stream_info_t *info);

/*
 * Makes the session's own stream available at this node, to be read after the
 * last event that any node has sent: the stream itself, a mirror, or a new
 * stream if no node has one. For an entry function of mcp_operation_begin().
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN            the entry function has to return MCP_NEXT_WAIT
 *   MCP_ERR_UNREACHABLE  the cluster is unreachable, and this node does not
 *                        have the stream itself; or a later client reads the
 *                        stream at another node
 * or the values of mcp_store_create(), mcp_store_subscribe() and
 * mcp_operation_stream().
 */
int mcp_notify_here(mcp_exchange_t *x, mcp_stream_info_t *info);

/* Subscribes a session's own stream at this node to a topic, or unsubscribes
 * it. Does nothing if this node has neither the stream nor its mirror. Returns
 * the values of mcp_store_subscribe(). */
int mcp_notify_receive_topic(mcp_worker_t *worker,
    const unsigned char session[MCP_DIGEST_LEN],
    const unsigned char topic[MCP_DIGEST_LEN], unsigned subscribe);

/* Subscribes a listener to changes of a list, under two topics: the list of
 * this endpoint, and the list of any endpoint of the zone. Returns the values
 * of mcp_store_subscribe(). */
int mcp_notify_subscribe(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    const mcp_stream_ref_t *ref, mcp_topic_e list);

/* Notifies subscribers that a list of the endpoint with this catalog key has
 * changed. If catalog_key is NULL, the list may be that of any endpoint.
 * "message" is the notification. */
void mcp_notify_list(mcp_worker_t *worker, mcp_topic_e list,
    const unsigned char *catalog_key, mcp_str_t message);

/* Notifies the listeners of a task that it has changed; stream is the id of
 * its stream. Each listener gets a mark, not a message: when the mark is read,
 * the client gets the task's present state. */
void mcp_notify_task(mcp_worker_t *worker,
    const unsigned char stream[MCP_STREAM_ID_LEN]);

/* The first byte of a mark about a task. No message begins with this byte. The
 * text of the stream's id follows. */
#define MCP_NOTIFY_MARK  '#'

/* If the notification is for subscribers, sends it to its subscribers at all
 * nodes and returns 1. Returns 0 if it is for a call's stream. uri is raw
 * JSON. */
int mcp_notify_broadcast(mcp_worker_t *worker, mcp_str_t method, mcp_str_t uri,
    mcp_str_t message);

/*
 * mcp_notify_receive() delivers a broadcast notification to the subscribers at
 * this node. If this node has sent the broadcast, only replicated streams get
 * it, because the sender has already delivered it to the other streams.
 * mcp_notify_receive_for() delivers a notification to one stream, if the stream
 * is subscribed.
 */
void mcp_notify_receive(mcp_worker_t *worker, const mcp_broadcast_t *broadcast);
void mcp_notify_receive_for(mcp_worker_t *worker, const mcp_stream_ref_t *ref,
    mcp_str_t message);

/*
 * Returns 1 if a client wants log messages (notifications/message) of a level,
 * which is raw JSON. A session has the minimum level of its last
 * logging/setLevel, and gets all messages before the first one (2025-11-25,
 * server/utilities/logging). A request without a session contains a level, or
 * the client gets no messages (2026-07-28, server/utilities/logging). A client
 * that gets messages also gets those with an unknown level.
 */
int mcp_notify_log_wanted(mcp_worker_t *worker, const mcp_client_t *client,
    mcp_str_t level);


/* --- delivery in slices --- */

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


#endif /* MCP_NOTIFICATION_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* Notifications that are not part of a call: to the subscribers of a topic, to
 * a session's own stream, and with the session's log level or above. */


#ifndef MCP_NOTIFY_H_INCLUDED
#define MCP_NOTIFY_H_INCLUDED


#include "rpc/mcp_topic.h"
#include "worker/mcp_worker_internal.h"


/* Writes the id of a session's own stream. Returns MCP_OK or the values of
 * mcp_digest(). */
int mcp_notify_listener_id(const unsigned char session[MCP_DIGEST_LEN],
    unsigned char id[MCP_STREAM_ID_LEN]);

/* Finds the session's own stream, or creates one for this tenant and replicates
 * it. */
int mcp_notify_listener(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    const mcp_client_t *client, const unsigned char tenant[MCP_DIGEST_LEN],
    mcp_stream_info_t *info);

/*
 * Makes the session's own stream available at this node, for reading after the
 * events that were sent: the stream itself, a mirror, or, if there is none at
 * any node, a new one. For an entry function of mcp_operation_begin().
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN            stop and return this value
 *   MCP_ERR_UNREACHABLE  the cluster is unreachable, and this node does not
 *                        have the stream
 * or the values of mcp_store_create(), mcp_store_subscribe() and
 * mcp_operation_stream().
 */
int mcp_notify_here(mcp_exchange_t *x, mcp_stream_info_t *info);

/* Subscribes a session's own stream of this node to a topic, or unsubscribes
 * it, as a broadcast has requested. Returns the values of
 * mcp_store_subscribe(). */
int mcp_notify_receive_topic(mcp_worker_t *worker,
    const unsigned char session[MCP_DIGEST_LEN],
    const unsigned char topic[MCP_DIGEST_LEN], unsigned subscribe);

/* Subscribes a listener to a list, in the whole zone and in its endpoint's
 * place: both or none, on which the status page relies. */
int mcp_notify_subscribe(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    const mcp_stream_ref_t *ref, mcp_topic_e list);

/* Notifies subscribers that a list has changed in a place; NULL: in any place.
 * message is the notification. */
void mcp_notify_list(mcp_worker_t *worker, mcp_topic_e list,
    const unsigned char *catalog_key, mcp_str_t message);

/* Notifies the listeners of a task, given its stream, of a change: they read a
 * mark, and send the task's current state instead. */
void mcp_notify_task(mcp_worker_t *worker,
    const unsigned char stream[MCP_STREAM_ID_LEN]);

/* The first byte of a mark, with which no message begins; the stream's id
 * follows. */
#define MCP_NOTIFY_MARK  '#'

/* Sends a notification to its subscribers at all nodes and returns 1, if it is
 * for subscribers rather than for a call's stream; otherwise returns 0. uri is
 * raw. */
int mcp_notify_broadcast(mcp_worker_t *worker, mcp_str_t method, mcp_str_t uri,
    mcp_str_t message);

/* mcp_notify_receive() delivers a notification from another node to the
 * subscribers of this one, or one from this node to its replicated streams.
 * mcp_notify_receive_for() delivers it to one stream, if that is subscribed. */
void mcp_notify_receive(mcp_worker_t *worker, const mcp_broadcast_t *broadcast);
void mcp_notify_receive_for(mcp_worker_t *worker, const mcp_stream_ref_t *ref,
    mcp_str_t message);

/*
 * Returns 1 if a client wants log messages of a level, which is raw JSON. A
 * session has a level from logging/setLevel on, and gets all messages before
 * that (2025-11-25, server/utilities/logging). A stateless request names a
 * level, or gets no messages (2026-07-28, server/utilities/logging). Every
 * client that wants messages gets those with an unknown level.
 */
int mcp_notify_log_wanted(mcp_worker_t *worker, const mcp_client_t *client,
    mcp_str_t level);


#endif /* MCP_NOTIFY_H_INCLUDED */

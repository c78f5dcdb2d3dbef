/* SPDX-License-Identifier: Apache-2.0 */

/* Notifications that no call sends: to the subscribers of a topic, to a
 * session's own stream, and above the session's log level alone. */


#ifndef MCP_NOTIFY_H_INCLUDED
#define MCP_NOTIFY_H_INCLUDED


#include "rpc/mcp_topic.h"
#include "worker/mcp_worker_parts.h"


/* The id of a session's own stream.  MCP_OK, or what mcp_digest() returns. */
int mcp_notify_listener_id(const unsigned char session[MCP_DIGEST_LEN],
    unsigned char id[MCP_STREAM_ID_LEN]);

/* Finds the session's own stream, or creates one for this party, and shares
 * it. */
int mcp_notify_listener(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    const mcp_client_t *client, const unsigned char party[MCP_DIGEST_LEN],
    mcp_stream_info_t *info);

/*
 * Has the session's own stream at this node, to be read here after what was
 * sent of it: itself, a mirror, or, if there is none anywhere, a new one.  For
 * a root of mcp_ask_begin().
 *
 * Returns MCP_OK, or
 *   MCP_AGAIN     stop, and return this
 *   MCP_ERR_AWAY  the cluster cannot be reached, and nobody here knows it
 *   or what mcp_store_create(), mcp_store_subscribe() and mcp_ask_stream() do
 */
int mcp_notify_here(mcp_exchange_t *x, mcp_stream_info_t *info);

/* Subscribes a session's own stream to a topic, or unsubscribes it, if it is
 * this node's: as another node has told.  Returns what mcp_store_subscribe()
 * does. */
int mcp_notify_hear_topic(mcp_worker_t *worker,
    const unsigned char session[MCP_DIGEST_LEN],
    const unsigned char topic[MCP_DIGEST_LEN], unsigned subscribe);

/* Subscribes a listener to a list, in the whole zone and in its endpoint's
 * place: both or none, which the status page relies on. */
int mcp_notify_subscribe(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    const mcp_stream_ref_t *ref, mcp_topic_e list);

/* Tells that a list has changed, in a place; NULL: anywhere.  message is its
 * notification. */
void mcp_notify_list(mcp_worker_t *worker, mcp_topic_e list,
    const unsigned char *place, mcp_str_t message);

/* Tells that a task has changed, by its stream: its listeners read a mark,
 * which they replace by how the task is then. */
void mcp_notify_task(mcp_worker_t *worker,
    const unsigned char stream[MCP_STREAM_ID_LEN]);

/* How a mark begins, which no message does; the stream's id follows. */
#define MCP_NOTIFY_MARK  '#'

/* Sends a notification to its subscribers, at all nodes, if it is one that goes
 * to them instead of a call's stream, and returns 1; else 0.  uri is raw. */
int mcp_notify_broadcast(mcp_worker_t *worker, mcp_str_t method, mcp_str_t uri,
    mcp_str_t message);

/* Sends one that another node has told to the subscribers of this one; if it
 * was this one, to those that are shared; or to one stream, if it is a
 * subscriber. */
void mcp_notify_hear(mcp_worker_t *worker, const mcp_word_t *word);
void mcp_notify_hear_for(mcp_worker_t *worker, const mcp_stream_ref_t *ref,
    mcp_str_t message);

/*
 * Returns 1 if a client wants log messages of a level, which is raw JSON.
 *
 * A session has a level from logging/setLevel on, and gets all messages before
 * that (2025-11-25, server/utilities/logging).  A stateless request names one,
 * or gets none (2026-07-28, the same page).  What is no level is wanted by all
 * who want any.
 */
int mcp_notify_log_wanted(mcp_worker_t *worker, const mcp_client_t *client,
    mcp_str_t level);


#endif /* MCP_NOTIFY_H_INCLUDED */

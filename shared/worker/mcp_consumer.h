/* SPDX-License-Identifier: Apache-2.0 */

/* Exchanges that read a stream. */


#ifndef MCP_CONSUMER_H_INCLUDED
#define MCP_CONSUMER_H_INCLUDED


#include "worker/mcp_worker_internal.h"


/* In the number of an event id: the id names not an event but the interim
 * result that was sent after that event in response to the request of a
 * stream. */
#define MCP_EVENT_ANSWERED  ((uint64_t) 1 << 62)


/* Gives x the handle that it will have as the consumer of a stream that is
 * created afterwards. Returns MCP_OK or MCP_ERR_MEMORY. */
int mcp_consumer_announce(mcp_exchange_t *x);

/* Frees that handle, if the stream was not created. */
void mcp_consumer_forget(mcp_exchange_t *x);

/*
 * Makes x the stream's consumer, or a joined reader if x->reader.joins is set,
 * without reading. Returns MCP_OK, MCP_ERR_MEMORY, or the values of
 * mcp_store_watch() or mcp_store_join(), except that MCP_ERR_UNREACHABLE means
 * that a client that came later reads the stream at another node.
 */
int mcp_consumer_attach(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    uint64_t after);
void mcp_consumer_detach(mcp_exchange_t *x);

/* Makes the glue pull, because there are bytes that are not in the stream. */
void mcp_consumer_ready(mcp_exchange_t *x);

/* Delays the first bytes until other nodes have the stream. */
void mcp_consumer_hold(mcp_exchange_t *x);

/*
 * Checks whether other nodes have the stream: before that its client gets
 * neither an id nor a URL. If it takes long, the client gets the head and
 * comments.
 *
 * Returns MCP_OK if they have it, or if the connection, which has its head, has
 * to be closed; or
 *   MCP_AGAIN  not yet
 *   MCP_DONE   they never will: this node was declared dead
 */
int mcp_consumer_known(mcp_exchange_t *x);

/* Makes the glue send the head of a started consumer as soon as other nodes
 * have the stream. */
void mcp_consumer_begin(mcp_exchange_t *x);

/* Makes x the stream's consumer, if it is not; on success the response of x is
 * the head of an SSE response. */
int mcp_consumer_start(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    uint64_t after);

/*
 * Starts a consumer for a client that names no event and must not be rejected
 * for events that it does not know: reads from the first stored event after
 * "after". The client gets a notifications/message about unconfirmed events in
 * between.
 */
int mcp_consumer_start_kept(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t after);

void mcp_consumer_leave(mcp_exchange_t *x);

/* Appends events, "data: ...\n\n" each, the last one completely. Returns the
 * values of mcp_store_read(), or MCP_ERR_MEMORY. */
int mcp_consumer_fetch(mcp_exchange_t *x, mcp_buf_t *events);

/* The hook "read" for a request that has joined a call: events of the log
 * without ids, and the response with the id of the joining request. */
int mcp_consumer_copy(mcp_exchange_t *x);

/* Returns 1 if mcp_close_after may close the connection: the client's revision
 * has polling, the client has declared a capability for it, or it has a URL. */
int mcp_consumer_may_be_closed(const mcp_exchange_t *x);

/*
 * Returns 1 if the client is known to resume after a normal end: it has
 * declared that, or has resumed this stream before by its URL, or by an event
 * id if streams begin with one. A revision alone is no evidence (some clients
 * of 2025-11-25 never resume), nor is the possession of a URL.
 */
int mcp_consumer_comes_back(const mcp_exchange_t *x);

/* Returns 1 if the stream begins with an empty event that has an id. */
int mcp_consumer_is_primed(const mcp_exchange_t *x);

/* Schedules the end of the connection of a consumer that has resumed. */
void mcp_consumer_close_at_will(mcp_exchange_t *x,
    const mcp_stream_info_t *info);

/* Schedules the end of the connection at when at the latest; 0: no end. */
void mcp_consumer_close_at(mcp_exchange_t *x, uint64_t when);


#endif /* MCP_CONSUMER_H_INCLUDED */

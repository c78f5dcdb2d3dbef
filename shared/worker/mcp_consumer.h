/* SPDX-License-Identifier: Apache-2.0 */

/* Functions for exchanges that read a stream as its consumer or as a joined
 * reader. They attach the exchange to the stream, start and end its SSE
 * response, and decide when its connection is closed. */


#ifndef MCP_CONSUMER_H_INCLUDED
#define MCP_CONSUMER_H_INCLUDED


#include "worker/mcp_worker_internal.h"


/* Flag in the number of an event id: the id is that of an interim response. The
 * other bits are the number of the last event that the connection has read
 * before the interim response. */
#define MCP_EVENT_ANSWERED  ((uint64_t) 1 << 62)


/* Creates the handle of x as a consumer before its stream is created, so that
 * the stream has its consumer from the start. Returns MCP_OK or
 * MCP_ERR_MEMORY. */
int mcp_consumer_announce(mcp_exchange_t *x);

/* Frees the handle of x, because it is not, or no longer, the consumer of a
 * stream. */
void mcp_consumer_forget(mcp_exchange_t *x);

/*
 * Makes x the stream's consumer after the event "after", or a joined reader if
 * x->reader.joins is set, but does not start an SSE response. Returns MCP_OK,
 * MCP_ERR_MEMORY, or the values of mcp_store_watch() or mcp_store_join().
 * Instead of MCP_ERR_DENIED, which means that a later client reads the stream
 * at another node, returns MCP_ERR_UNREACHABLE.
 */
int mcp_consumer_attach(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    uint64_t after);

/* Detaches x from its stream, if x is attached and its SSE response has not
 * started. mcp_consumer_leave() is for started SSE responses. */
void mcp_consumer_detach(mcp_exchange_t *x);

/* Queues the action PULL for a consumer that has bytes to write, or whose
 * stream may have new events. */
void mcp_consumer_ready(mcp_exchange_t *x);

/* Schedules mcp_consumer_ready() at the time "when", ms, if no earlier call is
 * scheduled. */
void mcp_consumer_pull_at(mcp_exchange_t *x, uint64_t when);

/* Delays the first bytes of a consumer until other nodes have its stream, and
 * meanwhile writes comments. */
void mcp_consumer_hold(mcp_exchange_t *x);

/*
 * Checks whether other nodes have the stream of x. Until they have it, the
 * client must not get an event id or a URL of the stream. After
 * MCP_OPERATION_TIME, the client gets the head of the response and comments
 * while it waits.
 *
 * Returns MCP_OK if other nodes have the stream or do not need it, or if the
 * connection has its head and has to be closed; or
 *   MCP_AGAIN  other nodes do not have the stream yet
 *   MCP_DONE   the stream does not exist any more, because this node was
 *              declared dead
 */
int mcp_consumer_known(mcp_exchange_t *x);

/* Queues the action STREAM for a started consumer, so that the glue sends the
 * head of the response. If the head contains a URL, first waits until other
 * nodes have the stream, see mcp_consumer_known(). */
void mcp_consumer_begin(mcp_exchange_t *x);

/* Makes x the stream's consumer after the event "after", if it is not attached
 * yet, and sets the response of x to the head of an SSE response. Returns the
 * values of mcp_consumer_attach(). */
int mcp_consumer_start(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    uint64_t after);

/*
 * Starts a response like mcp_consumer_start(), for a client that has not named
 * an event. Such a client is not rejected if events are missing: if the event
 * after "after" is no longer stored, the response starts with the first stored
 * event. If clients have not confirmed all missing events, the client gets a
 * notifications/message about them.
 */
int mcp_consumer_start_kept(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t after);

/* Ends the SSE response of x: detaches x from its stream, records which events
 * were sent, and frees a stream that was created for this connection. */
void mcp_consumer_leave(mcp_exchange_t *x);

/* Appends the next events of the stream to *events, each as "data: ...\n\n".
 * Reads on until the last event is complete. Returns the values of
 * mcp_store_read(), or MCP_ERR_MEMORY. */
int mcp_consumer_fetch(mcp_exchange_t *x, mcp_buf_t *events);

/* The hook "read" for a request that reads the stream of another request's
 * call. Writes the messages of the stream without event ids, up to the
 * response, which gets the id of the reading request. The response may be a
 * question, after which the call continues
 * (call/mcp_upstream_question_stateless_client.h). */
int mcp_joined_reader_read(mcp_exchange_t *x);

/* Returns 1 if mcp_close_after may close the connection, because the client
 * can resume: its revision has polling, it has declared a capability for
 * resumption, or it has a URL of the stream. */
int mcp_consumer_may_be_closed(const mcp_exchange_t *x);

/*
 * Returns 1 if the client is known to resume when the server closes the
 * connection. Either the client has declared that it resumes, or this
 * connection has resumed the stream: by a URL, or by an event id in a revision
 * whose streams begin with one. The revision alone proves nothing, because some
 * clients of 2025-11-25 never resume. A URL that the client has got but not
 * used proves nothing either.
 */
int mcp_consumer_comes_back(const mcp_exchange_t *x);

/* Returns 1 if a stream of this client begins with an empty event that has an
 * id: if its revision has such priming events, or if it gets event ids without
 * a session. */
int mcp_consumer_is_primed(const mcp_exchange_t *x);

/* Schedules the end of the connection of a consumer that has resumed: after
 * mcp_close_after, if mcp_consumer_may_be_closed() returns 1. */
void mcp_consumer_close_at_will(mcp_exchange_t *x,
    const mcp_stream_info_t *info);

/* Schedules the end of the connection at the time "when", ms, if no earlier end
 * is scheduled. Does nothing if "when" is 0. */
void mcp_consumer_close_at(mcp_exchange_t *x, uint64_t when);


#endif /* MCP_CONSUMER_H_INCLUDED */

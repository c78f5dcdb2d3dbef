/* SPDX-License-Identifier: Apache-2.0 */

/* An exchange that reads a stream. */


#ifndef MCP_CONSUMER_H_INCLUDED
#define MCP_CONSUMER_H_INCLUDED


#include "worker/mcp_worker_parts.h"


/* In the number of an event id: no event, but the interim result that has
 * answered the request of a stream after that event. */
#define MCP_EVENT_ANSWERED  ((uint64_t) 1 << 62)


/* Gives x the handle that it will have as a consumer, for a stream that is to
 * be created with it.  MCP_OK or MCP_ERR_MEMORY. */
int mcp_consumer_announce(mcp_exchange_t *x);

/* Takes that back, if there is no such stream. */
void mcp_consumer_forget(mcp_exchange_t *x);

/*
 * Makes x the stream's consumer, or one who reads beside it (x->reader.joins),
 * which shows that its client is there.
 *
 * Returns MCP_OK, or MCP_ERR_MEMORY, or what mcp_store_watch() or
 * mcp_store_join() does, but MCP_ERR_AWAY if a client that came later reads it
 * at another node.
 */
int mcp_consumer_attach(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    uint64_t after);
void mcp_consumer_detach(mcp_exchange_t *x);

/* It has something to write that is not in its stream: it is to be pulled. */
void mcp_consumer_ready(mcp_exchange_t *x);

/* Has it wait with its first bytes until other nodes know its stream. */
void mcp_consumer_hold(mcp_exchange_t *x);

/*
 * Whether other nodes know the stream: before, its client is told no id, and no
 * URL.  If that takes long it gets its head, and comments.
 *
 * Returns MCP_OK: they do, or its connection, which has its head, is to be
 * closed; or
 *   MCP_AGAIN  not yet
 *   MCP_DONE   they never will: this node was taken for dead
 */
int mcp_consumer_known(mcp_exchange_t *x);

/* Has the glue send the head of one that was started, as soon as what it names
 * is known. */
void mcp_consumer_begin(mcp_exchange_t *x);

/* Makes x the stream's consumer, if it is not; on success the exchange's
 * response is the head of an SSE answer. */
int mcp_consumer_start(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    uint64_t after);

/* The same for a client that names no event, and cannot be refused for what
 * it does not know: from what is kept of what follows "after".  Of events in
 * between that no client confirmed it is told by a notifications/message. */
int mcp_consumer_start_kept(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t after);

void mcp_consumer_leave(mcp_exchange_t *x);

/* Appends some events, "data: ...\n\n" each, the last of which is whole.
 * Returns what mcp_store_read() does, or MCP_ERR_MEMORY. */
int mcp_consumer_fetch(mcp_exchange_t *x, mcp_buf_t *events);

/* The hook "read" for another request than the one that began the call: events
 * of the log without their ids, under the id of that request. */
int mcp_consumer_copy(mcp_exchange_t *x);

/* 1 if its client is known to come back: by its revision, by what it has
 * declared, or as it was given a URL. */
int mcp_consumer_comes_back(const mcp_exchange_t *x);

/* A consumer that came back: its connection is closed when its time is up. */
void mcp_consumer_close_at_will(mcp_exchange_t *x,
    const mcp_stream_info_t *info);

/* The same, at that time at the latest; 0: no matter. */
void mcp_consumer_close_at(mcp_exchange_t *x, uint64_t when);


#endif /* MCP_CONSUMER_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* Cancellation by a client. */


#ifndef MCP_CANCEL_H_INCLUDED
#define MCP_CANCEL_H_INCLUDED


#include "call/mcp_call.h"


/*
 * Cancels a request of the exchange's session (notifications/cancelled); id is
 * raw.  MCP_OK, also if there is nothing to cancel; else an error of
 * mcp_store_cancel() or mcp_store_value_set().
 */
int  mcp_cancel_request(mcp_exchange_t *x, mcp_str_t id);

/* The request of x reads what another one asked for: its id cancels that, until
 * a newer one does. */
void mcp_cancel_set_alias(mcp_exchange_t *x, const mcp_stream_ref_t *ref);

/*
 * Cancels a request of this node; word: session, key and expiry of the mark
 * that it needs if its call is not durable yet.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is no durable call; there is a mark
 *   or an error of mcp_store_cancel() or mcp_store_value_set()
 */
int  mcp_cancel(mcp_worker_t *worker, const mcp_word_t *word,
        const mcp_party_t *party);

/* Cancels every call of a session, frees its own stream and forgets its log
 * level, at this node. */
void mcp_cancel_session(mcp_worker_t *worker,
    const unsigned char session[MCP_DIGEST_LEN]);


#endif /* MCP_CANCEL_H_INCLUDED */

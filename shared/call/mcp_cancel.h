/* SPDX-License-Identifier: Apache-2.0 */

/* Cancellation by a client. */


#ifndef MCP_CANCEL_H_INCLUDED
#define MCP_CANCEL_H_INCLUDED


#include "call/mcp_call.h"


/* Cancels a request of the exchange's session (notifications/cancelled); id is
 * raw JSON. Returns MCP_OK, also if there is no such request, or an error of
 * mcp_store_cancel() or mcp_store_value_set(). */
int  mcp_cancel_request(mcp_exchange_t *x, mcp_str_t id);

/* Records that the request of x reads the stream of another request: the id of
 * x cancels the other request, until a newer request reads its stream. */
void mcp_cancel_set_alias(mcp_exchange_t *x, const mcp_stream_ref_t *ref);

/*
 * Cancels a request of this node. word has the session, and the key and expiry
 * of the mark for a call that is not durable yet.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is no durable call; a mark was set
 * or an error of mcp_store_cancel() or mcp_store_value_set().
 */
int  mcp_cancel(mcp_worker_t *worker, const mcp_broadcast_t *broadcast,
        const mcp_tenant_t *tenant);

/* Cancels all calls of a session, frees its own stream and removes its log
 * level, at this node. */
void mcp_cancel_session(mcp_worker_t *worker,
    const unsigned char session[MCP_DIGEST_LEN]);


#endif /* MCP_CANCEL_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* Functions that cancel a request, or all calls of a session that has ended,
 * for a client or for a broadcast from another node. */


#ifndef MCP_CANCEL_H_INCLUDED
#define MCP_CANCEL_H_INCLUDED


#include "call/mcp_call.h"


/* Cancels a request of the session of x (notifications/cancelled); id is the
 * request's id, raw JSON. Returns MCP_OK, also if there is no such request, or
 * an error of mcp_store_cancel() or mcp_store_value_set(). */
int  mcp_cancel_request(mcp_exchange_t *x, mcp_str_t id);

/* Records that the request of x resumes another request by reading the
 * other request's stream. From now on a cancellation with the id of x's
 * request cancels the other request, until a later request reads the stream
 * instead. */
void mcp_cancel_set_alias(mcp_exchange_t *x, const mcp_stream_ref_t *ref);

/*
 * Cancels a request at this node, for a client or because of a broadcast from
 * another node. In both cases "broadcast" has the session, the key of the
 * request, and the expiry of the mark that is set if the call is not durable
 * yet. The mark counts for the quota of tenant, which may be NULL.
 *
 * Returns MCP_OK, an error of mcp_store_cancel() or mcp_store_value_set(), or
 *   MCP_ERR_NOT_FOUND  this node has no durable call with the request: a mark
 *                      was set
 */
int  mcp_cancel(mcp_worker_t *worker, const mcp_broadcast_t *broadcast,
        const mcp_tenant_t *tenant);

/* Ends a session at this node: cancels all its calls, frees its other streams,
 * and removes its log level. */
void mcp_cancel_session(mcp_worker_t *worker,
    const unsigned char session[MCP_DIGEST_LEN]);

/* Returns 1 if the client has ended the session, at this or another node. */
int  mcp_cancel_has_ended(const mcp_worker_t *worker,
    const unsigned char session[MCP_DIGEST_LEN]);


#endif /* MCP_CANCEL_H_INCLUDED */

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

/* Cancels every call of the exchange's session and frees its own stream. */
void mcp_cancel_session(mcp_exchange_t *x);


#endif /* MCP_CANCEL_H_INCLUDED */

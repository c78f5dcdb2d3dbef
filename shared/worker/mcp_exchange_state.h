/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Changes of an exchange's state, and of its consumer's.  Each is a line of the
 * log at debug, with the exchange's number in this process and, once there is
 * one, its call.
 */


#ifndef MCP_EXCHANGE_STATE_H_INCLUDED
#define MCP_EXCHANGE_STATE_H_INCLUDED


#include "worker/mcp_worker_parts.h"


void mcp_exchange_set_state(mcp_exchange_t *x, mcp_exchange_state_e state);

void mcp_consumer_set_state(mcp_exchange_t *x, mcp_consumer_state_e state);

/* Asks for the end of the connection; what was asked before stays if it is more
 * urgent. */
void mcp_consumer_set_close(mcp_exchange_t *x, mcp_consumer_close_e close);


#endif /* MCP_EXCHANGE_STATE_H_INCLUDED */

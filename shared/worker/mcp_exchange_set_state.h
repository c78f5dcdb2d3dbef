/* SPDX-License-Identifier: Apache-2.0 */

/* Changes the states of exchanges and consumers. Each change is logged at level
 * debug, with the number of the exchange in this process and the id of its
 * call, if it has one. */


#ifndef MCP_EXCHANGE_SET_STATE_H_INCLUDED
#define MCP_EXCHANGE_SET_STATE_H_INCLUDED


#include "worker/mcp_worker_internal.h"


void mcp_exchange_set_state(mcp_exchange_t *x, mcp_exchange_state_e state);

/* Returns 1 if worker->n_waiting counts x. */
unsigned mcp_exchange_is_waiting(const mcp_exchange_t *x);

void mcp_consumer_set_state(mcp_exchange_t *x, mcp_consumer_state_e state);

/* Requests the end of the connection of x. Does not replace an earlier request
 * that is more urgent. */
void mcp_consumer_set_close(mcp_exchange_t *x, mcp_consumer_close_e close);


#endif /* MCP_EXCHANGE_SET_STATE_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* Declares mcp_listen(), the handler of subscriptions/listen (2026-07-28,
 * basic/patterns/subscriptions). */


#ifndef MCP_LISTEN_H_INCLUDED
#define MCP_LISTEN_H_INCLUDED


#include "exchange/mcp_exchange_internal.h"
#include "exchange/mcp_listen_task.h"
#include "rpc/mcp_subscription.h"


/* Responds with a stream of the notifications that the request's filter selects
 * and the endpoint offers. The stream ends with the connection. Returns
 * the values of mcp_exchange_body(). */
mcp_next_e mcp_listen(mcp_exchange_t *x);


#endif /* MCP_LISTEN_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* subscriptions/listen (2026-07-28, basic/patterns/subscriptions). */


#ifndef MCP_LISTEN_H_INCLUDED
#define MCP_LISTEN_H_INCLUDED


#include "exchange/mcp_exchange_parts.h"


/* Answers the request with a stream of what its filter wants and the endpoint
 * has, which ends with the connection.  Returns what mcp_exchange_body()
 * does. */
int mcp_listen(mcp_exchange_t *x);


#endif /* MCP_LISTEN_H_INCLUDED */

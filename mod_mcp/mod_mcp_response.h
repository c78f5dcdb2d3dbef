/* SPDX-License-Identifier: Apache-2.0 */

/* Writing a response that is no stream. */

#ifndef MOD_MCP_RESPONSE_H
#define MOD_MCP_RESPONSE_H

#include "mod_mcp.h"

#include "mcp_exchange.h"

/* Sets status, type and headers; a stream's head is made of them as well. */
void mod_mcp_response_head(request_rec *r, const mcp_response_t *response);

/* Under the lock: begins the exchange's response. */
void mod_mcp_response_begin(mod_mcp_client_t *client);

/*
 * Writes the body, or a piece of it.  Returns
 *   APR_EOF     all is written
 *   APR_EAGAIN  the socket is full (never if wait)
 *   other       the connection is broken
 */
apr_status_t mod_mcp_response_step(mod_mcp_client_t *client, int wait);

/*
 * Answers a request in a hook that httpd runs before handlers: calls a handler,
 * after other modules have inserted and initialized their filters.  Returns
 * what the handler returns.
 */
int mod_mcp_response_early(request_rec *r, const char *handler);

#endif /* MOD_MCP_RESPONSE_H */

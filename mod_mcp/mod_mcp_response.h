/* SPDX-License-Identifier: Apache-2.0 */

/* Writes a response that is not a stream. */

#ifndef MOD_MCP_RESPONSE_H
#define MOD_MCP_RESPONSE_H

#include "mod_mcp.h"

#include "mcp_exchange.h"

/* Sets status, content type and headers of the response; also for a stream. */
void mod_mcp_response_head(request_rec *r, const mcp_response_t *response);

/* Begins to send the response of the client's exchange.  Called under
 * mod_mcp_lock(). */
void mod_mcp_response_begin(mod_mcp_client_t *client);

/*
 * Writes the body of a response, or a piece of the body.  Returns
 *   APR_EOF     everything is written
 *   APR_EAGAIN  the socket's buffer is full (never if wait is 1)
 *   other       the connection is broken
 */
apr_status_t mod_mcp_response_step(mod_mcp_client_t *client, int wait);

/*
 * Answers a request in a hook that httpd runs before handlers: calls the
 * handler with this name, after other modules have inserted and initialized
 * their filters.  Returns the result of the handler.
 */
int mod_mcp_response_early(request_rec *r, const char *handler);

#endif /* MOD_MCP_RESPONSE_H */

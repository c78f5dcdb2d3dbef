/* SPDX-License-Identifier: Apache-2.0 */

/* Writing a stream. */

#ifndef MOD_MCP_STREAM_H
#define MOD_MCP_STREAM_H

#include "mod_mcp.h"

/* Sends the head of a stream. */
void mod_mcp_stream_head(mod_mcp_client_t *client);

/*
 * Pulls from the core and writes.  Sets client->finished when all is passed on,
 * even if the socket is full.  Returns
 *   APR_SUCCESS     there is more, but other clients have their turn
 *   APR_EAGAIN      the socket is full (never if wait)
 *   APR_INCOMPLETE  there is nothing more now
 *   APR_EOF         all is written
 *   other           the connection is broken
 */
apr_status_t mod_mcp_stream_step(mod_mcp_client_t *client, int wait);

/* Passes len bytes on, and waits for the socket or not. */
apr_status_t mod_mcp_stream_write(mod_mcp_client_t *client, const char *data,
                                  apr_size_t len, int wait);

/* A metadata bucket without meaning: filters send what they have. */
apr_bucket *mod_mcp_stream_nudge(apr_bucket_alloc_t *list);

int mod_mcp_stream_is_nudge(const apr_bucket *b);

/* Writes what filters hold back, without waiting: APR_SUCCESS, APR_EAGAIN or an
 * error. */
apr_status_t mod_mcp_stream_flush(mod_mcp_client_t *client);

/* Ends TLS, after all is written. */
void mod_mcp_stream_bye(mod_mcp_client_t *client);

#endif /* MOD_MCP_STREAM_H */

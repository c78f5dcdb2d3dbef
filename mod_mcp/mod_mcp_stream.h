/* SPDX-License-Identifier: Apache-2.0 */

/* Writes a stream. */

#ifndef MOD_MCP_STREAM_H
#define MOD_MCP_STREAM_H

#include "mod_mcp.h"

/* Sends the head of a stream. */
void mod_mcp_stream_head(mod_mcp_client_t *client);

/*
 * Pulls bytes of the stream from the core and writes them.  The output
 * becomes STREAMED when all bytes were passed to the filters, even if the
 * socket's buffer is full.  Returns
 *   APR_SUCCESS     more is available, but other clients get their turn
 *   APR_EAGAIN      the socket's buffer is full (never if wait is 1)
 *   APR_INCOMPLETE  nothing more is available now
 *   APR_EOF         all bytes of the stream are written
 *   other           the connection is broken
 */
apr_status_t mod_mcp_stream_step(mod_mcp_client_t *client, int wait);

/*
 * Passes len bytes to the filters; waits for the socket if wait is 1.  Returns
 * APR_SUCCESS, APR_EAGAIN (never if wait is 1) or an error.
 */
apr_status_t mod_mcp_stream_write(mod_mcp_client_t *client, const char *data,
                                  apr_size_t len, int wait);

/*
 * Creates a metadata bucket without any meaning.  It makes filters send the
 * data that they hold.
 */
apr_bucket *mod_mcp_stream_nudge(apr_bucket_alloc_t *list);

int mod_mcp_stream_is_nudge(const apr_bucket *b);

/*
 * Writes the data that filters hold, without waiting.  Returns APR_SUCCESS,
 * APR_EAGAIN or an error.
 */
apr_status_t mod_mcp_stream_flush(mod_mcp_client_t *client);

/* Sends the close_notify alert if the connection has TLS, after all data has
 * been written. */
void mod_mcp_stream_bye(mod_mcp_client_t *client);

#endif /* MOD_MCP_STREAM_H */

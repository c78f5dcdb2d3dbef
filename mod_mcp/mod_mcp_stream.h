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

/* --- mod_mcp_stream_filter.c --- */

#define MOD_MCP_STREAM_FILTER  "MCP_STREAM"

void mod_mcp_stream_filter_register(void);

/* Called in child_init: looks up the function of mod_logio that counts sent
 * bytes. */
void mod_mcp_stream_filter_init(void);

/* Adds the filter MOD_MCP_STREAM_FILTER to a client's connection, unless it is
 * there already. */
void mod_mcp_stream_filter_add(mod_mcp_client_t *client);

/*
 * Passes a brigade of the client's stream to the filters, and empties the
 * brigade.
 */
apr_status_t mod_mcp_stream_filter_pass(mod_mcp_client_t *client,
                                        apr_bucket_brigade *bb);

/* --- mod_mcp_filter.c --- */

/* Called in child_init: looks up the filters that do not block. */
void mod_mcp_filter_init(void);

/*
 * Returns 1 if passing data to the request's output filters might block,
 * regardless of its size.
 */
int mod_mcp_filter_blocks(request_rec *r);

/*
 * Returns the number of bytes that can be passed at once to output filters of
 * the connection without waiting for the socket.
 */
apr_size_t mod_mcp_filter_piece(const conn_rec *c);

#endif /* MOD_MCP_STREAM_H */

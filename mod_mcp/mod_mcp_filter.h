/* SPDX-License-Identifier: Apache-2.0 */

/* Detects output filters that might block. */

#ifndef MOD_MCP_FILTER_H
#define MOD_MCP_FILTER_H

#include "mod_mcp.h"

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

#endif /* MOD_MCP_FILTER_H */

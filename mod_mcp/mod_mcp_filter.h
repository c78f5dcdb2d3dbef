/* SPDX-License-Identifier: Apache-2.0 */

/* Output filters that might block. */

#ifndef MOD_MCP_FILTER_H
#define MOD_MCP_FILTER_H

#include "mod_mcp.h"

/* child_init: finds the filters that do not block. */
void mod_mcp_filter_init(void);

/* 1 if passing data on might block, whatever its size. */
int mod_mcp_filter_blocks(request_rec *r);

/* How many bytes can be passed on at once without waiting for the socket. */
apr_size_t mod_mcp_filter_piece(const conn_rec *c);

#endif /* MOD_MCP_FILTER_H */

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Mcp-Param-*: headers that mirror arguments of a tool (2026-07-28,
 * basic/transports/streamable-http, "Custom Headers from Tool Parameters").
 */


#ifndef MCP_EXCHANGE_PARAM_H_INCLUDED
#define MCP_EXCHANGE_PARAM_H_INCLUDED


#include "exchange/mcp_exchange_parts.h"


#define MCP_EXCHANGE_PARAMS_SIZE  (64 * 1024)  /* bytes of names and values */

/*
 * Keeps the request's Mcp-Param-* headers: MCP_CATALOG_HEADERS_MAX of them, of
 * MCP_EXCHANGE_PARAMS_SIZE bytes together; calls with more are refused.  A
 * request of a revision with sessions has none.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 */
int mcp_exchange_param_read(mcp_exchange_t *x, const mcp_head_t *head);

/*
 * Verifies that the headers of a call agree with its arguments, which may be
 * absent.  Headers that the catalog does not have are ignored.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  one does not: *detail names it
 *   MCP_ERR_MEMORY
 */
int mcp_exchange_param_check(mcp_exchange_t *x, mcp_str_t tool,
    const mcp_json_value_t *arguments, mcp_str_t *detail);


#endif /* MCP_EXCHANGE_PARAM_H_INCLUDED */

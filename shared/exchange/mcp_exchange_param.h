/* SPDX-License-Identifier: Apache-2.0 */

/* Reading of the Mcp-Param-* headers, which repeat arguments of a tool, and
 * comparison with these arguments (2026-07-28,
 * basic/transports/streamable-http, "Custom Headers from Tool Parameters"). */


#ifndef MCP_EXCHANGE_PARAM_H_INCLUDED
#define MCP_EXCHANGE_PARAM_H_INCLUDED


#include "exchange/mcp_exchange_internal.h"


/*
 * Stores the request's Mcp-Param-* headers: at most MCP_CATALOG_HEADERS_MAX
 * headers with MCP_TOOL_PARAMS_SIZE bytes together. If there are more, stores
 * none, and mcp_exchange_param_check() rejects calls of tools that need such
 * headers. To be called for revisions without sessions only. Returns MCP_OK or
 * MCP_ERR_MEMORY.
 */
int mcp_exchange_param_read(mcp_exchange_t *x, const mcp_head_t *head);

/*
 * Checks that the Mcp-Param-* headers of a tools/call agree with its arguments.
 * "arguments" has the type MCP_JSON_NONE if the call has none. Headers that the
 * catalog does not declare are ignored.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  *detail is the name of a header that differs or is missing,
 *                   or a text about too many headers
 *   MCP_ERR_MEMORY
 */
int mcp_exchange_param_check(mcp_exchange_t *x, mcp_str_t tool,
    const mcp_json_value_t *arguments, mcp_str_t *detail);


#endif /* MCP_EXCHANGE_PARAM_H_INCLUDED */

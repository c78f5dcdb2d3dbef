/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The headers Mcp-Param-* of the tools of MCP servers without a catalog
 * (2026-07-28, server/tools, "x-mcp-header"). A worker reads the names of these
 * headers from each list of tools that it receives, and uses them for the calls
 * of all callers. This reveals nothing to other callers, because the values of
 * the headers come from the arguments of the call itself.
 */


#ifndef MCP_UPSTREAM_TOOL_HEADERS_H_INCLUDED
#define MCP_UPSTREAM_TOOL_HEADERS_H_INCLUDED


#include "worker/mcp_worker_internal.h"


/* Maximum number of tools with headers in a worker's list. The tool that was
 * listed least recently is removed first. */
#define MCP_UPSTREAM_TOOLS       512

/* Maximum length of the inputSchema of a tool with headers, bytes. */
#define MCP_UPSTREAM_TOOLS_SCHEMA  (64 * 1024)


/* Reads the names of the Mcp-Param headers from the "x-mcp-header" members in
 * the schemas of all tools. "result" is a result of tools/list from the
 * endpoint's target, an object of valid JSON. A tool gets no headers if its
 * schema violates a rule for them, or when out of memory. */
void mcp_upstream_tools_read(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, unsigned target, mcp_str_t result);

/* Returns the array of a tool's headers and sets *n to their number. Returns
 * NULL if the worker's list does not have the tool. The array is valid until
 * the next mcp_upstream_tools_read(). */
const mcp_catalog_header_t *mcp_upstream_tools_find(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, unsigned target, mcp_str_t tool, size_t *n);

void mcp_upstream_tools_free(mcp_worker_t *worker);


#endif /* MCP_UPSTREAM_TOOL_HEADERS_H_INCLUDED */

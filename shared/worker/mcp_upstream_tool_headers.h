/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The headers Mcp-Param-* of the tools of MCP servers without a catalog
 * (2026-07-28, server/tools, "x-mcp-header"). A worker reads them from each
 * list of tools that it receives, and uses them for the calls of all callers:
 * the values of the headers come only from the arguments of a caller's own
 * call.
 */


#ifndef MCP_UPSTREAM_TOOL_HEADERS_H_INCLUDED
#define MCP_UPSTREAM_TOOL_HEADERS_H_INCLUDED


#include "worker/mcp_worker_internal.h"


/* Maximum number of tools with headers that a worker remembers; the tool that
 * was listed least recently is forgotten first. */
#define MCP_UPSTREAM_TOOLS       512

/* Maximum length of the inputSchema of such a tool, bytes. */
#define MCP_UPSTREAM_TOOLS_SCHEMA  (64 * 1024)


/* Reads the names of the Mcp-Param headers of all tools, which are in their
 * schemas as "x-mcp-header". "result" is a result of tools/list that the
 * endpoint's target has sent, an object of valid JSON. A tool whose schema
 * violates a rule of these headers, or for which there is no memory, has no
 * headers. */
void mcp_upstream_tools_read(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, unsigned target, mcp_str_t result);

/* Returns the array of a tool's headers and sets *n to their number. Returns
 * NULL if the tool has no headers, or if the worker remembers none. Valid until
 * the next mcp_upstream_tools_read(). */
const mcp_catalog_header_t *mcp_upstream_tools_find(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, unsigned target, mcp_str_t tool, size_t *n);

void mcp_upstream_tools_free(mcp_worker_t *worker);


#endif /* MCP_UPSTREAM_TOOL_HEADERS_H_INCLUDED */

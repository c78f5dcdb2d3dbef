/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Members of tools and of their results that only clients of some revisions
 * accept: they are removed for other clients.
 */


#ifndef MCP_REVISION_FILTER_H_INCLUDED
#define MCP_REVISION_FILTER_H_INCLUDED


#include "json/mcp_json_scan.h"
#include "rpc/mcp_method.h"


/* Bits of the members that are removed. */
#define MCP_REVISION_FILTER_OUTPUT     0x01  /* structuredContent and
                                                outputSchema that are not
                                                objects (2025-11-25, schema,
                                                Tool and CallToolResult) */
#define MCP_REVISION_FILTER_EXECUTION  0x02  /* the member "execution" of a
                                                tool, which declares whether the
                                                tool runs as a task of revision
                                                2025-11-25 */
#define MCP_REVISION_FILTER_SETS       0x04  /* every set of these bits is less
                                                than this number */


/* Returns the bits of the members that clients of the revision do not
 * accept. */
unsigned mcp_revision_filter(mcp_revision_e revision);

/*
 * Returns the MCP_REVISION_FILTER_... bits that apply to this member of a tool,
 * 0 if all clients accept it.
 */
unsigned mcp_revision_filter_member(mcp_str_t key,
    const mcp_json_value_t *value);

/*
 * Writes the result of a method, an object of valid JSON, without the members
 * that the filter removes.
 *
 * Returns MCP_OK, or
 *   MCP_DONE        the result has no such member; out is unchanged
 *   MCP_ERR_MEMORY
 */
int mcp_revision_filter_result(unsigned filter, const mcp_method_t *method,
    mcp_str_t result, mcp_buf_t *out);


#endif /* MCP_REVISION_FILTER_H_INCLUDED */

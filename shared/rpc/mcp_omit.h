/* SPDX-License-Identifier: Apache-2.0 */

/* Members of tools and of their results that only clients of some revisions
 * take: they are left out for the others. */


#ifndef MCP_OMIT_H_INCLUDED
#define MCP_OMIT_H_INCLUDED


#include "json/mcp_json.h"
#include "rpc/mcp_method.h"


/* Sets of what to leave out. */
#define MCP_OMIT_OUTPUT     0x01   /* structuredContent, and outputSchema, of
                                      other values than objects (2025-11-25,
                                      schema, Tool and CallToolResult) */
#define MCP_OMIT_EXECUTION  0x02   /* whether a tool runs as a task, as
                                      2025-11-25 knows them */
#define MCP_OMIT_SETS       0x04   /* each set is less */


/* Returns what clients of the revision do not take. */
unsigned mcp_omit(mcp_revision_e revision);

/* Returns what the member of a tool is of all that, 0 if all take it. */
unsigned mcp_omit_member(mcp_str_t key, const mcp_json_value_t *value);

/*
 * Writes the result of a method, an object of valid JSON, without what is to be
 * left out.
 *
 * Returns MCP_OK, or
 *   MCP_DONE        it has nothing of that, and out nothing new
 *   MCP_ERR_MEMORY
 */
int mcp_omit_result(unsigned omit, const mcp_method_t *method, mcp_str_t result,
    mcp_buf_t *out);


#endif /* MCP_OMIT_H_INCLUDED */

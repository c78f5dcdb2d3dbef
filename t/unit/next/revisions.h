/* SPDX-License-Identifier: Apache-2.0 */

/* Two imaginary revisions, one older than all others and a future one, for
 * MCP_REVISION_EXTRA of rpc/mcp_revision.h. */


#define MCP_REVISION_OLDER(ROW)                                              \
    ROW(30, 2001_01_01, "2001-01-01",                                        \
        .batch = 1)

#define MCP_REVISION_NEXT(ROW)                                               \
    ROW(31, 2031_01_01, "2031-01-01",                                        \
        .stateless = 1, .elicitation = 1, .titles = 1, .any_output = 1)

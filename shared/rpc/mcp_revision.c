/* SPDX-License-Identifier: Apache-2.0 */

/* The table of protocol revisions. */


#include "rpc/mcp_revision.h"


/* a row per revision, in the order of mcp_revision_e, which is by date */

static const mcp_revision_t  mcp_revisions[MCP_REVISION_COUNT] = {

    [MCP_REVISION_NONE] = {
        .name = { "", 0 }
    },

    [MCP_REVISION_2025_03_26] = {
        .name = { "2025-03-26", 10 },
        .batch = 1
    },

    [MCP_REVISION_2025_06_18] = {
        .name = { "2025-06-18", 10 },
        .elicitation = 1
    },

    [MCP_REVISION_2025_11_25] = {
        .name = { "2025-11-25", 10 },
        .priming = 1,
        .polling = 1,
        .elicitation = 1
    }
};


const mcp_revision_t *
mcp_revision(mcp_revision_e revision)
{
    if ((unsigned) revision >= MCP_REVISION_COUNT) {
        revision = MCP_REVISION_NONE;
    }

    return &mcp_revisions[revision];
}


mcp_revision_e
mcp_revision_find(mcp_str_t name)
{
    int  i;

    for (i = MCP_REVISION_NONE + 1; i < MCP_REVISION_COUNT; i++) {
        if (mcp_str_eq(mcp_revisions[i].name, name)) {
            return (mcp_revision_e) i;
        }
    }

    return MCP_REVISION_NONE;
}

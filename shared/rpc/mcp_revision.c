/* SPDX-License-Identifier: Apache-2.0 */

/* The table of protocol revisions. */


#include "rpc/mcp_revision.h"


static const mcp_revision_t  mcp_revisions[MCP_REVISION_LIMIT] = {

    [MCP_REVISION_NONE] = { .name = { "", 0 } },

#define MCP_REVISION_ROW(number, id, text, ...)                              \
    [number] = { .name = { text, sizeof(text) - 1 }, __VA_ARGS__ },
    MCP_REVISION_ROWS(MCP_REVISION_ROW)
};


static const mcp_revision_e  mcp_revision_order[] = {
    MCP_REVISION_NONE,
#define MCP_REVISION_NUMBER(number, id, text, ...)  MCP_REVISION_##id,
    MCP_REVISION_ROWS(MCP_REVISION_NUMBER)
    MCP_REVISION_NONE
};


/*
 * The number of revisions: the rows of the array without the first and the last
 * row, which both belong to MCP_REVISION_NONE.
 */
#define MCP_REVISION_COUNT                                                   \
    (sizeof(mcp_revision_order) / sizeof(mcp_revision_order[0]) - 2)


const mcp_revision_t *
mcp_revision(mcp_revision_e revision)
{
    return &mcp_revisions[(unsigned) revision < MCP_REVISION_LIMIT
                          ? revision : MCP_REVISION_NONE];
}


mcp_revision_e
mcp_revision_find(mcp_str_t name)
{
    size_t  i;

    for (i = 1; mcp_revision_order[i] != MCP_REVISION_NONE; i++) {
        if (mcp_str_eq(mcp_revisions[mcp_revision_order[i]].name, name)) {
            return mcp_revision_order[i];
        }
    }

    return MCP_REVISION_NONE;
}


mcp_revision_e
mcp_revision_next(mcp_revision_e revision)
{
    size_t  i;

    for (i = 0; mcp_revision_order[i] != revision; i++) {
        /* void */
    }

    return mcp_revision_order[i + 1];
}


mcp_revision_e
mcp_revision_latest(uint32_t set, int stateless)
{
    size_t          i;
    mcp_revision_e  revision;

    for (i = MCP_REVISION_COUNT; i > 0; i--) {
        revision = mcp_revision_order[i];

        if ((set & mcp_revision_bit(revision))
            && mcp_revisions[revision].stateless == (stateless != 0))
        {
            return revision;
        }
    }

    return MCP_REVISION_NONE;
}

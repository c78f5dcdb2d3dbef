/* SPDX-License-Identifier: Apache-2.0 */

/* The table of protocol revisions and of the differences between them. */


#ifndef MCP_REVISION_H_INCLUDED
#define MCP_REVISION_H_INCLUDED


#include "mcp.h"


typedef enum {
    MCP_REVISION_NONE = 0,
    MCP_REVISION_2025_03_26,
    MCP_REVISION_2025_06_18,
    MCP_REVISION_2025_11_25,
    MCP_REVISION_COUNT
} mcp_revision_e;


#define MCP_REVISION_LATEST   MCP_REVISION_2025_11_25

/* The revision of a request without MCP-Protocol-Version and without a session
 * (2025-11-25, basic/transports, "Protocol Version Header"). */
#define MCP_REVISION_DEFAULT  MCP_REVISION_2025_03_26


typedef struct {
    mcp_str_t  name;
    unsigned   batch:1;        /* JSON-RPC batches exist */
    unsigned   priming:1;      /* SSE streams begin with an empty event */
    unsigned   polling:1;      /* the server may close a stream that goes on */
    unsigned   elicitation:1;  /* elicitation/create exists */
} mcp_revision_t;


/* Returns the row of a revision, that of MCP_REVISION_NONE if it is out of
 * range. */
const mcp_revision_t *mcp_revision(mcp_revision_e revision);

/* Returns the revision of that name, MCP_REVISION_NONE if it is unknown. */
mcp_revision_e mcp_revision_find(mcp_str_t name);


#endif /* MCP_REVISION_H_INCLUDED */

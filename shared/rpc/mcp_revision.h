/* SPDX-License-Identifier: Apache-2.0 */

/* The one table of protocol revisions and of what each changes. */


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

/* What a request without MCP-Protocol-Version speaks when nothing else tells
 * (2025-11-25, basic/transports "Protocol Version Header"). */
#define MCP_REVISION_DEFAULT  MCP_REVISION_2025_03_26


typedef struct {
    mcp_str_t  name;
    unsigned   batch:1;        /* JSON-RPC batches exist */
    unsigned   priming:1;      /* SSE streams begin with an empty event */
    unsigned   polling:1;      /* server may close a stream at will */
    unsigned   elicitation:1;  /* elicitation/create exists */
} mcp_revision_t;


const mcp_revision_t *mcp_revision(mcp_revision_e revision);

/* MCP_REVISION_NONE if the name is not known. */
mcp_revision_e mcp_revision_find(mcp_str_t name);


#endif /* MCP_REVISION_H_INCLUDED */

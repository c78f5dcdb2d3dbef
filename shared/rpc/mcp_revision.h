/* SPDX-License-Identifier: Apache-2.0 */

/* The table of protocol revisions and of the differences between them. */


#ifndef MCP_REVISION_H_INCLUDED
#define MCP_REVISION_H_INCLUDED


#include "mcp.h"


typedef struct {
    mcp_str_t  name;
    unsigned   stateless:1;    /* no initialize, no session: each request
                                  describes its client */
    unsigned   batch:1;        /* JSON-RPC batches exist */
    unsigned   priming:1;      /* SSE streams begin with an empty event */
    unsigned   polling:1;      /* the server may close a stream before the
                                  response */
    unsigned   elicitation:1;  /* elicitation/create exists */
    unsigned   url_mode:1;     /* elicitation by a URL exists */
    unsigned   context:1;      /* clients declare whether sampling may
                                  include context */
    unsigned   titles:1;       /* objects have a title besides their name */
    unsigned   icons:1;        /* objects have icons; a server has a
                                  description and a website as well */
    unsigned   any_output:1;   /* structuredContent and outputSchema need not be
                                  objects */
} mcp_revision_t;


/*
 * A row for each revision, oldest first: its number, its identifier here, its
 * name in the protocol, and its properties.
 *
 * The numbers are stored in session tokens, and in zones that a newer build
 * continues to use: a number is never reused for another revision, and does
 * not imply an order.
 */
#define MCP_REVISION_ROWS(ROW)                                               \
    MCP_REVISION_OLDER(ROW)                                                  \
    ROW(1, 2025_03_26, "2025-03-26",                                         \
        .batch = 1)                                                          \
    ROW(2, 2025_06_18, "2025-06-18",                                         \
        .elicitation = 1, .titles = 1)                                       \
    ROW(3, 2025_11_25, "2025-11-25",                                         \
        .priming = 1, .polling = 1, .elicitation = 1, .url_mode = 1,         \
        .context = 1, .titles = 1, .icons = 1)                               \
    ROW(4, 2026_07_28, "2026-07-28",                                         \
        .stateless = 1, .elicitation = 1, .url_mode = 1, .context = 1,       \
        .titles = 1, .icons = 1, .any_output = 1)                            \
    MCP_REVISION_NEXT(ROW)

/* Rows before and after the revisions of the protocol. Only a unit test defines
 * such rows, in the header file that the macro MCP_REVISION_EXTRA names. */
#ifdef MCP_REVISION_EXTRA
#include MCP_REVISION_EXTRA
#else
#define MCP_REVISION_OLDER(ROW)
#define MCP_REVISION_NEXT(ROW)
#endif


typedef enum {
    MCP_REVISION_NONE = 0,
#define MCP_REVISION_ENUM(number, id, name, ...)  MCP_REVISION_##id = number,
    MCP_REVISION_ROWS(MCP_REVISION_ENUM)
#undef MCP_REVISION_ENUM
    MCP_REVISION_LIMIT = 32    /* all numbers are less than this one, because a
                                  set of revisions has 32 bits */
} mcp_revision_e;


/* The bit of a revision in a set. */
#define mcp_revision_bit(revision)  ((uint32_t) 1 << (revision))
#define MCP_REVISION_ALL            UINT32_MAX


/*
 * Returns the row of a revision. If the number is unknown, returns a row with
 * an empty name and without properties.
 */
const mcp_revision_t *mcp_revision(mcp_revision_e revision);

/* Returns the revision with this name, MCP_REVISION_NONE if it is unknown. */
mcp_revision_e mcp_revision_find(mcp_str_t name);

/*
 * Returns the next newer revision. Returns the oldest revision for
 * MCP_REVISION_NONE, and MCP_REVISION_NONE for the latest revision.
 */
mcp_revision_e mcp_revision_next(mcp_revision_e revision);

/*
 * Returns the latest revision of a set that is stateless (stateless is 1) or
 * has sessions; MCP_REVISION_NONE if there is none.
 */
mcp_revision_e mcp_revision_latest(uint32_t set, int stateless);


#endif /* MCP_REVISION_H_INCLUDED */

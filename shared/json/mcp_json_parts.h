/* SPDX-License-Identifier: Apache-2.0 */

/* The insides of a scan: what it has found so far, and the parser's memory. */


#ifndef MCP_JSON_PARTS_H_INCLUDED
#define MCP_JSON_PARTS_H_INCLUDED


#include "json/mcp_json.h"


/* One block for yajl, from which its allocations are cut. */
typedef struct {
    mcp_arena_t             *arena;
    char                    *pos;
    char                    *end;
    char                    *last;         /* the newest piece */
    size_t                   stack;        /* bytes of all states that yajl
                                              can need */
} mcp_json_memory_t;


/* One text that is being scanned. */
typedef struct {
    mcp_json_memory_t        memory;
    void                    *handle;       /* of yajl */

    const char              *text;
    const char              *pos;          /* end of the last token */
    const char              *end;

    const mcp_json_field_t  *fields;
    size_t                   n;
    mcp_json_value_t        *root;
    mcp_json_value_t        *values;

    uint64_t                 parents;      /* fields that have children */
    int                      object;       /* whose members we are among */
    int                      field;        /* that the next value is for */

    unsigned                 depth;
    unsigned                 max_depth;
    unsigned                 skip;         /* containers to leave until then */

    unsigned                 want_key:1;
    unsigned                 at_end:1;     /* yajl reads its own white space */

    mcp_json_error_t         error;
} mcp_json_scan_t;


/* --- mcp_json.c --- */

/* Notes a syntax error at this offset and returns MCP_ERR_SYNTAX. */
int mcp_json_fail(mcp_json_scan_t *scan, size_t offset);


/* --- mcp_json_parse.c --- */

/*
 * Parses the text, which is not empty, and fills root and values.
 *
 * Returns MCP_OK (also with duplicates, which scan->error notes), or
 *   MCP_ERR_SYNTAX  scan->error says what is wrong
 *   MCP_ERR_MEMORY
 */
int mcp_json_parse(mcp_json_scan_t *scan);


/* --- mcp_json_memory.c --- */

/*
 * Allocates all that yajl can need for len bytes of text.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 */
int mcp_json_memory_init(mcp_json_memory_t *memory, mcp_arena_t *arena,
    size_t len, unsigned max_depth);

/* What yajl calls; ctx is a mcp_json_memory_t. */
void *mcp_json_malloc(void *ctx, size_t size);
void *mcp_json_realloc(void *ctx, void *p, size_t size);
void mcp_json_free(void *ctx, void *p);


#endif /* MCP_JSON_PARTS_H_INCLUDED */

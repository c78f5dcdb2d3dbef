/* SPDX-License-Identifier: Apache-2.0 */

/* The insides of a scan: what it has found so far, and its two parsers. */


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
    const char              *text;
    const char              *end;

    const mcp_json_field_t  *fields;
    size_t                   n;
    mcp_json_value_t        *root;
    mcp_json_value_t        *values;

    int                      object;       /* the tracked one */
    size_t                   first;        /* field of the tracked object */
    int                      field;        /* that the next value is for */

    unsigned                 depth;
    unsigned                 tracked;      /* depth of the tracked object */
    unsigned                 max_depth;
    unsigned                 wary:1;       /* notes keys that are alike */

    mcp_json_error_t         error;

    /* of the walk */
    mcp_arena_t             *scratch;
    char                    *stack;        /* brackets that are to come */
    size_t                   room;         /* levels that it has */
    int                      rc;

    int                      escaped;      /* the last string has escapes */

    /* of yajl */
    unsigned                 want_key:1;
    unsigned                 at_end:1;     /* it reads its own white space */
    void                    *handle;
    const char              *pos;          /* end of the last token */
    mcp_json_memory_t        memory;
} mcp_json_scan_t;


/* --- mcp_json.c --- */

/* Notes a syntax error at this offset and returns MCP_ERR_SYNTAX. */
int mcp_json_fail(mcp_json_scan_t *scan, size_t offset);


/* --- mcp_json_field.c --- */

/*
 * What a parser has found where scan->depth is scan->tracked: a key (raw, with
 * its quotes), a scalar, the bracket that begins an object or array, and, with
 * the depth behind it, at most scan->tracked, the end of one.
 */
void mcp_json_field_key(mcp_json_scan_t *scan, mcp_str_t raw, int escaped);
void mcp_json_field_scalar(mcp_json_scan_t *scan, mcp_json_type_e type,
    const char *start, const char *end);
void mcp_json_field_open(mcp_json_scan_t *scan, const char *start);
void mcp_json_field_close(mcp_json_scan_t *scan, const char *end);


/*
 * The parsers fill root and values from a text that is not empty and has no
 * white space around it.  They return MCP_OK (also with duplicates, which
 * scan->error notes), or
 *   MCP_ERR_SYNTAX  scan->error says what is wrong
 *   MCP_ERR_MEMORY
 */

/* --- mcp_json_walk.c --- */

int mcp_json_walk(mcp_json_scan_t *scan, mcp_arena_t *scratch);


/* --- mcp_json_yajl.c --- */

int mcp_json_yajl(mcp_json_scan_t *scan, mcp_arena_t *scratch);


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

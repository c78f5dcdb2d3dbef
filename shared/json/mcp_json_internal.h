/* SPDX-License-Identifier: Apache-2.0 */

/* Internal declarations of a scan: its state, and its two parsers. */


#ifndef MCP_JSON_INTERNAL_H_INCLUDED
#define MCP_JSON_INTERNAL_H_INCLUDED


#include "json/mcp_json_scan.h"


/* Memory for yajl: one block, from which all allocations of yajl are taken. */
typedef struct {
    mcp_arena_t             *arena;
    char                    *pos;
    char                    *end;
    char                    *last;         /* the newest allocation, which can
                                              grow in place */
    size_t                   stack;        /* number of bytes that yajl's stack
                                              of parser states needs at most */
} mcp_json_memory_t;


/* The state of a scan. */
typedef struct {
    const char              *text;
    const char              *end;

    const mcp_json_field_t  *fields;
    size_t                   n;
    mcp_json_value_t        *root;
    mcp_json_value_t        *values;

    int                      object;       /* index of the field that is the
                                              tracked object
                                              (mcp_json_scan.c), or
                                              MCP_JSON_ROOT */
    size_t                   first;        /* index of the first field whose
                                              parent is the tracked object
                                              ("object") */
    int                      field;        /* index of the field to which the
                                              next value belongs,
                                              MCP_JSON_ROOT, or
                                              MCP_JSON_NO_FIELD */

    unsigned                 depth;
    unsigned                 tracked;      /* nesting depth of the members of
                                              the tracked object ("object") */
    unsigned                 max_depth;
    unsigned                 wary:1;       /* 1: record the first key that is
                                              similar to a field's name */

    mcp_json_error_t         error;

    /* used by mcp_json_walk() only */
    mcp_arena_t             *scratch;
    char                    *stack;        /* for each open container, the
                                              closing bracket that it needs */
    size_t                   room;         /* number of levels for which the
                                              stack has room */
    int                      rc;

    int                      escaped;      /* 1: the last string that was read
                                              has escapes */

    /* used by mcp_json_yajl() only */
    unsigned                 want_key:1;
    unsigned                 at_end:1;     /* 1: yajl reads the space that
                                              yajl_complete_parse() adds to the
                                              text */
    void                    *handle;
    const char              *pos;          /* end of the last token that was
                                              handled */
    mcp_json_memory_t        memory;
} mcp_json_scan_t;


/* --- mcp_json_scan.c --- */

/* Records a syntax error at "offset" of the scan's text. Returns
 * MCP_ERR_SYNTAX. */
int mcp_json_fail(mcp_json_scan_t *scan, size_t offset);

/*
 * The parsers call these functions for the tokens at the depth scan->tracked:
 * mcp_json_field_key() for a key (raw, with its quotes), _scalar() for a
 * string, number or literal, _open() for the opening bracket of an object or
 * array, and _close() for a closing bracket if the depth after it is at most
 * scan->tracked.
 */
void mcp_json_field_key(mcp_json_scan_t *scan, mcp_str_t raw, int escaped);
void mcp_json_field_scalar(mcp_json_scan_t *scan, mcp_json_type_e type,
    const char *start, const char *end);
void mcp_json_field_open(mcp_json_scan_t *scan, const char *start);
void mcp_json_field_close(mcp_json_scan_t *scan, const char *end);


/*
 * The two parsers, mcp_json_walk() and mcp_json_yajl(). They set the root and
 * the values from a text that is not empty and has no white space around it.
 * They return MCP_OK (also if fields occur twice, which scan->error records),
 * or
 *   MCP_ERR_SYNTAX  scan->error is the reason
 *   MCP_ERR_MEMORY
 */


/* --- mcp_json_parser.c --- */

int mcp_json_walk(mcp_json_scan_t *scan, mcp_arena_t *scratch);


/* --- mcp_json_yajl.c --- */

int mcp_json_yajl(mcp_json_scan_t *scan, mcp_arena_t *scratch);


#endif /* MCP_JSON_INTERNAL_H_INCLUDED */

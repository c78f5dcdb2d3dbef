/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reading JSON as a stream of tokens with byte offsets (the only user of
 * yajl).  Nothing is built: a scan checks a whole text (grammar, UTF-8,
 * depth) and hands out slices of the fields it was asked for; iterators walk
 * texts that a scan has accepted.
 */


#ifndef MCP_JSON_H_INCLUDED
#define MCP_JSON_H_INCLUDED


#include "base/mcp_arena.h"
#include "base/mcp_buf.h"


typedef enum {
    MCP_JSON_NONE = 0,         /* absent */
    MCP_JSON_NULL,
    MCP_JSON_BOOL,
    MCP_JSON_NUMBER,
    MCP_JSON_STRING,
    MCP_JSON_OBJECT,
    MCP_JSON_ARRAY
} mcp_json_type_e;


/* "raw" is the value's bytes in the text, quotes and brackets included. */
typedef struct {
    mcp_json_type_e  type;
    mcp_str_t        raw;
} mcp_json_value_t;


/*
 * One field to pick out.  "parent" is the index of the field whose object
 * holds this one, or MCP_JSON_ROOT; parents stand before their children.
 */
#define MCP_JSON_ROOT  -1

typedef struct {
    int        parent;
    mcp_str_t  key;
} mcp_json_field_t;


#define MCP_JSON_MAX_FIELDS  64


typedef enum {
    MCP_JSON_FINE = 0,
    MCP_JSON_BAD_SYNTAX,       /* grammar or invalid UTF-8, with offset */
    MCP_JSON_BAD_DEPTH,        /* nested deeper than the limit */
    MCP_JSON_BAD_DUPLICATE     /* a wanted field stands twice in an object */
} mcp_json_problem_e;


typedef struct {
    mcp_json_problem_e  problem;
    size_t              offset;        /* of the problem */
    size_t              line;          /* 1-based, for configuration files */
    int                 field;         /* the duplicate one */
    uint64_t            duplicates;    /* a bit for each duplicate field */
} mcp_json_error_t;


/*
 * Checks that text is exactly one JSON value (white space around it is
 * fine), at most max_depth containers deep, and sets root and values[0..n-1]
 * (MCP_JSON_NONE where absent).  Keys are compared after unescaping.  A value
 * of another type than object simply has no children.
 *
 * scratch is used for the parser's own memory and may be reset afterwards.
 * Returns MCP_OK, MCP_ERR_SYNTAX with *error set (error may be NULL), or
 * MCP_ERR_MEMORY.  The slices point into text.
 *
 * With MCP_JSON_BAD_DUPLICATE the text is JSON all the same: root is set, and
 * values hold the first one of each field.  With other problems all are NONE.
 */
int mcp_json_scan(mcp_arena_t *scratch, mcp_str_t text, unsigned max_depth,
    const mcp_json_field_t *fields, size_t n, mcp_json_value_t *root,
    mcp_json_value_t *values, mcp_json_error_t *error);


/* Walks the members of an object or the elements of an array that a scan
 * has accepted. */
typedef struct {
    const char  *pos;
    const char  *end;
    int          object;
} mcp_json_iter_t;

void mcp_json_iter_init(mcp_json_iter_t *iter, mcp_str_t raw);

/* Returns 1 and sets *key (raw, with quotes; untouched for arrays, may be
 * NULL) and *value, or 0 at the end. */
int mcp_json_iter_next(mcp_json_iter_t *iter, mcp_str_t *key,
    mcp_json_value_t *value);

/* JSON's white space, which is less than C's. */
static inline int
mcp_json_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The end of the string that begins at p (its quote), NULL if none is before
 * end. */
const char *mcp_json_string_end(const char *p, const char *end);

/*
 * Decodes a raw JSON string (with quotes) to UTF-8.  Without escapes *out is
 * a slice of raw, else it is in the arena.  An unpaired surrogate becomes
 * U+FFFD.  Returns MCP_OK or MCP_ERR_MEMORY.
 */
int mcp_json_unescape(mcp_arena_t *arena, mcp_str_t raw, mcp_str_t *out);

/* 1 if the raw JSON string (with quotes) unescapes to text. */
int mcp_json_str_eq(mcp_str_t raw, mcp_str_t text);

/* Looks a member of an accepted object up by its (plain) key; type NONE if
 * absent or if object is not one. */
mcp_json_value_t mcp_json_get(const mcp_json_value_t *object, mcp_str_t key);

/* Replaces CR and LF (insignificant in accepted JSON) by spaces, appending
 * to buf: one line, as SSE and NDJSON want it. */
void mcp_json_add_line(mcp_buf_t *buf, mcp_str_t json);

/* The same in place: len bytes at p, accepted JSON. */
void mcp_json_one_line(char *p, size_t len);


#endif /* MCP_JSON_H_INCLUDED */

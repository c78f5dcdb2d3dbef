/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reading JSON without building a tree: a scan checks a whole text (grammar,
 * UTF-8, depth) and returns slices of the fields that its caller wants, and
 * iterators walk texts that a scan has accepted.
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


/* A value; raw is its bytes in the text, with quotes and brackets. */
typedef struct {
    mcp_json_type_e  type;
    mcp_str_t        raw;
} mcp_json_value_t;


/*
 * A field that a scan looks for.  parent is the index of the field whose object
 * holds this one, or MCP_JSON_ROOT; parents stand before their children, and
 * know the first of them.
 */
#define MCP_JSON_ROOT  -1

typedef struct {
    int        parent;
    mcp_str_t  key;
    int        first;          /* 0: its object holds no fields */
} mcp_json_field_t;

#define mcp_json_field(parent, text)                                          \
    { parent, { text, sizeof(text) - 1 }, 0 }

#define mcp_json_object(parent, text, first)                                  \
    { parent, { text, sizeof(text) - 1 }, first }


#define MCP_JSON_MAX_FIELDS  64


typedef enum {
    MCP_JSON_FINE = 0,
    MCP_JSON_BAD_SYNTAX,       /* grammar or UTF-8 */
    MCP_JSON_BAD_DEPTH,        /* nested deeper than the limit */
    MCP_JSON_BAD_DUPLICATE     /* an object has a wanted field twice */
} mcp_json_problem_e;


typedef struct {
    mcp_json_problem_e  problem;
    size_t              offset;        /* of the first byte that is wrong */
    size_t              line;          /* of the problem, from 1 */
    int                 field;         /* the first duplicate */
    uint64_t            duplicates;    /* one bit for each duplicate field */
    mcp_str_t           alike;         /* of mcp_json_scan_client(): the first
                                          key, raw, that is no field's but alike
                                          (mcp_json_alike()); its length is 0 if
                                          there is none.  It is no problem of
                                          the text */
    int                 alike_field;   /* the field that it is alike to */
} mcp_json_error_t;


/*
 * Checks that the text is one JSON value, with or without white space around
 * it, at most max_depth containers deep.
 *
 * Sets *root and values[0] to values[n - 1], slices of the text, with the type
 * MCP_JSON_NONE for absent fields.  Keys are compared after unescaping.  A
 * field whose parent is no object is absent.  n is MCP_JSON_MAX_FIELDS at most.
 *
 * Memory that is needed, for texts of unusual depth, comes from scratch and is
 * released before the return.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX    *error says why; error may be NULL.  With
 *                     MCP_JSON_BAD_DUPLICATE the text is still JSON: *root is
 *                     set, and values hold the first of each field.  With other
 *                     problems all types are MCP_JSON_NONE.
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  too many fields
 */
int mcp_json_scan(mcp_arena_t *scratch, mcp_str_t text, unsigned max_depth,
    const mcp_json_field_t *fields, size_t n, mcp_json_value_t *root,
    mcp_json_value_t *values, mcp_json_error_t *error);

/* Does the same for a client's text, and notes in *error the first key that is
 * alike to a field's. */
int mcp_json_scan_client(mcp_arena_t *scratch, mcp_str_t text,
    unsigned max_depth, const mcp_json_field_t *fields, size_t n,
    mcp_json_value_t *root, mcp_json_value_t *values, mcp_json_error_t *error);

/*
 * The same for what an operator has written, judged by yajl, which others have
 * tried for longer; speed is no matter there.  t/fuzz/mcp_json_walk_fuzz.c
 * holds the two against each other: they accept the same texts and find the
 * same in them.  Where a text breaks the grammar, the offset is only near.
 */
int mcp_json_scan_config(mcp_arena_t *scratch, mcp_str_t text,
    unsigned max_depth, const mcp_json_field_t *fields, size_t n,
    mcp_json_value_t *root, mcp_json_value_t *values, mcp_json_error_t *error);


/* Walks the members of an object, or the elements of an array, that a scan has
 * accepted. */
typedef struct {
    const char  *pos;
    const char  *end;
    int          object;
} mcp_json_iter_t;

void mcp_json_iter_init(mcp_json_iter_t *iter, mcp_str_t raw);

/* Returns 1 and sets *key (raw, with its quotes) and *value, or returns 0 at
 * the end.  key may be NULL; an array does not set it. */
int mcp_json_iter_next(mcp_json_iter_t *iter, mcp_str_t *key,
    mcp_json_value_t *value);

/* JSON's white space, which is less than C's. */
static inline int
mcp_json_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Returns the end of the string whose first quote is at p, NULL if the string
 * does not end before end. */
const char *mcp_json_string_end(const char *p, const char *end);

/*
 * Decodes a raw string, with its quotes, to UTF-8.  *out is a slice of raw if
 * there are no escapes, and in the arena otherwise.  An unpaired surrogate
 * becomes U+FFFD.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 */
int mcp_json_unescape(mcp_arena_t *arena, mcp_str_t raw, mcp_str_t *out);

/* Returns 1 if a raw string, with its quotes, decodes to text; 0 also if raw is
 * no string. */
int mcp_json_str_eq(mcp_str_t raw, mcp_str_t text);

/*
 * Returns 1 if a raw string, with its quotes, decodes to a text that some JSON
 * parsers take for `text` as a member's name, because they ignore case: the two
 * are equal after ASCII letters and the characters that are another case of one
 * (U+017F of s, U+212A of k, U+0130 and U+0131 of i) have been folded.  Other
 * characters must be equal.  Returns 0 if raw is not a string.
 */
int mcp_json_alike(mcp_str_t raw, mcp_str_t text);

/* Returns the first member of an accepted object with this unescaped key.  Its
 * type is MCP_JSON_NONE if it is absent, or if object is of another type. */
mcp_json_value_t mcp_json_get(const mcp_json_value_t *object, mcp_str_t key);

/*
 * Does the same for a member whose value others rely on, who may read the last
 * of two.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  the object has the key twice
 */
int mcp_json_get_once(const mcp_json_value_t *object, mcp_str_t key,
    mcp_json_value_t *value);

/* Appends accepted JSON as one line, as SSE and NDJSON need it: CR and LF,
 * which mean nothing in JSON, become spaces. */
void mcp_json_add_line(mcp_buf_t *buf, mcp_str_t json);

/* Makes one line of len bytes of accepted JSON in place. */
void mcp_json_one_line(char *p, size_t len);

/* Removes the white space between the tokens of len bytes of accepted JSON, in
 * place; strings, numbers and the order of members stay byte for byte as they
 * are.  Returns the length of what is left. */
size_t mcp_json_compact(char *p, size_t len);

/* Appends accepted JSON, compacted. */
void mcp_json_add_compact(mcp_buf_t *buf, mcp_str_t json);


#endif /* MCP_JSON_H_INCLUDED */

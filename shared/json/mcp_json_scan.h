/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads JSON without building a tree: a scan validates a whole text (grammar,
 * UTF-8, depth) and returns slices with the requested fields; iterators walk
 * through texts that a scan has accepted.
 */


#ifndef MCP_JSON_SCAN_H_INCLUDED
#define MCP_JSON_SCAN_H_INCLUDED


#include "base/mcp_arena.h"
#include "mcp_buf.h"


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
 * A field that a scan searches for. parent is the index of the field that is
 * the enclosing object, or MCP_JSON_ROOT. A parent precedes its children.
 */
#define MCP_JSON_ROOT  -1

typedef struct {
    int        parent;
    mcp_str_t  key;
    int        first;          /* index of the first child; 0: no children */
} mcp_json_field_t;

#define mcp_json_field(parent, text)                                          \
    { parent, { text, sizeof(text) - 1 }, 0 }

#define mcp_json_object(parent, text, first)                                  \
    { parent, { text, sizeof(text) - 1 }, first }


#define MCP_JSON_MAX_FIELDS  64


typedef enum {
    MCP_JSON_FINE = 0,
    MCP_JSON_BAD_SYNTAX,       /* the text is not JSON or not UTF-8 */
    MCP_JSON_BAD_DEPTH,        /* the text is nested deeper than allowed */
    MCP_JSON_BAD_DUPLICATE     /* an object has a requested field twice */
} mcp_json_problem_e;


typedef struct {
    mcp_json_problem_e  problem;
    size_t              offset;        /* offset of the first invalid byte, of
                                          the bracket that is nested too deep,
                                          or of the first duplicate key */
    int                 field;         /* index of the first duplicate field */
    uint64_t            duplicates;    /* bit k: field k occurs twice */
    uint64_t            nulls;         /* bit k: the value of field k is null.
                                          This is not an error of the text */
    mcp_str_t           alike;         /* for mcp_json_scan_client(): the
                                          first key, raw, that is similar to
                                          the name of a field but not equal
                                          (mcp_json_alike()); its length is
                                          0 if there is none. This is not an
                                          error of the text */
    int                 alike_field;   /* index of the field whose name is
                                          similar to "alike" */
} mcp_json_error_t;


/*
 * Validates that the text is one JSON value, with optional white space around
 * it and at most max_depth nested containers.
 *
 * Sets *root and values[0] to values[n - 1], slices of the text, with the type
 * MCP_JSON_NONE for absent fields. Keys are compared after unescaping. A field
 * whose parent is not an object is absent. n is at most MCP_JSON_MAX_FIELDS.
 * Texts of unusual depth need memory from scratch, which is released before
 * the function returns.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX    *error is the reason; error may be NULL. With
 *                     MCP_JSON_BAD_DUPLICATE the text is still JSON: *root is
 *                     set, and values has the first value of a field that
 *                     occurs twice. With other problems all types are
 *                     MCP_JSON_NONE.
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  too many fields
 */
int mcp_json_scan(mcp_arena_t *scratch, mcp_str_t text, unsigned max_depth,
    const mcp_json_field_t *fields, size_t n, mcp_json_value_t *root,
    mcp_json_value_t *values, mcp_json_error_t *error);

/*
 * Scans a client's text like mcp_json_scan(), and stores in *error the first
 * key that is similar to the name of a field.
 */
int mcp_json_scan_client(mcp_arena_t *scratch, mcp_str_t text,
    unsigned max_depth, const mcp_json_field_t *fields, size_t n,
    mcp_json_value_t *root, mcp_json_value_t *values, mcp_json_error_t *error);

/*
 * Scans an operator's text like mcp_json_scan(), but with yajl, which is older
 * and more widely tested; the speed for such texts does not matter.
 * t/fuzz/mcp_json_walk_fuzz.c compares the two parsers: they accept the same
 * texts and return the same values. For syntax errors the offset is only
 * approximate.
 */
int mcp_json_scan_config(mcp_arena_t *scratch, mcp_str_t text,
    unsigned max_depth, const mcp_json_field_t *fields, size_t n,
    mcp_json_value_t *root, mcp_json_value_t *values, mcp_json_error_t *error);


/*
 * An iterator over the members of an object, or the elements of an array, that
 * a scan has accepted.
 */
typedef struct {
    const char  *pos;
    const char  *end;
    int          object;
} mcp_json_iter_t;

void mcp_json_iter_init(mcp_json_iter_t *iter, mcp_str_t raw);

/* Like mcp_json_iter_init(), but the iterator is empty if value is not of this
 * type, MCP_JSON_OBJECT or MCP_JSON_ARRAY. */
void mcp_json_iter_type(mcp_json_iter_t *iter, const mcp_json_value_t *value,
    mcp_json_type_e type);

/*
 * Returns 1 and sets *key (raw, with its quotes) and *value, or returns 0 at
 * the end. key may be NULL; for an array it is not set.
 */
int mcp_json_iter_next(mcp_json_iter_t *iter, mcp_str_t *key,
    mcp_json_value_t *value);

/* Returns 1 for the white space of JSON, which is a subset of C's. */
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

/*
 * Decodes a raw string, with its quotes, to UTF-8 at "out", which has room for
 * raw.len bytes. Returns the length. An unpaired surrogate becomes U+FFFD.
 */
size_t mcp_json_decode(char *out, mcp_str_t raw);

/*
 * Returns 1 if a raw string, with its quotes, decodes to text; 0 also if raw
 * is not a string.
 */
int mcp_json_str_eq(mcp_str_t raw, mcp_str_t text);

/*
 * Returns 1 if some JSON parsers accept the key raw, a string with its quotes,
 * as the member name "text", because they ignore case or truncate keys at
 * U+0000. Ignores an escaped U+0000 in raw and everything after it. Apart from
 * that, both must be equal after folding ASCII letters and the characters whose
 * other case is an ASCII letter (U+017F for s, U+212A for k, U+0130 and U+0131
 * for i). Returns 0 if raw is not a string.
 */
int mcp_json_alike(mcp_str_t raw, mcp_str_t text);

/*
 * Return the hash of a key, which is a raw string with its quotes, and of a
 * member name. The hashes are equal if mcp_json_str_eq() or mcp_json_alike()
 * is 1 for the key and the name.
 */
uint32_t mcp_json_hash_key(mcp_str_t raw);
uint32_t mcp_json_hash_name(mcp_str_t text);

/*
 * Returns the lower-case ASCII letter to which mcp_json_alike() folds the
 * character c, or 0 if it folds c to none.
 */
char mcp_json_letter(mcp_str_t c);

/* Returns the first member of an accepted object with this unescaped key. The
 * returned value has the type MCP_JSON_NONE if the member is absent, or if
 * object is not a JSON object. */
mcp_json_value_t mcp_json_get(const mcp_json_value_t *object, mcp_str_t key);

/* Like mcp_json_get(), for the text of an accepted object. */
mcp_json_value_t mcp_json_get_from(mcp_str_t object, mcp_str_t key);

/*
 * Finds the member of an accepted object with this unescaped key, and rejects
 * an object that has two: other programs that read the object may use the
 * second one.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  the object has the key twice
 */
int mcp_json_get_once(const mcp_json_value_t *object, mcp_str_t key,
    mcp_json_value_t *value);

/*
 * Appends accepted JSON as one line, for SSE and NDJSON: CR and LF between
 * tokens become spaces.
 */
void mcp_json_add_line(mcp_buf_t *buf, mcp_str_t json);

/* Replaces CR and LF in len bytes of accepted JSON by spaces, in place. */
void mcp_json_one_line(char *p, size_t len);

/*
 * Removes the white space between the tokens of len bytes of accepted JSON, in
 * place. Strings, numbers and the order of members are unchanged. Returns the
 * new length.
 */
size_t mcp_json_compact(char *p, size_t len);

/* Appends accepted JSON, compacted. */
void mcp_json_add_compact(mcp_buf_t *buf, mcp_str_t json);

/* Appends the raw key of an object's member, and a colon. A comma precedes the
 * key unless the buffer is empty or ends with a brace that opens an object. */
void mcp_json_add_key(mcp_buf_t *buf, mcp_str_t key);

/* Returns 1 if the member with this raw key may be copied. The function may use
 * the free memory of buf as scratch space. */
typedef int (*mcp_json_keep_pt)(mcp_buf_t *buf, mcp_str_t key);

/* Appends the members of an object, without the member "except", which may be
 * empty, and without those that keep() rejects; keep may be NULL. Appends
 * nothing if object is of another type. Returns the value of the member
 * "except"; its type is MCP_JSON_NONE if there is none. */
mcp_json_value_t mcp_json_add_members(mcp_buf_t *buf,
    const mcp_json_value_t *object, mcp_str_t except, mcp_json_keep_pt keep);

/* Returns the number of members or elements of an accepted object or array, but
 * at most limit. */
size_t mcp_json_count(mcp_str_t raw, size_t limit);


#endif /* MCP_JSON_SCAN_H_INCLUDED */

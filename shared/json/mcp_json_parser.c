/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The grammar of JSON (RFC 8259) in one pass: validates values, depth and
 * UTF-8, and finds the fields of a scan, in one walk from the first byte to
 * the last.
 *
 * The walk does not recurse. Its stack has one byte for each level, the
 * closing bracket; only texts of unusual depth need more space than is on the
 * C stack.
 *
 * Bytes above 0x7f are allowed only in strings, so UTF-8 is checked only
 * there. \u may denote any code unit: mcp_json_unescape() documents the result
 * of an unpaired surrogate.
 */


#include "base/mcp_simd.h"
#include "base/mcp_str.h"
#include "json/mcp_json_internal.h"


/* number of levels that need no allocation */
#define MCP_JSON_LEVELS   128


/* Records a syntax error at p. Returns NULL. */
static const char *
mcp_json_refuse(mcp_json_scan_t *scan, const char *p)
{
    scan->rc = mcp_json_fail(scan, (size_t) (p - scan->text));

    return NULL;
}


static inline const char *
mcp_json_space_end(const char *p, const char *end)
{
    while (p < end && *p <= ' ' && mcp_json_is_space(*p)) {
        p++;
    }

    return p;
}


/* Advances *pp past white space, which is rare here. Returns 1 if the next
 * character is c, otherwise 0. */
static inline int
mcp_json_comes(const char **pp, const char *end, char c)
{
    const char  *p;

    p = *pp;

    if (p < end && *p == c) {
        return 1;
    }

    *pp = p = mcp_json_space_end(p, end);

    return p < end && *p == c;
}


/*
 * Returns the first byte from p on that needs a check within a string. Such
 * bytes are above 0x7f, hence negative, or less than a space, or a quote or a
 * backslash.
 */
static inline const char *
mcp_json_plain_end(const char *p, const char *end)
{
    size_t      n;
    mcp_simd_t  text;

    for ( ; end - p >= MCP_SIMD; p += MCP_SIMD) {
        text = mcp_simd(p);
        n = mcp_simd_first((text < ' ') | (text == '"') | (text == '\\'));

        if (n < MCP_SIMD) {
            return p + n;
        }
    }

    while (p < end && (signed char) *p >= ' ' && *p != '"' && *p != '\\') {
        p++;
    }

    return p;
}


/* Returns the end of the escape at p (its backslash), or NULL if it is
 * invalid. */
static const char *
mcp_json_escape_end(mcp_json_scan_t *scan, const char *p)
{
    char         c;
    const char  *end;

    p++;

    if (p == scan->end || memchr("\"\\/bfnrtu", *p, 9) == NULL) {
        return mcp_json_refuse(scan, p);
    }

    if (*p++ != 'u') {
        return p;
    }

    for (end = p + 4; p < end; p++) {
        if (p == scan->end) {
            return mcp_json_refuse(scan, p);
        }

        c = *p;

        if ((c < '0' || c > '9') && ((c | 0x20) < 'a' || (c | 0x20) > 'f')) {
            return mcp_json_refuse(scan, p);
        }
    }

    return p;
}


/*
 * Returns the end of the escape, or of the character of several bytes, at p in
 * a string. Returns NULL if it is invalid.
 */
static const char *
mcp_json_special_end(mcp_json_scan_t *scan, const char *p)
{
    int     valid;
    size_t  n;

    if (p == scan->end) {
        return mcp_json_refuse(scan, p);
    }

    if (*p == '\\') {
        scan->escaped = 1;
        return mcp_json_escape_end(scan, p);
    }

    n = mcp_utf8_char(p, scan->end, &valid);

    /* a control character is valid UTF-8, but not allowed */

    if (!valid || n == 1) {
        return mcp_json_refuse(scan, p);
    }

    return p + n;
}


/* Returns the end of the string at p (its first quote), or NULL if it is
 * invalid, and sets scan->escaped. */
static inline const char *
mcp_json_walk_string(mcp_json_scan_t *scan, const char *p)
{
    scan->escaped = 0;

    p++;

    for ( ;; ) {
        p = mcp_json_plain_end(p, scan->end);

        if (p < scan->end && *p == '"') {
            return p + 1;
        }

        p = mcp_json_special_end(scan, p);
        if (p == NULL) {
            return NULL;
        }
    }
}


/* Returns the end of the digits at p, or NULL if there is none. */
static const char *
mcp_json_digits_end(mcp_json_scan_t *scan, const char *p)
{
    if (p == scan->end || *p < '0' || *p > '9') {
        return mcp_json_refuse(scan, p);
    }

    do {
        p++;
    } while (p < scan->end && *p >= '0' && *p <= '9');

    return p;
}


static const char *
mcp_json_number_end(mcp_json_scan_t *scan, const char *p)
{
    const char  *end;

    end = scan->end;

    p += *p == '-';

    if (p < end && *p == '0') {
        p++;

    } else {
        p = mcp_json_digits_end(scan, p);
    }

    if (p != NULL && p < end && *p == '.') {
        p = mcp_json_digits_end(scan, p + 1);
    }

    if (p != NULL && p < end && (*p == 'e' || *p == 'E')) {
        p++;
        p += p < end && (*p == '+' || *p == '-');
        p = mcp_json_digits_end(scan, p);
    }

    return p;
}


/* Returns the end of the word (true, false or null) at p. Returns NULL if
 * another text is at p. */
static const char *
mcp_json_word_end(mcp_json_scan_t *scan, const char *p, const char *word)
{
    while (*word != '\0') {
        if (p == scan->end || *p != *word) {
            return mcp_json_refuse(scan, p);
        }

        p++;
        word++;
    }

    return p;
}


/* Returns the end of the string, number or literal at p, and sets *type.
 * Returns NULL if it is invalid. */
static inline const char *
mcp_json_scalar_end(mcp_json_scan_t *scan, const char *p,
    mcp_json_type_e *type)
{
    switch (*p) {

    case '"':
        *type = MCP_JSON_STRING;
        return mcp_json_walk_string(scan, p);

    case 't':
        *type = MCP_JSON_BOOL;
        return mcp_json_word_end(scan, p, "true");

    case 'f':
        *type = MCP_JSON_BOOL;
        return mcp_json_word_end(scan, p, "false");

    case 'n':
        *type = MCP_JSON_NULL;
        return mcp_json_word_end(scan, p, "null");

    default:
        *type = MCP_JSON_NUMBER;
        return mcp_json_number_end(scan, p);
    }
}


/* Replaces the stack by one in the arena that has room for max_depth levels, or
 * for as many levels as the text has bytes if they are fewer. Returns MCP_OK or
 * MCP_ERR_MEMORY. */
static int
mcp_json_grow(mcp_json_scan_t *scan)
{
    char    *stack;
    size_t   room;

    room = (size_t) (scan->end - scan->text);

    if (room > scan->max_depth) {
        room = scan->max_depth;
    }

    stack = mcp_arena_alloc(scan->scratch, room);
    if (stack == NULL) {
        scan->rc = MCP_ERR_MEMORY;
        return MCP_ERR_MEMORY;
    }

    memcpy(stack, scan->stack, scan->depth);

    scan->stack = stack;
    scan->room = room;

    return MCP_OK;
}


/* Enters the object or array at p. Returns the position after its bracket, or
 * NULL after an error. */
static inline const char *
mcp_json_open(mcp_json_scan_t *scan, const char *p)
{
    if (scan->depth == scan->max_depth) {
        scan->error.problem = MCP_JSON_BAD_DEPTH;
        scan->error.offset = (size_t) (p - scan->text);
        scan->rc = MCP_ERR_SYNTAX;
        return NULL;
    }

    if (scan->depth == scan->room && mcp_json_grow(scan) != MCP_OK) {
        return NULL;
    }

    if (scan->depth == scan->tracked) {
        mcp_json_field_open(scan, p);
    }

    /* in ASCII each closing bracket is the opening one plus 2 */

    scan->stack[scan->depth++] = (char) (*p + 2);

    return p + 1;
}


/*
 * Leaves the object or array whose closing bracket is at p. Returns the
 * position after the bracket.
 */
static inline const char *
mcp_json_close(mcp_json_scan_t *scan, const char *p)
{
    p++;
    scan->depth--;

    if (scan->depth <= scan->tracked) {
        mcp_json_field_close(scan, p);
    }

    return p;
}


/* Reads the key of the member at p and the colon. Returns the start of the
 * member's value, or NULL if they are invalid. */
static inline const char *
mcp_json_member(mcp_json_scan_t *scan, const char *p)
{
    const char  *key;

    key = p;

    if (!mcp_json_comes(&key, scan->end, '"')) {
        return mcp_json_refuse(scan, key);
    }

    p = mcp_json_walk_string(scan, key);
    if (p == NULL) {
        return NULL;
    }

    if (scan->depth == scan->tracked) {
        mcp_json_field_key(scan, (mcp_str_t) { key, (size_t) (p - key) },
                           scan->escaped);
    }

    if (!mcp_json_comes(&p, scan->end, ':')) {
        return mcp_json_refuse(scan, p);
    }

    return p + 1;
}


/*
 * Leaves the containers that end at p. p is after a value or, if first is 1, at
 * the beginning of a container. Returns the start of the next value, the end of
 * the text, or NULL after an error.
 */
static inline const char *
mcp_json_next(mcp_json_scan_t *scan, const char *p, int first)
{
    char         bracket;
    const char  *end;

    end = scan->end;

    while (scan->depth > 0) {
        bracket = scan->stack[scan->depth - 1];
        p = mcp_json_space_end(p, end);

        if (p == end) {
            return mcp_json_refuse(scan, p);
        }

        if (*p == bracket) {
            p = mcp_json_close(scan, p);
            first = 0;
            continue;
        }

        if (!first) {
            if (*p != ',') {
                return mcp_json_refuse(scan, p);
            }

            p++;
        }

        return bracket == '}' ? mcp_json_member(scan, p) : p;
    }

    return p == end ? p : mcp_json_refuse(scan, mcp_json_space_end(p, end));
}


/* Walks the value at p. Returns the start of the next value, the end of the
 * text, or NULL after an error. */
static inline const char *
mcp_json_value(mcp_json_scan_t *scan, const char *p)
{
    int               first;
    const char       *start;
    mcp_json_type_e   type;

    start = mcp_json_space_end(p, scan->end);

    if (start == scan->end) {
        return mcp_json_refuse(scan, start);
    }

    /* '{' and '[' differ in the bit 0x20 only */

    first = (*start | 0x20) == '{';

    if (first) {
        p = mcp_json_open(scan, start);

    } else {
        p = mcp_json_scalar_end(scan, start, &type);

        if (p != NULL && scan->depth == scan->tracked) {
            mcp_json_field_scalar(scan, type, start, p);
        }
    }

    return p ? mcp_json_next(scan, p, first) : NULL;
}


int
mcp_json_walk(mcp_json_scan_t *scan, mcp_arena_t *scratch)
{
    char              stack[MCP_JSON_LEVELS];
    const char       *p;
    mcp_arena_mark_t  mark;

    scan->scratch = scratch;
    scan->stack = stack;
    scan->room = MCP_JSON_LEVELS;
    scan->rc = MCP_OK;

    mark = mcp_arena_mark(scratch);
    p = scan->text;

    do {
        p = mcp_json_value(scan, p);
    } while (p != NULL && scan->depth > 0);

    if (scan->stack != stack) {
        mcp_arena_release(scratch, mark);
    }

    scan->stack = NULL;

    return scan->rc;
}

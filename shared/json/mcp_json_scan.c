/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Scans: find the positions of requested fields in a JSON text, without
 * building a tree; other functions decode strings on request. Two parsers check
 * the grammar: yajl for configuration, and mcp_json_parser.c, which is faster,
 * for all other texts.
 */


#include "base/mcp_word.h"
#include "json/mcp_json_internal.h"


/* --- fields --- */

/*
 * The fields of a scan: determines the field that a key names, and where its
 * value begins and ends. The *tracked object* is the innermost open object
 * whose members can be fields. Both parsers report only the keys and values of
 * the tracked object to this file; they only check values that are nested
 * deeper.
 */

/* The scan's "field" if the next value does not belong to a field. */
#define MCP_JSON_NO_FIELD   -2


static mcp_json_value_t *
mcp_json_slot(mcp_json_scan_t *scan, int field)
{
    return field == MCP_JSON_ROOT ? scan->root : &scan->values[field];
}


/*
 * Records that a field occurs twice; p is its second key. The scan continues,
 * to determine whether the text is JSON.
 */
static void
mcp_json_duplicate(mcp_json_scan_t *scan, int field, const char *p)
{
    if (scan->error.duplicates == 0) {
        scan->error.offset = (size_t) (p - scan->text);
        scan->error.field = field;
    }

    scan->error.duplicates |= (uint64_t) 1 << field;
}


/* Returns the index of the first field whose parent is "field", or scan->n if
 * there is none. */
static inline size_t
mcp_json_first(const mcp_json_scan_t *scan, int field)
{
    int  first;

    if (field == MCP_JSON_ROOT) {
        return 0;
    }

    first = scan->fields[field].first;

    return first > 0 ? (size_t) first : scan->n;
}


/* Returns 1 if the four bytes at a and at b are equal. */
static inline int
mcp_json_same_4(const char *a, const char *b)
{
    uint32_t  x, y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));

    return x == y;
}


/*
 * Returns 1 if the len bytes at a and at b are equal. Names are so short that
 * a call to memcmp() would cost more than the comparison.
 */
static inline int
mcp_json_same(const char *a, const char *b, size_t len)
{
    size_t  i;

    if (len < 4) {
        while (len > 0 && *a == *b) {
            a++;
            b++;
            len--;
        }

        return len == 0;
    }

    if (len < 8) {
        return mcp_json_same_4(a, b)
               && mcp_json_same_4(a + len - 4, b + len - 4);
    }

    for (i = 0; i + 8 < len; i += 8) {
        if (mcp_word(a + i) != mcp_word(b + i)) {
            return 0;
        }
    }

    return mcp_word(a + len - 8) == mcp_word(b + len - 8);
}


/*
 * mcp_json_find() returns the index of the field of the tracked object that a
 * key without escapes names, or scan->n if there is none.
 * mcp_json_find_escaped() does so for a key with escapes.
 */

static inline size_t
mcp_json_find(const mcp_json_scan_t *scan, mcp_str_t raw)
{
    size_t                   len;
    const mcp_json_field_t  *f, *end;

    len = raw.len - 2;
    end = scan->fields + scan->n;

    for (f = scan->fields + scan->first; f < end; f++) {
        if (f->key.len == len && f->parent == scan->object
            && mcp_json_same(raw.data + 1, f->key.data, len))
        {
            break;
        }
    }

    return (size_t) (f - scan->fields);
}


static size_t
mcp_json_find_escaped(const mcp_json_scan_t *scan, mcp_str_t raw)
{
    size_t  n;

    for (n = scan->first; n < scan->n; n++) {
        if (scan->fields[n].parent == scan->object
            && mcp_json_str_eq(raw, scan->fields[n].key))
        {
            break;
        }
    }

    return n;
}


/*
 * Handles a key that names no field: records the key if it is similar to the
 * name of a field (mcp_json_alike()).
 */
__attribute__((noinline)) static void
mcp_json_key_unknown(mcp_json_scan_t *scan, mcp_str_t raw)
{
    size_t  n;

    if (scan->error.alike.len > 0) {
        return;
    }

    for (n = scan->first; n < scan->n; n++) {
        if (scan->fields[n].parent == scan->object
            && raw.len - 2 >= scan->fields[n].key.len
            && mcp_json_alike(raw, scan->fields[n].key))
        {
            scan->error.alike = raw;
            scan->error.alike_field = (int) n;
            return;
        }
    }
}


static inline void
mcp_json_take(mcp_json_scan_t *scan, mcp_str_t raw, size_t n)
{
    scan->field = (int) n;

    if (n == scan->n) {
        scan->field = MCP_JSON_NO_FIELD;

        if (scan->wary) {
            mcp_json_key_unknown(scan, raw);
        }

    } else if (scan->values[n].type != MCP_JSON_NONE) {
        scan->field = MCP_JSON_NO_FIELD;
        mcp_json_duplicate(scan, (int) n, raw.data);
    }
}


/*
 * Handles a key with escapes. A separate function, so that
 * mcp_json_field_key() need not save registers for the calls made here.
 */
__attribute__((noinline)) static void
mcp_json_key_escaped(mcp_json_scan_t *scan, mcp_str_t raw)
{
    mcp_json_take(scan, raw, mcp_json_find_escaped(scan, raw));
}


/* Most keys have no escapes. For these, the comparison is faster:
 * mcp_json_find() compares their bytes with the names of fields. */
void
mcp_json_field_key(mcp_json_scan_t *scan, mcp_str_t raw, int escaped)
{
    if (escaped) {
        mcp_json_key_escaped(scan, raw);

    } else {
        mcp_json_take(scan, raw, mcp_json_find(scan, raw));
    }
}


void
mcp_json_field_scalar(mcp_json_scan_t *scan, mcp_json_type_e type,
    const char *start, const char *end)
{
    int                field;
    mcp_json_value_t  *value;

    field = scan->field;

    if (field == MCP_JSON_NO_FIELD) {
        return;
    }

    value = mcp_json_slot(scan, field);
    scan->field = MCP_JSON_NO_FIELD;

    value->type = type;
    value->raw.data = start;
    value->raw.len = (size_t) (end - start);

    if (type == MCP_JSON_NULL && field != MCP_JSON_ROOT) {
        scan->error.nulls |= (uint64_t) 1 << field;
    }
}


void
mcp_json_field_open(mcp_json_scan_t *scan, const char *start)
{
    size_t             first;
    mcp_json_value_t  *value;

    if (scan->field == MCP_JSON_NO_FIELD) {
        return;
    }

    value = mcp_json_slot(scan, scan->field);
    value->raw.data = start;

    /* an array, or an object without fields: scan->field is kept until
     * mcp_json_field_close() has set the length of this value. An object that
     * has fields becomes the tracked object instead. */

    if (*start == '[') {
        value->type = MCP_JSON_ARRAY;
        return;
    }

    value->type = MCP_JSON_OBJECT;

    first = mcp_json_first(scan, scan->field);

    if (first < scan->n) {
        scan->object = scan->field;
        scan->first = first;
        scan->field = MCP_JSON_NO_FIELD;
        scan->tracked++;
    }
}


void
mcp_json_field_close(mcp_json_scan_t *scan, const char *end)
{
    int                field;
    mcp_json_value_t  *value;

    field = scan->field;

    if (scan->depth < scan->tracked) {
        field = scan->object;
        scan->tracked--;

        if (field != MCP_JSON_ROOT) {
            scan->object = scan->fields[field].parent;
            scan->first = mcp_json_first(scan, scan->object);
        }

    } else if (field == MCP_JSON_NO_FIELD) {
        return;
    }

    value = mcp_json_slot(scan, field);
    value->raw.len = (size_t) (end - value->raw.data);

    scan->field = MCP_JSON_NO_FIELD;
}


/* --- scans --- */

typedef int (*mcp_json_parser_pt)(mcp_json_scan_t *scan, mcp_arena_t *scratch);


int
mcp_json_fail(mcp_json_scan_t *scan, size_t offset)
{
    scan->error.problem = MCP_JSON_BAD_SYNTAX;
    scan->error.offset = offset;

    return MCP_ERR_SYNTAX;
}


/*
 * Sets *error to the scan's error, with an offset from the start of the whole
 * text, including the white space in front that the scan has skipped.
 */
static void
mcp_json_report(const mcp_json_scan_t *scan, int rc, mcp_str_t text,
    mcp_json_error_t *error)
{
    *error = scan->error;

    if (rc == MCP_ERR_SYNTAX) {
        error->offset += (size_t) (scan->text - text.data);
    }
}


/* Sets the root and all values to the type MCP_JSON_NONE: before a scan, and
 * after the parser has returned an error. */
static void
mcp_json_forget(mcp_json_scan_t *scan)
{
    memset(scan->root, 0, sizeof(mcp_json_value_t));

    if (scan->n > 0) {
        mcp_zero(scan->values, scan->n * sizeof(mcp_json_value_t));
    }
}


/* Sets the bounds of the scan to the text without the white space around
 * it. */
static void
mcp_json_trim(mcp_json_scan_t *scan, mcp_str_t text)
{
    const char  *end;

    end = text.data + text.len;

    while (end > text.data && mcp_json_is_space(end[-1])) {
        end--;
    }

    scan->text = text.data;
    scan->end = end;

    while (scan->text < end && mcp_json_is_space(*scan->text)) {
        scan->text++;
    }
}


static void
mcp_json_init(mcp_json_scan_t *scan, unsigned max_depth,
    const mcp_json_field_t *fields, size_t n, mcp_json_value_t *root,
    mcp_json_value_t *values)
{
    memset(&scan->error, 0, sizeof(mcp_json_error_t));

    scan->fields = fields;
    scan->n = n;
    scan->root = root;
    scan->values = values;
    scan->object = MCP_JSON_ROOT;
    scan->field = MCP_JSON_ROOT;
    scan->first = 0;
    scan->depth = 0;
    scan->tracked = 0;
    scan->max_depth = max_depth;
    scan->wary = 0;
}


static int
mcp_json_run(mcp_json_scan_t *scan, mcp_json_parser_pt parser,
    mcp_arena_t *scratch, mcp_str_t text, mcp_json_error_t *error)
{
    int  rc;

    if (scan->n > MCP_JSON_MAX_FIELDS) {
        return MCP_ERR_INTERNAL;
    }

    if (text.len == 0) {
        text = mcp_str("");
    }

    mcp_json_forget(scan);
    mcp_json_trim(scan, text);

    rc = scan->text < scan->end ? parser(scan, scratch)
                                : mcp_json_fail(scan, 0);

    if (rc != MCP_OK) {
        mcp_json_forget(scan);

    } else if (scan->error.duplicates != 0) {
        scan->error.problem = MCP_JSON_BAD_DUPLICATE;
        rc = MCP_ERR_SYNTAX;
    }

    if (error != NULL) {
        mcp_json_report(scan, rc, text, error);
    }

    return rc;
}


int
mcp_json_scan(mcp_arena_t *scratch, mcp_str_t text, unsigned max_depth,
    const mcp_json_field_t *fields, size_t n, mcp_json_value_t *root,
    mcp_json_value_t *values, mcp_json_error_t *error)
{
    mcp_json_scan_t  scan;

    mcp_json_init(&scan, max_depth, fields, n, root, values);

    return mcp_json_run(&scan, mcp_json_walk, scratch, text, error);
}


int
mcp_json_scan_client(mcp_arena_t *scratch, mcp_str_t text, unsigned max_depth,
    const mcp_json_field_t *fields, size_t n, mcp_json_value_t *root,
    mcp_json_value_t *values, mcp_json_error_t *error)
{
    mcp_json_scan_t  scan;

    mcp_json_init(&scan, max_depth, fields, n, root, values);
    scan.wary = 1;

    return mcp_json_run(&scan, mcp_json_walk, scratch, text, error);
}


int
mcp_json_scan_config(mcp_arena_t *scratch, mcp_str_t text, unsigned max_depth,
    const mcp_json_field_t *fields, size_t n, mcp_json_value_t *root,
    mcp_json_value_t *values, mcp_json_error_t *error)
{
    mcp_json_scan_t  scan;

    memset(&scan, 0, sizeof(mcp_json_scan_t));
    mcp_json_init(&scan, max_depth, fields, n, root, values);

    return mcp_json_run(&scan, mcp_json_yajl, scratch, text, error);
}

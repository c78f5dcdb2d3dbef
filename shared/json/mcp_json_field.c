/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The fields of a scan: determines the field that a key names, and where its
 * value begins and ends. The *tracked object* is the innermost open object
 * whose members can be fields. Both parsers report only the keys and values of
 * the tracked object to this file; they only check values that are nested
 * deeper.
 */


#include "json/mcp_json_internal.h"


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


/* mcp_json_same_8() returns 1 if the eight bytes at a and at b are equal,
 * mcp_json_same_4() does so for four bytes. */

static inline int
mcp_json_same_8(const char *a, const char *b)
{
    uint64_t  x, y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));

    return x == y;
}


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
 * a call of memcmp() would cost more than the comparison.
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
        if (!mcp_json_same_8(a + i, b + i)) {
            return 0;
        }
    }

    return mcp_json_same_8(a + len - 8, b + len - 8);
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
 * Handles a key that names no field: records the key if a parser that ignores
 * case would accept it as the name of a field.
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


/* Keys without escapes, which are usual, can be compared as they are, and the
 * names of most fields differ from a key already in the length. */
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
    mcp_json_value_t  *value;

    if (scan->field == MCP_JSON_NO_FIELD) {
        return;
    }

    value = mcp_json_slot(scan, scan->field);
    scan->field = MCP_JSON_NO_FIELD;

    value->type = type;
    value->raw.data = start;
    value->raw.len = (size_t) (end - start);
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

    /* scan->field remains until the closing bracket of this value, unless the
     * value becomes the tracked object, because its members can be fields */

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

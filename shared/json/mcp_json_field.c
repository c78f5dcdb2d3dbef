/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The fields of a scan: which of them a key names, and where its value begins
 * and ends.  Both parsers tell of what they meet at the level of the tracked
 * object, whose members can be fields; what is deeper they judge alone.
 */


#include "json/mcp_json_parts.h"


/* No field is to take the next value. */
#define MCP_JSON_NO_FIELD   -2


static mcp_json_value_t *
mcp_json_slot(mcp_json_scan_t *scan, int field)
{
    return field == MCP_JSON_ROOT ? scan->root : &scan->values[field];
}


/* Returns the first field that a field's object holds, scan->n if none. */
static size_t
mcp_json_first(const mcp_json_scan_t *scan, int field)
{
    size_t  n;

    n = (size_t) (field + 1);

    while (n < scan->n && scan->fields[n].parent != field) {
        n++;
    }

    return n;
}


/* Notes a duplicate; the scan goes on, to know whether the text is JSON. */
static void
mcp_json_duplicate(mcp_json_scan_t *scan, int field, const char *p)
{
    if (scan->error.duplicates == 0) {
        scan->error.offset = (size_t) (p - scan->text);
        scan->error.field = field;
    }

    scan->error.duplicates |= (uint64_t) 1 << field;
}


/* Returns the field of the tracked object that a key names; scan->n: none.
 * Nearly all keys are written without escapes, so their length tells most
 * fields apart. */
static size_t
mcp_json_find(const mcp_json_scan_t *scan, mcp_str_t raw, int escaped)
{
    size_t                   n, len;
    const mcp_json_field_t  *f;

    len = raw.len - 2;

    for (n = scan->first; n < scan->n; n++) {
        f = &scan->fields[n];

        if (f->key.len != len && !escaped) {
            continue;
        }

        if (f->parent == scan->object
            && (escaped ? mcp_json_str_eq(raw, f->key)
                        : memcmp(raw.data + 1, f->key.data, len) == 0))
        {
            break;
        }
    }

    return n;
}


void
mcp_json_field_key(mcp_json_scan_t *scan, mcp_str_t raw, int escaped)
{
    int     i;
    size_t  n;

    n = mcp_json_find(scan, raw, escaped);

    if (n == scan->n) {
        scan->field = MCP_JSON_NO_FIELD;
        return;
    }

    i = (int) n;

    if (scan->values[i].type != MCP_JSON_NONE) {
        mcp_json_duplicate(scan, i, raw.data);
        scan->field = MCP_JSON_NO_FIELD;
        return;
    }

    scan->field = i;
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

    /* scan->field keeps what is to be closed, unless its members are fields */

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

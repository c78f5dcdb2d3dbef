/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The grammar of JSON by yajl, and the fields of a scan out of its tokens.
 *
 * yajl's decoder of escapes can be made to fail an assertion (in versions
 * without the fix for CVE-2017-16516).  It runs only for strings that a
 * callback wants, so there is no such callback, and strings are picked up from
 * the gap in front of the next token.
 */


#include <yajl/yajl_parse.h>

#include "json/mcp_json_parts.h"


/* No field is to take the next value. */
#define MCP_JSON_NO_FIELD   -2


static mcp_json_value_t *
mcp_json_slot(mcp_json_scan_t *scan, int field)
{
    return field == MCP_JSON_ROOT ? scan->root : &scan->values[field];
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
mcp_json_find(const mcp_json_scan_t *scan, mcp_str_t raw)
{
    size_t                   n;
    mcp_str_t                plain;
    const mcp_json_field_t  *f;

    plain.data = raw.data + 1;
    plain.len = raw.len - 2;

    if (memchr(plain.data, '\\', plain.len)) {
        for (n = 0; n < scan->n; n++) {
            if (scan->fields[n].parent == scan->object
                && mcp_json_str_eq(raw, scan->fields[n].key))
            {
                break;
            }
        }

        return n;
    }

    for (n = 0; n < scan->n; n++) {
        f = &scan->fields[n];

        if (f->key.len == plain.len && f->parent == scan->object
            && mcp_str_eq(f->key, plain))
        {
            break;
        }
    }

    return n;
}


/* Notes which field the next value is for. */
static void
mcp_json_key(mcp_json_scan_t *scan, mcp_str_t raw)
{
    int     i;
    size_t  n;

    n = mcp_json_find(scan, raw);

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


/* Takes a scalar in the tracked object (or the root). */
static void
mcp_json_scalar(mcp_json_scan_t *scan, mcp_json_type_e type,
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


/* Takes the string at p, a key or a value.  Returns its end, or NULL if it has
 * none. */
static const char *
mcp_json_gap_string(mcp_json_scan_t *scan, const char *p, const char *end)
{
    mcp_str_t    string;
    const char  *string_end;

    string_end = mcp_json_string_end(p, end);
    if (string_end == NULL) {
        return NULL;
    }

    if (scan->want_key) {
        string.data = p;
        string.len = (size_t) (string_end - p);

        mcp_json_key(scan, string);

    } else {
        mcp_json_scalar(scan, MCP_JSON_STRING, p, string_end);
    }

    return string_end;
}


/*
 * Walks what stands between two tokens that yajl told of: white space, commas,
 * colons, and strings, of which it does not tell.  Returns 0 if there is
 * anything else, which can only be at the end of the text, where yajl waits for
 * more.
 */
static int
mcp_json_gap(mcp_json_scan_t *scan, const char *end)
{
    const char  *p;

    p = scan->pos;

    while (p < end) {
        switch (*p) {

        case ' ':
        case '\n':
        case '\r':
        case '\t':
            p++;
            break;

        case ':':
            scan->want_key = 0;
            p++;
            break;

        case ',':
            scan->want_key = 1;
            p++;
            break;

        case '"':
            p = mcp_json_gap_string(scan, p, end);
            if (p == NULL) {
                return 0;
            }

            break;

        default:
            return 0;
        }
    }

    scan->pos = end;

    return 1;
}


/*
 * A token of len bytes has ended (a string is none): catches up with the gap
 * in front of it and returns its start, or NULL among members and elements
 * of no interest.
 */
static const char *
mcp_json_token(mcp_json_scan_t *scan, size_t len)
{
    const char  *start, *end;

    end = scan->end;

    if (!scan->at_end) {
        end = scan->text + yajl_get_bytes_consumed(scan->handle);
    }

    start = end - len;

    if (scan->skip == 0) {
        (void) mcp_json_gap(scan, start);
    }

    scan->pos = end;

    return scan->skip == 0 ? start : NULL;
}


static int
mcp_json_atom(mcp_json_scan_t *scan, mcp_json_type_e type, size_t len)
{
    const char  *start;

    start = mcp_json_token(scan, len);

    if (start != NULL) {
        mcp_json_scalar(scan, type, start, scan->pos);
    }

    return 1;
}


static int
mcp_json_null(void *ctx)
{
    return mcp_json_atom(ctx, MCP_JSON_NULL, sizeof("null") - 1);
}


static int
mcp_json_boolean(void *ctx, int value)
{
    return mcp_json_atom(ctx, MCP_JSON_BOOL,
                         value ? sizeof("true") - 1 : sizeof("false") - 1);
}


static int
mcp_json_number(void *ctx, const char *data, size_t len)
{
    (void) data;

    return mcp_json_atom(ctx, MCP_JSON_NUMBER, len);
}


/* 1 if the members of that field's object are looked at. */
static int
mcp_json_has_children(const mcp_json_scan_t *scan, int field)
{
    return field == MCP_JSON_ROOT ? scan->n > 0
                                  : (int) (scan->parents >> field & 1);
}


static int
mcp_json_start(mcp_json_scan_t *scan, mcp_json_type_e type)
{
    int                field;
    const char        *start;
    mcp_json_value_t  *value;

    start = mcp_json_token(scan, 1);

    if (scan->depth == scan->max_depth) {
        scan->error.problem = MCP_JSON_BAD_DEPTH;
        scan->error.offset = (size_t) (scan->pos - 1 - scan->text);
        return 0;
    }

    scan->depth++;

    if (start == NULL) {
        scan->skip++;
        return 1;
    }

    field = scan->field;

    if (field == MCP_JSON_NO_FIELD) {
        scan->skip = 1;
        return 1;
    }

    value = mcp_json_slot(scan, field);
    value->type = type;
    value->raw.data = start;

    if (type == MCP_JSON_OBJECT && mcp_json_has_children(scan, field)) {
        scan->object = field;
        scan->field = MCP_JSON_NO_FIELD;
        scan->want_key = 1;
        return 1;
    }

    /* keeps scan->field, which is to be closed */
    scan->skip = 1;

    return 1;
}


static int
mcp_json_stop(mcp_json_scan_t *scan)
{
    int                field;
    mcp_json_value_t  *value;

    (void) mcp_json_token(scan, 1);

    scan->depth--;

    if (scan->skip > 0) {
        scan->skip--;

        if (scan->skip > 0 || scan->field == MCP_JSON_NO_FIELD) {
            return 1;
        }

        field = scan->field;

    } else {
        field = scan->object;

        if (field != MCP_JSON_ROOT) {
            scan->object = scan->fields[field].parent;
        }
    }

    value = mcp_json_slot(scan, field);
    value->raw.len = (size_t) (scan->pos - value->raw.data);

    scan->field = MCP_JSON_NO_FIELD;

    return 1;
}


static int
mcp_json_start_map(void *ctx)
{
    return mcp_json_start(ctx, MCP_JSON_OBJECT);
}


static int
mcp_json_start_array(void *ctx)
{
    return mcp_json_start(ctx, MCP_JSON_ARRAY);
}


static int
mcp_json_end_container(void *ctx)
{
    return mcp_json_stop(ctx);
}


static const yajl_callbacks  mcp_json_callbacks = {
    mcp_json_null,
    mcp_json_boolean,
    NULL,                      /* integer: number takes all */
    NULL,                      /* double */
    mcp_json_number,
    NULL,                      /* string, see above */
    mcp_json_start_map,
    NULL,                      /* map key */
    mcp_json_end_container,
    mcp_json_start_array,
    mcp_json_end_container
};


/* yajl took all: is there one value, whole, and nothing behind it? */
static int
mcp_json_finish(mcp_json_scan_t *scan)
{
    size_t  len;

    len = (size_t) (scan->end - scan->text);

    if (scan->depth > 0) {
        return mcp_json_fail(scan, len);
    }

    if (scan->root->type == MCP_JSON_NONE
        && (*scan->text == '-' || (*scan->text >= '0' && *scan->text <= '9')))
    {
        /* only what follows it ends a number */

        scan->at_end = 1;

        if (yajl_complete_parse(scan->handle) != yajl_status_ok) {
            return mcp_json_fail(scan, len);
        }

    } else if (scan->root->type == MCP_JSON_NONE) {

        if (!mcp_json_gap(scan, scan->end)) {
            return mcp_json_fail(scan, len);
        }
    }

    if (scan->root->type == MCP_JSON_NONE || scan->pos != scan->end) {
        return mcp_json_fail(scan, (size_t) (scan->pos - scan->text));
    }

    return MCP_OK;
}


int
mcp_json_parse(mcp_json_scan_t *scan)
{
    size_t            len, offset;
    yajl_status       status;
    yajl_alloc_funcs  funcs;

    len = (size_t) (scan->end - scan->text);

    funcs.malloc = mcp_json_malloc;
    funcs.realloc = mcp_json_realloc;
    funcs.free = mcp_json_free;
    funcs.ctx = &scan->memory;

    scan->handle = yajl_alloc(&mcp_json_callbacks, &funcs, scan);
    if (scan->handle == NULL) {
        return MCP_ERR_MEMORY;
    }

    yajl_config(scan->handle, yajl_dont_validate_strings, 1);

    status = yajl_parse(scan->handle, (const unsigned char *) scan->text, len);

    if (status == yajl_status_ok) {
        return mcp_json_finish(scan);
    }

    if (status == yajl_status_client_canceled) {
        return MCP_ERR_SYNTAX;
    }

    offset = yajl_get_bytes_consumed(scan->handle);

    return mcp_json_fail(scan, offset < len ? offset : len);
}

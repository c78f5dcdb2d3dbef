/* SPDX-License-Identifier: Apache-2.0 */

/*
 * JSON as slices: a scan determines positions, and strings are decoded only on
 * request. Two parsers check the grammar: yajl for configuration, and
 * mcp_json_parser.c, which is faster, for all other texts.
 */


#include "json/mcp_json_internal.h"


typedef int (*mcp_json_parser_pt)(mcp_json_scan_t *scan, mcp_arena_t *scratch);


int
mcp_json_fail(mcp_json_scan_t *scan, size_t offset)
{
    scan->error.problem = MCP_JSON_BAD_SYNTAX;
    scan->error.offset = offset;

    return MCP_ERR_SYNTAX;
}


static size_t
mcp_json_line(const char *text, size_t offset)
{
    size_t  i, line;

    line = 1;

    for (i = 0; i < offset; i++) {
        line += text[i] == '\n';
    }

    return line;
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
        error->line = mcp_json_line(text.data, error->offset);
    }
}


/* Clears the root and the values of a text that was rejected before its
 * end. */
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

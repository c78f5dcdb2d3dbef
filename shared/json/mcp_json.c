/* SPDX-License-Identifier: Apache-2.0 */

/*
 * JSON by slices.  yajl is the judge of the grammar; where things stand is
 * worked out here, and nothing is decoded that nobody asked for.
 *
 * yajl (2.1) takes overlong forms, surrogates and values above U+10FFFF for
 * UTF-8: the text is checked first, and yajl's own check is off.  It also takes
 * \v and \f for white space; as these may stand nowhere in JSON, they are
 * refused first, too.
 */


#include "base/mcp_utf8.h"
#include "json/mcp_json_parts.h"


int
mcp_json_fail(mcp_json_scan_t *scan, size_t offset)
{
    scan->error.problem = MCP_JSON_BAD_SYNTAX;
    scan->error.offset = offset;

    return MCP_ERR_SYNTAX;
}


/* The offset of the line with the first bytes that are no UTF-8. */
static size_t
mcp_json_bad_line(const char *text, size_t len)
{
    size_t       good;
    mcp_str_t    line;
    const char  *p;

    for (good = 0; good < len; good += line.len) {
        p = memchr(text + good, '\n', len - good);

        line.data = text + good;
        line.len = p ? (size_t) (p + 1 - line.data) : len - good;

        if (!mcp_utf8_valid(line)) {
            break;
        }
    }

    return good;
}


/* Finds what yajl would let pass. */
static int
mcp_json_check_bytes(mcp_json_scan_t *scan)
{
    size_t       len;
    const char  *p;

    len = (size_t) (scan->end - scan->text);

    p = memchr(scan->text, '\v', len);

    if (p == NULL) {
        p = memchr(scan->text, '\f', len);
    }

    if (p != NULL) {
        return mcp_json_fail(scan, (size_t) (p - scan->text));
    }

    if (mcp_utf8_valid((mcp_str_t) { scan->text, len })) {
        return MCP_OK;
    }

    return mcp_json_fail(scan, mcp_json_bad_line(scan->text, len));
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


/* Leaves nothing behind of a text that was refused on the way. */
static void
mcp_json_forget(mcp_json_scan_t *scan)
{
    memset(scan->root, 0, sizeof(mcp_json_value_t));

    if (scan->n > 0) {
        memset(scan->values, 0, scan->n * sizeof(mcp_json_value_t));
    }
}


static int
mcp_json_run(mcp_json_scan_t *scan, mcp_arena_t *scratch)
{
    int               rc;
    size_t            len;
    mcp_arena_mark_t  mark;

    if (scan->text == scan->end) {
        return mcp_json_fail(scan, 0);
    }

    rc = mcp_json_check_bytes(scan);
    if (rc != MCP_OK) {
        return rc;
    }

    len = (size_t) (scan->end - scan->text);
    mark = mcp_arena_mark(scratch);

    rc = mcp_json_memory_init(&scan->memory, scratch, len, scan->max_depth);

    if (rc == MCP_OK) {
        rc = mcp_json_parse(scan);
    }

    mcp_arena_release(scratch, mark);

    return rc;
}


/* Leaves out the white space around the text. */
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

    scan->pos = scan->text;
}


/* The scan's error, of the text with the white space before it. */
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


int
mcp_json_scan(mcp_arena_t *scratch, mcp_str_t text, unsigned max_depth,
    const mcp_json_field_t *fields, size_t n, mcp_json_value_t *root,
    mcp_json_value_t *values, mcp_json_error_t *error)
{
    int              rc;
    size_t           i;
    mcp_json_scan_t  scan;

    if (n > MCP_JSON_MAX_FIELDS) {
        return MCP_ERR_INTERNAL;
    }

    memset(&scan, 0, sizeof(mcp_json_scan_t));

    scan.fields = fields;
    scan.n = n;
    scan.root = root;
    scan.values = values;
    scan.object = MCP_JSON_ROOT;
    scan.field = MCP_JSON_ROOT;
    scan.max_depth = max_depth;

    mcp_json_forget(&scan);

    for (i = 0; i < n; i++) {
        if (fields[i].parent != MCP_JSON_ROOT) {
            scan.parents |= (uint64_t) 1 << fields[i].parent;
        }
    }

    if (text.len == 0) {
        text = mcp_str("");
    }

    mcp_json_trim(&scan, text);

    rc = mcp_json_run(&scan, scratch);

    if (rc != MCP_OK) {
        mcp_json_forget(&scan);

    } else if (scan.error.duplicates != 0) {
        scan.error.problem = MCP_JSON_BAD_DUPLICATE;
        rc = MCP_ERR_SYNTAX;
    }

    if (error != NULL) {
        mcp_json_report(&scan, rc, text, error);
    }

    return rc;
}

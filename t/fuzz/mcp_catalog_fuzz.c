/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Catalog files.  A file that is accepted is read page by page: each page must
 * be JSON on one line, and all pages must have each item that is not hidden
 * exactly once. The input is also used as a cursor, and as the inputSchema of
 * a tool: the headers of an accepted schema have names and paths.
 */


#include "fuzz_env.h"

#include "config/mcp_catalog.h"
#include "http/mcp_http_accept.h"
#include "rpc/mcp_result.h"


static const char      *keys[MCP_LIST_COUNT] = {
    "tools", "prompts", "resources", "resourceTemplates"
};


/* Reads one page. Returns its number of items and copies its cursor for the
 * next page. */
static size_t
read_page(mcp_str_t page, mcp_list_e kind, char *cursor, size_t *len)
{
    size_t            n;
    mcp_arena_t       arena;
    mcp_json_iter_t   iter;
    mcp_json_value_t  root, values[2], value;
    mcp_json_field_t  fields[2];

    must(memchr(page.data, '\n', page.len) == NULL);
    must(memchr(page.data, '\r', page.len) == NULL);

    memset(fields, 0, sizeof(fields));
    fields[0].parent = MCP_JSON_ROOT;
    fields[0].key.data = keys[kind];
    fields[0].key.len = strlen(keys[kind]);
    fields[1].parent = MCP_JSON_ROOT;
    fields[1].key = mcp_str("nextCursor");

    mcp_arena_init(&arena, &fuzz_mem);

    must(mcp_json_scan(&arena, page, 256, fields, 2, &root, values, NULL)
         == MCP_OK);
    must(values[0].type == MCP_JSON_ARRAY);

    n = 0;
    mcp_json_iter_init(&iter, values[0].raw);

    while (mcp_json_iter_next(&iter, NULL, &value)) {
        must(value.type == MCP_JSON_OBJECT);
        n++;
    }

    *len = 0;

    if (values[1].type == MCP_JSON_STRING) {
        *len = values[1].raw.len - 2;
        must(*len > 0 && *len <= 64);
        memcpy(cursor, values[1].raw.data + 1, *len);
    }

    mcp_arena_destroy(&arena);

    return n;
}


static size_t
read_kind(const mcp_catalog_t *catalog, mcp_list_e kind, unsigned omit,
    size_t page)
{
    char       cursor[64];
    size_t     n, len, got;
    mcp_buf_t  buf;

    n = 0;
    len = 0;

    do {
        mcp_buf_init(&buf, &fuzz_mem, 16 * 1024 * 1024);

        must(mcp_catalog_list(catalog, kind, omit,
                              (mcp_str_t) { cursor, len }, page, NULL, &buf)
             == MCP_OK);

        got = read_page((mcp_str_t) { buf.data, buf.len }, kind, cursor, &len);
        must(page == 0 || (len > 0 ? got == page : got <= page));
        n += got;

        mcp_buf_free(&buf);

    } while (len > 0);

    return n;
}


static int
drops(void *ctx, mcp_str_t name)
{
    must(mcp_http_is_token(name));

    return mcp_str_eq(name, *(mcp_str_t *) ctx);
}


/* Checks that each header annotation of a tool is found, and no name twice. */
static void
read_headers(const mcp_catalog_t *catalog, mcp_str_t tool)
{
    size_t                       i, k, n, line;
    mcp_str_t                    name;
    const mcp_catalog_header_t  *headers;

    headers = mcp_catalog_headers(catalog, tool, &n);
    must(n <= MCP_CATALOG_HEADERS_MAX && (n == 0) == (headers == NULL));

    for (i = 0; i < n; i++) {
        name = headers[i].name;
        must(headers[i].depth > 0);
        must(mcp_catalog_header_dropped(catalog, drops, &name, &line)
             != NULL);
        must(line > 0);

        for (k = 0; k < i; k++) {
            must(!mcp_str_case_eq(headers[k].name, name));
        }
    }
}


static void
schema(mcp_str_t text)
{
    char            error[64];
    mcp_buf_t       buf;
    mcp_catalog_t  *catalog;

    mcp_buf_init(&buf, &fuzz_mem, 16 * 1024 * 1024);
    mcp_buf_lit(&buf, "{\"tools\":[{\"name\":\"t\",\"inputSchema\":");
    mcp_buf_str(&buf, text);
    mcp_buf_lit(&buf, "}]}");
    must(buf.failed == MCP_OK);

    if (mcp_catalog_create(&fuzz_mem, (mcp_str_t) { buf.data, buf.len },
                           &catalog, error, sizeof(error)) == MCP_OK)
    {
        /* the input is inserted as text, so it may end the tool and begin
         * further ones */

        read_headers(catalog, mcp_str("t"));
        mcp_catalog_free(catalog);
    }

    mcp_buf_free(&buf);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int             rc, kind;
    char            error[64];
    size_t          n;
    mcp_str_t       text;
    mcp_buf_t       buf;
    mcp_catalog_t  *catalog;

    text.data = (const char *) data;
    text.len = size;

    schema(text);

    rc = mcp_catalog_create(&fuzz_mem, text, &catalog, error, sizeof(error));

    if (rc != MCP_OK) {
        must(rc == MCP_ERR_CONFIG);
        must(strncmp(error, "line ", 5) == 0);
        must(memchr(error, '\0', sizeof(error)) != NULL);
        return 0;
    }

    for (kind = 0; kind < MCP_LIST_COUNT; kind++) {
        n = read_kind(catalog, (mcp_list_e) kind, 0, 0);

        must(mcp_catalog_has(catalog, (mcp_list_e) kind) || n == 0);
        must(
            read_kind(catalog, (mcp_list_e) kind, MCP_REVISION_FILTER_OUTPUT, 1)
            == n);
        must(read_kind(catalog, (mcp_list_e) kind,
                       MCP_REVISION_FILTER_EXECUTION, 3)
             == n);

        (void) mcp_catalog_find(catalog, (mcp_list_e) kind, text);

        mcp_buf_init(&buf, &fuzz_mem, 16 * 1024 * 1024);
        (void) mcp_catalog_list(catalog, (mcp_list_e) kind, 0, text, 1, NULL,
                                &buf);
        mcp_buf_free(&buf);
    }

    mcp_catalog_free(catalog);

    return 0;
}

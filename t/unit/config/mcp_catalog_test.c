/* SPDX-License-Identifier: Apache-2.0 */

/* Catalogs: items, and their pages. */


#include "catalog_cases.h"


TEST(catalog_lists_items_in_file_order_and_finds_them_by_name_or_uri)
{
    mcp_catalog_t  *catalog;

    catalog = catalog_create(
            "{\n"
            "  \"instructions\": \"Say \\\"please\\\".\",\n"
            "  \"completions\": true,\n"
            "  \"tools\": [\n"
            "    {\"name\": \"b.2\", " SCHEMA ", \"extra\": [1,2]},\n"
            "    {\"name\": \"\\u0061-1\",\r\n " SCHEMA "}\n"
            "  ],\n"
            "  \"prompts\": [{\"name\":\"Greet me\","
            "\"arguments\":[{\"name\":\"who\",\"required\":true}]}],\n"
            "  \"resources\": [{\"uri\":\"file:///x\",\"name\":\"same\"},"
            "{\"uri\":\"file:///y\",\"name\":\"same\",\"size\":3}],\n"
            "  \"resourceTemplates\": ["
            "{\"uriTemplate\":\"file:///x/{a}\",\"name\":\"first\"},"
            "{\"uriTemplate\":\"file:///{+a}\",\"name\":\"second\"}]\n"
            "}\n");

    assert_str_is(mcp_catalog_info(catalog)->instructions,
                  "\"Say \\\"please\\\".\"");
    assert_int_equal(mcp_catalog_info(catalog)->completions, 1);

    /* a list has the order of the file, and no white space between tokens */

    assert_string_equal(page_of(catalog, MCP_LIST_TOOLS, "", 0),
        "{\"tools\":[{\"name\":\"b.2\"," SCHEMA ",\"extra\":[1,2]},"
        "{\"name\":\"\\u0061-1\"," SCHEMA "}]}");
    assert_string_equal(page_of(catalog, MCP_LIST_PROMPTS, "", 5),
        "{\"prompts\":[{\"name\":\"Greet me\","
        "\"arguments\":[{\"name\":\"who\",\"required\":true}]}]}");
    assert_string_equal(page_of(catalog, MCP_LIST_RESOURCES, "", 2),
        "{\"resources\":[{\"uri\":\"file:///x\",\"name\":\"same\"},"
        "{\"uri\":\"file:///y\",\"name\":\"same\",\"size\":3}]}");
    assert_string_equal(page_of(catalog, MCP_LIST_TEMPLATES, "", 0),
        "{\"resourceTemplates\":["
        "{\"uriTemplate\":\"file:///x/{a}\",\"name\":\"first\"},"
        "{\"uriTemplate\":\"file:///{+a}\",\"name\":\"second\"}]}");

    /* items are found by the decoded name */

    assert_str_is(mcp_catalog_find(catalog, MCP_LIST_TOOLS, mcp_str("a-1")),
                  "{\"name\": \"\\u0061-1\",\r\n " SCHEMA "}");
    assert_non_null(mcp_catalog_find(catalog, MCP_LIST_TOOLS,
                                     mcp_str("b.2")).data);
    assert_null(mcp_catalog_find(catalog, MCP_LIST_TOOLS, mcp_str("b.")).data);
    assert_null(mcp_catalog_find(catalog, MCP_LIST_TOOLS, mcp_str("")).data);
    assert_null(mcp_catalog_find(catalog, MCP_LIST_TOOLS,
                                 mcp_str("Greet me")).data);
    assert_non_null(mcp_catalog_find(catalog, MCP_LIST_PROMPTS,
                                     mcp_str("Greet me")).data);

    /* resources are found by their URI, not by their name; of several
     * templates that match, the first one is found */

    assert_non_null(mcp_catalog_find(catalog, MCP_LIST_RESOURCES,
                                     mcp_str("file:///y")).data);
    assert_null(mcp_catalog_find(catalog, MCP_LIST_RESOURCES,
                                 mcp_str("same")).data);
    assert_str_is(mcp_catalog_find(catalog, MCP_LIST_TEMPLATES,
                                   mcp_str("file:///x/1")),
                  "{\"uriTemplate\":\"file:///x/{a}\",\"name\":\"first\"}");
    assert_str_is(mcp_catalog_find(catalog, MCP_LIST_TEMPLATES,
                                   mcp_str("file:///x/1/2")),
                  "{\"uriTemplate\":\"file:///{+a}\",\"name\":\"second\"}");
    assert_null(mcp_catalog_find(catalog, MCP_LIST_TEMPLATES,
                                 mcp_str("http://x")).data);
}


static void
next_cursor(const char *page, char *cursor)
{
    const char  *p;

    cursor[0] = '\0';

    p = strstr(page, "],\"nextCursor\":\"");
    if (p == NULL) {
        return;
    }

    p += strlen("],\"nextCursor\":\"");
    memcpy(cursor, p, strcspn(p, "\""));
    cursor[strcspn(p, "\"")] = '\0';
}


TEST(pages_of_any_size_together_contain_all_items_in_order)
{
    static const char  *items =
        "{\"prompts\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"},"
        "{\"name\":\"d\"},{\"name\":\"e\"}]}";

    char            cursor[64], names[16];
    size_t          page, n, pages;
    const char     *text, *p;
    mcp_catalog_t  *catalog;

    catalog = catalog_create(items);

    for (page = 0; page <= 7; page++) {
        cursor[0] = '\0';
        n = 0;
        pages = 0;

        do {
            text = page_of(catalog, MCP_LIST_PROMPTS, cursor, page);
            pages++;

            for (p = strstr(text, "\"name\":\""); p;
                 p = strstr(p + 1, "\"name\":\""))
            {
                names[n++] = p[8];
            }

            next_cursor(text, cursor);
        } while (cursor[0] != '\0');

        assert_int_equal(n, 5);
        assert_memory_equal(names, "abcde", 5);
        assert_int_equal(pages, page ? (5 + page - 1) / page : 1);
    }

    /* the page size may change between two pages */

    next_cursor(page_of(catalog, MCP_LIST_PROMPTS, "", 2), cursor);
    assert_string_equal(page_of(catalog, MCP_LIST_PROMPTS, cursor, 0),
        "{\"prompts\":[{\"name\":\"c\"},{\"name\":\"d\"},{\"name\":\"e\"}]}");
}


static int
list(const mcp_catalog_t *catalog, mcp_list_e kind,
    const char *cursor, size_t max)
{
    int        rc;
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &tm.mem, max);

    rc = mcp_catalog_list(catalog, kind, 0, test_str(cursor), 2, NULL, &buf);

    mcp_buf_free(&buf);

    return rc;
}


TEST(altered_cursor_or_cursor_of_another_list_is_rejected)
{
    static const char  *bad[] = {
        "x", "2", "AAAA", "AAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAA", "====",
        "AAAAAAAAAAAAAAA=",
    };

    char            cursor[64], changed[64];
    size_t          i;
    mcp_catalog_t  *catalog, *other;

    catalog = catalog_create("{\"prompts\":[{\"name\":\"a\"},"
                             "{\"name\":\"b\"},{\"name\":\"c\"}],"
                             "\"tools\":[]}");
    other = catalog_create("{\"prompts\":[{\"name\":\"a\"},"
                           "{\"name\":\"b\"},{\"name\":\"d\"}]}");

    next_cursor(page_of(catalog, MCP_LIST_PROMPTS, "", 2), cursor);
    assert_int_equal(strlen(cursor), 16);

    assert_ok(list(catalog, MCP_LIST_PROMPTS, cursor, 1000));
    assert_int_equal(list(catalog, MCP_LIST_TOOLS, cursor, 1000),
                     MCP_ERR_NOT_FOUND);
    assert_int_equal(list(other, MCP_LIST_PROMPTS, cursor, 1000),
                     MCP_ERR_NOT_FOUND);

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(list(catalog, MCP_LIST_PROMPTS, bad[i], 1000),
                         MCP_ERR_NOT_FOUND);
    }

    /* a cursor in which any character was changed to "B" or "C": not found */

    for (i = 0; i < 16; i++) {
        strcpy(changed, cursor);
        changed[i] = changed[i] == 'B' ? 'C' : 'B';

        assert_int_equal(list(catalog, MCP_LIST_PROMPTS, changed, 1000),
                         MCP_ERR_NOT_FOUND);
    }

    /* a cursor whose position was changed to another item: accepted; to 0 or
     * behind the end: not found */

    strcpy(changed, cursor);
    changed[5] = 'Q';
    assert_ok(list(catalog, MCP_LIST_PROMPTS, changed, 1000));
    changed[5] = 'A';
    assert_int_equal(list(catalog, MCP_LIST_PROMPTS, changed, 1000),
                     MCP_ERR_NOT_FOUND);
    changed[5] = 'w';
    assert_int_equal(list(catalog, MCP_LIST_PROMPTS, changed, 1000),
                     MCP_ERR_NOT_FOUND);
}


TEST(page_exceeds_the_buffer_or_memory_runs_out__listing_fails_with_an_error)
{
    size_t          max;
    test_mem_t      tm2;
    mcp_buf_t       buf;
    unsigned long   n;
    mcp_catalog_t  *catalog;

    catalog = catalog_create("{\"prompts\":[{\"name\":\"a\"},"
                             "{\"name\":\"b\"},{\"name\":\"c\"}]}");

    for (max = 0; list(catalog, MCP_LIST_PROMPTS, "", max) != MCP_OK; max++)
    {
        assert_int_equal(list(catalog, MCP_LIST_PROMPTS, "", max),
                         MCP_ERR_LIMIT);
    }

    assert_int_equal(max, strlen(page_of(catalog, MCP_LIST_PROMPTS, "", 2)));

    for (n = 1; n < 100; n++) {
        test_mem_init(&tm2);
        tm2.fail_at = n;
        mcp_buf_init(&buf, &tm2.mem, 1000);

        if (mcp_catalog_list(catalog, MCP_LIST_PROMPTS, 0, mcp_null_str, 0,
                             NULL, &buf) == MCP_OK)
        {
            mcp_buf_free(&buf);
            break;
        }

        assert_int_equal(buf.failed, MCP_ERR_MEMORY);
        mcp_buf_free(&buf);
        assert_int_equal(tm2.live, 0);
    }

    assert_in_range(n, 2, 99);
}


TEST(catalog_of_10000_tools_finds_each_tool_by_its_name)
{
    enum { MANY = 10000 };

    char            name[32], *text;
    size_t          i, len, size;
    mcp_buf_t       buf;
    mcp_catalog_t  *catalog;

    size = MANY * 100;
    text = malloc(size);
    assert_non_null(text);

    len = (size_t) snprintf(text, size, "{\"tools\":[");

    for (i = 0; i < MANY; i++) {
        len += (size_t) snprintf(text + len, size - len,
                                 "%s\n{\"name\":\"tool_%zu\"," SCHEMA "}",
                                 i ? "," : "", i);
    }

    snprintf(text + len, size - len, "]}");

    catalog = catalog_create(text);
    free(text);

    for (i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "tool_%zu", i);
        assert_non_null(mcp_catalog_find(catalog, MCP_LIST_TOOLS,
                                         test_str(name)).data);
        name[0] = 'T';
        assert_null(mcp_catalog_find(catalog, MCP_LIST_TOOLS,
                                     test_str(name)).data);
    }

    mcp_buf_init(&buf, &tm.mem, size);
    assert_ok(mcp_catalog_list(catalog, MCP_LIST_TOOLS, 0, mcp_null_str, 0,
                               NULL, &buf));
    assert_memory_equal(buf.data + buf.len - 4, "}}]}", 4);
    mcp_buf_free(&buf);
}


RUN_TESTS(init, done)

/* SPDX-License-Identifier: Apache-2.0 */

/* The catalog: what files are taken, what they become, how pages follow. */


#include "test_env.h"

#include "config/mcp_catalog.h"


#define SCHEMA  "\"inputSchema\":{\"type\":\"object\"}"


static mcp_catalog_t *
catalog_create(test_mem_t *tm, const char *text)
{
    char            error[256];
    mcp_catalog_t  *catalog;

    test_mem_init(tm);

    if (mcp_catalog_create(&tm->mem, test_str(text), &catalog, error,
                           sizeof(error)) != MCP_OK)
    {
        fail_msg("%s", error);
    }

    return catalog;
}


/* The page behind the cursor, as a C string valid until the next call. */
static const char *
page_of(const mcp_catalog_t *catalog, mcp_list_e kind,
    const char *cursor, size_t page)
{
    mcp_buf_t    buf;
    test_mem_t   tm;

    static char  text[4096];

    test_mem_init(&tm);
    mcp_buf_init(&buf, &tm.mem, sizeof(text) - 1);

    assert_int_equal(mcp_catalog_list(catalog, kind, test_str(cursor), page,
                                      &buf), MCP_OK);

    memcpy(text, buf.data, buf.len);
    text[buf.len] = '\0';

    mcp_buf_free(&buf);

    return text;
}


static void
catalog_empty(void **state)
{
    int             kind;
    test_mem_t      tm;
    mcp_catalog_t  *catalog;

    (void) state;

    catalog = catalog_create(&tm, " {} ");

    for (kind = 0; kind < MCP_LIST_COUNT; kind++) {
        assert_int_equal(mcp_catalog_has(catalog, (mcp_list_e) kind),
                         0);
        assert_null(mcp_catalog_find(catalog, (mcp_list_e) kind,
                                     mcp_str("a")).data);
    }

    assert_int_equal(mcp_catalog_completions(catalog), 0);
    assert_int_equal(mcp_catalog_instructions(catalog).len, 0);

    assert_string_equal(page_of(catalog, MCP_LIST_TOOLS, "", 0),
                        "{\"tools\":[]}");

    mcp_catalog_free(catalog);
    assert_int_equal(tm.live, 0);

    catalog = catalog_create(&tm, "{\"tools\":[],\"completions\":false}");

    assert_int_equal(mcp_catalog_has(catalog, MCP_LIST_TOOLS), 1);
    assert_int_equal(mcp_catalog_has(catalog, MCP_LIST_PROMPTS), 0);
    assert_int_equal(mcp_catalog_completions(catalog), 0);
    assert_null(mcp_catalog_find(catalog, MCP_LIST_TOOLS,
                                 mcp_str("a")).data);
    assert_string_equal(page_of(catalog, MCP_LIST_TOOLS, "", 10),
                        "{\"tools\":[]}");

    mcp_catalog_free(catalog);
    assert_int_equal(tm.live, 0);

    mcp_catalog_free(NULL);
}


static void
catalog_of_all(void **state)
{
    test_mem_t      tm;
    mcp_catalog_t  *catalog;

    (void) state;

    catalog = catalog_create(&tm,
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

    assert_str_is(mcp_catalog_instructions(catalog),
                  "\"Say \\\"please\\\".\"");
    assert_int_equal(mcp_catalog_completions(catalog), 1);

    /* in the file's order, on one line */

    assert_string_equal(page_of(catalog, MCP_LIST_TOOLS, "", 0),
        "{\"tools\":[{\"name\": \"b.2\", " SCHEMA ", \"extra\": [1,2]},"
        "{\"name\": \"\\u0061-1\",   " SCHEMA "}]}");
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

    /* by the decoded name */

    assert_str_is(mcp_catalog_find(catalog, MCP_LIST_TOOLS,
                                   mcp_str("a-1")),
                  "{\"name\": \"\\u0061-1\",\r\n " SCHEMA "}");
    assert_non_null(mcp_catalog_find(catalog, MCP_LIST_TOOLS,
                                     mcp_str("b.2")).data);
    assert_null(mcp_catalog_find(catalog, MCP_LIST_TOOLS,
                                 mcp_str("b.")).data);
    assert_null(mcp_catalog_find(catalog, MCP_LIST_TOOLS,
                                 mcp_str("")).data);
    assert_null(mcp_catalog_find(catalog, MCP_LIST_TOOLS,
                                 mcp_str("Greet me")).data);
    assert_non_null(mcp_catalog_find(catalog, MCP_LIST_PROMPTS,
                                     mcp_str("Greet me")).data);

    /* resources by URI, not by name; templates in their order */

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

    mcp_catalog_free(catalog);
    assert_int_equal(tm.live, 0);
}


/* The text is copied: the caller's may go. */
static void
catalog_owns_its_text(void **state)
{
    char           *text, error[256];
    test_mem_t      tm;
    mcp_catalog_t  *catalog;

    (void) state;

    test_mem_init(&tm);
    text = strdup("{\"prompts\":[{\"name\":\"a\"}],\"instructions\":\"i\"}");
    assert_non_null(text);

    assert_int_equal(mcp_catalog_create(&tm.mem, test_str(text), &catalog,
                                        error, sizeof(error)), MCP_OK);
    memset(text, 'x', strlen(text));
    free(text);

    assert_str_is(mcp_catalog_find(catalog, MCP_LIST_PROMPTS,
                                   mcp_str("a")), "{\"name\":\"a\"}");
    assert_str_is(mcp_catalog_instructions(catalog), "\"i\"");
    assert_string_equal(page_of(catalog, MCP_LIST_PROMPTS, "", 0),
                        "{\"prompts\":[{\"name\":\"a\"}]}");

    mcp_catalog_free(catalog);
    assert_int_equal(tm.live, 0);
}


static void
private_keys_are_removed(void **state)
{
    static const struct {
        const char  *item;
        const char  *public;
    } cases[] = {
        { "{\"x-mcp-max-wait\":1,\"name\":\"n\"}", "{\"name\":\"n\"}" },
        { "{\"name\":\"n\",\"x-mcp-resumable\":true}", "{\"name\":\"n\"}" },
        { "{ \"x-mcp-max-wait\" : 1 , \"name\" :\n \"n\" , "
          "\"x-mcp-min-wait\" : 1 , "
          "\"z\" : [1,\n2] }", "{\"name\":\"n\",\"z\":[1, 2]}" },
        { "{\"x\\u002dmcp-max-wait\":1,\"name\":\"n\"}", "{\"name\":\"n\"}" },
        { "{\"x-mcp-max-wait\":1,\"x-mcp-min-wait\":2,\"name\":\"n\"}",
          "{\"name\":\"n\"}" },
        { "{\"X-mcp-a\":1,\"x-mcp\":2,\"name\":\"n\"}",
          "{\"X-mcp-a\":1,\"x-mcp\":2,\"name\":\"n\"}" },
        { "{\"name\":\"n\",\"_meta\":{\"x-mcp-a\":1}}",
          "{\"name\":\"n\",\"_meta\":{\"x-mcp-a\":1}}" },
    };

    char            text[512], expected[512];
    size_t          i;
    test_mem_t      tm;
    mcp_catalog_t  *catalog;

    (void) state;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), "{\"prompts\":[%s,{\"name\":\"o\"}]}",
                 cases[i].item);
        snprintf(expected, sizeof(expected),
                 "{\"prompts\":[%s,{\"name\":\"o\"}]}", cases[i].public);

        catalog = catalog_create(&tm, text);

        assert_string_equal(page_of(catalog, MCP_LIST_PROMPTS, "", 0),
                            expected);
        assert_str_is(mcp_catalog_find(catalog, MCP_LIST_PROMPTS,
                                       mcp_str("n")), cases[i].item);

        mcp_catalog_free(catalog);
        assert_int_equal(tm.live, 0);
    }
}


static void
mistakes_are_named(void **state)
{
    static const struct {
        const char  *text;
        const char  *error;
    } cases[] = {

        /* the file */
        { "", "line 1: not valid JSON" },
        { "{\"prompts\":[{\"name\":\"a\"},\n{\"name\":\"b\",\n"
          "\"x-mcp-max-wait\":\n\"5m\"}]}",
          "line 4: \"x-mcp-max-wait\" must be a number of seconds, with "
          "three decimals at most" },
        { "{\"prompts\":[{\"name\":\"b\",\"x-mcp-resumable\":true,\n"
          "\"x-mcp-resumable\":true}]}",
          "line 2: \"x-mcp-resumable\" is duplicate" },
        { "{\"prompts\":[{\"name\":\"b\",\n\"x-mcp-maxwait\":\n1}]}",
          "line 3: \"x-mcp-maxwait\" is unknown" },
        { "\n\n{\"tools\":[}", "line 3: not valid JSON" },
        { "{}\n{}", "line 2: not valid JSON" },
        { "[]", "line 1: a catalog must be an object" },
        { "\n\"x\"", "line 2: a catalog must be an object" },
        { "{\n\"tools\":[],\n\"tool\":[]}", "line 3: unknown key \"tool\"" },
        { "{\"a\\nb\":1}", "line 1: unknown key \"a?b\"" },
        { "{\"tools\":[],\n\"prompts\":[],\n\"tools\":[]}",
          "line 3: duplicate key \"tools\"" },
        { "{\"tools\":\n{}}", "line 2: \"tools\" must be an array" },
        { "{\"resourceTemplates\":null}",
          "line 1: \"resourceTemplates\" must be an array" },
        { "{\"instructions\":\n\n1}",
          "line 3: \"instructions\" must be a string" },
        { "{\"completions\":\"yes\"}",
          "line 1: \"completions\" must be true or false" },
        { "{\"prompts\":[{\"name\":\"\xff\"}]}", "line 1: not valid JSON" },

        /* items */
        { "{\"tools\":[\n1]}", "line 2: a tool must be an object" },
        { "{\"prompts\":[[]]}", "line 1: a prompt must be an object" },
        { "{\"resources\":[null]}", "line 1: a resource must be an object" },
        { "{\"resourceTemplates\":[\"x\"]}",
          "line 1: a resource template must be an object" },
        { "{\"tools\":[\n\n{" SCHEMA "}]}", "line 3: tool without \"name\"" },
        { "{\"tools\":[{\"name\":\"a\"}]}",
          "line 1: tool without \"inputSchema\"" },
        { "{\"prompts\":[{}]}", "line 1: prompt without \"name\"" },
        { "{\"resources\":[{\"name\":\"a\"}]}",
          "line 1: resource without \"uri\"" },
        { "{\"resources\":[{\"uri\":\"a\"}]}",
          "line 1: resource without \"name\"" },
        { "{\"resourceTemplates\":[{\"name\":\"a\",\"uri\":\"b\"}]}",
          "line 1: resource template without \"uriTemplate\"" },
        { "{\"prompts\":[{\"name\":\n1}]}",
          "line 2: \"name\" must be a string" },
        { "{\"prompts\":[{\"name\":\"a\",\"description\":null}]}",
          "line 1: \"description\" must be a string" },
        { "{\"prompts\":[{\"name\":\"a\",\"arguments\":{}}]}",
          "line 1: \"arguments\" must be an array" },
        { "{\"prompts\":[{\"name\":\"a\",\"arguments\":[{}]}]}",
          "line 1: a prompt's argument must be an object with a \"name\"" },
        { "{\"prompts\":[{\"name\":\"a\",\"arguments\":[\n\"x\"]}]}",
          "line 2: a prompt's argument must be an object with a \"name\"" },
        { "{\"prompts\":[{\"name\":\"a\",\n\"name\":\"b\"}]}",
          "line 2: duplicate key \"name\"" },
        { "{\"tools\":[{\"name\":\"a\",\"inputSchema\":[]}]}",
          "line 1: \"inputSchema\" must be an object" },
        { "{\"tools\":[{\"name\":\"a\",\n\"inputSchema\":{}}]}",
          "line 2: \"inputSchema\" must have \"type\": \"object\"" },
        { "{\"tools\":[{\"name\":\"a\",\"inputSchema\":{\"type\":\"array\"}}"
          "]}",
          "line 1: \"inputSchema\" must have \"type\": \"object\"" },
        { "{\"tools\":[{\"name\":\"a\"," SCHEMA ",\"outputSchema\":"
          "{\"type\":[\"object\"]}}]}",
          "line 1: \"outputSchema\" must have \"type\": \"object\"" },
        { "{\"resources\":[{\"name\":\"a\",\"uri\":\"b\",\"size\":\"1\"}]}",
          "line 1: \"size\" must be a number" },

        /* names */
        { "{\"prompts\":[{\"name\":\"\"}]}",
          "line 1: \"name\" must not be empty" },
        { "{\"resources\":[{\"name\":\"a\",\"uri\":\"\"}]}",
          "line 1: \"uri\" must not be empty" },
        { "{\"tools\":[{\"name\":\"a b\"," SCHEMA "}]}",
          "line 1: a tool's name is 1 to 128 of A-Z a-z 0-9 _ - ." },
        { "{\"tools\":[{\"name\":\"a\\u0000\"," SCHEMA "}]}",
          "line 1: a tool's name is 1 to 128 of A-Z a-z 0-9 _ - ." },
        { "{\"prompts\":[{\"name\":\"a\"},\n{\"name\":\"b\"},\n"
          "{\"name\":\"\\u0061\"}]}",
          "line 3: duplicate prompt \"a\"" },
        { "{\"resources\":[{\"uri\":\"u\",\"name\":\"a\"},\n"
          "{\"uri\":\"u\",\"name\":\"b\"}]}",
          "line 2: duplicate resource \"u\"" },
        { "{\"resourceTemplates\":[{\"uriTemplate\":\"u\",\"name\":\"a\"},\n"
          "{\"uriTemplate\":\"u\",\"name\":\"b\"}]}",
          "line 2: duplicate resource template \"u\"" },
        { "{\"resourceTemplates\":[{\"uriTemplate\":\"u\",\"name\":\"a\"},\n"
          "{\"uriTemplate\":\n\"u{\",\"name\":\"b\"}]}",
          "line 3: unclosed expression in URI template at offset 1" },
    };

    char            error[256], little[10];
    size_t          i;
    test_mem_t      tm;
    mcp_catalog_t  *catalog;

    (void) state;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        test_mem_init(&tm);

        assert_int_equal(mcp_catalog_create(&tm.mem, test_str(cases[i].text),
                                            &catalog, error, sizeof(error)),
                         MCP_ERR_CONFIG);
        assert_string_equal(error, cases[i].error);

        assert_int_equal(mcp_catalog_create(&tm.mem, test_str(cases[i].text),
                                            &catalog, little, sizeof(little)),
                         MCP_ERR_CONFIG);
        assert_memory_equal(little, cases[i].error, sizeof(little) - 1);

        assert_int_equal(mcp_catalog_create(&tm.mem, test_str(cases[i].text),
                                            &catalog, little, 3),
                         MCP_ERR_CONFIG);
        assert_string_equal(little, "li");

        assert_int_equal(tm.live, 0);
    }
}


static void
too_deep_and_too_long(void **state)
{
    char            text[1024], error[256];
    size_t          i, n;
    test_mem_t      tm;
    mcp_catalog_t  *catalog;

    (void) state;

    n = (size_t) snprintf(text, sizeof(text), "{\"prompts\":\n");

    for (i = 0; i < 200; i++) {
        text[n++] = '[';
    }

    test_mem_init(&tm);
    assert_int_equal(mcp_catalog_create(&tm.mem, (mcp_str_t) { text, n },
                                        &catalog, error, sizeof(error)),
                     MCP_ERR_CONFIG);
    assert_string_equal(error, "line 2: nested too deep");
    assert_int_equal(tm.live, 0);

    /* a name of 128, one of 129 */

    for (i = 128; i <= 129; i++) {
        n = (size_t) snprintf(text, sizeof(text), "{\"tools\":[{\"name\":\"");
        memset(text + n, 'n', i);
        n += i;
        snprintf(text + n, sizeof(text) - n, "\"," SCHEMA "}]}");

        test_mem_init(&tm);

        if (i == 128) {
            catalog = catalog_create(&tm, text);
            mcp_catalog_free(catalog);

        } else {
            assert_int_equal(mcp_catalog_create(&tm.mem, test_str(text),
                                                &catalog, error,
                                                sizeof(error)),
                             MCP_ERR_CONFIG);
        }

        assert_int_equal(tm.live, 0);
    }
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


static void
pages_follow(void **state)
{
    static const char  *items =
        "{\"prompts\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"},"
        "{\"name\":\"d\"},{\"name\":\"e\"}]}";

    char            cursor[64], names[16];
    size_t          page, n, pages;
    const char     *text, *p;
    test_mem_t      tm;
    mcp_catalog_t  *catalog;

    (void) state;

    catalog = catalog_create(&tm, items);

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

    /* the size of a page may change while a client reads on */

    next_cursor(page_of(catalog, MCP_LIST_PROMPTS, "", 2), cursor);
    assert_string_equal(page_of(catalog, MCP_LIST_PROMPTS, cursor, 0),
        "{\"prompts\":[{\"name\":\"c\"},{\"name\":\"d\"},{\"name\":\"e\"}]}");

    mcp_catalog_free(catalog);
    assert_int_equal(tm.live, 0);
}


static int
list(const mcp_catalog_t *catalog, mcp_list_e kind,
    const char *cursor, size_t max)
{
    int         rc;
    mcp_buf_t   buf;
    test_mem_t  tm;

    test_mem_init(&tm);
    mcp_buf_init(&buf, &tm.mem, max);

    rc = mcp_catalog_list(catalog, kind, test_str(cursor), 2, &buf);

    mcp_buf_free(&buf);
    assert_int_equal(tm.live, 0);

    return rc;
}


static void
cursors_of_others(void **state)
{
    static const char  *bad[] = {
        "x", "2", "AAAA", "AAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAA", "====",
        "AAAAAAAAAAAAAAA=",
    };

    char            cursor[64], changed[64];
    size_t          i;
    test_mem_t      tm, tm2;
    mcp_catalog_t  *catalog, *other;

    (void) state;

    catalog = catalog_create(&tm, "{\"prompts\":[{\"name\":\"a\"},"
                                  "{\"name\":\"b\"},{\"name\":\"c\"}],"
                                  "\"tools\":[]}");
    other = catalog_create(&tm2, "{\"prompts\":[{\"name\":\"a\"},"
                                 "{\"name\":\"b\"},{\"name\":\"d\"}]}");

    next_cursor(page_of(catalog, MCP_LIST_PROMPTS, "", 2), cursor);
    assert_int_equal(strlen(cursor), 16);

    assert_int_equal(list(catalog, MCP_LIST_PROMPTS, cursor, 1000), MCP_OK);
    assert_int_equal(list(catalog, MCP_LIST_TOOLS, cursor, 1000),
                     MCP_ERR_NOT_FOUND);
    assert_int_equal(list(other, MCP_LIST_PROMPTS, cursor, 1000),
                     MCP_ERR_NOT_FOUND);

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(list(catalog, MCP_LIST_PROMPTS, bad[i], 1000),
                         MCP_ERR_NOT_FOUND);
    }

    /* another position, kind or digest */

    for (i = 0; i < 16; i++) {
        strcpy(changed, cursor);
        changed[i] = changed[i] == 'B' ? 'C' : 'B';

        assert_int_equal(list(catalog, MCP_LIST_PROMPTS, changed, 1000),
                         MCP_ERR_NOT_FOUND);
    }

    /* positions are not secret, but there is none at 0 or behind the end */

    strcpy(changed, cursor);
    changed[5] = 'Q';
    assert_int_equal(list(catalog, MCP_LIST_PROMPTS, changed, 1000),
                     MCP_OK);
    changed[5] = 'A';
    assert_int_equal(list(catalog, MCP_LIST_PROMPTS, changed, 1000),
                     MCP_ERR_NOT_FOUND);
    changed[5] = 'w';
    assert_int_equal(list(catalog, MCP_LIST_PROMPTS, changed, 1000),
                     MCP_ERR_NOT_FOUND);

    mcp_catalog_free(catalog);
    mcp_catalog_free(other);
    assert_int_equal(tm.live, 0);
    assert_int_equal(tm2.live, 0);
}


static void
lists_do_not_fit(void **state)
{
    size_t          max;
    test_mem_t      tm, tm2;
    mcp_buf_t       buf;
    unsigned long   n;
    mcp_catalog_t  *catalog;

    (void) state;

    catalog = catalog_create(&tm, "{\"prompts\":[{\"name\":\"a\"},"
                                  "{\"name\":\"b\"},{\"name\":\"c\"}]}");

    for (max = 0; list(catalog, MCP_LIST_PROMPTS, "", max) != MCP_OK; max++)
    {
        assert_int_equal(list(catalog, MCP_LIST_PROMPTS, "", max),
                         MCP_ERR_LIMIT);
    }

    assert_int_equal(max, strlen(page_of(catalog, MCP_LIST_PROMPTS, "",
                                         2)));

    for (n = 1; n < 100; n++) {
        test_mem_init(&tm2);
        tm2.fail_at = n;
        mcp_buf_init(&buf, &tm2.mem, 1000);

        if (mcp_catalog_list(catalog, MCP_LIST_PROMPTS, mcp_null_str, 0,
                             &buf) == MCP_OK)
        {
            mcp_buf_free(&buf);
            break;
        }

        assert_int_equal(buf.failed, MCP_ERR_MEMORY);
        mcp_buf_free(&buf);
        assert_int_equal(tm2.live, 0);
    }

    assert_in_range(n, 2, 99);

    mcp_catalog_free(catalog);
    assert_int_equal(tm.live, 0);
}


static void
catalog_of_many(void **state)
{
    enum { MANY = 10000 };

    char            name[32], *text;
    size_t          i, len, size;
    mcp_buf_t       buf;
    test_mem_t      tm;
    mcp_catalog_t  *catalog;

    (void) state;

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

    catalog = catalog_create(&tm, text);
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
    assert_int_equal(mcp_catalog_list(catalog, MCP_LIST_TOOLS,
                                      mcp_null_str, 0, &buf), MCP_OK);
    assert_memory_equal(buf.data + buf.len - 4, "}}]}", 4);
    mcp_buf_free(&buf);

    mcp_catalog_free(catalog);
    assert_int_equal(tm.live, 0);
}


/* rc: what comes out when no allocation fails */

static void
fail_each(mcp_str_t text, int expected)
{
    int              rc;
    char             error[256];
    test_mem_t       tm;
    unsigned long    n;
    mcp_catalog_t   *catalog;

    for (n = 1; n < 1000; n++) {
        test_mem_init(&tm);
        tm.fail_at = n;

        rc = mcp_catalog_create(&tm.mem, text, &catalog, error,
                                sizeof(error));

        if (rc == MCP_OK) {
            mcp_catalog_free(catalog);
        }

        assert_int_equal(tm.live, 0);

        if (tm.failed == 0) {
            assert_int_equal(rc, expected);
            return;
        }

        /* a pattern goes without JIT if there is no memory for it */

        assert_true(rc == MCP_ERR_MEMORY || rc == MCP_OK);
    }

    fail();
}


static void
allocations_fail(void **state)
{
    (void) state;

    fail_each(mcp_str(
        "{\"instructions\":\"i\","
        "\"tools\":[{\"name\":\"\\u0061\",\"x-mcp-min-wait\":1," SCHEMA "},"
        "{\"name\":\"c\",\"x-mcp-max-wait\":1," SCHEMA "},"
        "{\"name\":\"b\"," SCHEMA "}],"
        "\"prompts\":[{\"name\":\"\\u0061\",\"\\u0062\":1,\"x-mcp-max-wait\":1}],"
        "\"resources\":[{\"uri\":\"file:///\",\"name\":\"\\u0061\"}],"
        "\"resourceTemplates\":[{\"uriTemplate\":\"x://{a}\",\"name\":\"t\"},"
        "{\"uriTemplate\":\"y://{a}\",\"name\":\"t\"}]}"), MCP_OK);
}


/* What is larger than a block of the arena has an allocation of its own. */
static void
large_allocations_fail(void **state)
{
    enum { LONG = 5000, ITEMS = 100 };

    int         i;
    char        longer[LONG];
    mcp_buf_t   buf;
    test_mem_t  tm;

    (void) state;

    memset(longer, 'n', sizeof(longer));
    test_mem_init(&tm);

    /* a name, a key of ours and another one, with an escape each */

    mcp_buf_init(&buf, &tm.mem, 1024 * 1024);
    mcp_buf_lit(&buf, "{\"prompts\":[{\"name\":\"\\u0061");
    mcp_buf_add(&buf, longer, sizeof(longer));
    mcp_buf_lit(&buf, "\",\"\\u0061");
    mcp_buf_add(&buf, longer, sizeof(longer));
    mcp_buf_lit(&buf, "\":1,\"x-mcp-max-wai\\u0074\":1}]}");

    assert_int_equal(buf.failed, MCP_OK);
    fail_each((mcp_str_t) { buf.data, buf.len }, MCP_OK);

    /* a key of ours that there is not, and one that is in no catalog */

    buf.len = 0;
    mcp_buf_lit(&buf, "{\"prompts\":[{\"name\":\"n\",\"x-mcp-\\u0061");
    mcp_buf_add(&buf, longer, sizeof(longer));
    mcp_buf_lit(&buf, "\":1}]}");
    fail_each((mcp_str_t) { buf.data, buf.len }, MCP_ERR_CONFIG);

    buf.len = 0;
    mcp_buf_lit(&buf, "{\"\\u0061");
    mcp_buf_add(&buf, longer, sizeof(longer));
    mcp_buf_lit(&buf, "\":1}");
    fail_each((mcp_str_t) { buf.data, buf.len }, MCP_ERR_CONFIG);

    /* many items */

    buf.len = 0;
    mcp_buf_lit(&buf, "{\"prompts\":[");

    for (i = 0; i < ITEMS; i++) {
        mcp_buf_lit(&buf, "{\"name\":\"");
        mcp_buf_int(&buf, i);
        mcp_buf_lit(&buf, "\"},");
    }

    mcp_buf_lit(&buf, "{\"name\":\"last\"}]}");
    fail_each((mcp_str_t) { buf.data, buf.len }, MCP_OK);

    mcp_buf_free(&buf);
    assert_int_equal(tm.live, 0);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(catalog_empty),
        cmocka_unit_test(catalog_of_all),
        cmocka_unit_test(catalog_owns_its_text),
        cmocka_unit_test(private_keys_are_removed),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(too_deep_and_too_long),
        cmocka_unit_test(pages_follow),
        cmocka_unit_test(cursors_of_others),
        cmocka_unit_test(lists_do_not_fit),
        cmocka_unit_test(catalog_of_many),
        cmocka_unit_test(allocations_fail),
        cmocka_unit_test(large_allocations_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

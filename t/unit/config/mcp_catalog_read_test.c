/* SPDX-License-Identifier: Apache-2.0 */

/* Catalog files: accepted and rejected texts, and the memory of a catalog. */


#include "catalog_cases.h"


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


/* A catalog keeps a copy of its text. */
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
    assert_string_equal(error,
                        "line 2: the JSON is nested deeper than 128 levels");
    assert_int_equal(tm.live, 0);

    /* a name of 128 bytes: accepted; one of 129: rejected */

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


/* Creates a catalog repeatedly, with another allocation failing each time.
 * "expected" is the result if no allocation fails. */

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

        /* MCP_OK if the failed allocation was for the JIT of a pattern, which
         * works without it */

        assert_true(rc == MCP_ERR_MEMORY || rc == MCP_OK);
    }

    fail();
}


static void
allocations_fail(void **state)
{
    (void) state;

    fail_each(mcp_str(
        "{\"instructions\":\"i\",\"extensions\":{\"a\\u002fb\":{}},"
        "\"icons\":[{\"src\":\"s\"}],"
        "\"tools\":[{\"name\":\"d\",\"outputSchema\":{},\"execution\":{},"
        SCHEMA "},{\"name\":\"\\u0061\",\"x-mcp-min-wait\":1," SCHEMA "},"
        "{\"name\":\"c\",\"x-mcp-max-wait\":1," SCHEMA "},"
        "{\"name\":\"b\"," SCHEMA "}],"
        "\"prompts\":[{\"name\":\"\\u0061\",\"\\u0062\":1,\"x-mcp-max-wait\":1}],"
        "\"resources\":[{\"uri\":\"file:///\",\"name\":\"\\u0061\"}],"
        "\"resourceTemplates\":[{\"uriTemplate\":\"x://{a}\",\"name\":\"t\"},"
        "{\"uriTemplate\":\"y://{a}\",\"name\":\"t\"}]}"), MCP_OK);
}


/* Decoded texts that are longer than a block of the arena. */
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

    /* long texts with an escape: a name, a key with the prefix "x-mcp-", and
     * another key */

    mcp_buf_init(&buf, &tm.mem, 1024 * 1024);
    mcp_buf_lit(&buf, "{\"prompts\":[{\"name\":\"\\u0061");
    mcp_buf_add(&buf, longer, sizeof(longer));
    mcp_buf_lit(&buf, "\",\"\\u0061");
    mcp_buf_add(&buf, longer, sizeof(longer));
    mcp_buf_lit(&buf, "\":1,\"x-mcp-max-wai\\u0074\":1}]}");

    assert_int_equal(buf.failed, MCP_OK);
    fail_each((mcp_str_t) { buf.data, buf.len }, MCP_OK);

    /* an unknown "x-mcp-" key, and an unknown key of the catalog */

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
        cmocka_unit_test(catalog_owns_its_text),
        cmocka_unit_test(too_deep_and_too_long),
        cmocka_unit_test(allocations_fail),
        cmocka_unit_test(large_allocations_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Catalog files: accepted and rejected texts, and the memory of a catalog. */


#include "catalog_cases.h"

#include "rpc/mcp_result.h"


TEST(empty_catalog_has_no_items_and_its_lists_are_empty)
{
    int             kind;
    mcp_catalog_t  *catalog;

    catalog = catalog_create(" {} ");

    for (kind = 0; kind < MCP_LIST_COUNT; kind++) {
        assert_int_equal(mcp_catalog_has(catalog, (mcp_list_e) kind), 0);
        assert_null(mcp_catalog_find(catalog, (mcp_list_e) kind,
                                     mcp_str("a")).data);
    }

    assert_int_equal(mcp_catalog_info(catalog)->completions, 0);
    assert_int_equal(mcp_catalog_info(catalog)->instructions.len, 0);

    assert_string_equal(page_of(catalog, MCP_LIST_TOOLS, "", 0),
                        "{\"tools\":[]}");

    catalog = catalog_create("{\"tools\":[],\"completions\":false}");

    assert_int_equal(mcp_catalog_has(catalog, MCP_LIST_TOOLS), 1);
    assert_int_equal(mcp_catalog_has(catalog, MCP_LIST_PROMPTS), 0);
    assert_int_equal(mcp_catalog_info(catalog)->completions, 0);
    assert_null(mcp_catalog_find(catalog, MCP_LIST_TOOLS, mcp_str("a")).data);
    assert_string_equal(page_of(catalog, MCP_LIST_TOOLS, "", 10),
                        "{\"tools\":[]}");

    mcp_catalog_free(NULL);
}


/* A catalog keeps a copy of its text. */
TEST(text_of_a_catalog_is_freed__the_catalog_still_has_its_items)
{
    char           *text, error[256];
    mcp_catalog_t  *catalog;

    text = strdup("{\"prompts\":[{\"name\":\"a\"}],\"instructions\":\"i\"}");
    assert_non_null(text);

    assert_ok(mcp_catalog_create(&tm.mem, test_str(text), &catalog, error,
                                 sizeof(error)));
    memset(text, 'x', strlen(text));
    free(text);

    assert_str_is(mcp_catalog_find(catalog, MCP_LIST_PROMPTS,
                                   mcp_str("a")), "{\"name\":\"a\"}");
    assert_str_is(mcp_catalog_info(catalog)->instructions, "\"i\"");
    assert_string_equal(page_of(catalog, MCP_LIST_PROMPTS, "", 0),
                        "{\"prompts\":[{\"name\":\"a\"}]}");

    mcp_catalog_free(catalog);
}


TEST(catalog_that_is_nested_too_deeply_or_has_a_name_over_128_bytes_is_rejected)
{
    char            text[1024], error[256];
    size_t          i, n;
    mcp_catalog_t  *catalog;

    n = (size_t) snprintf(text, sizeof(text), "{\"prompts\":\n");

    for (i = 0; i < 200; i++) {
        text[n++] = '[';
    }

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

        if (i == 128) {
            (void) catalog_create(text);

        } else {
            assert_int_equal(mcp_catalog_create(&tm.mem, test_str(text),
                                                &catalog, error,
                                                sizeof(error)),
                             MCP_ERR_CONFIG);
        }
    }
}


/* Creates a catalog repeatedly, with another allocation failing each time.
 * "expected" is the result if no allocation fails. */

static void
fail_each(mcp_str_t text, int expected)
{
    int             rc;
    char            error[256];
    test_mem_t      own;
    unsigned long   n = 0;
    mcp_catalog_t  *catalog;

    test_mem_init(&own);

    while (test_next_failure(&own, &n)) {
        own.fail_at = n;

        rc = mcp_catalog_create(&own.mem, text, &catalog, error, sizeof(error));

        if (rc == MCP_OK) {
            mcp_catalog_free(catalog);
        }

        assert_int_equal(own.live, 0);

        /* MCP_OK if the failed allocation was for the JIT of a pattern, which
         * works without it */

        assert_true(own.failed ? rc == MCP_ERR_MEMORY || rc == MCP_OK
                               : rc == expected);
    }
}


TEST(memory_runs_out_at_any_allocation__the_catalog_leaks_nothing)
{
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
TEST(memory_runs_out_for_long_texts_or_many_items__nothing_leaks)
{
    enum { LONG = 5000, ITEMS = 100 };

    int         i;
    char        longer[LONG];
    mcp_buf_t   buf;

    memset(longer, 'n', sizeof(longer));

    /* long texts with an escape: a name, a key with the prefix "x-mcp-", and
     * another key */

    mcp_buf_init(&buf, &tm.mem, 1024 * 1024);
    mcp_buf_lit(&buf, "{\"prompts\":[{\"name\":\"\\u0061");
    mcp_buf_add(&buf, longer, sizeof(longer));
    mcp_buf_lit(&buf, "\",\"\\u0061");
    mcp_buf_add(&buf, longer, sizeof(longer));
    mcp_buf_lit(&buf, "\":1,\"x-mcp-max-wai\\u0074\":1}]}");

    assert_ok(buf.failed);
    fail_each(mcp_buf_text(&buf), MCP_OK);

    /* an unknown "x-mcp-" key, and an unknown key of the catalog */

    buf.len = 0;
    mcp_buf_lit(&buf, "{\"prompts\":[{\"name\":\"n\",\"x-mcp-\\u0061");
    mcp_buf_add(&buf, longer, sizeof(longer));
    mcp_buf_lit(&buf, "\":1}]}");
    fail_each(mcp_buf_text(&buf), MCP_ERR_CONFIG);

    buf.len = 0;
    mcp_buf_lit(&buf, "{\"\\u0061");
    mcp_buf_add(&buf, longer, sizeof(longer));
    mcp_buf_lit(&buf, "\":1}");
    fail_each(mcp_buf_text(&buf), MCP_ERR_CONFIG);

    /* many items */

    buf.len = 0;
    mcp_buf_lit(&buf, "{\"prompts\":[");

    for (i = 0; i < ITEMS; i++) {
        mcp_buf_lit(&buf, "{\"name\":\"");
        mcp_buf_int(&buf, i);
        mcp_buf_lit(&buf, "\"},");
    }

    mcp_buf_lit(&buf, "{\"name\":\"last\"}]}");
    fail_each(mcp_buf_text(&buf), MCP_OK);

    mcp_buf_free(&buf);
}


TEST(x_mcp_keys_of_items_are_removed_from_the_lists)
{
    static const struct {
        const char  *item;
        const char  *public;
    } cases[] = {
        { "{\"x-mcp-max-wait\":1,\"name\":\"n\"}", "{\"name\":\"n\"}" },
        { "{\"name\":\"n\",\"x-mcp-resumable\":true}", "{\"name\":\"n\"}" },
        { "{ \"x-mcp-max-wait\" : 1 , \"name\" :\n \"n\" , "
          "\"x-mcp-min-wait\" : 1 , "
          "\"z\" : [1,\n2] }", "{\"name\":\"n\",\"z\":[1,2]}" },
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
    mcp_catalog_t  *catalog;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), "{\"prompts\":[%s,{\"name\":\"o\"}]}",
                 cases[i].item);
        snprintf(expected, sizeof(expected),
                 "{\"prompts\":[%s,{\"name\":\"o\"}]}", cases[i].public);

        catalog = catalog_create(text);

        assert_string_equal(page_of(catalog, MCP_LIST_PROMPTS, "", 0),
                            expected);
        assert_str_is(mcp_catalog_find(catalog, MCP_LIST_PROMPTS,
                                       mcp_str("n")), cases[i].item);
    }
}


#define BOTH  (MCP_REVISION_FILTER_OUTPUT|MCP_REVISION_FILTER_EXECUTION)


/* Tools of a catalog file, and the lists that clients with a session and
 * stateless clients get. */
TEST(list_of_tools_omits_members_the_revision_does_not_allow)
{
    static const struct {
        const char  *tools;            /* tools in the file */
        const char  *session;          /* the list for clients with a session;
                                          NULL: equal to "tools" */
        const char  *stateless;
    } cases[] = {
        { "{\"name\":\"a\"," SCHEMA ",\"outputSchema\":{\"type\":\"object\"}}",
          NULL, NULL },
        { "{\"name\":\"a\"," SCHEMA ",\"outputSchema\":{\"$ref\":\"#\"}}",
          "{\"name\":\"a\"," SCHEMA "}", NULL },
        { "{\"name\":\"a\"," SCHEMA ",\"outputSchema\":{\"type\":\"array\"},"
          "\"x\":[1]},{\"name\":\"b\"," SCHEMA "}",
          "{\"name\":\"a\"," SCHEMA ",\"x\":[1]},"
          "{\"name\":\"b\"," SCHEMA "}", NULL },
        { "{\"name\":\"a\"," SCHEMA "},"
          "{\"execution\":{},\"name\":\"b\"," SCHEMA "}", NULL,
          "{\"name\":\"a\"," SCHEMA "},{\"name\":\"b\"," SCHEMA "}" },
        { "{\"name\":\"a\"," SCHEMA ",\"execution\":{},\"outputSchema\":{}}",
          "{\"name\":\"a\"," SCHEMA ",\"execution\":{}}",
          "{\"name\":\"a\"," SCHEMA ",\"outputSchema\":{}}" },
    };

    char            text[512];
    size_t          i;
    mcp_catalog_t  *catalog;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), "{\"tools\":[%s]}", cases[i].tools);
        catalog = catalog_create(text);

        assert_string_equal(page_of(catalog, MCP_LIST_TOOLS, "", 0), text);

        snprintf(text, sizeof(text), "{\"tools\":[%s]}",
                 cases[i].session ? cases[i].session : cases[i].tools);
        assert_string_equal(page_without(catalog, MCP_LIST_TOOLS,
                                         MCP_REVISION_FILTER_OUTPUT, "", 0),
                            text);

        snprintf(text, sizeof(text), "{\"tools\":[%s]}",
                 cases[i].stateless ? cases[i].stateless : cases[i].tools);
        assert_string_equal(page_without(catalog, MCP_LIST_TOOLS,
                                         MCP_REVISION_FILTER_EXECUTION, "", 0),
                            text);
    }
}


/* Each revision filter has its own pages. Items other than tools are not
 * filtered. */
TEST(revision_filters_apply_to_pages_of_tools_but_not_to_pages_of_prompts)
{
    const char     *page;
    mcp_catalog_t  *catalog;

    catalog = catalog_create(
            "{\"tools\":[{\"name\":\"a\"," SCHEMA ",\"execution\":{}},"
            "{\"name\":\"b\"," SCHEMA ",\"outputSchema\":{}},"
            "{\"name\":\"c\"," SCHEMA "}],"
            "\"prompts\":[{\"name\":\"p\",\"execution\":1}]}");

    page = page_without(catalog, MCP_LIST_TOOLS, MCP_REVISION_FILTER_EXECUTION,
                        "", 1);
    assert_ptr_equal(strstr(page, "{\"tools\":[{\"name\":\"a\"," SCHEMA "}],"
                                  "\"nextCursor\":\""), page);

    page = page_without(catalog, MCP_LIST_TOOLS, MCP_REVISION_FILTER_OUTPUT, "",
                        2);
    assert_ptr_equal(strstr(page, "{\"tools\":[{\"name\":\"a\"," SCHEMA ","
                                  "\"execution\":{}},"
                                  "{\"name\":\"b\"," SCHEMA "}],"
                                  "\"nextCursor\":\""), page);

    assert_string_equal(page_without(catalog, MCP_LIST_PROMPTS, BOTH, "", 0),
                        "{\"prompts\":[{\"name\":\"p\",\"execution\":1}]}");
}


TEST(catalog_members_about_the_server_are_read)
{
    mcp_catalog_t              *catalog;
    const mcp_catalog_info_t  *about;

    catalog = catalog_create(
            "{\"instructions\":\"i\",\"completions\":true,\n"
            "\"extensions\":{\"com.example/a\":{},\n\"io.x-y.z9/A_b-c.d\":"
            "{\"k\": 1.0},\"a\\u002f\":{}},\n"
            "\"icons\":[{\"src\":\"data:,\",\r\n\"sizes\":[\"any\"]}],"
            "\"websiteUrl\":\"https:\\/\\/example.com\","
            "\"description\":\"d\"}");

    about = mcp_catalog_info(catalog);

    assert_int_equal(mcp_catalog_info(catalog)->completions, 1);
    assert_str_is(mcp_catalog_info(catalog)->instructions, "\"i\"");
    assert_str_is(mcp_catalog_info(catalog)->extensions,
                  "{\"com.example/a\":{},\"io.x-y.z9/A_b-c.d\":"
                  "{\"k\":1.0},\"a\\u002f\":{}}");
    assert_str_is(about->icons, "[{\"src\":\"data:,\",\"sizes\":[\"any\"]}]");
    assert_str_is(about->website_url, "\"https:\\/\\/example.com\"");
    assert_str_is(about->description, "\"d\"");
}


TEST(empty_catalog_members_about_the_server_are_read)
{
    mcp_catalog_t              *catalog;
    const mcp_catalog_info_t  *about;

    catalog = catalog_create("{\"icons\":[],\"extensions\":{}}");
    about = mcp_catalog_info(catalog);

    assert_int_equal(mcp_catalog_info(catalog)->completions, 0);
    assert_int_equal(mcp_catalog_info(catalog)->instructions.len, 0);
    assert_str_is(mcp_catalog_info(catalog)->extensions, "{}");
    assert_str_is(about->icons, "[]");
    assert_int_equal(about->website_url.len, 0);
    assert_int_equal(about->description.len, 0);
}


TEST(invalid_member_about_the_server_is_rejected_with_its_line)
{
    static const struct {
        const char  *text;
        const char  *error;
    } cases[] = {
        { "{\"instructions\":\n\n1}",
          "line 3: \"instructions\" must be a string" },
        { "{\"completions\":\"yes\"}",
          "line 1: \"completions\" must be true or false" },
        { "{\"extensions\":\n[]}", "line 2: \"extensions\" must be an object" },
        { "{\n\"icons\":{}}", "line 2: \"icons\" must be an array" },
        { "{\"websiteUrl\":null}", "line 1: \"websiteUrl\" must be a string" },
        { "{\"description\":{}}", "line 1: \"description\" must be a string" },
        { "{\"icons\":[\n{\"src\":\"a\"},\n\"b\"]}",
          "line 3: an icon must be an object with a \"src\"" },
        { "{\"icons\":[{\"src\":1}]}",
          "line 1: an icon must be an object with a \"src\"" },
        { "{\"extensions\":{\"a.b/c\":{},\n\"a.b/d\":\ntrue}}",
          "line 3: an extension's settings must be an object" },
        { "{\"extensions\":{\"a.b/c\":{},\n\"a.b\\/c\":{}}}",
          "line 1: duplicate key \"a.b/c\"" },
        { "{\"extensions\":{\"a.b/c\":{}},\n\"extensions\":{}}",
          "line 2: duplicate key \"extensions\"" },
    };

    static const char *const  names[] = {
        "", "a", "a.b", "/", "/b", ".a/b", "a./b", "a..b/c", "1a/b", "a.1b/c",
        "-a/b", "a-/b", "a_b/c", "a/b/c", "a/-b", "a/b-", "a/b c", "a b/c",
        "a/.", "a/b\\u0000c", "\\u00e4/b"
    };

    char            error[256], text[128];
    size_t          i;
    mcp_catalog_t  *catalog;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(mcp_catalog_create(&tm.mem, test_str(cases[i].text),
                                            &catalog, error, sizeof(error)),
                         MCP_ERR_CONFIG);
        assert_string_equal(error, cases[i].error);
    }

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(text, sizeof(text), "{\"extensions\":\n{\"%s\":{}}}",
                 names[i]);

        assert_int_equal(mcp_catalog_create(&tm.mem, test_str(text), &catalog,
                                            error, sizeof(error)),
                         MCP_ERR_CONFIG);
        assert_ptr_equal(strstr(error, "line 2: the identifier of an extension must "
                                       "have the form com.example/name: \""),
                         error);
    }
}


RUN_TESTS(init, done)

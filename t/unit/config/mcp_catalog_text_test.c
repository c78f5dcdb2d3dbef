/* SPDX-License-Identifier: Apache-2.0 */

/* The text of items that clients get: without "x-mcp-" keys, and without
 * members that the client's revision does not define. */


#include "catalog_cases.h"

#include "rpc/mcp_revision_filter.h"


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


#define BOTH  (MCP_REVISION_FILTER_OUTPUT|MCP_REVISION_FILTER_EXECUTION)


/* Tools of a catalog file, and the lists that clients with a session and
 * stateless clients get. */
static void
revisions_differ(void **state)
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
    test_mem_t      tm;
    mcp_catalog_t  *catalog;

    (void) state;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), "{\"tools\":[%s]}", cases[i].tools);
        catalog = catalog_create(&tm, text);

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

        mcp_catalog_free(catalog);
        assert_int_equal(tm.live, 0);
    }
}


/* Each revision filter has its own pages. Items other than tools are not
 * filtered. */
static void
pages_of_texts(void **state)
{
    const char     *page;
    test_mem_t      tm;
    mcp_catalog_t  *catalog;

    (void) state;

    catalog = catalog_create(&tm,
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

    mcp_catalog_free(catalog);
    assert_int_equal(tm.live, 0);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(private_keys_are_removed),
        cmocka_unit_test(revisions_differ),
        cmocka_unit_test(pages_of_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

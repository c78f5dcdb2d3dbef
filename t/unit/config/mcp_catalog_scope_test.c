/* SPDX-License-Identifier: Apache-2.0 */

/* "x-mcp-scope": the scopes that items of a catalog require. */


#include "catalog_cases.h"


#define TOOL(scope)  "{\"tools\":[{\"name\":\"t\"," SCHEMA scope "}]}"


static void
test_scopes(void **state)
{
    uint32_t        i;
    mcp_str_t       text, scope;
    test_mem_t      tm;
    mcp_catalog_t  *catalog;

    (void) state;

    catalog = catalog_create(&tm,
        "{\"tools\":[{\"name\":\"t\",\"x-mcp-scope\":\"a b\\u0063\"," SCHEMA
        "},{\"name\":\"free\"," SCHEMA "}],\"resourceTemplates\":["
        "{\"uriTemplate\":\"a:{x}\",\"name\":\"1\",\"x-mcp-scope\":\"t1\"},"
        "{\"uriTemplate\":\"a:b{x}\",\"name\":\"2\"}]}");

    assert_true(mcp_catalog_scoped(catalog));

    scope = mcp_catalog_scope(catalog, MCP_LIST_TOOLS, mcp_str("t"));
    assert_true(mcp_str_eq(scope, mcp_str("a bc")));
    scope = mcp_catalog_scope(catalog, MCP_LIST_TOOLS, mcp_str("free"));
    assert_int_equal(scope.len, 0);
    scope = mcp_catalog_scope(catalog, MCP_LIST_TOOLS, mcp_str("none"));
    assert_int_equal(scope.len, 0);

    assert_null(strstr(page_of(catalog, MCP_LIST_TOOLS, "", 0), "x-mcp"));

    assert_true(mcp_catalog_has_template(catalog, mcp_str("a:{x}"), &scope));
    assert_true(mcp_str_eq(scope, mcp_str("t1")));
    assert_false(mcp_catalog_has_template(catalog, mcp_str("a:x"), &scope));

    i = 0;
    assert_true(mcp_catalog_template(catalog, mcp_str("a:bc"), &i, &text,
                                     &scope));
    assert_true(mcp_str_eq(text, mcp_str("a:{x}")));
    assert_true(mcp_catalog_template(catalog, mcp_str("a:bc"), &i, &text,
                                     &scope));
    assert_true(mcp_str_eq(text, mcp_str("a:b{x}")));
    assert_int_equal(scope.len, 0);
    assert_false(mcp_catalog_template(catalog, mcp_str("a:bc"), &i, &text,
                                      &scope));

    mcp_catalog_free(catalog);
    assert_int_equal(tm.live, 0);

    catalog = catalog_create(&tm, TOOL(""));
    assert_false(mcp_catalog_scoped(catalog));
    mcp_catalog_free(catalog);
}


static void
test_wrong(void **state)
{
    static const char *const  cases[] = {
        "\"\"", "\" a\"", "\"a \"", "\"a  b\"", "\"a\\\"b\"", "\"a\\\\b\"",
        "\"a\\tb\"", "\"\\u00e9\"", "[\"a\"]", "1", "null",
        "\"a\",\"x-mcp-scope\":\"b\"", "\"a offline_access\""
    };

    char            text[256], error[256];
    size_t          i;
    test_mem_t      tm;
    mcp_catalog_t  *catalog;

    (void) state;

    test_mem_init(&tm);

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), TOOL(",\"x-mcp-scope\":%s"), cases[i]);

        assert_int_equal(mcp_catalog_create(&tm.mem, test_str(text), &catalog,
                                            error, sizeof(error)),
                         MCP_ERR_CONFIG);

        if (strstr(error, "line 1: \"x-mcp-scope\"") == NULL) {
            fail_msg("%s: %s", cases[i], error);
        }
    }

    assert_int_equal(tm.live, 0);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Items of a catalog: accepted and rejected texts. */


#include "catalog_cases.h"


TEST(malformed_catalog_is_rejected_with_the_line_and_the_reason)
{
    static const struct {
        const char  *text;
        const char  *error;
    } cases[] = {

        /* the file */
        { "", "line 1: the file is empty: an empty catalog is {}" },
        { " \n\t", "line 1: the file is empty: an empty catalog is {}" },
        { "\xef\xbb\xbf{}", "line 1: the file begins with a byte order mark: "
                           "save it as UTF-8 without one" },
        { "\xff\xfe{", "line 1: the file is UTF-16: save it as UTF-8" },
        { "{\"prompts\":[{\"name\":\"a\"},\n{\"name\":\"b\",\n"
          "\"x-mcp-max-wait\":\n\"5m\"}]}",
          "line 4: \"x-mcp-max-wait\" must be a number of seconds, with "
          "three decimals at most" },
        { "{\"prompts\":[{\"name\":\"b\",\"x-mcp-resumable\":true,\n"
          "\"x-mcp-resumable\":true}]}",
          "line 2: \"x-mcp-resumable\" is duplicate" },
        { "{\"prompts\":[{\"name\":\"b\",\n\"x-mcp-cache-ttl\":1}]}",
          "line 2: \"x-mcp-cache-ttl\" is allowed only for resources and "
          "resource templates" },
        { "{\"resources\":[{\"uri\":\"b\",\"name\":\"c\",\n"
          "\"x-mcp-cache-scope\":\"all\"}]}",
          "line 2: \"x-mcp-cache-scope\" must be \"public\" or "
          "\"private\"" },
        { "{\"prompts\":[{\"name\":\"b\",\n\"x-mcp-maxwait\":\n1}]}",
          "line 3: \"x-mcp-maxwait\" is unknown" },
        { "\n\n{\"tools\":[}", "line 3: not valid JSON near column 12" },
        { "{}\n{}", "line 2: not valid JSON near column 2" },
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
        { "{\"prompts\":[\n{\"name\":\"\xc3\xa9\xe9\"}]}",
          "line 2: column 12: byte 0xe9 is not UTF-8: save the file as UTF-8, "
          "not as Latin-1" },

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
          "true}]}",
          "line 1: \"outputSchema\" must be an object" },
        { "{\"resources\":[{\"name\":\"a\",\"uri\":\"b\",\"size\":\"1\"}]}",
          "line 1: \"size\" must be a number" },

        /* names */
        { "{\"prompts\":[{\"name\":\"\"}]}",
          "line 1: \"name\" must not be empty" },
        { "{\"resources\":[{\"name\":\"a\",\"uri\":\"\"}]}",
          "line 1: \"uri\" must not be empty" },
        { "{\"tools\":[{\"name\":\"a b\"," SCHEMA "}]}",
          "line 1: a tool's name must be 1 to 128 of the characters A-Z a-z "
          "0-9 _ - ." },
        { "{\"tools\":[{\"name\":\"a\\u0000\"," SCHEMA "}]}",
          "line 1: a tool's name must be 1 to 128 of the characters A-Z a-z "
          "0-9 _ - ." },
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
    mcp_catalog_t  *catalog;

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


#define TOOL(scope)  "{\"tools\":[{\"name\":\"t\"," SCHEMA scope "}]}"


TEST(scopes_of_tools_and_templates_can_be_looked_up_and_are_not_in_lists)
{
    uint32_t        i;
    mcp_str_t       text, scope;
    mcp_catalog_t  *catalog;

    catalog = catalog_create(
            "{\"tools\":[{\"name\":\"t\",\"x-mcp-scope\":\"a b\\u0063\"," SCHEMA
            "},{\"name\":\"free\"," SCHEMA "}],\"resourceTemplates\":["
            "{\"uriTemplate\":\"a:{x}\",\"name\":\"1\",\"x-mcp-scope\":\"t1\"},"
            "{\"uriTemplate\":\"a:b{x}\",\"name\":\"2\"}]}");

    assert_true(mcp_catalog_info(catalog)->scoped);

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

    catalog = catalog_create(TOOL(""));
    assert_false(mcp_catalog_info(catalog)->scoped);
}


TEST(invalid_x_mcp_scope_is_rejected)
{
    static const char *const  cases[] = {
        "\"\"", "\" a\"", "\"a \"", "\"a  b\"", "\"a\\\"b\"", "\"a\\\\b\"",
        "\"a\\tb\"", "\"\\u00e9\"", "[\"a\"]", "1", "null",
        "\"a\",\"x-mcp-scope\":\"b\"", "\"a offline_access\""
    };

    char            text[256], error[256];
    size_t          i;
    mcp_catalog_t  *catalog;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), TOOL(",\"x-mcp-scope\":%s"), cases[i]);

        assert_int_equal(mcp_catalog_create(&tm.mem, test_str(text), &catalog,
                                            error, sizeof(error)),
                         MCP_ERR_CONFIG);

        if (strstr(error, "line 1: \"x-mcp-scope\"") == NULL) {
            fail_msg("%s: %s", cases[i], error);
        }
    }
}


RUN_TESTS(init, done)

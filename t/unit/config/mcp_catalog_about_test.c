/* SPDX-License-Identifier: Apache-2.0 */

/* The members of a catalog that describe the server, and the messages for
 * invalid ones. */


#include "catalog_cases.h"


static void
all_of_it(void **state)
{
    test_mem_t                  tm;
    mcp_catalog_t              *catalog;
    const mcp_catalog_about_t  *about;

    (void) state;

    catalog = catalog_create(&tm,
        "{\"instructions\":\"i\",\"completions\":true,\n"
        "\"extensions\":{\"com.example/a\":{},\n\"io.x-y.z9/A_b-c.d\":"
        "{\"k\": 1.0},\"a\\u002f\":{}},\n"
        "\"icons\":[{\"src\":\"data:,\",\r\n\"sizes\":[\"any\"]}],"
        "\"websiteUrl\":\"https:\\/\\/example.com\","
        "\"description\":\"d\"}");

    about = mcp_catalog_about(catalog);

    assert_int_equal(mcp_catalog_completions(catalog), 1);
    assert_str_is(mcp_catalog_instructions(catalog), "\"i\"");
    assert_str_is(mcp_catalog_extensions(catalog),
                  "{\"com.example/a\":{},\"io.x-y.z9/A_b-c.d\":"
                  "{\"k\":1.0},\"a\\u002f\":{}}");
    assert_str_is(about->icons,
                  "[{\"src\":\"data:,\",\"sizes\":[\"any\"]}]");
    assert_str_is(about->website_url, "\"https:\\/\\/example.com\"");
    assert_str_is(about->description, "\"d\"");

    mcp_catalog_free(catalog);
    assert_int_equal(tm.live, 0);
}


static void
nothing(void **state)
{
    test_mem_t                  tm;
    mcp_catalog_t              *catalog;
    const mcp_catalog_about_t  *about;

    (void) state;

    catalog = catalog_create(&tm, "{\"icons\":[],\"extensions\":{}}");
    about = mcp_catalog_about(catalog);

    assert_int_equal(mcp_catalog_completions(catalog), 0);
    assert_int_equal(mcp_catalog_instructions(catalog).len, 0);
    assert_str_is(mcp_catalog_extensions(catalog), "{}");
    assert_str_is(about->icons, "[]");
    assert_int_equal(about->website_url.len, 0);
    assert_int_equal(about->description.len, 0);

    mcp_catalog_free(catalog);
    assert_int_equal(tm.live, 0);
}


static void
mistakes_are_named(void **state)
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
    test_mem_t      tm;
    mcp_catalog_t  *catalog;

    (void) state;

    test_mem_init(&tm);

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
        assert_ptr_equal(strstr(error, "line 2: an extension's identifier must "
                                       "be like com.example/name, unlike \""),
                         error);
    }

    assert_int_equal(tm.live, 0);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(all_of_it),
        cmocka_unit_test(nothing),
        cmocka_unit_test(mistakes_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

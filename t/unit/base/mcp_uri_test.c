/* SPDX-License-Identifier: Apache-2.0 */

/* The normal form of URIs, IRIs and URI templates. */


#include "memory_cases.h"

#include "base/mcp_uri.h"


typedef struct {
    const char  *uri;
    const char  *normal;
} row_t;


static void
check(const row_t *rows, size_t n, int is_template)
{
    char       out[256], again[256];
    size_t     i, len;
    mcp_str_t  uri;

    for (i = 0; i < n; i++) {
        uri = test_str(rows[i].uri);
        len = mcp_uri_write(out, uri, is_template);
        assert_true(len <= mcp_uri_max(uri.len));
        out[len] = '\0';
        assert_string_equal(out, rows[i].normal);

        len = mcp_uri_write(again, test_str(out), is_template);
        again[len] = '\0';
        assert_string_equal(again, out);
    }
}


TEST(equivalent_spellings_of_a_uri_have_one_normal_form)
{
    static const row_t  rows[] = {
        { "", "" },
        { "file:///docs/caf\xc3\xa9.txt", "file:///docs/caf%C3%A9.txt" },
        { "file:///docs/caf%c3%a9.txt", "file:///docs/caf%C3%A9.txt" },
        { "file:///docs/caf%C3%A9.txt", "file:///docs/caf%C3%A9.txt" },
        { "file:///%64ocs/%7Euser/%41%2d%2E%5f", "file:///docs/~user/A-._" },
        { "file:///a%2fb%20c%3F", "file:///a%2Fb%20c%3F" },
        { "FILE:///Docs/A", "file:///Docs/A" },
        { "HTTP://User@EXAMPLE.com:80/A?B=C#D", "http://User@example.com:80/A?B=C#D" },
        { "http://ex%41mple%2Dx.com", "http://example-x.com" },
        { "http://a@B@C/D", "http://a@B@c/D" },
        { "http://A?B", "http://a?B" },
        { "http://M\xc3\xbcnchen/\xc3\xbc", "http://m%C3%BCnchen/%C3%BC" },
        { "URN:Example:A", "urn:Example:A" },
        { "a/B:c", "a/B:c" },
        { "Name", "Name" },
        { "x:/../%2e%2e/./y", "x:/../.././y" },
        { "x:%", "x:%25" },
        { "x:%4", "x:%254" },
        { "x:%%34%31", "x:%2541" },
        { "x:%25%34%31", "x:%2541" },
        { "x:{%41}", "x:{A}" }
    };

    check(rows, sizeof(rows) / sizeof(rows[0]), 0);
}


TEST(uri_template_is_normalized__its_expressions_stay_unchanged)
{
    static const row_t  rows[] = {
        { "FILE:///caf\xc3\xa9/{X}/%41", "file:///caf%C3%A9/{X}/A" },
        { "http://{Host}.EXAMPLE/{+P%41}", "http://{Host}.example/{+P%41}" },
        { "{scheme}://A/{x}", "{scheme}://A/{x}" },
        { "x:{open%41", "x:{open%41" }
    };

    check(rows, sizeof(rows) / sizeof(rows[0]), 1);
}


TEST(memory_runs_out__a_uri_has_no_normal_form)
{
    mcp_str_t    out;
    mcp_arena_t  arena;

    mcp_arena_init(&arena, &tm.mem);
    tm.fail_at = 1;
    assert_int_equal(mcp_uri_normal(&arena, mcp_str("x:y"), &out),
                     MCP_ERR_MEMORY);
    assert_ok(mcp_uri_normal(&arena, mcp_str("X:%79"), &out));
    assert_int_equal(out.len, 3);
    assert_memory_equal(out.data, "x:y", 3);
    mcp_arena_destroy(&arena);
}


RUN_TESTS(init, done)

/* SPDX-License-Identifier: Apache-2.0 */

/* The status page: its content without the script, and its headers. */


#include "status_cases.h"

#include "base/mcp_base64.h"
#include "base/mcp_crypto.h"
#include "store/mcp_status_internal.h"


static char  *page;


static int
teardown_page(void **state)
{
    free(page);
    page = NULL;

    return teardown(state);
}


/* Renders the status page: its content into "page", its headers into
 * "head". */
static void
show(void)
{
    free(page);
    page = render(0, "html");
}


TEST(status_page_shows_values_of_the_zone_and_loads_nothing_from_other_hosts)
{
    show();

    assert_memory_equal(page, "<!DOCTYPE html>", 15);
    assert_string_equal(page + strlen(page) - 8, "</html>\n");
    assert_non_null(strstr(page, "test/1.0, module " MCP_VERSION ", zone z<"));
    assert_non_null(strstr(page, "The zone has room"));
    assert_non_null(strstr(page, " KB in use ("));
    assert_non_null(strstr(page, "<td>Requests of revision 2026-07-28</td>"));
    assert_null(strstr(page, "<!--plain-->"));

    /* the page loads nothing from other addresses and has no inline styles */

    assert_null(strstr(page, "http:"));
    assert_null(strstr(page, "https:"));
    assert_null(strstr(page, " src="));
    assert_null(strstr(page, " style="));
    assert_null(strstr(page, "innerHTML"));
}


/* Returns the value of a header, as a C string that is valid until the next
 * call. */
static const char *
header_of(const char *name)
{
    size_t       i;
    static char  text[1024];

    for (i = 0; i < head.n_headers; i++) {
        if (mcp_str_eq(head.headers[i].name, test_str(name))) {
            assert_true(head.headers[i].value.len < sizeof(text));
            (void) snprintf(text, sizeof(text), "%.*s",
                            (int) head.headers[i].value.len,
                            head.headers[i].value.data);
            return text;
        }
    }

    fail_msg("no header %s", name);

    return NULL;
}


/* Checks that the header Content-Security-Policy contains the hash of the text
 * between two tags of the page. */
static void
check_hash(const char *policy, const char *source, const char *opening,
    const char *closing)
{
    char           expected[128], *p;
    const char    *from, *to;
    unsigned char  hash[MCP_CRYPTO_HASH_LEN];

    from = strstr(page, opening);
    assert_non_null(from);
    from += strlen(opening);
    assert_null(strstr(from, opening));

    to = strstr(from, closing);
    assert_non_null(to);

    assert_ok(mcp_crypto_hash(hash, from, (size_t) (to - from)));

    p = expected + snprintf(expected, sizeof(expected), "; %s 'sha256-",
                            source);
    p = mcp_base64_encode(p, hash, sizeof(hash));
    memcpy(p, "';", 3);

    assert_non_null(strstr(policy, expected));
}


TEST(csp_header_of_the_status_page_allows_only_its_inline_script_and_style)
{
    size_t       i;
    const char  *text;
    static const char  *const parts[] = {
        "default-src 'none';", "connect-src 'self';", "base-uri 'none';",
        "form-action 'none';", "frame-ancestors 'none';",
        "require-trusted-types-for 'script'"
    };

    show();

    assert_str_is(head.content_type, "text/html; charset=utf-8");

    text = header_of("Content-Security-Policy");

    for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        assert_non_null(strstr(text, parts[i]));
    }

    assert_null(strstr(text, "unsafe"));
    check_hash(text, "style-src", "<style>", "</style>");
    check_hash(text, "script-src", "<script>", "</script>");

    assert_string_equal(header_of("X-Content-Type-Options"), "nosniff");
    assert_string_equal(header_of("Referrer-Policy"), "no-referrer");
    assert_string_equal(header_of("Cache-Control"), "no-store");
}


TEST(buffer_is_too_small_or_memory_runs_out__rendering_the_status_page_fails)
{
    mcp_buf_t  buf;

    query.format = mcp_str("html");
    mcp_buf_init(&buf, &d.tm.mem, 15000);
    assert_int_equal(mcp_status_render(&d.store[0], &query, &buf, &head),
                     MCP_ERR_LIMIT);
    mcp_buf_free(&buf);

    mcp_buf_init(&buf, &d.tm.mem, 1024 * 1024);
    d.tm.fail_at = 1;
    assert_int_equal(mcp_status_render(&d.store[0], &query, &buf, &head),
                     MCP_ERR_MEMORY);
    mcp_buf_free(&buf);
}


TEST(status_page_shows_zone_usage_as_text_and_in_bytes_and_in_percent)
{
    size_t              i;
    mcp_buf_t           buf;
    mcp_status_t        status;

    static const struct {
        uint64_t     size;
        uint64_t     used;
        const char  *words;
        const char  *share;
    } cases[] = {
        { 0, 0, "has room", "0 bytes of 0 bytes in use (0 %)" },
        { 65536, 10239, "has room", "10239 bytes of 64 KB in use (15 %)" },
        { 64 << 20, 47 << 20, "has room", "47 MB of 64 MB in use (73 %)" },
        { 64 << 20, 48 << 20, "is filling up", "48 MB of 64 MB in use (75 %)" },
        { 64 << 20, 58 << 20, "is nearly full",
          "58 MB of 64 MB in use (90 %)" },
        { 1ULL << 44, 1ULL << 44, "is nearly full",
          "16384 GB of 16384 GB in use (100 %)" }
    };

    memset(&status, 0, sizeof(status));
    status.query = &query;
    status.store = &d.store[0];

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        status.stats.size = cases[i].size;
        status.stats.used = cases[i].used;

        mcp_buf_init(&buf, &d.tm.mem, 1024 * 1024);
        mcp_status_html(&status, &buf);
        assert_ok(buf.failed);
        mcp_buf_add(&buf, "", 1);

        assert_non_null(strstr(buf.data, cases[i].words));
        assert_non_null(strstr(buf.data, cases[i].share));

        mcp_buf_free(&buf);
    }
}


RUN_TESTS(setup, teardown_page)

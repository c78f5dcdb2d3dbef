/* SPDX-License-Identifier: Apache-2.0 */

/* The status page: its content without the script, and its headers. */


#include "store_driver.h"

#include "base/mcp_base64.h"
#include "base/mcp_crypto.h"
#include "mcp_status.h"
#include "mcp_version.h"
#include "rpc/mcp_reason.h"
#include "store/mcp_status_internal.h"


static store_driver_t     d;
static char              *page;
static mcp_status_head_t  head;


static int
setup(void **state)
{
    (void) state;

    store_open(&d, 1024 * 1024, 2);
    page = NULL;

    return 0;
}


static int
teardown(void **state)
{
    (void) state;

    free(page);
    store_close(&d);

    return 0;
}


static int
render(mcp_buf_t *buf)
{
    mcp_status_query_t  query;

    memset(&query, 0, sizeof(mcp_status_query_t));

    query.format = mcp_str("html");
    query.server = mcp_str("test/1.0");
    query.zone = mcp_str("z");

    return mcp_status_render(&d.store[0], &query, buf, &head);
}


/* Renders the status page: its content into "page", its headers into
 * "head". */
static void
show(void)
{
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &d.tm.mem, 1024 * 1024);

    assert_int_equal(render(&buf), MCP_OK);

    free(page);
    page = calloc(1, buf.len + 1);
    assert_non_null(page);
    memcpy(page, buf.data, buf.len);

    mcp_buf_free(&buf);
}


static uint32_t
row_of(mcp_call_stats_kind_e kind, const char *name)
{
    uint32_t               row;
    mcp_call_stats_item_t  item;

    item.catalog_key = (const unsigned char *) "sixteen bytes ..";
    item.endpoint = mcp_str("localhost/mcp");
    item.kind = kind;
    item.name = test_str(name);

    assert_int_equal(mcp_store_call_stats_row(&d.store[0], &item, &row),
                     MCP_OK);

    return row;
}


static void
test_page(void **state)
{
    (void) state;

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


static void
test_tools(void **state)
{
    uint32_t                  row;
    mcp_call_stats_failure_t  failure;

    (void) state;

    (void) row_of(MCP_CALL_STATS_KIND_OTHER, "");
    row = row_of(MCP_CALL_STATS_KIND_TOOL, "<img src=x onerror=alert(1)>&amp;");

    mcp_store_call_stats_count(&d.store[0], row, MCP_OUTCOME_OK, 40);
    mcp_store_call_stats_count(&d.store[1], row, MCP_OUTCOME_FAULT, 2500);

    memset(&failure, 0, sizeof(failure));
    failure.at = 77;
    failure.row = row;
    failure.result = MCP_OUTCOME_FAULT;
    failure.reason = MCP_REASON_BACKEND_TIMEOUT;
    mcp_store_call_stats_failed(&d.store[0], &failure);

    show();

    assert_null(strstr(page, "<img"));
    assert_non_null(strstr(page,
        "<tr><td>&lt;img src=x onerror=alert(1)&gt;&amp;amp;</td>"
        "<td>tool</td><td>localhost/mcp</td><td class=\"n\">0</td>"
        "<td class=\"n\">1</td>"));
    assert_non_null(strstr(page,
        "<td>The backend did not answer in time</td></tr>"));
}


/* Returns the value of a header as a C string that the caller frees. */
static char *
header_of(const char *name)
{
    char    *text;
    size_t   i;

    for (i = 0; i < head.n_headers; i++) {
        if (mcp_str_eq(head.headers[i].name, test_str(name))) {
            text = calloc(1, head.headers[i].value.len + 1);
            assert_non_null(text);
            memcpy(text, head.headers[i].value.data,
                   head.headers[i].value.len);

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

    assert_int_equal(mcp_crypto_hash(hash, from, (size_t) (to - from)),
                     MCP_OK);

    p = expected + snprintf(expected, sizeof(expected), "; %s 'sha256-",
                            source);
    p = mcp_base64_encode(p, hash, sizeof(hash));
    memcpy(p, "';", 3);

    assert_non_null(strstr(policy, expected));
}


static void
test_headers(void **state)
{
    size_t       i;
    char        *text;

    static const char  *const parts[] = {
        "default-src 'none';", "connect-src 'self';", "base-uri 'none';",
        "form-action 'none';", "frame-ancestors 'none';",
        "require-trusted-types-for 'script'"
    };

    (void) state;

    show();

    assert_str_is(head.content_type, "text/html; charset=utf-8");

    text = header_of("Content-Security-Policy");

    for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        assert_non_null(strstr(text, parts[i]));
    }

    assert_null(strstr(text, "unsafe"));
    check_hash(text, "style-src", "<style>", "</style>");
    check_hash(text, "script-src", "<script>", "</script>");
    free(text);

    text = header_of("X-Content-Type-Options");
    assert_string_equal(text, "nosniff");
    free(text);

    text = header_of("Referrer-Policy");
    assert_string_equal(text, "no-referrer");
    free(text);

    text = header_of("Cache-Control");
    assert_string_equal(text, "no-store");
    free(text);
}


static void
test_limit(void **state)
{
    mcp_buf_t  buf;

    (void) state;

    mcp_buf_init(&buf, &d.tm.mem, 15000);
    assert_int_equal(render(&buf), MCP_ERR_LIMIT);
    mcp_buf_free(&buf);

    mcp_buf_init(&buf, &d.tm.mem, 1024 * 1024);
    d.tm.fail_at = 1;
    assert_int_equal(render(&buf), MCP_ERR_MEMORY);
    mcp_buf_free(&buf);
}


static void
test_zone(void **state)
{
    size_t              i;
    mcp_buf_t           buf;
    mcp_status_t        status;
    mcp_status_query_t  query;

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

    (void) state;

    memset(&query, 0, sizeof(query));
    memset(&status, 0, sizeof(status));
    status.query = &query;
    status.store = &d.store[0];

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        status.stats.size = cases[i].size;
        status.stats.used = cases[i].used;

        mcp_buf_init(&buf, &d.tm.mem, 1024 * 1024);
        mcp_status_html(&status, &buf);
        assert_int_equal(buf.failed, MCP_OK);
        mcp_buf_add(&buf, "", 1);

        assert_non_null(strstr(buf.data, cases[i].words));
        assert_non_null(strstr(buf.data, cases[i].share));

        mcp_buf_free(&buf);
    }
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test_setup_teardown(test_page, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tools, setup, teardown),
        cmocka_unit_test_setup_teardown(test_headers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_zone, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* The status in all its formats. */


#include "store_driver.h"

#include "mcp_status.h"


static store_driver_t  d;


static int
setup(void **state)
{
    (void) state;

    store_open(&d, 1024 * 1024, 2);

    return 0;
}


static int
teardown(void **state)
{
    (void) state;

    store_close(&d);

    return 0;
}


static int
query(const char *format, mcp_buf_t *buf, mcp_status_head_t *head)
{
    mcp_status_query_t  query;

    memset(&query, 0, sizeof(mcp_status_query_t));

    query.format = test_str(format);
    query.server = mcp_str("test/1.0");
    query.zone = mcp_str("z");

    return mcp_status_render(&d.store[0], &query, buf, head);
}


static void
test_errors(void **state)
{
    mcp_buf_t          buf;
    mcp_status_head_t  head;

    (void) state;

    mcp_buf_init(&buf, &d.tm.mem, 65536);

    assert_int_equal(query("xml", &buf, &head),
                     MCP_ERR_NOT_FOUND);

    d.tm.fail_at = 1;

    assert_int_equal(query("json", &buf, &head),
                     MCP_ERR_MEMORY);

    mcp_buf_free(&buf);

    mcp_buf_init(&buf, &d.tm.mem, 100);

    assert_int_equal(query("html", &buf, &head),
                     MCP_ERR_LIMIT);

    mcp_buf_free(&buf);
}


static void
test_format(void **state)
{
    size_t  i;

    static const struct {
        const char  *accept;
        const char  *format;
    } cases[] = {
        { "", "json" },
        { "*/*", "json" },
        { "application/json", "json" },
        { "text/html,application/xhtml+xml,*/*;q=0.8", "html" },
        { "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", "prometheus" },
        { "application/openmetrics-text;version=1.0.0,*/*", "prometheus" }
    };

    (void) state;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_str_is(mcp_status_format(test_str(cases[i].accept)),
                      cases[i].format);
    }
}


/* The summary has all gauges of the store, in one line. */
static void
test_summary(void **state)
{
    char                expected[512];
    mcp_buf_t           buf;
    mcp_status_head_t   head;
    mcp_store_stats_t   stats;

    (void) state;

    mcp_store_count(&d.store[0], MCP_COUNT_CALLS_ACTIVE, 3);
    mcp_store_stats(&d.store[0], &stats);
    mcp_buf_init(&buf, &d.tm.mem, 65536);

    assert_int_equal(query("summary", &buf, &head), MCP_OK);
    assert_str_is(head.content_type, "text/plain; charset=utf-8");

    snprintf(expected, sizeof(expected),
             "Backend calls running now: 3, "
             "Event stream connections open now: 0, Size of the zone: %llu, "
             "Bytes of the zone in use: %llu, Streams kept: 0, "
             "Streams of listening sessions: 0, Values kept, such as ended "
             "sessions and log levels: 0, Subscriptions to resources: 0",
             (unsigned long long) stats.size, (unsigned long long) stats.used);
    assert_str_is(((mcp_str_t) { buf.data, buf.len }), expected);

    mcp_buf_free(&buf);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_format, setup, teardown),
        cmocka_unit_test_setup_teardown(test_summary, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

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


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_format, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

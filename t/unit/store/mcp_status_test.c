/* SPDX-License-Identifier: Apache-2.0 */

/* What the status page says, in all its formats. */


#include "store_driver.h"

#include "mcp_status.h"
#include "mcp_version.h"


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
ask(const char *format, mcp_buf_t *buf, mcp_str_t *type)
{
    mcp_status_ask_t  ask;

    memset(&ask, 0, sizeof(mcp_status_ask_t));

    ask.format = test_str(format);
    ask.server = mcp_str("test/1.0");
    ask.zone = mcp_str("z");

    return mcp_status_render(&d.store[0], &ask, buf, type);
}


/* The page as a C string, to be freed. */
static char *
render(const char *format, const char *type)
{
    char       *text;
    mcp_buf_t   buf;
    mcp_str_t   content_type;

    mcp_buf_init(&buf, &d.tm.mem, 65536);

    assert_int_equal(ask(format, &buf, &content_type), MCP_OK);
    assert_str_is(content_type, type);

    text = calloc(1, buf.len + 1);
    assert_non_null(text);
    memcpy(text, buf.data, buf.len);

    mcp_buf_free(&buf);

    return text;
}


static void
test_html(void **state)
{
    char  *text;

    (void) state;

    text = render("html", "text/html; charset=utf-8");

    assert_memory_equal(text, "<!DOCTYPE html>", 15);
    assert_non_null(strstr(text, "</html>\n"));
    assert_non_null(strstr(text, "Version " MCP_VERSION));
    assert_non_null(strstr(text, "<td>Requests of revision 2026-07-28</td>"));

    /* needs nothing from elsewhere */

    assert_null(strstr(text, "http:"));
    assert_null(strstr(text, "https:"));
    assert_null(strstr(text, "<script"));

    free(text);
}


static void
test_errors(void **state)
{
    mcp_buf_t  buf;
    mcp_str_t  type;

    (void) state;

    mcp_buf_init(&buf, &d.tm.mem, 65536);

    assert_int_equal(ask("xml", &buf, &type),
                     MCP_ERR_NOT_FOUND);

    d.tm.fail_at = 1;

    assert_int_equal(ask("json", &buf, &type),
                     MCP_ERR_MEMORY);

    mcp_buf_free(&buf);

    mcp_buf_init(&buf, &d.tm.mem, 100);

    assert_int_equal(ask("html", &buf, &type),
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
        cmocka_unit_test_setup_teardown(test_html, setup, teardown),
        cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_format, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

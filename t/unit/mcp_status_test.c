
/* The state of a store as JSON, for Prometheus, for people. */

#include "core_cases.h"

#include "../../shared/mcp_json.h"
#include "../../shared/mcp_status.h"


static char  text[65536];


static int
render(const char *format, mcp_str_t *type)
{
    int        rc;
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &d.te.env.mem, sizeof(text));
    rc = mcp_status_render(&d.process[1].store, test_str(format), &buf, type);

    if (rc == MCP_OK) {
        assert_true(buf.len < sizeof(text));
        memcpy(text, buf.data, buf.len);
        text[buf.len] = '\0';
    }

    mcp_buf_free(&buf);

    return rc;
}


/* Some of everything, so that the numbers differ. */
static void
do_something(void)
{
    int  i;

    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 1500);
    client_resume(&d, 1, &b, session, NULL);

    for (i = 0; i < 5; i++) {
        client_close(&d, &b);
        client_resume(&d, 1, &b, session, NULL);
    }
}


static void
undo(void)
{
    backend_json(&d, RESULT);
    client_close(&d, &a);
    client_close(&d, &b);
    quiet();
}


static void
test_json(void **state)
{
    size_t             n;
    char               part[128];
    mcp_str_t          type;
    mcp_json_iter_t    iter;
    mcp_json_value_t   value;
    mcp_store_stats_t  s;

    (void) state;

    do_something();
    assert_int_equal(render("json", &type), MCP_OK);
    assert_str_is(type, "application/json");
    s = stats();

    has(text, "\"calls_live\":1,");
    has(text, "\"calls\":1,");
    has(text, "\"consumers_live\":2,");
    has(text, "\"streams\":2,");
    has(text, "\"listeners\":1,");
    has(text, "\"sessions\":1,");
    snprintf(part, sizeof(part), "\"requests\":%lld,",
             (long long) s.counter[MCP_COUNT_REQUESTS]);
    has(text, part);
    snprintf(part, sizeof(part), "\"zone_size_bytes\":%llu,",
             (unsigned long long) s.size);
    has(text, part);
    snprintf(part, sizeof(part), "\"zone_used_bytes\":%llu,",
             (unsigned long long) s.used);
    has(text, part);

    /* every counter and every gauge is there, all numbers */

    n = 0;
    mcp_json_iter_init(&iter, test_str(text));

    while (mcp_json_iter_next(&iter, NULL, &value)) {
        assert_int_equal(value.type, MCP_JSON_NUMBER);
        n++;
    }

    assert_int_equal(n, MCP_COUNT_MAX + 6);
    undo();
}


static void
test_prometheus(void **state)
{
    char        *p, *end, name[128];
    unsigned     rows;
    mcp_str_t    type;

    (void) state;

    do_something();
    assert_int_equal(render("prometheus", &type), MCP_OK);
    assert_str_is(type, "text/plain; version=0.0.4; charset=utf-8");

    has(text, "\n# TYPE mcp_calls_live gauge\nmcp_calls_live 1\n");
    has(text, "\n# TYPE mcp_calls_total counter\nmcp_calls_total 1\n");
    has(text, "\nmcp_consumers_live 2\n");

    /* three lines each: help, type, value of the same name */

    rows = 0;

    for (p = text; *p; p = end + 1) {
        assert_int_equal(sscanf(p, "# HELP %100s ", name), 1);
        end = strchr(p, '\n');
        p = end + 1;
        assert_memory_equal(p, "# TYPE ", 7);
        assert_memory_equal(p + 7, name, strlen(name));
        assert_int_equal(p[7 + strlen(name)], ' ');
        end = strchr(p, '\n');
        p = end + 1;
        assert_memory_equal(p, name, strlen(name));
        assert_int_equal(p[strlen(name)], ' ');
        end = strchr(p, '\n');
        assert_non_null(end);
        rows++;
    }

    assert_int_equal(rows, MCP_COUNT_MAX + 6);
    undo();
}


static void
test_html(void **state)
{
    mcp_str_t  type;

    (void) state;

    do_something();
    assert_int_equal(render("html", &type), MCP_OK);
    assert_str_is(type, "text/html; charset=utf-8");
    assert_memory_equal(text, "<!DOCTYPE html>\n", 16);
    assert_int_equal(count(text, "<tr"), MCP_COUNT_MAX + 6);
    assert_int_equal(count(text, "</tr>"), MCP_COUNT_MAX + 6);
    has(text, "<tr class=\"gauge\"><td>Backend calls running now</td>"
              "<td>1</td></tr>");
    undo();
}


static void
test_unknown(void **state)
{
    mcp_str_t  type;

    static const char *const  unknown[] = { "", "xml", "JSON", "jso" };

    size_t  i;

    (void) state;

    for (i = 0; i < ITEMS(unknown); i++) {
        assert_int_equal(render(unknown[i], &type), MCP_ERR_NOT_FOUND);
    }
}


static void
test_limits(void **state)
{
    mcp_buf_t  buf;
    mcp_str_t  type;

    static const char *const  formats[] = { "json", "prometheus", "html" };

    size_t  i;

    (void) state;

    for (i = 0; i < ITEMS(formats); i++) {
        mcp_buf_init(&buf, &d.te.env.mem, 100);
        assert_int_equal(mcp_status_render(&d.process[0].store,
                                           test_str(formats[i]), &buf, &type),
                         MCP_ERR_LIMIT);
        mcp_buf_free(&buf);

        d.te.tm.fail_at = 1;
        assert_int_equal(render(formats[i], &type), MCP_ERR_MEMORY);
        d.te.tm.fail_at = 0;
    }
}


static void
test_format(void **state)
{
    static const struct {
        const char  *accept;
        const char  *format;
    } cases[] = {
        { "", "json" },
        { "*/*", "json" },
        { "application/json", "json" },
        { "text/html,application/xhtml+xml,*/*;q=0.8", "html" },
        { "application/openmetrics-text;version=1.0.0,"
          "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", "prometheus" },
        { "text/plain", "prometheus" },
        { "text/htm", "json" }
    };

    size_t  i;

    (void) state;

    for (i = 0; i < ITEMS(cases); i++) {
        assert_str_is(mcp_status_format(test_str(cases[i].accept)),
                      cases[i].format);
    }
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        test(test_json),
        test(test_prometheus),
        test(test_html),
        test(test_unknown),
        test(test_limits),
        test(test_format)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

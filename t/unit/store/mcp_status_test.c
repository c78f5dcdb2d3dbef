/* SPDX-License-Identifier: Apache-2.0 */

/* What the status page says, in all its formats. */


#include "store_driver.h"

#include "json/mcp_json.h"
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


/* The page as a C string, to be freed. */
static char *
render(const char *format, const char *type)
{
    char       *text;
    mcp_buf_t   buf;
    mcp_str_t   content_type;

    mcp_buf_init(&buf, &d.tm.mem, 65536);

    assert_int_equal(mcp_status_render(&d.store[0], test_str(format), &buf,
                                       &content_type),
                     MCP_OK);
    assert_str_is(content_type, type);

    text = calloc(1, buf.len + 1);
    assert_non_null(text);
    memcpy(text, buf.data, buf.len);

    mcp_buf_free(&buf);

    return text;
}


static void
test_json(void **state)
{
    char              *text;
    size_t             n;
    mcp_str_t          key;
    mcp_arena_t        arena;
    mcp_json_iter_t    iter;
    mcp_json_value_t   root, value;

    (void) state;

    mcp_store_count(&d.store[0], MCP_COUNT_REQUESTS, 7);
    mcp_store_count(&d.store[1], MCP_COUNT_REQUESTS, 1);
    mcp_store_count(&d.store[1], MCP_COUNT_CALLS_LIVE, 3);
    mcp_store_count(&d.store[0],
                    MCP_COUNT_REVISION + MCP_REVISION_2025_11_25, 2);

    text = render("json", "application/json");

    mcp_arena_init(&arena, &d.tm.mem);

    assert_int_equal(mcp_json_scan(&arena, test_str(text), 4, NULL, 0, &root,
                                   NULL, NULL),
                     MCP_OK);

    mcp_json_iter_init(&iter, root.raw);

    assert_true(mcp_json_iter_next(&iter, &key, &value));
    assert_str_is(key, "\"version\"");
    assert_str_is(value.raw, "\"" MCP_VERSION "\"");

    for (n = 0; mcp_json_iter_next(&iter, &key, &value)
                && value.type == MCP_JSON_NUMBER; n++)
    {
        /* void */
    }

    /* a row for every counter, and six of the zone; then the revisions */

    assert_int_equal(n, MCP_COUNT_REVISION + 6);
    assert_str_is(key, "\"revisions\"");
    assert_str_is(value.raw, "{\"2025-03-26\":0,\"2025-06-18\":0,"
                             "\"2025-11-25\":2,\"2026-07-28\":0}");
    assert_false(mcp_json_iter_next(&iter, &key, &value));

    assert_non_null(strstr(text, "\"requests\":8,"));
    assert_non_null(strstr(text, "\"calls_live\":3,"));
    assert_non_null(strstr(text, "\"streams\":0,"));

    mcp_arena_destroy(&arena);
    free(text);
}


/* Every sample follows its own HELP and TYPE; counters end in _total. */
static void
test_prometheus(void **state)
{
    char    *text, *line, *rest, name[64], other[64], type[16];
    size_t   n;
    long     value;

    (void) state;

    text = render("prometheus", "text/plain; version=0.0.4; charset=utf-8");

    n = 0;

    for (line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest))
    {
        assert_int_equal(sscanf(line, "# HELP %63s ", name), 1);
        assert_memory_equal(name, "mcp_", 4);

        line = strtok_r(NULL, "\n", &rest);
        assert_int_equal(sscanf(line, "# TYPE %63s %15s", other, type), 2);
        assert_string_equal(other, name);

        if (strcmp(type, "counter") == 0) {
            assert_string_equal(name + strlen(name) - 6, "_total");

        } else {
            assert_string_equal(type, "gauge");
            assert_null(strstr(name, "_total"));
        }

        line = strtok_r(NULL, "\n", &rest);

        if (strcmp(name, "mcp_build_info") == 0) {
            assert_string_equal(line, "mcp_build_info{version=\"" MCP_VERSION
                                      "\"} 1");
            continue;
        }

        if (strcmp(name, "mcp_revision_requests_total") == 0) {
            assert_string_equal(line, "mcp_revision_requests_total{"
                                      "revision=\"2025-03-26\","
                                      "era=\"sessions\"} 0");
            break;
        }

        assert_int_equal(sscanf(line, "%63s %ld", other, &value), 2);
        assert_string_equal(other, name);

        n++;
    }

    assert_int_equal(n, MCP_COUNT_REVISION + 6);
    assert_string_equal(rest, "mcp_revision_requests_total{"
                              "revision=\"2025-06-18\",era=\"sessions\"} 0\n"
                              "mcp_revision_requests_total{"
                              "revision=\"2025-11-25\",era=\"sessions\"} 0\n"
                              "mcp_revision_requests_total{"
                              "revision=\"2026-07-28\",era=\"stateless\"} "
                              "0\n");

    free(text);
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

    assert_int_equal(mcp_status_render(&d.store[0], test_str("xml"), &buf,
                                       &type),
                     MCP_ERR_NOT_FOUND);

    d.tm.fail_at = 1;

    assert_int_equal(mcp_status_render(&d.store[0], test_str("json"), &buf,
                                       &type),
                     MCP_ERR_MEMORY);

    mcp_buf_free(&buf);

    mcp_buf_init(&buf, &d.tm.mem, 100);

    assert_int_equal(mcp_status_render(&d.store[0], test_str("html"), &buf,
                                       &type),
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
        cmocka_unit_test_setup_teardown(test_json, setup, teardown),
        cmocka_unit_test_setup_teardown(test_prometheus, setup, teardown),
        cmocka_unit_test_setup_teardown(test_html, setup, teardown),
        cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_format, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

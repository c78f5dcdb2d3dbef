/* SPDX-License-Identifier: Apache-2.0 */

/* The status as metrics in Prometheus format. */


#include "store_driver.h"

#include "mcp_status.h"
#include "mcp_version.h"
#include "rpc/mcp_reason.h"
#include "store/mcp_store_call_stats.h"


static store_driver_t  d;
static uint32_t        echo;


/* Opens a zone with two processes and the statistics of one called tool. */
static int
setup(void **state)
{
    uint32_t                  other;
    mcp_active_t              live;
    mcp_call_stats_item_t     item;
    mcp_call_stats_failure_t  failure;

    (void) state;

    store_open(&d, 1024 * 1024, 2);

    item.catalog_key = (const unsigned char *) "sixteen bytes ..";
    item.endpoint = mcp_str("localhost/mcp");
    item.kind = MCP_CALL_STATS_KIND_OTHER;
    item.name = mcp_null_str;
    assert_int_equal(mcp_store_call_stats_row(&d.store[0], &item, &other),
                     MCP_OK);

    item.kind = MCP_CALL_STATS_KIND_TOOL;
    item.name = mcp_str("e\\c\"ho");
    assert_int_equal(mcp_store_call_stats_row(&d.store[0], &item, &echo),
                     MCP_OK);

    mcp_store_call_stats_count(&d.store[0], echo, MCP_OUTCOME_OK, 40);
    mcp_store_call_stats_count(&d.store[1], echo, MCP_OUTCOME_FAULT, 2500);

    memset(&failure, 0, sizeof(failure));
    failure.at = 77;
    failure.row = echo;
    failure.result = MCP_OUTCOME_FAULT;
    failure.reason = MCP_REASON_BACKEND_TIMEOUT;
    mcp_call_stats_copy(failure.principal, mcp_str("alice"));
    mcp_store_call_stats_failed(&d.store[0], &failure);
    failure.result = MCP_CALL_STATS_REFUSED;
    failure.reason = MCP_REASON_QUOTA;
    mcp_store_call_stats_failed(&d.store[0], &failure);

    memset(&live, 0, sizeof(live));
    live.row = echo;
    live.began = 100;
    mcp_call_stats_copy(live.principal, mcp_str("bob"));
    (void) mcp_store_active_begin(&d.store[1], &live);

    mcp_store_count(&d.store[0], MCP_COUNT_REJECTED_LIMIT, 2);

    return 0;
}


static int
teardown(void **state)
{
    (void) state;

    store_close(&d);

    return 0;
}


/* Returns the status as a C string that the caller frees. */
static char *
render(const char *format, const char *type, unsigned details)
{
    char               *text;
    mcp_buf_t           buf;
    mcp_status_query_t  query;
    mcp_status_head_t   head;

    memset(&query, 0, sizeof(mcp_status_query_t));

    query.format = test_str(format);
    query.server = mcp_str("test/1.0");
    query.zone = mcp_str("z");
    query.now = 1500;
    query.details = details & 1;

    mcp_buf_init(&buf, &d.tm.mem, 65536);

    assert_int_equal(mcp_status_render(&d.store[0], &query, &buf, &head),
                     MCP_OK);
    assert_str_is(head.content_type, type);
    assert_int_equal(head.n_headers, 0);

    text = calloc(1, buf.len + 1);
    assert_non_null(text);
    memcpy(text, buf.data, buf.len);

    mcp_buf_free(&buf);

    return text;
}


#define LABELS  "{zone=\"z\",endpoint=\"localhost/mcp\",kind=\"tool\"," \
                "tool=\"e\\\\c\\\"ho\""

#define OTHER  "{zone=\"z\",endpoint=\"localhost/mcp\","                      \
               "kind=\"other\",tool=\"(other)\""


static void
rest_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("no: %s", part);
    }
}


/* Checks that "line" and the next four lines of *rest are the five samples of
 * mcp_requests_refused_total. */
static void
test_refused(const char *line, char **rest)
{
    size_t  i;
    char    expected[128];

    static const char *const  reasons[] = {
        "zone_full", "limit", "header_mismatch", "unsupported_version",
        "request_state"
    };

    for (i = 0; i < 5; i++) {
        (void) snprintf(expected, sizeof(expected),
                        "mcp_requests_refused_total{zone=\"z\","
                        "reason=\"%s\"} %d", reasons[i], i == 1 ? 2 : 0);
        assert_string_equal(line, expected);

        if (i < 4) {
            line = strtok_r(NULL, "\n", rest);
        }
    }
}


/* Every sample follows the HELP and TYPE lines of its metric; names of
 * counters end in _total. */
static void
test_prometheus(void **state)
{
    char    *text, *line, *rest, name[64], other[64], type[16];
    size_t   n;
    long     value;

    (void) state;

    text = render("prometheus", "text/plain; version=0.0.4; charset=utf-8", 0);

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
            assert_string_equal(line, "mcp_build_info{zone=\"z\","
                                      "version=\"" MCP_VERSION "\"} 1");
            continue;
        }

        if (strcmp(name, "mcp_requests_refused_total") == 0) {
            test_refused(line, &rest);
            continue;
        }

        if (strcmp(name, "mcp_revision_requests_total") == 0) {
            assert_string_equal(line, "mcp_revision_requests_total{zone=\"z\","
                                      "revision=\"2025-03-26\","
                                      "era=\"sessions\"} 0");
            break;
        }

        assert_int_equal(sscanf(line, "%63[^{]{zone=\"z\"} %ld", other,
                                &value), 2);
        assert_string_equal(other, name);

        n++;
    }

    assert_int_equal(n, MCP_COUNT_REVISION + 6 - 5);
    rest_has(rest, "mcp_revision_requests_total{zone=\"z\","
                   "revision=\"2025-06-18\",era=\"sessions\"} 0\n"
                   "mcp_revision_requests_total{zone=\"z\","
                   "revision=\"2025-11-25\",era=\"sessions\"} 0\n"
                   "mcp_revision_requests_total{zone=\"z\","
                   "revision=\"2026-07-28\",era=\"stateless\"} 0\n"
                   "# HELP mcp_tool_calls_total ");
    rest_has(rest, "\nmcp_tool_calls_total" LABELS ",result=\"ok\"} 1\n"
                   "mcp_tool_calls_total" LABELS ",result=\"fault\"} 1\n");
    rest_has(rest, "\nmcp_tool_calls_total" OTHER ",result=\"ok\"} 0\n");
    rest_has(rest, "\nmcp_tool_calls_active" LABELS "} 1\n");
    rest_has(rest, "\nmcp_tool_call_duration_seconds_bucket" LABELS
                   ",le=\"0.02\"} 0\n"
                   "mcp_tool_call_duration_seconds_bucket" LABELS
                   ",le=\"0.05\"} 1\n");
    rest_has(rest, "\nmcp_tool_call_duration_seconds_bucket" LABELS
                   ",le=\"+Inf\"} 2\n"
                   "mcp_tool_call_duration_seconds_sum" LABELS "} 2.54\n"
                   "mcp_tool_call_duration_seconds_count" LABELS "} 2\n");
    assert_null(strstr(rest, "mcp_tool_call_duration_seconds_count" OTHER));

    free(text);
}




int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test_setup_teardown(test_prometheus, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

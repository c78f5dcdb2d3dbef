/* SPDX-License-Identifier: Apache-2.0 */

/* The status in all its formats. mcp_status_bytes_test.c compares each byte
 * of three states. */


#include "status_cases.h"

#include "json/mcp_json_scan.h"
#include "store/mcp_store_replication.h"


static int
respond(const char *format, mcp_buf_t *buf)
{
    query.format = test_str(format);

    return mcp_status_render(&d.store[0], &query, buf, &head);
}


TEST(status_format_is_unknown_or_memory_runs_out__an_error_is_returned)
{
    mcp_buf_t          buf;

    mcp_buf_init(&buf, &d.tm.mem, 65536);

    assert_int_equal(respond("xml", &buf), MCP_ERR_NOT_FOUND);

    d.tm.fail_at = 1;

    assert_int_equal(respond("json", &buf), MCP_ERR_MEMORY);

    mcp_buf_free(&buf);

    mcp_buf_init(&buf, &d.tm.mem, 100);

    assert_int_equal(respond("html", &buf), MCP_ERR_LIMIT);

    mcp_buf_free(&buf);
}


TEST(accept_header_selects_the_format_of_the_status)
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

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_str_is(mcp_status_format(test_str(cases[i].accept)),
                      cases[i].format);
    }
}


/* The summary has all gauges of the store, in one line. */
TEST(status_in_format_summary_has_all_gauges_of_the_store_in_one_line)
{
    char                expected[512];
    mcp_buf_t           buf;
    mcp_store_stats_t   stats;

    mcp_store_count(&d.store[0], MCP_COUNT_CALLS_ACTIVE, 3);
    mcp_store_stats(&d.store[0], &stats);
    mcp_buf_init(&buf, &d.tm.mem, 65536);

    assert_ok(respond("summary", &buf));
    assert_str_is(head.content_type, "text/plain; charset=utf-8");

    snprintf(expected, sizeof(expected),
             "Backend calls running now: 3, "
             "Event stream connections open now: 0, Size of the zone: %llu, "
             "Bytes of the zone in use: %llu, Streams stored in the zone: 0, "
             "Streams of listening sessions and of subscriptions/listen: 0, "
             "Stored values, such as ended sessions and log levels: 0, "
             "Subscriptions to resources: 0",
             (unsigned long long) stats.size, (unsigned long long) stats.used);
    assert_str_is(((mcp_str_t) { buf.data, buf.len }), expected);

    mcp_buf_free(&buf);
}


TEST(status_in_json_is_valid_and_has_counters_summed_over_all_processes)
{
    char              *text;
    mcp_arena_t        arena;
    mcp_json_value_t   root;

    (void) called("e\\c\"ho", "alice");
    mcp_store_count(&d.store[0], MCP_COUNT_REQUESTS, 7);
    mcp_store_count(&d.store[1], MCP_COUNT_REQUESTS, 1);
    mcp_store_count(&d.store[1], MCP_COUNT_CALLS_ACTIVE, 3);

    text = render(0, "json");
    assert_str_is(head.content_type, "application/json");
    assert_int_equal(head.n_headers, 0);
    mcp_arena_init(&arena, &d.tm.mem);
    assert_ok(mcp_json_scan(&arena, test_str(text), 8, NULL, 0, &root, NULL,
                            NULL));
    assert_non_null(strstr(text, "\"requests\":8,"));
    assert_non_null(strstr(text, "\"calls_active\":3,"));
    mcp_arena_destroy(&arena);
    free(text);
}


/* More calls than one page has: "next" is the cursor of the second page. */
TEST(active_requests_exceed_one_status_page__its_cursor_leads_to_the_next_page)
{
    char          *text;
    unsigned       i;
    mcp_active_t   active;

    runs(called("echo", "alice"), "alice", "bob");
    memset(&active, 0, sizeof(active));

    for (i = 0; i < MCP_CALL_STATS_PAGE; i++) {
        active.request = i;
        (void) mcp_store_active_begin(&d.store[1], &active);
    }

    text = render(0, "json");
    assert_non_null(strstr(text, "\"request\":62,"));
    assert_null(strstr(text, "\"request\":63,"));
    assert_non_null(strstr(text, "],\"next\":64,\"recent\":["));
    free(text);

    query.cursor = mcp_str("64");
    says(0, "json", "\"running\":[{\"call\":\"AAAAAAAA\",\"request\":63,");
    says(0, "json", "],\"next\":null,\"recent\":[");
}


/* Every sample follows the HELP and TYPE lines of its metric; names of
 * counters, and only these, end in _total. */
TEST(prometheus_samples_follow_the_help_and_type_of_their_metric)
{
    char    *text, *line, *rest, name[64], other[64], type[16];
    size_t   n;

    runs(called("e\\c\"ho", "alice"), "alice", "bob");
    mcp_store_node_link(&d.store[0], MCP_NODE_LINK_IS_UP, 0);

    text = render(0, "prometheus");
    assert_str_is(head.content_type,
                  "text/plain; version=0.0.4; charset=utf-8");
    assert_int_equal(head.n_headers, 0);
    n = 0;
    name[0] = '\0';

    for (line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest))
    {
        if (line[0] != '#') {
            assert_true(name[0] != '\0');
            assert_memory_equal(line, name, strlen(name));
            n++;
            continue;
        }

        assert_int_equal(sscanf(line, "# HELP %63s ", name), 1);
        assert_memory_equal(name, "mcp_", 4);
        line = strtok_r(NULL, "\n", &rest);
        assert_int_equal(sscanf(line, "# TYPE %63s %15s", other, type), 2);
        assert_string_equal(other, name);
        assert_int_equal(strcmp(type, "counter") == 0,
                         strcmp(name + strlen(name) - 6, "_total") == 0);
    }

    assert_true(n > MCP_COUNT_REVISION);
    free(text);
}


/* --- the cluster --- */

/* Without a cluster, the status does not mention one. */
TEST(zone_is_not_in_a_cluster__the_status_mentions_no_cluster)
{
    char        *text;
    unsigned     i;

    static const char *const  formats[] = { "json", "prometheus", "summary" };

    for (i = 0; i < 3; i++) {
        text = render(1, formats[i]);
        assert_null(strstr(text, "luster"));
        free(text);
    }

    text = render(1, "html");
    assert_null(strstr(text, "Cluster: node"));
    free(text);
}


/* The states of a node, of which two processes report their links, replication
 * lags and unexpected replies. */
TEST(status_of_a_cluster_node_shows_its_state_and_links_and_lag_and_errors)
{
    mcp_node_lag_t     none = { 0, 0, 0 };
    mcp_node_lag_t     lag[] = { { 4, 100, 17000 }, { 3, 200, 16000 } };
    mcp_node_view_t    view;

    query.now = 20000;
    mcp_store_node_renew(&d.store[0], mcp_store_node_id(&d.store[0]), 0x1abc);
    mcp_store_node_link(&d.store[0], MCP_NODE_LINK_LOST, 0);
    says(1, "json", ",\"cluster\":{\"node\":\"0000000000001abc\","
                    "\"state\":\"unreachable\",\"processes\":1,"
                    "\"connected\":0,");

    mcp_store_node_link(&d.store[0], MCP_NODE_LINK_IS_UP, 0);
    says(1, "json", "\"state\":\"joining\"");

    memset(&view, 0, sizeof(view));
    view.at = 19000;
    view.n_members = 2;
    view.members[0].heartbeat = 19000;
    view.members[1].heartbeat = 30000;
    mcp_store_node_link(&d.store[0], MCP_NODE_LINK_IS_UP, 12);
    mcp_store_node_link(&d.store[1], MCP_NODE_LINK_LOST, 0);
    mcp_store_node_view(&d.store[0], &view);
    says(1, "json", "\"state\":\"member\",\"processes\":2,\"connected\":1,"
                    "\"round_trip\":12,");
    says(1, "prometheus",
         "\nmcp_cluster_member_silence_seconds{zone=\"z\"} 1\n");
    says(1, "html", "<p>Cluster: node 0000000000001abc, member, 1 of 2 "
                    "processes connected to Redis, nodes: 2, ");

    mcp_store_node_lag(&d.store[0], &none);
    mcp_store_node_lag(&d.store[0], &lag[0]);
    mcp_store_node_lag(&d.store[1], &lag[1]);
    mcp_store_node_count(&d.store[0], MCP_NODE_UNEXPECTED_REPLY);
    mcp_store_node_count(&d.store[1], MCP_NODE_UNEXPECTED_REPLY);
    says(1, "json", "\"lag\":{\"events\":7,\"bytes\":300,\"age\":4000},");
    says(1, "json", "\"errors\":2,\"refused\":null,");

    mcp_store_node_standalone(&d.store[1], "no key");
    says(1, "json", "\"state\":\"standalone\"");
    says(1, "json", "\"refused\":\"no key\"");
    says(1, "prometheus", "\nmcp_cluster_refused{zone=\"z\"} 1\n");
}


RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: Apache-2.0 */

/* The cluster in the status. */


#include "store_driver.h"

#include "mcp_status.h"
#include "store/mcp_store_replication.h"


#define NO_LAG  "\"mirrors\":0,\"lag\":{\"events\":0,\"bytes\":0,\"age\":0},"


static store_driver_t  d;


static int
setup(void **state)
{
    (void) state;

    store_open(&d, 1024 * 1024, 2);
    mcp_store_node_renew(&d.store[0], mcp_store_node_id(&d.store[0]), 0x1abc);

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
render(const char *format)
{
    char               *text;
    mcp_buf_t           buf;
    mcp_status_query_t  query;
    mcp_status_head_t   head;

    memset(&query, 0, sizeof(mcp_status_query_t));

    query.format = test_str(format);
    query.server = mcp_str("test/1.0");
    query.zone = mcp_str("z");
    query.now = 20000;

    mcp_buf_init(&buf, &d.tm.mem, 262144);

    assert_int_equal(mcp_status_render(&d.store[1], &query, &buf, &head),
                     MCP_OK);

    text = calloc(1, buf.len + 1);
    assert_non_null(text);
    memcpy(text, buf.data, buf.len);
    mcp_buf_free(&buf);

    return text;
}


static void
says(const char *format, const char *part)
{
    char  *text;

    text = render(format);

    if (strstr(text, part) == NULL) {
        fail_msg("no %s in %s", part, text);
    }

    free(text);
}


static void
notes(void)
{
    mcp_node_view_t  view;

    memset(&view, 0, sizeof(view));
    view.at = 19000;
    view.offset = -1050;
    view.layout = 1;
    view.n_members = 2;
    view.members[0].id = 0x1abc;
    view.members[0].heartbeat = 19000;
    strcpy(view.members[0].label, "a \"b\"");
    strcpy(view.members[0].build, "0.9.0");
    view.members[1].id = UINT64_MAX;
    view.members[1].heartbeat = 30000;

    mcp_store_node_link(&d.store[0], MCP_NODE_LINK_IS_UP, 12);
    mcp_store_node_link(&d.store[1], MCP_NODE_LINK_LOST, 0);
    mcp_store_node_view(&d.store[0], &view);
}


/* Creates a mirror, the replication lag of two processes, and two unexpected
 * replies. */
static void
counts(void)
{
    mcp_node_lag_t     none = { 0, 0, 0 };
    mcp_node_lag_t     lag[] = { { 4, 100, 17000 }, { 3, 200, 16000 } };
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    store_spec(&spec, 1, 1);
    assert_int_equal(mcp_store_mirror(&d.store[0], &spec, 1, 0, 5, 10, &ref),
                     MCP_OK);

    mcp_store_node_lag(&d.store[0], &none);
    mcp_store_node_lag(&d.store[0], &lag[0]);
    mcp_store_node_lag(&d.store[1], &lag[1]);
    mcp_store_node_count(&d.store[0], MCP_NODE_REBORN);
    mcp_store_node_count(&d.store[0], MCP_NODE_UNEXPECTED_REPLY);
    mcp_store_node_count(&d.store[1], MCP_NODE_UNEXPECTED_REPLY);
}


/* Without a cluster, the status does not mention one. */
static void
test_none(void **state)
{
    char        *text;
    unsigned     i;

    static const char *const  formats[] = { "json", "prometheus", "summary" };

    (void) state;

    for (i = 0; i < 3; i++) {
        text = render(formats[i]);
        assert_null(strstr(text, "luster"));
        free(text);
    }

    text = render("html");
    assert_null(strstr(text, "Cluster: node"));
    free(text);
}


static void
test_json(void **state)
{
    uint64_t  suppressed;

    (void) state;

    mcp_store_node_link(&d.store[0], MCP_NODE_LINK_LOST, 0);
    says("json", ",\"cluster\":{\"node\":\"0000000000001abc\","
                 "\"state\":\"unreachable\",\"processes\":1,\"connected\":0,"
                 "\"round_trip\":0,\"offset\":0,\"layout\":0,"
                 NO_LAG "\"events_replicated\":0,\"streams_refilled\":0,"
                 "\"links_lost\":0,\"requests_refused\":0,"
                 "\"nodes_taken_over\":0,\"streams_taken_over\":0,"
                 "\"dropped\":0,"
                 "\"readers_displaced\":0,\"streams_fenced\":0,"
                 "\"deaths\":0,\"errors\":0,\"refused\":null,"
                 "\"last_error\":null,\"members\":[]}}\n");

    mcp_store_node_link(&d.store[0], MCP_NODE_LINK_IS_UP, 0);
    says("json", "\"state\":\"joining\"");

    notes();
    (void) mcp_store_node_error(&d.store[1], 77, 0, "one:6379: gone <b>",
                                &suppressed);
    says("json", ",\"cluster\":{\"node\":\"0000000000001abc\","
                 "\"state\":\"member\",\"processes\":2,\"connected\":1,"
                 "\"round_trip\":12,\"offset\":-1050,\"layout\":1,");
    says("json", ",\"refused\":null,\"last_error\":{\"at\":77,"
                 "\"text\":\"one:6379: gone <b>\"},\"members\":["
                 "{\"node\":\"0000000000001abc\",\"label\":\"a \\\"b\\\"\","
                 "\"version\":\"0.9.0\",\"age\":1000},"
                 "{\"node\":\"ffffffffffffffff\",\"label\":\"\","
                 "\"version\":\"\",\"age\":0}]}}\n");

    counts();
    says("json", ",\"mirrors\":1,\"lag\":{\"events\":7,\"bytes\":300,"
                 "\"age\":4000},\"events_replicated\":0,");
    says("json", "\"deaths\":1,\"errors\":2,");

    mcp_store_node_standalone(&d.store[1], "no key");
    says("json", "\"state\":\"standalone\"");
    says("json", "\"refused\":\"no key\"");
}


static void
test_prometheus(void **state)
{
    (void) state;

    notes();
    says("prometheus",
         "# HELP mcp_cluster_processes Processes with a link to Redis\n"
         "# TYPE mcp_cluster_processes gauge\n"
         "mcp_cluster_processes{zone=\"z\"} 2\n");
    says("prometheus", "\nmcp_cluster_connected{zone=\"z\"} 1\n");
    says("prometheus", "\nmcp_cluster_refused{zone=\"z\"} 0\n");
    says("prometheus", "\nmcp_cluster_members{zone=\"z\"} 2\n");
    says("prometheus", "\nmcp_cluster_member_silence_seconds{zone=\"z\"} 1\n");
    says("prometheus", "\nmcp_cluster_round_trip_seconds{zone=\"z\"} 0.012\n");
    says("prometheus",
         "\nmcp_cluster_clock_offset_seconds{zone=\"z\"} -1.05\n");

    counts();
    says("prometheus", "\nmcp_cluster_mirrors{zone=\"z\"} 1\n");
    says("prometheus", "\nmcp_cluster_lag_events{zone=\"z\"} 7\n");
    says("prometheus", "\nmcp_cluster_lag_bytes{zone=\"z\"} 300\n");
    says("prometheus", "\nmcp_cluster_lag_seconds{zone=\"z\"} 4\n");
    says("prometheus", "# TYPE mcp_cluster_deaths_total counter\n"
                       "mcp_cluster_deaths_total{zone=\"z\"} 1\n");
    says("prometheus", "\nmcp_cluster_errors_total{zone=\"z\"} 2\n");

    mcp_store_node_standalone(&d.store[1], "no key");
    says("prometheus", "\nmcp_cluster_refused{zone=\"z\"} 1\n");
}


static void
test_html(void **state)
{
    (void) state;

    notes();
    says("html", "<p>Cluster: node 0000000000001abc, member, 1 of 2 processes "
                 "connected to Redis, nodes: 2, mirrors: 0, events that Redis "
                 "does not have yet: 0</p>\n");

    mcp_store_node_standalone(&d.store[1], "<a>");
    says("html", "does not have yet: 0<br>Refused: &lt;a&gt;</p>\n");
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test_setup_teardown(test_none, setup, teardown),
        cmocka_unit_test_setup_teardown(test_json, setup, teardown),
        cmocka_unit_test_setup_teardown(test_prometheus, setup, teardown),
        cmocka_unit_test_setup_teardown(test_html, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each byte of the status in JSON, HTML and Prometheus format. The files
 * t/unit/store/recorded/status.FORMAT have the expected output of three
 * states, one after the other:
 *
 *   an unused zone without a cluster
 *   calls, failures, MCP servers and a node that cannot reach Redis, without
 *   details
 *   the same with details, and a node that its cluster has rejected
 *
 * A test that fails writes the actual output to build/unit/store. The files
 * have @VERSION@ for the version. Of the HTML page, they have the part that
 * differs from mcp_status.html.
 */


#include "status_cases.h"

#include "config/mcp_endpoint_internal.h"
#include "store/mcp_status_internal.h"
#include "store/mcp_store_own_node.h"
#include "store/mcp_store_replication.h"


#define STATES       3
#define VERSION      "@VERSION@"
#define MAX          (256 * 1024)
#define RECORDED     "t/unit/store/recorded/status."
#define ACTUAL       "build/unit/store/status."


typedef struct {
    const char  *format;
    void       (*write)(const mcp_status_t *status, mcp_buf_t *buf);
} writer_t;


static const writer_t  writers[] = {
    { "json", mcp_status_json },
    { "html", mcp_status_html },
    { "prometheus", mcp_status_prometheus }
};


static int
setup_node(void **state)
{
    setup(state);
    mcp_store_node_renew(&d.store[0], mcp_store_node_id(&d.store[0]), 0x1abc);

    return 0;
}


static uint32_t
row_at(const char *endpoint, mcp_call_stats_kind_e kind, const char *name)
{
    uint32_t               row;
    mcp_call_stats_item_t  item;

    item.catalog_key = (const unsigned char *) endpoint;
    item.endpoint = test_str(endpoint);
    item.kind = kind;
    item.name = test_str(name);

    assert_ok(mcp_store_call_stats_row(&d.store[0], &item, 0, &row));

    return row;
}


static void
failed(uint32_t row, unsigned result, unsigned reason, const char *detail)
{
    mcp_call_stats_failure_t  failure;

    memset(&failure, 0, sizeof(failure));
    failure.at = 1790000000000 + row;
    failure.row = row;
    failure.result = result;
    failure.reason = reason;
    memset(failure.id, 0xe0 + (int) row, MCP_STREAM_ID_LEN);
    mcp_call_stats_copy(failure.principal, mcp_str("al\"ice"));
    mcp_call_stats_copy(failure.detail, test_str(detail));
    mcp_store_call_stats_failed(&d.store[0], &failure);
}


static void
active(unsigned slot, uint32_t row, unsigned id, uint64_t began)
{
    mcp_active_t       call;
    mcp_stream_spec_t  spec;

    memset(&call, 0, sizeof(call));
    store_spec(&spec, id, 1);
    memcpy(call.id, spec.id, MCP_STREAM_ID_LEN);
    call.row = row;
    call.request = id % 3;
    call.began = began;
    mcp_call_stats_copy(call.principal, mcp_str("bob"));

    assert_int_not_equal(mcp_store_active_begin(&d.store[slot], &call), 0);
}


/* Creates the stream of an active call, with events in a state. */
static void
stream(unsigned id, unsigned events, mcp_stream_state_e state,
    mcp_stream_ref_t *ref)
{
    create_ok(1, id, 1, ref);

    for ( ; events; events--) {
        assert_ok(store_append(&d, 1, ref, mcp_str("{}"), -1, state));
    }
}


/* Counts durations: for a tool, a prompt, the other requests of an endpoint,
 * and requests for which the table has no room. */
static void
count_durations(const uint32_t rows[6])
{
    size_t  i;

    const mcp_duration_key_t  keys[] = {
        { rows[0], MCP_METHOD_TOOLS_CALL, MCP_REVISION_2026_07_28,
          MCP_ERROR_TYPE_NONE },
        { rows[0], MCP_METHOD_TOOLS_CALL, MCP_REVISION_2026_07_28,
          MCP_ERROR_TYPE_TOOL },
        { rows[1], MCP_METHOD_PROMPTS_GET, MCP_REVISION_2025_11_25,
          mcp_error_type_of_code(-32603) },
        { rows[4], MCP_METHOD_UNKNOWN, MCP_REVISION_NONE,
          mcp_error_type_of_code(-32601) },
        { MCP_CALL_STATS_OTHER, MCP_METHOD_UNKNOWN, MCP_REVISION_NONE,
          MCP_ERROR_TYPE_OTHER }
    };

    for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        mcp_store_duration_count(&d.store[0], &keys[i], 100,
                                 109 + i * 1000);
    }
}


/* Fills the call statistics: two endpoints, each kind of row, each outcome,
 * and each form of a failure. */
static uint32_t
count_calls(void)
{
    unsigned  i, k;
    uint32_t  rows[6];

    (void) row_at("localhost/mcp\0..", MCP_CALL_STATS_KIND_OTHER, "");
    rows[0] = row_at("localhost/mcp\0..", MCP_CALL_STATS_KIND_TOOL,
                     "e\\c\"h<o>&");
    rows[1] = row_at("localhost/mcp\0..", MCP_CALL_STATS_KIND_PROMPT, "p");
    rows[2] = row_at("localhost/mcp\0..", MCP_CALL_STATS_KIND_RESOURCE,
                     "file:///a");
    rows[3] = row_at("localhost/mcp\0..", MCP_CALL_STATS_KIND_TEMPLATE,
                     "file:///{b}");
    rows[4] = row_at("other.example/<b>", MCP_CALL_STATS_KIND_OTHER, "");
    rows[5] = row_at("other.example/<b>", MCP_CALL_STATS_KIND_TOOL, "idle");

    for (i = 0; i < 5; i++) {
        for (k = MCP_OUTCOME_OK; k < MCP_OUTCOME_COUNT; k++) {
            if (k != i + 2) {
                mcp_store_call_stats_count(&d.store[i % 2], rows[i],
                                           (mcp_outcome_e) k,
                                           3 + i * k * k * 1000);
            }
        }
    }

    count_durations(rows);

    failed(rows[0], MCP_OUTCOME_FAULT, MCP_REASON_BACKEND_TIMEOUT,
           "broken JSON at byte 0: \"Warning\"");
    failed(rows[1], MCP_OUTCOME_TOOL_ERROR, MCP_REASON_TOOL_ERROR, "");
    failed(rows[2], MCP_CALL_STATS_REFUSED, MCP_REASON_QUOTA, "\"words\"");
    failed(rows[0], MCP_OUTCOME_FAULT, MCP_REASON_BACKEND_TIMEOUT, "late");

    return rows[0];
}


/* Begins active calls: for each state of the stream, and each place of its
 * reader. */
static void
begin_calls(uint32_t row)
{
    mcp_cursor_t      cursor;
    mcp_stream_ref_t  ref;

    active(0, row, 1, 1789999999000);
    active(1, row, 2, 1790000000100);
    active(1, MCP_CALL_STATS_OTHER, 3, 1790000009999);
    active(1, row + 1, 4, 1);

    stream(2, 2, MCP_STATE_PROCESSING, &ref);
    watch_ok(&d.store[0], &ref, 5, 0, &cursor);
    stream(3, 1, MCP_STATE_INPUT_REQUIRED, &ref);
    assert_ok(mcp_store_replication_start(&d.store[1], &ref, 1));
    assert_ok(mcp_store_remote_consumer(&d.store[1], &ref, 3, 0, 0));
    stream(4, 1, MCP_STATE_CANCELLED, &ref);
}


/* Adds three MCP servers with the states "not used yet", "up" and "down". */
static void
add_servers(void)
{
    mcp_store_upstream_row_t   row;
    mcp_store_upstream_item_t  item = {
        (const unsigned char *) "localhost/mcp\0..", mcp_str("/mcp"),
        mcp_str("localhost/mcp"), mcp_str("@idle"), MCP_UPSTREAM_AUTO,
        MCP_REVISION_NONE
    };

    assert_ok(mcp_store_upstream_offer(&d.store[0], &item, &row));

    item.name = mcp_str("@a<\"b>");
    item.form = MCP_UPSTREAM_SESSION;
    assert_ok(mcp_store_upstream_offer(&d.store[0], &item, &row));
    mcp_store_upstream_revision(&d.store[0], row, MCP_REVISION_2025_06_18);
    mcp_store_upstream_up(&d.store[0], row, MCP_UPSTREAM_UP);
    mcp_store_upstream_describe(&d.store[0], row, mcp_str("S & T"),
                                mcp_str("1.<2>"));
    mcp_store_upstream_initialized(&d.store[0], row, 1);
    assert_ok(store_session(&d.store[0], row,
                            (const unsigned char *) "sixteen bytes ..",
                            mcp_str("x"), 0, 0, NULL));

    item.endpoint = mcp_str("other.example/<b>");
    item.catalog_key = (const unsigned char *) "other.example/<b>";
    item.name = mcp_str("@c");
    item.form = MCP_UPSTREAM_STATELESS;
    assert_ok(mcp_store_upstream_offer(&d.store[0], &item, &row));
    mcp_store_upstream_up(&d.store[1], row, MCP_UPSTREAM_DOWN);
    mcp_store_upstream_initialized(&d.store[1], row, 0);
    mcp_store_upstream_initialized(&d.store[1], row, 0);
    mcp_store_upstream_failed(&d.store[1], row, MCP_REASON_BACKEND_OUTPUT,
                              mcp_str("not \"JSON\" <"), 1790000000000 - 5400);
}


/* Fills the state of the cluster: two members, lag, a mirror, an error, and
 * another number for each counter. */
static void
join_cluster(void)
{
    unsigned           i, k;
    uint64_t           suppressed;
    mcp_node_lag_t     lag = { 4, 100, 1790000000000 - 2750 };
    mcp_node_view_t    view;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    memset(&view, 0, sizeof(view));
    view.at = 19000;
    view.offset = -1050;
    view.layout = 7;
    view.n_members = 2;
    view.members[0].id = 0x1abc;
    view.members[0].heartbeat = 1790000000000 - 1200;
    strcpy(view.members[0].label, "a \"b\"");
    strcpy(view.members[0].build, "0.9.0");
    view.members[1].id = UINT64_MAX;
    view.members[1].heartbeat = 1790000000001;

    store_spec(&spec, 9, 1);
    assert_ok(mcp_store_mirror(&d.store[0], &spec, 1, 0, 5, 10, &ref));
    mcp_store_node_link(&d.store[0], MCP_NODE_LINK_IS_UP, 12);
    mcp_store_node_lag(&d.store[0], &lag);
    mcp_store_node_view(&d.store[0], &view);
    (void) mcp_store_node_error(&d.store[1], 77, 0, "one:6379: gone <b>",
                                &suppressed);
    mcp_store_node_standalone(&d.store[1], "no <key>");

    for (i = 0; i < MCP_NODE_COUNTS; i++) {
        for (k = 0; k <= i; k++) {
            mcp_store_node_count(&d.store[0], (mcp_node_count_e) i);
        }
    }
}


/* Sets the counters and the sizes, each to another number. */
static void
set_numbers(mcp_store_stats_t *stats, unsigned state)
{
    unsigned  i;

    static const uint64_t  used[STATES] = { 10239, 48 << 20, 58 << 20 };

    for (i = 0; i < MCP_COUNT_MAX; i++) {
        stats->counter[i] = state ? 1000 + i : 0;
    }

    stats->size = 64 << 20;
    stats->used = used[state];
    stats->streams = 11;
    stats->listeners = 12;
    stats->values = 13;
    stats->subscriptions = 14;
}


/* Appends the status in one state. */
static void
show(unsigned state, const writer_t *writer, mcp_buf_t *buf)
{
    mcp_status_t  status;

    query.server = mcp_str("test/1.0 <a>");
    query.zone = mcp_str("z\"<>&");
    query.now = 1790000000000;
    query.details = state == 2;

    mcp_status_read(&status, &d.store[0], &query);
    set_numbers(&status.stats, state);

    writer->write(&status, buf);
}


/* Removes the parts of the HTML page that are equal to mcp_status.html, before
 * and after MCP_STATUS_PLAIN. */
static void
cut_page(mcp_buf_t *buf, size_t start)
{
    char        *page;
    size_t       before, after;
    const char  *plain, *file;

    file = (const char *) mcp_status_page;
    plain = memmem(file, mcp_status_page_len, MCP_STATUS_PLAIN,
                   sizeof(MCP_STATUS_PLAIN) - 1);
    assert_non_null(plain);

    before = (size_t) (plain - file);
    plain += sizeof(MCP_STATUS_PLAIN) - 1;
    after = mcp_status_page_len - (size_t) (plain - file);

    page = buf->data + start;
    assert_true(buf->len - start > before + after);
    assert_memory_equal(page, file, before);
    assert_memory_equal(buf->data + buf->len - after, plain, after);

    buf->len -= before + after;
    memmove(page, page + before, buf->len - start);
}


/* Replaces each version by VERSION. */
static void
cut_version(mcp_buf_t *buf, size_t start)
{
    char    *p;
    size_t   i;

    while ((p = memmem(buf->data + start, buf->len - start, MCP_VERSION,
                       strlen(MCP_VERSION))) != NULL)
    {
        i = (size_t) (p - buf->data) + strlen(MCP_VERSION);
        assert_non_null(mcp_buf_reserve(buf, sizeof(VERSION)));
        p = buf->data + i;
        memmove(p - strlen(MCP_VERSION) + sizeof(VERSION) - 1, p,
                buf->len - i);
        memcpy(p - strlen(MCP_VERSION), VERSION, sizeof(VERSION) - 1);
        buf->len = buf->len - strlen(MCP_VERSION) + sizeof(VERSION) - 1;
        start = i - strlen(MCP_VERSION) + sizeof(VERSION) - 1;
    }
}


/* Returns 1 if the output is the recorded one. Otherwise writes the output to
 * a file and returns 0. */
static int
equal(const char *format, const mcp_buf_t *buf)
{
    int     same;
    char    name[128], *expected;
    FILE   *file;
    size_t  n;

    snprintf(name, sizeof(name), RECORDED "%s", format);
    expected = malloc(MAX);
    assert_non_null(expected);
    file = fopen(name, "r");
    n = 0;

    if (file != NULL) {
        n = fread(expected, 1, MAX, file);
        fclose(file);
    }

    same = n == buf->len && memcmp(expected, buf->data, n) == 0;
    free(expected);

    if (!same) {
        snprintf(name, sizeof(name), ACTUAL "%s", format);
        file = fopen(name, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(buf->data, 1, buf->len, file), buf->len);
        fclose(file);
        print_error("%s differs from " RECORDED "%s\n", name, format);
    }

    return same;
}


TEST(status_as_json_and_html_and_prometheus_text_equals_the_recorded_bytes)
{
    size_t     i, start, same;
    unsigned   n;
    mcp_buf_t  buf[3];

    for (i = 0; i < 3; i++) {
        mcp_buf_init(&buf[i], &d.tm.mem, MAX);
    }

    for (n = 0; n < STATES; n++) {
        if (n == 1) {
            begin_calls(count_calls());
            add_servers();
            mcp_store_node_link(&d.store[1], MCP_NODE_LINK_LOST, 0);
        }

        if (n == 2) {
            join_cluster();
        }

        for (i = 0; i < 3; i++) {
            start = buf[i].len;
            show(n, &writers[i], &buf[i]);
            assert_ok(buf[i].failed);

            if (strcmp(writers[i].format, "html") == 0) {
                cut_page(&buf[i], start);
            }

            cut_version(&buf[i], start);
        }
    }

    same = 0;

    for (i = 0; i < 3; i++) {
        same += equal(writers[i].format, &buf[i]) == 1;
        mcp_buf_free(&buf[i]);
    }

    assert_int_equal(same, 3);
}


RUN_TESTS(setup_node, teardown)

/* SPDX-License-Identifier: Apache-2.0 */

/* Call statistics: a row of counters for each catalog item, the latest
 * failures, and rows and failures that a killed process has written in
 * part. */


#include "store_fixture.h"

#include "rpc/mcp_fault.h"
#include "store/mcp_store_layout.h"


static const unsigned char  place[MCP_DIGEST_LEN] = "a place at all.";


static uint32_t
row_of(mcp_store_t *store, mcp_call_stats_kind_e kind, const char *name, int rc)
{
    uint32_t               row;
    mcp_call_stats_item_t  item;

    item.catalog_key = place;
    item.endpoint = mcp_str("localhost/mcp");
    item.kind = kind;
    item.name = test_str(name);

    assert_int_equal(mcp_store_call_stats_row(store, &item, 0, &row), rc);

    return row;
}


TEST(each_catalog_item_has_one_statistics_row_that_all_processes_share)
{
    uint32_t          echo, prompt, other;
    mcp_call_stats_t  stats;

    assert_int_equal(mcp_store_call_stats_rows(S0), 1);
    mcp_store_call_stats_get(S0, MCP_CALL_STATS_OTHER, &stats);
    assert_string_equal(stats.endpoint, "(other)");

    other = row_of(S0, MCP_CALL_STATS_KIND_OTHER, "", MCP_OK);
    echo = row_of(S0, MCP_CALL_STATS_KIND_TOOL, "echo", MCP_OK);
    prompt = row_of(S0, MCP_CALL_STATS_KIND_PROMPT, "echo", MCP_OK);

    assert_int_equal(mcp_store_call_stats_rows(S1), 4);
    assert_int_equal(row_of(S1, MCP_CALL_STATS_KIND_TOOL, "echo", MCP_OK),
                     echo);
    assert_int_not_equal(echo, prompt);

    mcp_store_call_stats_get(S1, echo, &stats);
    assert_string_equal(stats.endpoint, "localhost/mcp");
    assert_string_equal(stats.name, "echo");
    assert_int_equal(stats.kind, MCP_CALL_STATS_KIND_TOOL);

    mcp_store_call_stats_get(S1, other, &stats);
    assert_string_equal(stats.name, "(other)");
}


/* Tools from lists take at most half of the rows; configured items take the
 * rest. */
TEST(tools_listed_by_mcp_servers_take_at_most_half_of_the_statistics_rows)
{
    int                    rc;
    char                   name[16];
    uint32_t               i, row, max;
    mcp_call_stats_item_t  item;

    (void) row_of(S0, MCP_CALL_STATS_KIND_OTHER, "", MCP_OK);
    max = S0->head->max_call_stats;

    item.catalog_key = place;
    item.endpoint = mcp_str("localhost/mcp");
    item.kind = MCP_CALL_STATS_KIND_TOOL;
    rc = MCP_OK;

    for (i = 0; rc == MCP_OK; i++) {
        (void) snprintf(name, sizeof(name), "t%u", i);
        item.name = test_str(name);
        rc = mcp_store_call_stats_row(S1, &item, 1, &row);
    }

    assert_int_equal(rc, MCP_ERR_FULL);
    assert_int_equal(row, MCP_CALL_STATS_OTHER);
    assert_int_equal(i, max / 2 - 2 + 1);
    assert_int_equal(mcp_store_call_stats_rows(S0), max / 2);

    /* a tool that has a row keeps it */

    item.name = mcp_str("t1");
    assert_ok(mcp_store_call_stats_row(S0, &item, 1, &row));
    assert_true(mcp_store_call_stats_is_tool(S0, row, mcp_str("t1")));
    assert_false(mcp_store_call_stats_is_tool(S0, row, mcp_str("t")));
    assert_false(mcp_store_call_stats_is_tool(S0, row, mcp_str("t11")));
    assert_true(mcp_store_call_stats_same(S0, row, 1));
    assert_false(mcp_store_call_stats_same(S0, row, MCP_CALL_STATS_OTHER));

    assert_int_not_equal(row_of(S0, MCP_CALL_STATS_KIND_PROMPT, "p", MCP_OK),
                         MCP_CALL_STATS_OTHER);
}


/* Names contain only characters that pages and metrics can show. Different
 * items have different names. */
TEST(names_of_statistics_rows_are_printable_and_differ_even_if_truncated)
{
    char              a[301], b[301];
    size_t            i;
    uint32_t          row, other;
    mcp_call_stats_t  stats, t;

    static const struct {
        const char  *name;
        const char  *shown;
    } cases[] = {
        { "a\nb\x7f" "c", "a?b?c" },
        { "a\"b\\c", "a\"b\\c" },
        { "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
        { "bad \xff utf-8 \xc3\xbc", "bad ? utf-8 ??" }
    };

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        row = row_of(S0, MCP_CALL_STATS_KIND_RESOURCE, cases[i].name, MCP_OK);
        mcp_store_call_stats_get(S0, row, &stats);
        assert_string_equal(stats.name, cases[i].shown);
    }

    memset(a, 'x', 300);
    a[300] = '\0';
    memcpy(b, a, 301);
    b[299] = 'y';

    row = row_of(S0, MCP_CALL_STATS_KIND_RESOURCE, a, MCP_OK);
    other = row_of(S0, MCP_CALL_STATS_KIND_RESOURCE, b, MCP_OK);
    assert_int_not_equal(row, other);

    mcp_store_call_stats_get(S0, row, &stats);
    mcp_store_call_stats_get(S0, other, &t);
    assert_string_not_equal(stats.name, t.name);
    assert_int_equal(strlen(stats.name), MCP_CALL_STATS_NAME - 1);
    assert_int_equal(stats.name[MCP_CALL_STATS_NAME - 10], '~');

    /* truncation does not split a character */

    for (i = 0; i < 150; i++) {
        memcpy(a + 2 * i, "\xc3\xbc", 2);
    }

    row = row_of(S0, MCP_CALL_STATS_KIND_RESOURCE, a, MCP_OK);
    mcp_store_call_stats_get(S0, row, &stats);
    assert_memory_equal(strchr(stats.name, '~') - 2, "\xc3\xbc~", 3);

    (void) mcp_call_stats_text(stats.name, MCP_CALL_STATS_PRINCIPAL,
                               test_str(a));
    assert_int_equal(strlen(stats.name), MCP_CALL_STATS_PRINCIPAL - 2);
}


TEST(all_statistics_rows_are_taken__further_items_share_the_row_other)
{
    char      name[16];
    uint32_t  i, max;

    max = S0->head->max_call_stats;
    assert_in_range(max, 100, 128);

    for (i = 1; i < max; i++) {
        snprintf(name, sizeof(name), "t%u", i);
        assert_int_equal(row_of(S0, MCP_CALL_STATS_KIND_TOOL, name, MCP_OK),
                         i);
    }

    assert_int_equal(row_of(S0, MCP_CALL_STATS_KIND_TOOL, "more",
                            MCP_ERR_FULL), MCP_CALL_STATS_OTHER);
    assert_int_equal(row_of(S0, MCP_CALL_STATS_KIND_TOOL, "t1", MCP_OK), 1);
}


TEST(calls_are_counted_by_outcome_and_duration)
{
    size_t            i;
    uint32_t          row;
    mcp_call_stats_t  stats;

    static const uint64_t  times[] = { 0, 10, 11, 5000, 300000, 300001 };

    row = row_of(S0, MCP_CALL_STATS_KIND_TOOL, "echo", MCP_OK);

    for (i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        mcp_store_call_stats_count(i % 2 ? S1 : S0, row, MCP_OUTCOME_OK,
                                   times[i]);
    }

    mcp_store_call_stats_count(S1, row, MCP_OUTCOME_EXPIRED, 20);

    mcp_store_call_stats_get(S0, row, &stats);
    assert_int_equal(stats.results[MCP_OUTCOME_OK], 6);
    assert_int_equal(stats.results[MCP_OUTCOME_EXPIRED], 1);
    assert_int_equal(stats.results[MCP_OUTCOME_FAULT], 0);
    assert_int_equal(stats.buckets[0], 2);
    assert_int_equal(stats.buckets[1], 2);
    assert_int_equal(stats.buckets[8], 1);
    assert_int_equal(stats.buckets[13], 1);
    assert_int_equal(stats.buckets[14], 1);
    assert_int_equal(stats.sum, 21 + 5000 + 600001 + 20);
    assert_int_equal(stats.failed_at, 0);
}


static void
fail_once(uint64_t at, uint32_t row, unsigned result, const char *principal)
{
    mcp_call_stats_failure_t  failure;

    memset(&failure, 0, sizeof(failure));

    failure.at = at;
    failure.row = row;
    failure.result = result;
    failure.reason = MCP_REASON_BACKEND_TIMEOUT;
    mcp_call_stats_copy(failure.principal, test_str(principal));

    mcp_store_call_stats_failed(S0, &failure);
}


TEST(latest_failed_calls_are_listed_newest_first_up_to_a_limit)
{
    unsigned                  i;
    uint32_t                  row;
    mcp_call_stats_t          stats;
    mcp_call_stats_failure_t  out[MCP_CALL_STATS_RECENT + 8];

    row = row_of(S0, MCP_CALL_STATS_KIND_TOOL, "echo", MCP_OK);
    assert_int_equal(mcp_store_call_stats_recent(S1, out, 10), 0);

    fail_once(1000, row, MCP_OUTCOME_FAULT, "alice");
    fail_once(1001, row, MCP_CALL_STATS_REFUSED, "bob");

    assert_int_equal(mcp_store_call_stats_recent(S1, out, 10), 2);
    assert_int_equal(out[0].at, 1001);
    assert_int_equal(out[0].result, MCP_CALL_STATS_REFUSED);
    assert_string_equal(out[0].principal, "bob");
    assert_string_equal(out[1].principal, "alice");
    assert_int_equal(out[1].reason, MCP_REASON_BACKEND_TIMEOUT);
    assert_int_equal(mcp_store_call_stats_recent(S1, out, 1), 1);

    /* a rejected request: not counted in the row */

    mcp_store_call_stats_get(S0, row, &stats);
    assert_int_equal(stats.failed_at, 1000);
    assert_int_equal(stats.failed, MCP_OUTCOME_FAULT);

    for (i = 0; i < 500; i++) {
        fail_once(2000 + i, row, MCP_OUTCOME_LOST, "");
    }

    assert_int_equal(mcp_store_call_stats_recent(S1, out, MCP_CALL_STATS_RECENT
                                                 + 8), MCP_CALL_STATS_RECENT);
    assert_int_equal(out[0].at, 2499);
    assert_int_equal(out[MCP_CALL_STATS_RECENT - 1].at, 2499 - 62);
}


/* A process dies while it holds the lock and has written a part of a row and a
 * part of a failure: after the repair, the statistics contain neither part. */
TEST(repair_removes_a_partly_written_statistics_row_and_failure)
{
    unsigned                  i;
    uint32_t                  row;
    mcp_call_stats_t          stats;
    mcp_store_call_stats_t   *half;
    mcp_call_stats_failure_t  out[MCP_CALL_STATS_RECENT];

    row = row_of(S0, MCP_CALL_STATS_KIND_TOOL, "echo", MCP_OK);
    mcp_store_call_stats_count(S0, row, MCP_OUTCOME_OK, 1);

    for (i = 0; i < 100; i++) {
        fail_once(1 + i, row, MCP_OUTCOME_FAULT, "");
    }

    half = &mcp_store_call_stats_all(S0->head)[row + 1];
    memset(half, 0xee, sizeof(mcp_store_call_stats_t));
    memset(&mcp_store_failures(S0->head)[100 % MCP_STORE_FAILURES], 0xee,
           sizeof(mcp_call_stats_failure_t));

    d.died = 1;
    assert_int_equal(row_of(S1, MCP_CALL_STATS_KIND_TOOL, "ping", MCP_OK), row
                     + 1);
    assert_int_equal(store_counter(&d, MCP_COUNT_REPAIRS), 1);

    mcp_store_call_stats_get(S1, row + 1, &stats);
    assert_string_equal(stats.name, "ping");
    assert_int_equal(stats.results[MCP_OUTCOME_OK], 0);
    assert_int_equal(stats.sum, 0);

    mcp_store_call_stats_get(S1, row, &stats);
    assert_int_equal(stats.results[MCP_OUTCOME_OK], 1);

    assert_int_equal(mcp_store_call_stats_recent(S1, out,
                                                 MCP_CALL_STATS_RECENT),
                     MCP_CALL_STATS_RECENT);

    for (i = 0; i < MCP_CALL_STATS_RECENT; i++) {
        assert_int_equal(out[i].at, 100 - i);
    }
}


static uint32_t
begin(mcp_store_t *store, unsigned id, uint32_t row)
{
    mcp_active_t  live;

    memset(&live, 0, sizeof(live));

    live.row = row;
    live.request = 2;
    live.began = 1000 + id;
    memcpy(live.id, &id, sizeof(id));
    live.id[15] = 1;
    mcp_call_stats_copy(live.principal, mcp_str("alice"));

    return mcp_store_active_begin(store, &live);
}


static uint64_t
running(uint32_t row)
{
    uint64_t  counts[4] = { 0 };

    mcp_store_active_count(S0, counts, 4);

    return counts[row];
}


TEST(active_request_is_listed_with_process_and_stream_state_and_remote_reader)
{
    uint32_t            handle, position;
    mcp_active_t        page[MCP_CALL_STATS_PAGE];
    mcp_stream_ref_t    ref;

    position = 0;
    assert_int_equal(mcp_store_active_page(S0, &position, page), 0);

    handle = begin(S1, 7, 3);
    assert_int_not_equal(handle, 0);
    assert_int_equal(running(3), 1);

    assert_int_equal(mcp_store_active_page(S0, &position, page), 1);
    assert_int_equal(position, 0);
    assert_int_equal(page[0].row, 3);
    assert_int_equal(page[0].request, 2);
    assert_int_equal(page[0].began, 1007);
    assert_int_equal(page[0].slot, 1);
    assert_int_equal(page[0].pid, 101);
    assert_int_equal(page[0].state, -1);
    assert_int_equal(page[0].reader, 0);
    assert_int_equal(page[0].elsewhere, 0);
    assert_string_equal(page[0].principal, "alice");

    /* the call has a stream: the active request shows the state and the number
     * of events of the stream */

    create_ok(1, 7, 1, &ref);
    append_ok(1, &ref, mcp_str("{}"));

    assert_int_equal(mcp_store_active_page(S0, &position, page), 1);
    assert_int_equal(page[0].state, MCP_STATE_PROCESSING);
    assert_int_equal(page[0].events, 1);

    /* the reader is at another node: the active request shows no process of
     * the reader, but "elsewhere" is set */

    assert_ok(mcp_store_replication_start(S1, &ref, 1));
    assert_ok(mcp_store_remote_consumer(S1, &ref, 3, 0, 0));
    assert_int_equal(mcp_store_active_page(S0, &position, page), 1);
    assert_int_equal(page[0].reader, 0);
    assert_int_equal(page[0].elsewhere, 1);

    mcp_store_free(S1, &ref);
    mcp_store_active_end(S1, handle);
    mcp_store_active_end(S1, 0);
    assert_int_equal(running(3), 0);
}


/* Repeated reading of pages returns each active request once, and then
 * ends. */
TEST(all_pages_are_read__they_list_as_many_active_requests_as_have_records)
{
    size_t        n, all;
    uint32_t      i, max, position, handles[1024];
    mcp_active_t  page[MCP_CALL_STATS_PAGE];

    max = S0->head->max_active;
    assert_true(max > 4 * MCP_CALL_STATS_PAGE && max <= 1024);

    for (i = 0; i < max; i++) {
        handles[i] = begin(i % 2 ? S1 : S0, i + 1, 1);
    }

    all = 0;
    position = 0;

    do {
        n = mcp_store_active_page(S0, &position, page);
        assert_true(n <= MCP_CALL_STATS_PAGE);
        all += n;
    } while (position);

    for (i = 0, n = 0; i < max; i++) {
        n += handles[i] != 0;
    }

    assert_int_equal(all, n);
    assert_int_equal(running(1), n);

    /* a process searches a limited number of records for a free one, so some
     * active requests get no record */

    assert_true(n > max / 2);

    for (i = 0; i < max; i++) {
        mcp_store_active_end(i % 2 ? S1 : S0, handles[i]);
    }

    assert_int_equal(running(1), 0);

    position = UINT32_MAX;
    assert_int_equal(mcp_store_active_page(S0, &position, page), 0);
    assert_int_equal(position, 0);
}


/* Fills the stack below the caller, so that uninitialized variables of the next
 * function are not zero. */
static __attribute__((noinline)) void
fill_stack(void)
{
    volatile char  bytes[16384];
    size_t         i;

    for (i = 0; i < sizeof(bytes); i++) {
        bytes[i] = 'x';
    }
}


/* A process dies: its active requests count as lost, and the calls that it has
 * counted before stay counted. */
TEST(process_dies__its_active_requests_count_as_lost)
{
    uint32_t                  row, mine;
    mcp_call_stats_t          stats;
    mcp_call_stats_item_t     item;
    mcp_call_stats_failure_t  failure;

    item.catalog_key = (const unsigned char *) "sixteen bytes ..";
    item.endpoint = mcp_str("e");
    item.kind = MCP_CALL_STATS_KIND_TOOL;
    item.name = mcp_str("echo");
    assert_ok(mcp_store_call_stats_row(S0, &item, 0, &row));

    mcp_store_sweep(S0, 5000, 1, NULL, NULL);

    mine = begin(S0, 1, row);
    assert_int_not_equal(begin(S1, 2, row), 0);
    assert_int_not_equal(begin(S1, 3, row), 0);
    mcp_store_call_stats_count(S1, row, MCP_OUTCOME_OK, 5);
    assert_int_equal(running(row), 3);

    /* a record that its process was about to take when it died: not counted as
     * lost */

    atomic_store(&mcp_store_active_records(S0->head)[200].owner,
                 (uint64_t) 1 << 32 | 2 << 1);
    assert_int_equal(running(row), 3);

    fill_stack();
    mcp_store_reclaim(S0, 1, 101);

    assert_int_equal(running(row), 1);
    assert_int_equal((uint32_t) mcp_store_active_records(S0->head)[200].owner,
                     0);

    mcp_store_call_stats_get(S0, row, &stats);
    assert_int_equal(stats.results[MCP_OUTCOME_OK], 1);
    assert_int_equal(stats.results[MCP_OUTCOME_LOST], 2);
    assert_int_equal(stats.failed, MCP_OUTCOME_LOST);
    assert_int_equal(stats.failed_at, 5000);

    assert_int_equal(mcp_store_call_stats_recent(S0, &failure, 1), 1);
    assert_int_equal(failure.result, MCP_OUTCOME_LOST);
    assert_string_equal(failure.principal, "alice");
    assert_string_equal(failure.detail, "");

    /* a process that was declared dead continues: it can neither begin nor end
     * an active request */

    assert_int_equal(begin(S1, 4, row), 0);
    mcp_store_active_end(S1, mine);
    assert_int_equal(running(row), 1);

    mcp_store_active_end(S0, mine);
    assert_int_equal(running(row), 0);

    store_attach(&d, 1, 101);
}


/* A released record is used again. */
TEST(record_of_an_active_request_is_reused_after_the_request_has_ended)
{
    unsigned  i;
    uint32_t  handle;

    for (i = 0; i < 10000; i++) {
        handle = begin(S0, i, i % 4);
        assert_int_equal(running(i % 4), 1);
        mcp_store_active_end(S0, handle);
    }

    assert_int_equal(running(0) + running(1) + running(2) + running(3), 0);
}


RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: Apache-2.0 */

/* Active requests: all processes see them, and they end with their process. */


#include "store_fixture.h"

#include "store/mcp_store_layout.h"


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


static void
test_one(void **state)
{
    uint32_t            handle, position;
    mcp_active_t        page[MCP_CALL_STATS_PAGE];
    mcp_stream_ref_t    ref;
    mcp_stream_spec_t   spec;

    (void) state;

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

    store_spec(&spec, 7, 1);
    store_create(&d, 1, &spec, &ref);
    assert_int_equal(store_append(&d, 1, &ref, mcp_str("{}"), -1,
                               MCP_STATE_PROCESSING),
                     MCP_OK);

    assert_int_equal(mcp_store_active_page(S0, &position, page), 1);
    assert_int_equal(page[0].state, MCP_STATE_PROCESSING);
    assert_int_equal(page[0].events, 1);

    /* the reader is at another node: the active request shows no process of
     * the reader, but "elsewhere" is set */

    assert_int_equal(mcp_store_replication_start(S1, &ref, 1), MCP_OK);
    assert_int_equal(mcp_store_remote_consumer(S1, &ref, 3, 0, 0), MCP_OK);
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
static void
test_pages(void **state)
{
    size_t        n, all;
    uint32_t      i, max, position, handles[1024];
    mcp_active_t  page[MCP_CALL_STATS_PAGE];

    (void) state;

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
static void
test_killed(void **state)
{
    uint32_t                  row, mine;
    mcp_call_stats_t          stats;
    mcp_call_stats_item_t     item;
    mcp_call_stats_failure_t  failure;

    (void) state;

    item.catalog_key = (const unsigned char *) "sixteen bytes ..";
    item.endpoint = mcp_str("e");
    item.kind = MCP_CALL_STATS_KIND_TOOL;
    item.name = mcp_str("echo");
    assert_int_equal(mcp_store_call_stats_row(S0, &item, &row), MCP_OK);

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
static void
test_generations(void **state)
{
    unsigned  i;
    uint32_t  handle;

    (void) state;

    for (i = 0; i < 10000; i++) {
        handle = begin(S0, i, i % 4);
        assert_int_equal(running(i % 4), 1);
        mcp_store_active_end(S0, handle);
    }

    assert_int_equal(running(0) + running(1) + running(2) + running(3), 0);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        store_test(test_one),
        store_test(test_pages),
        store_test(test_killed),
        store_test(test_generations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Rows of counters and failures of late, and what a process leaves of them that
 * is killed. */


#include "store_fixture.h"

#include "rpc/mcp_reason.h"
#include "store/mcp_store_layout.h"


static const unsigned char  place[MCP_DIGEST_LEN] = "a place at all.";


static uint32_t
row_of(mcp_store_t *store, mcp_tally_kind_e kind, const char *name, int rc)
{
    uint32_t          row;
    mcp_tally_item_t  item;

    item.place = place;
    item.endpoint = mcp_str("localhost/mcp");
    item.kind = kind;
    item.name = test_str(name);

    assert_int_equal(mcp_store_tally_row(store, &item, &row), rc);

    return row;
}


static void
test_rows(void **state)
{
    uint32_t     echo, prompt, other;
    mcp_tally_t  tally;

    (void) state;

    assert_int_equal(mcp_store_tally_rows(S0), 1);
    mcp_store_tally_get(S0, MCP_TALLY_OTHER, &tally);
    assert_string_equal(tally.endpoint, "(other)");

    other = row_of(S0, MCP_TALLY_KIND_OTHER, "", MCP_OK);
    echo = row_of(S0, MCP_TALLY_KIND_TOOL, "echo", MCP_OK);
    prompt = row_of(S0, MCP_TALLY_KIND_PROMPT, "echo", MCP_OK);

    assert_int_equal(mcp_store_tally_rows(S1), 4);
    assert_int_equal(row_of(S1, MCP_TALLY_KIND_TOOL, "echo", MCP_OK), echo);
    assert_int_not_equal(echo, prompt);

    mcp_store_tally_get(S1, echo, &tally);
    assert_string_equal(tally.endpoint, "localhost/mcp");
    assert_string_equal(tally.name, "echo");
    assert_int_equal(tally.kind, MCP_TALLY_KIND_TOOL);

    mcp_store_tally_get(S1, other, &tally);
    assert_string_equal(tally.name, "(other)");
}


/* Names are what pages and metrics can show, and differ as the items do. */
static void
test_names(void **state)
{
    char         a[301], b[301];
    size_t       i;
    uint32_t     row, other;
    mcp_tally_t  tally, t;

    static const struct {
        const char  *name;
        const char  *shown;
    } cases[] = {
        { "a\nb\x7f" "c", "a?b?c" },
        { "a\"b\\c", "a\"b\\c" },
        { "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
        { "bad \xff utf-8 \xc3\xbc", "bad ? utf-8 ??" }
    };

    (void) state;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        row = row_of(S0, MCP_TALLY_KIND_RESOURCE, cases[i].name, MCP_OK);
        mcp_store_tally_get(S0, row, &tally);
        assert_string_equal(tally.name, cases[i].shown);
    }

    memset(a, 'x', 300);
    a[300] = '\0';
    memcpy(b, a, 301);
    b[299] = 'y';

    row = row_of(S0, MCP_TALLY_KIND_RESOURCE, a, MCP_OK);
    other = row_of(S0, MCP_TALLY_KIND_RESOURCE, b, MCP_OK);
    assert_int_not_equal(row, other);

    mcp_store_tally_get(S0, row, &tally);
    mcp_store_tally_get(S0, other, &t);
    assert_string_not_equal(tally.name, t.name);
    assert_int_equal(strlen(tally.name), MCP_TALLY_NAME - 1);
    assert_int_equal(tally.name[MCP_TALLY_NAME - 10], '~');

    /* no half of a character */

    for (i = 0; i < 150; i++) {
        memcpy(a + 2 * i, "\xc3\xbc", 2);
    }

    row = row_of(S0, MCP_TALLY_KIND_RESOURCE, a, MCP_OK);
    mcp_store_tally_get(S0, row, &tally);
    assert_memory_equal(strchr(tally.name, '~') - 2, "\xc3\xbc~", 3);

    mcp_tally_principal(tally.name, test_str(a));
    assert_int_equal(strlen(tally.name), MCP_TALLY_PRINCIPAL - 2);
}


static void
test_full(void **state)
{
    char      name[16];
    uint32_t  i, max;

    (void) state;

    max = S0->head->max_tallies;
    assert_in_range(max, 100, 128);

    for (i = 1; i < max; i++) {
        snprintf(name, sizeof(name), "t%u", i);
        assert_int_equal(row_of(S0, MCP_TALLY_KIND_TOOL, name, MCP_OK), i);
    }

    assert_int_equal(row_of(S0, MCP_TALLY_KIND_TOOL, "more", MCP_ERR_FULL),
                     MCP_TALLY_OTHER);
    assert_int_equal(row_of(S0, MCP_TALLY_KIND_TOOL, "t1", MCP_OK), 1);
}


static void
test_count(void **state)
{
    size_t       i;
    uint32_t     row;
    mcp_tally_t  tally;

    static const uint64_t  times[] = { 0, 10, 11, 5000, 300000, 300001 };

    (void) state;

    row = row_of(S0, MCP_TALLY_KIND_TOOL, "echo", MCP_OK);

    for (i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        mcp_store_tally_count(i % 2 ? S1 : S0, row, MCP_ENDING_OK, times[i]);
    }

    mcp_store_tally_count(S1, row, MCP_ENDING_EXPIRED, 20);

    mcp_store_tally_get(S0, row, &tally);
    assert_int_equal(tally.results[MCP_ENDING_OK], 6);
    assert_int_equal(tally.results[MCP_ENDING_EXPIRED], 1);
    assert_int_equal(tally.results[MCP_ENDING_FAULT], 0);
    assert_int_equal(tally.buckets[0], 2);
    assert_int_equal(tally.buckets[1], 2);
    assert_int_equal(tally.buckets[8], 1);
    assert_int_equal(tally.buckets[13], 1);
    assert_int_equal(tally.buckets[14], 1);
    assert_int_equal(tally.sum, 21 + 5000 + 600001 + 20);
    assert_int_equal(tally.failed_at, 0);
}


static void
fail_once(uint64_t at, uint32_t row, unsigned result, const char *principal)
{
    mcp_tally_failure_t  failure;

    memset(&failure, 0, sizeof(failure));

    failure.at = at;
    failure.row = row;
    failure.result = result;
    failure.reason = MCP_REASON_BACKEND_TIMEOUT;
    mcp_tally_principal(failure.principal, test_str(principal));

    mcp_store_tally_failed(S0, &failure);
}


static void
test_failures(void **state)
{
    unsigned             i;
    uint32_t             row;
    mcp_tally_t          tally;
    mcp_tally_failure_t  out[MCP_TALLY_RECENT + 8];

    (void) state;

    row = row_of(S0, MCP_TALLY_KIND_TOOL, "echo", MCP_OK);
    assert_int_equal(mcp_store_tally_recent(S1, out, 10), 0);

    fail_once(1000, row, MCP_ENDING_FAULT, "alice");
    fail_once(1001, row, MCP_TALLY_REFUSED, "bob");

    assert_int_equal(mcp_store_tally_recent(S1, out, 10), 2);
    assert_int_equal(out[0].at, 1001);
    assert_int_equal(out[0].result, MCP_TALLY_REFUSED);
    assert_string_equal(out[0].principal, "bob");
    assert_string_equal(out[1].principal, "alice");
    assert_int_equal(out[1].reason, MCP_REASON_BACKEND_TIMEOUT);
    assert_int_equal(mcp_store_tally_recent(S1, out, 1), 1);

    /* what was refused is no call */

    mcp_store_tally_get(S0, row, &tally);
    assert_int_equal(tally.failed_at, 1000);
    assert_int_equal(tally.failed, MCP_ENDING_FAULT);

    for (i = 0; i < 500; i++) {
        fail_once(2000 + i, row, MCP_ENDING_LOST, "");
    }

    assert_int_equal(mcp_store_tally_recent(S1, out, MCP_TALLY_RECENT + 8),
                     MCP_TALLY_RECENT);
    assert_int_equal(out[0].at, 2499);
    assert_int_equal(out[MCP_TALLY_RECENT - 1].at, 2499 - 62);
}


/* A process dies with the lock, in the middle of a row, and of a failure. */
static void
test_killed(void **state)
{
    unsigned             i;
    uint32_t             row;
    mcp_tally_t          tally;
    mcp_store_tally_t   *half;
    mcp_tally_failure_t  out[MCP_TALLY_RECENT];

    (void) state;

    row = row_of(S0, MCP_TALLY_KIND_TOOL, "echo", MCP_OK);
    mcp_store_tally_count(S0, row, MCP_ENDING_OK, 1);

    for (i = 0; i < 100; i++) {
        fail_once(1 + i, row, MCP_ENDING_FAULT, "");
    }

    half = &mcp_store_tallies(S0->head)[row + 1];
    memset(half, 0xee, sizeof(mcp_store_tally_t));
    memset(&mcp_store_failures(S0->head)[100 % MCP_STORE_FAILURES], 0xee,
           sizeof(mcp_store_failure_t));

    d.died = 1;
    assert_int_equal(row_of(S1, MCP_TALLY_KIND_TOOL, "ping", MCP_OK), row + 1);
    assert_int_equal(store_counter(&d, MCP_COUNT_REPAIRS), 1);

    mcp_store_tally_get(S1, row + 1, &tally);
    assert_string_equal(tally.name, "ping");
    assert_int_equal(tally.results[MCP_ENDING_OK], 0);
    assert_int_equal(tally.sum, 0);

    mcp_store_tally_get(S1, row, &tally);
    assert_int_equal(tally.results[MCP_ENDING_OK], 1);

    assert_int_equal(mcp_store_tally_recent(S1, out, MCP_TALLY_RECENT),
                     MCP_TALLY_RECENT);

    for (i = 0; i < MCP_TALLY_RECENT; i++) {
        assert_int_equal(out[i].at, 100 - i);
    }
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        store_test(test_rows),
        store_test(test_names),
        store_test(test_full),
        store_test(test_count),
        store_test(test_failures),
        store_test(test_killed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

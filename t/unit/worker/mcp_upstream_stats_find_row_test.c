/* SPDX-License-Identifier: Apache-2.0 */

/* The rows of the MCP servers of a configuration. */

#include "core_cases.h"

#include "worker/mcp_worker_upstream.h"


static mcp_target_t  targets[3];


static int
setup_targets(void **state)
{
    setup(state);

    targets[0] = (mcp_target_t) { .name = mcp_str("@a"),
                                  .upstream = MCP_UPSTREAM_MODERN };
    targets[1] = (mcp_target_t) { .name = mcp_str("@b"),
                                  .upstream = MCP_UPSTREAM_OFF };
    targets[2] = (mcp_target_t) { .name = mcp_str("@c"),
                                  .upstream = MCP_UPSTREAM_SESSION };
    d.endpoint.targets = targets;
    d.endpoint.n_targets = 3;
    d.endpoint.catalog_key[0] = 1;
    d.endpoint.label = mcp_str("localhost/mcp");

    return 0;
}


static void
offer(unsigned process)
{
    mcp_worker_begin(d.process[process].worker, 1);
    mcp_worker_offer(d.process[process].worker, &d.endpoint);
    mcp_worker_begun(d.process[process].worker);
}


static mcp_store_upstream_row_t
row_of(unsigned process, unsigned target)
{
    return mcp_upstream_stats_find(d.process[process].worker, &d.endpoint,
                                   target);
}


TEST(each_mcp_server_has_one_statistics_row_that_all_processes_share)
{
    mcp_store_upstream_t  rows[MCP_STORE_UPSTREAMS];

    offer(0);
    offer(0);
    offer(1);

    assert_int_not_equal(row_of(0, 0), MCP_STORE_UPSTREAM_NONE);
    assert_int_not_equal(row_of(0, 2), row_of(0, 0));
    assert_int_equal(row_of(1, 0), row_of(0, 0));
    assert_int_equal(row_of(1, 2), row_of(0, 2));

    assert_int_equal(mcp_store_upstream_all(&d.process[0].store, rows), 2);
    assert_string_equal(rows[0].name, "@a");
    assert_int_equal(rows[0].revision, MCP_REVISION_2026_07_28);
    assert_string_equal(rows[1].name, "@c");
    assert_int_equal(rows[1].revision, MCP_REVISION_NONE);
}


TEST(endpoint_has_not_been_announced__its_server_gets_a_row_when_it_is_called)
{
    mcp_store_upstream_row_t  one, two;
    mcp_store_upstream_t      rows[MCP_STORE_UPSTREAMS];

    d.endpoint.catalog_key[0] = 0;
    d.endpoint.label = mcp_null_str;
    d.endpoint.identity = mcp_str("/one");
    one = row_of(0, 0);
    d.endpoint.identity = mcp_str("/two");
    two = row_of(0, 0);

    assert_int_not_equal(one, two);
    assert_int_equal(row_of(0, 0), two);
    assert_int_equal(row_of(1, 0), two);
    assert_int_equal(mcp_store_upstream_all(&d.process[0].store, rows), 2);
    assert_string_equal(rows[0].endpoint, "/one");
    assert_string_equal(rows[1].endpoint, "/two");
}


TEST(no_statistics_row_is_left_for_an_mcp_server__this_is_logged)
{
    unsigned  i;

    d.endpoint.n_targets = 1;

    for (i = 0; i < MCP_STORE_UPSTREAMS; i++) {
        d.endpoint.catalog_key[0] = (unsigned char) (10 + i);
        offer(0);
    }

    d.endpoint.catalog_key[0] = 1;
    offer(0);
    has(d.te.last, "the status page does not show the MCP server \"@a\" of "
                   "the endpoint \"localhost/mcp\", because the zone has no "
                   "free row: ");
    assert_int_equal(row_of(0, 0), MCP_STORE_UPSTREAM_NONE);
}


RUN_TESTS(setup_targets, teardown)

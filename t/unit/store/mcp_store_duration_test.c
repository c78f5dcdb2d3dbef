/* SPDX-License-Identifier: Apache-2.0 */

/* Durations of requests: one histogram for each combination of attributes,
 * until the table is full. */


#include "store_fixture.h"

#include "store/mcp_store_layout.h"


static const mcp_duration_key_t  ping = {
    3, MCP_METHOD_PING, MCP_REVISION_2025_11_25, MCP_ERROR_TYPE_NONE
};


/* Copies the histogram with these attributes. Returns 0 if there is none. */
static int
find(const mcp_duration_key_t *key, mcp_duration_t *out)
{
    uint32_t  i;

    for (i = 0; i < mcp_store_durations(S0); i++) {
        if (mcp_store_duration_get(S0, i, out) && out->key.row == key->row
            && out->key.method == key->method
            && out->key.revision == key->revision
            && out->key.error == key->error)
        {
            return 1;
        }
    }

    return 0;
}


static uint64_t
counted(const mcp_duration_t *duration)
{
    unsigned  i;
    uint64_t  n;

    for (n = 0, i = 0; i < MCP_CALL_STATS_BUCKETS; i++) {
        n += duration->buckets[i];
    }

    return n;
}


TEST(each_duration_is_counted_in_its_bucket_and_added_to_the_sum)
{
    mcp_duration_t  duration;

    assert_false(find(&ping, &duration));

    mcp_store_duration_count(S0, &ping, 50, 50);
    mcp_store_duration_count(S1, &ping, 50, 60);
    mcp_store_duration_count(S0, &ping, 50, 61);
    mcp_store_duration_count(S1, &ping, 50, 300050);
    mcp_store_duration_count(S0, &ping, 50, 300051);

    /* the clock was set back */

    mcp_store_duration_count(S0, &ping, 50, 49);

    assert_true(find(&ping, &duration));
    assert_int_equal(duration.buckets[0], 3);
    assert_int_equal(duration.buckets[1], 1);
    assert_int_equal(duration.buckets[MCP_CALL_STATS_BUCKETS - 2], 1);
    assert_int_equal(duration.buckets[MCP_CALL_STATS_BUCKETS - 1], 1);
    assert_int_equal(duration.sum, 600022);
}


/* Each attribute distinguishes histograms. */
TEST(each_combination_of_request_attributes_has_its_own_duration_histogram)
{
    size_t              i;
    mcp_duration_t      duration;
    mcp_duration_key_t  keys[5] = { ping, ping, ping, ping, ping };

    keys[1].row = 1023;
    keys[2].method = MCP_METHOD_UNKNOWN;
    keys[3].revision = MCP_REVISION_NONE;
    keys[4].error = MCP_ERROR_TYPE_TOOL;

    for (i = 0; i < 5; i++) {
        mcp_store_duration_count(S0, &keys[i], 50, 51 + i);
    }

    for (i = 0; i < 5; i++) {
        assert_true(find(&keys[i], &duration));
        assert_int_equal(duration.sum, i + 1);
        assert_int_equal(counted(&duration), 1);
    }
}


/* With a full table, further combinations are counted by success only, and the
 * others still by all attributes. */
TEST(histogram_table_is_full__further_durations_use_a_shared_histogram)
{
    uint32_t            i, n;
    uint64_t            all;
    mcp_duration_t      duration;
    mcp_duration_key_t  key, rest;

    mcp_store_duration_count(S0, &ping, 50, 51);
    key = ping;
    n = 2 * mcp_store_durations(S0);

    for (i = 0; i < n; i++) {
        key.row = 1000 + i / 2;
        key.error = i % 2 ? MCP_ERROR_TYPE_TOOL : MCP_ERROR_TYPE_NONE;
        mcp_store_duration_count(S0, &key, 50, 51);
    }

    mcp_store_duration_count(S0, &ping, 50, 51);
    assert_true(find(&ping, &duration));
    assert_int_equal(duration.sum, 2);

    rest = (mcp_duration_key_t) { MCP_CALL_STATS_OTHER, MCP_METHOD_UNKNOWN,
                                  MCP_REVISION_NONE, MCP_ERROR_TYPE_NONE };
    assert_true(find(&rest, &duration));
    rest.error = MCP_ERROR_TYPE_OTHER;
    assert_true(find(&rest, &duration));

    for (all = 0, i = 0; i < mcp_store_durations(S0); i++) {
        if (mcp_store_duration_get(S0, i, &duration)) {
            all += counted(&duration);
        }
    }

    assert_int_equal(all, n + 2);
}


/* A message whose attributes are the labels of the histogram that counts the
 * messages for which no histogram was free: no second one is made. */
TEST(request_has_the_attributes_of_the_shared_histogram__no_other_is_created)
{
    uint32_t            i, found;
    mcp_duration_t      duration;
    mcp_duration_key_t  key = { MCP_CALL_STATS_OTHER, MCP_METHOD_UNKNOWN,
                                MCP_REVISION_NONE, MCP_ERROR_TYPE_OTHER };

    mcp_store_duration_count(S0, &key, 50, 51);

    for (found = 0, i = 0; i < mcp_store_durations(S0); i++) {
        if (mcp_store_duration_get(S0, i, &duration)) {
            assert_int_equal(i, 1);
            found++;
        }
    }

    assert_int_equal(found, 1);
}


RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: Apache-2.0 */

/* The zone as a node of a cluster: its id, its leader, and the state that its
 * processes record. */

#include "test_env.h"

#include "store/mcp_store_layout.h"


#define ZONE   (256 * 1024)
#define SLOTS  3


static uint64_t  held;


static void         *zone;
static mcp_store_t   store[SLOTS];
static int           unlockable;


static int
take(void *ctx)
{
    return unlockable ? MCP_ERR_INTERNAL : MCP_OK;
}


static void
give(void *ctx)
{
}


static void
wake(void *ctx, unsigned slot)
{
}


static void
attach(unsigned slot, uint64_t pid)
{
    mcp_store_glue_t  glue = { take, give, NULL, wake, NULL };

    assert_ok(mcp_store_attach(&store[slot], zone, &glue, slot, pid));
}


static int
setup(void **state)
{
    unsigned  i;

    zone = malloc(ZONE);
    assert_non_null(zone);
    assert_ok(mcp_store_format(zone, ZONE));
    unlockable = 0;

    for (i = 0; i < SLOTS; i++) {
        attach(i, 100 + i);
    }

    return 0;
}


static int
teardown(void **state)
{
    free(zone);

    return 0;
}


TEST(two_processes_replace_their_common_node_id__the_first_id_is_kept)
{
    uint64_t  id;

    id = mcp_store_node_id(&store[0]);
    assert_true(id != 0);
    assert_true(mcp_store_node_id(&store[1]) == id);

    /* two processes replace the node's id: the first one succeeds */

    mcp_store_node_renew(&store[0], id, 7);
    mcp_store_node_renew(&store[1], id, 8);
    assert_true(mcp_store_node_id(&store[1]) == 7);

    /* a new zone has another id */

    assert_ok(mcp_store_format(zone, ZONE));
    assert_true(mcp_store_node_id(&store[0]) != id);
}


/* One process is the leader until it resigns or is declared dead. */
TEST(one_process_is_leader_of_its_node_until_it_resigns_or_dies)
{
    assert_int_equal(mcp_store_node_lead(&store[1], 0, 0), 1);
    assert_int_equal(mcp_store_node_lead(&store[0], 0, 0), 0);
    assert_int_equal(mcp_store_node_lead(&store[1], 0, 0), 1);

    mcp_store_node_resign(&store[0]);
    assert_int_equal(mcp_store_node_lead(&store[2], 0, 0), 0);

    mcp_store_node_resign(&store[1]);
    assert_int_equal(mcp_store_node_lead(&store[2], 0, 0), 1);
    assert_int_equal(mcp_store_node_lead(&store[1], 0, 0), 0);

    mcp_store_reclaim(&store[0], 2, 102);
    assert_int_equal(mcp_store_node_lead(&store[2], 0, 0), 1);
    assert_int_equal(mcp_store_node_lead(&store[0], 0, 0), 1);
    assert_int_equal(mcp_store_node_lead(&store[2], 0, 0), 0);

    /* a new process in the slot of the previous leader: not the leader */

    mcp_store_reclaim(&store[1], 0, 100);
    attach(0, 200);
    assert_int_equal(mcp_store_node_lead(&store[1], 0, 0), 1);
    assert_int_equal(mcp_store_node_lead(&store[0], 0, 0), 0);

    /* the lock cannot be taken: no leader */

    mcp_store_node_resign(&store[1]);
    unlockable = 1;
    assert_int_equal(mcp_store_node_lead(&store[1], 0, 0), 0);
}


/* A leader that has reported no activity for longer than the limit is
 * replaced. */
TEST(leader_is_silent_longer_than_the_limit__another_process_becomes_leader)
{
    assert_int_equal(mcp_store_node_lead(&store[0], 1000, 50), 1);
    assert_int_equal(mcp_store_node_lead(&store[1], 1050, 50), 0);
    mcp_store_node_leader_reply(&store[1], 2000);
    mcp_store_node_leader_reply(&store[0], 1010);
    assert_int_equal(mcp_store_node_lead(&store[1], 900, 50), 0);
    assert_int_equal(mcp_store_node_lead(&store[1], 1060, 50), 0);
    assert_int_equal(mcp_store_node_lead(&store[1], 1061, 50), 1);
    assert_int_equal(mcp_store_node_is_leader(&store[0]), 0);
    assert_int_equal(mcp_store_node_lead(&store[2], 1111, 50), 0);

    /* mcp_store_node_has_other(): only live processes with MCP_NODE_LINK_LEADS
     * count */

    assert_int_equal(mcp_store_node_has_other(&store[0]), 0);
    mcp_store_node_link(&store[0], MCP_NODE_LINK_LEADS, 0);
    mcp_store_node_link(&store[1], MCP_NODE_LINK_IS_UP, 0);
    assert_int_equal(mcp_store_node_has_other(&store[0]), 0);
    assert_int_equal(mcp_store_node_has_other(&store[1]), 1);
    mcp_store_reclaim(&store[1], 0, 100);
    assert_int_equal(mcp_store_node_has_other(&store[1]), 0);
}


TEST(node_info_combines_the_links_and_lags_of_live_processes)
{
    mcp_node_lag_t   lag[] = { { 3, 30, 90 }, { UINT64_MAX, 20, 80 } };
    mcp_node_info_t  info;

    assert_int_equal(mcp_store_node_info(&store[0], &info), MCP_ERR_NOT_FOUND);

    mcp_store_node_link(&store[0], MCP_NODE_LINK_IS_UP, 7);
    mcp_store_node_link(&store[1], MCP_NODE_LINK_IS_UP, 9);
    mcp_store_node_link(&store[2], MCP_NODE_LINK_LOST, 50);
    assert_ok(mcp_store_node_info(&store[0], &info));
    assert_int_equal(info.processes, 3);
    assert_int_equal(info.up, 2);
    assert_int_equal(info.round_trip, 9);

    mcp_store_node_link(&store[1], MCP_NODE_LINK_IS_UP, UINT64_MAX);
    assert_ok(mcp_store_node_info(&store[0], &info));
    assert_int_equal(info.round_trip, 0x1fffffff);

    /* the node's replication lag is the sum over its processes, and begins at
     * the earliest of their times */

    mcp_store_node_lag(&store[0], &lag[0]);
    mcp_store_node_lag(&store[1], &lag[1]);
    mcp_store_node_count(&store[0], MCP_NODE_TAKEN_OVER);
    assert_ok(mcp_store_node_info(&store[2], &info));
    assert_int_equal(info.lag.events, 3 + (uint64_t) UINT32_MAX);
    assert_int_equal(info.lag.bytes, 50);
    assert_int_equal(info.lag.since, 80);
    assert_int_equal(info.counts[MCP_NODE_TAKEN_OVER], 1);

    /* a process ends: its link and its lag are removed */

    mcp_store_reclaim(&store[0], 1, 101);
    mcp_store_node_link(&store[1], MCP_NODE_LINK_IS_UP, 5);
    mcp_store_node_lag(&store[1], &lag[0]);
    mcp_store_detach(&store[2]);
    assert_ok(mcp_store_node_info(&store[0], &info));
    assert_int_equal(info.processes, 1);
    assert_int_equal(info.round_trip, 7);
    assert_int_equal(info.lag.events, 3);
    assert_int_equal(info.lag.since, 90);

    unlockable = 1;
    assert_int_equal(mcp_store_node_info(&store[0], &info), MCP_ERR_INTERNAL);
}


TEST(node_info_has_the_last_error_and_members_and_tolerates_damaged_texts)
{
    char               text[400];
    mcp_node_view_t    view;
    mcp_node_info_t    info;
    mcp_store_head_t  *head;

    mcp_store_node_link(&store[0], MCP_NODE_LINK_IS_UP, 7);
    memset(&view, 0, sizeof(view));
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';

    view.at = 5;
    view.offset = -3;
    view.n_members = 1;
    view.members[0].id = 17;
    strcpy(view.members[0].label, "there");

    assert_int_equal(mcp_store_node_error(&store[1], 1234, 100, text, &held),
                     1);
    mcp_store_node_standalone(&store[1], "no\xff\nkey");
    mcp_store_node_view(&store[1], &view);

    assert_ok(mcp_store_node_info(&store[0], &info));
    assert_true(info.id == mcp_store_node_id(&store[0]));
    assert_int_equal(info.error_at, 1234);
    assert_int_equal(strlen(info.error), MCP_NODE_REASON_MAX);
    assert_string_equal(info.standalone, "no??key");
    assert_memory_equal(&info.view, &view, sizeof(view));

    mcp_store_node_standalone(&store[1], "");
    assert_ok(mcp_store_node_info(&store[0], &info));
    assert_string_equal(info.standalone, "");

    /* texts and a list without an end, as if a process had died while it wrote
     * them: reads stay within bounds */

    head = zone;
    memset(&head->node.view, 0xff, sizeof(view));
    memset(head->node.error, 'x', sizeof(head->node.error));
    assert_ok(mcp_store_node_info(&store[0], &info));
    assert_int_equal(info.view.n_members, MCP_NODE_MEMBERS);
    assert_int_equal(strlen(info.error), MCP_NODE_REASON_MAX);
    assert_int_equal(info.view.members[3].label[MCP_NODE_LABEL_MAX], 0);
    assert_int_equal(info.view.members[3].build[MCP_NODE_BUILD_MAX], 0);

    unlockable = 1;
    assert_int_equal(mcp_store_node_error(&store[1], 1, 0, "a", &held), 1);
    assert_int_equal(mcp_store_node_well(&store[1]), 0);
    mcp_store_node_standalone(&store[1], "a");
    mcp_store_node_view(&store[1], &view);
    assert_string_equal(head->node.standalone, "");
}


static int
logs(unsigned slot, uint64_t now, const char *text)
{
    return mcp_store_node_error(&store[slot], now, 100, text, &held);
}


/* Only one process of the node logs an error of the link in each interval. */
TEST(redis_links_of_several_processes_fail__one_error_per_interval_is_logged)
{
    held = 1;

    assert_int_equal(mcp_store_node_well(&store[0]), 0);
    assert_int_equal(logs(0, 1000, "a"), 1);
    assert_int_equal(logs(1, 1000, "b"), 0);
    assert_int_equal(logs(0, 1099, "c"), 0);
    assert_int_equal(logs(2, 1100, "d"), 1);
    assert_int_equal(held, 2);
    assert_int_equal(logs(0, 1101, "e"), 0);
    assert_int_equal(mcp_store_node_well(&store[1]), 1);
    assert_int_equal(mcp_store_node_well(&store[1]), 0);

    /* a link that goes down repeatedly: one log line per interval */

    assert_int_equal(logs(0, 1102, "f"), 0);
    assert_int_equal(held, 0);
    assert_int_equal(logs(0, 1200, "g"), 1);
    assert_int_equal(held, 2);
    mcp_store_node_insist(&store[1]);
    assert_int_equal(logs(0, 1201, "h"), 1);
}


RUN_TESTS(setup, teardown)

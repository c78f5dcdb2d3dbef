/* SPDX-License-Identifier: Apache-2.0 */

/* Positions in the node queue that are ahead of Redis's clock: the node
 * receives all new entries. */

#include "cluster_streams.h"


#define AHEAD  600000


static const char *
queue(int i, const char *what, const char *rest)
{
    char  text[200];

    snprintf(text, sizeof(text), "%s {mcp}:1:m:%016llx%s", what,
             (unsigned long long) node_info(0).id, rest);

    return command(i, text);
}


static mcp_node_position_t
position_of(mcp_node_position_e which)
{
    mcp_node_position_t  position;

    mcp_store_node_position(&nodes[0].store, which, &position);

    return position;
}


/* Node 0 receives an entry of its queue whose id is "ms" followed by "-3";
 * "ms" is far ahead of Redis's clock. */
static void
receive_beyond(uint64_t ms)
{
    char  text[80];

    begin_replicated(2, 0);
    snprintf(text, sizeof(text), " %llu-3 s x k q", (unsigned long long) ms);
    (void) queue(1, "XADD", text);
    UNTIL(position_of(MCP_NODE_QUEUE).ms == ms);
}


static void
rejoin(void)
{
    cut_off(0);
    UNTIL(nodes[0].cluster->state == MCP_CLUSTER_MEMBER);
    UNTIL(nodes[0].cluster->reading);
}


static void
answer(void)
{
    mcp_operation_spec_t  spec;

    memset(&spec, 0, sizeof(spec));
    spec.kind = MCP_OPERATION_CLIENT_INPUT;
    spec.input.what = MCP_OPERATION_INPUT_ANSWER;
    memcpy(spec.input.id, id_of('a'), MCP_STREAM_ID_LEN);
    memset(spec.input.session, 's', MCP_DIGEST_LEN);
    spec.input.data = mcp_str("{\"result\":{}}");

    assert_ok(mcp_cluster_start(nodes[1].cluster, &spec, NULL));
    UNTIL(info_of(0, 'a').posted);
}


/* The node queue is lost, so new entries have lower ids than the position: the
 * node receives them. */
TEST(node_queue_is_lost__entries_with_ids_lower_than_the_position_are_received)
{
    uint64_t  beyond = real_now() + AHEAD;

    receive_beyond(beyond);
    (void) queue(1, "DEL", "");
    rejoin();
    answer();
    assert_true(position_of(MCP_NODE_QUEUE).ms < beyond);
}


/* The queue is lost and has a new entry before the node joins again: that
 * entry and later ones are received. */
TEST(node_queue_was_lost_and_recreated__the_rejoining_node_gets_new_entries)
{
    uint64_t  beyond = real_now() + AHEAD;

    receive_beyond(beyond);
    (void) queue(1, "DEL", "");
    (void) queue(1, "XADD", " * s x k q");
    rejoin();
    UNTIL(position_of(MCP_NODE_QUEUE).ms < beyond);
    answer();
}


/* The queue is not lost: reading continues after the position, so no entry is
 * received twice. */
TEST(node_rejoins_and_its_queue_is_intact__reading_continues_after_the_position)
{
    uint64_t  beyond = real_now() + AHEAD;

    receive_beyond(beyond);
    rejoin();
    answer();
    assert_int_equal(position_of(MCP_NODE_QUEUE).ms, beyond);
    assert_int_equal(position_of(MCP_NODE_QUEUE).n, 4);
}


RUN_TESTS_WITH_REDIS(start)

/* SPDX-License-Identifier: Apache-2.0 */

/* Entries of the node queue: valid entries have their effect, others have
 * none. */

#include "cluster_streams.h"

#include "rpc/mcp_subscription.h"


static mcp_reply_t   items[32];
static mcp_reply_t  *list[32];
static mcp_reply_t   queue;


/* Processes an entry of the node queue about a stream. "text" has the names
 * and values of the other fields, for example "k t w 2"; "-" is replaced by
 * the value "1 0". */
static void
take(const char *stream, const char *text)
{
    size_t  n = 0;
    char    copy[256], *p, *save;

    snprintf(copy, sizeof(copy), "%s", text);
    memset(items, 0, sizeof(items));
    items[n++].text = mcp_str("s");
    items[n++].text = test_str(stream);

    for (p = strtok_r(copy, " =", &save); p; p = strtok_r(NULL, " =", &save)) {
        items[n++].text = test_str(strcmp(p, "-") ? p : "1 0");
    }

    queue.type = MCP_REPLY_ARRAY;
    queue.items = list;
    queue.n = n;

    while (n--) {
        items[n].type = MCP_REPLY_TEXT;
        list[n] = &items[n];
    }

    mcp_cluster_node_queue(nodes[0].cluster, &queue);
}


static const char *
name_of(char c)
{
    static char  name[MCP_STREAM_TEXT_LEN + 1];

    *mcp_stream_id_print(name, id_of(c)) = '\0';

    return name;
}


TEST(owner_applies_reports_of_the_current_reader_and_ignores_an_earlier_reader)
{
    begin_replicated(1, 4);

    take(name_of('a'), "k w w 3 a 2");
    assert_int_equal(info_of(0, 'a').consumer_slot, MCP_STORE_REMOTE_CONSUMER);
    assert_int_equal(info_of(0, 'a').sent_seq, 2);

    /* A reader reports sent events, or that it has left. Reports from an
     * earlier reader are ignored. Reports from the present reader take effect;
     * an event number beyond the last event counts as the last event. */

    take(name_of('a'), "k t w 2 a 4");
    assert_int_equal(info_of(0, 'a').sent_seq, 2);
    take(name_of('a'), "k t w 3 a 3");
    assert_int_equal(info_of(0, 'a').sent_seq, 3);
    take(name_of('a'), "k t w 3 a 9");
    assert_int_equal(info_of(0, 'a').sent_seq, 4);
    take(name_of('a'), "k g w 2 a 4");
    assert_int_equal(info_of(0, 'a').consumer_slot, MCP_STORE_REMOTE_CONSUMER);
    take(name_of('a'), "k g w 3 a 4");
    assert_int_equal(info_of(0, 'a').consumer_slot, MCP_STORE_NO_SLOT);
}


/* A client at node 1 listens to a task of node 0: it gets an event for each
 * change of the task. */
TEST(task_at_another_node_changes__a_listener_of_the_task_gets_an_event)
{
    mcp_operation_t        *op;
    unsigned char           topic[MCP_DIGEST_LEN];
    mcp_stream_ref_t        ref;
    mcp_operation_stream_t  wanted;
    mcp_stream_spec_t       spec;

    begin_all(2);
    make(0, 'a');
    ref = info_of(0, 'a').ref;
    assert_ok(mcp_store_keep(&nodes[0].store, &ref, real_now() + 60000,
                             real_now()));
    UNTIL(repl_state(0, 'a').created);

    fill_spec(&spec, 'l');
    spec.kind = MCP_STREAM_LISTEN;
    assert_ok(mcp_store_create(&nodes[1].store, &spec, real_now(), &ref));
    assert_ok(mcp_topic_task(id_of('a'), topic));
    assert_ok(mcp_store_subscribe(&nodes[1].store, &ref, topic));

    describe(&wanted, 'a', 0, 's');
    wanted.task = 1;
    wanted.listens = 1;
    op = mcp_mem_calloc(&nodes[1].te.env.mem, sizeof(mcp_operation_t));
    assert_non_null(op);
    op->worker = nodes[1].worker;
    assert_int_equal(start_stream(1, MCP_OPERATION_LOOKUP, &wanted, op),
                     MCP_AGAIN);
    run(1);
    assert_string_equal(about(0, "SCARD", 'b', 'a', ""), "1");
    all_expire(0);
    assert_int_equal(info_of(1, 'l').last_seq, 0);

    add_events(0, 'a', 1);
    UNTIL(info_of(1, 'l').last_seq == 1);
    add(0, 'a', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    UNTIL(info_of(1, 'l').last_seq == 2);
}


TEST(invalid_entries_of_the_node_queue_have_no_effect)
{
    size_t  i;

    static const char *const  texts[] = {
        "", "k n", "k",
        "k t", "k tt w 9", "kk t", "k t w", "k e", "k e q 5 m x",
        "k e q 5 m x r y l 9 x z", "k e l 9 x -", "k d w 9", "k f", "k ?",
        "k e q x m x r - l 1 x -"
    };

    begin_replicated(1, 1);

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        take(name_of('a'), texts[i]);
        take(name_of('b'), texts[i]);
        take("x", texts[i]);
        assert_int_equal(info_of(0, 'a').last_seq, 1);
        assert_int_equal(info_of(0, 'a').consumer_slot, 0);
    }
}


RUN_TESTS_WITH_REDIS(start)

/* SPDX-License-Identifier: Apache-2.0 */

/* Streams wait for room on the link, and none is forgotten. */

#include "cluster_streams.h"


static unsigned
n_waiting(int i)
{
    unsigned            n = 0;
    mcp_replication_t  *copy;

    for (copy = nodes[i].cluster->waiting; copy; copy = copy->waits_next) {
        assert_false(copy->sending);
        assert_false(mcp_timer_armed(&copy->timer));
        n++;
    }

    return n;
}


static void
ignore(void *data, const mcp_reply_t *reply)
{
    (void) data;
    (void) reply;
}


/* Commands fill what copiers have of the window. */
static void
fill_window(int i)
{
    mcp_str_t    ping = mcp_str("PING");
    mcp_link_t  *link = &nodes[i].cluster->link;

    while (mcp_link_has_room(link)) {
        assert_int_equal(mcp_link_send(link, &ping, 1, ignore, NULL), MCP_OK);
    }

    assert_int_equal(link->n_pending, MCP_LINK_REPLICATIONS);
}


/* Frees it; its process is told when it looks. */
static void
lose(int i, char c)
{
    mcp_stream_info_t  info;

    info = info_of(i, c);
    mcp_store_free(&nodes[i].store, &info.ref);
}


/* When there is no room on the link streams wait for it, one after the other,
 * and go on as soon as replies have come. */
static void
test_room(void **state)
{
    char  c;

    needs_redis();

    begin_all(1);
    fill_window(0);

    for (c = 'a'; c <= 'e'; c++) {
        make(0, c);
    }

    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_waiting(0), 5);

    /* what changes meanwhile keeps its place, and what is gone leaves it */

    add_events(0, 'a', 1);
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_waiting(0), 5);
    assert_memory_equal(nodes[0].cluster->waiting->ref.id, id_of('a'),
                        MCP_STREAM_ID_LEN);
    lose(0, 'e');

    /* what a client's command depends on goes before it */

    mcp_replication_flush(nodes[0].cluster, id_of('c'));
    assert_int_equal(n_waiting(0), 4);
    assert_int_equal(nodes[0].cluster->link.n_pending,
                     MCP_LINK_REPLICATIONS + 1);

    UNTIL(n_waiting(0) == 0);
    UNTIL(copying(0, 'a').acked.seq == 1 && copying(0, 'b').created
          && copying(0, 'c').created && copying(0, 'd').created);
    assert_int_equal(n_copies(0), 4);
    end_all();
}


/* Who has waited goes first: what comes meanwhile takes no place from it,
 * though there is room by now. */
static void
test_turn(void **state)
{
    mcp_link_t  *link;

    needs_redis();

    begin_all(1);
    link = &nodes[0].cluster->link;
    fill_window(0);
    make(0, 'a');
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_waiting(0), 1);

    /* the replies come, and it is not looked at */

    nodes[0].cluster->state = MCP_CLUSTER_ASKING;
    run(0);
    nodes[0].cluster->state = MCP_CLUSTER_MEMBER;
    assert_int_equal(link->n_pending, 0);

    make(0, 'b');
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_waiting(0), 2);
    assert_int_equal(link->n_pending, 0);

    mcp_replication_continue(nodes[0].cluster);
    assert_int_equal(n_waiting(0), 0);
    assert_int_equal(link->n_pending, 2);
    UNTIL(copying(0, 'a').created && copying(0, 'b').created);
    end_all();
}


static void
answered(void *data, int rc)
{
    *(int *) data = rc;
}


static void
wants(int i, char c, int *rc)
{
    mcp_operation_t    *op;
    mcp_stream_info_t   info = info_of(i, c);

    op = mcp_mem_calloc(&nodes[i].te.env.mem, sizeof(mcp_operation_t));
    assert_non_null(op);
    op->worker = nodes[i].worker;
    op->handler = answered;
    op->data = rc;
    op->rc = MCP_AGAIN;
    *rc = MCP_AGAIN;
    assert_int_equal(mcp_cluster_replicated(nodes[i].cluster, &info.ref, op),
                     MCP_AGAIN);
}


/* What a client waits for does not wait for others' events. */
static void
test_wanted(void **state)
{
    int          first, second;
    mcp_link_t  *link;

    needs_redis();

    begin_all(1);
    link = &nodes[0].cluster->link;
    fill_window(0);
    make(0, 'a');
    make(0, 'b');
    wants(0, 'b', &second);
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_waiting(0), 1);
    assert_int_equal(link->n_pending, MCP_LINK_REPLICATIONS + 1);

    /* one that waits already leaves the row */

    wants(0, 'a', &first);
    assert_int_equal(n_waiting(0), 0);
    UNTIL(first == MCP_OK && second == MCP_OK);
    end_all();
}


/* A stream that is gone is forgotten in Redis at once: one with its id may
 * follow. */
static void
test_forget(void **state)
{
    mcp_replication_t  *copy;
    mcp_stream_info_t   info;

    needs_redis();

    begin_all(1);
    make(0, 'a');
    UNTIL(copying(0, 'a').created);
    info = info_of(0, 'a');
    copy = mcp_replication_get(nodes[0].cluster, &info.ref);
    fill_window(0);
    lose(0, 'a');
    mcp_replication_check(copy);
    assert_int_equal(nodes[0].cluster->link.n_pending,
                     MCP_LINK_REPLICATIONS + 1);
    assert_int_equal(n_copies(0), 0);
    run(0);
    assert_string_equal(about(0, "EXISTS", 'h', 'a', ""), "0");
    end_all();
}


/* A node that is refused has nobody wait for room. */
static void
test_room_alone(void **state)
{
    needs_redis();

    begin_all(1);
    fill_window(0);
    make(0, 'a');
    make(0, 'b');
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_waiting(0), 2);
    mcp_replication_standalone(nodes[0].cluster);
    assert_null(nodes[0].cluster->waiting);
    UNTIL(n_copies(0) == 0);
    end_all();
}


/* The link knows what is a copier's. */
static void
test_copied(void **state)
{
    mcp_link_t  *link;

    needs_redis();

    begin_all(1);
    link = &nodes[0].cluster->link;
    make(0, 'a');
    mcp_worker_wake(nodes[0].worker);
    assert_true(link->copied > 0);
    assert_int_equal(link->copied, mcp_link_bytes(link));
    UNTIL(copying(0, 'a').created);
    assert_int_equal(link->copied, 0);
    end_all();
}


/* Nobody waits for room on a link that is lost. */
static void
test_room_lost(void **state)
{
    needs_redis();

    begin_all(1);
    fill_window(0);
    make(0, 'a');
    make(0, 'b');
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_waiting(0), 2);

    mcp_link_fail(&nodes[0].cluster->link, "as a test says");
    UNTIL(copying(0, 'a').created && copying(0, 'b').created);
    assert_int_equal(n_waiting(0), 0);

    fill_window(0);
    make(0, 'c');
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_waiting(0), 1);
    end_all();
}


/* What comes after it has its id has nothing of it. */
static void
made_anew(int i, char c)
{
    make(i, c);
    add_events(i, c, 1);
    UNTIL(copying(i, c).acked.seq == 1);
    assert_string_equal(about(i, "HGET", 'h', c, "l"), "1");
    assert_string_equal(about(i, "XLEN", 'e', c, ""), "1");
}


/* One that is gone while Redis cannot be told is forgotten later. */
static void
test_forget_away(void **state)
{
    needs_redis();

    begin_all(1);
    make(0, 'a');
    make(0, 'b');
    add_events(0, 'a', 3);
    add_events(0, 'b', 3);
    UNTIL(copying(0, 'a').acked.seq == 3 && copying(0, 'b').acked.seq == 3);
    cut_off(0);
    lose(0, 'a');
    lose(0, 'b');
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_copies(0), 2);
    made_anew(0, 'a');
    UNTIL(n_copies(0) == 1);
    assert_string_equal(about(0, "EXISTS", 'h', 'b', ""), "0");
    end_all();
}


/* One that is gone while it waits for room is forgotten without waiting. */
static void
test_forget_waiting(void **state)
{
    needs_redis();

    begin_all(1);
    make(0, 'a');
    add_events(0, 'a', 3);
    UNTIL(copying(0, 'a').acked.seq == 3);
    fill_window(0);
    add_events(0, 'a', 1);
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_waiting(0), 1);
    lose(0, 'a');
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_waiting(0), 0);
    assert_int_equal(n_copies(0), 0);
    made_anew(0, 'a');
    end_all();
}


/* What was on its way says nothing of what has its id by then. */
static void
test_forget_sending(void **state)
{
    needs_redis();

    begin_all(1);
    make(0, 'a');
    add_events(0, 'a', 3);
    UNTIL(copying(0, 'a').acked.seq == 3);
    add_events(0, 'a', 1);
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(nodes[0].cluster->link.n_pending, 1);
    lose(0, 'a');
    mcp_worker_wake(nodes[0].worker);
    made_anew(0, 'a');
    end_all();
}


/* What is over stays, also if Redis has it and its reply was lost. */
static void
test_over(void **state)
{
    mcp_replication_t  *copy;
    mcp_stream_info_t   info;

    needs_redis();

    begin_all(1);
    make(0, 'a');
    add(0, 'a', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    UNTIL(copying(0, 'a').acked.state == MCP_STATE_COMPLETED);
    info = info_of(0, 'a');
    copy = mcp_replication_get(nodes[0].cluster, &info.ref);
    copy->time = 0;
    lose(0, 'a');
    mcp_worker_wake(nodes[0].worker);
    UNTIL(n_copies(0) == 0);
    run(0);
    assert_string_equal(about(0, "EXISTS", 'h', 'a', ""), "1");
    end_all();
}


/* What was over is forgotten, if Redis has not got that. */
static void
test_over_lost(void **state)
{
    needs_redis();

    begin_all(1);
    make(0, 'a');
    add_events(0, 'a', 2);
    UNTIL(copying(0, 'a').acked.seq == 2);
    add(0, 'a', "{\"result\":{}}", 0, MCP_STATE_COMPLETED);
    mcp_worker_wake(nodes[0].worker);
    cut_off(0);
    lose(0, 'a');
    mcp_worker_wake(nodes[0].worker);
    UNTIL(nodes[0].cluster->state == MCP_CLUSTER_MEMBER && n_copies(0) == 0);
    assert_string_equal(about(0, "EXISTS", 'h', 'a', ""), "0");
    end_all();
}


/* Clients that keep the link busy do not keep streams from going on. */
static void
test_room_busy(void **state)
{
    needs_redis();

    begin_all(1);
    fill_window(0);
    make(0, 'a');
    make(0, 'b');
    mcp_worker_wake(nodes[0].worker);
    assert_int_equal(n_waiting(0), 2);
    mcp_replication_continue(nodes[0].cluster);
    assert_int_equal(n_waiting(0), 1);
    end_all();
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_turn),
        cmocka_unit_test(test_wanted),
        cmocka_unit_test(test_forget),
        cmocka_unit_test(test_room_alone),
        cmocka_unit_test(test_copied),
        cmocka_unit_test(test_room_lost),
        cmocka_unit_test(test_forget_away),
        cmocka_unit_test(test_forget_waiting),
        cmocka_unit_test(test_forget_sending),
        cmocka_unit_test(test_over),
        cmocka_unit_test(test_over_lost),
        cmocka_unit_test(test_room_busy),
    };

    return cmocka_run_group_tests(tests, start, stop);
}

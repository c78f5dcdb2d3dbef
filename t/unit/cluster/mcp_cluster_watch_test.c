/* SPDX-License-Identifier: Apache-2.0 */

/* A client comes to a node: the stream is there, or it is not its. */

#include "cluster_streams.h"


static void
test_mirror(void **state)
{
    uint64_t           seq;
    mcp_stream_info_t  info;

    needs_redis();

    begin_all(3);
    make(0, 'a');
    add_events(0, 'a', 4);
    UNTIL(copying(0, 'a').acked.seq == 4);

    come(1, 'a', 2, 's');
    info = info_of(1, 'a');
    assert_int_equal(info.last_seq, 4);
    assert_int_equal(info.first_seq, 3);
    assert_string_equal(info.name, "count");
    assert_string_equal(info.method, "tools/call");
    assert_int_equal(info.revision, MCP_REVISION_2025_11_25);
    assert_int_equal(info.session[0], 's');
    assert_int_equal(info.principal[0], 'p');
    assert_int_equal(info.max_wait, 60000);
    assert_int_equal(read_from(1, 'a', 2, &seq), MCP_AGAIN);
    assert_int_equal(seq, 4);

    /* again, from before what is here */

    come(1, 'a', 0, 's');
    assert_int_equal(read_from(1, 'a', 0, &seq), MCP_AGAIN);
    assert_int_equal(seq, 4);

    /* at a third one: that of the second ends */

    come(2, 'a', 3, 's');
    assert_int_equal(read_from(2, 'a', 3, &seq), MCP_AGAIN);
    UNTIL(info_of(1, 'a').consumer_slot == MCP_STORE_NO_SLOT);
    assert_string_equal(about(0, "HGET", 'h', 'a', "w"), "4");

    /* and at its own again */

    come(0, 'a', 4, 's');
    assert_int_equal(read_from(0, 'a', 4, &seq), MCP_AGAIN);
    UNTIL(info_of(2, 'a').consumer_slot == MCP_STORE_NO_SLOT);
    assert_int_equal(info_of(0, 'a').consumer_slot, 0);
    end_all();
}


static void
test_refused(void **state)
{
    needs_redis();

    begin_all(2);
    make(0, 'a');
    add_events(0, 'a', 1);
    UNTIL(copying(0, 'a').acked.seq == 1);

    /* another session; an event that is not there; another stream */

    come(1, 'a', 0, 'x');
    assert_false(is_at(1, 'a'));
    come(1, 'a', 2, 's');
    assert_false(is_at(1, 'a'));
    come(1, 'b', 0, 's');
    assert_false(is_at(1, 'b'));
    assert_string_equal(about(0, "HGET", 'h', 'a', "w"), "1");

    /* what in Redis is none of ours */

    (void) about(0, "SET", 'c', 'a', "x EX 60");
    come(1, 'a', 0, 's');
    assert_false(is_at(1, 'a'));
    assert_non_null(strstr(facts(1).error, "script watch"));
    end_all();
}


/* The link is lost before the reply. */
static void
test_lost(void **state)
{
    needs_redis();

    begin_all(2);
    make(0, 'a');
    add_events(0, 'a', 1);
    UNTIL(copying(0, 'a').acked.seq == 1);
    ask_for(1, 'a', 0, 's');
    cut_off(1);
    assert_false(is_at(1, 'a'));
    UNTIL(nodes[1].cluster->state == MCP_CLUSTER_MEMBER);
    come(1, 'a', 0, 's');
    assert_true(is_at(1, 'a'));

    /* and while it fetches, or tells */

    add_events(0, 'a', 900);
    UNTIL(info_of(1, 'a').last_seq > 1);
    cut_off(1);
    UNTIL(info_of(1, 'a').last_seq == 901
          || strcmp(about(0, "HGET", 'h', 'a', "n"), "") == 0);
    end_all();
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_mirror),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_lost),
    };

    return cmocka_run_group_tests(tests, start, stop);
}

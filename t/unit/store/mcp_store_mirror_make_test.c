/* SPDX-License-Identifier: Apache-2.0 */

/* Mirrors that a node creates because a request joins a stream of another
 * node. */

#include "store_fixture.h"


static const unsigned char  key[] = "what is asked for";
static mcp_stream_spec_t    spec;


static int
setup_mirror(void **state)
{
    store_spec(&spec, 1, 1);
    spec.join = key;

    return setup(state);
}


#define mirror_test(f)                                                        \
    cmocka_unit_test_setup_teardown(f, setup_mirror, teardown)


static void
mirrors(mcp_store_t *store, uint64_t after, mcp_stream_ref_t *ref)
{
    assert_int_equal(mcp_store_mirror(store, &spec, 1, after, 0, 10, ref),
                     MCP_OK);
}


static int
found(unsigned known, mcp_stream_info_t *info)
{
    mcp_stream_spec_t  asked = spec;

    asked.join_known = known;

    return mcp_store_join_find(S0, &asked, 20, info);
}


/* Requests can join a mirror while it is new or has a reader. The
 * information about the mirror contains the state that
 * mcp_store_mirror_joined() has set. */
static void
test_found(void **state)
{
    mcp_cursor_t        cursor;
    mcp_stream_ref_t    ref;
    mcp_stream_info_t   info;
    mcp_store_joined_t  joined = { 0 };

    (void) state;

    mirrors(S1, 4, &ref);
    assert_int_equal(found(0, &info), MCP_ERR_NOT_FOUND);
    assert_int_equal(found(1, &info), MCP_OK);
    assert_int_equal(info.last_seq, 4);
    assert_int_equal(info.held, 0);

    joined.held = 1;
    joined.attended = 1;
    joined.expires = 5000;
    joined.kept = 7;
    mcp_store_mirror_joined(S1, spec.id, &joined);
    assert_int_equal(mcp_store_join(S0, &ref, 5, 4, &cursor), MCP_OK);
    assert_int_equal(found(0, &info), MCP_OK);
    assert_int_equal(info.held, 1);
    assert_int_equal(info.attended, 1);
    assert_int_equal(info.expires, 5000);
    assert_int_equal(info.kept, 7);

    mcp_store_unwatch(S0, &ref, 5, 4, 30);
    assert_int_equal(found(0, &info), MCP_ERR_NOT_FOUND);
}


/* Another process requests a mirror that exists: if the mirror has a reader,
 * it keeps its feeding process; if it has none, the requesting process becomes
 * the feeding process. */
static void
test_again(void **state)
{
    mcp_cursor_t             cursor;
    mcp_stream_ref_t         ref, again;
    mcp_store_replication_state_t  repl_state;

    (void) state;

    mirrors(S1, 4, &ref);
    assert_int_equal(mcp_store_join(S0, &ref, 5, 4, &cursor), MCP_OK);
    mirrors(S0, 9, &again);
    assert_int_equal(ref.index, again.index);
    assert_int_equal(mcp_store_replication_state(S1, &ref, &repl_state),
                     MCP_OK);
    assert_int_equal(repl_state.readers, 1);
    assert_int_equal(mcp_store_replication_state(S0, &ref, &repl_state),
                     MCP_ERR_DENIED);

    mcp_store_unwatch(S0, &ref, 5, 4, 30);
    mirrors(S0, 4, &again);
    assert_int_equal(ref.index, again.index);
    assert_int_equal(mcp_store_replication_state(S0, &ref, &repl_state),
                     MCP_OK);
    assert_int_equal(repl_state.readers, 0);

    /* the mirror has no reader, and its last event is before the requested
     * position: the mirror is replaced */

    mirrors(S0, 9, &again);
    assert_int_equal(mcp_store_replication_state(S0, &again, &repl_state),
                     MCP_OK);
    assert_int_equal(repl_state.own.seq, 9);
}


/* An equal stream of this node is held: requests find the mirror instead of
 * the held stream, which remains. */
static void
test_place(void **state)
{
    mcp_stream_ref_t   ref, held;
    mcp_stream_spec_t  own;
    mcp_stream_info_t  info;

    (void) state;

    mirrors(S0, 4, &ref);
    store_spec(&own, 2, 1);
    own.join = key;
    own.held = 1;
    store_create(&d, 0, &own, &held);
    assert_int_equal(found(0, &info), MCP_OK);
    assert_memory_equal(&info.ref, &held, sizeof(held));
    assert_int_equal(info.held, 1);

    mirrors(S0, 4, &ref);
    assert_int_equal(found(1, &info), MCP_OK);
    assert_memory_equal(&info.ref, &ref, sizeof(ref));

    mcp_store_free(S0, &held);
    assert_int_equal(found(1, &info), MCP_OK);

    /* a stream of this node cannot have a mirror */

    spec = own;
    spec.id[0] ^= 1;
    spec.params[0] ^= 1;
    store_create(&d, 0, &own, &held);
    assert_int_equal(mcp_store_mirror(S0, &own, 1, 0, 0, 10, &ref),
                     MCP_ERR_EXISTS);
    mcp_store_join_release(S0, &held);
    assert_int_equal(mcp_store_info(S0, &held, &info), MCP_OK);
    assert_int_equal(info.held, 0);
}


/* The client that began the call resumes at this node, and needs events from
 * before the mirror's first event: MCP_ERR_DENIED, because joined readers use
 * the mirror. */
static void
test_resumed(void **state)
{
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref, again;
    mcp_stream_info_t  info;

    (void) state;

    mirrors(S0, 4, &ref);
    assert_int_equal(mcp_store_join(S0, &ref, 5, 4, &cursor), MCP_OK);
    assert_int_equal(mcp_store_mirror(S0, &spec, 1, 2, 7, 10, &again),
                     MCP_ERR_DENIED);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_OK);
    assert_int_equal(mcp_store_mirror(S0, &spec, 1, 4, 7, 10, &again),
                     MCP_OK);
    assert_int_equal(again.index, ref.index);

    /* the last joined reader has left: the mirror is replaced for the
     * client */

    mcp_store_unwatch(S0, &ref, 5, 4, 30);
    assert_int_equal(mcp_store_mirror(S0, &spec, 1, 2, 8, 10, &again),
                     MCP_OK);
    assert_int_equal(mcp_store_info(S0, &ref, &info), MCP_ERR_NOT_FOUND);
    store_sound(&d);
}


/* The feeding process dies: the process of a joined reader becomes the feeding
 * process. */
static void
test_successor(void **state)
{
    mcp_cursor_t             cursor;
    mcp_stream_ref_t         ref;
    mcp_store_replication_state_t  repl_state;

    (void) state;

    mirrors(S1, 4, &ref);
    assert_int_equal(mcp_store_join(S0, &ref, 5, 4, &cursor), MCP_OK);
    mcp_store_reclaim(S0, 1, mcp_store_slot_pid(S0, 1));
    assert_int_equal(mcp_store_replication_state(S0, &ref, &repl_state),
                     MCP_OK);
    assert_int_equal(repl_state.readers, 1);
    assert_memory_equal(repl_state.join, key, MCP_DIGEST_LEN);
    mcp_store_unwatch(S0, &ref, 5, 4, 30);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        mirror_test(test_found),
        mirror_test(test_resumed),
        mirror_test(test_again),
        mirror_test(test_place),
        mirror_test(test_successor)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

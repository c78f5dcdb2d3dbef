/* SPDX-License-Identifier: Apache-2.0 */

#include "store_fixture.h"


static const unsigned char  key[] = "what is asked for";


static void
spec_join(mcp_stream_spec_t *spec, unsigned id, unsigned once)
{
    store_spec(spec, id, 1);
    spec->join = key;
    spec->join_once = once;
    spec->params[0] = 1;
}


static void
test_found(void **state)
{
    mcp_stream_ref_t   ref, other;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    spec_join(&spec, 1, 0);
    assert_int_equal(mcp_store_join_find(S0, &spec, 1, &info),
                     MCP_ERR_NOT_FOUND);
    store_create(&d, 0, &spec, &ref);

    /* a process finds the call of another process */

    assert_int_equal(mcp_store_join_find(S1, &spec, 1, &info), MCP_OK);
    assert_memory_equal(&info.ref, &ref, sizeof(ref));
    assert_int_equal(info.owner_slot, 0);

    spec_join(&spec, 2, 0);
    assert_int_equal(mcp_store_create(S1, &spec, 1, &other), MCP_ERR_EXISTS);

    spec.params[0] = 2;
    assert_int_equal(mcp_store_join_find(S1, &spec, 1, &info),
                     MCP_ERR_DENIED);
    assert_int_equal(mcp_store_create(S1, &spec, 1, &other), MCP_ERR_DENIED);

    spec.join = (const unsigned char *) "another question";
    assert_int_equal(mcp_store_join_find(S1, &spec, 1, &info),
                     MCP_ERR_NOT_FOUND);
    store_create(&d, 1, &spec, &other);
    store_sound(&d);

    /* the stream is freed: no longer found */

    mcp_store_free(S1, &ref);
    spec_join(&spec, 3, 0);
    assert_int_equal(mcp_store_join_find(S1, &spec, 1, &info),
                     MCP_ERR_NOT_FOUND);
    store_create(&d, 1, &spec, &ref);
}


/* A stream that is created together with its consumer is never without a
 * consumer in between, so that it never counts as abandoned. */
static void
test_consumer(void **state)
{
    int                taken;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    spec_join(&spec, 1, 1);
    spec.consumer = 7;
    store_create(&d, 0, &spec, &ref);
    store_sound(&d);

    assert_int_equal(mcp_store_join_find(S1, &spec, 1, &info), MCP_OK);
    assert_int_equal(info.consumer_slot, 0);
    assert_int_equal(info.consumer_handle, 7);

    assert_int_equal(mcp_store_watch(S0, &ref, 7, 0, &cursor, &taken),
                     MCP_OK);
    assert_int_equal(taken, 0);
    store_sound(&d);

    mcp_store_unwatch(S0, &ref, 7, 0, 2);
    assert_int_equal(mcp_store_join_find(S1, &spec, 2, &info), MCP_OK);
    assert_int_equal(info.consumer_slot, MCP_STORE_NO_SLOT);
}


/* Without join_once, requests can join a call that is over until its stream is
 * due to be freed. */
static void
test_over(void **state)
{
    int                taken;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    spec_join(&spec, 1, 0);
    spec.max_wait = 10;
    store_create(&d, 0, &spec, &ref);
    assert_int_equal(mcp_store_watch(S0, &ref, 1, 0, &cursor, &taken),
                     MCP_OK);
    store_append(&d, 0, &ref, mcp_str("over"), 0, MCP_STATE_COMPLETED);
    mcp_store_unwatch(S0, &ref, 1, 0, 100);

    /* not all events were sent: kept for "linger", because the call can be
     * joined and its max_wait is shorter than "linger" */

    assert_int_equal(mcp_store_join_find(S1, &spec, 5099, &info), MCP_OK);
    assert_int_equal(mcp_store_join_find(S1, &spec, 5100, &info),
                     MCP_ERR_NOT_FOUND);

    /* all events were sent: kept for "linger" */

    assert_int_equal(mcp_store_watch(S0, &ref, 1, 0, &cursor, &taken),
                     MCP_OK);
    mcp_store_unwatch(S0, &ref, 1, 1, 200);
    assert_int_equal(mcp_store_join_find(S1, &spec, 5199, &info), MCP_OK);
    assert_int_equal(info.state, MCP_STATE_COMPLETED);
    assert_int_equal(mcp_store_join_find(S1, &spec, 5200, &info),
                     MCP_ERR_NOT_FOUND);

    /* the stream is due to be freed: an equal call may create a stream */

    spec_join(&spec, 2, 0);
    assert_int_equal(mcp_store_create(S0, &spec, 5200, &ref), MCP_OK);
    store_sound(&d);

    mcp_store_set_state(S0, &ref, MCP_STATE_CANCELLED, 0);
    assert_int_equal(mcp_store_join_find(S1, &spec, 5201, &info),
                     MCP_ERR_NOT_FOUND);
}


/* With join_once, requests can join a call until its response was sent. */
static void
test_once(void **state)
{
    int                taken;
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref, again;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    spec_join(&spec, 1, 1);
    store_create(&d, 0, &spec, &ref);
    assert_int_equal(mcp_store_watch(S0, &ref, 1, 0, &cursor, &taken),
                     MCP_OK);
    assert_int_equal(mcp_store_join_find(S1, &spec, 1, &info), MCP_OK);
    store_append(&d, 0, &ref, mcp_str("over"), 0, MCP_STATE_COMPLETED);
    assert_int_equal(mcp_store_join_find(S1, &spec, 1, &info), MCP_OK);
    mcp_store_unwatch(S0, &ref, 1, 0, 2);
    assert_int_equal(mcp_store_join_find(S1, &spec, 2, &info), MCP_OK);

    /* joined readers continue after the call can no longer be joined */

    assert_int_equal(mcp_store_join(S1, &ref, 7, 0, &cursor), MCP_OK);
    assert_int_equal(mcp_store_join(S1, &ref, 8, 0, &cursor), MCP_OK);
    mcp_store_unwatch(S1, &ref, 8, 1, 3);
    assert_int_equal(mcp_store_join_find(S1, &spec, 3, &info),
                     MCP_ERR_NOT_FOUND);

    spec_join(&spec, 2, 1);
    store_create(&d, 1, &spec, &again);
    store_sound(&d);
    assert_int_equal(mcp_store_info(S1, &ref, &info), MCP_OK);
    assert_int_equal(info.unattended, 0);
    assert_int_equal(mcp_store_join_find(S0, &spec, 3, &info), MCP_OK);
    assert_memory_equal(&info.ref, &again, sizeof(again));

    mcp_store_free(S0, &again);
    assert_int_equal(mcp_store_join_find(S0, &spec, 3, &info),
                     MCP_ERR_NOT_FOUND);
    mcp_store_unwatch(S1, &ref, 7, 1, 3);
}


/* Calls and their joined readers survive a repair. */
static void
test_repair(void **state)
{
    mcp_cursor_t       cursor;
    mcp_stream_ref_t   ref, gone;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    spec_join(&spec, 1, 0);
    store_create(&d, 0, &spec, &gone);
    mcp_store_free(S0, &gone);
    spec_join(&spec, 2, 0);
    store_create(&d, 0, &spec, &ref);
    assert_int_equal(mcp_store_join(S1, &ref, 7, 0, &cursor), MCP_OK);

    S0->head->holder = 1;
    assert_int_equal(mcp_store_join_find(S1, &spec, 1, &info), MCP_OK);
    store_sound(&d);
    assert_memory_equal(&info.ref, &ref, sizeof(ref));
    assert_int_equal(info.unattended, 0);

    mcp_store_unwatch(S1, &ref, 7, 0, 4);
    assert_int_equal(mcp_store_info(S1, &ref, &info), MCP_OK);
    assert_int_equal(info.unattended, 4);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        store_test(test_found),
        store_test(test_consumer),
        store_test(test_over),
        store_test(test_once),
        store_test(test_repair)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

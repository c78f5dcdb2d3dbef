/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_promote(): a mirror becomes the stream itself and gets an owner,
 * and its readers get all events. */

#include "store_fixture.h"


static void
test_promote(void **state)
{
    uint64_t            seq;
    mcp_str_t           message = mcp_str("a");
    mcp_buf_t           request;
    mcp_store_raw_t     raw = { 0 };
    mcp_stream_ref_t    ref;
    mcp_stream_info_t   info;
    mcp_stream_spec_t   spec;
    mcp_store_replication_state_t repl_state;

    (void) state;

    store_spec(&spec, 1, 1);
    assert_int_equal(mcp_store_promote(S0, spec.id, 1), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_mirror(S0, &spec, 1, 4, 7, 10, &ref), MCP_OK);
    raw.seq = 5;
    raw.state = MCP_STATE_PROCESSING;
    assert_int_equal(mcp_store_mirror_append(S0, spec.id, &raw, message, 20),
                     MCP_OK);

    assert_int_equal(mcp_store_promote(S0, spec.id, 1), MCP_OK);
    assert_int_equal(mcp_store_promote(S0, spec.id, 1), MCP_ERR_NOT_FOUND);

    mcp_buf_init(&request, &d.tm.mem, 4096);
    assert_int_equal(mcp_store_adopt(S1, 30, &info, &request), MCP_OK);
    assert_memory_equal(info.ref.id, spec.id, MCP_STREAM_ID_LEN);
    assert_int_equal(info.owner_slot, S1->slot);
    assert_int_equal(info.last_seq, 5);
    assert_int_equal(info.replicated, 1);
    assert_true(mcp_str_eq((mcp_str_t) { request.data, request.len },
                           spec.request));
    mcp_buf_free(&request);
    assert_int_equal(mcp_store_adopt(S1, 30, &info, NULL), MCP_DONE);

    /* the new owner appends an event and replicates it */

    assert_int_equal(mcp_store_append(S1, &ref, message, 0, MCP_STATE_FAILED,
                                      40, &seq),
                     MCP_OK);
    assert_int_equal(seq, 6);
    assert_int_equal(mcp_store_replication_state(S1, &ref, &repl_state),
                     MCP_OK);
    assert_int_equal(repl_state.mirror, 0);
    assert_int_equal(repl_state.acked.seq, 5);
    assert_int_equal(repl_state.own.seq, 6);
    assert_int_equal(repl_state.reader, 7);
    assert_int_equal(mcp_store_acked(S1, &ref, &repl_state.own), MCP_OK);
    assert_int_equal(mcp_store_promote(S0, spec.id, 1), MCP_ERR_NOT_FOUND);
}


static size_t
published(const char *text)
{
    size_t     n;
    uint64_t   position = 0;
    mcp_str_t  message = { (char *) text, strlen(text) };

    assert_int_equal(store_publish(S1, TOPIC(1), message, 9, &position,
                                   &n),
                     MCP_OK);

    return n;
}


/* A promoted listener receives messages to its topics. */
static void
test_listener(void **state)
{
    mcp_store_raw_t          raw = { 0 };
    mcp_stream_ref_t         ref;
    mcp_stream_info_t        info;
    mcp_stream_spec_t        spec;
    mcp_store_replication_state_t  repl_state;

    (void) state;

    store_spec(&spec, 1, 1);
    spec.kind = MCP_STREAM_LISTEN;
    spec.max_events = 2;
    assert_int_equal(mcp_store_mirror(S1, &spec, 1, 4, 7, 10, &ref), MCP_OK);
    assert_int_equal(mcp_store_subscribe(S1, &ref, TOPIC(1)), MCP_OK);

    /* the mirror of the listener is not promoted yet: messages to its topic
     * are not appended, and no event of the mirror is dropped */

    assert_int_equal(published("a"), 0);
    raw.state = MCP_STATE_PROCESSING;

    for (raw.seq = 5; raw.seq < 7; raw.seq++) {
        assert_int_equal(mcp_store_mirror_append(S1, spec.id, &raw,
                                                 mcp_str("b"), 20),
                         MCP_OK);
    }

    assert_int_equal(mcp_store_mirror_append(S1, spec.id, &raw, mcp_str("b"),
                                             20),
                     MCP_ERR_LIMIT);
    assert_int_equal(mcp_store_replication_start(S1, &ref, 1), MCP_ERR_DENIED);

    assert_int_equal(mcp_store_promote(S0, spec.id, 1), MCP_OK);
    assert_int_equal(mcp_store_promote(S0, spec.id, 1), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_adopt(S0, 30, &info, NULL), MCP_DONE);
    store_sound(&d);

    assert_int_equal(published("c"), 1);
    assert_int_equal(mcp_store_replication_state(S0, &ref, &repl_state),
                     MCP_OK);
    assert_int_equal(repl_state.mirror, 0);
    assert_int_equal(repl_state.own.seq, 7);
    assert_int_equal(repl_state.acked.seq, 6);
    assert_int_equal(repl_state.first_seq, 6);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test_setup_teardown(test_promote, setup, teardown),
        cmocka_unit_test_setup_teardown(test_listener, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

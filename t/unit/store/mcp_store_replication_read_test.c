/* SPDX-License-Identifier: Apache-2.0 */

#include "store_fixture.h"


static void
shared(mcp_stream_ref_t *ref)
{
    mcp_stream_spec_t  spec;

    store_spec(&spec, 1, 1);
    store_create(&d, 0, &spec, ref);
    assert_int_equal(mcp_store_replication_start(S0, ref, 1), MCP_OK);
}


static void
say(const mcp_stream_ref_t *ref, const char *text, int answers,
    mcp_stream_state_e state)
{
    mcp_str_t  message = { (char *) text, strlen(text) };

    assert_int_equal(store_append(&d, 0, ref, message, answers, state),
                     MCP_OK);
}


/* mcp_store_replicator_read() reads complete events within the caller's
 * limits. */
static void
test_copy(void **state)
{
    char                    buf[5];
    mcp_store_raw_t         raw[2];
    mcp_store_replicator_t  copy = { 0 };
    mcp_stream_ref_t        ref;

    (void) state;

    shared(&ref);
    say(&ref, "abc", -1, MCP_STATE_PROCESSING);
    say(&ref, "de", 1 | MCP_STORE_ERROR, MCP_STATE_PROCESSING);
    say(&ref, "f", -1, MCP_STATE_PROCESSING);
    say(&ref, "too long", -1, MCP_STATE_PROCESSING);

    copy.raw = raw;
    copy.max = 2;
    copy.buf = buf;
    copy.cap = sizeof(buf);

    assert_int_equal(mcp_store_replicator_read(S0, &ref, &copy), MCP_OK);
    assert_int_equal(copy.n, 2);
    assert_memory_equal(buf, "abcde", 5);
    assert_int_equal(raw[1].offset, 3);
    assert_int_equal(raw[1].len, 2);
    assert_int_equal(raw[1].seq, 2);
    assert_int_equal(copy.at.answered, 2);
    assert_int_equal(copy.at.failed, 2);
    assert_int_equal(copy.at.failed_seq, 2);

    assert_int_equal(mcp_store_replicator_read(S0, &ref, &copy), MCP_OK);
    assert_int_equal(copy.n, 1);
    assert_int_equal(mcp_store_replicator_read(S0, &ref, &copy), MCP_ERR_LIMIT);
    assert_int_equal(copy.len, 8);

    assert_int_equal(mcp_store_acked(S0, &ref, &copy.at), MCP_OK);
    assert_int_equal(mcp_store_confirm(S1, &ref, 3), MCP_OK);
    copy.at.seq = 1;
    assert_int_equal(mcp_store_replicator_read(S0, &ref, &copy),
                     MCP_ERR_PURGED);

    copy.at.seq = 9;
    assert_int_equal(mcp_store_replicator_read(S0, &ref, &copy),
                     MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_acked(S0, &ref, &copy.at), MCP_ERR_NOT_FOUND);
}


/* mcp_store_replication_spec() returns the spec of the stream. */
static void
test_spec(void **state)
{
    mcp_buf_t          request;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec, got;
    mcp_stream_info_t  info;

    (void) state;

    store_spec(&spec, 1, 1);
    memset(spec.params, 9, MCP_DIGEST_LEN);
    spec.promised = 1;
    spec.max_events = 12;
    spec.max_bytes = 3456;
    spec.request = store_message(1, 1000);
    store_create(&d, 0, &spec, &ref);
    mcp_buf_init(&request, &d.tm.mem, 1500);
    mcp_buf_lit(&request, "before");

    assert_int_equal(mcp_store_replication_spec(S0, &ref, &got, &info,
                                                &request),
                     MCP_ERR_DENIED);
    assert_int_equal(mcp_store_replication_start(S0, &ref, 1), MCP_OK);
    assert_int_equal(mcp_store_replication_spec(S1, &ref, &got, &info,
                                                &request),
                     MCP_ERR_DENIED);
    assert_int_equal(mcp_store_replication_spec(S0, &ref, &got, &info,
                                                &request),
                     MCP_OK);

    assert_memory_equal(got.id, spec.id, MCP_STREAM_ID_LEN);
    assert_memory_equal(got.session, spec.session, MCP_DIGEST_LEN);
    assert_memory_equal(got.principal, spec.principal, MCP_DIGEST_LEN);
    assert_memory_equal(got.params, spec.params, MCP_DIGEST_LEN);
    assert_int_equal(got.kind, spec.kind);
    assert_int_equal(got.revision, spec.revision);
    assert_int_equal(got.max_wait, spec.max_wait);
    assert_int_equal(got.linger, spec.linger);
    assert_int_equal(got.promised, 1);
    assert_int_equal(got.max_events, 12);
    assert_int_equal(got.max_bytes, 3456);
    assert_int_equal(got.expires, 0);
    assert_int_equal(got.method.len, spec.method.len);
    assert_memory_equal(got.method.data, spec.method.data, got.method.len);
    assert_int_equal(got.name.len, spec.name.len);
    assert_memory_equal(got.name.data, spec.name.data, got.name.len);
    assert_int_equal(got.request.len, 1000);
    assert_memory_equal(got.request.data, spec.request.data, 1000);
    assert_int_equal(info.state, MCP_STATE_PROCESSING);

    assert_int_equal(mcp_store_replication_spec(S0, &ref, &got, &info,
                                                &request),
                     MCP_ERR_LIMIT);
    mcp_buf_free(&request);

    mcp_store_free(S1, &ref);
    assert_int_equal(mcp_store_replication_spec(S0, &ref, &got, &info,
                                                &request),
                     MCP_ERR_NOT_FOUND);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        store_test(test_copy),
        store_test(test_spec)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

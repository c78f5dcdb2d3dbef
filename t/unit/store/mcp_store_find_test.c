/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_find.c: finding streams, and the information about a stream. */


#include "store_fixture.h"


static void
test_create_and_find(void **state)
{
    char               name[300];
    mcp_buf_t          request;
    mcp_stream_ref_t   ref, other;
    mcp_stream_spec_t  spec;
    mcp_stream_info_t  info;

    (void) state;

    memset(name, 'n', sizeof(name));

    /* a character of two bytes at the limit of 127 bytes: truncation must not
     * split it */
    memcpy(name + 126, "\xc3\xa4", 2);

    store_spec(&spec, 1, 1);
    spec.name = (mcp_str_t) { name, sizeof(name) };
    spec.request = store_message(3, 5000);
    assert_int_equal(mcp_store_create(S0, &spec, 77, &ref), MCP_OK);
    assert_int_equal(mcp_store_create(S0, &spec, 77, &other),
                     MCP_ERR_EXISTS);

    assert_int_equal(mcp_store_find(S1, spec.id, 0, &info), MCP_OK);
    assert_int_equal(info.ref.index, ref.index);
    assert_memory_equal(info.ref.id, spec.id, MCP_STREAM_ID_LEN);
    assert_memory_equal(info.session, spec.session, MCP_DIGEST_LEN);
    assert_memory_equal(info.principal, spec.principal, MCP_DIGEST_LEN);
    assert_int_equal(info.kind, MCP_STREAM_CALL);
    assert_int_equal(info.state, MCP_STATE_PROCESSING);
    assert_int_equal(info.revision, 3);
    assert_int_equal(info.created, 77);
    assert_int_equal(info.unattended, 77);
    assert_int_equal(info.first_seq, 1);
    assert_int_equal(info.last_seq, 0);
    assert_int_equal(info.owner_slot, 0);
    assert_int_equal(info.consumer_slot, MCP_STORE_NO_SLOT);
    assert_string_equal(info.method, "tools/call");
    assert_int_equal(strlen(info.name), 126);
    assert_memory_equal(info.name, name, 126);

    spec.id[3]++;
    assert_int_equal(mcp_store_find(S1, spec.id, 0, &info), MCP_ERR_NOT_FOUND);
    memcpy(other.id, spec.id, MCP_STREAM_ID_LEN);
    other.index = ref.index;
    assert_int_equal(mcp_store_info(S1, &other, &info), MCP_ERR_NOT_FOUND);
    other.index = 0;
    assert_int_equal(mcp_store_info(S1, &other, &info), MCP_ERR_NOT_FOUND);
    other.index = UINT32_MAX;
    assert_int_equal(mcp_store_info(S1, &other, &info), MCP_ERR_NOT_FOUND);

    /* mcp_store_adopt() returns the complete request, even a long one */

    store_spec(&spec, 2, 2);
    spec.request = store_message(4, 300000);
    store_create(&d, 0, &spec, &ref);
    store_sound(&d);

    mcp_buf_init(&request, &d.tm.mem, 1024 * 1024);
    mcp_store_reclaim(S1, 0, 99);
    assert_int_equal(mcp_store_slot_pid(S1, 0), 100);
    mcp_store_reclaim(S1, 0, 100);
    assert_int_equal(mcp_store_adopt(S1, 5, &info, &request), MCP_OK);
    assert_str_is(((mcp_str_t) { info.method, strlen(info.method) }),
                  "tools/call");

    request.len = 0;
    assert_int_equal(mcp_store_adopt(S1, 5, &info, &request), MCP_OK);
    assert_int_equal(info.ref.index, ref.index);
    assert_int_equal(request.len, 300000);
    assert_memory_equal(request.data, store_message(4, 300000).data, 300000);
    mcp_buf_free(&request);
    store_attach(&d, 0, 100);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        store_test(test_create_and_find),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

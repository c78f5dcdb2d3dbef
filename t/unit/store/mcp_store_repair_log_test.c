/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_repair_log.c: broken logs. */


#include "store_fixture.h"


/* The log has damage that no crash causes, but a stray write might: the repair
 * removes the damage and terminates. */
static void
test_broken(void **state)
{
    unsigned            i;
    mcp_stream_ref_t    ref[8];
    mcp_stream_spec_t   spec;
    mcp_stream_info_t   info;
    mcp_store_head_t   *head;
    mcp_store_stream_t *st;

    (void) state;

    head = S0->head;

    for (i = 0; i < 8; i++) {
        store_spec(&spec, i, i);
        store_create(&d, 0, &spec, &ref[i]);
        store_append(&d, 0, &ref[i], store_message(i, 2000), -1,
                  MCP_STATE_PROCESSING);
        store_append(&d, 0, &ref[i], store_message(i, 2000), -1,
                  MCP_STATE_PROCESSING);
    }

    st = mcp_store_stream(head, ref[0].index);
    mcp_store_chunk(head, st->events.head)->next = st->events.head;
    st = mcp_store_stream(head, ref[1].index);
    st->events.head = UINT32_MAX;
    st = mcp_store_stream(head, ref[2].index);
    st->events.last = 1000;
    st = mcp_store_stream(head, ref[3].index);
    mcp_store_chunk(head, st->events.head)->used = 65535;
    st = mcp_store_stream(head, ref[4].index);
    mcp_store_chunk(head, st->text)->next = ref[6].index;
    st = mcp_store_stream(head, ref[5].index);
    st->events.head = mcp_store_stream(head, ref[4].index)->events.head;

    d.died = 1;
    assert_int_equal(mcp_store_info(S0, &ref[6], &info), MCP_OK);
    store_sound(&d);
    assert_int_equal(mcp_store_info(S0, &ref[0], &info), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_info(S0, &ref[5], &info), MCP_ERR_NOT_FOUND);
    assert_int_equal(mcp_store_info(S0, &ref[4], &info), MCP_OK);
    assert_int_equal(info.last_seq, 2);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        store_test(test_broken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

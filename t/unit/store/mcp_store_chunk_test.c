/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_chunk.c: chunks, chains, lists. */


#include "store_fixture.h"


TEST(chain_of_chunks_returns_the_written_bytes_and_freed_chunks_are_reused)
{
    char               out[4000];
    uint32_t           room;
    mcp_store_op_t     op;
    mcp_store_pos_t    pos;
    mcp_store_chain_t  a, b, all;

    assert_ok(mcp_store_enter(S0, &op));
    room = mcp_store_room(op.head, 1);
    assert_int_equal(mcp_store_room(op.head, 0), room - op.head->reserve);

    mcp_store_chain_take(&op, 0, &a);
    assert_int_equal(a.first, 0);
    mcp_store_chain_free(&op, a.first, a.last, a.count);

    mcp_store_chain_take(&op, 5, &a);
    mcp_store_chain_take(&op, 1, &b);
    assert_int_equal(b.first, b.last);
    assert_int_equal(mcp_store_room(op.head, 1), room - 6);

    /* writes all chunks of a chain, and reads them */

    pos.chunk = a.first;
    pos.offset = MCP_CHUNK_HEAD;
    mcp_store_copy_in(op.head, &pos, store_message(1, 1000).data, 1000);
    mcp_store_copy_in(op.head, &pos, NULL, 0);
    mcp_store_copy_in(op.head, &pos, store_message(2, 1200).data, 1200);

    pos.chunk = a.first;
    pos.offset = MCP_CHUNK_HEAD;
    assert_int_equal(mcp_store_copy_out(op.head, &pos, out, 1000), 1000);
    assert_memory_equal(out, store_message(1, 1000).data, 1000);
    assert_int_equal(mcp_store_copy_out(op.head, &pos, out, 4000), 1200);
    assert_memory_equal(out, store_message(2, 1200).data, 1200);
    assert_int_equal(mcp_store_copy_out(op.head, &pos, out, 1), 0);

    /* chain a is freed as a whole, chain b chunk by chunk: then a new chain
     * can take all chunks */

    mcp_store_chain_free(&op, a.first, a.last, a.count);
    mcp_store_chain_drop(&op, b.first);
    mcp_store_chain_drop(&op, 0);
    assert_int_equal(mcp_store_room(op.head, 1), room);

    assert_int_equal(mcp_store_ensure(&op, room + 1, 1), MCP_ERR_FULL);
    assert_int_equal(mcp_store_ensure(&op, room, 0), MCP_ERR_FULL);
    assert_ok(mcp_store_ensure(&op, room, 1));
    mcp_store_chain_take(&op, room, &all);
    assert_int_equal(mcp_store_room(op.head, 1), 0);
    assert_int_equal(mcp_store_room(op.head, 0), 0);
    mcp_store_chain_drop(&op, all.first);
    assert_int_equal(mcp_store_room(op.head, 1), room);

    mcp_store_leave(&op);
}


TEST(linked_list_stays_in_order_when_elements_are_added_and_removed)
{
    uint32_t           i, root;
    mcp_store_op_t     op;
    mcp_store_link_t  *link;
    mcp_store_list_t   list = { 0, 0 };

    assert_ok(mcp_store_enter(S0, &op));
    root = mcp_store_root_take(&op, MCP_CHUNK_NONE);
    link = (mcp_store_link_t *) mcp_store_chunk(op.head, root);

    mcp_store_list_remove(op.head, &list, &link[0]);
    assert_false(mcp_store_linked(&link[0]));

    /* prepend links 0, 1 and 2, and append links 3 and 4: the order is 2 1 0 3
     * 4 */

    for (i = 0; i < 3; i++) {
        mcp_store_list_prepend(op.head, &list, &link[i]);
    }

    mcp_store_list_append(op.head, &list, &link[3]);
    mcp_store_list_append(op.head, &list, &link[4]);
    assert_int_equal(list.first, mcp_store_ref(op.head, &link[2]));
    assert_int_equal(list.last, mcp_store_ref(op.head, &link[4]));

    /* remove a link in the middle, both ends, and the only one */

    mcp_store_list_remove(op.head, &list, &link[0]);
    assert_int_equal(link[1].next, mcp_store_ref(op.head, &link[3]));
    assert_int_equal(link[3].prev, mcp_store_ref(op.head, &link[1]));
    mcp_store_list_remove(op.head, &list, &link[2]);
    mcp_store_list_remove(op.head, &list, &link[4]);
    assert_int_equal(list.first, mcp_store_ref(op.head, &link[1]));
    assert_int_equal(list.last, mcp_store_ref(op.head, &link[3]));
    mcp_store_list_remove(op.head, &list, &link[3]);
    assert_true(mcp_store_linked(&link[1]));
    mcp_store_list_remove(op.head, &list, &link[1]);
    assert_false(mcp_store_linked(&link[1]));
    assert_int_equal(list.first, 0);
    assert_int_equal(list.last, 0);

    mcp_store_root_free(&op, root);
    mcp_store_leave(&op);
}


TEST(zone_lacks_room_for_a_whole_private_chain__the_chunks_taken_are_freed)
{
    uint32_t           room;
    mcp_str_t          parts[2];
    mcp_store_op_t     op;
    mcp_store_chain_t  a, b, c;

    room = mcp_store_room(S0->head, 1);
    parts[0] = mcp_str("tag");
    parts[1] = store_message(1, 700000);       /* a long part: copying it takes
                                                  the lock several times */

    assert_ok(mcp_store_private_make(S0, parts, 2, 16, 0, NULL, &a));
    assert_ok(mcp_store_private_make(S0, parts, 2, 16, 0, NULL, &b));
    store_sound(&d);

    /* no room for a third chain: the chunks that it had already taken are
     * freed */

    assert_int_equal(mcp_store_private_make(S0, parts, 2, 16, 0, NULL, &c),
                     MCP_ERR_FULL);
    store_sound(&d);
    assert_int_equal(mcp_store_room(S0->head, 1), room - a.count - b.count);

    /* a repair keeps the private chains of live processes */

    store_repair(&d);

    assert_ok(mcp_store_enter(S0, &op));
    assert_ok(mcp_store_private_claim(&op, &a));
    assert_int_equal(mcp_store_private_claim(&op, &a), MCP_ERR_INTERNAL);
    mcp_store_chain_free(&op, a.first, a.last, a.count);
    mcp_store_leave(&op);

    /* the process of the private chains is declared dead: they are freed */

    mcp_store_reclaim(S1, 0, 100);
    assert_int_equal(mcp_store_room(S0->head, 1), room);
    assert_int_equal(mcp_store_private_make(S0, parts, 2, 16, 0, NULL, &c),
                     MCP_ERR_INTERNAL);
    assert_ok(mcp_store_enter(S0, &op));
    assert_int_equal(mcp_store_private_claim(&op, &b), MCP_ERR_INTERNAL);
    mcp_store_leave(&op);
    store_attach(&d, 0, 100);
}


RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: Apache-2.0 */

/* mcp_store_entry.c: entries in their chunks, and groups. */


#include "store_fixture.h"


/* A chunk has seven entries; a freed entry is used again. */
TEST(freed_hash_entry_is_reused_and_a_chunk_without_entries_is_freed)
{
    unsigned            i;
    unsigned char       key[16] = { 0 };
    mcp_store_op_t      op;
    mcp_store_entry_t  *e[15], *again;

    assert_ok(mcp_store_enter(S0, &op));

    for (i = 0; i < 15; i++) {
        key[0] = (unsigned char) i;
        e[i] = mcp_store_entry_take(&op, 1);
        assert_non_null(e[i]);
        e[i]->purpose = 'p';
        memcpy(e[i]->key, key, sizeof(key));
        mcp_store_entry_publish(op.head, e[i], MCP_ENTRY_VALUE);
    }

    assert_int_equal(op.head->fresh, 4);

    for (i = 0; i < 15; i++) {
        key[0] = (unsigned char) i;
        assert_int_equal(mcp_store_index(op.head, e[i]), 1
                         + i / MCP_STORE_ENTRIES);
        assert_ptr_equal(mcp_store_entry_find(op.head, MCP_ENTRY_VALUE, 'p',
                                              key, 0), e[i]);
        assert_null(mcp_store_entry_find(op.head, MCP_ENTRY_VALUE, 'q', key,
                                         0));
        assert_null(mcp_store_entry_find(op.head, MCP_ENTRY_TOPIC, 'p', key,
                                         0));
    }

    /* entries are taken from the free part of the last chunk first, and then
     * the freed entry e[3] */

    mcp_store_entry_free(&op, e[3]);
    key[0] = 3;
    assert_null(mcp_store_entry_find(op.head, MCP_ENTRY_VALUE, 'p', key, 0));

    for (i = 0; i < MCP_STORE_ENTRIES - 1; i++) {
        again = mcp_store_entry_take(&op, 1);
        assert_int_equal(mcp_store_index(op.head, again), 3);
        mcp_store_entry_publish(op.head, again, MCP_ENTRY_VALUE);
    }

    again = mcp_store_entry_take(&op, 1);
    assert_ptr_equal(again, e[3]);
    assert_int_equal(op.head->partial.first, 0);
    mcp_store_entry_publish(op.head, again, MCP_ENTRY_VALUE);

    /* a chunk is freed with its last entry */

    for (i = 0; i < 3 * MCP_STORE_ENTRIES; i++) {
        assert_int_equal(op.head->n_free, i / MCP_STORE_ENTRIES);
        mcp_store_entry_free(&op, e[i / MCP_STORE_ENTRIES
                                    * MCP_STORE_ENTRIES]
                                  + i % MCP_STORE_ENTRIES);
    }

    assert_int_equal(op.head->n_free, 3);
    mcp_store_leave(&op);
}


/* Each kind and key has one group, until its last member leaves. */
TEST(each_hash_key_has_one_group_which_exists_until_its_last_member_leaves)
{
    unsigned char       key[16] = { 7 };
    mcp_store_op_t      op;
    mcp_store_entry_t  *group;

    assert_ok(mcp_store_enter(S0, &op));

    group = mcp_store_group(&op, MCP_ENTRY_TOPIC, 0, key);
    assert_non_null(group);
    assert_ptr_equal(mcp_store_group(&op, MCP_ENTRY_TOPIC, 0, key), group);
    group->u.group.count = 2;

    mcp_store_group_leave(&op, 0);
    mcp_store_group_leave(&op, mcp_store_ref(op.head, group));
    assert_ptr_equal(mcp_store_entry_find(op.head, MCP_ENTRY_TOPIC, 0, key, 0),
                     group);
    assert_null(mcp_store_entry_find(op.head, MCP_ENTRY_SESSION, 0, key, 0));

    mcp_store_group_leave(&op, mcp_store_ref(op.head, group));
    assert_null(mcp_store_entry_find(op.head, MCP_ENTRY_TOPIC, 0, key, 0));
    mcp_store_leave(&op);
}


RUN_TESTS(setup, teardown)

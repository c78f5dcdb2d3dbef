/* SPDX-License-Identifier: Apache-2.0 */

/* Names of keys, and the keys that each script gets. */

#include "cluster_driver.h"


static process_t  p;


static void
begin(void)
{
    process_init(&p, NULL, 0);
    process_start(&p);
    p.cluster->node = 0x1111111111111111;
}


TEST(redis_key_has_prefix_and_letter_and_id_and_fits_with_the_longest_prefix)
{
    char       key[MCP_CLUSTER_KEY_MAX];
    mcp_str_t  name;

    static const unsigned char  id[MCP_STREAM_ID_LEN];

    begin();

    assert_str_is(mcp_cluster_key(p.cluster, MCP_KEY_NODES, mcp_null_str, key),
                  "{mcp}:1:nodes");
    assert_str_is(mcp_cluster_key(p.cluster, MCP_KEY_QUEUE,
                                  mcp_str("1111111111111111"), key),
                  "{mcp}:1:m:1111111111111111");
    assert_true(mcp_str_eq(mcp_cluster_key(p.cluster, MCP_KEY_CLAIM,
                                           mcp_str("a\0b"), key),
                           mcp_str("{mcp}:1:j:a\0b")));
    assert_str_is(mcp_cluster_stream_key(p.cluster, MCP_KEY_LOG, id, key),
                  "{mcp}:1:e:AAAAAAAAAAAAAAAAAAAAAA");

    /* the longest prefix */

    p.conf.prefix = mcp_str("{0123456789012345678901234567890123456789"
                            "012345678901234567890123}");
    name = mcp_cluster_stream_key(p.cluster, MCP_KEY_HEAD, id, key);
    assert_int_equal(name.len, 66 + 3 + 2 + MCP_STREAM_TEXT_LEN);
    assert_true(name.len <= sizeof(key));

    process_free(&p);
}


/* Every script gets the mark of its node, which does not exist, so that Redis
 * Cluster rejects the script while the slot moves. No script gets a key twice,
 * and the number of its keys is within the limit. */
TEST(each_lua_script_gets_distinct_keys_and_the_key_that_marks_its_node_dead)
{
    int                has_mark;
    char               text[24][3];
    size_t             i, j, n, script;
    mcp_str_t          args[24];
    mcp_script_keys_t  keys;

    begin();

    for (i = 0; i < 24; i++) {
        args[i] = (mcp_str_t) { text[i],
                                (size_t) sprintf(text[i], "%u", (unsigned) i) };
    }

    for (script = 0; script < MCP_SCRIPTS; script++) {
        n = mcp_script_keys_of(p.cluster, (mcp_script_e) script, args, 24,
                               &keys);
        assert_in_range(n, 3, MCP_SCRIPT_KEYS);
        has_mark = 0;

        for (i = 0; i < n; i++) {
            has_mark |= mcp_str_eq(keys.keys[i],
                                   mcp_str("{mcp}:1:x:1111111111111111"));

            for (j = 0; j < i; j++) {
                assert_false(mcp_str_eq(keys.keys[i], keys.keys[j]));
            }
        }

        assert_true(has_mark);
    }

    process_free(&p);
}


/* The last keys of redis/append.lua contain the session and the digest among
 * its arguments. The key of the sending process is missing for a broadcast that
 * is not a notification. */
TEST(keys_for_the_append_and_broadcast_scripts_are_built_from_their_arguments)
{
    size_t             i;
    mcp_str_t          args[20];
    mcp_script_keys_t  keys;

    begin();

    for (i = 0; i < 20; i++) {
        args[i] = mcp_str("");
    }

    args[0] = mcp_str("stream");
    args[11] = mcp_str("session");
    args[16] = mcp_str("digest");
    assert_int_equal(mcp_script_keys_of(p.cluster, MCP_SCRIPT_APPEND, args, 20,
                                        &keys),
                     17);
    assert_str_is(keys.keys[4], "{mcp}:1:h:stream");
    assert_str_is(keys.keys[10], "{mcp}:1:o:1111111111111111");
    assert_str_is(keys.keys[13], "{mcp}:1:s:session");
    assert_str_is(keys.keys[15], "{mcp}:1:q:session");
    assert_str_is(keys.keys[16], "{mcp}:1:j:digest");

    args[6] = mcp_str("process");
    assert_int_equal(mcp_script_keys_of(p.cluster, MCP_SCRIPT_BROADCAST, args,
                                        8, &keys),
                     7);
    assert_str_is(keys.keys[6], "{mcp}:1:i:process");
    assert_int_equal(mcp_script_keys_of(p.cluster, MCP_SCRIPT_BROADCAST, args,
                                        6, &keys),
                     6);

    process_free(&p);
}


RUN_TESTS(NULL, NULL)

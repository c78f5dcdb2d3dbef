/* SPDX-License-Identifier: Apache-2.0 */

#include "test_env.h"

#include "rpc/mcp_task_id.h"


#define NOW  1785229500250
#define TTL  3600000


static test_mem_t     tm;
static mcp_keys_t     keys;
static mcp_task_id_t  id;
static char           text[MCP_TOKEN_TEXT_MAX + 1];


static int
setup(void **state)
{
    mcp_buf_t  buf;

    (void) state;

    test_mem_init(&tm);
    memset(&keys, 0, sizeof(keys));
    assert_int_equal(mcp_keys_add(&keys,
                         mcp_str("0123456789abcdef0123456789abcdef")),
                     MCP_OK);

    memset(id.stream, 0x5a, MCP_STREAM_ID_LEN);
    id.created = NOW;
    id.ttl = TTL;

    mcp_buf_init(&buf, &tm.mem, MCP_TOKEN_TEXT_MAX);
    assert_int_equal(mcp_task_id_write(&id, &keys, &buf), MCP_OK);
    memcpy(text, buf.data, buf.len);
    text[buf.len] = '\0';
    mcp_buf_free(&buf);

    return 0;
}


static int
reads(const char *of, uint64_t now)
{
    mcp_task_id_t  other;

    memset(&other, 0, sizeof(other));

    if (mcp_task_id_read(&other, &keys, test_str(of), now) != MCP_OK) {
        return 0;
    }

    assert_memory_equal(other.stream, id.stream, MCP_STREAM_ID_LEN);
    assert_int_equal(other.created, id.created);
    assert_int_equal(other.ttl, id.ttl);

    return 1;
}


static void
time_is_over(void **state)
{
    (void) state;

    assert_true(reads(text, NOW));
    assert_true(reads(text, NOW + TTL - 1));
    assert_false(reads(text, NOW + TTL));
    assert_false(reads(text, UINT64_MAX));
}


/* A task id in which any byte was changed is invalid. */
static void
others(void **state)
{
    char           c;
    size_t         i, len;
    unsigned char  data[MCP_STREAM_ID_LEN + 16];

    (void) state;

    len = strlen(text);

    for (i = 0; i < len; i++) {
        c = text[i];
        text[i] = c == 'A' ? 'B' : 'A';
        assert_false(reads(text, NOW));
        text[i] = '=';
        assert_false(reads(text, NOW));
        text[i] = '\0';
        assert_false(reads(text, NOW));
        text[i] = c;
    }

    text[len] = 'A';
    text[len + 1] = '\0';
    assert_false(reads(text, NOW));
    text[len] = '\0';

    /* tokens for another purpose, or of another length, are not task ids */

    memset(data, 0, sizeof(data));
    *mcp_token_sign(&keys, MCP_TOKEN_STREAM, data, sizeof(data), text) = '\0';
    assert_false(reads(text, 0));
    *mcp_token_sign(&keys, MCP_TOKEN_TASK, data, sizeof(data) - 1, text) = '\0';
    assert_false(reads(text, 0));
}


static void
failures(void **state)
{
    mcp_buf_t  buf;

    (void) state;

    mcp_buf_init(&buf, &tm.mem, 10);
    assert_int_equal(mcp_task_id_write(&id, &keys, &buf), MCP_ERR_LIMIT);
    mcp_buf_free(&buf);

    mcp_buf_init(&buf, &tm.mem, 1000);
    keys.n = 0;
    assert_int_equal(mcp_task_id_write(&id, &keys, &buf), MCP_ERR_INTERNAL);
    mcp_buf_free(&buf);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test_setup(time_is_over, setup),
        cmocka_unit_test_setup(others, setup),
        cmocka_unit_test_setup(failures, setup)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

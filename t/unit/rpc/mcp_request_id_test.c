/* SPDX-License-Identifier: Apache-2.0 */

/* Comparison of request ids by value. */


#include "memory_cases.h"
#include "rpc/mcp_request_id.h"


/* The texts in a row are spellings of one value; texts in different rows are
 * different values. */
static const char *const  rows[][6] = {
    { "0", "-0", "0.0", "0e7", "-0.000E-3" },
    { "7", "7.0", "70e-1", "0.7E1", "0.0007e+4", "7e0" },
    { "-7", "-7.00", "-70e-1" },
    { "70", "7e1", "7.0e1", "700E-1" },
    { "0.7", "7e-1", "0.70" },
    { "9007199254740993", "9007199254740993.0", "9.007199254740993e15" },
    { "9007199254740992" },
    { "1e400", "10e399" },
    { "1e-400" },
    { "\"7\"", "\"\\u0037\"" },
    { "\"7e0\"" },
    { "\"\"" },
    { "\"a/b\"", "\"a\\/b\"", "\"\\u0061/b\"", "\"a\\u002Fb\"", "\"a\\u002fb\"" },
    { "\"A/b\"" },
    { "\"\\\"\"", "\"\\u0022\"" },
    { "\"\\u00e9\"", "\"\xc3\xa9\"" },
    { "\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\"" },
    { "\"\\n\"", "\"\\u000a\"", "\"\\u000A\"" },
    { "null" },
    { "" }
};

#define ROWS  (sizeof(rows) / sizeof(rows[0]))


static mcp_str_t
text(size_t i, size_t k)
{
    return (mcp_str_t) { rows[i][k], strlen(rows[i][k]) };
}


TEST(request_ids_are_compared_by_value_in_any_spelling)
{
    size_t         i, k, m, n;
    unsigned char  a[MCP_DIGEST_LEN], b[MCP_DIGEST_LEN];

    for (i = 0; i < ROWS; i++) {
        for (k = 0; k < 6 && rows[i][k]; k++) {
            assert_ok(mcp_id_digest(&tm.mem, mcp_str("p"), text(i, k), a));

            for (m = 0; m < ROWS; m++) {
                for (n = 0; n < 6 && rows[m][n]; n++) {
                    assert_ok(mcp_id_digest(&tm.mem, mcp_str("p"),
                                            text(m, n), b));

                    if (mcp_id_same(&tm.mem, text(i, k), text(m, n))
                        != (i == m)
                        || (memcmp(a, b, MCP_DIGEST_LEN) == 0) != (i == m))
                    {
                        fail_msg("%s, %s", rows[i][k], rows[m][n]);
                    }
                }
            }
        }
    }
}


/* A request id that is a number of 100000 characters is compared by value as
 * well. */
TEST(request_id_of_100000_digits_is_compared_by_value)
{
    char       *zeros;
    size_t      n;
    mcp_str_t   number;

    n = 100000;
    zeros = malloc(n);
    assert_non_null(zeros);
    memset(zeros, '0', n);
    zeros[0] = '1';
    number = (mcp_str_t) { zeros, n };

    assert_true(mcp_id_same(&tm.mem, number, mcp_str("1e99999")));
    assert_false(mcp_id_same(&tm.mem, number, mcp_str("1e99998")));

    memcpy(zeros, "1e", 2);
    memset(zeros + 2, '9', n - 2);
    assert_false(mcp_id_same(&tm.mem, number, mcp_str("1")));

    free(zeros);
}


TEST(memory_runs_out__request_ids_have_no_digest_and_are_not_equal)
{
    unsigned char  key[MCP_DIGEST_LEN];

    tm.fail_at = 1;
    assert_int_equal(mcp_id_digest(&tm.mem, mcp_null_str,
                                   mcp_str("\"\\u0061\""), key),
                     MCP_ERR_MEMORY);
    tm.fail_at = 1;
    assert_int_equal(mcp_id_digest(&tm.mem, mcp_null_str, mcp_str("7"),
                                   key), MCP_ERR_MEMORY);
    tm.fail_at = 1;
    assert_false(mcp_id_same(&tm.mem, mcp_str("7"), mcp_str("7e0")));
}


#define NOW  1785229500250
#define TTL  3600000


static mcp_keys_t     keys;
static mcp_task_id_t  task;
static char           task_text[MCP_TOKEN_TEXT_MAX + 1];


static int
setup(void **state)
{
    mcp_buf_t  buf;

    init(state);
    memset(&keys, 0, sizeof(keys));
    assert_ok(mcp_keys_add(&keys, mcp_str("0123456789abcdef0123456789abcdef")));

    memset(task.stream, 0x5a, MCP_STREAM_ID_LEN);
    task.created = NOW;
    task.ttl = TTL;

    mcp_buf_init(&buf, &tm.mem, MCP_TOKEN_TEXT_MAX);
    assert_ok(mcp_task_id_write(&task, &keys, &buf));
    memcpy(task_text, buf.data, buf.len);
    task_text[buf.len] = '\0';
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

    assert_memory_equal(other.stream, task.stream, MCP_STREAM_ID_LEN);
    assert_int_equal(other.created, task.created);
    assert_int_equal(other.ttl, task.ttl);

    return 1;
}


TEST(task_id_is_rejected_after_its_time_to_live)
{
    assert_true(reads(task_text, NOW));
    assert_true(reads(task_text, NOW + TTL - 1));
    assert_false(reads(task_text, NOW + TTL));
    assert_false(reads(task_text, UINT64_MAX));
}


/* A task id in which any byte was changed is invalid. */
TEST(task_id_with_a_changed_byte_is_rejected)
{
    char           c;
    size_t         i, len;
    unsigned char  data[MCP_STREAM_ID_LEN + 16];

    len = strlen(task_text);

    for (i = 0; i < len; i++) {
        c = task_text[i];
        task_text[i] = c == 'A' ? 'B' : 'A';
        assert_false(reads(task_text, NOW));
        task_text[i] = '=';
        assert_false(reads(task_text, NOW));
        task_text[i] = '\0';
        assert_false(reads(task_text, NOW));
        task_text[i] = c;
    }

    task_text[len] = 'A';
    task_text[len + 1] = '\0';
    assert_false(reads(task_text, NOW));
    task_text[len] = '\0';

    /* tokens for another purpose, or of another length, are not task ids */

    memset(data, 0, sizeof(data));
    *mcp_token_sign(&keys, MCP_TOKEN_STREAM, data, sizeof(data), task_text) = '\0';
    assert_false(reads(task_text, 0));
    *mcp_token_sign(&keys, MCP_TOKEN_TASK, data, sizeof(data) - 1, task_text) = '\0';
    assert_false(reads(task_text, 0));
}


TEST(no_room_or_no_key_for_a_task_id__writing_it_fails)
{
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &tm.mem, 10);
    assert_int_equal(mcp_task_id_write(&task, &keys, &buf), MCP_ERR_LIMIT);
    mcp_buf_free(&buf);

    mcp_buf_init(&buf, &tm.mem, 1000);
    keys.n = 0;
    assert_int_equal(mcp_task_id_write(&task, &keys, &buf), MCP_ERR_INTERNAL);
    mcp_buf_free(&buf);
}


RUN_TESTS(setup, done)

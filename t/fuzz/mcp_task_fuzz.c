/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Task ids from clients, and keys of a task's questions.  The text of an
 * accepted id is the one that the server writes.  Of the first
 * MCP_STORE_QUESTIONS questions those without an answer remain, unchanged and
 * in their order.
 */


#include "fuzz_env.h"

#include "exchange/mcp_task.h"
#include "json/mcp_json_scan.h"


#define DEPTH  32


static mcp_keys_t  keys;


static void
id(mcp_str_t text)
{
    mcp_buf_t      again;
    mcp_task_id_t  task;

    if (mcp_task_id_read(&task, &keys, text, 0) != MCP_OK) {
        return;
    }

    mcp_buf_init(&again, &fuzz_mem, MCP_TOKEN_TEXT_MAX);
    must(mcp_task_id_write(&task, &keys, &again) == MCP_OK);
    must(mcp_str_eq(text, (mcp_str_t) { again.data, again.len }));
    mcp_buf_free(&again);
}


/* Checks that an id of this server is accepted until it expires, and rejected
 * with one bit changed. */
static void
own(const uint8_t *data, size_t size)
{
    uint64_t       over;
    mcp_buf_t      text;
    mcp_str_t      all;
    mcp_task_id_t  task, other;

    memset(&task, 0, sizeof(task));
    memcpy(task.stream, data, size < MCP_STREAM_ID_LEN ? size
                                                       : MCP_STREAM_ID_LEN);
    task.created = size * 1000;
    task.ttl = (uint64_t) data[0] * 1000 + 1;
    over = task.created + task.ttl;

    mcp_buf_init(&text, &fuzz_mem, MCP_TOKEN_TEXT_MAX);
    must(mcp_task_id_write(&task, &keys, &text) == MCP_OK);
    all = (mcp_str_t) { text.data, text.len };
    must(mcp_task_id_read(&other, &keys, all, over - 1) == MCP_OK);
    must(memcmp(other.stream, task.stream, MCP_STREAM_ID_LEN) == 0);
    must(other.created == task.created && other.ttl == task.ttl);
    must(mcp_task_id_read(&other, &keys, all, over) != MCP_OK);

    text.data[data[size - 1] % text.len] ^= (char) (1 << data[0] % 8);
    must(mcp_task_id_read(&other, &keys, all, 0) != MCP_OK);
    mcp_buf_free(&text);
}


static void
questions(mcp_str_t text, uint32_t given)
{
    unsigned          k, left;
    mcp_buf_t         out;
    mcp_str_t         key, rest, left_key;
    mcp_arena_t       arena;
    mcp_json_iter_t   iter, rests;
    mcp_json_value_t  root, value, other;

    mcp_arena_init(&arena, &fuzz_mem);

    if (mcp_json_scan(&arena, text, DEPTH, NULL, 0, &root, NULL, NULL)
        == MCP_OK
        && root.type == MCP_JSON_OBJECT)
    {
        mcp_buf_init(&out, &fuzz_mem, SIZE_MAX / 2);
        mcp_task_questions(root.raw, given, &out);
        rest = (mcp_str_t) { out.data, out.len };
        must(mcp_json_scan(&arena, rest, DEPTH, NULL, 0, &other, NULL, NULL)
             == MCP_OK);

        mcp_json_iter_init(&iter, root.raw);
        mcp_json_iter_init(&rests, rest);

        for (k = 0, left = 0;
             k < MCP_STORE_QUESTIONS && mcp_json_iter_next(&iter, &key, &value);
             k++)
        {
            if (given & (uint32_t) 1 << k) {
                continue;
            }

            must(mcp_json_iter_next(&rests, &left_key, &other));
            must(mcp_str_eq(key, left_key));
            must(mcp_str_eq(value.raw, other.raw));
            left++;
        }

        must(!mcp_json_iter_next(&rests, &left_key, &other));
        must(mcp_task_has_questions(root.raw, given) == (left != 0));
        mcp_buf_free(&out);
    }

    mcp_arena_destroy(&arena);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_str_t  text;

    if (keys.n == 0) {
        must(mcp_keys_add(&keys, mcp_str("0123456789abcdef0123456789abcdef"))
             == MCP_OK);
    }

    if (size == 0) {
        return 0;
    }

    text = (mcp_str_t) { (const char *) data + 1, size - 1 };
    id(text);
    own(data, size);
    questions(text, data[0]);
    must(live == 0);

    return 0;
}

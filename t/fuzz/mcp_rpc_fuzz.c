/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The parser of JSON-RPC messages, with arbitrary text.  The result is a fault
 * or a kind, never both; an id is returned only if it can be echoed; a message
 * that is written from its parts is read as the same message; a batch of one
 * message is that message.
 */


#include "fuzz_env.h"

#include "base/mcp_str.h"
#include "rpc/mcp_rpc.h"


#define DEPTH  16


static void
check_kind(const mcp_rpc_t *msg)
{
    int  result, error;

    result = msg->result.type != MCP_JSON_NONE;
    error = msg->error.type != MCP_JSON_NONE;

    must((msg->kind == MCP_RPC_INVALID) == (msg->fault != MCP_FAULT_NONE));

    switch (msg->kind) {
    case MCP_RPC_INVALID:
        must(msg->method.len == 0);
        must(msg->params.type == MCP_JSON_NONE && !result && !error);
        break;
    case MCP_RPC_REQUEST:
        must(msg->id.len > 0 && msg->method.len > 0 && !result && !error);
        break;
    case MCP_RPC_NOTIFICATION:
        must(msg->id.len == 0 && msg->method.len > 0 && !result && !error);
        break;
    case MCP_RPC_RESULT:
        must(msg->id.len > 0 && msg->method.len == 0 && result && !error);
        break;
    case MCP_RPC_ERROR:
        must(msg->method.len == 0 && !result && error);
        break;
    }

    must(msg->params.type == MCP_JSON_NONE
         || msg->params.type == MCP_JSON_OBJECT);

    if (msg->fault == MCP_FAULT_PARSE || msg->fault == MCP_FAULT_ID) {
        must(msg->id.len == 0);
    }
}


/* Checks that an id or progress token has no line end, because a line end
 * would end a header of a backend request. */
static void
check_token(const mcp_json_value_t *token)
{
    size_t  i;

    if (!mcp_rpc_id_usable(token)) {
        return;
    }

    must(token->raw.len > 0 && token->raw.len <= MCP_RPC_MAX_ID);

    for (i = 0; i < token->raw.len; i++) {
        must((unsigned char) token->raw.data[i] >= 0x20);
    }
}


/* Writes an error response to msg, and checks that it is parsed as a message
 * with the id of msg. */
static void
check_answer(mcp_arena_t *arena, const mcp_rpc_t *msg)
{
    mcp_buf_t  buf;
    mcp_rpc_t  answer;
    mcp_str_t  detail;

    must(msg->id.len <= MCP_RPC_MAX_ID);

    detail = mcp_utf8_valid(msg->raw) ? msg->raw : mcp_null_str;

    mcp_buf_init(&buf, &fuzz_mem, SIZE_MAX);
    mcp_fault_write(&buf, MCP_REVISION_NONE, msg->id, msg->fault, detail,
                    mcp_null_str);
    must(!buf.failed);

    must(mcp_rpc_parse(arena, (mcp_str_t) { buf.data, buf.len }, DEPTH, MCP_RPC_FROM_CLIENT,
                       &answer) == MCP_OK);
    must(answer.kind == MCP_RPC_ERROR);
    must(mcp_str_eq(answer.id, msg->id));

    mcp_buf_free(&buf);
}


static void
check_again(mcp_arena_t *arena, const mcp_rpc_t *msg)
{
    mcp_rpc_t  again;

    must(mcp_rpc_parse(arena, msg->raw, DEPTH, MCP_RPC_FROM_CLIENT, &again) == MCP_OK);
    must(again.kind == msg->kind && again.fault == msg->fault);
    must(mcp_str_eq(again.id, msg->id));
    must(mcp_str_eq(again.method, msg->method));
    must(mcp_str_eq(again.progress_token.raw, msg->progress_token.raw));
    must(mcp_str_eq(again.ref_name.raw, msg->ref_name.raw));
}


static void
check_batch(mcp_arena_t *arena, mcp_str_t text, const mcp_rpc_t *msg)
{
    size_t        i, n;
    mcp_buf_t     buf;
    mcp_str_t    *items;
    mcp_rpc_t     item;
    mcp_fault_e   fault;

    must(mcp_rpc_split(arena, text, DEPTH, 8, &items, &n, &fault) == MCP_OK);
    must((n > 0) == (fault == MCP_FAULT_NONE));
    must(n <= 8);

    if (n > 0) {
        must(mcp_rpc_is_batch(text));

        for (i = 0; i < n; i++) {
            must(mcp_rpc_parse(arena, items[i], DEPTH, MCP_RPC_FROM_CLIENT, &item) == MCP_OK);
            must(item.fault != MCP_FAULT_PARSE
                 && item.fault != MCP_FAULT_TOO_DEEP);
            must(mcp_str_eq(item.raw, items[i]));
        }
    }

    if (msg->kind == MCP_RPC_INVALID) {
        return;
    }

    mcp_buf_init(&buf, &fuzz_mem, SIZE_MAX);
    mcp_buf_lit(&buf, "[");
    mcp_buf_str(&buf, text);
    mcp_buf_lit(&buf, "]");

    must(mcp_rpc_split(arena, (mcp_str_t) { buf.data, buf.len }, DEPTH, 1,
                       &items, &n, &fault) == MCP_OK);
    must(n == 1 && fault == MCP_FAULT_NONE);
    must(mcp_str_eq(items[0], msg->raw));

    mcp_buf_free(&buf);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_rpc_t    msg;
    mcp_str_t    text;
    mcp_arena_t  arena;

    text.data = (const char *) data;
    text.len = size;

    mcp_arena_init(&arena, &fuzz_mem);

    must(mcp_rpc_parse(&arena, text, DEPTH, MCP_RPC_FROM_CLIENT, &msg) == MCP_OK);

    check_kind(&msg);
    check_token(&msg.progress_token);
    check_answer(&arena, &msg);
    check_again(&arena, &msg);
    check_batch(&arena, text, &msg);

    mcp_arena_destroy(&arena);
    must(live == 0);

    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Requests for an upstream, made of arbitrary requests that are accepted from
 * a client. The result is a request with the same id and method. Of the
 * members of params._meta that begin with "io.modelcontextprotocol/", it has
 * exactly those that were added. A second removal finds nothing.
 */


#include "fuzz_env.h"

#include "rpc/mcp_rpc.h"
#include "rpc/mcp_upstream_body.h"


#define DEPTH  16
#define OWN    "io.modelcontextprotocol/"


static const mcp_upstream_meta_t  meta = {
    mcp_str("{\"roots\":{}}"), mcp_str("{\"name\":\"m\"}"),
    mcp_str("\"debug\"")
};


/* Parses a body that was written, and checks that it is the same request. */
static void
parse_again(mcp_arena_t *arena, const mcp_buf_t *out, const mcp_rpc_t *msg,
    mcp_rpc_t *again)
{
    must(out->failed == MCP_OK);
    must(mcp_rpc_parse(arena, mcp_buf_text(out), DEPTH + 1, MCP_RPC_FROM_CLIENT,
                       again) == MCP_OK);
    must(again->kind == MCP_RPC_REQUEST);
    must(mcp_str_eq(again->id, msg->id));
    must(mcp_str_eq(again->method, msg->method));
    must(mcp_str_eq(again->arguments.raw, msg->arguments.raw));
    must(mcp_str_eq(again->progress_token.raw, msg->progress_token.raw));
}


static void
check_added(mcp_arena_t *arena, const mcp_rpc_t *msg, mcp_buf_t *out)
{
    mcp_rpc_t  again;

    mcp_upstream_add_meta(out, msg->raw, &meta);
    parse_again(arena, out, msg, &again);
    must(mcp_str_eq(again.meta_version.raw, mcp_str("\"2026-07-28\"")));
    must(mcp_str_eq(again.meta_capabilities.raw, meta.capabilities));
    must(mcp_str_eq(again.meta_client_info.raw, meta.client_info));
    must(mcp_str_eq(again.meta_log_level.raw, meta.log_level));
}


static void
check_removed(mcp_arena_t *arena, const mcp_rpc_t *msg, mcp_buf_t *out,
    mcp_buf_t *twice)
{
    mcp_rpc_t  again;

    if (!mcp_upstream_remove_meta(out, msg->raw)) {
        again = *msg;

    } else {
        parse_again(arena, out, msg, &again);
        must(!mcp_upstream_remove_meta(twice, mcp_buf_text(out)));
    }

    must(again.meta_version.type == MCP_JSON_NONE);
    must(again.meta_capabilities.type == MCP_JSON_NONE);
    must(again.input_responses.type == MCP_JSON_NONE);
    must(again.request_state.type == MCP_JSON_NONE);
}


static void
check_id(mcp_arena_t *arena, const mcp_rpc_t *msg, mcp_buf_t *out)
{
    mcp_rpc_t  again, expected;

    mcp_upstream_set_id(out, msg->raw, mcp_str("7"));

    expected = *msg;
    expected.id = mcp_str("7");
    parse_again(arena, out, &expected, &again);
    must(mcp_str_eq(again.params.raw, msg->params.raw));
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_buf_t    out, twice;
    mcp_rpc_t    msg, again;
    mcp_arena_t  arena;

    mcp_arena_init(&arena, &mem);
    mcp_buf_init(&out, &mem, SIZE_MAX / 2);
    mcp_buf_init(&twice, &mem, SIZE_MAX / 2);

    must(mcp_rpc_parse(&arena, (mcp_str_t) { (const char *) data, size }, DEPTH,
                       MCP_RPC_FROM_CLIENT, &msg) == MCP_OK);

    if (msg.kind == MCP_RPC_REQUEST) {
        check_added(&arena, &msg, &out);
        mcp_buf_free(&out);
        check_removed(&arena, &msg, &out, &twice);
        mcp_buf_free(&out);
        mcp_buf_free(&twice);
        check_id(&arena, &msg, &out);
        mcp_buf_free(&out);

        if (mcp_upstream_remove_tasks(&out, msg.raw)) {
            parse_again(&arena, &out, &msg, &again);
            must(!mcp_upstream_remove_tasks(&twice, mcp_buf_text(&out)));
        }
    }

    mcp_buf_free(&out);
    mcp_buf_free(&twice);
    mcp_arena_destroy(&arena);

    return 0;
}

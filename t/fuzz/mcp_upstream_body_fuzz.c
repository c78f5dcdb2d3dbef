/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Requests for an upstream, made of arbitrary requests that are accepted from
 * a client. The result is a request with the same id and method, and with the
 * same members of params and params._meta in the same order, without those
 * that were removed. Of the members of params._meta that begin with
 * "io.modelcontextprotocol/", it has exactly those that were added. A second
 * removal finds nothing. A buffer with a limit fails instead of exceeding it.
 *
 * Before the first input, the target does the same with requests of 8 MB,
 * which is the default of mcp_max_message. libFuzzer does not make inputs of
 * this size.
 */


#include <strings.h>

#include "fuzz_env.h"

#include "rpc/mcp_rpc.h"
#include "rpc/mcp_upstream_body.h"


#define DEPTH  16
#define OWN    "io.modelcontextprotocol/"
#define MB     (1024 * 1024)

#define HEAD   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\""


/* Requests that a repeated part makes as large as "size" allows. Those with
 * many members are smaller, because they take longer. */
static const struct {
    size_t          size;
    const char     *first;
    const char     *repeated;
    const char     *last;
    mcp_rpc_kind_e  kind;              /* which mcp_rpc_parse() finds */
} large[] = {
    { 8 * MB, HEAD ",\"params\":{\"name\":\"a\",\"arguments\":{\"a\":\"",
      "x", "\"}}}", MCP_RPC_REQUEST },
    { 8 * MB, HEAD ",\"params\":{\"arguments\":{\"a\":[0",
      ",{\"a\":[1.5e3,null]}",
      "]},\"_meta\":{\"progressToken\":7,\"" OWN "x\":1}}}", MCP_RPC_REQUEST },
    { MB, HEAD ",\"params\":{\"a\":0",
      ",\"b\" : \"c\"", ",\"requestState\":\"s\"}}", MCP_RPC_REQUEST },
    { MB, HEAD ",\"params\":{\"_meta\":{\"a\":0",
      ",\"b\":{},\"" OWN "x\":[1]", "}}}", MCP_RPC_REQUEST },
    { MB, HEAD ",\"params\":{\"_meta\":{\"a\":0",
      ",\"IO.\\u006dodelcontextprotocol\\/x\":1",
      "},\"inputResponses\":{}}}", MCP_RPC_REQUEST },
    { MB, HEAD ",\"params\":{\"_meta\":{\"" OWN "clientCapabilities\":{"
      "\"extensions\":{\"a\":0",
      ",\"b/c\":{}", ",\"" OWN "tasks\":{}}}}}}", MCP_RPC_REQUEST },
    { 8 * MB, HEAD ",\"params\":{\"_meta\":{\"",
      "\\u00e4", "\":1}}}", MCP_RPC_REQUEST },
    { 8 * MB, HEAD ",\"params\":null", "\n", "}", MCP_RPC_REQUEST },
    { MB, "", "\t", HEAD "}", MCP_RPC_REQUEST },
    { MB, HEAD "}", " ", "", MCP_RPC_REQUEST },

    /* _meta twice, params of another type, nested too deeply */

    { 8 * MB, HEAD ",\"params\":{\"_meta\":{},\"a\":\"",
      "x", "\",\"_meta\":{\"" OWN "x\":1}}}", MCP_RPC_INVALID },
    { 8 * MB, HEAD ",\"params\":{\"_meta\":{},\"a\":\"",
      "x", "\",\"_\\u006deta\":{}}}", MCP_RPC_INVALID },
    { 8 * MB, HEAD ",\"params\":[0", ",0", "]}", MCP_RPC_INVALID },
    { 8 * MB, HEAD ",\"params\":", "[", "", MCP_RPC_INVALID },
    { 8 * MB, HEAD ",\"params\":{\"_meta\":",
      "{\"a\":", "", MCP_RPC_INVALID },
};


/* Returns 1 if the request for the upstream keeps a member of the client's
 * request. */
typedef int (*kept_pt)(mcp_str_t key);


int LLVMFuzzerInitialize(int *argc, char ***argv);


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


/* Tells by other means than the tested code. */
static int
kept_in_meta(mcp_str_t key)
{
    int    own;
    char  *text;

    text = calloc(1, key.len + 1);
    must(text != NULL);
    (void) mcp_json_decode(text, key);
    own = strncasecmp(text, OWN, sizeof(OWN) - 1) == 0;
    free(text);

    return !own;
}


static int
kept_in_params(mcp_str_t key)
{
    return !mcp_json_str_eq(key, mcp_str("_meta"));
}


static int
kept_for_older(mcp_str_t key)
{
    return kept_in_params(key)
           && !mcp_json_str_eq(key, mcp_str("inputResponses"))
           && !mcp_json_str_eq(key, mcp_str("requestState"));
}


/* Checks that the object "after" begins with the members of "before" that are
 * kept, and has "more" members after them. */
static void
check_members(const mcp_json_value_t *before, const mcp_json_value_t *after,
    kept_pt kept, int more)
{
    mcp_str_t         key, copy;
    mcp_json_iter_t   iter, copies;
    mcp_json_value_t  value, copied;

    must(after->type == MCP_JSON_OBJECT);
    mcp_json_iter_init(&copies, after->raw);

    if (before->type == MCP_JSON_OBJECT) {
        mcp_json_iter_init(&iter, before->raw);

        while (mcp_json_iter_next(&iter, &key, &value)) {
            if (!kept(key)) {
                continue;
            }

            must(mcp_json_iter_next(&copies, &copy, &copied));
            must(mcp_str_eq(key, copy));
            must(mcp_str_eq(value.raw, copied.raw));
        }
    }

    while (more-- > 0) {
        must(mcp_json_iter_next(&copies, &copy, &copied));
    }

    must(!mcp_json_iter_next(&copies, &copy, &copied));
}


static void
check_limit(const mcp_rpc_t *msg, size_t limit)
{
    mcp_buf_t  out;

    mcp_buf_init(&out, &fuzz_mem, limit);
    mcp_upstream_add_meta(&out, msg->raw, &meta);
    must(out.failed != MCP_OK);
    must(mcp_buf_text(&out).len <= limit);
    mcp_buf_free(&out);
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
    check_members(&msg->params, &again.params, kept_in_params, 1);
    check_members(&msg->meta, &again.meta, kept_in_meta, 4);
    check_limit(msg, mcp_buf_text(out).len - 1);
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
        check_members(&msg->params, &again.params, kept_for_older,
                      msg->meta.type == MCP_JSON_OBJECT);

        if (msg->meta.type == MCP_JSON_OBJECT) {
            check_members(&msg->meta, &again.meta, kept_in_meta, 0);
        }
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


/* Returns the kind of the message. */
static mcp_rpc_kind_e
check(mcp_str_t body)
{
    mcp_buf_t    out, twice;
    mcp_rpc_t    msg, again;
    mcp_arena_t  arena;

    mcp_arena_init(&arena, &fuzz_mem);
    mcp_buf_init(&out, &fuzz_mem, SIZE_MAX / 2);
    mcp_buf_init(&twice, &fuzz_mem, SIZE_MAX / 2);

    must(mcp_rpc_parse(&arena, body, DEPTH, MCP_RPC_FROM_CLIENT, &msg)
         == MCP_OK);

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

    return msg.kind;
}


int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char    *p, *body;
    size_t   i, n, first, last;

    (void) argc;
    (void) argv;

    body = malloc(8 * MB);
    must(body != NULL);

    for (i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
        first = strlen(large[i].first);
        last = strlen(large[i].last);
        n = strlen(large[i].repeated);

        memcpy(body, large[i].first, first);

        for (p = body + first; p + n + last <= body + large[i].size; p += n) {
            memcpy(p, large[i].repeated, n);
        }

        memcpy(p, large[i].last, last);
        must(check((mcp_str_t) { body, (size_t) (p - body) + last })
             == large[i].kind);
    }

    free(body);
    must(live == 0);

    return 0;
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void) check((mcp_str_t) { (const char *) data, size });
    must(live == 0);

    return 0;
}

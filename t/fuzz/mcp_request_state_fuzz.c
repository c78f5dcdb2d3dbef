/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Request states that clients return: a sealed state opens unchanged for the
 * same params in any spelling; no other text opens.
 */


#include "fuzz_respell.h"

#include "rpc/mcp_request_state.h"


static mcp_keys_t  keys;


/* Opens a text.  The result must be MCP_ERR_DENIED, or MCP_OK with the state
 * "is". Returns 1 for MCP_OK. */
static int
opens(const mcp_request_state_t *of, mcp_str_t text, mcp_str_t is)
{
    int          rc;
    mcp_str_t    state;
    mcp_arena_t  arena;

    mcp_arena_init(&arena, &fuzz_mem);
    rc = mcp_request_state_open(&arena, &keys, of, text, 999, &state);
    must(rc == MCP_ERR_DENIED || (rc == MCP_OK && mcp_str_eq(state, is)));
    mcp_arena_destroy(&arena);

    return rc == MCP_OK;
}


/* Checks that the input, as the text of a JSON string, does not open as a
 * request state. */
static void
garbage(const mcp_request_state_t *of, mcp_str_t data)
{
    mcp_buf_t         out;
    mcp_arena_t       arena;
    mcp_json_value_t  root;

    mcp_buf_init(&out, &fuzz_mem, SIZE_MAX / 2);
    mcp_arena_init(&arena, &fuzz_mem);
    mcp_buf_lit(&out, "\"");
    mcp_buf_str(&out, data);
    mcp_buf_lit(&out, "\"");

    if (mcp_json_scan(&arena, (mcp_str_t) { out.data, out.len }, DEPTH, NULL,
                      0, &root, NULL, NULL)
        == MCP_OK
        && root.type == MCP_JSON_STRING)
    {
        must(!opens(of, root.raw, mcp_null_str));
    }

    mcp_arena_destroy(&arena);
    mcp_buf_free(&out);
}


/* Checks that a sealed state does not open after a change, which "how" and
 * "where" choose. */
static void
mutated(mcp_request_state_t *of, mcp_json_value_t params, uint8_t how,
    uint8_t where)
{
    size_t            at;
    mcp_buf_t         out, again;
    mcp_str_t         state, text;
    unsigned char     nonce[MCP_SEAL_NONCE_LEN];

    state = params.raw;
    of->params = params.raw;
    memset(nonce, how, sizeof(nonce));
    mcp_buf_init(&out, &fuzz_mem, SIZE_MAX / 2);
    must(mcp_request_state_seal(&fuzz_mem, &keys, of, state, 1000, nonce, &out)
         == MCP_OK);
    text = (mcp_str_t) { out.data, out.len };
    must(opens(of, text, state));

    mcp_buf_init(&again, &fuzz_mem, SIZE_MAX / 2);
    respell(&again, params, how);
    must(again.failed == MCP_OK);
    of->params = (mcp_str_t) { again.data, again.len };
    must(opens(of, text, state));

    /* flip the lowest bit of a base64 letter: the result needs no escape in a
     * JSON string */

    at = 1 + where % (out.len - 2);
    out.data[at] ^= 1;
    must(!opens(of, text, state));

    mcp_buf_free(&again);
    mcp_buf_free(&out);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_json_value_t     root;
    mcp_request_state_t  of;

    static const unsigned char  nobody[MCP_DIGEST_LEN];

    if (keys.n == 0) {
        must(mcp_keys_add(&keys, mcp_str("0123456789abcdef0123456789abcdef"))
             == MCP_OK);
    }

    if (size < 2) {
        return 0;
    }

    memset(&of, 0, sizeof(of));
    of.principal = nobody;
    of.method = mcp_str("tools/call");
    of.max_depth = DEPTH;

    garbage(&of, (mcp_str_t) { (const char *) data + 2, size - 2 });

    if (is_object((mcp_str_t) { (const char *) data + 2, size - 2 }, &root)) {
        mutated(&of, root, data[0], data[1]);
    }

    must(live == 0);

    return 0;
}

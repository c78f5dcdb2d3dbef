/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Texts that clients return: tokens, session ids, event ids.  An accepted text
 * must be the text that the server writes for its value.
 */


#include "fuzz_env.h"

#include "base/mcp_base64.h"
#include "rpc/mcp_session.h"
#include "http/mcp_sse.h"


static void
token(const mcp_keys_t *keys, mcp_str_t text)
{
    char           again[MCP_TOKEN_TEXT_MAX], *end;
    size_t         len;
    unsigned char  data[MCP_TOKEN_MAX_DATA];

    len = mcp_base64url_decoded_len(text.len) - 1 - MCP_TOKEN_MAC_LEN;

    if (len <= MCP_TOKEN_MAX_DATA
        && mcp_token_verify(keys, 't', text, data, len) == MCP_OK)
    {
        end = mcp_token_sign(keys, 't', data, len, again);
        must(end != NULL);
        must(mcp_str_eq(text, (mcp_str_t) { again, (size_t) (end - again) }));
    }

    /* the input as a payload: the payload of a signed token is read back */

    if (text.len > MCP_TOKEN_MAX_DATA) {
        must(mcp_token_sign(keys, 't', text.data, text.len, again) == NULL);
        return;
    }

    end = mcp_token_sign(keys, 't', text.data, text.len, again);
    must(end != NULL && end - again <= MCP_TOKEN_TEXT_MAX);

    len = text.len;
    must(mcp_token_verify(keys, 't', (mcp_str_t) { again,
                          (size_t) (end - again) }, data, len) == MCP_OK);
    must(len == 0 || memcmp(data, text.data, len) == 0);
}


/* Checks that the payload of a sealed token is read back and that no other
 * text opens. */
static void
sealed(const mcp_keys_t *keys, mcp_str_t text)
{
    mcp_buf_t      out;
    mcp_str_t      data, all;
    mcp_arena_t    arena;
    unsigned char  nonce[MCP_SEAL_NONCE_LEN];

    mcp_arena_init(&arena, &fuzz_mem);
    mcp_buf_init(&out, &fuzz_mem, SIZE_MAX / 2);

    must(mcp_token_open(keys, 't', mcp_null_str, text, &arena, &data)
         != MCP_OK);

    memset(nonce, (int) text.len, sizeof(nonce));
    must(mcp_token_seal(keys, 't', text, text, nonce, &out) == MCP_OK);
    all = (mcp_str_t) { out.data, out.len };
    must(mcp_token_open(keys, 't', text, all, &arena, &data) == MCP_OK);
    must(mcp_str_eq(data, text));

    if (text.len) {
        out.data[(unsigned char) text.data[0] % out.len] ^= 1;
        must(mcp_token_open(keys, 't', text, all, &arena, &data) != MCP_OK);
    }

    mcp_buf_free(&out);
    mcp_arena_destroy(&arena);
    must(live == 0);
}


static void
session(const mcp_keys_t *keys, mcp_str_t text)
{
    char           again[MCP_SESSION_TEXT_MAX], *end;
    mcp_client_t  s;
    unsigned char  nobody[MCP_DIGEST_LEN];

    memset(nobody, 0, sizeof(nobody));

    if (mcp_session_parse(keys, text, 1, nobody, &s) != MCP_OK) {
        return;
    }

    must(mcp_revision(s.revision)->name.len != 0
         && !mcp_revision(s.revision)->stateless);
    must(s.expires > 1);

    end = mcp_session_print(keys, &s, again);
    must(end != NULL);
    must(mcp_str_eq(text, (mcp_str_t) { again, (size_t) (end - again) }));
}


static void
event_id(mcp_str_t text)
{
    char           again[MCP_EVENT_ID_MAX], *end;
    uint64_t       seq;
    unsigned char  id[MCP_STREAM_ID_LEN];

    if (mcp_event_id_parse(text, id, &seq) == MCP_OK) {
        end = mcp_event_id_print(again, id, seq);
        must(mcp_str_eq(text, (mcp_str_t) { again, (size_t) (end - again) }));
    }

    if (mcp_stream_id_parse(text, id) == MCP_OK) {
        end = mcp_stream_id_print(again, id);
        must(mcp_str_eq(text, (mcp_str_t) { again, (size_t) (end - again) }));
    }
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_str_t          text;

    static mcp_keys_t  keys;

    if (keys.n == 0) {
        must(mcp_keys_add(&keys, mcp_str("0123456789abcdef0123456789abcdef"))
             == MCP_OK);
    }

    text.data = (const char *) data;
    text.len = size;

    token(&keys, text);
    sealed(&keys, text);
    session(&keys, text);
    event_id(text);

    return 0;
}

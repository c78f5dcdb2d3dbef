/* SPDX-License-Identifier: Apache-2.0 */

/* A backend's request state: the sealed state opens to the same text, and only
 * with the same request. */


#include "test_env.h"

#include "rpc/mcp_request_state.h"


#define KEY_A  "0123456789abcdef0123456789abcdef"
#define KEY_B  "another key, of 32 bytes or more"

#define ITEMS(array)  (sizeof(array) / sizeof(array[0]))

#define STATE   "\"people=3 \\u00e9\\n\""
#define PARAMS  "{\"name\":\"book\",\"arguments\":{\"a\":1,\"b\":[\"x\"]}}"


static const unsigned char  ada[MCP_DIGEST_LEN] = "principal: Ada.";
static const unsigned char  eve[MCP_DIGEST_LEN] = "principal: Eve.";

static test_mem_t  tm;
static mcp_keys_t  keys;


static mcp_request_state_t
book(void)
{
    mcp_request_state_t  of;

    of.server = mcp_str("acme");
    of.target = mcp_str("@tools");
    of.principal = ada;
    of.method = mcp_str("tools/call");
    of.name = mcp_str("book");
    of.params = mcp_str(PARAMS);
    of.max_depth = 16;

    return of;
}


static int
seal_with(const mcp_keys_t *with, const mcp_request_state_t *of,
    mcp_str_t state, uint64_t expires, mcp_buf_t *out)
{
    unsigned char  nonce[MCP_SEAL_NONCE_LEN] = "a nonce of 24 bytes....";

    return mcp_request_state_seal(&tm.mem, with, of, state, expires, nonce,
                                  out);
}


/* Seals STATE for the request of book(). The sealed state expires at time
 * 1000. */
static mcp_str_t
seal(mcp_buf_t *out)
{
    mcp_request_state_t  of;

    of = book();
    mcp_buf_init(out, &tm.mem, 4096);
    assert_int_equal(seal_with(&keys, &of, mcp_str(STATE), 1000, out), MCP_OK);

    return mcp_buf_text(out);
}


/* Opens a sealed state at the time "now", and returns the result. A state that
 * opens must be STATE. */
static int
opens(const mcp_keys_t *with, const mcp_request_state_t *of, mcp_str_t text,
    uint64_t now)
{
    int          rc;
    mcp_str_t    state;
    mcp_arena_t  arena;

    mcp_arena_init(&arena, &tm.mem);
    rc = mcp_request_state_open(&arena, with, of, text, now, &state);

    if (rc == MCP_OK) {
        assert_true(mcp_str_eq(state, mcp_str(STATE)));
    }

    mcp_arena_destroy(&arena);

    return rc;
}


static void
keys_init(mcp_keys_t *k, const char *one, const char *two)
{
    memset(k, 0, sizeof(mcp_keys_t));
    assert_int_equal(mcp_keys_add(k, test_str(one)), MCP_OK);

    if (two) {
        assert_int_equal(mcp_keys_add(k, test_str(two)), MCP_OK);
    }
}


static int
setup(void **state)
{
    (void) state;

    test_mem_init(&tm);
    keys_init(&keys, KEY_A, NULL);

    return 0;
}


static int
teardown(void **state)
{
    (void) state;

    assert_int_equal(tm.live, 0);

    return 0;
}


TEST(comes_back)
{
    size_t               i;
    mcp_buf_t            out;
    mcp_str_t            text;
    mcp_request_state_t  of;

    of = book();
    text = seal(&out);

    /* a sealed state is a JSON string without escapes, and does not contain
     * the backend's text */

    assert_int_equal(text.data[0], '"');
    assert_int_equal(text.data[text.len - 1], '"');

    for (i = 1; i < text.len - 1; i++) {
        assert_non_null(strchr("abcdefghijklmnopqrstuvwxyz0123456789-_"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ", text.data[i]));
    }

    assert_int_equal(opens(&keys, &of, text, 0), MCP_OK);
    assert_int_equal(opens(&keys, &of, text, 999), MCP_OK);

    mcp_buf_free(&out);
}


/* The client sends the JSON string back with escapes: the state opens. */
TEST(comes_back_escaped)
{
    char                 escape[8];
    size_t               i;
    mcp_buf_t            out, escaped;
    mcp_str_t            text;
    mcp_request_state_t  of;

    of = book();
    text = seal(&out);
    mcp_buf_init(&escaped, &tm.mem, 4096);
    mcp_buf_lit(&escaped, "\"");

    for (i = 1; i < text.len - 1; i++) {
        snprintf(escape, sizeof(escape), "\\u%04x", (unsigned) text.data[i]);
        mcp_buf_str(&escaped, test_str(escape));
    }

    mcp_buf_lit(&escaped, "\"");
    text = (mcp_str_t) { escaped.data, escaped.len };
    assert_int_equal(opens(&keys, &of, text, 0), MCP_OK);

    mcp_buf_free(&escaped);
    mcp_buf_free(&out);
}


TEST(expires)
{
    mcp_buf_t            out;
    mcp_str_t            text;
    mcp_request_state_t  of;

    of = book();
    text = seal(&out);

    assert_int_equal(opens(&keys, &of, text, 1000), MCP_ERR_DENIED);
    assert_int_equal(opens(&keys, &of, text, UINT64_MAX), MCP_ERR_DENIED);

    mcp_buf_free(&out);
}


/* A sealed state does not open if one of the listed properties of the request
 * has changed. */
TEST(belongs_to_its_request)
{
    size_t               i;
    mcp_buf_t            out;
    mcp_str_t            text;
    mcp_request_state_t  of[9];

    text = seal(&out);

    for (i = 0; i < ITEMS(of); i++) {
        of[i] = book();
    }

    of[0].server = mcp_str("acm");
    of[1].target = mcp_str("@tool");
    of[2].principal = eve;
    of[3].method = mcp_str("prompts/get");
    of[4].name = mcp_str("Book");
    of[5].name = mcp_null_str;
    of[6].params = mcp_null_str;
    of[7].server = mcp_str("acme@");
    of[7].target = mcp_str("tools");
    of[8].method = mcp_str("tools/callb");
    of[8].name = mcp_str("ook");

    for (i = 0; i < ITEMS(of); i++) {
        assert_int_equal(opens(&keys, &of[i], text, 0), MCP_ERR_DENIED);
    }

    mcp_buf_free(&out);
}


/* The client sends the params in another spelling, and adds the members of the
 * next round: the state opens. */
TEST(params_are_the_same)
{
    size_t               i;
    mcp_buf_t            out;
    mcp_str_t            text;
    mcp_request_state_t  of;

    static const char *const  same[] = {
        "{\"arguments\":{\"b\":[\"x\"],\"a\":1},\"name\":\"book\"}",
        "{\"n\\u0061me\":\"b\\u006fok\",\"arguments\":{\"a\":1,\"b\":"
        "[\"\\u0078\"]}}",
        "{ \"name\" : \"book\",\n\"arguments\":{\"a\":10e-1,\"b\":[\"x\"]} }",
        "{\"name\":\"book\",\"arguments\":{\"a\":1.0,\"b\":[\"x\"]},"
        "\"_meta\":{\"progressToken\":1},\"inputResponses\":{\"k\":{}},"
        "\"requestState\":\"s\",\"resumeToken\":\"t\"}"
    };

    static const char *const  other[] = {
        "{\"arguments\":{\"a\":1,\"b\":[\"x\"]}}",
        "{\"name\":\"book\",\"arguments\":{\"a\":2,\"b\":[\"x\"]}}",
        "{\"name\":\"book\",\"arguments\":{\"a\":\"1\",\"b\":[\"x\"]}}",
        "{\"name\":\"book\",\"arguments\":{\"a\":1,\"b\":[\"y\"]}}",
        "{\"name\":\"book\",\"arguments\":{\"a\":1,\"b\":[\"x\"],"
        "\"requestState\":\"s\"}}",
        "{\"name\":\"book\",\"arguments\":{\"a\":1,\"b\":[\"x\"]},\"c\":null}"
    };

    of = book();
    text = seal(&out);

    for (i = 0; i < ITEMS(same); i++) {
        of.params = test_str(same[i]);
        assert_int_equal(opens(&keys, &of, text, 0), MCP_OK);
    }

    for (i = 0; i < ITEMS(other); i++) {
        of.params = test_str(other[i]);
        assert_int_equal(opens(&keys, &of, text, 0), MCP_ERR_DENIED);
    }

    mcp_buf_free(&out);
}


/* Each kind of invalid text has the same result, so clients get the same
 * error. */
TEST(garbage)
{
    size_t               i, len;
    mcp_buf_t            out;
    mcp_str_t            text;
    mcp_request_state_t  of;

    static const char *const  texts[] = {
        "\"\"", "\"x\"", "\"people=3\"", "\"=?base64?cA==?=\"",
        "\"\\ud800\"", "\"\\u0000\"",
        "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\""
    };

    of = book();

    for (i = 0; i < ITEMS(texts); i++) {
        assert_int_equal(opens(&keys, &of, test_str(texts[i]), 0),
                         MCP_ERR_DENIED);
    }

    text = seal(&out);
    len = text.len;

    for (i = 1; i < len - 1; i++) {
        out.data[i] ^= 1;
        assert_int_equal(opens(&keys, &of, text, 0), MCP_ERR_DENIED);
        out.data[i] ^= 1;
    }

    /* cut off */

    for (i = 2; i < len; i++) {
        out.data[len - i] = '"';
        text.len = len - i + 1;
        assert_int_equal(opens(&keys, &of, text, 0), MCP_ERR_DENIED);
    }

    mcp_buf_free(&out);
}


/* A token that was sealed for another purpose, and an empty text, do not
 * open. */
TEST(other_tokens)
{
    mcp_buf_t            out;
    mcp_str_t            text;
    mcp_request_state_t  of;
    unsigned char        nonce[MCP_SEAL_NONCE_LEN] = { 0 };

    of = book();
    mcp_buf_init(&out, &tm.mem, 4096);
    mcp_buf_lit(&out, "\"");
    assert_int_equal(mcp_token_seal(&keys, MCP_TOKEN_RESUME, mcp_null_str,
                                    mcp_str("12345678\"s\""), nonce, &out),
                     MCP_OK);
    mcp_buf_lit(&out, "\"");
    text = mcp_buf_text(&out);
    assert_int_equal(opens(&keys, &of, text, 0), MCP_ERR_DENIED);

    mcp_buf_free(&out);
}


TEST(keys_rotate)
{
    mcp_buf_t            out;
    mcp_str_t            text;
    mcp_keys_t           other, next;
    mcp_request_state_t  of;

    keys_init(&other, KEY_B, NULL);
    keys_init(&next, KEY_B, KEY_A);

    of = book();
    text = seal(&out);

    assert_int_equal(opens(&other, &of, text, 0), MCP_ERR_DENIED);
    assert_int_equal(opens(&next, &of, text, 0), MCP_OK);

    /* two keys have the same id: both are tried */

    next.id[0] = next.id[1];
    assert_int_equal(opens(&next, &of, text, 0), MCP_OK);

    mcp_buf_free(&out);
}


TEST(limits)
{
    char                *big;
    mcp_buf_t            out;
    mcp_str_t            most, none;
    mcp_keys_t           no_keys;
    mcp_arena_t          arena;
    mcp_request_state_t  of;

    of = book();
    memset(&no_keys, 0, sizeof(no_keys));
    big = malloc(MCP_SEAL_MAX_DATA);
    assert_non_null(big);
    memset(big, 'x', MCP_SEAL_MAX_DATA);
    big[0] = '"';
    most = (mcp_str_t) { big, MCP_SEAL_MAX_DATA - 8 };
    mcp_buf_init(&out, &tm.mem, SIZE_MAX / 2);
    mcp_buf_lit(&out, "x");

    most.len++;
    assert_int_equal(seal_with(&keys, &of, most, 1, &out), MCP_ERR_LIMIT);
    assert_int_equal(seal_with(&no_keys, &of, mcp_str(STATE), 1, &out),
                     MCP_ERR_INTERNAL);
    of.max_depth = 2;
    assert_int_equal(seal_with(&keys, &of, mcp_str(STATE), 1, &out),
                     MCP_ERR_LIMIT);
    assert_int_equal(out.len, 1);

    of.max_depth = 16;
    most.len--;
    assert_int_equal(seal_with(&keys, &of, most, 1, &out), MCP_OK);

    mcp_arena_init(&arena, &tm.mem);
    assert_int_equal(mcp_request_state_open(&arena, &keys, &of,
                                            (mcp_str_t) { out.data + 1,
                                                          out.len - 1 },
                                            0, &none),
                     MCP_OK);
    assert_true(mcp_str_eq(none, most));
    mcp_arena_destroy(&arena);

    mcp_buf_free(&out);
    free(big);
}


TEST(without_memory)
{
    int                  rc;
    unsigned long        n;
    mcp_buf_t            out;
    mcp_str_t            text;
    mcp_request_state_t  of;

    of = book();

    for (n = 1, rc = MCP_ERR_MEMORY; rc != MCP_OK; n++) {
        mcp_buf_init(&out, &tm.mem, 4096);
        tm.fail_at = n;
        rc = seal_with(&keys, &of, mcp_str(STATE), 1000, &out);
        assert_true(rc == MCP_OK || (rc == MCP_ERR_MEMORY && out.len == 0));
        mcp_buf_free(&out);
    }

    tm.fail_at = 0;
    text = seal(&out);

    for (n = 1, rc = MCP_ERR_MEMORY; rc != MCP_OK; n++) {
        tm.fail_at = n;
        rc = opens(&keys, &of, text, 0);
        assert_true(rc == MCP_OK || rc == MCP_ERR_MEMORY);
    }

    tm.fail_at = 0;
    mcp_buf_free(&out);
}


RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: Apache-2.0 */

/* A backend's request state: the sealed state opens to the same text, and only
 * with the same request. */


#include "test_env.h"

#include "rpc/mcp_request_state.h"


#define KEY_A  "0123456789abcdef0123456789abcdef"
#define KEY_B  "another key, of 32 bytes or more"

#define STATE   "\"people=3 \\u00e9\\n\""
#define PARAMS  "{\"name\":\"book\",\"arguments\":{\"a\":1,\"b\":[\"x\"]}}"


static const unsigned char  ada[MCP_DIGEST_LEN] = "principal: Ada.";
static const unsigned char  eve[MCP_DIGEST_LEN] = "principal: Eve.";

static test_mem_t           tm;
static mcp_keys_t           keys;
static mcp_buf_t            out;
static mcp_str_t            text;      /* content of out, after seal() */
static mcp_request_state_t  of;        /* book(), unless a test changes it */


static mcp_request_state_t
book(void)
{
    mcp_request_state_t  request;

    request.server = mcp_str("acme");
    request.target = mcp_str("@tools");
    request.principal = ada;
    request.method = mcp_str("tools/call");
    request.name = mcp_str("book");
    request.params = mcp_str(PARAMS);
    request.max_depth = 16;

    return request;
}


static int
seal_with(const mcp_keys_t *with, const mcp_request_state_t *request,
    mcp_str_t state, uint64_t expires)
{
    unsigned char  nonce[MCP_SEAL_NONCE_LEN] = "a nonce of 24 bytes....";

    return mcp_request_state_seal(&tm.mem, with, request, state, expires, nonce,
                                  &out);
}


/* Seals STATE for the request of book(). The sealed state expires at time
 * 1000. */
static void
seal(void)
{
    of = book();
    assert_ok(seal_with(&keys, &of, mcp_str(STATE), 1000));
    text = mcp_buf_text(&out);
}


/* Opens a sealed state at the time "now", and returns the result. A state that
 * opens must be STATE. */
static int
opens(const mcp_keys_t *with, const mcp_request_state_t *request,
    mcp_str_t sealed, uint64_t now)
{
    int          rc;
    mcp_str_t    state;
    mcp_arena_t  arena;

    mcp_arena_init(&arena, &tm.mem);
    rc = mcp_request_state_open(&arena, with, request, sealed, now, &state);

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
    assert_ok(mcp_keys_add(k, test_str(one)));

    if (two) {
        assert_ok(mcp_keys_add(k, test_str(two)));
    }
}


static int
setup(void **state)
{
    test_mem_init(&tm);
    keys_init(&keys, KEY_A, NULL);
    mcp_buf_init(&out, &tm.mem, SIZE_MAX / 2);
    of = book();

    return 0;
}


static int
teardown(void **state)
{
    mcp_buf_free(&out);
    assert_int_equal(tm.live, 0);

    return 0;
}


TEST(sealed_state_is_opened__it_is_the_text_that_the_backend_sent)
{
    size_t  i;

    seal();

    /* a sealed state is a JSON string without escapes, and does not contain
     * the backend's text */

    assert_int_equal(text.data[0], '"');
    assert_int_equal(text.data[text.len - 1], '"');

    for (i = 1; i < text.len - 1; i++) {
        assert_non_null(strchr("abcdefghijklmnopqrstuvwxyz0123456789-_"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ", text.data[i]));
    }

    assert_ok(opens(&keys, &of, text, 0));
    assert_ok(opens(&keys, &of, text, 999));
}


/* The client sends the JSON string back with escapes: the state opens. */
TEST(client_sends_a_sealed_state_with_json_escapes__the_state_still_opens)
{
    char                 escape[8];
    size_t               i;
    mcp_buf_t  escaped;

    seal();
    mcp_buf_init(&escaped, &tm.mem, 4096);
    mcp_buf_lit(&escaped, "\"");

    for (i = 1; i < text.len - 1; i++) {
        snprintf(escape, sizeof(escape), "\\u%04x", (unsigned) text.data[i]);
        mcp_buf_str(&escaped, test_str(escape));
    }

    mcp_buf_lit(&escaped, "\"");
    text = (mcp_str_t) { escaped.data, escaped.len };
    assert_ok(opens(&keys, &of, text, 0));

    mcp_buf_free(&escaped);
}


TEST(expired_state_does_not_open)
{
    seal();

    assert_int_equal(opens(&keys, &of, text, 1000), MCP_ERR_DENIED);
    assert_int_equal(opens(&keys, &of, text, UINT64_MAX), MCP_ERR_DENIED);
}


/* A sealed state does not open if one of the listed properties of the request
 * has changed. */
TEST(request_differs_from_that_of_the_sealed_state__the_state_does_not_open)
{
    size_t               i;
    mcp_request_state_t  changed[9];

    seal();

    for (i = 0; i < ITEMS(changed); i++) {
        changed[i] = book();
    }

    changed[0].server = mcp_str("acm");
    changed[1].target = mcp_str("@tool");
    changed[2].principal = eve;
    changed[3].method = mcp_str("prompts/get");
    changed[4].name = mcp_str("Book");
    changed[5].name = mcp_null_str;
    changed[6].params = mcp_null_str;
    changed[7].server = mcp_str("acme@");
    changed[7].target = mcp_str("tools");
    changed[8].method = mcp_str("tools/callb");
    changed[8].name = mcp_str("ook");

    for (i = 0; i < ITEMS(changed); i++) {
        assert_int_equal(opens(&keys, &changed[i], text, 0), MCP_ERR_DENIED);
    }
}


/* The client sends the params in another spelling, and adds the members of the
 * next round: the state opens. */
TEST(sealed_state_opens_only_for_params_with_the_same_values)
{
    size_t  i;

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

    seal();

    for (i = 0; i < ITEMS(same); i++) {
        of.params = test_str(same[i]);
        assert_ok(opens(&keys, &of, text, 0));
    }

    for (i = 0; i < ITEMS(other); i++) {
        of.params = test_str(other[i]);
        assert_int_equal(opens(&keys, &of, text, 0), MCP_ERR_DENIED);
    }
}


/* Each kind of invalid text has the same result, so clients get the same
 * error. */
TEST(altered_or_malformed_state_does_not_open)
{
    size_t  i, len;

    static const char *const  texts[] = {
        "\"\"", "\"x\"", "\"people=3\"", "\"=?base64?cA==?=\"",
        "\"\\ud800\"", "\"\\u0000\"",
        "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\""
    };

    for (i = 0; i < ITEMS(texts); i++) {
        assert_int_equal(opens(&keys, &of, test_str(texts[i]), 0),
                         MCP_ERR_DENIED);
    }

    seal();
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
}


/* A token that was sealed for another purpose, and an empty text, do not
 * open. */
TEST(token_sealed_for_another_purpose_does_not_open_as_a_state)
{
    unsigned char  nonce[MCP_SEAL_NONCE_LEN] = { 0 };

    mcp_buf_lit(&out, "\"");
    assert_ok(mcp_token_seal(&keys, MCP_TOKEN_RESUME, mcp_null_str,
                             mcp_str("12345678\"s\""), nonce, &out));
    mcp_buf_lit(&out, "\"");
    text = mcp_buf_text(&out);
    assert_int_equal(opens(&keys, &of, text, 0), MCP_ERR_DENIED);
}


TEST(state_opens_as_long_as_its_key_is_configured)
{
    mcp_keys_t  other, next;

    keys_init(&other, KEY_B, NULL);
    keys_init(&next, KEY_B, KEY_A);

    seal();

    assert_int_equal(opens(&other, &of, text, 0), MCP_ERR_DENIED);
    assert_ok(opens(&next, &of, text, 0));

    /* two keys have the same id: both are tried */

    next.id[0] = next.id[1];
    assert_ok(opens(&next, &of, text, 0));
}


TEST(state_too_long_or_params_too_deep_or_no_key__nothing_is_sealed)
{
    char        *big;
    mcp_str_t    most, none;
    mcp_keys_t   no_keys;
    mcp_arena_t  arena;

    memset(&no_keys, 0, sizeof(no_keys));
    big = malloc(MCP_SEAL_MAX_DATA);
    assert_non_null(big);
    memset(big, 'x', MCP_SEAL_MAX_DATA);
    big[0] = '"';
    most = (mcp_str_t) { big, MCP_SEAL_MAX_DATA - 8 };
    mcp_buf_lit(&out, "x");

    most.len++;
    assert_int_equal(seal_with(&keys, &of, most, 1), MCP_ERR_LIMIT);
    assert_int_equal(seal_with(&no_keys, &of, mcp_str(STATE), 1),
                     MCP_ERR_INTERNAL);
    of.max_depth = 2;
    assert_int_equal(seal_with(&keys, &of, mcp_str(STATE), 1),
                     MCP_ERR_LIMIT);
    assert_int_equal(out.len, 1);

    of.max_depth = 16;
    most.len--;
    assert_ok(seal_with(&keys, &of, most, 1));

    mcp_arena_init(&arena, &tm.mem);
    assert_ok(mcp_request_state_open(&arena, &keys, &of,
                                     (mcp_str_t) { out.data + 1,
                                                   out.len - 1 },
                                     0, &none));
    assert_true(mcp_str_eq(none, most));
    mcp_arena_destroy(&arena);

    free(big);
}


TEST(memory_runs_out__a_state_is_neither_sealed_nor_opened)
{
    int            rc;
    unsigned long  n;

    for (n = 1, rc = MCP_ERR_MEMORY; rc != MCP_OK; n++) {
        mcp_buf_init(&out, &tm.mem, 4096);
        tm.fail_at = n;
        rc = seal_with(&keys, &of, mcp_str(STATE), 1000);
        assert_true(rc == MCP_OK || (rc == MCP_ERR_MEMORY && out.len == 0));
        mcp_buf_free(&out);
    }

    tm.fail_at = 0;
    seal();

    for (n = 1, rc = MCP_ERR_MEMORY; rc != MCP_OK; n++) {
        tm.fail_at = n;
        rc = opens(&keys, &of, text, 0);
        assert_true(rc == MCP_OK || rc == MCP_ERR_MEMORY);
    }

    tm.fail_at = 0;
}


RUN_TESTS(setup, teardown)

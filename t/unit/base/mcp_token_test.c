/* SPDX-License-Identifier: Apache-2.0 */

/* Tokens: valid ones are accepted, others rejected. */


#include <openssl/crypto.h>

#include "test_env.h"

#include "base/mcp_base64.h"
#include "base/mcp_token.h"


#define KEY_A  "0123456789abcdef0123456789abcdef"
#define KEY_B  "another key of more than 32 bytes, with spaces"


static void
keys_init(mcp_keys_t *keys, const char *first, const char *second)
{
    memset(keys, 0, sizeof(mcp_keys_t));

    assert_ok(mcp_keys_add(keys, test_str(first)));

    if (second != NULL) {
        assert_ok(mcp_keys_add(keys, test_str(second)));
    }
}


static mcp_str_t
sign(const mcp_keys_t *keys, char purpose, const void *data, size_t len,
    char *text)
{
    char  *end;

    end = mcp_token_sign(keys, purpose, data, len, text);
    assert_non_null(end);
    assert_true(end - text <= MCP_TOKEN_TEXT_MAX);

    return (mcp_str_t) { text, (size_t) (end - text) };
}


/* Verifies a token whose payload has the length that follows from the text. */
static int
verify(const mcp_keys_t *keys, char purpose, mcp_str_t text)
{
    size_t         len;
    unsigned char  data[MCP_TOKEN_MAX_DATA];

    len = mcp_base64url_decoded_len(text.len) - 1 - MCP_TOKEN_MAC_LEN;

    return mcp_token_verify(keys, purpose, text, data,
                            len <= sizeof(data) ? len : 0);
}


TEST(secret_of_fewer_than_32_bytes_without_white_space_is_rejected)
{
    static const struct {
        const char  *secret;
        int          rc;
    } cases[] = {
        { "", MCP_ERR_CONFIG },
        { "   \r\n\t\v\f ", MCP_ERR_CONFIG },
        { "0123456789abcdef0123456789abcde", MCP_ERR_CONFIG },
        { " 0123456789abcdef0123456789abcde\n", MCP_ERR_CONFIG },
        { "                               a", MCP_ERR_CONFIG },
        { "0123456789abcdef0123456789abcdef", MCP_OK },
        { "\n 0123456789abcdef 0123456789abcde \r\n", MCP_OK },
    };

    size_t      i;
    mcp_keys_t  keys;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(&keys, 0, sizeof(keys));

        assert_int_equal(mcp_keys_add(&keys, test_str(cases[i].secret)),
                         cases[i].rc);
        assert_int_equal(keys.n, cases[i].rc == MCP_OK);
    }
}


TEST(keys_are_stripped_and_counted_once)
{
    mcp_keys_t  a, b;

    keys_init(&a, KEY_A, "\n" KEY_A "  \r\n");
    keys_init(&b, "\t" KEY_A "\n", NULL);

    assert_int_equal(a.n, 1);
    assert_memory_equal(&a, &b, sizeof(a));

    /* the key id in tokens is not a part of the key */
    assert_int_not_equal(a.id[0], a.key[0][0]);
}


TEST(key_beyond_the_maximum_number_is_rejected)
{
    char        secret[64];
    int         i;
    mcp_keys_t  keys;

    memset(&keys, 0, sizeof(keys));

    for (i = 0; i < MCP_KEYS_MAX; i++) {
        snprintf(secret, sizeof(secret), KEY_A "%d", i);
        assert_ok(mcp_keys_add(&keys, test_str(secret)));
    }

    assert_int_equal(mcp_keys_add(&keys, test_str(KEY_B)), MCP_ERR_LIMIT);
    assert_int_equal(keys.n, MCP_KEYS_MAX);
}


/* A token, compared with that of an independent implementation (Python's
 * hmac). */
TEST(token_has_the_documented_bytes)
{
    char        text[MCP_TOKEN_TEXT_MAX];
    mcp_keys_t  keys;

    keys_init(&keys, KEY_A, NULL);

    assert_str_is(sign(&keys, 's', "hello", 5, text), "aGVsbG_tN7merO1ST2x5aHoTCuSA4A");
}


TEST(token_is_verified_to_the_signed_data)
{
    static const size_t  lens[] = { 0, 1, 2, 3, 40, 255, MCP_TOKEN_MAX_DATA };

    char           text[MCP_TOKEN_TEXT_MAX];
    size_t         i, len;
    mcp_str_t      token;
    mcp_keys_t     keys;
    unsigned char  data[MCP_TOKEN_MAX_DATA + 1], out[MCP_TOKEN_MAX_DATA];

    keys_init(&keys, KEY_A, NULL);

    for (i = 0; i < sizeof(data); i++) {
        data[i] = (unsigned char) (i * 7);
    }

    for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        len = lens[i];
        token = sign(&keys, 's', data, len, text);

        assert_ok(mcp_token_verify(&keys, 's', token, out, len));
        assert_memory_equal(out, data, len);

        /* a payload of another length is an error */

        assert_int_equal(mcp_token_verify(&keys, 's', token, out, len + 1),
                         MCP_ERR_SYNTAX);

        if (len > 0) {
            assert_int_equal(mcp_token_verify(&keys, 's', token, out, len - 1),
                             MCP_ERR_SYNTAX);
        }
    }

    assert_null(mcp_token_sign(&keys, 's', data, sizeof(data), text));
}


TEST(token_with_another_purpose_is_denied)
{
    char        text[MCP_TOKEN_TEXT_MAX];
    mcp_str_t   token;
    mcp_keys_t  keys;

    keys_init(&keys, KEY_A, NULL);
    token = sign(&keys, 's', "hello", 5, text);

    assert_ok(verify(&keys, 's', token));
    assert_int_equal(verify(&keys, 'p', token), MCP_ERR_DENIED);
    assert_int_equal(verify(&keys, 0, token), MCP_ERR_DENIED);
}


TEST(token_with_one_bit_changed_is_denied)
{
    char        text[MCP_TOKEN_TEXT_MAX], original;
    size_t      i;
    int         bit;
    mcp_str_t   token;
    mcp_keys_t  keys;

    keys_init(&keys, KEY_A, KEY_B);
    token = sign(&keys, 's', "hello, world", 12, text);

    for (i = 0; i < token.len; i++) {
        original = text[i];

        for (bit = 0; bit < 8; bit++) {
            text[i] = (char) (original ^ 1 << bit);
            assert_true(verify(&keys, 's', token) < 0);
        }

        text[i] = original;
    }

    for (i = 0; i < token.len; i++) {
        assert_true(verify(&keys, 's', (mcp_str_t) { text, i }) < 0);
    }

    text[token.len] = 'A';
    token.len++;
    assert_true(verify(&keys, 's', token) < 0);
}


TEST(malformed_token_is_denied)
{
    static const char  *cases[] = {
        "", "A", "AAAA", "AAAAAAAAAAAAAAAAAAAAAA",
        "====", "AAAAAAAAAAAAAAAAAAAAAAA=", "not a token at all, is it",
    };

    char        longest[MCP_TOKEN_TEXT_MAX + 8];
    size_t      i;
    mcp_keys_t  keys;

    keys_init(&keys, KEY_A, NULL);

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(verify(&keys, 's', test_str(cases[i])),
                         MCP_ERR_SYNTAX);
    }

    memset(longest, 'A', sizeof(longest));
    assert_int_equal(verify(&keys, 's', (mcp_str_t) { longest,
                                                      sizeof(longest) }),
                     MCP_ERR_SYNTAX);
}


TEST(token_of_an_older_key_is_accepted_if_that_key_is_listed)
{
    char        text[MCP_TOKEN_TEXT_MAX];
    mcp_str_t   token;
    mcp_keys_t  old, rotating, new, none;

    keys_init(&old, KEY_A, NULL);
    keys_init(&rotating, KEY_B, KEY_A);
    keys_init(&new, KEY_B, NULL);
    memset(&none, 0, sizeof(none));

    token = sign(&old, 's', "x", 1, text);
    assert_ok(verify(&rotating, 's', token));
    assert_int_equal(verify(&new, 's', token), MCP_ERR_DENIED);
    assert_int_equal(verify(&none, 's', token), MCP_ERR_DENIED);

    token = sign(&rotating, 's', "x", 1, text);
    assert_ok(verify(&new, 's', token));
    assert_int_equal(verify(&old, 's', token), MCP_ERR_DENIED);

    assert_null(mcp_token_sign(&none, 's', "x", 1, text));
}


/* Two keys have the same id of eight bits: both are tried. */
TEST(two_keys_have_one_id__the_token_is_verified_with_both)
{
    char        text[MCP_TOKEN_TEXT_MAX];
    mcp_str_t   token;
    mcp_keys_t  first, both;

    keys_init(&first, KEY_A, NULL);
    keys_init(&both, KEY_B, KEY_A);
    both.id[0] = both.id[1];

    token = sign(&first, 's', "x", 1, text);
    assert_ok(verify(&both, 's', token));
}


/* --- sealed ones --- */

static mcp_str_t
seal(const mcp_keys_t *keys, mcp_str_t bound, mcp_str_t data, mcp_buf_t *out)
{
    size_t         i, start;
    unsigned char  nonce[MCP_SEAL_NONCE_LEN];

    for (i = 0; i < sizeof(nonce); i++) {
        nonce[i] = (unsigned char) i;
    }

    start = out->len;
    assert_ok(mcp_token_seal(keys, 'x', bound, data, nonce, out));

    return (mcp_str_t) { out->data + start, out->len - start };
}


/* Opens a sealed text, and returns the result. If the text opens, its payload
 * must be "is". */
static int
opens(test_mem_t *tm, const mcp_keys_t *keys, char purpose, mcp_str_t bound,
    mcp_str_t text, mcp_str_t is)
{
    int          rc;
    mcp_str_t    data;
    mcp_arena_t  arena;

    mcp_arena_init(&arena, &tm->mem);
    rc = mcp_token_open(keys, purpose, bound, text, &arena, &data);

    if (rc == MCP_OK) {
        assert_true(mcp_str_eq(data, is));
    }

    mcp_arena_destroy(&arena);

    return rc;
}


/* A sealed text, compared with that of an independent implementation (Node's
 * crypto). */
TEST(sealed_text_has_the_documented_bytes)
{
    mcp_buf_t   out;
    test_mem_t  tm;
    mcp_keys_t  keys;

    test_mem_init(&tm);
    keys_init(&keys, KEY_A, NULL);
    mcp_buf_init(&out, &tm.mem, 4096);

    assert_str_is(seal(&keys, mcp_str("bound"), mcp_str("page 2"), &out),
                  "7QABAgMEBQYHCAkKCwwNDg8QERITFBUWFzX_Zm8D8n9Vw16OOynTjoGCbUWI"
                  "Hp0");
    mcp_buf_free(&out);
    assert_int_equal(tm.live, 0);
}


TEST(sealed_text_is_opened_to_the_same_data)
{
    static const size_t  lens[] = {
        0, 1, 2, 3, 15, 16, 17, 300, 5000, MCP_SEAL_MAX_DATA
    };

    char          *data;
    size_t         i;
    mcp_buf_t      out;
    mcp_str_t      text, part;
    test_mem_t     tm;
    mcp_keys_t     keys, none;
    unsigned char  nonce[MCP_SEAL_NONCE_LEN] = { 0 };

    test_mem_init(&tm);
    keys_init(&keys, KEY_A, NULL);
    memset(&none, 0, sizeof(none));
    mcp_buf_init(&out, &tm.mem, SIZE_MAX / 2);
    data = malloc(MCP_SEAL_MAX_DATA + 1);
    assert_non_null(data);

    for (i = 0; i < MCP_SEAL_MAX_DATA + 1; i++) {
        data[i] = (char) (i * 7);
    }

    for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        out.len = 0;
        mcp_buf_lit(&out, "before ");
        part = (mcp_str_t) { data, lens[i] };
        text = seal(&keys, mcp_str("bound"), part, &out);
        assert_memory_equal(out.data, "before ", 7);

        assert_ok(opens(&tm, &keys, 'x', mcp_str("bound"), text, part));
        assert_int_equal(opens(&tm, &keys, 'y', mcp_str("bound"), text, part),
                         MCP_ERR_DENIED);
        assert_int_equal(opens(&tm, &keys, 'x', mcp_str("bounD"), text, part),
                         MCP_ERR_DENIED);
        assert_int_equal(opens(&tm, &keys, 'x', mcp_null_str, text, part),
                         MCP_ERR_DENIED);
    }

    /* a payload or a bound text that is too long, and no key */

    out.len = 0;
    part = (mcp_str_t) { data, MCP_SEAL_MAX_DATA + 1 };
    assert_int_equal(mcp_token_seal(&keys, 'x', mcp_null_str, part, nonce,
                                    &out), MCP_ERR_LIMIT);
    assert_int_equal(mcp_token_seal(&keys, 'x', part, mcp_null_str, nonce,
                                    &out), MCP_ERR_LIMIT);
    assert_int_equal(mcp_token_seal(&none, 'x', mcp_null_str, mcp_null_str,
                                    nonce, &out), MCP_ERR_INTERNAL);
    assert_int_equal(out.len, 0);

    free(data);
    mcp_buf_free(&out);
    assert_int_equal(tm.live, 0);
}


/* A sealed text does not contain its payload, and sealing the same payload
 * again results in another text. */
TEST(sealed_text_does_not_show_its_data_or_that_two_are_equal)
{
    size_t         i;
    char           raw[128];
    mcp_buf_t      out;
    mcp_str_t      one, two;
    test_mem_t     tm;
    mcp_keys_t     keys;
    unsigned char  nonce[MCP_SEAL_NONCE_LEN] = { 0 };

    test_mem_init(&tm);
    keys_init(&keys, KEY_A, NULL);
    mcp_buf_init(&out, &tm.mem, 4096);
    mcp_buf_reserve(&out, 2000);
    one = seal(&keys, mcp_null_str, mcp_str("aaaaaaaaaaaaaaaa"), &out);
    assert_ok(mcp_token_seal(&keys, 'x', mcp_null_str,
                             mcp_str("aaaaaaaaaaaaaaaa"), nonce, &out));
    two = (mcp_str_t) { one.data + one.len, out.len - one.len };
    assert_int_equal(one.len, two.len);

    mcp_base64url_encode(raw, "aaaaaaaaaaaaaaa", 15);

    for (i = 0; i + 8 <= one.len; i++) {
        assert_memory_not_equal(one.data + i, raw, 8);
    }

    /* behind the key id, the texts differ in the nonce and in the encrypted
     * payload */

    assert_memory_not_equal(one.data + 4, two.data + 4, 4);
    assert_memory_not_equal(one.data + 36, two.data + 36, 20);

    /* if the first or the last byte of the nonce differs, so does the
     * encrypted payload */

    for (i = 0; i < MCP_SEAL_NONCE_LEN; i += MCP_SEAL_NONCE_LEN - 1) {
        nonce[i] = 1;
        out.len = one.len + two.len;
        assert_ok(mcp_token_seal(&keys, 'x', mcp_null_str,
                                 mcp_str("aaaaaaaaaaaaaaaa"), nonce,
                                 &out));
        assert_memory_not_equal(two.data + 36, two.data + two.len + 36, 20);
        nonce[i] = 0;
    }

    mcp_buf_free(&out);
    assert_int_equal(tm.live, 0);
}


TEST(sealed_text_with_one_bit_changed_is_denied)
{
    int         bit;
    char        text[256], original;
    size_t      i;
    mcp_buf_t   out;
    mcp_str_t   token, is;
    test_mem_t  tm;
    mcp_keys_t  keys;

    test_mem_init(&tm);
    keys_init(&keys, KEY_A, KEY_B);
    mcp_buf_init(&out, &tm.mem, 4096);
    is = mcp_str("hello, world");
    token = seal(&keys, mcp_str("bound"), is, &out);
    memcpy(text, token.data, token.len);
    token.data = text;

    for (i = 0; i < token.len; i++) {
        original = text[i];

        for (bit = 0; bit < 8; bit++) {
            text[i] = (char) (original ^ 1 << bit);
            assert_true(opens(&tm, &keys, 'x', mcp_str("bound"), token, is)
                        < 0);
        }

        text[i] = original;
    }

    assert_ok(opens(&tm, &keys, 'x', mcp_str("bound"), token, is));

    for (i = 0; i < token.len; i++) {
        assert_true(opens(&tm, &keys, 'x', mcp_str("bound"),
                          (mcp_str_t) { text, i }, is) < 0);
    }

    text[token.len] = 'A';
    token.len++;
    assert_true(opens(&tm, &keys, 'x', mcp_str("bound"), token, is) < 0);

    /* a signed token cannot be opened as a sealed text with the same key, and
     * a sealed text cannot be verified as a signed token */

    assert_true(opens(&tm, &keys, 's', mcp_null_str,
                      sign(&keys, 's', text, 60, text + 100), is) < 0);
    assert_true(verify(&keys, 'x', (mcp_str_t) { out.data, out.len }) < 0);

    mcp_buf_free(&out);
    assert_int_equal(tm.live, 0);
}


TEST(sealed_text_of_an_older_key_is_opened_if_that_key_is_listed)
{
    mcp_buf_t   out;
    mcp_str_t   text, is;
    test_mem_t  tm;
    mcp_keys_t  old, rotating, new;

    test_mem_init(&tm);
    keys_init(&old, KEY_A, NULL);
    keys_init(&rotating, KEY_B, KEY_A);
    keys_init(&new, KEY_B, NULL);
    mcp_buf_init(&out, &tm.mem, 4096);
    is = mcp_str("x");

    text = seal(&old, mcp_null_str, is, &out);
    assert_ok(opens(&tm, &rotating, 'x', mcp_null_str, text, is));
    assert_int_equal(opens(&tm, &new, 'x', mcp_null_str, text, is),
                     MCP_ERR_DENIED);

    /* two keys have the same id: both are tried */

    rotating.id[0] = rotating.id[1];
    assert_ok(opens(&tm, &rotating, 'x', mcp_null_str, text, is));
    keys_init(&rotating, KEY_B, KEY_A);

    out.len = 0;
    text = seal(&rotating, mcp_null_str, is, &out);
    assert_ok(opens(&tm, &new, 'x', mcp_null_str, text, is));
    assert_int_equal(opens(&tm, &old, 'x', mcp_null_str, text, is),
                     MCP_ERR_DENIED);

    mcp_buf_free(&out);
    assert_int_equal(tm.live, 0);
}


TEST(memory_runs_out__neither_sealing_nor_opening_succeeds)
{
    mcp_buf_t      out;
    mcp_str_t      text, is;
    test_mem_t     tm;
    mcp_keys_t     keys;
    unsigned char  nonce[MCP_SEAL_NONCE_LEN] = { 0 };

    test_mem_init(&tm);
    keys_init(&keys, KEY_A, NULL);
    mcp_buf_init(&out, &tm.mem, 4096);
    is = mcp_str("x");

    tm.fail_at = 1;
    assert_int_equal(mcp_token_seal(&keys, 'x', mcp_null_str, is, nonce,
                                    &out), MCP_ERR_MEMORY);
    mcp_buf_free(&out);

    mcp_buf_init(&out, &tm.mem, 4096);
    text = seal(&keys, mcp_null_str, is, &out);
    tm.fail_at = 1;
    assert_int_equal(opens(&tm, &keys, 'x', mcp_null_str, text, is),
                     MCP_ERR_MEMORY);
    mcp_buf_free(&out);

    mcp_buf_init(&out, &tm.mem, 50);
    assert_int_equal(mcp_token_seal(&keys, 'x', mcp_null_str, is, nonce,
                                    &out), MCP_ERR_LIMIT);
    mcp_buf_free(&out);
    assert_int_equal(tm.live, 0);
}


/* Counts the allocations of OpenSSL, which do not use mcp_mem_t, and lets them
 * fail. */

static test_mem_t  openssl_tm;


static void *
openssl_malloc(size_t size, const char *file, int line)
{
    return openssl_tm.mem.alloc(openssl_tm.mem.ctx, size);
}


static void *
openssl_realloc(void *p, size_t size, const char *file, int line)
{
    if (openssl_tm.fail_at > 0 && --openssl_tm.fail_at == 0) {
        openssl_tm.failed++;
        return NULL;
    }

    openssl_tm.live += p == NULL;

    return realloc(p, size);
}


static void
openssl_free(void *p, const char *file, int line)
{
    openssl_tm.mem.free(openssl_tm.mem.ctx, p);
}


static int
use_openssl(void)
{
    int            rc;
    char           text[MCP_TOKEN_TEXT_MAX], *end;
    mcp_str_t      part;
    mcp_keys_t     keys;
    unsigned char  data[8], digest[MCP_DIGEST_LEN];

    memset(&keys, 0, sizeof(keys));
    memset(digest, 0x5a, sizeof(digest));

    rc = mcp_keys_add(&keys, mcp_str(KEY_A));
    if (rc != MCP_OK) {
        assert_int_equal(keys.n, 0);
        return rc;
    }

    end = mcp_token_sign(&keys, 's', "x", 1, text);
    if (end == NULL) {
        return MCP_ERR_MEMORY;
    }

    rc = mcp_token_verify(&keys, 's', (mcp_str_t) { text,
                          (size_t) (end - text) }, data, 1);
    if (rc != MCP_OK) {
        return rc;
    }

    part = mcp_str("x");

    return mcp_digest(digest, &part, 1);
}


TEST(openssl_has_no_memory__the_functions_return_an_error)
{
    int            rc;
    unsigned long  n = 0;

    assert_ok(use_openssl());

    while (test_next_failure(&openssl_tm, &n)) {
        openssl_tm.fail_at = n;

        rc = use_openssl();

        assert_true(rc == MCP_OK
                    || (openssl_tm.failed && (rc == MCP_ERR_MEMORY
                                              || rc == MCP_ERR_INTERNAL)));
    }

    assert_true(n > 4);
}


/* OpenSSL accepts other functions only before its first allocation. */
static int
use_own_memory(void **state)
{
    test_mem_init(&openssl_tm);

    return CRYPTO_set_mem_functions(openssl_malloc, openssl_realloc,
                                    openssl_free) != 1;
}


RUN_TESTS_IN_GROUP(use_own_memory, NULL)

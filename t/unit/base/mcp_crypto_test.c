/* SPDX-License-Identifier: Apache-2.0 */

/* Digests, message authentication, encryption, comparison, random bytes. */


#include "test_env.h"

#include "base/mcp_crypto.h"


TEST(digest_of_parts_equals_the_digest_of_the_parts_joined_by_nul_bytes)
{
    mcp_str_t      parts[2];
    unsigned char  a[MCP_DIGEST_LEN], b[MCP_DIGEST_LEN];

    static const unsigned char  abc[MCP_DIGEST_LEN] = {
        0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea,
        0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23
    };

    parts[0] = mcp_str("abc");
    assert_ok(mcp_digest(a, parts, 1));
    assert_memory_equal(a, abc, MCP_DIGEST_LEN);

    parts[0] = mcp_str("a");
    parts[1] = mcp_str("b");
    assert_ok(mcp_digest(a, parts, 2));

    parts[0] = mcp_str("a\0b");
    assert_ok(mcp_digest(b, parts, 1));
    assert_memory_equal(a, b, MCP_DIGEST_LEN);

    parts[0] = mcp_str("ab");
    parts[1] = mcp_null_str;
    assert_ok(mcp_digest(b, parts, 2));
    assert_memory_not_equal(a, b, MCP_DIGEST_LEN);

    assert_ok(mcp_digest(a, NULL, 0));
}


TEST(secrets_that_differ_in_one_byte_are_not_equal)
{
    char    a[40], b[40];
    size_t  i, len;

    memset(a, 'x', sizeof(a));
    memset(b, 'x', sizeof(b));

    for (len = 1; len <= sizeof(a); len++) {
        for (i = 0; i < len; i++) {
            b[i] ^= (char) (1 << i % 8);
            assert_int_equal(mcp_secret_eq((mcp_str_t) { a, len },
                                           (mcp_str_t) { b, len }), 0);
            assert_int_equal(mcp_secret_eq((mcp_str_t) { a, i },
                                           (mcp_str_t) { b, i }), 1);
            b[i] = 'x';
        }
    }

    assert_int_equal(mcp_secret_eq(mcp_str("abc"), mcp_str("abc")), 1);
    assert_int_equal(mcp_secret_eq(mcp_str("abc"), mcp_str("abd")), 0);
    assert_int_equal(mcp_secret_eq(mcp_str("abc"), mcp_str("ab")), 0);
    assert_int_equal(mcp_secret_eq(mcp_str("a\0c"), mcp_str("a\0d")), 0);
    assert_int_equal(mcp_secret_eq(mcp_null_str, mcp_str("")), 1);
}


TEST(random_bytes_differ_between_two_calls)
{
    unsigned char  a[16], b[16];

    assert_ok(mcp_random(a, sizeof(a)));
    assert_ok(mcp_random(b, sizeof(b)));
    assert_memory_not_equal(a, b, sizeof(a));
    assert_ok(mcp_random(a, 0));
    assert_true(mcp_random(a, (size_t) INT32_MAX + 1) < 0);
}


TEST(hash_of_abc_begins_with_the_bytes_of_its_sha_256)
{
    unsigned char  hash[MCP_CRYPTO_HASH_LEN];

    static const unsigned char  abc[4] = { 0xba, 0x78, 0x16, 0xbf };

    assert_ok(mcp_crypto_hash(hash, "abc", 3));
    assert_memory_equal(hash, abc, sizeof(abc));
}


/* Test vector of RFC 4231, 4.2, with the purpose as the first byte of the
 * data. The key is padded with zeros to 32 bytes, which does not change the
 * result. */
TEST(mac_equals_the_test_vector_of_rfc_4231)
{
    unsigned char  key[MCP_CRYPTO_KEY_LEN], mac[MCP_CRYPTO_MAC_LEN];

    static const unsigned char  expected[MCP_CRYPTO_MAC_LEN] = {
        0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53,
        0x5c, 0xa8, 0xaf, 0xce, 0xaf, 0x0b, 0xf1, 0x2b,
        0x88, 0x1d, 0xc2, 0x00, 0xc9, 0x83, 0x3d, 0xa7,
        0x26, 0xe9, 0x37, 0x6c, 0x2e, 0x32, 0xcf, 0xf7
    };

    memset(key, 0, sizeof(key));
    memset(key, 0x0b, 20);

    assert_ok(mcp_crypto_mac(key, 'H', "i There", 7, mac));
    assert_memory_equal(mac, expected, sizeof(expected));
}


/* Test case 14 of the specification of GCM; modified texts are rejected. */
TEST(cipher_equals_the_gcm_test_vector_and_rejects_altered_texts)
{
    char                 plain[16];
    unsigned char        key[MCP_CRYPTO_KEY_LEN], iv[MCP_CRYPTO_IV_LEN];
    unsigned char        out[16 + MCP_CRYPTO_TAG_LEN], back[16];
    mcp_crypto_cipher_t  cipher = { key, iv, { NULL, 0 } };

    static const unsigned char  expected[16 + MCP_CRYPTO_TAG_LEN] = {
        0xce, 0xa7, 0x40, 0x3d, 0x4d, 0x60, 0x6b, 0x6e,
        0x07, 0x4e, 0xc5, 0xd3, 0xba, 0xf3, 0x9d, 0x18,
        0xd0, 0xd1, 0xc8, 0xa7, 0x99, 0x99, 0x6b, 0xf0,
        0x26, 0x5b, 0x98, 0xb5, 0xd4, 0x8a, 0xb9, 0x19
    };

    memset(key, 0, sizeof(key));
    memset(iv, 0, sizeof(iv));
    memset(plain, 0, sizeof(plain));

    assert_ok(mcp_crypto_encrypt(&cipher, plain, 16, out));
    assert_memory_equal(out, expected, sizeof(expected));

    assert_ok(mcp_crypto_decrypt(&cipher, out, 16, back));
    assert_memory_equal(back, plain, 16);

    cipher.bound = mcp_str("x");
    assert_int_equal(mcp_crypto_decrypt(&cipher, out, 16, back),
                     MCP_ERR_DENIED);

    cipher.bound = mcp_null_str;
    out[31] ^= 1;
    assert_int_equal(mcp_crypto_decrypt(&cipher, out, 16, back),
                     MCP_ERR_DENIED);
}


RUN_TESTS(NULL, NULL)

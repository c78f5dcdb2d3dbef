/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The only file that uses OpenSSL.
 *
 * HMAC (RFC 2104) is computed here from SHA-256, without OpenSSL's HMAC().
 * OpenSSL 3 looks up the algorithms by name in each call of HMAC(), which takes
 * longer than the hashing. An HMAC context that is kept for each key would
 * avoid the lookup, but it would be heap memory that must be freed with the
 * key.
 */


#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "base/mcp_crypto.h"
#include "base/mcp_word.h"


#define MCP_SHA256_BLOCK  64


int
mcp_random(void *buf, size_t len)
{
    if (len > INT32_MAX || RAND_bytes(buf, (int) len) != 1) {
        return MCP_ERR_INTERNAL;
    }

    return MCP_OK;
}


/*
 * Collects the differences of all bytes in one word, eight bytes at a time and
 * without a branch. CRYPTO_memcmp() compares only this word with 0, because
 * this function of OpenSSL is slow: it compares byte by byte.
 */
int
mcp_secret_eq(mcp_str_t a, mcp_str_t b)
{
    size_t    i;
    uint64_t  diff;

    const uint64_t  none = 0;

    if (a.len != b.len) {
        return 0;
    }

    diff = 0;

    for (i = 0; a.len - i >= sizeof(diff); i += sizeof(diff)) {
        diff |= mcp_word(a.data + i) ^ mcp_word(b.data + i);
    }

    for (; i < a.len; i++) {
        diff |= (unsigned char) (a.data[i] ^ b.data[i]);
    }

    return CRYPTO_memcmp(&diff, &none, sizeof(diff)) == 0;
}


int
mcp_secret_same(const unsigned char *a, const unsigned char *b, size_t len)
{
    return mcp_secret_eq((mcp_str_t) { (const char *) a, len },
                         (mcp_str_t) { (const char *) b, len });
}


void
mcp_crypto_cleanse(void *p, size_t len)
{
    OPENSSL_cleanse(p, len);
}


int
mcp_crypto_hash(unsigned char out[MCP_CRYPTO_HASH_LEN], const void *data,
    size_t len)
{
    if (EVP_Digest(data, len, out, NULL, EVP_sha256(), NULL) != 1) {
        return MCP_ERR_INTERNAL;
    }

    return MCP_OK;
}


int
mcp_digest(unsigned char out[MCP_DIGEST_LEN], const mcp_str_t *parts, size_t n)
{
    int             ok;
    size_t          i;
    EVP_MD_CTX     *ctx;
    unsigned char   digest[MCP_CRYPTO_HASH_LEN];

    ctx = EVP_MD_CTX_new();
    if (ctx == NULL) {
        return MCP_ERR_MEMORY;
    }

    ok = EVP_DigestInit_ex(ctx, EVP_sha256(), NULL);

    for (i = 0; ok == 1 && i < n; i++) {
        if (i > 0) {
            ok = EVP_DigestUpdate(ctx, "", 1);
        }

        if (ok == 1 && parts[i].len > 0) {
            ok = EVP_DigestUpdate(ctx, parts[i].data, parts[i].len);
        }
    }

    if (ok == 1) {
        ok = EVP_DigestFinal_ex(ctx, digest, NULL);
    }

    EVP_MD_CTX_free(ctx);

    if (ok != 1) {
        return MCP_ERR_INTERNAL;
    }

    memcpy(out, digest, MCP_DIGEST_LEN);

    return MCP_OK;
}


int
mcp_digest_is_nobody(const unsigned char id[MCP_DIGEST_LEN])
{
    static const unsigned char  nobody[MCP_DIGEST_LEN];

    return memcmp(id, nobody, MCP_DIGEST_LEN) == 0;
}


/* Computes the first block of an HMAC's inner hash (the key XOR 0x36) and that
 * of its outer hash (the key XOR 0x5c), MCP_SHA256_BLOCK bytes each. */
static void
mcp_crypto_mac_pads(const unsigned char key[MCP_CRYPTO_KEY_LEN],
    unsigned char *inner, unsigned char *outer)
{
    size_t  i;

    memset(inner, 0x36, MCP_SHA256_BLOCK);
    memset(outer, 0x5c, MCP_SHA256_BLOCK);

    for (i = 0; i < MCP_CRYPTO_KEY_LEN; i++) {
        inner[i] ^= key[i];
        outer[i] ^= key[i];
    }
}


int
mcp_crypto_mac(const unsigned char key[MCP_CRYPTO_KEY_LEN], char purpose,
    const void *data, size_t len, unsigned char mac[MCP_CRYPTO_MAC_LEN])
{
    int             ok;
    EVP_MD_CTX     *ctx;
    unsigned char   inner[MCP_SHA256_BLOCK + 1], outer[MCP_SHA256_BLOCK];

    ctx = EVP_MD_CTX_new();
    if (ctx == NULL) {
        return MCP_ERR_MEMORY;
    }

    mcp_crypto_mac_pads(key, inner, outer);
    inner[MCP_SHA256_BLOCK] = (unsigned char) purpose;

    /* the second EVP_DigestInit_ex() passes NULL and thus reuses the algorithm
     * of the first call, so OpenSSL looks up SHA-256 only once */

    ok = EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1
         && EVP_DigestUpdate(ctx, inner, sizeof(inner)) == 1
         && (len == 0 || EVP_DigestUpdate(ctx, data, len) == 1)
         && EVP_DigestFinal_ex(ctx, mac, NULL) == 1
         && EVP_DigestInit_ex(ctx, NULL, NULL) == 1
         && EVP_DigestUpdate(ctx, outer, sizeof(outer)) == 1
         && EVP_DigestUpdate(ctx, mac, MCP_CRYPTO_MAC_LEN) == 1
         && EVP_DigestFinal_ex(ctx, mac, NULL) == 1;

    EVP_MD_CTX_free(ctx);

    OPENSSL_cleanse(inner, sizeof(inner));
    OPENSSL_cleanse(outer, sizeof(outer));

    return ok ? MCP_OK : MCP_ERR_INTERNAL;
}


/* Encrypts or decrypts len bytes. The caller writes or checks the tag. Returns
 * 1, or 0 if OpenSSL failed. */
static int
mcp_crypto_cipher(EVP_CIPHER_CTX *ctx, int encrypt,
    const mcp_crypto_cipher_t *cipher, const void *in, size_t len, void *out)
{
    int  n;

    return EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL, cipher->key,
                             cipher->iv, encrypt) == 1
           && (cipher->bound.len == 0
               || EVP_CipherUpdate(ctx, NULL, &n,
                                   (const unsigned char *) cipher->bound.data,
                                   (int) cipher->bound.len) == 1)
           && (len == 0 || EVP_CipherUpdate(ctx, out, &n, in, (int) len) == 1);
}


int
mcp_crypto_encrypt(const mcp_crypto_cipher_t *cipher, const void *in,
    size_t len, unsigned char *out)
{
    int              n, ok;
    EVP_CIPHER_CTX  *ctx;

    ctx = EVP_CIPHER_CTX_new();
    if (ctx == NULL) {
        return MCP_ERR_MEMORY;
    }

    ok = mcp_crypto_cipher(ctx, 1, cipher, in, len, out)
         && EVP_CipherFinal_ex(ctx, out + len, &n) == 1
         && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, MCP_CRYPTO_TAG_LEN,
                                out + len) == 1;

    EVP_CIPHER_CTX_free(ctx);

    return ok ? MCP_OK : MCP_ERR_INTERNAL;
}


int
mcp_crypto_decrypt(const mcp_crypto_cipher_t *cipher, const unsigned char *in,
    size_t len, unsigned char *out)
{
    int              n, rc;
    EVP_CIPHER_CTX  *ctx;
    unsigned char    tag[MCP_CRYPTO_TAG_LEN];

    ctx = EVP_CIPHER_CTX_new();
    if (ctx == NULL) {
        return MCP_ERR_MEMORY;
    }

    rc = MCP_ERR_INTERNAL;
    memcpy(tag, in + len, sizeof(tag));

    if (mcp_crypto_cipher(ctx, 0, cipher, in, len, out)
        && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, MCP_CRYPTO_TAG_LEN,
                               tag) == 1)
    {
        rc = EVP_CipherFinal_ex(ctx, out + len, &n) == 1 ? MCP_OK
                                                         : MCP_ERR_DENIED;
    }

    EVP_CIPHER_CTX_free(ctx);

    return rc;
}

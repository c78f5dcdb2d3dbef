/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Keys, signed and sealed tokens, digests and secrets: the only file that
 * knows OpenSSL.
 *
 * A token is base64url(payload | key id | MAC), where MAC is the first half
 * of HMAC-SHA256(key, purpose | payload).  The HMAC (RFC 2104) is put
 * together from one digest context here: OpenSSL 3 looks its algorithms up
 * by name for every HMAC(), which takes longer than the hashing, and a
 * context kept per key would be heap memory that somebody has to own.
 *
 * A sealed token is base64url(key id | nonce | encrypted payload | tag).  Each
 * has a key of its own, made of ours, the purpose and the first half of its
 * nonce; the second half is that of AES-256-GCM.  96 random bits alone would
 * do for some 2^32 tokens of one key (NIST SP 800-38D, 8.3), which a busy
 * server reaches.
 */


#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "base/mcp_base64.h"
#include "base/mcp_token.h"


#define MCP_SHA256_LEN    32
#define MCP_SHA256_BLOCK  64

#define MCP_TOKEN_TAIL    (1 + MCP_TOKEN_MAC_LEN)      /* key id, MAC */

#define MCP_SEAL_IV_LEN   12                           /* of GCM */
#define MCP_SEAL_TAG_LEN  16
#define MCP_SEAL_HEAD     (1 + MCP_SEAL_NONCE_LEN)     /* key id, nonce */

/* no token is signed for this one */
#define MCP_SEAL_PURPOSE  '\0'


static mcp_str_t mcp_token_strip(mcp_str_t s);
static int mcp_token_is_space(char c);
static int mcp_token_mac(const unsigned char key[MCP_SHA256_LEN],
    char purpose, const void *data, size_t len,
    unsigned char mac[MCP_SHA256_LEN]);


int
mcp_keys_add(mcp_keys_t *keys, mcp_str_t secret)
{
    unsigned        i;
    unsigned char  *key, digest[MCP_SHA256_LEN];

    secret = mcp_token_strip(secret);

    if (secret.len < MCP_KEY_MIN_LEN) {
        return MCP_ERR_CONFIG;
    }

    if (keys->n == MCP_KEYS_MAX) {
        return MCP_ERR_LIMIT;
    }

    key = keys->key[keys->n];

    if (EVP_Digest(secret.data, secret.len, key, NULL, EVP_sha256(), NULL) != 1
        || EVP_Digest(key, MCP_SHA256_LEN, digest, NULL, EVP_sha256(), NULL)
           != 1)
    {
        return MCP_ERR_INTERNAL;
    }

    for (i = 0; i < keys->n; i++) {
        if (CRYPTO_memcmp(keys->key[i], key, MCP_SHA256_LEN) == 0) {
            OPENSSL_cleanse(key, MCP_SHA256_LEN);
            return MCP_OK;
        }
    }

    /* of the key's digest, not of the key: tokens show it to everybody */
    keys->id[keys->n++] = digest[0];

    return MCP_OK;
}


char *
mcp_token_sign(const mcp_keys_t *keys, char purpose, const void *data,
    size_t len, char *p)
{
    unsigned char  mac[MCP_SHA256_LEN];
    unsigned char  token[MCP_TOKEN_MAX_DATA + MCP_TOKEN_TAIL];

    if (keys->n == 0 || len > MCP_TOKEN_MAX_DATA) {
        return NULL;
    }

    if (mcp_token_mac(keys->key[0], purpose, data, len, mac) != MCP_OK) {
        return NULL;
    }

    if (len > 0) {
        memcpy(token, data, len);
    }

    token[len] = keys->id[0];
    memcpy(token + len + 1, mac, MCP_TOKEN_MAC_LEN);

    return mcp_base64url_encode(p, token, len + MCP_TOKEN_TAIL);
}


int
mcp_token_verify(const mcp_keys_t *keys, char purpose, mcp_str_t text,
    void *data, size_t *len)
{
    size_t          n;
    unsigned        i;
    unsigned char  *tail, mac[MCP_SHA256_LEN];
    unsigned char   token[MCP_TOKEN_MAX_DATA + MCP_TOKEN_TAIL];

    if (mcp_base64url_decode(text, token, sizeof(token), &n) != MCP_OK
        || n < MCP_TOKEN_TAIL || n - MCP_TOKEN_TAIL > *len)
    {
        return MCP_ERR_SYNTAX;
    }

    n -= MCP_TOKEN_TAIL;
    tail = token + n;

    for (i = 0; i < keys->n; i++) {

        /* two keys may share an id: go on after a mismatch */

        if (keys->id[i] != tail[0]) {
            continue;
        }

        if (mcp_token_mac(keys->key[i], purpose, token, n, mac) != MCP_OK) {
            return MCP_ERR_INTERNAL;
        }

        if (CRYPTO_memcmp(mac, tail + 1, MCP_TOKEN_MAC_LEN) == 0) {
            if (n > 0) {
                memcpy(data, token, n);
            }

            *len = n;

            return MCP_OK;
        }
    }

    return MCP_ERR_DENIED;
}


/* The key of one sealed token. */
static int
mcp_seal_key(const unsigned char key[MCP_SHA256_LEN], char purpose,
    const unsigned char nonce[MCP_SEAL_NONCE_LEN],
    unsigned char out[MCP_SHA256_LEN])
{
    unsigned char  data[5 + MCP_SEAL_NONCE_LEN - MCP_SEAL_IV_LEN];

    memcpy(data, "seal", 4);
    data[4] = (unsigned char) purpose;
    memcpy(data + 5, nonce, sizeof(data) - 5);

    return mcp_token_mac(key, MCP_SEAL_PURPOSE, data, sizeof(data), out);
}


/* AES-256-GCM, of len bytes at in to out; the tag is written, or compared if
 * "open".  MCP_OK, MCP_ERR_DENIED (the tag), MCP_ERR_MEMORY or
 * MCP_ERR_INTERNAL. */
static int
mcp_seal_cipher(int open, const unsigned char key[MCP_SHA256_LEN],
    const unsigned char nonce[MCP_SEAL_NONCE_LEN], mcp_str_t bound,
    const void *in, size_t len, unsigned char *out,
    unsigned char tag[MCP_SEAL_TAG_LEN])
{
    int                   n, rc;
    EVP_CIPHER_CTX       *ctx;
    const unsigned char  *iv;

    ctx = EVP_CIPHER_CTX_new();
    if (ctx == NULL) {
        return MCP_ERR_MEMORY;
    }

    iv = nonce + MCP_SEAL_NONCE_LEN - MCP_SEAL_IV_LEN;
    rc = MCP_ERR_INTERNAL;

    if (EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL, key, iv, !open) != 1
        || (bound.len
            && EVP_CipherUpdate(ctx, NULL, &n,
                                (const unsigned char *) bound.data,
                                (int) bound.len) != 1)
        || (len && EVP_CipherUpdate(ctx, out, &n, in, (int) len) != 1))
    {
        goto done;
    }

    if (open) {
        if (EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, MCP_SEAL_TAG_LEN,
                                tag) == 1)
        {
            rc = EVP_CipherFinal_ex(ctx, out + len, &n) == 1 ? MCP_OK
                                                            : MCP_ERR_DENIED;
        }

    } else if (EVP_CipherFinal_ex(ctx, out + len, &n) == 1
               && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG,
                                      MCP_SEAL_TAG_LEN, tag) == 1)
    {
        rc = MCP_OK;
    }

done:

    EVP_CIPHER_CTX_free(ctx);

    return rc;
}


int
mcp_token_seal(const mcp_keys_t *keys, char purpose, mcp_str_t bound,
    mcp_str_t data, const unsigned char nonce[MCP_SEAL_NONCE_LEN],
    mcp_buf_t *out)
{
    int             rc;
    char           *p;
    size_t          len, text_len;
    unsigned char  *raw, key[MCP_SHA256_LEN];

    if (data.len > MCP_SEAL_MAX_DATA || bound.len > MCP_SEAL_MAX_DATA) {
        return MCP_ERR_LIMIT;
    }

    if (keys->n == 0) {
        return MCP_ERR_INTERNAL;
    }

    len = MCP_SEAL_HEAD + data.len + MCP_SEAL_TAG_LEN;
    text_len = mcp_base64url_len(len);

    /* the bytes lie behind their text */

    p = mcp_buf_reserve(out, text_len + len);
    if (p == NULL) {
        return out->failed;
    }

    raw = (unsigned char *) p + text_len;
    raw[0] = keys->id[0];
    memcpy(raw + 1, nonce, MCP_SEAL_NONCE_LEN);

    rc = mcp_seal_key(keys->key[0], purpose, nonce, key);

    if (rc == MCP_OK) {
        rc = mcp_seal_cipher(0, key, nonce, bound, data.data, data.len,
                             raw + MCP_SEAL_HEAD, raw + len - MCP_SEAL_TAG_LEN);
    }

    OPENSSL_cleanse(key, sizeof(key));

    if (rc == MCP_OK) {
        (void) mcp_base64url_encode(p, raw, len);
        out->len += text_len;
    }

    return rc;
}


int
mcp_token_open(const mcp_keys_t *keys, char purpose, mcp_str_t bound,
    mcp_str_t text, mcp_arena_t *arena, mcp_str_t *data)
{
    int             rc;
    size_t          len, max;
    unsigned        i;
    unsigned char  *raw, *plain, key[MCP_SHA256_LEN];

    max = mcp_base64url_decoded_len(text.len);

    if (max < MCP_SEAL_HEAD + MCP_SEAL_TAG_LEN
        || max > MCP_SEAL_HEAD + MCP_SEAL_MAX_DATA + MCP_SEAL_TAG_LEN
        || bound.len > MCP_SEAL_MAX_DATA)
    {
        return MCP_ERR_SYNTAX;
    }

    raw = mcp_arena_alloc(arena, 2 * max);
    if (raw == NULL) {
        return MCP_ERR_MEMORY;
    }

    if (mcp_base64url_decode(text, raw, max, &len) != MCP_OK || len != max) {
        return MCP_ERR_SYNTAX;
    }

    plain = raw + max;
    len -= MCP_SEAL_HEAD + MCP_SEAL_TAG_LEN;
    rc = MCP_ERR_DENIED;

    for (i = 0; rc == MCP_ERR_DENIED && i < keys->n; i++) {

        /* two keys may share an id: go on after a mismatch */

        if (keys->id[i] != raw[0]) {
            continue;
        }

        rc = mcp_seal_key(keys->key[i], purpose, raw + 1, key);

        if (rc == MCP_OK) {
            rc = mcp_seal_cipher(1, key, raw + 1, bound, raw + MCP_SEAL_HEAD,
                                 len, plain, raw + MCP_SEAL_HEAD + len);
        }

        OPENSSL_cleanse(key, sizeof(key));
    }

    data->data = (const char *) plain;
    data->len = len;

    return rc;
}


int
mcp_digest(unsigned char out[MCP_DIGEST_LEN], const mcp_str_t *parts, size_t n)
{
    int             ok;
    size_t          i;
    EVP_MD_CTX     *ctx;
    unsigned char   digest[MCP_SHA256_LEN];

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
mcp_secret_eq(mcp_str_t a, mcp_str_t b)
{
    if (a.len != b.len) {
        return 0;
    }

    return a.len == 0 || CRYPTO_memcmp(a.data, b.data, a.len) == 0;
}


int
mcp_random(void *buf, size_t len)
{
    if (len > INT32_MAX || RAND_bytes(buf, (int) len) != 1) {
        return MCP_ERR_INTERNAL;
    }

    return MCP_OK;
}


static mcp_str_t
mcp_token_strip(mcp_str_t s)
{
    while (s.len > 0 && mcp_token_is_space(s.data[0])) {
        s.data++;
        s.len--;
    }

    while (s.len > 0 && mcp_token_is_space(s.data[s.len - 1])) {
        s.len--;
    }

    return s;
}


static int
mcp_token_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}


/* HMAC-SHA256 of purpose | data; the key is shorter than a block. */
static int
mcp_token_mac(const unsigned char key[MCP_SHA256_LEN], char purpose,
    const void *data, size_t len, unsigned char mac[MCP_SHA256_LEN])
{
    int             ok;
    size_t          i;
    EVP_MD_CTX     *ctx;
    unsigned char   inner[MCP_SHA256_BLOCK + 1], outer[MCP_SHA256_BLOCK];

    memset(inner, 0x36, MCP_SHA256_BLOCK);
    memset(outer, 0x5c, MCP_SHA256_BLOCK);

    for (i = 0; i < MCP_SHA256_LEN; i++) {
        inner[i] ^= key[i];
        outer[i] ^= key[i];
    }

    inner[MCP_SHA256_BLOCK] = (unsigned char) purpose;

    ctx = EVP_MD_CTX_new();
    if (ctx == NULL) {
        return MCP_ERR_MEMORY;
    }

    /* the second init without a type saves looking SHA-256 up again */

    ok = EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1
         && EVP_DigestUpdate(ctx, inner, sizeof(inner)) == 1
         && (len == 0 || EVP_DigestUpdate(ctx, data, len) == 1)
         && EVP_DigestFinal_ex(ctx, mac, NULL) == 1
         && EVP_DigestInit_ex(ctx, NULL, NULL) == 1
         && EVP_DigestUpdate(ctx, outer, sizeof(outer)) == 1
         && EVP_DigestUpdate(ctx, mac, MCP_SHA256_LEN) == 1
         && EVP_DigestFinal_ex(ctx, mac, NULL) == 1;

    EVP_MD_CTX_free(ctx);

    OPENSSL_cleanse(inner, sizeof(inner));
    OPENSSL_cleanse(outer, sizeof(outer));

    return ok ? MCP_OK : MCP_ERR_INTERNAL;
}

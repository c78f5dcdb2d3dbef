
/*
 * Keys, signed tokens, digests and secrets: the only file that knows OpenSSL.
 *
 * A token is base64url(payload | key id | MAC), where MAC is the first half
 * of HMAC-SHA256(key, purpose | payload).  The HMAC (RFC 2104) is put
 * together from one digest context here: OpenSSL 3 looks its algorithms up
 * by name for every HMAC(), which takes longer than the hashing, and a
 * context kept per key would be heap memory that somebody has to own.
 */


#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "mcp_base64.h"
#include "mcp_token.h"


#define MCP_SHA256_LEN    32
#define MCP_SHA256_BLOCK  64

#define MCP_TOKEN_TAIL    (1 + MCP_TOKEN_MAC_LEN)      /* key id, MAC */


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

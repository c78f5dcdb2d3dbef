/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Keys, signed tokens and sealed tokens.
 *
 * A signed token is base64url(payload | key id | MAC), where MAC is the first
 * half of HMAC-SHA256(key, purpose | payload).
 *
 * A sealed token is base64url(key id | nonce | encrypted payload | tag). Each
 * sealed token has its own AES key, derived from the configured key, the
 * purpose and the first half of the nonce. The second half of the nonce is the
 * IV of AES-256-GCM. With random IVs alone, one key would be safe for about
 * 2^32 tokens only (NIST SP 800-38D, 8.3), which a busy server exceeds.
 */


#include "base/mcp_base64.h"
#include "base/mcp_token.h"


#define MCP_TOKEN_TAIL    (1 + MCP_TOKEN_MAC_LEN)      /* key id, MAC */
#define MCP_SEAL_HEAD     (1 + MCP_SEAL_NONCE_LEN)     /* key id, nonce */

/* the purpose in the HMAC that derives the key of a sealed token, different
 * from the purposes of all signed tokens */
#define MCP_SEAL_PURPOSE  '\0'


static int
mcp_token_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
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


int
mcp_keys_add(mcp_keys_t *keys, mcp_str_t secret)
{
    unsigned        i;
    unsigned char  *key, digest[MCP_CRYPTO_HASH_LEN];

    secret = mcp_token_strip(secret);

    if (secret.len < MCP_KEY_MIN_LEN) {
        return MCP_ERR_CONFIG;
    }

    if (keys->n == MCP_KEYS_MAX) {
        return MCP_ERR_LIMIT;
    }

    key = keys->key[keys->n];

    if (mcp_crypto_hash(key, secret.data, secret.len) != MCP_OK
        || mcp_crypto_hash(digest, key, MCP_CRYPTO_KEY_LEN) != MCP_OK)
    {
        return MCP_ERR_INTERNAL;
    }

    for (i = 0; i < keys->n; i++) {
        if (mcp_secret_same(keys->key[i], key, MCP_CRYPTO_KEY_LEN)) {
            mcp_crypto_cleanse(key, MCP_CRYPTO_KEY_LEN);
            return MCP_OK;
        }
    }

    /* tokens show the id of their key, so the id is the first byte of the
     * key's digest, not a byte of the key */
    keys->id[keys->n++] = digest[0];

    return MCP_OK;
}


int
mcp_key_is_repeated(mcp_str_t secret)
{
    secret = mcp_token_strip(secret);

    return secret.len > 0
           && memcmp(secret.data, secret.data + 1, secret.len - 1) == 0;
}


char *
mcp_token_sign(const mcp_keys_t *keys, mcp_token_e purpose, const void *data,
    size_t len, char *p)
{
    unsigned char  mac[MCP_CRYPTO_MAC_LEN];
    unsigned char  token[MCP_TOKEN_MAX_DATA + MCP_TOKEN_TAIL];

    if (keys->n == 0 || len > MCP_TOKEN_MAX_DATA) {
        return NULL;
    }

    if (mcp_crypto_mac(keys->key[0], (char) purpose, data, len, mac)
        != MCP_OK)
    {
        return NULL;
    }

    if (len > 0) {
        memcpy(token, data, len);
    }

    token[len] = keys->id[0];
    memcpy(token + len + 1, mac, MCP_TOKEN_MAC_LEN);

    return mcp_base64url_encode(p, token, len + MCP_TOKEN_TAIL);
}


/*
 * Returns 1 if the key id and the MAC at the end of the token belong to key i,
 * 0 if not, or MCP_ERR_INTERNAL if OpenSSL fails.
 */
static int
mcp_token_is_signed(const mcp_keys_t *keys, unsigned i, mcp_token_e purpose,
    const unsigned char *token, size_t len)
{
    unsigned char  mac[MCP_CRYPTO_MAC_LEN];

    if (keys->id[i] != token[len]) {
        return 0;
    }

    if (mcp_crypto_mac(keys->key[i], (char) purpose, token, len, mac)
        != MCP_OK)
    {
        return MCP_ERR_INTERNAL;
    }

    return mcp_secret_same(mac, token + len + 1, MCP_TOKEN_MAC_LEN);
}


int
mcp_token_verify(const mcp_keys_t *keys, mcp_token_e purpose, mcp_str_t text,
    void *data, size_t len)
{
    int            rc;
    size_t         n;
    unsigned       i;
    unsigned char  token[MCP_TOKEN_MAX_DATA + MCP_TOKEN_TAIL];

    if (mcp_base64url_decode(text, token, sizeof(token), &n) != MCP_OK
        || n != len + MCP_TOKEN_TAIL)
    {
        return MCP_ERR_SYNTAX;
    }

    rc = 0;

    /* two keys may have the same id: continues after a mismatch */

    for (i = 0; rc == 0 && i < keys->n; i++) {
        rc = mcp_token_is_signed(keys, i, purpose, token, len);
    }

    if (rc < 0) {
        return rc;
    }

    if (rc == 0) {
        return MCP_ERR_DENIED;
    }

    if (len > 0) {
        memcpy(data, token, len);
    }

    return MCP_OK;
}


/* Sets out to the AES key of the sealed token with this purpose and nonce,
 * derived from the configured key. Returns the values of mcp_crypto_mac(). */
static int
mcp_seal_key(const unsigned char key[MCP_CRYPTO_KEY_LEN], mcp_token_e purpose,
    const unsigned char nonce[MCP_SEAL_NONCE_LEN],
    unsigned char out[MCP_CRYPTO_KEY_LEN])
{
    unsigned char  data[5 + MCP_SEAL_NONCE_LEN - MCP_CRYPTO_IV_LEN];

    memcpy(data, "seal", 4);
    data[4] = (unsigned char) purpose;
    memcpy(data + 5, nonce, sizeof(data) - 5);

    return mcp_crypto_mac(key, MCP_SEAL_PURPOSE, data, sizeof(data), out);
}


/* Encrypts data with a key derived from the first configured key. Writes the
 * nonce, the encrypted data and the tag to out. Returns MCP_OK, MCP_ERR_MEMORY,
 * or MCP_ERR_INTERNAL if OpenSSL failed. */
static int
mcp_seal_encrypt(const mcp_keys_t *keys, mcp_token_e purpose, mcp_str_t bound,
    mcp_str_t data, const unsigned char nonce[MCP_SEAL_NONCE_LEN],
    unsigned char *out)
{
    int                  rc;
    unsigned char        key[MCP_CRYPTO_KEY_LEN];
    mcp_crypto_cipher_t  cipher;

    memcpy(out, nonce, MCP_SEAL_NONCE_LEN);

    cipher.key = key;
    cipher.iv = nonce + MCP_SEAL_NONCE_LEN - MCP_CRYPTO_IV_LEN;
    cipher.bound = bound;

    rc = mcp_seal_key(keys->key[0], purpose, nonce, key);

    if (rc == MCP_OK) {
        rc = mcp_crypto_encrypt(&cipher, data.data, data.len,
                                out + MCP_SEAL_NONCE_LEN);
    }

    mcp_crypto_cleanse(key, sizeof(key));

    return rc;
}


int
mcp_token_seal(const mcp_keys_t *keys, mcp_token_e purpose, mcp_str_t bound,
    mcp_str_t data, const unsigned char nonce[MCP_SEAL_NONCE_LEN],
    mcp_buf_t *out)
{
    int             rc;
    char           *p;
    size_t          len, text_len;
    unsigned char  *raw;

    if (data.len > MCP_SEAL_MAX_DATA || bound.len > MCP_SEAL_MAX_DATA) {
        return MCP_ERR_LIMIT;
    }

    if (keys->n == 0) {
        return MCP_ERR_INTERNAL;
    }

    len = MCP_SEAL_HEAD + data.len + MCP_CRYPTO_TAG_LEN;
    text_len = mcp_base64url_len(len);

    /* reserves space for the base64url text and, after it, the binary token,
     * which is encoded into the text */

    p = mcp_buf_reserve(out, text_len + len);
    if (p == NULL) {
        return out->failed;
    }

    raw = (unsigned char *) p + text_len;
    raw[0] = keys->id[0];

    rc = mcp_seal_encrypt(keys, purpose, bound, data, nonce, raw + 1);

    if (rc == MCP_OK) {
        (void) mcp_base64url_encode(p, raw, len);
        out->len += text_len;
    }

    return rc;
}


/* Decrypts a sealed token to out. raw is the token without its key id: the
 * nonce, len bytes of encrypted data, and the tag. */
static int
mcp_seal_decrypt(const unsigned char key[MCP_CRYPTO_KEY_LEN],
    mcp_token_e purpose, mcp_str_t bound, const unsigned char *raw, size_t len,
    unsigned char *out)
{
    int                  rc;
    unsigned char        own[MCP_CRYPTO_KEY_LEN];
    mcp_crypto_cipher_t  cipher;

    cipher.key = own;
    cipher.iv = raw + MCP_SEAL_NONCE_LEN - MCP_CRYPTO_IV_LEN;
    cipher.bound = bound;

    rc = mcp_seal_key(key, purpose, raw, own);

    if (rc == MCP_OK) {
        rc = mcp_crypto_decrypt(&cipher, raw + MCP_SEAL_NONCE_LEN, len, out);
    }

    mcp_crypto_cleanse(own, sizeof(own));

    return rc;
}


/*
 * Decodes the base64url text of a sealed token into the arena. Sets *raw to the
 * binary token and *len to its length. Allocates twice the space that the
 * binary token needs, because mcp_token_open() writes the decrypted data after
 * the token.
 */
static int
mcp_seal_decode(mcp_str_t text, mcp_arena_t *arena, unsigned char **raw,
    size_t *len)
{
    size_t  max;

    max = mcp_base64url_decoded_len(text.len);

    if (max < MCP_SEAL_HEAD + MCP_CRYPTO_TAG_LEN
        || max > MCP_SEAL_HEAD + MCP_SEAL_MAX_DATA + MCP_CRYPTO_TAG_LEN)
    {
        return MCP_ERR_SYNTAX;
    }

    *raw = mcp_arena_alloc(arena, 2 * max);
    if (*raw == NULL) {
        return MCP_ERR_MEMORY;
    }

    if (mcp_base64url_decode(text, *raw, max, len) != MCP_OK || *len != max) {
        return MCP_ERR_SYNTAX;
    }

    return MCP_OK;
}


int
mcp_token_open(const mcp_keys_t *keys, mcp_token_e purpose, mcp_str_t bound,
    mcp_str_t text, mcp_arena_t *arena, mcp_str_t *data)
{
    int             rc;
    size_t          len;
    unsigned        i;
    unsigned char  *raw, *plain;

    if (bound.len > MCP_SEAL_MAX_DATA) {
        return MCP_ERR_SYNTAX;
    }

    rc = mcp_seal_decode(text, arena, &raw, &len);
    if (rc != MCP_OK) {
        return rc;
    }

    plain = raw + len;
    len -= MCP_SEAL_HEAD + MCP_CRYPTO_TAG_LEN;
    rc = MCP_ERR_DENIED;

    for (i = 0; rc == MCP_ERR_DENIED && i < keys->n; i++) {

        /* two keys may have the same id: continues after a mismatch */

        if (keys->id[i] == raw[0]) {
            rc = mcp_seal_decrypt(keys->key[i], purpose, bound, raw + 1, len,
                                  plain);
        }
    }

    data->data = (const char *) plain;
    data->len = len;

    return rc;
}

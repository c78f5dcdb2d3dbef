/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>

#include <openssl/evp.h>

#include "base/mcp_token.h"
#include "secrets.h"


int   __real_CRYPTO_memcmp(const void *a, const void *b, size_t len);
int   __wrap_CRYPTO_memcmp(const void *a, const void *b, size_t len);
char *__real_mcp_base64url_encode(char *p, const void *data, size_t len);
char *__wrap_mcp_base64url_encode(char *p, const void *data, size_t len);
int   __real_EVP_CipherFinal_ex(EVP_CIPHER_CTX *ctx, unsigned char *out,
    int *len);
int   __wrap_EVP_CipherFinal_ex(EVP_CIPHER_CTX *ctx, unsigned char *out,
    int *len);
int   __real_mcp_token_open(const mcp_keys_t *keys, mcp_token_e purpose,
    mcp_str_t bound, mcp_str_t text, mcp_arena_t *arena, mcp_str_t *data);
int   __wrap_mcp_token_open(const mcp_keys_t *keys, mcp_token_e purpose,
    mcp_str_t bound, mcp_str_t text, mcp_arena_t *arena, mcp_str_t *data);
int   __real_mcp_keys_add(mcp_keys_t *keys, mcp_str_t text);
int   __wrap_mcp_keys_add(mcp_keys_t *keys, mcp_str_t text);


int       secrets_plain, secrets_kept;
unsigned  secrets_compared;


int
__wrap_CRYPTO_memcmp(const void *a, const void *b, size_t len)
{
    int  rc;

    rc = secrets_plain ? memcmp(a, b, len) : __real_CRYPTO_memcmp(a, b, len);

    revealed(&rc, sizeof(rc));
    secrets_compared++;

    return rc;
}


char *
__wrap_mcp_base64url_encode(char *p, const void *data, size_t len)
{
    if (!secrets_kept) {
        revealed(data, len);
    }

    return __real_mcp_base64url_encode(p, data, len);
}


/* OpenSSL itself compares the authentication tag in constant time, and
 * branches on the result, so the result is not secret. */
int
__wrap_EVP_CipherFinal_ex(EVP_CIPHER_CTX *ctx, unsigned char *out, int *len)
{
    int  rc;

    VALGRIND_DISABLE_ERROR_REPORTING;
    rc = __real_EVP_CipherFinal_ex(ctx, out, len);
    VALGRIND_ENABLE_ERROR_REPORTING;

    revealed(&rc, sizeof(rc));
    revealed(len, sizeof(*len));
    secrets_compared++;

    return rc;
}


/* The payload of an opened token is not a secret of the server. */
int
__wrap_mcp_token_open(const mcp_keys_t *keys, mcp_token_e purpose, mcp_str_t bound,
    mcp_str_t text, mcp_arena_t *arena, mcp_str_t *data)
{
    int  rc;

    rc = __real_mcp_token_open(keys, purpose, bound, text, arena, data);

    if (rc == MCP_OK) {
        revealed(data->data, data->len);
    }

    return rc;
}


int
__wrap_mcp_keys_add(mcp_keys_t *keys, mcp_str_t text)
{
    int  rc;

    rc = __real_mcp_keys_add(keys, text);
    secret(keys->key, sizeof(keys->key));

    return rc;
}

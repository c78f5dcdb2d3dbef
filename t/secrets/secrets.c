
#include <string.h>

#include "mcp_token.h"
#include "secrets.h"


int   __real_CRYPTO_memcmp(const void *a, const void *b, size_t len);
int   __wrap_CRYPTO_memcmp(const void *a, const void *b, size_t len);
char *__real_mcp_base64url_encode(char *p, const void *data, size_t len);
char *__wrap_mcp_base64url_encode(char *p, const void *data, size_t len);
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


int
__wrap_mcp_keys_add(mcp_keys_t *keys, mcp_str_t text)
{
    int  rc;

    rc = __real_mcp_keys_add(keys, text);
    secret(keys->key, sizeof(keys->key));

    return rc;
}

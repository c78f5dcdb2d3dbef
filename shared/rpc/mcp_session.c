/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Sessions as signed tokens. The payload, 40 bytes, big endian:
 *
 *      0  1  version of this layout
 *      1  1  protocol revision
 *      2  2  capabilities of the client
 *      4  4  expiry, seconds since the epoch (until 2106)
 *      8 16  random id
 *     24 16  digest of the principal
 *
 * Nodes with different builds read each other's tokens: the numbers of
 * revisions and capabilities never change; new ones are appended.
 */


#include "base/mcp_word.h"
#include "rpc/mcp_session.h"


#define MCP_SESSION_VERSION  1
#define MCP_SESSION_LEN      (8 + 2 * MCP_DIGEST_LEN)

#define MCP_SESSION_OF_ID         8
#define MCP_SESSION_OF_PRINCIPAL  (8 + MCP_DIGEST_LEN)


/* Returns 1 if the session has not expired and belongs to this principal. */
static int
mcp_session_good(const mcp_client_t *client, uint64_t now,
    const unsigned char principal[MCP_DIGEST_LEN])
{
    return client->expires > now
           && mcp_secret_same(client->principal, principal, MCP_DIGEST_LEN);
}


/*
 * Converts a time of expiry from ms to seconds. Rounds up, so that a session
 * does not expire earlier than configured.
 */
static uint32_t
mcp_session_seconds(uint64_t ms)
{
    uint64_t  seconds;

    seconds = ms / 1000 + (ms % 1000 != 0);

    return seconds < UINT32_MAX ? (uint32_t) seconds : UINT32_MAX;
}


char *
mcp_session_print(const mcp_keys_t *keys, const mcp_client_t *client,
    char *p)
{
    unsigned char  data[MCP_SESSION_LEN];

    data[0] = MCP_SESSION_VERSION;
    data[1] = (unsigned char) client->revision;
    mcp_be_put(data + 2, client->capabilities, 2);
    mcp_be_put(data + 4, mcp_session_seconds(client->expires), 4);

    memcpy(data + MCP_SESSION_OF_ID, client->id, MCP_DIGEST_LEN);
    memcpy(data + MCP_SESSION_OF_PRINCIPAL, client->principal, MCP_DIGEST_LEN);

    return mcp_token_sign(keys, MCP_TOKEN_SESSION, data, sizeof(data), p);
}


int
mcp_session_parse(const mcp_keys_t *keys, mcp_str_t text, uint64_t now,
    const unsigned char principal[MCP_DIGEST_LEN], mcp_client_t *client)
{
    unsigned char  data[MCP_SESSION_LEN];

    if (mcp_token_verify(keys, MCP_TOKEN_SESSION, text, data, sizeof(data))
        != MCP_OK
        || data[0] != MCP_SESSION_VERSION
        || mcp_revision(data[1])->name.len == 0
        || mcp_revision(data[1])->stateless)
    {
        return MCP_ERR_NOT_FOUND;
    }

    client->revision = (mcp_revision_e) data[1];
    client->capabilities = (unsigned) mcp_be_get(data + 2, 2);
    client->expires = mcp_be_get(data + 4, 4) * 1000;
    client->log_level = -1;
    client->declared = mcp_null_str;

    memcpy(client->id, data + MCP_SESSION_OF_ID, MCP_DIGEST_LEN);
    mcp_stream_id_print(client->id_text, client->id);
    memcpy(client->principal, data + MCP_SESSION_OF_PRINCIPAL, MCP_DIGEST_LEN);

    return mcp_session_good(client, now, principal) ? MCP_OK
                                                     : MCP_ERR_NOT_FOUND;
}


void
mcp_session_cache_init(mcp_session_cache_t *cache, const mcp_mem_t *mem)
{
    cache->mem = mem;
    cache->seen = NULL;
}


void
mcp_session_cache_free(mcp_session_cache_t *cache)
{
    mcp_mem_free(cache->mem, cache->seen);
    cache->seen = NULL;
}


/*
 * Returns the only entry of the cache that may contain this token, or NULL if
 * the text is too short or too long for a token, or when out of memory. The
 * token's last bytes select the entry: they are a part of the signature, and
 * thus as good as random.
 */
static mcp_session_seen_t *
mcp_session_seen(mcp_session_cache_t *cache, mcp_str_t text)
{
    uint64_t  last;

    if (text.len < sizeof(last) || text.len > MCP_SESSION_TEXT_MAX) {
        return NULL;
    }

    if (cache->seen == NULL) {
        cache->seen = mcp_mem_calloc(cache->mem, MCP_SESSION_CACHE
                                                 * sizeof(mcp_session_seen_t));

        if (cache->seen == NULL) {
            return NULL;
        }
    }

    last = mcp_word(text.data + text.len - sizeof(last));

    /* the product with an odd number spreads the bytes over the upper bits */

    last *= 0x9e3779b97f4a7c15u;

    return &cache->seen[last >> 48 & (MCP_SESSION_CACHE - 1)];
}


int
mcp_session_parse_cached(mcp_session_cache_t *cache, const mcp_keys_t *keys,
    mcp_str_t text, uint64_t now,
    const unsigned char principal[MCP_DIGEST_LEN], mcp_client_t *client)
{
    int                  rc;
    mcp_str_t            known;
    mcp_session_seen_t  *seen;

    seen = mcp_session_seen(cache, text);

    if (seen && seen->keys == keys) {
        known.data = seen->text;
        known.len = seen->len;

        if (mcp_secret_eq(known, text)) {
            *client = seen->client;

            return mcp_session_good(client, now, principal)
                   ? MCP_OK : MCP_ERR_NOT_FOUND;
        }
    }

    rc = mcp_session_parse(keys, text, now, principal, client);

    if (rc == MCP_OK && seen) {
        seen->keys = keys;
        seen->len = (uint32_t) text.len;
        memcpy(seen->text, text.data, text.len);
        seen->client = *client;
    }

    return rc;
}

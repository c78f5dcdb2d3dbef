/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Sessions as signed tokens.  The payload, 40 bytes, big endian:
 *
 *      0  1  version of this layout
 *      1  1  protocol revision
 *      2  2  capabilities of the client
 *      4  4  expiry, seconds since the epoch (good until 2106)
 *      8 16  random id
 *     24 16  digest of the principal
 *
 * Nodes of different builds read each other's tokens: the numbers of
 * revisions and capabilities never change, new ones are added behind.
 */


#include "rpc/mcp_session.h"


#define MCP_SESSION_VERSION  1
#define MCP_SESSION_LEN      (8 + 2 * MCP_DIGEST_LEN)

#define MCP_SESSION_OF_ID         8
#define MCP_SESSION_OF_PRINCIPAL  (8 + MCP_DIGEST_LEN)


static int mcp_session_good(const mcp_session_t *session, uint64_t now,
    const unsigned char principal[MCP_DIGEST_LEN]);
static unsigned mcp_session_faces(const mcp_json_value_t *object);
static uint32_t mcp_session_seconds(uint64_t ms);
static int mcp_session_is_object(mcp_json_value_t value);


char *
mcp_session_print(const mcp_keys_t *keys, const mcp_session_t *session,
    char *p)
{
    unsigned char  data[MCP_SESSION_LEN];

    data[0] = MCP_SESSION_VERSION;
    data[1] = (unsigned char) session->revision;
    mcp_be_put(data + 2, session->capabilities, 2);
    mcp_be_put(data + 4, mcp_session_seconds(session->expires), 4);

    memcpy(data + MCP_SESSION_OF_ID, session->id, MCP_DIGEST_LEN);
    memcpy(data + MCP_SESSION_OF_PRINCIPAL, session->principal,
           MCP_DIGEST_LEN);

    return mcp_token_sign(keys, MCP_TOKEN_SESSION, data, sizeof(data), p);
}


int
mcp_session_parse(const mcp_keys_t *keys, mcp_str_t text, uint64_t now,
    const unsigned char principal[MCP_DIGEST_LEN], mcp_session_t *session)
{
    size_t         len;
    unsigned char  data[MCP_SESSION_LEN];

    len = sizeof(data);

    if (mcp_token_verify(keys, MCP_TOKEN_SESSION, text, data, &len) != MCP_OK
        || len != sizeof(data)
        || data[0] != MCP_SESSION_VERSION
        || data[1] == MCP_REVISION_NONE
        || data[1] >= MCP_REVISION_COUNT)
    {
        return MCP_ERR_NOT_FOUND;
    }

    session->revision = (mcp_revision_e) data[1];
    session->capabilities = (unsigned) mcp_be_get(data + 2, 2);
    session->expires = mcp_be_get(data + 4, 4) * 1000;

    memcpy(session->id, data + MCP_SESSION_OF_ID, MCP_DIGEST_LEN);
    memcpy(session->principal, data + MCP_SESSION_OF_PRINCIPAL,
           MCP_DIGEST_LEN);

    return mcp_session_good(session, now, principal) ? MCP_OK
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
    if (cache->seen) {
        cache->mem->free(cache->mem->ctx, cache->seen);
        cache->seen = NULL;
    }
}


/* Where a token would be: its end is the signature's, as good as random. */
static mcp_session_seen_t *
mcp_session_seen(mcp_session_cache_t *cache, mcp_str_t text)
{
    size_t    i, size;
    uint32_t  hash;

    if (text.len < 8 || text.len > MCP_SESSION_TEXT_MAX) {
        return NULL;
    }

    if (cache->seen == NULL) {
        size = MCP_SESSION_CACHE * sizeof(mcp_session_seen_t);
        cache->seen = cache->mem->alloc(cache->mem->ctx, size);

        if (cache->seen == NULL) {
            return NULL;
        }

        memset(cache->seen, 0, size);
    }

    hash = 0;

    for (i = text.len - 8; i < text.len; i++) {
        hash = hash * 31 + (unsigned char) text.data[i];
    }

    return &cache->seen[hash & (MCP_SESSION_CACHE - 1)];
}


int
mcp_session_parse_cached(mcp_session_cache_t *cache, const mcp_keys_t *keys,
    mcp_str_t text, uint64_t now,
    const unsigned char principal[MCP_DIGEST_LEN], mcp_session_t *session)
{
    int                  rc;
    mcp_str_t            known;
    mcp_session_seen_t  *seen;

    seen = mcp_session_seen(cache, text);

    if (seen && seen->keys == keys) {
        known.data = seen->text;
        known.len = seen->len;

        if (mcp_secret_eq(known, text)) {
            *session = seen->session;

            return mcp_session_good(session, now, principal)
                   ? MCP_OK : MCP_ERR_NOT_FOUND;
        }
    }

    rc = mcp_session_parse(keys, text, now, principal, session);

    if (rc == MCP_OK && seen) {
        seen->keys = keys;
        seen->len = (uint32_t) text.len;
        memcpy(seen->text, text.data, text.len);
        seen->session = *session;
    }

    return rc;
}


static unsigned
mcp_session_sampling(const mcp_json_value_t *capabilities)
{
    mcp_json_value_t  value;

    value = mcp_json_get(capabilities, mcp_str("sampling"));

    if (!mcp_session_is_object(value)) {
        return 0;
    }

    if (mcp_session_is_object(mcp_json_get(&value, mcp_str("tools")))) {
        return MCP_CLIENT_SAMPLING | MCP_CLIENT_SAMPLING_TOOLS;
    }

    return MCP_CLIENT_SAMPLING;
}


/* An empty object, all that 2025-06-18 knows, means form mode (2025-11-25,
 * client/elicitation, Capabilities). */
static unsigned
mcp_session_elicitation(const mcp_json_value_t *capabilities)
{
    int               form, url;
    mcp_json_value_t  value;

    value = mcp_json_get(capabilities, mcp_str("elicitation"));

    if (!mcp_session_is_object(value)) {
        return 0;
    }

    form = mcp_session_is_object(mcp_json_get(&value, mcp_str("form")));
    url = mcp_session_is_object(mcp_json_get(&value, mcp_str("url")));

    return (form || !url ? MCP_CLIENT_ELICITATION : 0u)
           | (url ? MCP_CLIENT_ELICITATION_URL : 0u);
}


unsigned
mcp_session_capabilities(const mcp_json_value_t *capabilities)
{
    unsigned          bits;
    mcp_json_value_t  value;

    if (capabilities == NULL || capabilities->type != MCP_JSON_OBJECT) {
        return 0;
    }

    bits = mcp_session_sampling(capabilities)
           | mcp_session_elicitation(capabilities);

    if (mcp_session_is_object(mcp_json_get(capabilities, mcp_str("roots")))) {
        bits |= MCP_CLIENT_ROOTS;
    }

    /* proposals: by their own name, or as experiments (2025-11-25, lifecycle,
     * "Capability Negotiation") */

    value = mcp_json_get(capabilities, mcp_str("experimental"));

    return bits | mcp_session_faces(capabilities) | mcp_session_faces(&value);
}


/* The ways of resuming that an object names. */
static unsigned
mcp_session_faces(const mcp_json_value_t *object)
{
    size_t    i;
    unsigned  bits;

    static const struct {
        mcp_str_t  name;
        unsigned   bit;
    } faces[] = {
        { { "resumableRequests", 17 }, MCP_CLIENT_REQUESTS },
        { { "streams", 7 }, MCP_CLIENT_STREAMS },
        { { "resumeTokens", 12 }, MCP_CLIENT_TOKENS }
    };

    bits = 0;

    for (i = 0; i < sizeof(faces) / sizeof(faces[0]); i++) {
        if (mcp_session_is_object(mcp_json_get(object, faces[i].name))) {
            bits |= faces[i].bit;
        }
    }

    return bits;
}


int
mcp_principal(mcp_str_t name, unsigned char out[MCP_DIGEST_LEN])
{
    if (name.len == 0) {
        memset(out, 0, MCP_DIGEST_LEN);
        return MCP_OK;
    }

    return mcp_digest(out, &name, 1);
}


/* It has not expired and is this principal's. */
static int
mcp_session_good(const mcp_session_t *session, uint64_t now,
    const unsigned char principal[MCP_DIGEST_LEN])
{
    mcp_str_t  owner, caller;

    owner.data = (const char *) session->principal;
    owner.len = MCP_DIGEST_LEN;

    caller.data = (const char *) principal;
    caller.len = MCP_DIGEST_LEN;

    return session->expires > now && mcp_secret_eq(owner, caller);
}


/* Rounds up, so that a session lives at least as long as was said. */
static uint32_t
mcp_session_seconds(uint64_t ms)
{
    uint64_t  seconds;

    seconds = ms / 1000 + (ms % 1000 != 0);

    return seconds < UINT32_MAX ? (uint32_t) seconds : UINT32_MAX;
}


static int
mcp_session_is_object(mcp_json_value_t value)
{
    return value.type == MCP_JSON_OBJECT;
}

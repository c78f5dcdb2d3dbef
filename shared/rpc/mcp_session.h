/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Sessions. Mcp-Session-Id is a signed token with all constant properties of a
 * session: a session needs no memory, and every server with the key can verify
 * it. Its variable state (its end, log level and subscriptions) is in the
 * store from the first change on.
 */


#ifndef MCP_SESSION_H_INCLUDED
#define MCP_SESSION_H_INCLUDED


#include "rpc/mcp_client.h"


#define MCP_SESSION_TEXT_MAX  128

/*
 * Writes the token to p, which has room for MCP_SESSION_TEXT_MAX bytes.
 * Returns the end, or NULL on failure.
 */
char *mcp_session_print(const mcp_keys_t *keys, const mcp_client_t *client,
    char *p);

/*
 * Verifies a token and sets *client.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the token is malformed, was not signed with a
 *                      configured key, has expired, or belongs to another
 *                      principal; clients cannot distinguish these
 */
int mcp_session_parse(const mcp_keys_t *keys, mcp_str_t text, uint64_t now,
    const unsigned char principal[MCP_DIGEST_LEN], mcp_client_t *client);

/*
 * A cache of the tokens that a process has verified recently, so that it need
 * not verify a client's token with each request. Memory is allocated with the
 * first token.
 */
#define MCP_SESSION_CACHE  512         /* tokens, a power of two */

typedef struct {
    const mcp_keys_t  *keys;           /* keys that verified the token; NULL:
                                          the entry is free */
    uint32_t           len;
    char               text[MCP_SESSION_TEXT_MAX];
    mcp_client_t       client;
} mcp_session_seen_t;

typedef struct {
    const mcp_mem_t     *mem;
    mcp_session_seen_t  *seen;
} mcp_session_cache_t;

void mcp_session_cache_init(mcp_session_cache_t *cache, const mcp_mem_t *mem);
void mcp_session_cache_free(mcp_session_cache_t *cache);

/*
 * Verifies a token like mcp_session_parse(), using the cache. If memory for
 * the cache cannot be allocated, verifies without it.
 */
int mcp_session_parse_cached(mcp_session_cache_t *cache,
    const mcp_keys_t *keys, mcp_str_t text, uint64_t now,
    const unsigned char principal[MCP_DIGEST_LEN], mcp_client_t *client);

#endif /* MCP_SESSION_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Sessions.  Mcp-Session-Id is a signed token with everything about a session
 * that never changes: a session takes no memory, and every server with the key
 * can check it.  What changes (the end of the session, its log level, its
 * subscriptions) is in the store from its first change on.
 */


#ifndef MCP_SESSION_H_INCLUDED
#define MCP_SESSION_H_INCLUDED


#include "rpc/mcp_client.h"


#define MCP_SESSION_TEXT_MAX  128

/* Writes the token to p, MCP_SESSION_TEXT_MAX bytes.  Returns the end, or NULL
 * on failure. */
char *mcp_session_print(const mcp_keys_t *keys, const mcp_client_t *client,
    char *p);

/*
 * Verifies a token and reads who asks.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the token is malformed, not ours, expired, or another
 *                      principal's; clients cannot tell which
 */
int mcp_session_parse(const mcp_keys_t *keys, mcp_str_t text, uint64_t now,
    const unsigned char principal[MCP_DIGEST_LEN], mcp_client_t *client);

/*
 * Tokens that one process has verified lately, so that a client's token is not
 * verified with every request.  Memory is allocated with the first token.
 */
#define MCP_SESSION_CACHE  512         /* tokens, a power of two */

typedef struct {
    const mcp_keys_t  *keys;           /* that verified it; NULL: free */
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

/* Does what mcp_session_parse() does, with the cache.  Without memory for it,
 * it verifies the token. */
int mcp_session_parse_cached(mcp_session_cache_t *cache,
    const mcp_keys_t *keys, mcp_str_t text, uint64_t now,
    const unsigned char principal[MCP_DIGEST_LEN], mcp_client_t *client);

#endif /* MCP_SESSION_H_INCLUDED */

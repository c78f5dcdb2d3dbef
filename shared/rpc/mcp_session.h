/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Sessions.  Mcp-Session-Id is a signed token with everything about a session
 * that never changes: a session takes no memory, and every server with the key
 * can check it.  What changes (the end of the session, its log level, its
 * subscriptions) is in the store from its first change on.
 */


#ifndef MCP_SESSION_H_INCLUDED
#define MCP_SESSION_H_INCLUDED


#include "json/mcp_json.h"
#include "rpc/mcp_revision.h"
#include "base/mcp_token.h"


/* Capabilities that a client declares in initialize. */
#define MCP_CLIENT_SAMPLING         0x0001
#define MCP_CLIENT_ELICITATION      0x0002     /* form mode */
#define MCP_CLIENT_ELICITATION_URL  0x0004
#define MCP_CLIENT_ROOTS            0x0008
#define MCP_CLIENT_SAMPLING_TOOLS   0x0010
#define MCP_CLIENT_REQUESTS         0x0020     /* resumableRequests */
#define MCP_CLIENT_STREAMS          0x0040
#define MCP_CLIENT_TOKENS           0x0080     /* resumeTokens */

/* The capabilities about input; the others are for faces. */
#define MCP_CLIENT_INPUT            0x001f


typedef struct {
    unsigned char   id[MCP_DIGEST_LEN];        /* random; the store's key */
    unsigned char   principal[MCP_DIGEST_LEN]; /* digest; zeros: none */
    uint64_t        expires;                   /* ms of mcp_env_t.now */
    mcp_revision_e  revision;
    unsigned        capabilities;              /* MCP_CLIENT_... */
} mcp_session_t;


#define MCP_SESSION_TEXT_MAX  128

/* Writes the token to p, MCP_SESSION_TEXT_MAX bytes.  Returns the end, or NULL
 * on failure. */
char *mcp_session_print(const mcp_keys_t *keys, const mcp_session_t *session,
    char *p);

/*
 * Verifies a token and reads the session.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  the token is malformed, not ours, expired, or another
 *                      principal's; clients cannot tell which
 */
int mcp_session_parse(const mcp_keys_t *keys, mcp_str_t text, uint64_t now,
    const unsigned char principal[MCP_DIGEST_LEN], mcp_session_t *session);

/*
 * Tokens that one process has verified lately, so that a client's token is not
 * verified with every request.  Memory is allocated with the first token.
 */
#define MCP_SESSION_CACHE  512         /* tokens, a power of two */

typedef struct {
    const mcp_keys_t  *keys;           /* that verified it; NULL: free */
    uint32_t           len;
    char               text[MCP_SESSION_TEXT_MAX];
    mcp_session_t      session;
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
    const unsigned char principal[MCP_DIGEST_LEN], mcp_session_t *session);

/* Returns the MCP_CLIENT_... bits of initialize's params.capabilities, which
 * may be NULL. */
unsigned mcp_session_capabilities(const mcp_json_value_t *capabilities);

/*
 * Computes the digest of a principal's name; an empty name has zeros.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_principal(mcp_str_t name, unsigned char out[MCP_DIGEST_LEN]);


#endif /* MCP_SESSION_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Sessions: the Mcp-Session-Id is a signed token that holds all that never
 * changes, so that a session costs no memory and any node can check it.
 * What does change (deleted, log level, subscriptions) is in the store, and
 * only once it exists.
 */


#ifndef MCP_SESSION_H_INCLUDED
#define MCP_SESSION_H_INCLUDED


#include "json/mcp_json.h"
#include "rpc/mcp_revision.h"
#include "base/mcp_token.h"


/* What the client declared in initialize. */
#define MCP_CLIENT_SAMPLING         0x0001
#define MCP_CLIENT_ELICITATION      0x0002     /* form mode */
#define MCP_CLIENT_ELICITATION_URL  0x0004
#define MCP_CLIENT_ROOTS            0x0008
#define MCP_CLIENT_SAMPLING_TOOLS   0x0010
#define MCP_CLIENT_REQUESTS         0x0020     /* resumableRequests */
#define MCP_CLIENT_STREAMS          0x0040
#define MCP_CLIENT_TOKENS           0x0080     /* resumeTokens */

/* Those about input; the others are the faces'. */
#define MCP_CLIENT_INPUT            0x001f


typedef struct {
    unsigned char   id[MCP_DIGEST_LEN];        /* random; the store's key */
    unsigned char   principal[MCP_DIGEST_LEN]; /* digest, zero if none */
    uint64_t        expires;                   /* ms */
    mcp_revision_e  revision;
    unsigned        capabilities;              /* MCP_CLIENT_... */
} mcp_session_t;


#define MCP_SESSION_TEXT_MAX  128

/* Prints the token at p (MCP_SESSION_TEXT_MAX); returns the end or NULL. */
char *mcp_session_print(const mcp_keys_t *keys, const mcp_session_t *session,
    char *p);

/*
 * MCP_OK, or MCP_ERR_NOT_FOUND for a token that is malformed, not ours,
 * expired or another principal's (all answered alike).
 */
int mcp_session_parse(const mcp_keys_t *keys, mcp_str_t text, uint64_t now,
    const unsigned char principal[MCP_DIGEST_LEN], mcp_session_t *session);

/*
 * Tokens that were verified lately, so that a client that sends its token with
 * every request has it verified once.  One process's; allocated when first
 * needed.
 */
#define MCP_SESSION_CACHE  512         /* power of two */

typedef struct {
    const mcp_keys_t  *keys;           /* they verified it; NULL: free */
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

/* As mcp_session_parse(), by the cache where it can. */
int mcp_session_parse_cached(mcp_session_cache_t *cache,
    const mcp_keys_t *keys, mcp_str_t text, uint64_t now,
    const unsigned char principal[MCP_DIGEST_LEN], mcp_session_t *session);

/* Capability bits out of initialize's params.capabilities. */
unsigned mcp_session_capabilities(const mcp_json_value_t *capabilities);

/* Digest of the caller's identity; zero for the empty one. */
int mcp_principal(mcp_str_t name, unsigned char out[MCP_DIGEST_LEN]);


#endif /* MCP_SESSION_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Keys, signed and sealed tokens, digests (the only user of OpenSSL).
 *
 * A signed token is payload + key id + truncated HMAC-SHA256, printed
 * base64url.  It proves that a server with one of our keys made it; it hides
 * nothing.  A sealed one hides its payload as well, but for its length.
 */


#ifndef MCP_TOKEN_H_INCLUDED
#define MCP_TOKEN_H_INCLUDED


#include "base/mcp_arena.h"
#include "base/mcp_buf.h"
#include "base/mcp_crypto.h"


#define MCP_KEY_MIN_LEN     32
#define MCP_KEYS_MAX        8
#define MCP_TOKEN_MAC_LEN   16
#define MCP_TOKEN_MAX_DATA  256        /* payload bytes */
#define MCP_TOKEN_TEXT_MAX  ((MCP_TOKEN_MAX_DATA + 1 + MCP_TOKEN_MAC_LEN) \
                             * 4 / 3 + 4)


#define MCP_SEAL_NONCE_LEN  24
#define MCP_SEAL_MAX_DATA   (1024 * 1024)      /* payload bytes */


/* The first key signs and seals, all verify and open.  Immutable once
 * configured. */
typedef struct {
    unsigned       n;
    unsigned char  key[MCP_KEYS_MAX][32];      /* derived, SHA-256 of input */
    unsigned char  id[MCP_KEYS_MAX];           /* first digest byte */
} mcp_keys_t;


/* Adds a key from file contents or random bytes (surrounding white space is
 * stripped; at least MCP_KEY_MIN_LEN bytes must remain): MCP_OK,
 * MCP_ERR_CONFIG, or MCP_ERR_LIMIT after MCP_KEYS_MAX. */
int mcp_keys_add(mcp_keys_t *keys, mcp_str_t secret);

/*
 * Prints a signed token for data at p (MCP_TOKEN_TEXT_MAX bytes) and returns
 * the end, NULL on failure.  purpose separates uses ('s' session, 'p'
 * publish, ...): a token made for one never verifies as another.
 */
char *mcp_token_sign(const mcp_keys_t *keys, char purpose, const void *data,
    size_t len, char *p);

/* Verifies in constant time and copies the payload; *len is the room in and
 * the length out.  MCP_OK, MCP_ERR_SYNTAX (malformed) or MCP_ERR_DENIED
 * (signature; indistinguishable causes). */
int mcp_token_verify(const mcp_keys_t *keys, char purpose, mcp_str_t text,
    void *data, size_t *len);

/*
 * Appends to out, in base64url, what only a server with one of our keys can
 * read or make: data, encrypted (AES-256-GCM).  It opens for the same purpose
 * and the same "bound" alone, which is not in it.  nonce: random bytes, drawn
 * for this and nothing else.  MCP_OK; MCP_ERR_LIMIT: data is longer than
 * MCP_SEAL_MAX_DATA; MCP_ERR_MEMORY, MCP_ERR_INTERNAL.  With an error out is as
 * it was.
 */
int mcp_token_seal(const mcp_keys_t *keys, char purpose, mcp_str_t bound,
    mcp_str_t data, const unsigned char nonce[MCP_SEAL_NONCE_LEN],
    mcp_buf_t *out);

/* The data, in the arena: MCP_OK, MCP_ERR_SYNTAX (malformed), MCP_ERR_DENIED
 * (anything else that is wrong with it), MCP_ERR_MEMORY, MCP_ERR_INTERNAL. */
int mcp_token_open(const mcp_keys_t *keys, char purpose, mcp_str_t bound,
    mcp_str_t text, mcp_arena_t *arena, mcp_str_t *data);


#endif /* MCP_TOKEN_H_INCLUDED */

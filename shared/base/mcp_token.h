/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Keys, signed tokens and sealed tokens.
 *
 * A signed token proves that a server with one of the configured keys created
 * it, and does not hide its payload. A sealed token is encrypted as well; only
 * its length is visible.
 */


#ifndef MCP_TOKEN_H_INCLUDED
#define MCP_TOKEN_H_INCLUDED


#include "base/mcp_arena.h"
#include "mcp_buf.h"
#include "base/mcp_crypto.h"


#define MCP_KEY_MIN_LEN     32
#define MCP_KEYS_MAX        8
#define MCP_TOKEN_MAC_LEN   16
#define MCP_TOKEN_MAX_DATA  256        /* maximum length of the payload,
                                          bytes */
#define MCP_TOKEN_TEXT_MAX  ((MCP_TOKEN_MAX_DATA + 1 + MCP_TOKEN_MAC_LEN) \
                             * 4 / 3 + 4)


#define MCP_SEAL_NONCE_LEN  24
#define MCP_SEAL_MAX_DATA   (1024 * 1024)      /* maximum length of the
                                                  payload, bytes */


/*
 * The configured keys. The first key signs and seals tokens; every key verifies
 * and opens them. Constant after the configuration has been read.
 */
typedef struct mcp_keys_s {
    unsigned       n;
    unsigned char  key[MCP_KEYS_MAX][32];      /* SHA-256 of the secret */
    unsigned char  id[MCP_KEYS_MAX];           /* first byte of the key's
                                                  digest */
} mcp_keys_t;


/*
 * The purpose of a token. A token for one purpose is never valid for another
 * one. All purposes of the core are listed here.
 */
typedef enum {
    MCP_TOKEN_SESSION = 's',   /* signed: Mcp-Session-Id (mcp_session.c) */
    MCP_TOKEN_PUBLISH = 'p',   /* signed: a call's publish URL
                                  (mcp_backend_request_prepare.c) */
    MCP_TOKEN_LINK = 'k',      /* signed: a stream's URL
                                  (mcp_resume_by_link.c) */
    MCP_TOKEN_REQUEST = 'q',   /* signed: the id of a resumable request
                                  (mcp_resume_by_requests_resume.c) */
    MCP_TOKEN_STREAM = 'r',    /* signed: a position in a stream that is
                                  polled (mcp_resume_by_stream.c) */
    MCP_TOKEN_RESUME = 'n',    /* signed: a resume token of this server
                                  (mcp_resume_by_token.c); sealed: a token that
                                  contains a backend's token
                                  (mcp_resume_by_token_backend.c) */
    MCP_TOKEN_TASK = 't',      /* signed: a task's id (mcp_request_id.c) */
    MCP_TOKEN_STATE = 'i'      /* sealed: a backend's requestState
                                  (mcp_request_state.c) */
} mcp_token_e;


/*
 * Adds a key from the content of a file, or from random bytes. White space
 * around the secret is removed. A key that exists already is not added again.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG    the secret has fewer than MCP_KEY_MIN_LEN bytes
 *   MCP_ERR_LIMIT     there are MCP_KEYS_MAX keys
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_keys_add(mcp_keys_t *keys, mcp_str_t secret);

/* Returns 1 if the secret, without white space around it, repeats one byte. */
int mcp_key_is_repeated(mcp_str_t secret);

/*
 * Writes a signed token with len bytes of data (at most MCP_TOKEN_MAX_DATA) to
 * p, which has room for MCP_TOKEN_TEXT_MAX bytes. Returns the end, or NULL on
 * failure.
 */
char *mcp_token_sign(const mcp_keys_t *keys, mcp_token_e purpose,
    const void *data, size_t len, char *p);

/*
 * Verifies a signed token in constant time and copies its payload, which must
 * have len bytes, to data.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX    the text is not a token with a payload of this length
 *   MCP_ERR_DENIED    the token was not signed with a configured key for this
 *                     purpose
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_token_verify(const mcp_keys_t *keys, mcp_token_e purpose,
    mcp_str_t text, void *data, size_t len);

/*
 * Appends a sealed token to out: the data, encrypted with AES-256-GCM, in
 * base64url. It can be opened only with the same purpose and the same "bound",
 * which is not part of the token. nonce consists of random bytes that are not
 * used for anything else.
 *
 * Returns MCP_OK, or, with out unchanged,
 *   MCP_ERR_LIMIT     data or bound exceed MCP_SEAL_MAX_DATA, or out is full
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  there is no key, or OpenSSL failed
 */
int mcp_token_seal(const mcp_keys_t *keys, mcp_token_e purpose,
    mcp_str_t bound, mcp_str_t data,
    const unsigned char nonce[MCP_SEAL_NONCE_LEN], mcp_buf_t *out);

/*
 * Opens a sealed token; *data is in the arena.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX    the text is not a sealed token
 *   MCP_ERR_DENIED    the token was not sealed with a configured key for this
 *                     purpose and this "bound"
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_token_open(const mcp_keys_t *keys, mcp_token_e purpose,
    mcp_str_t bound, mcp_str_t text, mcp_arena_t *arena, mcp_str_t *data);


#endif /* MCP_TOKEN_H_INCLUDED */

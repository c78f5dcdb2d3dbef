/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a backend wants to have back with its client's next request: its
 * requestState, which passes through the client (2026-07-28,
 * basic/patterns/mrtr).  It goes out sealed: the client can neither read nor
 * change it, nor use it with another request.
 */


#ifndef MCP_REQUEST_STATE_H_INCLUDED
#define MCP_REQUEST_STATE_H_INCLUDED


#include "base/mcp_token.h"
#include "json/mcp_json.h"


/* The request that a state belongs to. */
typedef struct {
    mcp_str_t             server;      /* the endpoint's name */
    mcp_str_t             target;      /* the backend */
    const unsigned char  *principal;   /* MCP_DIGEST_LEN bytes */
    mcp_str_t             method;
    mcp_str_t             name;        /* or URI */
    mcp_str_t             params;      /* as mcp_digest_params() takes them */
    unsigned              max_depth;   /* of params */
} mcp_request_state_t;


/*
 * Appends the sealed state, a JSON string.  The state is one, too, as its
 * backend wrote it.  nonce is random bytes that are used for nothing else.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_LIMIT     the state has more than MCP_SEAL_MAX_DATA - 8 bytes, or
 *                     params are too deep, or out is full
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  there is no key, or OpenSSL failed
 */
int mcp_request_state_seal(const mcp_mem_t *mem, const mcp_keys_t *keys,
    const mcp_request_state_t *of, mcp_str_t state, uint64_t expires,
    const unsigned char nonce[MCP_SEAL_NONCE_LEN], mcp_buf_t *out);

/*
 * Opens a state that a request brings: a JSON string.  *state is in the arena,
 * byte for byte as the backend wrote it.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED    it is not ours, or not for this request, or has expired;
 *                     clients cannot tell which
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_request_state_open(mcp_arena_t *arena, const mcp_keys_t *keys,
    const mcp_request_state_t *of, mcp_str_t text, uint64_t now,
    mcp_str_t *state);


#endif /* MCP_REQUEST_STATE_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * requestState: data of a backend that pass through the client and return with
 * its next request (2026-07-28, basic/patterns/mrtr). The client gets them
 * sealed: it can neither read nor change them, nor use them with another
 * request.
 */


#ifndef MCP_REQUEST_STATE_H_INCLUDED
#define MCP_REQUEST_STATE_H_INCLUDED


#include "base/mcp_token.h"
#include "json/mcp_json_scan.h"


/* The request to which a state is bound. */
typedef struct {
    mcp_str_t             server;      /* the endpoint's identity */
    mcp_str_t             target;      /* the backend */
    const unsigned char  *principal;   /* MCP_DIGEST_LEN bytes */
    mcp_str_t             method;
    mcp_str_t             name;        /* name or URI */
    mcp_str_t             params;      /* params of the request;
                                          mcp_digest_params() excludes some
                                          members */
    unsigned              max_depth;   /* maximum depth of params */
} mcp_request_state_t;


/*
 * Appends the sealed state as a JSON string. state is the backend's JSON
 * string, raw. The sealed state is bound to *of, and expires at the time
 * "expires", ms. nonce consists of random bytes that are not used for anything
 * else.
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
 * Opens the state in a request, a JSON string. *state is in the arena, byte
 * for byte as the backend wrote it.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_DENIED    the state was not sealed with a configured key, belongs
 *                     to another request, or has expired; clients cannot
 *                     distinguish these
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
int mcp_request_state_open(mcp_arena_t *arena, const mcp_keys_t *keys,
    const mcp_request_state_t *of, mcp_str_t text, uint64_t now,
    mcp_str_t *state);


#endif /* MCP_REQUEST_STATE_H_INCLUDED */

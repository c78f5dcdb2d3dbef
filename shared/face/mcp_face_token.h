/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the files of resume tokens share:
 *
 *   mcp_face_token.c          our tokens ('m'), interim results, the face
 *   mcp_face_token_backend.c  a backend's own tokens
 *   mcp_face_token_place.c    where tokens stand in requests and results
 */


#ifndef MCP_FACE_TOKEN_H_INCLUDED
#define MCP_FACE_TOKEN_H_INCLUDED


#include "face/mcp_face_common.h"


/* What the face keeps of an exchange whose request brings a token or may be
 * answered with an interim result, and of the call made of it. */
typedef struct {
    uint64_t        due;       /* when an interim result is; 0: never */
    mcp_str_t       text;      /* the token that it brought, or empty */
    unsigned char  *key;       /* of the store's value of a backend's token, and
                                  the token's expiry; NULL: not used */
    uint64_t        until;     /* when to stop waiting for another request with
                                  the same token */
    unsigned char   stream[MCP_STREAM_ID_LEN];
    unsigned        rest:1;    /* reads the rest of another request's call */
} mcp_face_token_t;


#define mcp_face_token_of(states)  mcp_hook_state(states, &mcp_face_token)


/* --- mcp_face_token.c --- */

/*
 * Digests whose request it is and what it asks for; a token that it brings
 * makes no difference.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX, MCP_ERR_LIMIT  the parameters have no canonical form
 *   MCP_ERR_MEMORY
 */
int mcp_face_token_bind(const mcp_endpoint_t *endpoint, const mcp_mem_t *mem,
    const mcp_client_t *client, mcp_str_t method, mcp_str_t params,
    unsigned char out[MCP_DIGEST_LEN]);

/*
 * Answers with the rest of a call: the events of its stream after seq.
 *
 * Returns MCP_DONE, or
 *   MCP_ERR_NOT_FOUND  no such stream that this client may read
 *   MCP_ERR_MEMORY
 */
int mcp_face_token_join(mcp_exchange_t *x, mcp_face_token_t *part,
    const mcp_stream_info_t *info, uint64_t seq);

/* Writes an interim result with the token that the request brought. */
void mcp_face_token_interim_again(mcp_exchange_t *x,
    const mcp_face_token_t *part);


/* --- mcp_face_token_backend.c --- */

/* 1 if a token looks like one that holds a backend's. */
int mcp_face_token_backend_is(mcp_str_t token);

/* The hook "request" for such a token, which stands at n places. */
int mcp_face_token_backend_request(mcp_exchange_t *x, mcp_face_token_t *part,
    const mcp_json_value_t *places, size_t n,
    const unsigned char bind[MCP_DIGEST_LEN]);

/* Gives the call its id: the digest of the token that its request brought. */
void mcp_face_token_backend_start(mcp_call_t *call,
    const mcp_face_token_t *part);

/* Hooks of these names. */
int  mcp_face_token_backend_begin(mcp_call_t *call);
int  mcp_face_token_backend_result(mcp_request_t *req,
    const mcp_backend_msg_t *msg, mcp_buf_t *out);
void mcp_face_token_backend_answered(mcp_request_t *req, mcp_ending_e how);
void mcp_face_token_backend_refused(mcp_exchange_t *x);
void mcp_face_token_backend_failed(mcp_request_t *req);


/* --- mcp_face_token_place.c --- */

/* Finds the token of a request, which may stand in _meta, at the top of the
 * parameters, or in both places; returns their number. */
size_t mcp_face_token_find(const mcp_rpc_t *msg, mcp_json_value_t places[2]);

/*
 * Puts a backend's own token, as JSON, into the request in place of the sealed
 * one, and parses the request anew.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  the token was not JSON
 */
int mcp_face_token_replace(mcp_exchange_t *x, const mcp_json_value_t *places,
    size_t n, mcp_str_t inner);

/* Finds the token of a result whose _meta is given. */
mcp_json_value_t mcp_face_token_next(const mcp_json_value_t *result,
    const mcp_json_value_t *meta);

/*
 * Appends the result with another token (as JSON; empty: none) at the places
 * where the result had one; at both places for clients that want tokens.  A
 * failure is left in out->failed.
 */
void mcp_face_token_write(mcp_buf_t *out, const mcp_json_value_t *result,
    const mcp_json_value_t *meta, mcp_str_t token, int wanted);


#endif /* MCP_FACE_TOKEN_H_INCLUDED */

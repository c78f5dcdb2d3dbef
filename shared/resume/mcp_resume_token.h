/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Internal declarations of resume tokens:
 *
 *   mcp_resume_token.c          the server's tokens ('m'), interim results
 *   mcp_resume_token_backend.c  a backend's own tokens
 *   mcp_resume_token_members.c  the members of requests and results with tokens
 */


#ifndef MCP_RESUME_TOKEN_H_INCLUDED
#define MCP_RESUME_TOKEN_H_INCLUDED


#include "resume/mcp_resume_common.h"


/* The state of this method in an exchange whose request has a token or may get
 * an interim result, and in its call. */
typedef struct {
    uint64_t        due;       /* when an interim result is due, ms; 0: never */
    mcp_str_t       text;      /* the token of the request, or empty */
    unsigned char  *key;       /* key of the store's value for a backend's
                                  token, followed by the token's expiry; NULL:
                                  not used */
    uint64_t        until;     /* when to stop waiting for another request with
                                  the same token, ms */
    unsigned char   stream[MCP_STREAM_ID_LEN];
    unsigned        rest:1;    /* 1: reads the rest of another request's call */
} mcp_resume_token_t;


#define mcp_resume_token_of(states)  mcp_hook_state(states, &mcp_resume_token)


/* --- mcp_resume_token.c --- */

/*
 * Digests the client of a request and its parameters, without a token.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX, MCP_ERR_LIMIT  the parameters have no canonical form
 *   MCP_ERR_MEMORY
 */
int mcp_resume_token_bind(const mcp_endpoint_t *endpoint, const mcp_mem_t *mem,
    const mcp_client_t *client, mcp_str_t method, mcp_str_t params,
    unsigned char out[MCP_DIGEST_LEN]);

/*
 * Responds with the rest of a call: the events of its stream after seq.
 *
 * Returns MCP_DONE, or
 *   MCP_ERR_NOT_FOUND  there is no such stream that this client may read
 *   MCP_ERR_MEMORY
 */
int mcp_resume_token_join(mcp_exchange_t *x, mcp_resume_token_t *part,
    const mcp_stream_info_t *info, uint64_t seq);

/* Writes an interim result with the token of the request. */
void mcp_resume_token_interim_again(mcp_exchange_t *x,
    const mcp_resume_token_t *part);


/* --- mcp_resume_token_backend.c --- */

/* Returns 1 if a token has the form of one with a backend's token in it. */
int mcp_resume_token_backend_is(mcp_str_t token);

/* The hook "request" for such a token, which is at n places in the request. */
int mcp_resume_token_backend_request(mcp_exchange_t *x,
    mcp_resume_token_t *part, const mcp_json_value_t *places, size_t n,
    const unsigned char bind[MCP_DIGEST_LEN]);

/* Sets the id of the call to the digest of its request's token. */
void mcp_resume_token_backend_start(mcp_call_t *call,
    const mcp_resume_token_t *part);

/* Hooks with these names. */
int  mcp_resume_token_backend_begin(mcp_call_t *call);
int  mcp_resume_token_backend_result(mcp_request_t *req,
    const mcp_backend_msg_t *msg, mcp_buf_t *out);
void mcp_resume_token_backend_answered(mcp_request_t *req, mcp_outcome_e how);
void mcp_resume_token_backend_refused(mcp_exchange_t *x);
void mcp_resume_token_backend_failed(mcp_request_t *req);


/* --- mcp_resume_token_members.c --- */

/* Finds the token of a request, which may be in _meta, at the top of the
 * parameters, or in both. Returns their number. */
size_t mcp_resume_token_find(const mcp_rpc_t *msg, mcp_json_value_t places[2]);

/*
 * Replaces the sealed token in the request by the backend's own token, which is
 * JSON, and parses the request again.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  the token is not JSON
 */
int mcp_resume_token_replace(mcp_exchange_t *x, const mcp_json_value_t *places,
    size_t n, mcp_str_t inner);

/* Finds the token of a result whose _meta is given. */
mcp_json_value_t mcp_resume_token_next(const mcp_json_value_t *result,
    const mcp_json_value_t *meta);

/*
 * Appends the result with another token (as JSON; empty: none) at the places
 * where the result had one; at both places for clients that want tokens.  A
 * failure is left in out->failed.
 */
void mcp_resume_token_write(mcp_buf_t *out, const mcp_json_value_t *result,
    const mcp_json_value_t *meta, mcp_str_t token, int wanted);


#endif /* MCP_RESUME_TOKEN_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Internal declarations of resume tokens:
 *
 *   mcp_resume_by_token.c          this server's own tokens ('m'), and interim
 *                                  responses
 *   mcp_resume_by_token_backend.c  tokens of backends
 */


#ifndef MCP_RESUME_BY_TOKEN_H_INCLUDED
#define MCP_RESUME_BY_TOKEN_H_INCLUDED


#include "resume/mcp_resume_common.h"


/* The state of this resumption method in an exchange and its call. It exists if
 * the request has a token, or may get an interim response. */
typedef struct {
    uint64_t        due;       /* time at which the request gets an interim
                                  response, ms; 0: never */
    mcp_str_t       text;      /* the token of the request, or empty */
    unsigned char  *key;       /* digest of the client's token and of the
                                  answers in the request, followed by the
                                  token's expiry (8 bytes); the store has the
                                  value of a used token under this digest; NULL:
                                  the request has used no backend's token */
    uint64_t        until;     /* time until which the request waits for the
                                  call of another request with the same token,
                                  ms */
    unsigned char   stream[MCP_STREAM_ID_LEN];
    uint32_t        random;    /* value in the store, under "key", when the call
                                  has a stream; otherwise 0 */
    unsigned        rest:1;    /* 1: the request reads the stream of another
                                  request's call */
} mcp_resume_token_t;


#define mcp_resume_token_of(states)  mcp_hook_state(states, &mcp_resume_token)


/* --- mcp_resume_by_token.c --- */

/*
 * Writes a digest of the client, and of the method and the params of a request
 * without its resume token. A token is valid only for requests with the digest
 * that the token contains.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX, MCP_ERR_LIMIT  the params have no canonical form
 *   MCP_ERR_MEMORY
 */
int mcp_resume_token_bind(const mcp_endpoint_t *endpoint, const mcp_mem_t *mem,
    const mcp_client_t *client, mcp_str_t method, mcp_str_t params,
    unsigned char out[MCP_DIGEST_LEN]);

/*
 * Makes a digest depend on the answers with which a client repeats a request:
 * on "inputResponses", and on "requestState" as the backend gets it. Does
 * nothing if the request has neither of them. So a request, and its repetitions
 * with answers, use a token independently.
 *
 * Returns MCP_OK, MCP_ERR_MEMORY or MCP_ERR_INTERNAL.
 */
int mcp_resume_token_add_answers(const mcp_rpc_t *msg,
    unsigned char digest[MCP_DIGEST_LEN]);

/*
 * Responds with the rest of another request's call: the events of its stream
 * after seq.
 *
 * Returns MCP_NEXT_STREAM, or
 *   MCP_NEXT_RESPOND  the response is a fault, because the stream does not
 *                     exist or has lost events after seq, or another node has
 *                     a later reader
 *   MCP_NEXT_ERROR
 */
mcp_next_e mcp_resume_token_join(mcp_exchange_t *x, mcp_resume_token_t *state,
    const mcp_stream_info_t *info, uint64_t seq);

/* Writes an interim response that contains the token of the request again. */
void mcp_resume_token_interim_again(mcp_exchange_t *x,
    const mcp_resume_token_t *state);

/* Finds the token of a request, which may be in _meta, in the params
 * themselves, or at both places. Stores the values of all places in "places",
 * and returns their number. Does not check that they are strings or equal. */
size_t mcp_resume_token_find(const mcp_rpc_t *msg, mcp_json_value_t places[2]);

/* Returns the nextResumeToken of a result whose member _meta is meta. The type
 * of the value is MCP_JSON_NONE if there is none. */
mcp_json_value_t mcp_resume_token_next(const mcp_json_value_t *result,
    const mcp_json_value_t *meta);

/*
 * Appends the result with its nextResumeToken replaced by "token", raw JSON, or
 * removed if "token" is empty. The token is written where the result had one:
 * in _meta, beside _meta, or at both places. If "wanted" is 1, because the
 * client has declared resumeTokens, the token is always written at both places.
 * Sets out->failed on failure.
 */
void mcp_resume_token_write(mcp_buf_t *out, const mcp_json_value_t *result,
    const mcp_json_value_t *meta, mcp_str_t token, int wanted);


/* --- mcp_resume_by_token_backend.c --- */

/* Returns 1 if a client's token begins with the mark of a sealed backend's
 * token. */
int mcp_resume_token_backend_is(mcp_str_t token);

/* The hook "request" for a request with a token in which a backend's token is
 * sealed. "places" has n elements, see mcp_resume_token_find(). bind is the
 * digest that mcp_resume_token_bind() writes. */
mcp_next_e mcp_resume_token_backend_request(mcp_exchange_t *x,
    mcp_resume_token_t *state, const mcp_json_value_t *places, size_t n,
    const unsigned char bind[MCP_DIGEST_LEN]);

/* Sets the id of a call whose request has used a backend's token. Except for
 * some random bytes at its beginning, the id is the digest of the token, so
 * that the stream with the response is found by the token. */
void mcp_resume_token_backend_start(mcp_call_t *call,
    const mcp_resume_token_t *state);

/* The hooks "begin", "result", "answered", "refused" and "failed" for requests
 * with backends' tokens. */
int  mcp_resume_token_backend_begin(mcp_call_t *call);
int  mcp_resume_token_backend_result(mcp_request_t *req,
    const mcp_backend_msg_t *msg, mcp_buf_t *out);
void mcp_resume_token_backend_answered(mcp_request_t *req, mcp_outcome_e how);
void mcp_resume_token_backend_refused(mcp_exchange_t *x);
void mcp_resume_token_backend_failed(mcp_request_t *req);


#endif /* MCP_RESUME_BY_TOKEN_H_INCLUDED */

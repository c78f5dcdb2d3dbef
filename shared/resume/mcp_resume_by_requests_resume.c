/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Resumable requests (MCP PR #925, SEP-975): the first event of a call's
 * stream contains the resume policy of the call and a token, with which the
 * client sends requests/getStatus and requests/resume.
 *
 * The token consists of the stream id (16 bytes), a digest of the request's id
 * (16), the number of the event that contains the token (4), and the number of
 * the request in its call (1). It is valid as long as the stream exists.
 */


#include "resume/mcp_resume_common.h"
#include "rpc/mcp_request_id.h"


#define MCP_RESUME_REQUEST_LEN    (MCP_STREAM_ID_LEN + MCP_DIGEST_LEN + 4 + 1)

#define MCP_RESUME_REQUEST_OF_SEQ     (MCP_STREAM_ID_LEN + MCP_DIGEST_LEN)
#define MCP_RESUME_REQUEST_OF_NUMBER  (MCP_RESUME_REQUEST_OF_SEQ + 4)


/* The request that a token names. */
typedef struct {
    mcp_stream_info_t  info;
    uint64_t           seq;            /* number of the event that contains the
                                          token; the client has this event */
    unsigned           number;         /* index of the request in its call */
} mcp_resume_request_t;


static int
mcp_resume_request_policy(mcp_request_t *req, uint64_t seq)
{
    int             rc;
    mcp_buf_t       buf;
    mcp_call_t     *call;
    unsigned char   data[MCP_RESUME_REQUEST_LEN];

    call = req->call;

    memcpy(data, call->id, MCP_STREAM_ID_LEN);
    mcp_be_put(data + MCP_RESUME_REQUEST_OF_SEQ, seq, 4);
    data[MCP_RESUME_REQUEST_OF_NUMBER] = (unsigned char) req->breq.request;

    rc = mcp_id_digest(&call->worker->env->mem, mcp_null_str, req->id,
                       data + MCP_STREAM_ID_LEN);
    if (rc != MCP_OK) {
        return rc;
    }

    mcp_buf_init(&buf, &call->worker->env->mem, SIZE_MAX / 2);

    mcp_buf_lit(&buf, "{\"jsonrpc\":\"2.0\",\"method\":"
                      "\"notifications/requests/resumePolicy\","
                      "\"params\":{\"requestId\":");
    mcp_buf_str(&buf, req->id);
    mcp_buf_lit(&buf, ",\"resumeToken\":");
    mcp_resume_add_token(&buf, call->endpoint->keys, MCP_TOKEN_REQUEST,
                         data, sizeof(data));

    if (call->policy.min_wait) {
        mcp_buf_lit(&buf, ",\"minWait\":");
        mcp_resume_seconds(&buf, call->policy.min_wait);
    }

    mcp_buf_lit(&buf, ",\"maxWait\":");
    mcp_resume_seconds(&buf, call->rounds ? call->bound_wait
                                          : call->policy.max_wait);
    mcp_buf_lit(&buf, "}}");

    return mcp_resume_add_first(req, &buf);
}


static int
mcp_resume_request_begin(mcp_call_t *call)
{
    int       rc;
    size_t    i;
    uint64_t  seq;

    if (!(call->client.capabilities & MCP_CLIENT_REQUESTS)
        || !call->policy.resumable)
    {
        return MCP_OK;
    }

    rc = MCP_OK;
    seq = 0;

    for (i = 0; rc == MCP_OK && i < call->n; i++) {
        if (call->requests[i].state != MCP_REQUEST_OVER) {
            rc = mcp_resume_request_policy(&call->requests[i], ++seq);
        }
    }

    return rc;
}


/* Opens the token of a message, and copies its payload to data. id is raw JSON,
 * the id of the request for which the token must have been made. Returns
 * MCP_OK, or an error if the token is missing or not valid. */
static int
mcp_resume_request_open(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_str_t id,
    unsigned char data[MCP_RESUME_REQUEST_LEN])
{
    int            rc;
    mcp_str_t      token;
    unsigned char  digest[MCP_DIGEST_LEN];

    rc = mcp_resume_param(x, msg, mcp_str("resumeToken"), &token);

    if (rc == MCP_OK) {
        rc = mcp_token_verify(x->endpoint->keys, MCP_TOKEN_REQUEST, token,
                              data, MCP_RESUME_REQUEST_LEN);
    }

    if (rc == MCP_OK) {
        rc = mcp_id_digest(&x->worker->env->mem, mcp_null_str, id, digest);
    }

    if (rc == MCP_OK
        && memcmp(digest, data + MCP_STREAM_ID_LEN, MCP_DIGEST_LEN) != 0)
    {
        rc = MCP_ERR_NOT_FOUND;
    }

    return rc;
}


/*
 * Finds the request to which the token of a message belongs, if the request has
 * the id "id". If fetch is 1, also makes the stream of its call available
 * for reading at this node. Returns MCP_OK, or an error for
 * mcp_resume_refuse_for().
 *
 * After returning MCP_AGAIN, this function runs again when the cluster has
 * replied, see mcp_cluster_operation.h.
 */
static int
mcp_resume_request_find(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_str_t id,
    int fetch, mcp_resume_request_t *out)
{
    int            rc;
    uint64_t       bit;
    unsigned char  data[MCP_RESUME_REQUEST_LEN];

    rc = mcp_resume_request_open(x, msg, id, data);
    if (rc != MCP_OK) {
        return rc;
    }

    out->seq = mcp_be_get(data + MCP_RESUME_REQUEST_OF_SEQ, 4);
    out->number = data[MCP_RESUME_REQUEST_OF_NUMBER];

    rc = fetch ? mcp_resume_fetch(x, data, out->seq, &out->info)
               : mcp_resume_find(x, data, &out->info);

    /* the call is over and has no response for this request of its batch: the
     * request was cancelled */

    bit = (uint64_t) 1 << out->number;

    if (rc == MCP_OK && out->info.state >= MCP_STATE_COMPLETED
        && !(out->info.answered & bit))
    {
        rc = MCP_ERR_NOT_FOUND;
    }

    return rc;
}


/* Returns the state of one request, not of its whole call, because other
 * requests of the batch may be active or have failed. */
static mcp_stream_state_e
mcp_resume_request_state(const mcp_resume_request_t *request)
{
    uint64_t  bit;

    bit = (uint64_t) 1 << request->number;

    if (request->info.failed & bit) {
        return MCP_STATE_FAILED;
    }

    return request->info.answered & bit ? MCP_STATE_COMPLETED
                                        : request->info.state;
}


static mcp_str_t
mcp_resume_request_state_name(mcp_stream_state_e state)
{
    switch (state) {

    case MCP_STATE_COMPLETED:
        return mcp_str("\"completed\"");

    case MCP_STATE_FAILED:
        return mcp_str("\"failed\"");

    default:
        return mcp_str("\"processing\"");
    }
}


/* Looks up the stream of requests/getStatus at other nodes, if the token is
 * valid. After returning MCP_AGAIN, this function runs again when the cluster
 * has replied, see mcp_cluster_operation.h. */
static int
mcp_resume_request_start(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_method_e method)
{
    unsigned char  data[MCP_RESUME_REQUEST_LEN];

    (void) method;

    return mcp_resume_request_open(x, msg, msg->request_id.raw, data) == MCP_OK
           ? mcp_resume_lookup(x, data) : MCP_OK;
}


/* Handles requests/getStatus, and appends its result. */
static mcp_fault_e
mcp_resume_request_status(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_method_e method, mcp_buf_t *out)
{
    uint64_t              seen;
    mcp_json_value_t      id;
    mcp_resume_request_t  found;
    mcp_stream_state_e    state;

    (void) method;

    id = msg->request_id;

    if ((id.type != MCP_JSON_STRING && id.type != MCP_JSON_NUMBER)
        || mcp_resume_request_find(x, msg, id.raw, 0, &found) != MCP_OK
        || mcp_resume_poll(x, &found.info, found.seq, &seen) != MCP_OK)
    {
        return MCP_FAULT_RESUME_TOKEN;
    }

    state = mcp_resume_request_state(&found);

    mcp_buf_lit(out, "{\"requestId\":");
    mcp_buf_str(out, id.raw);
    mcp_buf_lit(out, ",\"status\":");
    mcp_buf_str(out, mcp_resume_request_state_name(state));
    mcp_buf_lit(out, ",\"hasPendingMessage\":");
    mcp_resume_add_flag(out, found.info.last_seq > seen);
    mcp_buf_lit(out, ",\"hasInputRequest\":");
    mcp_resume_add_flag(out, state == MCP_STATE_INPUT_REQUIRED);
    mcp_buf_lit(out, "}");

    return MCP_FAULT_NONE;
}


/*
 * Handles requests/resume. Its JSON-RPC id is that of the request to resume. If
 * that request belongs to a batch, the response contains only the messages of
 * that request, and no event ids: by returning an event id, the client would
 * also confirm events of the other requests.
 */
static mcp_next_e
mcp_resume_request_resume(mcp_exchange_t *x)
{
    int                   rc;
    mcp_next_e            next;
    mcp_resume_request_t  found;

    rc = mcp_resume_request_find(x, x->msg, x->msg->id, 1, &found);

    if (rc != MCP_OK) {
        return mcp_resume_refuse_for(x, rc);
    }

    next = mcp_resume_resume(x, &mcp_resume_request, &found.info, found.seq);

    if (next == MCP_NEXT_STREAM && strcmp(found.info.method, "batch") == 0) {
        x->reader.cursor.only = found.number + 1;
    }

    return next;
}


const mcp_resume_method_t  mcp_resume_request = {
    .name = { "requests", 8 },
    .capability = MCP_CLIENT_REQUESTS,
    .begin = mcp_resume_request_begin,
    .start = mcp_resume_request_start,
    .respond = mcp_resume_request_status,
    .open = mcp_resume_request_resume
};

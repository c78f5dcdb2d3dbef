/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Resumable requests (MCP PR #925, SEP-975): the first event of a call's
 * stream states the policy of the call and carries a token, which
 * requests/getStatus and requests/resume bring.
 *
 * The token: stream id (16), digest of the request's id (16), number of the
 * event it was sent in (4), number of the request in its call (1).  It is good
 * as long as the stream exists.
 */


#include "face/mcp_face_common.h"
#include "rpc/mcp_id.h"


#define MCP_FACE_REQUEST_LEN      (MCP_STREAM_ID_LEN + MCP_DIGEST_LEN + 4 + 1)

#define MCP_FACE_REQUEST_OF_SEQ      (MCP_STREAM_ID_LEN + MCP_DIGEST_LEN)
#define MCP_FACE_REQUEST_OF_NUMBER   (MCP_FACE_REQUEST_OF_SEQ + 4)


/* What a token names. */
typedef struct {
    mcp_stream_info_t  info;
    uint64_t           seq;            /* the client has this event */
    unsigned           number;         /* of the request in its call */
} mcp_face_request_t;


static int
mcp_face_request_policy(mcp_request_t *req, uint64_t seq)
{
    int             rc;
    mcp_buf_t       buf;
    mcp_call_t     *call;
    unsigned char   data[MCP_FACE_REQUEST_LEN];

    call = req->call;

    memcpy(data, call->id, MCP_STREAM_ID_LEN);
    mcp_be_put(data + MCP_FACE_REQUEST_OF_SEQ, seq, 4);
    data[MCP_FACE_REQUEST_OF_NUMBER] = (unsigned char) req->job.request;

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
    mcp_face_add_token(&buf, call->endpoint->keys, MCP_TOKEN_REQUEST,
                       data, sizeof(data));

    if (call->policy.min_wait) {
        mcp_buf_lit(&buf, ",\"minWait\":");
        mcp_face_seconds(&buf, call->policy.min_wait);
    }

    mcp_buf_lit(&buf, ",\"maxWait\":");
    mcp_face_seconds(&buf, call->policy.max_wait);
    mcp_buf_lit(&buf, "}}");

    return mcp_face_add_first(req, &buf);
}


static int
mcp_face_request_begin(mcp_call_t *call)
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
            rc = mcp_face_request_policy(&call->requests[i], ++seq);
        }
    }

    return rc;
}


/* Opens the token of a message, which must be for this id. */
static int
mcp_face_request_open(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_str_t id,
    unsigned char data[MCP_FACE_REQUEST_LEN])
{
    int            rc;
    mcp_str_t      token;
    unsigned char  digest[MCP_DIGEST_LEN];

    rc = mcp_face_param(x, msg, mcp_str("resumeToken"), &token);

    if (rc == MCP_OK) {
        rc = mcp_face_open_token(x->endpoint->keys, MCP_TOKEN_REQUEST,
                                 token, data, MCP_FACE_REQUEST_LEN);
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
 * Finds the request that a token and an id name; "fetch": to read its stream.
 *
 * Returns MCP_OK, or an error for mcp_face_refuse_for()
 */
static int
mcp_face_request_find(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_str_t id,
    int fetch, mcp_face_request_t *out)
{
    int            rc;
    uint64_t       bit;
    unsigned char  data[MCP_FACE_REQUEST_LEN];

    rc = mcp_face_request_open(x, msg, id, data);
    if (rc != MCP_OK) {
        return rc;
    }

    out->seq = mcp_be_get(data + MCP_FACE_REQUEST_OF_SEQ, 4);
    out->number = data[MCP_FACE_REQUEST_OF_NUMBER];

    rc = fetch ? mcp_face_fetch(x, data, out->seq, &out->info)
               : mcp_face_find(x, data, &out->info);

    /* one of a batch that was cancelled will never be answered */

    bit = (uint64_t) 1 << out->number;

    if (rc == MCP_OK && out->info.state >= MCP_STATE_COMPLETED
        && !(out->info.answered & bit))
    {
        rc = MCP_ERR_NOT_FOUND;
    }

    return rc;
}


/* The state of the request itself: others of a batch may run on, or have
 * failed. */
static mcp_stream_state_e
mcp_face_request_state(const mcp_face_request_t *request)
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
mcp_face_request_state_name(mcp_stream_state_e state)
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


static int
mcp_face_request_ask(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_method_e method)
{
    unsigned char  data[MCP_FACE_REQUEST_LEN];

    (void) method;

    return mcp_face_request_open(x, msg, msg->request_id.raw, data) == MCP_OK
           ? mcp_face_look(x, data) : MCP_OK;
}


/* requests/getStatus. */
static mcp_fault_e
mcp_face_request_status(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_method_e method, mcp_buf_t *out)
{
    uint64_t            seen;
    mcp_json_value_t    id;
    mcp_face_request_t  found;
    mcp_stream_state_e  state;

    (void) method;

    id = msg->request_id;

    if ((id.type != MCP_JSON_STRING && id.type != MCP_JSON_NUMBER)
        || mcp_face_request_find(x, msg, id.raw, 0, &found) != MCP_OK
        || mcp_face_poll(x, &found.info, found.seq, &seen) != MCP_OK)
    {
        return MCP_FAULT_RESUME_TOKEN;
    }

    state = mcp_face_request_state(&found);

    mcp_buf_lit(out, "{\"requestId\":");
    mcp_buf_str(out, id.raw);
    mcp_buf_lit(out, ",\"status\":");
    mcp_buf_str(out, mcp_face_request_state_name(state));
    mcp_buf_lit(out, ",\"hasPendingMessage\":");
    mcp_face_add_flag(out, found.info.last_seq > seen);
    mcp_buf_lit(out, ",\"hasInputRequest\":");
    mcp_face_add_flag(out, state == MCP_STATE_INPUT_REQUIRED);
    mcp_buf_lit(out, "}");

    return MCP_FAULT_NONE;
}


/*
 * requests/resume, under the id of the request that it resumes.  Of a batch it
 * brings only the messages of that request, without event ids: an id would
 * confirm those of the others as well.
 */
static int
mcp_face_request_resume(mcp_exchange_t *x)
{
    int                 rc;
    mcp_face_request_t  found;

    rc = mcp_face_request_find(x, x->msg, x->msg->id, 1, &found);

    if (rc != MCP_OK) {
        return mcp_face_refuse_for(x, rc);
    }

    rc = mcp_face_resume(x, &mcp_face_request, &found.info, found.seq);

    if (rc == MCP_DONE && strcmp(found.info.method, "batch") == 0) {
        x->reader.cursor.only = found.number + 1;
    }

    return rc;
}


const mcp_face_t  mcp_face_request = {
    .name = { "requests", 8 },
    .capability = MCP_CLIENT_REQUESTS,
    .begin = mcp_face_request_begin,
    .ask = mcp_face_request_ask,
    .answer = mcp_face_request_status,
    .open = mcp_face_request_resume
};

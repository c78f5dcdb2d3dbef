/* SPDX-License-Identifier: Apache-2.0 */

/* The table of faces, and what they have in common. */


#include "face/mcp_face_common.h"


/* In the order in which their first events stand in a stream. */

static const mcp_face_t *const  mcp_faces[] = {
    &mcp_face_request,
    &mcp_face_stream,
    &mcp_face_link,
    &mcp_face_token
};

/* more than a first event has without the request's id */
#define MCP_FACE_EVENT_MAX  (512 + MCP_TOKEN_TEXT_MAX)

#define MCP_FACES  (sizeof(mcp_faces) / sizeof(mcp_faces[0]))


int
mcp_faces_begin(mcp_call_t *call)
{
    int     rc;
    size_t  i;

    rc = MCP_OK;

    for (i = 0; rc == MCP_OK && i < MCP_FACES; i++) {
        if (mcp_faces[i]->begin) {
            rc = mcp_faces[i]->begin(call);
        }
    }

    return rc;
}


int
mcp_exchange_secret(const mcp_endpoint_t *endpoint, mcp_str_t *rest,
    mcp_str_t *secret)
{
    size_t  i;

    for (i = 0; i < MCP_FACES; i++) {
        if (mcp_faces[i]->secret
            && mcp_faces[i]->secret(endpoint, rest, secret))
        {
            return 1;
        }
    }

    return 0;
}


int
mcp_faces_look(mcp_exchange_t *x, const mcp_head_t *head)
{
    int     rc;
    size_t  i;

    for (i = 0; i < MCP_FACES; i++) {
        if (mcp_faces[i]->look == NULL) {
            continue;
        }

        rc = mcp_faces[i]->look(x, head);

        if (rc == MCP_OK) {
            x->face = mcp_faces[i];
        }

        if (rc != MCP_DONE) {
            return rc;
        }
    }

    return MCP_OK;
}


void
mcp_faces_head(mcp_exchange_t *x)
{
    size_t  i;

    for (i = 0; i < MCP_FACES; i++) {
        if (mcp_faces[i]->head) {
            mcp_faces[i]->head(x);
        }
    }
}


int
mcp_faces_idle(mcp_exchange_t *x)
{
    size_t  i;

    for (i = 0; i < MCP_FACES; i++) {
        if (mcp_faces[i]->idle && mcp_faces[i]->idle(x)) {
            return 1;
        }
    }

    return 0;
}


int
mcp_faces_stays(mcp_exchange_t *x)
{
    size_t  i;

    for (i = 0; i < MCP_FACES; i++) {
        if (mcp_faces[i]->stays && mcp_faces[i]->stays(x)) {
            return 1;
        }
    }

    return 0;
}


void
mcp_faces_tail(mcp_exchange_t *x, mcp_tail_e how)
{
    size_t  i;

    for (i = 0; i < MCP_FACES; i++) {
        if (mcp_faces[i]->tail) {
            mcp_faces[i]->tail(x, how);
        }
    }
}


int
mcp_faces_call(mcp_exchange_t *x)
{
    int     rc;
    size_t  i;

    rc = MCP_AGAIN;

    for (i = 0; rc == MCP_AGAIN && i < MCP_FACES; i++) {
        if (mcp_faces[i]->call) {
            rc = mcp_faces[i]->call(x);
        }
    }

    return rc;
}


void
mcp_faces_spec(const mcp_call_t *call, mcp_stream_spec_t *spec)
{
    size_t  i;

    if (!(call->session.capabilities
          & (MCP_CLIENT_REQUESTS|MCP_CLIENT_STREAMS)))
    {
        return;
    }

    /* it says how long the client may take to come back */

    spec->promised = 1;

    if (spec->max_events) {
        spec->max_events += 2 * (uint32_t) call->n;
    }

    if (spec->max_bytes) {
        spec->max_bytes += 2 * call->n * MCP_FACE_EVENT_MAX;

        for (i = 0; i < call->n; i++) {
            spec->max_bytes += 2 * call->requests[i].id.len;
        }
    }
}


uint64_t
mcp_faces_stream_after(const mcp_call_t *call)
{
    uint64_t               after;
    const mcp_endpoint_t  *endpoint;

    after = call->policy.stream_after;
    endpoint = call->endpoint;

    if (call->policy.resumable && endpoint->policy_after < after
        && (endpoint->link
            || (call->session.capabilities
                & (MCP_CLIENT_REQUESTS|MCP_CLIENT_STREAMS))))
    {
        after = endpoint->policy_after;
    }

    return after;
}


void
mcp_faces_start(mcp_call_t *call)
{
    size_t  i;

    for (i = 0; i < MCP_FACES; i++) {
        if (mcp_faces[i]->start) {
            mcp_faces[i]->start(call);
        }
    }
}


void
mcp_faces_unmade(mcp_exchange_t *x)
{
    size_t  i;

    for (i = 0; i < MCP_FACES; i++) {
        if (mcp_faces[i]->unmade) {
            mcp_faces[i]->unmade(x);
        }
    }
}


void
mcp_faces_interim(mcp_exchange_t *x)
{
    size_t  i;

    for (i = 0; i < MCP_FACES; i++) {
        if (mcp_faces[i]->interim) {
            mcp_faces[i]->interim(x);
        }
    }
}


int
mcp_faces_result(mcp_request_t *req, const mcp_backend_msg_t *msg,
    mcp_buf_t *out)
{
    int     rc;
    size_t  i;

    rc = MCP_DONE;

    for (i = 0; rc == MCP_DONE && i < MCP_FACES; i++) {
        if (mcp_faces[i]->result) {
            rc = mcp_faces[i]->result(req, msg, out);
        }
    }

    return rc;
}


void
mcp_faces_keep(mcp_request_t *req, mcp_ending_e how)
{
    size_t  i;

    for (i = 0; i < MCP_FACES; i++) {
        if (mcp_faces[i]->keep) {
            mcp_faces[i]->keep(req, how);
        }
    }
}


void
mcp_faces_undo(mcp_request_t *req)
{
    size_t  i;

    for (i = 0; i < MCP_FACES; i++) {
        if (mcp_faces[i]->undo) {
            mcp_faces[i]->undo(req);
        }
    }
}


const mcp_face_t *
mcp_face_of(const mcp_exchange_t *x, const mcp_method_t *method)
{
    size_t  i;

    if ((x->session.capabilities & method->capability) == 0) {
        return NULL;
    }

    for (i = 0; i < MCP_FACES; i++) {
        if (mcp_faces[i]->capability == method->capability) {
            return mcp_faces[i];
        }
    }

    return NULL;
}


/* --- in common --- */

int
mcp_face_param(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_str_t key,
    mcp_str_t *out)
{
    mcp_json_value_t  value;

    value = mcp_json_get(&msg->params, key);

    if (value.type != MCP_JSON_STRING) {
        return MCP_ERR_SYNTAX;
    }

    return mcp_json_unescape(mcp_exchange_arena(x), value.raw, out);
}


static int
mcp_face_same(const unsigned char a[MCP_DIGEST_LEN],
    const unsigned char b[MCP_DIGEST_LEN])
{
    return mcp_secret_eq((mcp_str_t) { (const char *) a, MCP_DIGEST_LEN },
                         (mcp_str_t) { (const char *) b, MCP_DIGEST_LEN });
}


int
mcp_face_owns(const mcp_exchange_t *x, const mcp_stream_info_t *info)
{
    return mcp_face_same(info->principal, x->principal)
           && (!x->has_session
               || mcp_face_same(info->session, x->session.id));
}


int
mcp_face_allows(const mcp_exchange_t *x, const mcp_stream_info_t *info)
{
    return info->kind == MCP_STREAM_CALL
           && info->state != MCP_STATE_CANCELLED
           && info->max_wait > 0
           && mcp_face_owns(x, info);
}


int
mcp_face_find(mcp_exchange_t *x, const unsigned char id[MCP_STREAM_ID_LEN],
    mcp_stream_info_t *info)
{
    if (mcp_store_find(x->worker->store, id,
                       x->worker->env->now(x->worker->env->ctx), info)
        != MCP_OK
        || !mcp_face_allows(x, info))
    {
        return MCP_ERR_NOT_FOUND;
    }

    return MCP_OK;
}


mcp_fault_e
mcp_face_cursor(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t *after)
{
    unsigned char  id[MCP_STREAM_ID_LEN];

    if (x->event_id.len == 0) {
        return MCP_FAULT_NONE;
    }

    if (mcp_event_id_parse(x->event_id, id, after) != MCP_OK) {
        return MCP_FAULT_EVENT_ID_MALFORMED;
    }

    if (memcmp(id, info->ref.id, MCP_STREAM_ID_LEN) != 0
        || (*after & ~MCP_EVENT_ANSWERED) > info->last_seq)
    {
        return MCP_FAULT_EVENT_ID_UNKNOWN;
    }

    if (*after & MCP_EVENT_ANSWERED) {
        return MCP_FAULT_NONE;
    }

    if (*after > info->confirmed_seq) {
        (void) mcp_store_acknowledge(x->worker->store, &info->ref, *after);
    }

    return MCP_FAULT_NONE;
}


static int
mcp_face_fault(mcp_exchange_t *x, mcp_fault_e fault)
{
    int  rc;

    rc = mcp_exchange_fault(x, fault, x->msg.id, mcp_null_str);

    /* nobody reads the answer to what is no request, but for its status
     * (basic/transports, "Sending Messages to the Server") */

    if (rc == MCP_OK && x->msg.kind == MCP_RPC_NOTIFICATION) {
        x->response.status = 400;
    }

    return rc;
}


int
mcp_face_refuse(mcp_exchange_t *x)
{
    return mcp_face_fault(x, MCP_FAULT_RESUME_TOKEN);
}


/* After what Last-Event-ID confirms, else after what is "least", of what is
 * kept. */
static int
mcp_face_start(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t least)
{
    int       rc;
    uint64_t  after;

    if (x->event_id.len == 0) {
        return mcp_consumer_start_kept(x, info, least);
    }

    if (mcp_face_cursor(x, info, &after) != MCP_FAULT_NONE) {
        return MCP_ERR_NOT_FOUND;
    }

    rc = mcp_store_confirm(x->worker->store, &info->ref, after);

    return rc == MCP_OK ? mcp_consumer_start(x, &info->ref, after) : rc;
}


int
mcp_face_resume(mcp_exchange_t *x, const mcp_face_t *face,
    const mcp_stream_info_t *info, uint64_t least)
{
    int  rc;

    x->face = face;
    rc = mcp_face_start(x, info, least);

    switch (rc) {

    case MCP_OK:
        break;

    case MCP_ERR_NOT_FOUND:
        return mcp_face_refuse(x);

    case MCP_ERR_PURGED:

        /* the token is good: without Last-Event-ID it gets what is kept */

        return mcp_face_fault(x, MCP_FAULT_RESUME_PURGED);

    default:
        return MCP_ERR_MEMORY;
    }

    x->resumed = 1;
    mcp_store_count(x->worker->store, MCP_COUNT_RESUMES, 1);
    mcp_consumer_close_at_will(x, info);

    return MCP_DONE;
}


int
mcp_face_add_first(mcp_request_t *req, mcp_buf_t *buf)
{
    int  rc;

    rc = buf->failed;

    if (rc == MCP_OK) {
        rc = mcp_call_append(req, (mcp_str_t) { buf->data, buf->len },
                             MCP_STATE_PROCESSING);
    }

    mcp_buf_free(buf);

    return rc;
}


void
mcp_face_seconds(mcp_buf_t *buf, uint64_t ms)
{
    unsigned  rest;
    char      digits[4];

    mcp_buf_int(buf, (int64_t) (ms / 1000));

    rest = (unsigned) (ms % 1000);

    if (rest) {
        digits[0] = '.';
        digits[1] = (char) ('0' + rest / 100);
        digits[2] = (char) ('0' + rest / 10 % 10);
        digits[3] = (char) ('0' + rest % 10);
        mcp_buf_add(buf, digits, 4);
    }
}


void
mcp_face_add_flag(mcp_buf_t *buf, int flag)
{
    mcp_buf_str(buf, flag ? mcp_str("true") : mcp_str("false"));
}


void
mcp_face_add_token(mcp_buf_t *buf, const mcp_keys_t *keys, mcp_token_e purpose,
    const unsigned char *data, size_t len)
{
    char  *p, *end;

    mcp_buf_lit(buf, "\"");

    p = mcp_buf_reserve(buf, MCP_TOKEN_TEXT_MAX);

    if (p) {
        end = mcp_token_sign(keys, purpose, data, len, p);

        if (end) {
            buf->len += (size_t) (end - p);

        } else {
            buf->failed = MCP_ERR_MEMORY;
        }
    }

    mcp_buf_lit(buf, "\"");
}


int
mcp_face_open_token(const mcp_keys_t *keys, mcp_token_e purpose, mcp_str_t text,
    unsigned char *data, size_t len)
{
    size_t         n;
    unsigned char  payload[MCP_TOKEN_MAX_DATA];

    n = sizeof(payload);

    if (text.len > MCP_TOKEN_TEXT_MAX
        || mcp_token_verify(keys, purpose, text, payload, &n) != MCP_OK
        || n != len)
    {
        return MCP_ERR_NOT_FOUND;
    }

    memcpy(data, payload, len);

    return MCP_OK;
}

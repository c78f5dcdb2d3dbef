/* SPDX-License-Identifier: Apache-2.0 */

#include "resume/mcp_resume_common.h"


int
mcp_resume_param(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_str_t key,
    mcp_str_t *out)
{
    mcp_json_value_t  value;

    value = mcp_json_get(&msg->params, key);

    if (value.type != MCP_JSON_STRING) {
        return MCP_ERR_SYNTAX;
    }

    return mcp_json_unescape(mcp_call_arena(x), value.raw, out);
}


int
mcp_resume_owns(const mcp_exchange_t *x, const mcp_stream_info_t *info)
{
    return mcp_secret_same(info->principal, x->head.principal, MCP_DIGEST_LEN)
           && (!x->client.has_session
               || mcp_secret_same(info->session, x->client.id,
                                  MCP_DIGEST_LEN));
}


int
mcp_resume_allows(const mcp_exchange_t *x, const mcp_stream_info_t *info)
{
    return info->kind == MCP_STREAM_CALL
           && info->state != MCP_STATE_CANCELLED
           && info->max_wait > 0
           && mcp_resume_owns(x, info);
}


int
mcp_resume_find(mcp_exchange_t *x, const unsigned char id[MCP_STREAM_ID_LEN],
    mcp_stream_info_t *info)
{
    int                 rc;
    const mcp_found_t  *found;

    rc = mcp_store_find(x->worker->store, id, mcp_worker_now(x->worker), info);

    if (rc != MCP_OK || info->mirror) {
        found = mcp_operation_found(x, id);

        if (found) {
            *info = found->lookup.info;
            rc = MCP_OK;
        }
    }

    return rc == MCP_OK && mcp_resume_allows(x, info) ? MCP_OK
                                                    : MCP_ERR_NOT_FOUND;
}


/* --- streams at any node --- */

void
mcp_resume_describe(const mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t least,
    mcp_operation_stream_t *stream)
{
    uint64_t  after;

    memset(stream, 0, sizeof(mcp_operation_stream_t));

    memcpy(stream->id, id, MCP_STREAM_ID_LEN);
    memcpy(stream->session, x->client.id, MCP_DIGEST_LEN);
    memcpy(stream->principal, x->head.principal, MCP_DIGEST_LEN);
    stream->any_session = !x->client.has_session;
    stream->after = least;

    if (x->head.event_id.len
        && mcp_resume_names(x, id, &after) == MCP_FAULT_NONE)
    {
        stream->after = after & ~MCP_EVENT_ANSWERED;
    }
}


/* Returns 1 if the client has the last event of a stream that is over, or a
 * later event, which this node lacks. */
static int
mcp_resume_has_all(const mcp_exchange_t *x, const mcp_stream_info_t *info)
{
    uint64_t  after;

    return info->state >= MCP_STATE_COMPLETED
           && x->head.event_id.len
           && mcp_resume_names(x, info->ref.id, &after) == MCP_FAULT_NONE
           && !(after & MCP_EVENT_ANSWERED)
           && after >= info->last_seq;
}


int
mcp_resume_here(mcp_exchange_t *x, int cluster_rc,
    const unsigned char id[MCP_STREAM_ID_LEN], mcp_stream_info_t *info)
{
    int  rc;

    if (cluster_rc == MCP_ERR_DENIED) {
        return MCP_ERR_UNREACHABLE;
    }

    rc = mcp_store_find(x->worker->store, id, mcp_worker_now(x->worker), info);

    /* the cluster operation has failed: it is unknown which events a mirror
     * lacks, and whether another client reads the stream */

    if (cluster_rc != MCP_OK
        && (rc == MCP_ERR_NOT_FOUND || (rc == MCP_OK && info->mirror)))
    {
        return cluster_rc;
    }

    /* This node may have taken the stream over from a node that was declared
     * dead. If Redis has been emptied since, that node continues the call, and
     * the client may have its events. So only a stream that Redis assigns to
     * this node has no further events. */

    if (cluster_rc == MCP_ERR_UNREACHABLE && rc == MCP_OK
        && mcp_resume_has_all(x, info))
    {
        return MCP_ERR_UNREACHABLE;
    }

    return rc;
}


/* Makes a stream available at this node. After returning MCP_AGAIN, this
 * function runs again when the cluster has replied, see
 * mcp_cluster_operation.h. */
int
mcp_resume_fetch(mcp_exchange_t *x, const unsigned char id[MCP_STREAM_ID_LEN],
    uint64_t least, mcp_stream_info_t *info)
{
    int                     rc;
    uint64_t                after;
    mcp_operation_stream_t  stream;

    /* checks Last-Event-ID first, because a request that is rejected must not
     * displace the consumer */

    if (mcp_resume_names(x, id, &after) != MCP_FAULT_NONE) {
        return MCP_ERR_NOT_FOUND;
    }

    mcp_resume_describe(x, id, least, &stream);
    stream.drops = x->head.event_id.len != 0;

    rc = mcp_operation_stream(x, MCP_OPERATION_STREAM, &stream);

    if (rc == MCP_AGAIN) {
        return MCP_AGAIN;
    }

    rc = mcp_resume_here(x, rc, id, info);

    return rc == MCP_OK && !mcp_resume_allows(x, info) ? MCP_ERR_NOT_FOUND : rc;
}


/* Looks a stream up at the other nodes. After returning MCP_AGAIN, this
 * function runs again when the cluster has replied, see
 * mcp_cluster_operation.h. */
int
mcp_resume_lookup(mcp_exchange_t *x, const unsigned char id[MCP_STREAM_ID_LEN])
{
    mcp_operation_stream_t  stream;
    mcp_stream_info_t       info;

    if (mcp_store_find(x->worker->store, id, mcp_worker_now(x->worker), &info)
        == MCP_OK
        && !info.mirror)
    {
        return MCP_OK;
    }

    mcp_resume_describe(x, id, 0, &stream);

    return mcp_operation_stream(x, MCP_OPERATION_LOOKUP, &stream);
}


mcp_fault_e
mcp_resume_names(const mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN], uint64_t *after)
{
    unsigned char  named[MCP_STREAM_ID_LEN];

    if (x->head.event_id.len == 0) {
        return MCP_FAULT_NONE;
    }

    if (mcp_event_id_parse(x->head.event_id, named, after) != MCP_OK) {
        return MCP_FAULT_EVENT_ID_MALFORMED;
    }

    return memcmp(named, id, MCP_STREAM_ID_LEN) == 0
           ? MCP_FAULT_NONE : MCP_FAULT_EVENT_ID_UNKNOWN;
}


mcp_fault_e
mcp_resume_cursor(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t *after)
{
    mcp_fault_e  fault;

    if (x->head.event_id.len == 0) {
        return MCP_FAULT_NONE;
    }

    fault = mcp_resume_names(x, info->ref.id, after);

    if (fault != MCP_FAULT_NONE) {
        return fault;
    }

    if ((*after & ~MCP_EVENT_ANSWERED) > info->last_seq) {
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


int
mcp_resume_poll(mcp_exchange_t *x, const mcp_stream_info_t *info, uint64_t seq,
    uint64_t *seen)
{
    *seen = info->confirmed_seq > seq ? info->confirmed_seq : seq;

    if (mcp_resume_cursor(x, info, seen) != MCP_FAULT_NONE) {
        return MCP_ERR_NOT_FOUND;
    }

    /* restarts the time for which the call continues without a consumer. For a
     * mirror, the lookup has already done this at the node of the owner. */

    if (!info->mirror
        && mcp_store_touch(x->worker->store, &info->ref,
                           mcp_worker_now(x->worker))
           != MCP_OK)
    {
        return MCP_ERR_NOT_FOUND;
    }

    return MCP_OK;
}


static mcp_next_e
mcp_resume_fault(mcp_exchange_t *x, mcp_fault_e fault)
{
    mcp_next_e  next;

    next = mcp_respond_fault(x, fault, x->msg->id, mcp_null_str);

    /* a client reads only the HTTP status of the response to a notification
     * (basic/transports, "Sending Messages to the Server"), so the status has
     * to be an error */

    if (next == MCP_NEXT_RESPOND && x->msg->kind == MCP_RPC_NOTIFICATION) {
        x->output.response.status = 400;
    }

    return next;
}


mcp_next_e
mcp_resume_refuse(mcp_exchange_t *x)
{
    return mcp_resume_fault(x, MCP_FAULT_RESUME_TOKEN);
}


mcp_next_e
mcp_resume_refuse_for(mcp_exchange_t *x, int rc)
{
    switch (rc) {

    case MCP_AGAIN:
    case MCP_ERR_MEMORY:
        return mcp_operation_next(rc);

    case MCP_ERR_UNREACHABLE:
        return mcp_resume_fault(x, MCP_FAULT_CLUSTER_UNREACHABLE);

    case MCP_ERR_FULL:
        return mcp_resume_fault(x, MCP_FAULT_STORE_FULL);

    default:
        return mcp_resume_refuse(x);
    }
}


/*
 * Makes the exchange the consumer of the stream. The exchange reads the events
 * after the event in Last-Event-ID. If the header is missing, the exchange
 * reads the events after "least", or all stored events if the event after
 * "least" is no longer stored. Returns the values of mcp_consumer_start().
 */
static int
mcp_resume_start(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t least)
{
    int       rc;
    uint64_t  after;

    if (x->head.event_id.len == 0) {
        return mcp_consumer_start_kept(x, info, least);
    }

    if (mcp_resume_cursor(x, info, &after) != MCP_FAULT_NONE) {
        return MCP_ERR_NOT_FOUND;
    }

    rc = mcp_store_confirm(x->worker->store, &info->ref, after);

    return rc == MCP_OK ? mcp_consumer_start(x, &info->ref, after) : rc;
}


mcp_next_e
mcp_resume_resume(mcp_exchange_t *x, const mcp_resume_method_t *resumption,
    const mcp_stream_info_t *info, uint64_t least)
{
    x->resumption = resumption;

    switch (mcp_resume_start(x, info, least)) {

    case MCP_OK:
        break;

    case MCP_ERR_NOT_FOUND:
        return mcp_resume_refuse(x);

    case MCP_ERR_PURGED:

        /* Events after the one in Last-Event-ID are missing. The token is
         * valid: the client may repeat the request without the header, and then
         * gets the stored events. */

        return mcp_resume_fault(x, MCP_FAULT_RESUME_PURGED);

    case MCP_ERR_UNREACHABLE:
        return mcp_resume_fault(x, MCP_FAULT_CLUSTER_UNREACHABLE);

    default:
        return MCP_NEXT_ERROR;
    }

    x->reader.resumed = 1;
    mcp_store_count(x->worker->store, MCP_COUNT_RESUMES, 1);
    mcp_consumer_close_at_will(x, info);

    return MCP_NEXT_STREAM;
}


int
mcp_resume_add_first(mcp_request_t *req, mcp_buf_t *buf)
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
mcp_resume_seconds(mcp_buf_t *buf, uint64_t ms)
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
mcp_resume_add_flag(mcp_buf_t *buf, int flag)
{
    mcp_buf_str(buf, flag ? mcp_str("true") : mcp_str("false"));
}


void
mcp_resume_add_token(mcp_buf_t *buf, const mcp_keys_t *keys,
    mcp_token_e purpose, const unsigned char *data, size_t len)
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

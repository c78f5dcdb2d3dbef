/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Resumable streams (MCP PR #899): notifications/stream/create begins a call's
 * stream, and notifications/stream/end ends it. Between them, the client may
 * send stream/poll, stream/poll/all and stream/resume.
 *
 * The stream id that the client gets is the id of the stream in the store. It
 * is not secret. The token consists of the stream id (16 bytes) and the number
 * of the event that contains the token (4).
 */


#include "base/mcp_str.h"
#include "resume/mcp_resume_common.h"


#define MCP_RESUME_STREAM_LEN    (MCP_STREAM_ID_LEN + 4)

#define mcp_resume_stream_of(data)  mcp_be_get((data) + MCP_STREAM_ID_LEN, 4)

/* Maximum number of finished, completely sent streams in one response to
 * stream/poll/all. A session may have more such streams until they are
 * freed. */
#define MCP_RESUME_STREAM_SENT_MAX  256


static void
mcp_resume_stream_add_id(mcp_buf_t *buf,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    char  text[MCP_STREAM_TEXT_LEN];

    mcp_stream_id_print(text, id);

    mcp_buf_lit(buf, "\"");
    mcp_buf_add(buf, text, MCP_STREAM_TEXT_LEN);
    mcp_buf_lit(buf, "\"");
}


static void
mcp_resume_stream_create(const mcp_request_t *req, mcp_buf_t *buf)
{
    uint64_t        number;
    mcp_call_t     *call;
    unsigned char   data[MCP_RESUME_STREAM_LEN];

    call = req->call;
    number = 1;

    /* the number may be greater than 1, because other resumption methods may
     * have appended their first events already */

    (void) mcp_call_next_event(call, &number);

    memcpy(data, call->id, MCP_STREAM_ID_LEN);
    mcp_be_put(data + MCP_STREAM_ID_LEN, number, 4);

    mcp_buf_lit(buf, "{\"jsonrpc\":\"2.0\",\"method\":"
                     "\"notifications/stream/create\","
                     "\"params\":{\"streamId\":");
    mcp_resume_stream_add_id(buf, call->id);
    mcp_buf_lit(buf, ",\"resumeToken\":");
    mcp_resume_add_token(buf, call->endpoint->keys, MCP_TOKEN_STREAM,
                         data, sizeof(data));

    mcp_buf_lit(buf, ",\"requestId\":");
    mcp_buf_str(buf, req->id);
    mcp_buf_lit(buf, ",\"resumeInterval\":{");

    if (call->policy.min_wait) {
        mcp_buf_lit(buf, "\"min\":");
        mcp_resume_seconds(buf, call->policy.min_wait);
        mcp_buf_lit(buf, ",");
    }

    /* max_wait is 0 for a call that ends with its connection */

    mcp_buf_lit(buf, "\"max\":");
    mcp_resume_seconds(buf, call->policy.max_wait);
    mcp_buf_lit(buf, "}}}");
}


/* Appends notifications/stream/create to the call's stream for each request
 * that has no response yet. The requests of a batch have the same stream. */
static int
mcp_resume_stream_begin(mcp_call_t *call)
{
    int        rc;
    size_t     i;
    mcp_buf_t  buf;

    if (!(call->client.capabilities & MCP_CLIENT_STREAMS)) {
        return MCP_OK;
    }

    rc = MCP_OK;

    for (i = 0; rc == MCP_OK && i < call->n; i++) {
        if (call->requests[i].state == MCP_REQUEST_OVER) {
            continue;
        }

        mcp_buf_init(&buf, &call->worker->env->mem, SIZE_MAX / 2);
        mcp_resume_stream_create(&call->requests[i], &buf);
        rc = mcp_resume_add_first(&call->requests[i], &buf);
    }

    return rc;
}


/* Opens the token of a message and copies its payload to data. The token must
 * be for the stream in streamId. */
static int
mcp_resume_stream_token(mcp_exchange_t *x, const mcp_rpc_t *msg,
    unsigned char data[MCP_RESUME_STREAM_LEN])
{
    mcp_str_t      id, token;
    unsigned char  wanted[MCP_STREAM_ID_LEN];

    if (mcp_resume_param(x, msg, mcp_str("streamId"), &id) != MCP_OK
        || mcp_resume_param(x, msg, mcp_str("resumeToken"), &token) != MCP_OK
        || mcp_stream_id_parse(id, wanted) != MCP_OK
        || mcp_token_verify(x->endpoint->keys, MCP_TOKEN_STREAM, token,
                            data, MCP_RESUME_STREAM_LEN)
           != MCP_OK
        || memcmp(wanted, data, MCP_STREAM_ID_LEN) != 0)
    {
        return MCP_ERR_NOT_FOUND;
    }

    return MCP_OK;
}


/* Starts the cluster operation for stream/poll or stream/poll/all. After
 * returning MCP_AGAIN, this function runs again when the cluster has replied,
 * see mcp_cluster_operation.h. */
static int
mcp_resume_stream_start(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_method_e method)
{
    unsigned char           data[MCP_RESUME_STREAM_LEN];
    mcp_operation_stream_t  stream;

    if (method == MCP_METHOD_STREAM_POLL) {
        return mcp_resume_stream_token(x, msg, data) == MCP_OK
               ? mcp_resume_lookup(x, data) : MCP_OK;
    }

    /* stream/poll/all needs the streams of the session at all other nodes */

    mcp_resume_describe(x, x->client.id, 0, &stream);

    return mcp_operation_stream(x, MCP_OPERATION_LIST, &stream);
}


static void
mcp_resume_stream_status(mcp_buf_t *out, const mcp_stream_info_t *info,
    uint64_t seen)
{
    mcp_buf_lit(out, "{\"streamId\":");
    mcp_resume_stream_add_id(out, info->ref.id);

    if (info->state >= MCP_STATE_COMPLETED) {
        mcp_buf_lit(out, ",\"status\":\"completed\",\"pendingMessages\":");

    } else {
        mcp_buf_lit(out, ",\"status\":\"live\",\"pendingMessages\":");
    }

    mcp_resume_add_flag(out, info->last_seq > seen);
    mcp_buf_lit(out, ",\"hasRequest\":");
    mcp_resume_add_flag(out, info->state == MCP_STATE_INPUT_REQUIRED);
    mcp_buf_lit(out, ",\"hasError\":");
    mcp_resume_add_flag(out, info->failed_seq > seen);
    mcp_buf_lit(out, "}");
}


static mcp_fault_e
mcp_resume_stream_poll(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_buf_t *out)
{
    uint64_t           seen;
    unsigned char      data[MCP_RESUME_STREAM_LEN];
    mcp_stream_info_t  info;

    if (mcp_resume_stream_token(x, msg, data) != MCP_OK
        || mcp_resume_find(x, data, &info) != MCP_OK
        || mcp_resume_poll(x, &info, mcp_resume_stream_of(data), &seen)
               != MCP_OK)
    {
        return MCP_FAULT_RESUME_TOKEN;
    }

    mcp_resume_stream_status(out, &info, seen);

    return MCP_FAULT_NONE;
}


/*
 * Appends the status of one stream, if the client may resume the stream and has
 * got its id. "sent" is 1 for a stream that is over and completely sent. For
 * any other stream of this node, restarts the time for which its call continues
 * without a consumer. "start" is the offset in out at which the list begins.
 */
static void
mcp_resume_stream_list(mcp_exchange_t *x, const mcp_stream_info_t *info,
    int sent, size_t start, mcp_buf_t *out)
{
    if (!mcp_resume_allows(x, info) || info->generation == MCP_CALL_KEPT) {
        return;
    }

    /* skips a mirror: mcp_resume_stream_list_found() appends the state from the
     * owner's node, which may be newer */

    if (info->mirror && info->ref.index != 0 && mcp_operation_found_at(x, 0)) {
        return;
    }

    if (!sent && !info->mirror
        && mcp_store_touch(x->worker->store, &info->ref,
                           x->worker->env->now(x->worker->env->ctx))
           != MCP_OK)
    {
        return;
    }

    if (out->len > start) {
        mcp_buf_lit(out, ",");
    }

    mcp_resume_stream_status(out, info, info->confirmed_seq);
}


/* Returns 1 if the list, which begins at offset start of out, contains the
 * stream. */
static int
mcp_resume_stream_is_listed(const mcp_stream_info_t *info, size_t start,
    const mcp_buf_t *out)
{
    char       text[MCP_STREAM_TEXT_LEN];
    mcp_str_t  list, id;

    mcp_stream_id_print(text, info->ref.id);

    list.data = out->data + start;
    list.len = out->len - start;
    id.data = text;
    id.len = sizeof(text);

    return mcp_str_find(list, id) != NULL;
}


/*
 * Appends the streams that are over and completely sent, the latest first.
 * "newest" is the position of the latest one when the list was begun. Streams
 * that have ended since then come before that position. The list may contain
 * them already, so they are searched in the list, and not appended twice.
 */
static void
mcp_resume_stream_list_sent(mcp_exchange_t *x, uint64_t newest, size_t start,
    mcp_buf_t *out)
{
    int                since;
    unsigned           n;
    uint64_t           position;
    mcp_stream_info_t  info;

    position = 0;
    since = 1;

    for (n = 0; n < MCP_RESUME_STREAM_SENT_MAX; n++) {
        if (mcp_store_session_next(x->worker->store, x->client.id, 1,
                                   &position, &info, NULL)
            != MCP_OK)
        {
            return;
        }

        since = since && position != newest;

        if (!since || !mcp_resume_stream_is_listed(&info, start, out)) {
            mcp_resume_stream_list(x, &info, 1, start, out);
        }
    }
}


/* Appends the streams that the cluster operation has found at other nodes and
 * that are not in the list yet. */
static void
mcp_resume_stream_list_found(mcp_exchange_t *x, size_t start, mcp_buf_t *out)
{
    size_t              i;
    const mcp_found_t  *found;

    for (i = 0; (found = mcp_operation_found_at(x, i)); i++) {
        if (!mcp_resume_stream_is_listed(&found->lookup.info, start, out)) {
            mcp_resume_stream_list(x, &found->lookup.info, 0, start, out);
        }
    }
}


/* Handles stream/poll/all, and appends its result. This request has no token,
 * because the session gives access to all of its streams. */
static mcp_fault_e
mcp_resume_stream_poll_all(mcp_exchange_t *x, mcp_buf_t *out)
{
    size_t              start;
    uint64_t            position, newest;
    mcp_store_t        *store;
    mcp_stream_info_t   info;

    store = x->worker->store;
    newest = 0;
    (void) mcp_store_session_next(store, x->client.id, 1, &newest, &info,
                                  NULL);

    mcp_buf_lit(out, "{\"statuses\":[");
    start = out->len;
    position = 0;

    while (mcp_store_session_next(store, x->client.id, 0, &position, &info,
                                  NULL)
           == MCP_OK)
    {
        mcp_resume_stream_list(x, &info, 0, start, out);
    }

    mcp_resume_stream_list_sent(x, newest, start, out);
    mcp_resume_stream_list_found(x, start, out);

    mcp_buf_lit(out, "]}");

    return MCP_FAULT_NONE;
}


static mcp_fault_e
mcp_resume_stream_respond(mcp_exchange_t *x, const mcp_rpc_t *msg,
    mcp_method_e method, mcp_buf_t *out)
{
    if (method == MCP_METHOD_STREAM_POLL_ALL) {
        return mcp_resume_stream_poll_all(x, out);
    }

    return mcp_resume_stream_poll(x, msg, out);
}


/* Handles stream/resume. If stream/resume was sent as a notification, the
 * client gets an error only as an HTTP status. After returning MCP_NEXT_WAIT,
 * this function runs again when the cluster has replied, see
 * mcp_cluster_operation.h. */
static mcp_next_e
mcp_resume_stream_open(mcp_exchange_t *x)
{
    int                rc;
    uint64_t           seq;
    unsigned char      data[MCP_RESUME_STREAM_LEN];
    mcp_stream_info_t  info;

    seq = 0;

    rc = mcp_resume_stream_token(x, x->msg, data);

    if (rc == MCP_OK) {
        seq = mcp_resume_stream_of(data);
        rc = mcp_resume_fetch(x, data, seq, &info);
    }

    return rc == MCP_OK ? mcp_resume_resume(x, &mcp_resume_stream, &info, seq)
                        : mcp_resume_refuse_for(x, rc);
}


/* Writes notifications/stream/end. It is not stored as an event, so a client
 * that resumes a stream that is over gets it each time. */
static void
mcp_resume_stream_tail(mcp_exchange_t *x, mcp_tail_e how)
{
    if (how != MCP_TAIL_OVER || x->reader.listener || x->reader.cursor.only
        || !(x->client.capabilities & MCP_CLIENT_STREAMS))
    {
        return;
    }

    /* after all events of the stream, writes the response to stream/resume */

    if (x->resumption == &mcp_resume_stream && x->msg->id.len) {
        mcp_buf_lit(&x->output.out, "data: {\"jsonrpc\":\"2.0\",\"id\":");
        mcp_buf_str(&x->output.out, x->msg->id);
        mcp_buf_lit(&x->output.out, ",\"result\":{}}\n\n");
    }

    mcp_buf_lit(&x->output.out, "data: {\"jsonrpc\":\"2.0\",\"method\":"
                         "\"notifications/stream/end\","
                         "\"params\":{\"streamId\":");
    mcp_resume_stream_add_id(&x->output.out, x->reader.ref.id);
    mcp_buf_lit(&x->output.out, "}}\n\n");
}


const mcp_resume_method_t  mcp_resume_stream = {
    .name = { "streams", 7 },
    .capability = MCP_CLIENT_STREAMS,
    .begin = mcp_resume_stream_begin,
    .tail = mcp_resume_stream_tail,
    .start = mcp_resume_stream_start,
    .respond = mcp_resume_stream_respond,
    .open = mcp_resume_stream_open
};

/* SPDX-License-Identifier: Apache-2.0 */

/* The publish endpoint: a backend that has responded with HTTP 202 delivers its
 * messages there, and a publisher with a token notifies subscribers of
 * changes. */

#include "call/mcp_call.h"
#include "exchange/mcp_exchange_internal.h"
#include "http/mcp_sse.h"
#include "http/mcp_http_accept.h"
#include "worker/mcp_respond.h"
#include "worker/mcp_exchange_set_state.h"
#include "worker/mcp_notification.h"


/* Time, ms, that a call may need after the time at which it becomes durable
 * until its stream is in the store. If the call of a publish URL is not found,
 * the publisher gets MCP_FAULT_CALL_EARLY until the end of this time, and
 * MCP_FAULT_CALL_UNKNOWN later. */
#define MCP_PUBLISH_EARLY    5000

struct mcp_publish_s {
    mcp_str_t             token;       /* configured token of publishers; may be
                                          empty */
    unsigned              open:1;
    unsigned              call:1;      /* 1: the request's token is that of a
                                          call, which "target" describes */
    mcp_publish_target_t  target;
    mcp_buf_t             messages;    /* messages of the body for the call, one
                                          per line */
    unsigned              n_messages;
};


typedef enum {
    MCP_PUBLISH_JSONRPC = 0,
    MCP_PUBLISH_METHOD,
    MCP_PUBLISH_PARAMS,
    MCP_PUBLISH_URI,
    MCP_PUBLISH_FIELDS
} mcp_publish_field_e;


static const mcp_json_field_t  mcp_publish_fields[MCP_PUBLISH_FIELDS] = {
    mcp_json_field(MCP_JSON_ROOT, "jsonrpc"),
    mcp_json_field(MCP_JSON_ROOT, "method"),
    mcp_json_object(MCP_JSON_ROOT, "params", MCP_PUBLISH_URI),
    mcp_json_field(MCP_PUBLISH_PARAMS, "uri")
};


mcp_exchange_t *
mcp_exchange_create_publish(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, mcp_str_t token, int open, void *glue)
{
    mcp_exchange_t  *x;

    x = mcp_exchange_create(worker, endpoint, glue);
    if (x == NULL) {
        return NULL;
    }

    x->publish = mcp_arena_calloc(&x->arena, sizeof(mcp_publish_t));
    if (x->publish == NULL) {
        mcp_exchange_free(x);
        return NULL;
    }

    x->publish->open = (open != 0);
    x->publish->token = token;

    return x;
}


static mcp_next_e
mcp_publish_refuse(mcp_exchange_t *x, mcp_fault_e fault)
{
    return mcp_respond_fault(x, fault, mcp_null_str, mcp_null_str);
}


/* Returns the request's token: its bearer token, or the last segment of its
 * path. */
static mcp_str_t
mcp_publish_token(mcp_exchange_t *x, const mcp_head_t *head)
{
    size_t     i;
    mcp_str_t  token;

    if (x->head.authorization.len > 7
        && mcp_str_case_eq((mcp_str_t) { x->head.authorization.data, 7 },
                           mcp_str("bearer ")))
    {
        token.data = x->head.authorization.data + 7;
        token.len = x->head.authorization.len - 7;

        return token;
    }

    token = head->path;

    for (i = token.len; i && token.data[i - 1] != '/'; i--) {
        /* void */
    }

    token.data += i;
    token.len -= i;

    return token;
}


/* Decides whether the token permits publishing: mcp_publish_token permits
 * all messages, the token of a publish URL only messages of its call.
 * Returns MCP_OK or MCP_ERR_DENIED. */
static int
mcp_publish_enter(mcp_exchange_t *x, mcp_str_t token)
{
    mcp_publish_t  *publish;

    publish = x->publish;

    if (publish->token.len && mcp_secret_eq(token, publish->token)) {
        return MCP_OK;
    }

    if (mcp_publish_url_open(x->endpoint->keys, token, &publish->target)
        != MCP_OK)
    {
        return MCP_ERR_DENIED;
    }

    publish->call = 1;

    return MCP_OK;
}


mcp_next_e
mcp_publish_head(mcp_exchange_t *x, const mcp_head_t *head)
{
    if (x->head.method != MCP_HTTP_POST) {
        mcp_respond_header(x, mcp_str("Allow"), mcp_str("POST"));
        return mcp_publish_refuse(x, MCP_FAULT_METHOD_NOT_ALLOWED);
    }

    /* rejects a request with an Origin header, because it comes from a browser,
     * which is never a publisher */

    if ((!x->publish->open && !head->local) || x->head.origin.data
        || mcp_publish_enter(x, mcp_publish_token(x, head)) != MCP_OK)
    {
        return mcp_publish_refuse(x, MCP_FAULT_FORBIDDEN);
    }

    mcp_exchange_set_state(x, MCP_EXCHANGE_BODY);

    return MCP_NEXT_BODY;
}


/* Returns the fault for a message to a call that has no stream at this node. */
static mcp_fault_e
mcp_publish_missing(const mcp_exchange_t *x)
{
    return mcp_worker_now(x->worker) > x->publish->target.stream_at
                                       + MCP_PUBLISH_EARLY
           ? MCP_FAULT_CALL_UNKNOWN : MCP_FAULT_CALL_EARLY;
}


/* Finds the call that the request's token names. Returns MCP_FAULT_NONE,
 * MCP_FAULT_FORBIDDEN if the token is not that of a call,
 * MCP_FAULT_CALL_UNKNOWN if the call is over, or MCP_FAULT_CALL_EARLY. */
static mcp_fault_e
mcp_publish_find(mcp_exchange_t *x, mcp_stream_info_t *info)
{
    if (!x->publish->call) {
        return MCP_FAULT_FORBIDDEN;
    }

    if (mcp_store_find(x->worker->store, x->publish->target.id, 0, info)
        != MCP_OK)
    {
        return mcp_publish_missing(x);
    }

    return info->state >= MCP_STATE_COMPLETED ? MCP_FAULT_CALL_UNKNOWN
                                              : MCP_FAULT_NONE;
}


/* Adds a message to those that mcp_publish_to_call() delivers. Returns
 * MCP_FAULT_NONE or MCP_FAULT_INTERNAL. */
static mcp_fault_e
mcp_publish_add(mcp_exchange_t *x, mcp_str_t text)
{
    mcp_publish_t  *publish;

    publish = x->publish;

    if (publish->n_messages++) {
        mcp_buf_lit(&publish->messages, "\n");
    }

    mcp_buf_str(&publish->messages, text);

    return publish->messages.failed ? MCP_FAULT_INTERNAL : MCP_FAULT_NONE;
}


/* Puts all messages of the body for the call into its inbox, as one post: if a
 * body is refused, the publisher repeats all of it. Returns MCP_FAULT_NONE or a
 * fault. */
static mcp_fault_e
mcp_publish_to_call(mcp_exchange_t *x)
{
    mcp_fault_e         fault;
    mcp_publish_t      *publish;
    mcp_stream_info_t   info;

    publish = x->publish;

    if (publish->n_messages == 0) {
        return MCP_FAULT_NONE;
    }

    fault = mcp_publish_find(x, &info);
    if (fault != MCP_FAULT_NONE) {
        return fault;
    }

    switch (mcp_store_inbox_put(x->worker->store, &info.ref, MCP_INBOX_PUBLISH,
                                publish->target.request,
                                mcp_buf_text(&publish->messages)))
    {

    case MCP_OK:
        mcp_store_count(x->worker->store, MCP_COUNT_PUBLISHED,
                        publish->n_messages);
        return MCP_FAULT_NONE;

    case MCP_ERR_NOT_FOUND:
        return mcp_publish_missing(x);

    default:
        return MCP_FAULT_STORE_FULL;
    }
}


/* Delivers a notification for subscribers to its subscribers. Any other message
 * is for the call that the token of the request names, see mcp_publish_add().
 * The token of a call that is over is invalid for both. Returns MCP_FAULT_NONE
 * or a fault. */
static mcp_fault_e
mcp_publish_message(mcp_exchange_t *x, mcp_str_t text)
{
    int                rc;
    mcp_str_t          method;
    mcp_buf_t          line;
    mcp_fault_e        fault;
    mcp_json_value_t   root, value[MCP_PUBLISH_FIELDS];
    mcp_stream_info_t  info;

    rc = mcp_json_scan(&x->arena, text, x->endpoint->max_depth,
                       mcp_publish_fields, MCP_PUBLISH_FIELDS, &root, value,
                       NULL);

    if (rc == MCP_ERR_MEMORY) {
        return MCP_FAULT_INTERNAL;
    }

    if (rc != MCP_OK) {
        return MCP_FAULT_PARSE;
    }

    if (root.type != MCP_JSON_OBJECT) {
        return MCP_FAULT_INVALID_REQUEST;
    }

    mcp_buf_init(&line, &x->worker->env->mem, SIZE_MAX / 2);
    mcp_json_add_line(&line, root.raw);

    if (line.failed) {
        mcp_buf_free(&line);
        return MCP_FAULT_INTERNAL;
    }

    text = (mcp_str_t) { line.data, line.len };
    fault = mcp_publish_find(x, &info);

    if (fault != MCP_FAULT_CALL_UNKNOWN
        && value[MCP_PUBLISH_METHOD].type == MCP_JSON_STRING
        && mcp_json_unescape(&x->arena, value[MCP_PUBLISH_METHOD].raw, &method)
           == MCP_OK
        && mcp_notify_broadcast(x->worker, method,
                                value[MCP_PUBLISH_URI].raw, text))
    {
        mcp_store_count(x->worker->store, MCP_COUNT_PUBLISHED, 1);
        fault = MCP_FAULT_NONE;

    } else if (fault == MCP_FAULT_NONE) {
        fault = mcp_publish_add(x, text);
    }

    mcp_buf_free(&line);

    return fault;
}


static mcp_fault_e
mcp_publish_json(mcp_exchange_t *x, mcp_str_t text)
{
    mcp_fault_e       fault;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    if (!mcp_rpc_is_batch(text)) {
        return mcp_publish_message(x, text);
    }

    switch (mcp_json_scan(&x->arena, text, x->endpoint->max_depth, NULL, 0,
                          &value, NULL, NULL))
    {

    case MCP_OK:
        break;

    case MCP_ERR_MEMORY:
        return MCP_FAULT_INTERNAL;

    default:
        return MCP_FAULT_PARSE;
    }

    fault = MCP_FAULT_NONE;
    mcp_json_iter_init(&iter, value.raw);

    while (fault == MCP_FAULT_NONE
           && mcp_json_iter_next(&iter, NULL, &value))
    {
        fault = mcp_publish_message(x, value.raw);
    }

    return fault;
}


static mcp_fault_e
mcp_publish_lines(mcp_exchange_t *x, mcp_str_t text)
{
    size_t       n;
    mcp_str_t    line;
    mcp_fault_e  fault;
    const char  *end;

    fault = MCP_FAULT_NONE;

    while (fault == MCP_FAULT_NONE && text.len) {
        end = memchr(text.data, '\n', text.len);
        n = end ? (size_t) (end - text.data) : text.len;

        line.data = text.data;
        line.len = n;

        if (line.len && line.data[line.len - 1] == '\r') {
            line.len--;
        }

        if (line.len) {
            fault = mcp_publish_message(x, line);
        }

        n += (end != NULL);
        text.data += n;
        text.len -= n;
    }

    return fault;
}


static mcp_fault_e
mcp_publish_events(mcp_exchange_t *x, mcp_str_t text)
{
    int                rc, last;
    size_t             n;
    mcp_str_t          data;
    mcp_fault_e        fault;
    mcp_sse_decoder_t  decoder;

    fault = MCP_FAULT_NONE;
    mcp_sse_decoder_init(&decoder, &x->worker->env->mem,
                         x->endpoint->max_message);

    for ( ;; ) {
        rc = mcp_sse_decode(&decoder, text.data, text.len, &n, &data);

        text.data += n;
        text.len -= n;

        last = (rc == MCP_AGAIN);

        if (last) {
            rc = mcp_sse_decoder_end(&decoder, &data);
        }

        if (rc == MCP_OK) {
            fault = mcp_publish_message(x, data);

        } else if (rc != MCP_DONE) {
            fault = (rc == MCP_ERR_LIMIT) ? MCP_FAULT_BODY_TOO_LARGE
                                          : MCP_FAULT_INTERNAL;
        }

        if (last || fault != MCP_FAULT_NONE) {
            break;
        }
    }

    mcp_sse_decoder_free(&decoder);

    return fault;
}


/* Reads the messages of the body. Returns MCP_FAULT_NONE or the fault of the
 * first message that is refused. */
static mcp_fault_e
mcp_publish_read(mcp_exchange_t *x, mcp_str_t text)
{
    if (mcp_http_is_type(x->head.content_type, mcp_str("application/json"))) {
        return mcp_publish_json(x, text);
    }

    if (mcp_http_is_type(x->head.content_type, mcp_str("application/x-ndjson"))
        || mcp_http_is_type(x->head.content_type,
                            mcp_str("application/ndjson"))
        || mcp_http_is_type(x->head.content_type,
                            mcp_str("application/jsonl")))
    {
        return mcp_publish_lines(x, text);
    }

    if (mcp_http_is_type(x->head.content_type, mcp_str("text/event-stream"))) {
        return mcp_publish_events(x, text);
    }

    return MCP_FAULT_MEDIA_TYPE;
}


mcp_next_e
mcp_publish_body(mcp_exchange_t *x, size_t len)
{
    mcp_str_t    text;
    mcp_fault_e  fault;

    text.data = x->body;
    text.len = len;

    mcp_buf_init(&x->publish->messages, &x->worker->env->mem, SIZE_MAX / 2);

    fault = mcp_publish_read(x, text);

    if (fault == MCP_FAULT_NONE) {
        fault = mcp_publish_to_call(x);
    }

    mcp_buf_free(&x->publish->messages);

    if (fault != MCP_FAULT_NONE) {
        return mcp_publish_refuse(x, fault);
    }

    x->output.outcome = "accepted";

    return mcp_respond_status(x, 202);
}

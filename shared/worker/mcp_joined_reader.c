/* SPDX-License-Identifier: Apache-2.0 */

/* Copies the messages of a call's stream into the response to a request that
 * did not begin the call: without event ids, and with the id and the progress
 * token of the reading request. */


#include "http/mcp_sse.h"
#include "rpc/mcp_fault.h"
#include "rpc/mcp_method.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_notification.h"


/* Returns the class of the error in a response. */
static mcp_error_type_e
mcp_joined_reader_error(const mcp_rpc_t *msg)
{
    mcp_error_type_e  error;

    if (msg->kind == MCP_RPC_RESULT) {
        return mcp_str_eq(mcp_json_get(&msg->result, mcp_str("isError")).raw,
                          mcp_str("true"))
               ? MCP_ERROR_TYPE_TOOL : MCP_ERROR_TYPE_NONE;
    }

    error = mcp_error_type_of_code(mcp_error_code(&msg->error));

    return error ? error : MCP_ERROR_TYPE_OTHER;
}


/* Writes the response of the call, with the id of the reading request in place
 * of the original id. */
static void
mcp_joined_reader_response(mcp_exchange_t *x, const mcp_rpc_t *msg)
{
    mcp_buf_lit(&x->output.out, "data: {\"jsonrpc\":\"2.0\",\"id\":");
    mcp_buf_str(&x->output.out, x->msg->id);

    if (msg->kind == MCP_RPC_RESULT) {
        mcp_buf_lit(&x->output.out, ",\"result\":");
        mcp_buf_str(&x->output.out, msg->result.raw);

    } else {
        mcp_buf_lit(&x->output.out, ",\"error\":");
        mcp_buf_str(&x->output.out, msg->error.raw);
    }

    mcp_buf_lit(&x->output.out, "}\n\n");

    x->reader.answered = 1;
    x->reader.error = mcp_joined_reader_error(msg);
}


/*
 * Writes a progress notification of the call with the progress token of the
 * reading request. Writes nothing if that request has no token, because
 * progress is sent only to requests that have asked for it
 * (basic/utilities/progress, "Behavior Requirements").
 */
static void
mcp_joined_reader_progress(mcp_exchange_t *x, mcp_str_t text, mcp_str_t token)
{
    const char              *p;
    const mcp_json_value_t  *wanted;

    wanted = &x->msg->progress_token;

    if (wanted->type != MCP_JSON_STRING && wanted->type != MCP_JSON_NUMBER) {
        return;
    }

    p = token.data + token.len;

    mcp_buf_lit(&x->output.out, "data: ");
    mcp_buf_add(&x->output.out, text.data, (size_t) (token.data - text.data));
    mcp_buf_str(&x->output.out, wanted->raw);
    mcp_buf_add(&x->output.out, p, (size_t) (text.data + text.len - p));
    mcp_buf_lit(&x->output.out, "\n\n");
}


/* Returns 1 if the reading request gets a message of the call. No request gets
 * the events of a task that are not messages (MCP_RPC_INVALID). A joined reader
 * does not get messages that concern only the client which has begun the call:
 * its resume policy, and, if the sessions differ, questions. It gets a log
 * message if its own log level includes the message. */
static int
mcp_joined_reader_wants(mcp_exchange_t *x, const mcp_rpc_t *msg)
{
    if (msg->kind == MCP_RPC_INVALID) {
        return 0;
    }

    if (!x->reader.joins) {
        return 1;
    }

    switch (msg->kind) {

    case MCP_RPC_REQUEST:
        return x->reader.same_session;

    case MCP_RPC_NOTIFICATION:
        if (mcp_str_eq(msg->method, mcp_str("notifications/message"))) {
            return mcp_notify_log_wanted(x->worker, &x->client, msg->level.raw);
        }

        return !mcp_str_eq(msg->method,
                           mcp_str("notifications/requests/resumePolicy"))
               && !mcp_str_eq(msg->method,
                              mcp_str("notifications/stream/create"));

    default:
        return 1;
    }
}


/* Returns 1 if an object has a member with this raw key. */
static int
mcp_joined_reader_has(const mcp_json_value_t *object, mcp_str_t wanted)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_json_iter_init(&iter, object->raw);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (mcp_str_eq(key, wanted)) {
            return 1;
        }
    }

    return 0;
}


/* Returns 1 if a message is an InputRequiredResult, and the reading request has
 * passed the answers to all its questions to the call. The call has asked these
 * again for an earlier request without answers
 * (call/mcp_upstream_question_stateless_client.h). */
static int
mcp_joined_reader_is_answered(mcp_exchange_t *x, const mcp_rpc_t *msg)
{
    int                n;
    mcp_str_t          key;
    mcp_json_iter_t    iter;
    mcp_json_value_t   requests, value;

    if (!x->reader.answers || msg->kind != MCP_RPC_RESULT
        || x->msg->input_responses.type != MCP_JSON_OBJECT)
    {
        return 0;
    }

    n = 0;
    requests = mcp_json_get(&msg->result, mcp_str("inputRequests"));
    mcp_json_iter_type(&iter, &requests, MCP_JSON_OBJECT);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (!mcp_joined_reader_has(&x->msg->input_responses, key)) {
            return 0;
        }

        n++;
    }

    return n > 0;
}


/* Writes a message of the stream as an event without an id, rewritten for the
 * reading request. In a question, a progress token belongs to the client and
 * is not changed. */
static int
mcp_joined_reader_message(mcp_exchange_t *x, mcp_str_t text)
{
    int          rc;
    mcp_rpc_t    msg;
    mcp_arena_t  arena;

    mcp_arena_init(&arena, &x->worker->env->mem);

    /* max_depth limits the depth of the result, which is one level deeper in
     * the response */

    rc = mcp_rpc_parse(&arena, text, x->endpoint->max_depth + 1,
                       MCP_RPC_FROM_BACKEND, &msg);

    if (rc != MCP_OK) {
        mcp_arena_destroy(&arena);
        return rc;
    }

    if (mcp_joined_reader_is_answered(x, &msg)) {
        rc = MCP_OK;

    } else if (msg.kind == MCP_RPC_RESULT || msg.kind == MCP_RPC_ERROR) {
        mcp_joined_reader_response(x, &msg);

    } else if (!mcp_joined_reader_wants(x, &msg)) {
        rc = MCP_OK;

    } else if (msg.kind == MCP_RPC_NOTIFICATION
               && msg.notify_token.type != MCP_JSON_NONE
               && mcp_method_find(msg.method)->id
                  == MCP_METHOD_NOTIFICATION_PROGRESS)
    {
        mcp_joined_reader_progress(x, text, msg.notify_token.raw);

    } else {
        mcp_buf_lit(&x->output.out, "data: ");
        mcp_buf_str(&x->output.out, text);
        mcp_buf_lit(&x->output.out, "\n\n");
    }

    mcp_arena_destroy(&arena);

    return x->output.out.failed;
}


/* Writes the messages in *events up to the response of the call. Each message
 * is one line, and has the form "data: ...\n\n" in *events. */
static int
mcp_joined_reader_events(mcp_exchange_t *x, const mcp_buf_t *events)
{
    int          rc;
    mcp_str_t    text;
    const char  *p, *end;

    rc = MCP_OK;
    p = events->data;
    end = p + events->len;

    while (rc == MCP_OK && p < end && !x->reader.answered) {
        text.data = p + sizeof("data: ") - 1;
        p = memchr(text.data, '\n', (size_t) (end - text.data));
        text.len = (size_t) (p - text.data);
        p += sizeof("\n\n") - 1;

        rc = mcp_joined_reader_message(x, text);
    }

    return rc;
}


int
mcp_consumer_fetch(mcp_exchange_t *x, mcp_buf_t *events)
{
    int     rc;
    char   *p;
    size_t  n, cap;

    cap = MCP_PULL_MIN;

    do {
        p = mcp_buf_reserve(events, cap);
        if (p == NULL) {
            return MCP_ERR_MEMORY;
        }

        rc = mcp_store_read(x->worker->store, &x->reader.ref,
                            x->reader.handle, &x->reader.cursor,
                            x->reader.sent, p, cap, &n);

        /* the part of a message that was read is discarded */

        if (rc != MCP_OK) {
            x->reader.cursor.done = 0;
            x->reader.cursor.left = 0;
            return rc;
        }

        events->len += n;
        cap = x->reader.cursor.left + MCP_PULL_MIN;

    } while (x->reader.cursor.done);

    return MCP_OK;
}


/* Called when events were removed before x has read them. A joined reader was
 * too slow, and continues with the stored events, of which the last one is the
 * response. Returns MCP_ERR_PURGED for other readers. */
static int
mcp_joined_reader_skip(mcp_exchange_t *x)
{
    mcp_stream_info_t  info;

    if (!x->reader.joins
        || mcp_store_info(x->worker->store, &x->reader.ref, &info) != MCP_OK)
    {
        return MCP_ERR_PURGED;
    }

    memset(&x->reader.cursor, 0, sizeof(mcp_cursor_t));
    x->reader.cursor.plain = 1;
    x->reader.cursor.seq = info.first_seq - 1;

    return MCP_OK;
}


int
mcp_joined_reader_read(mcp_exchange_t *x)
{
    int        rc;
    mcp_buf_t  events;

    if (x->reader.answered) {
        return MCP_DONE;
    }

    mcp_buf_init(&events, &x->worker->env->mem, SIZE_MAX / 2);

    x->reader.cursor.plain = 1;
    rc = mcp_consumer_fetch(x, &events);

    if (rc == MCP_ERR_PURGED) {
        rc = mcp_joined_reader_skip(x);

    } else if (rc == MCP_OK) {
        rc = mcp_joined_reader_events(x, &events);
    }

    mcp_buf_free(&events);

    /* if no message was for this request, writes a comment: the pull then
     * returns bytes and is repeated, and proxies see that the connection is
     * alive */

    if (rc == MCP_OK && x->output.out.len == 0) {
        mcp_buf_lit(&x->output.out, MCP_SSE_COMMENT);
        rc = x->output.out.failed;
    }

    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads the rest of a call for a request that came with one of our tokens: the
 * log's messages without event ids, rewritten so that they belong to that
 * request.
 */


#include "face/mcp_face_token.h"


/* A response gets the id of the request that asked for the rest. */
static void
mcp_face_token_rest_response(mcp_exchange_t *x, const mcp_rpc_t *msg)
{
    mcp_face_token_t  *part;

    mcp_buf_lit(&x->answer.out, "data: {\"jsonrpc\":\"2.0\",\"id\":");
    mcp_buf_str(&x->answer.out, x->msg.id);

    if (msg->kind == MCP_RPC_RESULT) {
        mcp_buf_lit(&x->answer.out, ",\"result\":");
        mcp_buf_str(&x->answer.out, msg->result.raw);

    } else {
        mcp_buf_lit(&x->answer.out, ",\"error\":");
        mcp_buf_str(&x->answer.out, msg->error.raw);
    }

    mcp_buf_lit(&x->answer.out, "}\n\n");

    part = mcp_face_token_of(x->states);
    part->answered = 1;
}


/* Progress is for a request that is active and has asked for it
 * (basic/utilities/progress, "Behavior Requirements"): it gets the progress
 * token of the request that asked for the rest, or is left out. */
static void
mcp_face_token_rest_progress(mcp_exchange_t *x, mcp_str_t text, mcp_str_t token)
{
    const char              *p;
    const mcp_json_value_t  *wanted;

    wanted = &x->msg.progress_token;

    if (wanted->type != MCP_JSON_STRING && wanted->type != MCP_JSON_NUMBER) {
        return;
    }

    p = token.data + token.len;

    mcp_buf_lit(&x->answer.out, "data: ");
    mcp_buf_add(&x->answer.out, text.data, (size_t) (token.data - text.data));
    mcp_buf_str(&x->answer.out, wanted->raw);
    mcp_buf_add(&x->answer.out, p, (size_t) (text.data + text.len - p));
    mcp_buf_lit(&x->answer.out, "\n\n");
}


/* Writes a message of the log as an event without an id.  A progress token in a
 * request to the client is the client's, and stays as it is. */
static int
mcp_face_token_rest_message(mcp_exchange_t *x, mcp_str_t text)
{
    int          rc;
    mcp_rpc_t    msg;
    mcp_arena_t  arena;

    mcp_arena_init(&arena, &x->worker->env->mem);

    /* a result is one deeper in its response */

    rc = mcp_rpc_parse(&arena, text, x->endpoint->max_depth + 1, &msg);

    if (rc != MCP_OK) {
        mcp_arena_destroy(&arena);
        return rc;
    }

    if (msg.kind == MCP_RPC_RESULT || msg.kind == MCP_RPC_ERROR) {
        mcp_face_token_rest_response(x, &msg);

    } else if (msg.kind == MCP_RPC_NOTIFICATION
               && msg.notify_token.type != MCP_JSON_NONE
               && mcp_method_find(msg.method)->id
                  == MCP_METHOD_NOTIFICATION_PROGRESS)
    {
        mcp_face_token_rest_progress(x, text, msg.notify_token.raw);

    } else {
        mcp_buf_lit(&x->answer.out, "data: ");
        mcp_buf_str(&x->answer.out, text);
        mcp_buf_lit(&x->answer.out, "\n\n");
    }

    mcp_arena_destroy(&arena);

    return x->answer.out.failed;
}


/* Writes the messages of events, "data: ...\n\n"; a message is one line. */
static int
mcp_face_token_rest_events(mcp_exchange_t *x, const mcp_buf_t *events)
{
    int          rc;
    mcp_str_t    text;
    const char  *p, *end;

    rc = MCP_OK;
    p = events->data;
    end = p + events->len;

    while (rc == MCP_OK && p < end) {
        text.data = p + sizeof("data: ") - 1;
        p = memchr(text.data, '\n', (size_t) (end - text.data));
        text.len = (size_t) (p - text.data);
        p += sizeof("\n\n") - 1;

        rc = mcp_face_token_rest_message(x, text);
    }

    return rc;
}


/* Reads some events, the last of which is whole.  Returns what mcp_store_read()
 * does, or MCP_ERR_MEMORY. */
static int
mcp_face_token_rest_fetch(mcp_exchange_t *x, mcp_buf_t *events)
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
        if (rc != MCP_OK) {
            return rc;
        }

        events->len += n;
        cap = x->reader.cursor.left + MCP_PULL_MIN;

    } while (x->reader.cursor.done);

    return MCP_OK;
}


int
mcp_face_token_rest_read(mcp_exchange_t *x)
{
    int        rc;
    mcp_buf_t  events;

    mcp_buf_init(&events, &x->worker->env->mem, SIZE_MAX / 2);

    x->reader.cursor.plain = 1;
    rc = mcp_face_token_rest_fetch(x, &events);

    if (rc == MCP_OK) {
        rc = mcp_face_token_rest_events(x, &events);
    }

    mcp_buf_free(&events);

    /* if all events were left out, a comment lets the reader go on and shows
     * proxies that the connection lives */

    if (rc == MCP_OK && x->answer.out.len == 0) {
        mcp_buf_lit(&x->answer.out, MCP_SSE_COMMENT);
        rc = x->answer.out.failed;
    }

    return rc;
}

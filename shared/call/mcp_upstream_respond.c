/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>

#include "call/mcp_call_internal.h"
#include "call/mcp_upstream_respond.h"
#include "call/mcp_upstream_session.h"


static mcp_upstream_post_t *
mcp_upstream_post_of(mcp_backend_request_t *breq)
{
    /* breq is the first member */

    return (mcp_upstream_post_t *) (void *) breq;
}


/* Called when the glue pulls the action that starts or aborts a POST. Records
 * that the POST has started. */
static void
mcp_upstream_post_taken(mcp_queued_action_t *queued, mcp_action_t *action)
{
    (void) queued;

    action->breq->started = 1;
    action->exchange = action->breq->call->x;
}


/* Returns a POST that is not in use, or NULL when out of memory. A POST is
 * freed only with the call, because the glue uses the POST's variables until
 * the call is over. */
static mcp_upstream_post_t *
mcp_upstream_post_get(mcp_call_t *call)
{
    mcp_upstream_post_t  *post;

    post = call->idle_posts;

    if (post) {
        call->idle_posts = post->next;
        return post;
    }

    post = mcp_arena_calloc(&call->arena, sizeof(mcp_upstream_post_t));

    if (post) {
        post->breq.call = call;
        post->breq.kind = MCP_BACKEND_REQUEST_RESPONSE;
        post->breq.rebuilt = 1;
        post->breq.urgent = 1;
        post->breq.queued.action.breq = &post->breq;
        post->breq.queued.taken = mcp_upstream_post_taken;
        mcp_buf_init(&post->body, &call->worker->env->mem, SIZE_MAX / 2);
    }

    return post;
}


static unsigned
mcp_upstream_post_count(const mcp_upstream_post_t *post)
{
    unsigned  n;

    for (n = 0; post; post = post->next) {
        n++;
    }

    return n;
}


int
mcp_upstream_post_is_full(const mcp_call_t *call)
{
    return mcp_upstream_post_count(call->waiting_posts)
           >= MCP_UPSTREAM_POSTS_WAITING;
}


/* Queues the action by which the glue sends a POST. */
static void
mcp_upstream_post_send(mcp_upstream_post_t *post)
{
    mcp_call_t  *call;

    call = post->breq.call;

    post->breq.started = 0;
    post->breq.aborted = 0;
    post->breq.glue = NULL;
    post->breq.queued.action.type = MCP_ACT_INVOKE;
    post->status = 0;
    post->deadline = mcp_call_now(call) + MCP_UPSTREAM_POST_TIME;

    mcp_worker_queue(call->worker, &post->breq.queued);
    mcp_call_set_timer(call);
}


static void
mcp_upstream_post_start(mcp_upstream_post_t *post)
{
    mcp_call_t  *call;

    call = post->breq.call;

    post->next = call->posts;
    call->posts = post;
    call->n_breqs++;

    mcp_upstream_post_send(post);
}


/* Prepares a POST in the session of the backend request "of". Starts the POST
 * or, if MCP_UPSTREAM_POSTS are running, adds it to call->waiting_posts. */
static void
mcp_upstream_post_add(const mcp_backend_request_t *of,
    mcp_upstream_post_t *post)
{
    mcp_call_t              *call;
    mcp_upstream_post_t    **last;
    mcp_backend_request_t   *breq;

    call = of->call;
    breq = &post->breq;

    breq->request = of->request;
    breq->target = of->target;
    breq->body = mcp_buf_text(&post->body);
    breq->variables = of->variables;
    mcp_variable_put(&breq->variables, MCP_VARIABLE_METHOD, mcp_null_str);
    mcp_variable_put(&breq->variables, MCP_VARIABLE_UPSTREAM_MCP_NAME,
                     mcp_null_str);
    mcp_variable_put(&breq->variables, MCP_VARIABLE_UPSTREAM_LAST_EVENT_ID,
                     mcp_null_str);

    post->repeated = 0;

    if (mcp_upstream_post_count(call->posts) < MCP_UPSTREAM_POSTS) {
        mcp_upstream_post_start(post);
        return;
    }

    for (last = &call->waiting_posts; *last; last = &(*last)->next) {
        /* finds the end of the list */
    }

    post->next = NULL;
    *last = post;
}


void
mcp_upstream_post(const mcp_backend_request_t *of, mcp_str_t id, mcp_str_t key,
    mcp_str_t value)
{
    mcp_buf_t            *body;
    mcp_call_t           *call;
    mcp_upstream_post_t  *post;

    call = of->call;
    post = mcp_upstream_post_get(call);

    if (post == NULL) {
        mcp_call_log(call, MCP_LOG_ERROR,
                     "did not respond to a request from its MCP server",
                     "no memory");
        return;
    }

    body = &post->body;
    mcp_buf_lit(body, "{\"jsonrpc\":\"2.0\",\"id\":");
    mcp_buf_str(body, id);
    mcp_buf_lit(body, ",");
    mcp_buf_str(body, key);
    mcp_buf_lit(body, ":");
    mcp_buf_str(body, value);
    mcp_buf_lit(body, "}");

    if (body->failed) {
        mcp_call_log(call, MCP_LOG_ERROR,
                     "did not respond to a request from its MCP server",
                     "no memory");
        mcp_buf_free(body);
        post->next = call->idle_posts;
        call->idle_posts = post;
        return;
    }

    mcp_upstream_post_add(of, post);
}


void
mcp_upstream_post_pong(const mcp_backend_request_t *of, mcp_str_t id)
{
    mcp_call_t  *call;

    call = of->call;

    if (!mcp_upstream_post_is_full(call)) {
        mcp_upstream_post(of, id, mcp_str("\"result\""), mcp_str("{}"));
        return;
    }

    if (!call->pings_dropped) {
        call->pings_dropped = 1;
        mcp_call_log(call, MCP_LOG_WARN,
                     "does not respond to a ping from its MCP server",
                     "the server has not acknowledged many earlier responses "
                     "with HTTP 202 yet. Further pings that get no response "
                     "are not logged");
    }
}


void
mcp_upstream_post_error(const mcp_backend_request_t *of, mcp_str_t id, int code,
    mcp_str_t message)
{
    int   len;
    char  error[256];

    len = snprintf(error, sizeof(error), "{\"code\":%d,\"message\":\"%.*s\"}",
                   code, (int) message.len, message.data);

    if (len > 0 && (size_t) len < sizeof(error)) {
        mcp_upstream_post(of, id, mcp_str("\"error\""),
                          (mcp_str_t) { error, (size_t) len });
    }
}


void
mcp_upstream_post_head(mcp_backend_request_t *breq, int status)
{
    mcp_upstream_post_of(breq)->status = status;
}


/* Sends a POST again if its connection has failed. Returns 1, or 0 if the POST
 * has ended in another way or is the second attempt. */
static int
mcp_upstream_post_repeat(mcp_upstream_post_t *post, mcp_fault_e fault)
{
    mcp_call_t  *call;

    call = post->breq.call;

    if (post->status || fault != MCP_FAULT_BACKEND_FAILED || post->repeated
        || post->breq.aborted || call->phase == MCP_CALL_OVER
        || call->worker->ending)
    {
        return 0;
    }

    post->repeated = 1;
    mcp_upstream_post_send(post);

    return 1;
}


/* Starts the oldest waiting POST of a call. Then continues requests whose
 * messages were held because too many POSTs were waiting. May end the call. */
static void
mcp_upstream_post_next(mcp_call_t *call)
{
    size_t                i;
    mcp_upstream_post_t  *post;

    post = call->waiting_posts;

    if (post == NULL) {
        return;
    }

    call->waiting_posts = post->next;
    mcp_upstream_post_start(post);

    if (call->phase == MCP_CALL_DURABLE) {
        mcp_inbox_continue(call);
    }

    for (i = 0; call->phase == MCP_CALL_TRANSIENT && i < call->n; i++) {
        mcp_backend_request_continue(&call->requests[i]);
    }

    if (call->phase != MCP_CALL_OVER) {
        mcp_call_set_timer(call);
    }
}


void
mcp_upstream_post_end(mcp_backend_request_t *breq, mcp_fault_e fault,
    const char *detail)
{
    char                   why[64];
    size_t                 i;
    mcp_call_t            *call;
    mcp_upstream_post_t   *post, **link;

    call = breq->call;
    post = mcp_upstream_post_of(breq);

    mcp_worker_unqueue(call->worker, &breq->queued);

    if (mcp_upstream_post_repeat(post, fault)) {
        return;
    }

    if (post->status / 100 != 2 && call->phase != MCP_CALL_OVER) {
        snprintf(why, sizeof(why), "the server responded with HTTP %d",
                 post->status);
        mcp_call_log(call, MCP_LOG_WARN,
                     "could not deliver a response to its MCP server",
                     post->status || fault == MCP_FAULT_NONE ? why : detail);
    }

    for (link = &call->posts; *link != post; link = &(*link)->next) {
        /* the loop ends, because the POST is in the list */
    }

    *link = post->next;
    post->next = call->idle_posts;
    call->idle_posts = post;
    mcp_buf_free(&post->body);

    call->refs++;
    mcp_upstream_post_next(call);

    for (i = 0; call->posts == NULL && i < call->n; i++) {
        if (call->requests[i].session) {
            mcp_upstream_session_end(&call->requests[i]);
        }
    }

    call->n_breqs--;
    mcp_call_check_end(call);
    mcp_call_release(call);
}


uint64_t
mcp_upstream_post_due(const mcp_call_t *call)
{
    uint64_t                    when;
    const mcp_upstream_post_t  *post;

    when = UINT64_MAX;

    for (post = call->posts; post; post = post->next) {
        if (!post->breq.aborted && post->deadline < when) {
            when = post->deadline;
        }
    }

    return when;
}


void
mcp_upstream_post_timer(mcp_call_t *call, uint64_t now)
{
    mcp_upstream_post_t  *post;

    for (post = call->posts; post; post = post->next) {

        if (post->breq.aborted || now < post->deadline) {
            continue;
        }

        /* a POST that the glue has not started yet cannot be aborted: it gets a
         * new deadline */

        if (post->breq.started) {
            post->breq.aborted = 1;
            post->breq.queued.action.type = MCP_ACT_ABORT;
            mcp_worker_queue(call->worker, &post->breq.queued);

        } else {
            post->deadline = now + MCP_UPSTREAM_POST_TIME;
        }
    }
}

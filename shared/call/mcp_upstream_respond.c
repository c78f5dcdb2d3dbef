/* SPDX-License-Identifier: Apache-2.0 */


#include <stdio.h>

#include "call/mcp_call_internal.h"
#include "call/mcp_upstream_respond.h"
#include "call/mcp_upstream_session.h"
#include "call/mcp_upstream_wait.h"
#include "worker/mcp_worker_upstream.h"


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


/* --- the response to initialize --- */

int
mcp_upstream_open_continue(mcp_request_t *req)
{
    mcp_upstream_session_t  *session;

    session = req->session;

    if (session == NULL || session->step != MCP_UPSTREAM_STEP_OPEN
        || !req->active || !req->breq.started || req->breq.aborted)
    {
        return 0;
    }

    if (session->late) {
        return 1;
    }

    /* the head of the response has arrived: without a session id, there is
     * nothing to end, and with one, the session can be ended at once. Continues
     * for requests that wait, because they need the rest of the response. */

    if (req->responds && session->waiters.first == NULL) {
        return 0;
    }

    mcp_call_trace(req->call, "request %u: is over, but its initialize request "
                   "continues until the response has arrived",
                   req->breq.request);

    session->late = 1;
    req->deadline = mcp_call_now(req->call) + MCP_UPSTREAM_OPEN_GRACE;

    return 1;
}


uint64_t
mcp_upstream_open_grace(const mcp_request_t *req)
{
    return req->session && req->session->late ? MCP_UPSTREAM_OPEN_GRACE
                                              : MCP_CALL_GRACE;
}


/* Reads the messages of the decoder. Stores the revision in the response to
 * initialize, and counts the attempt to open a session. */
static void
mcp_upstream_open_read(mcp_request_t *req)
{
    mcp_backend_msg_t  msg;

    while (mcp_backend_read(req->backend, &msg) == MCP_OK) {

        if (msg.kind == MCP_BACKEND_NOTIFICATION
            || msg.kind == MCP_BACKEND_REQUEST)
        {
            continue;
        }

        /* a timeout was counted already */

        if (!req->late) {
            mcp_upstream_status_initialized(req,
                                            msg.kind == MCP_BACKEND_RESULT);
        }

        if (msg.kind == MCP_BACKEND_RESULT) {
            (void) mcp_upstream_session_describe(req, msg.body);

            /* a server that keeps its stream open after the response is not
             * awaited longer than for any other request */

            req->deadline = mcp_call_now(req->call) + MCP_CALL_GRACE;
            mcp_call_set_timer(req->call);
        }
    }
}


int
mcp_upstream_open_data(mcp_backend_request_t *breq, const char *data,
    size_t len)
{
    mcp_request_t  *req;

    req = &breq->call->requests[breq->request];

    if (breq->kind != MCP_BACKEND_REQUEST_CALL || breq->aborted
        || req->session == NULL || !req->session->late)
    {
        return 0;
    }

    /* when out of memory, the decoder gets an incomplete response, which is a
     * fault */

    (void) mcp_backend_write(req->backend, data, len);

    if (!mcp_backend_collects(req->backend)) {
        mcp_upstream_open_read(req);
    }

    return 1;
}


void
mcp_upstream_open_end(mcp_request_t *req, mcp_fault_e fault,
    const char *detail)
{
    mcp_upstream_session_t  *session;

    session = req->session;

    if (session == NULL || !session->late) {
        return;
    }

    if (!req->breq.aborted) {
        (void) mcp_backend_end(req->backend, fault, detail);
        mcp_upstream_open_read(req);
    }

    session->late = 0;

    if (session->version.len && !session->bad_id) {
        mcp_upstream_wait_hand_over(session);
    }

    /* the session was not opened: the first request that waits tries again */

    mcp_upstream_wait_release(session, MCP_FAULT_NONE);
}


/* --- statistics --- */

void
mcp_upstream_status_begin(mcp_request_t *req)
{
    if (req->upstream == MCP_STORE_UPSTREAM_NONE) {
        req->upstream = mcp_upstream_stats_find(req->call->worker,
                                                req->call->endpoint,
                                                req->target);
    }
}


/*
 * Stores a fault as the server's last error, and whether the server is up. A
 * server that has refused a request is up, because it has responded. So is a
 * server that has begun to respond and then timed out: one of its tools may be
 * slow.
 */
static void
mcp_upstream_status_failed(mcp_request_t *req, mcp_fault_e fault,
    const char *why)
{
    mcp_store_t        *store;
    mcp_upstream_up_e   up;

    up = MCP_UPSTREAM_UP;

    switch (fault) {

    case MCP_FAULT_BACKEND_FAILED:
    case MCP_FAULT_BACKEND_OUTPUT:
    case MCP_FAULT_UPSTREAM_STATUS:
        up = MCP_UPSTREAM_DOWN;
        break;

    case MCP_FAULT_BACKEND_TIMEOUT:
        up = req->responds ? MCP_UPSTREAM_UP : MCP_UPSTREAM_DOWN;
        break;

    case MCP_FAULT_BACKEND_TOO_LARGE:
    case MCP_FAULT_UPSTREAM_AUTH:
    case MCP_FAULT_UPSTREAM_HOST:
    case MCP_FAULT_UPSTREAM_VERSION:
    case MCP_FAULT_UPSTREAM_SESSION:
        break;

    default:

        /* stores nothing, because the fault is an error of this server and not
         * of the MCP server */

        return;
    }

    store = req->call->worker->store;
    mcp_store_upstream_up(store, req->upstream, up);
    mcp_store_upstream_failed(store, req->upstream, mcp_reason_of_fault(fault),
                              (mcp_str_t) { why, strlen(why) },
                              mcp_call_now(req->call));
}


void
mcp_upstream_status_message(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    if (msg->kind != MCP_BACKEND_FAULT) {
        mcp_store_upstream_up(req->call->worker->store, req->upstream,
                              MCP_UPSTREAM_UP);

    } else if (msg->detail) {
        mcp_upstream_status_failed(req, msg->fault, msg->detail);
    }
}


/* Returns 1 if the running backend request is initialize. */
static int
mcp_upstream_status_initializes(const mcp_request_t *req)
{
    return req->session ? req->session->step == MCP_UPSTREAM_STEP_OPEN
                        : req->method->id == MCP_METHOD_INITIALIZE;
}


void
mcp_upstream_status_timeout(mcp_request_t *req)
{
    if (mcp_upstream_status_initializes(req)) {
        mcp_upstream_status_initialized(req, 0);
    }

    mcp_upstream_status_failed(req, MCP_FAULT_BACKEND_TIMEOUT,
                               "the MCP server sent no response in time");
}


/* Returns a member of an object as text, empty if it is not a string. */
static mcp_str_t
mcp_upstream_status_text(mcp_request_t *req, const mcp_json_value_t *object,
    mcp_str_t name)
{
    mcp_str_t         text;
    mcp_json_value_t  value;

    value = mcp_json_get(object, name);

    return value.type == MCP_JSON_STRING
           && mcp_json_unescape(&req->call->arena, value.raw, &text) == MCP_OK
           ? text : mcp_null_str;
}


void
mcp_upstream_status_describe(mcp_request_t *req, mcp_str_t result,
    mcp_str_t version)
{
    mcp_store_t       *store;
    mcp_json_value_t   value, info;

    store = req->call->worker->store;
    value = (mcp_json_value_t) { MCP_JSON_OBJECT, result };
    info = (mcp_json_value_t) { MCP_JSON_OBJECT,
                                mcp_upstream_about_info(&value) };

    if (version.len) {
        mcp_store_upstream_revision(store, req->upstream,
                                    mcp_revision_find(version));
    }

    if (info.raw.len) {
        mcp_store_upstream_describe(store, req->upstream,
                                    mcp_upstream_status_text(req, &info,
                                                       mcp_str("name")),
                                    mcp_upstream_status_text(req, &info,
                                                       mcp_str("version")));
    }
}


void
mcp_upstream_status_form(mcp_request_t *req, mcp_upstream_e form,
    mcp_revision_e revision)
{
    mcp_store_upstream_form(req->call->worker->store, req->upstream, form);
    mcp_store_upstream_revision(req->call->worker->store, req->upstream,
                                revision);
}


void
mcp_upstream_status_initialized(mcp_request_t *req, int ok)
{
    mcp_store_upstream_initialized(req->call->worker->store, req->upstream, ok);
}

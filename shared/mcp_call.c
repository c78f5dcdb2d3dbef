
#include <stdio.h>

#include "mcp_core.h"


/* A message that found no room waits to be woken; this stands behind it. */
#define MCP_CALL_RETRY     1000

/* Instead of the number of one request. */
#define MCP_CALL_ALL       UINT64_MAX

/* How long a cancellation waits for its call to become known, beyond the time
 * that this takes. */
#define MCP_CALL_CANCEL_MARK  10000


static void mcp_call_timer(void *data);
static void mcp_call_process(mcp_request_t *req);
static void mcp_call_go_on(mcp_call_t *call);
static void mcp_call_done(mcp_call_t *call);
static void mcp_call_stop_job(mcp_request_t *req);
static void mcp_call_stop_jobs(mcp_call_t *call);
static void mcp_call_cancel(mcp_call_t *call, uint64_t k);
static void mcp_call_inbox(mcp_call_t *call);
static void mcp_call_drop_kept(mcp_call_t *call);


static uint64_t
mcp_call_now(const mcp_call_t *call)
{
    return call->node->env->now(call->node->env->ctx);
}


static void
mcp_call_log(mcp_call_t *call, mcp_log_level_e level, const char *what,
    const char *why)
{
    char             id[9];
    mcp_request_t   *req;

    if (!mcp_node_logs(call->node, level)) {
        return;
    }

    req = &call->requests[0];
    mcp_stream_id_short(id, call->id);

    mcp_node_log(call->node, level, "call %s of \"%.*s\" %s%s%s", id,
                 (int) (req->name.len > 128 ? 128 : req->name.len),
                 req->name.data ? req->name.data : "", what,
                 why ? ": " : "", why ? why : "");
}


mcp_call_t *
mcp_call_create(mcp_exchange_t *x, size_t n)
{
    size_t       i;
    mcp_call_t  *call;

    call = mcp_arena_calloc(&x->arena, sizeof(mcp_call_t));
    if (call == NULL) {
        return NULL;
    }

    call->requests = mcp_arena_calloc(&x->arena, n * sizeof(mcp_request_t));
    if (call->requests == NULL) {
        return NULL;
    }

    call->node = x->node;
    call->endpoint = x->endpoint;

    if (mcp_node_random(x->node, call->id, MCP_STREAM_ID_LEN) != MCP_OK) {
        return NULL;
    }

    mcp_stream_id_print(call->id_text, call->id);

    call->session = x->session;
    call->n = n;
    call->refs = 2;
    call->kept_last = &call->kept;
    call->timer.handler = mcp_call_timer;
    call->timer.data = call;
    call->forget.action.type = MCP_ACT_FORGET;

    for (i = 0; i < n; i++) {
        call->requests[i].call = call;
        call->requests[i].job.call = call;
        call->requests[i].job.request = (unsigned) i;
        call->requests[i].job.task.action.job = &call->requests[i].job;
        mcp_arena_init(&call->requests[i].round, &x->node->env->mem);
    }

    /* the text of the message goes with the call */

    call->arena = x->arena;
    mcp_arena_init(&x->arena, &x->node->env->mem);

    call->x = x;
    x->call = call;

    return call;
}


static void
mcp_call_destroy(mcp_call_t *call)
{
    size_t          i;
    mcp_arena_t     arena;
    mcp_request_t  *req;

    for (i = 0; i < call->n; i++) {
        req = &call->requests[i];

        if (req->backend) {
            mcp_backend_free(req->backend);
        }

        mcp_buf_free(&req->body);
        mcp_arena_destroy(&req->round);
    }

    mcp_call_drop_kept(call);

    /* the call lies in its own arena */

    arena = call->arena;
    mcp_arena_destroy(&arena);
}


void
mcp_call_release(mcp_call_t *call)
{
    if (--call->refs) {
        return;
    }

    if (call->glue) {
        call->forget.action.glue = call->glue;
        mcp_node_queue(call->node, &call->forget);
        return;
    }

    mcp_call_destroy(call);
}


void
mcp_call_discard(mcp_call_t *call)
{
    /* its exchange still has the text, and finds nothing to leave behind */

    call->over = 1;
    mcp_call_release(call);
}


void
mcp_call_forgotten(mcp_call_t *call)
{
    mcp_call_destroy(call);
}


void
mcp_call_set_glue(mcp_call_t *call, void *glue)
{
    call->glue = glue;
}


void *
mcp_call_glue(const mcp_call_t *call)
{
    return call->glue;
}


/* The capabilities object, rebuilt from the bits that the session keeps. */
static mcp_str_t
mcp_call_client_capabilities(mcp_call_t *call)
{
    unsigned   bits;
    mcp_buf_t  buf;
    mcp_str_t  text;

    bits = call->session.capabilities;

    if (bits == 0) {
        return mcp_str("{}");
    }

    mcp_buf_init(&buf, &call->node->env->mem, 256);

    if (bits & MCP_CLIENT_SAMPLING_TOOLS) {
        mcp_buf_lit(&buf, ",\"sampling\":{\"tools\":{}}");

    } else if (bits & MCP_CLIENT_SAMPLING) {
        mcp_buf_lit(&buf, ",\"sampling\":{}");
    }

    if (bits & MCP_CLIENT_ELICITATION_URL) {
        mcp_buf_lit(&buf, ",\"elicitation\":{");

        if (bits & MCP_CLIENT_ELICITATION) {
            mcp_buf_lit(&buf, "\"form\":{},");
        }

        mcp_buf_lit(&buf, "\"url\":{}}");

    } else if (bits & MCP_CLIENT_ELICITATION) {
        mcp_buf_lit(&buf, ",\"elicitation\":{}");
    }

    if (bits & MCP_CLIENT_ROOTS) {
        mcp_buf_lit(&buf, ",\"roots\":{}");
    }

    mcp_buf_lit(&buf, "}");

    text = mcp_null_str;

    if (buf.failed == MCP_OK) {
        buf.data[0] = '{';
        text = mcp_arena_dup(&call->arena,
                             (mcp_str_t) { buf.data, buf.len });
    }

    mcp_buf_free(&buf);

    return text;
}


static void
mcp_call_facts(mcp_call_t *call)
{
    char         *text;
    mcp_str_t    *value;

    value = call->facts.value;

    value[MCP_FACT_PROTOCOL_VERSION] =
                                  mcp_revision(call->session.revision)->name;
    value[MCP_FACT_CALL] = (mcp_str_t) { call->id_text, 8 };

    if (call->x) {
        value[MCP_FACT_PRINCIPAL] = mcp_arena_dup(&call->arena,
                                                  call->x->principal_name);
    }

    text = mcp_arena_alloc(&call->arena, MCP_STREAM_TEXT_LEN);

    if (text) {
        mcp_stream_id_print(text, call->session.id);
        value[MCP_FACT_SESSION] = (mcp_str_t) { text, 8 };
        value[MCP_FACT_SESSION_ID] =
                                   (mcp_str_t) { text, MCP_STREAM_TEXT_LEN };
    }

    value[MCP_FACT_CLIENT_CAPABILITIES] = mcp_call_client_capabilities(call);
}


/* Starts a backend on a request, for the first time or with input. */
void
mcp_call_invoke(mcp_request_t *req)
{
    mcp_job_t   *job;
    mcp_str_t   *value, url;
    mcp_call_t  *call;

    call = req->call;

    if (req->backend) {
        mcp_backend_free(req->backend);
    }

    req->backend = mcp_backend_create(&call->node->env->mem,
                                      req->method->want, req->name,
                                      call->endpoint->max_message,
                                      call->endpoint->max_depth);
    if (req->backend == NULL) {
        mcp_call_fail(req, MCP_FAULT_INTERNAL);
        return;
    }

    job = &req->job;
    job->started = 0;
    job->aborted = 0;
    job->glue = NULL;
    job->target = req->target;

    if (req->body.len) {
        job->body = (mcp_str_t) { req->body.data, req->body.len };

    } else {
        job->body = req->raw;
    }

    url = job->facts.value[MCP_FACT_PUBLISH_URL];

    if (url.len == 0 && call->endpoint->publish_url.len) {
        url = mcp_door_url(call, job->request);
    }

    job->facts = call->facts;
    value = job->facts.value;
    value[MCP_FACT_PUBLISH_URL] = url;
    value[MCP_FACT_METHOD] = req->method->name;
    value[MCP_FACT_NAME] = req->name;
    value[MCP_FACT_REQUEST_ID] = req->id;
    value[MCP_FACT_PROGRESS_TOKEN] = req->progress_token;

    req->state = MCP_REQUEST_RUN;
    req->deadline = mcp_call_now(call) + call->endpoint->call_timeout;
    req->ended = 0;
    req->again = 0;
    req->starved = 0;
    req->live = 1;
    call->jobs++;

    job->task.action.type = MCP_ACT_INVOKE;
    mcp_node_queue(call->node, &job->task);
}


void
mcp_call_start(mcp_call_t *call)
{
    size_t    i;
    uint64_t  now;

    now = mcp_call_now(call);

    call->stream_at = now + call->endpoint->stream_after;
    call->node->calls++;

    mcp_store_count(call->node->store, MCP_COUNT_CALLS_LIVE, 1);
    mcp_call_facts(call);

    for (i = 0; i < call->n; i++) {
        if (call->requests[i].state != MCP_REQUEST_OVER) {
            call->pending++;
        }
    }

    mcp_store_count(call->node->store, MCP_COUNT_CALLS,
                    (int64_t) call->pending);

    if (call->pending == 0) {
        mcp_call_done(call);
        return;
    }

    for (i = 0; i < call->n; i++) {
        if (call->requests[i].state != MCP_REQUEST_OVER) {
            mcp_call_invoke(&call->requests[i]);
        }
    }

    mcp_call_set_timer(call);
}


/* One timer for everything: becoming durable, deadlines, max wait. */
void
mcp_call_set_timer(mcp_call_t *call)
{
    size_t          i;
    uint64_t        when;
    mcp_request_t  *req;

    when = UINT64_MAX;

    if (!call->over) {
        if (!call->durable) {
            when = call->stream_at;

        } else if (call->unattended) {
            when = call->unattended + call->endpoint->max_wait;
        }
    }

    for (i = 0; i < call->n; i++) {
        req = &call->requests[i];

        if (req->state == MCP_REQUEST_OVER && !req->live) {
            continue;
        }

        if (req->deadline < when) {
            when = req->deadline;
        }

        if (req->held && mcp_call_now(call) + MCP_CALL_RETRY < when) {
            when = mcp_call_now(call) + MCP_CALL_RETRY;
        }
    }

    if (when == UINT64_MAX) {
        mcp_timer_del(&call->node->timers, &call->timer);

    } else if (!mcp_timer_armed(&call->timer) || call->timer.when != when) {
        mcp_timer_set(&call->node->timers, &call->timer, when);
    }
}


static void
mcp_call_abort_job(mcp_request_t *req)
{
    mcp_job_t   *job;
    mcp_call_t  *call;

    call = req->call;
    job = &req->job;

    if (!req->live || job->aborted) {
        return;
    }

    if (!job->started) {
        mcp_node_unqueue(call->node, &job->task);
        req->live = 0;
        call->jobs--;
        return;
    }

    job->aborted = 1;

    mcp_node_unqueue(call->node, &job->task);
    job->task.action.type = MCP_ACT_ABORT;
    mcp_node_queue(call->node, &job->task);
}


/* Nothing more is wanted of the backend call of a request. */
static void
mcp_call_stop_job(mcp_request_t *req)
{
    req->again = 0;
    req->held = 0;

    mcp_call_abort_job(req);
}


static void
mcp_call_stop_jobs(mcp_call_t *call)
{
    size_t  i;

    for (i = 0; i < call->n; i++) {
        mcp_call_stop_job(&call->requests[i]);
    }
}


/* The last thing that kept the call may have gone. */
static void
mcp_call_check_end(mcp_call_t *call)
{
    if (!call->over || call->jobs) {
        return;
    }

    mcp_timer_del(&call->node->timers, &call->timer);

    if (call->handle) {
        mcp_node_drop_handle(call->node, call->handle);
        call->handle = 0;
    }

    call->node->calls--;
    mcp_store_count(call->node->store, MCP_COUNT_CALLS_LIVE, -1);

    mcp_call_release(call);
}


/* All answers are given (or none is due any more).  The caller still holds a
 * job or calls mcp_call_check_end() itself. */
static void
mcp_call_over(mcp_call_t *call)
{
    size_t          i;
    uint64_t        grace;
    mcp_request_t  *req;

    call->over = 1;
    grace = mcp_call_now(call) + MCP_CALL_GRACE;

    for (i = 0; i < call->n; i++) {
        req = &call->requests[i];
        req->state = MCP_REQUEST_OVER;

        if (req->deadline > grace) {
            req->deadline = grace;
        }
    }

    mcp_call_set_timer(call);
}


/* The whole answer is there and its client waits for it: plain JSON. */
static void
mcp_call_respond(mcp_call_t *call)
{
    size_t           i;
    mcp_exchange_t  *x;

    x = call->x;
    call->x = NULL;

    if (call->batch) {
        x->outcome = "ok";
        x->out.len = 0;

        for (i = 0; i < call->n; i++) {
            if (call->requests[i].response.len == 0) {
                continue;
            }

            if (x->out.len) {
                mcp_buf_lit(&x->out, ",");

            } else {
                mcp_buf_lit(&x->out, "[");
            }

            mcp_buf_str(&x->out, call->requests[i].response);
        }

        mcp_buf_lit(&x->out, "]");
    }

    if (mcp_exchange_json(x) != MCP_OK) {
        mcp_exchange_status(x, 500);
    }

    x->task.action.type = MCP_ACT_RESPOND;
    mcp_node_queue(x->node, &x->task);
}


static void
mcp_call_done(mcp_call_t *call)
{
    if (call->over) {
        return;
    }

    /* only a durable call can be cancelled, so here each request has its
     * response */

    if (!call->durable && call->x) {
        mcp_call_respond(call);
    }

    mcp_call_over(call);
    mcp_call_check_end(call);
}


/* The fault as the last events of the stream; a stream that cannot even take
 * them goes, so that its client is told 404 instead of waiting. */
static void
mcp_call_abandon_stream(mcp_call_t *call, mcp_fault_e fault)
{
    int              rc;
    size_t           i, left;
    uint64_t         seq;
    mcp_buf_t        buf;
    mcp_request_t   *req;

    left = call->pending;
    mcp_buf_init(&buf, &call->node->env->mem, SIZE_MAX / 2);

    for (i = 0; i < call->n && left; i++) {
        req = &call->requests[i];

        if (req->state == MCP_REQUEST_OVER) {
            continue;
        }

        left--;
        buf.len = 0;
        mcp_fault_write(&buf, req->id, fault, mcp_null_str, mcp_null_str);

        rc = buf.failed;

        if (rc == MCP_OK) {
            rc = mcp_store_append(call->node->store, &call->ref,
                                  (mcp_str_t) { buf.data, buf.len }, (int) i,
                                  left ? MCP_STATE_PROCESSING
                                       : MCP_STATE_FAILED,
                                  mcp_call_now(call), &seq);
        }

        if (rc != MCP_OK) {
            mcp_store_free(call->node->store, &call->ref);
            break;
        }
    }

    mcp_buf_free(&buf);
}


/* Ends a call that cannot go on, with one fault for all that is pending. */
static void
mcp_call_abandon(mcp_call_t *call, mcp_fault_e fault)
{
    mcp_str_t        id;
    mcp_exchange_t  *x;

    if (call->over) {
        return;
    }

    x = call->x;
    call->x = NULL;

    if (call->durable) {
        mcp_call_abandon_stream(call, fault);
    }

    if (x) {
        id = call->batch ? mcp_null_str : call->requests[0].id;

        if (mcp_exchange_fault(x, fault, id, mcp_null_str) != MCP_OK) {
            mcp_exchange_status(x, 500);
        }

        x->task.action.type = MCP_ACT_RESPOND;
        mcp_node_queue(x->node, &x->task);
    }

    mcp_call_stop_jobs(call);
    mcp_call_over(call);
    mcp_call_check_end(call);
}


/* --- the stream --- */

int
mcp_call_append(mcp_call_t *call, mcp_str_t message,
    mcp_stream_state_e state)
{
    int       rc;
    uint64_t  seq;

    rc = mcp_store_append(call->node->store, &call->ref, message, -1, state,
                          mcp_call_now(call), &seq);

    if (rc == MCP_OK) {
        mcp_store_count(call->node->store, MCP_COUNT_EVENTS, 1);
    }

    return rc;
}


/* The request id, or the array of them, for the store. */
static int
mcp_call_request_ids(mcp_call_t *call, mcp_buf_t *buf)
{
    size_t  i;

    if (!call->batch) {
        mcp_buf_str(buf, call->requests[0].id);
        return buf->failed;
    }

    for (i = 0; i < call->n; i++) {
        mcp_buf_add(buf, i ? "," : "[", 1);

        if (call->requests[i].id.len) {
            mcp_buf_str(buf, call->requests[i].id);

        } else {
            mcp_buf_lit(buf, "null");
        }
    }

    mcp_buf_lit(buf, "]");

    return buf->failed;
}


static int
mcp_call_create_stream(mcp_call_t *call)
{
    int                     rc;
    mcp_buf_t               ids;
    mcp_request_t          *req;
    mcp_stream_spec_t       spec;
    const mcp_endpoint_t   *endpoint;

    memset(&spec, 0, sizeof(mcp_stream_spec_t));

    endpoint = call->endpoint;
    req = &call->requests[0];

    memcpy(spec.id, call->id, MCP_STREAM_ID_LEN);
    memcpy(spec.session, call->session.id, MCP_DIGEST_LEN);
    memcpy(spec.principal, call->session.principal, MCP_DIGEST_LEN);

    spec.kind = MCP_STREAM_CALL;
    spec.revision = call->session.revision;
    spec.method = call->batch ? mcp_str("batch") : req->method->name;
    spec.name = req->name;
    spec.max_wait = endpoint->max_wait;
    spec.linger = endpoint->linger;
    spec.max_events = endpoint->max_events;
    spec.max_bytes = endpoint->stream_buffer;
    spec.session_limit = endpoint->max_session_streams;
    spec.principal_limit = endpoint->max_principal_streams;

    rc = mcp_digest(spec.params, &req->params, 1);
    if (rc != MCP_OK) {
        return rc;
    }

    call->handle = mcp_node_handle(call->node, call, 1);
    if (call->handle == 0) {
        return MCP_ERR_MEMORY;
    }

    spec.handle = call->handle;

    mcp_buf_init(&ids, &call->node->env->mem, SIZE_MAX / 2);

    rc = mcp_call_request_ids(call, &ids);

    if (rc == MCP_OK) {
        spec.request = (mcp_str_t) { ids.data, ids.len };
        rc = mcp_store_create(call->node->store, &spec, mcp_call_now(call),
                              &call->ref);
    }

    mcp_buf_free(&ids);

    return rc;
}


/* A cancellation, or the end of the session, may have come, to whatever
 * process, before the call was to be found in the store. */
static void
mcp_call_look_for_cancel(mcp_call_t *call)
{
    size_t         i;
    uint32_t       value;
    mcp_str_t      parts[2];
    unsigned char  key[MCP_DIGEST_LEN];

    if (mcp_store_value_get(call->node->store, 'd', call->session.id,
                            mcp_call_now(call), &value)
        == MCP_OK)
    {
        mcp_call_cancel(call, MCP_CALL_ALL);
        return;
    }

    parts[0] = (mcp_str_t) { (char *) call->session.id, MCP_DIGEST_LEN };

    for (i = 0; i < call->n && !call->over; i++) {
        parts[1] = call->requests[i].id;

        if (mcp_digest(key, parts, 2) == MCP_OK
            && mcp_store_value_get(call->node->store, 'c', key,
                                   mcp_call_now(call), &value)
               == MCP_OK)
        {
            mcp_store_value_delete(call->node->store, 'c', key);
            mcp_call_cancel(call, i);
        }
    }
}


/*
 * From now on every event is in the store before it is sent.  MCP_OK also
 * when it is so already; on any error the call has been ended.
 */
int
mcp_call_durable(mcp_call_t *call)
{
    int              rc;
    size_t           i;
    uint64_t         seq;
    mcp_exchange_t  *x;

    if (call->durable) {
        return MCP_OK;
    }

    rc = mcp_call_create_stream(call);

    /* what has been answered already goes first */

    for (i = 0; rc == MCP_OK && i < call->n; i++) {
        if (call->requests[i].response.len) {
            rc = mcp_store_append(call->node->store, &call->ref,
                                  call->requests[i].response, (int) i,
                                  MCP_STATE_PROCESSING, mcp_call_now(call),
                                  &seq);
            if (rc != MCP_OK) {
                mcp_store_free(call->node->store, &call->ref);
            }
        }
    }

    x = call->x;

    if (rc == MCP_OK && x) {
        rc = mcp_consumer_start(x, &call->ref, 0);

        if (rc != MCP_OK) {
            mcp_store_free(call->node->store, &call->ref);
        }
    }

    if (rc != MCP_OK) {
        mcp_call_log(call, MCP_LOG_WARN, "cannot be kept",
                     rc == MCP_ERR_LIMIT ? "too many streams"
                     : rc == MCP_ERR_FULL ? "the zone is full"
                     : "no memory");

        mcp_call_abandon(call, rc == MCP_ERR_FULL ? MCP_FAULT_STORE_FULL
                               : rc == MCP_ERR_LIMIT
                               ? MCP_FAULT_TOO_MANY_STREAMS
                               : MCP_FAULT_INTERNAL);
        return MCP_ERR_DENIED;
    }

    call->durable = 1;

    if (x) {
        call->x = NULL;

        if (call->endpoint->close_after
            && mcp_revision(call->session.revision)->polling)
        {
            x->close_at = mcp_call_now(call) + call->endpoint->close_after;
            mcp_timer_set(&call->node->timers, &x->timer,
                          x->timer.link && x->timer.when < x->close_at
                          ? x->timer.when : x->close_at);
        }

        x->task.action.type = MCP_ACT_STREAM;
        mcp_node_queue(call->node, &x->task);

    } else {
        call->unattended = mcp_call_now(call);
    }

    call->refs++;
    mcp_call_look_for_cancel(call);

    rc = MCP_ERR_DENIED;

    if (!call->over) {
        mcp_call_set_timer(call);
        rc = MCP_OK;
    }

    mcp_call_release(call);

    return rc;
}


void
mcp_call_leave(mcp_call_t *call)
{
    call->x = NULL;

    if (!call->over) {
        mcp_call_durable(call);
    }
}


/* --- answers --- */

static mcp_stream_state_e
mcp_call_state(const mcp_call_t *call)
{
    size_t  i;

    for (i = 0; i < call->n; i++) {
        if (call->requests[i].state == MCP_REQUEST_INPUT) {
            return MCP_STATE_INPUT_REQUIRED;
        }
    }

    return MCP_STATE_PROCESSING;
}


/* Gives a request its response, which is put into buf already; MCP_AGAIN: no
 * room, to be repeated. */
static int
mcp_call_answer(mcp_request_t *req, mcp_buf_t *buf, int error)
{
    int                  rc;
    uint64_t             seq;
    mcp_call_t          *call;
    mcp_stream_state_e   state;

    call = req->call;

    if (buf->failed) {
        mcp_call_log(call, MCP_LOG_ERROR, "failed", "no memory");
        mcp_call_abandon(call, MCP_FAULT_INTERNAL);
        return MCP_OK;
    }

    if (call->durable) {

        if (call->pending == 1) {
            state = error ? MCP_STATE_FAILED : MCP_STATE_COMPLETED;

        } else {
            state = mcp_call_state(call);
        }

        rc = mcp_store_append(call->node->store, &call->ref,
                              (mcp_str_t) { buf->data, buf->len },
                              (int) req->job.request, state,
                              mcp_call_now(call), &seq);

        if (rc == MCP_ERR_FULL || rc == MCP_ERR_LIMIT) {
            return MCP_AGAIN;
        }

        mcp_store_count(call->node->store, MCP_COUNT_EVENTS, 1);

    } else if (call->x && !call->batch) {

        /* what answers one request is the answer */

        mcp_buf_free(&call->x->out);
        call->x->out = *buf;
        mcp_buf_init(buf, &call->node->env->mem, SIZE_MAX / 2);

        req->response.data = call->x->out.data;
        req->response.len = call->x->out.len;

    } else {
        req->response = mcp_arena_dup(&call->arena,
                                      (mcp_str_t) { buf->data, buf->len });

        if (req->response.data == NULL) {
            mcp_call_abandon(call, MCP_FAULT_INTERNAL);
            return MCP_OK;
        }
    }

    if (error) {
        mcp_store_count(call->node->store, MCP_COUNT_CALLS_FAILED, 1);
    }

    if (call->x) {
        call->x->outcome = error ? "error" : "ok";
    }

    req->state = MCP_REQUEST_OVER;

    if (--call->pending == 0) {
        mcp_call_done(call);

    } else if (req->live) {
        req->deadline = mcp_call_now(call) + MCP_CALL_GRACE;
        mcp_call_set_timer(call);
    }

    return MCP_OK;
}


/* The subscription itself is ours, the backend has agreed to it. */
static int
mcp_call_subscription(mcp_request_t *req)
{
    int                rc;
    unsigned char      topic[MCP_DIGEST_LEN];
    mcp_call_t        *call;
    mcp_stream_info_t  info;

    call = req->call;

    rc = mcp_listener(call->node, call->endpoint, &call->session, &info);

    if (rc == MCP_OK) {
        rc = mcp_topic_uri(req->name, topic);
    }

    if (rc != MCP_OK) {
        return rc;
    }

    if (req->method->id == MCP_METHOD_RESOURCES_SUBSCRIBE) {
        return mcp_store_subscribe(call->node->store, &info.ref, topic);
    }

    mcp_store_unsubscribe(call->node->store, &info.ref, topic);

    return MCP_OK;
}


int
mcp_call_finish(mcp_request_t *req, mcp_str_t body, int error)
{
    int        rc;
    mcp_buf_t  buf;

    if (!error
        && (req->method->id == MCP_METHOD_RESOURCES_SUBSCRIBE
            || req->method->id == MCP_METHOD_RESOURCES_UNSUBSCRIBE)
        && mcp_call_subscription(req) != MCP_OK)
    {
        return mcp_call_finish_fault(req, MCP_FAULT_STORE_FULL, mcp_null_str);
    }

    mcp_buf_init(&buf, &req->call->node->env->mem, SIZE_MAX / 2);
    mcp_buf_reserve(&buf, body.len + req->id.len + 48);

    mcp_buf_lit(&buf, "{\"jsonrpc\":\"2.0\",\"id\":");
    mcp_buf_str(&buf, req->id);

    if (error) {
        mcp_buf_lit(&buf, ",\"error\":");

    } else {
        mcp_buf_lit(&buf, ",\"result\":");
    }

    mcp_buf_str(&buf, body);
    mcp_buf_lit(&buf, "}");

    rc = mcp_call_answer(req, &buf, error);

    mcp_buf_free(&buf);

    return rc;
}


int
mcp_call_finish_fault(mcp_request_t *req, mcp_fault_e fault, mcp_str_t detail)
{
    int        rc;
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &req->call->node->env->mem, SIZE_MAX / 2);
    mcp_fault_write(&buf, req->id, fault, detail, mcp_null_str);

    rc = mcp_call_answer(req, &buf, 1);

    mcp_buf_free(&buf);

    return rc;
}


/* The same, kept for later if there is no room now. */
void
mcp_call_fail(mcp_request_t *req, mcp_fault_e fault)
{
    if (mcp_call_finish_fault(req, fault, mcp_null_str) == MCP_AGAIN) {
        mcp_call_hold_fault(req, fault);
    }
}


void
mcp_call_hold_fault(mcp_request_t *req, mcp_fault_e fault)
{
    memset(&req->msg, 0, sizeof(mcp_backend_msg_t));
    req->msg.kind = MCP_BACKEND_FAULT;
    req->msg.fault = fault;
    req->msg.detail = "no room for its answer";
    req->held = 1;

    mcp_call_set_timer(req->call);
}


int
mcp_call_finish_text(mcp_request_t *req, mcp_str_t text)
{
    int        rc;
    mcp_buf_t  buf;

    if (req->method->want != MCP_BACKEND_TOOL) {
        return mcp_call_finish_fault(req, MCP_FAULT_BACKEND_FAILED, text);
    }

    mcp_buf_init(&buf, &req->call->node->env->mem, SIZE_MAX / 2);

    mcp_buf_lit(&buf, "{\"content\":[{\"type\":\"text\",\"text\":");
    mcp_buf_json(&buf, text);
    mcp_buf_lit(&buf, "}],\"isError\":true}");

    if (buf.failed) {
        rc = mcp_call_answer(req, &buf, 1);

    } else {
        rc = mcp_call_finish(req, (mcp_str_t) { buf.data, buf.len }, 0);
    }

    mcp_buf_free(&buf);

    return rc;
}


/* --- what backends say --- */

static int
mcp_call_log_wanted(mcp_request_t *req, const mcp_json_value_t *level)
{
    int           n;
    uint32_t      least;
    mcp_call_t   *call;

    call = req->call;

    if (level->type != MCP_JSON_STRING || level->raw.len < 2) {
        return 1;
    }

    if (mcp_store_value_get(call->node->store, 'l', call->session.id,
                            mcp_call_now(call), &least)
        != MCP_OK)
    {
        return 1;
    }

    n = mcp_log_level_find((mcp_str_t) { level->raw.data + 1,
                                         level->raw.len - 2 });

    return n < 0 || (uint32_t) n >= least;
}


/* 1 if two ids or tokens are the same: encoders differ in what they escape. */
static int
mcp_call_same(const mcp_mem_t *mem, mcp_str_t a, mcp_str_t b)
{
    int          same;
    mcp_str_t    plain_a, plain_b;
    mcp_arena_t  arena;

    if (mcp_str_eq(a, b)) {
        return 1;
    }

    if (a.len < 2 || b.len < 2 || a.data[0] != '"' || b.data[0] != '"'
        || (memchr(a.data, '\\', a.len) == NULL
            && memchr(b.data, '\\', b.len) == NULL))
    {
        return 0;
    }

    mcp_arena_init(&arena, mem);

    same = mcp_json_unescape(&arena, a, &plain_a) == MCP_OK
           && mcp_json_unescape(&arena, b, &plain_b) == MCP_OK
           && mcp_str_eq(plain_a, plain_b);

    mcp_arena_destroy(&arena);

    return same;
}


static int
mcp_call_notification(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    int         rc;
    mcp_call_t  *call;

    call = req->call;

    if (mcp_str_eq(msg->method, mcp_str("notifications/progress"))) {

        /* only for those who asked, and as they asked (basic/utilities/
         * progress) */

        if (req->progress_token.len == 0
            || !mcp_call_same(&call->node->env->mem, msg->progress_token.raw,
                              req->progress_token))
        {
            return MCP_OK;
        }

    } else if (mcp_str_eq(msg->method, mcp_str("notifications/message"))) {

        if (!mcp_call_log_wanted(req, &msg->level)) {
            return MCP_OK;
        }

    } else if (mcp_door_broadcast(call->node, msg->method, msg->uri.raw,
                                  msg->body))
    {
        return MCP_OK;
    }

    if (mcp_call_durable(call) != MCP_OK || req->state == MCP_REQUEST_OVER) {
        return MCP_OK;
    }

    rc = mcp_call_append(call, msg->body, mcp_call_state(call));

    if (rc == MCP_ERR_LIMIT || rc == MCP_ERR_FULL) {
        return MCP_AGAIN;
    }

    return MCP_OK;
}


/* One message of a backend; MCP_AGAIN: no room for it now. */
static int
mcp_call_message(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    mcp_call_t  *call;

    call = req->call;

    if (call->over || req->state == MCP_REQUEST_OVER) {
        return MCP_OK;
    }

    switch (msg->kind) {

    case MCP_BACKEND_NOTIFICATION:
        return mcp_call_notification(req, msg);

    case MCP_BACKEND_RESULT:
        return mcp_call_finish(req, msg->body, 0);

    case MCP_BACKEND_ERROR:
        return mcp_call_finish(req, msg->body, 1);

    case MCP_BACKEND_INPUT:
        return mcp_input_begin(req, msg);

    case MCP_BACKEND_DETACHED:
        req->state = MCP_REQUEST_DETACHED;
        mcp_call_durable(call);
        return MCP_OK;

    default:
        mcp_call_log(call, MCP_LOG_ERROR, "failed in its backend",
                     msg->detail);
        return mcp_call_finish_fault(req, msg->fault, mcp_null_str);
    }
}


/* Works through what the decoder has, until it has no more or the stream has
 * no room. */
static void
mcp_call_process(mcp_request_t *req)
{
    int                rc;
    mcp_backend_msg_t  msg;

    if (req->held) {
        req->held = 0;

        if (mcp_call_message(req, &req->msg) == MCP_AGAIN) {
            req->held = 1;
            return;
        }
    }

    if (req->backend == NULL) {
        return;
    }

    for ( ;; ) {

        rc = mcp_backend_read(req->backend, &msg);

        if (rc == MCP_AGAIN && req->ended) {
            req->ended = 0;
            mcp_backend_end(req->backend, req->end_fault, req->end_detail);
            continue;
        }

        if (rc != MCP_OK) {
            break;
        }

        if (mcp_call_message(req, &msg) == MCP_AGAIN) {
            req->msg = msg;
            req->held = 1;
            return;
        }
    }

    if (rc < 0 && !req->call->over && req->state != MCP_REQUEST_OVER) {
        mcp_call_abandon(req->call, MCP_FAULT_INTERNAL);
    }
}


static mcp_request_t *
mcp_job_request(mcp_job_t *job)
{
    return &job->call->requests[job->request];
}


void
mcp_job_head(mcp_job_t *job, int status, mcp_str_t content_type)
{
    mcp_request_t  *req;

    req = mcp_job_request(job);

    if (mcp_backend_head(req->backend, status, content_type)
        == MCP_ERR_MEMORY)
    {
        mcp_call_fail(req, MCP_FAULT_INTERNAL);
    }
}


size_t
mcp_job_data(mcp_job_t *job, const char *data, size_t len)
{
    mcp_request_t  *req;

    req = mcp_job_request(job);

    if (req->call->over || job->aborted) {
        return len;
    }

    if (req->held) {
        req->starved = 1;
        return 0;
    }

    if (mcp_backend_write(req->backend, data, len) == MCP_ERR_MEMORY) {
        mcp_call_fail(req, MCP_FAULT_INTERNAL);
        return len;
    }

    mcp_call_process(req);

    if (req->held) {
        mcp_call_set_timer(req->call);
    }

    return len;
}


void
mcp_job_end(mcp_job_t *job, mcp_fault_e fault, const char *detail)
{
    mcp_call_t     *call;
    mcp_request_t  *req;

    req = mcp_job_request(job);
    call = req->call;

    mcp_node_unqueue(call->node, &job->task);

    req->live = 0;
    call->refs++;

    if (req->again && !call->over) {
        req->again = 0;
        mcp_input_again(req);

    } else if (!call->over && !job->aborted
               && req->state == MCP_REQUEST_RUN)
    {
        req->ended = 1;
        req->end_fault = fault;
        req->end_detail = detail;

        if (!req->held) {
            mcp_call_process(req);
        }
    }

    call->jobs--;

    mcp_call_check_end(call);
    mcp_call_release(call);
}


/* --- time --- */

/* Nobody came for the stream in time. */
static void
mcp_call_expire(mcp_call_t *call)
{
    mcp_stream_info_t  info;

    if (mcp_store_info(call->node->store, &call->ref, &info) == MCP_OK
        && info.consumer_slot != MCP_STORE_NO_SLOT)
    {
        /* one has just come, its wake is on the way */
        call->unattended = 0;
        return;
    }

    mcp_call_log(call, MCP_LOG_NOTICE,
                 "cancelled: no client came back within max wait", NULL);
    mcp_store_count(call->node->store, MCP_COUNT_CALLS_EXPIRED, 1);

    mcp_call_stop_jobs(call);
    mcp_store_free(call->node->store, &call->ref);
    mcp_call_over(call);
    mcp_call_check_end(call);
}


static void
mcp_call_timeout(mcp_request_t *req)
{
    int  rc;

    if (req->state == MCP_REQUEST_INPUT) {
        rc = mcp_call_finish_text(req, mcp_str("The client did not answer "
                                               "the request for input in "
                                               "time"));
    } else {
        mcp_call_log(req->call, MCP_LOG_ERROR, "timed out", NULL);
        rc = mcp_call_finish_fault(req, MCP_FAULT_BACKEND_TIMEOUT,
                                   mcp_null_str);
    }

    if (rc == MCP_AGAIN) {
        req->deadline = mcp_call_now(req->call) + MCP_CALL_RETRY;
    }
}


/* The deadline of one request has passed. */
static void
mcp_call_deadline(mcp_request_t *req)
{
    mcp_call_t  *call;

    call = req->call;

    if (call->over || req->state == MCP_REQUEST_OVER) {
        mcp_call_stop_job(req);
        req->deadline = UINT64_MAX;
        return;
    }

    if (req->again) {

        /* it asked, was answered, and does not end */

        mcp_call_abort_job(req);
        req->deadline = UINT64_MAX;
        return;
    }

    if (req->held && req->msg.kind != MCP_BACKEND_NOTIFICATION) {

        /* its last word is here, only room is not */

        req->deadline = mcp_call_now(call) + MCP_CALL_RETRY;
        return;
    }

    mcp_call_stop_job(req);
    mcp_call_timeout(req);
}


/* No job waits to be started: that takes the client's request, which leaves
 * the call when it becomes durable. */
static int
mcp_call_is_started(const mcp_call_t *call)
{
    size_t  i;

    for (i = 0; i < call->n; i++) {
        if (call->requests[i].live && !call->requests[i].job.started) {
            return 0;
        }
    }

    return 1;
}


static void
mcp_call_timer(void *data)
{
    size_t       i;
    uint64_t     now;
    mcp_call_t  *call;

    call = data;
    now = mcp_call_now(call);

    call->refs++;

    if (!call->over && !call->durable && now >= call->stream_at) {
        if (mcp_call_is_started(call)) {
            mcp_call_durable(call);

        } else {
            call->stream_at = now + 1;
        }
    }

    if (!call->over && call->durable && call->unattended
        && now >= call->unattended + call->endpoint->max_wait)
    {
        mcp_call_expire(call);
    }

    if (!call->over && call->durable) {
        mcp_call_go_on(call);
    }

    for (i = 0; i < call->n; i++) {
        if (now >= call->requests[i].deadline) {
            mcp_call_deadline(&call->requests[i]);
        }
    }

    if (!call->over || call->jobs) {
        mcp_call_set_timer(call);
    }

    mcp_call_release(call);
}


/* --- from other processes --- */

static int
mcp_call_is_held(const mcp_call_t *call)
{
    size_t  i;

    for (i = 0; i < call->n; i++) {
        if (call->requests[i].held) {
            return 1;
        }
    }

    return 0;
}


/* For when nothing is held any more.  Without memory the call cannot be
 * served as its publishers were promised. */
static void
mcp_call_keep(mcp_call_t *call, mcp_post_e type, uint64_t tag, mcp_str_t text)
{
    mcp_kept_t       *kept;
    const mcp_mem_t  *mem;

    mem = &call->node->env->mem;

    kept = mem->alloc(mem->ctx, sizeof(mcp_kept_t) + text.len);
    if (kept == NULL) {
        mcp_call_abandon(call, MCP_FAULT_INTERNAL);
        return;
    }

    kept->next = NULL;
    kept->type = type;
    kept->tag = tag;
    kept->len = text.len;

    if (text.len) {
        memcpy(kept + 1, text.data, text.len);
    }

    *call->kept_last = kept;
    call->kept_last = &kept->next;
    call->kept_bytes += sizeof(mcp_kept_t) + text.len;
}


/* Takes the oldest out: the caller frees it. */
static mcp_kept_t *
mcp_call_unkeep(mcp_call_t *call)
{
    mcp_kept_t  *kept;

    kept = call->kept;

    if (kept) {
        call->kept = kept->next;
        call->kept_bytes -= sizeof(mcp_kept_t) + kept->len;

        if (call->kept == NULL) {
            call->kept_last = &call->kept;
        }
    }

    return kept;
}


static void
mcp_call_drop_kept(mcp_call_t *call)
{
    mcp_kept_t       *kept;
    const mcp_mem_t  *mem;

    mem = &call->node->env->mem;

    while ((kept = mcp_call_unkeep(call)) != NULL) {
        mem->free(mem->ctx, kept);
    }
}


static void
mcp_call_publish(mcp_call_t *call, uint64_t tag, mcp_str_t text)
{
    mcp_request_t      *req;
    mcp_backend_msg_t   msg;

    if (tag >= call->n) {
        return;
    }

    req = &call->requests[tag];

    if (req->state == MCP_REQUEST_OVER
        || mcp_backend_message(req->backend, text, &msg) != MCP_OK)
    {
        return;
    }

    /* while the client is asked, only the next invocation has an answer */

    if (req->state == MCP_REQUEST_INPUT
        && msg.kind != MCP_BACKEND_NOTIFICATION)
    {
        return;
    }

    if (mcp_call_message(req, &msg) == MCP_AGAIN) {
        req->msg = msg;
        req->held = 1;
    }
}


static void
mcp_call_posted(mcp_call_t *call, mcp_post_e type, uint64_t tag,
    mcp_str_t text)
{
    switch (type) {

    case MCP_POST_CANCEL:
        mcp_call_cancel(call, tag);
        break;

    case MCP_POST_INPUT:
        mcp_input_answer(call, tag, text);
        break;

    case MCP_POST_PUBLISH:
        mcp_call_publish(call, tag, text);
        break;
    }
}


/*
 * A message that found no room keeps those behind it waiting, but not a
 * cancellation: who cancels does not read, and there would never be room.
 */
static void
mcp_call_inbox(mcp_call_t *call)
{
    int               held;
    uint64_t          tag;
    mcp_buf_t         data;
    mcp_str_t         text;
    mcp_kept_t       *kept;
    mcp_post_e        type;
    const mcp_mem_t  *mem;

    mem = &call->node->env->mem;
    mcp_buf_init(&data, mem, SIZE_MAX / 2);

    while (!call->over) {

        held = mcp_call_is_held(call);

        if (!held && (kept = mcp_call_unkeep(call)) != NULL) {
            text = (mcp_str_t) { (char *) (kept + 1), kept->len };
            mcp_call_posted(call, kept->type, kept->tag, text);
            mem->free(mem->ctx, kept);
            continue;
        }

        /* as much again as the inbox itself may hold */

        if (held && call->endpoint->stream_buffer
            && call->kept_bytes >= call->endpoint->stream_buffer)
        {
            break;
        }

        data.len = 0;

        if (mcp_store_take(call->node->store, &call->ref, &type, &tag, &data)
            != MCP_OK)
        {
            break;
        }

        text = (mcp_str_t) { data.data, data.len };

        if (held && type != MCP_POST_CANCEL) {
            mcp_call_keep(call, type, tag, text);
            continue;
        }

        mcp_call_posted(call, type, tag, text);
    }

    mcp_buf_free(&data);
}


/* There may be room now: for what is held, for backends that were stopped,
 * for what was posted behind it. */
static void
mcp_call_go_on(mcp_call_t *call)
{
    size_t          i;
    mcp_request_t  *req;

    for (i = 0; i < call->n && !call->over; i++) {
        req = &call->requests[i];

        if (req->held) {
            mcp_call_process(req);
        }

        if (!req->held && req->starved && req->live && !req->job.aborted) {
            req->starved = 0;
            req->job.task.action.type = MCP_ACT_RESUME;
            mcp_node_queue(call->node, &req->job.task);
        }
    }

    mcp_call_inbox(call);
}


void
mcp_call_wake(mcp_call_t *call)
{
    mcp_stream_info_t  info;

    if (call->over) {
        return;
    }

    call->refs++;

    if (mcp_store_info(call->node->store, &call->ref, &info) != MCP_OK) {

        /* freed under us: nobody can ever read it */

        mcp_call_stop_jobs(call);
        mcp_call_over(call);
        mcp_call_check_end(call);
        mcp_call_release(call);
        return;
    }

    call->unattended = (info.consumer_slot == MCP_STORE_NO_SLOT)
                       ? info.unattended : 0;

    mcp_call_go_on(call);

    if (!call->over) {
        mcp_call_set_timer(call);
    }

    mcp_call_release(call);
}


/* --- cancellation (basic/utilities/cancellation) --- */

/* Cancels request k, or all of them.  No response is sent for what was
 * cancelled. */
static void
mcp_call_cancel(mcp_call_t *call, uint64_t k)
{
    size_t          i;
    mcp_request_t  *req;

    call->refs++;

    for (i = 0; i < call->n && !call->over; i++) {
        req = &call->requests[i];

        if ((k != MCP_CALL_ALL && k != i) || req->state == MCP_REQUEST_OVER) {
            continue;
        }

        mcp_call_log(call, MCP_LOG_INFO, "cancelled", NULL);
        mcp_store_count(call->node->store, MCP_COUNT_CALLS_CANCELLED, 1);

        mcp_call_stop_job(req);
        req->state = MCP_REQUEST_OVER;

        if (--call->pending == 0) {
            if (call->durable) {
                mcp_store_set_state(call->node->store, &call->ref,
                                    MCP_STATE_CANCELLED);
            }

            mcp_call_done(call);
        }
    }

    mcp_call_release(call);
}


/* The number of the request with this id among the stored id or array of ids,
 * or MCP_CALL_ALL if it is none of them. */
static uint64_t
mcp_call_find_id(const mcp_mem_t *mem, mcp_str_t stored, mcp_str_t id)
{
    uint64_t          k;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    if (stored.len == 0 || stored.data[0] != '[') {
        return mcp_call_same(mem, stored, id) ? 0 : MCP_CALL_ALL;
    }

    mcp_json_iter_init(&iter, stored);

    for (k = 0; mcp_json_iter_next(&iter, NULL, &value); k++) {
        if (mcp_call_same(mem, value.raw, id)) {
            return k;
        }
    }

    return MCP_CALL_ALL;
}


void
mcp_call_cancel_request(mcp_exchange_t *x, mcp_str_t id)
{
    uint64_t            k, position;
    mcp_buf_t           ids;
    mcp_str_t           parts[2];
    mcp_store_t        *store;
    unsigned char       key[MCP_DIGEST_LEN];
    mcp_stream_info_t   info;

    store = x->node->store;
    position = 0;
    mcp_buf_init(&ids, &x->node->env->mem, SIZE_MAX / 2);

    for ( ;; ) {
        ids.len = 0;

        if (mcp_store_session_next(store, x->session.id, &position, &info,
                                   &ids)
            != MCP_OK)
        {
            break;
        }

        if (info.kind != MCP_STREAM_CALL
            || info.state >= MCP_STATE_COMPLETED)
        {
            continue;
        }

        k = mcp_call_find_id(&x->node->env->mem,
                             (mcp_str_t) { ids.data, ids.len }, id);

        if (k != MCP_CALL_ALL) {
            mcp_store_post(store, &info.ref, MCP_POST_CANCEL, k,
                           mcp_null_str);
            mcp_buf_free(&ids);
            return;
        }
    }

    mcp_buf_free(&ids);

    /* not durable yet, in whatever process: it looks when it becomes so */

    parts[0] = (mcp_str_t) { (char *) x->session.id, MCP_DIGEST_LEN };
    parts[1] = id;

    if (mcp_digest(key, parts, 2) == MCP_OK) {
        mcp_store_value_set(store, 'c', key, 1,
                            x->node->env->now(x->node->env->ctx)
                            + x->endpoint->stream_after
                            + MCP_CALL_CANCEL_MARK);
    }
}


void
mcp_call_end_session(mcp_exchange_t *x)
{
    uint64_t            position;
    mcp_store_t        *store;
    mcp_stream_info_t   info;

    store = x->node->store;
    position = 0;

    while (mcp_store_session_next(store, x->session.id, &position, &info,
                                  NULL)
           == MCP_OK)
    {
        if (info.kind == MCP_STREAM_CALL
            && info.state < MCP_STATE_COMPLETED)
        {
            mcp_store_post(store, &info.ref, MCP_POST_CANCEL, MCP_CALL_ALL,
                           mcp_null_str);

        } else {
            mcp_store_free(store, &info.ref);
            position = 0;
        }
    }
}

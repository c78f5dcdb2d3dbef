
/*
 * The life of a call: made from a message, started, perhaps durable, answered,
 * over.  It ends when all its requests have their answer, or need none, and no
 * backend works on one any more.
 */

#include "mcp_face.h"


static void mcp_call_timer(void *data);
static void mcp_call_over(mcp_call_t *call);


uint64_t
mcp_call_now(const mcp_call_t *call)
{
    return call->node->env->now(call->node->env->ctx);
}


void
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

    mcp_inbox_drop(call);

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


void
mcp_call_invoke(mcp_request_t *req)
{
    if (mcp_job_start(req) != MCP_OK) {
        mcp_call_fail(req, MCP_FAULT_INTERNAL);
    }
}


/* A batch is one stream: with one request that may not be resumed none can. */
static void
mcp_call_take_policy(mcp_call_t *call)
{
    size_t          i;
    mcp_policy_t    policy;
    mcp_request_t  *req;

    mcp_endpoint_policy(call->endpoint,
                        call->batch ? mcp_str("batch")
                                    : call->requests[0].method->name,
                        call->requests[0].name, &call->policy);

    for (i = 0; call->batch && i < call->n; i++) {
        req = &call->requests[i];

        if (req->state == MCP_REQUEST_OVER) {
            continue;
        }

        mcp_endpoint_policy(call->endpoint, req->method->name, req->name,
                            &policy);

        if (!policy.resumable) {
            call->policy.max_wait = 0;
            mcp_policy_apply(&call->policy, NULL);
        }
    }
}


void
mcp_call_start(mcp_call_t *call)
{
    size_t    i;
    uint64_t  now;

    now = mcp_call_now(call);

    mcp_call_take_policy(call);

    call->stream_at = now + call->policy.stream_after;
    mcp_faces_start(call);
    call->node->calls++;

    mcp_store_count(call->node->store, MCP_COUNT_CALLS_LIVE, 1);
    mcp_job_facts(call);

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


/* One timer for everything: becoming durable, deadlines, max wait, what is
 * held. */
void
mcp_call_set_timer(mcp_call_t *call)
{
    size_t          i;
    uint64_t        now, when;
    mcp_request_t  *req;

    now = mcp_call_now(call);
    when = UINT64_MAX;

    if (!call->over) {
        if (!call->durable) {
            when = call->stream_at;

            if (call->resume_at && call->resume_at < when) {
                when = call->resume_at;
            }

        } else if (call->unattended) {
            when = call->unattended + call->policy.max_wait;
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

        if (req->held && now + MCP_CALL_RETRY < when) {
            when = now + MCP_CALL_RETRY;
        }
    }

    /* one that is due while timers run runs again in the same go */

    if (when <= now) {
        when = now + 1;
    }

    if (when == UINT64_MAX) {
        mcp_timer_del(&call->node->timers, &call->timer);

    } else if (!mcp_timer_armed(&call->timer) || call->timer.when != when) {
        mcp_timer_set(&call->node->timers, &call->timer, when);
    }
}


void
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


void
mcp_call_stop(mcp_call_t *call)
{
    mcp_job_stop_all(call);
    mcp_call_over(call);
    mcp_call_check_end(call);
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


void
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


void
mcp_call_abandon(mcp_call_t *call, mcp_fault_e fault)
{
    mcp_str_t        id;
    mcp_exchange_t  *x;

    if (call->over) {
        return;
    }

    x = call->x;
    call->x = NULL;
    mcp_faces_undo(&call->requests[0]);

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

    mcp_call_stop(call);
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
    spec.max_wait = call->policy.max_wait;
    spec.linger = endpoint->linger;
    spec.max_events = call->policy.max_events;
    spec.max_bytes = call->policy.stream_buffer;
    spec.session_limit = endpoint->max_session_streams;
    spec.principal_limit = endpoint->max_principal_streams;
    mcp_faces_room(call, &spec);

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


/* With what has been answered already as its first events, and the client, if
 * it is there, as its consumer. */
static int
mcp_call_make_stream(mcp_call_t *call)
{
    int             rc;
    size_t          i;
    uint64_t        seq;
    mcp_request_t  *req;

    rc = mcp_call_create_stream(call);
    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_faces_begin(call);

    for (i = 0; rc == MCP_OK && i < call->n; i++) {
        req = &call->requests[i];

        if (req->response.len) {
            rc = mcp_store_append(call->node->store, &call->ref,
                                  req->response, (int) i,
                                  MCP_STATE_PROCESSING, mcp_call_now(call),
                                  &seq);
        }
    }

    if (rc == MCP_OK && call->x && !call->parted) {
        call->x->bound = !call->policy.resumable;
        rc = mcp_consumer_start(call->x, &call->ref, 0);
    }

    if (rc != MCP_OK) {
        mcp_store_free(call->node->store, &call->ref);
    }

    return rc;
}


static void
mcp_call_refuse(mcp_call_t *call, int rc)
{
    switch (rc) {

    case MCP_ERR_LIMIT:
        mcp_call_log(call, MCP_LOG_WARN, "cannot be kept",
                     "too many streams");
        mcp_call_abandon(call, MCP_FAULT_TOO_MANY_STREAMS);
        break;

    case MCP_ERR_FULL:
        mcp_call_log(call, MCP_LOG_WARN, "cannot be kept",
                     "the zone is full");
        mcp_call_abandon(call, MCP_FAULT_STORE_FULL);
        break;

    default:
        mcp_call_log(call, MCP_LOG_WARN, "cannot be kept", "no memory");
        mcp_call_abandon(call, MCP_FAULT_INTERNAL);
    }
}


/* The client's exchange reads the stream from now on, like any other. */
static void
mcp_call_stream_to_client(mcp_call_t *call)
{
    mcp_exchange_t  *x;

    x = call->x;
    call->x = NULL;

    if (call->policy.close_after
        && mcp_revision(call->session.revision)->polling)
    {
        mcp_consumer_close_at(x, mcp_call_now(call)
                                 + call->policy.close_after);
    }

    mcp_consumer_close_at(x, call->resume_at);

    x->task.action.type = MCP_ACT_STREAM;
    mcp_node_queue(call->node, &x->task);
}


int
mcp_call_durable(mcp_call_t *call)
{
    int  rc;

    if (call->durable) {
        return MCP_OK;
    }

    rc = mcp_call_make_stream(call);

    if (rc != MCP_OK) {
        mcp_call_refuse(call, rc);
        return MCP_ERR_DENIED;
    }

    call->durable = 1;

    if (call->x && !call->parted) {
        mcp_call_stream_to_client(call);

    } else {
        call->unattended = mcp_call_now(call);
    }

    call->refs++;
    mcp_inbox_look_for_cancel(call);

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

mcp_stream_state_e
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


/* MCP_OK or MCP_AGAIN. */
static int
mcp_call_answer_stored(mcp_request_t *req, mcp_str_t text, int error)
{
    int                  rc;
    uint64_t             seq;
    mcp_call_t          *call;
    mcp_stream_state_e   state;

    call = req->call;

    if (call->pending == 1) {
        state = error ? MCP_STATE_FAILED : MCP_STATE_COMPLETED;

    } else {
        state = mcp_call_state(call);
    }

    rc = mcp_store_append(call->node->store, &call->ref, text,
                          (int) req->job.request, state, mcp_call_now(call),
                          &seq);

    if (rc == MCP_ERR_FULL || rc == MCP_ERR_LIMIT) {
        return MCP_AGAIN;
    }

    mcp_store_count(call->node->store, MCP_COUNT_EVENTS, 1);

    return MCP_OK;
}


/* MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_call_answer_kept(mcp_request_t *req, mcp_buf_t *buf)
{
    mcp_call_t  *call;

    call = req->call;

    if (call->x && !call->batch) {

        /* what answers one request is the answer */

        mcp_buf_free(&call->x->out);
        call->x->out = *buf;
        mcp_buf_init(buf, &call->node->env->mem, SIZE_MAX / 2);

        req->response.data = call->x->out.data;
        req->response.len = call->x->out.len;

        return MCP_OK;
    }

    req->response = mcp_arena_dup(&call->arena,
                                  (mcp_str_t) { buf->data, buf->len });

    return req->response.data ? MCP_OK : MCP_ERR_MEMORY;
}


/* Gives a request its response, which is put into buf already; MCP_AGAIN: no
 * room, to be repeated. */
static int
mcp_call_answer(mcp_request_t *req, mcp_buf_t *buf, int error)
{
    int          rc;
    mcp_call_t  *call;

    call = req->call;

    /* it has one: there is no second */

    if (req->state == MCP_REQUEST_OVER) {
        return MCP_OK;
    }

    rc = buf->failed;

    if (rc == MCP_OK) {
        rc = call->durable
             ? mcp_call_answer_stored(req,
                                      (mcp_str_t) { buf->data, buf->len },
                                      error)
             : mcp_call_answer_kept(req, buf);
    }

    if (rc == MCP_AGAIN) {
        return MCP_AGAIN;
    }

    if (rc != MCP_OK) {
        mcp_call_log(call, MCP_LOG_ERROR, "failed", "no memory");
        mcp_call_abandon(call, MCP_FAULT_INTERNAL);
        return MCP_OK;
    }

    if (error) {
        mcp_store_count(call->node->store, MCP_COUNT_CALLS_FAILED, 1);
        mcp_faces_undo(req);
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


int
mcp_call_finish(mcp_request_t *req, mcp_str_t body, int error)
{
    int        rc;
    mcp_buf_t  buf;

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


/* --- time --- */

/* Nobody came for the stream in time. */
static void
mcp_call_expire(mcp_call_t *call)
{
    mcp_stream_info_t  info;

    if (mcp_store_info(call->node->store, &call->ref, &info) == MCP_OK) {

        if (info.consumer_slot != MCP_STORE_NO_SLOT) {
            /* one has just come, its wake is on the way */
            call->unattended = 0;
            return;
        }

        if (info.unattended > call->unattended) {
            /* asked after in the meantime, which wakes nobody */
            call->unattended = info.unattended;
            return;
        }
    }

    mcp_call_log(call, MCP_LOG_NOTICE,
                 "cancelled: no client came back within max wait", NULL);
    mcp_store_count(call->node->store, MCP_COUNT_CALLS_EXPIRED, 1);

    mcp_store_free(call->node->store, &call->ref);
    mcp_call_stop(call);
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


/* Its client has waited long enough: the call becomes a stream that nobody
 * reads yet, and the client is told how to come back for it. */
static void
mcp_call_part(mcp_call_t *call)
{
    mcp_exchange_t  *x;

    call->parted = 1;
    mcp_call_durable(call);

    /* it may have been ended at that, with an answer or without one */

    x = call->x;
    call->x = NULL;

    if (x == NULL) {
        return;
    }

    x->out.len = 0;
    x->outcome = "interim";

    if (call->over) {
        (void) mcp_exchange_fault(x, MCP_FAULT_RESUME_TOKEN,
                                  call->requests[0].id, mcp_null_str);

    } else {
        mcp_faces_interim(x);

        if (mcp_exchange_json(x) != MCP_OK) {
            mcp_exchange_status(x, 500);
        }
    }

    x->task.action.type = MCP_ACT_RESPOND;
    mcp_node_queue(x->node, &x->task);
}


static void
mcp_call_due(mcp_call_t *call, uint64_t now)
{
    if (!mcp_call_is_started(call)) {
        call->stream_at = now + 1;
        return;
    }

    if (call->x && call->resume_at && now >= call->resume_at) {
        mcp_call_part(call);
        return;
    }

    mcp_call_durable(call);
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

    if (!call->over && !call->durable
        && (now >= call->stream_at
            || (call->resume_at && now >= call->resume_at)))
    {
        mcp_call_due(call, now);
    }

    if (!call->over && call->durable && call->unattended
        && now >= call->unattended + call->policy.max_wait)
    {
        mcp_call_expire(call);
    }

    if (!call->over && call->durable) {
        mcp_inbox_go_on(call);
    }

    for (i = 0; i < call->n; i++) {
        if (now >= call->requests[i].deadline) {
            mcp_job_deadline(&call->requests[i]);
        }
    }

    if (!call->over || call->jobs) {
        mcp_call_set_timer(call);
    }

    mcp_call_release(call);
}

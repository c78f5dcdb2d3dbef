/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Joining equal calls of tools with "x-mcp-join" in the catalog. Calls of a
 * tool are equal if one caller makes them with the same key; or with the same
 * arguments, after the connection of the first call's client was lost. All
 * clients without a principal count as one caller, and can join by a key only.
 * A joined request reads the stream of the call in addition to the stream's
 * consumer. It gets the remaining events, and the response with its own id.
 *
 * Without a key, a request may join a call only if the call's client has not
 * got the response. While that client's connection seems to be alive, it is
 * unknown whether the client will get the response. The request waits until
 * this is known, or for mcp_join_wait.
 */


#include "exchange/mcp_join_calls.h"
#include "exchange/mcp_task.h"
#include "rpc/mcp_digest.h"
#include "worker/mcp_call_stats.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_exchange_set_state.h"
#include "worker/mcp_respond.h"
#include "worker/mcp_resume_hooks.h"


/* --- keys of equal calls --- */

/* Equal calls have the same digest, which is computed from the endpoint, the
 * principal, the revision, the tool, and the key or the arguments. */

/* Maximum length of a client's "idempotencyKey", bytes. */
#define MCP_JOIN_KEY_MAX  255

static int
mcp_join_key_ok(const mcp_json_value_t *value)
{
    size_t         i;
    unsigned char  c;

    /* the raw text includes the quotation marks */

    if (value->type != MCP_JSON_STRING || value->raw.len < 3
        || value->raw.len > MCP_JOIN_KEY_MAX + 2)
    {
        return 0;
    }

    for (i = 1; i < value->raw.len - 1; i++) {
        c = (unsigned char) value->raw.data[i];

        if (c < 0x21 || c > 0x7e || c == '\\') {
            return 0;
        }
    }

    return 1;
}


/* Sets *key to the "idempotencyKey" of the request, which may be in _meta, in
 * the parameters, or in both. Sets *key to an empty string if there is none.
 * Returns 1, or 0 if a key is invalid or the two keys differ. */
static int
mcp_join_read_key(const mcp_rpc_t *msg, mcp_str_t *key)
{
    const mcp_json_value_t  *value;

    *key = mcp_null_str;
    value = msg->meta_key.type != MCP_JSON_NONE ? &msg->meta_key : &msg->key;

    if (value->type == MCP_JSON_NONE) {
        return 1;
    }

    if (!mcp_join_key_ok(value)
        || (msg->key.type != MCP_JSON_NONE
            && !mcp_str_eq(msg->key.raw, value->raw)))
    {
        return 0;
    }

    *key = value->raw;

    return 1;
}


/* Returns how the request can join a call of its tool: only by its key, also by
 * its arguments, or not at all. */
static mcp_join_e
mcp_join_how(const mcp_exchange_t *x, const mcp_routing_t *v)
{
    mcp_policy_t  policy;

    if (x->endpoint->catalog == NULL
        || !mcp_catalog_info(x->endpoint->catalog)->joins
        || v->method->want != MCP_WANT_TOOL

        /* a request that answers questions or resumes a call belongs to an
         * existing call, so it cannot join another one */

        || x->msg->request_state.type != MCP_JSON_NONE
        || x->msg->input_responses.type != MCP_JSON_NONE
        || x->msg->resume_token.type != MCP_JSON_NONE
        || x->msg->meta_resume_token.type != MCP_JSON_NONE)
    {
        return MCP_JOIN_NOT;
    }

    mcp_endpoint_policy(x->endpoint, v->method->name, v->name, &policy);

    /* a call that becomes a task can be joined only by key: a request without a
     * key may join a call only as long as its client has not got the response,
     * and it cannot be known whether a client has got the id of its task */

    if (policy.join == MCP_JOIN_ARGUMENTS && policy.task > MCP_TASK_AUTO
        && mcp_policy_is_task(&policy, x->client.capabilities))
    {
        return MCP_JOIN_KEY;
    }

    return (mcp_join_e) policy.join;
}


/*
 * Computes the digests in *join. Equal calls have the same join->digest, which
 * is computed from the key or, if the request has no key, from the arguments.
 * The digest depends on the revision, because results differ by revision.
 *
 * Without a key, the digest also depends on the kinds of questions that the
 * client accepts, because a joined request gets the questions of the call. With
 * a key it does not, because the key promises that the tool is executed once.
 * Returns MCP_OK, or an error of mcp_digest_params() or mcp_digest().
 */
static int
mcp_join_digest(mcp_exchange_t *x, const mcp_routing_t *v, mcp_str_t key,
    mcp_join_t *join)
{
    int        rc;
    unsigned   input;
    mcp_str_t  parts[8];
    char       takes[2];

    rc = mcp_digest_params(&x->worker->env->mem, x->msg->params.raw,
                           x->endpoint->max_depth, join->params);
    if (rc != MCP_OK) {
        return rc;
    }

    join->once = (key.len == 0);

    parts[0] = join->once ? mcp_str("join by arguments")
                         : mcp_str("join by key");
    parts[1] = mcp_endpoint_key(x->endpoint, x->worker->cluster != NULL);
    parts[2] = (mcp_str_t) { (const char *) x->client.principal,
                             MCP_DIGEST_LEN };
    parts[3] = mcp_revision(x->client.revision)->name;
    parts[4] = v->method->name;
    parts[5] = v->name;
    parts[6] = join->once ? (mcp_str_t) { (const char *) join->params,
                                          MCP_DIGEST_LEN }
                          : key;

    input = x->client.capabilities & MCP_CLIENT_INPUT;
    takes[0] = (char) (input >> 8);
    takes[1] = (char) input;
    parts[7] = (mcp_str_t) { takes, sizeof(takes) };

    return mcp_digest(join->digest, parts, join->once ? 8 : 7);
}


/*
 * Sets *join to the digests by which the request of x finds an equal call, and
 * by which other requests find the call of x.
 *
 * Returns MCP_OK, or
 *   MCP_DONE        the request cannot join or be joined
 *   MCP_ERR_SYNTAX  its key is invalid
 *   MCP_ERR_MEMORY
 */
static int
mcp_join_request(mcp_exchange_t *x, const mcp_routing_t *v, mcp_join_t *join)
{
    mcp_str_t   key;
    mcp_join_e  how;

    how = mcp_join_how(x, v);

    if (how == MCP_JOIN_NOT) {
        return MCP_DONE;
    }

    if (!mcp_join_read_key(x->msg, &key)) {
        return MCP_ERR_SYNTAX;
    }

    if (key.len == 0
        && (how != MCP_JOIN_ARGUMENTS
            || mcp_digest_is_nobody(x->client.principal)))
    {
        return MCP_DONE;
    }

    return mcp_join_digest(x, v, key, join) == MCP_OK ? MCP_OK
                                                     : MCP_ERR_MEMORY;
}


/* --- joining --- */

/* Maximum number of attempts to join an equal call. An attempt fails if the
 * call is found, but does not exist any more when the request attaches to
 * it. */
#define MCP_JOIN_TRIES    4

/*
 * Maximum number of attempts to register a request's call in the cluster as the
 * first of equal calls. If another node has registered an equal call first, the
 * attempt fails, and the request usually joins that call.
 *
 * The request has to try again if that call has ended in the meantime. It also
 * has to try again if it finds a call of this node that has not been registered
 * in the cluster yet. If many requests arrive at once, one of them succeeds in
 * each attempt.
 */
#define MCP_JOIN_CLAIMS   256


/* Data of a request that may join an equal call. x->join points to the member
 * "join", which has to be the first one. */
typedef struct {
    mcp_join_t       join;
    mcp_routing_t    routing;
    uint64_t         until;            /* time at which the wait ends, ms; 0:
                                          the request has not waited yet */
    unsigned         tries;            /* number of attempts to register the
                                          call in the cluster */
    unsigned         known:1;          /* 1: this node has just updated its
                                          mirror of the call that another node
                                          has registered */
} mcp_join_wait_t;

#define mcp_join_waits(x)  ((mcp_join_wait_t *) (void *) (x)->join)


static void mcp_join_last(mcp_exchange_t *x);
static mcp_next_e mcp_join_lookup(mcp_exchange_t *x);


static const mcp_resume_reader_t  mcp_join_reader = {
    .read = mcp_joined_reader_read,
    .last = mcp_join_last
};

static const mcp_resume_method_t  mcp_join_resume_method = {
    .name = { "join", 4 },
    .reader = &mcp_join_reader
};


/* --- the requested call --- */

/* Sets x->join if the request of x can join an equal call or be joined. Returns
 * the values of mcp_join_request(). */
static int
mcp_join_set(mcp_exchange_t *x, const mcp_routing_t *v)
{
    int               rc;
    mcp_join_t        join;
    mcp_join_wait_t  *wait;

    rc = mcp_join_request(x, v, &join);

    if (rc != MCP_OK) {
        return rc;
    }

    wait = mcp_arena_calloc(&x->arena, sizeof(mcp_join_wait_t));

    if (wait == NULL) {
        return MCP_ERR_MEMORY;
    }

    wait->join = join;
    wait->routing = *v;
    x->join = &wait->join;

    return MCP_OK;
}


/* --- joined requests --- */

/* Called when a joined request ends. If it has not got the call's response,
 * because the call was cancelled or freed, writes an error. Counts the duration
 * of the request in either case. */
static void
mcp_join_last(mcp_exchange_t *x)
{
    if (x->reader.answered) {
        mcp_duration_answered(x, x->reader.error);
        return;
    }

    mcp_duration_answered(x, mcp_error_type_of_code(MCP_CODE_INTERNAL));

    mcp_buf_lit(&x->output.out, "data: ");
    mcp_fault_write(&x->output.out, x->client.revision, x->msg->id,
                    MCP_FAULT_JOINED, mcp_null_str, mcp_null_str);
    mcp_buf_lit(&x->output.out, "\n\n");
}


/* Returns the number of the event after which a joined reader begins. For a
 * call that has ended, the reader gets only the response. While the call asks
 * its client for input, the reader gets all stored events, because the client
 * may not have read the question. Otherwise it gets only new events. */
static uint64_t
mcp_join_after(const mcp_stream_info_t *info)
{
    if (info->state >= MCP_STATE_COMPLETED && info->last_seq) {
        return info->last_seq - 1;
    }

    return info->state == MCP_STATE_INPUT_REQUIRED ? info->first_seq - 1
                                                   : info->last_seq;
}


static void
mcp_join_log(mcp_exchange_t *x, const mcp_stream_info_t *info)
{
    char  id[9];

    if (mcp_worker_logs(x->worker, MCP_LOG_INFO)) {
        mcp_stream_id_short(id, info->ref.id);
        mcp_worker_log(x->worker, MCP_LOG_INFO,
                     "call %s of \"%s\" was joined by another request", id,
                     info->name);
    }
}


static void
mcp_join_joined(mcp_exchange_t *x, const mcp_stream_info_t *info)
{
    mcp_store_count(x->worker->store, MCP_COUNT_JOINED, 1);
    mcp_join_log(x, info);
}


/* Responds with a CreateTaskResult, because the call to join is a task. The
 * client that began the call has got a CreateTaskResult as well. Returns the
 * values of mcp_exchange_body(). */
static mcp_next_e
mcp_join_task(mcp_exchange_t *x, const mcp_stream_info_t *info)
{
    if (mcp_task_created_before(x, info) != MCP_OK) {
        return mcp_respond_fault(x, MCP_FAULT_INTERNAL, x->msg->id,
                                 mcp_null_str);
    }

    x->reader.joins = 1;
    mcp_join_joined(x, info);

    return mcp_respond_json(x);
}


/*
 * Makes x a joined reader of the call. If the call is a task, and the client of
 * x can poll tasks, responds with the task instead. Returns the values of
 * mcp_exchange_body(), or
 *   MCP_NEXT_CONTINUE  the call does not exist any more
 */
static mcp_next_e
mcp_join_attach(mcp_exchange_t *x, const mcp_stream_info_t *info)
{
    int  rc;

    if (info->expires && (x->client.capabilities & MCP_CLIENT_TASKS)) {
        return mcp_join_task(x, info);
    }

    x->reader.joins = 1;
    x->reader.bound = 1;
    x->reader.same_session = x->client.has_session
                             && memcmp(x->client.id, info->session,
                                       MCP_DIGEST_LEN) == 0;
    x->resumption = &mcp_join_resume_method;

    rc = mcp_consumer_start(x, &info->ref, mcp_join_after(info));

    switch (rc) {

    case MCP_OK:
        mcp_join_joined(x, info);
        return MCP_NEXT_STREAM;

    case MCP_ERR_NOT_FOUND:
        x->reader.joins = 0;
        x->reader.bound = 0;
        x->resumption = x->worker->methods[0];
        return MCP_NEXT_CONTINUE;

    default:
        return mcp_respond_no_room(x, rc, x->msg->id);
    }
}


/* --- waiting requests --- */

static int
mcp_join_find(mcp_exchange_t *x, mcp_stream_info_t *info)
{
    mcp_stream_spec_t  spec;

    memset(&spec, 0, sizeof(mcp_stream_spec_t));
    spec.join = x->join->digest;
    spec.join_once = x->join->once;
    spec.join_known = mcp_join_waits(x)->known;
    memcpy(spec.params, x->join->params, MCP_DIGEST_LEN);

    return mcp_store_join_find(x->worker->store, &spec,
                               mcp_worker_now(x->worker), info);
}


/* Returns 1 if it is unknown whether x can join the call. There are two cases:
 * the call is held, because other nodes may not have it yet; or x has no key,
 * and the call's client may still get the response. */
static int
mcp_join_is_undecided(const mcp_exchange_t *x, const mcp_stream_info_t *info)
{
    return info->held || (x->join->once && info->attended);
}


/* Returns 1 if the request still has to wait. Each event of the call wakes the
 * request, but most events do not end its wait. */
static int
mcp_join_still(mcp_exchange_t *x)
{
    mcp_stream_info_t  info;

    return mcp_join_find(x, &info) == MCP_OK
           && memcmp(info.ref.id, x->reader.ref.id, MCP_STREAM_ID_LEN) == 0
           && mcp_join_is_undecided(x, &info)
           && (info.held
               || mcp_worker_now(x->worker) < mcp_join_waits(x)->until);
}


static void
mcp_join_leave(mcp_exchange_t *x)
{
    mcp_timer_del(&x->worker->timers, &x->reader.timer);
    mcp_consumer_detach(x);
    x->reader.joins = 0;
}


/* Ends the wait of a request: joins the call that exists now, or creates a
 * call. Queues the action for the response, unless the request waits again. */
static void
mcp_join_again(mcp_exchange_t *x)
{
    mcp_next_e        next;
    mcp_routing_t     v;
    mcp_join_wait_t  *wait;

    mcp_exchange_set_state(x, MCP_EXCHANGE_BODY);

    wait = mcp_join_waits(x);
    v = wait->routing;
    next = mcp_join_lookup(x);
    wait->known = 0;

    if (next == MCP_NEXT_CONTINUE) {
        next = mcp_dispatch_make(x, &v);
    }

    mcp_answer_next(x, next);
}


static void
mcp_join_refuse(mcp_exchange_t *x, mcp_fault_e fault)
{
    mcp_exchange_set_state(x, MCP_EXCHANGE_BODY);

    mcp_answer_next(x, mcp_respond_fault(x, fault, x->msg->id, mcp_null_str));
}


/* Sets the timer of a waiting request. The timer first expires after
 * mcp_join_wait. After that, the request waits only if the call is held,
 * because its node waits for the cluster; the timer then expires every
 * MCP_OPERATION_TIME. */
static void
mcp_join_arm(mcp_exchange_t *x)
{
    uint64_t  now, until;

    now = mcp_worker_now(x->worker);
    until = mcp_join_waits(x)->until;

    mcp_timer_set(&x->worker->timers, &x->reader.timer,
                  now < until ? until : now + MCP_OPERATION_TIME);
}


static void
mcp_join_woken(void *data)
{
    mcp_exchange_t  *x;

    x = data;

    if (!mcp_join_still(x)) {
        mcp_join_leave(x);
        mcp_join_again(x);
        return;
    }

    /* after mcp_join_wait, x stops waiting if the cluster is unreachable: the
     * call's stream may be at another node, whose wake-ups cannot arrive now */

    if (mcp_worker_now(x->worker) >= mcp_join_waits(x)->until
        && mcp_operation_is_unreachable(x->worker))
    {
        mcp_join_leave(x);
        mcp_join_refuse(x, MCP_FAULT_CLUSTER_UNREACHABLE);
        return;
    }

    mcp_join_arm(x);
}


/*
 * Makes x wait until it is known whether x can join the call. The wait ends
 * after mcp_join_wait, unless the call is held.
 *
 * Returns MCP_AGAIN if x waits, or
 *   MCP_ERR_NOT_FOUND  the wait is over: the call can be joined, or is gone
 *   MCP_DONE           mcp_join_wait is over, or x cannot read the stream
 */
static int
mcp_join_wait(mcp_exchange_t *x, const mcp_stream_info_t *info)
{
    uint64_t          now;
    mcp_join_wait_t  *wait;

    wait = mcp_join_waits(x);
    now = mcp_worker_now(x->worker);

    if (wait->until == 0) {
        wait->until = now + x->endpoint->join_wait;
    }

    if (!info->held && now >= wait->until) {
        return MCP_DONE;
    }

    x->reader.joins = 1;

    switch (mcp_consumer_attach(x, &info->ref, info->last_seq)) {

    case MCP_OK:
        break;

    case MCP_ERR_NOT_FOUND:
        x->reader.joins = 0;
        return MCP_ERR_NOT_FOUND;

    default:
        x->reader.joins = 0;
        return MCP_DONE;
    }

    /* checks again, because the connection of the call's client may have ended
     * before x was attached, without waking x */

    if (!mcp_join_still(x)) {
        mcp_join_leave(x);
        return MCP_ERR_NOT_FOUND;
    }

    x->reader.woken = mcp_join_woken;
    x->reader.timer.handler = mcp_join_woken;
    x->reader.timer.data = x;
    mcp_join_arm(x);
    mcp_exchange_set_state(x, MCP_EXCHANGE_WAIT);
    x->output.outcome = "pending";

    return MCP_AGAIN;
}


/* --- joining or waiting --- */

/* Joins an equal call or, while it is unknown whether x can join the call,
 * waits. Returns the values of mcp_join(). */
static mcp_next_e
mcp_join_lookup(mcp_exchange_t *x)
{
    int                rc;
    unsigned           n;
    mcp_next_e         next;
    mcp_stream_info_t  info;

    for (n = 0; n < MCP_JOIN_TRIES; n++) {

        rc = mcp_join_find(x, &info);

        if (rc == MCP_ERR_DENIED) {
            return mcp_respond_fault(x, MCP_FAULT_PARAMS, x->msg->id,
                                     mcp_str("\"idempotencyKey\" is already "
                                             "used by a call with other "
                                             "parameters"));
        }

        if (rc != MCP_OK) {
            break;
        }

        if (!mcp_join_is_undecided(x, &info)) {
            next = mcp_join_attach(x, &info);

            if (next != MCP_NEXT_CONTINUE) {
                return next;
            }

            continue;
        }

        rc = mcp_join_wait(x, &info);

        if (rc == MCP_AGAIN) {
            return MCP_NEXT_WAIT;
        }

        if (rc == MCP_DONE) {

            /* x cannot wait any longer: without a key, x starts a call of its
             * own; with a key, x gets an error, because the tool must not be
             * executed twice */

            if (!x->join->once) {
                return mcp_respond_fault(x, MCP_FAULT_STORE_FULL, x->msg->id,
                                         mcp_null_str);
            }

            x->join = NULL;
            break;
        }
    }

    return MCP_NEXT_CONTINUE;
}


mcp_next_e
mcp_join(mcp_exchange_t *x, const mcp_routing_t *v)
{
    switch (mcp_join_set(x, v)) {

    case MCP_OK:
        return mcp_join_lookup(x);

    case MCP_DONE:
        return MCP_NEXT_CONTINUE;

    case MCP_ERR_SYNTAX:
        return mcp_respond_fault(x, MCP_FAULT_PARAMS, x->msg->id,
                                 mcp_str("\"idempotencyKey\" must be a string "
                                         "of 1 to 255 visible ASCII characters "
                                         "without backslashes"));

    default:
        return MCP_NEXT_ERROR;
    }
}


static mcp_fault_e
mcp_join_fault(int rc)
{
    switch (rc) {
    case MCP_ERR_FULL:
        return MCP_FAULT_STORE_FULL;
    case MCP_ERR_MEMORY:
        return MCP_FAULT_INTERNAL;
    default:
        return MCP_FAULT_CLUSTER_UNREACHABLE;
    }
}


/* Handles the result rc of mcp_operation_first(). If the call of x is the first
 * of the equal calls at all nodes, starts the call. Otherwise frees the call,
 * and tries to join the first one. */
static void
mcp_join_claimed(mcp_exchange_t *x, int rc)
{
    if (rc == MCP_OK) {
        (void) mcp_dispatch_start(x, x->call);
        return;
    }

    mcp_call_undo(x->call);

    if ((rc == MCP_ERR_EXISTS || rc == MCP_ERR_NOT_FOUND)
        && mcp_join_waits(x)->tries++ < MCP_JOIN_CLAIMS)
    {
        mcp_join_waits(x)->known = (rc == MCP_ERR_EXISTS);
        mcp_join_again(x);
        return;
    }

    mcp_join_refuse(x, mcp_join_fault(rc));
}


/* Registers the call in the cluster, or does nothing without a cluster. Returns
 * the values of mcp_join_begin(). */
static mcp_next_e
mcp_join_claim(mcp_exchange_t *x, mcp_call_t *call)
{
    int  rc;

    rc = mcp_operation_first(x, &call->ref, mcp_join_claimed);

    if (rc == MCP_AGAIN) {
        x->output.outcome = "pending";
        return MCP_NEXT_WAIT;
    }

    if (rc == MCP_OK) {
        return MCP_NEXT_CONTINUE;
    }

    mcp_call_undo(call);

    return mcp_respond_fault(x, mcp_join_fault(rc), x->msg->id, mcp_null_str);
}


mcp_next_e
mcp_join_begin(mcp_exchange_t *x, mcp_call_t *call, const mcp_routing_t *v)
{
    int         rc;
    mcp_next_e  next;

    rc = mcp_call_reserve(call);

    switch (rc) {

    case MCP_OK:
        return mcp_join_claim(x, call);

    case MCP_ERR_EXISTS:
    case MCP_ERR_DENIED:

        /* another request of this node has created an equal call in the
         * meantime: tries to join the equal call */

        next = mcp_join_lookup(x);

        return next == MCP_NEXT_CONTINUE ? mcp_dispatch_make(x, v) : next;

    default:
        return mcp_respond_no_room(x, rc, x->msg->id);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Calls that are asked for again, of tools with "x-mcp-join": by a key that the
 * client sends, or by the same arguments of the same caller once the connection
 * was lost that had asked for them.  Who joins reads the call's stream beside
 * the one who began it: what is still to come, and the response under an id of
 * its own.
 *
 * By its arguments alone a call may only be taken for another one whose client
 * has not got the response.  While that one's connection seems to live, nobody
 * knows: the second call waits until it is known, or for join_wait.
 */

#include "exchange/mcp_join.h"
#include "exchange/mcp_task.h"
#include "rpc/mcp_digest.h"
#include "worker/mcp_answer.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_exchange_state.h"
#include "worker/mcp_hook.h"


/* The longest key. */
#define MCP_JOIN_KEY_MAX  255

/* Looks for a call that comes and goes in between. */
#define MCP_JOIN_TRIES    4


/* What is kept beside what x->join points to, while a request waits. */
typedef struct {
    mcp_join_t       ask;
    mcp_verdict_t    verdict;
    uint64_t         until;            /* 0: it has not waited yet */
} mcp_join_wait_t;

#define mcp_join_waits(x)  ((mcp_join_wait_t *) (void *) (x)->join)


static void mcp_join_last(mcp_exchange_t *x);
static int mcp_join_stays(mcp_exchange_t *x);
static int mcp_join_look(mcp_exchange_t *x);


static const mcp_face_reader_t  mcp_join_reader = {
    .read = mcp_consumer_copy,
    .stays = mcp_join_stays,
    .last = mcp_join_last
};

static const mcp_face_t  mcp_join_face = {
    .name = { "join", 4 },
    .reader = &mcp_join_reader
};


/* --- what is asked for --- */

static int
mcp_join_key_ok(const mcp_json_value_t *value)
{
    size_t         i;
    unsigned char  c;

    /* raw, with its quotes */

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


/* Finds the key, which may stand in _meta or beside it, or in both places; it
 * is empty if there is none.  0: it is wrong. */
static int
mcp_join_key(const mcp_rpc_t *msg, mcp_str_t *key)
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


/* Whether calls of this tool may be joined, and by what. */
static mcp_join_e
mcp_join_how(const mcp_exchange_t *x, const mcp_verdict_t *v)
{
    mcp_policy_t  policy;

    if (x->endpoint->catalog == NULL
        || !mcp_catalog_joins(x->endpoint->catalog)
        || v->method->want != MCP_WANT_TOOL

        /* a round of its own, or the rest of another call */

        || x->msg->request_state.type != MCP_JSON_NONE
        || x->msg->input_responses.type != MCP_JSON_NONE
        || x->msg->resume_token.type != MCP_JSON_NONE
        || x->msg->meta_resume_token.type != MCP_JSON_NONE)
    {
        return MCP_JOIN_NOT;
    }

    mcp_endpoint_policy(x->endpoint, v->method->name, v->name, &policy);

    /* nobody can say whether the client of a task has got its id */

    if (policy.join == MCP_JOIN_ARGUMENTS && policy.task > MCP_TASK_AUTO
        && mcp_policy_is_task(&policy, x->client.capabilities))
    {
        return MCP_JOIN_KEY;
    }

    return (mcp_join_e) policy.join;
}


/* Results differ by revision: only clients of the same one join each other. */
static int
mcp_join_digest(mcp_exchange_t *x, const mcp_verdict_t *v, mcp_str_t key,
    mcp_join_t *ask)
{
    int        rc;
    mcp_str_t  parts[7];

    rc = mcp_digest_params(&x->worker->env->mem, x->msg->params.raw,
                           x->endpoint->max_depth, ask->params);
    if (rc != MCP_OK) {
        return rc;
    }

    ask->once = (key.len == 0);

    parts[0] = ask->once ? mcp_str("join by arguments")
                         : mcp_str("join by key");
    parts[1] = (mcp_str_t) { (const char *) x->endpoint->place,
                             MCP_DIGEST_LEN };
    parts[2] = (mcp_str_t) { (const char *) x->client.principal,
                             MCP_DIGEST_LEN };
    parts[3] = mcp_revision(x->client.revision)->name;
    parts[4] = v->method->name;
    parts[5] = v->name;
    parts[6] = ask->once ? (mcp_str_t) { (const char *) ask->params,
                                         MCP_DIGEST_LEN }
                         : key;

    return mcp_digest(ask->digest, parts, 7);
}


/* Sets x->join to what is asked for.  MCP_OK; MCP_DONE: nobody may join it;
 * MCP_ERR_SYNTAX: the key is wrong; or MCP_ERR_MEMORY. */
static int
mcp_join_ask(mcp_exchange_t *x, const mcp_verdict_t *v)
{
    mcp_str_t         key;
    mcp_join_e        how;
    mcp_join_wait_t  *wait;

    static const unsigned char  nobody[MCP_DIGEST_LEN];

    how = mcp_join_how(x, v);

    if (how == MCP_JOIN_NOT) {
        return MCP_DONE;
    }

    if (!mcp_join_key(x->msg, &key)) {
        return MCP_ERR_SYNTAX;
    }

    if (key.len == 0
        && (how != MCP_JOIN_ARGUMENTS
            || memcmp(x->client.principal, nobody, MCP_DIGEST_LEN) == 0))
    {
        return MCP_DONE;
    }

    wait = mcp_arena_calloc(&x->arena, sizeof(mcp_join_wait_t));

    if (wait == NULL || mcp_join_digest(x, v, key, &wait->ask) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    wait->verdict = *v;
    x->join = &wait->ask;

    return MCP_OK;
}


/* --- those who have joined --- */

/* Nobody takes their place. */
static int
mcp_join_stays(mcp_exchange_t *x)
{
    (void) x;

    return 0;
}


/* The call was cancelled, or is gone: there is no response. */
static void
mcp_join_last(mcp_exchange_t *x)
{
    if (x->reader.answered) {
        return;
    }

    mcp_buf_lit(&x->answer.out, "data: ");
    mcp_fault_write(&x->answer.out, x->client.revision, x->msg->id,
                    MCP_FAULT_JOINED, mcp_null_str, mcp_null_str);
    mcp_buf_lit(&x->answer.out, "\n\n");
}


/* The event after which to read: all that is kept where the client of the call
 * is asked, which nobody may have read. */
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
                     "call %s of \"%s\" joined by another request", id,
                     info->name);
    }
}


static void
mcp_join_joined(mcp_exchange_t *x, const mcp_stream_info_t *info)
{
    mcp_store_count(x->worker->store, MCP_COUNT_JOINED, 1);
    mcp_join_log(x, info);
}


/* Answers with the task that the call is, as its client was. */
static int
mcp_join_task(mcp_exchange_t *x, const mcp_stream_info_t *info)
{
    int            rc;
    mcp_task_id_t  id;

    memcpy(id.stream, info->ref.id, MCP_STREAM_ID_LEN);
    id.created = info->kept;
    id.ttl = info->expires - info->kept;

    x->answer.out.len = 0;
    rc = mcp_task_created(x, &id, info->state, info->changed);

    if (rc != MCP_OK) {
        return mcp_answer_fault(x, MCP_FAULT_INTERNAL, x->msg->id,
                                mcp_null_str);
    }

    x->reader.joins = 1;
    mcp_join_joined(x, info);

    return mcp_answer_json(x);
}


/* Makes x one who reads beside the consumer, unless the call is a task that its
 * client knows how to ask for.  MCP_ERR_NOT_FOUND: the call has gone. */
static int
mcp_join_attach(mcp_exchange_t *x, const mcp_stream_info_t *info)
{
    if (info->expires && (x->client.capabilities & MCP_CLIENT_TASKS)) {
        return mcp_join_task(x, info);
    }

    x->reader.joins = 1;
    x->reader.bound = 1;
    x->reader.same_session = x->client.has_session
                             && memcmp(x->client.id, info->session,
                                       MCP_DIGEST_LEN) == 0;
    x->face = &mcp_join_face;

    switch (mcp_consumer_start(x, &info->ref, mcp_join_after(info))) {

    case MCP_OK:
        mcp_join_joined(x, info);
        return MCP_DONE;

    case MCP_ERR_NOT_FOUND:
        x->reader.joins = 0;
        x->reader.bound = 0;
        x->face = x->worker->faces[0];
        return MCP_ERR_NOT_FOUND;

    case MCP_ERR_LIMIT:
        return mcp_answer_fault(x, MCP_FAULT_TOO_MANY_STREAMS, x->msg->id,
                                mcp_null_str);

    case MCP_ERR_FULL:
        return mcp_answer_fault(x, MCP_FAULT_STORE_FULL, x->msg->id,
                                mcp_null_str);

    default:
        return MCP_ERR_MEMORY;
    }
}


/* --- those who wait --- */

static int
mcp_join_find(mcp_exchange_t *x, mcp_stream_info_t *info)
{
    mcp_stream_spec_t  spec;

    memset(&spec, 0, sizeof(mcp_stream_spec_t));
    spec.join = x->join->digest;
    spec.join_once = x->join->once;
    memcpy(spec.params, x->join->params, MCP_DIGEST_LEN);

    return mcp_store_join_find(x->worker->store, &spec,
                               mcp_worker_now(x->worker), info);
}


/* Whether nobody can say yet if the call is to be joined. */
static int
mcp_join_is_open(const mcp_exchange_t *x, const mcp_stream_info_t *info)
{
    return x->join->once && info->consumer_slot != MCP_STORE_NO_SLOT;
}


/* One who waits is told of every event, but few of them matter. */
static int
mcp_join_still(mcp_exchange_t *x)
{
    mcp_stream_info_t  info;

    return mcp_worker_now(x->worker) < mcp_join_waits(x)->until
           && mcp_join_find(x, &info) == MCP_OK
           && memcmp(info.ref.id, x->reader.ref.id, MCP_STREAM_ID_LEN) == 0
           && mcp_join_is_open(x, &info);
}


static void
mcp_join_leave(mcp_exchange_t *x)
{
    mcp_timer_del(&x->worker->timers, &x->reader.timer);
    mcp_consumer_detach(x);
    x->reader.joins = 0;
}


static void
mcp_join_woken(void *data)
{
    int              rc;
    mcp_exchange_t  *x;
    mcp_verdict_t    v;

    x = data;

    if (mcp_join_still(x)) {
        return;
    }

    mcp_join_leave(x);
    mcp_exchange_set_state(x, MCP_EXCHANGE_BODY);

    v = mcp_join_waits(x)->verdict;
    rc = mcp_join_look(x);

    if (rc == MCP_ERR_NOT_FOUND) {
        rc = mcp_dispatch_make(x, &v);
    }

    if (rc == MCP_AGAIN) {
        return;
    }

    if (rc != MCP_OK && rc != MCP_DONE) {
        mcp_answer_status(x, 500);
    }

    x->errand.action.type = rc == MCP_DONE ? MCP_ACT_STREAM : MCP_ACT_RESPOND;
    mcp_worker_queue(x->worker, &x->errand);
}


/* Waits for what becomes of the connection that began the call.  MCP_AGAIN, or
 * MCP_ERR_NOT_FOUND: the call, or that connection, has gone; or MCP_DONE: there
 * is no waiting. */
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

    if (now >= wait->until) {
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

    /* that may have been before there was anybody to tell */

    if (!mcp_join_still(x)) {
        mcp_join_leave(x);
        return MCP_ERR_NOT_FOUND;
    }

    x->reader.woken = mcp_join_woken;
    x->reader.timer.handler = mcp_join_woken;
    x->reader.timer.data = x;
    mcp_timer_set(&x->worker->timers, &x->reader.timer, wait->until);
    mcp_exchange_set_state(x, MCP_EXCHANGE_WAIT);
    x->answer.outcome = "pending";

    return MCP_AGAIN;
}


/* --- both --- */

/* Joins what is there, or waits; see mcp_join(). */
static int
mcp_join_look(mcp_exchange_t *x)
{
    int                rc;
    unsigned           n;
    mcp_stream_info_t  info;

    for (n = 0; n < MCP_JOIN_TRIES; n++) {

        rc = mcp_join_find(x, &info);

        if (rc == MCP_ERR_DENIED) {
            return mcp_answer_fault(x, MCP_FAULT_PARAMS, x->msg->id,
                                    mcp_str("\"idempotencyKey\" is that of a "
                                            "call with other parameters"));
        }

        if (rc != MCP_OK) {
            break;
        }

        rc = mcp_join_is_open(x, &info) ? mcp_join_wait(x, &info)
                                        : mcp_join_attach(x, &info);

        if (mcp_join_is_open(x, &info) && rc == MCP_DONE) {

            /* it is on its own */

            x->join = NULL;
            break;
        }

        if (rc != MCP_ERR_NOT_FOUND) {
            return rc;
        }
    }

    return MCP_ERR_NOT_FOUND;
}


int
mcp_join(mcp_exchange_t *x, const mcp_verdict_t *v)
{
    switch (mcp_join_ask(x, v)) {

    case MCP_OK:
        return mcp_join_look(x);

    case MCP_DONE:
        return MCP_ERR_NOT_FOUND;

    case MCP_ERR_SYNTAX:
        return mcp_answer_fault(x, MCP_FAULT_PARAMS, x->msg->id,
                                mcp_str("\"idempotencyKey\" must be a string "
                                        "of 1 to 255 visible ASCII "
                                        "characters without \\"));

    default:
        return MCP_ERR_MEMORY;
    }
}


int
mcp_join_begin(mcp_exchange_t *x, mcp_call_t *call, const mcp_verdict_t *v)
{
    int          rc;
    mcp_fault_e  fault;

    rc = mcp_call_reserve(call);

    switch (rc) {

    case MCP_OK:
        return MCP_ERR_NOT_FOUND;

    case MCP_ERR_EXISTS:
    case MCP_ERR_DENIED:

        /* somebody was faster */

        rc = mcp_join_look(x);

        return rc == MCP_ERR_NOT_FOUND ? mcp_dispatch_make(x, v) : rc;

    case MCP_ERR_LIMIT:
        fault = MCP_FAULT_TOO_MANY_STREAMS;
        break;

    case MCP_ERR_FULL:
        fault = MCP_FAULT_STORE_FULL;
        break;

    default:
        return MCP_ERR_MEMORY;
    }

    return mcp_answer_fault(x, fault, x->msg->id, mcp_null_str);
}

/* SPDX-License-Identifier: Apache-2.0 */

#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_exchange_set_state.h"
#include "worker/mcp_respond.h"


/* Delay until an entry function runs again after MCP_ERR_AHEAD, ms. This result
 * means that the client has an event that the cluster does not have yet. */
#define MCP_OPERATION_AHEAD_LOOKUP  25


/* The operations of an exchange, and its entry function. */
struct mcp_operations_s {
    mcp_next_e         (*entry)(mcp_exchange_t *x);
    mcp_operation_t     *first;
    unsigned             found[MCP_OPERATION_KINDS];   /* for each kind: number
                                                          of operations that
                                                          the entry function
                                                          has requested since
                                                          its last start */
    size_t               headers;      /* number of headers of the response
                                          before the first run; restored before
                                          each further run */
    mcp_resume_state_t  *states;       /* states of the resumption methods
                                          before the first run; restored before
                                          each further run */
    mcp_timer_t          timer;
    void               (*then)(mcp_exchange_t *x, int rc);     /* continues the
                                          exchange with the result of the
                                          operation that mcp_operation_defer()
                                          has started */
    uint64_t             begun;        /* time when the entry function was
                                          stored, ms */
    unsigned             late:1;       /* 1: a result was not available in time:
                                          each operation of x now returns
                                          MCP_ERR_UNREACHABLE */
    unsigned             again:1;      /* 1: the timer will run the entry
                                          function again, see
                                          mcp_operation_later() and
                                          mcp_operation_ahead() */
    unsigned             quota:2;      /* 1: the session has many calls; 2: it
                                          does not; 0: this was not looked up
                                          yet */
    unsigned             acted:1;      /* 1: mcp_operation_once() was called */
};


static void mcp_operation_retry(void *data);


void
mcp_broadcast_make(mcp_broadcast_t *broadcast, mcp_broadcast_e what,
    const unsigned char key[MCP_DIGEST_LEN],
    const unsigned char session[MCP_DIGEST_LEN], uint32_t value,
    uint64_t expires)
{
    memset(broadcast, 0, sizeof(mcp_broadcast_t));

    broadcast->what = what;
    memcpy(broadcast->key, key, MCP_DIGEST_LEN);
    memcpy(broadcast->session, session, MCP_DIGEST_LEN);
    broadcast->value = value;
    broadcast->expires = expires;
}


static void
mcp_operation_timer(mcp_exchange_t *x, void (*handler)(void *data), uint64_t ms)
{
    x->operations->timer.handler = handler;
    x->operations->timer.data = x;
    mcp_timer_set(&x->worker->timers, &x->operations->timer,
                  mcp_worker_now(x->worker) + ms);
}


/* Stores the entry function of an exchange, and the headers and states that
 * mcp_operation_entry() restores before each run. Returns MCP_OK or
 * MCP_ERR_MEMORY. */
static int
mcp_operation_note(mcp_exchange_t *x, mcp_next_e (*entry)(mcp_exchange_t *x))
{
    mcp_operations_t  *operations;

    operations = mcp_arena_calloc(&x->arena, sizeof(mcp_operations_t));
    if (operations == NULL) {
        return MCP_ERR_MEMORY;
    }

    operations->entry = entry;
    operations->begun = mcp_worker_now(x->worker);
    operations->headers = x->output.response.n_headers;
    operations->states = x->states;
    x->operations = operations;

    return MCP_OK;
}


mcp_next_e
mcp_operation_after_body(mcp_exchange_t *x,
    mcp_next_e (*entry)(mcp_exchange_t *x))
{
    if (x->worker->cluster == NULL) {
        x->entry = entry;

    } else if (mcp_operation_note(x, entry) != MCP_OK) {
        return MCP_NEXT_ERROR;
    }

    mcp_exchange_set_state(x, MCP_EXCHANGE_BODY);

    return MCP_NEXT_BODY;
}


mcp_next_e
mcp_operation_begin(mcp_exchange_t *x, mcp_next_e (*entry)(mcp_exchange_t *x))
{
    return x->worker->cluster ? mcp_operation_after_body(x, entry) : entry(x);
}


mcp_next_e
mcp_operation_now(mcp_exchange_t *x, mcp_next_e (*entry)(mcp_exchange_t *x))
{
    if (x->worker->cluster == NULL) {
        return entry(x);
    }

    return mcp_operation_note(x, entry) == MCP_OK ? mcp_operation_entry(x)
                                                 : MCP_NEXT_ERROR;
}


/* Runs the entry function of an exchange. An earlier run may have written a
 * part of a response before it stopped: first drops its headers, body and
 * states. */
mcp_next_e
mcp_operation_entry(mcp_exchange_t *x)
{
    mcp_operations_t  *operations;

    operations = x->operations;
    memset(operations->found, 0, sizeof(operations->found));
    operations->again = 0;

    x->output.out.len = 0;
    x->output.response.n_headers = operations->headers;
    x->states = operations->states;

    return operations->entry(x);
}


void
mcp_operation_free(mcp_operation_t *op)
{
    size_t            i;
    const mcp_mem_t  *mem;

    mem = &op->worker->env->mem;

    for (i = 0; i < op->n_found; i++) {
        if (op->found[i].event.len) {
            mcp_mem_free(mem, (void *) (uintptr_t) op->found[i].event.data);
        }
    }

    mcp_mem_free(mem, op->found);
    mcp_mem_free(mem, op);
}


/* Discards all operations of an exchange. Finished ones are freed; a pending
 * one is detached, and is freed when its result arrives. */
static void
mcp_operation_drop(mcp_operations_t *operations)
{
    mcp_operation_t  *op, *next;

    for (op = operations->first; op; op = next) {
        next = op->next;

        if (op->rc == MCP_AGAIN) {
            op->x = NULL;
            op->handler = NULL;

        } else {
            mcp_operation_free(op);
        }
    }

    operations->first = NULL;
}


static void
mcp_operation_late(void *data)
{
    mcp_exchange_t  *x;

    x = data;

    mcp_operation_drop(x->operations);
    x->operations->late = 1;

    mcp_operation_retry(x);
}


int
mcp_operation_later(mcp_exchange_t *x, uint64_t ms, uint64_t limit)
{
    mcp_operations_t  *operations;

    operations = x->operations;

    if (operations == NULL || operations->late || x->worker->stopping
        || mcp_worker_now(x->worker) >= operations->begun + limit)
    {
        return MCP_OK;
    }

    mcp_operation_drop(operations);
    operations->again = 1;
    mcp_operation_timer(x, mcp_operation_retry, ms);
    mcp_exchange_set_state(x, MCP_EXCHANGE_CLUSTER_WAIT);

    return MCP_AGAIN;
}


mcp_operation_t *
mcp_operation_create(mcp_worker_t *worker, mcp_exchange_t *x)
{
    mcp_operation_t  *op;

    op = mcp_mem_calloc(&worker->env->mem, sizeof(mcp_operation_t));

    if (op) {
        op->x = x;
        op->worker = worker;
        op->rc = MCP_AGAIN;
    }

    return op;
}


/* Adds a started operation to the end of its exchange's list. Later runs of the
 * entry function find the operation by the order of this list. */
static void
mcp_operation_add(mcp_exchange_t *x, mcp_operation_t *op)
{
    mcp_operation_t  **link;

    link = &x->operations->first;

    while (*link) {
        link = &(*link)->next;
    }

    *link = op;
}


/* Starts an operation and returns its result. If the result is MCP_AGAIN, the
 * exchange then waits for the final result, for at most MCP_OPERATION_TIME. */
static int
mcp_operation_start(mcp_exchange_t *x, mcp_operation_t *op,
    const mcp_operation_spec_t *spec)
{
    op->spec = *spec;
    op->rc = x->worker->cluster_hooks->start(x->worker->cluster, spec, op);

    if (op->rc == MCP_AGAIN) {
        mcp_operation_timer(x, mcp_operation_late, MCP_OPERATION_TIME);
        mcp_exchange_set_state(x, MCP_EXCHANGE_CLUSTER_WAIT);
    }

    return op->rc;
}


/*
 * Handles MCP_ERR_AHEAD: the client has an event that the cluster lacks. The
 * cluster has queried the owner's node, whose reply is due soon. So a timer
 * runs the entry function again, and only this operation is then started again.
 * The other operations of the exchange keep their results, because they must
 * not be repeated. Returns MCP_AGAIN, or MCP_ERR_UNREACHABLE after
 * MCP_OPERATION_TIME or if the process shuts down.
 */
static int
mcp_operation_ahead(mcp_exchange_t *x, mcp_operation_t *op)
{
    mcp_operations_t  *operations;

    operations = x->operations;

    if (x->worker->stopping
        || mcp_worker_now(x->worker) >= operations->begun + MCP_OPERATION_TIME)
    {
        return MCP_ERR_UNREACHABLE;
    }

    op->repeats = 1;
    operations->again = 1;
    mcp_operation_timer(x, mcp_operation_retry, MCP_OPERATION_AHEAD_LOOKUP);
    mcp_exchange_set_state(x, MCP_EXCHANGE_CLUSTER_WAIT);

    return MCP_AGAIN;
}


/* Starts an operation, or finds the result from an earlier run of the entry
 * function. Returns the values of mcp_operation(). Sets *op to the operation,
 * from which the caller can read further results, or to NULL if there is no
 * operation. After MCP_AGAIN, *op has no results yet. */
static int
mcp_operation_run(mcp_exchange_t *x, const mcp_operation_spec_t *spec,
    mcp_operation_t **op)
{
    unsigned           n;
    mcp_operations_t  *operations;

    operations = x->operations;
    *op = NULL;

    if (operations == NULL || operations->late) {
        return operations ? MCP_ERR_UNREACHABLE : MCP_OK;
    }

    /* the entry function is called again after a time: an operation that starts
     * now would get the result of another one then */

    if (operations->again) {
        return MCP_AGAIN;
    }

    n = operations->found[spec->kind]++;

    for (*op = operations->first; *op; *op = (*op)->next) {
        if ((*op)->spec.kind == spec->kind && n-- == 0) {
            break;
        }
    }

    if (*op == NULL) {
        *op = mcp_operation_create(x->worker, x);
        if (*op == NULL) {
            return MCP_ERR_MEMORY;
        }

        if (mcp_operation_start(x, *op, spec) == MCP_ERR_MEMORY) {
            mcp_operation_free(*op);
            *op = NULL;
            return MCP_ERR_MEMORY;
        }

        mcp_operation_add(x, *op);

    } else if ((*op)->repeats) {
        (*op)->repeats = 0;
        (void) mcp_operation_start(x, *op, spec);
    }

    return (*op)->rc == MCP_ERR_AHEAD ? mcp_operation_ahead(x, *op) : (*op)->rc;
}


int
mcp_operation(mcp_exchange_t *x, const mcp_operation_spec_t *spec)
{
    mcp_operation_t  *op;

    return mcp_operation_run(x, spec, &op);
}


int
mcp_operation_stream(mcp_exchange_t *x, mcp_operation_kind_e kind,
    const mcp_operation_stream_t *stream)
{
    mcp_operation_spec_t  spec;

    spec.kind = kind;
    spec.stream = *stream;

    return mcp_operation(x, &spec);
}


const mcp_found_t *
mcp_operation_found(const mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    const mcp_operation_t  *op;

    for (op = x->operations ? x->operations->first : NULL; op; op = op->next) {
        if (op->n_found == 1
            && memcmp(op->found->lookup.info.ref.id, id, MCP_STREAM_ID_LEN)
                   == 0)
        {
            return op->found;
        }
    }

    return NULL;
}


const mcp_found_t *
mcp_operation_found_at(const mcp_exchange_t *x, size_t i)
{
    const mcp_operation_t  *op;

    op = x->operations ? x->operations->first : NULL;

    while (op && op->spec.kind != MCP_OPERATION_LIST) {
        op = op->next;
    }

    return op && i < op->n_found ? &op->found[i] : NULL;
}


int
mcp_operation_client_input(mcp_exchange_t *x,
    const mcp_operation_client_input_t *input)
{
    mcp_operation_spec_t  spec;

    spec.kind = MCP_OPERATION_CLIENT_INPUT;
    spec.input = *input;

    return x->operations ? mcp_operation(x, &spec)
                         : mcp_operation_send(x->worker, &spec, NULL, NULL);
}


int
mcp_operation_once(mcp_exchange_t *x)
{
    if (x->operations->acted) {
        return 0;
    }

    x->operations->acted = 1;

    return 1;
}


int
mcp_operation_waits(const mcp_exchange_t *x)
{
    const mcp_operation_t  *op;

    if (x->operations && x->operations->again) {
        return 1;
    }

    for (op = x->operations ? x->operations->first : NULL; op; op = op->next) {
        if (op->rc == MCP_AGAIN) {
            return 1;
        }
    }

    return 0;
}


int
mcp_operation_send(mcp_worker_t *worker, const mcp_operation_spec_t *spec,
    void (*handler)(void *data, int rc), void *data)
{
    int               rc;
    mcp_operation_t  *op;

    if (worker->cluster == NULL) {
        return MCP_OK;
    }

    if (handler == NULL) {
        return worker->cluster_hooks->start(worker->cluster, spec, NULL);
    }

    op = mcp_operation_create(worker, NULL);
    if (op == NULL) {
        return MCP_ERR_MEMORY;
    }

    op->handler = handler;
    op->data = data;

    rc = worker->cluster_hooks->start(worker->cluster, spec, op);

    if (rc != MCP_AGAIN) {
        mcp_operation_free(op);
    }

    return rc;
}


int
mcp_operation_broadcast(mcp_worker_t *worker, const mcp_broadcast_t *broadcast)
{
    mcp_operation_spec_t  spec;

    spec.kind = MCP_OPERATION_BROADCAST;
    spec.broadcast = *broadcast;

    return mcp_operation_send(worker, &spec, NULL, NULL);
}


int
mcp_operation_is_unreachable(const mcp_worker_t *worker)
{
    return worker->cluster
           && worker->cluster_hooks->is_unreachable(worker->cluster);
}


int
mcp_operation_clock(const mcp_worker_t *worker)
{
    return worker->cluster ? worker->cluster_hooks->clock(worker->cluster)
                           : MCP_OK;
}


void
mcp_operation_replicate(mcp_worker_t *worker, const mcp_stream_ref_t *ref,
    uint32_t limit)
{
    if (worker->cluster) {
        worker->cluster_hooks->replicate(worker->cluster, ref, limit);
    }
}


/* Runs the entry function of an exchange again. If the function returns a
 * response or an error, queues the action that sends it. */
static void
mcp_operation_retry(void *data)
{
    mcp_exchange_t  *x;

    x = data;
    mcp_timer_del(&x->worker->timers, &x->operations->timer);

    mcp_answer_next(x, mcp_operation_entry(x));
}


/* Continues an exchange that waits in mcp_operation_defer(): discards all its
 * operations, and passes the result to operations->then(). */
static void
mcp_operation_continue(mcp_exchange_t *x, int rc)
{
    mcp_timer_del(&x->worker->timers, &x->operations->timer);
    mcp_operation_drop(x->operations);
    x->operations->then(x, rc);
}


void
mcp_operation_complete(mcp_operation_t *op, int rc)
{
    mcp_operation_t  *other;

    if (op->handler) {
        op->rc = rc;
        op->handler(op->data, rc);

        /* an operation of mcp_operation_lookup() belongs to its exchange,
         * which frees it */

        if (op->x == NULL) {
            mcp_operation_free(op);
        }

        return;
    }

    if (op->x == NULL) {
        mcp_operation_free(op);
        return;
    }

    op->rc = rc;

    if (op->defers) {
        mcp_operation_continue(op->x, rc);
        return;
    }

    for (other = op->x->operations->first; other; other = other->next) {
        if (other->rc == MCP_AGAIN) {
            return;
        }
    }

    mcp_operation_retry(op->x);
}


void
mcp_operation_leave(mcp_exchange_t *x)
{
    if (x->operations) {
        mcp_timer_del(&x->worker->timers, &x->operations->timer);
        mcp_operation_drop(x->operations);
    }
}


/* --- permissions that depend on all nodes: one more call of a session, and the
 * use of a resume token --- */

/* Returns 1 if a broadcast has marked the session as having many calls. The
 * result of the first run is kept for the later runs of the entry function. */
static int
mcp_operation_is_crowded(mcp_exchange_t *x)
{
    int       rc;
    uint32_t  many;

    if (x->operations->quota == 0) {
        rc = mcp_store_value_get(x->worker->store, MCP_VALUE_CROWDED,
                                 x->client.id, mcp_worker_now(x->worker),
                                 &many);
        x->operations->quota = rc == MCP_OK ? 1 : 2;
    }

    return x->operations->quota == 1;
}


int
mcp_operation_quota(mcp_exchange_t *x, uint32_t limit)
{
    mcp_operation_spec_t  spec;

    if (x->operations == NULL || limit == 0 || !mcp_operation_is_crowded(x)) {
        return MCP_OK;
    }

    spec.kind = MCP_OPERATION_QUOTA;
    memcpy(spec.quota.session, x->client.id, MCP_DIGEST_LEN);
    spec.quota.limit = limit;

    return mcp_operation(x, &spec);
}


static void
mcp_operation_token_spec(mcp_operation_spec_t *spec, mcp_operation_token_e what,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t expires)
{
    memset(spec, 0, sizeof(mcp_operation_spec_t));
    spec->kind = MCP_OPERATION_TOKEN;
    spec->token.what = what;
    memcpy(spec->token.key, key, MCP_DIGEST_LEN);
    spec->token.expires = expires;
}


int
mcp_operation_token(mcp_exchange_t *x, const unsigned char key[MCP_DIGEST_LEN],
    uint64_t expires, uint32_t *value)
{
    int                    rc;
    mcp_operation_t       *op;
    mcp_operation_spec_t   spec;

    mcp_operation_token_spec(&spec, MCP_OPERATION_TOKEN_TAKE, key, expires);
    rc = mcp_operation_run(x, &spec, &op);
    *value = op ? op->value : 0;

    return rc;
}


void
mcp_operation_token_give(mcp_worker_t *worker,
    const unsigned char key[MCP_DIGEST_LEN])
{
    mcp_operation_spec_t  spec;

    mcp_operation_token_spec(&spec, MCP_OPERATION_TOKEN_GIVE, key, 0);
    (void) mcp_operation_send(worker, &spec, NULL, NULL);
}


void
mcp_operation_token_drop(mcp_worker_t *worker,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t expires, uint32_t value)
{
    mcp_operation_spec_t  spec;

    mcp_operation_token_spec(&spec, MCP_OPERATION_TOKEN_DROP, key, expires);
    spec.token.value = value;
    (void) mcp_operation_send(worker, &spec, NULL, NULL);
}


void
mcp_operation_token_set(mcp_worker_t *worker,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t expires, uint32_t value,
    const unsigned char stream[MCP_STREAM_ID_LEN])
{
    mcp_operation_spec_t  spec;

    mcp_operation_token_spec(&spec, MCP_OPERATION_TOKEN_SET, key, expires);
    spec.token.value = value;
    memcpy(spec.token.stream, stream, MCP_STREAM_ID_LEN);
    (void) mcp_operation_send(worker, &spec, NULL, NULL);
}


/* --- lookups for an exchange whose entry function has returned --- */

/* Removes a finished operation from the list of x, and frees it. */
static void
mcp_operation_remove(mcp_exchange_t *x, mcp_operation_t *op)
{
    mcp_operation_t  **p;

    for (p = &x->operations->first; *p != op; p = &(*p)->next) { /* void */ }

    *p = op->next;
    mcp_operation_free(op);
}


int
mcp_operation_lookup(mcp_exchange_t *x, const mcp_operation_stream_t *stream,
    void (*handler)(void *data, int rc), void *data, mcp_operation_t **op)
{
    int               rc;
    mcp_operation_t  *next;

    if (*op) {
        mcp_operation_remove(x, *op);
        *op = NULL;
    }

    if (x->operations == NULL) {
        return MCP_ERR_UNREACHABLE;
    }

    next = mcp_operation_create(x->worker, x);

    if (next == NULL) {
        return MCP_ERR_MEMORY;
    }

    next->handler = handler;
    next->data = data;
    next->spec.kind = MCP_OPERATION_LOOKUP;
    next->spec.stream = *stream;

    rc = x->worker->cluster_hooks->start(x->worker->cluster, &next->spec, next);

    if (rc != MCP_AGAIN) {
        mcp_operation_free(next);
        return rc == MCP_ERR_MEMORY ? rc : MCP_ERR_UNREACHABLE;
    }

    next->next = x->operations->first;
    x->operations->first = next;
    *op = next;

    return MCP_AGAIN;
}


/* --- exchanges that wait until other nodes have a stream of this node, or an
 * event of the stream --- */

static void
mcp_operation_deferred(void *data)
{
    mcp_operation_continue(data, MCP_ERR_UNREACHABLE);
}


/*
 * Waits until the cluster has event seq of the stream, or the stream itself if
 * seq is 0. Returns MCP_AGAIN if then() will be called, with the result or,
 * after MCP_OPERATION_TIME, with MCP_ERR_UNREACHABLE. Otherwise returns the
 * result at once. Without a cluster, the result is MCP_OK.
 */
static int
mcp_operation_defer(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    uint64_t seq, void (*then)(mcp_exchange_t *x, int rc))
{
    int                rc;
    mcp_operation_t   *op;
    mcp_operations_t  *operations;

    operations = x->operations;

    if (operations == NULL || operations->late) {
        return operations ? MCP_ERR_UNREACHABLE : MCP_OK;
    }

    mcp_operation_drop(operations);
    op = mcp_operation_create(x->worker, x);

    if (op == NULL) {
        return MCP_ERR_MEMORY;
    }

    op->defers = 1;
    op->seq = seq;
    operations->first = op;
    operations->then = then;

    rc = x->worker->cluster_hooks->await_replication(x->worker->cluster, ref,
                                                     op);

    if (rc != MCP_AGAIN) {
        op->rc = rc;
        return rc;
    }

    mcp_operation_timer(x, mcp_operation_deferred, MCP_OPERATION_TIME);

    return MCP_AGAIN;
}


int
mcp_operation_first(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    void (*then)(mcp_exchange_t *x, int rc))
{
    int  rc;

    rc = mcp_operation_defer(x, ref, 0, then);

    if (rc == MCP_AGAIN) {
        mcp_exchange_set_state(x, MCP_EXCHANGE_CLUSTER_WAIT);
    }

    return rc;
}


static void
mcp_operation_respond_now(mcp_exchange_t *x, int rc)
{
    (void) rc;

    mcp_respond_ready(x, MCP_ACT_RESPOND);
}


void
mcp_operation_respond(mcp_exchange_t *x, const mcp_stream_ref_t *ref)
{
    mcp_stream_info_t  info;

    if (mcp_store_info(x->worker->store, ref, &info) != MCP_OK
        || info.replicated
        || mcp_operation_defer(x, ref, 0, mcp_operation_respond_now)
               != MCP_AGAIN)
    {
        mcp_respond_ready(x, MCP_ACT_RESPOND);
    }
}


static void
mcp_operation_respond_late(mcp_exchange_t *x, int rc)
{
    if (rc == MCP_ERR_UNREACHABLE && x->reader.handle
        && mcp_consumer_start(x, &x->reader.ref, 0) == MCP_OK)
    {
        mcp_respond_ready(x, MCP_ACT_STREAM);
        return;
    }

    mcp_respond_ready(x, MCP_ACT_RESPOND);
}


void
mcp_operation_respond_with(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    uint64_t seq)
{
    mcp_stream_info_t  info;

    if (mcp_store_info(x->worker->store, ref, &info) != MCP_OK
        || info.last_seq >= seq
        || mcp_operation_defer(x, ref, seq, mcp_operation_respond_late)
               != MCP_AGAIN)
    {
        mcp_respond_ready(x, MCP_ACT_RESPOND);
    }
}

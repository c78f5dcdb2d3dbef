/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The replications of a process: of its streams, and of mirrors that it feeds.
 * A replication is found by the stream's id. It is checked when the store
 * reports a change, when Redis has replied, and at intervals.
 *
 * Streams that wait for room on the process's link to Redis send commands in
 * the order of the send queue. The replication lag consists of the events of
 * this process that Redis has not acknowledged. While there are such events,
 * the lag is reported to the status at intervals.
 */


#include "cluster/mcp_cluster_replication.h"


/* Maximum number of arguments of a script, without the events' arguments. */
#define MCP_REPLICATION_ARGS  20

/* Interval between two updates of the replication lag in the status, ms. */
#define MCP_LAG_TIME  1000


void
mcp_replication_log_change(const mcp_replication_t *repl, const char *state,
    const char *now, const char *before)
{
    char           id[9];
    mcp_worker_t  *worker;

    worker = repl->cluster->worker;

    if (mcp_worker_logs(worker, MCP_LOG_DEBUG)) {
        mcp_stream_id_short(id, repl->ref.id);
        mcp_worker_log(worker, MCP_LOG_DEBUG,
                       "stream %s: %s is now \"%s\", was \"%s\"", id, state,
                       now, before);
    }
}


void
mcp_replication_set_phase(mcp_replication_t *repl,
    mcp_replication_phase_e phase)
{
    static const char *const  names[] = {
        [MCP_REPLICATION_IDLE] = "idle",
        [MCP_REPLICATION_SEND_QUEUE] = "waiting for room",
        [MCP_REPLICATION_FORGET] = "forget",
        [MCP_REPLICATION_SENT] = "sent",
        [MCP_REPLICATION_WAIT_REPLICAS] = "waiting for replicas",
        [MCP_REPLICATION_DISCARD] = "discard"
    };

    if (repl->phase != phase) {
        mcp_replication_log_change(repl, "replication", names[phase],
                                   names[repl->phase]);
    }

    repl->phase = phase;
}


/* --- the send queue --- */

static void
mcp_send_queue_wait(mcp_replication_t *repl)
{
    mcp_cluster_t  *cluster;

    if (repl->phase == MCP_REPLICATION_SEND_QUEUE) {
        return;
    }

    cluster = repl->cluster;

    if (cluster->waiting == NULL) {
        cluster->waiting_end = &cluster->waiting;
    }

    repl->waits_next = NULL;
    repl->waits = cluster->waiting_end;
    *repl->waits = repl;
    cluster->waiting_end = &repl->waits_next;
    mcp_replication_set_phase(repl, MCP_REPLICATION_SEND_QUEUE);
}


/* Removes a stream from the send queue. */
static void
mcp_replication_wait_no_more(mcp_replication_t *repl)
{
    if (repl->phase != MCP_REPLICATION_SEND_QUEUE) {
        return;
    }

    *repl->waits = repl->waits_next;

    if (repl->waits_next) {
        repl->waits_next->waits = repl->waits;

    } else {
        repl->cluster->waiting_end = repl->waits;
    }

    mcp_replication_set_phase(repl, MCP_REPLICATION_IDLE);
}


int
mcp_replication_may_send(mcp_replication_t *repl)
{
    mcp_cluster_t  *cluster;

    cluster = repl->cluster;

    /* all streams are checked when the process is a member again */

    if (cluster->state != MCP_CLUSTER_MEMBER) {
        return 0;
    }

    /* a stream may send if it is being flushed, if it was just removed from the
     * send queue, or if a client's request waits for it; any other stream may
     * send only if the link has room and the send queue is empty */

    if (cluster->at_once || cluster->allowed == repl
        || (repl->ops && cluster->link.n_pending < MCP_LINK_QUERIED)
        || (mcp_link_has_room(&cluster->link) && cluster->waiting == NULL))
    {
        return 1;
    }

    mcp_send_queue_wait(repl);

    return 0;
}


/* Returns 1 if the first stream in the send queue may send now. "n" is the
 * number of streams that were removed from the send queue since the last
 * replies. At least one stream may send after each reply, even if other
 * commands fill the link. */
static int
mcp_send_queue_is_first(const mcp_cluster_t *cluster, unsigned n)
{
    const mcp_link_t  *link;

    link = &cluster->link;

    return cluster->waiting && cluster->state == MCP_CLUSTER_MEMBER
           && (mcp_link_has_room(link)
               || (n == 0 && link->n_pending < MCP_LINK_QUERIED
                   && mcp_link_bytes(link) < MCP_LINK_REPLICATION_BYTES));
}


void
mcp_replication_continue(mcp_cluster_t *cluster)
{
    unsigned            n;
    mcp_replication_t  *repl;

    for (n = 0; mcp_send_queue_is_first(cluster, n); n++) {
        repl = cluster->waiting;
        mcp_replication_wait_no_more(repl);
        cluster->allowed = repl;
        mcp_replication_check(repl);
        cluster->allowed = NULL;
    }
}


/* --- the replication lag --- */

static void
mcp_lag_add(mcp_replication_t *repl, mcp_node_lag_t *lag)
{
    uint64_t  events, bytes;

    mcp_store_replication_lag(repl->cluster->worker->store, &repl->ref, &events,
                              &bytes);

    if (events == 0) {
        return;
    }

    lag->events += events;
    lag->bytes += bytes;

    if (lag->since == 0 || repl->behind < lag->since) {
        lag->since = repl->behind;
    }
}


static void
mcp_lag_measure(void *data)
{
    size_t              i;
    mcp_replication_t  *repl;
    mcp_worker_t       *worker;
    mcp_cluster_t      *cluster;
    mcp_node_lag_t      lag;

    cluster = data;
    worker = cluster->worker;

    memset(&lag, 0, sizeof(mcp_node_lag_t));

    for (i = 0; i < MCP_CLUSTER_BUCKETS; i++) {
        for (repl = cluster->repls[i]; repl; repl = repl->next) {
            if (repl->behind) {
                mcp_lag_add(repl, &lag);
            }
        }
    }

    mcp_store_node_lag(worker->store, &lag);

    if (lag.events) {
        mcp_timer_set(&worker->timers, &cluster->lag,
                      mcp_worker_now(worker) + MCP_LAG_TIME);
    }
}


void
mcp_lag_init(mcp_cluster_t *cluster)
{
    mcp_node_lag_t  none = { 0, 0, 0 };

    cluster->lag.handler = mcp_lag_measure;
    cluster->lag.data = cluster;
    mcp_store_node_lag(cluster->worker->store, &none);
}


void
mcp_lag_check(mcp_replication_t *repl,
              const mcp_store_replication_state_t *repl_state)
{
    uint64_t        now;
    mcp_cluster_t  *cluster;

    cluster = repl->cluster;

    if (repl_state->acked.seq >= repl_state->own.seq) {
        repl->behind = 0;
        return;
    }

    now = mcp_worker_now(cluster->worker);

    if (repl->behind == 0) {
        repl->behind = now;

    } else if (repl_state->acked.seq > repl->acked && repl->time) {

        /* Redis has acknowledged events since the last check, and the remaining
         * ones were appended after the last command was sent: the lag begins at
         * the time when the command was sent */

        repl->behind = repl->time;
    }

    repl->acked = repl_state->acked.seq;

    if (!mcp_timer_armed(&cluster->lag)) {
        mcp_timer_set(&cluster->worker->timers, &cluster->lag,
                      now + MCP_LAG_TIME);
    }
}


/* --- replications --- */

static mcp_replication_t **
mcp_replication_bucket(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    return &cluster->repls[(id[0] | (size_t) id[1] << 8)
                            % MCP_CLUSTER_BUCKETS];
}


static void
mcp_replication_timer(void *data)
{
    mcp_replication_t  *repl;

    repl = data;
    mcp_mirror_continue(repl);
    mcp_replication_check(repl);
}


mcp_replication_t *
mcp_replication_get(mcp_cluster_t *cluster, const mcp_stream_ref_t *ref)
{
    mcp_replication_t  *repl, **bucket;

    bucket = mcp_replication_bucket(cluster, ref->id);

    for (repl = *bucket; repl; repl = repl->next) {
        if (memcmp(repl->ref.id, ref->id, MCP_STREAM_ID_LEN) == 0) {
            repl->ref = *ref;
            return repl;
        }
    }

    repl =
        mcp_mem_calloc(&cluster->worker->env->mem, sizeof(mcp_replication_t));

    if (repl) {
        repl->cluster = cluster;
        repl->ref = *ref;
        repl->timer.handler = mcp_replication_timer;
        repl->timer.data = repl;
        repl->next = *bucket;
        *bucket = repl;
    }

    return repl;
}


mcp_operation_t *
mcp_replication_acknowledged(mcp_replication_t *repl, uint64_t seq)
{
    mcp_operation_t  *op, *ops, **p, **last;

    last = &ops;

    for (p = &repl->ops; (op = *p) != NULL; ) {
        if (op->seq > seq) {
            p = &op->later;

        } else {
            *p = op->later;
            *last = op;
            last = &op->later;
        }
    }

    *last = NULL;

    return ops;
}


void
mcp_replication_complete(mcp_operation_t *ops, int rc)
{
    mcp_operation_t  *op;

    while (ops) {
        op = ops;
        ops = op->later;
        mcp_operation_complete(op, rc);
    }
}


/* Frees a replication that has no pending command, and completes its operations
 * with MCP_OK. */
static void
mcp_replication_drop(mcp_replication_t *repl)
{
    mcp_operation_t     *ops;
    mcp_replication_t  **p;

    ops = mcp_replication_acknowledged(repl, UINT64_MAX);
    mcp_replication_wait_no_more(repl);
    mcp_timer_del(&repl->cluster->worker->timers, &repl->timer);

    for (p = mcp_replication_bucket(repl->cluster, repl->ref.id); *p != repl;
         p = &(*p)->next)
    {
        /* void */
    }

    *p = repl->next;
    mcp_mem_free(&repl->cluster->worker->env->mem, repl);

    mcp_replication_complete(ops, MCP_OK);
}


void
mcp_replication_within(mcp_replication_t *repl, uint64_t ms)
{
    uint64_t       when;
    mcp_worker_t  *worker;

    worker = repl->cluster->worker;
    when = mcp_worker_now(worker) + ms;

    if (!mcp_timer_armed(&repl->timer) || when < repl->timer.when) {
        mcp_timer_set(&worker->timers, &repl->timer, when);
    }
}


static void
mcp_replication_forgotten(void *data, const mcp_reply_t *reply)
{
    if (reply && !mcp_reply_is(mcp_reply_item(reply, 0), "OK")) {
        mcp_cluster_unexpected_reply(data, "forget", reply);
    }
}


/* Sends redis/forget.lua, which removes a freed stream from Redis. If this
 * process has sent the end of the stream, Redis keeps the stream, provided that
 * Redis has received the end. Returns the values of mcp_link_send(). */
static int
mcp_replication_forget(mcp_replication_t *repl)
{
    char            id[MCP_STREAM_TEXT_LEN];
    mcp_str_t       args[2];
    mcp_cluster_t  *cluster;

    cluster = repl->cluster;

    (void) mcp_stream_id_print(id, repl->ref.id);
    args[0] = (mcp_str_t) { id, MCP_STREAM_TEXT_LEN };
    args[1] = repl->over && !repl->claims ? mcp_str("1") : mcp_str("");

    /* if the command is lost, the stream's keys expire */

    return cluster->state == MCP_CLUSTER_MEMBER
           ? mcp_cluster_run(cluster, MCP_SCRIPT_FORGET, args, 2,
                             mcp_replication_forgotten, cluster)
           : MCP_AGAIN;
}


/*
 * Returns 1 if Redis has to remove a freed stream. Redis has to remove
 *
 * - a stream of this node that this process has sent to Redis, unless Redis
 *   has replied to the command with the stream's end;
 * - a stream that may have a claim in Redis;
 * - a stream of a dead node of which events are lost, because no other node
 *   would end it;
 * - a stream whose removal was postponed (MCP_REPLICATION_FORGET).
 */
static int
mcp_replication_is_forgotten(const mcp_replication_t *repl)
{
    return repl->phase == MCP_REPLICATION_FORGET || repl->claims
           || repl->mirror == MCP_MIRROR_LOST
           || (repl->number == 0 && repl->announced
               && repl->mirror == MCP_MIRROR_NONE
               && (repl->at.state < MCP_STATE_COMPLETED || repl->time == 0));
}


/* Removes a freed stream from Redis if mcp_replication_is_forgotten() returns
 * 1. Returns MCP_OK if there is nothing to remove, or if the command was sent,
 * so that Redis executes it before later commands. Otherwise returns MCP_AGAIN:
 * the stream is checked again later, or when the process is a member again. */
static int
mcp_replication_forget_now(mcp_replication_t *repl)
{
    int  rc;

    rc = mcp_replication_is_forgotten(repl) ? mcp_replication_forget(repl)
                                            : MCP_OK;

    if (rc != MCP_OK) {
        mcp_replication_set_phase(repl, MCP_REPLICATION_FORGET);

        if (repl->cluster->state == MCP_CLUSTER_MEMBER) {
            mcp_replication_within(repl, MCP_REPLICATION_LATER);
        }
    }

    return rc;
}


/* Frees the replication of a freed stream, after removing the stream from Redis
 * if mcp_replication_is_forgotten() returns 1. If Redis kept such a stream,
 * requests at other nodes would wait for it, or would mistake its data for the
 * data of a later stream with the same id. Before that, reports the reader of a
 * freed mirror; if that is not possible now, tries again later, or when the
 * process is a member again. */
static void
mcp_replication_gone(mcp_replication_t *repl)
{
    mcp_operation_t  *ops;

    ops = mcp_replication_acknowledged(repl, UINT64_MAX);

    if (mcp_mirror_report_freed(repl) != MCP_OK) {
        if (repl->cluster->state == MCP_CLUSTER_MEMBER) {
            mcp_replication_within(repl, MCP_REPLICATION_LATER);
        }

    } else if (mcp_replication_forget_now(repl) == MCP_OK) {
        mcp_replication_drop(repl);
    }

    mcp_replication_complete(ops, MCP_ERR_NOT_FOUND);
}


/* Resets a replication for a new stream with the same id. */
static void
mcp_replication_renew(mcp_replication_t *repl)
{
    mcp_replication_t  old;

    mcp_replication_set_phase(repl, MCP_REPLICATION_IDLE);
    mcp_mirror_set_state(repl, MCP_MIRROR_NONE);
    old = *repl;
    memset(repl, 0, sizeof(mcp_replication_t));

    repl->next = old.next;
    repl->cluster = old.cluster;
    repl->ref = old.ref;
    repl->timer = old.timer;
    repl->limit = old.limit;
    repl->ops = old.ops;
}


void
mcp_replication_check(mcp_replication_t *repl)
{
    int                      rc;
    mcp_store_replication_state_t  repl_state;

    /* do nothing: the stream is checked again after the pending reply, or when
     * it is the first in the send queue */

    if (repl->phase >= MCP_REPLICATION_SENT
        || (repl->phase == MCP_REPLICATION_SEND_QUEUE
            && repl->cluster->state == MCP_CLUSTER_MEMBER))
    {
        return;
    }

    mcp_replication_wait_no_more(repl);

    mcp_timer_del(&repl->cluster->worker->timers, &repl->timer);

    rc = mcp_store_replication_state(repl->cluster->worker->store, &repl->ref,
                                     &repl_state);

    if (rc == MCP_ERR_NOT_FOUND) {
        mcp_replication_gone(repl);
        return;
    }

    if (rc != MCP_OK) {
        mcp_replication_drop(repl);
        return;
    }

    repl->left = 0;

    if (repl->phase == MCP_REPLICATION_FORGET) {
        if (mcp_replication_forget_now(repl) != MCP_OK) {
            return;
        }

        mcp_replication_renew(repl);
    }

    if (repl_state.mirror) {
        if (repl->mirror == MCP_MIRROR_NONE) {
            mcp_mirror_set_state(repl, MCP_MIRROR_FETCH);
        }

        mcp_mirror_check(repl, &repl_state);

    } else {
        mcp_mirror_set_state(repl, MCP_MIRROR_NONE);
        mcp_lag_check(repl, &repl_state);
        mcp_replicator_check(repl, &repl_state);
    }
}


int
mcp_replication_run(mcp_replication_t *repl, mcp_script_e script,
    const mcp_str_t *args, size_t n, mcp_link_reply_cb handler)
{
    int             rc;
    char            id[MCP_STREAM_TEXT_LEN];
    size_t          before;
    mcp_str_t       argv[1 + MCP_REPLICATION_ARGS
                          + 2 * MCP_REPLICATION_EVENTS];
    mcp_cluster_t  *cluster;

    if (!mcp_replication_may_send(repl)) {
        return MCP_AGAIN;
    }

    cluster = repl->cluster;

    (void) mcp_stream_id_print(id, repl->ref.id);
    argv[0] = (mcp_str_t) { id, MCP_STREAM_TEXT_LEN };
    memcpy(argv + 1, args, n * sizeof(mcp_str_t));

    before = mcp_link_bytes(&cluster->link);
    rc = mcp_cluster_run(cluster, script, argv, 1 + n, handler, repl);

    if (rc == MCP_OK) {
        mcp_link_replicated(&cluster->link, before);
        mcp_replication_set_phase(repl, MCP_REPLICATION_SENT);
        repl->announced |= repl->mirror == MCP_MIRROR_NONE;
        repl->time = mcp_worker_now(cluster->worker);

    } else {
        mcp_replication_within(repl, MCP_REPLICATION_LATER);
    }

    return rc;
}


int
mcp_replication_has(const mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], mcp_stream_info_t *info)
{
    return mcp_store_find(cluster->worker->store, id, 0, info) == MCP_OK
           && !info->mirror;
}


void
mcp_replication_flush(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    mcp_replication_t  *repl;
    mcp_stream_info_t   info;

    repl = mcp_replication_has(cluster, id, &info)
               ? mcp_replication_get(cluster, &info.ref)
               : NULL;

    if (repl) {
        mcp_replication_wait_no_more(repl);
        cluster->at_once = 1;
        mcp_replication_changed(cluster, &info.ref, 0);
        cluster->at_once = 0;
    }
}


void
mcp_replication_returned(mcp_replication_t *repl)
{
    mcp_replication_set_phase(repl,
                              repl->phase == MCP_REPLICATION_DISCARD
                              ? MCP_REPLICATION_FORGET : MCP_REPLICATION_IDLE);
}


void
mcp_cluster_replicate(void *data, const mcp_stream_ref_t *ref, uint32_t limit)
{
    int                 rc;
    mcp_replication_t  *repl;
    mcp_store_t        *store;
    mcp_cluster_t      *cluster;

    cluster = data;
    store = cluster->worker->store;

    if (mcp_store_node_is_standalone(store)) {
        return;
    }

    rc = mcp_store_replication_start(store, ref,
                                     cluster->conf->sync
                                         != MCP_CLUSTER_SYNC_OFF);

    if (rc != MCP_OK) {
        mcp_worker_log(cluster->worker, MCP_LOG_WARN,
                       "cluster: a stream cannot be resumed at other nodes: %s",
                       rc == MCP_ERR_FULL ? "the zone is full: enlarge the "
                                            "zone"
                                          : "a client already received events "
                                            "that Redis does not have");
        return;
    }

    repl = limit ? mcp_replication_get(cluster, ref) : NULL;

    if (repl) {
        repl->limit = limit;
    }
}


int
mcp_cluster_await_replication(void *data, const mcp_stream_ref_t *ref,
    mcp_operation_t *op)
{
    int                      rc;
    mcp_replication_t       *repl;
    mcp_cluster_t           *cluster;
    mcp_store_replication_state_t  repl_state;

    cluster = data;

    /* if mcp_cluster_sync is off, a process that is not a member does not wait
     * for Redis */

    rc = cluster->state != MCP_CLUSTER_MEMBER
         && cluster->conf->sync == MCP_CLUSTER_SYNC_OFF
         ? MCP_ERR_DENIED
         : mcp_store_replication_state(cluster->worker->store, ref,
                                       &repl_state);

    if (rc != MCP_OK) {
        return rc == MCP_ERR_DENIED ? MCP_OK : rc;
    }

    repl = mcp_replication_get(cluster, ref);

    if (repl == NULL) {
        return MCP_ERR_MEMORY;
    }

    op->later = repl->ops;
    repl->ops = op;

    if (repl->phase == MCP_REPLICATION_SEND_QUEUE) {
        mcp_replication_wait_no_more(repl);
        mcp_replication_within(repl, 0);
    }

    return MCP_AGAIN;
}


void
mcp_replication_changed(void *data, const mcp_stream_ref_t *ref, uint64_t sent)
{
    mcp_replication_t  *repl;

    repl = mcp_replication_get(data, ref);

    if (repl == NULL) {
        return;
    }

    /* the stream was freed: its removal from Redis needs no room on the link
     * and must not be omitted */

    if (ref->index == 0) {
        repl->left = sent;
        mcp_replication_wait_no_more(repl);

        if (repl->phase >= MCP_REPLICATION_SENT
            && mcp_replication_is_forgotten(repl))
        {
            mcp_replication_set_phase(repl, MCP_REPLICATION_DISCARD);
        }
    }

    mcp_mirror_continue(repl);
    mcp_replication_check(repl);
}


void
mcp_replication_link_up(mcp_cluster_t *cluster)
{
    size_t              i;
    mcp_replication_t  *repl, *next;

    for (i = 0; i < MCP_CLUSTER_BUCKETS; i++) {
        for (repl = cluster->repls[i]; repl; repl = next) {
            next = repl->next;
            repl->time = 0;
            repl->refills = 0;
            mcp_replication_wait_no_more(repl);
            mcp_replication_check(repl);
        }
    }

    mcp_replication_continue(cluster);
}


void
mcp_replication_standalone(mcp_cluster_t *cluster)
{
    size_t              i;
    mcp_replication_t  *repl;

    for (i = 0; i < MCP_CLUSTER_BUCKETS; i++) {
        for (repl = cluster->repls[i]; repl; repl = repl->next) {
            mcp_store_replication_end(cluster->worker->store, &repl->ref);

            if (repl->phase < MCP_REPLICATION_SENT) {
                mcp_replication_wait_no_more(repl);
                mcp_replication_within(repl, 0);
            }
        }
    }
}


void
mcp_replication_free_all(mcp_cluster_t *cluster)
{
    size_t              i;
    mcp_replication_t  *repl, *next;

    for (i = 0; i < MCP_CLUSTER_BUCKETS; i++) {
        for (repl = cluster->repls[i]; repl; repl = next) {
            next = repl->next;
            mcp_replication_drop(repl);
        }
    }
}

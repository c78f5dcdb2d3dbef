/* SPDX-License-Identifier: Apache-2.0 */

/* What a process has of the streams that nodes share: found by the stream,
 * looked at when the store says that it has changed, when Redis has replied,
 * and from time to time. */


#include "cluster/mcp_cluster_copy.h"


/* Arguments before those of events. */
#define MCP_COPY_ARGS  20


static mcp_copy_t **
mcp_copy_bucket(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    return &cluster->copies[(id[0] | (size_t) id[1] << 8)
                            % MCP_CLUSTER_BUCKETS];
}


static void
mcp_copy_timer(void *data)
{
    mcp_copy_t  *copy;

    copy = data;
    copy->full = 0;

    mcp_copy_look(copy);
}


mcp_copy_t *
mcp_copy_get(mcp_cluster_t *cluster, const mcp_stream_ref_t *ref)
{
    mcp_copy_t  *copy, **bucket;

    bucket = mcp_copy_bucket(cluster, ref->id);

    for (copy = *bucket; copy; copy = copy->next) {
        if (memcmp(copy->ref.id, ref->id, MCP_STREAM_ID_LEN) == 0) {
            copy->ref = *ref;
            copy->gone = 0;
            return copy;
        }
    }

    copy = mcp_mem_calloc(&cluster->worker->env->mem, sizeof(mcp_copy_t));

    if (copy) {
        copy->cluster = cluster;
        copy->ref = *ref;
        copy->timer.handler = mcp_copy_timer;
        copy->timer.data = copy;
        copy->next = *bucket;
        *bucket = copy;
    }

    return copy;
}


mcp_ask_t *
mcp_copy_safe(mcp_copy_t *copy, uint64_t seq)
{
    mcp_ask_t  *ask, *asks, **p, **last;

    last = &asks;

    for (p = &copy->asks; (ask = *p) != NULL; ) {
        if (ask->seq > seq) {
            p = &ask->later;

        } else {
            *p = ask->later;
            *last = ask;
            last = &ask->later;
        }
    }

    *last = NULL;

    return asks;
}


void
mcp_copy_answer(mcp_ask_t *asks, int rc)
{
    mcp_ask_t  *ask;

    while (asks) {
        ask = asks;
        asks = ask->later;
        mcp_ask_answer(ask, rc);
    }
}


/* Frees it, or has its reply free it. */
static void
mcp_copy_drop(mcp_copy_t *copy)
{
    mcp_ask_t         *asks;
    mcp_copy_t       **p;
    const mcp_mem_t   *mem;

    asks = mcp_copy_safe(copy, UINT64_MAX);
    mcp_copy_wait_no_more(copy);
    mcp_timer_del(&copy->cluster->worker->timers, &copy->timer);

    if (copy->sending) {
        copy->gone = 1;
        mcp_copy_answer(asks, MCP_OK);
        return;
    }

    for (p = mcp_copy_bucket(copy->cluster, copy->ref.id); *p != copy;
         p = &(*p)->next)
    {
        /* void */
    }

    *p = copy->next;
    mem = &copy->cluster->worker->env->mem;
    mem->free(mem->ctx, copy);

    mcp_copy_answer(asks, MCP_OK);
}


void
mcp_copy_within(mcp_copy_t *copy, uint64_t ms)
{
    uint64_t       when;
    mcp_worker_t  *worker;

    worker = copy->cluster->worker;
    when = mcp_worker_now(worker) + ms;

    if (!mcp_timer_armed(&copy->timer) || when < copy->timer.when) {
        mcp_timer_set(&worker->timers, &copy->timer, when);
    }
}


static void
mcp_copy_forgotten(void *data, const mcp_reply_t *reply)
{
    if (reply && !mcp_reply_is(mcp_reply_item(reply, 0), "OK")) {
        mcp_cluster_strange(data, "forget", reply);
    }
}


int
mcp_copy_forget(mcp_copy_t *copy)
{
    char            id[MCP_STREAM_TEXT_LEN];
    mcp_str_t       args[2];
    mcp_cluster_t  *cluster;

    cluster = copy->cluster;

    (void) mcp_stream_id_print(id, copy->ref.id);
    args[0] = (mcp_str_t) { id, MCP_STREAM_TEXT_LEN };
    args[1] = copy->over && !copy->claims ? mcp_str("1") : mcp_str("");

    /* what does not arrive is forgotten in its time */

    return cluster->state == MCP_CLUSTER_MEMBER
           ? mcp_cluster_run(cluster, MCP_SCRIPT_FORGET, args, 2,
                             mcp_copy_forgotten, cluster)
           : MCP_AGAIN;
}


/* Whether Redis has to forget a stream that is gone: what was over stays, if
 * Redis knows of that, which is in doubt if the reply was lost.  One that
 * cannot be taken over as a whole has nobody else who would end it. */
static int
mcp_copy_is_forgotten(const mcp_copy_t *copy)
{
    return copy->forgets || copy->claims || copy->lost
           || (copy->number == 0 && copy->told && !copy->mirrors
               && (copy->at.state < MCP_STATE_COMPLETED || copy->time == 0));
}


/* Has Redis forget a stream that is gone; MCP_OK: before whatever is sent next.
 * If there is no link it is looked at again when there is one. */
static int
mcp_copy_forget_now(mcp_copy_t *copy)
{
    int  rc;

    rc = mcp_copy_is_forgotten(copy) ? mcp_copy_forget(copy) : MCP_OK;
    copy->forgets = (rc != MCP_OK);

    if (rc != MCP_OK && copy->cluster->state == MCP_CLUSTER_MEMBER) {
        mcp_copy_within(copy, MCP_COPY_LATER);
    }

    return rc;
}


/* The owner's stream is gone: Redis forgets it, too.  Others would wait for it,
 * or take what it had for that of another one with its id. */
static void
mcp_copy_gone(mcp_copy_t *copy)
{
    mcp_ask_t  *asks;

    asks = mcp_copy_safe(copy, UINT64_MAX);

    if (mcp_copy_forget_now(copy) == MCP_OK) {
        mcp_copy_drop(copy);
    }

    mcp_copy_answer(asks, MCP_ERR_NOT_FOUND);
}


/* Another stream has its id: nothing of the one before is known of it. */
static void
mcp_copy_renew(mcp_copy_t *copy)
{
    mcp_copy_t  old;

    old = *copy;
    memset(copy, 0, sizeof(mcp_copy_t));

    copy->next = old.next;
    copy->cluster = old.cluster;
    copy->ref = old.ref;
    copy->timer = old.timer;
    copy->limit = old.limit;
    copy->asks = old.asks;
}


void
mcp_copy_look(mcp_copy_t *copy)
{
    int                   rc;
    mcp_store_copying_t   copying;

    /* its reply has it looked at again, or its turn */

    if (copy->sending
        || (copy->waits && copy->cluster->state == MCP_CLUSTER_MEMBER))
    {
        return;
    }

    mcp_copy_wait_no_more(copy);

    mcp_timer_del(&copy->cluster->worker->timers, &copy->timer);

    rc = mcp_store_copying(copy->cluster->worker->store, &copy->ref, &copying);

    if (rc == MCP_ERR_NOT_FOUND) {
        mcp_copy_gone(copy);
        return;
    }

    if (rc != MCP_OK) {
        mcp_copy_drop(copy);
        return;
    }

    if (copy->forgets) {
        if (mcp_copy_forget_now(copy) != MCP_OK) {
            return;
        }

        mcp_copy_renew(copy);
    }

    copy->mirrors = (copying.mirror != 0);

    if (copying.mirror) {
        mcp_mirror_look(copy, &copying);

    } else {
        mcp_lag_look(copy, &copying);
        mcp_append_look(copy, &copying);
    }
}


void
mcp_copy_run(mcp_copy_t *copy, mcp_script_e script, const mcp_str_t *args,
    size_t n, mcp_link_reply_cb handler)
{
    int             rc;
    char            id[MCP_STREAM_TEXT_LEN];
    size_t          before;
    mcp_str_t       words[1 + MCP_COPY_ARGS + 2 * MCP_COPY_EVENTS];
    mcp_cluster_t  *cluster;

    if (!mcp_copy_may_send(copy)) {
        return;
    }

    cluster = copy->cluster;

    (void) mcp_stream_id_print(id, copy->ref.id);
    words[0] = (mcp_str_t) { id, MCP_STREAM_TEXT_LEN };
    memcpy(words + 1, args, n * sizeof(mcp_str_t));

    before = mcp_link_bytes(&cluster->link);
    rc = mcp_cluster_run(cluster, script, words, 1 + n, handler, copy);

    if (rc == MCP_OK) {
        mcp_link_copied(&cluster->link, before);
        copy->sending = 1;
        copy->told |= !copy->mirrors;
        copy->time = mcp_worker_now(cluster->worker);

    } else {
        mcp_copy_within(copy, MCP_COPY_LATER);
    }
}


int
mcp_copy_has(const mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], mcp_stream_info_t *info)
{
    return mcp_store_find(cluster->worker->store, id, 0, info) == MCP_OK
           && !info->mirror;
}


void
mcp_copy_flush(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    mcp_copy_t         *copy;
    mcp_stream_info_t   info;

    copy = mcp_copy_has(cluster, id, &info) ? mcp_copy_get(cluster, &info.ref)
                                            : NULL;

    if (copy) {
        mcp_copy_wait_no_more(copy);
        cluster->at_once = 1;
        mcp_copy_changed(cluster, &info.ref);
        cluster->at_once = 0;
    }
}


int
mcp_copy_returned(mcp_copy_t *copy)
{
    copy->sending = 0;

    if (copy->gone) {
        mcp_copy_drop(copy);
        return 0;
    }

    return 1;
}


void
mcp_cluster_share(void *data, const mcp_stream_ref_t *ref, uint32_t limit)
{
    int             rc;
    mcp_copy_t     *copy;
    mcp_store_t    *store;
    mcp_cluster_t  *cluster;

    cluster = data;
    store = cluster->worker->store;

    if (mcp_store_node_is_alone(store)) {
        return;
    }

    rc = mcp_store_share_start(store, ref,
                               cluster->conf->sync != MCP_CLUSTER_SYNC_OFF);

    if (rc != MCP_OK) {
        mcp_worker_log(cluster->worker, MCP_LOG_WARN,
                       "cluster: a stream is this node's alone: %s",
                       rc == MCP_ERR_FULL ? "the zone is full"
                                          : "it was read already");
        return;
    }

    copy = limit ? mcp_copy_get(cluster, ref) : NULL;

    if (copy) {
        copy->limit = limit;
    }
}


int
mcp_cluster_safe(void *data, const mcp_stream_ref_t *ref, mcp_ask_t *ask)
{
    int                   rc;
    mcp_copy_t           *copy;
    mcp_cluster_t        *cluster;
    mcp_store_copying_t   copying;

    cluster = data;

    /* where nothing is promised a node goes on alone */

    rc = cluster->state != MCP_CLUSTER_MEMBER
         && cluster->conf->sync == MCP_CLUSTER_SYNC_OFF
         ? MCP_ERR_DENIED
         : mcp_store_copying(cluster->worker->store, ref, &copying);

    if (rc != MCP_OK) {
        return rc == MCP_ERR_DENIED ? MCP_OK : rc;
    }

    copy = mcp_copy_get(cluster, ref);

    if (copy == NULL) {
        return MCP_ERR_MEMORY;
    }

    ask->later = copy->asks;
    copy->asks = ask;

    if (copy->waits) {
        mcp_copy_wait_no_more(copy);
        mcp_copy_within(copy, 0);
    }

    return MCP_AGAIN;
}


void
mcp_copy_changed(void *data, const mcp_stream_ref_t *ref)
{
    mcp_copy_t  *copy;

    copy = mcp_copy_get(data, ref);

    if (copy == NULL) {
        return;
    }

    /* it is gone: that needs no room, and is not to be missed */

    if (ref->index == 0) {
        mcp_copy_wait_no_more(copy);
        copy->forgets |= copy->sending && mcp_copy_is_forgotten(copy);
    }

    copy->full = 0;
    mcp_copy_look(copy);
}


void
mcp_copy_up(mcp_cluster_t *cluster)
{
    size_t       i;
    mcp_copy_t  *copy, *next;

    for (i = 0; i < MCP_CLUSTER_BUCKETS; i++) {
        for (copy = cluster->copies[i]; copy; copy = next) {
            next = copy->next;
            copy->time = 0;
            copy->refills = 0;
            mcp_copy_wait_no_more(copy);
            mcp_copy_look(copy);
        }
    }

    mcp_copy_go_on(cluster);
}


void
mcp_copy_alone(mcp_cluster_t *cluster)
{
    size_t       i;
    mcp_copy_t  *copy;

    for (i = 0; i < MCP_CLUSTER_BUCKETS; i++) {
        for (copy = cluster->copies[i]; copy; copy = copy->next) {
            mcp_store_share_end(cluster->worker->store, &copy->ref);

            if (!copy->sending) {
                mcp_copy_wait_no_more(copy);
                mcp_copy_within(copy, 0);
            }
        }
    }
}


void
mcp_copy_free_all(mcp_cluster_t *cluster)
{
    size_t       i;
    mcp_copy_t  *copy, *next;

    for (i = 0; i < MCP_CLUSTER_BUCKETS; i++) {
        for (copy = cluster->copies[i]; copy; copy = next) {
            next = copy->next;
            copy->sending = 0;
            mcp_copy_drop(copy);
        }
    }
}

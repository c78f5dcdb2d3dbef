/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Nodes that are dead, and what becomes of their streams.
 *
 * A node's beats are counted in Redis.  The process that speaks for its node
 * takes another one for dead when that count stood still for as long as the
 * other has said, and at each of several looks, while its own link was up all
 * the time: so neither Redis's clock nor an outage of Redis kills anybody.  It
 * takes the streams over, has all that is wanted of each here, and becomes its
 * owner, who has lost the backend: its client gets an error, and nothing before
 * it is lost.
 *
 * The process may be killed before it has done so, or the reply to it be lost:
 * so whoever speaks for the node asks for what the node was given, and has said
 * nothing of since, until there is none.
 */


#include "cluster/mcp_cluster_copy.h"


/* Looks at which a dead node has not beaten. */
#define MCP_REAP_LOOKS  (MCP_CLUSTER_BEATS + 1)


static void mcp_reap_go_on(mcp_cluster_t *cluster);
static void mcp_reap_begin(mcp_cluster_t *cluster, const mcp_pulse_t *pulse);


/* Makes it the heir of a stream, whose mirror is here. */
static void
mcp_reap_inherit(mcp_copy_t *copy, const mcp_reply_t *item,
    const mcp_pack_task_t *task)
{
    mcp_cluster_t  *cluster;

    cluster = copy->cluster;

    mcp_cluster_turn(cluster, copy->ref.id,
                     (uint32_t) mcp_reply_number(mcp_reply_item(item, 8)));

    if (task->expires) {
        (void) mcp_store_keep(cluster->worker->store, &copy->ref,
                              task->expires, mcp_worker_now(cluster->worker));
    }

    memset(&copy->heard, 0, sizeof(copy->heard));
    copy->replays = mcp_tell_place(mcp_reply_item(item, 7)->text, &copy->heard)
                    != 0;
    copy->inherits = 1;
    copy->full = 0;
    copy->has_topics = 0;
}


static int
mcp_reap_has(const mcp_cluster_t *cluster, mcp_str_t text)
{
    unsigned char      id[MCP_STREAM_ID_LEN];
    mcp_stream_info_t  info;

    return mcp_stream_id_parse(text, id) == MCP_OK
           && mcp_copy_has(cluster, id, &info);
}


/* Has what is wanted of a stream here, to be its owner then. */
static void
mcp_reap_take(mcp_cluster_t *cluster, const mcp_reply_t *item)
{
    uint64_t            now, first, confirmed;
    mcp_copy_t         *copy;
    mcp_stream_ref_t    ref;
    mcp_stream_spec_t   spec;
    mcp_pack_task_t     task;
    mcp_store_stand_t   stand;

    now = mcp_worker_now(cluster->worker);
    first = mcp_reply_number(mcp_reply_item(item, 3));
    confirmed = mcp_reply_number(mcp_reply_item(item, 4));
    stand.seq = mcp_reply_number(mcp_reply_item(item, 2));

    /* known, and Redis is about to be told of it */

    if (mcp_reap_has(cluster, mcp_reply_item(item, 0)->text)) {
        return;
    }

    if (first == 0
        || mcp_unpack_stand(mcp_reply_item(item, 5)->text, &stand) != MCP_OK
        || mcp_unpack_spec(&cluster->worker->env->mem,
                           mcp_reply_item(item, 6)->text, &spec)
           != MCP_OK
        || mcp_unpack_task(mcp_reply_item(item, 9)->text, &task) != MCP_OK)
    {
        mcp_cluster_strange(cluster, "reap", item);
        return;
    }

    /* its owner kept as much again of what was sent */

    spec.max_events = spec.max_events > UINT32_MAX / 2
                      ? UINT32_MAX : 2 * spec.max_events;
    spec.max_bytes = spec.max_bytes > UINT64_MAX / 2
                     ? UINT64_MAX : 2 * spec.max_bytes;

    /* what its client has confirmed nobody wants any more: so a mirror that is
     * read here mostly has all of it */

    copy = mcp_store_mirror(cluster->worker->store, &spec, first,
                            confirmed < stand.seq ? confirmed : stand.seq,
                            mcp_reply_number(mcp_reply_item(item, 1)), now,
                            &ref)
           == MCP_OK ? mcp_copy_get(cluster, &ref) : NULL;

    if (copy == NULL) {
        mcp_worker_log(cluster->worker, MCP_LOG_ERROR,
                       "cluster: there is no room for a stream of a dead node "
                       "yet");
        return;
    }

    mcp_reap_inherit(copy, item, &task);
    (void) mcp_store_mirror_known(cluster->worker->store, spec.id, &stand,
                                  confirmed, now);
    mcp_copy_look(copy);
}


/* Goes on with another node that is dead: of several that died at once, none
 * waits until there is another look. */
static void
mcp_reap_next(mcp_cluster_t *cluster)
{
    size_t        i;
    uint64_t      now;
    mcp_pulse_t  *pulse;

    now = mcp_worker_now(cluster->worker);

    for (i = 0; i < cluster->n_pulses; i++) {
        pulse = &cluster->pulses[i];

        if (pulse->seen >= MCP_REAP_LOOKS
            && now - pulse->since >= pulse->dead_after)
        {
            mcp_reap_begin(cluster, pulse);
            return;
        }
    }
}


/* It is through with a node. */
static void
mcp_reap_end(mcp_cluster_t *cluster)
{
    size_t  i;

    for (i = 0; i < cluster->n_pulses; i++) {
        if (cluster->pulses[i].node == cluster->reaps.node) {
            cluster->pulses[i].seen = 0;
        }
    }

    cluster->reaps.node = 0;
    mcp_reap_next(cluster);
}


static void
mcp_reap_done(void *data, const mcp_reply_t *reply)
{
    int                 own;
    size_t              i;
    mcp_cluster_t      *cluster;
    const mcp_reply_t  *kind;

    cluster = data;

    if (reply == NULL) {
        cluster->reaps.node = 0;
        cluster->settled = 0;
        return;
    }

    kind = mcp_reply_item(reply, 0);

    own = cluster->reaps.node == cluster->node;

    if (mcp_reply_is(kind, "OK")) {
        for (i = 1; i < reply->n; i++) {
            mcp_reap_take(cluster, reply->items[i]);
        }

        cluster->settled = own ? reply->n <= 1
                               : cluster->settled && reply->n <= 1;

        if (!own && reply->n > 1) {
            mcp_reap_go_on(cluster);
            return;
        }

        if (!own) {
            mcp_store_node_count(cluster->worker->store, MCP_NODE_REAPED);
        }

    } else if (mcp_reply_is(kind, "MORE")) {
        mcp_reap_go_on(cluster);
        return;

    } else if (!mcp_reply_is(kind, "ALIVE") && !mcp_reply_is(kind, "FENCED")) {
        mcp_cluster_strange(cluster, "reap", reply);
        cluster->settled = 0;
    }

    mcp_reap_end(cluster);
}


static void
mcp_reap_go_on(mcp_cluster_t *cluster)
{
    char       id[MCP_CLUSTER_ID_LEN + 1], beats[20];
    mcp_str_t  args[2];

    mcp_cluster_node_id(cluster->reaps.node, id);
    args[0] = (mcp_str_t) { id, MCP_CLUSTER_ID_LEN };
    args[1].data = beats;
    args[1].len = (size_t) (mcp_uint_print(beats, cluster->reaps.beats)
                            - beats);

    if (mcp_cluster_run(cluster, MCP_SCRIPT_REAP, args, 2, mcp_reap_done,
                        cluster)
        != MCP_OK)
    {
        /* it will be found again */

        cluster->reaps.node = 0;
    }
}


static void
mcp_reap_begin(mcp_cluster_t *cluster, const mcp_pulse_t *pulse)
{
    char  id[MCP_CLUSTER_ID_LEN + 1];

    mcp_cluster_node_id(pulse->node, id);
    mcp_worker_log(cluster->worker, MCP_LOG_WARN,
                   "cluster: node %s has not beaten for %llu ms, and is taken "
                   "for dead", id,
                   (unsigned long long) (mcp_worker_now(cluster->worker)
                                         - pulse->since));

    cluster->reaps = *pulse;
    mcp_reap_go_on(cluster);
}


/* What is known of a node: as before, if it has not beaten since. */
static void
mcp_cluster_feel(const mcp_cluster_t *cluster, mcp_pulse_t *pulse)
{
    size_t              i;
    const mcp_pulse_t  *old;

    for (i = 0; i < cluster->n_pulses; i++) {
        old = &cluster->pulses[i];

        if (old->node == pulse->node && old->beats == pulse->beats) {
            pulse->since = old->since;
            pulse->seen = old->seen + 1;
            return;
        }
    }
}


void
mcp_cluster_pulse(mcp_cluster_t *cluster, const mcp_reply_t *members)
{
    size_t              i, n;
    uint64_t            now;
    mcp_pulse_t         pulses[MCP_NODE_MEMBERS], *pulse;
    const mcp_reply_t  *item;

    now = mcp_worker_now(cluster->worker);
    memset(pulses, 0, sizeof(pulses));

    for (i = 0, n = 0; i < members->n && n < MCP_NODE_MEMBERS; i++) {
        item = members->items[i];
        pulse = &pulses[n];
        pulse->node = mcp_cluster_read_id(mcp_reply_item(item, 0)->text);
        pulse->beats = mcp_reply_number(mcp_reply_item(item, 4));
        pulse->dead_after = mcp_reply_number(mcp_reply_item(item, 5));
        pulse->since = now;
        pulse->seen = 1;

        if (pulse->dead_after == 0) {
            pulse->dead_after = cluster->conf->dead_after;
        }

        if (pulse->node != 0 && pulse->node != cluster->node) {
            mcp_cluster_feel(cluster, pulse);
            n++;
        }
    }

    memcpy(cluster->pulses, pulses, n * sizeof(mcp_pulse_t));
    cluster->n_pulses = n;

    if (cluster->reaps.node == 0) {
        mcp_reap_next(cluster);
    }

    if (!cluster->settled && cluster->reaps.node == 0) {
        cluster->reaps.node = cluster->node;
        mcp_reap_go_on(cluster);
    }
}


void
mcp_cluster_blind(mcp_cluster_t *cluster)
{
    cluster->n_pulses = 0;
    cluster->settled = 0;
}


void
mcp_reap_fenced(mcp_copy_t *copy)
{
    char           id[9];
    mcp_worker_t  *worker;

    worker = copy->cluster->worker;

    mcp_stream_id_short(id, copy->ref.id);
    mcp_worker_log(worker, MCP_LOG_ERROR, "cluster: stream %s belongs to "
                   "another node now", id);
    mcp_store_node_count(worker->store, MCP_NODE_FENCED);
    copy->at.state = MCP_STATE_CANCELLED;
    mcp_store_revoke(worker->store, &copy->ref);

    /* if it was this node's under the id that it has now, others may have taken
     * the node itself for dead */

    if (copy->node == 0 || copy->node == copy->cluster->node) {
        mcp_cluster_doubt(copy->cluster);
    }
}


int
mcp_reap_displaced(mcp_copy_t *copy, const mcp_reply_t *error)
{
    char            id[9];
    uint64_t        now;
    mcp_cluster_t  *cluster;

    cluster = copy->cluster;
    now = mcp_worker_now(cluster->worker);

    /* a key is of another kind than ours */

    if (error->type != MCP_REPLY_ERROR
        || !mcp_greet_mentions(error->text, "WRONGTYPE "))
    {
        return 0;
    }

    if (copy->displaced == 0) {
        copy->displaced = now;
    }

    if (cluster->conf->sync == MCP_CLUSTER_SYNC_OFF
        || now < copy->displaced + cluster->conf->patience)
    {
        return 0;
    }

    mcp_stream_id_short(id, copy->ref.id);
    mcp_worker_log(cluster->worker, MCP_LOG_ERROR, "cluster: stream %s is "
                   "given up: Redis has something else in its place", id);
    mcp_store_revoke(cluster->worker->store, &copy->ref);

    return 1;
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Take-over of the streams of dead nodes.
 *
 * Redis counts the heartbeats of each node. The leader of a node declares
 * another node dead if the other node's count has not changed for the other
 * node's own timeout and at several consecutive checks, and the leader's link
 * was up all that time. So neither Redis's clock nor an outage of Redis causes
 * a node to be declared dead.
 *
 * The leader then takes the streams over: it fetches the stored events of each
 * stream and becomes its owner. The backend request of the stream's call is
 * lost, so the client gets an error, after all earlier events
 * (mcp_worker_adopt(), as for a dead process).
 *
 * The leader may die before it has taken over all streams that were assigned
 * to its node, or the reply that contains them may be lost. So every leader
 * requests the streams that were assigned to its node and that the node has
 * not replicated since, until there are none. Redis may execute a command from
 * a lost link only after that, and assign more streams. So the leader requests
 * them again when a member is no longer in the list: the streams of that node
 * were all assigned, and no late command can assign another one.
 */


#include "cluster/mcp_cluster_replication.h"


/* Number of consecutive checks with the same number of heartbeats, after which
 * a node may be declared dead. */
#define MCP_TAKEOVER_CHECKS  (MCP_CLUSTER_HEARTBEATS + 1)


static void mcp_takeover_continue(mcp_cluster_t *cluster);
static void mcp_takeover_begin(mcp_cluster_t *cluster,
    const mcp_heartbeats_t *heartbeat);


/* Makes this node the successor for a stream whose mirror is here. */
static void
mcp_takeover_promote(mcp_replication_t *repl, const mcp_reply_t *item,
    const mcp_codec_task_t *task)
{
    mcp_cluster_t  *cluster;

    cluster = repl->cluster;

    mcp_cluster_generation(cluster, repl->ref.id,
                           (uint32_t) mcp_reply_number(
                               mcp_reply_item(item, 8)));

    if (task->expires) {
        (void) mcp_store_keep(cluster->worker->store, &repl->ref,
                              task->expires, mcp_worker_now(cluster->worker));
    }

    memset(&repl->received, 0, sizeof(repl->received));
    repl->replays =
        mcp_broadcast_position(mcp_reply_item(item, 7)->text, &repl->received)
        != 0;
    mcp_mirror_set_state(repl, MCP_MIRROR_TAKE_OVER);
}


static int
mcp_takeover_has(const mcp_cluster_t *cluster, mcp_str_t text)
{
    unsigned char      id[MCP_STREAM_ID_LEN];
    mcp_stream_info_t  info;

    return mcp_stream_id_parse(text, id) == MCP_OK
           && mcp_replication_has(cluster, id, &info);
}


/* Logs why a stream of a dead node cannot be taken over yet. The leader
 * requests the stream again with each heartbeat, so an error is logged again
 * only after all assigned streams were taken over. */
static void
mcp_takeover_stalled(mcp_cluster_t *cluster, int error)
{
    if (error == cluster->stalled) {
        return;
    }

    cluster->stalled = error;
    mcp_worker_log(cluster->worker, MCP_LOG_ERROR,
                   "cluster: cannot take over a stream of a dead node yet, "
                   "because %s",
                   error == MCP_ERR_DENIED
                   ? "requests still read its events at this node"
                   : error == MCP_ERR_MEMORY
                     ? "memory ran out"
                     : "the zone has no room: enlarge the zone");
}


/* Creates the mirror of a dead node's stream, or finds it, for the events after
 * "after". Returns the values of mcp_store_mirror(). */
static int
mcp_takeover_mirror(mcp_cluster_t *cluster, const mcp_reply_t *item,
    const mcp_stream_spec_t *spec, uint64_t after, mcp_stream_ref_t *ref)
{
    int           rc;
    uint64_t      now, first, number;
    mcp_store_t  *store;

    store = cluster->worker->store;
    now = mcp_worker_now(cluster->worker);
    first = mcp_reply_number(mcp_reply_item(item, 3));
    number = mcp_reply_number(mcp_reply_item(item, 1));

    rc = mcp_store_mirror(store, spec, first, after, number, now, ref);

    /* requests that have joined the mirror wait for events that Redis does not
     * have any more */

    if (rc == MCP_ERR_DENIED
        && first > mcp_reply_number(mcp_reply_item(item, 2)))
    {
        mcp_store_mirror_forget(store, spec->id);
        rc = mcp_store_mirror(store, spec, first, after, number, now, ref);
    }

    return rc;
}


/* Creates the mirror of a dead node's stream, to take it over. */
static void
mcp_takeover_take(mcp_cluster_t *cluster, const mcp_reply_t *item)
{
    int                     rc;
    uint64_t                now, first, seq;
    mcp_replication_t      *repl;
    mcp_stream_ref_t        ref;
    mcp_stream_spec_t       spec;
    mcp_codec_task_t        task;
    mcp_store_checkpoint_t  checkpoint;

    now = mcp_worker_now(cluster->worker);
    first = mcp_reply_number(mcp_reply_item(item, 3));
    seq = mcp_reply_number(mcp_reply_item(item, 4));
    checkpoint.seq = mcp_reply_number(mcp_reply_item(item, 2));

    /* this node owns the stream already, and will replicate it */

    if (mcp_takeover_has(cluster, mcp_reply_item(item, 0)->text)) {
        return;
    }

    if (first == 0
        || mcp_codec_decode_state(mcp_reply_item(item, 5)->text, &checkpoint)
               != MCP_OK
        || mcp_codec_decode_spec(&cluster->worker->env->mem,
                                 mcp_reply_item(item, 6)->text, &spec)
               != MCP_OK
        || mcp_codec_decode_task(mcp_reply_item(item, 9)->text, &task)
               != MCP_OK)
    {
        mcp_cluster_unexpected_reply(cluster, "takeover", item);
        return;
    }

    /* twice: the maximum of sent events and that of unsent events */

    spec.max_events = spec.max_events > UINT32_MAX / 2
                      ? UINT32_MAX : 2 * spec.max_events;
    spec.max_bytes = spec.max_bytes > UINT64_MAX / 2
                     ? UINT64_MAX : 2 * spec.max_bytes;

    /* a mirror needs only the events that its client has not confirmed */

    rc = mcp_takeover_mirror(cluster, item, &spec,
                             seq < checkpoint.seq ? seq : checkpoint.seq, &ref);
    repl = rc == MCP_OK ? mcp_replication_get(cluster, &ref) : NULL;

    if (repl == NULL) {
        mcp_takeover_stalled(cluster, rc == MCP_OK ? MCP_ERR_MEMORY : rc);
        return;
    }

    mcp_takeover_promote(repl, item, &task);
    (void) mcp_store_mirror_known(cluster->worker->store, spec.id, &checkpoint,
                                  seq, now);
    mcp_replication_check(repl);
}


/* Takes over the next dead node at once, because several nodes may have died at
 * the same time. A node is dead if MCP_TAKEOVER_CHECKS checks have found no new
 * heartbeat, and the first check was at least its node timeout ago. */
static void
mcp_takeover_next(mcp_cluster_t *cluster)
{
    size_t             i;
    uint64_t           now;
    mcp_heartbeats_t  *heartbeat;

    now = mcp_worker_now(cluster->worker);

    for (i = 0; i < cluster->n_heartbeats; i++) {
        heartbeat = &cluster->heartbeats[i];

        if (heartbeat->seen >= MCP_TAKEOVER_CHECKS
            && now - heartbeat->since >= heartbeat->node_timeout)
        {
            mcp_takeover_begin(cluster, heartbeat);
            return;
        }
    }
}


/* Finishes the take-over of one dead node and starts the next. */
static void
mcp_takeover_end(mcp_cluster_t *cluster)
{
    size_t  i;

    for (i = 0; i < cluster->n_heartbeats; i++) {
        if (cluster->heartbeats[i].node == cluster->takeover.node) {
            cluster->heartbeats[i].seen = 0;
        }
    }

    cluster->takeover.node = 0;
    mcp_takeover_next(cluster);
}


static void
mcp_takeover_done(void *data, const mcp_reply_t *reply)
{
    int                 own;
    size_t              i;
    mcp_cluster_t      *cluster;
    const mcp_reply_t  *kind;

    cluster = data;

    if (reply == NULL) {
        cluster->takeover.node = 0;
        cluster->settled = 0;
        return;
    }

    kind = mcp_reply_item(reply, 0);

    own = cluster->takeover.node == cluster->node;

    if (mcp_reply_is(kind, "OK")) {
        for (i = 1; i < reply->n; i++) {
            mcp_takeover_take(cluster, reply->items[i]);
        }

        cluster->settled = own ? reply->n <= 1
                               : cluster->settled && reply->n <= 1;

        if (cluster->settled) {
            cluster->stalled = MCP_OK;
        }

        if (!own && reply->n > 1) {
            mcp_takeover_continue(cluster);
            return;
        }

        if (!own) {
            mcp_store_node_count(cluster->worker->store, MCP_NODE_TAKEN_OVER);
        }

    } else if (mcp_reply_is(kind, "MORE")) {
        mcp_takeover_continue(cluster);
        return;

    } else if (!mcp_reply_is(kind, "ALIVE") && !mcp_reply_is(kind, "FENCED")) {
        mcp_cluster_unexpected_reply(cluster, "takeover", reply);
        cluster->settled = 0;
    }

    mcp_takeover_end(cluster);
}


static void
mcp_takeover_continue(mcp_cluster_t *cluster)
{
    char               id[MCP_CLUSTER_ID_LEN + 1];
    mcp_script_args_t  args;

    mcp_cluster_node_id(cluster->takeover.node, id);
    mcp_args_init(&args);
    mcp_args_text(&args, (mcp_str_t) { id, MCP_CLUSTER_ID_LEN });
    mcp_args_number(&args, cluster->takeover.count);

    if (mcp_cluster_run(cluster, MCP_SCRIPT_TAKEOVER, args.args, args.n,
                        mcp_takeover_done, cluster)
        != MCP_OK)
    {
        /* the command cannot be sent: a later reply to a heartbeat shows again
         * that the node is dead */

        cluster->takeover.node = 0;
    }
}


static void
mcp_takeover_begin(mcp_cluster_t *cluster, const mcp_heartbeats_t *heartbeat)
{
    char  id[MCP_CLUSTER_ID_LEN + 1];

    mcp_cluster_node_id(heartbeat->node, id);
    mcp_worker_log(cluster->worker, MCP_LOG_WARN,
                   "cluster: node %s has sent no heartbeat for %llu ms and is "
                   "declared dead", id,
                   (unsigned long long) (mcp_worker_now(cluster->worker)
                                         - heartbeat->since));

    cluster->takeover = *heartbeat;
    mcp_takeover_continue(cluster);
}


/* Continues the observation of a node that has sent no heartbeat since the last
 * check: copies the time at which the observation began, and counts this check.
 * Otherwise leaves *heartbeat unchanged, so that a new observation begins. */
static void
mcp_takeover_observe(const mcp_cluster_t *cluster, mcp_heartbeats_t *heartbeat)
{
    size_t                   i;
    const mcp_heartbeats_t  *old;

    for (i = 0; i < cluster->n_heartbeats; i++) {
        old = &cluster->heartbeats[i];

        if (old->node == heartbeat->node && old->count == heartbeat->count) {
            heartbeat->since = old->since;
            heartbeat->seen = old->seen + 1;
            return;
        }
    }
}


/* Discards the observations if the number of this node's own heartbeats has not
 * grown since the last check: Redis has lost the numbers and counts from 0
 * again, so the numbers of other nodes must not be compared with earlier ones.
 * "members" may lack this node if there are more than MCP_NODE_MEMBERS. */
static void
mcp_takeover_check_own(mcp_cluster_t *cluster, const mcp_reply_t *members)
{
    size_t              i;
    uint64_t            own;
    const mcp_reply_t  *item;

    for (i = 0, own = 0; i < members->n; i++) {
        item = members->items[i];

        if (mcp_cluster_read_id(mcp_reply_item(item, 0)->text)
            == cluster->node)
        {
            own = mcp_reply_number(mcp_reply_item(item, 4));
        }
    }

    if (own != 0 && own <= cluster->own_heartbeats) {
        mcp_takeover_forget_members(cluster);
    }

    cluster->own_heartbeats = own;
}


/* Returns 1 if all nodes of the last check are among the n nodes in
 * "heartbeats". */
static int
mcp_takeover_has_all(const mcp_cluster_t *cluster,
    const mcp_heartbeats_t *heartbeats, size_t n)
{
    size_t  i, k;

    for (i = 0; i < cluster->n_heartbeats; i++) {
        for (k = 0; k < n; k++) {
            if (heartbeats[k].node == cluster->heartbeats[i].node) {
                break;
            }
        }

        if (k == n) {
            return 0;
        }
    }

    return 1;
}


void
mcp_takeover_check_members(mcp_cluster_t *cluster, const mcp_reply_t *members)
{
    size_t              i, n;
    uint64_t            now;
    mcp_heartbeats_t    heartbeats[MCP_NODE_MEMBERS], *heartbeat;
    const mcp_reply_t  *item;

    mcp_takeover_check_own(cluster, members);

    now = mcp_worker_now(cluster->worker);
    memset(heartbeats, 0, sizeof(heartbeats));

    for (i = 0, n = 0; i < members->n && n < MCP_NODE_MEMBERS; i++) {
        item = members->items[i];
        heartbeat = &heartbeats[n];
        heartbeat->node = mcp_cluster_read_id(mcp_reply_item(item, 0)->text);
        heartbeat->count = mcp_reply_number(mcp_reply_item(item, 4));
        heartbeat->node_timeout = mcp_reply_number(mcp_reply_item(item, 5));
        heartbeat->since = now;
        heartbeat->seen = 1;

        if (heartbeat->node_timeout == 0) {
            heartbeat->node_timeout = cluster->conf->node_timeout;
        }

        if (heartbeat->node != 0 && heartbeat->node != cluster->node) {
            mcp_takeover_observe(cluster, heartbeat);
            n++;
        }
    }

    /* a node was taken over, here or at another node: a late command of this
     * node may have assigned some of its streams to this node */

    if (!mcp_takeover_has_all(cluster, heartbeats, n)) {
        cluster->settled = 0;
    }

    memcpy(cluster->heartbeats, heartbeats, n * sizeof(mcp_heartbeats_t));
    cluster->n_heartbeats = n;

    if (cluster->takeover.node == 0) {
        mcp_takeover_next(cluster);
    }

    if (!cluster->settled && cluster->takeover.node == 0) {
        cluster->takeover.node = cluster->node;
        mcp_takeover_continue(cluster);
    }
}


void
mcp_takeover_forget_members(mcp_cluster_t *cluster)
{
    cluster->n_heartbeats = 0;
    cluster->own_heartbeats = 0;
    cluster->settled = 0;
}

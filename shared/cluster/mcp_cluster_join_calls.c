/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Calls that requests at other nodes join. Redis decides which of several equal
 * calls is the first: when the replicator of a held stream creates the stream
 * in Redis, it claims that the call is the first. If another stream has the
 * claim, this node gets a mirror of the other stream. The requests that join
 * read the mirror without displacing its reader. The process that feeds the
 * mirror fetches the events that did not arrive in the node queue. It also
 * reports to Redis that requests have joined, and which event was last sent to
 * them. If the stream has no consumer, the owner then records that the stream
 * was sent up to this event, and the stream may again be without a reader for
 * the full time.
 */


#include "cluster/mcp_cluster_replication.h"


/* Index of the first event in a reply of redis/joined_node.lua. */
#define MCP_CLUSTER_JOIN_EVENTS  11

/* Number of reports about joined requests within a node timeout, or within the
 * call's max_wait if that is shorter. */
#define MCP_CLUSTER_JOIN_TOUCHES  3


int
mcp_cluster_join_claims(const mcp_store_replication_state_t *repl_state)
{
    return repl_state->held && !repl_state->created;
}


int
mcp_cluster_join_is_late(const mcp_replication_t *repl)
{
    return repl->claims
           && mcp_worker_now(repl->cluster->worker) - repl->time
              >= repl->cluster->conf->node_timeout;
}


char
mcp_cluster_join_how(const mcp_store_replication_state_t *repl_state)
{
    if (!repl_state->joins) {
        return '\0';
    }

    if (repl_state->held) {
        return 'h';
    }

    return repl_state->consumer_slot == MCP_STORE_NO_SLOT ? '0' : '1';
}


/* Returns 1 if the value of mcp_cluster_join_how() has changed since it was
 * last sent to Redis, and has to be sent now. When the stream is no longer
 * held, returns 1 at the earliest MCP_REPLICATION_SEND_TIME ms after the last
 * command, because the next event usually follows earlier, and its command
 * contains the change. */
int
mcp_cluster_join_is_due(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    return mcp_cluster_join_how(repl_state) != repl->joined
           && (repl->joined != 'h'
               || mcp_worker_now(repl->cluster->worker)
                  >= repl->time + MCP_REPLICATION_SEND_TIME);
}


/* Adds the events in a reply of redis/joined_node.lua to the mirror, and stores
 * the state of the owner's stream there. Returns the values of
 * mcp_mirror_feed(), or MCP_ERR_SYNTAX if the state is malformed. */
static int
mcp_cluster_join_feed(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], const mcp_reply_t *reply)
{
    int                     rc;
    uint64_t                now;
    mcp_store_t            *store;
    mcp_codec_task_t        task;
    mcp_store_checkpoint_t  checkpoint;
    mcp_store_joined_t      joined;

    store = cluster->worker->store;
    now = mcp_worker_now(cluster->worker);
    checkpoint.seq = mcp_reply_number(mcp_reply_item(reply, 3));

    if (mcp_codec_decode_state(mcp_reply_item(reply, 6)->text,
                               &checkpoint) != MCP_OK
        || mcp_codec_decode_task(mcp_reply_item(reply, 10)->text, &task)
               != MCP_OK)
    {
        return MCP_ERR_SYNTAX;
    }

    rc = mcp_mirror_feed(cluster, id, reply, MCP_CLUSTER_JOIN_EVENTS,
                         mcp_reply_number(mcp_reply_item(reply, 8)));

    (void) mcp_store_mirror_known(store, id, &checkpoint,
                                  mcp_reply_number(mcp_reply_item(reply, 5)),
                                  now);
    mcp_codec_decode_joined(mcp_reply_item(reply, 1)->text,
                            mcp_reply_number(mcp_reply_item(reply, 2)), &task,
                            &joined);
    mcp_store_mirror_joined(store, id, &joined);

    return rc;
}


/* --- joining a stream --- */

/* Creates a mirror of the stream for the requests that join it, and adds the
 * events in the reply. Returns MCP_OK, MCP_ERR_EXISTS if the stream itself is
 * at this node, or another error. */
static int
mcp_cluster_join_mirror(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], const mcp_reply_t *reply)
{
    int                 rc;
    uint64_t            from;
    mcp_replication_t  *repl;
    mcp_stream_ref_t    ref;
    mcp_stream_spec_t   spec;

    from = mcp_reply_number(mcp_reply_item(reply, 8));

    if (from == 0
        || mcp_codec_decode_spec(&cluster->worker->env->mem,
                                 mcp_reply_item(reply, 7)->text, &spec)
           != MCP_OK
        || spec.join == NULL || memcmp(spec.id, id, MCP_STREAM_ID_LEN) != 0)
    {
        return MCP_ERR_SYNTAX;
    }

    rc = mcp_store_mirror(cluster->worker->store, &spec,
                          mcp_reply_number(mcp_reply_item(reply, 4)), from - 1,
                          0, mcp_worker_now(cluster->worker), &ref);

    if (rc == MCP_OK) {
        repl = mcp_replication_get(cluster, &ref);

        if (repl == NULL) {
            return MCP_ERR_MEMORY;
        }

        repl->coalesced = 1;
        mcp_mirror_continue(repl);

        /* events that arrived in the node queue before the mirror existed were
         * ignored: the next check fetches them, if requests have joined by
         * then */

        repl->time = 0;
        mcp_replication_within(repl, MCP_OPERATION_TIME);

        /* events for which the mirror has no room are fetched when it has
         * room */

        return mcp_cluster_join_feed(cluster, id, reply) == MCP_ERR_SYNTAX
               ? MCP_ERR_SYNTAX : MCP_OK;
    }

    return rc == MCP_ERR_LIMIT ? MCP_ERR_FULL : rc;
}


int
mcp_cluster_join_decode(mcp_cluster_t *cluster, mcp_operation_t *op,
    const mcp_reply_t *reply, int rc)
{
    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_cluster_join_mirror(cluster, op->spec.stream.id, reply);

    switch (rc) {

    case MCP_OK:
    case MCP_ERR_EXISTS:               /* the stream is this node's own */
        return MCP_ERR_EXISTS;

    case MCP_ERR_FULL:
    case MCP_ERR_MEMORY:
    case MCP_ERR_SYNTAX:
        return rc;

    default:
        return MCP_ERR_UNREACHABLE;
    }
}


void
mcp_cluster_join_encode(mcp_cluster_t *cluster,
    const mcp_operation_spec_t *spec, mcp_script_args_t *args)
{
    mcp_stream_info_t  info;

    /* If this node has a mirror already, report the last event that was sent to
     * its readers, because Redis may not have received that number. */

    if (mcp_store_find(cluster->worker->store, spec->stream.id, 0, &info)
        != MCP_OK
        || !info.mirror)
    {
        info.sent_seq = 0;
    }

    mcp_args_stream(args, spec->stream.id);
    mcp_args_text(args, mcp_str(""));
    mcp_args_number(args, info.sent_seq);
    mcp_args_flag(args, 0);
}


int
mcp_cluster_join_gives_way(mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    if (!repl_state->hidden || !mcp_cluster_join_claims(repl_state)
        || repl->ops == NULL
        || repl->cluster->state != MCP_CLUSTER_MEMBER)
    {
        return 0;
    }

    mcp_replication_within(repl, MCP_OPERATION_TIME);
    mcp_replication_complete(mcp_replication_acknowledged(repl, UINT64_MAX),
                             MCP_ERR_EXISTS);

    return 1;
}


void
mcp_cluster_join_taken(mcp_replication_t *repl, const mcp_reply_t *reply)
{
    int                    rc;
    mcp_operation_t       *op;
    mcp_cluster_t         *cluster;
    mcp_operation_spec_t   spec;

    cluster = repl->cluster;
    spec.kind = MCP_OPERATION_JOIN;

    if (mcp_stream_id_parse(mcp_reply_item(reply, 1)->text, spec.stream.id)
        != MCP_OK)
    {
        mcp_cluster_unexpected_reply(cluster, "append", reply);
        mcp_replication_complete(mcp_replication_acknowledged(repl, UINT64_MAX),
                                 MCP_ERR_UNREACHABLE);
        return;
    }

    /* no request waits for this stream, whose claim was denied: free the
     * stream */

    if (repl->ops == NULL) {
        mcp_store_free(cluster->worker->store, &repl->ref);
    }

    while (repl->ops) {
        op = repl->ops;
        repl->ops = op->later;
        rc = cluster->worker->cluster_hooks->start(cluster, &spec, op);

        if (rc != MCP_AGAIN) {
            mcp_operation_complete(op, rc);
        }
    }
}


/* --- requests that have joined --- */

/* Called if Redis does not have the stream of a mirror. If the stream is held,
 * because its call has not started, frees the mirror, so that the joined
 * requests start a call themselves. Otherwise counts the reply by
 * mcp_mirror_missed(), because the owner may replicate the stream again. */
static void
mcp_cluster_join_missed(mcp_replication_t *repl)
{
    mcp_store_t             *store;
    mcp_store_replication_state_t  repl_state;

    store = repl->cluster->worker->store;

    if (mcp_store_replication_state(store, &repl->ref, &repl_state) == MCP_OK
        && !repl_state.held)
    {
        mcp_mirror_missed(repl);
        return;
    }

    mcp_store_mirror_forget(store, repl->ref.id);
    mcp_replication_check(repl);
}


static void
mcp_cluster_join_fetched(void *data, const mcp_reply_t *reply)
{
    int                 rc;
    mcp_replication_t  *repl;
    const mcp_reply_t  *kind;

    repl = data;

    mcp_replication_returned(repl);

    if (reply == NULL) {
        return;
    }

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "LEFT")) {
        mcp_replication_check(repl);
        return;
    }

    if (mcp_reply_is(kind, "NONE")) {
        mcp_cluster_join_missed(repl);
        return;
    }

    rc = mcp_reply_is(kind, "OK")
         ? mcp_cluster_join_feed(repl->cluster, repl->ref.id, reply)
         : MCP_ERR_SYNTAX;

    if (rc == MCP_ERR_SYNTAX) {
        mcp_cluster_unexpected_reply(repl->cluster, "join", reply);
        mcp_replication_within(repl, repl->cluster->conf->node_timeout / 3);
        return;
    }

    repl->misses = 0;
    mcp_mirror_note_fetch(repl, rc, reply->n <= MCP_CLUSTER_JOIN_EVENTS);

    /* free the mirror: Redis no longer has the next event, or the event can
     * never fit */

    if (rc == MCP_ERR_LARGE || rc == MCP_AGAIN) {
        mcp_store_mirror_forget(repl->cluster->worker->store, repl->ref.id);
    }

    mcp_replication_check(repl);
}


static void
mcp_cluster_join_fetch(mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state, int left)
{
    mcp_script_args_t  args;

    mcp_args_init(&args);
    mcp_args_number(&args, repl_state->own.seq);
    mcp_args_number(&args, repl_state->sent_seq);
    mcp_args_flag(&args, left);

    if (mcp_replication_run(repl, MCP_SCRIPT_JOIN, args.args, args.n,
                            mcp_cluster_join_fetched)
        == MCP_OK)
    {
        repl->coalesced = !left;
        repl->sent = repl_state->sent_seq;
    }
}


void
mcp_cluster_join_check(mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    uint64_t  now, refresh;

    if (repl_state->readers == 0) {
        if (repl->coalesced) {
            mcp_cluster_join_fetch(repl, repl_state, 1);
        }

        return;
    }

    now = mcp_worker_now(repl->cluster->worker);
    refresh = repl->cluster->conf->node_timeout;

    if (repl_state->max_wait && repl_state->max_wait < refresh) {
        refresh = repl_state->max_wait;
    }

    refresh = refresh / MCP_CLUSTER_JOIN_TOUCHES + 1;

    if (!repl->coalesced || now >= repl->time + refresh
        || (repl_state->known.seq > repl_state->own.seq
            && repl->mirror == MCP_MIRROR_FETCH)
        || repl_state->sent_seq >= repl->sent + MCP_REPLICATION_SEND_EVENTS
        || (repl_state->sent_seq > repl->sent
            && now >= repl->time + MCP_REPLICATION_SEND_TIME))
    {
        mcp_cluster_join_fetch(repl, repl_state, 0);
        return;
    }

    mcp_replication_within(repl, repl_state->sent_seq > repl->sent
                                     ? MCP_REPLICATION_SEND_TIME
                                     : refresh);
}

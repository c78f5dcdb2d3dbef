/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Handles the replies to a replicator's commands. A reply also contains the
 * number and the position of the stream's reader at another node, because
 * entries of the node queue about the reader may have been lost.
 *
 * If acknowledgements of Redis's replicas are configured, a WAIT follows the
 * command. WAIT blocks its connection until enough replicas have all earlier
 * commands of the connection, or until a timeout, and returns the number of
 * these replicas. So at most one WAIT is pending for all streams. After a WAIT
 * has failed, no further WAIT is sent for MCP_REPLICATION_LATER ms.
 */


#include "cluster/mcp_cluster_replication.h"
#include "worker/mcp_notification.h"


/* Values of "where" in a reply of redis/append.lua, which name the node of the
 * reader: another node, or none because there is no reader. Any other value
 * means this node. */
#define MCP_REPLICATOR_READ_ELSEWHERE  0
#define MCP_REPLICATOR_READ_NOWHERE    2


/* --- readers at other nodes --- */

/*
 * Handles a reply without a reader, although the owner has a reader at another
 * node: Redis may have lost the reader. The reader's node soon reports the
 * reader again. If that node is dead, or the reader left while Redis was
 * unreachable, there is no such report, and the owner drops the reader after
 * the node timeout.
 */
static void
mcp_replicator_reader_missed(mcp_replication_t *repl, uint64_t number)
{
    uint64_t                 now;
    mcp_store_t             *store;
    mcp_store_replication_state_t  repl_state;

    store = repl->cluster->worker->store;
    now = mcp_worker_now(repl->cluster->worker);

    if (mcp_store_replication_state(store, &repl->ref, &repl_state) != MCP_OK
        || repl_state.consumer_slot != MCP_STORE_REMOTE_CONSUMER
        || repl_state.reader <= number)
    {
        repl->missed = 0;

    } else if (repl->missed == 0) {
        repl->missed = now;

    } else if (now - repl->missed > repl->cluster->conf->node_timeout) {
        repl->missed = 0;
        mcp_store_remote_consumer_left(store, &repl->ref, repl_state.reader,
                                       repl_state.sent_seq, now);
    }
}


/* Handles a reply that the reader is at this node, although the owner has a
 * reader at another node. The client has resumed the stream at this node, but
 * the reply of redis/resume.lua was lost. */
static void
mcp_replicator_reader_back(mcp_replication_t *repl, uint64_t number)
{
    mcp_store_t             *store;
    mcp_store_replication_state_t  repl_state;

    store = repl->cluster->worker->store;

    if (mcp_store_replication_state(store, &repl->ref, &repl_state) == MCP_OK
        && repl_state.consumer_slot == MCP_STORE_REMOTE_CONSUMER
        && repl_state.reader < number)
    {
        mcp_store_remote_consumer_left(store, &repl->ref, repl_state.reader,
                                       repl_state.sent_seq,
                                       mcp_worker_now(repl->cluster->worker));
    }
}


/* Reads from a reply of redis/append.lua the remote reader and its position, in
 * case the node queue did not bring them. */
static void
mcp_replicator_readers(mcp_replication_t *repl, const mcp_reply_t *reply)
{
    uint64_t      number, sent;
    mcp_store_t  *store;

    store = repl->cluster->worker->store;
    number = mcp_reply_number(mcp_reply_item(reply, 3));
    sent = mcp_reply_number(mcp_reply_item(reply, 4));

    switch (mcp_reply_number(mcp_reply_item(reply, 2))) {

    case MCP_REPLICATOR_READ_ELSEWHERE:
        repl->missed = 0;
        (void) mcp_store_remote_consumer(store, &repl->ref, number, sent, 1);
        mcp_store_remote_consumer_sent(store, &repl->ref, number, sent);
        break;

    case MCP_REPLICATOR_READ_NOWHERE:
        mcp_store_remote_consumer_left(store, &repl->ref, number, sent,
                                       mcp_worker_now(repl->cluster->worker));
        mcp_replicator_reader_missed(repl, number);
        break;

    default:
        repl->missed = 0;
        mcp_replicator_reader_back(repl, number);
        break;
    }
}


/* --- client input --- */

/*
 * Reads from a reply of redis/append.lua the number of the last client input,
 * and whether the node queue may contain it. If this node has not got the
 * input, and its queue has been empty for a node timeout, the input is lost:
 * the queue was too long, or has expired. Then logs that, and opens the
 * questions again for which Redis has recorded answers.
 */
static void
mcp_replicator_input_missed(mcp_replication_t *repl, const mcp_reply_t *reply)
{
    char                           id[9];
    uint64_t                       now, input;
    mcp_worker_t                  *worker;
    mcp_store_replication_state_t  repl_state;

    worker = repl->cluster->worker;
    now = mcp_worker_now(worker);
    input = mcp_reply_number(mcp_reply_item(reply, 5));

    if (mcp_reply_item(reply, 6)->type != MCP_REPLY_NUMBER
        || mcp_reply_number(mcp_reply_item(reply, 6)) != 0)
    {
        return;
    }

    if (mcp_store_replication_state(worker->store, &repl->ref, &repl_state)
        != MCP_OK
        || input <= repl_state.got)
    {
        repl->input_missed = 0;
        return;
    }

    if (repl->input_missed == 0) {
        repl->input_missed = now;
    }

    if (now - repl->input_missed <= repl->cluster->conf->node_timeout) {
        return;
    }

    repl->input_missed = 0;
    mcp_stream_id_short(id, repl->ref.id);
    mcp_worker_log(worker, MCP_LOG_ERROR,
                   "cluster: an answer or a cancellation of a client for call "
                   "%s is lost, because Redis has removed it before this node "
                   "received it: the client has to send it again", id);
    mcp_store_node_count(worker->store, MCP_NODE_DROPPED);
    mcp_store_replication_got(worker->store, repl->ref.id, input);
}


/* --- replies --- */

/* Drops the local stream, because another node owns it. Either this node was
 * declared dead and the other node has taken the stream over, or the stream is
 * a session's own stream that the other node created first. A backend request
 * of the call finds the stream gone, and the client resumes at the other
 * node. */
static void
mcp_replicator_fenced(mcp_replication_t *repl)
{
    char           id[9];
    mcp_worker_t  *worker;

    worker = repl->cluster->worker;

    mcp_stream_id_short(id, repl->ref.id);
    mcp_worker_log(worker, MCP_LOG_ERROR, "cluster: stream %s is dropped, "
                   "because it belongs to another node, which has taken it "
                   "over or created it first", id);
    mcp_store_node_count(worker->store, MCP_NODE_FENCED);
    repl->at.state = MCP_STATE_CANCELLED;
    mcp_store_revoke(worker->store, &repl->ref);

    /* the present id of this node may have been declared dead: checks this,
     * unless the stream was last replicated under an earlier id, which was
     * certainly declared dead */

    if (repl->node == 0 || repl->node == repl->cluster->node) {
        mcp_cluster_self_check(repl->cluster);
    }
}


/* Handles an error of a script. If a key of the stream has a wrong type in
 * Redis, the command is repeated. After mcp_cluster_outage_timeout the stream
 * is abandoned, unless mcp_cluster_sync is off. Returns 1 if the stream was
 * abandoned. */
static int
mcp_replicator_displaced(mcp_replication_t *repl, const mcp_reply_t *error)
{
    char            id[9];
    uint64_t        now;
    mcp_cluster_t  *cluster;

    cluster = repl->cluster;
    now = mcp_worker_now(cluster->worker);

    /* handles only the error that a key of the stream has a wrong type */

    if (error->type != MCP_REPLY_ERROR
        || !mcp_login_mentions(error->text, "WRONGTYPE "))
    {
        return 0;
    }

    if (repl->displaced == 0) {
        repl->displaced = now;
    }

    if (cluster->conf->sync == MCP_CLUSTER_SYNC_OFF
        || now < repl->displaced + cluster->conf->outage_timeout)
    {
        return 0;
    }

    mcp_stream_id_short(id, repl->ref.id);
    mcp_worker_log(cluster->worker, MCP_LOG_ERROR,
                   "cluster: stream %s is abandoned, because its key in Redis "
                   "has the wrong type: if another program uses the key, set "
                   "another prefix=", id);
    mcp_store_revoke(cluster->worker->store, &repl->ref);

    return 1;
}


/* Ends the replication of the stream, because its session has too many active
 * calls. Posts MCP_INBOX_LIMIT to the stream's inbox, so that the owner ends
 * the call. */
static void
mcp_replicator_over_limit(mcp_replication_t *repl)
{
    mcp_store_t  *store;

    store = repl->cluster->worker->store;
    mcp_store_replication_end(store, &repl->ref);

    /* if the inbox has no room, the call continues, and the session has one
     * call more than allowed; a call that is over need not be ended */

    (void) mcp_store_inbox_put(store, &repl->ref, MCP_INBOX_LIMIT, 0,
        mcp_str("{}"));
}


/* Returns 1 if Redis acknowledged the stream under an earlier id of this node.
 * That id was declared dead, and another node took the stream over. So if Redis
 * lacks the stream, the other node has ended it. */
static int
mcp_replicator_is_lost(const mcp_replication_t *repl)
{
    return repl->node != 0 && repl->node != repl->cluster->node;
}


/* Handles the reply that this node was declared dead. A stream that Redis
 * never had is replicated again under the node's new id; any other stream was
 * taken over by another node and is dropped here. */
static int
mcp_replicator_dead(mcp_replication_t *repl)
{
    if (repl->node != 0) {
        mcp_replicator_fenced(repl);
        return MCP_AGAIN;
    }

    mcp_cluster_self_check(repl->cluster);

    return MCP_ERR_UNREACHABLE;
}


/* Handles the replies "DEAD" and "LATER", errors, and unexpected replies.
 * Returns the values of mcp_replicator_taken(). */
static int
mcp_replicator_refused(mcp_replication_t *repl, const mcp_reply_t *reply)
{
    const mcp_reply_t  *kind;

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "DEAD")) {
        return mcp_replicator_dead(repl);
    }

    if (mcp_reply_is(kind, "LATER")) {
        return MCP_ERR_UNREACHABLE;
    }

    mcp_cluster_unexpected_reply(repl->cluster, "append", reply);

    return mcp_replicator_displaced(repl, reply) ? MCP_AGAIN
                                               : MCP_ERR_UNREACHABLE;
}


/*
 * Handles the reply for a stream from redis/append.lua, redis/append_events.lua
 * or redis/keep.lua.
 *
 * Returns MCP_OK if Redis has the events, or
 *   MCP_DONE             the waiting requests have to join the stream of an
 *                        equal call instead
 *   MCP_AGAIN            the next command has to be sent at once
 *   MCP_ERR_UNREACHABLE  there is no reply, or an error; Redis cannot execute
 *                        the command now; the stream was freed; or the reply is
 *                        so late that Redis may now name another call as the
 *                        first of equal calls
 */
static int
mcp_replicator_taken(mcp_replication_t *repl, const mcp_reply_t *reply)
{
    const mcp_reply_t  *kind;

    /* there is no reply, or it is about a freed stream, whose id another
     * stream may have by now */

    if (reply == NULL || repl->phase == MCP_REPLICATION_DISCARD) {
        return MCP_ERR_UNREACHABLE;
    }

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "OK")) {
        if (mcp_cluster_join_is_late(repl)) {
            return MCP_ERR_UNREACHABLE;
        }

        repl->begin = 0;
        repl->displaced = 0;
        repl->node = repl->cluster->node;
        mcp_replicator_readers(repl, reply);
        mcp_replicator_input_missed(repl, reply);
        return MCP_OK;
    }

    if (mcp_reply_is(kind, "FENCED")
        || (mcp_reply_is(kind, "GONE") && mcp_replicator_is_lost(repl)))
    {
        mcp_replicator_fenced(repl);

    } else if (mcp_reply_is(kind, "GONE") || mcp_reply_is(kind, "GAP")) {

        /* GONE: send the stream again from the first stored event on; GAP:
         * continue after the last event in Redis */

        mcp_store_node_count(repl->cluster->worker->store, MCP_NODE_REFILLED);
        repl->begin |= mcp_reply_is(kind, "GONE") != 0;
        repl->refills = 1;
        memset(&repl->at, 0, sizeof(mcp_store_checkpoint_t));
        repl->at.seq = mcp_reply_number(mcp_reply_item(reply, 1));

    } else if (mcp_reply_is(kind, "APPEND")) {
        repl->time = 0;

    } else if (mcp_reply_is(kind, "LIMIT")) {
        mcp_replicator_over_limit(repl);

    } else if (mcp_reply_is(kind, "TAKEN")) {
        repl->claims = 0;
        mcp_cluster_join_taken(repl, reply);
        return MCP_DONE;

    } else {
        return mcp_replicator_refused(repl, reply);
    }

    return MCP_AGAIN;
}


/* Ends the pending command of a replicator. "rc" is a value of
 * mcp_replicator_taken(), or the result of the acknowledgement of replicas. */
static void
mcp_replicator_over(mcp_replication_t *repl, int rc)
{
    mcp_operation_t  *ops;

    mcp_replication_returned(repl);

    if (rc == MCP_ERR_UNREACHABLE || rc == MCP_DONE) {

        /* MCP_ERR_UNREACHABLE: the next check sends the events after the last
         * acknowledged one again, or removes a freed stream from Redis.
         * MCP_DONE: the next check comes later, so that the requests have time
         * to join the other stream and to free this stream. */

        repl->time = 0;
        mcp_replication_within(repl, repl->phase == MCP_REPLICATION_FORGET ? 0
                                     : rc == MCP_DONE ? MCP_OPERATION_TIME
                                     : MCP_REPLICATION_LATER);
        return;
    }

    ops = NULL;

    if (rc == MCP_OK) {
        repl->claims = 0;
        (void) mcp_store_acked(repl->cluster->worker->store, &repl->ref,
                               &repl->at);
        ops = mcp_replication_acknowledged(repl, repl->at.seq);

        if (repl->reports_state) {
            mcp_store_replication_sent(repl->cluster->worker->store,
                                       &repl->ref);
        }

        if (repl->expires) {
            mcp_notify_task(repl->cluster->worker, repl->ref.id);
        }
    }

    mcp_replication_check(repl);
    mcp_replication_complete(ops, MCP_OK);
}


/* --- acknowledgements of replicas --- */

/* Returns the timeout for WAIT: half of the time after which the link counts as
 * lost, limited to the interval of heartbeats, because heartbeats have to wait
 * behind WAIT. */
static uint64_t
mcp_replica_ack_time(const mcp_cluster_conf_t *conf)
{
    uint64_t  link, interval;

    link = conf->timeout / 2;
    interval = conf->node_timeout / MCP_CLUSTER_HEARTBEATS;

    return (link < interval ? link : interval) + 1;
}


/* Handles the reply to WAIT: the number of replicas that have the commands of
 * all replications in cluster->ack_waiters. Redis has executed these commands
 * before WAIT, because their replies arrived before the reply to WAIT. */
static void
mcp_replica_ack_waited(void *data, const mcp_reply_t *reply)
{
    int                 rc;
    mcp_replication_t  *repl, *row;
    mcp_cluster_t      *cluster;

    cluster = data;
    row = cluster->ack_waiters;
    cluster->ack_waiters = NULL;
    cluster->ack_pending = 0;

    rc = reply && mcp_reply_number(reply) >= cluster->conf->replicas
         ? MCP_OK : MCP_ERR_UNREACHABLE;

    if (reply && reply->type != MCP_REPLY_NUMBER) {
        mcp_cluster_unexpected_reply(cluster, "WAIT", reply);
    }

    if (reply && rc != MCP_OK) {
        cluster->ack_failed = mcp_worker_now(cluster->worker);
    }

    /* a replication that waits for replicas is not freed, so all pointers in
     * the list are valid */

    while (row) {
        repl = row;
        row = repl->ack_next;
        repl->ack_next = NULL;

        /* if the stream was freed, another stream may have its id */

        mcp_replicator_over(repl, repl->phase == MCP_REPLICATION_DISCARD
                                  ? MCP_ERR_UNREACHABLE : rc);
    }
}


void
mcp_replica_ack_wait(mcp_cluster_t *cluster)
{
    mcp_script_args_t          args;
    const mcp_cluster_conf_t  *conf;

    conf = cluster->conf;

    if (cluster->ack_pending || conf->replicas == 0
        || mcp_worker_now(cluster->worker)
           < cluster->ack_failed + MCP_REPLICATION_LATER)
    {
        return;
    }

    mcp_args_init(&args);
    mcp_args_text(&args, mcp_str("WAIT"));
    mcp_args_number(&args, conf->replicas);
    mcp_args_number(&args, mcp_replica_ack_time(conf));

    cluster->ack_pending = mcp_link_send(&cluster->link, args.args, args.n,
                                         mcp_replica_ack_waited, cluster)
                           == MCP_OK;
}


/* Handles Redis's acknowledgement of a command: calls mcp_replicator_over(),
 * now or after the replicas have acknowledged, with MCP_OK or
 * MCP_ERR_UNREACHABLE. */
static void
mcp_replica_ack(mcp_replication_t *repl)
{
    mcp_cluster_t  *cluster;

    cluster = repl->cluster;

    if (cluster->conf->replicas == 0) {
        mcp_replicator_over(repl, MCP_OK);
        return;
    }

    mcp_replica_ack_wait(cluster);

    /* no WAIT can be sent, because the link has no room or a WAIT has just
     * failed: the events are sent again */

    if (!cluster->ack_pending) {
        mcp_replicator_over(repl, MCP_ERR_UNREACHABLE);
        return;
    }

    if (cluster->ack_waiters == NULL) {
        cluster->ack_waiters_end = &cluster->ack_waiters;
    }

    mcp_replication_set_phase(repl, MCP_REPLICATION_WAIT_REPLICAS);
    *cluster->ack_waiters_end = repl;
    cluster->ack_waiters_end = &repl->ack_next;
}


void
mcp_replicator_done(void *data, const mcp_reply_t *reply)
{
    int                 rc;
    mcp_replication_t  *repl;

    repl = data;
    rc = mcp_replicator_taken(repl, reply);

    if (rc == MCP_OK) {
        mcp_replica_ack(repl);

    } else {
        mcp_replicator_over(repl, rc);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Topics of a session's own stream. Redis stores them for the node that takes
 * the stream over, and broadcasts each change, so that the owner applies a
 * subscription before it receives notifications that were published later. */


#include "cluster/mcp_cluster_replication.h"
#include "worker/mcp_notification.h"


/* Maximum number of broadcasts in one reply to XRANGE. */
#define MCP_TOPIC_REPLAY_COUNT  "128"

/* Maximum length of "(MS-N", by which XRANGE begins after the position MS-N,
 * bytes. */
#define MCP_TOPIC_POSITION_MAX  43


/* The replay of missed broadcasts for a listener that was taken over. */
struct mcp_replay_s {
    mcp_replay_t        *next;         /* next replay that waits until Redis
                                          can be queried again */
    mcp_cluster_t       *cluster;
    mcp_stream_ref_t     ref;
    mcp_node_position_t  at;           /* position of the last broadcast that
                                          was replayed */
    mcp_node_position_t  end;          /* position of the last broadcast to
                                          replay */
};


static void mcp_replay_continue(mcp_replay_t *replay);


/* --- subscriptions --- */

void
mcp_topic_encode(mcp_cluster_t *cluster, const mcp_operation_spec_t *spec,
    mcp_script_args_t *args)
{
    mcp_replication_flush(cluster, spec->topic.id);

    mcp_args_stream(args, spec->topic.id);
    mcp_args_digest(args, spec->topic.session);
    mcp_args_digest(args, spec->topic.topic);
    mcp_args_text(args, spec->topic.subscribe ? mcp_str("1") : mcp_str("0"));
}


/* --- topics of a dead node --- */

/* Returns the cause of an error of mcp_store_subscribe(), for the log. */
static const char *
mcp_topic_lost(int rc)
{
    switch (rc) {

    case MCP_ERR_FULL:
        return "the zone is full: enlarge the zone";

    case MCP_ERR_LIMIT:
        return "their stream has too many subscriptions, or the caller "
               "exceeds mcp_quota_bytes: raise mcp_quota_bytes";

    case MCP_ERR_NOT_FOUND:
        return "their stream has ended";

    default:
        return "an internal error";
    }
}


static void
mcp_topic_promote(mcp_replication_t *repl, const mcp_reply_t *reply)
{
    int        rc;
    size_t     i;
    mcp_str_t  topic;

    for (i = 0, rc = MCP_OK; rc == MCP_OK && i < reply->n; i++) {
        topic = reply->items[i]->text;

        if (topic.len == MCP_DIGEST_LEN) {
            rc = mcp_store_subscribe(repl->cluster->worker->store, &repl->ref,
                                     (const unsigned char *) topic.data);
        }
    }

    if (rc != MCP_OK) {
        mcp_worker_log(repl->cluster->worker, MCP_LOG_ERROR,
                       "cluster: some subscriptions of a dead node are lost: "
                       "%s",
                       mcp_topic_lost(rc));
    }

    mcp_mirror_set_state(repl, MCP_MIRROR_TOPICS);
}


/* Handles the reply to SMEMBERS. If a broadcast about topics was received since
 * the command was sent, the broadcast may be newer than the reply and must not
 * be undone, so the topics are requested again. */
static void
mcp_topic_fetched(void *data, const mcp_reply_t *reply)
{
    mcp_replication_t  *repl;
    mcp_cluster_t      *cluster;

    repl = data;

    mcp_replication_returned(repl);

    if (reply == NULL) {
        return;
    }

    cluster = repl->cluster;

    if (reply->type != MCP_REPLY_ARRAY) {
        mcp_cluster_unexpected_reply(cluster, "SMEMBERS", reply);
        mcp_replication_within(repl, cluster->conf->node_timeout / 3);
        return;
    }

    if (repl->topics_received == cluster->topics_received) {
        mcp_topic_promote(repl, reply);
    }

    mcp_replication_check(repl);
}


void
mcp_topic_fetch(mcp_replication_t *repl)
{
    char            key[MCP_CLUSTER_KEY_MAX];
    mcp_str_t       argv[2];
    mcp_cluster_t  *cluster;

    cluster = repl->cluster;

    if (cluster->state != MCP_CLUSTER_MEMBER || !mcp_replication_may_send(repl))
    {
        return;
    }

    argv[0] = mcp_str("SMEMBERS");
    argv[1] = mcp_cluster_stream_key(cluster, MCP_KEY_TOPICS, repl->ref.id,
                                     key);

    repl->topics_received = cluster->topics_received;

    if (mcp_link_send(&cluster->link, argv, 2, mcp_topic_fetched, repl)
        == MCP_OK)
    {
        mcp_replication_set_phase(repl, MCP_REPLICATION_SENT);

    } else {
        mcp_replication_within(repl, MCP_REPLICATION_LATER);
    }
}


static void
mcp_replay_free(mcp_replay_t *replay)
{
    mcp_mem_free(&replay->cluster->worker->env->mem, replay);
}


/* Stores a replay, which mcp_topic_again() continues when Redis can be queried
 * again. */
static void
mcp_replay_later(mcp_replay_t *replay)
{
    replay->next = replay->cluster->replays;
    replay->cluster->replays = replay;
}


/* Delivers the notifications in a reply to XRANGE, {{id, {field, value, ...}},
 * ...}, and requests the next entries. A reply without entries ends the
 * replay. */
static void
mcp_replay_done(void *data, const mcp_reply_t *reply)
{
    size_t              i;
    mcp_broadcast_t     broadcast;
    mcp_replay_t       *replay;
    const mcp_reply_t  *entry;

    replay = data;

    if (reply == NULL) {
        mcp_replay_later(replay);
        return;
    }

    for (i = 0; i < reply->n; i++) {
        entry = reply->items[i];

        if (!mcp_broadcast_position(mcp_reply_item(entry, 0)->text,
                                    &replay->at)) {
            break;
        }

        if (mcp_broadcast_read(replay->cluster, mcp_reply_item(entry, 1),
                &broadcast)
            && broadcast.what == MCP_BROADCAST_NOTIFICATION)
        {
            mcp_notify_receive_for(replay->cluster->worker, &replay->ref,
                                   broadcast.message);
        }
    }

    if (reply->type != MCP_REPLY_ARRAY) {
        mcp_cluster_unexpected_reply(replay->cluster, "XRANGE", reply);
    }

    if (reply->n && i == reply->n) {
        mcp_replay_continue(replay);

    } else {
        mcp_replay_free(replay);
    }
}


static void
mcp_replay_continue(mcp_replay_t *replay)
{
    char       key[MCP_CLUSTER_KEY_MAX], texts[2][MCP_TOPIC_POSITION_MAX], *p;
    mcp_str_t  argv[6];

    p = texts[0];
    *p++ = '(';
    p = mcp_uint_print(p, replay->at.ms);
    *p++ = '-';
    p = mcp_uint_print(p, replay->at.n);

    argv[0] = mcp_str("XRANGE");
    argv[1] = mcp_broadcast_key(replay->cluster, MCP_NODE_BROADCASTS, key);
    argv[2] = (mcp_str_t) { texts[0], (size_t) (p - texts[0]) };

    p = mcp_uint_print(texts[1], replay->end.ms);
    *p++ = '-';
    p = mcp_uint_print(p, replay->end.n);

    argv[3] = (mcp_str_t) { texts[1], (size_t) (p - texts[1]) };
    argv[4] = mcp_str("COUNT");
    argv[5] = mcp_str(MCP_TOPIC_REPLAY_COUNT);

    if (mcp_link_send(&replay->cluster->link, argv, 6, mcp_replay_done,
                      replay)
        != MCP_OK)
    {
        mcp_replay_later(replay);
    }
}


void
mcp_topic_again(mcp_cluster_t *cluster)
{
    mcp_replay_t  *replay, *next;

    next = cluster->replays;
    cluster->replays = NULL;

    while (next) {
        replay = next;
        next = replay->next;
        mcp_replay_continue(replay);
    }
}


void
mcp_topic_free_all(mcp_cluster_t *cluster)
{
    mcp_replay_t  *replay;

    while (cluster->replays) {
        replay = cluster->replays;
        cluster->replays = replay->next;
        mcp_replay_free(replay);
    }
}


void
mcp_topic_replay(mcp_replication_t *repl)
{
    mcp_replay_t     *replay;
    mcp_cluster_t    *cluster;

    cluster = repl->cluster;

    if (!repl->replays) {
        return;
    }

    repl->replays = 0;
    replay = mcp_mem_calloc(&cluster->worker->env->mem, sizeof(mcp_replay_t));

    if (replay == NULL) {
        return;
    }

    replay->cluster = cluster;
    replay->ref = repl->ref;
    replay->at = repl->received;
    mcp_store_node_position(cluster->worker->store, MCP_NODE_BROADCASTS,
                            &replay->end);
    mcp_replay_continue(replay);
}

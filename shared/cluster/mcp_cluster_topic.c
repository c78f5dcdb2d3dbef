/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Topics of a session's own stream.  They are kept in Redis, too, for the node
 * that inherits it, and told among what nodes are told, so that its owner knows
 * of a subscription before it hears what was published after that.
 */


#include <stdio.h>

#include "cluster/mcp_cluster_copy.h"
#include "worker/mcp_notify.h"


/* Words of one reply. */
#define MCP_TOPIC_WORDS  "128"

/* "ms-n", after a parenthesis. */
#define MCP_TOPIC_PLACE_MAX  43

#define MCP_TOPIC_KEY_MAX  256


/* A listener that hears what it has missed. */
struct mcp_replay_s {
    mcp_replay_t      *next;           /* of those that could not ask */
    mcp_cluster_t     *cluster;
    mcp_stream_ref_t   ref;
    mcp_node_place_t   at;
    mcp_node_place_t   end;
};


static void mcp_replay_go_on(mcp_replay_t *replay);


/* --- subscribing --- */

/* Where nothing is promised there is no stream elsewhere that this node could
 * reach. */
static int
mcp_topic_unreachable(const mcp_cluster_t *cluster)
{
    return cluster->conf->sync == MCP_CLUSTER_SYNC_OFF
           || mcp_store_node_is_alone(cluster->worker->store)
           ? MCP_ERR_NOT_FOUND : MCP_ERR_AWAY;
}


static int
mcp_topic_taken(mcp_cluster_t *cluster, const mcp_reply_t *reply)
{
    const mcp_reply_t  *kind;

    if (reply == NULL) {
        return mcp_topic_unreachable(cluster);
    }

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "OK")) {
        return MCP_OK;
    }

    if (mcp_reply_is(kind, "NONE")) {
        return MCP_ERR_NOT_FOUND;
    }

    mcp_cluster_strange(cluster, "topic", reply);

    return MCP_ERR_AWAY;
}


static void
mcp_topic_done(void *data, const mcp_reply_t *reply)
{
    mcp_ask_t  *ask;

    ask = data;

    mcp_ask_answer(ask, mcp_topic_taken(ask->worker->cluster, reply));
}


int
mcp_cluster_topic(void *data, const mcp_ask_topic_t *topic, mcp_ask_t *ask)
{
    char            id[MCP_STREAM_TEXT_LEN];
    mcp_str_t       args[4];
    mcp_cluster_t  *cluster;

    cluster = data;

    if (cluster->state == MCP_CLUSTER_MEMBER) {
        mcp_copy_flush(cluster, topic->id);

        (void) mcp_stream_id_print(id, topic->id);
        args[0] = (mcp_str_t) { id, MCP_STREAM_TEXT_LEN };
        args[1] = (mcp_str_t) { (const char *) topic->session,
                                MCP_DIGEST_LEN };
        args[2] = (mcp_str_t) { (const char *) topic->topic, MCP_DIGEST_LEN };
        args[3] = topic->subscribe ? mcp_str("1") : mcp_str("0");

        if (mcp_cluster_run(cluster, MCP_SCRIPT_TOPIC, args, 4, mcp_topic_done,
                            ask)
            == MCP_OK)
        {
            return MCP_AGAIN;
        }
    }

    return mcp_topic_unreachable(cluster);
}


/* --- what a dead node leaves --- */

static void
mcp_topic_inherit(mcp_copy_t *copy, const mcp_reply_t *reply)
{
    int        rc;
    size_t     i;
    mcp_str_t  topic;

    for (i = 0, rc = MCP_OK; rc == MCP_OK && i < reply->n; i++) {
        topic = reply->items[i]->text;

        if (topic.len == MCP_DIGEST_LEN) {
            rc = mcp_store_subscribe(copy->cluster->worker->store, &copy->ref,
                                     (const unsigned char *) topic.data);
        }
    }

    if (rc != MCP_OK) {
        mcp_worker_log(copy->cluster->worker, MCP_LOG_ERROR,
                       "cluster: there is no room for the subscriptions of a "
                       "dead node, of which some are lost");
    }

    copy->has_topics = 1;
}


/* The reply to SMEMBERS.  What was heard meanwhile may have been told after it,
 * and is not to be undone: so the topics are asked for again. */
static void
mcp_topic_fetched(void *data, const mcp_reply_t *reply)
{
    mcp_copy_t     *copy;
    mcp_cluster_t  *cluster;

    copy = data;

    if (!mcp_copy_returned(copy) || reply == NULL) {
        return;
    }

    cluster = copy->cluster;

    if (reply->type != MCP_REPLY_ARRAY) {
        mcp_cluster_strange(cluster, "SMEMBERS", reply);
        mcp_copy_within(copy, cluster->conf->dead_after / 3);
        return;
    }

    if (copy->topics_heard == cluster->topics_heard) {
        mcp_topic_inherit(copy, reply);
    }

    mcp_copy_look(copy);
}


void
mcp_topic_fetch(mcp_copy_t *copy)
{
    int             n;
    char            key[MCP_TOPIC_KEY_MAX], id[MCP_STREAM_TEXT_LEN];
    mcp_str_t       words[2], prefix;
    mcp_cluster_t  *cluster;

    cluster = copy->cluster;

    if (cluster->state != MCP_CLUSTER_MEMBER || !mcp_copy_may_send(copy)) {
        return;
    }

    prefix = cluster->conf->prefix;

    (void) mcp_stream_id_print(id, copy->ref.id);
    n = snprintf(key, sizeof(key), "%.*s:1:t:%.*s", (int) prefix.len,
                 prefix.data, MCP_STREAM_TEXT_LEN, id);

    words[0] = mcp_str("SMEMBERS");
    words[1] = (mcp_str_t) { key, (size_t) n };

    copy->topics_heard = cluster->topics_heard;
    copy->sending = mcp_link_send(&cluster->link, words, 2, mcp_topic_fetched,
                                  copy)
                    == MCP_OK;

    if (!copy->sending) {
        mcp_copy_within(copy, MCP_COPY_LATER);
    }
}


static void
mcp_replay_free(mcp_replay_t *replay)
{
    const mcp_mem_t  *mem;

    mem = &replay->cluster->worker->env->mem;
    mem->free(mem->ctx, replay);
}


/* Redis is asked again when it can be. */
static void
mcp_replay_later(mcp_replay_t *replay)
{
    replay->next = replay->cluster->replays;
    replay->cluster->replays = replay;
}


/* {{id, {field, value, ...}}, ...}, or nothing more. */
static void
mcp_replay_done(void *data, const mcp_reply_t *reply)
{
    size_t              i;
    mcp_word_t          word;
    mcp_replay_t       *replay;
    const mcp_reply_t  *entry;

    replay = data;

    if (reply == NULL) {
        mcp_replay_later(replay);
        return;
    }

    for (i = 0; i < reply->n; i++) {
        entry = reply->items[i];

        if (!mcp_tell_place(mcp_reply_item(entry, 0)->text, &replay->at)) {
            break;
        }

        if (mcp_tell_read(replay->cluster, mcp_reply_item(entry, 1), &word)
            && word.what == MCP_WORD_NOTIFICATION)
        {
            mcp_notify_hear_for(replay->cluster->worker, &replay->ref,
                                word.message);
        }
    }

    if (reply->type != MCP_REPLY_ARRAY) {
        mcp_cluster_strange(replay->cluster, "XRANGE", reply);
    }

    if (reply->n && i == reply->n) {
        mcp_replay_go_on(replay);

    } else {
        mcp_replay_free(replay);
    }
}


static void
mcp_replay_go_on(mcp_replay_t *replay)
{
    char       key[MCP_TELL_KEY_MAX], texts[2][MCP_TOPIC_PLACE_MAX], *p;
    mcp_str_t  words[6];

    p = texts[0];
    *p++ = '(';
    p = mcp_uint_print(p, replay->at.ms);
    *p++ = '-';
    p = mcp_uint_print(p, replay->at.n);

    words[0] = mcp_str("XRANGE");
    words[1] = mcp_tell_key(replay->cluster, MCP_NODE_HEARD, key);
    words[2] = (mcp_str_t) { texts[0], (size_t) (p - texts[0]) };

    p = mcp_uint_print(texts[1], replay->end.ms);
    *p++ = '-';
    p = mcp_uint_print(p, replay->end.n);

    words[3] = (mcp_str_t) { texts[1], (size_t) (p - texts[1]) };
    words[4] = mcp_str("COUNT");
    words[5] = mcp_str(MCP_TOPIC_WORDS);

    if (mcp_link_send(&replay->cluster->link, words, 6, mcp_replay_done,
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
        mcp_replay_go_on(replay);
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
mcp_topic_replay(mcp_copy_t *copy)
{
    mcp_replay_t     *replay;
    mcp_cluster_t    *cluster;

    cluster = copy->cluster;

    if (!copy->replays) {
        return;
    }

    copy->replays = 0;
    replay = mcp_mem_calloc(&cluster->worker->env->mem, sizeof(mcp_replay_t));

    if (replay == NULL) {
        return;
    }

    replay->cluster = cluster;
    replay->ref = copy->ref;
    replay->at = copy->heard;
    mcp_store_node_place(cluster->worker->store, MCP_NODE_HEARD,
                         &replay->end);
    mcp_replay_go_on(replay);
}

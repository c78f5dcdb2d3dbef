/* SPDX-License-Identifier: Apache-2.0 */

/* A client resumes a stream at this node: Redis says whose it is, and that it
 * is read here from now on. */


#include "cluster/mcp_cluster_copy.h"


/* Who waits for the reply. */
typedef struct {
    mcp_ask_t         *ask;
    mcp_ask_stream_t   stream;
} mcp_watch_t;


#define MCP_WATCH_ARGS  8

/* What redis/watch.lua gets. */
typedef struct {
    char       id[MCP_STREAM_TEXT_LEN];
    char       numbers[3][20];
    mcp_str_t  args[MCP_WATCH_ARGS];
} mcp_watch_words_t;


static mcp_str_t
mcp_watch_number(char text[20], uint64_t number)
{
    return (mcp_str_t) { text, (size_t) (mcp_uint_print(text, number) - text) };
}


void
mcp_cluster_turn(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], uint32_t turn)
{
    mcp_store_t        *store;
    mcp_stream_info_t   info;

    store = cluster->worker->store;

    /* another process may raise it meanwhile */

    while (mcp_store_find(store, id, 0, &info) == MCP_OK && info.turn < turn
           && mcp_store_set_turn(store, &info.ref, info.turn, turn)
              == MCP_ERR_DENIED)
    {
        /* void */
    }
}


/* The stream is this node's own: its consumer will be one of here. */
static int
mcp_watch_own(mcp_cluster_t *cluster, const mcp_watch_t *watch,
    uint64_t number, const mcp_store_stand_t *stand)
{
    int                rc;
    mcp_stream_info_t  info;

    if (mcp_store_find(cluster->worker->store, watch->stream.id, 0, &info)
        == MCP_OK)
    {
        /* another process is taking it over, and does not have all of it yet */

        if (info.mirror && !watch->stream.listens
            && info.last_seq < watch->stream.after)
        {
            return MCP_ERR_AWAY;
        }

        rc = mcp_store_remote_over(cluster->worker->store, &info.ref, number,
                                   stand);

        /* another client came later, elsewhere */

        return rc == MCP_ERR_DENIED
               && mcp_store_find(cluster->worker->store, watch->stream.id, 0,
                                 &info)
                  == MCP_OK
               && info.consumer_slot == MCP_STORE_REMOTE
               ? MCP_ERR_DENIED : MCP_OK;
    }

    /* one that goes on is just being taken over from a dead node */

    return stand->state < MCP_STATE_COMPLETED && !watch->stream.listens
           ? MCP_ERR_AWAY : MCP_OK;
}


/* The client, or another one, has dropped what was before the first event that
 * is kept, wherever it did that. */
static void
mcp_watch_drop(mcp_cluster_t *cluster, const mcp_watch_t *watch, uint64_t first)
{
    mcp_stream_info_t  info;

    if (mcp_store_find(cluster->worker->store, watch->stream.id, 0, &info)
        == MCP_OK
        && first > info.first_seq)
    {
        (void) mcp_store_confirm(cluster->worker->store, &info.ref, first - 1);
    }
}


static void
mcp_watch_left(void *data, const mcp_reply_t *reply)
{
    if (reply && reply->type != MCP_REPLY_ARRAY) {
        mcp_cluster_strange(data, "sent", reply);
    }
}


/* The client is not served: its stream goes on without a reader. */
static void
mcp_watch_leave(mcp_cluster_t *cluster, const mcp_watch_t *watch,
    uint64_t number)
{
    char       id[MCP_STREAM_TEXT_LEN], texts[2][20];
    mcp_str_t  args[4];

    (void) mcp_stream_id_print(id, watch->stream.id);
    args[0] = (mcp_str_t) { id, MCP_STREAM_TEXT_LEN };
    args[1].data = texts[0];
    args[1].len = (size_t) (mcp_uint_print(texts[0], number) - texts[0]);
    args[2].data = texts[1];
    args[2].len = (size_t) (mcp_uint_print(texts[1], watch->stream.after)
                            - texts[1]);
    args[3] = mcp_str("1");

    (void) mcp_cluster_run(cluster, MCP_SCRIPT_SENT, args, 4, mcp_watch_left,
                           cluster);
}


/* This process feeds it from now on. */
static int
mcp_watch_feed(mcp_cluster_t *cluster, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t sent, const mcp_reply_t *reply)
{
    mcp_copy_t  *copy;

    copy = mcp_copy_get(cluster, ref);
    if (copy == NULL) {
        return MCP_ERR_MEMORY;
    }

    copy->number = number;
    copy->sent = sent;
    copy->full = 0;
    mcp_range_learn(copy, reply);

    /* it says soon that it is read: nobody may read it after all, and what this
     * node heard of a later reader may have come before the mirror */

    copy->time = 0;

    mcp_copy_within(copy, MCP_COPY_LATER);

    return MCP_OK;
}


/* Makes the mirror, or adds to it. */
static int
mcp_watch_mirror(mcp_cluster_t *cluster, const mcp_watch_t *watch,
    const mcp_reply_t *reply, uint64_t number,
    const mcp_store_stand_t *stand)
{
    int                 rc;
    uint64_t            now;
    mcp_stream_ref_t    ref;
    mcp_stream_spec_t   spec;

    if (mcp_unpack_spec(&cluster->worker->env->mem,
                        mcp_reply_item(reply, 7)->text, &spec)
        != MCP_OK
        || memcmp(spec.id, watch->stream.id, MCP_STREAM_ID_LEN) != 0)
    {
        mcp_cluster_strange(cluster, "watch", reply);
        return MCP_ERR_AWAY;
    }

    now = mcp_worker_now(cluster->worker);
    rc = mcp_store_mirror(cluster->worker->store, &spec,
                          mcp_reply_number(mcp_reply_item(reply, 4)),
                          watch->stream.after, number, now, &ref);

    if (rc == MCP_ERR_FULL || rc == MCP_ERR_LIMIT) {
        mcp_watch_leave(cluster, watch, number);
        return MCP_ERR_FULL;
    }

    /* another client was quicker; or nodes disagree on whose it is */

    if (rc != MCP_OK) {
        return MCP_ERR_AWAY;
    }

    if (mcp_watch_feed(cluster, &ref, number, watch->stream.after, reply)
        != MCP_OK)
    {
        return MCP_ERR_MEMORY;
    }

    /* what has no room is fetched when there is some */

    (void) mcp_mirror_feed(cluster, spec.id, reply, MCP_WATCH_EVENTS,
                           mcp_reply_number(mcp_reply_item(reply, 8)));
    rc = mcp_store_mirror_known(cluster->worker->store, spec.id, stand,
                                mcp_reply_number(mcp_reply_item(reply, 5)),
                                now);

    /* it was one of before Redis lost the last events, and is made anew when
     * the client comes again */

    if (rc != MCP_OK) {
        return MCP_ERR_AWAY;
    }

    mcp_store_share_got(cluster->worker->store, spec.id,
                        mcp_reply_number(mcp_reply_item(reply, 11)));

    return MCP_OK;
}


/* Where nothing is promised a session may listen to a node alone. */
static int
mcp_watch_unreachable(const mcp_cluster_t *cluster,
    const mcp_ask_stream_t *stream)
{
    return mcp_store_node_is_alone(cluster->worker->store)
           || (stream->listens && cluster->conf->sync == MCP_CLUSTER_SYNC_OFF)
           ? MCP_OK : MCP_ERR_AWAY;
}


static int
mcp_watch_take(mcp_cluster_t *cluster, mcp_watch_t *watch,
    const mcp_reply_t *reply)
{
    int                 rc;
    uint64_t            number;
    mcp_stream_info_t   info;
    mcp_store_stand_t   stand;
    const mcp_reply_t  *kind;

    if (reply == NULL) {
        return watch->stream.listens
               ? mcp_watch_unreachable(cluster, &watch->stream) : MCP_ERR_AWAY;
    }

    kind = mcp_reply_item(reply, 0);

    /* its own node knows whether there is such an event */

    if (mcp_reply_is(kind, "AHEAD")) {
        return mcp_copy_has(cluster, watch->stream.id, &info) ? MCP_OK
                                                              : MCP_ERR_AHEAD;
    }

    if (mcp_reply_is(kind, "NONE")) {
        return watch->stream.listens ? MCP_ERR_NOT_FOUND : MCP_OK;
    }

    number = mcp_reply_number(mcp_reply_item(reply, 1));
    stand.seq = mcp_reply_number(mcp_reply_item(reply, 3));

    if (!mcp_reply_is(kind, "OK")
        || mcp_unpack_stand(mcp_reply_item(reply, 6)->text, &stand) != MCP_OK)
    {
        if (!mcp_reply_is(kind, "LATER")) {
            mcp_cluster_strange(cluster, "watch", reply);
        }

        return MCP_ERR_AWAY;
    }

    if (watch->stream.listens) {
        watch->stream.after = mcp_reply_number(mcp_reply_item(reply, 8)) - 1;
    }

    rc = mcp_reply_number(mcp_reply_item(reply, 2))
         ? mcp_watch_own(cluster, watch, number, &stand)
         : mcp_watch_mirror(cluster, watch, reply, number, &stand);

    if (rc == MCP_OK) {
        mcp_store_share_posts(cluster->worker->store, watch->stream.id,
                              mcp_reply_number(mcp_reply_item(reply, 10)));
        mcp_watch_drop(cluster, watch,
                       mcp_reply_number(mcp_reply_item(reply, 4)));
        mcp_cluster_turn(cluster, watch->stream.id,
                         (uint32_t) mcp_reply_number(mcp_reply_item(reply,
                                                                    9)));
    }

    return rc;
}


static void
mcp_watch_done(void *data, const mcp_reply_t *reply)
{
    int               rc;
    mcp_ask_t        *ask;
    mcp_watch_t      *watch;
    const mcp_mem_t  *mem;

    watch = data;
    ask = watch->ask;

    rc = mcp_watch_take(ask->worker->cluster, watch, reply);

    mem = &ask->worker->env->mem;
    mem->free(mem->ctx, watch);

    mcp_ask_answer(ask, rc);
}


/* Writes what redis/watch.lua gets. */
static void
mcp_watch_args(const mcp_cluster_t *cluster, const mcp_ask_stream_t *stream,
    mcp_watch_words_t *words)
{
    mcp_str_t          *args;
    mcp_stream_info_t   info;

    args = words->args;

    (void) mcp_stream_id_print(words->id, stream->id);
    args[0] = (mcp_str_t) { words->id, MCP_STREAM_TEXT_LEN };
    args[1] = stream->listens ? mcp_str("")
                              : mcp_watch_number(words->numbers[0],
                                                 stream->after);
    args[2] = (mcp_str_t) { (const char *) stream->session,
                            stream->any_session ? 0 : MCP_DIGEST_LEN };
    args[3] = (mcp_str_t) { (const char *) stream->principal,
                            MCP_DIGEST_LEN };
    args[4] = stream->has_turn ? mcp_watch_number(words->numbers[1],
                                                  stream->turn)
                               : mcp_str("");
    args[5] = mcp_watch_number(words->numbers[2], stream->turn_max);
    args[6] = stream->drops ? mcp_str("1") : mcp_str("");
    args[7] = mcp_copy_has(cluster, stream->id, &info) ? mcp_str("1")
                                                       : mcp_str("");
}


int
mcp_cluster_watch(void *data, const mcp_ask_stream_t *stream, mcp_ask_t *ask)
{
    int                rc;
    mcp_watch_t       *watch;
    mcp_cluster_t     *cluster;
    const mcp_mem_t   *mem;
    mcp_watch_words_t  words;

    cluster = data;
    mem = &cluster->worker->env->mem;

    if (cluster->state != MCP_CLUSTER_MEMBER) {
        return mcp_watch_unreachable(cluster, stream);
    }

    if (stream->listens) {
        mcp_copy_flush(cluster, stream->id);
    }

    watch = mcp_mem_calloc(mem, sizeof(mcp_watch_t));
    if (watch == NULL) {
        return MCP_ERR_MEMORY;
    }

    watch->ask = ask;
    watch->stream = *stream;

    mcp_watch_args(cluster, stream, &words);

    rc = mcp_cluster_run(cluster, MCP_SCRIPT_WATCH, words.args, MCP_WATCH_ARGS,
                         mcp_watch_done, watch);

    if (rc != MCP_OK) {
        mem->free(mem->ctx, watch);
        return MCP_ERR_AWAY;
    }

    return MCP_AGAIN;
}

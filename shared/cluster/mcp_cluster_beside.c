/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Calls that are joined at other nodes than their own.
 *
 * Redis says which of several that ask for the same is the first: the copier of
 * a stream that is held claims it when it begins the stream there.  If it comes
 * too late, the other one's stream is mirrored here for those who join it, who
 * displace nobody.  Its feeder fetches what no mail has brought, and says that
 * somebody reads, and how far: that is enough for the owner to go on.
 */


#include "cluster/mcp_cluster_copy.h"


/* The item of a reply to redis/join.lua with which its events begin. */
#define MCP_BESIDE_EVENTS  11

/* A stream is touched so often in the time that it may be left alone. */
#define MCP_BESIDE_TOUCHES  3


/* Who waits for the stream to join. */
typedef struct {
    mcp_ask_t      *ask;
    unsigned char   id[MCP_STREAM_ID_LEN];
} mcp_beside_t;


int
mcp_beside_claims(const mcp_store_copying_t *copying)
{
    return copying->held && !copying->created;
}


int
mcp_beside_is_late(const mcp_copy_t *copy)
{
    return copy->claims
           && mcp_worker_now(copy->cluster->worker) - copy->time
              >= copy->cluster->conf->dead_after;
}


char
mcp_beside_how(const mcp_store_copying_t *copying)
{
    if (!copying->joins) {
        return '\0';
    }

    if (copying->held) {
        return 'h';
    }

    return copying->consumer_slot == MCP_STORE_NO_SLOT ? '0' : '1';
}


/* That nobody has to wait for its claim any more mostly goes with an event. */
int
mcp_beside_is_due(const mcp_copy_t *copy, const mcp_store_copying_t *copying)
{
    return mcp_beside_how(copying) != copy->joined
           && (copy->joined != 'h'
               || mcp_worker_now(copy->cluster->worker)
                  >= copy->time + MCP_COPY_TELL_TIME);
}


void
mcp_beside_read(mcp_str_t joined, uint64_t sent, const mcp_pack_task_t *task,
    mcp_store_joined_t *out)
{
    memset(out, 0, sizeof(mcp_store_joined_t));

    out->held = joined.len == 1 && joined.data[0] == 'h';
    out->attended = joined.len == 1 && joined.data[0] != '0';
    out->sent = sent;
    out->expires = task->expires;
    out->kept = task->kept;
    out->changed = task->changed;
}


/* Takes what follows, and how the stream stands, into its mirror.  Returns what
 * mcp_mirror_feed() does, or MCP_ERR_SYNTAX. */
static int
mcp_beside_feed(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], const mcp_reply_t *reply)
{
    int                  rc;
    uint64_t             now;
    mcp_store_t         *store;
    mcp_pack_task_t      task;
    mcp_store_stand_t    stand;
    mcp_store_joined_t   joined;

    store = cluster->worker->store;
    now = mcp_worker_now(cluster->worker);
    stand.seq = mcp_reply_number(mcp_reply_item(reply, 3));

    if (mcp_unpack_stand(mcp_reply_item(reply, 6)->text, &stand) != MCP_OK
        || mcp_unpack_task(mcp_reply_item(reply, 10)->text, &task) != MCP_OK)
    {
        return MCP_ERR_SYNTAX;
    }

    rc = mcp_mirror_feed(cluster, id, reply, MCP_BESIDE_EVENTS,
                         mcp_reply_number(mcp_reply_item(reply, 8)));

    (void) mcp_store_mirror_known(store, id, &stand,
                                  mcp_reply_number(mcp_reply_item(reply, 5)),
                                  now);
    mcp_beside_read(mcp_reply_item(reply, 1)->text,
                    mcp_reply_number(mcp_reply_item(reply, 2)), &task,
                    &joined);
    mcp_store_mirror_joined(store, id, &joined);

    return rc;
}


/* --- to join a stream --- */

/* Has a mirror of it here, for those who join. */
static int
mcp_beside_mirror(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], const mcp_reply_t *reply)
{
    int                 rc;
    uint64_t            from;
    mcp_copy_t         *copy;
    mcp_stream_ref_t    ref;
    mcp_stream_spec_t   spec;

    from = mcp_reply_number(mcp_reply_item(reply, 8));

    if (from == 0
        || mcp_unpack_spec(&cluster->worker->env->mem,
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
        copy = mcp_copy_get(cluster, &ref);

        if (copy == NULL) {
            return MCP_ERR_MEMORY;
        }

        copy->beside = 1;
        copy->full = 0;

        /* mail may have come before there was a mirror: it is fetched once more
         * when somebody reads it */

        copy->time = 0;
        mcp_copy_within(copy, MCP_ASK_TIME);

        /* what has no room is fetched when there is some */

        return mcp_beside_feed(cluster, id, reply) == MCP_ERR_SYNTAX
               ? MCP_ERR_SYNTAX : MCP_OK;
    }

    return rc == MCP_ERR_LIMIT ? MCP_ERR_FULL : rc;
}


static int
mcp_beside_take(mcp_cluster_t *cluster, const mcp_beside_t *beside,
    const mcp_reply_t *reply)
{
    int  rc;

    if (reply == NULL) {
        return MCP_ERR_AWAY;
    }

    if (mcp_reply_is(mcp_reply_item(reply, 0), "NONE")) {
        return MCP_ERR_NOT_FOUND;
    }

    rc = mcp_reply_is(mcp_reply_item(reply, 0), "OK")
         ? mcp_beside_mirror(cluster, beside->id, reply) : MCP_ERR_SYNTAX;

    switch (rc) {

    case MCP_OK:
    case MCP_ERR_EXISTS:               /* it is this node's own */
        return MCP_ERR_EXISTS;

    case MCP_ERR_FULL:
    case MCP_ERR_MEMORY:
        return rc;

    case MCP_ERR_SYNTAX:
        mcp_cluster_strange(cluster, "join", reply);
        return MCP_ERR_AWAY;

    default:
        return MCP_ERR_AWAY;
    }
}


static void
mcp_beside_joined(void *data, const mcp_reply_t *reply)
{
    int               rc;
    mcp_ask_t        *ask;
    mcp_beside_t     *beside;
    const mcp_mem_t  *mem;

    beside = data;
    ask = beside->ask;
    mem = &ask->worker->env->mem;

    rc = mcp_beside_take(ask->worker->cluster, beside, reply);
    mem->free(mem->ctx, beside);

    mcp_ask_answer(ask, rc);
}


/* Writes what redis/join.lua gets, after the stream's id. */
static void
mcp_beside_words(char texts[2][20], uint64_t after, uint64_t sent, int left,
    mcp_str_t words[3])
{
    words[0].data = texts[0];
    words[0].len = (size_t) (mcp_uint_print(texts[0], after) - texts[0]);
    words[1].data = texts[1];
    words[1].len = (size_t) (mcp_uint_print(texts[1], sent) - texts[1]);
    words[2] = left ? mcp_str("1") : mcp_str("");
}


static int
mcp_beside_join(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], mcp_ask_t *ask)
{
    int                 rc;
    char                text[MCP_STREAM_TEXT_LEN], texts[2][20];
    mcp_str_t           words[4];
    mcp_beside_t       *beside;
    const mcp_mem_t    *mem;
    mcp_stream_info_t   info;

    mem = &cluster->worker->env->mem;
    beside = mcp_mem_calloc(mem, sizeof(mcp_beside_t));

    if (beside == NULL) {
        return MCP_ERR_MEMORY;
    }

    beside->ask = ask;
    memcpy(beside->id, id, MCP_STREAM_ID_LEN);

    /* it may have been read here already, and Redis not know */

    if (mcp_store_find(cluster->worker->store, id, 0, &info) != MCP_OK
        || !info.mirror)
    {
        info.sent_seq = 0;
    }

    (void) mcp_stream_id_print(text, id);
    words[0] = (mcp_str_t) { text, MCP_STREAM_TEXT_LEN };
    mcp_beside_words(texts, 0, info.sent_seq, 0, words + 1);
    words[1] = mcp_str("");

    rc = cluster->state == MCP_CLUSTER_MEMBER
         ? mcp_cluster_run(cluster, MCP_SCRIPT_JOIN, words, 4,
                           mcp_beside_joined, beside)
         : MCP_ERR_AWAY;

    if (rc != MCP_OK) {
        mem->free(mem->ctx, beside);
        return MCP_ERR_AWAY;
    }

    return MCP_OK;
}


int
mcp_beside_gives_way(mcp_copy_t *copy, const mcp_store_copying_t *copying)
{
    if (!copying->hidden || !mcp_beside_claims(copying) || copy->asks == NULL
        || copy->cluster->state != MCP_CLUSTER_MEMBER)
    {
        return 0;
    }

    mcp_copy_within(copy, MCP_ASK_TIME);
    mcp_copy_answer(mcp_copy_safe(copy, UINT64_MAX), MCP_ERR_EXISTS);

    return 1;
}


void
mcp_beside_taken(mcp_copy_t *copy, const mcp_reply_t *reply)
{
    int             rc;
    mcp_ask_t      *ask;
    mcp_cluster_t  *cluster;
    unsigned char   id[MCP_STREAM_ID_LEN];

    cluster = copy->cluster;

    if (mcp_stream_id_parse(mcp_reply_item(reply, 1)->text, id) != MCP_OK) {
        mcp_cluster_strange(cluster, "append", reply);
        mcp_copy_answer(mcp_copy_safe(copy, UINT64_MAX), MCP_ERR_AWAY);
        return;
    }

    /* who asked for it has gone, or has died */

    if (copy->asks == NULL) {
        mcp_store_free(cluster->worker->store, &copy->ref);
    }

    while (copy->asks) {
        ask = copy->asks;
        copy->asks = ask->later;
        rc = mcp_beside_join(cluster, id, ask);

        if (rc != MCP_OK) {
            mcp_ask_answer(ask, rc);
        }
    }
}


/* --- for those who have joined --- */

/* A call that was not begun is gone: those who wait for it begin one. */
static void
mcp_beside_missed(mcp_copy_t *copy)
{
    mcp_store_t          *store;
    mcp_store_copying_t   copying;

    store = copy->cluster->worker->store;

    if (mcp_store_copying(store, &copy->ref, &copying) == MCP_OK
        && !copying.held)
    {
        mcp_mirror_missed(copy);
        return;
    }

    mcp_store_mirror_forget(store, copy->ref.id);
    mcp_copy_look(copy);
}


static void
mcp_beside_fetched(void *data, const mcp_reply_t *reply)
{
    int                 rc;
    mcp_copy_t         *copy;
    const mcp_reply_t  *kind;

    copy = data;

    if (!mcp_copy_returned(copy) || reply == NULL) {
        return;
    }

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "LEFT")) {
        mcp_copy_look(copy);
        return;
    }

    if (mcp_reply_is(kind, "NONE")) {
        mcp_beside_missed(copy);
        return;
    }

    rc = mcp_reply_is(kind, "OK")
         ? mcp_beside_feed(copy->cluster, copy->ref.id, reply)
         : MCP_ERR_SYNTAX;

    if (rc == MCP_ERR_SYNTAX) {
        mcp_cluster_strange(copy->cluster, "join", reply);
        mcp_copy_within(copy, copy->cluster->conf->dead_after / 3);
        return;
    }

    copy->misses = 0;
    copy->full = (rc != MCP_OK || reply->n <= MCP_BESIDE_EVENTS);

    /* what follows is not kept any more, or there never will be room */

    if (rc == MCP_ERR_LARGE || rc == MCP_AGAIN) {
        mcp_store_mirror_forget(copy->cluster->worker->store, copy->ref.id);
    }

    mcp_copy_look(copy);
}


static void
mcp_beside_fetch(mcp_copy_t *copy, const mcp_store_copying_t *copying,
    int left)
{
    char       texts[2][20];
    mcp_str_t  words[3];

    mcp_beside_words(texts, copying->own.seq, copying->sent_seq, left, words);
    mcp_copy_run(copy, MCP_SCRIPT_JOIN, words, 3, mcp_beside_fetched);

    if (copy->sending) {
        copy->beside = !left;
        copy->sent = copying->sent_seq;
    }
}


void
mcp_beside_look(mcp_copy_t *copy, const mcp_store_copying_t *copying)
{
    uint64_t  now, refresh;

    if (copying->readers == 0) {
        if (copy->beside) {
            mcp_beside_fetch(copy, copying, 1);
        }

        return;
    }

    now = mcp_worker_now(copy->cluster->worker);
    refresh = copy->cluster->conf->dead_after;

    if (copying->max_wait && copying->max_wait < refresh) {
        refresh = copying->max_wait;
    }

    refresh = refresh / MCP_BESIDE_TOUCHES + 1;

    if (!copy->beside || now >= copy->time + refresh
        || (copying->known.seq > copying->own.seq && !copy->full)
        || copying->sent_seq >= copy->sent + MCP_COPY_TELL_EVENTS
        || (copying->sent_seq > copy->sent
            && now >= copy->time + MCP_COPY_TELL_TIME))
    {
        mcp_beside_fetch(copy, copying, 0);
        return;
    }

    mcp_copy_within(copy, copying->sent_seq > copy->sent ? MCP_COPY_TELL_TIME
                                                         : refresh);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* A client resumes a stream at this node: Redis says whose it is, and that it
 * is read here from now on. */


#include "cluster/mcp_cluster_copy.h"


/* Who waits for the reply. */
typedef struct {
    mcp_ask_t         *ask;
    mcp_ask_stream_t   stream;
} mcp_watch_t;


/* The stream is this node's own: its consumer will be one of here. */
static int
mcp_watch_own(mcp_cluster_t *cluster, const mcp_watch_t *watch,
    uint64_t number, const mcp_store_stand_t *stand)
{
    mcp_stream_info_t  info;

    if (mcp_store_find(cluster->worker->store, watch->stream.id, 0, &info)
        == MCP_OK)
    {
        (void) mcp_store_remote_over(cluster->worker->store, &info.ref,
                                     number, stand);
    }

    return MCP_OK;
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
    uint64_t number, uint64_t sent)
{
    mcp_copy_t  *copy;

    copy = mcp_copy_get(cluster, ref);
    if (copy == NULL) {
        return MCP_ERR_MEMORY;
    }

    copy->number = number;
    copy->sent = sent;
    copy->time = mcp_worker_now(cluster->worker);
    copy->full = 0;

    /* nobody may watch it after all */

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

    if (mcp_watch_feed(cluster, &ref, number, watch->stream.after) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    /* what has no room is fetched when there is some */

    (void) mcp_mirror_feed(cluster, spec.id, reply, MCP_WATCH_EVENTS,
                           mcp_reply_number(mcp_reply_item(reply, 8)));
    (void) mcp_store_mirror_known(cluster->worker->store, spec.id, stand,
                                  mcp_reply_number(mcp_reply_item(reply, 5)),
                                  now);

    return MCP_OK;
}


static int
mcp_watch_take(mcp_cluster_t *cluster, const mcp_watch_t *watch,
    const mcp_reply_t *reply)
{
    uint64_t            number;
    mcp_store_stand_t   stand;
    const mcp_reply_t  *kind;

    if (reply == NULL) {
        return MCP_ERR_AWAY;
    }

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "AHEAD")) {
        return MCP_ERR_AWAY;
    }

    if (mcp_reply_is(kind, "NONE")) {
        return MCP_OK;
    }

    number = mcp_reply_number(mcp_reply_item(reply, 1));
    stand.seq = mcp_reply_number(mcp_reply_item(reply, 3));

    if (!mcp_reply_is(kind, "OK")
        || mcp_unpack_stand(mcp_reply_item(reply, 6)->text, &stand) != MCP_OK)
    {
        mcp_cluster_strange(cluster, "watch", reply);
        return MCP_ERR_AWAY;
    }

    return mcp_reply_number(mcp_reply_item(reply, 2))
           ? mcp_watch_own(cluster, watch, number, &stand)
           : mcp_watch_mirror(cluster, watch, reply, number, &stand);
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


int
mcp_cluster_watch(void *data, const mcp_ask_stream_t *stream, mcp_ask_t *ask)
{
    int              rc;
    char             id[MCP_STREAM_TEXT_LEN], after[20];
    mcp_str_t        args[4];
    mcp_watch_t     *watch;
    mcp_cluster_t   *cluster;
    const mcp_mem_t *mem;

    cluster = data;
    mem = &cluster->worker->env->mem;

    if (cluster->state != MCP_CLUSTER_MEMBER) {
        return mcp_store_node_is_alone(cluster->worker->store) ? MCP_OK
                                                               : MCP_ERR_AWAY;
    }

    watch = mcp_mem_calloc(mem, sizeof(mcp_watch_t));
    if (watch == NULL) {
        return MCP_ERR_MEMORY;
    }

    watch->ask = ask;
    watch->stream = *stream;

    (void) mcp_stream_id_print(id, stream->id);
    args[0] = (mcp_str_t) { id, MCP_STREAM_TEXT_LEN };
    args[1].data = after;
    args[1].len = (size_t) (mcp_uint_print(after, stream->after) - after);
    args[2] = (mcp_str_t) { (const char *) stream->session, MCP_DIGEST_LEN };
    args[3] = (mcp_str_t) { (const char *) stream->principal,
                            MCP_DIGEST_LEN };

    rc = mcp_cluster_run(cluster, MCP_SCRIPT_WATCH, args, 4, mcp_watch_done,
                         watch);

    if (rc != MCP_OK) {
        mem->free(mem->ctx, watch);
        return MCP_ERR_AWAY;
    }

    return MCP_AGAIN;
}

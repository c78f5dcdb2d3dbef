/* SPDX-License-Identifier: Apache-2.0 */

/* Resuming a stream of another node: Redis returns the stream's state and
 * events, and records that the stream's reader is at this node. */


#include "cluster/mcp_cluster_replication.h"


/* A request that waits for the reply of redis/resume.lua. */
typedef struct {
    mcp_operation_t        *op;
    mcp_operation_stream_t  stream;
} mcp_remote_resume_t;


#define MCP_REMOTE_RESUME_ARGS  8

/* The arguments of redis/resume.lua. */
typedef struct {
    char       id[MCP_STREAM_TEXT_LEN];
    char       numbers[3][20];
    mcp_str_t  args[MCP_REMOTE_RESUME_ARGS];
} mcp_remote_resume_arguments_t;


static mcp_str_t
mcp_remote_resume_number(char text[20], uint64_t number)
{
    return (mcp_str_t) { text, (size_t) (mcp_uint_print(text, number) - text) };
}


void
mcp_cluster_generation(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], uint32_t generation)
{
    mcp_store_t        *store;
    mcp_stream_info_t   info;

    store = cluster->worker->store;

    /* another process may raise the generation at the same time */

    while (mcp_store_find(store, id, 0, &info) == MCP_OK
           && info.generation < generation
           && mcp_store_set_generation(store, &info.ref, info.generation,
                                       generation)
              == MCP_ERR_DENIED)
    {
        /* void */
    }
}


/* Makes the client the local consumer of a stream that this node owns. Returns
 * MCP_OK, MCP_ERR_UNREACHABLE, or MCP_ERR_DENIED. */
static int
mcp_remote_resume_own(mcp_cluster_t *cluster, const mcp_remote_resume_t *resume,
    uint64_t number, const mcp_store_checkpoint_t *checkpoint)
{
    int                rc;
    mcp_stream_info_t  info;

    if (mcp_store_find(cluster->worker->store, resume->stream.id, 0, &info)
        == MCP_OK)
    {
        /* another process is taking the stream over and does not have all
         * events yet */

        if (info.mirror && !resume->stream.listens
            && info.last_seq < resume->stream.after)
        {
            return MCP_ERR_UNREACHABLE;
        }

        rc = mcp_store_remote_consumer_over(cluster->worker->store, &info.ref,
                                            number, checkpoint);

        /* another client resumed later at another node */

        return rc == MCP_ERR_DENIED
               && mcp_store_find(cluster->worker->store, resume->stream.id, 0,
                                 &info)
                  == MCP_OK
               && info.consumer_slot == MCP_STORE_REMOTE_CONSUMER
               ? MCP_ERR_DENIED : MCP_OK;
    }

    /* an active stream that is not here is being taken over from a dead node */

    return checkpoint->state < MCP_STATE_COMPLETED && !resume->stream.listens
           ? MCP_ERR_UNREACHABLE : MCP_OK;
}


/* Drops the events before "first", because a client has confirmed them, at
 * this node or another one. */
static void
mcp_remote_resume_drop(mcp_cluster_t *cluster,
    const mcp_remote_resume_t *resume, uint64_t first)
{
    mcp_stream_info_t  info;

    if (mcp_store_find(cluster->worker->store, resume->stream.id, 0, &info)
        == MCP_OK
        && first > info.first_seq)
    {
        (void) mcp_store_confirm(cluster->worker->store, &info.ref, first - 1);
    }
}


static void
mcp_remote_resume_left(void *data, const mcp_reply_t *reply)
{
    if (reply && reply->type != MCP_REPLY_ARRAY) {
        mcp_cluster_unexpected_reply(data, "read_position", reply);
    }
}


/* Reports to Redis that the reader has left, because this node cannot serve
 * the client: the stream continues without a reader. */
static void
mcp_remote_resume_leave(mcp_cluster_t *cluster,
    const mcp_remote_resume_t *resume, uint64_t number)
{
    char       id[MCP_STREAM_TEXT_LEN], texts[2][20];
    mcp_str_t  args[4];

    (void) mcp_stream_id_print(id, resume->stream.id);
    args[0] = (mcp_str_t) { id, MCP_STREAM_TEXT_LEN };
    args[1].data = texts[0];
    args[1].len = (size_t) (mcp_uint_print(texts[0], number) - texts[0]);
    args[2].data = texts[1];
    args[2].len = (size_t) (mcp_uint_print(texts[1], resume->stream.after)
                            - texts[1]);
    args[3] = mcp_str("1");

    (void) mcp_cluster_run(cluster, MCP_SCRIPT_READ_POSITION, args, 4,
                           mcp_remote_resume_left, cluster);
}


/* Makes this process feed the mirror. */
static int
mcp_remote_resume_feed(mcp_cluster_t *cluster, const mcp_stream_ref_t *ref,
    uint64_t number, uint64_t sent, const mcp_reply_t *reply)
{
    mcp_replication_t  *repl;

    repl = mcp_replication_get(cluster, ref);
    if (repl == NULL) {
        return MCP_ERR_MEMORY;
    }

    repl->number = number;
    repl->sent = sent;
    repl->full = 0;
    mcp_bulk_fetch_note(repl, reply);

    /* report the state of the reader to Redis soon: the client may have
     * disconnected, or an entry about a later reader may have arrived before
     * the mirror existed */

    repl->time = 0;

    mcp_replication_within(repl, MCP_REPLICATION_LATER);

    return MCP_OK;
}


/* Creates the mirror, or finds it, and adds the events of the reply. */
static int
mcp_remote_resume_mirror(mcp_cluster_t *cluster,
    const mcp_remote_resume_t *resume, const mcp_reply_t *reply,
    uint64_t number, const mcp_store_checkpoint_t *checkpoint)
{
    int                 rc;
    uint64_t            now;
    mcp_stream_ref_t    ref;
    mcp_stream_spec_t   spec;

    if (mcp_codec_decode_spec(&cluster->worker->env->mem,
                              mcp_reply_item(reply, 7)->text, &spec)
        != MCP_OK
        || memcmp(spec.id, resume->stream.id, MCP_STREAM_ID_LEN) != 0)
    {
        mcp_cluster_unexpected_reply(cluster, "resume", reply);
        return MCP_ERR_UNREACHABLE;
    }

    now = mcp_worker_now(cluster->worker);
    rc = mcp_store_mirror(cluster->worker->store, &spec,
                          mcp_reply_number(mcp_reply_item(reply, 4)),
                          resume->stream.after, number, now, &ref);

    if (rc == MCP_ERR_FULL || rc == MCP_ERR_LIMIT) {
        mcp_remote_resume_leave(cluster, resume, number);
        return MCP_ERR_FULL;
    }

    /* a later reader exists, or nodes disagree about the owner */

    if (rc != MCP_OK) {
        return MCP_ERR_UNREACHABLE;
    }

    rc = mcp_remote_resume_feed(cluster, &ref, number, resume->stream.after,
                                reply);
    if (rc != MCP_OK) {
        return rc;
    }

    /* events for which the mirror has no room are fetched when it has room */

    (void) mcp_mirror_feed(cluster, spec.id, reply, MCP_REMOTE_RESUME_EVENTS,
                           mcp_reply_number(mcp_reply_item(reply, 8)));
    rc = mcp_store_mirror_known(cluster->worker->store, spec.id, checkpoint,
                                mcp_reply_number(mcp_reply_item(reply, 5)),
                                now);

    /* the mirror was freed, because it had events that Redis has lost; it is
     * created anew when the client resumes again */

    if (rc != MCP_OK) {
        return MCP_ERR_UNREACHABLE;
    }

    mcp_store_replication_got(cluster->worker->store, spec.id,
                              mcp_reply_number(mcp_reply_item(reply, 11)));

    return MCP_OK;
}


/* Returns the result of resuming without Redis: MCP_OK if the node serves
 * alone, or if replication is not required and a session listens, which it may
 * do at this node alone; otherwise MCP_ERR_UNREACHABLE. */
static int
mcp_remote_resume_unreachable(const mcp_cluster_t *cluster,
    const mcp_operation_stream_t *stream)
{
    return mcp_store_node_is_standalone(cluster->worker->store)
           || (stream->listens && cluster->conf->sync == MCP_CLUSTER_SYNC_OFF)
           ? MCP_OK : MCP_ERR_UNREACHABLE;
}


/* Applies the number of the last client input, the first kept event and the
 * generation in a reply to the stream or mirror of this node. */
static void
mcp_remote_resume_taken(mcp_cluster_t *cluster,
    const mcp_remote_resume_t *resume, const mcp_reply_t *reply)
{
    uint64_t  inputs, first, generation;

    first = mcp_reply_number(mcp_reply_item(reply, 4));
    generation = mcp_reply_number(mcp_reply_item(reply, 9));
    inputs = mcp_reply_number(mcp_reply_item(reply, 10));

    mcp_store_remote_inputs(cluster->worker->store, resume->stream.id, inputs);
    mcp_remote_resume_drop(cluster, resume, first);
    mcp_cluster_generation(cluster, resume->stream.id, (uint32_t) generation);
}


static int
mcp_remote_resume_take(mcp_cluster_t *cluster, mcp_remote_resume_t *resume,
    const mcp_reply_t *reply)
{
    int                     rc;
    uint64_t                number;
    mcp_stream_info_t       info;
    mcp_store_checkpoint_t  checkpoint;
    const mcp_reply_t      *kind;

    if (reply == NULL) {
        return resume->stream.listens
                   ? mcp_remote_resume_unreachable(cluster, &resume->stream)
                   : MCP_ERR_UNREACHABLE;
    }

    kind = mcp_reply_item(reply, 0);

    /* Redis does not have the event: only the owner's node knows whether it
     * exists */

    if (mcp_reply_is(kind, "AHEAD")) {
        return mcp_replication_has(cluster, resume->stream.id, &info) ? MCP_OK
                                                              : MCP_ERR_AHEAD;
    }

    if (mcp_reply_is(kind, "NONE")) {
        return resume->stream.listens ? MCP_ERR_NOT_FOUND : MCP_OK;
    }

    number = mcp_reply_number(mcp_reply_item(reply, 1));
    checkpoint.seq = mcp_reply_number(mcp_reply_item(reply, 3));

    if (!mcp_reply_is(kind, "OK")
        || mcp_codec_decode_state(mcp_reply_item(reply, 6)->text, &checkpoint)
               != MCP_OK)
    {
        if (!mcp_reply_is(kind, "LATER")) {
            mcp_cluster_unexpected_reply(cluster, "resume", reply);
        }

        return MCP_ERR_UNREACHABLE;
    }

    if (resume->stream.listens) {
        resume->stream.after = mcp_reply_number(mcp_reply_item(reply, 8)) - 1;
    }

    rc = mcp_reply_number(mcp_reply_item(reply, 2))
             ? mcp_remote_resume_own(cluster, resume, number, &checkpoint)
             : mcp_remote_resume_mirror(cluster, resume, reply, number,
                 &checkpoint);

    if (rc == MCP_OK) {
        mcp_remote_resume_taken(cluster, resume, reply);
    }

    return rc;
}


static void
mcp_remote_resume_done(void *data, const mcp_reply_t *reply)
{
    int                   rc;
    mcp_operation_t      *op;
    mcp_remote_resume_t  *resume;
    const mcp_mem_t      *mem;

    resume = data;
    op = resume->op;

    rc = mcp_remote_resume_take(op->worker->cluster, resume, reply);

    mem = &op->worker->env->mem;
    mem->free(mem->ctx, resume);

    mcp_operation_answer(op, rc);
}


/* Writes the arguments of redis/resume.lua. */
static void
mcp_remote_resume_args(const mcp_cluster_t *cluster,
    const mcp_operation_stream_t *stream, mcp_remote_resume_arguments_t *argv)
{
    mcp_str_t          *args;
    mcp_stream_info_t   info;

    args = argv->args;

    (void) mcp_stream_id_print(argv->id, stream->id);
    args[0] = (mcp_str_t) { argv->id, MCP_STREAM_TEXT_LEN };
    args[1] = stream->listens ? mcp_str("")
                              : mcp_remote_resume_number(argv->numbers[0],
                                                         stream->after);
    args[2] = (mcp_str_t) { (const char *) stream->session,
                            stream->any_session ? 0 : MCP_DIGEST_LEN };
    args[3] = (mcp_str_t) { (const char *) stream->principal,
                            MCP_DIGEST_LEN };
    args[4] = stream->has_generation
           ? mcp_remote_resume_number(argv->numbers[1],
                                                          stream->generation)
                               : mcp_str("");
    args[5] = mcp_remote_resume_number(argv->numbers[2],
                                       stream->generation_max);
    args[6] = stream->drops ? mcp_str("1") : mcp_str("");
    args[7] = mcp_replication_has(cluster, stream->id, &info) ? mcp_str("1")
                                                       : mcp_str("");
}


int
mcp_cluster_remote_resume(void *data, const mcp_operation_stream_t *stream,
    mcp_operation_t *op)
{
    int                            rc;
    mcp_remote_resume_t           *resume;
    mcp_cluster_t                 *cluster;
    const mcp_mem_t               *mem;
    mcp_remote_resume_arguments_t  argv;

    cluster = data;
    mem = &cluster->worker->env->mem;

    if (cluster->state != MCP_CLUSTER_MEMBER) {
        return mcp_remote_resume_unreachable(cluster, stream);
    }

    if (stream->listens) {
        mcp_replication_flush(cluster, stream->id);
    }

    resume = mcp_mem_calloc(mem, sizeof(mcp_remote_resume_t));
    if (resume == NULL) {
        return MCP_ERR_MEMORY;
    }

    resume->op = op;
    resume->stream = *stream;

    mcp_remote_resume_args(cluster, stream, &argv);

    rc = mcp_cluster_run(cluster, MCP_SCRIPT_RESUME, argv.args,
        MCP_REMOTE_RESUME_ARGS, mcp_remote_resume_done, resume);

    if (rc != MCP_OK) {
        mem->free(mem->ctx, resume);
        return MCP_ERR_UNREACHABLE;
    }

    return MCP_AGAIN;
}

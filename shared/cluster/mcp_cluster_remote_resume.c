/* SPDX-License-Identifier: Apache-2.0 */

/* Resuming a stream of another node: Redis returns the stream's state and
 * events, and records that the stream's reader is at this node. */


#include "cluster/mcp_cluster_replication.h"


void
mcp_cluster_generation(mcp_cluster_t *cluster,
    const unsigned char id[MCP_STREAM_ID_LEN], uint32_t generation)
{
    mcp_store_t        *store;
    mcp_stream_info_t   info;

    store = cluster->worker->store;

    /* try again if another process changes the generation at the same time */

    while (mcp_store_find(store, id, 0, &info) == MCP_OK
           && info.generation < generation
           && mcp_store_set_generation(store, &info.ref, info.generation,
                                       generation)
              == MCP_ERR_DENIED)
    {
        /* void */
    }
}


/*
 * Resumes a stream that this node owns itself: records that the stream's
 * reader, with the number "number", is at this node now.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_UNREACHABLE  the take-over of the stream from a dead node is not
 *                        complete
 *   MCP_ERR_DENIED       a client that came later reads the stream at another
 *                        node
 */
static int
mcp_remote_resume_own(mcp_cluster_t *cluster,
    const mcp_operation_stream_t *stream, uint64_t number,
    const mcp_store_checkpoint_t *checkpoint)
{
    int                rc;
    mcp_stream_info_t  info;

    if (mcp_store_find(cluster->worker->store, stream->id, 0, &info) == MCP_OK)
    {
        /* another process is taking the stream over and does not have all
         * events yet */

        if (info.mirror && !stream->listens && info.last_seq < stream->after) {
            return MCP_ERR_UNREACHABLE;
        }

        rc = mcp_store_remote_consumer_over(cluster->worker->store, &info.ref,
                                            number, checkpoint);

        /* the reader is denied only if another client has resumed the stream
         * later at another node */

        return rc == MCP_ERR_DENIED
               && mcp_store_find(cluster->worker->store, stream->id, 0, &info)
                  == MCP_OK
               && info.consumer_slot == MCP_STORE_REMOTE_CONSUMER
               ? MCP_ERR_DENIED : MCP_OK;
    }

    /* an active stream that is not here is being taken over from a dead node */

    return checkpoint->state < MCP_STATE_COMPLETED && !stream->listens
           ? MCP_ERR_UNREACHABLE : MCP_OK;
}


/* Drops the events before "first", because a client has confirmed them, at
 * this node or another one. */
static void
mcp_remote_resume_drop(mcp_cluster_t *cluster,
    const mcp_operation_stream_t *stream, uint64_t first)
{
    mcp_stream_info_t  info;

    if (mcp_store_find(cluster->worker->store, stream->id, 0, &info) == MCP_OK
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
    const mcp_operation_stream_t *stream, uint64_t number)
{
    mcp_script_args_t  args;

    mcp_args_init(&args);
    mcp_args_stream(&args, stream->id);
    mcp_args_number(&args, number);
    mcp_args_number(&args, stream->after);
    mcp_args_text(&args, mcp_str("1"));

    (void) mcp_cluster_run(cluster, MCP_SCRIPT_READ_POSITION, args.args, args.n,
                           mcp_remote_resume_left, cluster);
}


/* Makes this process feed the mirror. Returns MCP_OK or MCP_ERR_MEMORY. */
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
    mcp_mirror_continue(repl);
    mcp_bulk_fetch_note(repl, reply);

    /* report the state of the reader to Redis soon: the client may have
     * disconnected, or an entry about a later reader may have arrived before
     * the mirror existed */

    repl->time = 0;

    mcp_replication_within(repl, MCP_REPLICATION_LATER);

    return MCP_OK;
}


/* Creates the mirror of the stream if there is none, makes this process feed
 * the mirror, and adds the events in a reply of redis/resume.lua. */
static int
mcp_remote_resume_mirror(mcp_cluster_t *cluster,
    const mcp_operation_stream_t *stream, const mcp_reply_t *reply,
    uint64_t number, const mcp_store_checkpoint_t *checkpoint)
{
    int                 rc;
    uint64_t            now;
    mcp_stream_ref_t    ref;
    mcp_stream_spec_t   spec;

    if (mcp_codec_decode_spec(&cluster->worker->env->mem,
                              mcp_reply_item(reply, 7)->text, &spec)
        != MCP_OK
        || memcmp(spec.id, stream->id, MCP_STREAM_ID_LEN) != 0)
    {
        return MCP_ERR_SYNTAX;
    }

    now = mcp_worker_now(cluster->worker);
    rc = mcp_store_mirror(cluster->worker->store, &spec,
                          mcp_reply_number(mcp_reply_item(reply, 4)),
                          stream->after, number, now, &ref);

    if (rc == MCP_ERR_FULL || rc == MCP_ERR_LIMIT) {
        mcp_remote_resume_leave(cluster, stream, number);
        return MCP_ERR_FULL;
    }

    /* a later reader exists, or nodes disagree about the owner */

    if (rc != MCP_OK) {
        return MCP_ERR_UNREACHABLE;
    }

    rc = mcp_remote_resume_feed(cluster, &ref, number, stream->after, reply);
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


/* Reads the number of the last client input, the first kept event and the
 * generation from a reply, and applies them to the stream or mirror of this
 * node. */
static void
mcp_remote_resume_taken(mcp_cluster_t *cluster,
    const mcp_operation_stream_t *stream, const mcp_reply_t *reply)
{
    uint64_t  inputs, first, generation;

    first = mcp_reply_number(mcp_reply_item(reply, 4));
    generation = mcp_reply_number(mcp_reply_item(reply, 9));
    inputs = mcp_reply_number(mcp_reply_item(reply, 10));

    mcp_store_remote_inputs(cluster->worker->store, stream->id, inputs);
    mcp_remote_resume_drop(cluster, stream, first);
    mcp_cluster_generation(cluster, stream->id, (uint32_t) generation);
}


int
mcp_remote_resume_decode(mcp_cluster_t *cluster, mcp_operation_t *op,
    const mcp_reply_t *reply, int rc)
{
    uint64_t                 number;
    mcp_stream_info_t        info;
    mcp_operation_stream_t  *stream;
    mcp_store_checkpoint_t   checkpoint;

    stream = &op->spec.stream;

    /* Redis does not have the event, but this node has the stream itself: the
     * caller finds out whether the event exists */

    if (rc == MCP_ERR_AHEAD && mcp_replication_has(cluster, stream->id, &info))
    {
        return MCP_OK;
    }

    if (rc == MCP_ERR_NOT_FOUND && !stream->listens) {
        return MCP_OK;
    }

    if (rc != MCP_OK) {
        return rc;
    }

    number = mcp_reply_number(mcp_reply_item(reply, 1));
    checkpoint.seq = mcp_reply_number(mcp_reply_item(reply, 3));

    if (mcp_codec_decode_state(mcp_reply_item(reply, 6)->text, &checkpoint)
        != MCP_OK)
    {
        return MCP_ERR_SYNTAX;
    }

    if (stream->listens) {
        stream->after = mcp_reply_number(mcp_reply_item(reply, 8)) - 1;
    }

    rc = mcp_reply_number(mcp_reply_item(reply, 2))
         ? mcp_remote_resume_own(cluster, stream, number, &checkpoint)
         : mcp_remote_resume_mirror(cluster, stream, reply, number,
                                    &checkpoint);

    if (rc == MCP_OK) {
        mcp_remote_resume_taken(cluster, stream, reply);
    }

    return rc;
}


void
mcp_remote_resume_encode(mcp_cluster_t *cluster,
    const mcp_operation_spec_t *spec, mcp_script_args_t *args)
{
    mcp_stream_info_t              info;
    const mcp_operation_stream_t  *stream;

    stream = &spec->stream;

    if (stream->listens) {
        mcp_replication_flush(cluster, stream->id);
    }

    mcp_args_stream(args, stream->id);

    if (stream->listens) {
        mcp_args_text(args, mcp_str(""));

    } else {
        mcp_args_number(args, stream->after);
    }

    mcp_args_digest_if(args, stream->session, !stream->any_session);
    mcp_args_digest(args, stream->principal);

    if (stream->has_generation) {
        mcp_args_number(args, stream->generation);

    } else {
        mcp_args_text(args, mcp_str(""));
    }

    mcp_args_number(args, stream->generation_max);
    mcp_args_flag(args, stream->drops);
    mcp_args_flag(args, mcp_replication_has(cluster, stream->id, &info));
}

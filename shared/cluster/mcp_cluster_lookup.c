/* SPDX-License-Identifier: Apache-2.0 */

/* Lookups of the state of streams of other nodes. */


#include "cluster/mcp_cluster_replication.h"


/* Copies a name and ends it with a NUL. */
static void
mcp_lookup_name(char to[MCP_STORE_NAME_MAX], mcp_str_t name)
{
    memcpy(to, name.data,
           name.len < MCP_STORE_NAME_MAX ? name.len : MCP_STORE_NAME_MAX - 1);
}


/* Reads a stream's state from a reply of redis/lookup.lua. Returns MCP_OK or
 * MCP_ERR_SYNTAX. */
static int
mcp_lookup_read(const mcp_mem_t *mem, const mcp_reply_t *reply,
    mcp_store_lookup_t *lookup)
{
    mcp_codec_task_t        task;
    mcp_store_checkpoint_t  checkpoint;
    mcp_stream_spec_t       spec;
    mcp_stream_info_t      *info;

    if (mcp_codec_decode_state(mcp_reply_item(reply, 4)->text,
                               &checkpoint) != MCP_OK
        || mcp_codec_decode_spec(mem, mcp_reply_item(reply, 5)->text, &spec)
               != MCP_OK
        || mcp_codec_decode_task(mcp_reply_item(reply, 8)->text, &task)
               != MCP_OK)
    {
        return MCP_ERR_SYNTAX;
    }

    info = &lookup->info;

    memcpy(info->ref.id, spec.id, MCP_STREAM_ID_LEN);
    memcpy(info->session, spec.session, MCP_DIGEST_LEN);
    memcpy(info->principal, spec.principal, MCP_DIGEST_LEN);
    mcp_lookup_name(info->method, spec.method);
    mcp_lookup_name(info->name, spec.name);

    info->kind = spec.kind;
    info->revision = spec.revision;
    info->max_wait = spec.max_wait;
    info->last_seq = mcp_reply_number(mcp_reply_item(reply, 1));
    info->first_seq = mcp_reply_number(mcp_reply_item(reply, 2));
    info->confirmed_seq = mcp_reply_number(mcp_reply_item(reply, 3));
    info->state = checkpoint.state;
    info->answered = checkpoint.answered;
    info->failed = checkpoint.failed;
    info->failed_seq = checkpoint.failed_seq;
    info->generation = (uint32_t) mcp_reply_number(mcp_reply_item(reply, 6));
    info->posted = mcp_reply_number(mcp_reply_item(reply, 7)) != 0;
    info->mirror = 1;
    info->replicated = 1;
    info->expires = task.expires;
    info->kept = task.kept;
    info->changed = task.changed;
    lookup->given = task.given;

    return MCP_OK;
}


/* Copies the last event, if the reply contains it. */
static int
mcp_lookup_event(const mcp_mem_t *mem, const mcp_reply_t *reply,
    mcp_found_t *found)
{
    char            *p;
    mcp_str_t        event;
    mcp_store_raw_t  raw;

    if (reply->n < 11) {
        return MCP_OK;
    }

    event = mcp_reply_item(reply, 9)->text;

    if (mcp_codec_decode_answers(mcp_reply_item(reply, 10)->text, &raw)
            != MCP_OK
        || !mcp_codec_is_message(mem, event))
    {
        return MCP_ERR_SYNTAX;
    }

    p = mem->alloc(mem->ctx, event.len);

    if (p == NULL) {
        return MCP_ERR_MEMORY;
    }

    memcpy(p, event.data, event.len);
    found->event = (mcp_str_t) { p, event.len };
    found->lookup.seq = found->lookup.info.last_seq;
    found->lookup.state = raw.state;

    return MCP_OK;
}


/* Stores the states in n items in op->found. Each item has the form of a reply
 * of redis/lookup.lua. */
static int
mcp_lookup_note(mcp_cluster_t *cluster, mcp_operation_t *op,
    const mcp_reply_t *const *items, size_t n)
{
    int               rc;
    mcp_found_t      *found;
    const mcp_mem_t  *mem;

    if (n == 0) {
        return MCP_OK;
    }

    mem = &cluster->worker->env->mem;
    op->found = mcp_mem_calloc(mem, n * sizeof(mcp_found_t));

    if (op->found == NULL) {
        return MCP_ERR_MEMORY;
    }

    for (rc = MCP_OK; rc == MCP_OK && op->n_found < n; op->n_found++) {
        found = &op->found[op->n_found];

        rc = mcp_reply_is(mcp_reply_item(items[op->n_found], 0), "OK")
             ? mcp_lookup_read(mem, items[op->n_found], &found->lookup)
             : MCP_ERR_SYNTAX;

        if (rc == MCP_OK) {
            rc = mcp_lookup_event(mem, items[op->n_found], found);
        }
    }

    return rc;
}


void
mcp_lookup_encode(mcp_cluster_t *cluster, const mcp_operation_spec_t *spec,
    mcp_script_args_t *args)
{
    const mcp_operation_stream_t  *stream;

    stream = &spec->stream;

    mcp_args_stream(args, stream->id);
    mcp_args_number(args, stream->after);
    mcp_args_digest_if(args, stream->session, !stream->any_session);
    mcp_args_digest(args, stream->principal);
    mcp_args_text(args, stream->task
                        ? stream->listens ? mcp_str("2") : mcp_str("1")
                        : mcp_str(""));
    mcp_args_flag(args, stream->created
                        && mcp_worker_now(cluster->worker)
                           < stream->created + cluster->conf->node_timeout);
}


int
mcp_lookup_decode(mcp_cluster_t *cluster, mcp_operation_t *op,
    const mcp_reply_t *reply, int rc)
{
    /* a stream that does not exist is no error, but has no result */

    if (rc == MCP_ERR_NOT_FOUND) {
        return MCP_OK;
    }

    return rc == MCP_OK ? mcp_lookup_note(cluster, op, &reply, 1) : rc;
}


void
mcp_list_encode(mcp_cluster_t *cluster, const mcp_operation_spec_t *spec,
    mcp_script_args_t *args)
{
    (void) cluster;

    mcp_args_digest(args, spec->stream.session);
    mcp_args_digest(args, spec->stream.principal);
}


int
mcp_list_decode(mcp_cluster_t *cluster, mcp_operation_t *op,
    const mcp_reply_t *reply, int rc)
{
    return rc == MCP_OK
           ? mcp_lookup_note(cluster, op,
                             (const mcp_reply_t *const *) reply->items + 1,
                             reply->n - 1)
           : rc;
}

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


static int
mcp_lookup_take(mcp_cluster_t *cluster, mcp_operation_t *op,
    const mcp_reply_t *reply)
{
    int                 rc;
    const mcp_reply_t  *kind;

    if (reply == NULL) {
        return MCP_ERR_UNREACHABLE;
    }

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "NONE")) {
        return MCP_OK;
    }

    if (mcp_reply_is(kind, "LATER")) {
        return MCP_ERR_UNREACHABLE;
    }

    if (mcp_reply_is(kind, "AHEAD")) {
        return MCP_ERR_AHEAD;
    }

    rc = mcp_lookup_note(cluster, op, &reply, 1);

    if (rc == MCP_ERR_SYNTAX) {
        mcp_cluster_unexpected_reply(cluster, "lookup", reply);
        return MCP_ERR_UNREACHABLE;
    }

    return rc;
}


static void
mcp_lookup_done(void *data, const mcp_reply_t *reply)
{
    mcp_operation_t  *op;

    op = data;

    mcp_operation_answer(op,
                         mcp_lookup_take(op->worker->cluster, op, reply));
}


static int
mcp_list_take(mcp_cluster_t *cluster, mcp_operation_t *op,
    const mcp_reply_t *reply)
{
    int  rc;

    if (reply == NULL) {
        return MCP_ERR_UNREACHABLE;
    }

    if (mcp_reply_is(mcp_reply_item(reply, 0), "LATER")) {
        return MCP_ERR_UNREACHABLE;
    }

    rc = mcp_reply_is(mcp_reply_item(reply, 0), "OK")
         ? mcp_lookup_note(cluster, op,
                           (const mcp_reply_t *const *) reply->items + 1,
                           reply->n - 1)
         : MCP_ERR_SYNTAX;

    if (rc == MCP_ERR_SYNTAX) {
        mcp_cluster_unexpected_reply(cluster, "list", reply);
        return MCP_ERR_UNREACHABLE;
    }

    return rc;
}


static void
mcp_list_done(void *data, const mcp_reply_t *reply)
{
    mcp_operation_t  *op;

    op = data;

    mcp_operation_answer(op, mcp_list_take(op->worker->cluster, op, reply));
}


/* Runs a script for an operation. Returns MCP_AGAIN if its reply follows, or
 * MCP_OK if the node serves alone, or MCP_ERR_UNREACHABLE. */
static int
mcp_lookup_run(mcp_cluster_t *cluster, mcp_script_e script,
    const mcp_str_t *args, size_t n, mcp_link_reply_cb handler,
    mcp_operation_t *op)
{
    if (cluster->state != MCP_CLUSTER_MEMBER) {
        return mcp_store_node_is_standalone(cluster->worker->store)
                   ? MCP_OK
                   : MCP_ERR_UNREACHABLE;
    }

    return mcp_cluster_run(cluster, script, args, n, handler, op) == MCP_OK
           ? MCP_AGAIN : MCP_ERR_UNREACHABLE;
}


int
mcp_cluster_lookup(void *data, const mcp_operation_stream_t *stream,
    mcp_operation_t *op)
{
    char       id[MCP_STREAM_TEXT_LEN], after[20];
    mcp_str_t  args[5];

    (void) mcp_stream_id_print(id, stream->id);
    args[0] = (mcp_str_t) { id, MCP_STREAM_TEXT_LEN };
    args[1].data = after;
    args[1].len = (size_t) (mcp_uint_print(after, stream->after) - after);
    args[2] = (mcp_str_t) { (const char *) stream->session,
                            stream->any_session ? 0 : MCP_DIGEST_LEN };
    args[3] = (mcp_str_t) { (const char *) stream->principal,
                            MCP_DIGEST_LEN };

    args[4] = stream->task ? stream->listens ? mcp_str("2") : mcp_str("1")
                           : mcp_str("");

    return mcp_lookup_run(data, MCP_SCRIPT_LOOKUP, args, 5, mcp_lookup_done,
                           op);
}


int
mcp_cluster_list(void *data, const mcp_operation_stream_t *stream,
    mcp_operation_t *op)
{
    mcp_str_t  args[2];

    args[0] = (mcp_str_t) { (const char *) stream->session, MCP_DIGEST_LEN };
    args[1] = (mcp_str_t) { (const char *) stream->principal,
                            MCP_DIGEST_LEN };

    return mcp_lookup_run(data, MCP_SCRIPT_LIST, args, 2, mcp_list_done, op);
}

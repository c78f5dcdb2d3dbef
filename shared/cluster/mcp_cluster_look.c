/* SPDX-License-Identifier: Apache-2.0 */

/* A client asks, at this node, how streams of others stand. */


#include "cluster/mcp_cluster_copy.h"


/* Copies a name, which is NUL-terminated there. */
static void
mcp_look_name(char to[MCP_STORE_NAME_MAX], mcp_str_t name)
{
    memcpy(to, name.data,
           name.len < MCP_STORE_NAME_MAX ? name.len : MCP_STORE_NAME_MAX - 1);
}


/* Reads what redis/look.lua says of it; MCP_OK or MCP_ERR_SYNTAX. */
static int
mcp_look_read(const mcp_mem_t *mem, const mcp_reply_t *reply,
    mcp_store_look_t *look)
{
    mcp_pack_task_t     task;
    mcp_store_stand_t   stand;
    mcp_stream_spec_t   spec;
    mcp_stream_info_t  *info;

    if (mcp_unpack_stand(mcp_reply_item(reply, 4)->text, &stand) != MCP_OK
        || mcp_unpack_spec(mem, mcp_reply_item(reply, 5)->text, &spec)
           != MCP_OK
        || mcp_unpack_task(mcp_reply_item(reply, 8)->text, &task) != MCP_OK)
    {
        return MCP_ERR_SYNTAX;
    }

    info = &look->info;

    memcpy(info->ref.id, spec.id, MCP_STREAM_ID_LEN);
    memcpy(info->session, spec.session, MCP_DIGEST_LEN);
    memcpy(info->principal, spec.principal, MCP_DIGEST_LEN);
    mcp_look_name(info->method, spec.method);
    mcp_look_name(info->name, spec.name);

    info->kind = spec.kind;
    info->revision = spec.revision;
    info->max_wait = spec.max_wait;
    info->last_seq = mcp_reply_number(mcp_reply_item(reply, 1));
    info->first_seq = mcp_reply_number(mcp_reply_item(reply, 2));
    info->confirmed_seq = mcp_reply_number(mcp_reply_item(reply, 3));
    info->state = stand.state;
    info->answered = stand.answered;
    info->failed = stand.failed;
    info->failed_seq = stand.failed_seq;
    info->turn = (uint32_t) mcp_reply_number(mcp_reply_item(reply, 6));
    info->posted = mcp_reply_number(mcp_reply_item(reply, 7)) != 0;
    info->mirror = 1;
    info->safe = 1;
    info->expires = task.expires;
    info->kept = task.kept;
    info->changed = task.changed;
    look->given = task.given;

    return MCP_OK;
}


/* Takes the last event, if the reply has it. */
static int
mcp_look_event(const mcp_mem_t *mem, const mcp_reply_t *reply,
    mcp_found_t *found)
{
    char            *p;
    mcp_str_t        event;
    mcp_store_raw_t  raw;

    if (reply->n < 11) {
        return MCP_OK;
    }

    event = mcp_reply_item(reply, 9)->text;

    if (mcp_unpack_answers(mcp_reply_item(reply, 10)->text, &raw) != MCP_OK
        || !mcp_pack_is_message(mem, event))
    {
        return MCP_ERR_SYNTAX;
    }

    p = mem->alloc(mem->ctx, event.len);

    if (p == NULL) {
        return MCP_ERR_MEMORY;
    }

    memcpy(p, event.data, event.len);
    found->event = (mcp_str_t) { p, event.len };
    found->look.seq = found->look.info.last_seq;
    found->look.state = raw.state;

    return MCP_OK;
}


/* Notes what items of a reply say, each as redis/look.lua does. */
static int
mcp_look_note(mcp_cluster_t *cluster, mcp_ask_t *ask,
    const mcp_reply_t *const *items, size_t n)
{
    int               rc;
    mcp_found_t      *found;
    const mcp_mem_t  *mem;

    if (n == 0) {
        return MCP_OK;
    }

    mem = &cluster->worker->env->mem;
    ask->found = mcp_mem_calloc(mem, n * sizeof(mcp_found_t));

    if (ask->found == NULL) {
        return MCP_ERR_MEMORY;
    }

    for (rc = MCP_OK; rc == MCP_OK && ask->n_found < n; ask->n_found++) {
        found = &ask->found[ask->n_found];

        rc = mcp_reply_is(mcp_reply_item(items[ask->n_found], 0), "OK")
             ? mcp_look_read(mem, items[ask->n_found], &found->look)
             : MCP_ERR_SYNTAX;

        if (rc == MCP_OK) {
            rc = mcp_look_event(mem, items[ask->n_found], found);
        }
    }

    return rc;
}


static int
mcp_look_take(mcp_cluster_t *cluster, mcp_ask_t *ask, const mcp_reply_t *reply)
{
    int                 rc;
    const mcp_reply_t  *kind;

    if (reply == NULL) {
        return MCP_ERR_AWAY;
    }

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "NONE")) {
        return MCP_OK;
    }

    if (mcp_reply_is(kind, "LATER")) {
        return MCP_ERR_AWAY;
    }

    if (mcp_reply_is(kind, "AHEAD")) {
        return MCP_ERR_AHEAD;
    }

    rc = mcp_look_note(cluster, ask, &reply, 1);

    if (rc == MCP_ERR_SYNTAX) {
        mcp_cluster_strange(cluster, "look", reply);
        return MCP_ERR_AWAY;
    }

    return rc;
}


static void
mcp_look_done(void *data, const mcp_reply_t *reply)
{
    mcp_ask_t  *ask;

    ask = data;

    mcp_ask_answer(ask, mcp_look_take(ask->worker->cluster, ask, reply));
}


static int
mcp_list_take(mcp_cluster_t *cluster, mcp_ask_t *ask, const mcp_reply_t *reply)
{
    int  rc;

    if (reply == NULL) {
        return MCP_ERR_AWAY;
    }

    if (mcp_reply_is(mcp_reply_item(reply, 0), "LATER")) {
        return MCP_ERR_AWAY;
    }

    rc = mcp_reply_is(mcp_reply_item(reply, 0), "OK")
         ? mcp_look_note(cluster, ask,
                         (const mcp_reply_t *const *) reply->items + 1,
                         reply->n - 1)
         : MCP_ERR_SYNTAX;

    if (rc == MCP_ERR_SYNTAX) {
        mcp_cluster_strange(cluster, "list", reply);
        return MCP_ERR_AWAY;
    }

    return rc;
}


static void
mcp_list_done(void *data, const mcp_reply_t *reply)
{
    mcp_ask_t  *ask;

    ask = data;

    mcp_ask_answer(ask, mcp_list_take(ask->worker->cluster, ask, reply));
}


/* Runs a script; what is wrong with the link is said in the node's state. */
static int
mcp_look_run(mcp_cluster_t *cluster, mcp_script_e script, const mcp_str_t *args,
    size_t n, mcp_link_reply_cb handler, mcp_ask_t *ask)
{
    if (cluster->state != MCP_CLUSTER_MEMBER) {
        return mcp_store_node_is_alone(cluster->worker->store) ? MCP_OK
                                                               : MCP_ERR_AWAY;
    }

    return mcp_cluster_run(cluster, script, args, n, handler, ask) == MCP_OK
           ? MCP_AGAIN : MCP_ERR_AWAY;
}


int
mcp_cluster_look(void *data, const mcp_ask_stream_t *stream, mcp_ask_t *ask)
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

    return mcp_look_run(data, MCP_SCRIPT_LOOK, args, 5, mcp_look_done, ask);
}


int
mcp_cluster_list(void *data, const mcp_ask_stream_t *stream, mcp_ask_t *ask)
{
    mcp_str_t  args[2];

    args[0] = (mcp_str_t) { (const char *) stream->session, MCP_DIGEST_LEN };
    args[1] = (mcp_str_t) { (const char *) stream->principal,
                            MCP_DIGEST_LEN };

    return mcp_look_run(data, MCP_SCRIPT_LIST, args, 2, mcp_list_done, ask);
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Cluster operations. For each kind of operation there is one script. This file
 * runs the script with the arguments that the kind's encode function appends,
 * and turns the first word of the reply into the operation's result.
 */


#include "cluster/mcp_cluster_replication.h"


/* --- lookups --- */

/* The functions mcp_lookup_*() query Redis for the state of streams of other
 * nodes. */

/* Copies a name into a buffer of zeros, so that a NUL follows the name. A name
 * that is too long is cut. */
static void
mcp_lookup_name(char to[MCP_STORE_NAME_MAX], mcp_str_t name)
{
    memcpy(to, name.data,
           name.len < MCP_STORE_NAME_MAX ? name.len : MCP_STORE_NAME_MAX - 1);
}


/* Reads a stream's state from a reply of redis/lookup.lua into *lookup. Returns
 * MCP_OK or MCP_ERR_SYNTAX. */
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


/* Copies the stream's last event from the reply to *found, if the reply
 * contains the event. Returns MCP_OK, MCP_ERR_SYNTAX or MCP_ERR_MEMORY. */
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


/* Stores in op->found the stream states that n reply items contain. Each item
 * has the form of a reply of redis/lookup.lua. Returns MCP_OK, MCP_ERR_SYNTAX
 * or MCP_ERR_MEMORY. */
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


static void
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


static int
mcp_lookup_decode(mcp_cluster_t *cluster, mcp_operation_t *op,
    const mcp_reply_t *reply, int rc)
{
    /* a stream that does not exist is not an error: op->found remains empty */

    if (rc == MCP_ERR_NOT_FOUND) {
        return MCP_OK;
    }

    return rc == MCP_OK ? mcp_lookup_note(cluster, op, &reply, 1) : rc;
}


static void
mcp_list_encode(mcp_cluster_t *cluster, const mcp_operation_spec_t *spec,
    mcp_script_args_t *args)
{
    (void) cluster;

    mcp_args_digest(args, spec->stream.session);
    mcp_args_digest(args, spec->stream.principal);
}


static int
mcp_list_decode(mcp_cluster_t *cluster, mcp_operation_t *op,
    const mcp_reply_t *reply, int rc)
{
    return rc == MCP_OK
           ? mcp_lookup_note(cluster, op,
                             (const mcp_reply_t *const *) reply->items + 1,
                             reply->n - 1)
           : rc;
}


/* --- resume tokens --- */

/*
 * Resume tokens that are valid for one call: Redis records which node has used
 * a token. The update that names the stream of the token's call is repeated
 * until Redis replies or the token expires, because without the update the
 * token would be valid again after the death of this node. If that call fails,
 * a second update is repeated in the same way, because without it the token
 * would not be valid again.
 */


struct mcp_token_update_s {
    mcp_token_update_t    *next;
    mcp_cluster_t         *cluster;
    mcp_operation_spec_t   spec;
    unsigned               sending:1;
    unsigned               drops:1;    /* 1: the call has failed, so DROP
                                          follows when Redis has recorded
                                          SET */
};


/* Maximum number of updates without acknowledgement. */
#define MCP_TOKEN_UPDATES_MAX  4096


static void
mcp_token_sent(void *data, const mcp_reply_t *reply)
{
    if (reply && !mcp_reply_is(mcp_reply_item(reply, 0), "OK")) {
        mcp_cluster_unexpected_reply(data, "token", reply);
    }
}


static void
mcp_token_encode(mcp_cluster_t *cluster, const mcp_operation_spec_t *spec,
    mcp_script_args_t *args)
{
    uint64_t                      now;
    const mcp_operation_token_t  *token;

    static const char *const  kinds[] = {
        [MCP_OPERATION_TOKEN_TAKE] = "t",
        [MCP_OPERATION_TOKEN_GIVE] = "g",
        [MCP_OPERATION_TOKEN_SET] = "s",
        [MCP_OPERATION_TOKEN_DROP] = "d"
    };

    now = mcp_worker_now(cluster->worker);
    token = &spec->token;

    mcp_args_digest(args, token->key);
    mcp_args_text(args, (mcp_str_t) { kinds[token->what], 1 });
    mcp_args_number(args, token->value);
    mcp_args_number(args, token->expires > now ? token->expires - now : 1);
}


static int
mcp_token_run(mcp_cluster_t *cluster, const mcp_operation_spec_t *spec,
    mcp_link_reply_cb handler, void *data)
{
    mcp_script_args_t  args;

    mcp_args_init(&args);
    mcp_token_encode(cluster, spec, &args);

    return mcp_cluster_run(cluster, MCP_SCRIPT_TOKEN, args.args, args.n,
                           handler, data);
}


static int
mcp_token_decode(mcp_cluster_t *cluster, mcp_operation_t *op,
    const mcp_reply_t *reply, int rc)
{
    if (rc == MCP_ERR_DENIED) {
        op->value = (uint32_t) mcp_reply_number(mcp_reply_item(reply, 1));
    }

    /* this node was declared dead, which this process has not detected yet */

    if (mcp_reply_is(mcp_reply_item(reply, 0), "FENCED")) {
        mcp_cluster_self_check(cluster);
    }

    /* the client has disconnected: release the token unused */

    if (rc == MCP_OK && op->x == NULL
        && op->spec.token.what == MCP_OPERATION_TOKEN_TAKE)
    {
        op->spec.token.what = MCP_OPERATION_TOKEN_GIVE;
        (void) mcp_token_run(cluster, &op->spec, mcp_token_sent, cluster);
    }

    return rc;
}


/* --- the stream of a token --- */

static void mcp_token_update_send(mcp_token_update_t *update);


static void
mcp_token_update_free(mcp_token_update_t *update)
{
    mcp_token_update_t  **p;

    for (p = &update->cluster->updates; *p != update; p = &(*p)->next) {
        /* void */
    }

    *p = update->next;
    update->cluster->n_updates--;
    mcp_mem_free(&update->cluster->worker->env->mem, update);
}


static void
mcp_token_update_sent(void *data, const mcp_reply_t *reply)
{
    mcp_token_update_t  *update;

    update = data;
    update->sending = 0;

    if (reply == NULL) {
        return;
    }

    mcp_token_sent(update->cluster, reply);

    if (update->drops) {
        update->drops = 0;
        update->spec.token.what = MCP_OPERATION_TOKEN_DROP;
        mcp_token_update_send(update);

    } else {
        mcp_token_update_free(update);
    }
}


static void
mcp_token_update_send(mcp_token_update_t *update)
{
    mcp_cluster_t  *cluster;

    cluster = update->cluster;

    if (mcp_worker_now(cluster->worker) >= update->spec.token.expires) {
        mcp_token_update_free(update);

    } else if (cluster->state == MCP_CLUSTER_MEMBER) {

        /* replicate the stream first, so that other nodes find the stream as
         * soon as Redis returns the value that identifies the stream */

        mcp_replication_flush(cluster, update->spec.token.stream);
        update->sending = mcp_token_run(cluster, &update->spec,
                                        mcp_token_update_sent, update)
                          == MCP_OK;
    }
}


void
mcp_token_retry(mcp_cluster_t *cluster)
{
    mcp_token_update_t  *update, *next;

    /* replicating a stream may answer a request that sets another token and so
     * calls this function recursively: that call does nothing */

    if (cluster->updates_again) {
        return;
    }

    cluster->updates_again = 1;

    for (update = cluster->updates; update; update = next) {
        next = update->next;

        if (!update->sending) {
            mcp_token_update_send(update);
        }
    }

    cluster->updates_again = 0;
}


/* If Redis has not confirmed SET for the token of this DROP, lets DROP follow
 * SET, and returns 1. Otherwise returns 0. */
static int
mcp_token_drops_later(mcp_cluster_t *cluster,
    const mcp_operation_token_t *token)
{
    mcp_token_update_t  *update;

    for (update = cluster->updates; update; update = update->next) {
        if (update->spec.token.what == MCP_OPERATION_TOKEN_SET
            && update->spec.token.value == token->value
            && memcmp(update->spec.token.key, token->key, MCP_DIGEST_LEN) == 0)
        {
            update->drops = 1;
            return 1;
        }
    }

    return 0;
}


/* Sends MCP_OPERATION_TOKEN_SET, or MCP_OPERATION_TOKEN_DROP for a call that
 * has a stream, and repeats it until Redis replies or the token expires. */
static void
mcp_token_update(mcp_cluster_t *cluster, const mcp_operation_spec_t *spec)
{
    mcp_token_update_t  *update;

    if (spec->token.what == MCP_OPERATION_TOKEN_DROP
        && mcp_token_drops_later(cluster, &spec->token))
    {
        return;
    }

    if (cluster->n_updates == MCP_TOKEN_UPDATES_MAX) {
        mcp_token_retry(cluster);
    }

    update = cluster->n_updates < MCP_TOKEN_UPDATES_MAX
           ? mcp_mem_calloc(&cluster->worker->env->mem,
                            sizeof(mcp_token_update_t))
           : NULL;

    if (update == NULL) {
        mcp_worker_log(cluster->worker, MCP_LOG_ERROR,
                       "cluster: the use of a resume token, or the failure of "
                       "its call, is not recorded in Redis, so the client "
                       "cannot continue at other nodes: this process has no "
                       "memory, or already waits for Redis to record %d other "
                       "tokens",
                       MCP_TOKEN_UPDATES_MAX);
        return;
    }

    update->cluster = cluster;
    update->spec = *spec;
    update->next = cluster->updates;
    cluster->updates = update;
    cluster->n_updates++;

    mcp_token_update_send(update);
}


void
mcp_token_free_all(mcp_cluster_t *cluster)
{
    while (cluster->updates) {
        mcp_token_update_free(cluster->updates);
    }
}


/* --- operations --- */

#define MCP_OPERATION_WORDS  4

typedef struct {
    mcp_script_e      script;
    const char       *name;            /* name of the script in log messages */
    mcp_encode_fn    *encode;
    mcp_decode_fn    *decode;          /* returns the result for a reply; NULL:
                                          the result is "rc" of the reply's
                                          first word */
    unsigned          standalone:1;    /* 1: if the command cannot be sent,
                                          mcp_operation_standalone() returns the
                                          result; 0: the result is then
                                          MCP_ERR_UNREACHABLE */
    struct {
        const char   *word;
        int           rc;
    } words[MCP_OPERATION_WORDS];      /* possible first words of the script's
                                          replies, with their results */
} mcp_operation_script_t;


/* --- short operations --- */

static void
mcp_client_input_encode(mcp_cluster_t *cluster,
    const mcp_operation_spec_t *spec, mcp_script_args_t *args)
{
    int                                  answers;
    const mcp_operation_client_input_t  *input;

    static const char *const  kinds[] = {
        [MCP_OPERATION_INPUT_ANSWER] = "p",
        [MCP_OPERATION_INPUT_TASK] = "u",
        [MCP_OPERATION_INPUT_CANCEL] = "x"
    };

    (void) cluster;

    input = &spec->input;
    answers = (input->what == MCP_OPERATION_INPUT_ANSWER);

    mcp_args_stream(args, input->id);
    mcp_args_digest_if(args, input->session, answers);
    mcp_args_digest_if(args, input->principal, !answers);
    mcp_args_number(args, input->generation);
    mcp_args_text(args, (mcp_str_t) { kinds[input->what], 1 });
    mcp_args_text(args, input->data);
    mcp_args_number(args, input->bits);
    mcp_args_number(args, input->seq);
    mcp_args_number(args, input->all);
}


static int
mcp_client_input_decode(mcp_cluster_t *cluster, mcp_operation_t *op,
    const mcp_reply_t *reply, int rc)
{
    const mcp_operation_client_input_t  *input;

    if (rc == MCP_OK && !op->unwaited) {
        input = &op->spec.input;
        mcp_store_remote_inputs(cluster->worker->store, input->id,
                                mcp_reply_number(mcp_reply_item(reply, 1)));
        mcp_cluster_generation(cluster, input->id, input->generation);
    }

    return rc;
}


/* Appends the arguments of redis/quota.lua, which rejects a call of a session
 * with too many active calls before the call starts. The script is run only if
 * a broadcast has reported that the session has many active calls. Redis also
 * rejects such a call when its stream is replicated, but the call may have
 * started by then. */
static void
mcp_quota_encode(mcp_cluster_t *cluster, const mcp_operation_spec_t *spec,
    mcp_script_args_t *args)
{
    (void) cluster;

    mcp_args_digest(args, spec->quota.session);
    mcp_args_number(args, spec->quota.limit);
}


static void
mcp_upstream_session_encode(mcp_cluster_t *cluster,
    const mcp_operation_spec_t *spec, mcp_script_args_t *args)
{
    static const char *const  kinds[] = {
        [MCP_OPERATION_SESSION_GET] = "g",
        [MCP_OPERATION_SESSION_TAKE] = "t",
        [MCP_OPERATION_SESSION_PUT] = "p",
        [MCP_OPERATION_SESSION_DROP] = "d"
    };

    (void) cluster;

    mcp_args_digest(args, spec->session.key);
    mcp_args_text(args, (mcp_str_t) { kinds[spec->session.what], 1 });
    mcp_args_text(args, spec->session.text);
    mcp_args_number(args, spec->session.lasts);
}


/* Copies the text of the session from the reply to the operation, if the reply
 * has a text. Returns rc, or MCP_ERR_SYNTAX if the text is too long. */
static int
mcp_upstream_session_decode(mcp_cluster_t *cluster, mcp_operation_t *op,
    const mcp_reply_t *reply, int rc)
{
    mcp_str_t              text;
    mcp_operation_text_t  *found;

    (void) cluster;

    found = op->spec.session.found;

    if (found == NULL || reply->n < 2) {
        return rc;
    }

    text = mcp_reply_item(reply, 1)->text;

    if (text.len > sizeof(found->text)) {
        return MCP_ERR_SYNTAX;
    }

    memcpy(found->text, text.data, text.len);
    found->len = text.len;

    return rc;
}


/* --- all operations --- */

static const mcp_operation_script_t  mcp_operations[MCP_OPERATION_KINDS] = {
    [MCP_OPERATION_BROADCAST] = {
        MCP_SCRIPT_BROADCAST, "broadcast", mcp_broadcast_encode, NULL, 1,
        { { "OK", MCP_OK } }
    },
    [MCP_OPERATION_STREAM] = {
        MCP_SCRIPT_RESUME, "resume", mcp_remote_resume_encode,
        mcp_remote_resume_decode, 0,
        { { "OK", MCP_OK }, { "NONE", MCP_ERR_NOT_FOUND },
          { "AHEAD", MCP_ERR_AHEAD }, { "LATER", MCP_ERR_UNREACHABLE } }
    },
    [MCP_OPERATION_LOOKUP] = {
        MCP_SCRIPT_LOOKUP, "lookup", mcp_lookup_encode, mcp_lookup_decode, 0,
        { { "OK", MCP_OK }, { "NONE", MCP_ERR_NOT_FOUND },
          { "AHEAD", MCP_ERR_AHEAD }, { "LATER", MCP_ERR_UNREACHABLE } }
    },
    [MCP_OPERATION_LIST] = {
        MCP_SCRIPT_LIST, "list", mcp_list_encode, mcp_list_decode, 0,
        { { "OK", MCP_OK }, { "LATER", MCP_ERR_UNREACHABLE } }
    },
    [MCP_OPERATION_CLIENT_INPUT] = {
        MCP_SCRIPT_CLIENT_INPUT, "client_input", mcp_client_input_encode,
        mcp_client_input_decode, 0,
        { { "OK", MCP_OK }, { "NONE", MCP_ERR_NOT_FOUND },
          { "FULL", MCP_ERR_LIMIT }, { "LATER", MCP_ERR_UNREACHABLE } }
    },
    [MCP_OPERATION_TOPIC] = {
        MCP_SCRIPT_TOPIC, "topic", mcp_topic_encode, NULL, 1,
        { { "OK", MCP_OK }, { "NONE", MCP_ERR_NOT_FOUND } }
    },
    [MCP_OPERATION_QUOTA] = {
        MCP_SCRIPT_QUOTA, "quota", mcp_quota_encode, NULL, 1,
        { { "OK", MCP_OK }, { "LIMIT", MCP_ERR_LIMIT } }
    },
    [MCP_OPERATION_TOKEN] = {
        MCP_SCRIPT_TOKEN, "token", mcp_token_encode, mcp_token_decode, 1,
        { { "OK", MCP_OK }, { "USED", MCP_ERR_DENIED },
          { "FENCED", MCP_ERR_UNREACHABLE },
          { "LATER", MCP_ERR_UNREACHABLE } }
    },
    [MCP_OPERATION_UPSTREAM_SESSION] = {
        MCP_SCRIPT_UPSTREAM_SESSION, "upstream_session",
        mcp_upstream_session_encode, mcp_upstream_session_decode, 0,
        { { "OK", MCP_OK }, { "NONE", MCP_ERR_NOT_FOUND },
          { "USED", MCP_ERR_EXISTS } }
    },
    [MCP_OPERATION_JOIN] = {
        MCP_SCRIPT_JOIN, "join", mcp_cluster_join_encode,
        mcp_cluster_join_decode, 0,
        { { "OK", MCP_OK }, { "NONE", MCP_ERR_NOT_FOUND } }
    },
};


/* Returns the result of an operation that cannot be sent to Redis. A standalone
 * node has only local streams and need not notify other nodes, so most
 * operations succeed there or find nothing. If mcp_cluster_sync is off, some
 * kinds of operations have the same results at any node. */
static int
mcp_operation_standalone(const mcp_cluster_t *cluster,
    const mcp_operation_spec_t *spec)
{
    int  standalone, optional;

    standalone = mcp_store_node_is_standalone(cluster->worker->store);
    optional = standalone || cluster->conf->sync == MCP_CLUSTER_SYNC_OFF;

    switch (spec->kind) {

    case MCP_OPERATION_QUOTA:
        return MCP_OK;    /* if the session has too many calls, the call is
                             rejected when it is replicated */

    case MCP_OPERATION_TOPIC:
        return optional ? MCP_ERR_NOT_FOUND : MCP_ERR_UNREACHABLE;

    case MCP_OPERATION_CLIENT_INPUT:
        return standalone ? MCP_ERR_NOT_FOUND : MCP_ERR_UNREACHABLE;

    case MCP_OPERATION_TOKEN:          /* MCP_OK: each node accepts the token
                                          once */
    case MCP_OPERATION_BROADCAST:
        return optional ? MCP_OK : MCP_ERR_UNREACHABLE;

    case MCP_OPERATION_STREAM:         /* MCP_OK for a session's own stream: it
                                          may exist at this node alone */
        return standalone || (optional && spec->stream.listens)
               ? MCP_OK : MCP_ERR_UNREACHABLE;

    case MCP_OPERATION_LOOKUP:
    case MCP_OPERATION_LIST:
        return standalone ? MCP_OK : MCP_ERR_UNREACHABLE;

    default:
        return MCP_ERR_UNREACHABLE;
    }
}


/* Returns the result of an operation whose reply is lost. Redis may have
 * executed the command. */
static int
mcp_operation_lost(const mcp_cluster_t *cluster,
    const mcp_operation_spec_t *spec)
{
    return spec->kind == MCP_OPERATION_QUOTA
           || spec->kind == MCP_OPERATION_TOPIC
           || (spec->kind == MCP_OPERATION_STREAM && spec->stream.listens)
           ? mcp_operation_standalone(cluster, spec) : MCP_ERR_UNREACHABLE;
}


/* Returns the result of an operation from the reply of its script, or
 * MCP_ERR_SYNTAX if the script cannot send this reply. */
static int
mcp_operation_read(mcp_cluster_t *cluster, mcp_operation_t *op,
    const mcp_reply_t *reply)
{
    int                            rc;
    size_t                         i;
    const char                    *word;
    const mcp_operation_script_t  *script;

    script = &mcp_operations[op->spec.kind];

    for (i = 0; i < MCP_OPERATION_WORDS; i++) {
        word = script->words[i].word;

        if (word && mcp_reply_is(mcp_reply_item(reply, 0), word)) {
            rc = script->words[i].rc;

            return script->decode ? script->decode(cluster, op, reply, rc) : rc;
        }
    }

    return MCP_ERR_SYNTAX;
}


/* Takes the reply of an operation's script, NULL if it is lost, and passes the
 * result to the operation. */
static void
mcp_operation_done(void *data, const mcp_reply_t *reply)
{
    int                    rc;
    mcp_cluster_t         *cluster;
    mcp_operation_t       *op;
    mcp_operation_kind_e   kind;

    op = data;
    cluster = op->worker->cluster;
    kind = op->spec.kind;

    rc = reply ? mcp_operation_read(cluster, op, reply)
               : mcp_operation_lost(cluster, &op->spec);

    if (rc == MCP_ERR_SYNTAX) {
        mcp_cluster_unexpected_reply(cluster, mcp_operations[kind].name, reply);
        rc = kind == MCP_OPERATION_QUOTA ? MCP_OK : MCP_ERR_UNREACHABLE;
    }

    mcp_operation_complete(op, rc);
}


/* Runs the script of an operation. Returns MCP_AGAIN if op gets the result
 * later, otherwise the result. */
static int
mcp_operation_script(mcp_cluster_t *cluster, const mcp_operation_spec_t *spec,
    mcp_operation_t *op)
{
    mcp_script_args_t              args;
    const mcp_operation_script_t  *script;

    script = &mcp_operations[spec->kind];
    op->spec = *spec;
    mcp_args_init(&args);
    script->encode(cluster, spec, &args);

    if (mcp_cluster_run(cluster, script->script, args.args, args.n,
                        mcp_operation_done, op)
        == MCP_OK)
    {
        return MCP_AGAIN;
    }

    return script->standalone ? mcp_operation_standalone(cluster, spec)
                              : MCP_ERR_UNREACHABLE;
}


int
mcp_cluster_start(void *data, const mcp_operation_spec_t *spec,
    mcp_operation_t *op)
{
    int             rc;
    mcp_cluster_t  *cluster;

    cluster = data;

    if (spec->kind == MCP_OPERATION_BROADCAST) {
        if (spec->broadcast.expires <= mcp_worker_now(cluster->worker)) {
            return MCP_OK;
        }

        if (spec->broadcast.what == MCP_BROADCAST_NOTIFICATION) {
            return mcp_cluster_notification_broadcast(cluster,
                                                      &spec->broadcast);
        }

        if (cluster->conf->sync == MCP_CLUSTER_SYNC_OFF) {
            op = NULL;
        }
    }

    if (spec->kind == MCP_OPERATION_TOKEN
        && spec->token.value
        && !mcp_store_node_is_standalone(cluster->worker->store))
    {
        mcp_token_update(cluster, spec);
        return MCP_OK;
    }

    if (cluster->state != MCP_CLUSTER_MEMBER) {
        return mcp_operation_standalone(cluster, spec);
    }

    if (op) {
        return mcp_operation_script(cluster, spec, op);
    }

    op = mcp_operation_create(cluster->worker, NULL);
    if (op == NULL) {
        return MCP_ERR_MEMORY;
    }

    op->unwaited = 1;
    rc = mcp_operation_script(cluster, spec, op);

    if (rc == MCP_AGAIN) {
        return MCP_OK;
    }

    mcp_operation_free(op);

    return rc;
}

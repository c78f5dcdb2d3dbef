/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Sends commands on a link, and passes each reply to the handler that was
 * queued with its command. If an error means that the server cannot serve now,
 * the link is closed, and all pending commands have to be sent again. That is
 * possible because each command can be repeated.
 */


#include <stdarg.h>
#include <stdio.h>

#include "cluster/mcp_cluster_internal.h"


/* --- names of keys --- */

/*
 * The names of keys in Redis, and the keys of each script. A script gets in
 * KEYS each key whose name is known before it runs, see
 * redis/common_members.lua.
 *
 * The name of a key is PREFIX:1:KIND, followed by an id or a digest if there
 * are several keys of this kind. The hash tag in the prefix puts all keys into
 * one slot of a Redis Cluster.
 */

/* Values of "of" below for a key whose name contains no argument. The name of a
 * key with MCP_KEY_ONLY is only its kind; with MCP_KEY_SELF, the id of this
 * node follows the kind. */
#define MCP_KEY_ONLY  (-1)
#define MCP_KEY_SELF  (-2)

/* Size of a row of mcp_script_keys: the keys of a script and MCP_KEY_END. */
#define MCP_KEY_ROW   (MCP_SCRIPT_KEYS + 1)


typedef struct {
    mcp_key_e  kind;
    int        of;             /* index of the argument with the id or digest,
                                  where 0 is ARGV[3]; MCP_KEY_ONLY or
                                  MCP_KEY_SELF */
} mcp_script_key_t;


static const char *const  mcp_key_kinds[MCP_KEYS] = {
    [MCP_KEY_NODES] = "nodes",
    [MCP_KEY_SINCE] = "since",
    [MCP_KEY_RUN] = "run",
    [MCP_KEY_LAYOUT] = "layout",
    [MCP_KEY_LASTING_BROADCASTS] = "told",
    [MCP_KEY_BROADCASTS] = "heard",
    [MCP_KEY_NODE] = "n:",
    [MCP_KEY_MARK] = "x:",
    [MCP_KEY_QUEUE] = "m:",
    [MCP_KEY_OWNED] = "o:",
    [MCP_KEY_ASSIGNED] = "g:",
    [MCP_KEY_HEAD] = "h:",
    [MCP_KEY_LOG] = "e:",
    [MCP_KEY_SPEC] = "c:",
    [MCP_KEY_TOPICS] = "t:",
    [MCP_KEY_LISTENERS] = "b:",
    [MCP_KEY_JOINED] = "k:",
    [MCP_KEY_STREAMS] = "s:",
    [MCP_KEY_CALLS] = "a:",
    [MCP_KEY_CROWDED] = "q:",
    [MCP_KEY_CLAIM] = "j:",
    [MCP_KEY_TOKEN] = "v:",
    [MCP_KEY_UPSTREAM_SESSION] = "u:",
    [MCP_KEY_PROCESS] = "i:"
};


/* The keys of common_members.lua, common_registration.lua and
 * common_streams.lua, in their order. */

#define MCP_KEY_MEMBERS                                                       \
    { MCP_KEY_NODES, MCP_KEY_ONLY }, { MCP_KEY_MARK, MCP_KEY_SELF },          \
    { MCP_KEY_NODE, MCP_KEY_SELF }, { MCP_KEY_SINCE, MCP_KEY_ONLY }

#define MCP_KEY_REGISTRATION                                                  \
    MCP_KEY_MEMBERS,                                                          \
    { MCP_KEY_RUN, MCP_KEY_ONLY }, { MCP_KEY_LAYOUT, MCP_KEY_ONLY }

#define MCP_KEY_STREAM                                                        \
    MCP_KEY_MEMBERS,                                                          \
    { MCP_KEY_HEAD, 0 }, { MCP_KEY_LOG, 0 }, { MCP_KEY_SPEC, 0 },             \
    { MCP_KEY_TOPICS, 0 }, { MCP_KEY_LISTENERS, 0 }, { MCP_KEY_JOINED, 0 }

#define MCP_KEY_END                                                           \
    { MCP_KEYS, MCP_KEY_ONLY }


/* KEYS of each script, in their order. The header of the script describes the
 * keys that follow the common ones. redis/keep.lua gets further keys, see
 * mcp_cluster_append.c. */
static const mcp_script_key_t  mcp_script_keys[MCP_SCRIPTS][MCP_KEY_ROW] = {
    [MCP_SCRIPT_REGISTER] = { MCP_KEY_REGISTRATION, MCP_KEY_END },
    [MCP_SCRIPT_HEARTBEAT] = { MCP_KEY_REGISTRATION, MCP_KEY_END },
    [MCP_SCRIPT_BROADCAST] = {
        MCP_KEY_MEMBERS, { MCP_KEY_LASTING_BROADCASTS, MCP_KEY_ONLY },
        { MCP_KEY_BROADCASTS, MCP_KEY_ONLY }, { MCP_KEY_PROCESS, 6 },
        MCP_KEY_END },
    [MCP_SCRIPT_APPEND] = {
        MCP_KEY_STREAM, { MCP_KEY_OWNED, MCP_KEY_SELF },
        { MCP_KEY_ASSIGNED, MCP_KEY_SELF },
        { MCP_KEY_BROADCASTS, MCP_KEY_ONLY },
        { MCP_KEY_STREAMS, 11 }, { MCP_KEY_CALLS, 11 }, { MCP_KEY_CROWDED, 11 },
        { MCP_KEY_CLAIM, 16 }, MCP_KEY_END },
    [MCP_SCRIPT_EVENT] = {
        { MCP_KEY_HEAD, 0 }, { MCP_KEY_LOG, 0 }, { MCP_KEY_MARK, MCP_KEY_SELF },
        MCP_KEY_END },
    [MCP_SCRIPT_RESUME] = { MCP_KEY_STREAM, MCP_KEY_END },
    [MCP_SCRIPT_LOOKUP] = { MCP_KEY_STREAM, MCP_KEY_END },
    [MCP_SCRIPT_LIST] = {
        MCP_KEY_MEMBERS, { MCP_KEY_STREAMS, 0 }, MCP_KEY_END },
    [MCP_SCRIPT_READ_POSITION] = { MCP_KEY_STREAM, MCP_KEY_END },
    [MCP_SCRIPT_FORGET] = {
        MCP_KEY_STREAM, { MCP_KEY_OWNED, MCP_KEY_SELF }, MCP_KEY_END },
    [MCP_SCRIPT_CLIENT_INPUT] = { MCP_KEY_STREAM, MCP_KEY_END },
    [MCP_SCRIPT_TOPIC] = {
        MCP_KEY_STREAM, { MCP_KEY_BROADCASTS, MCP_KEY_ONLY }, MCP_KEY_END },
    [MCP_SCRIPT_QUOTA] = {
        MCP_KEY_MEMBERS, { MCP_KEY_CALLS, 0 }, MCP_KEY_END },
    [MCP_SCRIPT_TOKEN] = {
        MCP_KEY_MEMBERS, { MCP_KEY_TOKEN, 0 }, MCP_KEY_END },
    [MCP_SCRIPT_TAKEOVER] = {
        MCP_KEY_MEMBERS, { MCP_KEY_OWNED, MCP_KEY_SELF },
        { MCP_KEY_ASSIGNED, MCP_KEY_SELF }, { MCP_KEY_MARK, 0 },
        { MCP_KEY_OWNED, 0 }, { MCP_KEY_NODE, 0 }, { MCP_KEY_QUEUE, 0 },
        { MCP_KEY_ASSIGNED, 0 }, MCP_KEY_END },
    [MCP_SCRIPT_JOIN] = { MCP_KEY_STREAM, MCP_KEY_END },
    [MCP_SCRIPT_KEEP] = {
        MCP_KEY_MEMBERS, { MCP_KEY_OWNED, MCP_KEY_SELF }, MCP_KEY_END },
    [MCP_SCRIPT_UPSTREAM_SESSION] = {
        MCP_KEY_MEMBERS, { MCP_KEY_UPSTREAM_SESSION, 0 }, MCP_KEY_END }
};


mcp_str_t
mcp_cluster_key(const mcp_cluster_t *cluster, mcp_key_e kind, mcp_str_t of,
    char key[MCP_CLUSTER_KEY_MAX])
{
    char       *p;
    size_t      i;
    mcp_str_t   parts[] = { cluster->conf->prefix, mcp_str(":1:"),
                            mcp_null_str, of };

    parts[2].data = mcp_key_kinds[kind];
    parts[2].len = strlen(mcp_key_kinds[kind]);
    p = key;

    for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i].len) {
            memcpy(p, parts[i].data, parts[i].len);
            p += parts[i].len;
        }
    }

    return (mcp_str_t) { key, (size_t) (p - key) };
}


mcp_str_t
mcp_cluster_stream_key(const mcp_cluster_t *cluster, mcp_key_e kind,
    const unsigned char id[MCP_STREAM_ID_LEN], char key[MCP_CLUSTER_KEY_MAX])
{
    char  text[MCP_STREAM_TEXT_LEN];

    (void) mcp_stream_id_print(text, id);

    return mcp_cluster_key(cluster, kind,
                           (mcp_str_t) { text, MCP_STREAM_TEXT_LEN }, key);
}


size_t
mcp_script_keys_of(const mcp_cluster_t *cluster, mcp_script_e script,
    const mcp_str_t *args, size_t n, mcp_script_keys_t *keys)
{
    char                     id[MCP_CLUSTER_ID_LEN + 1];
    size_t                   i;
    mcp_str_t                of;
    const mcp_script_key_t  *key;

    mcp_cluster_id(cluster, id);
    key = mcp_script_keys[script];

    for (i = 0; key[i].kind != MCP_KEYS; i++) {

        if (key[i].of == MCP_KEY_ONLY) {
            of = mcp_null_str;

        } else if (key[i].of == MCP_KEY_SELF) {
            of = (mcp_str_t) { id, MCP_CLUSTER_ID_LEN };

        } else if ((size_t) key[i].of < n) {
            of = args[key[i].of];

        } else {
            break;
        }

        keys->keys[i] = mcp_cluster_key(cluster, key[i].kind, of,
                                        keys->text[i]);
    }

    return i;
}


/* Errors after which the link is closed: the server cannot serve now, or needs
 * the login again. */
static const char *const  mcp_link_faults[] = {
    "ASK ",
    "BUSY ",
    "CLUSTERDOWN ",
    "LOADING ",
    "MASTERDOWN ",
    "NOAUTH ",
    "NOSCRIPT ",
    "READONLY ",
    "TRYAGAIN "
};


/* Errors by which a Redis Cluster reports that the slot of the keys is being
 * moved to another master. If the move is cancelled, the slot is served again
 * by its old master, which may not have all keys back yet. */
static const char *const  mcp_link_moves[] = {
    "ASK ",
    "TRYAGAIN "
};


/* --- errors --- */

void
mcp_cluster_error(mcp_cluster_t *cluster, const char *fmt, ...)
{
    char              text[MCP_CLUSTER_ERROR_MAX];
    va_list           args;
    uint64_t          suppressed;
    mcp_log_level_e   level;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);

    level = mcp_store_node_error(cluster->worker->store,
                                 mcp_worker_now(cluster->worker),
                                 MCP_CLUSTER_AGAIN, text, &suppressed)
            ? MCP_LOG_ERROR
            : MCP_LOG_INFO;

    if (suppressed) {
        mcp_worker_log(cluster->worker, level, "cluster: %s (since the last "
                       "such line, %llu more errors were logged at level "
                       "info)", text,
                       (unsigned long long) suppressed);

    } else {
        mcp_worker_log(cluster->worker, level, "cluster: %s", text);
    }
}


void
mcp_cluster_unexpected_reply(mcp_cluster_t *cluster, const char *script,
    const mcp_reply_t *reply)
{
    mcp_str_t    text;
    const char  *kind;

    text = reply->text;
    mcp_store_node_count(cluster->worker->store, MCP_NODE_UNEXPECTED_REPLY);

    /* names of commands are in upper case, names of scripts in lower case */

    kind = script[0] >= 'A' && script[0] <= 'Z' ? "" : "script ";

    if (reply->type == MCP_REPLY_ERROR) {
        mcp_cluster_error(cluster, "%s%s: %.*s", kind, script,
                          (int) (text.len < 100 ? text.len : 100), text.data);

    } else {
        mcp_cluster_error(cluster, "%s%s: Redis sent an unexpected reply",
                          kind, script);
    }
}


/* --- commands --- */

static int
mcp_link_command(mcp_link_t *link, const mcp_str_t *argv, size_t n,
    mcp_link_reply_cb handler, void *data)
{
    size_t               before;
    mcp_buf_t           *out;
    mcp_link_pending_t  *p;

    out = &link->out[!link->writing];
    before = out->len;

    /* the limits count only the bytes that were queued before this command, so
     * the command itself may have any length */

    if (link->n_pending == MCP_LINK_WINDOW
        || before - link->replicated >= MCP_LINK_BYTES
        || before >= MCP_LINK_BYTES_MAX)
    {
        return MCP_AGAIN;
    }

    mcp_wire_command(out, argv, n);

    if (out->failed) {
        /* remove the incomplete command; the earlier ones remain valid */

        out->len = before;
        out->failed = MCP_OK;

        return MCP_AGAIN;
    }

    p = &link->pending[(link->first + link->n_pending) % MCP_LINK_WINDOW];
    p->handler = handler;
    p->data = data;
    link->n_pending++;

    mcp_link_queue(link, MCP_ACT_WRITE);

    return MCP_OK;
}


int
mcp_link_send(mcp_link_t *link, const mcp_str_t *argv, size_t n,
    mcp_link_reply_cb handler, void *data)
{
    return link->state == MCP_LINK_UP
               ? mcp_link_command(link, argv, n, handler, data)
               : MCP_AGAIN;
}


int
mcp_link_has_room(const mcp_link_t *link)
{
    return link->n_pending < MCP_LINK_REPLICATIONS
           && mcp_link_bytes(link) < MCP_LINK_REPLICATION_BYTES;
}


size_t
mcp_link_bytes(const mcp_link_t *link)
{
    return link->out[!link->writing].len;
}


void
mcp_link_replicated(mcp_link_t *link, size_t before)
{
    link->replicated += mcp_link_bytes(link) - before;
}


int
mcp_link_login(mcp_link_t *link, const mcp_str_t *argv, size_t n,
    mcp_link_reply_cb handler)
{
    return mcp_link_command(link, argv, n, handler, link);
}


/* Follows a redirection such as "MOVED 3999 127.0.0.1:6381"; the port follows
 * the last colon. */
static void
mcp_link_moved(mcp_link_t *link, mcp_str_t text)
{
    size_t      i, colon;
    mcp_str_t   host, port;

    colon = 0;

    for (i = text.len; i > 0 && text.data[i - 1] != ' '; i--) {
        if (colon == 0 && text.data[i - 1] == ':') {
            colon = i;
        }
    }

    if (colon == 0) {
        mcp_link_fail(link, "Redis redirects to an invalid address");
        return;
    }

    host.data = text.data + i;
    host.len = colon - 1 - i;
    port.data = text.data + colon;
    port.len = text.len - colon;

    mcp_link_redirect(link, host, port);
}


/* Returns 1 if the error begins with one of the texts. */
static int
mcp_link_is_one_of(mcp_str_t error, const char *const *texts, size_t n)
{
    size_t  i;

    for (i = 0; i < n; i++) {
        if (mcp_login_begins(error, texts[i])) {
            return 1;
        }
    }

    return 0;
}


/* Closes the link if the error concerns the whole link, and returns 1. Returns
 * 0 for any other error. */
static int
mcp_link_judge(mcp_link_t *link, const mcp_reply_t *error)
{
    mcp_str_t  text;

    text = error->text;

    if (mcp_login_begins(text, "MOVED ")) {
        mcp_link_moved(link, text);
        return 1;
    }

    if (!mcp_link_is_one_of(text, mcp_link_faults,
                            sizeof(mcp_link_faults) / sizeof(char *)))
    {
        return 0;
    }

    if (mcp_login_denies(text)) {
        link->handlers->denied(link, error);
    }

    if (link == &link->cluster->link
        && mcp_link_is_one_of(text, mcp_link_moves,
                              sizeof(mcp_link_moves) / sizeof(char *)))
    {
        link->cluster->reports_loss = 1;
    }

    mcp_link_fail(link, "%.*s%s", (int) (text.len < 100 ? text.len : 100),
                  text.data,
                  link->at_sentinel && mcp_login_begins(text, "NOAUTH ")
                  ? " Set sentinel_password_file=" : "");

    return 1;
}


void
mcp_link_reply(mcp_link_t *link, const mcp_reply_t *reply)
{
    mcp_link_pending_t  p;

    if (link->skips) {
        link->skips--;
        return;
    }

    if (link->n_pending == 0) {
        mcp_link_fail(link, "Redis sent a reply, although no command "
                            "waits for one");
        return;
    }

    p = link->pending[link->first];

    if (reply->type == MCP_REPLY_ERROR
        && mcp_login_begins(reply->text, "NOSCRIPT ") && mcp_link_reload(link))
    {
        return;
    }

    /* if the link was closed, the handlers of all pending commands have got
     * NULL */

    if (reply->type == MCP_REPLY_ERROR && mcp_link_judge(link, reply)) {
        return;
    }

    link->first = (link->first + 1) % MCP_LINK_WINDOW;
    link->n_pending--;

    p.handler(p.data, reply);
}


/* --- scripts --- */

void
mcp_cluster_node_id(uint64_t node, char id[MCP_CLUSTER_ID_LEN + 1])
{
    snprintf(id, MCP_CLUSTER_ID_LEN + 1, "%016llx", (unsigned long long) node);
}


void
mcp_cluster_id(const mcp_cluster_t *cluster, char id[MCP_CLUSTER_ID_LEN + 1])
{
    mcp_cluster_node_id(cluster->node, id);
}


uint64_t
mcp_cluster_read_id(mcp_str_t text)
{
    char         c;
    size_t       i;
    uint64_t     id;
    const char  *p;

    static const char  digits[] = "0123456789abcdef";

    if (text.len != MCP_CLUSTER_ID_LEN) {
        return 0;
    }

    id = 0;

    for (i = 0; i < text.len; i++) {
        c = text.data[i];
        p = memchr(digits, c, 16);

        if (p == NULL) {
            return 0;
        }

        id = id << 4 | (uint64_t) (p - digits);
    }

    return id;
}


void
mcp_args_text(mcp_script_args_t *args, mcp_str_t text)
{
    args->args[args->n++] = text;
}


/* Appends an argument that the caller has written into args->text, from
 * args->len up to "end". */
static void
mcp_args_written(mcp_script_args_t *args, const char *end)
{
    const char  *p;

    p = args->text + args->len;
    args->len = (size_t) (end - args->text);
    mcp_args_text(args, (mcp_str_t) { p, (size_t) (end - p) });
}


void
mcp_args_char(mcp_script_args_t *args, char c)
{
    char  *p;

    p = args->text + args->len;
    *p = c;
    mcp_args_written(args, p + 1);
}


void
mcp_args_number(mcp_script_args_t *args, uint64_t number)
{
    mcp_args_written(args, mcp_uint_print(args->text + args->len, number));
}


void
mcp_args_stream(mcp_script_args_t *args,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    mcp_args_written(args, mcp_stream_id_print(args->text + args->len, id));
}


void
mcp_args_digest(mcp_script_args_t *args,
    const unsigned char digest[MCP_DIGEST_LEN])
{
    mcp_args_text(args, (mcp_str_t) { (const char *) digest, MCP_DIGEST_LEN });
}


void
mcp_args_digest_if(mcp_script_args_t *args,
    const unsigned char digest[MCP_DIGEST_LEN], int matters)
{
    mcp_args_text(args, (mcp_str_t) { (const char *) digest,
                                      matters ? MCP_DIGEST_LEN : 0 });
}


void
mcp_args_flag(mcp_script_args_t *args, int flag)
{
    mcp_args_text(args, flag ? mcp_str("1") : mcp_str(""));
}


/* Copies n texts to p, and returns the end of the copies. */
static mcp_str_t *
mcp_cluster_append(mcp_str_t *p, const mcp_str_t *texts, size_t n)
{
    size_t  i;

    for (i = 0; i < n; i++) {
        *p++ = texts[i];
    }

    return p;
}


int
mcp_cluster_run_with_keys(mcp_cluster_t *cluster, mcp_script_e script,
    const mcp_str_t *keys, size_t n_keys, const mcp_str_t *args, size_t n,
    mcp_link_reply_cb handler, void *data)
{
    char               id[MCP_CLUSTER_ID_LEN + 1], count[20], time[20];
    size_t             known;
    mcp_str_t          argv[5 + MCP_SCRIPT_KEYS + MCP_CLUSTER_KEYS
                            + MCP_CLUSTER_ARGS], *p;
    mcp_script_keys_t  own;

    mcp_cluster_id(cluster, id);
    known = mcp_script_keys_of(cluster, script, args, n, &own);

    p = argv;
    *p++ = mcp_str("EVALSHA");
    *p++ = (mcp_str_t) { cluster->script[script], MCP_SCRIPT_ID_LEN };
    *p++ = (mcp_str_t) { count,
                         (size_t) (mcp_uint_print(count, known + n_keys)
                                   - count) };
    p = mcp_cluster_append(p, own.keys, known);
    p = mcp_cluster_append(p, keys, n_keys);
    *p++ = (mcp_str_t) { id, MCP_CLUSTER_ID_LEN };
    *p++ = (mcp_str_t) { time,
                         (size_t) (mcp_uint_print(time,
                                                  cluster->conf->node_timeout)
                                   - time) };
    p = mcp_cluster_append(p, args, n);

    return mcp_link_send(&cluster->link, argv, (size_t) (p - argv), handler,
                         data);
}


int
mcp_cluster_run(mcp_cluster_t *cluster, mcp_script_e script,
    const mcp_str_t *args, size_t n, mcp_link_reply_cb handler, void *data)
{
    return mcp_cluster_run_with_keys(cluster, script, NULL, 0, args, n, handler,
                                     data);
}


/* Sends a heartbeat at once, if this process is a member, and the reply to an
 * earlier self-check is not pending. The process remains a member until the
 * reply arrives. Usually the node was not declared dead, and only one stream
 * belongs to another node. */
void
mcp_cluster_self_check(mcp_cluster_t *cluster)
{
    if (cluster->state == MCP_CLUSTER_MEMBER && !cluster->self_check) {
        cluster->self_check = mcp_cluster_run(cluster, MCP_SCRIPT_HEARTBEAT,
                                              NULL, 0, cluster->self_checked,
                                              cluster)
                              == MCP_OK;
    }
}


/* --- output --- */

mcp_str_t
mcp_link_output(mcp_link_t *link)
{
    mcp_buf_t  *out;
    mcp_str_t   left;

    if (!mcp_link_is_open(link)) {
        return mcp_null_str;
    }

    if (link->written == link->out[link->writing].len) {
        link->out[link->writing].len = 0;
        link->written = 0;

        /* free a buffer that a long command has enlarged */

        if (link->out[link->writing].cap > MCP_LINK_BYTES_KEPT) {
            mcp_buf_free(&link->out[link->writing]);
        }

        link->writing = !link->writing;
        link->replicated = 0;
    }

    out = &link->out[link->writing];

    if (out->len == 0) {
        return mcp_null_str;
    }

    left.data = out->data + link->written;
    left.len = out->len - link->written;

    return left;
}


void
mcp_link_written(mcp_link_t *link, size_t len)
{
    size_t  left;

    left = link->out[link->writing].len - link->written;
    link->written += len < left ? len : left;

    /* no reply to a long command arrives while the command is being written, so
     * written bytes show that the link works, like received bytes */

    if (len && len < left) {
        link->received = mcp_worker_now(link->cluster->worker);
    }
}

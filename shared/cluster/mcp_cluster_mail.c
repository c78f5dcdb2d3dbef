/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What other nodes tell this one of a stream that it owns, or reads.  Any
 * process takes it; the store wakes whom it concerns.  Mail that comes too
 * late, or about what is not here, does nothing.
 */


#include "cluster/mcp_cluster_copy.h"
#include "worker/mcp_notify.h"


/* Values of a field "k", as the scripts write them. */
typedef enum {
    MCP_MAIL_EVENTS = 'e',     /* to the reader: q number, m message, r what it
                                  answers, of each; l last, x how it stands, c
                                  confirmed, h number of the last answers that
                                  its owner is through with; of a call that
                                  others may join y as redis/append.lua is
                                  told, t sent, v what it is as a task */
    MCP_MAIL_DISPLACED = 'd',  /* to the reader: w number of a later one */
    MCP_MAIL_FORGOTTEN = 'f',  /* to the reader: the stream was freed */
    MCP_MAIL_WATCHED = 'w',    /* to the owner: w number of a reader elsewhere,
                                  a what was sent, c what it has confirmed, f 1
                                  to drop that */
    MCP_MAIL_LOOKED = 'o',     /* to the owner: a what a client has that asks
                                  about it elsewhere */
    MCP_MAIL_SENT = 't',       /* to the owner: w number, a what was sent */
    MCP_MAIL_LEFT = 'g',
    MCP_MAIL_JOINED = 'b',     /* to the owner: a what was sent to those who
                                  have joined elsewhere */
    MCP_MAIL_POST = 'p',       /* to the owner: m answers, n their number */
    MCP_MAIL_TASK = 'u',       /* to the owner: m answers to questions of event
                                  a, w their bits, l those of all questions, n
                                  their number */
    MCP_MAIL_CANCEL = 'x',     /* to the owner of a task: n as above */
    MCP_MAIL_ASKED = 'q',      /* to the owner: a client has asked for an event
                                  that Redis does not have */
    MCP_MAIL_CHANGED = 'n'     /* to who listens to a task */
} mcp_mail_e;


typedef struct {
    char           kind;
    unsigned char  id[MCP_STREAM_ID_LEN];
    uint64_t       number;
    uint64_t       after;
    uint64_t       last;
    uint64_t       confirmed;
    unsigned       drops;
    uint64_t       sent;
    uint64_t       brought;
    mcp_str_t      stand;
    mcp_str_t      joined;
    mcp_str_t      task;
    mcp_str_t      data;
} mcp_mail_t;


/* Reads what is about those who have joined. */
static void
mcp_mail_read_joined(mcp_mail_t *mail, char name, const mcp_reply_t *value)
{
    switch (name) {
    case 'y':
        mail->joined = value->text;
        break;
    case 't':
        mail->sent = mcp_reply_number(value);
        break;
    case 'v':
        mail->task = value->text;
        break;
    default:
        break;
    }
}


/* Reads what is there once; 0: it is no mail. */
static int
mcp_mail_read(const mcp_reply_t *fields, mcp_mail_t *mail)
{
    size_t     i;
    mcp_str_t  name, value;

    memset(mail, 0, sizeof(mcp_mail_t));

    if (fields->n < 4
        || mcp_stream_id_parse(mcp_reply_item(fields, 1)->text, mail->id)
           != MCP_OK)
    {
        return 0;
    }

    for (i = 0; i + 1 < fields->n; i += 2) {
        name = fields->items[i]->text;
        value = fields->items[i + 1]->text;

        if (name.len != 1) {
            return 0;
        }

        switch (name.data[0]) {
        case 'k':
            mail->kind = value.len == 1 ? value.data[0] : '\0';
            break;
        case 'w':
            mail->number = mcp_reply_number(fields->items[i + 1]);
            break;
        case 'a':
            mail->after = mcp_reply_number(fields->items[i + 1]);
            break;
        case 'l':
            mail->last = mcp_reply_number(fields->items[i + 1]);
            break;
        case 'c':
            mail->confirmed = mcp_reply_number(fields->items[i + 1]);
            break;
        case 'f':
            mail->drops = value.len == 1 && value.data[0] == '1';
            break;
        case 'x':
            mail->stand = value;
            break;
        case 'm':
            mail->data = value;
            break;
        case 'h':
        case 'n':
            mail->brought = mcp_reply_number(fields->items[i + 1]);
            break;
        default:
            mcp_mail_read_joined(mail, name.data[0], fields->items[i + 1]);
            break;
        }
    }

    return mail->kind != '\0';
}


/* How it stands for those who have joined it here. */
static void
mcp_mail_joined(mcp_cluster_t *cluster, const mcp_mail_t *mail)
{
    mcp_pack_task_t     task;
    mcp_store_joined_t  joined;

    if (mail->joined.len && mcp_unpack_task(mail->task, &task) == MCP_OK) {
        mcp_beside_read(mail->joined, mail->sent, &task, &joined);
        mcp_store_mirror_joined(cluster->worker->store, mail->id, &joined);
    }
}


/* Puts events into the mirror, and then says how the stream stands. */
static void
mcp_mail_events(mcp_cluster_t *cluster, const mcp_reply_t *fields,
    const mcp_mail_t *mail)
{
    int                 rc;
    size_t              i;
    uint64_t            now;
    mcp_store_raw_t     raw;
    mcp_store_stand_t   stand;
    const mcp_reply_t **item;

    now = mcp_worker_now(cluster->worker);
    memset(&raw, 0, sizeof(mcp_store_raw_t));

    for (i = 4; i + 5 < fields->n; i += 6) {
        item = (const mcp_reply_t **) &fields->items[i];

        if (!mcp_reply_is(item[0], "q") || !mcp_reply_is(item[2], "m")
            || mcp_unpack_answers(item[5]->text, &raw) != MCP_OK
            || !mcp_pack_is_message(&cluster->worker->env->mem,
                                    item[3]->text))
        {
            break;
        }

        raw.seq = mcp_reply_number(item[1]);
        raw.len = item[3]->text.len;
        rc = mcp_store_mirror_append(cluster->worker->store, mail->id, &raw,
                                     item[3]->text, now);

        if (rc != MCP_OK && rc != MCP_DONE) {
            break;
        }
    }

    stand.seq = mail->last;

    if (mcp_unpack_stand(mail->stand, &stand) == MCP_OK) {
        (void) mcp_store_mirror_known(cluster->worker->store, mail->id, &stand,
                                      mail->confirmed, now);
        mcp_store_share_got(cluster->worker->store, mail->id, mail->brought);
    }

    mcp_mail_joined(cluster, mail);
}


/* The client that reads elsewhere has what came before. */
static void
mcp_mail_watched(mcp_cluster_t *cluster, const mcp_mail_t *mail,
    const mcp_stream_ref_t *ref)
{
    mcp_store_t  *store;

    store = cluster->worker->store;

    if (mcp_store_remote(store, ref, mail->number, mail->after) != MCP_OK) {
        return;
    }

    if (mail->drops) {
        (void) mcp_store_confirm(store, ref, mail->confirmed);

    } else {
        (void) mcp_store_acknowledge(store, ref, mail->confirmed);
    }
}


/* A client asks about it elsewhere: its time starts anew. */
static void
mcp_mail_looked(mcp_cluster_t *cluster, const mcp_mail_t *mail,
    const mcp_stream_ref_t *ref)
{
    mcp_store_t  *store;

    store = cluster->worker->store;

    if (mail->after) {
        (void) mcp_store_acknowledge(store, ref, mail->after);
    }

    (void) mcp_store_touch(store, ref, mcp_worker_now(cluster->worker));
}


/* The client was told that its answer has arrived: if there is no room the call
 * waits for another one, or its end. */
static void
mcp_mail_posted(mcp_cluster_t *cluster, const mcp_mail_t *mail, int rc)
{
    char  id[9];

    if (rc == MCP_ERR_LIMIT || rc == MCP_ERR_FULL) {
        mcp_stream_id_short(id, mail->id);
        mcp_worker_log(cluster->worker, MCP_LOG_ERROR,
                       "cluster: there is no room for an answer to call %s, "
                       "which is lost", id);
        mcp_store_node_count(cluster->worker->store, MCP_NODE_DROPPED);
    }
}


static void
mcp_mail_post(mcp_cluster_t *cluster, const mcp_mail_t *mail,
    const mcp_stream_ref_t *ref)
{
    if (mcp_pack_is_message(&cluster->worker->env->mem, mail->data)) {
        mcp_mail_posted(cluster, mail,
                        mcp_store_post(cluster->worker->store, ref,
                                       MCP_POST_INPUT, 0, mail->data));
    }
}


/* The same for a task.  Answers to what is not asked any more are late. */
static void
mcp_mail_task(mcp_cluster_t *cluster, const mcp_mail_t *mail,
    const mcp_stream_ref_t *ref)
{
    int            rc;
    mcp_worker_t  *worker;

    worker = cluster->worker;

    if (mail->number == 0 || mail->number > UINT32_MAX
        || mail->last > UINT32_MAX
        || !mcp_pack_is_message(&worker->env->mem, mail->data))
    {
        return;
    }

    rc = mcp_store_answer(worker->store, ref, mail->after,
                          (uint32_t) mail->number, (uint32_t) mail->last,
                          mail->data, mcp_worker_now(worker));

    if (rc == MCP_OK) {
        mcp_notify_task(worker, mail->id);
    }

    mcp_mail_posted(cluster, mail, rc);
}


/* Takes what a client has brought. */
static void
mcp_mail_brought(mcp_cluster_t *cluster, const mcp_mail_t *mail,
    const mcp_stream_ref_t *ref)
{
    mcp_store_t  *store;

    store = cluster->worker->store;

    switch (mail->kind) {
    case MCP_MAIL_POST:
        mcp_mail_post(cluster, mail, ref);
        break;
    case MCP_MAIL_TASK:
        mcp_mail_task(cluster, mail, ref);
        break;
    default:
        (void) mcp_store_cancel(store, ref, 1);
    }

    mcp_store_share_got(store, mail->id, mail->brought);
}


/* Takes mail about a stream that is here. */
static void
mcp_mail_take(mcp_cluster_t *cluster, const mcp_reply_t *fields,
    const mcp_mail_t *mail, const mcp_stream_ref_t *ref)
{
    uint64_t      now;
    mcp_store_t  *store;

    store = cluster->worker->store;
    now = mcp_worker_now(cluster->worker);

    switch ((mcp_mail_e) mail->kind) {

    case MCP_MAIL_EVENTS:
        mcp_mail_events(cluster, fields, mail);
        return;
    case MCP_MAIL_DISPLACED:
        mcp_store_mirror_displaced(store, mail->id, mail->number);
        return;
    case MCP_MAIL_FORGOTTEN:
        mcp_store_mirror_forget(store, mail->id);
        return;

    case MCP_MAIL_WATCHED:
        mcp_mail_watched(cluster, mail, ref);
        return;
    case MCP_MAIL_LOOKED:
        mcp_mail_looked(cluster, mail, ref);
        return;

    case MCP_MAIL_POST:
    case MCP_MAIL_TASK:
    case MCP_MAIL_CANCEL:
        mcp_mail_brought(cluster, mail, ref);
        return;

    case MCP_MAIL_ASKED:
        mcp_store_share_ask(store, mail->id);
        return;

    case MCP_MAIL_CHANGED:
        return;

    case MCP_MAIL_SENT:
        mcp_store_remote_sent(store, ref, mail->number, mail->after);
        return;

    case MCP_MAIL_JOINED:
        mcp_store_remote_joined(store, ref, mail->after, now);
        return;

    case MCP_MAIL_LEFT:
        mcp_store_remote_left(store, ref, mail->number, mail->after, now);
        return;
    }
}


void
mcp_cluster_mail(mcp_cluster_t *cluster, const mcp_reply_t *fields)
{
    mcp_mail_t         mail;
    mcp_stream_info_t  info;

    if (!mcp_mail_read(fields, &mail)) {
        return;
    }

    if (mail.kind == MCP_MAIL_CHANGED) {
        mcp_notify_task(cluster->worker, mail.id);
        return;
    }

    if (mcp_store_find(cluster->worker->store, mail.id, 0, &info) == MCP_OK) {
        mcp_mail_take(cluster, fields, &mail, &info.ref);
    }
}

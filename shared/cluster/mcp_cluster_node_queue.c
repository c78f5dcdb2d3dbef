/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Processing of this node's queue in Redis. An entry of the queue is a message
 * about a stream that this node owns, reads, has joined or listens to. The
 * leader processes the entries, and changes to the stream in the store wake the
 * process concerned. An entry that arrives too late, or concerns an unknown
 * stream, is ignored.
 */


#include "cluster/mcp_cluster_replication.h"
#include "worker/mcp_notification.h"


/* Values of the field "k" of an entry, as the scripts write them. Each comment
 * names the node that gets the entry, and lists the entry's other fields. */
typedef enum {
    MCP_NODE_QUEUE_EVENTS = 'e',     /* for the nodes of the reader and of
                                        joined requests: new events. Fields of
                                        each event: "q" number, "m" message, "r"
                                        value of mcp_codec_encode_answers().
                                        Then "l" last event, "x" state, "c"
                                        confirmed event, "h" number of the last
                                        client input that the owner has
                                        processed. If equal calls may join the
                                        stream: "y" ARGV[21] of
                                        redis/append.lua, "t" last sent event,
                                        "v" task fields. */
    MCP_NODE_QUEUE_DISPLACED = 'd',  /* for the node of the reader: a later
                                        reader has displaced it; "w" number of
                                        the later reader */
    MCP_NODE_QUEUE_FORGOTTEN = 'f',  /* for the nodes of the reader and of
                                        joined requests: the stream was freed */
    MCP_NODE_QUEUE_REMOTE_CONSUMER = 'w', /* for the owner: another node has a
                                             reader; "w" number of the reader,
                                             "a" last event that the reader has,
                                             "c" last event that it has
                                             confirmed, "f" 1 to drop the events
                                             up to "c" */
    MCP_NODE_QUEUE_LOOKUP = 'o',     /* for the owner: a client has looked the
                                        stream up at another node; "a" last
                                        event that the client has confirmed */
    MCP_NODE_QUEUE_SENT = 't',       /* for the owner: another node has sent
                                        events to its reader; "w" number of the
                                        reader, "a" last event sent */
    MCP_NODE_QUEUE_LEFT = 'g',       /* for the owner: the reader at another
                                        node has left; the fields of
                                        MCP_NODE_QUEUE_SENT */
    MCP_NODE_QUEUE_JOINED = 'b',     /* for the owner: another node reports its
                                        requests that have joined the call, or
                                        that none is left; "a" last event that
                                        was sent to them */
    MCP_NODE_QUEUE_INPUT = 'p',      /* for the owner: a client has answered
                                        questions of the call; "m" answers, "n"
                                        number of this client input */
    MCP_NODE_QUEUE_TASK = 'u',       /* for the owner of a task: a client has
                                        answered questions of the task; "m"
                                        answers, "a" event with the questions,
                                        "w" bit mask of the answered questions,
                                        "l" bit mask of all questions, "n"
                                        number of this client input */
    MCP_NODE_QUEUE_CANCEL = 'x',     /* for the owner of a task: a client has
                                        cancelled the task; "n" number of this
                                        client input */
    MCP_NODE_QUEUE_REQUESTED = 'q',  /* for the owner: a client has requested an
                                        event that Redis does not have */
    MCP_NODE_QUEUE_CHANGED = 'n'     /* for a node with listeners to a task:
                                        the task has changed */
} mcp_node_queue_e;


/* The fields of an entry, without the fields of its events.
 * mcp_node_queue_read() lists their letters. */
typedef struct {
    mcp_str_t      kind;       /* one byte, see mcp_node_queue_e */
    unsigned char  id[MCP_STREAM_ID_LEN];
    uint64_t       number;
    uint64_t       after;
    uint64_t       last;
    uint64_t       confirmed;
    uint64_t       drops;      /* 1 or 0 */
    uint64_t       sent;
    uint64_t       brought;    /* number of a client input */
    mcp_str_t      checkpoint;
    mcp_str_t      joined;
    mcp_str_t      task;
    mcp_str_t      data;
} mcp_node_queue_t;


/* Reads the fields of an entry, without the fields of its events. Returns 1, or
 * 0 if the entry does not have the expected form. */
static int
mcp_node_queue_read(const mcp_reply_t *fields, mcp_node_queue_t *entry)
{
    size_t  i, k;
    void   *member;

    static const struct {
        const char  *name;
        size_t       offset;
        int          is_text;          /* 1 if the member is an mcp_str_t, 0 if
                                          it is a uint64_t */
    } names[] = {
        { "k", offsetof(mcp_node_queue_t, kind), 1 },
        { "w", offsetof(mcp_node_queue_t, number), 0 },
        { "a", offsetof(mcp_node_queue_t, after), 0 },
        { "l", offsetof(mcp_node_queue_t, last), 0 },
        { "c", offsetof(mcp_node_queue_t, confirmed), 0 },
        { "f", offsetof(mcp_node_queue_t, drops), 0 },
        { "t", offsetof(mcp_node_queue_t, sent), 0 },
        { "h", offsetof(mcp_node_queue_t, brought), 0 },
        { "n", offsetof(mcp_node_queue_t, brought), 0 },
        { "x", offsetof(mcp_node_queue_t, checkpoint), 1 },
        { "y", offsetof(mcp_node_queue_t, joined), 1 },
        { "v", offsetof(mcp_node_queue_t, task), 1 },
        { "m", offsetof(mcp_node_queue_t, data), 1 }
    };

    memset(entry, 0, sizeof(mcp_node_queue_t));

    if (fields->n < 4
        || mcp_stream_id_parse(mcp_reply_item(fields, 1)->text, entry->id)
           != MCP_OK)
    {
        return 0;
    }

    for (i = 0; i + 1 < fields->n; i += 2) {
        if (fields->items[i]->text.len != 1) {
            return 0;
        }

        for (k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
            if (!mcp_reply_is(fields->items[i], names[k].name)) {
                continue;
            }

            member = (char *) entry + names[k].offset;

            if (names[k].is_text) {
                *(mcp_str_t *) member = fields->items[i + 1]->text;

            } else {
                *(uint64_t *) member = mcp_reply_number(fields->items[i + 1]);
            }
        }
    }

    return entry->kind.len == 1;
}


/* Stores the state of the owner's stream in the mirror, for the requests that
 * have joined the mirror. Does nothing if the entry has no such state. */
static void
mcp_node_queue_joined(mcp_cluster_t *cluster, const mcp_node_queue_t *entry)
{
    mcp_codec_task_t    task;
    mcp_store_joined_t  joined;

    if (entry->joined.len
        && mcp_codec_decode_task(entry->task, &task) == MCP_OK) {
        mcp_codec_decode_joined(entry->joined, entry->sent, &task, &joined);
        mcp_store_mirror_joined(cluster->worker->store, entry->id, &joined);
    }
}


/* Adds the events of an entry to the mirror, and then stores the state of the
 * owner's stream there. */
static void
mcp_node_queue_events(mcp_cluster_t *cluster, const mcp_reply_t *fields,
    const mcp_node_queue_t *entry)
{
    size_t              i;
    const mcp_reply_t **item;

    for (i = 4; i + 5 < fields->n; i += 6) {
        item = (const mcp_reply_t **) &fields->items[i];

        if (!mcp_reply_is(item[0], "q") || !mcp_reply_is(item[2], "m")
            || mcp_mirror_event(cluster, entry->id, mcp_reply_number(item[1]),
                                item[3]->text, item[5]->text)
               != MCP_OK)
        {
            break;
        }
    }

    mcp_mirror_known(cluster, entry->id, entry->last, entry->checkpoint,
                     entry->confirmed, entry->brought);

    mcp_node_queue_joined(cluster, entry);
}


/* Makes a reader at another node the consumer of the events after the reader's
 * position, and records which events the reader has confirmed. */
static void
mcp_node_queue_remote_consumer(mcp_cluster_t *cluster,
    const mcp_node_queue_t *entry, const mcp_stream_ref_t *ref)
{
    mcp_store_t  *store;

    store = cluster->worker->store;

    if (mcp_store_remote_consumer(store, ref, entry->number, entry->after, 0)
        != MCP_OK) {
        return;
    }

    if (entry->drops == 1) {
        (void) mcp_store_confirm(store, ref, entry->confirmed);

    } else {
        (void) mcp_store_acknowledge(store, ref, entry->confirmed);
    }
}


/* Handles a client's lookup of this stream at another node: records the event
 * that the client has confirmed, and restarts the time for which the stream is
 * kept. */
static void
mcp_node_queue_lookup(mcp_cluster_t *cluster, const mcp_node_queue_t *entry,
    const mcp_stream_ref_t *ref)
{
    mcp_store_t  *store;

    store = cluster->worker->store;

    if (entry->after) {
        (void) mcp_store_acknowledge(store, ref, entry->after);
    }

    (void) mcp_store_touch(store, ref, mcp_worker_now(cluster->worker));
}


/* Logs that an answer is lost if the call's inbox had no room for it. The
 * client has already got the acknowledgement of its answer, so the call waits
 * for another answer or for its end. */
static void
mcp_node_queue_input_stored(mcp_cluster_t *cluster,
    const mcp_node_queue_t *entry, int rc)
{
    char  id[9];

    if (rc == MCP_ERR_LIMIT || rc == MCP_ERR_FULL) {
        mcp_stream_id_short(id, entry->id);
        mcp_worker_log(cluster->worker, MCP_LOG_ERROR,
                       "cluster: a client's answer to a question of call %s "
                       "is lost: %s", id,
                       rc == MCP_ERR_FULL
                       ? "the zone has no room: enlarge the zone"
                       : "too many answers wait for the call: "
                         "raise mcp_stream_buffer");
        mcp_store_node_count(cluster->worker->store, MCP_NODE_DROPPED);
    }
}


static void
mcp_node_queue_input(mcp_cluster_t *cluster, const mcp_node_queue_t *entry,
    const mcp_stream_ref_t *ref)
{
    if (mcp_codec_is_message(&cluster->worker->env->mem, entry->data)) {
        mcp_node_queue_input_stored(cluster, entry,
                              mcp_store_inbox_put(cluster->worker->store, ref,
                                             MCP_INBOX_INPUT, 0, entry->data));
    }
}


/* Passes answers to a task. Answers to questions that are no longer open are
 * ignored. */
static void
mcp_node_queue_task(mcp_cluster_t *cluster, const mcp_node_queue_t *entry,
    const mcp_stream_ref_t *ref)
{
    int            rc;
    mcp_worker_t  *worker;

    worker = cluster->worker;

    if (entry->number == 0 || entry->number > UINT32_MAX
        || entry->last > UINT32_MAX
        || !mcp_codec_is_message(&worker->env->mem, entry->data))
    {
        return;
    }

    rc = mcp_store_answer(worker->store, ref, entry->after,
                          (uint32_t) entry->number, (uint32_t) entry->last,
                          entry->data, mcp_worker_now(worker));

    if (rc == MCP_OK) {
        mcp_notify_task(worker, entry->id);
    }

    mcp_node_queue_input_stored(cluster, entry, rc);
}


/* Passes client input, which another node has received, to the call at this
 * node. */
static void
mcp_node_queue_brought(mcp_cluster_t *cluster, const mcp_node_queue_t *entry,
    const mcp_stream_ref_t *ref)
{
    mcp_store_t  *store;

    store = cluster->worker->store;

    switch (entry->kind.data[0]) {
    case MCP_NODE_QUEUE_INPUT:
        mcp_node_queue_input(cluster, entry, ref);
        break;
    case MCP_NODE_QUEUE_TASK:
        mcp_node_queue_task(cluster, entry, ref);
        break;
    default:
        (void) mcp_store_cancel(store, ref, 1);
    }

    mcp_store_replication_got(store, entry->id, entry->brought);
}


/* Handles an entry about a stream or mirror of this node. */
static void
mcp_node_queue_take(mcp_cluster_t *cluster, const mcp_reply_t *fields,
    const mcp_node_queue_t *entry, const mcp_stream_ref_t *ref)
{
    uint64_t      now;
    mcp_store_t  *store;

    store = cluster->worker->store;
    now = mcp_worker_now(cluster->worker);

    switch ((mcp_node_queue_e) entry->kind.data[0]) {

    case MCP_NODE_QUEUE_EVENTS:
        mcp_node_queue_events(cluster, fields, entry);
        return;
    case MCP_NODE_QUEUE_DISPLACED:
        mcp_store_mirror_displaced(store, entry->id, entry->number);
        return;
    case MCP_NODE_QUEUE_FORGOTTEN:
        mcp_store_mirror_forget(store, entry->id);
        return;

    case MCP_NODE_QUEUE_REMOTE_CONSUMER:
        mcp_node_queue_remote_consumer(cluster, entry, ref);
        return;
    case MCP_NODE_QUEUE_LOOKUP:
        mcp_node_queue_lookup(cluster, entry, ref);
        return;

    case MCP_NODE_QUEUE_INPUT:
    case MCP_NODE_QUEUE_TASK:
    case MCP_NODE_QUEUE_CANCEL:
        mcp_node_queue_brought(cluster, entry, ref);
        return;

    case MCP_NODE_QUEUE_REQUESTED:
        mcp_store_replication_query(store, entry->id);
        return;

    case MCP_NODE_QUEUE_CHANGED:
        return;

    case MCP_NODE_QUEUE_SENT:
        mcp_store_remote_consumer_sent(store, ref, entry->number, entry->after);
        return;

    case MCP_NODE_QUEUE_JOINED:
        mcp_store_remote_consumer_joined(store, ref, entry->after, now);
        return;

    case MCP_NODE_QUEUE_LEFT:
        mcp_store_remote_consumer_left(store, ref, entry->number, entry->after,
                                       now);
        return;
    }
}


void
mcp_cluster_node_queue(mcp_cluster_t *cluster, const mcp_reply_t *fields)
{
    mcp_node_queue_t   entry;
    mcp_stream_info_t  info;

    if (!mcp_node_queue_read(fields, &entry)) {
        return;
    }

    if (entry.kind.data[0] == MCP_NODE_QUEUE_CHANGED) {
        mcp_notify_task(cluster->worker, entry.id);
        return;
    }

    if (mcp_store_find(cluster->worker->store, entry.id, 0, &info) == MCP_OK) {
        mcp_node_queue_take(cluster, fields, &entry, &info.ref);
    }
}

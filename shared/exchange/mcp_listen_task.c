/* SPDX-License-Identifier: Apache-2.0 */

#include "exchange/mcp_exchange_internal.h"
#include "exchange/mcp_listen_task.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_notification.h"


/* Interval at which an active task of another node is looked up even if no
 * change was reported, ms. Each lookup also makes Redis report changes of the
 * task to this node, in case Redis has lost that this node listens. */
#define MCP_LISTEN_TASK_INTERVAL  15000

/* Time after which a failed lookup is repeated at the latest, ms. */
#define MCP_LISTEN_TASK_RETRY     1000


/* Looks up, in parallel, all tasks in the filter that are at other nodes.
 * Returns MCP_OK, MCP_AGAIN while a lookup is pending, or an error of
 * mcp_task_lookup(). After returning MCP_AGAIN, this function runs again when
 * the cluster has replied, see mcp_cluster_operation.h. */
static int
mcp_listen_task_query(mcp_exchange_t *x, const mcp_json_value_t *value)
{
    int               rc;
    mcp_str_t         text;
    mcp_task_t        task;
    mcp_json_iter_t   iter;
    mcp_json_value_t  element;

    mcp_json_iter_init(&iter, value->raw);

    while (mcp_json_iter_next(&iter, NULL, &element)) {
        rc = mcp_routing_string(x, &element, &text);

        if (rc == MCP_OK) {
            rc = mcp_task_lookup(x, text, 1, &task);
        }

        if (rc != MCP_OK && rc != MCP_DONE && rc != MCP_AGAIN) {
            return rc;
        }
    }

    return mcp_operation_waits(x) ? MCP_AGAIN : MCP_OK;
}


/* Reads the state of a task of this node into *lookup, which is all zero if
 * the task was freed. */
static void
mcp_listen_task_lookup(mcp_listen_task_t *entry, mcp_store_lookup_t *lookup)
{
    mcp_buf_t      event;
    mcp_worker_t  *worker;

    worker = entry->x->worker;

    memset(lookup, 0, sizeof(mcp_store_lookup_t));
    mcp_buf_init(&event, &worker->env->mem, SIZE_MAX / 2);
    (void) mcp_store_lookup(worker->store, &entry->task.ref, 0, lookup, &event);
    mcp_buf_free(&event);
}


static void
mcp_listen_task_begin(mcp_exchange_t *x, mcp_listen_task_t *entry)
{
    entry->x = x;

    if (entry->task.found) {
        entry->sent = entry->task.found->lookup;
        entry->again = mcp_worker_now(x->worker) + MCP_LISTEN_TASK_INTERVAL;

    } else if (x->worker->cluster) {
        mcp_listen_task_lookup(entry, &entry->sent);
    }
}


int
mcp_listen_task_filter(mcp_exchange_t *x, const mcp_json_value_t *value,
    mcp_listen_tasks_t *tasks)
{
    int               rc;
    size_t            n;
    mcp_str_t         text;
    mcp_json_iter_t   iter;
    mcp_json_value_t  element;

    if (value->type != MCP_JSON_ARRAY) {
        return MCP_ERR_SYNTAX;
    }

    mcp_json_iter_init(&iter, value->raw);

    for (n = 0; mcp_json_iter_next(&iter, NULL, &element); n++) { /* void */ }

    if (n > MCP_LISTEN_TASKS_MAX) {
        return MCP_ERR_SYNTAX;
    }

    tasks->list = mcp_arena_calloc(&x->arena,
                                   (n + 1) * sizeof(mcp_listen_task_t));
    if (tasks->list == NULL) {
        return MCP_ERR_MEMORY;
    }

    rc = mcp_listen_task_query(x, value);

    if (rc != MCP_OK) {
        return rc;
    }

    mcp_json_iter_init(&iter, value->raw);

    while (mcp_json_iter_next(&iter, NULL, &element)) {
        rc = mcp_routing_string(x, &element, &text);

        if (rc == MCP_OK) {
            rc = mcp_task_find(x, text, &tasks->list[tasks->n].task);
        }

        if (rc == MCP_OK) {
            mcp_listen_task_begin(x, &tasks->list[tasks->n]);
            tasks->n++;

        } else if (rc != MCP_ERR_NOT_FOUND) {
            return rc;
        }
    }

    return MCP_OK;
}


int
mcp_listen_task_subscribe(mcp_exchange_t *x, const mcp_listen_tasks_t *tasks,
    const mcp_stream_ref_t *ref)
{
    int            rc;
    size_t         i;
    unsigned char  topic[MCP_DIGEST_LEN];

    rc = MCP_OK;

    for (i = 0; rc == MCP_OK && i < tasks->n; i++) {
        rc = mcp_topic_task(tasks->list[i].task.id.stream, topic);

        if (rc == MCP_OK) {
            rc = mcp_store_subscribe(x->worker->store, ref, topic);
        }
    }

    return rc;
}


void
mcp_listen_task_ids(const mcp_listen_tasks_t *tasks, mcp_buf_t *out)
{
    size_t  i;

    for (i = 0; i < tasks->n; i++) {
        mcp_buf_add(out, i ? "," : "[", 1);
        mcp_buf_json(out, tasks->list[i].task.text);
    }

    mcp_buf_lit(out, "]");
}


/* Writes a notification with the current state of a task. Returns
 * MCP_ERR_NOT_FOUND if the task does not exist any more. */
static int
mcp_listen_task_notify(mcp_exchange_t *x, const mcp_task_t *task)
{
    int         rc;
    mcp_buf_t  *out;

    out = &x->output.out;

    mcp_buf_lit(out, "data: {\"jsonrpc\":\"2.0\",\"method\":"
                     "\"notifications/tasks\",\"params\":{\"_meta\":{"
                     "\"" MCP_SUBSCRIPTION_ID "\":");
    mcp_buf_str(out, x->msg->id);
    mcp_buf_lit(out, "},");

    rc = mcp_task_write(x, task, out);

    mcp_buf_lit(out, "}}\n\n");

    if (rc != MCP_OK) {
        out->len = 0;
    }

    return rc == MCP_OK ? out->failed : rc;
}


/* Returns 1 if the task's state "now" differs from the last state that the
 * client was notified of, and records "now" as that state. In a cluster a task
 * may be marked as changed before Redis has the change, and is then marked
 * again when Redis has it. */
static int
mcp_listen_task_differs(mcp_listen_task_t *entry, const mcp_store_lookup_t *now)
{
    mcp_store_lookup_t  then;

    then = entry->sent;
    entry->sent = *now;

    return now->info.state != then.info.state
           || now->info.last_seq != then.info.last_seq
           || now->given != then.given;
}


/* Records that a lookup has failed: the next read of the stream repeats it. */
static void
mcp_listen_task_failed(mcp_listen_task_t *entry)
{
    entry->changed = 1;
    mcp_consumer_pull_at(entry->x, mcp_worker_now(entry->x->worker)
                                   + MCP_LISTEN_TASK_RETRY);
}


/* Handles the result of a lookup: prepares a notification if the task's state
 * has changed. */
static void
mcp_listen_task_known(void *data, int rc)
{
    mcp_listen_task_t  *entry;

    entry = data;
    entry->lookup_pending = 0;

    if (rc != MCP_OK) {
        mcp_listen_task_failed(entry);

    } else if (entry->op->n_found == 0) {

        /* the task does not exist any more */

        entry->again = 0;

    } else {
        entry->task.found = entry->op->found;
        entry->ready = mcp_listen_task_differs(entry,
                                               &entry->task.found->lookup) != 0;
        mcp_consumer_ready(entry->x);
    }
}


/* Returns 1 if a notification about a changed task can be written now. For a
 * changed task of another node, starts a lookup first and returns 0. */
static int
mcp_listen_task_is_due(mcp_listen_task_t *entry)
{
    mcp_operation_stream_t  stream;
    mcp_store_lookup_t      lookup;

    if (entry->ready) {
        entry->ready = 0;
        return 1;
    }

    if (!entry->changed || entry->lookup_pending) {
        return 0;
    }

    entry->changed = 0;

    if (entry->task.found == NULL) {

        if (entry->x->worker->cluster == NULL) {
            return 1;
        }

        mcp_listen_task_lookup(entry, &lookup);

        return mcp_listen_task_differs(entry, &lookup);
    }

    /* the notification about the previous lookup was written, so
     * mcp_operation_lookup() may free its result */

    mcp_task_stream(entry->x, &entry->task, 1, &stream);

    if (mcp_operation_lookup(entry->x, &stream, mcp_listen_task_known, entry,
                             &entry->op)
        == MCP_AGAIN)
    {
        entry->lookup_pending = 1;

    } else {
        mcp_listen_task_failed(entry);
    }

    return 0;
}


/* Sets "changed" in the entries of tasks at other nodes that have to be looked
 * up again, and schedules the read at which the next one is due. */
static void
mcp_listen_task_repeat(mcp_exchange_t *x, mcp_listen_tasks_t *tasks)
{
    size_t              i;
    uint64_t            now, next;
    mcp_listen_task_t  *entry;

    now = mcp_worker_now(x->worker);
    next = UINT64_MAX;

    for (i = 0; i < tasks->n; i++) {
        entry = &tasks->list[i];

        if (entry->again == 0
            || entry->sent.info.state >= MCP_STATE_COMPLETED)
        {
            continue;
        }

        if (now >= entry->again) {
            entry->changed = 1;
            entry->again = now + MCP_LISTEN_TASK_INTERVAL;
        }

        if (entry->again < next) {
            next = entry->again;
        }
    }

    if (next != UINT64_MAX) {
        mcp_consumer_pull_at(x, next);
    }
}


/* Writes a notification about one changed task. Does not write several at once,
 * because a task's result may be long. Returns MCP_OK, MCP_DONE if no task has
 * changed, or MCP_ERR_MEMORY. */
static int
mcp_listen_task_send(mcp_exchange_t *x, mcp_listen_tasks_t *tasks)
{
    int     rc;
    size_t  i;

    for (i = 0; i < tasks->n; i++) {
        if (!mcp_listen_task_is_due(&tasks->list[i])) {
            continue;
        }

        rc = mcp_listen_task_notify(x, &tasks->list[i].task);

        if (rc == MCP_OK || rc == MCP_ERR_MEMORY) {
            return rc;
        }
    }

    return MCP_DONE;
}


static void
mcp_listen_task_mark(mcp_listen_tasks_t *tasks, mcp_str_t text)
{
    size_t         i;
    unsigned char  id[MCP_STREAM_ID_LEN];

    if (mcp_stream_id_parse(text, id) != MCP_OK) {
        return;
    }

    for (i = 0; i < tasks->n; i++) {
        if (memcmp(tasks->list[i].task.id.stream, id, MCP_STREAM_ID_LEN)
            == 0)
        {
            tasks->list[i].changed = 1;
        }
    }
}


/* Splits the text into events, "data: ...\n\n". For a mark (MCP_NOTIFY_MARK),
 * sets "changed" in the entry of the task that the mark names; passes other
 * events to the client. */
static void
mcp_listen_task_events(mcp_exchange_t *x, mcp_listen_tasks_t *tasks,
    mcp_subscription_splice_t *splice, const mcp_buf_t *events)
{
    mcp_str_t    event, text;
    const char  *p, *end;

    p = events->data;
    end = p + events->len;

    while (p < end) {
        event.data = p;
        p = memchr(p, '\n', (size_t) (end - p));
        text.data = event.data + sizeof("data: ") - 1;
        text.len = (size_t) (p - text.data);
        p += sizeof("\n\n") - 1;
        event.len = (size_t) (p - event.data);

        if (text.len && text.data[0] == MCP_NOTIFY_MARK) {
            mcp_listen_task_mark(tasks, (mcp_str_t) { text.data + 1,
                                                      text.len - 1 });

        } else {
            mcp_subscription_splice(splice, x->msg->id, event, &x->output.out);
        }
    }
}


int
mcp_listen_task_read(mcp_exchange_t *x, mcp_listen_tasks_t *tasks,
    mcp_subscription_splice_t *splice)
{
    int        rc;
    mcp_buf_t  events;

    mcp_listen_task_repeat(x, tasks);

    rc = mcp_listen_task_send(x, tasks);

    if (rc != MCP_DONE) {
        return rc;
    }

    mcp_buf_init(&events, &x->worker->env->mem, SIZE_MAX / 2);

    rc = mcp_consumer_fetch(x, &events);

    if (rc == MCP_OK) {
        mcp_listen_task_events(x, tasks, splice, &events);
        rc = x->output.out.failed;
    }

    mcp_buf_free(&events);

    if (rc != MCP_OK || x->output.out.len) {
        return rc;
    }

    rc = mcp_listen_task_send(x, tasks);

    /* only marks were read: an empty comment makes the reader continue with
     * the next events */

    if (rc == MCP_DONE) {
        mcp_buf_lit(&x->output.out, MCP_SSE_COMMENT);
        rc = x->output.out.failed;
    }

    return rc;
}

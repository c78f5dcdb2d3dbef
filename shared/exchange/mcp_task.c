/* SPDX-License-Identifier: Apache-2.0 */

/* The requests tasks/get, tasks/update and tasks/cancel. A call becomes a task
 * in call/mcp_call_task.c. */

#include "base/mcp_str.h"
#include "exchange/mcp_exchange_internal.h"
#include "exchange/mcp_task.h"
#include "rpc/mcp_result.h"
#include "worker/mcp_notification.h"


/* --- tasks/update --- */

/* Maximum number of attempts to store answers, if other processes store
 * answers at the same time. */
#define MCP_TASK_TRIES  16

/* Interval and maximum duration of queries to the cluster, ms, if a client has
 * answered questions that the cluster does not have yet. */
#define MCP_TASK_AHEAD_LOOKUP  50
#define MCP_TASK_AHEAD_TIME    2000


_Static_assert(MCP_STORE_QUESTIONS <= 32, "one bit for each question");


/* Reads question k of a task's event. Returns 1, or 0 at the end of the event
 * or after MCP_STORE_QUESTIONS questions. An event from Redis may have more
 * questions. They are ignored, because the sets of answered questions have no
 * bits for them. */
static int
mcp_task_next(mcp_json_iter_t *iter, unsigned k, mcp_str_t *key,
    mcp_json_value_t *value)
{
    return k < MCP_STORE_QUESTIONS && mcp_json_iter_next(iter, key, value);
}


int
mcp_task_has_questions(mcp_str_t questions, uint32_t given)
{
    unsigned          k;
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_json_iter_init(&iter, questions);

    for (k = 0; mcp_task_next(&iter, k, &key, &value); k++) {
        if ((given & (uint32_t) 1 << k) == 0) {
            return 1;
        }
    }

    return 0;
}


void
mcp_task_questions(mcp_str_t questions, uint32_t given, mcp_buf_t *out)
{
    unsigned          k;
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_buf_lit(out, "{");
    mcp_json_iter_init(&iter, questions);

    for (k = 0; mcp_task_next(&iter, k, &key, &value); k++) {
        if (given & (uint32_t) 1 << k) {
            continue;
        }

        mcp_json_add_key(out, key);
        mcp_buf_str(out, value.raw);
    }

    mcp_buf_lit(out, "}");
}


/* Sets *response to the client's response to the question with this key.
 * Compares unescaped keys, because the client may escape the key in another
 * way. Returns MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_task_response_to(mcp_arena_t *arena, mcp_str_t key,
    const mcp_json_value_t *responses, mcp_json_value_t *response)
{
    mcp_str_t  plain;

    if (mcp_json_unescape(arena, key, &plain) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    *response = mcp_json_get(responses, plain);

    return MCP_OK;
}


/*
 * Appends the client's answers to open questions in the form in which the call
 * reads them: an object whose keys are the indexes of the questions. Sets the
 * bits of the answered questions in *bits, and the bits of all questions of the
 * event in *all. Returns MCP_OK or MCP_ERR_MEMORY.
 */
static int
mcp_task_gather(mcp_arena_t *arena, mcp_str_t questions, uint32_t given,
    const mcp_json_value_t *responses, uint32_t *bits, uint32_t *all,
    mcp_buf_t *out)
{
    unsigned          k;
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_json_iter_init(&iter, questions);

    for (k = 0; mcp_task_next(&iter, k, &key, &value); k++) {
        *all |= (uint32_t) 1 << k;

        if (mcp_task_response_to(arena, key, responses, &value) != MCP_OK) {
            return MCP_ERR_MEMORY;
        }

        if (value.type == MCP_JSON_NONE || (given & (uint32_t) 1 << k)) {
            continue;
        }

        mcp_buf_add(out, *bits ? ",\"" : "{\"", 2);
        mcp_buf_int(out, k);
        mcp_buf_lit(out, "\":");
        mcp_buf_str(out, value.raw);
        *bits |= (uint32_t) 1 << k;
    }

    mcp_buf_lit(out, "}");

    return out->failed;
}


/* Makes one attempt to store the client's answers to the questions of a task of
 * this node. Returns MCP_AGAIN if another process has changed the task in the
 * meantime. */
static int
mcp_task_update_once(mcp_exchange_t *x, const mcp_task_t *task,
    const mcp_json_value_t *responses)
{
    int                 rc;
    uint32_t            bits, all;
    mcp_buf_t           event, answers;
    mcp_store_lookup_t  lookup;

    mcp_buf_init(&event, &x->worker->env->mem, SIZE_MAX / 2);
    mcp_buf_init(&answers, &x->worker->env->mem, SIZE_MAX / 2);
    bits = 0;
    all = 0;

    rc = mcp_store_lookup(x->worker->store, &task->ref, 1, &lookup, &event);

    /* adds to lookup.given the bits of the questions that were answered at
     * other nodes, because these answers may not have arrived here yet */

    if (task->found && task->found->lookup.seq == lookup.seq) {
        lookup.given |= task->found->lookup.given;
    }

    if (rc == MCP_OK && lookup.info.state == MCP_STATE_INPUT_REQUIRED
        && lookup.state == MCP_STATE_INPUT_REQUIRED)
    {
        rc = mcp_task_gather(&x->arena,
                             (mcp_str_t) { event.data, event.len },
                             lookup.given, responses, &bits, &all, &answers);
    }

    if (rc == MCP_OK && bits) {
        rc = mcp_store_answer(x->worker->store, &task->ref, lookup.seq, bits,
                              all,
                              (mcp_str_t) { answers.data, answers.len },
                              mcp_worker_now(x->worker));

        if (rc == MCP_OK) {
            mcp_notify_task(x->worker, task->id.stream);
        }
    }

    mcp_buf_free(&event);
    mcp_buf_free(&answers);

    return rc;
}


/* Returns 1 if a response is for a question of an event after event seq: each
 * key ends with the number of its event (mcp_call_task.c). */
static int
mcp_task_is_ahead(const mcp_json_value_t *responses, uint64_t seq)
{
    uint64_t          number;
    mcp_str_t         key;
    const char       *p, *end;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_json_iter_init(&iter, responses->raw);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        end = key.data + key.len - 1;

        for (p = end; p > key.data && p[-1] != '#'; p--) { /* void */ }

        if (mcp_str_uint((mcp_str_t) { p, (size_t) (end - p) }, &number)
            == MCP_OK
            && number > seq)
        {
            return 1;
        }
    }

    return 0;
}


/*
 * Sends the client's answers for a task to the cluster, before
 * mcp_task_update() responds to the request. *input contains the stream and the
 * principal. Returns MCP_OK if no open question was answered, otherwise the
 * values of mcp_operation_client_input(). After returning MCP_AGAIN, this
 * function runs again when the cluster has replied, see
 * mcp_cluster_operation.h.
 */
static int
mcp_task_update_elsewhere(mcp_exchange_t *x, const mcp_task_t *task,
    const mcp_json_value_t *responses, mcp_operation_client_input_t *input)
{
    int                        rc;
    mcp_buf_t                  answers;
    const mcp_store_lookup_t  *lookup;

    lookup = &task->found->lookup;

    if (!mcp_routing_is_objects(responses)) {
        return MCP_OK;
    }

    /* the answers are for newer questions than those in the cluster. This
     * happens without mcp_cluster_sync, or if Redis has lost its last writes:
     * the task's node shows questions before other nodes have them. Queries the
     * cluster again after MCP_TASK_AHEAD_LOOKUP. */

    if (lookup->info.state < MCP_STATE_COMPLETED
        && mcp_task_is_ahead(responses, lookup->info.last_seq)
        && mcp_operation_later(x, MCP_TASK_AHEAD_LOOKUP, MCP_TASK_AHEAD_TIME)
           == MCP_AGAIN)
    {
        return MCP_AGAIN;
    }

    if (lookup->info.state != MCP_STATE_INPUT_REQUIRED
        || lookup->state != MCP_STATE_INPUT_REQUIRED)
    {
        return MCP_OK;
    }

    mcp_buf_init(&answers, &x->worker->env->mem, SIZE_MAX / 2);

    rc = mcp_task_gather(&x->arena, task->found->event, lookup->given,
        responses, &input->bits, &input->all, &answers);

    if (rc == MCP_OK && input->bits) {
        input->what = MCP_OPERATION_INPUT_TASK;
        input->seq = lookup->seq;
        input->data = (mcp_str_t) { answers.data, answers.len };
        rc = mcp_operation_client_input(x, input);
    }

    mcp_buf_free(&answers);

    return rc;
}


/* Handles tasks/update: passes the answers to open questions to the call. From
 * then on no process shows these questions to clients. Answers to other
 * questions are ignored. */
static mcp_fault_e
mcp_task_update(mcp_exchange_t *x, const mcp_task_t *task,
    const mcp_json_value_t *responses, mcp_buf_t *out)
{
    int  i, rc;

    if (!mcp_routing_is_objects(responses)) {
        return MCP_FAULT_PARAMS;
    }

    /* if the task is at another node, mcp_task_update_elsewhere() has sent the
     * answers to that node */

    rc = task->is_local ? MCP_AGAIN : MCP_OK;

    for (i = 0; rc == MCP_AGAIN && i < MCP_TASK_TRIES; i++) {
        rc = mcp_task_update_once(x, task, responses);
    }

    mcp_buf_lit(out, "{}");

    switch (rc) {

    case MCP_OK:
    case MCP_ERR_NOT_FOUND:            /* the task has ended in the meantime */
        return MCP_FAULT_NONE;

    case MCP_ERR_LIMIT:
    case MCP_ERR_FULL:
        return MCP_FAULT_STORE_FULL;

    case MCP_AGAIN:

        /* all attempts have failed. In a cluster, this node may have a later
         * event than other nodes: the answers are then for earlier questions,
         * and are ignored. */

        return x->worker->cluster ? MCP_FAULT_NONE : MCP_FAULT_INTERNAL;

    default:
        return MCP_FAULT_INTERNAL;
    }
}


/* Interval of queries to the cluster for a call that the cluster does not have
 * as a task yet, ms. */
#define MCP_TASK_YOUNG_LOOKUP  25


/* Returns 1 if the cluster has, or may have, a newer state of a task of this
 * node than this node itself. Returns 0 if the task has ended here. Otherwise
 * returns 1 if the cluster has a later event. If both have the same last event,
 * returns 1 if the task has ended in the cluster, which takes effect here a
 * moment later, or if the task has open questions at this node, because other
 * nodes may have received answers. */
static int
mcp_task_is_newer(const mcp_found_t *found, const mcp_stream_info_t *info)
{
    if (info->state >= MCP_STATE_COMPLETED) {
        return 0;
    }

    return found->lookup.info.last_seq > info->last_seq
           || (found->lookup.info.last_seq == info->last_seq
               && (info->state == MCP_STATE_INPUT_REQUIRED
                   || found->lookup.info.state >= MCP_STATE_COMPLETED));
}


/* Finds the stream of a task at any node. Sets task->found if the state in the
 * cluster has to be used. Returns MCP_OK, or an error of mcp_store_find(). */
static int
mcp_task_find_stream(mcp_exchange_t *x, mcp_task_t *task,
    mcp_stream_info_t *info)
{
    int                 rc;
    mcp_stream_ref_t    ref;
    const mcp_found_t  *found;

    task->found = NULL;

    rc = mcp_store_find(x->worker->store, task->id.stream,
                        mcp_worker_now(x->worker), info);

    if (rc != MCP_OK && rc != MCP_ERR_NOT_FOUND) {
        return rc;
    }

    task->is_local = (rc == MCP_OK && !info->mirror);
    ref = info->ref;
    found = mcp_operation_found(x, task->id.stream);

    if (found == NULL
        || (task->is_local ? !mcp_task_is_newer(found, info)
            : found->lookup.info.expires <= mcp_worker_now(x->worker)))
    {
        return task->is_local ? MCP_OK : MCP_ERR_NOT_FOUND;
    }

    task->found = found;
    *info = found->lookup.info;

    if (task->is_local) {
        info->ref = ref;
    }

    return MCP_OK;
}


int
mcp_task_find(mcp_exchange_t *x, mcp_str_t text, mcp_task_t *task)
{
    int                rc;
    mcp_stream_info_t  info;

    task->text = text;

    rc = mcp_task_id_read(&task->id, x->endpoint->keys, text,
                          mcp_worker_now(x->worker));

    if (rc == MCP_OK) {
        rc = mcp_task_find_stream(x, task, &info);
    }

    if (rc != MCP_OK) {
        return rc;
    }

    task->ref = info.ref;

    return info.expires && mcp_secret_same(info.principal, x->head.principal,
                                           MCP_DIGEST_LEN)
           ? MCP_OK : MCP_ERR_NOT_FOUND;
}


/* Writes the members that every task has in any state. */
static void
mcp_task_write_base(mcp_exchange_t *x, const mcp_task_t *task,
    const char *status, mcp_str_t message, uint64_t changed, mcp_buf_t *out)
{
    mcp_buf_lit(out, "\"taskId\":");
    mcp_buf_json(out, task->text);
    mcp_buf_lit(out, ",\"status\":\"");
    mcp_buf_add(out, status, strlen(status));
    mcp_buf_lit(out, "\"");

    if (message.len) {
        mcp_buf_lit(out, ",\"statusMessage\":");
        mcp_buf_str(out, message);
    }

    mcp_buf_lit(out, ",\"createdAt\":\"");
    mcp_time_write(out, task->id.created);
    mcp_buf_lit(out, "\",\"lastUpdatedAt\":\"");
    mcp_time_write(out, changed);
    mcp_buf_lit(out, "\",\"ttlMs\":");
    mcp_buf_int(out, (int64_t) task->id.ttl);

    if (x->endpoint->retry) {
        mcp_buf_lit(out, ",\"pollIntervalMs\":");
        mcp_buf_int(out, (int64_t) x->endpoint->retry);
    }
}


int
mcp_task_created(mcp_exchange_t *x, const mcp_task_id_t *id,
    mcp_stream_state_e state, uint64_t changed)
{
    int           rc;
    mcp_buf_t     body, text;
    mcp_task_t    task;
    mcp_result_t  add;

    static const char *const  names[] = {
        [MCP_STATE_PROCESSING] = "working",
        [MCP_STATE_INPUT_REQUIRED] = "input_required",
        [MCP_STATE_COMPLETED] = "completed",
        [MCP_STATE_FAILED] = "failed",
        [MCP_STATE_CANCELLED] = "cancelled"
    };

    mcp_buf_init(&text, &x->worker->env->mem, MCP_TOKEN_TEXT_MAX);
    mcp_buf_init(&body, &x->worker->env->mem, SIZE_MAX / 2);

    memset(&task, 0, sizeof(mcp_task_t));
    task.id = *id;
    rc = mcp_task_id_write(id, x->endpoint->keys, &text);

    if (rc == MCP_OK) {
        task.text = (mcp_str_t) { text.data, text.len };

        mcp_buf_lit(&body, "{\"resultType\":\"task\",");
        mcp_task_write_base(x, &task, names[state], mcp_null_str, changed,
                            &body);
        mcp_buf_lit(&body, "}");
        rc = body.failed;
    }

    if (rc == MCP_OK) {
        mcp_result_write(&x->output.out, x->msg->id,
                         (mcp_str_t) { body.data, body.len },
                         mcp_endpoint_result(x->endpoint, &x->client,
                                             mcp_method(MCP_METHOD_TOOLS_CALL),
                                             mcp_null_str, &add));
        x->output.outcome = "task";
    }

    mcp_buf_free(&text);
    mcp_buf_free(&body);

    return rc;
}


int
mcp_task_created_before(mcp_exchange_t *x, const mcp_stream_info_t *info)
{
    mcp_task_id_t  id;

    memcpy(id.stream, info->ref.id, MCP_STREAM_ID_LEN);
    id.created = info->kept;
    id.ttl = info->expires - info->kept;

    x->output.out.len = 0;

    return mcp_task_created(x, &id, info->state, info->changed);
}


/* Returns a member of a task's last event, which is a JSON-RPC response. The
 * type of the value is MCP_JSON_NONE if there is no event. */
static mcp_json_value_t
mcp_task_response(mcp_str_t event, mcp_str_t name)
{
    mcp_json_value_t  root;

    root.type = event.len ? MCP_JSON_OBJECT : MCP_JSON_NONE;
    root.raw = event;

    return mcp_json_get(&root, name);
}


/* Writes the error of a failed task. */
static void
mcp_task_write_failed(mcp_exchange_t *x, const mcp_task_t *task,
    const mcp_store_lookup_t *lookup, mcp_str_t event, mcp_buf_t *out)
{
    mcp_json_value_t  error, message;

    error = mcp_task_response(event, mcp_str("error"));
    message = mcp_json_get(&error, mcp_str("message"));

    mcp_task_write_base(x, task, "failed",
                        message.type == MCP_JSON_STRING ? message.raw
                                                        : mcp_null_str,
                        lookup->info.changed, out);
    mcp_buf_lit(out, ",\"error\":");
    mcp_buf_str(out, error.raw);
}


/* Writes a task that has ended. Returns 0 and writes nothing for any other
 * task. */
static int
mcp_task_write_over(mcp_exchange_t *x, const mcp_task_t *task,
    const mcp_store_lookup_t *lookup, mcp_str_t event, mcp_buf_t *out)
{
    switch (lookup->info.state) {

    case MCP_STATE_COMPLETED:
        mcp_task_write_base(x, task, "completed", mcp_null_str,
                            lookup->info.changed, out);
        mcp_buf_lit(out, ",\"result\":");
        mcp_buf_str(out, mcp_task_response(event, mcp_str("result")).raw);
        return 1;

    case MCP_STATE_FAILED:
        mcp_task_write_failed(x, task, lookup, event, out);
        return 1;

    case MCP_STATE_CANCELLED:
        mcp_task_write_base(x, task, "cancelled", mcp_null_str,
                            lookup->info.changed, out);
        return 1;

    default:
        return 0;
    }
}


static void
mcp_task_write_lookup(mcp_exchange_t *x, const mcp_task_t *task,
    const mcp_store_lookup_t *lookup, mcp_str_t event, mcp_buf_t *out)
{
    if (mcp_task_write_over(x, task, lookup, event, out)) {
        return;
    }

    /* questions are shown only if the event contains them and one of them is
     * open: the event may belong to the task's previous state, or all questions
     * may have been answered at another node, and the answers have not reached
     * the owner yet */

    if (lookup->info.state == MCP_STATE_INPUT_REQUIRED
        && lookup->state == MCP_STATE_INPUT_REQUIRED
        && event.len && mcp_task_has_questions(event, lookup->given))
    {
        mcp_task_write_base(x, task, "input_required", mcp_null_str,
                            lookup->info.changed, out);
        mcp_buf_lit(out, ",\"inputRequests\":");
        mcp_task_questions(event, lookup->given, out);
        return;
    }

    if (lookup->state != MCP_STATE_PROCESSING || event.len == 0
        || event.data[0] != '"')
    {
        event = mcp_null_str;
    }

    mcp_task_write_base(x, task, "working", event, lookup->info.changed, out);
}


int
mcp_task_write(mcp_exchange_t *x, const mcp_task_t *task, mcp_buf_t *out)
{
    int                 rc;
    mcp_buf_t           event;
    mcp_store_lookup_t  lookup;

    if (task->found) {
        mcp_task_write_lookup(x, task, &task->found->lookup, task->found->event,
                            out);
        return out->failed;
    }

    mcp_buf_init(&event, &x->worker->env->mem, SIZE_MAX / 2);

    rc = mcp_store_lookup(x->worker->store, &task->ref, 0, &lookup, &event);

    if (rc == MCP_OK) {
        mcp_buf_reserve(out, event.len + 1024);
        mcp_task_write_lookup(x, task, &lookup,
                            (mcp_str_t) { event.data, event.len }, out);
        rc = out->failed;
    }

    mcp_buf_free(&event);

    return rc;
}


static mcp_fault_e
mcp_task_get(mcp_exchange_t *x, const mcp_task_t *task, mcp_buf_t *out)
{
    int  rc;

    mcp_buf_lit(out, "{");
    rc = mcp_task_write(x, task, out);
    mcp_buf_lit(out, "}");

    if (rc == MCP_ERR_NOT_FOUND) {
        return MCP_FAULT_TASK;
    }

    return rc == MCP_OK ? MCP_FAULT_NONE : MCP_FAULT_INTERNAL;
}


/* Cancels a task: the owner ends it. A task that has ended remains
 * unchanged. */
static mcp_fault_e
mcp_task_cancel(mcp_exchange_t *x, const mcp_task_t *task, mcp_buf_t *out)
{
    int  rc;

    /* if the task is at another node, mcp_task_start() has sent the
     * cancellation to that node */

    rc = task->is_local ? mcp_store_cancel(x->worker->store, &task->ref, 1)
                   : MCP_OK;
    mcp_buf_lit(out, "{}");

    return rc == MCP_OK || rc == MCP_ERR_NOT_FOUND ? MCP_FAULT_NONE
                                                   : MCP_FAULT_INTERNAL;
}


void
mcp_task_stream(const mcp_exchange_t *x, const mcp_task_t *task, int listens,
    mcp_operation_stream_t *stream)
{
    memset(stream, 0, sizeof(mcp_operation_stream_t));
    memcpy(stream->id, task->id.stream, MCP_STREAM_ID_LEN);
    memcpy(stream->principal, x->head.principal, MCP_DIGEST_LEN);
    stream->any_session = 1;
    stream->task = 1;
    stream->listens = listens != 0;
}


/* Returns 1 if the cluster may have a newer state of a task of this node than
 * this node itself. */
static int
mcp_task_may_be_newer(const mcp_stream_info_t *info)
{
    return info->shared
           && (info->state == MCP_STATE_INPUT_REQUIRED || info->ahead);
}


/* Returns 1 if the cluster has the call, but not yet as a task. This happens if
 * the client got the task id only a moment ago. */
static int
mcp_task_is_young(const mcp_exchange_t *x, const mcp_task_t *task)
{
    const mcp_found_t  *found;

    found = mcp_operation_found(x, task->id.stream);

    return found && found->lookup.info.expires == 0;
}


/* Looks a task up in the cluster if this node lacks its current state. After
 * returning MCP_AGAIN, this function runs again when the cluster has replied,
 * see mcp_cluster_operation.h. */
int
mcp_task_lookup(mcp_exchange_t *x, mcp_str_t text, int listens,
    mcp_task_t *task)
{
    int                     rc, own;
    mcp_operation_stream_t  stream;
    mcp_stream_info_t       info;

    if (mcp_task_id_read(&task->id, x->endpoint->keys, text,
                         mcp_worker_now(x->worker))
        != MCP_OK)
    {
        return MCP_DONE;
    }

    rc = mcp_store_find(x->worker->store, task->id.stream,
                        mcp_worker_now(x->worker), &info);
    own = (rc == MCP_OK && !info.mirror);

    if (own && (listens || !mcp_task_may_be_newer(&info))) {
        return MCP_DONE;
    }

    mcp_task_stream(x, task, listens, &stream);
    stream.created = task->id.created;

    rc = mcp_operation_stream(x, MCP_OPERATION_LOOKUP, &stream);

    if (rc != MCP_OK) {
        return own && rc == MCP_ERR_UNREACHABLE ? MCP_DONE : rc;
    }

    if (mcp_task_is_young(x, task)
        && mcp_operation_later(x, MCP_TASK_YOUNG_LOOKUP, MCP_OPERATION_TIME)
               == MCP_AGAIN)
    {
        return MCP_AGAIN;
    }

    return mcp_task_find(x, text, task) == MCP_OK ? MCP_OK : MCP_DONE;
}


/* Starts the cluster operations that a request about a task needs. After
 * returning MCP_AGAIN, this function runs again when the cluster has replied,
 * see mcp_cluster_operation.h. */
int
mcp_task_start(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_method_e method)
{
    int                           rc;
    mcp_str_t                     text;
    mcp_task_t                    task;
    mcp_operation_client_input_t  input;

    if (mcp_routing_string(x, &msg->task_id, &text) != MCP_OK) {
        return MCP_OK;
    }

    rc = mcp_task_lookup(x, text, 0, &task);

    if (rc != MCP_OK) {
        return rc == MCP_DONE ? MCP_OK : rc;
    }

    if (method == MCP_METHOD_TASKS_GET || task.found == NULL) {
        return MCP_OK;
    }

    memset(&input, 0, sizeof(mcp_operation_client_input_t));
    memcpy(input.id, task.id.stream, MCP_STREAM_ID_LEN);
    memcpy(input.principal, x->head.principal, MCP_DIGEST_LEN);

    if (method == MCP_METHOD_TASKS_UPDATE) {
        rc = mcp_task_update_elsewhere(x, &task, &msg->input_responses,
            &input);

    } else {
        input.what = MCP_OPERATION_INPUT_CANCEL;
        input.data = mcp_str("{}");
        rc = mcp_operation_client_input(x, &input);
    }

    /* ignores MCP_ERR_NOT_FOUND: the task has ended or was freed. Ignores
     * MCP_ERR_UNREACHABLE and MCP_ERR_LIMIT if the task is at this node, which
     * handles the request locally as well. */

    return rc == MCP_ERR_NOT_FOUND
                   || ((rc == MCP_ERR_UNREACHABLE || rc == MCP_ERR_LIMIT)
                       && task.is_local)
               ? MCP_OK
               : rc;
}


mcp_fault_e
mcp_task_request(mcp_exchange_t *x, const mcp_rpc_t *msg, mcp_method_e method,
    mcp_buf_t *out)
{
    int         rc;
    mcp_str_t   text;
    mcp_task_t  task;

    rc = mcp_routing_string(x, &msg->task_id, &text);

    if (rc == MCP_OK) {
        rc = mcp_task_find(x, text, &task);
    }

    if (rc == MCP_ERR_SYNTAX || rc == MCP_ERR_NOT_FOUND) {
        return MCP_FAULT_TASK;
    }

    if (rc != MCP_OK) {
        return MCP_FAULT_INTERNAL;
    }

    switch (method) {

    case MCP_METHOD_TASKS_GET:
        return mcp_task_get(x, &task, out);

    case MCP_METHOD_TASKS_UPDATE:
        return mcp_task_update(x, &task, &msg->input_responses, out);

    default:
        return mcp_task_cancel(x, &task, out);
    }
}

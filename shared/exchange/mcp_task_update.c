/* SPDX-License-Identifier: Apache-2.0 */

#include "exchange/mcp_exchange_internal.h"
#include "exchange/mcp_task_update.h"
#include "worker/mcp_notification.h"


/* Maximum number of attempts to store answers, if other processes store
 * answers at the same time. */
#define MCP_TASK_TRIES  16

/* Interval and total time, ms, of queries for questions that the client has
 * answered, but that the cluster does not have yet. */
#define MCP_TASK_AHEAD_LOOKUP  50
#define MCP_TASK_AHEAD_TIME    2000


_Static_assert(MCP_STORE_QUESTIONS <= 32, "one bit for each question");


/* Reads question k of a task's event.  Returns 0 at the end of the event or
 * after MCP_STORE_QUESTIONS questions: an event from Redis may have more, for
 * which the sets of questions have no bits. */
static int
mcp_task_next(mcp_json_iter_t *iter, unsigned k, mcp_str_t *key,
    mcp_json_value_t *value)
{
    return k < MCP_STORE_QUESTIONS && mcp_json_iter_next(iter, key, value);
}


int
mcp_task_asks(mcp_str_t questions, uint32_t given)
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
    const char       *before;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    before = "{";
    mcp_json_iter_init(&iter, questions);

    for (k = 0; mcp_task_next(&iter, k, &key, &value); k++) {
        if (given & (uint32_t) 1 << k) {
            continue;
        }

        mcp_buf_add(out, before, 1);
        mcp_buf_str(out, key);
        mcp_buf_lit(out, ":");
        mcp_buf_str(out, value.raw);
        before = ",";
    }

    mcp_buf_add(out, "{", before[0] == '{' ? 1 : 0);
    mcp_buf_lit(out, "}");
}


/* Finds the client's response to the question with a key. Compares unescaped
 * keys, because the client may have escaped the key differently. */
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
 * Appends the client's answers to open questions in the form for the call: an
 * object with results by the index of the question. Sets the bits of the
 * questions that were answered in *bits, and the bits of all questions in
 * *all.
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


/* Makes one attempt to store the answers. Returns MCP_AGAIN if another process
 * has changed the task in the meantime. */
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

    /* answers that were given at other nodes may not have arrived here */

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
 * key ends with the number of its event (mcp_input_task.c). */
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


/* Runs again after MCP_AGAIN. */
int
mcp_task_update_unreachable(mcp_exchange_t *x, const mcp_task_t *task,
    const mcp_json_value_t *responses, mcp_operation_client_input_t *input)
{
    int                        rc;
    mcp_buf_t                  answers;
    const mcp_store_lookup_t  *lookup;

    lookup = &task->found->lookup;

    if (!mcp_routing_is_objects(responses)) {
        return MCP_OK;
    }

    /* the responses are for later questions than the cluster has, because
     * without mcp_cluster_sync, or after Redis has lost its last writes, the
     * task's own node shows questions before other nodes have them: queries
     * the cluster again after MCP_TASK_AHEAD_LOOKUP */

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


mcp_fault_e
mcp_task_update(mcp_exchange_t *x, const mcp_task_t *task,
    const mcp_json_value_t *responses, mcp_buf_t *out)
{
    int  i, rc;

    if (!mcp_routing_is_objects(responses)) {
        return MCP_FAULT_PARAMS;
    }

    /* if the task is at another node, mcp_task_update_unreachable() has sent
     * the responses to that node */

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

        /* in a cluster, the owner may have a later event, which other nodes do
         * not have yet: the responses are for earlier questions and are
         * ignored */

        return x->worker->cluster ? MCP_FAULT_NONE : MCP_FAULT_INTERNAL;

    default:
        return MCP_FAULT_INTERNAL;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */

#include "exchange/mcp_exchange_parts.h"
#include "exchange/mcp_task_update.h"
#include "worker/mcp_notify.h"


/* How often answers are read anew as others were quicker. */
#define MCP_TASK_TRIES  16

/* Questions that the cluster does not know yet: how often, and for how long,
 * they are looked for, ms. */
#define MCP_TASK_AHEAD_LOOK  50
#define MCP_TASK_AHEAD_TIME  2000


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


/* Finds the response to a question; keys may be written with other escapes. */
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


/* The answers to questions that have none yet, as their call wants them: an
 * object of results by the places of their questions.  The bits of these, and
 * of all questions, are set. */
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


/* One try; MCP_AGAIN: others were quicker. */
static int
mcp_task_update_once(mcp_exchange_t *x, const mcp_task_t *task,
    const mcp_json_value_t *responses)
{
    int               rc;
    uint32_t          bits, all;
    mcp_buf_t         event, answers;
    mcp_store_look_t  look;

    mcp_buf_init(&event, &x->worker->env->mem, SIZE_MAX / 2);
    mcp_buf_init(&answers, &x->worker->env->mem, SIZE_MAX / 2);
    bits = 0;
    all = 0;

    rc = mcp_store_look_ahead(x->worker->store, &task->ref, &look, &event);

    /* what others have answered elsewhere may not have arrived */

    if (task->found && task->found->look.seq == look.seq) {
        look.given |= task->found->look.given;
    }

    if (rc == MCP_OK && look.info.state == MCP_STATE_INPUT_REQUIRED
        && look.state == MCP_STATE_INPUT_REQUIRED)
    {
        rc = mcp_task_gather(&x->arena,
                             (mcp_str_t) { event.data, event.len },
                             look.given, responses, &bits, &all, &answers);
    }

    if (rc == MCP_OK && bits) {
        rc = mcp_store_answer(x->worker->store, &task->ref, look.seq, bits,
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


/* Whether a response is to a question of a later event than that: a key ends
 * with the number of its event (mcp_input_task.c). */
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


int
mcp_task_update_away(mcp_exchange_t *x, const mcp_task_t *task,
    const mcp_json_value_t *responses, mcp_ask_post_t *post)
{
    int                      rc;
    mcp_buf_t                answers;
    const mcp_store_look_t  *look;

    look = &task->found->look;

    if (!mcp_verdict_is_objects(responses)) {
        return MCP_OK;
    }

    /* without mcp_cluster_sync, or while Redis has lost its last writes, the
     * task's own node shows questions before others can find them */

    if (look->info.state < MCP_STATE_COMPLETED
        && mcp_task_is_ahead(responses, look->info.last_seq)
        && mcp_ask_later(x, MCP_TASK_AHEAD_LOOK, MCP_TASK_AHEAD_TIME)
           == MCP_AGAIN)
    {
        return MCP_AGAIN;
    }

    if (look->info.state != MCP_STATE_INPUT_REQUIRED
        || look->state != MCP_STATE_INPUT_REQUIRED)
    {
        return MCP_OK;
    }

    mcp_buf_init(&answers, &x->worker->env->mem, SIZE_MAX / 2);

    rc = mcp_task_gather(&x->arena, task->found->event, look->given, responses,
                         &post->bits, &post->all, &answers);

    if (rc == MCP_OK && post->bits) {
        post->what = MCP_ASK_POST_TASK;
        post->seq = look->seq;
        post->data = (mcp_str_t) { answers.data, answers.len };
        rc = mcp_ask_post(x, post);
    }

    mcp_buf_free(&answers);

    return rc;
}


mcp_fault_e
mcp_task_update(mcp_exchange_t *x, const mcp_task_t *task,
    const mcp_json_value_t *responses, mcp_buf_t *out)
{
    int  i, rc;

    if (!mcp_verdict_is_objects(responses)) {
        return MCP_FAULT_PARAMS;
    }

    /* they were brought to its node; or the others were told */

    rc = task->own ? MCP_AGAIN : MCP_OK;

    for (i = 0; rc == MCP_AGAIN && i < MCP_TASK_TRIES; i++) {
        rc = mcp_task_update_once(x, task, responses);
    }

    mcp_buf_lit(out, "{}");

    switch (rc) {

    case MCP_OK:
    case MCP_ERR_NOT_FOUND:            /* over meanwhile */
        return MCP_FAULT_NONE;

    case MCP_ERR_LIMIT:
    case MCP_ERR_FULL:
        return MCP_FAULT_STORE_FULL;

    case MCP_AGAIN:

        /* other nodes do not know yet that it asks something else: these are
         * late */

        return x->worker->cluster ? MCP_FAULT_NONE : MCP_FAULT_INTERNAL;

    default:
        return MCP_FAULT_INTERNAL;
    }
}

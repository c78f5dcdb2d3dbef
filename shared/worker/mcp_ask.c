/* SPDX-License-Identifier: Apache-2.0 */

#include "worker/mcp_answer.h"
#include "worker/mcp_ask.h"
#include "worker/mcp_exchange_state.h"


/* What an exchange waits for. */
struct mcp_asking_s {
    int         (*root)(mcp_exchange_t *x);
    mcp_ask_t    *first;
    mcp_ask_t   **place;       /* of the next answer in this run */
    size_t        headers;     /* of the answer, before the first run */
    mcp_timer_t   timer;
    unsigned      late:1;      /* there will be no answers any more */
};


static void mcp_ask_again(mcp_exchange_t *x);


void
mcp_word(mcp_word_t *word, mcp_word_e what,
    const unsigned char key[MCP_DIGEST_LEN],
    const unsigned char session[MCP_DIGEST_LEN], uint32_t value,
    uint64_t expires)
{
    word->what = what;
    memcpy(word->key, key, MCP_DIGEST_LEN);
    memcpy(word->session, session, MCP_DIGEST_LEN);
    word->value = value;
    word->expires = expires;
    word->message = mcp_null_str;
}


/* Takes note of a root. */
static int
mcp_ask_note(mcp_exchange_t *x, int (*root)(mcp_exchange_t *x))
{
    mcp_asking_t  *asking;

    asking = mcp_arena_alloc(&x->arena, sizeof(mcp_asking_t));
    if (asking == NULL) {
        return MCP_ERR_MEMORY;
    }

    memset(asking, 0, sizeof(mcp_asking_t));
    asking->root = root;
    asking->headers = x->answer.response.n_headers;
    x->asking = asking;

    return MCP_OK;
}


int
mcp_ask_begin(mcp_exchange_t *x, int (*root)(mcp_exchange_t *x))
{
    if (x->worker->cluster == NULL) {
        return root(x);
    }

    if (mcp_ask_note(x, root) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    mcp_exchange_set_state(x, MCP_EXCHANGE_BODY);

    return MCP_AGAIN;
}


int
mcp_ask_now(mcp_exchange_t *x, int (*root)(mcp_exchange_t *x))
{
    if (x->worker->cluster == NULL) {
        return root(x);
    }

    return mcp_ask_note(x, root) == MCP_OK ? mcp_ask_run(x) : MCP_ERR_MEMORY;
}


/* The answer of a run that was stopped is not sent. */
int
mcp_ask_run(mcp_exchange_t *x)
{
    mcp_asking_t  *asking;

    asking = x->asking;
    asking->place = &asking->first;

    x->answer.out.len = 0;
    x->answer.response.n_headers = asking->headers;

    return asking->root(x);
}


static void
mcp_ask_free(mcp_ask_t *ask)
{
    const mcp_mem_t  *mem;

    mem = &ask->worker->env->mem;
    mem->free(mem->ctx, ask);
}


/* The exchange waits for nothing any more: what is not answered is freed by its
 * answer. */
static void
mcp_ask_drop(mcp_asking_t *asking)
{
    mcp_ask_t  *ask, *next;

    for (ask = asking->first; ask; ask = next) {
        next = ask->next;

        if (ask->rc == MCP_AGAIN) {
            ask->x = NULL;

        } else {
            mcp_ask_free(ask);
        }
    }

    asking->first = NULL;
}


static void
mcp_ask_late(void *data)
{
    mcp_exchange_t  *x;

    x = data;

    mcp_ask_drop(x->asking);
    x->asking->late = 1;

    mcp_ask_again(x);
}


static mcp_ask_t *
mcp_ask_create(mcp_exchange_t *x)
{
    mcp_ask_t  *ask;

    ask = mcp_mem_calloc(&x->worker->env->mem, sizeof(mcp_ask_t));

    if (ask) {
        ask->x = x;
        ask->worker = x->worker;
        ask->rc = MCP_AGAIN;
    }

    return ask;
}


/*
 * Goes to the place of the next answer.
 *
 * Returns MCP_OK and *ask, a new one: there is none yet; or
 *   MCP_DONE        *rc is the answer
 *   MCP_ERR_MEMORY
 */
static int
mcp_ask_next(mcp_exchange_t *x, mcp_ask_t **ask, int *rc)
{
    mcp_asking_t  *asking;

    asking = x->asking;

    if (asking == NULL || asking->late) {
        *rc = asking ? MCP_ERR_AWAY : MCP_OK;
        return MCP_DONE;
    }

    *ask = *asking->place;

    if (*ask) {
        asking->place = &(*ask)->next;
        *rc = (*ask)->rc;
        return MCP_DONE;
    }

    *ask = mcp_ask_create(x);

    return *ask ? MCP_OK : MCP_ERR_MEMORY;
}


/* Takes note of a question, and of its answer if that is there at once. */
static int
mcp_ask_asked(mcp_exchange_t *x, mcp_ask_t *ask, int rc)
{
    mcp_asking_t  *asking;

    if (rc == MCP_ERR_MEMORY) {
        mcp_ask_free(ask);
        return rc;
    }

    asking = x->asking;
    ask->rc = rc;
    *asking->place = ask;
    asking->place = &ask->next;

    if (rc == MCP_AGAIN) {
        asking->timer.handler = mcp_ask_late;
        asking->timer.data = x;
        mcp_timer_set(&x->worker->timers, &asking->timer,
                      mcp_worker_now(x->worker) + MCP_ASK_TIME);
        mcp_exchange_set_state(x, MCP_EXCHANGE_ASK);
    }

    return rc;
}


int
mcp_ask(mcp_exchange_t *x, const mcp_word_t *word)
{
    int            rc, answer;
    mcp_ask_t     *ask;
    mcp_worker_t  *worker;

    rc = mcp_ask_next(x, &ask, &answer);
    if (rc != MCP_OK) {
        return rc == MCP_DONE ? answer : rc;
    }

    worker = x->worker;
    rc = worker->cluster_hooks->tell(worker->cluster, word, ask);

    return mcp_ask_asked(x, ask, rc);
}


int
mcp_ask_stream(mcp_exchange_t *x, const mcp_ask_stream_t *stream)
{
    int            rc, answer;
    mcp_ask_t     *ask;
    mcp_worker_t  *worker;

    rc = mcp_ask_next(x, &ask, &answer);
    if (rc != MCP_OK) {
        return rc == MCP_DONE ? answer : rc;
    }

    worker = x->worker;
    rc = worker->cluster_hooks->watch(worker->cluster, stream, ask);

    return mcp_ask_asked(x, ask, rc);
}


int
mcp_ask_post(mcp_exchange_t *x, const mcp_ask_post_t *post)
{
    int            rc, answer;
    mcp_ask_t     *ask;
    mcp_worker_t  *worker;

    worker = x->worker;

    if (worker->cluster && x->asking == NULL) {
        return worker->cluster_hooks->post(worker->cluster, post, NULL);
    }

    rc = mcp_ask_next(x, &ask, &answer);
    if (rc != MCP_OK) {
        return rc == MCP_DONE ? answer : rc;
    }

    rc = worker->cluster_hooks->post(worker->cluster, post, ask);

    return mcp_ask_asked(x, ask, rc);
}


int
mcp_ask_is_away(const mcp_worker_t *worker)
{
    return worker->cluster && worker->cluster_hooks->is_away(worker->cluster);
}


void
mcp_ask_share(mcp_worker_t *worker, const mcp_stream_ref_t *ref)
{
    if (worker->cluster) {
        worker->cluster_hooks->share(worker->cluster, ref);
    }
}


void
mcp_ask_nobody(mcp_worker_t *worker, const mcp_word_t *word)
{
    if (worker->cluster) {
        (void) worker->cluster_hooks->tell(worker->cluster, word, NULL);
    }
}


/* Runs the root again, whose answer is now one that the server waits for. */
static void
mcp_ask_again(mcp_exchange_t *x)
{
    int  rc;

    mcp_timer_del(&x->worker->timers, &x->asking->timer);

    rc = mcp_ask_run(x);

    switch (rc) {

    case MCP_OK:
        mcp_answer_ready(x, MCP_ACT_RESPOND);
        return;

    case MCP_DONE:
        mcp_answer_ready(x, MCP_ACT_STREAM);
        return;

    case MCP_AGAIN:
        return;

    default:
        (void) mcp_answer_status(x, 500);
        mcp_answer_ready(x, MCP_ACT_RESPOND);
    }
}


void
mcp_ask_answer(mcp_ask_t *ask, int rc)
{
    mcp_ask_t  *other;

    if (ask->x == NULL) {
        mcp_ask_free(ask);
        return;
    }

    ask->rc = rc;

    for (other = ask->x->asking->first; other; other = other->next) {
        if (other->rc == MCP_AGAIN) {
            return;
        }
    }

    mcp_ask_again(ask->x);
}


void
mcp_ask_leave(mcp_exchange_t *x)
{
    if (x->asking) {
        mcp_timer_del(&x->worker->timers, &x->asking->timer);
        mcp_ask_drop(x->asking);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */

#include "worker/mcp_answer.h"
#include "worker/mcp_ask_parts.h"
#include "worker/mcp_exchange_state.h"


/* After so many ms the cluster is asked again for an event that it did not
 * have. */
#define MCP_ASK_AHEAD_LOOK  25


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
    word->ms = 0;
    word->n = 0;
    word->own = 0;
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
    asking->begun = mcp_worker_now(x->worker);
    asking->headers = x->answer.response.n_headers;
    asking->states = x->states;
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
    memset(asking->found, 0, sizeof(asking->found));
    asking->again = 0;

    x->answer.out.len = 0;
    x->answer.response.n_headers = asking->headers;
    x->states = asking->states;

    return asking->root(x);
}


void
mcp_ask_free(mcp_ask_t *ask)
{
    size_t            i;
    const mcp_mem_t  *mem;

    mem = &ask->worker->env->mem;

    for (i = 0; i < ask->n_found; i++) {
        if (ask->found[i].event.len) {
            mem->free(mem->ctx, (void *) (uintptr_t) ask->found[i].event.data);
        }
    }

    if (ask->found) {
        mem->free(mem->ctx, ask->found);
    }

    mem->free(mem->ctx, ask);
}


/* What is not answered is freed by its answer. */
void
mcp_ask_drop(mcp_asking_t *asking)
{
    mcp_ask_t  *ask, *next;

    for (ask = asking->first; ask; ask = next) {
        next = ask->next;

        if (ask->rc == MCP_AGAIN) {
            ask->x = NULL;
            ask->handler = NULL;

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


static void
mcp_ask_due(void *data)
{
    mcp_ask_again(data);
}


int
mcp_ask_later(mcp_exchange_t *x, uint64_t ms, uint64_t limit)
{
    uint64_t       now;
    mcp_asking_t  *asking;

    asking = x->asking;
    now = mcp_worker_now(x->worker);

    if (asking == NULL || asking->late || now >= asking->begun + limit
        || x->worker->stopping)
    {
        return MCP_OK;
    }

    mcp_ask_drop(asking);
    asking->again = 1;
    asking->timer.handler = mcp_ask_due;
    asking->timer.data = x;
    mcp_timer_set(&x->worker->timers, &asking->timer, now + ms);
    mcp_exchange_set_state(x, MCP_EXCHANGE_ASK);

    return MCP_AGAIN;
}


mcp_ask_t *
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


int
mcp_ask_next(mcp_exchange_t *x, mcp_ask_kind_e kind, mcp_ask_t **ask, int *rc)
{
    unsigned       n;
    mcp_asking_t  *asking;

    asking = x->asking;

    if (asking == NULL || asking->late) {
        *rc = asking ? MCP_ERR_AWAY : MCP_OK;
        return MCP_DONE;
    }

    n = asking->found[kind]++;

    for (*ask = asking->first; *ask; *ask = (*ask)->next) {
        if ((*ask)->kind == kind && n-- == 0) {
            *rc = (*ask)->rc;
            return MCP_DONE;
        }
    }

    *ask = mcp_ask_create(x);
    if (*ask == NULL) {
        return MCP_ERR_MEMORY;
    }

    (*ask)->kind = kind;

    return MCP_OK;
}


int
mcp_ask_asked(mcp_exchange_t *x, mcp_ask_t *ask, int rc)
{
    mcp_ask_t     **link;
    mcp_asking_t   *asking;

    if (rc == MCP_ERR_MEMORY) {
        mcp_ask_free(ask);
        return rc;
    }

    asking = x->asking;
    ask->rc = rc;

    for (link = &asking->first; *link; link = &(*link)->next) {
        /* to the end, as others follow who ask for the same */
    }

    *link = ask;

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

    rc = mcp_ask_next(x, MCP_ASK_WORD, &ask, &answer);
    if (rc != MCP_OK) {
        return rc == MCP_DONE ? answer : rc;
    }

    worker = x->worker;
    rc = worker->cluster_hooks->tell(worker->cluster, word, ask);

    return mcp_ask_asked(x, ask, rc);
}


/* Asks about a stream by that hook. */
static int
mcp_ask_of(mcp_exchange_t *x, mcp_ask_kind_e kind,
    const mcp_ask_stream_t *stream,
    int (*hook)(void *cluster, const mcp_ask_stream_t *stream, mcp_ask_t *ask))
{
    int         rc, answer;
    mcp_ask_t  *ask;

    rc = mcp_ask_next(x, kind, &ask, &answer);
    if (rc != MCP_OK) {
        return rc == MCP_DONE ? answer : rc;
    }

    return mcp_ask_asked(x, ask, hook(x->worker->cluster, stream, ask));
}


/* The client has an event that the cluster does not: the node that gives them
 * has been asked whether there is one, and says so soon.  Who has asked for
 * something else, too, is not asked to do that again. */
static int
mcp_ask_ahead(mcp_exchange_t *x)
{
    return x->asking->first->next == NULL
           && mcp_ask_later(x, MCP_ASK_AHEAD_LOOK, MCP_ASK_TIME) == MCP_AGAIN
           ? MCP_AGAIN : MCP_ERR_AWAY;
}


/* The same for an event of a stream, which the client may be ahead of. */
static int
mcp_ask_of_event(mcp_exchange_t *x, mcp_ask_kind_e kind,
    const mcp_ask_stream_t *stream,
    int (*hook)(void *cluster, const mcp_ask_stream_t *stream, mcp_ask_t *ask))
{
    int  rc;

    rc = mcp_ask_of(x, kind, stream, hook);

    return rc == MCP_ERR_AHEAD ? mcp_ask_ahead(x) : rc;
}


int
mcp_ask_stream(mcp_exchange_t *x, const mcp_ask_stream_t *stream)
{
    return x->asking == NULL
           ? MCP_OK
           : mcp_ask_of_event(x, MCP_ASK_STREAM, stream,
                              x->worker->cluster_hooks->watch);
}


int
mcp_ask_look(mcp_exchange_t *x, const mcp_ask_stream_t *stream)
{
    return x->asking == NULL
           ? MCP_OK
           : mcp_ask_of_event(x, MCP_ASK_LOOK, stream,
                              x->worker->cluster_hooks->look);
}


int
mcp_ask_list(mcp_exchange_t *x, const mcp_ask_stream_t *stream)
{
    return x->asking == NULL
           ? MCP_OK
           : mcp_ask_of(x, MCP_ASK_LIST, stream,
                        x->worker->cluster_hooks->list);
}


const mcp_found_t *
mcp_ask_found(const mcp_exchange_t *x,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    const mcp_ask_t  *ask;

    for (ask = x->asking ? x->asking->first : NULL; ask; ask = ask->next) {
        if (ask->n_found == 1
            && memcmp(ask->found->look.info.ref.id, id, MCP_STREAM_ID_LEN) == 0)
        {
            return ask->found;
        }
    }

    return NULL;
}


const mcp_found_t *
mcp_ask_found_at(const mcp_exchange_t *x, size_t i)
{
    const mcp_ask_t  *ask;

    ask = x->asking ? x->asking->first : NULL;

    while (ask && ask->kind != MCP_ASK_LIST) {
        ask = ask->next;
    }

    return ask && i < ask->n_found ? &ask->found[i] : NULL;
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

    rc = mcp_ask_next(x, MCP_ASK_POST, &ask, &answer);
    if (rc != MCP_OK) {
        return rc == MCP_DONE ? answer : rc;
    }

    rc = worker->cluster_hooks->post(worker->cluster, post, ask);

    return mcp_ask_asked(x, ask, rc);
}


int
mcp_ask_waits(const mcp_exchange_t *x)
{
    const mcp_ask_t  *ask;

    if (x->asking && x->asking->again) {
        return 1;
    }

    for (ask = x->asking ? x->asking->first : NULL; ask; ask = ask->next) {
        if (ask->rc == MCP_AGAIN) {
            return 1;
        }
    }

    return 0;
}


int
mcp_ask_topic(mcp_worker_t *worker, const mcp_ask_topic_t *topic,
    void (*handler)(void *data, int rc), void *data)
{
    int         rc;
    mcp_ask_t  *ask;

    if (worker->cluster == NULL) {
        return MCP_ERR_NOT_FOUND;
    }

    ask = mcp_mem_calloc(&worker->env->mem, sizeof(mcp_ask_t));
    if (ask == NULL) {
        return MCP_ERR_MEMORY;
    }

    ask->worker = worker;
    ask->handler = handler;
    ask->data = data;
    ask->rc = MCP_AGAIN;

    rc = worker->cluster_hooks->topic(worker->cluster, topic, ask);

    if (rc != MCP_AGAIN) {
        mcp_ask_free(ask);
    }

    return rc;
}


int
mcp_ask_is_away(const mcp_worker_t *worker)
{
    return worker->cluster && worker->cluster_hooks->is_away(worker->cluster);
}


void
mcp_ask_share(mcp_worker_t *worker, const mcp_stream_ref_t *ref,
    uint32_t limit)
{
    if (worker->cluster) {
        worker->cluster_hooks->share(worker->cluster, ref, limit);
    }
}


int
mcp_ask_nobody(mcp_worker_t *worker, const mcp_word_t *word)
{
    return worker->cluster
           ? worker->cluster_hooks->tell(worker->cluster, word, NULL) : MCP_OK;
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

    if (ask->handler) {
        ask->rc = rc;
        ask->handler(ask->data, rc);

        /* what an exchange follows is freed with it */

        if (ask->x == NULL) {
            mcp_ask_free(ask);
        }

        return;
    }

    if (ask->x == NULL) {
        mcp_ask_free(ask);
        return;
    }

    ask->rc = rc;

    if (ask->holds) {
        mcp_ask_go_on(ask->x, rc);
        return;
    }

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

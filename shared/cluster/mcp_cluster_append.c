/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The copier: what the owner's stream gets is appended in Redis, and what is
 * there is safe.  A command that is repeated does no harm, as events have
 * numbers; so after each loss of the link it begins again with what is not
 * known to be safe.
 */


#include "cluster/mcp_cluster_copy.h"
#include "worker/mcp_notify.h"


/* Arguments of redis/append.lua before the events. */
typedef enum {
    MCP_APPEND_LASTS = 0,
    MCP_APPEND_FIRST,
    MCP_APPEND_FLOOR,
    MCP_APPEND_SENT,
    MCP_APPEND_CONFIRMED,
    MCP_APPEND_STAND,
    MCP_APPEND_NUMBER,
    MCP_APPEND_TURN,
    MCP_APPEND_TASK,
    MCP_APPEND_SPEC,
    MCP_APPEND_SESSION,
    MCP_APPEND_PRINCIPAL,
    MCP_APPEND_TOPICS,
    MCP_APPEND_PLACE,
    MCP_APPEND_LIMIT,
    MCP_APPEND_DIGEST,
    MCP_APPEND_CLAIMS,
    MCP_APPEND_JOINED,
    MCP_APPEND_TAKEN,
    MCP_APPEND_ARGS
} mcp_append_arg_e;


/* What a command is made of. */
typedef struct {
    mcp_buf_t          numbers;        /* texts that words point into */
    mcp_buf_t          messages;
    mcp_buf_t          spec;
    mcp_buf_t          request;
    mcp_buf_t          topics;
    mcp_store_copy_t   from;
    mcp_store_raw_t    raw[MCP_COPY_EVENTS];
    mcp_stream_spec_t  about;
    mcp_stream_info_t  info;
    char               joined;
    mcp_script_e       script;
    size_t             n;              /* words */
    mcp_str_t          words[MCP_APPEND_ARGS + 2 * MCP_COPY_EVENTS];
} mcp_append_t;


/* Room for all numbers of a command: it is not moved while words point into
 * it. */
#define MCP_APPEND_NUMBERS                                                    \
    (MCP_APPEND_ARGS * 42 + MCP_PACK_STAND_MAX + MCP_PACK_TASK_MAX            \
     + MCP_COPY_EVENTS * MCP_PACK_ANSWERS_MAX)


/* What was written to the end of the numbers. */
static mcp_str_t
mcp_append_text(mcp_append_t *a, char *end)
{
    char  *p;

    p = a->numbers.data + a->numbers.len;
    a->numbers.len += (size_t) (end - p);

    return (mcp_str_t) { p, (size_t) (end - p) };
}


static mcp_str_t
mcp_append_number(mcp_append_t *a, uint64_t number)
{
    return mcp_append_text(a, mcp_uint_print(a->numbers.data + a->numbers.len,
                                             number));
}


/* The last of what nodes were told that a listener has, as Redis writes it: it
 * has all of it when its last event is copied; before, nothing. */
static mcp_str_t
mcp_append_place(mcp_append_t *a, const mcp_store_copying_t *copying)
{
    char  *end;

    if (!copying->listener || a->from.at.seq < copying->own.seq) {
        return mcp_str("");
    }

    end = mcp_uint_print(a->numbers.data + a->numbers.len, a->from.heard.ms);
    *end++ = '-';

    return mcp_append_text(a, mcp_uint_print(end, a->from.heard.n));
}


/* Takes the events that follow; one that is longer than a buffer, alone. */
static int
mcp_append_take(mcp_copy_t *copy, mcp_append_t *a, uint64_t last)
{
    int                   rc;
    size_t                cap;
    mcp_store_t          *store;
    mcp_store_copying_t   now;

    store = copy->cluster->worker->store;

    /* mostly it is one, and short */

    cap = last - copy->at.seq > 1 ? MCP_COPY_BYTES : MCP_COPY_BYTES_ONE;

    for ( ;; cap = a->from.len) {
        a->from.buf = mcp_buf_reserve(&a->messages, cap);
        if (a->from.buf == NULL) {
            return MCP_ERR_MEMORY;
        }

        a->from.cap = cap;
        rc = mcp_store_copy(store, &copy->ref, &a->from);

        if (rc == MCP_ERR_PURGED) {

            /* Redis has lost what is not kept here any more */

            rc = mcp_store_copying(store, &copy->ref, &now);
            copy->begin = 1;
            a->from.at.seq = now.first_seq - 1;
            a->from.len = cap;

        } else if (rc == MCP_ERR_LIMIT) {
            rc = MCP_OK;

        } else {
            return rc;
        }

        if (rc != MCP_OK) {
            return rc;
        }
    }
}


/* A stream that Redis has had is not refused any more. */
static mcp_str_t
mcp_append_limit(mcp_copy_t *copy, mcp_append_t *a,
    const mcp_store_copying_t *copying)
{
    static const unsigned char  nobody[MCP_DIGEST_LEN];

    if (!copy->begin || copying->listener
        || memcmp(a->about.session, nobody, MCP_DIGEST_LEN) == 0)
    {
        return mcp_str("");
    }

    return mcp_append_number(a, copying->created ? 0 : copy->limit);
}


static void
mcp_append_join_words(const mcp_copy_t *copy, mcp_append_t *a,
    const mcp_store_copying_t *copying)
{
    mcp_str_t  *words;

    words = a->words;

    words[MCP_APPEND_DIGEST] = mcp_str("");
    words[MCP_APPEND_CLAIMS] = mcp_str("");
    a->joined = mcp_beside_how(copying);
    words[MCP_APPEND_JOINED] = (mcp_str_t) { &a->joined, a->joined != '\0' };

    if (copying->joins && copy->begin) {
        words[MCP_APPEND_DIGEST] = (mcp_str_t) { (const char *) copying->join,
                                                 MCP_DIGEST_LEN };
    }

    if (mcp_beside_claims(copying)) {
        words[MCP_APPEND_CLAIMS] = copying->once ? mcp_str("o") : mcp_str("k");
    }
}


static mcp_str_t
mcp_append_sent(mcp_append_t *a, const mcp_store_copying_t *copying)
{
    return copying->consumer_slot == MCP_STORE_REMOTE
           ? mcp_str("") : mcp_append_number(a, copying->sent_seq);
}


static void
mcp_append_events(mcp_append_t *a)
{
    size_t      i;
    mcp_str_t  *words;

    words = a->words + a->n;

    for (i = 0; i < a->from.n; i++) {
        *words++ = (mcp_str_t) { a->from.buf + a->raw[i].offset,
                                 a->raw[i].len };
        *words++ = mcp_append_text(a,
            mcp_pack_answers(a->numbers.data + a->numbers.len, &a->raw[i]));
    }

    a->n += 2 * a->from.n;
}


/* The arguments of redis/event.lua. */
static void
mcp_append_short(mcp_append_t *a, const mcp_store_copying_t *copying,
    uint64_t first)
{
    a->words[0] = mcp_append_number(a, first);
    a->words[1] = mcp_append_sent(a, copying);
    a->words[2] = mcp_append_place(a, copying);
    a->n = 3;
}


static void
mcp_append_words(mcp_copy_t *copy, mcp_append_t *a,
    const mcp_store_copying_t *copying, uint64_t first)
{
    uint64_t         number;
    mcp_str_t       *words;
    mcp_pack_task_t  task = { copying->expires, copying->kept,
                              copying->changed, copying->given };

    words = a->words;
    number = copying->reader ? copying->reader : 1;

    words[MCP_APPEND_LASTS] = mcp_append_number(a, mcp_due_lasts(copy,
                                                                 copying));
    words[MCP_APPEND_FIRST] = mcp_append_number(a, first);
    words[MCP_APPEND_FLOOR] = mcp_append_number(a, copying->first_seq);
    words[MCP_APPEND_SENT] = mcp_append_sent(a, copying);
    words[MCP_APPEND_CONFIRMED] = mcp_append_number(a, copying->confirmed_seq);
    words[MCP_APPEND_STAND] = mcp_append_text(a,
        mcp_pack_stand(a->numbers.data + a->numbers.len, &a->from.at));
    words[MCP_APPEND_NUMBER] = mcp_append_number(a, number);
    words[MCP_APPEND_TURN] = mcp_append_number(a, copying->turn);
    words[MCP_APPEND_TASK] = mcp_append_text(a,
        mcp_pack_task(a->numbers.data + a->numbers.len, &task));
    words[MCP_APPEND_SPEC] = (mcp_str_t) { a->spec.data, a->spec.len };
    words[MCP_APPEND_SESSION] = (mcp_str_t) {
        (const char *) a->about.session, MCP_DIGEST_LEN };
    words[MCP_APPEND_PRINCIPAL] = (mcp_str_t) {
        (const char *) a->about.principal, MCP_DIGEST_LEN };
    words[MCP_APPEND_TOPICS] = (mcp_str_t) { a->topics.data, a->topics.len };
    words[MCP_APPEND_PLACE] = mcp_append_place(a, copying);
    words[MCP_APPEND_LIMIT] = mcp_append_limit(copy, a, copying);
    words[MCP_APPEND_TAKEN] = mcp_append_number(a, copying->taken);

    mcp_append_join_words(copy, a, copying);
    a->n = MCP_APPEND_ARGS;
}


/* What never changes is asked for once, and to begin the stream in Redis. */
static int
mcp_append_specify(mcp_copy_t *copy, mcp_append_t *a)
{
    int  rc;

    rc = mcp_store_share_spec(copy->cluster->worker->store, &copy->ref,
                              &a->about, &a->info, &a->request);

    if (rc == MCP_OK) {
        copy->max_wait = a->about.max_wait;
        copy->specified = 1;
    }

    if (rc == MCP_OK && copy->begin) {
        mcp_pack_spec(&a->spec, &a->about);
        rc = a->spec.failed;
    }

    return rc;
}


static int
mcp_append_make(mcp_copy_t *copy, mcp_append_t *a,
    const mcp_store_copying_t *copying)
{
    int       rc;
    uint64_t  first;

    if (mcp_buf_reserve(&a->numbers, MCP_APPEND_NUMBERS) == NULL) {
        return MCP_ERR_MEMORY;
    }

    a->from.at = copy->at;
    a->from.raw = a->raw;
    a->from.max = MCP_COPY_EVENTS;

    rc = mcp_append_take(copy, a, copying->own.seq);
    if (rc != MCP_OK) {
        return rc;
    }

    first = a->from.at.seq - a->from.n + 1;

    if (copy->begin || !copy->specified) {
        rc = mcp_append_specify(copy, a);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    /* those that were added while Redis was away, too */

    if (copying->listener && (copy->begin || copy->time == 0)) {
        rc = mcp_store_topics(copy->cluster->worker->store, &copy->ref,
                              &a->topics);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    if (mcp_due_is_short(copy, copying, &a->from)) {
        a->script = MCP_SCRIPT_EVENT;
        mcp_append_short(a, copying, first);

    } else {
        a->script = MCP_SCRIPT_APPEND;
        mcp_append_words(copy, a, copying, first);
    }

    mcp_append_events(a);

    return MCP_OK;
}


static void
mcp_append_free(mcp_append_t *a)
{
    mcp_buf_free(&a->numbers);
    mcp_buf_free(&a->messages);
    mcp_buf_free(&a->spec);
    mcp_buf_free(&a->request);
    mcp_buf_free(&a->topics);
}


/* What this node had under another id was taken over when that one was taken
 * for dead: if it has gone since, it was another node that ended it. */
static int
mcp_append_is_lost(const mcp_copy_t *copy)
{
    return copy->node != 0 && copy->node != copy->cluster->node;
}


/* The node was taken for dead.  A stream that Redis never had is begun by the
 * node that this one becomes; one that it had was taken over, and is over. */
static int
mcp_append_dead(mcp_copy_t *copy)
{
    if (copy->node != 0) {
        mcp_reap_fenced(copy);
        return MCP_AGAIN;
    }

    mcp_cluster_doubt(copy->cluster);

    return MCP_ERR_AWAY;
}


/* Takes a reply that leaves the stream as it is, or an error; returns what
 * mcp_append_taken() does. */
static int
mcp_append_refused(mcp_copy_t *copy, const mcp_reply_t *reply)
{
    const mcp_reply_t  *kind;

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "DEAD")) {
        return mcp_append_dead(copy);
    }

    if (mcp_reply_is(kind, "LATER")) {
        return MCP_ERR_AWAY;
    }

    mcp_cluster_strange(copy->cluster, "append", reply);

    return mcp_reap_displaced(copy, reply) ? MCP_AGAIN : MCP_ERR_AWAY;
}


/*
 * Takes the reply of the script.
 *
 * Returns MCP_OK: Redis has it; or
 *   MCP_DONE      another stream is to be joined instead
 *   MCP_AGAIN     there is more to say at once
 *   MCP_ERR_AWAY  it cannot take it now
 */
static int
mcp_append_taken(mcp_copy_t *copy, const mcp_reply_t *reply)
{
    const mcp_reply_t  *kind;

    /* no reply, or one about a stream that is gone: another one may have its id
     * by now */

    if (reply == NULL || copy->forgets) {
        return MCP_ERR_AWAY;
    }

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "OK")) {
        if (mcp_beside_is_late(copy)) {
            return MCP_ERR_AWAY;
        }

        copy->begin = 0;
        copy->displaced = 0;
        copy->node = copy->cluster->node;
        mcp_hear_readers(copy, reply);
        return MCP_OK;
    }

    if (mcp_reply_is(kind, "FENCED")
        || (mcp_reply_is(kind, "GONE") && mcp_append_is_lost(copy)))
    {
        mcp_reap_fenced(copy);

    } else if (mcp_reply_is(kind, "GONE") || mcp_reply_is(kind, "GAP")) {

        /* what is kept here makes it anew, or goes on where it ends */

        mcp_store_node_count(copy->cluster->worker->store, MCP_NODE_REFILLED);
        copy->begin |= mcp_reply_is(kind, "GONE") != 0;
        copy->refills = 1;
        memset(&copy->at, 0, sizeof(mcp_store_stand_t));
        copy->at.seq = mcp_reply_number(mcp_reply_item(reply, 1));

    } else if (mcp_reply_is(kind, "APPEND")) {
        copy->time = 0;

    } else if (mcp_reply_is(kind, "LIMIT")) {
        mcp_quota_refused(copy);

    } else if (mcp_reply_is(kind, "TAKEN")) {
        copy->claims = 0;
        mcp_beside_taken(copy, reply);
        return MCP_DONE;

    } else {
        return mcp_append_refused(copy, reply);
    }

    return MCP_AGAIN;
}


void
mcp_append_over(mcp_copy_t *copy, int rc)
{
    mcp_ask_t  *asks;

    if (!mcp_copy_returned(copy)) {
        return;
    }

    if (rc == MCP_ERR_AWAY || rc == MCP_DONE) {

        /* it is forgotten; or it begins with what is safe again, now or when
         * the link is up; or who wanted it frees it */

        copy->time = 0;
        mcp_copy_within(copy, copy->forgets ? 0 : rc == MCP_DONE
                              ? MCP_ASK_TIME : MCP_COPY_LATER);
        return;
    }

    asks = NULL;

    if (rc == MCP_OK) {
        copy->claims = 0;
        (void) mcp_store_acked(copy->cluster->worker->store, &copy->ref,
                               &copy->at);
        asks = mcp_copy_safe(copy, copy->at.seq);

        if (copy->says) {
            mcp_store_share_said(copy->cluster->worker->store, &copy->ref);
        }

        if (copy->expires) {
            mcp_notify_task(copy->cluster->worker, copy->ref.id);
        }
    }

    mcp_copy_look(copy);
    mcp_copy_answer(asks, MCP_OK);
}


static void
mcp_append_done(void *data, const mcp_reply_t *reply)
{
    int          rc;
    mcp_copy_t  *copy;

    copy = data;
    rc = mcp_append_taken(copy, reply);

    if (rc == MCP_OK) {
        mcp_confirm(copy);

    } else {
        mcp_append_over(copy, rc);
    }
}


static void
mcp_append_send(mcp_copy_t *copy, const mcp_store_copying_t *copying)
{
    int            rc;
    mcp_mem_t      mem;
    mcp_append_t  *a;

    mem = copy->cluster->worker->env->mem;
    a = mcp_mem_calloc(&mem, sizeof(mcp_append_t));

    if (a == NULL) {
        mcp_copy_within(copy, MCP_COPY_LATER);
        return;
    }

    mcp_buf_init(&a->numbers, &mem, SIZE_MAX / 2);
    mcp_buf_init(&a->messages, &mem, SIZE_MAX / 2);
    mcp_buf_init(&a->spec, &mem, SIZE_MAX / 2);
    mcp_buf_init(&a->request, &mem, SIZE_MAX / 2);
    mcp_buf_init(&a->topics, &mem, SIZE_MAX / 2);

    rc = mcp_append_make(copy, a, copying);

    if (rc == MCP_OK) {
        mcp_copy_run(copy, a->script, a->words, a->n, mcp_append_done);
    }

    if (copy->sending) {
        mcp_confirm_ask(copy->cluster);

        if (a->script == MCP_SCRIPT_APPEND) {
            mcp_due_told(copy, copying, &a->from);
        }

        copy->refills = 0;
        copy->at = a->from.at;
        copy->sent = copying->sent_seq;
        copy->says = (copying->asked && a->from.n == 0);

    } else if (rc != MCP_OK) {
        mcp_copy_within(copy, MCP_COPY_LATER);
    }

    mcp_append_free(a);
    mem.free(mem.ctx, a);
}


void
mcp_append_look(mcp_copy_t *copy, const mcp_store_copying_t *copying)
{
    if (copy->time == 0 && !copy->refills) {
        copy->at = copying->acked;
        copy->begin = !copying->created;
    }

    if (copy->at.seq >= copying->own.seq && !mcp_due_is(copy, copying)) {
        mcp_copy_within(copy, mcp_beside_how(copying) != copy->joined
                              ? MCP_COPY_TELL_TIME
                              : copy->cluster->conf->dead_after / 3);
        return;
    }

    if (!mcp_beside_gives_way(copy, copying) && mcp_copy_may_send(copy)) {
        mcp_append_send(copy, copying);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The replicator: appends new events of the owner's stream to Redis. An event
 * is replicated once Redis has acknowledged it. After each loss of the link,
 * the replicator sends all unacknowledged events again. Redis may then get an
 * event twice, which is harmless, because events have numbers.
 */


#include "cluster/mcp_cluster_replication.h"


/* --- when and what to send --- */

/* The functions mcp_append_policy_*() decide when the state of a stream is sent
 * to Redis, and by which script. Usually only new events are sent, by the short
 * script redis/append_events.lua. */

static int
mcp_append_policy_is_read(const mcp_store_replication_state_t *repl_state)
{
    return repl_state->consumer_slot != MCP_STORE_NO_SLOT
           || repl_state->readers;
}


/* Returns 1 if the keys of a stream must outlast the stream's time of expiry:
 * that time has passed or is less than a node timeout away, but the stream has
 * a reader. Returns 0 for the stream of a task. */
static int
mcp_append_policy_stays(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state, uint64_t now)
{
    return repl_state->end && !repl_state->expires
           && mcp_append_policy_is_read(repl_state)
           && repl_state->end < now + repl->cluster->conf->node_timeout;
}


/* Returns the size of the longest event in "from", or 0 without events. */
static size_t
mcp_append_policy_longest(const mcp_store_replicator_t *from)
{
    size_t  i, longest;

    longest = 0;

    for (i = 0; i < from->n; i++) {
        if (from->raw[i].len > longest) {
            longest = from->raw[i].len;
        }
    }

    return longest;
}


/* Returns 1 if the checkpoints "before" and "now" of a stream differ at most in
 * their event numbers, and the call is not over at "now". */
static int
mcp_append_policy_is_unchanged(const mcp_store_checkpoint_t *before,
    const mcp_store_checkpoint_t *now)
{
    return now->state == before->state && now->answered == before->answered
           && now->failed == before->failed
           && now->failed_seq == before->failed_seq
           && now->state < MCP_STATE_COMPLETED;
}


/* Returns 1 if redis/append.lua has to be sent for a reason other than new
 * events or the renewal of the stream's keys, for example because the state of
 * the stream has changed. */
static int
mcp_append_policy_has_news(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    return repl->time == 0 || repl->refills || repl_state->state_requests
           || repl->at.state != repl_state->own.state
           || repl->expires != repl_state->expires
           || repl->given != repl_state->given
           || repl->taken != repl_state->taken
           || (repl->stays && !mcp_append_policy_is_read(repl_state))
           || (repl_state->own.state >= MCP_STATE_COMPLETED
               && repl_state->sent_seq >= repl_state->own.seq
               && repl_state->sent_seq != repl->sent)
           || mcp_cluster_join_is_due(repl, repl_state)
           || (repl_state->listener
               && repl_state->consumer_slot == MCP_STORE_NO_SLOT
               && repl_state->sent_seq != repl->sent);
}


/* Returns 1 if the stream is active and Redis has its complete state, so that
 * only its keys have to be renewed. */
static int
mcp_append_policy_is_idle(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    return !repl_state->mirror && !repl_state->held && !repl_state->joins
           && repl_state->end == 0 && repl_state->expires == 0
           && repl->whole && !repl->begin
           && repl->at.seq == repl_state->own.seq
           && mcp_append_policy_is_unchanged(&repl->at, &repl_state->own)
           && repl->floor == repl_state->first_seq
           && repl->confirmed == repl_state->confirmed_seq
           && (repl_state->consumer_slot == MCP_STORE_REMOTE_CONSUMER
               || repl->sent == repl_state->sent_seq)
           && !mcp_append_policy_has_news(repl, repl_state);
}


/* Returns the number of the last event that Redis has or had. Clients may have
 * received it from Redis, even if Redis's reply did not arrive here. */
static uint64_t
mcp_append_policy_reached(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    return repl->reached > repl_state->acked.seq ? repl->reached
                                                 : repl_state->acked.seq;
}


/* Returns the interval at which redis/append.lua renews the keys of a stream,
 * ms. An idle stream usually does not reach its interval, because
 * mcp_keep_all() renews its keys earlier. */
static uint64_t
mcp_append_policy_period(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    return repl->cluster->conf->node_timeout
           / (mcp_append_policy_is_idle(repl, repl_state) ? 2 : 3);
}


/* Returns 1 if it is time to renew the stream's keys. A stream whose time
 * of expiry has passed is renewed only if it belongs to a task or has a
 * reader. */
static int
mcp_append_policy_continues(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state, uint64_t now)
{
    return now >= repl->time + mcp_append_policy_period(repl, repl_state)
           && (repl_state->end == 0 || now < repl_state->end
               || repl_state->expires
               || mcp_append_policy_is_read(repl_state));
}


/* Returns 1 if redis/append.lua has to be run even without new events: for
 * another change, or to renew the stream's keys. */
static int
mcp_append_policy_is_due(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    return mcp_append_policy_has_news(repl, repl_state)
           || mcp_append_policy_continues(repl, repl_state,
                                          mcp_worker_now(
                                              repl->cluster->worker));
}


/* Returns the time until the keys of a stream have to be renewed if the stream
 * does not change, ms. */
static uint64_t
mcp_append_policy_within(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    uint64_t  now, when;

    if (!mcp_append_policy_is_idle(repl, repl_state)) {
        return repl->cluster->conf->node_timeout / 3;
    }

    now = mcp_worker_now(repl->cluster->worker);
    when = repl->time + mcp_append_policy_period(repl, repl_state);

    return when > now ? when - now : repl->cluster->conf->node_timeout / 3;
}


/* Returns 1 if the events can be sent by redis/append_events.lua alone, because
 * redis/append.lua has sent everything else recently and nothing else has
 * changed. */
static int
mcp_append_policy_is_short(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state,
    const mcp_store_replicator_t *from)
{
    uint64_t  now;

    now = mcp_worker_now(repl->cluster->worker);

    return from->n && repl->whole && !repl->lacks
           && now < repl->whole + repl->cluster->conf->node_timeout / 3
           && !repl->begin && !repl->refills && repl->time
           && mcp_append_policy_is_unchanged(&repl->at, &from->at)
           && repl_state->end == 0 && !repl_state->joins
                  && repl_state->expires == 0
           && repl->expires == 0 && repl->taken == repl_state->taken
           && repl->floor == repl_state->first_seq
           && repl->confirmed == repl_state->confirmed_seq
           && mcp_append_policy_longest(from) <= repl->longest;
}


/* Records in repl that redis/append.lua was sent with the events in "from" and
 * with the complete state of the stream. */
static void
mcp_append_policy_sent(mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state,
    const mcp_store_replicator_t *from)
{
    size_t  longest;

    longest = mcp_append_policy_longest(from);

    repl->whole = repl->time;
    repl->expires = repl_state->expires;
    repl->given = repl_state->given;
    repl->taken = repl_state->taken;
    repl->joined = mcp_cluster_join_how(repl_state);
    repl->claims = mcp_cluster_join_claims(repl_state) != 0;
    repl->floor = repl_state->first_seq;
    repl->confirmed = repl_state->confirmed_seq;
    repl->over = from->at.state >= MCP_STATE_COMPLETED;
    repl->lacks =
        from->at.seq < mcp_append_policy_reached(repl, repl_state);
    repl->stays = (mcp_append_policy_stays(repl, repl_state, repl->time)
                   != 0);

    /* sets a new maximum if Redis has no earlier events or may have lost them;
     * otherwise the maximum only grows */

    if (repl->begin || repl->refills || longest > repl->longest) {
        repl->longest = longest;
    }
}


/* Returns the time after which the stream's keys in Redis expire without
 * renewal, ms. For an active stream, this includes the time for which other
 * nodes wait before they declare its node dead. */
static uint64_t
mcp_append_policy_lasts(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    uint64_t  now, until, slack;

    now = mcp_worker_now(repl->cluster->worker);
    until = now + repl->max_wait;
    slack = 2 * repl->cluster->conf->node_timeout;

    if (repl_state->expires) {
        until = repl_state->expires;

    } else if (repl_state->end) {
        until = repl_state->end;
    }

    until = until > now ? until - now : 1;

    if (mcp_append_policy_stays(repl, repl_state, now)) {
        until = repl->cluster->conf->node_timeout;
    }

    /* The node may die before Redis has decided whether the stream's call is
     * the first of several equal calls, or while requests at other nodes have
     * joined the call. The keys must last until another node has taken the
     * stream over and informed these requests. */

    if (repl_state->held || (repl_state->joins && !repl_state->end
                             && until < slack))
    {
        until = slack;
    }

    return repl_state->end ? until : until + slack;
}


/* --- commands --- */

/* Indexes of the arguments of redis/append.lua that follow the id of the stream
 * and precede the events. */
typedef enum {
    MCP_REPLICATOR_LASTS = 0,
    MCP_REPLICATOR_FIRST,
    MCP_REPLICATOR_FLOOR,
    MCP_REPLICATOR_SENT,
    MCP_REPLICATOR_CONFIRMED,
    MCP_REPLICATOR_STATE,
    MCP_REPLICATOR_NUMBER,
    MCP_REPLICATOR_GENERATION,
    MCP_REPLICATOR_TASK,
    MCP_REPLICATOR_SPEC,
    MCP_REPLICATOR_SESSION,
    MCP_REPLICATOR_PRINCIPAL,
    MCP_REPLICATOR_TOPICS,
    MCP_REPLICATOR_POSITION,
    MCP_REPLICATOR_LIMIT,
    MCP_REPLICATOR_DIGEST,
    MCP_REPLICATOR_CLAIMS,
    MCP_REPLICATOR_JOINED,
    MCP_REPLICATOR_TAKEN,
    MCP_REPLICATOR_REACHED,
    MCP_REPLICATOR_ARGS
} mcp_replicator_arg_e;


/* A command that is being built. */
typedef struct {
    mcp_buf_t               numbers;   /* memory for the numbers to which argv
                                          points */
    mcp_buf_t               messages;
    mcp_buf_t               spec;
    mcp_buf_t               request;
    mcp_buf_t               topics;
    mcp_store_replicator_t  from;
    mcp_store_raw_t         raw[MCP_REPLICATION_EVENTS];
    mcp_stream_spec_t       about;
    mcp_stream_info_t       info;
    char                    joined;
    mcp_script_e            script;
    size_t                  n;         /* number of arguments in argv */
    mcp_str_t               argv[MCP_REPLICATOR_ARGS
                                  + 2 * MCP_REPLICATION_EVENTS];
} mcp_replicator_t;


/* Size of the buffer mcp_replicator_t.numbers, enough for all numbers of a
 * command, bytes. The buffer must never be enlarged, because argv points into
 * it. */
#define MCP_REPLICATOR_NUMBERS                                                \
    (MCP_REPLICATOR_ARGS * 42 + MCP_CODEC_STATE_MAX + MCP_CODEC_TASK_MAX      \
     + MCP_REPLICATION_EVENTS * MCP_CODEC_ANSWERS_MAX)


/* Returns the text from the end of a->numbers up to "end", which the caller has
 * just written there, and adds it to a->numbers. */
static mcp_str_t
mcp_replicator_text(mcp_replicator_t *a, char *end)
{
    char  *p;

    p = a->numbers.data + a->numbers.len;
    a->numbers.len += (size_t) (end - p);

    return (mcp_str_t) { p, (size_t) (end - p) };
}


static mcp_str_t
mcp_replicator_number(mcp_replicator_t *a, uint64_t number)
{
    return mcp_replicator_text(a,
                               mcp_uint_print(a->numbers.data + a->numbers.len,
                                              number));
}


/* Returns, as an argument, the position of the last broadcast that a listener
 * has received. The argument is empty if the stream is not a listener, or has
 * events after those of this command. */
static mcp_str_t
mcp_replicator_position(mcp_replicator_t *a,
    const mcp_store_replication_state_t *repl_state)
{
    char  *end;

    if (!repl_state->listener || !a->from.complete) {
        return mcp_str("");
    }

    end = mcp_uint_print(a->numbers.data + a->numbers.len, a->from.received.ms);
    *end++ = '-';

    return mcp_replicator_text(a, mcp_uint_print(end, a->from.received.n));
}


/* Copies the next events of the stream from the store. "last" is the number of
 * the stream's last event. Enlarges the buffer if the first event to be copied
 * does not fit. Returns MCP_OK or an error. */
static int
mcp_replicator_take(mcp_replication_t *repl, mcp_replicator_t *a, uint64_t last)
{
    int                      rc;
    size_t                   cap;
    mcp_store_t             *store;
    mcp_store_replication_state_t  now;

    store = repl->cluster->worker->store;

    /* usually there is one short event, for which a small buffer suffices */

    cap = last - repl->at.seq > 1 ? MCP_REPLICATION_BYTES
                                  : MCP_REPLICATION_BYTES_ONE;

    for ( ;; cap = a->from.len) {
        a->from.buf = mcp_buf_reserve(&a->messages, cap);
        if (a->from.buf == NULL) {
            return MCP_ERR_MEMORY;
        }

        a->from.cap = cap;
        rc = mcp_store_replicator_read(store, &repl->ref, &a->from);

        if (rc == MCP_ERR_PURGED) {

            /* Redis lacks events that are no longer stored here: create the
             * stream in Redis from the first stored event on */

            rc = mcp_store_replication_state(store, &repl->ref, &now);
            repl->begin = 1;
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


/*
 * Returns an argument of redis/append.lua: the maximum number of active calls
 * of the stream's session. It is empty if the command does not create the
 * stream in Redis, or if the stream is not a call of a session. It is 0 (no
 * limit) if Redis has acknowledged the stream before, because an accepted
 * stream is not rejected later.
 */
static mcp_str_t
mcp_replicator_limit(mcp_replication_t *repl, mcp_replicator_t *a,
    const mcp_store_replication_state_t *repl_state)
{
    if (!repl->begin || repl_state->listener
        || mcp_digest_is_nobody(a->about.session))
    {
        return mcp_str("");
    }

    return mcp_replicator_number(a, repl_state->created ? 0 : repl->limit);
}


static void
mcp_replicator_join_arguments(mcp_replicator_t *a,
    const mcp_store_replication_state_t *repl_state)
{
    mcp_str_t  *argv;

    argv = a->argv;

    argv[MCP_REPLICATOR_DIGEST] = mcp_str("");
    argv[MCP_REPLICATOR_CLAIMS] = mcp_str("");
    a->joined = mcp_cluster_join_how(repl_state);
    argv[MCP_REPLICATOR_JOINED] =
        (mcp_str_t) { &a->joined, a->joined != '\0' };

    if (repl_state->joins) {
        argv[MCP_REPLICATOR_DIGEST] =
            (mcp_str_t) { (const char *) repl_state->join, MCP_DIGEST_LEN };
    }

    if (mcp_cluster_join_claims(repl_state)) {
        argv[MCP_REPLICATOR_CLAIMS] =
            !repl_state->once ? mcp_str("k")
            : repl_state->stateless ? mcp_str("i") : mcp_str("o");
    }
}


static mcp_str_t
mcp_replicator_sent(mcp_replicator_t *a,
                    const mcp_store_replication_state_t *repl_state)
{
    return repl_state->consumer_slot == MCP_STORE_REMOTE_CONSUMER
           ? mcp_str("") : mcp_replicator_number(a, repl_state->sent_seq);
}


static void
mcp_replicator_events(mcp_replicator_t *a)
{
    size_t      i;
    mcp_str_t  *argv;

    argv = a->argv + a->n;

    for (i = 0; i < a->from.n; i++) {
        *argv++ = (mcp_str_t) { a->from.buf + a->raw[i].offset,
                                 a->raw[i].len };
        *argv++ =
            mcp_replicator_text(a, mcp_codec_encode_answers(a->numbers.data
                                                              + a->numbers.len,
                                                          &a->raw[i]));
    }

    a->n += 2 * a->from.n;
}


/* Fills in the arguments of redis/append_events.lua. */
static void
mcp_replicator_short(mcp_replicator_t *a,
    const mcp_store_replication_state_t *repl_state, uint64_t first)
{
    a->argv[0] = mcp_replicator_number(a, first);
    a->argv[1] = mcp_replicator_sent(a, repl_state);
    a->argv[2] = mcp_replicator_position(a, repl_state);
    a->n = 3;
}


static void
mcp_replicator_arguments(mcp_replication_t *repl, mcp_replicator_t *a,
    const mcp_store_replication_state_t *repl_state, uint64_t first)
{
    uint64_t          number;
    mcp_str_t        *argv;
    mcp_codec_task_t  task = { repl_state->expires, repl_state->kept,
                              repl_state->changed, repl_state->given };

    argv = a->argv;
    number = repl_state->reader ? repl_state->reader : 1;

    argv[MCP_REPLICATOR_LASTS] =
        mcp_replicator_number(a, mcp_append_policy_lasts(repl, repl_state));
    argv[MCP_REPLICATOR_FIRST] = mcp_replicator_number(a, first);
    argv[MCP_REPLICATOR_FLOOR] = mcp_replicator_number(a,
                                                       repl_state->first_seq);
    argv[MCP_REPLICATOR_SENT] = mcp_replicator_sent(a, repl_state);
    argv[MCP_REPLICATOR_CONFIRMED] =
        mcp_replicator_number(a, repl_state->confirmed_seq);
    argv[MCP_REPLICATOR_STATE] = mcp_replicator_text(a,
        mcp_codec_encode_state(a->numbers.data + a->numbers.len, &a->from.at));
    argv[MCP_REPLICATOR_NUMBER] = mcp_replicator_number(a, number);
    argv[MCP_REPLICATOR_GENERATION] =
        mcp_replicator_number(a, repl_state->generation);
    argv[MCP_REPLICATOR_TASK] = mcp_replicator_text(a,
        mcp_codec_encode_task(a->numbers.data + a->numbers.len, &task));
    argv[MCP_REPLICATOR_SPEC] = (mcp_str_t) { a->spec.data, a->spec.len };
    argv[MCP_REPLICATOR_SESSION] = (mcp_str_t) {
        (const char *) repl->session, MCP_DIGEST_LEN };
    argv[MCP_REPLICATOR_PRINCIPAL] = (mcp_str_t) {
        (const char *) a->about.principal, MCP_DIGEST_LEN };
    argv[MCP_REPLICATOR_TOPICS] =
        (mcp_str_t) { a->topics.data, a->topics.len };
    argv[MCP_REPLICATOR_POSITION] = mcp_replicator_position(a, repl_state);
    argv[MCP_REPLICATOR_LIMIT] = mcp_replicator_limit(repl, a, repl_state);
    argv[MCP_REPLICATOR_TAKEN] = mcp_replicator_number(a, repl_state->taken);

    argv[MCP_REPLICATOR_REACHED] =
        mcp_replicator_number(a, mcp_append_policy_reached(repl, repl_state));

    mcp_replicator_join_arguments(a, repl_state);
    a->n = MCP_REPLICATOR_ARGS;
}


/* Reads the constant values of the stream from the store. If the command
 * creates the stream in Redis, also encodes them into a->spec. Returns MCP_OK
 * or an error. */
static int
mcp_replicator_specify(mcp_replication_t *repl, mcp_replicator_t *a)
{
    int  rc;

    rc = mcp_store_replication_spec(repl->cluster->worker->store, &repl->ref,
                                    &a->about, &a->info, &a->request);

    if (rc == MCP_OK) {
        repl->max_wait = a->about.max_wait;
        memcpy(repl->session, a->about.session, MCP_DIGEST_LEN);
        repl->specified = 1;
    }

    if (rc == MCP_OK && repl->begin) {
        mcp_codec_encode_spec(&a->spec, &a->about);
        rc = a->spec.failed;
    }

    return rc;
}


static int
mcp_replicator_make(mcp_replication_t *repl, mcp_replicator_t *a,
    const mcp_store_replication_state_t *repl_state)
{
    int       rc;
    uint64_t  first;

    if (mcp_buf_reserve(&a->numbers, MCP_REPLICATOR_NUMBERS) == NULL) {
        return MCP_ERR_MEMORY;
    }

    a->from.at = repl->at;
    a->from.raw = a->raw;
    a->from.max = MCP_REPLICATION_EVENTS;

    rc = mcp_replicator_take(repl, a, repl_state->own.seq);
    if (rc != MCP_OK) {
        return rc;
    }

    first = a->from.at.seq - a->from.n + 1;

    if (repl->begin || !repl->specified) {
        rc = mcp_replicator_specify(repl, a);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    /* send all topics, because some may have been added while Redis was
     * unreachable */

    if (repl_state->listener && (repl->begin || repl->time == 0)) {
        rc = mcp_store_topics(repl->cluster->worker->store, &repl->ref,
                              &a->topics);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    if (mcp_append_policy_is_short(repl, repl_state, &a->from)) {
        a->script = MCP_SCRIPT_EVENT;
        mcp_replicator_short(a, repl_state, first);

    } else {
        a->script = MCP_SCRIPT_APPEND;
        mcp_replicator_arguments(repl, a, repl_state, first);
    }

    mcp_replicator_events(a);

    return MCP_OK;
}


static void
mcp_replicator_free(mcp_replicator_t *a)
{
    mcp_buf_free(&a->numbers);
    mcp_buf_free(&a->messages);
    mcp_buf_free(&a->spec);
    mcp_buf_free(&a->request);
    mcp_buf_free(&a->topics);
}


static void
mcp_replicator_send(mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    int                rc;
    mcp_replicator_t  *a;
    const mcp_mem_t   *mem;

    mem = &repl->cluster->worker->env->mem;
    a = mcp_mem_calloc(mem, sizeof(mcp_replicator_t));

    if (a == NULL) {
        mcp_replication_within(repl, MCP_REPLICATION_LATER);
        return;
    }

    mcp_buf_init(&a->numbers, mem, SIZE_MAX / 2);
    mcp_buf_init(&a->messages, mem, SIZE_MAX / 2);
    mcp_buf_init(&a->spec, mem, SIZE_MAX / 2);
    mcp_buf_init(&a->request, mem, SIZE_MAX / 2);
    mcp_buf_init(&a->topics, mem, SIZE_MAX / 2);

    rc = mcp_replicator_make(repl, a, repl_state);

    if (rc != MCP_OK) {
        mcp_replication_within(repl, MCP_REPLICATION_LATER);

    } else if (mcp_replication_run(repl, a->script, a->argv, a->n,
                                   mcp_replicator_done)
               == MCP_OK)
    {
        mcp_replica_ack_wait(repl->cluster);

        if (a->script == MCP_SCRIPT_APPEND) {
            mcp_append_policy_sent(repl, repl_state, &a->from);
        }

        repl->refills = 0;
        repl->at = a->from.at;

        if (repl->at.seq > repl->reached) {
            repl->reached = repl->at.seq;
        }

        repl->sent = repl_state->sent_seq;
        repl->reports_state = (repl_state->state_requests && a->from.n == 0);
    }

    mcp_replicator_free(a);
    mcp_mem_free(mem, a);
}


void
mcp_replicator_check(mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    if (repl->time == 0 && !repl->refills) {
        repl->at = repl_state->acked;
        repl->begin = !repl_state->created;
    }

    if (repl->at.seq >= repl_state->own.seq
        && !mcp_append_policy_is_due(repl, repl_state))
    {
        mcp_replication_within(repl,
                               mcp_cluster_join_how(repl_state) != repl->joined
                              ? MCP_REPLICATION_SEND_TIME
                              : mcp_append_policy_within(repl, repl_state));
        return;
    }

    if (!mcp_cluster_join_gives_way(repl, repl_state)
        && mcp_replication_may_send(repl)) {
        mcp_replicator_send(repl, repl_state);
    }
}


/* --- renewal of idle streams --- */

/* Renews the keys of idle streams in Redis, up to 64 streams in one command, so
 * that idle streams cost Redis little. */


/* Maximum number of streams in one command with redis/keep.lua, and the numbers
 * of arguments and of keys for each stream. */
#define MCP_KEEP_MAX   64
#define MCP_KEEP_ARGS  3
#define MCP_KEEP_KEYS  7


/* A command with redis/keep.lua whose reply is pending. The replications of
 * its streams are not freed before the reply, because their phase is
 * MCP_REPLICATION_SENT. */
typedef struct {
    mcp_cluster_t      *cluster;
    size_t              n;
    mcp_replication_t  *repls[MCP_KEEP_MAX];
} mcp_keep_t;


/* The arguments of redis/keep.lua, and the keys of the streams. */
typedef struct {
    char       ids[MCP_KEEP_MAX][MCP_STREAM_TEXT_LEN];
    char       numbers[MCP_KEEP_MAX][2][20];
    mcp_str_t  args[MCP_KEEP_MAX * MCP_KEEP_ARGS];
    char       names[MCP_KEEP_MAX * MCP_KEEP_KEYS][MCP_CLUSTER_KEY_MAX];
    mcp_str_t  keys[MCP_KEEP_MAX * MCP_KEEP_KEYS];
} mcp_keep_argv_t;


static void mcp_keep_continue(mcp_cluster_t *cluster);


static void
mcp_keep_done(void *data, const mcp_reply_t *reply)
{
    int             is_good;
    size_t          i;
    mcp_keep_t     *keep;
    mcp_cluster_t  *cluster;

    keep = data;
    cluster = keep->cluster;
    cluster->keeping = 0;

    /* after an error, redis/append.lua is called for each stream separately,
     * and its reply contains the reason */

    is_good = reply && mcp_reply_is(mcp_reply_item(reply, 0), "OK")
              && reply->n == 1 + keep->n;

    for (i = 0; i < keep->n; i++) {
        mcp_replicator_done(keep->repls[i],
                            is_good ? mcp_reply_item(reply, 1 + i) : NULL);
    }

    mcp_mem_free(&cluster->worker->env->mem, keep);

    if (is_good) {
        mcp_keep_continue(cluster);
    }
}


/* Returns 1 and fills *repl_state if the stream is idle, has no command
 * pending, and was last renewed at least a twelfth of the node timeout ago. */
static int
mcp_keep_is_due(const mcp_replication_t *repl, uint64_t now,
    mcp_store_replication_state_t *repl_state)
{
    return repl->phase == MCP_REPLICATION_IDLE && repl->time
           && now >= repl->time + repl->cluster->conf->node_timeout / 12
           && mcp_store_replication_state(repl->cluster->worker->store,
                                          &repl->ref,
                                repl_state)
              == MCP_OK
           && mcp_append_policy_is_idle(repl, repl_state);
}


static void
mcp_keep_add_keys(const mcp_keep_t *keep, mcp_keep_argv_t *argv,
    const mcp_replication_t *repl)
{
    size_t     i, n;
    mcp_str_t  of;

    static const mcp_key_e  kinds[MCP_KEEP_KEYS] = {
        MCP_KEY_HEAD, MCP_KEY_LOG, MCP_KEY_SPEC, MCP_KEY_TOPICS,
        MCP_KEY_LISTENERS, MCP_KEY_STREAMS, MCP_KEY_CALLS
    };

    for (i = 0; i < MCP_KEEP_KEYS; i++) {
        n = keep->n * MCP_KEEP_KEYS + i;
        of = argv->args[keep->n * MCP_KEEP_ARGS];

        if (kinds[i] == MCP_KEY_STREAMS || kinds[i] == MCP_KEY_CALLS) {
            of.data = (const char *) repl->session;
            of.len = MCP_DIGEST_LEN;
        }

        argv->keys[n] = mcp_cluster_key(keep->cluster, kinds[i], of,
                                        argv->names[n]);
    }
}


static void
mcp_keep_add(mcp_keep_t *keep, mcp_keep_argv_t *argv, mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    char       *text;
    mcp_str_t  *args;

    args = &argv->args[keep->n * MCP_KEEP_ARGS];

    (void) mcp_stream_id_print(argv->ids[keep->n], repl->ref.id);
    args[0] = (mcp_str_t) { argv->ids[keep->n], MCP_STREAM_TEXT_LEN };

    text = argv->numbers[keep->n][0];
    args[1].data = text;
    args[1].len = (size_t) (mcp_uint_print(text, repl->at.seq) - text);

    text = argv->numbers[keep->n][1];
    args[2].data = text;
    args[2].len =
        (size_t) (mcp_uint_print(text, mcp_append_policy_lasts(repl,
                                                               repl_state))
                  - text);

    mcp_keep_add_keys(keep, argv, repl);
    keep->repls[keep->n++] = repl;
}


/* Adds to the command the streams whose keys have to be renewed, beginning with
 * the bucket cluster->kept. If the command becomes full, sets cluster->kept to
 * the bucket with which the next command begins. */
static void
mcp_keep_take(mcp_keep_t *keep, mcp_keep_argv_t *argv)
{
    uint64_t                 now;
    mcp_replication_t       *repl;
    mcp_cluster_t           *cluster;
    mcp_store_replication_state_t  repl_state;

    cluster = keep->cluster;
    now = mcp_worker_now(cluster->worker);

    for ( ; cluster->kept < MCP_CLUSTER_BUCKETS; cluster->kept++) {
        for (repl = cluster->repls[cluster->kept]; repl; repl = repl->next) {
            if (!mcp_keep_is_due(repl, now, &repl_state)) {
                continue;
            }

            if (keep->n == MCP_KEEP_MAX) {
                return;
            }

            mcp_keep_add(keep, argv, repl, &repl_state);
        }
    }
}


static int
mcp_keep_send(mcp_keep_t *keep, const mcp_keep_argv_t *argv)
{
    size_t              i;
    uint64_t            now;
    mcp_replication_t  *repl;
    mcp_cluster_t      *cluster;

    cluster = keep->cluster;

    if (keep->n == 0
        || mcp_cluster_run_with_keys(cluster, MCP_SCRIPT_KEEP, argv->keys,
                                     keep->n * MCP_KEEP_KEYS, argv->args,
                                     keep->n * MCP_KEEP_ARGS, mcp_keep_done,
                                     keep)
           != MCP_OK)
    {
        return 0;
    }

    now = mcp_worker_now(cluster->worker);

    for (i = 0; i < keep->n; i++) {
        repl = keep->repls[i];
        mcp_replication_set_phase(repl, MCP_REPLICATION_SENT);
        repl->reports_state = 0;
        repl->time = now;
        repl->whole = now;
    }

    mcp_replica_ack_wait(cluster);

    return 1;
}


/* Sends the next redis/keep.lua, but only if none is pending, so that a
 * client's command on the same connection waits for one redis/keep.lua at
 * most. */
static void
mcp_keep_continue(mcp_cluster_t *cluster)
{
    mcp_keep_t       *keep;
    mcp_keep_argv_t  *argv;
    const mcp_mem_t  *mem;

    if (cluster->keeping || cluster->state != MCP_CLUSTER_MEMBER
        || !mcp_link_has_room(&cluster->link))
    {
        return;
    }

    mem = &cluster->worker->env->mem;
    keep = mcp_mem_calloc(mem, sizeof(mcp_keep_t));
    argv = mem->alloc(mem->ctx, sizeof(mcp_keep_argv_t));

    if (keep && argv) {
        keep->cluster = cluster;
        mcp_keep_take(keep, argv);
        cluster->keeping = mcp_keep_send(keep, argv) != 0;
    }

    if (!cluster->keeping) {
        mcp_mem_free(mem, keep);
    }

    mcp_mem_free(mem, argv);
}


void
mcp_keep_all(mcp_cluster_t *cluster)
{
    cluster->kept = 0;
    mcp_keep_continue(cluster);
}

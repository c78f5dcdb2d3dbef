/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An exchange that reads a stream: how it begins (priming), goes on
 * (keep-alive comments), and ends (response sent, close at will, take-over).
 * 2025-11-25, basic/transports, "Sending Messages to the Server" and
 * "Resumability and Redelivery".
 */

#include "http/mcp_id.h"
#include "worker/mcp_answer.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_hook.h"
#include "worker/mcp_notify.h"


#define MCP_CONSUMER_ASKED_RETRY  100          /* ms */
#define MCP_CONSUMER_TAKEN_RETRY  30000        /* ms, at most */


static void mcp_consumer_timer(void *data);
static void mcp_consumer_wake(void *data);


static uint64_t
mcp_consumer_now(mcp_exchange_t *x)
{
    return x->worker->env->now(x->worker->env->ctx);
}


static void
mcp_consumer_arm(mcp_exchange_t *x)
{
    uint64_t  when;

    when = UINT64_MAX;

    if (x->endpoint->keepalive) {
        when = x->last_write + x->endpoint->keepalive;
    }

    if (x->close_at && x->close_at < when) {
        when = x->close_at;
    }

    if (when != UINT64_MAX) {
        mcp_timer_set(&x->worker->timers, &x->timer, when);
    }
}


static void
mcp_consumer_ready(mcp_exchange_t *x)
{
    /* a STREAM action that is still queued leads to a pull, too */

    if (x->task.link || x->done) {
        return;
    }

    x->task.action.type = MCP_ACT_PULL;
    mcp_worker_queue(x->worker, &x->task);
}


static void
mcp_consumer_timer(void *data)
{
    uint64_t         now;
    mcp_exchange_t  *x;

    x = data;
    now = mcp_consumer_now(x);

    if (x->close_at && now >= x->close_at) {
        x->closing = 1;
        mcp_consumer_ready(x);
        return;
    }

    if (x->endpoint->keepalive
        && now >= x->last_write + x->endpoint->keepalive)
    {
        x->comment = 1;
        x->last_write = now;
        mcp_consumer_ready(x);
    }

    mcp_consumer_arm(x);
}


static void
mcp_consumer_head(mcp_exchange_t *x)
{
    x->state = MCP_EXCHANGE_STREAM;
    x->response.status = 200;
    x->response.content_type = mcp_str("text/event-stream");
    x->response.body = mcp_null_str;

    mcp_answer_header(x, mcp_str("Cache-Control"), mcp_str("no-cache"));
    mcp_answer_header(x, mcp_str("X-Accel-Buffering"), mcp_str("no"));

    mcp_hook_head(x);
}


int
mcp_consumer_start(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    uint64_t after)
{
    int   rc, taken;
    char  id[9];

    x->handle = mcp_worker_handle(x->worker, x, mcp_consumer_wake,
                                  mcp_consumer_wake);
    if (x->handle == 0) {
        return MCP_ERR_MEMORY;
    }

    rc = mcp_store_watch(x->worker->store, ref, x->handle, after, &x->cursor,
                         &taken);
    if (rc != MCP_OK) {
        mcp_worker_drop_handle(x->worker, x->handle);
        x->handle = 0;
        return rc;
    }

    if (taken) {
        mcp_store_count(x->worker->store, MCP_COUNT_TAKEOVERS, 1);
    }

    if (mcp_worker_logs(x->worker, MCP_LOG_DEBUG)) {
        mcp_stream_id_short(id, ref->id);
        mcp_worker_log(x->worker, MCP_LOG_DEBUG,
                     "stream %s: consumer after %llu%s", id,
                     (unsigned long long) after, taken ? ", taken over" : "");
    }

    mcp_store_count(x->worker->store, MCP_COUNT_CONSUMERS_LIVE, 1);
    x->worker->consumers++;

    x->ref = *ref;
    x->first = after;
    x->sent = after;
    x->priming = 1;
    x->last_write = mcp_consumer_now(x);
    x->timer.handler = mcp_consumer_timer;
    x->timer.data = x;
    x->outcome = "stream";
    x->out.len = 0;

    mcp_consumer_head(x);
    mcp_consumer_arm(x);

    return MCP_OK;
}


/* Events that the client may not have are not there any more: it is told, and
 * so is the operator.  This has no event id: it is about this client, and not
 * of the log. */
static void
mcp_consumer_tell_gap(mcp_exchange_t *x, uint64_t events)
{
    char  id[9];

    mcp_stream_id_short(id, x->ref.id);
    mcp_worker_log(x->worker, MCP_LOG_NOTICE,
                 "stream %s: %llu events that its client may not have are not "
                 "kept any more", id, (unsigned long long) events);

    if (!mcp_notify_log_wanted(x->worker, x->session.id,
                               mcp_str("\"error\"")))
    {
        return;
    }

    mcp_buf_lit(&x->out, "data: {\"jsonrpc\":\"2.0\","
                         "\"method\":\"notifications/message\","
                         "\"params\":{\"level\":\"error\",\"logger\":\"mcp\","
                         "\"data\":{\"text\":\"Messages that came before "
                         "may not have arrived, and are not kept any more\","
                         "\"events\":");
    mcp_buf_int(&x->out, (int64_t) events);
    mcp_buf_lit(&x->out, "}}}\n\n");

    if (x->out.failed) {
        x->out.len = 0;
    }
}


int
mcp_consumer_start_kept(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t after)
{
    int                rc;
    uint64_t           known, start;
    mcp_stream_info_t  now;

    now = *info;

    /* whoever reads the stream meanwhile may drop events of it meanwhile */

    do {
        start = after + 1 < now.first_seq ? now.first_seq - 1 : after;
        rc = mcp_consumer_start(x, &info->ref, start);

    } while (rc == MCP_ERR_PURGED
             && mcp_store_info(x->worker->store, &info->ref, &now) == MCP_OK);

    known = after > now.confirmed_seq ? after : now.confirmed_seq;

    if (rc == MCP_OK && start > known) {
        mcp_consumer_tell_gap(x, start - known);
    }

    return rc;
}


void
mcp_consumer_leave(mcp_exchange_t *x)
{
    if (x->handle == 0) {
        return;
    }

    mcp_timer_del(&x->worker->timers, &x->timer);

    mcp_store_unwatch(x->worker->store, &x->ref, x->handle, x->sent,
                      mcp_consumer_now(x));
    mcp_worker_drop_handle(x->worker, x->handle);

    mcp_store_count(x->worker->store, MCP_COUNT_CONSUMERS_LIVE, -1);
    x->worker->consumers--;

    x->state = MCP_EXCHANGE_ENDED;
}


/* There is something to read, or the process winds up: the next pull finds out
 * which. */
static void
mcp_consumer_wake(void *data)
{
    mcp_exchange_t  *x;

    x = data;

    if (x->state == MCP_EXCHANGE_STREAM) {
        mcp_consumer_ready(x);
    }
}


void
mcp_exchange_close(mcp_exchange_t *x)
{
    x->stopping = 1;
    mcp_consumer_wake(x);
}


/*
 * Whether to close at will now.  A process that winds up, or has other work
 * for what serves this one, sends its consumers on, but only those who can
 * come back: a client that has seen neither an id nor a URL on this connection
 * would wait for ever.
 */
static int
mcp_consumer_is_closing(const mcp_exchange_t *x)
{
    if (x->closing) {
        return 1;
    }

    return (x->stopping || x->worker->stopping) && !x->bound
           && (x->listener || mcp_revision(x->session.revision)->priming
               || x->link.given || x->cursor.seq > x->first);
}


/* Whether the client cannot have more than what its connection begins after:
 * it says so, or it did not come back by a face. */
static int
mcp_consumer_is_placed(const mcp_exchange_t *x)
{
    return x->face == NULL || x->event_id.len;
}


/*
 * The first bytes of a stream, at once, so that nobody waits for a head.  A
 * priming event where the revision has it, also on resumed streams: the
 * official clients lose their place on a connection that brought no id.  Who
 * named no event may have more than what comes again: it is told none, and
 * keeps its place.  Older clients may choke on empty data: a comment.  Those
 * who come back have been told when, and are told again for the next time:
 * they may have been told to hurry.
 */
static char *
mcp_consumer_prime(mcp_exchange_t *x, char *p)
{
    int  priming;

    x->priming = 0;

    if (x->face && x->face->read) {
        priming = 0;

    } else {
        priming = mcp_revision(x->session.revision)->priming;
    }

    if (priming && mcp_consumer_is_placed(x)) {
        return mcp_sse_priming(p, x->ref.id, x->first, x->endpoint->retry);
    }

    memcpy(p, MCP_SSE_COMMENT, sizeof(MCP_SSE_COMMENT) - 1);
    p += sizeof(MCP_SSE_COMMENT) - 1;

    if ((priming || x->link.given) && !x->call && x->endpoint->retry) {
        p = mcp_sse_retry(p, x->endpoint->retry);
    }

    return p;
}


/* What is not in the log: as much as fits. */
static char *
mcp_consumer_flush(mcp_exchange_t *x, char *p, char *end)
{
    size_t  n;

    n = x->out.len - x->pos;

    if (n > (size_t) (end - p)) {
        n = (size_t) (end - p);
    }

    memcpy(p, x->out.data + x->pos, n);
    x->pos += n;

    if (x->pos == x->out.len) {
        x->out.len = 0;
        x->pos = 0;
    }

    return p + n;
}


/* Events that the consumer has not, or those of its face instead. */
static int
mcp_consumer_read(mcp_exchange_t *x, char *p, size_t cap, size_t *len)
{
    int  rc;

    if (x->face == NULL || x->face->read == NULL) {
        return mcp_store_read(x->worker->store, &x->ref, x->handle, &x->cursor,
                              x->sent, p, cap, len);
    }

    rc = x->face->read(x);

    if (rc == MCP_OK) {
        *len = (size_t) (mcp_consumer_flush(x, p, p + cap) - p);

    } else {
        x->out.len = 0;
    }

    return rc;
}


/* Without memory for them, last words are left out. */
static void
mcp_consumer_tail(mcp_exchange_t *x, mcp_tail_e how)
{
    mcp_hook_tail(x, how);

    if (x->out.failed) {
        x->out.len = 0;
        x->pos = 0;
    }
}


/* Behind a question the client comes back as soon as it may: somebody waits for
 * what it has to say. */
static uint64_t
mcp_consumer_retry(mcp_exchange_t *x)
{
    mcp_stream_info_t  info;

    if (x->endpoint->retry > MCP_CONSUMER_ASKED_RETRY
        && mcp_store_info(x->worker->store, &x->ref, &info) == MCP_OK
        && info.state == MCP_STATE_INPUT_REQUIRED)
    {
        return MCP_CONSUMER_ASKED_RETRY;
    }

    return x->endpoint->retry;
}


/* The connection is to be closed while the stream goes on: the client comes
 * back, and is told when. */
static char *
mcp_consumer_part(mcp_exchange_t *x, char *p)
{
    x->outcome = "closed";
    mcp_consumer_tail(x, MCP_TAIL_PARTED);

    return x->out.len ? p : mcp_sse_retry(p, mcp_consumer_retry(x));
}


/* Another connection has the stream.  Should that be another client, and this
 * one come back for it, it is not at once, and later each time. */
static char *
mcp_consumer_yield(mcp_exchange_t *x, char *p)
{
    uint32_t           n;
    uint64_t           retry;
    mcp_stream_info_t  info;

    mcp_consumer_tail(x, MCP_TAIL_TAKEN);

    /* in the middle of an event it would be part of that */

    if (x->out.len || x->cursor.done
        || mcp_store_info(x->worker->store, &x->ref, &info) != MCP_OK)
    {
        return p;
    }

    retry = x->endpoint->retry ? x->endpoint->retry : 1;

    for (n = info.takeovers; n > 1 && retry < MCP_CONSUMER_TAKEN_RETRY; n--) {
        retry *= 2;
    }

    if (retry > MCP_CONSUMER_TAKEN_RETRY) {
        retry = x->endpoint->retry > MCP_CONSUMER_TAKEN_RETRY
                ? x->endpoint->retry : MCP_CONSUMER_TAKEN_RETRY;
    }

    return mcp_sse_retry(p, retry);
}


/* Whether the connection is about to be closed while its stream goes on.  One
 * that is over, or another's by now, ends as such, whatever else the
 * connection was about to be closed for. */
static int
mcp_consumer_is_parting(mcp_exchange_t *x)
{
    mcp_stream_info_t  info;

    return mcp_consumer_is_closing(x)
           && mcp_store_info(x->worker->store, &x->ref, &info) == MCP_OK
           && (info.state < MCP_STATE_COMPLETED
               || x->cursor.seq < info.last_seq)
           && info.consumer_slot == x->worker->store->slot
           && info.consumer_handle == x->handle;
}


/* Nothing to read for now: a comment if one is due. */
static char *
mcp_consumer_idle(mcp_exchange_t *x, char *p)
{
    if (x->comment) {
        memcpy(p, MCP_SSE_COMMENT, sizeof(MCP_SSE_COMMENT) - 1);
        p += sizeof(MCP_SSE_COMMENT) - 1;
        x->comment = 0;
    }

    return p;
}


/* Whether to end, now that another one reads the stream: between two events,
 * a face may have its connection wait until it is closed at will. */
static int
mcp_consumer_is_taken(mcp_exchange_t *x)
{
    x->outcome = "taken-over";

    return x->cursor.done || x->closing || x->stopping || x->worker->stopping
           || !mcp_hook_stays(x);
}


static void
mcp_consumer_ended(mcp_exchange_t *x)
{
    mcp_stream_info_t  info;

    x->outcome = "complete";

    if (mcp_store_info(x->worker->store, &x->ref, &info) == MCP_OK) {
        x->ending = mcp_ending_of(&info);
    }

    mcp_consumer_tail(x, MCP_TAIL_OVER);
}


/* One round of reading; the end of what was written. */
static char *
mcp_consumer_fill(mcp_exchange_t *x, char *p, char *end, int *rc)
{
    size_t  n;

    /* all that was pulled before is in the socket, but for what was skipped */

    x->sent = x->cursor.seq;

    if (x->cursor.skipped && x->sent >= x->cursor.skipped) {
        x->sent = x->cursor.skipped - 1;
    }

    n = 0;

    if (x->exact && x->cursor.done == 0 && x->cursor.seq > x->first
        && mcp_consumer_is_parting(x))
    {
        *rc = MCP_AGAIN;

    } else {
        *rc = mcp_consumer_read(x, p, (size_t) (end - p) - MCP_SSE_RETRY_MAX,
                                &n);
        p += n;
    }

    /* close at will between two events, however fast they come */

    if (*rc == MCP_OK && x->cursor.done == 0 && !x->exact
        && mcp_consumer_is_parting(x))
    {
        *rc = MCP_AGAIN;
    }

    switch (*rc) {

    case MCP_OK:
        x->comment = 0;
        break;

    case MCP_AGAIN:
        if (mcp_consumer_is_closing(x) || mcp_hook_idle(x)) {
            p = mcp_consumer_part(x, p);
            *rc = MCP_DONE;
            break;
        }

        p = mcp_consumer_idle(x, p);
        break;

    case MCP_DONE:
        mcp_consumer_ended(x);
        break;

    case MCP_ERR_DENIED:
        if (mcp_consumer_is_taken(x)) {
            p = mcp_consumer_yield(x, p);
            *rc = MCP_DONE;
            break;
        }

        p = mcp_consumer_idle(x, p);
        *rc = MCP_AGAIN;
        break;

    default:
        x->outcome = "gone";
        mcp_consumer_tail(x, MCP_TAIL_LOST);
        *rc = MCP_DONE;
        break;
    }

    return p;
}


int
mcp_exchange_pull(mcp_exchange_t *x, char *buf, size_t cap, size_t *len)
{
    int    rc;
    char  *p, *end;

    p = buf;
    end = buf + cap;
    *len = 0;

    if (x->state != MCP_EXCHANGE_STREAM) {
        return MCP_DONE;
    }

    if (x->priming) {
        p = mcp_consumer_prime(x, p);
    }

    rc = MCP_OK;

    if (x->out.len == 0 && !x->last) {
        p = mcp_consumer_fill(x, p, end, &rc);
        x->last = (rc == MCP_DONE);
    }

    if (x->out.len) {
        p = mcp_consumer_flush(x, p, end);
        rc = MCP_OK;
    }

    if (x->last && x->out.len == 0) {
        rc = MCP_DONE;

    } else if (rc == MCP_AGAIN && p != buf) {
        rc = MCP_OK;
    }

    if (p != buf) {
        x->last_write = mcp_consumer_now(x);
    }

    if (rc == MCP_DONE) {
        x->done = 1;
        mcp_timer_del(&x->worker->timers, &x->timer);
    }

    *len = (size_t) (p - buf);

    return rc;
}


static int
mcp_consumer_fault(mcp_exchange_t *x, int rc)
{
    mcp_fault_e  fault;

    switch (rc) {

    case MCP_ERR_PURGED:
        fault = MCP_FAULT_EVENT_PURGED;
        break;

    case MCP_ERR_FULL:
        fault = MCP_FAULT_STORE_FULL;
        break;

    case MCP_ERR_LIMIT:
        fault = MCP_FAULT_TOO_MANY_STREAMS;
        break;

    case MCP_ERR_NOT_FOUND:
    case MCP_ERR_DENIED:
        fault = MCP_FAULT_EVENT_ID_UNKNOWN;
        break;

    default:
        return MCP_ERR_MEMORY;
    }

    return mcp_answer_fault(x, fault, mcp_null_str, mcp_null_str);
}


int
mcp_consumer_comes_back(const mcp_exchange_t *x)
{
    return mcp_revision(x->session.revision)->polling || x->link.given
           || (x->session.capabilities
               & (MCP_CLIENT_REQUESTS|MCP_CLIENT_STREAMS));
}


/* As configured for what is called. */
void
mcp_consumer_close_at_will(mcp_exchange_t *x, const mcp_stream_info_t *info)
{
    mcp_str_t     method, name;
    mcp_policy_t  policy;

    method = (mcp_str_t) { info->method, strlen(info->method) };
    name = (mcp_str_t) { info->name, strlen(info->name) };

    mcp_endpoint_policy(x->endpoint, method, name, &policy);

    if (policy.close_after && mcp_consumer_comes_back(x)) {
        mcp_consumer_close_at(x, x->last_write + policy.close_after);
    }
}


void
mcp_consumer_close_at(mcp_exchange_t *x, uint64_t when)
{
    if (when && (x->close_at == 0 || when < x->close_at)) {
        x->close_at = when;
        mcp_consumer_arm(x);
    }
}


static int
mcp_consumer_resume(mcp_exchange_t *x)
{
    int                rc;
    uint64_t           after;
    unsigned char      id[MCP_STREAM_ID_LEN];
    mcp_stream_info_t  info;

    if (mcp_event_id_parse(x->event_id, id, &after) != MCP_OK) {
        return mcp_answer_fault(x, MCP_FAULT_EVENT_ID_MALFORMED,
                                mcp_null_str, mcp_null_str);
    }

    rc = mcp_store_find(x->worker->store, id, mcp_consumer_now(x), &info);

    /* a call without max_wait is not resumable, not even while its connection
     * is there */

    if (rc == MCP_OK
        && (memcmp(info.session, x->session.id, MCP_DIGEST_LEN) != 0
            || memcmp(info.principal, x->principal, MCP_DIGEST_LEN) != 0
            || (info.kind == MCP_STREAM_CALL && info.max_wait == 0)))
    {
        rc = MCP_ERR_NOT_FOUND;
    }

    if (rc != MCP_OK) {
        return mcp_consumer_fault(x, rc);
    }

    if (after > info.confirmed_seq && after <= info.last_seq) {
        (void) mcp_store_acknowledge(x->worker->store, &info.ref, after);
    }

    /* nothing is left to fetch: 204 tells a client to stop reconnecting
     * (WHATWG HTML, 9.2), where an empty stream would make it poll for
     * ever */

    if ((info.state >= MCP_STATE_COMPLETED && after == info.last_seq)
        || (after & MCP_EVENT_ANSWERED
            && (after & ~MCP_EVENT_ANSWERED) <= info.last_seq))
    {
        x->outcome = "finished";
        x->ending = mcp_ending_of(&info);
        return mcp_answer_status(x, 204);
    }

    x->listener = (info.kind == MCP_STREAM_LISTEN);

    rc = mcp_consumer_start(x, &info.ref, after);

    if (rc != MCP_OK) {
        return mcp_consumer_fault(x, rc);
    }

    x->resumed = 1;
    mcp_store_count(x->worker->store, MCP_COUNT_RESUMES, 1);

    if (info.kind == MCP_STREAM_CALL) {
        mcp_consumer_close_at_will(x, &info);
    }

    return MCP_DONE;
}


int
mcp_consumer_get(mcp_exchange_t *x)
{
    int                rc;
    mcp_stream_info_t  info;

    if (x->event_id.len) {
        return mcp_consumer_resume(x);
    }

    /* a listener that nobody read has dropped what was over its limit */

    rc = mcp_notify_listener(x->worker, x->endpoint, &x->session, x->party,
                             &info);

    if (rc == MCP_OK) {
        rc = mcp_consumer_start_kept(x, &info, info.sent_seq);
    }

    return rc == MCP_OK ? MCP_DONE : mcp_consumer_fault(x, rc);
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a consumer writes: the first bytes of its connection, events, comments
 * that keep it open, and the last bytes, for each way in which it can end.
 */

#include "http/mcp_sse.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_exchange_state.h"
#include "worker/mcp_hook.h"


#define MCP_CONSUMER_ASKED_RETRY  100          /* ms */
#define MCP_CONSUMER_TAKEN_RETRY  30000        /* ms, at most */


/*
 * Whether to close at will now.  A process that winds up, or has other work
 * for what serves this one, sends its consumers on, but only those who can
 * come back: a client that has seen neither an id nor a URL on this connection
 * would wait for ever.  To one with a stream of its own nothing comes again:
 * it is told of the next configuration first.
 */
static int
mcp_consumer_is_closing(const mcp_exchange_t *x)
{
    if (x->reader.close == MCP_CONSUMER_CLOSE_NOW) {
        return 1;
    }

    if (x->reader.own) {
        return x->reader.close || x->worker->leaving;
    }

    return (x->reader.close || x->worker->stopping) && !x->reader.bound
           && (x->reader.listener || mcp_revision(x->client.revision)->priming
               || x->reader.has_url || x->reader.cursor.seq > x->reader.first);
}


/* Whether the client cannot have more than what its connection begins after:
 * its face, or the client itself, has named an event. */
static int
mcp_consumer_is_placed(const mcp_exchange_t *x)
{
    return x->face->names_events || x->head.event_id.len;
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
mcp_consumer_prime(mcp_exchange_t *x, char *p, int known)
{
    int  priming;

    mcp_consumer_set_state(x, MCP_CONSUMER_READING);

    if (x->reader.own) {
        return p;
    }

    if (x->face->reader) {
        priming = 0;

    } else {
        priming = mcp_revision(x->client.revision)->priming;
    }

    if (priming && known && mcp_consumer_is_placed(x)) {
        return mcp_sse_priming(p, x->reader.ref.id, x->reader.first,
                               x->endpoint->retry);
    }

    memcpy(p, MCP_SSE_COMMENT, sizeof(MCP_SSE_COMMENT) - 1);
    p += sizeof(MCP_SSE_COMMENT) - 1;

    if ((priming || x->reader.has_url) && !x->call && x->endpoint->retry) {
        p = mcp_sse_retry(p, x->endpoint->retry);
    }

    return p;
}


int
mcp_consumer_known(mcp_exchange_t *x)
{
    int                rc;
    mcp_stream_info_t  info;

    if (x->worker->cluster == NULL || x->reader.own) {
        return MCP_OK;
    }

    rc = mcp_store_info(x->worker->store, &x->reader.ref, &info);

    if (rc != MCP_OK) {
        return MCP_DONE;
    }

    /* without a head there is nothing to close */

    if (info.safe || (mcp_consumer_is_closing(x) && !x->reader.headless)) {
        return MCP_OK;
    }

    mcp_consumer_hold(x);

    return MCP_AGAIN;
}


/* What is not in the log: as much as fits. */
static char *
mcp_consumer_flush(mcp_exchange_t *x, char *p, char *end)
{
    size_t  n;

    n = x->answer.out.len - x->reader.pos;

    if (n > (size_t) (end - p)) {
        n = (size_t) (end - p);
    }

    memcpy(p, x->answer.out.data + x->reader.pos, n);
    x->reader.pos += n;

    if (x->reader.pos == x->answer.out.len) {
        x->answer.out.len = 0;
        x->reader.pos = 0;
    }

    return p + n;
}


/* Events that the consumer has not, or those of its face instead. */
static int
mcp_consumer_read(mcp_exchange_t *x, char *p, size_t cap, size_t *len)
{
    int  rc;

    if (x->face->reader == NULL) {

        if (x->reader.cursor.all) {
            return MCP_AGAIN;
        }

        return mcp_store_read(x->worker->store, &x->reader.ref,
                              x->reader.handle, &x->reader.cursor,
                              x->reader.sent, p, cap, len);
    }

    rc = x->face->reader->read(x);

    if (rc == MCP_OK) {
        *len = (size_t) (mcp_consumer_flush(x, p, p + cap) - p);

    } else {
        x->answer.out.len = 0;
    }

    return rc;
}


/* Without memory for them, last words are left out. */
static void
mcp_consumer_tail(mcp_exchange_t *x, mcp_tail_e how)
{
    if (x->face->reader && x->face->reader->last) {
        x->face->reader->last(x);

    } else {
        mcp_hook_tail(x, how);
    }

    if (x->answer.out.failed) {
        x->answer.out.len = 0;
        x->reader.pos = 0;
    }
}


/* Behind a question the client comes back as soon as it may: somebody waits for
 * what it has to say. */
static uint64_t
mcp_consumer_retry(mcp_exchange_t *x)
{
    mcp_stream_info_t  info;

    if (x->endpoint->retry > MCP_CONSUMER_ASKED_RETRY
        && mcp_store_info(x->worker->store, &x->reader.ref, &info) == MCP_OK
        && info.state == MCP_STATE_INPUT_REQUIRED)
    {
        return MCP_CONSUMER_ASKED_RETRY;
    }

    return x->endpoint->retry;
}


/* The connection is to be closed while the stream goes on: the client comes
 * back, and is told when. */
static char *
mcp_consumer_close(mcp_exchange_t *x, char *p)
{
    x->answer.outcome = "closed";
    mcp_consumer_tail(x, MCP_TAIL_CLOSED);

    return x->answer.out.len ? p : mcp_sse_retry(p, mcp_consumer_retry(x));
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

    if (x->answer.out.len || x->reader.cursor.done
        || mcp_store_info(x->worker->store, &x->reader.ref, &info) != MCP_OK)
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
mcp_consumer_must_close(mcp_exchange_t *x)
{
    mcp_stream_info_t  info;

    return mcp_consumer_is_closing(x) && !x->reader.own
           && mcp_store_info(x->worker->store, &x->reader.ref, &info) == MCP_OK
           && (info.state < MCP_STATE_COMPLETED
               || x->reader.cursor.seq < info.last_seq)
           && info.consumer_slot == x->worker->store->slot
           && info.consumer_handle == x->reader.handle;
}


/* Nothing to read for now: a comment if one is due. */
static char *
mcp_consumer_idle(mcp_exchange_t *x, char *p)
{
    if (x->reader.comment) {
        memcpy(p, MCP_SSE_COMMENT, sizeof(MCP_SSE_COMMENT) - 1);
        p += sizeof(MCP_SSE_COMMENT) - 1;
        x->reader.comment = 0;
    }

    return p;
}


/* Whether to end, now that another one reads the stream: between two events,
 * a face may have its connection wait until it is closed at will. */
static int
mcp_consumer_is_taken(mcp_exchange_t *x)
{
    x->answer.outcome = "taken-over";

    return x->reader.cursor.done || x->reader.close || x->worker->stopping
           || !mcp_hook_stays(x);
}


static void
mcp_consumer_ended(mcp_exchange_t *x)
{
    mcp_stream_info_t  info;

    x->answer.outcome = "complete";

    if (mcp_store_info(x->worker->store, &x->reader.ref, &info) == MCP_OK) {
        x->answer.ending = mcp_ending_of(&info);
    }

    mcp_consumer_tail(x, MCP_TAIL_OVER);
}


/* Reads on, unless the connection is to be closed between two events. */
static int
mcp_consumer_read_on(mcp_exchange_t *x, char **p, char *end)
{
    int     rc;
    size_t  n;

    if (x->reader.exact && x->reader.cursor.done == 0
        && x->reader.cursor.seq > x->reader.first
        && mcp_consumer_must_close(x))
    {
        return MCP_AGAIN;
    }

    n = 0;
    rc = mcp_consumer_read(x, *p, (size_t) (end - *p) - MCP_SSE_RETRY_MAX, &n);
    *p += n;

    /* close at will between two events, however fast they come */

    if (rc == MCP_OK && x->reader.cursor.done == 0 && !x->reader.exact
        && mcp_consumer_must_close(x))
    {
        return MCP_AGAIN;
    }

    return rc;
}


/* One round of reading; the end of what was written. */
static char *
mcp_consumer_fill(mcp_exchange_t *x, char *p, char *end, int *rc)
{
    /* all that was pulled before is in the socket, but for what was skipped */

    x->reader.sent = x->reader.cursor.seq;

    if (x->reader.cursor.skipped
        && x->reader.sent >= x->reader.cursor.skipped)
    {
        x->reader.sent = x->reader.cursor.skipped - 1;
    }

    *rc = mcp_consumer_read_on(x, &p, end);

    switch (*rc) {

    case MCP_OK:
        x->reader.comment = 0;
        break;

    case MCP_AGAIN:
        if (mcp_consumer_is_closing(x) || mcp_hook_idle(x)) {
            p = mcp_consumer_close(x, p);
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
        x->answer.outcome = "gone";
        mcp_consumer_tail(x, MCP_TAIL_LOST);
        *rc = MCP_DONE;
        break;
    }

    return p;
}


/* What follows from the result of a pull.  One that waits keeps no buffer. */
static void
mcp_consumer_pulled(mcp_exchange_t *x, int rc)
{
    switch (rc) {

    case MCP_DONE:
        mcp_consumer_set_state(x, MCP_CONSUMER_DONE);
        mcp_timer_del(&x->worker->timers, &x->reader.timer);
        break;

    case MCP_AGAIN:
        mcp_buf_free(&x->answer.out);
        break;

    default:
        break;
    }
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

    rc = MCP_OK;

    if (x->reader.state == MCP_CONSUMER_PRIMING) {
        rc = mcp_consumer_known(x);

        if (rc == MCP_AGAIN) {
            p = mcp_consumer_idle(x, p);

        } else {
            p = mcp_consumer_prime(x, p, rc == MCP_OK);
            rc = MCP_OK;
        }
    }

    if (rc == MCP_OK && x->answer.out.len == 0
        && x->reader.state < MCP_CONSUMER_LAST)
    {
        p = mcp_consumer_fill(x, p, end, &rc);

        if (rc == MCP_DONE) {
            mcp_consumer_set_state(x, MCP_CONSUMER_LAST);
        }
    }

    if (x->answer.out.len) {
        p = mcp_consumer_flush(x, p, end);
        rc = MCP_OK;
    }

    if (x->reader.state >= MCP_CONSUMER_LAST && x->answer.out.len == 0) {
        rc = MCP_DONE;

    } else if (rc == MCP_AGAIN && p != buf) {
        rc = MCP_OK;
    }

    if (p != buf) {
        x->reader.last_write = mcp_worker_now(x->worker);
    }

    mcp_consumer_pulled(x, rc);

    *len = (size_t) (p - buf);

    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Writes the bytes of a consumer: the first ones after the head, events,
 * keepalive comments, and the last ones, which depend on how the connection
 * ends. mcp_consumer_is_closing() decides when a connection ends while its
 * stream continues. */

#include "http/mcp_sse.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_exchange_set_state.h"
#include "worker/mcp_resume_hooks.h"


#define MCP_CONSUMER_INPUT_RETRY  100          /* "retry" while the call waits
                                                  for answers, ms */
#define MCP_CONSUMER_TAKEN_RETRY  30000        /* maximum "retry" after another
                                                  connection has displaced this
                                                  one, ms */


/*
 * Returns 1 if a process that shuts down closes this connection: its client is
 * known to resume, or its stream has no call. Other clients may take the end
 * of the connection for the end of their call, so their connections stay open
 * until the call has ended.
 */
static int
mcp_consumer_is_released(const mcp_exchange_t *x)
{
    mcp_stream_info_t  info;

    return mcp_consumer_comes_back(x)
           || (mcp_store_info(x->worker->store, &x->reader.ref, &info) == MCP_OK
               && info.kind == MCP_STREAM_LISTEN);
}


/*
 * Returns 1 if the connection has to be closed now, although its stream
 * continues. The reason may be x->reader.close, or a shutdown of the process if
 * mcp_consumer_is_released() returns 1. MCP_CONSUMER_CLOSE_NOW closes the
 * connection in any case. Otherwise it is closed only if the client can resume,
 * because it has got an event id or a URL on this connection, or reads a
 * listener. If the process shuts down at once, the connection is closed in any
 * case, unless this process will add the response of the connection's own call
 * to the stream, or has already added it.
 *
 * If the stream was created for this connection, no client can resume it. Any
 * x->reader.close then closes the connection. A shutdown closes it when the
 * next configuration has announced its changes, after at most five seconds.
 */
static int
mcp_consumer_is_closing(const mcp_exchange_t *x)
{
    if (x->reader.close == MCP_CONSUMER_CLOSE_NOW) {
        return 1;
    }

    if (x->worker->ending) {
        return x->call_waits == NULL || x->call_waits(x->call);
    }

    if (x->reader.own) {
        return x->reader.close || x->worker->leaving;
    }

    if (x->reader.bound
        || !(x->reader.listener || mcp_consumer_is_primed(x)
             || x->reader.has_url || x->reader.cursor.seq > x->reader.first))
    {
        return 0;
    }

    return x->reader.close
           || (x->worker->stopping && mcp_consumer_is_released(x));
}


/* Returns 1 if the client has named the last event that it received, by its
 * resumption method or in Last-Event-ID. This proves that the client has
 * received no later event. */
static int
mcp_consumer_is_placed(const mcp_exchange_t *x)
{
    return x->resumption->names_events || x->head.event_id.len;
}


/*
 * Writes the first bytes after the head, before there is an event, so that no
 * client waits for the head. "known" is 1 if other nodes have the stream.
 * Before that, no event id is written.
 *
 * If the client's revision has priming events, the client gets one, also on a
 * resumed stream, because the official clients forget their position on a
 * connection without an event id. But a client that has not named an event may
 * already have some of the events that it gets now. To keep its position, it
 * gets a comment instead. Clients of other revisions get a comment, because
 * they may fail on empty data. A client that resumes gets "retry" again,
 * because the last value may have been shorter.
 */
static char *
mcp_consumer_prime(mcp_exchange_t *x, char *p, int known)
{
    int  priming;

    mcp_consumer_set_state(x, MCP_CONSUMER_READING);

    if (x->reader.own) {
        return p;
    }

    if (x->resumption->reader) {
        priming = 0;

    } else {
        priming = mcp_consumer_is_primed(x);
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

    /* a connection without its head cannot be closed */

    if (info.replicated || (mcp_consumer_is_closing(x) && !x->reader.headless))
    {
        return MCP_OK;
    }

    mcp_consumer_hold(x);

    return MCP_AGAIN;
}


/* Writes to p the bytes of x->output.out that fit before "end". Returns the end
 * of the written bytes. */
static char *
mcp_consumer_flush(mcp_exchange_t *x, char *p, char *end)
{
    size_t  n;

    n = x->output.out.len - x->reader.pos;

    if (n > (size_t) (end - p)) {
        n = (size_t) (end - p);
    }

    memcpy(p, x->output.out.data + x->reader.pos, n);
    x->reader.pos += n;

    if (x->reader.pos == x->output.out.len) {
        x->output.out.len = 0;
        x->reader.pos = 0;
    }

    return p + n;
}


/* Reads further events, from the stream or by the hook "read" of the
 * exchange's resumption method. Returns the values of mcp_store_read(). */
static int
mcp_consumer_read(mcp_exchange_t *x, char *p, size_t cap, size_t *len)
{
    int  rc;

    if (x->resumption->reader == NULL) {

        if (x->reader.cursor.all) {
            return MCP_AGAIN;
        }

        return mcp_store_read(x->worker->store, &x->reader.ref,
                              x->reader.handle, &x->reader.cursor,
                              x->reader.sent, p, cap, len);
    }

    rc = x->resumption->reader->read(x);

    if (rc == MCP_OK) {
        *len = (size_t) (mcp_consumer_flush(x, p, p + cap) - p);

    } else {
        x->output.out.len = 0;
    }

    return rc;
}


/* Calls the hooks that write the last bytes of the connection. When out of
 * memory, these bytes are omitted. */
static void
mcp_consumer_tail(mcp_exchange_t *x, mcp_tail_e how)
{
    if (x->resumption->reader && x->resumption->reader->last) {
        x->resumption->reader->last(x);

    } else {
        mcp_hook_tail(x, how);
    }

    if (x->output.out.failed) {
        x->output.out.len = 0;
        x->reader.pos = 0;
    }
}


/* Returns the value for "retry", ms. The value is short while the call waits
 * for answers of the client, so that the client resumes soon and reads on. */
static uint64_t
mcp_consumer_retry(mcp_exchange_t *x)
{
    mcp_stream_info_t  info;

    if (x->endpoint->retry > MCP_CONSUMER_INPUT_RETRY
        && mcp_store_info(x->worker->store, &x->reader.ref, &info) == MCP_OK
        && info.state == MCP_STATE_INPUT_REQUIRED)
    {
        return MCP_CONSUMER_INPUT_RETRY;
    }

    return x->endpoint->retry;
}


/* Writes the last bytes of a connection that is closed while its stream
 * continues: the bytes of the hooks, or "retry" if the hooks write none. */
static char *
mcp_consumer_close(mcp_exchange_t *x, char *p)
{
    x->output.outcome = "closed";
    mcp_consumer_tail(x, MCP_TAIL_CLOSED);

    return x->output.out.len ? p : mcp_sse_retry(p, mcp_consumer_retry(x));
}


/* Writes the last bytes of a connection that another one has displaced. If two
 * clients resume the same stream again and again, "retry" doubles with each
 * displacement. */
static char *
mcp_consumer_yield(mcp_exchange_t *x, char *p)
{
    uint32_t           n;
    uint64_t           retry;
    mcp_stream_info_t  info;

    mcp_consumer_tail(x, MCP_TAIL_TAKEN);

    /* "retry" must not be written after a part of an event, because "retry"
     * would then belong to the event */

    if (x->output.out.len || x->reader.cursor.done
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


/* Returns 1 if the connection has to be closed while its stream continues.
 * Returns 0 if all events of a finished stream were read, or if another
 * connection reads the stream, because the next read detects these two
 * cases. */
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


/* Called when there is nothing to read. Writes a comment if the timer has
 * requested one. */
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


/* Returns 1 and sets the outcome if the last event that x has written was an
 * InputRequiredResult, and the call waits for the answers. Such a result ends
 * the request of the client (call/mcp_upstream_question_stateless_client.h). */
static int
mcp_consumer_needs_input(mcp_exchange_t *x)
{
    mcp_stream_info_t  info;

    if (!mcp_client_is_stateless(&x->client) || x->resumption->reader
        || (x->call && !x->reader.rounds)
        || mcp_store_info(x->worker->store, &x->reader.ref, &info) != MCP_OK
        || info.kind != MCP_STREAM_CALL || info.expires
        || info.state != MCP_STATE_INPUT_REQUIRED
        || x->reader.cursor.done || x->reader.cursor.seq < info.last_seq)
    {
        return 0;
    }

    x->output.outcome = "input-required";

    return 1;
}


/*
 * Called when another connection reads the stream. Returns 1 if the connection
 * of x has to end: because an event is written only partly, the server closes
 * the connection, the process shuts down, or the hook "stays" does not keep
 * the connection open.
 */
static int
mcp_consumer_is_taken(mcp_exchange_t *x)
{
    x->output.outcome = "taken-over";

    return x->reader.cursor.done || x->reader.close || x->worker->stopping
           || !mcp_hook_stays(x);
}


static void
mcp_consumer_ended(mcp_exchange_t *x)
{
    mcp_stream_info_t  info;

    x->output.outcome = "complete";

    if (mcp_store_info(x->worker->store, &x->reader.ref, &info) == MCP_OK) {
        x->output.call_outcome = mcp_outcome_of(&info);
    }

    mcp_consumer_tail(x, MCP_TAIL_OVER);
}


/* Reads further events and returns the values of mcp_consumer_read(). Between
 * two events, returns MCP_AGAIN instead if the connection has to be closed. */
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

    /* checked after each read, because events may arrive faster than they are
     * written */

    if (rc == MCP_OK && x->reader.cursor.done == 0 && !x->reader.exact
        && mcp_consumer_must_close(x))
    {
        return MCP_AGAIN;
    }

    return rc;
}


/* Reads once and writes events, a comment, or the last bytes of the
 * connection. Returns the end of the written bytes. *rc is MCP_OK, MCP_AGAIN
 * (nothing to read), or MCP_DONE (the connection ends). */
static char *
mcp_consumer_fill(mcp_exchange_t *x, char *p, char *end, int *rc)
{
    /* The socket has accepted the bytes of all earlier pulls, so their events
     * count as sent, except a skipped event and all later ones. */

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
        if (mcp_consumer_needs_input(x)) {
            *rc = MCP_DONE;
            break;
        }

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
        x->output.outcome = "gone";
        mcp_consumer_tail(x, MCP_TAIL_LOST);
        *rc = MCP_DONE;
        break;
    }

    return p;
}


/* Updates the consumer for the result rc of a pull. With MCP_DONE, sets its
 * state to MCP_CONSUMER_DONE and stops its timer. With MCP_AGAIN, frees its
 * buffer, because it waits for events. */
static void
mcp_consumer_pulled(mcp_exchange_t *x, int rc)
{
    switch (rc) {

    case MCP_DONE:
        mcp_consumer_set_state(x, MCP_CONSUMER_DONE);
        mcp_timer_del(&x->worker->timers, &x->reader.timer);
        break;

    case MCP_AGAIN:
        mcp_buf_free(&x->output.out);
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

    if (rc == MCP_OK && x->output.out.len == 0
        && x->reader.state < MCP_CONSUMER_LAST)
    {
        p = mcp_consumer_fill(x, p, end, &rc);

        if (rc == MCP_DONE) {
            mcp_consumer_set_state(x, MCP_CONSUMER_LAST);
        }
    }

    if (x->output.out.len) {
        p = mcp_consumer_flush(x, p, end);
        rc = MCP_OK;
    }

    if (x->reader.state >= MCP_CONSUMER_LAST && x->output.out.len == 0) {
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

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Starts and ends consumers, and schedules their keepalive comments. See
 * 2025-11-25, basic/transports, "Sending Messages to the Server" and
 * "Resumability and Redelivery". mcp_consumer_pull.c writes the bytes of
 * consumers.
 */

#include "worker/mcp_call_stats.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_exchange_set_state.h"
#include "worker/mcp_notification.h"
#include "worker/mcp_respond.h"
#include "worker/mcp_resume_hooks.h"


static void mcp_consumer_timer(void *data);
static void mcp_consumer_wake(void *data);


/* Returns the time when the next comment is due if nothing else is written
 * before, ms; UINT64_MAX: never. */
static uint64_t
mcp_consumer_comments_at(const mcp_exchange_t *x)
{
    if (x->reader.held && x->reader.state == MCP_CONSUMER_PRIMING) {
        return x->reader.last_write + MCP_OPERATION_TIME;
    }

    return x->endpoint->keepalive
           ? x->reader.last_write + x->endpoint->keepalive : UINT64_MAX;
}


static void
mcp_consumer_arm(mcp_exchange_t *x)
{
    uint64_t  when;

    when = mcp_consumer_comments_at(x);

    if (x->reader.close_at && x->reader.close_at < when) {
        when = x->reader.close_at;
    }

    if (x->reader.pull_at && x->reader.pull_at < when) {
        when = x->reader.pull_at;
    }

    if (when != UINT64_MAX) {
        mcp_timer_set(&x->worker->timers, &x->reader.timer, when);
    }
}


void
mcp_consumer_ready(mcp_exchange_t *x)
{
    /* the next pull reads the stream, even if the last one read all events */

    x->reader.cursor.all = 0;

    /* an action of x that is already queued is PULL, or STREAM, after which the
     * glue pulls too */

    if (x->queued.link || x->reader.state == MCP_CONSUMER_DONE) {
        return;
    }

    if (x->reader.headless) {
        mcp_consumer_begin(x);
        return;
    }

    x->queued.action.type = MCP_ACT_PULL;
    mcp_worker_queue(x->worker, &x->queued);
}


/* Makes the glue send the head of the response, by the action STREAM. If the
 * head contains a URL, waits until other nodes have the stream, but at most
 * until a comment has to be written. "headless" is set before
 * mcp_consumer_known() is called: as long as it is set, that function ignores
 * that the connection has to be closed. */
void
mcp_consumer_begin(mcp_exchange_t *x)
{
    x->reader.headless = x->reader.has_url && !x->reader.comment;

    if (x->reader.headless) {
        x->reader.headless = (mcp_consumer_known(x) == MCP_AGAIN);
    }

    if (!x->reader.headless) {
        x->queued.action.type = MCP_ACT_STREAM;
        mcp_worker_queue(x->worker, &x->queued);
    }
}


static void
mcp_consumer_timer(void *data)
{
    uint64_t         now;
    mcp_exchange_t  *x;

    x = data;
    now = mcp_worker_now(x->worker);

    if (x->reader.close_at && now >= x->reader.close_at) {
        mcp_consumer_set_close(x, MCP_CONSUMER_CLOSE_NOW);
        mcp_consumer_ready(x);
        return;
    }

    if (now >= mcp_consumer_comments_at(x)) {
        x->reader.comment = 1;
        x->reader.last_write = now;
        mcp_consumer_ready(x);
    }

    if (x->reader.pull_at && now >= x->reader.pull_at) {
        x->reader.pull_at = 0;
        mcp_consumer_ready(x);
    }

    mcp_consumer_arm(x);
}


void
mcp_consumer_pull_at(mcp_exchange_t *x, uint64_t when)
{
    if (x->reader.pull_at == 0 || when < x->reader.pull_at) {
        x->reader.pull_at = when;
        mcp_consumer_arm(x);
    }
}


void
mcp_consumer_hold(mcp_exchange_t *x)
{
    if (!x->reader.held) {
        x->reader.held = 1;
        mcp_consumer_arm(x);
    }
}


static void
mcp_consumer_head(mcp_exchange_t *x)
{
    mcp_exchange_set_state(x, MCP_EXCHANGE_STREAM);
    x->output.response.status = 200;
    x->output.response.content_type = mcp_str("text/event-stream");
    x->output.response.body = mcp_null_str;

    mcp_respond_header(x, mcp_str("Cache-Control"), mcp_str("no-cache"));
    mcp_respond_header(x, mcp_str("X-Accel-Buffering"), mcp_str("no"));

    mcp_hook_head(x);
}


int
mcp_consumer_announce(mcp_exchange_t *x)
{
    x->reader.handle = mcp_worker_handle(x->worker, x, mcp_consumer_wake,
                                         mcp_consumer_wake);

    return x->reader.handle ? MCP_OK : MCP_ERR_MEMORY;
}


void
mcp_consumer_forget(mcp_exchange_t *x)
{
    if (x->reader.handle) {
        mcp_worker_drop_handle(x->worker, x->reader.handle);
        x->reader.handle = 0;
    }
}


int
mcp_consumer_attach(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    uint64_t after)
{
    int   rc, taken;
    char  id[9];

    if (x->reader.handle == 0 && mcp_consumer_announce(x) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    taken = 0;

    rc = x->reader.joins
         ? mcp_store_join(x->worker->store, ref, x->reader.handle, after,
                          &x->reader.cursor)
         : mcp_store_watch(x->worker->store, ref, x->reader.handle, after,
                           &x->reader.cursor, &taken);

    if (rc != MCP_OK) {
        mcp_consumer_forget(x);
        return rc == MCP_ERR_DENIED ? MCP_ERR_UNREACHABLE : rc;
    }

    x->reader.ref = *ref;
    x->reader.first = after;
    x->reader.sent = after;

    if (taken) {
        mcp_store_count(x->worker->store, MCP_COUNT_TAKEOVERS, 1);
    }

    if (mcp_worker_logs(x->worker, MCP_LOG_DEBUG)) {
        mcp_stream_id_short(id, ref->id);
        mcp_worker_log(x->worker, MCP_LOG_DEBUG,
                     "stream %s: %s gets the events after event %llu%s", id,
                     x->reader.joins ? "a joined request" : "a client",
                     (unsigned long long) after,
                     taken ? ", and the client's earlier connection ends" : "");
    }

    return MCP_OK;
}


/* Detaches x from its stream. The events of the stream count as sent if the
 * client got the response of the call as plain JSON, and this response was
 * written completely. */
void
mcp_consumer_detach(mcp_exchange_t *x)
{
    if (x->reader.handle == 0) {
        return;
    }

    mcp_store_unwatch(x->worker->store, &x->reader.ref, x->reader.handle,
                      x->reader.whole && x->output.sent ? UINT64_MAX : 0,
                      mcp_worker_now(x->worker));
    mcp_consumer_forget(x);
    x->reader.woken = NULL;
}


int
mcp_consumer_start(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    uint64_t after)
{
    int  rc;

    if (x->reader.handle == 0) {
        rc = mcp_consumer_attach(x, ref, after);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    mcp_store_count(x->worker->store, MCP_COUNT_CONSUMERS_ACTIVE, 1);
    x->worker->consumers++;

    x->reader.cursor.plain = mcp_client_is_stateless(&x->client)
                             && (x->reader.bound
                                 || !(x->client.capabilities
                                      & (MCP_CLIENT_REQUESTS
                                         |MCP_CLIENT_IDS)));
    x->reader.woken = NULL;
    x->reader.state = MCP_CONSUMER_PRIMING;
    x->reader.last_write = mcp_worker_now(x->worker);
    x->reader.timer.handler = mcp_consumer_timer;
    x->reader.timer.data = x;
    x->output.outcome = "stream";

    mcp_duration_opened(x);

    x->output.out.len = 0;

    mcp_consumer_head(x);
    mcp_consumer_arm(x);

    return MCP_OK;
}


/* Reports to the client and to the operator that events which the client may
 * lack are no longer stored. The message to the client has no event id,
 * because it is not an event of the stream. */
static void
mcp_consumer_report_gap(mcp_exchange_t *x, uint64_t events)
{
    char  id[9];

    mcp_stream_id_short(id, x->reader.ref.id);
    mcp_worker_log(x->worker, MCP_LOG_NOTICE,
                 "stream %s: %llu events that the client may not have "
                 "received are no longer stored", id,
                 (unsigned long long) events);

    if (!mcp_notify_log_wanted(x->worker, &x->client, mcp_str("\"error\"")))
    {
        return;
    }

    mcp_buf_lit(&x->output.out, "data: {\"jsonrpc\":\"2.0\","
                         "\"method\":\"notifications/message\","
                         "\"params\":{\"level\":\"error\",\"logger\":\"mcp\","
                         "\"data\":{\"text\":\"Earlier messages may not "
                         "have arrived and are no longer stored\","
                         "\"events\":");
    mcp_buf_int(&x->output.out, (int64_t) events);
    mcp_buf_lit(&x->output.out, "}}}\n\n");

    if (x->output.out.failed) {
        x->output.out.len = 0;
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

    /* starts again if another reader has removed events in the meantime */

    do {
        start = after + 1 < now.first_seq ? now.first_seq - 1 : after;
        rc = mcp_consumer_start(x, &info->ref, start);

    } while (rc == MCP_ERR_PURGED
             && mcp_store_info(x->worker->store, &info->ref, &now) == MCP_OK);

    known = after > now.confirmed_seq ? after : now.confirmed_seq;

    if (rc == MCP_OK && start > known) {
        mcp_consumer_report_gap(x, start - known);
    }

    return rc;
}


void
mcp_consumer_leave(mcp_exchange_t *x)
{
    if (x->reader.handle == 0) {
        return;
    }

    mcp_timer_del(&x->worker->timers, &x->reader.timer);

    mcp_store_unwatch(x->worker->store, &x->reader.ref, x->reader.handle,
                      x->reader.sent, mcp_worker_now(x->worker));
    mcp_worker_drop_handle(x->worker, x->reader.handle);

    if (x->reader.own) {
        mcp_store_free(x->worker->store, &x->reader.ref);
    }

    mcp_store_count(x->worker->store, MCP_COUNT_CONSUMERS_ACTIVE, -1);
    x->worker->consumers--;

    mcp_exchange_set_state(x, MCP_EXCHANGE_ENDED);
    x->reader.handle = 0;
}


/* Handles a wake-up, whose reason may be new events, another connection that
 * reads the stream, or a shutdown of the process. If x writes the stream, the
 * next pull finds out the reason; otherwise calls x->reader.woken. */
static void
mcp_consumer_wake(void *data)
{
    mcp_exchange_t  *x;

    x = data;

    if (x->state == MCP_EXCHANGE_STREAM) {
        mcp_consumer_ready(x);

    } else if (x->reader.woken) {
        x->reader.woken(x);
    }
}


void
mcp_exchange_close(mcp_exchange_t *x)
{
    mcp_consumer_set_close(x, MCP_CONSUMER_CLOSE_SOON);
    mcp_consumer_wake(x);
}


int
mcp_consumer_may_be_closed(const mcp_exchange_t *x)
{
    return mcp_revision(x->client.revision)->polling || x->reader.has_url
           || (x->client.capabilities
               & (MCP_CLIENT_REQUESTS|MCP_CLIENT_STREAMS));
}


int
mcp_consumer_comes_back(const mcp_exchange_t *x)
{
    return (x->client.capabilities & (MCP_CLIENT_REQUESTS|MCP_CLIENT_STREAMS))
           || (x->reader.resumed
               && (x->resumption->post || mcp_consumer_is_primed(x)));
}


int
mcp_consumer_is_primed(const mcp_exchange_t *x)
{
    return mcp_revision(x->client.revision)->priming
           || (mcp_client_is_stateless(&x->client) && !x->reader.cursor.plain);
}


/* Schedules the end of the connection by close_after in the policy for the
 * method and the name of the stream's call. */
void
mcp_consumer_close_at_will(mcp_exchange_t *x, const mcp_stream_info_t *info)
{
    mcp_str_t     method, name;
    mcp_policy_t  policy;

    method = (mcp_str_t) { info->method, strlen(info->method) };
    name = (mcp_str_t) { info->name, strlen(info->name) };

    mcp_endpoint_policy(x->endpoint, method, name, &policy);

    if (policy.close_after && mcp_consumer_may_be_closed(x)) {
        mcp_consumer_close_at(x, x->reader.last_write + policy.close_after);
    }
}


void
mcp_consumer_close_at(mcp_exchange_t *x, uint64_t when)
{
    if (when && (x->reader.close_at == 0 || when < x->reader.close_at)) {
        x->reader.close_at = when;
        mcp_consumer_arm(x);
    }
}

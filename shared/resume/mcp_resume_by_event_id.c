/* SPDX-License-Identifier: Apache-2.0 */

/*
 * GET requests to the endpoint. With Last-Event-ID, the request resumes the
 * stream of that event (2025-11-25, basic/transports, "Resumability and
 * Redelivery"); all clients support this method. Without the header, the
 * client listens to its session's own stream.
 */


#include "call/mcp_cancel.h"
#include "resume/mcp_resume_common.h"
#include "rpc/mcp_request_id.h"
#include "worker/mcp_notification.h"


/* Responds to a GET with an event id whose stream cannot be read. rc is the
 * result of the search for the stream and the event. */
static mcp_next_e
mcp_resume_event_id_refuse(mcp_exchange_t *x, int rc)
{
    mcp_fault_e  fault;

    switch (rc) {

    case MCP_ERR_PURGED:
        fault = MCP_FAULT_EVENT_PURGED;
        break;

    case MCP_ERR_UNREACHABLE:
        fault = MCP_FAULT_CLUSTER_UNREACHABLE;
        break;

    case MCP_ERR_NOT_FOUND:
        fault = MCP_FAULT_EVENT_ID_UNKNOWN;
        break;

    default:
        return mcp_respond_no_room(x, rc, mcp_null_str);
    }

    return mcp_respond_fault(x, fault, mcp_null_str, mcp_null_str);
}


/* Finds the stream of an event id if this client may resume it by an event id.
 * cluster_rc is the return value of mcp_operation_stream(). Returns the values
 * of mcp_resume_here(). */
static int
mcp_resume_event_id_find(mcp_exchange_t *x, int cluster_rc,
    const unsigned char id[MCP_STREAM_ID_LEN], mcp_stream_info_t *info)
{
    int  rc;

    rc = mcp_resume_here(x, cluster_rc, id, info);

    /* a call whose max_wait is 0 cannot be resumed, even while it has a
     * consumer. A task ("expires") is polled, because its events are not
     * messages for clients. */

    if (rc == MCP_OK
        && (memcmp(info->session, x->client.id, MCP_DIGEST_LEN) != 0
            || memcmp(info->principal, x->head.principal, MCP_DIGEST_LEN) != 0
            || (info->kind == MCP_STREAM_CALL
                && (info->max_wait == 0 || info->expires))
            || (mcp_client_is_stateless(&x->client)
                && !(info->promised & MCP_PROMISE_IDS))))
    {
        rc = MCP_ERR_NOT_FOUND;
    }

    return rc;
}


/* Returns 1 if there are no further events for the client after this event id:
 * it belongs to an interim response (MCP_EVENT_ANSWERED), which has answered
 * the client's request, or to the last event of a stream that is over. */
static int
mcp_resume_event_id_is_last(const mcp_stream_info_t *info, uint64_t after)
{
    if (after & MCP_EVENT_ANSWERED) {
        return (after & ~MCP_EVENT_ANSWERED) <= info->last_seq;
    }

    return info->state >= MCP_STATE_COMPLETED && after == info->last_seq;
}


static int
mcp_resume_event_id_read(mcp_exchange_t *x, const mcp_stream_info_t *info,
    uint64_t after)
{
    int  rc;

    x->reader.listener = (info->kind == MCP_STREAM_LISTEN);

    /* a GET has no body in which a client without a session declares its
     * capabilities: deduces them from info->promised, the promises that the
     * first events of the stream made to the client */

    if (mcp_client_is_stateless(&x->client)) {
        x->client.capabilities = info->promised & MCP_PROMISE_TIME
                                 ? MCP_CLIENT_REQUESTS : MCP_CLIENT_IDS;
    }

    rc = mcp_consumer_start(x, &info->ref, after);

    if (rc != MCP_OK) {
        return rc;
    }

    x->reader.resumed = 1;
    mcp_store_count(x->worker->store, MCP_COUNT_RESUMES, 1);

    if (info->kind == MCP_STREAM_CALL) {
        mcp_consumer_close_at_will(x, info);
    }

    return MCP_OK;
}


/* Resumes the stream that Last-Event-ID names. After returning MCP_NEXT_WAIT,
 * this function runs again when the cluster has replied, see
 * mcp_cluster_operation.h. */
static mcp_next_e
mcp_resume_event_id_resume(mcp_exchange_t *x)
{
    int                     rc, cluster_rc;
    uint64_t                after;
    unsigned char           id[MCP_STREAM_ID_LEN];
    mcp_operation_stream_t  stream;
    mcp_stream_info_t       info;

    if (mcp_event_id_parse(x->head.event_id, id, &after) != MCP_OK) {
        return mcp_respond_fault(x, MCP_FAULT_EVENT_ID_MALFORMED,
                                 mcp_null_str, mcp_null_str);
    }

    mcp_resume_describe(x, id, 0, &stream);
    cluster_rc = mcp_operation_stream(x, MCP_OPERATION_STREAM, &stream);

    if (cluster_rc == MCP_AGAIN) {
        return MCP_NEXT_WAIT;
    }

    rc = mcp_resume_event_id_find(x, cluster_rc, id, &info);

    if (rc != MCP_OK) {
        return mcp_resume_event_id_refuse(x, rc);
    }

    if (after > info.confirmed_seq && after <= info.last_seq) {
        (void) mcp_store_acknowledge(x->worker->store, &info.ref, after);
    }

    /* responds with 204, which makes clients stop reconnecting (WHATWG HTML,
     * 9.2). After an empty stream, they would reconnect again and again. */

    if (mcp_resume_event_id_is_last(&info, after)) {
        x->output.outcome = "finished";
        x->output.call_outcome = mcp_outcome_of(&info);
        return mcp_respond_status(x, 204);
    }

    rc = mcp_resume_event_id_read(x, &info, after);

    /* if the cluster operation has failed, another node may have the missing
     * event: responds with the error of the operation */

    if (rc == MCP_ERR_NOT_FOUND && cluster_rc != MCP_OK) {
        rc = cluster_rc;
    }

    return rc == MCP_OK ? MCP_NEXT_STREAM : mcp_resume_event_id_refuse(x, rc);
}


/* Handles GET: resumes the stream of the event id, or opens the session's own
 * stream. After returning MCP_NEXT_WAIT, this function runs again when the
 * cluster has replied, see mcp_cluster_operation.h. */
static mcp_next_e
mcp_resume_event_id_get(mcp_exchange_t *x)
{
    int                rc;
    mcp_stream_info_t  info;

    if (x->head.event_id.len) {
        return mcp_resume_event_id_resume(x);
    }

    /* resumes after the last event that was sent. If the stream has dropped
     * later events while it had no reader, starts with the oldest stored
     * event. */

    rc = mcp_notify_here(x, &info);

    if (rc == MCP_AGAIN) {
        return MCP_NEXT_WAIT;
    }

    /* the session may have ended while the request waited for the cluster */

    if (rc == MCP_OK && mcp_cancel_has_ended(x->worker, x->client.id)) {
        mcp_store_free(x->worker->store, &info.ref);
        return mcp_respond_fault(x, MCP_FAULT_SESSION_UNKNOWN, mcp_null_str,
                                 mcp_null_str);
    }

    if (rc == MCP_OK) {
        rc = mcp_consumer_start_kept(x, &info, info.sent_seq);
    }

    return rc == MCP_OK ? MCP_NEXT_STREAM : mcp_resume_event_id_refuse(x, rc);
}


const mcp_resume_method_t  mcp_resume_event_id = {
    .name = { "polling", 7 },
    .names_events = 1,
    .get = mcp_resume_event_id_get
};

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * GET: a client resumes the stream of its Last-Event-ID, or listens to its
 * session's own (2025-11-25, basic/transports, "Listening for Messages from the
 * Server" and "Resumability and Redelivery").
 */

#include "exchange/mcp_exchange_parts.h"
#include "rpc/mcp_id.h"
#include "worker/mcp_answer.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_notify.h"


static int
mcp_get_fault(mcp_exchange_t *x, int rc)
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


static int
mcp_get_resume(mcp_exchange_t *x)
{
    int                rc;
    uint64_t           after;
    unsigned char      id[MCP_STREAM_ID_LEN];
    mcp_stream_info_t  info;

    if (mcp_event_id_parse(x->event_id, id, &after) != MCP_OK) {
        return mcp_answer_fault(x, MCP_FAULT_EVENT_ID_MALFORMED,
                                mcp_null_str, mcp_null_str);
    }

    rc = mcp_store_find(x->worker->store, id, mcp_worker_now(x->worker), &info);

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
        return mcp_get_fault(x, rc);
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
        return mcp_get_fault(x, rc);
    }

    x->resumed = 1;
    mcp_store_count(x->worker->store, MCP_COUNT_RESUMES, 1);

    if (info.kind == MCP_STREAM_CALL) {
        mcp_consumer_close_at_will(x, &info);
    }

    return MCP_DONE;
}


int
mcp_get(mcp_exchange_t *x)
{
    int                rc;
    mcp_stream_info_t  info;

    if (x->event_id.len) {
        return mcp_get_resume(x);
    }

    /* a listener that nobody read has dropped what was over its limit */

    rc = mcp_notify_listener(x->worker, x->endpoint, &x->session, x->party,
                             &info);

    if (rc == MCP_OK) {
        rc = mcp_consumer_start_kept(x, &info, info.sent_seq);
    }

    return rc == MCP_OK ? MCP_DONE : mcp_get_fault(x, rc);
}

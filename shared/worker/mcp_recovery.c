/* SPDX-License-Identifier: Apache-2.0 */

/* Recovery of the calls of dead processes, and of the calls of dead nodes whose
 * streams this node has taken over: each of their requests without a response
 * gets an error. The errors also end a call that waits for an answer of the
 * client; a later answer has no effect. */

#include "json/mcp_json_scan.h"
#include "rpc/mcp_fault.h"
#include "store/mcp_store_call_stats.h"
#include "worker/mcp_notification.h"
#include "worker/mcp_worker_internal.h"


/* Appends the error response for request k of a lost call, with the new state
 * of its stream. id is the request's id, raw JSON. */
static int
mcp_recovery_fail(mcp_worker_t *worker, const mcp_stream_info_t *info,
    mcp_str_t id, unsigned k, mcp_stream_state_e state)
{
    int        rc;
    uint64_t   seq;
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &worker->env->mem, 4096);
    mcp_fault_write(&buf, (mcp_revision_e) info->revision, id,
                    MCP_FAULT_OWNER_DIED, mcp_null_str, mcp_null_str);

    rc = buf.failed;

    if (rc == MCP_OK) {
        rc = mcp_store_append(worker->store, &info->ref, mcp_buf_text(&buf),
                              (int) k | MCP_STORE_ERROR
                              | MCP_STORE_RESULT(MCP_OUTCOME_LOST), state,
                              mcp_worker_now(worker), &seq);
    }

    mcp_store_count(worker->store, MCP_COUNT_CALLS_LOST, 1);

    if (rc == MCP_OK) {
        mcp_store_count(worker->store, MCP_COUNT_ERRORS, 1);
    }

    mcp_buf_free(&buf);

    return rc;
}


static int
mcp_recovery_fail_batch(mcp_worker_t *worker, const mcp_stream_info_t *info,
    mcp_str_t ids)
{
    int               rc;
    unsigned          k, last;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    last = 0;
    mcp_json_iter_init(&iter, ids);

    for (k = 0; mcp_json_iter_next(&iter, NULL, &value); k++) {
        if (k < 64 && !(info->own_answered & ((uint64_t) 1 << k))) {
            last = k;
        }
    }

    mcp_json_iter_init(&iter, ids);

    for (k = 0; mcp_json_iter_next(&iter, NULL, &value); k++) {
        if (k >= 64 || (info->own_answered & ((uint64_t) 1 << k))) {
            continue;
        }

        rc = mcp_recovery_fail(worker, info, value.raw, k,
                               k == last ? MCP_STATE_FAILED
                                       : MCP_STATE_PROCESSING);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    return MCP_OK;
}


void
mcp_worker_adopt(mcp_worker_t *worker)
{
    int                rc;
    char               id[9];
    mcp_buf_t          request;
    mcp_str_t          text;
    mcp_stream_info_t  info;

    mcp_buf_init(&request, &worker->env->mem, 1024 * 1024);

    for ( ;; ) {
        request.len = 0;
        request.failed = 0;

        rc = mcp_store_adopt(worker->store, mcp_worker_now(worker),
                             &info, &request);
        if (rc != MCP_OK) {
            break;
        }

        /* the call is over, so its requests need no error: the stream was
         * adopted only to be replicated */

        if (info.owner_slot == MCP_STORE_NO_SLOT) {
            continue;
        }

        text.data = request.data;
        text.len = request.failed ? 0 : request.len;

        mcp_stream_id_short(id, info.ref.id);
        mcp_worker_log(worker, MCP_LOG_ERROR,
                     "call %s of \"%s\" was lost, because its server process "
                     "ended", id,
                     info.name);

        if (text.len && text.data[0] == '[') {
            rc = mcp_recovery_fail_batch(worker, &info, text);

        } else {
            rc = mcp_recovery_fail(worker, &info, text, 0, MCP_STATE_FAILED);
        }

        if (info.expires) {
            mcp_notify_task(worker, info.ref.id);
        }

        /* if the error cannot be stored, the stream would never end, so it is
         * freed: its client gets 404 */

        if (rc != MCP_OK) {
            mcp_store_free(worker->store, &info.ref);
        }
    }

    mcp_buf_free(&request);
}

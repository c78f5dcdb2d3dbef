/* SPDX-License-Identifier: Apache-2.0 */

/* The inbox of a call's stream: other processes post the client's answers and
 * published messages to the process that owns the call. The stream also
 * records cancellations. A post or a cancellation wakes the owner. */

#include "call/mcp_call_internal.h"
#include "call/mcp_call_outcome.h"
#include "call/mcp_upstream_param_header.h"
#include "call/mcp_upstream_question_stateless_client.h"
#include "call/mcp_upstream_session.h"
#include "worker/mcp_resume_hooks.h"


static int
mcp_inbox_is_held(const mcp_call_t *call)
{
    size_t  i;

    for (i = 0; i < call->n; i++) {
        if (call->requests[i].held) {
            return 1;
        }
    }

    return 0;
}


/* Keeps a post until no message of the call is held. If there is no memory,
 * ends the call, because the sender of the post has got an acknowledgement and
 * does not send the post again. */
static void
mcp_inbox_keep(mcp_call_t *call, mcp_inbox_item_e type, uint64_t tag,
    mcp_str_t text)
{
    mcp_kept_t       *kept;
    const mcp_mem_t  *mem;

    mem = &call->worker->env->mem;

    kept = mem->alloc(mem->ctx, sizeof(mcp_kept_t) + text.len);
    if (kept == NULL) {
        mcp_call_abandon(call, MCP_FAULT_INTERNAL);
        return;
    }

    kept->next = NULL;
    kept->type = type;
    kept->tag = tag;
    kept->len = text.len;

    if (text.len) {
        memcpy(kept + 1, text.data, text.len);
    }

    *call->kept_last = kept;
    call->kept_last = &kept->next;
    call->kept_bytes += sizeof(mcp_kept_t) + text.len;
}


/* Removes the oldest kept post and returns it to be freed by the caller.
 * Returns NULL if there is none. */
static mcp_kept_t *
mcp_inbox_unkeep(mcp_call_t *call)
{
    mcp_kept_t  *kept;

    kept = call->kept;

    if (kept) {
        call->kept = kept->next;
        call->kept_bytes -= sizeof(mcp_kept_t) + kept->len;

        if (call->kept == NULL) {
            call->kept_last = &call->kept;
        }
    }

    return kept;
}


void
mcp_inbox_drop(mcp_call_t *call)
{
    mcp_kept_t  *kept;

    while ((kept = mcp_inbox_unkeep(call)) != NULL) {
        mcp_mem_free(&call->worker->env->mem, kept);
    }
}


static void
mcp_inbox_publish(mcp_call_t *call, uint64_t tag, mcp_str_t text)
{
    mcp_request_t      *req;
    mcp_backend_msg_t   msg;

    if (tag >= call->n) {
        return;
    }

    req = &call->requests[tag];

    if (req->state == MCP_REQUEST_OVER) {
        return;
    }

    /* out of memory: the publisher does not send the message again */

    if (mcp_backend_message(req->backend, text, &msg) != MCP_OK) {
        mcp_call_abandon(call, MCP_FAULT_INTERNAL);
        return;
    }

    /* While the request waits for the client's answers, for the session at its
     * MCP server, or for the list of tools, a published message that is not a
     * notification is ignored, because only the next backend request may end
     * the request. */

    if (msg.kind != MCP_BACKEND_NOTIFICATION
        && (req->state == MCP_REQUEST_INPUT
            || !mcp_upstream_session_is_call(req)
            || (req->relist
                && (req->relist->needs_list || req->relist->continues))))
    {
        return;
    }

    if (mcp_backend_request_message(req, &msg) == MCP_AGAIN) {
        mcp_backend_request_hold(req, &msg);
    }
}


static void
mcp_inbox_process(mcp_call_t *call, mcp_inbox_item_e type, uint64_t tag,
    mcp_str_t text)
{
    switch (type) {

    case MCP_INBOX_INPUT:
        mcp_input_answer(call, text);
        break;

    case MCP_INBOX_PUBLISH:
        mcp_inbox_publish(call, tag, text);
        break;

    case MCP_INBOX_TASK:
        mcp_input_task_answer(call, tag, text);
        break;

    case MCP_INBOX_LIMIT:
        mcp_call_refuse(call, MCP_ERR_LIMIT);
        break;
    }
}


/* Processes kept posts, then the posts in the inbox. While a message of the
 * call is held, posts are taken from the inbox and kept. */
static void
mcp_inbox_read(mcp_call_t *call)
{
    int               rc, held;
    uint64_t          tag;
    mcp_buf_t         data;
    mcp_str_t         text;
    mcp_kept_t       *kept;
    mcp_inbox_item_e  type;
    const mcp_mem_t  *mem;

    mem = &call->worker->env->mem;
    mcp_buf_init(&data, mem, SIZE_MAX / 2);

    while (call->phase != MCP_CALL_OVER) {

        held = mcp_inbox_is_held(call);

        if (!held && (kept = mcp_inbox_unkeep(call)) != NULL) {
            text = (mcp_str_t) { (char *) (kept + 1), kept->len };
            mcp_inbox_process(call, kept->type, kept->tag, text);
            mcp_mem_free(mem, kept);
            continue;
        }

        /* the kept posts may use as many bytes as the inbox
         * (mcp_stream_buffer) */

        if (held && call->policy.stream_buffer
            && call->kept_bytes >= call->policy.stream_buffer)
        {
            break;
        }

        data.len = 0;

        rc = mcp_store_take(call->worker->store, &call->ref, &type, &tag,
                            &data);

        if (rc == MCP_ERR_MEMORY) {
            mcp_call_abandon(call, MCP_FAULT_INTERNAL);
            break;
        }

        if (rc != MCP_OK) {
            break;
        }

        text = (mcp_str_t) { data.data, data.len };

        if (held) {
            mcp_inbox_keep(call, type, tag, text);
            continue;
        }

        mcp_inbox_process(call, type, tag, text);
    }

    mcp_buf_free(&data);
}


void
mcp_inbox_continue(mcp_call_t *call)
{
    size_t  i;

    for (i = 0; i < call->n && call->phase != MCP_CALL_OVER; i++) {
        mcp_backend_request_continue(&call->requests[i]);
    }

    mcp_upstream_round_continue(call);
    mcp_inbox_read(call);
}


void
mcp_inbox_wake(void *data)
{
    mcp_call_t         *call;
    mcp_stream_info_t   info;

    call = data;

    /* A call that has not started reads the inbox after its start. */

    if (call->phase == MCP_CALL_OVER || call->began == 0) {
        return;
    }

    call->refs++;

    if (mcp_store_info(call->worker->store, &call->ref, &info) != MCP_OK) {

        /* the stream was freed: a client that waits for plain JSON gets an
         * error, and a call without such a client is cancelled, because no
         * client can get the response */

        if (call->x) {
            mcp_call_abandon(call, MCP_FAULT_INTERNAL);
            mcp_call_release(call);
            return;
        }

        mcp_call_log(call, MCP_LOG_INFO, "cancelled",
                     "the stream of the call was freed, so no client can get "
                     "the response");
        mcp_request_ends_all(call, MCP_OUTCOME_CANCELLED);
        mcp_call_stop(call);
        mcp_call_release(call);
        return;
    }

    call->unattended = (info.consumer_slot == MCP_STORE_NO_SLOT)
                       ? info.unattended : 0;

    /* A client that has cancelled may have stopped reading, so the stream may
     * never have room: the cancellation does not wait until held messages are
     * processed. */

    if (info.cancelled && mcp_call_durable(call) == MCP_OK) {
        mcp_cancel_requests(call, mcp_store_take_cancelled(call->worker->store,
                                                           &call->ref));
    }

    mcp_inbox_continue(call);

    if (call->phase != MCP_CALL_OVER) {
        mcp_call_set_timer(call);
    }

    mcp_call_release(call);
}

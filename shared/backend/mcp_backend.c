/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a backend answers, turned into messages.  Owned here: the contract of
 * docs/backends.md, from content types and statuses to the envelope of each
 * message.  Not here: what becomes of a message, whose id a response gets,
 * when to stop reading a backend.
 *
 * This file has the life of a decoder and its states; mcp_backend_parts.h
 * says where the rest is.
 */


#include "backend/mcp_backend_parts.h"


mcp_backend_t *
mcp_backend_create(const mcp_mem_t *mem, mcp_want_e want,
    mcp_str_t uri, size_t max, unsigned max_depth)
{
    mcp_backend_t  *b;

    b = mem->alloc(mem->ctx, sizeof(mcp_backend_t));
    if (b == NULL) {
        return NULL;
    }

    memset(b, 0, sizeof(mcp_backend_t));

    b->mem = mem;
    b->want = want;
    b->max = max;
    b->limit = max;
    b->max_depth = max_depth;

    /* an embedded resource needs a URI, and a tool's name is none */

    if (want == MCP_WANT_RESOURCE
        || (uri.len && memchr(uri.data, ':', uri.len)))
    {
        b->uri = uri;
    }

    /* how long a stream's queue gets is the caller's: it reads in between */

    mcp_buf_init(&b->in, mem, SIZE_MAX / 2);
    mcp_buf_init(&b->out, mem, SIZE_MAX / 2);
    mcp_arena_init(&b->scratch, mem);
    mcp_sse_decoder_init(&b->sse, mem, max);

    return b;
}


void
mcp_backend_free(mcp_backend_t *b)
{
    const mcp_mem_t  *mem;

    if (b == NULL) {
        return;
    }

    mem = b->mem;

    mcp_buf_free(&b->in);
    mcp_buf_free(&b->out);
    mcp_sse_decoder_free(&b->sse);
    mcp_arena_destroy(&b->scratch);

    mem->free(mem->ctx, b);
}


void
mcp_backend_release(mcp_backend_t *b)
{
    mcp_buf_free(&b->in);
    mcp_buf_free(&b->out);
    mcp_sse_decoder_free(&b->sse);
    mcp_arena_destroy(&b->scratch);

    b->pos = 0;
    b->seen = 0;
}


int
mcp_backend_write(mcp_backend_t *b, const char *data, size_t len)
{
    if (b->failed) {
        return b->failed;
    }

    if (len == 0 || b->ended) {
        return MCP_OK;
    }

    if (b->state == MCP_BACKEND_STATE_HEAD) {

        /* whoever writes without a head has nothing to say in it */

        mcp_backend_head(b, 200, mcp_null_str);
    }

    switch (b->state) {

    case MCP_BACKEND_STATE_SSE:
    case MCP_BACKEND_STATE_LINES:
        return mcp_backend_queue(b, data, len);

    case MCP_BACKEND_STATE_BODY:
        return mcp_backend_gather(b, data, len);

    default:
        return MCP_OK;
    }
}


int
mcp_backend_end(mcp_backend_t *b, mcp_fault_e fault, const char *detail)
{
    if (b->failed) {
        return b->failed;
    }

    if (b->ended) {
        return MCP_OK;
    }

    b->ended = 1;

    switch (b->state) {

    case MCP_BACKEND_STATE_HEAD:

        if (fault == MCP_FAULT_NONE) {
            fault = MCP_FAULT_BACKEND_FAILED;
            detail = "no answer";
        }

        mcp_backend_fail(b, fault, detail);
        return MCP_OK;

    case MCP_BACKEND_STATE_SSE:
    case MCP_BACKEND_STATE_LINES:

        /* what is queued comes first */

        b->fault = fault;
        b->detail = detail;
        return MCP_OK;

    case MCP_BACKEND_STATE_BODY:

        if (fault == MCP_FAULT_NONE) {
            b->state = MCP_BACKEND_STATE_COMPLETE;
            return MCP_OK;
        }

        mcp_backend_release(b);
        mcp_backend_fail(b, fault, detail);
        return MCP_OK;

    default:
        return MCP_OK;
    }
}


void
mcp_backend_fail(mcp_backend_t *b, mcp_fault_e fault, const char *detail)
{
    b->state = MCP_BACKEND_STATE_FAULT;
    b->fault = fault;
    b->detail = detail;
}


int
mcp_backend_read(mcp_backend_t *b, mcp_backend_msg_t *msg)
{
    int  rc;

    memset(msg, 0, sizeof(mcp_backend_msg_t));

    if (b->failed) {
        return b->failed;
    }

    mcp_arena_reset(&b->scratch);

    rc = MCP_OK;

    switch (b->state) {

    case MCP_BACKEND_STATE_SSE:
    case MCP_BACKEND_STATE_LINES:
        rc = mcp_backend_stream(b, msg);
        break;

    case MCP_BACKEND_STATE_COMPLETE:
        rc = mcp_backend_body(b, msg);
        break;

    case MCP_BACKEND_STATE_FAULT:
        mcp_backend_fault(msg, b->fault, b->detail);
        break;

    case MCP_BACKEND_STATE_DETACHED:
        msg->kind = MCP_BACKEND_DETACHED;
        break;

    case MCP_BACKEND_STATE_DONE:
        mcp_backend_release(b);
        return MCP_DONE;

    case MCP_BACKEND_STATE_HEAD:
    case MCP_BACKEND_STATE_BODY:
        return MCP_AGAIN;
    }

    if (rc < 0) {
        b->failed = rc;
        return rc;
    }

    /* a backend that is silent for long keeps nothing for its next message */

    if (rc == MCP_AGAIN) {
        mcp_arena_destroy(&b->scratch);
    }

    if (rc == MCP_OK && msg->kind != MCP_BACKEND_NOTIFICATION) {
        msg->status = b->status >= 400 ? b->status : 0;
        b->state = MCP_BACKEND_STATE_DONE;
    }

    return rc;
}


void
mcp_backend_fault(mcp_backend_msg_t *msg, mcp_fault_e fault,
    const char *detail)
{
    memset(msg, 0, sizeof(mcp_backend_msg_t));

    msg->kind = MCP_BACKEND_FAULT;
    msg->fault = fault;
    msg->detail = detail ? detail : "";
}

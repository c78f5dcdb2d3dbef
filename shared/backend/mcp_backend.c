/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The interface of a decoder, which accepts the bytes of a backend's response
 * and returns messages. docs/backends.md has the rules, from the HTTP status
 * and the Content-Type to the envelope of each message. The caller of the
 * decoder handles the messages, writes the id of the client's request into the
 * response, and decides when to stop reading from the backend.
 */


#include "backend/mcp_backend_internal.h"


static void mcp_backend_expect_body(mcp_backend_t *b);
static void mcp_backend_fail(mcp_backend_t *b, mcp_fault_e fault,
    const char *detail);
static void mcp_backend_release(mcp_backend_t *b);
static int mcp_backend_next(mcp_backend_t *b, mcp_backend_msg_t *msg);


mcp_backend_t *
mcp_backend_create(const mcp_mem_t *mem, mcp_want_e want,
    mcp_str_t uri, size_t max, unsigned max_depth)
{
    mcp_backend_t  *b;

    b = mcp_mem_calloc(mem, sizeof(mcp_backend_t));
    if (b == NULL) {
        return NULL;
    }

    b->mem = mem;
    b->want = want;
    b->max = max;
    b->limit = max;
    b->max_depth = max_depth;

    /* keeps only a URI, not the name of a tool or prompt: an embedded resource
     * needs a URI */

    if (want == MCP_WANT_RESOURCE
        || (uri.len && memchr(uri.data, ':', uri.len)))
    {
        b->uri = uri;
    }

    /* the buffers have no limits of their own: the decoder limits messages to
     * b->max and a body to b->limit, and the caller reads all messages between
     * two writes */

    mcp_buf_init(&b->in, mem, SIZE_MAX / 2);
    mcp_buf_init(&b->out, mem, SIZE_MAX / 2);
    mcp_arena_init(&b->scratch, mem);
    mcp_sse_decoder_init(&b->sse, mem, max);

    return b;
}


void
mcp_backend_set_server(mcp_backend_t *b)
{
    b->is_server = 1;
}


void
mcp_backend_allow_questions(mcp_backend_t *b)
{
    b->questions = 1;
}


void
mcp_backend_set_id(mcp_backend_t *b, mcp_str_t id)
{
    b->id = id;
}


void
mcp_backend_ignore_responses(mcp_backend_t *b)
{
    b->no_response = 1;
}


int
mcp_backend_set_resumes(mcp_backend_t *b, mcp_str_t last)
{
    return mcp_sse_decoder_keep_ids(&b->sse, last);
}


mcp_str_t
mcp_backend_last_id(const mcp_backend_t *b, uint64_t *retry)
{
    *retry = b->sse.retry;

    return mcp_buf_text(&b->sse.id);
}


void
mcp_backend_free(mcp_backend_t *b)
{
    if (b == NULL) {
        return;
    }

    mcp_backend_release(b);
    mcp_mem_free(b->mem, b);
}


/*
 * Frees everything that the decoder has allocated, but not the decoder itself,
 * which a call keeps after the response.
 */

static void
mcp_backend_release(mcp_backend_t *b)
{
    mcp_buf_free(&b->in);
    mcp_buf_free(&b->out);
    mcp_sse_decoder_free(&b->sse);
    mcp_arena_destroy(&b->scratch);

    b->pos = 0;
    b->seen = 0;
}


void
mcp_backend_head(mcp_backend_t *b, int status, mcp_str_t content_type)
{
    if (b->state != MCP_BACKEND_STATE_HEAD) {
        return;
    }

    b->status = status;
    mcp_backend_media_type(b, content_type);

    if (b->is_server && (status == 202 || status == 204)) {
        mcp_backend_fail(b, MCP_FAULT_BACKEND_OUTPUT,
                         "the MCP server responded to a request with HTTP 202 "
                         "or 204, which has no result");

    } else if (status == 202) {
        b->state = MCP_BACKEND_STATE_DETACHED;

    } else if (status < 200) {
        mcp_backend_fail(b, MCP_FAULT_BACKEND_FAILED,
                         "the backend responded with an HTTP status below "
                         "200");

    } else if (status >= 300 && status < 400) {
        mcp_backend_fail(b, MCP_FAULT_BACKEND_FAILED,
                         "the backend responded with a redirect (HTTP 3xx), "
                         "which is not followed");

    } else if (status == 204) {
        b->class = MCP_BACKEND_TEXT;
        b->state = MCP_BACKEND_STATE_COMPLETE;

    } else if (b->class == MCP_BACKEND_SSE) {
        b->state = MCP_BACKEND_STATE_SSE;

    } else if (b->class == MCP_BACKEND_LINES) {
        b->state = MCP_BACKEND_STATE_LINES;

    } else {
        mcp_backend_expect_body(b);
    }
}


/* Decides by status and media type whether the body of a response is read. */
static void
mcp_backend_expect_body(mcp_backend_t *b)
{
    b->state = MCP_BACKEND_STATE_BODY;

    if (b->class == MCP_BACKEND_JSON || b->class == MCP_BACKEND_UNKNOWN) {
        return;
    }

    if (b->status < 400) {

        if (b->want == MCP_WANT_PLAIN || b->is_server) {
            mcp_backend_fail(b, MCP_FAULT_BACKEND_OUTPUT,
                             "the Content-Type of the response is not JSON");
        }

        return;
    }

    /* the body of an error response is needed only if it is text that becomes a
     * tool's error or contains an MCP server's error */

    if ((b->want != MCP_WANT_TOOL && !b->is_server)
        || b->class != MCP_BACKEND_TEXT)
    {
        b->state = MCP_BACKEND_STATE_COMPLETE;
        return;
    }

    if (b->limit > MCP_BACKEND_ERROR_TEXT) {
        b->limit = MCP_BACKEND_ERROR_TEXT;
    }
}


int
mcp_backend_write(mcp_backend_t *b, const char *data, size_t len)
{
    int  rc;

    if (b->failed) {
        return b->failed;
    }

    if (len == 0 || b->ended) {
        return MCP_OK;
    }

    if (b->state == MCP_BACKEND_STATE_HEAD) {

        /* the backend's reply has no head: assumes status 200 and an unknown
         * media type */

        mcp_backend_head(b, 200, mcp_null_str);
    }

    switch (b->state) {

    case MCP_BACKEND_STATE_SSE:
    case MCP_BACKEND_STATE_LINES:
        rc = mcp_backend_stream_add(b, data, len);
        break;

    case MCP_BACKEND_STATE_BODY:
        rc = mcp_backend_body_add(b, data, len);
        break;

    default:
        return MCP_OK;
    }

    if (rc == MCP_ERR_MEMORY) {
        b->failed = rc;

    } else if (rc == MCP_ERR_LIMIT) {
        mcp_backend_release(b);
        mcp_backend_fail(b, MCP_FAULT_BACKEND_TOO_LARGE,
                         "the response body is larger than mcp_max_message");
    }

    return rc;
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
            detail = "the backend ended without a response";
        }

        mcp_backend_fail(b, fault, detail);
        break;

    case MCP_BACKEND_STATE_SSE:
    case MCP_BACKEND_STATE_LINES:

        /* the fault is returned after the messages that are queued */

        b->fault = fault;
        b->detail = detail;
        break;

    case MCP_BACKEND_STATE_BODY:

        if (fault == MCP_FAULT_NONE) {
            b->state = MCP_BACKEND_STATE_COMPLETE;
            break;
        }

        mcp_backend_release(b);
        mcp_backend_fail(b, fault, detail);
        break;

    default:
        break;
    }

    return MCP_OK;
}


/* Makes this fault the next message, and the final one. */

static void
mcp_backend_fail(mcp_backend_t *b, mcp_fault_e fault, const char *detail)
{
    b->state = MCP_BACKEND_STATE_FAULT;
    b->fault = fault;
    b->detail = detail;
}


int
mcp_backend_collects(const mcp_backend_t *b)
{
    return b->state == MCP_BACKEND_STATE_BODY && !b->failed;
}


int
mcp_backend_read(mcp_backend_t *b, mcp_backend_msg_t *msg)
{
    if (b->failed) {
        return b->failed;
    }

    switch (b->state) {

    case MCP_BACKEND_STATE_BODY:
        return MCP_AGAIN;

    case MCP_BACKEND_STATE_DONE:
        mcp_backend_release(b);
        return MCP_DONE;

    default:
        return mcp_backend_stream_waits(b) ? MCP_AGAIN
                                           : mcp_backend_next(b, msg);
    }
}


/*
 * Reads the next message. This is a separate function, so that
 * mcp_backend_read() need not save registers when there is no message.
 */
__attribute__((noinline)) static int
mcp_backend_next(mcp_backend_t *b, mcp_backend_msg_t *msg)
{
    int  rc;

    mcp_arena_reset(&b->scratch);
    mcp_zero(msg, sizeof(mcp_backend_msg_t));

    switch (b->state) {

    case MCP_BACKEND_STATE_SSE:
    case MCP_BACKEND_STATE_LINES:
        rc = mcp_backend_stream_read(b, msg);
        break;

    case MCP_BACKEND_STATE_COMPLETE:
        rc = mcp_backend_body_read(b, msg);
        break;

    case MCP_BACKEND_STATE_FAULT:
        mcp_backend_fault(msg, b->fault, b->detail);
        rc = MCP_OK;
        break;

    case MCP_BACKEND_STATE_DETACHED:
        msg->kind = MCP_BACKEND_DETACHED;
        rc = MCP_OK;
        break;

    default:
        rc = MCP_AGAIN;
    }

    if (rc < 0) {
        b->failed = rc;

    } else if (rc == MCP_AGAIN) {

        /* frees the temporary memory, because the next bytes of the backend may
         * not arrive for a long time */

        mcp_arena_destroy(&b->scratch);

    } else if (msg->kind != MCP_BACKEND_NOTIFICATION
               && msg->kind != MCP_BACKEND_REQUEST)
    {
        msg->status = b->status >= 400 ? b->status : 0;
        b->state = MCP_BACKEND_STATE_DONE;
    }

    return rc;
}

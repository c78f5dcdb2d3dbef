/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Answers that are a stream of messages: SSE, and JSON in lines (NDJSON).
 * Bytes wait in "in" until they are read; messages are slices of it wherever
 * that is possible.
 */


#include "backend/mcp_backend_parts.h"


/* Buffers of an idle stream that are larger are given back. */
#define MCP_BACKEND_KEEP  16384


static int mcp_backend_next_event(mcp_backend_t *b, mcp_str_t *text);
static int mcp_backend_next_line(mcp_backend_t *b, mcp_str_t *text);
static void mcp_backend_idle(mcp_backend_t *b);
static void mcp_backend_shrink(mcp_buf_t *buf);
static int mcp_backend_has_breaks(const mcp_backend_t *b, mcp_str_t text);


int
mcp_backend_queue(mcp_backend_t *b, const char *data, size_t len)
{
    if (b->pos == b->in.len) {
        b->in.len = 0;
        b->seen = 0;
        b->pos = 0;

    } else if (b->pos > b->in.len / 2) {

        /* never moves more than was taken since the last move */

        b->in.len -= b->pos;
        b->seen -= b->seen < b->pos ? b->seen : b->pos;
        memmove(b->in.data, b->in.data + b->pos, b->in.len);
        b->pos = 0;
    }

    mcp_buf_add(&b->in, data, len);

    if (b->in.failed) {
        b->failed = MCP_ERR_MEMORY;
        return MCP_ERR_MEMORY;
    }

    return MCP_OK;
}


int
mcp_backend_stream(mcp_backend_t *b, mcp_backend_msg_t *msg)
{
    int         rc;
    char       *own;
    mcp_str_t   text;

    rc = b->state == MCP_BACKEND_STATE_SSE ? mcp_backend_next_event(b, &text)
                                           : mcp_backend_next_line(b, &text);

    if (rc == MCP_ERR_LIMIT) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_TOO_LARGE,
                          "message too large");
        return MCP_OK;
    }

    if (rc == MCP_OK) {
        own = NULL;

        if (mcp_backend_has_breaks(b, text)) {
            rc = mcp_backend_copy(b, text);
            if (rc != MCP_OK) {
                return rc;
            }

            own = b->out.data;
            text.data = own;
        }

        rc = mcp_backend_decode(b, text, own, 1, msg);

        if (rc == MCP_ERR_MEMORY) {
            return rc;
        }

        if (b->status >= 400 && msg->kind == MCP_BACKEND_FAULT) {
            return mcp_backend_status(b, text, msg);
        }

        return MCP_OK;
    }

    if (rc != MCP_AGAIN) {
        return rc;
    }

    mcp_backend_idle(b);

    if (!b->ended) {
        return MCP_AGAIN;
    }

    if (b->fault != MCP_FAULT_NONE) {
        mcp_backend_fault(msg, b->fault, b->detail);
        return MCP_OK;
    }

    if (b->status >= 400) {
        return mcp_backend_status(b, mcp_null_str, msg);
    }

    mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                      "ended without a response");

    return MCP_OK;
}


static int
mcp_backend_next_event(mcp_backend_t *b, mcp_str_t *text)
{
    int     rc;
    size_t  n;

    for ( ;; ) {

        if (b->pos < b->in.len) {
            rc = mcp_sse_decode(&b->sse, b->in.data + b->pos,
                                b->in.len - b->pos, &n, text);
            b->pos += n;

        } else if (b->ended && b->fault == MCP_FAULT_NONE && !b->flushed) {

            /*
             * HTML drops an event that no blank line ends; a backend that
             * came to its end in order has meant its last one.
             */

            b->flushed = 1;
            rc = mcp_sse_decoder_end(&b->sse, text);

        } else {
            return MCP_AGAIN;
        }

        if (rc < 0) {
            return rc;
        }

        if (rc == MCP_OK && mcp_backend_trim(*text).len) {
            return MCP_OK;
        }
    }
}


static int
mcp_backend_next_line(mcp_backend_t *b, mcp_str_t *text)
{
    size_t       start;
    const char  *lf;

    for ( ;; ) {
        start = b->pos;
        lf = NULL;

        if (b->seen < b->pos) {
            b->seen = b->pos;
        }

        if (b->seen < b->in.len) {
            lf = memchr(b->in.data + b->seen, '\n', b->in.len - b->seen);
        }

        if (lf) {
            text->len = (size_t) (lf - b->in.data) - start;
            b->pos = start + text->len + 1;

        } else {
            text->len = b->in.len - start;
            b->seen = b->in.len;

            /* one more for a CR */

            if (text->len > 0 && text->len - 1 > b->max) {
                return MCP_ERR_LIMIT;
            }

            if (text->len == 0 || !b->ended || b->fault != MCP_FAULT_NONE) {
                return MCP_AGAIN;
            }

            b->pos = b->in.len;
        }

        if (text->len == 0) {
            continue;
        }

        text->data = b->in.data + start;

        if (text->data[text->len - 1] == '\r') {
            text->len--;
        }

        if (text->len > b->max) {
            return MCP_ERR_LIMIT;
        }

        if (!b->begun) {
            *text = mcp_backend_skip_bom(*text);
            b->begun = 1;
        }

        *text = mcp_backend_trim(*text);

        if (text->len) {
            return MCP_OK;
        }
    }
}


/* Between messages a stream holds no more than it needs. */

static void
mcp_backend_idle(mcp_backend_t *b)
{
    if (b->pos == b->in.len) {
        b->in.len = 0;
        b->pos = 0;
        b->seen = 0;
    }

    b->out.len = 0;

    mcp_backend_shrink(&b->in);
    mcp_backend_shrink(&b->out);
    mcp_backend_shrink(&b->sse.data);
    mcp_backend_shrink(&b->sse.line);
}


static void
mcp_backend_shrink(mcp_buf_t *buf)
{
    if (buf->len == 0 && buf->cap > MCP_BACKEND_KEEP) {
        mcp_buf_free(buf);
    }
}


/* Both ended the lines of an SSE event, whose data are joined by LF; only LF
 * ends a line of JSON. */

static int
mcp_backend_has_breaks(const mcp_backend_t *b, mcp_str_t text)
{
    char  c;

    c = b->state == MCP_BACKEND_STATE_SSE ? '\n' : '\r';

    return memchr(text.data, c, text.len) != NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads the response of a backend: a body, which is decoded when it is
 * complete, or a stream of messages as SSE events or as JSON in lines
 * (NDJSON). Bytes are buffered in "in"; messages are slices of it where
 * possible.
 */


#include "backend/mcp_backend_internal.h"


/* Maximum size, bytes, of a buffer that is kept while a stream is idle. */
#define MCP_BACKEND_KEEP  16384


static int mcp_backend_add(mcp_backend_t *b, const char *data, size_t len);
static int mcp_backend_json_body(mcp_backend_t *b, mcp_str_t text,
    mcp_backend_msg_t *msg);
static int mcp_backend_wrapped_body(mcp_backend_t *b,
    mcp_backend_class_e class, mcp_str_t text, mcp_backend_msg_t *msg);
static int mcp_backend_stream_message(mcp_backend_t *b, mcp_str_t text,
    mcp_backend_msg_t *msg);
static int mcp_backend_stream_end(mcp_backend_t *b, mcp_backend_msg_t *msg);
static int mcp_backend_next_event(mcp_backend_t *b, mcp_str_t *text);
static int mcp_backend_next_line(mcp_backend_t *b, mcp_str_t *text);
static int mcp_backend_take_line(mcp_backend_t *b, mcp_str_t *line);
static void mcp_backend_idle(mcp_backend_t *b);
static void mcp_backend_shrink(mcp_buf_t *buf);


int
mcp_backend_body_add(mcp_backend_t *b, const char *data, size_t len)
{
    size_t  room;

    room = b->limit - b->in.len;

    if (len > room) {

        if (b->status < 400) {
            return MCP_ERR_LIMIT;
        }

        b->truncated = 1;
        len = room;
    }

    return len ? mcp_backend_add(b, data, len) : MCP_OK;
}


static int
mcp_backend_add(mcp_backend_t *b, const char *data, size_t len)
{
    mcp_buf_add(&b->in, data, len);

    return b->in.failed ? MCP_ERR_MEMORY : MCP_OK;
}


/* Sets msg to the error for an HTTP status of 400 or more. "text" is the body
 * or one event. Returns MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_backend_error_body(mcp_backend_t *b, mcp_str_t text, mcp_backend_msg_t *msg)
{
    if (b->is_server) {
        mcp_backend_server_error(b, text, msg);
        return MCP_OK;
    }

    return mcp_backend_http_error(b, text, msg);
}


int
mcp_backend_body_read(mcp_backend_t *b, mcp_backend_msg_t *msg)
{
    int        rc, json;
    mcp_str_t  text;

    text.data = b->in.len ? b->in.data : "";
    text.len = b->in.len;

    if (b->class != MCP_BACKEND_IMAGE && b->class != MCP_BACKEND_AUDIO
        && b->class != MCP_BACKEND_BINARY)
    {
        text = mcp_backend_skip_bom(text);
    }

    json = b->class == MCP_BACKEND_JSON || b->class == MCP_BACKEND_UNKNOWN;

    if (json) {
        rc = mcp_backend_json_body(b, text, msg);

        if (rc != MCP_ERR_SYNTAX) {
            return rc;
        }
    }

    if (b->status >= 400) {
        return mcp_backend_error_body(b, text, msg);
    }

    return mcp_backend_wrapped_body(b, json ? MCP_BACKEND_TEXT : b->class,
                                    text, msg);
}


/* Decodes a body as JSON. Returns MCP_OK if msg was set, MCP_ERR_SYNTAX if the
 * body has to be handled as text or as an error page, or MCP_ERR_MEMORY. */

static int
mcp_backend_json_body(mcp_backend_t *b, mcp_str_t text, mcp_backend_msg_t *msg)
{
    int     rc;
    size_t  skipped;

    if (b->truncated) {
        return MCP_ERR_SYNTAX;
    }

    if (text.len == 0) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          "the response body is empty");
        rc = MCP_ERR_SYNTAX;

    } else {
        skipped = b->in.len - text.len;

        rc = mcp_backend_decode(b, text, b->in.data + skipped, 0, msg);

        if (rc == MCP_ERR_MEMORY) {
            return rc;
        }

        if (msg->kind != MCP_BACKEND_FAULT
            || mcp_fault_is_upstream(msg->fault))
        {
            return MCP_OK;
        }

        msg->at += skipped;
    }

    if (b->status >= 400) {
        return MCP_ERR_SYNTAX;
    }

    /* the body is not a valid message. It cannot be a text either, because the
     * backend has declared JSON, the method requires JSON, or the backend is an
     * MCP server: msg is the fault */

    if (b->class == MCP_BACKEND_JSON || b->want == MCP_WANT_PLAIN
        || b->is_server)
    {
        return MCP_OK;
    }

    return rc;
}


static int
mcp_backend_wrapped_body(mcp_backend_t *b, mcp_backend_class_e class,
    mcp_str_t text, mcp_backend_msg_t *msg)
{
    int        rc;
    mcp_str_t  type;

    if (b->want == MCP_WANT_PLAIN) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          "the response body is empty");
        return MCP_OK;
    }

    rc = mcp_backend_wrap(b, class, text, msg);

    /* warns about text/html that is empty or looks like JSON: some servers send
     * this type for scripts that set no Content-Type */

    type = (mcp_str_t) { b->type, b->type_len };
    text = mcp_backend_trim(text);

    if (mcp_str_eq(type, mcp_str("text/html")) && text.len == 0
        && b->want == MCP_WANT_TOOL)
    {
        msg->warning = "an empty text/html body, so the client gets a result "
                       "without content";
    }

    if (mcp_str_eq(type, mcp_str("text/html"))
        && text.len >= 2 && text.data[0] == '{'
        && text.data[text.len - 1] == '}')
    {
        msg->warning = "JSON with the Content-Type text/html, so the client "
                       "gets it as text: set the Content-Type application/json "
                       "in the backend";
    }

    return rc;
}


int
mcp_backend_stream_add(mcp_backend_t *b, const char *data, size_t len)
{
    if (b->pos == b->in.len) {
        b->in.len = 0;
        b->seen = 0;
        b->pos = 0;

    } else if (b->pos > b->in.len / 2) {

        /* More than half of the bytes were consumed: moving the rest takes no
         * longer than consuming these bytes did. */

        b->in.len -= b->pos;
        b->seen -= b->seen < b->pos ? b->seen : b->pos;
        memmove(b->in.data, b->in.data + b->pos, b->in.len);
        b->pos = 0;
    }

    return mcp_backend_add(b, data, len);
}


int
mcp_backend_stream_waits(mcp_backend_t *b)
{
    if ((b->state != MCP_BACKEND_STATE_SSE
         && b->state != MCP_BACKEND_STATE_LINES)
        || b->pos < b->in.len || b->ended)
    {
        return 0;
    }

    mcp_backend_idle(b);

    if (b->scratch.blocks) {
        mcp_arena_destroy(&b->scratch);
    }

    return 1;
}


int
mcp_backend_stream_read(mcp_backend_t *b, mcp_backend_msg_t *msg)
{
    int        rc;
    mcp_str_t  text;

    rc = b->state == MCP_BACKEND_STATE_SSE ? mcp_backend_next_event(b, &text)
                                           : mcp_backend_next_line(b, &text);

    switch (rc) {

    case MCP_OK:
        return mcp_backend_stream_message(b, text, msg);

    case MCP_ERR_LIMIT:
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_TOO_LARGE,
                          "a message is larger than mcp_max_message");
        return MCP_OK;

    case MCP_AGAIN:
        mcp_backend_idle(b);
        return b->ended ? mcp_backend_stream_end(b, msg) : MCP_AGAIN;

    default:
        return rc;
    }
}


static int
mcp_backend_stream_message(mcp_backend_t *b, mcp_str_t text,
    mcp_backend_msg_t *msg)
{
    int    rc, breaks;
    char  *copy;

    copy = NULL;

    /* finds out whether the message has line breaks: the data of an event may
     * contain LF, a line of JSON may contain CR */

    breaks = b->state == MCP_BACKEND_STATE_SSE
             ? b->sse.joined : memchr(text.data, '\r', text.len) != NULL;

    if (breaks) {
        rc = mcp_backend_copy(b, text);
        if (rc != MCP_OK) {
            return rc;
        }

        copy = b->out.data;
        text.data = copy;
    }

    rc = mcp_backend_decode(b, text, copy, 1, msg);

    if (rc == MCP_ERR_MEMORY) {
        return rc;
    }

    if (b->status >= 400 && msg->kind == MCP_BACKEND_FAULT
        && !mcp_fault_is_upstream(msg->fault))
    {
        return mcp_backend_error_body(b, text, msg);
    }

    return MCP_OK;
}


/* Sets msg to the fault, or to the HTTP error, of a stream that has ended
 * without a response. */

static int
mcp_backend_stream_end(mcp_backend_t *b, mcp_backend_msg_t *msg)
{
    if (b->fault == MCP_FAULT_NONE && b->status >= 400) {
        return mcp_backend_error_body(b, mcp_null_str, msg);
    }

    if (b->fault != MCP_FAULT_NONE) {
        mcp_backend_fault(msg, b->fault, b->detail);

    } else {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          b->foreign ? "the stream ended without a response "
                                       "that has the \"id\" of the request"
                                     : "the stream ended without a response");
    }

    msg->resumable = b->sse.id.len && b->status < 400;

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

            /* the standard (WHATWG HTML, 9.2) discards an event without a
             * blank line after it; but a backend that ended regularly intended
             * to send its last event */

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


/* Sets *text to the next line that is not blank, trimmed. Returns MCP_OK,
 * MCP_AGAIN if there is no complete line, or MCP_ERR_LIMIT if the line is too
 * long. */

static int
mcp_backend_next_line(mcp_backend_t *b, mcp_str_t *text)
{
    int  rc;

    do {
        rc = mcp_backend_take_line(b, text);
        if (rc != MCP_OK) {
            return rc;
        }

        if (text->len == 0) {
            continue;
        }

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

    } while (text->len == 0);

    return MCP_OK;
}


/* Sets *line to the next line, unchanged. The last line of a response may lack
 * its LF. Returns the values of mcp_backend_next_line(). */

static int
mcp_backend_take_line(mcp_backend_t *b, mcp_str_t *line)
{
    size_t       start;
    const char  *lf;

    start = b->pos;
    lf = NULL;

    if (b->seen < start) {
        b->seen = start;
    }

    if (b->seen < b->in.len) {
        line->data = b->in.data + start;
        lf = memchr(b->in.data + b->seen, '\n', b->in.len - b->seen);
    }

    if (lf) {
        line->len = (size_t) (lf - b->in.data) - start;
        b->pos = start + line->len + 1;
        return MCP_OK;
    }

    line->len = b->in.len - start;
    b->seen = b->in.len;

    /* the last byte may be a CR, which does not count toward b->max */

    if (line->len > 0 && line->len - 1 > b->max) {
        return MCP_ERR_LIMIT;
    }

    if (line->len == 0 || !b->ended || b->fault != MCP_FAULT_NONE) {
        return MCP_AGAIN;
    }

    line->data = b->in.data + start;
    b->pos = b->in.len;

    return MCP_OK;
}


/* Frees memory that a stream does not need between two messages. */

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

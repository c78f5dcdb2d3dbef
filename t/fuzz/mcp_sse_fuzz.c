/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Streams of server-sent events.  The first byte of the input chooses the
 * split of the stream.  The events must be those of the whole stream read at
 * once, and the events of a slow reader, which is written after the text of
 * the standard.
 */


#include "fuzz_env.h"

#include "http/mcp_sse.h"


#define MAX  SIZE_MAX


/* Appends the length of an event, and the event. */
static void
add_event(mcp_buf_t *out, mcp_str_t data)
{
    mcp_buf_int(out, (int64_t) data.len);
    mcp_buf_lit(out, ":");
    mcp_buf_str(out, data);
}


static int
decode(mcp_sse_decoder_t *d, const char *in, size_t len, size_t step,
    mcp_buf_t *out)
{
    int         rc;
    size_t      part, consumed;
    mcp_str_t   data;

    while (len > 0) {
        part = step < len ? step : len;

        rc = mcp_sse_decode(d, in, part, &consumed, &data);

        must(consumed <= part);

        if (rc < 0) {
            return rc;
        }

        must(rc == MCP_OK || (rc == MCP_AGAIN && consumed == part));

        if (rc == MCP_OK) {
            must(consumed > 0 && data.len > 0);
            add_event(out, data);
        }

        in += consumed;
        len -= consumed;
    }

    rc = mcp_sse_decoder_end(d, &data);

    if (rc == MCP_OK) {
        mcp_buf_lit(out, "end ");
        add_event(out, data);
        rc = mcp_sse_decoder_end(d, &data);
    }

    must(rc == MCP_DONE || rc < 0);

    return rc;
}


/* The event that the slow reader collects: the data buffer; foreign is 1 if
 * the event's type is neither empty nor "message". */
typedef struct {
    mcp_buf_t  data;
    int        foreign;
} slow_event_t;


/* Appends the event to the output, unless its data, without the last LF, is
 * empty or its type is foreign. */
static void
slow_dispatch(const slow_event_t *e, const char *before, mcp_buf_t *out)
{
    if (e->data.len > 1 && !e->foreign) {
        mcp_buf_add(out, before, strlen(before));
        add_event(out, (mcp_str_t) { e->data.data, e->data.len - 1 });
    }
}


/* Processes one line of the stream (WHATWG HTML 9.2.6). */
static void
slow_line(const char *p, size_t len, slow_event_t *e, mcp_buf_t *out)
{
    mcp_str_t    name, value;
    const char  *colon;

    if (len == 0) {
        slow_dispatch(e, "", out);
        e->data.len = 0;
        e->foreign = 0;
        return;
    }

    colon = memchr(p, ':', len);
    name = (mcp_str_t) { p, colon ? (size_t) (colon - p) : len };
    value = mcp_str("");

    if (colon != NULL) {
        value = (mcp_str_t) { colon + 1, len - name.len - 1 };

        if (value.len > 0 && value.data[0] == ' ') {
            value.data++;
            value.len--;
        }
    }

    if (mcp_str_eq(name, mcp_str("data"))) {
        mcp_buf_str(&e->data, value);
        mcp_buf_lit(&e->data, "\n");

    } else if (mcp_str_eq(name, mcp_str("event"))) {
        e->foreign = value.len > 0 && !mcp_str_eq(value, mcp_str("message"));
    }
}


static void
slow_decode(const char *in, size_t len, mcp_buf_t *out)
{
    size_t        i, start;
    slow_event_t  e;

    mcp_buf_init(&e.data, &fuzz_mem, MAX);
    e.foreign = 0;

    if (len >= 3 && memcmp(in, "\xef\xbb\xbf", 3) == 0) {
        in += 3;
        len -= 3;
    }

    start = 0;

    for (i = 0; i < len; i++) {
        if (in[i] != '\n' && in[i] != '\r') {
            continue;
        }

        slow_line(in + start, i - start, &e, out);

        if (in[i] == '\r' && i + 1 < len && in[i + 1] == '\n') {
            i++;
        }

        start = i + 1;
    }

    /* the line may lack its end; the standard discards an incomplete event at
     * the end */

    if (start < len) {
        slow_line(in + start, len - start, &e, out);
    }

    slow_dispatch(&e, "end ", out);
    mcp_buf_free(&e.data);
}


static void
check_same(const mcp_buf_t *a, const mcp_buf_t *b)
{
    must(a->len == b->len);
    must(a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}


/* Reads the stream with a small limit for events: for any split no event
 * exceeds the limit, and no other failure occurs. */
static void
check_limit(const char *in, size_t len, size_t step)
{
    int                rc;
    size_t             consumed, part;
    mcp_str_t          data;
    mcp_sse_decoder_t  d;

    mcp_sse_decoder_init(&d, &fuzz_mem, 32);

    for (rc = MCP_OK; len > 0 && rc >= 0; len -= consumed) {
        part = step < len ? step : len;
        rc = mcp_sse_decode(&d, in, part, &consumed, &data);
        must(rc != MCP_OK || data.len <= 32);
        must(rc >= 0 || rc == MCP_ERR_LIMIT);
        in += consumed;
    }

    mcp_sse_decoder_free(&d);
}


/* Checks that an encoded event is decoded to its data. */
static void
check_encoder(const char *in, size_t len)
{
    char               *p, *text, stream[MCP_STREAM_TEXT_LEN];
    size_t              consumed;
    uint64_t            seq;
    mcp_str_t           data;
    unsigned char       id[MCP_STREAM_ID_LEN] = { 1, 2, 3 };
    mcp_sse_decoder_t   d;

    if (len == 0 || memchr(in, '\n', len) || memchr(in, '\r', len)) {
        return;
    }

    text = malloc(MCP_SSE_HEAD_MAX + len + 2);
    (void) mcp_stream_id_print(stream, id);
    p = mcp_sse_event_head(text, stream, UINT64_MAX);
    memcpy(p, in, len);
    p += len;
    *p++ = '\n';
    *p++ = '\n';

    mcp_sse_decoder_init(&d, &fuzz_mem, len + MCP_EVENT_ID_MAX);
    must(mcp_sse_decode(&d, text, (size_t) (p - text), &consumed, &data)
         == MCP_OK);
    must(data.len == len && memcmp(data.data, in, len) == 0);
    mcp_sse_decoder_free(&d);

    /* if the input is an event id, writing the id results in the same text */

    data.data = in;
    data.len = len;

    if (mcp_event_id_parse(data, id, &seq) == MCP_OK) {
        p = mcp_event_id_print(text, id, seq);
        must((size_t) (p - text) == len && memcmp(text, in, len) == 0);
    }

    free(text);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t             step, len;
    mcp_buf_t          slow, whole, cut;
    const char        *in;
    mcp_sse_decoder_t  d;

    if (size == 0) {
        return 0;
    }

    step = data[0] % 16 + 1;
    in = (const char *) data + 1;
    len = size - 1;

    mcp_buf_init(&slow, &fuzz_mem, MAX);
    mcp_buf_init(&whole, &fuzz_mem, MAX);
    mcp_buf_init(&cut, &fuzz_mem, MAX);

    slow_decode(in, len, &slow);

    mcp_sse_decoder_init(&d, &fuzz_mem, MAX);
    must(decode(&d, in, len, len, &whole) == MCP_DONE);
    mcp_sse_decoder_free(&d);

    mcp_sse_decoder_init(&d, &fuzz_mem, MAX);
    must(decode(&d, in, len, step, &cut) == MCP_DONE);
    mcp_sse_decoder_free(&d);

    check_same(&slow, &whole);
    check_same(&slow, &cut);

    check_limit(in, len, step);
    check_encoder(in, len);

    mcp_buf_free(&slow);
    mcp_buf_free(&whole);
    mcp_buf_free(&cut);

    must(live == 0);

    return 0;
}

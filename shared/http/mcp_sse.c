/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Server-sent events: encodes events for clients, decodes events of backends,
 * and prints and parses event ids. Streams, cursors and replay are in other
 * files.
 */


#include "base/mcp_base64.h"
#include "http/mcp_sse.h"


/* Space for "data: " and a byte order mark in addition to the longest data. */
#define MCP_SSE_LINE_EXTRA  16

/*
 * mcp_sse_find_end() searches blocks of this number of bytes, first for LF and
 * then for CR. If it searched the whole input for LF, the time would be
 * quadratic for input whose lines all end with CR.
 */
#define MCP_SSE_BLOCK       256


enum {
    MCP_SSE_READING = 0,
    MCP_SSE_DELIVERED,         /* an event was returned: the next call clears
                                  "data", which is valid until then */
    MCP_SSE_ENDED
};


#define mcp_sse_lit(p, text)                                                  \
    ((char *) memcpy(p, text, sizeof(text) - 1) + sizeof(text) - 1)


char *
mcp_sse_event_head(char *p, const char id[MCP_STREAM_TEXT_LEN], uint64_t seq)
{
    p = mcp_sse_lit(p, "id: ");
    memcpy(p, id, MCP_STREAM_TEXT_LEN);
    p += MCP_STREAM_TEXT_LEN;
    *p++ = '.';
    p = mcp_uint_print(p, seq);

    return mcp_sse_lit(p, "\ndata: ");
}


char *
mcp_sse_priming(char *p, const unsigned char id[MCP_STREAM_ID_LEN],
    uint64_t seq, uint64_t retry_ms)
{
    p = mcp_sse_lit(p, "id: ");
    p = mcp_event_id_print(p, id, seq);

    if (retry_ms > 0) {
        p = mcp_sse_lit(p, "\nretry: ");
        p = mcp_uint_print(p, retry_ms);
    }

    return mcp_sse_lit(p, "\ndata: \n\n");
}


char *
mcp_sse_retry(char *p, uint64_t retry_ms)
{
    p = mcp_sse_lit(p, "retry: ");
    p = mcp_uint_print(p, retry_ms);

    return mcp_sse_lit(p, "\n\n");
}


void
mcp_sse_decoder_init(mcp_sse_decoder_t *d, const mcp_mem_t *mem, size_t max)
{
    mcp_buf_init(&d->data, mem, max);
    mcp_buf_init(&d->line, mem, max > SIZE_MAX - MCP_SSE_LINE_EXTRA
                                ? SIZE_MAX : max + MCP_SSE_LINE_EXTRA);
    mcp_buf_init(&d->id, mem, MCP_SSE_ID);
    mcp_buf_init(&d->next_id, mem, MCP_SSE_ID);

    d->retry = 0;
    d->state = MCP_SSE_READING;
    d->only = mcp_null_str;
    d->has_data = 0;
    d->joined = 0;
    d->foreign = 0;
    d->skip_lf = 0;
    d->started = 0;
    d->keeps_ids = 0;
    d->has_id = 0;
}


void
mcp_sse_decoder_free(mcp_sse_decoder_t *d)
{
    mcp_buf_free(&d->data);
    mcp_buf_free(&d->line);
    mcp_buf_free(&d->id);
    mcp_buf_free(&d->next_id);
}


int
mcp_sse_decoder_keep_ids(mcp_sse_decoder_t *d, mcp_str_t last)
{
    d->keeps_ids = 1;
    mcp_buf_str(&d->id, last);

    return d->id.failed ? MCP_ERR_MEMORY : MCP_OK;
}


/* Clears the data and the type of an event after it was returned, or if it had
 * no data. */
static void
mcp_sse_clear(mcp_sse_decoder_t *d)
{
    d->data.len = 0;
    d->only = mcp_null_str;
    d->has_data = 0;
    d->joined = 0;
    d->foreign = 0;
}


/* Copies a data line to which d->only points to d->data, because d->only is a
 * slice of the input or of d->line, which the caller may overwrite. */
static void
mcp_sse_keep(mcp_sse_decoder_t *d)
{
    if (d->only.len > 0) {
        mcp_buf_str(&d->data, d->only);
        d->only = mcp_null_str;
    }
}


/*
 * Adds the value of a "data" line to the current event. The first value is not
 * copied: d->only points to it until a second one follows, or until
 * mcp_sse_keep().
 */
static void
mcp_sse_data(mcp_sse_decoder_t *d, mcp_str_t line)
{
    if (!d->has_data && line.len <= d->data.max) {
        d->only = line;

    } else {
        mcp_sse_keep(d);

        if (d->has_data) {
            d->joined = 1;
            mcp_buf_lit(&d->data, "\n");
        }

        mcp_buf_str(&d->data, line);
    }

    d->has_data = 1;
}


/* Skips a byte order mark. */
static void
mcp_sse_skip_bom(mcp_str_t *line)
{
    if (line->len >= 3 && memcmp(line->data, "\xef\xbb\xbf", 3) == 0) {
        line->data += 3;
        line->len -= 3;
    }
}


/* Returns 1 if the line begins with c, and removes this c from the line.
 * Otherwise returns 0. */
static int
mcp_sse_take(mcp_str_t *line, char c)
{
    if (line->len == 0 || line->data[0] != c) {
        return 0;
    }

    line->data++;
    line->len--;

    return 1;
}


/*
 * Returns 1 if the line is the field `name`, and sets *line to the field's
 * value.
 */
static int
mcp_sse_is_field(mcp_str_t *line, mcp_str_t name)
{
    mcp_str_t  value;

    if (line->len < name.len || memcmp(line->data, name.data, name.len) != 0) {
        return 0;
    }

    value.data = line->data + name.len;
    value.len = line->len - name.len;

    if (value.len > 0 && !mcp_sse_take(&value, ':')) {
        return 0;
    }

    (void) mcp_sse_take(&value, ' ');
    *line = value;

    return 1;
}


/* Stores the id of the current event in d->next_id. Stores an empty id instead
 * if the id is longer than MCP_SSE_ID or has a byte that is not visible ASCII,
 * because it could not be sent in Last-Event-ID. */
static void
mcp_sse_id(mcp_sse_decoder_t *d, mcp_str_t line)
{
    size_t  i;

    d->has_id = 1;
    d->next_id.len = 0;

    for (i = 0; i < line.len; i++) {
        if (line.data[i] < 0x21 || line.data[i] > 0x7e) {
            return;
        }
    }

    if (line.len <= MCP_SSE_ID) {
        mcp_buf_str(&d->next_id, line);
    }
}


/* Ends the current event: if it has an id, moves this id from d->next_id to
 * d->id, the last event id. The buffer of the old id becomes d->next_id. */
static void
mcp_sse_end_id(mcp_sse_decoder_t *d)
{
    mcp_buf_t  id;

    if (d->has_id) {
        id = d->id;
        d->id = d->next_id;
        d->next_id = id;
        d->has_id = 0;
    }
}


/*
 * Handles a line that is not blank: the fields "data" and "event" and, if
 * d->keeps_ids is set, "id" and "retry". Ignores all other lines, including
 * comments, which are fields with an empty name.
 */
static void
mcp_sse_field(mcp_sse_decoder_t *d, mcp_str_t line)
{
    if (mcp_sse_is_field(&line, mcp_str("data"))) {
        mcp_sse_data(d, line);

    } else if (mcp_sse_is_field(&line, mcp_str("event"))) {
        d->foreign = line.len > 0 && !mcp_str_eq(line, mcp_str("message"));

    } else if (!d->keeps_ids) {
        return;

    } else if (mcp_sse_is_field(&line, mcp_str("id"))) {
        mcp_sse_id(d, line);

    } else if (mcp_sse_is_field(&line, mcp_str("retry"))) {
        (void) mcp_str_uint(line, &d->retry);
    }
}


/*
 * Handles one complete line, without its line end. Returns 1 if the line
 * completes an event, otherwise 0.
 */
static int
mcp_sse_line(mcp_sse_decoder_t *d, const char *p, size_t len)
{
    mcp_str_t  line;

    line = (mcp_str_t) { p, len };

    if (!d->started) {
        d->started = 1;
        mcp_sse_skip_bom(&line);
    }

    if (line.len > 0) {
        mcp_sse_field(d, line);
        return 0;
    }

    mcp_sse_end_id(d);

    if (!d->foreign && (d->only.len > 0 || d->data.len > 0)) {
        return 1;
    }

    mcp_sse_clear(d);

    return 0;
}


/*
 * Handles a complete line: its beginning from earlier input, in d->line, and
 * its rest, [p, p + len). Returns 1 if the line completes an event, otherwise
 * 0. Errors are in the "failed" fields of the decoder's buffers.
 */
static int
mcp_sse_line_end(mcp_sse_decoder_t *d, const char *p, size_t len)
{
    int  event;

    /* the whole line is in the present input: it is not copied to d->line. A
     * line that is longer than d->line.max makes mcp_buf_add() fail below. */

    if (d->line.len == 0 && len <= d->line.max) {
        return mcp_sse_line(d, p, len);
    }

    mcp_buf_add(&d->line, p, len);

    if (d->line.failed) {
        return 0;
    }

    event = mcp_sse_line(d, d->line.data, d->line.len);
    mcp_sse_keep(d);
    d->line.len = 0;

    return event;
}


static int
mcp_sse_failed(const mcp_sse_decoder_t *d)
{
    if (d->line.failed || d->data.failed) {
        return d->line.failed ? d->line.failed : d->data.failed;
    }

    return d->next_id.failed;
}


static int
mcp_sse_deliver(mcp_sse_decoder_t *d, mcp_str_t *data)
{
    *data = d->only;

    if (data->len == 0) {
        *data = (mcp_str_t) { d->data.data, d->data.len };
    }

    d->state = MCP_SSE_DELIVERED;

    return MCP_OK;
}


/*
 * Returns the length of the line end at p. If CR is the last byte of the input,
 * sets d->skip_lf, because its LF may be at the start of the next input.
 */
static size_t
mcp_sse_line_end_len(mcp_sse_decoder_t *d, const char *p, const char *end)
{
    if (*p == '\n') {
        return 1;
    }

    if (p + 1 == end) {
        d->skip_lf = 1;
        return 1;
    }

    return p[1] == '\n' ? 2 : 1;
}


/*
 * Prepares the decoder for more input. Returns the number of bytes at the
 * start of the input that belong to the previous line end.
 */
static size_t
mcp_sse_resume(mcp_sse_decoder_t *d, const char *in, size_t len)
{
    if (d->state == MCP_SSE_DELIVERED) {
        mcp_sse_clear(d);
        d->state = MCP_SSE_READING;
    }

    if (!d->skip_lf || len == 0) {
        return 0;
    }

    d->skip_lf = 0;

    return in[0] == '\n';
}


/* Returns the address of the first CR or LF from p on, or end if there is
 * none. */
static const char *
mcp_sse_find_end(const char *p, const char *end)
{
    size_t       n;
    const char  *lf, *cr;

    for ( ; p < end; p += n) {
        n = (size_t) (end - p) < MCP_SSE_BLOCK ? (size_t) (end - p)
                                               : MCP_SSE_BLOCK;
        lf = memchr(p, '\n', n);
        cr = memchr(p, '\r', lf ? (size_t) (lf - p) : n);

        if (cr || lf) {
            return cr ? cr : lf;
        }
    }

    return end;
}


int
mcp_sse_decode(mcp_sse_decoder_t *d, const char *in, size_t len,
    size_t *consumed, mcp_str_t *data)
{
    int     event;
    size_t  i, start;

    *consumed = 0;

    if (mcp_sse_failed(d)) {
        return mcp_sse_failed(d);
    }

    start = mcp_sse_resume(d, in, len);

    if (start == len) {
        *consumed = len;
        return MCP_AGAIN;
    }

    for ( ;; ) {
        i = (size_t) (mcp_sse_find_end(in + start, in + len) - in);

        if (i == len) {
            break;
        }

        event = mcp_sse_line_end(d, in + start, i - start);

        if (mcp_sse_failed(d)) {
            return mcp_sse_failed(d);
        }

        start = i + mcp_sse_line_end_len(d, in + i, in + len);

        if (event) {
            *consumed = start;
            return mcp_sse_deliver(d, data);
        }
    }

    mcp_sse_keep(d);

    /* if mcp_sse_keep() has failed, the rest of the input is not added to
     * d->line, so that mcp_sse_decode() returns the error of mcp_sse_keep() */

    if (start < len && !mcp_sse_failed(d)) {
        mcp_buf_add(&d->line, in + start, len - start);
    }

    *consumed = len;

    return mcp_sse_failed(d) ? mcp_sse_failed(d) : MCP_AGAIN;
}


int
mcp_sse_decoder_end(mcp_sse_decoder_t *d, mcp_str_t *data)
{
    if (mcp_sse_failed(d)) {
        return mcp_sse_failed(d);
    }

    if (d->state != MCP_SSE_READING) {
        mcp_sse_clear(d);
    }

    /* a last line without a line end counts as complete; after it, an event
     * without a blank line counts as complete */

    if (d->line.len > 0) {
        (void) mcp_sse_line_end(d, NULL, 0);

        if (mcp_sse_failed(d)) {
            return mcp_sse_failed(d);
        }
    }

    if (d->data.len > 0 && !d->foreign) {
        mcp_sse_end_id(d);
        return mcp_sse_deliver(d, data);
    }

    d->state = MCP_SSE_ENDED;

    return MCP_DONE;
}


/* --- ids of streams and of events --- */

char *
mcp_stream_id_print(char *p, const unsigned char id[MCP_STREAM_ID_LEN])
{
    return mcp_base64url_encode(p, id, MCP_STREAM_ID_LEN);
}


char *
mcp_event_id_print(char *p, const unsigned char id[MCP_STREAM_ID_LEN],
    uint64_t seq)
{
    p = mcp_stream_id_print(p, id);
    *p++ = '.';

    return mcp_uint_print(p, seq);
}


int
mcp_stream_id_parse(mcp_str_t text, unsigned char id[MCP_STREAM_ID_LEN])
{
    size_t  len;

    if (text.len != MCP_STREAM_TEXT_LEN
        || mcp_base64url_decode(text, id, MCP_STREAM_ID_LEN, &len) != MCP_OK)
    {
        return MCP_ERR_SYNTAX;
    }

    return MCP_OK;
}


int
mcp_event_id_parse(mcp_str_t text, unsigned char id[MCP_STREAM_ID_LEN],
    uint64_t *seq)
{
    uint64_t   n;
    mcp_str_t  stream, number;

    if (text.len < MCP_STREAM_TEXT_LEN + 2
        || text.data[MCP_STREAM_TEXT_LEN] != '.')
    {
        return MCP_ERR_SYNTAX;
    }

    stream.data = text.data;
    stream.len = MCP_STREAM_TEXT_LEN;

    number.data = text.data + MCP_STREAM_TEXT_LEN + 1;
    number.len = text.len - MCP_STREAM_TEXT_LEN - 1;

    if (number.len > 1 && number.data[0] == '0') {
        return MCP_ERR_SYNTAX;
    }

    if (mcp_str_uint(number, &n) != MCP_OK || n > INT64_MAX) {
        return MCP_ERR_SYNTAX;
    }

    if (mcp_stream_id_parse(stream, id) != MCP_OK) {
        return MCP_ERR_SYNTAX;
    }

    *seq = n;

    return MCP_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Encodes values as text for Redis, and decodes them. The encoded form is
 * decimal numbers separated by spaces, followed by texts of any bytes. */


#include "cluster/mcp_cluster_replication.h"
#include "json/mcp_json_scan.h"


/* The constant values of a stream begin with the number of their form:
 * MCP_CODEC_FORM, or MCP_CODEC_JOINED if they contain the digest by which equal
 * calls join the stream. */
#define MCP_CODEC_FORM    1
#define MCP_CODEC_JOINED  2

#define MCP_CODEC_ENCODE_NUMBERS  12

/* Maximum depth of a message's JSON; no endpoint accepts a deeper one. */
#define MCP_CODEC_DEPTH   1024


static char *
mcp_codec_encode_numbers(char *p, const uint64_t *numbers, size_t n)
{
    size_t  i;

    for (i = 0; i < n; i++) {
        if (i) {
            *p++ = ' ';
        }

        p = mcp_uint_print(p, numbers[i]);
    }

    return p;
}


/* Parses n numbers at the beginning of text, each followed by a space or by the
 * end of text, and removes them. Returns MCP_OK or MCP_ERR_SYNTAX. */
static int
mcp_codec_decode_numbers(mcp_str_t *text, uint64_t *numbers, size_t n)
{
    size_t     i, len;
    mcp_str_t  number;

    for (i = 0; i < n; i++) {
        for (len = 0; len < text->len && text->data[len] != ' '; len++) {
            /* void */
        }

        number = (mcp_str_t) { text->data, len };

        if (mcp_str_uint(number, &numbers[i]) != MCP_OK) {
            return MCP_ERR_SYNTAX;
        }

        if (len < text->len) {
            len++;
        }

        text->data += len;
        text->len -= len;
    }

    return MCP_OK;
}


char *
mcp_codec_encode_state(char *p, const mcp_store_checkpoint_t *checkpoint)
{
    uint64_t  numbers[4] =
        { checkpoint->state, checkpoint->answered, checkpoint->failed,
                             checkpoint->failed_seq };

    return mcp_codec_encode_numbers(p, numbers, 4);
}


int
mcp_codec_decode_state(mcp_str_t text, mcp_store_checkpoint_t *checkpoint)
{
    uint64_t  numbers[4];

    if (mcp_codec_decode_numbers(&text, numbers, 4) != MCP_OK || text.len
        || numbers[0] > MCP_STATE_CANCELLED)
    {
        return MCP_ERR_SYNTAX;
    }

    checkpoint->state = (mcp_stream_state_e) numbers[0];
    checkpoint->answered = numbers[1];
    checkpoint->failed = numbers[2];
    checkpoint->failed_seq = numbers[3];

    return MCP_OK;
}


char *
mcp_codec_encode_answers(char *p, const mcp_store_raw_t *raw)
{
    uint64_t  numbers[2] = { raw->answers, raw->state };

    return mcp_codec_encode_numbers(p, numbers, 2);
}


int
mcp_codec_decode_answers(mcp_str_t text, mcp_store_raw_t *raw)
{
    uint64_t  numbers[2];

    if (mcp_codec_decode_numbers(&text, numbers, 2) != MCP_OK || text.len
        || numbers[0] > UINT16_MAX || numbers[1] > MCP_STATE_CANCELLED)
    {
        return MCP_ERR_SYNTAX;
    }

    raw->answers = (unsigned) numbers[0];
    raw->state = (mcp_stream_state_e) numbers[1];

    return MCP_OK;
}


char *
mcp_codec_encode_task(char *p, const mcp_codec_task_t *task)
{
    uint64_t  numbers[4] = { task->expires, task->kept, task->changed,
                             task->given };

    return mcp_codec_encode_numbers(p, numbers, 4);
}


int
mcp_codec_decode_task(mcp_str_t text, mcp_codec_task_t *task)
{
    uint64_t  numbers[4];

    if (mcp_codec_decode_numbers(&text, numbers, 4) != MCP_OK || text.len
        || numbers[3] > UINT32_MAX)
    {
        return MCP_ERR_SYNTAX;
    }

    task->expires = numbers[0];
    task->kept = numbers[1];
    task->changed = numbers[2];
    task->given = (uint32_t) numbers[3];

    return MCP_OK;
}


void
mcp_codec_decode_joined(mcp_str_t joined, uint64_t sent,
    const mcp_codec_task_t *task, mcp_store_joined_t *out)
{
    memset(out, 0, sizeof(mcp_store_joined_t));

    out->held = joined.len == 1 && joined.data[0] == 'h';
    out->attended = joined.len == 1 && joined.data[0] != '0';
    out->sent = sent;
    out->expires = task->expires;
    out->kept = task->kept;
    out->changed = task->changed;
}


void
mcp_codec_encode_spec(mcp_buf_t *buf, const mcp_stream_spec_t *spec)
{
    char      text[MCP_CODEC_ENCODE_NUMBERS * 21], *p;
    uint64_t  numbers[MCP_CODEC_ENCODE_NUMBERS] = {
        spec->join ? MCP_CODEC_JOINED : MCP_CODEC_FORM, spec->kind,
        spec->revision, spec->expires,
        spec->max_wait, spec->linger, spec->promised, spec->max_events,
        spec->max_bytes, spec->method.len, spec->name.len, spec->request.len
    };

    p = mcp_codec_encode_numbers(text, numbers, MCP_CODEC_ENCODE_NUMBERS);
    *p++ = ' ';

    mcp_buf_add(buf, text, (size_t) (p - text));
    mcp_buf_add(buf, spec->id, MCP_STREAM_ID_LEN);
    mcp_buf_add(buf, spec->session, MCP_DIGEST_LEN);
    mcp_buf_add(buf, spec->principal, MCP_DIGEST_LEN);
    mcp_buf_add(buf, spec->params, MCP_DIGEST_LEN);

    if (spec->join) {
        mcp_buf_add(buf, spec->join, MCP_DIGEST_LEN);
    }

    mcp_buf_str(buf, spec->method);
    mcp_buf_str(buf, spec->name);
    mcp_buf_str(buf, spec->request);
}


int
mcp_codec_is_message(const mcp_mem_t *mem, mcp_str_t text)
{
    int               rc;
    mcp_arena_t       scratch;
    mcp_json_value_t  root;

    if (text.len == 0 || memchr(text.data, '\n', text.len)
        || memchr(text.data, '\r', text.len))
    {
        return 0;
    }

    mcp_arena_init(&scratch, mem);
    rc = mcp_json_scan(&scratch, text, MCP_CODEC_DEPTH, NULL, 0, &root, NULL,
                       NULL);
    mcp_arena_destroy(&scratch);

    return rc == MCP_OK;
}


/* Removes the first len bytes from text and returns them. */
static mcp_str_t
mcp_codec_decode_text(mcp_str_t *text, size_t len)
{
    mcp_str_t  part;

    part = (mcp_str_t) { text->data, len };
    text->data += len;
    text->len -= len;

    return part;
}


/* Copies the numbers and the fields of fixed length into the spec. */
static void
mcp_codec_decode_fixed(mcp_stream_spec_t *spec, const uint64_t *numbers,
    mcp_str_t *text)
{
    spec->kind = (mcp_stream_kind_e) numbers[1];
    spec->revision = (unsigned) numbers[2];
    spec->expires = numbers[3];
    spec->max_wait = numbers[4];
    spec->linger = numbers[5];
    spec->promised = (unsigned) numbers[6];
    spec->max_events = (uint32_t) numbers[7];
    spec->max_bytes = numbers[8];

    memcpy(spec->id, mcp_codec_decode_text(text, MCP_STREAM_ID_LEN).data,
           MCP_STREAM_ID_LEN);
    memcpy(spec->session, mcp_codec_decode_text(text, MCP_DIGEST_LEN).data,
           MCP_DIGEST_LEN);
    memcpy(spec->principal, mcp_codec_decode_text(text, MCP_DIGEST_LEN).data,
           MCP_DIGEST_LEN);
    memcpy(spec->params, mcp_codec_decode_text(text, MCP_DIGEST_LEN).data,
           MCP_DIGEST_LEN);

    if (numbers[0] == MCP_CODEC_JOINED) {
        memcpy(spec->joins, mcp_codec_decode_text(text, MCP_DIGEST_LEN).data,
               MCP_DIGEST_LEN);
        spec->join = spec->joins;
    }
}


int
mcp_codec_decode_spec(const mcp_mem_t *mem, mcp_str_t text,
    mcp_stream_spec_t *spec)
{
    uint64_t  numbers[MCP_CODEC_ENCODE_NUMBERS];
    uint64_t  rest;

    memset(spec, 0, sizeof(mcp_stream_spec_t));

    if (mcp_codec_decode_numbers(&text, numbers, MCP_CODEC_ENCODE_NUMBERS)
            != MCP_OK
        || numbers[0] < MCP_CODEC_FORM || numbers[0] > MCP_CODEC_JOINED
        || numbers[1] > MCP_STREAM_LISTEN
        || mcp_revision((mcp_revision_e) numbers[2])->name.len == 0
        || numbers[6] > (MCP_PROMISE_TIME | MCP_PROMISE_IDS)
        || numbers[7] > UINT32_MAX || numbers[9] > MCP_STORE_NAME_MAX
        || numbers[10] > MCP_STORE_NAME_MAX || numbers[11] > text.len)
    {
        return MCP_ERR_SYNTAX;
    }

    rest = MCP_STREAM_ID_LEN + 3 * MCP_DIGEST_LEN + numbers[9] + numbers[10]
           + numbers[11];

    if (numbers[0] == MCP_CODEC_JOINED) {
        rest += MCP_DIGEST_LEN;
    }

    if (text.len != rest) {
        return MCP_ERR_SYNTAX;
    }

    mcp_codec_decode_fixed(spec, numbers, &text);
    spec->method = mcp_codec_decode_text(&text, (size_t) numbers[9]);
    spec->name = mcp_codec_decode_text(&text, (size_t) numbers[10]);
    spec->request = mcp_codec_decode_text(&text, (size_t) numbers[11]);

    /* a session's own stream has no request */

    if (spec->kind == MCP_STREAM_LISTEN) {
        return spec->request.len ? MCP_ERR_SYNTAX : MCP_OK;
    }

    return mcp_codec_is_message(mem, spec->request) ? MCP_OK : MCP_ERR_SYNTAX;
}


/*
 * What a backend answers, turned into messages.  Owned here: the contract of
 * docs/backends.md, from content types and statuses to the envelope of each
 * message.  Not here: what becomes of a message, whose id a response gets,
 * when to stop reading a backend.
 *
 *     HEAD -+- SSE, LINES -------+- DONE    one message after the other
 *           +- BODY - COMPLETE --+          one message, once all is there
 *           +- FAULT, DETACHED --+          the head says it all
 *
 * Bytes of a message stream wait in "in" until they are read; messages are
 * slices of it wherever that is possible.
 */


#include "mcp_backend.h"
#include "mcp_base64.h"


/* Media types may be longer (RFC 6838 has 127 and 127), but none is. */
#define MCP_BACKEND_TYPE_MAX    128

/* How much of an error page a model is shown. */
#define MCP_BACKEND_ERROR_TEXT  65536

/* Buffers of an idle stream that are larger are given back. */
#define MCP_BACKEND_KEEP        16384

/* What stands around content, the media type included. */
#define MCP_BACKEND_WRAPPING    1024

#define MCP_BACKEND_NO_URI      "mcp:result"


typedef enum {
    MCP_BACKEND_STATE_HEAD = 0,        /* the head has not come */
    MCP_BACKEND_STATE_SSE,
    MCP_BACKEND_STATE_LINES,
    MCP_BACKEND_STATE_BODY,            /* being gathered */
    MCP_BACKEND_STATE_COMPLETE,        /* gathered, not decoded yet */
    MCP_BACKEND_STATE_FAULT,           /* "fault" is the message */
    MCP_BACKEND_STATE_DETACHED,
    MCP_BACKEND_STATE_DONE             /* the final message was given */
} mcp_backend_state_e;


typedef enum {
    MCP_BACKEND_UNKNOWN = 0,           /* no type was named: look inside */
    MCP_BACKEND_JSON,
    MCP_BACKEND_SSE,
    MCP_BACKEND_LINES,
    MCP_BACKEND_TEXT,
    MCP_BACKEND_TEXTUAL,               /* a resource, shown as text */
    MCP_BACKEND_IMAGE,
    MCP_BACKEND_AUDIO,
    MCP_BACKEND_BINARY
} mcp_backend_class_e;


struct mcp_backend_s {
    const mcp_mem_t      *mem;
    mcp_backend_want_e    want;
    mcp_backend_state_e   state;
    mcp_backend_class_e   class;
    int                   status;
    int                   failed;      /* MCP_ERR_MEMORY stays */

    mcp_str_t             uri;
    size_t                max;
    size_t                limit;       /* of this body */
    unsigned              max_depth;

    mcp_buf_t             in;
    size_t                pos;         /* taken from "in" */
    size_t                seen;        /* looked at for the end of a line */
    mcp_buf_t             out;         /* a message that is no slice */
    mcp_arena_t           scratch;
    mcp_sse_decoder_t     sse;

    mcp_fault_e           fault;
    const char           *detail;

    unsigned              latin1:1;
    unsigned              truncated:1;
    unsigned              ended:1;
    unsigned              flushed:1;
    unsigned              begun:1;     /* past the first line */

    unsigned              type_len;
    char                  type[MCP_BACKEND_TYPE_MAX];
};


typedef enum {
    MCP_BACKEND_EXACT = 0,
    MCP_BACKEND_PREFIX,
    MCP_BACKEND_SUFFIX
} mcp_backend_part_e;


/* The first row that fits decides; what fits none is binary. */
static const struct {
    mcp_backend_class_e  class;
    mcp_backend_part_e   part;
    mcp_str_t            text;

} mcp_backend_types[] = {
    { MCP_BACKEND_JSON, MCP_BACKEND_EXACT, { "application/json", 16 } },
    { MCP_BACKEND_SSE, MCP_BACKEND_EXACT, { "text/event-stream", 17 } },
    { MCP_BACKEND_LINES, MCP_BACKEND_EXACT, { "application/x-ndjson", 20 } },
    { MCP_BACKEND_LINES, MCP_BACKEND_EXACT, { "application/ndjson", 18 } },
    { MCP_BACKEND_LINES, MCP_BACKEND_EXACT, { "application/jsonl", 17 } },
    { MCP_BACKEND_JSON, MCP_BACKEND_SUFFIX, { "+json", 5 } },
    { MCP_BACKEND_TEXT, MCP_BACKEND_PREFIX, { "text/", 5 } },
    { MCP_BACKEND_IMAGE, MCP_BACKEND_PREFIX, { "image/", 6 } },
    { MCP_BACKEND_AUDIO, MCP_BACKEND_PREFIX, { "audio/", 6 } },
    { MCP_BACKEND_TEXTUAL, MCP_BACKEND_SUFFIX, { "+xml", 4 } },
    { MCP_BACKEND_TEXTUAL, MCP_BACKEND_EXACT, { "application/xml", 15 } },
    { MCP_BACKEND_TEXTUAL, MCP_BACKEND_EXACT, { "application/yaml", 16 } },
    { MCP_BACKEND_TEXTUAL, MCP_BACKEND_EXACT,
        { "application/javascript", 22 } },
};


/* Details are static text: one for each status that is seen in practice. */
static const struct {
    int          status;
    const char  *detail;

} mcp_backend_statuses[] = {
    { 400, "HTTP 400" },
    { 401, "HTTP 401" },
    { 403, "HTTP 403" },
    { 404, "HTTP 404" },
    { 405, "HTTP 405" },
    { 408, "HTTP 408" },
    { 409, "HTTP 409" },
    { 410, "HTTP 410" },
    { 411, "HTTP 411" },
    { 413, "HTTP 413" },
    { 415, "HTTP 415" },
    { 422, "HTTP 422" },
    { 429, "HTTP 429" },
    { 500, "HTTP 500" },
    { 501, "HTTP 501" },
    { 502, "HTTP 502" },
    { 503, "HTTP 503" },
    { 504, "HTTP 504" },
};


static const char *const  mcp_backend_problems[] = {
    [MCP_JSON_BAD_SYNTAX] = "broken JSON",
    [MCP_JSON_BAD_DEPTH] = "JSON nested too deep",
    [MCP_JSON_BAD_DUPLICATE] = "a field stands twice",
};


/* What is picked out of a message; the fields of a result stand twice, for
 * results that come bare and for those in an envelope. */
enum {
    MCP_BACKEND_F_JSONRPC = 0,
    MCP_BACKEND_F_ID,
    MCP_BACKEND_F_METHOD,
    MCP_BACKEND_F_PARAMS,
    MCP_BACKEND_F_RESULT,
    MCP_BACKEND_F_ERROR,
    MCP_BACKEND_F_PROGRESS_TOKEN,
    MCP_BACKEND_F_LEVEL,
    MCP_BACKEND_F_URI,
    MCP_BACKEND_F_CODE,
    MCP_BACKEND_F_MESSAGE,
    MCP_BACKEND_F_BARE,
    MCP_BACKEND_F_WRAPPED = MCP_BACKEND_F_BARE + 5,
    MCP_BACKEND_F_COUNT = MCP_BACKEND_F_WRAPPED + 5
};

/* the order behind F_BARE and F_WRAPPED */
enum {
    MCP_BACKEND_R_TYPE = 0,
    MCP_BACKEND_R_INPUT_REQUESTS,
    MCP_BACKEND_R_REQUEST_STATE,
    MCP_BACKEND_R_CONTENT,
    MCP_BACKEND_R_IS_ERROR
};


static const mcp_json_field_t  mcp_backend_fields[MCP_BACKEND_F_COUNT] = {
    { MCP_JSON_ROOT, { "jsonrpc", 7 } },
    { MCP_JSON_ROOT, { "id", 2 } },
    { MCP_JSON_ROOT, { "method", 6 } },
    { MCP_JSON_ROOT, { "params", 6 } },
    { MCP_JSON_ROOT, { "result", 6 } },
    { MCP_JSON_ROOT, { "error", 5 } },
    { MCP_BACKEND_F_PARAMS, { "progressToken", 13 } },
    { MCP_BACKEND_F_PARAMS, { "level", 5 } },
    { MCP_BACKEND_F_PARAMS, { "uri", 3 } },
    { MCP_BACKEND_F_ERROR, { "code", 4 } },
    { MCP_BACKEND_F_ERROR, { "message", 7 } },
    { MCP_JSON_ROOT, { "resultType", 10 } },
    { MCP_JSON_ROOT, { "inputRequests", 13 } },
    { MCP_JSON_ROOT, { "requestState", 12 } },
    { MCP_JSON_ROOT, { "content", 7 } },
    { MCP_JSON_ROOT, { "isError", 7 } },
    { MCP_BACKEND_F_RESULT, { "resultType", 10 } },
    { MCP_BACKEND_F_RESULT, { "inputRequests", 13 } },
    { MCP_BACKEND_F_RESULT, { "requestState", 12 } },
    { MCP_BACKEND_F_RESULT, { "content", 7 } },
    { MCP_BACKEND_F_RESULT, { "isError", 7 } },
};


static void mcp_backend_release(mcp_backend_t *b);
static void mcp_backend_type(mcp_backend_t *b, mcp_str_t value);
static mcp_backend_class_e mcp_backend_classify(mcp_str_t type);
static int mcp_backend_is_latin1(mcp_str_t params);
static int mcp_backend_queue(mcp_backend_t *b, const char *data, size_t len);
static int mcp_backend_gather(mcp_backend_t *b, const char *data, size_t len);
static int mcp_backend_fail(mcp_backend_t *b, mcp_fault_e fault,
    const char *detail);
static int mcp_backend_stream(mcp_backend_t *b, mcp_backend_msg_t *msg);
static int mcp_backend_next_event(mcp_backend_t *b, mcp_str_t *text);
static int mcp_backend_next_line(mcp_backend_t *b, mcp_str_t *text);
static void mcp_backend_idle(mcp_backend_t *b);
static void mcp_backend_shrink(mcp_buf_t *buf);
static int mcp_backend_body(mcp_backend_t *b, mcp_backend_msg_t *msg);
static int mcp_backend_copy(mcp_backend_t *b, mcp_str_t text);
static int mcp_backend_decode(mcp_backend_t *b, mcp_str_t text, char *own,
    int stream, mcp_backend_msg_t *msg);
static int mcp_backend_envelope(mcp_backend_t *b, mcp_json_value_t root,
    const mcp_json_value_t *v, int stream, mcp_backend_msg_t *msg);
static int mcp_backend_notification(mcp_backend_t *b, mcp_json_value_t root,
    const mcp_json_value_t *v, mcp_backend_msg_t *msg);
static void mcp_backend_error(const mcp_json_value_t *v,
    mcp_backend_msg_t *msg);
static int mcp_backend_result(mcp_backend_t *b, const mcp_json_value_t *result,
    const mcp_json_value_t *r, mcp_backend_msg_t *msg);
static int mcp_backend_error_result(mcp_backend_t *b,
    const mcp_json_value_t *r, mcp_backend_msg_t *msg);
static void mcp_backend_input(const mcp_json_value_t *r,
    mcp_backend_msg_t *msg);
static int mcp_backend_is_requests(mcp_json_value_t requests, int *none);
static int mcp_backend_status(mcp_backend_t *b, mcp_str_t text,
    mcp_backend_msg_t *msg);
static const char *mcp_backend_status_detail(int status);
static mcp_str_t mcp_backend_cut(const mcp_backend_t *b, mcp_str_t text);
static int mcp_backend_wrap(mcp_backend_t *b, mcp_backend_class_e class,
    mcp_str_t text, mcp_backend_msg_t *msg);
static void mcp_backend_add_block(mcp_backend_t *b, mcp_buf_t *buf,
    mcp_backend_class_e class, mcp_str_t text);
static void mcp_backend_add_resource(mcp_backend_t *b, mcp_buf_t *buf,
    mcp_backend_class_e class, mcp_str_t text);
static void mcp_backend_add_base64(mcp_buf_t *buf, mcp_str_t data);
static void mcp_backend_add_text(mcp_backend_t *b, mcp_buf_t *buf,
    mcp_str_t text);
static void mcp_backend_add_latin1(mcp_buf_t *buf, mcp_str_t text);
static void mcp_backend_add_utf8(mcp_buf_t *buf, mcp_str_t text);
static size_t mcp_backend_utf8(const char *p, const char *end, int *valid);
static size_t mcp_backend_sequence(char first);
static int mcp_backend_give(mcp_backend_t *b, mcp_buf_t *buf,
    mcp_backend_msg_t *msg);
static size_t mcp_backend_wrapped_max(const mcp_backend_t *b);
static mcp_str_t mcp_backend_skip_bom(mcp_str_t text);
static mcp_str_t mcp_backend_trim(mcp_str_t text);
static int mcp_backend_is_space(char c);
static int mcp_backend_has_breaks(mcp_str_t text);
static void mcp_backend_one_line(char *p, size_t len);
static void mcp_backend_fault(mcp_backend_msg_t *msg, mcp_fault_e fault,
    const char *detail);


mcp_backend_t *
mcp_backend_create(const mcp_mem_t *mem, mcp_backend_want_e want,
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

    if (want == MCP_BACKEND_RESOURCE
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


/* A finished decoder may be kept for as long as its call lives. */

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


int
mcp_backend_head(mcp_backend_t *b, int status, mcp_str_t content_type)
{
    if (b->state != MCP_BACKEND_STATE_HEAD) {
        return MCP_OK;
    }

    b->status = status;
    mcp_backend_type(b, content_type);

    if (status == 202) {
        b->state = MCP_BACKEND_STATE_DETACHED;
        return MCP_OK;
    }

    if (status < 200 || (status >= 300 && status < 400)) {
        return mcp_backend_fail(b, MCP_FAULT_BACKEND_FAILED,
                                status < 200 ? "no final status" : "redirect");
    }

    if (status == 204) {
        b->class = MCP_BACKEND_TEXT;
        b->state = MCP_BACKEND_STATE_COMPLETE;
        return MCP_OK;
    }

    switch (b->class) {

    case MCP_BACKEND_SSE:
        b->state = MCP_BACKEND_STATE_SSE;
        return MCP_OK;

    case MCP_BACKEND_LINES:
        b->state = MCP_BACKEND_STATE_LINES;
        return MCP_OK;

    case MCP_BACKEND_JSON:
    case MCP_BACKEND_UNKNOWN:
        break;

    default:

        if (status >= 400
            && (b->want != MCP_BACKEND_TOOL || b->class != MCP_BACKEND_TEXT))
        {
            /* nothing in the body could be of use */
            b->state = MCP_BACKEND_STATE_COMPLETE;
            return MCP_OK;
        }

        if (b->want == MCP_BACKEND_PLAIN) {
            return mcp_backend_fail(b, MCP_FAULT_BACKEND_OUTPUT,
                                    "not JSON by its Content-Type");
        }

        if (status >= 400 && b->limit > MCP_BACKEND_ERROR_TEXT) {
            b->limit = MCP_BACKEND_ERROR_TEXT;
        }
    }

    b->state = MCP_BACKEND_STATE_BODY;

    return MCP_OK;
}


/* Keeps the media type in lower case; a malformed one is as good as none. */

static void
mcp_backend_type(mcp_backend_t *b, mcp_str_t value)
{
    int           slashes;
    char          c;
    size_t        i;
    mcp_str_t     type;
    const char   *p;

    p = value.len ? memchr(value.data, ';', value.len) : NULL;

    type.data = value.data;
    type.len = p ? (size_t) (p - value.data) : value.len;
    type = mcp_backend_trim(type);

    if (type.len == 0) {
        return;
    }

    if (type.len > MCP_BACKEND_TYPE_MAX) {
        type = mcp_str("application/octet-stream");
    }

    slashes = 0;

    for (i = 0; i < type.len; i++) {
        c = type.data[i];

        if (c == '/' && i > 0 && i + 1 < type.len) {
            slashes++;

        } else if (c <= ' ' || c >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", c)) {
            return;
        }

        b->type[i] = (char) (c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }

    if (slashes != 1) {
        return;
    }

    b->type_len = (unsigned) type.len;
    b->class = mcp_backend_classify((mcp_str_t) { b->type, type.len });

    if (p) {
        b->latin1 = (unsigned) mcp_backend_is_latin1(
                        (mcp_str_t) { p, value.len - (size_t)
                                         (p - value.data) });
    }
}


static mcp_backend_class_e
mcp_backend_classify(mcp_str_t type)
{
    size_t      i;
    mcp_str_t   part, text;

    for (i = 0;
         i < sizeof(mcp_backend_types) / sizeof(mcp_backend_types[0]);
         i++)
    {
        text = mcp_backend_types[i].text;

        if (type.len < text.len) {
            continue;
        }

        part = type;

        if (mcp_backend_types[i].part == MCP_BACKEND_PREFIX) {
            part.len = text.len;

        } else if (mcp_backend_types[i].part == MCP_BACKEND_SUFFIX) {
            part.data += type.len - text.len;
            part.len = text.len;
        }

        if (mcp_str_eq(part, text)) {
            return mcp_backend_types[i].class;
        }
    }

    return MCP_BACKEND_BINARY;
}


/* params: "; name=value; ..." */

static int
mcp_backend_is_latin1(mcp_str_t params)
{
    size_t      n;
    mcp_str_t   one, name, value;
    const char  *p;

    while (params.len) {
        params.data++;
        params.len--;

        p = memchr(params.data, ';', params.len);
        n = p ? (size_t) (p - params.data) : params.len;

        one.data = params.data;
        one.len = n;

        params.data += n;
        params.len -= n;

        p = n ? memchr(one.data, '=', n) : NULL;
        if (p == NULL) {
            continue;
        }

        name.data = one.data;
        name.len = (size_t) (p - one.data);

        if (!mcp_str_case_eq(mcp_backend_trim(name), mcp_str("charset"))) {
            continue;
        }

        value.data = p + 1;
        value.len = one.len - name.len - 1;
        value = mcp_backend_trim(value);

        if (value.len >= 2 && value.data[0] == '"'
            && value.data[value.len - 1] == '"')
        {
            value.data++;
            value.len -= 2;
        }

        return mcp_str_case_eq(value, mcp_str("iso-8859-1"))
               || mcp_str_case_eq(value, mcp_str("iso8859-1"))
               || mcp_str_case_eq(value, mcp_str("iso_8859-1"))
               || mcp_str_case_eq(value, mcp_str("latin1"))
               || mcp_str_case_eq(value, mcp_str("l1"));
    }

    return 0;
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

        /* whoever writes without a head has nothing to say in it */

        rc = mcp_backend_head(b, 200, mcp_null_str);
        if (rc != MCP_OK) {
            return rc;
        }
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


static int
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


static int
mcp_backend_gather(mcp_backend_t *b, const char *data, size_t len)
{
    size_t  room;

    room = b->limit - b->in.len;

    if (len > room) {

        if (b->status < 400) {
            mcp_backend_release(b);
            (void) mcp_backend_fail(b, MCP_FAULT_BACKEND_TOO_LARGE,
                                    "body too large");
            return MCP_ERR_LIMIT;
        }

        /* of an error page the beginning will do */

        b->truncated = 1;
        len = room;

        if (len == 0) {
            return MCP_OK;
        }
    }

    mcp_buf_add(&b->in, data, len);

    if (b->in.failed) {
        b->failed = MCP_ERR_MEMORY;
        return MCP_ERR_MEMORY;
    }

    return MCP_OK;
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

        return mcp_backend_fail(b, fault, detail);

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
        return mcp_backend_fail(b, fault, detail);

    default:
        return MCP_OK;
    }
}


static int
mcp_backend_fail(mcp_backend_t *b, mcp_fault_e fault, const char *detail)
{
    b->state = MCP_BACKEND_STATE_FAULT;
    b->fault = fault;
    b->detail = detail;

    return MCP_OK;
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
        b->state = MCP_BACKEND_STATE_DONE;
    }

    return rc;
}


int
mcp_backend_message(mcp_backend_t *b, mcp_str_t text, mcp_backend_msg_t *msg)
{
    int  rc, status;

    memset(msg, 0, sizeof(mcp_backend_msg_t));
    mcp_arena_reset(&b->scratch);

    if (text.len > b->max) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_TOO_LARGE,
                          "message too large");
        return MCP_OK;
    }

    /* the message may outlive the caller's text */

    rc = mcp_backend_copy(b, text);
    if (rc != MCP_OK) {
        return rc;
    }

    text.data = b->out.data;

    /* nor has the head of an answer a say in it */

    status = b->status;
    b->status = 0;

    rc = mcp_backend_decode(b, text, b->out.data, 1, msg);

    b->status = status;

    return rc == MCP_ERR_MEMORY ? rc : MCP_OK;
}


/* The next message of a stream, or what its end amounts to. */

static int
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

        if (mcp_backend_has_breaks(text)) {
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


/* A whole body: JSON, or something to be wrapped. */

static int
mcp_backend_body(mcp_backend_t *b, mcp_backend_msg_t *msg)
{
    int                  rc;
    mcp_str_t            text;
    mcp_backend_class_e  class;

    text.data = b->in.len ? b->in.data : "";
    text.len = b->in.len;
    class = b->class;

    if (class != MCP_BACKEND_IMAGE && class != MCP_BACKEND_AUDIO
        && class != MCP_BACKEND_BINARY)
    {
        text = mcp_backend_skip_bom(text);
    }

    if (class == MCP_BACKEND_JSON || class == MCP_BACKEND_UNKNOWN) {

        rc = MCP_ERR_SYNTAX;

        if (text.len == 0) {
            mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT, "empty body");

        } else if (!b->truncated) {
            rc = mcp_backend_decode(b, text,
                                    b->in.data + (b->in.len - text.len), 0,
                                    msg);
            if (rc == MCP_ERR_MEMORY) {
                return rc;
            }

            if (msg->kind != MCP_BACKEND_FAULT) {
                return MCP_OK;
            }
        }

        if (b->status < 400
            && (class == MCP_BACKEND_JSON || b->want == MCP_BACKEND_PLAIN
                || rc == MCP_OK))
        {
            return MCP_OK;
        }

        class = MCP_BACKEND_TEXT;
    }

    if (b->status >= 400) {
        return mcp_backend_status(b, text, msg);
    }

    if (b->want == MCP_BACKEND_PLAIN) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT, "empty body");
        return MCP_OK;
    }

    return mcp_backend_wrap(b, class, text, msg);
}


static int
mcp_backend_copy(mcp_backend_t *b, mcp_str_t text)
{
    b->out.len = 0;

    if (mcp_buf_reserve(&b->out, text.len + 1) == NULL) {
        return MCP_ERR_MEMORY;
    }

    mcp_buf_str(&b->out, text);

    return MCP_OK;
}


/*
 * One message.  "own", if there, is text once more, where it may be changed;
 * without it text has no line breaks.  MCP_ERR_SYNTAX: not one JSON object;
 * msg is the fault, should that be one.
 */

static int
mcp_backend_decode(mcp_backend_t *b, mcp_str_t text, char *own, int stream,
    mcp_backend_msg_t *msg)
{
    int               rc;
    mcp_json_error_t  error;
    mcp_json_value_t  root, v[MCP_BACKEND_F_COUNT];

    rc = mcp_json_scan(&b->scratch, text, b->max_depth, mcp_backend_fields,
                       MCP_BACKEND_F_COUNT, &root, v, &error);
    if (rc == MCP_ERR_MEMORY) {
        return rc;
    }

    if (rc != MCP_OK) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          mcp_backend_problems[error.problem]);
        return MCP_ERR_SYNTAX;
    }

    if (root.type != MCP_JSON_OBJECT) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT, "not a JSON object");
        return MCP_ERR_SYNTAX;
    }

    /* CR and LF are white space in what the scan has accepted */

    if (own) {
        mcp_backend_one_line(own, text.len);
    }

    return mcp_backend_envelope(b, root, v, stream, msg);
}


static int
mcp_backend_envelope(mcp_backend_t *b, mcp_json_value_t root,
    const mcp_json_value_t *v, int stream, mcp_backend_msg_t *msg)
{
    int  method, result, error;

    method = v[MCP_BACKEND_F_METHOD].type != MCP_JSON_NONE;
    result = v[MCP_BACKEND_F_RESULT].type != MCP_JSON_NONE;
    error = v[MCP_BACKEND_F_ERROR].type != MCP_JSON_NONE;

    if (v[MCP_BACKEND_F_JSONRPC].type == MCP_JSON_NONE) {

        if (stream && method) {
            mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                              "message without jsonrpc");
            return MCP_OK;
        }

        return mcp_backend_result(b, &root, &v[MCP_BACKEND_F_BARE], msg);
    }

    if (!mcp_str_eq(v[MCP_BACKEND_F_JSONRPC].raw, mcp_str("\"2.0\""))) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          "jsonrpc is not \"2.0\"");
        return MCP_OK;
    }

    if (method + result + error != 1) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          "not exactly one of method, result and error");
        return MCP_OK;
    }

    if (method) {

        if (!stream) {
            mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                              "not a response");
            return MCP_OK;
        }

        return mcp_backend_notification(b, root, v, msg);
    }

    if (error) {
        mcp_backend_error(v, msg);
        return MCP_OK;
    }

    return mcp_backend_result(b, &v[MCP_BACKEND_F_RESULT],
                              &v[MCP_BACKEND_F_WRAPPED], msg);
}


static int
mcp_backend_notification(mcp_backend_t *b, mcp_json_value_t root,
    const mcp_json_value_t *v, mcp_backend_msg_t *msg)
{
    if (v[MCP_BACKEND_F_ID].type != MCP_JSON_NONE) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          "a request; backends ask by input_required");
        return MCP_OK;
    }

    if (v[MCP_BACKEND_F_METHOD].type != MCP_JSON_STRING
        || v[MCP_BACKEND_F_METHOD].raw.len <= 2)
    {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          "method is not a name");
        return MCP_OK;
    }

    if (v[MCP_BACKEND_F_PARAMS].type != MCP_JSON_NONE
        && v[MCP_BACKEND_F_PARAMS].type != MCP_JSON_OBJECT)
    {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          "params is not an object");
        return MCP_OK;
    }

    msg->kind = MCP_BACKEND_NOTIFICATION;
    msg->body = root.raw;

    if (mcp_json_unescape(&b->scratch, v[MCP_BACKEND_F_METHOD].raw,
                          &msg->method)
        != MCP_OK)
    {
        return MCP_ERR_MEMORY;
    }

    if (mcp_str_eq(msg->method, mcp_str("notifications/progress"))) {
        msg->progress_token = v[MCP_BACKEND_F_PROGRESS_TOKEN];

    } else if (mcp_str_eq(msg->method, mcp_str("notifications/message"))) {
        msg->level = v[MCP_BACKEND_F_LEVEL];

    } else if (mcp_str_eq(msg->method,
                          mcp_str("notifications/resources/updated")))
    {
        msg->uri = v[MCP_BACKEND_F_URI];
    }

    return MCP_OK;
}


static void
mcp_backend_error(const mcp_json_value_t *v, mcp_backend_msg_t *msg)
{
    size_t            i;
    mcp_json_value_t  code;

    code = v[MCP_BACKEND_F_CODE];

    if (v[MCP_BACKEND_F_ERROR].type != MCP_JSON_OBJECT
        || v[MCP_BACKEND_F_MESSAGE].type != MCP_JSON_STRING
        || code.type != MCP_JSON_NUMBER)
    {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          "error without code and message");
        return;
    }

    for (i = 0; i < code.raw.len; i++) {
        if (code.raw.data[i] != '-'
            && (code.raw.data[i] < '0' || code.raw.data[i] > '9'))
        {
            mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                              "error code is not an integer");
            return;
        }
    }

    msg->kind = MCP_BACKEND_ERROR;
    msg->body = v[MCP_BACKEND_F_ERROR].raw;
}


/* r: the fields of the result (MCP_BACKEND_R_...). */

static int
mcp_backend_result(mcp_backend_t *b, const mcp_json_value_t *result,
    const mcp_json_value_t *r, mcp_backend_msg_t *msg)
{
    if (result->type != MCP_JSON_OBJECT) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          "result is not an object");
        return MCP_OK;
    }

    msg->body = result->raw;

    if (b->status >= 400) {
        return mcp_backend_error_result(b, r, msg);
    }

    if (mcp_str_eq(r[MCP_BACKEND_R_TYPE].raw, mcp_str("\"input_required\""))) {
        mcp_backend_input(r, msg);
        return MCP_OK;
    }

    msg->kind = MCP_BACKEND_RESULT;

    return MCP_OK;
}


/*
 * A result under an error status: a tool's, if it is one, is marked as an
 * error; of anything else only the status counts.
 */

static int
mcp_backend_error_result(mcp_backend_t *b, const mcp_json_value_t *r,
    mcp_backend_msg_t *msg)
{
    mcp_buf_t  buf;
    mcp_str_t  rest;

    if (b->want != MCP_BACKEND_TOOL
        || r[MCP_BACKEND_R_CONTENT].type != MCP_JSON_ARRAY)
    {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_FAILED,
                          mcp_backend_status_detail(b->status));
        return MCP_OK;
    }

    if (r[MCP_BACKEND_R_IS_ERROR].type != MCP_JSON_NONE) {
        msg->kind = MCP_BACKEND_RESULT;
        return MCP_OK;
    }

    mcp_buf_init(&buf, b->mem, mcp_backend_wrapped_max(b));

    rest.data = msg->body.data + 1;
    rest.len = msg->body.len - 1;

    mcp_buf_lit(&buf, "{\"isError\":true,");
    mcp_json_add_line(&buf, rest);

    return mcp_backend_give(b, &buf, msg);
}


static void
mcp_backend_input(const mcp_json_value_t *r, mcp_backend_msg_t *msg)
{
    int               none;
    mcp_json_value_t  requests, state;

    requests = r[MCP_BACKEND_R_INPUT_REQUESTS];
    state = r[MCP_BACKEND_R_REQUEST_STATE];

    none = 1;

    if (requests.type != MCP_JSON_NONE
        && !mcp_backend_is_requests(requests, &none))
    {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          "inputRequests is not an object of requests");
        return;
    }

    if (state.type != MCP_JSON_NONE && state.type != MCP_JSON_STRING) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          "requestState is not a string");
        return;
    }

    /* the same request again would get the same answer */

    if (none && state.type == MCP_JSON_NONE) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          "input_required without requests and state");
        return;
    }

    msg->kind = MCP_BACKEND_INPUT;
    msg->input_requests = requests;
    msg->request_state = state;
}


static int
mcp_backend_is_requests(mcp_json_value_t requests, int *none)
{
    mcp_json_iter_t   iter;
    mcp_json_value_t  one;

    if (requests.type != MCP_JSON_OBJECT) {
        return 0;
    }

    mcp_json_iter_init(&iter, requests.raw);

    while (mcp_json_iter_next(&iter, NULL, &one)) {
        *none = 0;

        if (mcp_json_get(&one, mcp_str("method")).type != MCP_JSON_STRING) {
            return 0;
        }
    }

    return 1;
}


/* What an error status amounts to when the body is no JSON-RPC error. */

static int
mcp_backend_status(mcp_backend_t *b, mcp_str_t text, mcp_backend_msg_t *msg)
{
    char        line[sizeof("HTTP ") + 20];
    mcp_fault_e  fault;

    memset(msg, 0, sizeof(mcp_backend_msg_t));

    if (b->want == MCP_BACKEND_TOOL) {

        if (text.len == 0) {
            memcpy(line, "HTTP ", 5);
            text.data = line;
            text.len = (size_t) (mcp_uint_print(line + 5,
                                                (uint64_t) b->status)
                                 - line);
        }

        return mcp_backend_wrap(b, MCP_BACKEND_TEXT, mcp_backend_cut(b, text),
                                msg);
    }

    fault = MCP_FAULT_BACKEND_FAILED;

    if (b->status == 404 && b->want == MCP_BACKEND_RESOURCE) {
        fault = MCP_FAULT_RESOURCE_UNKNOWN;

    } else if (b->status == 404 && b->want == MCP_BACKEND_PROMPT) {
        fault = MCP_FAULT_PROMPT_UNKNOWN;
    }

    mcp_backend_fault(msg, fault, mcp_backend_status_detail(b->status));

    return MCP_OK;
}


static const char *
mcp_backend_status_detail(int status)
{
    size_t  i;

    for (i = 0;
         i < sizeof(mcp_backend_statuses) / sizeof(mcp_backend_statuses[0]);
         i++)
    {
        if (mcp_backend_statuses[i].status == status) {
            return mcp_backend_statuses[i].detail;
        }
    }

    return "HTTP error";
}


/* No more of an error page than is of use, and no half character. */

static mcp_str_t
mcp_backend_cut(const mcp_backend_t *b, mcp_str_t text)
{
    size_t  n;

    if (text.len <= MCP_BACKEND_ERROR_TEXT && !b->truncated) {
        return text;
    }

    if (text.len > MCP_BACKEND_ERROR_TEXT) {
        text.len = MCP_BACKEND_ERROR_TEXT;
    }

    if (b->latin1) {
        return text;
    }

    for (n = 1; n <= 3 && n <= text.len; n++) {

        switch (text.data[text.len - n] & 0xc0) {

        case 0x80:
            continue;

        case 0xc0:
            if (mcp_backend_sequence(text.data[text.len - n]) > n) {
                text.len -= n;
            }

            return text;

        default:
            return text;
        }
    }

    return text;
}


/* Makes content of what is no JSON. */

static int
mcp_backend_wrap(mcp_backend_t *b, mcp_backend_class_e class, mcp_str_t text,
    mcp_backend_msg_t *msg)
{
    mcp_buf_t  buf;

    mcp_buf_init(&buf, b->mem, mcp_backend_wrapped_max(b));

    switch (b->want) {

    case MCP_BACKEND_RESOURCE:
        mcp_buf_lit(&buf, "{\"contents\":[");
        mcp_backend_add_resource(b, &buf, class, text);
        mcp_buf_lit(&buf, "]}");
        break;

    case MCP_BACKEND_PROMPT:
        mcp_buf_lit(&buf, "{\"messages\":[");

        if (text.len) {
            mcp_buf_lit(&buf, "{\"role\":\"user\",\"content\":");
            mcp_backend_add_block(b, &buf, class, text);
            mcp_buf_lit(&buf, "}");
        }

        mcp_buf_lit(&buf, "]}");
        break;

    default:
        mcp_buf_lit(&buf, "{\"content\":[");

        if (text.len) {
            mcp_backend_add_block(b, &buf, class, text);
        }

        mcp_buf_lit(&buf, "]");

        if (b->status >= 400) {
            mcp_buf_lit(&buf, ",\"isError\":true");
        }

        mcp_buf_lit(&buf, "}");
    }

    return mcp_backend_give(b, &buf, msg);
}


static void
mcp_backend_add_block(mcp_backend_t *b, mcp_buf_t *buf,
    mcp_backend_class_e class, mcp_str_t text)
{
    switch (class) {

    case MCP_BACKEND_TEXT:
        mcp_buf_lit(buf, "{\"type\":\"text\",\"text\":");
        mcp_backend_add_text(b, buf, text);
        mcp_buf_lit(buf, "}");
        return;

    case MCP_BACKEND_IMAGE:
    case MCP_BACKEND_AUDIO:

        if (class == MCP_BACKEND_IMAGE) {
            mcp_buf_lit(buf, "{\"type\":\"image\",\"data\":");

        } else {
            mcp_buf_lit(buf, "{\"type\":\"audio\",\"data\":");
        }

        mcp_backend_add_base64(buf, text);
        mcp_buf_lit(buf, ",\"mimeType\":");
        mcp_buf_json(buf, (mcp_str_t) { b->type, b->type_len });
        mcp_buf_lit(buf, "}");
        return;

    default:
        mcp_buf_lit(buf, "{\"type\":\"resource\",\"resource\":");
        mcp_backend_add_resource(b, buf, class, text);
        mcp_buf_lit(buf, "}");
    }
}


static void
mcp_backend_add_resource(mcp_backend_t *b, mcp_buf_t *buf,
    mcp_backend_class_e class, mcp_str_t text)
{
    mcp_str_t  type;

    type.data = b->type;
    type.len = b->type_len;

    if (type.len == 0) {
        type = mcp_str("text/plain");
    }

    mcp_buf_lit(buf, "{\"uri\":");
    mcp_buf_json(buf, b->uri.len ? b->uri : mcp_str(MCP_BACKEND_NO_URI));
    mcp_buf_lit(buf, ",\"mimeType\":");
    mcp_buf_json(buf, type);

    /* the one image that can be read */

    if (mcp_str_eq(type, mcp_str("image/svg+xml"))) {
        class = MCP_BACKEND_TEXTUAL;
    }

    /* XML may name an encoding of its own inside */

    if (class == MCP_BACKEND_TEXTUAL && !b->latin1 && !mcp_utf8_valid(text)) {
        class = MCP_BACKEND_BINARY;
    }

    if (class == MCP_BACKEND_TEXT || class == MCP_BACKEND_TEXTUAL) {
        mcp_buf_lit(buf, ",\"text\":");
        mcp_backend_add_text(b, buf, text);

    } else {
        mcp_buf_lit(buf, ",\"blob\":");
        mcp_backend_add_base64(buf, text);
    }

    mcp_buf_lit(buf, "}");
}


static void
mcp_backend_add_base64(mcp_buf_t *buf, mcp_str_t data)
{
    char  *p;

    p = mcp_buf_reserve(buf, mcp_base64_len(data.len) + 2);
    if (p == NULL) {
        return;
    }

    *p++ = '"';
    p = mcp_base64_encode(p, data.data, data.len);
    *p++ = '"';

    buf->len = (size_t) (p - buf->data);
}


/* As a JSON string, whatever the bytes are. */

static void
mcp_backend_add_text(mcp_backend_t *b, mcp_buf_t *buf, mcp_str_t text)
{
    mcp_buf_t  clean;

    if (!b->latin1 && mcp_utf8_valid(text)) {
        mcp_buf_json(buf, text);
        return;
    }

    if (buf->failed) {
        return;
    }

    mcp_buf_init(&clean, b->mem, buf->max);

    if (b->latin1) {
        mcp_backend_add_latin1(&clean, text);

    } else {
        mcp_backend_add_utf8(&clean, text);
    }

    if (clean.failed) {
        buf->failed = clean.failed;

    } else {
        mcp_buf_json(buf, (mcp_str_t) { clean.data, clean.len });
    }

    mcp_buf_free(&clean);
}


static void
mcp_backend_add_latin1(mcp_buf_t *buf, mcp_str_t text)
{
    char           *p;
    size_t          i, high;
    unsigned char   c;

    for (i = 0, high = 0; i < text.len; i++) {
        high += (unsigned char) text.data[i] >> 7;
    }

    p = mcp_buf_reserve(buf, text.len + high);
    if (p == NULL) {
        return;
    }

    for (i = 0; i < text.len; i++) {
        c = (unsigned char) text.data[i];

        if (c < 0x80) {
            *p++ = (char) c;

        } else {
            *p++ = (char) (0xc0 | c >> 6);
            *p++ = (char) (0x80 | (c & 0x3f));
        }
    }

    buf->len = (size_t) (p - buf->data);
}


/* Replaces what is ill-formed (Unicode 15, 3.9 "U+FFFD Substitution of Maximal
 * Subparts"). */

static void
mcp_backend_add_utf8(mcp_buf_t *buf, mcp_str_t text)
{
    int          valid;
    size_t       n;
    const char  *p, *end, *good;

    p = text.data;
    end = p + text.len;
    good = p;

    while (p < end) {
        n = mcp_backend_utf8(p, end, &valid);

        if (!valid) {
            mcp_buf_add(buf, good, (size_t) (p - good));
            mcp_buf_lit(buf, "\xef\xbf\xbd");
            good = p + n;
        }

        p += n;
    }

    mcp_buf_add(buf, good, (size_t) (p - good));
}


/* The length of one character, or of what one U+FFFD stands for. */

static size_t
mcp_backend_utf8(const char *p, const char *end, int *valid)
{
    size_t         i, n;
    unsigned char  c, low, high;

    c = (unsigned char) *p;
    n = mcp_backend_sequence(*p);

    /* no overlong forms, no surrogates, nothing above U+10FFFF */

    low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;

    *valid = 0;

    if (n == 0) {
        return 1;
    }

    for (i = 1; i < n; i++) {

        if (p + i == end) {
            return i;
        }

        c = (unsigned char) p[i];

        if (c < low || c > high) {
            return i;
        }

        low = 0x80;
        high = 0xbf;
    }

    *valid = 1;

    return n;
}


/* How long the character is that begins so; 0 if none does. */

static size_t
mcp_backend_sequence(char first)
{
    unsigned char  c;

    c = (unsigned char) first;

    if (c < 0x80) {
        return 1;
    }

    if (c < 0xc2 || c > 0xf4) {
        return 0;
    }

    return c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}


/* Hands out a result that was made here. */

static int
mcp_backend_give(mcp_backend_t *b, mcp_buf_t *buf, mcp_backend_msg_t *msg)
{
    int  rc;

    if (buf->failed) {
        rc = buf->failed;
        mcp_buf_free(buf);

        if (rc == MCP_ERR_LIMIT) {
            mcp_backend_fault(msg, MCP_FAULT_BACKEND_TOO_LARGE,
                              "too large once wrapped");
            return MCP_OK;
        }

        return rc;
    }

    mcp_buf_free(&b->out);
    b->out = *buf;

    msg->kind = MCP_BACKEND_RESULT;
    msg->body.data = buf->data;
    msg->body.len = buf->len;

    return MCP_OK;
}


static size_t
mcp_backend_wrapped_max(const mcp_backend_t *b)
{
    return b->max > SIZE_MAX / 8 ? SIZE_MAX / 2
                                 : 2 * b->max + MCP_BACKEND_WRAPPING
                                   + 6 * b->uri.len;
}


static mcp_str_t
mcp_backend_skip_bom(mcp_str_t text)
{
    if (text.len >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0) {
        text.data += 3;
        text.len -= 3;
    }

    return text;
}


static mcp_str_t
mcp_backend_trim(mcp_str_t text)
{
    while (text.len && mcp_backend_is_space(text.data[0])) {
        text.data++;
        text.len--;
    }

    while (text.len && mcp_backend_is_space(text.data[text.len - 1])) {
        text.len--;
    }

    return text;
}


static int
mcp_backend_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}


static int
mcp_backend_has_breaks(mcp_str_t text)
{
    return memchr(text.data, '\n', text.len) != NULL
           || memchr(text.data, '\r', text.len) != NULL;
}


static void
mcp_backend_one_line(char *p, size_t len)
{
    char  *end, *q;

    end = p + len;

    for (q = p; (q = memchr(q, '\n', (size_t) (end - q))) != NULL; q++) {
        *q = ' ';
    }

    for (q = p; (q = memchr(q, '\r', (size_t) (end - q))) != NULL; q++) {
        *q = ' ';
    }
}


static void
mcp_backend_fault(mcp_backend_msg_t *msg, mcp_fault_e fault,
    const char *detail)
{
    memset(msg, 0, sizeof(mcp_backend_msg_t));

    msg->kind = MCP_BACKEND_FAULT;
    msg->fault = fault;
    msg->detail = detail ? detail : "";
}

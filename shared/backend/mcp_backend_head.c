/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The head of an answer: what its status and its Content-Type make of the
 * bytes that follow.
 */


#include "backend/mcp_backend_parts.h"
#include "mcp_http.h"


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


static void mcp_backend_type(mcp_backend_t *b, mcp_str_t value);
static mcp_backend_class_e mcp_backend_classify(mcp_str_t type);
static int mcp_backend_is_latin1(mcp_str_t params);


void
mcp_backend_head(mcp_backend_t *b, int status, mcp_str_t content_type)
{
    if (b->state != MCP_BACKEND_STATE_HEAD) {
        return;
    }

    b->status = status;
    mcp_backend_type(b, content_type);

    if (status == 202) {
        b->state = MCP_BACKEND_STATE_DETACHED;
        return;
    }

    if (status < 200 || (status >= 300 && status < 400)) {
        mcp_backend_fail(b, MCP_FAULT_BACKEND_FAILED,
                         status < 200 ? "no final status" : "redirect");
        return;
    }

    if (status == 204) {
        b->class = MCP_BACKEND_TEXT;
        b->state = MCP_BACKEND_STATE_COMPLETE;
        return;
    }

    switch (b->class) {

    case MCP_BACKEND_SSE:
        b->state = MCP_BACKEND_STATE_SSE;
        return;

    case MCP_BACKEND_LINES:
        b->state = MCP_BACKEND_STATE_LINES;
        return;

    case MCP_BACKEND_JSON:
    case MCP_BACKEND_UNKNOWN:
        break;

    default:

        if (status >= 400
            && (b->want != MCP_WANT_TOOL || b->class != MCP_BACKEND_TEXT))
        {
            /* nothing in the body could be of use */
            b->state = MCP_BACKEND_STATE_COMPLETE;
            return;
        }

        if (b->want == MCP_WANT_PLAIN) {
            mcp_backend_fail(b, MCP_FAULT_BACKEND_OUTPUT,
                             "not JSON by its Content-Type");
            return;
        }

        if (status >= 400 && b->limit > MCP_BACKEND_ERROR_TEXT) {
            b->limit = MCP_BACKEND_ERROR_TEXT;
        }
    }

    b->state = MCP_BACKEND_STATE_BODY;
}


/* Keeps the media type in lower case; a malformed one is as good as none. */

static void
mcp_backend_type(mcp_backend_t *b, mcp_str_t value)
{
    char          c;
    size_t        i;
    mcp_str_t     type;
    const char   *p;

    type = mcp_http_media_type(value);

    if (type.len == 0) {
        return;
    }

    p = memchr(value.data, ';', value.len);

    if (type.len > MCP_BACKEND_TYPE_MAX) {
        type = mcp_str("application/octet-stream");
    }

    for (i = 0; i < type.len; i++) {
        c = type.data[i];
        b->type[i] = (char) (c >= 'A' && c <= 'Z' ? c | 0x20 : c);
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

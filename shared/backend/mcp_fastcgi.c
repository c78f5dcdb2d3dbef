/* SPDX-License-Identifier: Apache-2.0 */

/*
 * FastCGI records. A connection has only one request at a time, so that all
 * requests have the same id.
 */


#include "mcp_fastcgi.h"


#define VERSION    1
#define REQUEST    1
#define RESPONDER  1

/* types of records in a response */
#define END        3
#define OUT        6
#define ERR        7

/* The length of a name or value is written in one byte if it is at most SHORT,
 * otherwise in LENGTH bytes. */
#define SHORT      127
#define LENGTH     4


char *
mcp_fastcgi_record(char *p, int type, size_t len)
{
    p[0] = VERSION;
    p[1] = (char) type;
    p[2] = 0;
    p[3] = REQUEST;
    p[4] = (char) (len >> 8);
    p[5] = (char) len;
    p[6] = 0;
    p[7] = 0;

    return p + MCP_FASTCGI_HEAD;
}


char *
mcp_fastcgi_begin(char *p, int keep)
{
    p = mcp_fastcgi_record(p, MCP_FASTCGI_BEGIN, MCP_FASTCGI_HEAD);

    memset(p, 0, MCP_FASTCGI_HEAD);
    p[1] = RESPONDER;
    p[2] = (keep != 0);

    return p + MCP_FASTCGI_HEAD;
}


static char *
write_length(char *p, size_t len)
{
    if (len > SHORT) {
        *p++ = (char) (len >> 24 | 0x80);
        *p++ = (char) (len >> 16);
        *p++ = (char) (len >> 8);
    }

    *p++ = (char) len;

    return p;
}


char *
mcp_fastcgi_param(char *p, const char *end, mcp_str_t name, mcp_str_t value)
{
    if ((size_t) (end - p) < name.len + value.len + 2 * LENGTH) {
        return NULL;
    }

    p = write_length(p, name.len);
    p = write_length(p, value.len);

    memcpy(p, name.data, name.len);
    p += name.len;

    if (value.len > 0) {
        memcpy(p, value.data, value.len);
    }

    return p + value.len;
}


/* Consumes at most n bytes of *in. Returns the number of consumed bytes. */
static size_t
take(mcp_str_t *in, size_t n)
{
    if (n > in->len) {
        n = in->len;
    }

    in->data += n;
    in->len -= n;

    return n;
}


/*
 * Handles a complete record header. Returns MCP_FASTCGI_MORE if the record's
 * content follows, MCP_FASTCGI_OUT_END if the record ends the response, or an
 * error.
 */
static mcp_fastcgi_e
begin(mcp_fastcgi_t *f)
{
    f->content = (uint16_t) (f->head[4] << 8 | f->head[5]);
    f->padding = f->head[6];

    if (mcp_fastcgi_version(f) != VERSION) {
        return MCP_FASTCGI_BAD_VERSION;
    }

    if (mcp_fastcgi_id(f) != REQUEST) {
        return MCP_FASTCGI_BAD_ID;
    }

    switch (mcp_fastcgi_type(f)) {
    case OUT:
        return f->content > 0 ? MCP_FASTCGI_MORE : MCP_FASTCGI_OUT_END;

    case ERR:
    case END:
        return MCP_FASTCGI_MORE;

    default:
        return MCP_FASTCGI_UNKNOWN;
    }
}


static mcp_fastcgi_e
read_head(mcp_fastcgi_t *f, mcp_str_t *in)
{
    const char *p = in->data;
    size_t      n = take(in, (size_t) MCP_FASTCGI_HEAD - f->have);

    memcpy(f->head + f->have, p, n);
    f->have = (unsigned char) (f->have + n);

    return f->have == MCP_FASTCGI_HEAD ? begin(f) : MCP_FASTCGI_MORE;
}


mcp_fastcgi_e
mcp_fastcgi_read(mcp_fastcgi_t *f, mcp_str_t *in, mcp_str_t *piece)
{
    int            type;
    mcp_fastcgi_e  e;

    for ( ;; ) {
        if (f->have < MCP_FASTCGI_HEAD) {
            if (in->len == 0) {
                return MCP_FASTCGI_MORE;
            }

            e = read_head(f, in);

            if (e != MCP_FASTCGI_MORE || f->have < MCP_FASTCGI_HEAD) {
                return e;
            }
        }

        type = mcp_fastcgi_type(f);

        if (f->content > 0) {
            piece->data = in->data;
            piece->len = take(in, f->content);
            f->content = (uint16_t) (f->content - piece->len);

            if (piece->len > 0 && (type == OUT || type == ERR)) {
                return type == OUT ? MCP_FASTCGI_OUT : MCP_FASTCGI_ERR;
            }
        }

        if (f->content == 0 && f->padding > 0) {
            f->padding = (unsigned char) (f->padding - take(in, f->padding));
        }

        if (f->content > 0 || f->padding > 0) {
            return MCP_FASTCGI_MORE;
        }

        f->have = 0;

        if (type == END) {
            return MCP_FASTCGI_END;
        }
    }
}


static mcp_fastcgi_state_e
line_feed(mcp_fastcgi_state_e state)
{
    return state == MCP_FASTCGI_CR ? MCP_FASTCGI_CRLF : MCP_FASTCGI_LF;
}


size_t
mcp_fastcgi_head_end(mcp_fastcgi_state_e *state, mcp_str_t piece)
{
    const char           *p = piece.data, *end = p + piece.len;
    mcp_fastcgi_state_e   s = *state;

    for ( /* void */ ; p < end; p++) {
        if (*p > '\r') {
            s = MCP_FASTCGI_LINE;

            while (p + 1 < end && p[1] > '\r') {
                p++;
            }

        } else if (*p == '\r') {
            s = s == MCP_FASTCGI_CRLF ? MCP_FASTCGI_CRLF_CR : MCP_FASTCGI_CR;

        } else if (*p != '\n') {
            s = MCP_FASTCGI_LINE;

        } else if (s == MCP_FASTCGI_LF || s == MCP_FASTCGI_CRLF_CR) {
            return (size_t) (p + 1 - piece.data);

        } else {
            s = line_feed(s);
        }
    }

    *state = s;

    return 0;
}

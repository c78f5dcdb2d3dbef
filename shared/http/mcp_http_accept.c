/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Accept and Content-Type (RFC 9110, 12.5.1 and 8.3). Parses header values in
 * the server's memory without a copy.
 */


#include "http/mcp_http_accept.h"


/* The unread part of a header value. */
typedef struct {
    const char  *pos;
    const char  *end;
} mcp_http_reader_t;


typedef struct {
    mcp_str_t    type;
    mcp_str_t    subtype;
} mcp_http_media_t;


typedef struct {
    mcp_str_t    name;
    mcp_str_t    value;        /* without quotes; escapes are unchanged */
} mcp_http_param_t;


/* Returns 1 if c may occur in a token (RFC 9110, 5.6.2). "*" is such a
 * character. */
static int
mcp_http_is_tchar(unsigned char c)
{
    static const uint32_t  tokens[8] = {
        0x00000000,
        0x03ff6cfa,            /* ! #$%&' *+ -. 0-9 */
        0xc7fffffe,            /* A-Z ^_ */
        0x57ffffff,            /* ` a-z | ~ */
        0x00000000, 0x00000000, 0x00000000, 0x00000000
    };

    return (tokens[c >> 5] >> (c & 0x1f)) & 1;
}


int
mcp_http_is_token(mcp_str_t s)
{
    size_t  i;

    for (i = 0; i < s.len; i++) {
        if (!mcp_http_is_tchar((unsigned char) s.data[i])) {
            return 0;
        }
    }

    return s.len > 0;
}


static int
mcp_http_take(mcp_http_reader_t *r, char c)
{
    if (r->pos == r->end || *r->pos != c) {
        return 0;
    }

    r->pos++;

    return 1;
}


static void
mcp_http_skip_space(mcp_http_reader_t *r)
{
    while (r->pos < r->end && (*r->pos == ' ' || *r->pos == '\t')) {
        r->pos++;
    }
}


static mcp_str_t
mcp_http_token(mcp_http_reader_t *r)
{
    mcp_str_t  token;

    token.data = r->pos;

    while (r->pos < r->end && mcp_http_is_tchar((unsigned char) *r->pos)) {
        r->pos++;
    }

    token.len = (size_t) (r->pos - token.data);

    return token;
}


/* Sets *value to the text up to the closing quote, and advances r behind this
 * quote. Returns MCP_ERR_SYNTAX if there is no closing quote, otherwise
 * MCP_OK. */
static int
mcp_http_quoted(mcp_http_reader_t *r, mcp_str_t *value)
{
    const char  *p;

    value->data = r->pos;

    for (p = r->pos; p < r->end; p++) {

        if (*p == '"') {
            value->len = (size_t) (p - value->data);
            r->pos = p + 1;
            return MCP_OK;
        }

        if (*p == '\\') {
            p++;
        }
    }

    r->pos = r->end;

    return MCP_ERR_SYNTAX;
}


/* Advances to the position after the next comma outside of quotes. */
static void
mcp_http_skip_element(mcp_http_reader_t *r)
{
    mcp_str_t  quoted;

    while (r->pos < r->end) {

        if (mcp_http_take(r, ',')) {
            return;
        }

        if (mcp_http_take(r, '"')) {
            (void) mcp_http_quoted(r, &quoted);
            continue;
        }

        r->pos++;
    }
}


static void
mcp_http_reader_init(mcp_http_reader_t *r, mcp_str_t value)
{
    r->pos = value.len > 0 ? value.data : "";
    r->end = r->pos + value.len;
}


static int
mcp_http_media_parse(mcp_http_reader_t *r, mcp_http_media_t *media)
{
    mcp_http_skip_space(r);

    media->type = mcp_http_token(r);

    if (media->type.len == 0 || !mcp_http_take(r, '/')) {
        return MCP_ERR_SYNTAX;
    }

    media->subtype = mcp_http_token(r);

    return media->subtype.len > 0 ? MCP_OK : MCP_ERR_SYNTAX;
}


/*
 * Reads the next parameter: *( OWS ";" OWS [ name [ "=" value ] ] ). Returns
 * MCP_OK, MCP_DONE if the text does not continue with a parameter, or
 * MCP_ERR_SYNTAX. Accepts spaces around "=" and a missing value. Skips empty
 * parameters (RFC 9110, 5.6.6).
 */
static int
mcp_http_param_next(mcp_http_reader_t *r, mcp_http_param_t *param)
{
    do {
        mcp_http_skip_space(r);

        if (!mcp_http_take(r, ';')) {
            return MCP_DONE;
        }

        mcp_http_skip_space(r);

        param->name = mcp_http_token(r);

    } while (param->name.len == 0
             && (r->pos == r->end || *r->pos == ';' || *r->pos == ','));

    if (param->name.len == 0) {
        return MCP_ERR_SYNTAX;
    }

    param->value = mcp_str("");

    mcp_http_skip_space(r);

    if (!mcp_http_take(r, '=')) {
        return MCP_OK;
    }

    mcp_http_skip_space(r);

    if (mcp_http_take(r, '"')) {
        return mcp_http_quoted(r, &param->value);
    }

    param->value = mcp_http_token(r);

    return param->value.len > 0 ? MCP_OK : MCP_ERR_SYNTAX;
}


/*
 * Parses a qvalue: 0 to 1 with up to three digits after the point. More
 * digits, and none before the point (".2", a default in Java), are accepted as
 * well because clients send them. Sets *accepted to 0 for a qvalue of 0,
 * otherwise to 1. Returns MCP_OK or MCP_ERR_SYNTAX.
 */
static int
mcp_http_weight(mcp_str_t value, int *accepted)
{
    int          one, fraction;
    size_t       digits;
    const char  *p, *end;

    p = value.data;
    end = p + value.len;

    one = 0;
    digits = 0;
    fraction = 0;

    if (p < end && (*p == '0' || *p == '1')) {
        one = *p++ == '1';
        digits++;
    }

    if (p < end && *p == '.') {
        for (p++; p < end && *p >= '0' && *p <= '9'; p++) {
            fraction |= *p != '0';
            digits++;
        }
    }

    if (p < end || digits == 0 || (one && fraction)) {
        return MCP_ERR_SYNTAX;
    }

    *accepted = one || fraction;

    return MCP_OK;
}


/*
 * Reads the parameters of an element of Accept. Sets *accepted to 0 if its
 * first "q" is 0, otherwise to 1. Returns MCP_OK if the element ends after the
 * parameters, otherwise MCP_ERR_SYNTAX.
 */
static int
mcp_http_accept_params(mcp_http_reader_t *r, int *accepted)
{
    int               rc, weighted;
    mcp_http_param_t  param;

    *accepted = 1;
    weighted = 0;

    while ((rc = mcp_http_param_next(r, &param)) == MCP_OK) {
        if (weighted || !mcp_str_case_eq(param.name, mcp_str("q"))) {
            continue;
        }

        if (mcp_http_weight(param.value, accepted) != MCP_OK) {
            return MCP_ERR_SYNTAX;
        }

        weighted = 1;
    }

    if (rc != MCP_DONE || (r->pos < r->end && *r->pos != ',')) {
        return MCP_ERR_SYNTAX;
    }

    return MCP_OK;
}


static int
mcp_http_specificity(const mcp_http_media_t *range,
    const mcp_http_media_t *wanted)
{
    int  any_subtype;

    any_subtype = mcp_str_eq(range->subtype, mcp_str("*"));

    if (mcp_str_eq(range->type, mcp_str("*"))) {
        return any_subtype ? 1 : 0;
    }

    if (!mcp_str_case_eq(range->type, wanted->type)) {
        return 0;
    }

    if (any_subtype) {
        return 2;
    }

    return mcp_str_case_eq(range->subtype, wanted->subtype) ? 3 : 0;
}


/*
 * Evaluates one line of Accept. *specificity is the highest specificity of a
 * matching media range so far. A more specific range in this line sets
 * *specificity, and sets *accepted to 0 if its q is 0, otherwise to 1. A range
 * of equal specificity (parameters of ranges are ignored) can only set
 * *accepted to 1.
 */
static void
mcp_http_accept_line(mcp_str_t line, const mcp_http_media_t *wanted,
    int *specificity, int *accepted)
{
    int                s, yes;
    mcp_http_media_t   range;
    mcp_http_reader_t  r;

    mcp_http_reader_init(&r, line);

    while (r.pos < r.end) {

        if (mcp_http_media_parse(&r, &range) == MCP_OK
            && mcp_http_accept_params(&r, &yes) == MCP_OK)
        {
            s = mcp_http_specificity(&range, wanted);

            if (s > *specificity) {
                *specificity = s;
                *accepted = yes;

            } else if (s > 0 && s == *specificity) {
                *accepted |= yes;
            }
        }

        mcp_http_skip_element(&r);
    }
}


int
mcp_http_accepts(const mcp_str_t *lines, size_t n, mcp_str_t media_type)
{
    int                accepted, specificity;
    size_t             i;
    mcp_http_media_t   wanted;
    mcp_http_reader_t  r;

    if (n == 0) {
        return 1;
    }

    mcp_http_reader_init(&r, media_type);

    if (mcp_http_media_parse(&r, &wanted) != MCP_OK) {
        return 0;
    }

    accepted = 0;
    specificity = 0;

    for (i = 0; i < n; i++) {
        mcp_http_accept_line(lines[i], &wanted, &specificity, &accepted);
    }

    return accepted;
}


mcp_str_t
mcp_http_media_type(mcp_str_t content_type)
{
    mcp_str_t          bare;
    mcp_http_media_t   media;
    mcp_http_reader_t  r;

    mcp_http_reader_init(&r, content_type);

    if (mcp_http_media_parse(&r, &media) != MCP_OK) {
        return mcp_null_str;
    }

    bare.data = media.type.data;
    bare.len = (size_t) (r.pos - bare.data);

    mcp_http_skip_space(&r);

    if (r.pos < r.end && *r.pos != ';') {
        return mcp_null_str;
    }

    return bare;
}


int
mcp_http_is_type(mcp_str_t content_type, mcp_str_t media_type)
{
    int                rc;
    mcp_str_t          bare;
    mcp_http_media_t   media;
    mcp_http_param_t   param;
    mcp_http_reader_t  r;

    bare = mcp_http_media_type(content_type);

    if (bare.len == 0 || !mcp_str_case_eq(bare, media_type)) {
        return 0;
    }

    mcp_http_reader_init(&r, content_type);

    (void) mcp_http_media_parse(&r, &media);

    while ((rc = mcp_http_param_next(&r, &param)) == MCP_OK) {
        if (mcp_str_case_eq(param.name, mcp_str("charset"))
            && !mcp_str_case_eq(param.value, mcp_str("utf-8")))
        {
            return 0;
        }
    }

    return rc == MCP_DONE && r.pos == r.end;
}

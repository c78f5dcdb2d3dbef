/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Accept, Content-Type and Origin (RFC 9110, 12.5.1 and 8.3; RFC 6454).
 * Reads header values as they are in the server's memory, copies nothing.
 */


#include "mcp_http.h"


/* Besides letters and digits (RFC 3986, 3.2.2). */
#define MCP_HTTP_HOST_CHARS  "-._~%!$&'()*+"


/* A reader over one header value. */
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
    mcp_str_t    value;        /* unquoted, escapes left in */
} mcp_http_param_t;


typedef struct {
    mcp_str_t    host;         /* "[...]" with its brackets */
    uint64_t     port;         /* 0 if none */
} mcp_http_authority_t;


static void mcp_http_accept_line(mcp_str_t line, const mcp_http_media_t *wanted,
    int *specificity, int *accepted);
static int mcp_http_accept_params(mcp_http_reader_t *r, int *accepted);
static int mcp_http_specificity(const mcp_http_media_t *range,
    const mcp_http_media_t *wanted);
static int mcp_http_weight(mcp_str_t value, int *accepted);

static void mcp_http_reader_init(mcp_http_reader_t *r, mcp_str_t value);
static int mcp_http_media_parse(mcp_http_reader_t *r, mcp_http_media_t *media);
static int mcp_http_param_next(mcp_http_reader_t *r, mcp_http_param_t *param);
static int mcp_http_quoted(mcp_http_reader_t *r, mcp_str_t *value);
static mcp_str_t mcp_http_token(mcp_http_reader_t *r);
static int mcp_http_is_token(unsigned char c);
static void mcp_http_skip_space(mcp_http_reader_t *r);
static void mcp_http_skip_element(mcp_http_reader_t *r);
static int mcp_http_take(mcp_http_reader_t *r, char c);

static int mcp_http_origin_parse(mcp_str_t origin, mcp_str_t *scheme,
    mcp_http_authority_t *authority);
static int mcp_http_take_scheme(mcp_str_t *text, mcp_str_t *scheme);
static int mcp_http_authority_parse(mcp_str_t text,
    mcp_http_authority_t *authority);
static int mcp_http_is_scheme(mcp_str_t s);
static int mcp_http_is_host(mcp_str_t s);
static int mcp_http_origin_listed(const mcp_http_origin_t *o, int exact);
static int mcp_http_origin_own(const mcp_http_origin_t *o, mcp_str_t scheme,
    const mcp_http_authority_t *origin);
static int mcp_http_host_is_server(const mcp_str_t *names, size_t n,
    mcp_str_t host);
static int mcp_http_glob(mcp_str_t pattern, mcp_str_t text);
static int mcp_http_host_is_loopback(mcp_str_t host);
static int mcp_http_host_is_address(mcp_str_t host);
static int mcp_http_host_is_ipv4(mcp_str_t host);


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
mcp_http_origin_allowed(const mcp_http_origin_t *o)
{
    mcp_str_t             scheme;
    mcp_http_authority_t  origin;

    if (o->origin.len == 0 || o->any) {
        return 1;
    }

    /* any sandboxed page is "null", so a pattern that happens to match it
     * is not enough: it must have been written down */

    if (mcp_str_eq(o->origin, mcp_str("null"))) {
        return mcp_http_origin_listed(o, 1);
    }

    if (mcp_http_origin_parse(o->origin, &scheme, &origin) != MCP_OK) {
        return 0;
    }

    return mcp_http_origin_listed(o, 0)
           || mcp_http_origin_own(o, scheme, &origin);
}


/*
 * Of the ranges that cover what is wanted the most specific decides.  They
 * may differ in parameters, which we do not look at: one that accepts is
 * enough then.
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


/* MCP_OK at the end of the element; its weight is the first "q". */
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
 * A qvalue is 0 to 1 with up to three digits behind the point; more digits
 * and none before it (".2", in a default of Java) are sent as well and do no
 * harm.
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
 * The next of *( OWS ";" OWS [ name [ "=" value ] ] ): MCP_OK, MCP_DONE in
 * front of anything else, or MCP_ERR_SYNTAX.  Space around "=" and a missing
 * value are let through; so are empty parameters (RFC 9110, 5.6.6).
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


/* Behind the opening quote up to behind the closing one. */
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


static mcp_str_t
mcp_http_token(mcp_http_reader_t *r)
{
    mcp_str_t  token;

    token.data = r->pos;

    while (r->pos < r->end && mcp_http_is_token((unsigned char) *r->pos)) {
        r->pos++;
    }

    token.len = (size_t) (r->pos - token.data);

    return token;
}


/* RFC 9110, 5.6.2; "*" is one of them. */
static int
mcp_http_is_token(unsigned char c)
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


static void
mcp_http_skip_space(mcp_http_reader_t *r)
{
    while (r->pos < r->end && (*r->pos == ' ' || *r->pos == '\t')) {
        r->pos++;
    }
}


/* To behind the next comma that no quotes enclose. */
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


static int
mcp_http_take(mcp_http_reader_t *r, char c)
{
    if (r->pos == r->end || *r->pos != c) {
        return 0;
    }

    r->pos++;

    return 1;
}


/* scheme "://" host [ ":" port ], nothing else (RFC 6454, 7.1). */
static int
mcp_http_origin_parse(mcp_str_t origin, mcp_str_t *scheme,
    mcp_http_authority_t *authority)
{
    if (mcp_http_take_scheme(&origin, scheme) != MCP_OK) {
        return MCP_ERR_SYNTAX;
    }

    return mcp_http_authority_parse(origin, authority);
}


/* scheme "://", off the beginning of the text. */
static int
mcp_http_take_scheme(mcp_str_t *text, mcp_str_t *scheme)
{
    size_t       n;
    const char  *colon;

    colon = text->len ? memchr(text->data, ':', text->len) : NULL;
    if (colon == NULL) {
        return MCP_ERR_SYNTAX;
    }

    n = (size_t) (colon - text->data);
    *scheme = (mcp_str_t) { text->data, n };

    if (!mcp_http_is_scheme(*scheme)
        || text->len - n < 3 || memcmp(colon, "://", 3) != 0)
    {
        return MCP_ERR_SYNTAX;
    }

    text->data += n + 3;
    text->len -= n + 3;

    return MCP_OK;
}


static int
mcp_http_authority_parse(mcp_str_t text, mcp_http_authority_t *authority)
{
    size_t       host_len;
    mcp_str_t    port;
    const char  *p;

    if (text.len > 0 && text.data[0] == '[') {
        p = memchr(text.data, ']', text.len);
        if (p == NULL) {
            return MCP_ERR_SYNTAX;
        }

        host_len = (size_t) (p + 1 - text.data);

    } else {
        p = text.len > 0 ? memchr(text.data, ':', text.len) : NULL;
        host_len = p ? (size_t) (p - text.data) : text.len;
    }

    authority->host.data = text.data;
    authority->host.len = host_len;
    authority->port = 0;

    if (!mcp_http_is_host(authority->host)) {
        return MCP_ERR_SYNTAX;
    }

    if (host_len == text.len) {
        return MCP_OK;
    }

    if (text.data[host_len] != ':') {
        return MCP_ERR_SYNTAX;
    }

    port.data = text.data + host_len + 1;
    port.len = text.len - host_len - 1;

    /* "host:" is "host" (RFC 3986, 3.2.3) */

    if (port.len == 0) {
        return MCP_OK;
    }

    if (mcp_str_uint(port, &authority->port) != MCP_OK
        || authority->port == 0 || authority->port > 65535)
    {
        return MCP_ERR_SYNTAX;
    }

    return MCP_OK;
}


static int
mcp_http_is_scheme(mcp_str_t s)
{
    size_t         i;
    unsigned char  c;

    for (i = 0; i < s.len; i++) {
        c = (unsigned char) s.data[i];

        if (!mcp_is_alnum(c) && c != '+' && c != '-' && c != '.') {
            return 0;
        }
    }

    return s.len > 0 && (s.data[0] < '0' || s.data[0] > '9');
}


/* A name, an IPv4 address, or an IPv6 address in brackets. */
static int
mcp_http_is_host(mcp_str_t s)
{
    size_t         i;
    unsigned char  c;

    if (s.len > 2 && s.data[0] == '[' && s.data[s.len - 1] == ']') {

        for (i = 1; i < s.len - 1; i++) {
            c = (unsigned char) s.data[i];

            if (!mcp_is_alnum(c) && c != ':' && c != '.') {
                return 0;
            }
        }

        return 1;
    }

    for (i = 0; i < s.len; i++) {
        c = (unsigned char) s.data[i];

        if (!mcp_is_alnum(c)
            && memchr(MCP_HTTP_HOST_CHARS, c, sizeof(MCP_HTTP_HOST_CHARS) - 1)
               == NULL)
        {
            return 0;
        }
    }

    return s.len > 0;
}


/* 1 if mcp_allow_origin names the origin; exact: not by an expression. */
static int
mcp_http_origin_listed(const mcp_http_origin_t *o, int exact)
{
    size_t  i;

    for (i = 0; i < o->n_allowed; i++) {
        if (exact && !mcp_match_is_exact(o->allowed[i])) {
            continue;
        }

        if (mcp_match(o->allowed[i], o->origin)) {
            return 1;
        }
    }

    return 0;
}


/*
 * A page of ours has Origin and Host alike.  So has a page whose name its
 * owner has bound to 127.0.0.1 once it was loaded: on a loopback connection
 * the name must be one that cannot be bound anew.
 */
static int
mcp_http_origin_own(const mcp_http_origin_t *o, mcp_str_t scheme,
    const mcp_http_authority_t *origin)
{
    uint64_t              port;
    mcp_http_authority_t  host;

    if (mcp_str_case_eq(scheme, mcp_str("http"))) {
        port = 80;

    } else if (mcp_str_case_eq(scheme, mcp_str("https"))) {
        port = 443;

    } else {
        return 0;
    }

    if (mcp_http_authority_parse(o->host, &host) != MCP_OK
        || !mcp_str_case_eq(origin->host, host.host)
        || (origin->port ? origin->port : port)
           != (host.port ? host.port : port))
    {
        return 0;
    }

    return mcp_http_host_is_loopback(host.host)
           || mcp_http_host_is_server(o->server_names, o->n_server_names,
                                      host.host)
           || (!o->loopback && mcp_http_host_is_address(host.host));
}


static int
mcp_http_host_is_server(const mcp_str_t *names, size_t n, mcp_str_t host)
{
    size_t  i;

    for (i = 0; i < n; i++) {
        if (mcp_http_name_is(names[i], host)) {
            return 1;
        }
    }

    return 0;
}


int
mcp_http_host_allowed(mcp_str_t host, const mcp_str_t *names, size_t n)
{
    mcp_http_authority_t  authority;

    if (host.len == 0) {
        return 1;
    }

    return mcp_http_authority_parse(host, &authority) == MCP_OK
           && (mcp_http_host_is_loopback(authority.host)
               || mcp_http_host_is_server(names, n, authority.host));
}


int
mcp_http_name_is(mcp_str_t name, mcp_str_t host)
{
    size_t     i;
    mcp_str_t  tail;

    if (name.len == 0 || name.data[0] == '~') {
        return 0;
    }

    for (i = name.len; i > 0 && name.data[i - 1] != '.'; i--) {
        if (name.data[i - 1] == '*' || name.data[i - 1] == '?') {
            return 0;
        }
    }

    if (name.data[0] != '.') {
        return mcp_http_glob(name, host);
    }

    tail = name;

    if (host.len > name.len) {
        host.data += host.len - name.len;
        host.len = name.len;

    } else {
        tail.data++;
        tail.len--;
    }

    return tail.len > 0 && mcp_str_case_eq(tail, host);
}


/* Goes back to the last asterisk only: what those before took is enough. */
static int
mcp_http_glob(mcp_str_t pattern, mcp_str_t text)
{
    size_t     p, t, star, from;
    mcp_str_t  a, b;

    p = 0;
    star = pattern.len;
    from = 0;

    for (t = 0; t < text.len; /* void */ ) {
        a = (mcp_str_t) { pattern.data + p, 1 };
        b = (mcp_str_t) { text.data + t, 1 };

        if (p < pattern.len && a.data[0] == '*') {
            star = p++;
            from = t;

        } else if (p < pattern.len
                   && (a.data[0] == '?' || mcp_str_case_eq(a, b)))
        {
            p++;
            t++;

        } else if (star < pattern.len) {
            p = star + 1;
            t = ++from;

        } else {
            return 0;
        }
    }

    while (p < pattern.len && pattern.data[p] == '*') {
        p++;
    }

    return p == pattern.len;
}


int
mcp_http_is_authority(mcp_str_t text)
{
    mcp_http_authority_t  authority;

    return text.len <= MCP_HTTP_AUTHORITY_MAX
           && mcp_http_authority_parse(text, &authority) == MCP_OK;
}


int
mcp_http_is_web_origin(mcp_str_t text)
{
    mcp_str_t  scheme;

    return mcp_http_take_scheme(&text, &scheme) == MCP_OK
           && (mcp_str_case_eq(scheme, mcp_str("http"))
               || mcp_str_case_eq(scheme, mcp_str("https")))
           && mcp_http_is_authority(text);
}


void
mcp_http_target(mcp_str_t *target, mcp_str_t *authority)
{
    size_t     n;
    mcp_str_t  scheme;

    *authority = mcp_null_str;

    if (mcp_http_take_scheme(target, &scheme) != MCP_OK) {
        return;
    }

    for (n = 0; n < target->len; n++) {
        if (target->data[n] == '/' || target->data[n] == '?') {
            break;
        }
    }

    authority->data = target->data;
    authority->len = n;
    target->data += n;
    target->len -= n;
}


int
mcp_http_address_is_loopback(const void *address, size_t len)
{
    const unsigned char  *p;

    static const unsigned char  loopback[16] = { [15] = 1 };
    static const unsigned char  mapped[12] = { [10] = 0xff, [11] = 0xff };

    p = address;

    if (len == 16 && memcmp(p, mapped, sizeof(mapped)) == 0) {
        p += sizeof(mapped);
        len -= sizeof(mapped);
    }

    if (len == 4) {
        return p[0] == 127;
    }

    return len == 16 && memcmp(p, loopback, 16) == 0;
}


static int
mcp_http_host_is_loopback(mcp_str_t host)
{
    mcp_str_t  tail;

    if (mcp_str_case_eq(host, mcp_str("localhost"))
        || mcp_str_eq(host, mcp_str("[::1]")))
    {
        return 1;
    }

    /* RFC 6761, 6.3 */

    if (host.len > sizeof(".localhost") - 1) {
        tail.len = sizeof(".localhost") - 1;
        tail.data = host.data + host.len - tail.len;

        if (mcp_str_case_eq(tail, mcp_str(".localhost"))) {
            return 1;
        }
    }

    return mcp_http_host_is_ipv4(host) && host.len > 4
           && memcmp(host.data, "127.", 4) == 0;
}


/* What no name server is asked for. */
static int
mcp_http_host_is_address(mcp_str_t host)
{
    return (host.len > 0 && host.data[0] == '[')
           || mcp_http_host_is_ipv4(host);
}


/* Four decimal parts: other forms are names to some. */
static int
mcp_http_host_is_ipv4(mcp_str_t host)
{
    int          i;
    uint64_t     octet;
    mcp_str_t    part;
    const char  *dot;

    for (i = 0; i < 4; i++) {
        dot = host.len > 0 ? memchr(host.data, '.', host.len) : NULL;

        if ((dot == NULL) != (i == 3)) {
            return 0;
        }

        part.data = host.data;
        part.len = dot ? (size_t) (dot - host.data) : host.len;

        if (part.len == 0 || part.len > 3
            || (part.len > 1 && part.data[0] == '0')
            || mcp_str_uint(part, &octet) != MCP_OK
            || octet > 255)
        {
            return 0;
        }

        if (dot != NULL) {
            host.data += part.len + 1;
            host.len -= part.len + 1;
        }
    }

    return 1;
}

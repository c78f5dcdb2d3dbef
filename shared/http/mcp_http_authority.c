/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Parses host and port in Origin, in Host and in the target of a request,
 * decides whether they belong to this server, and whether a request with an
 * Origin header is accepted.
 */


#include "mcp_http.h"
#include "http/mcp_http_authority.h"


/* --- host and port --- */

/* Characters of a host besides letters and digits (RFC 3986, 3.2.2). */
#define MCP_HTTP_HOST_CHARS  "-._~%!$&'()*+"


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


/* Returns 1 if s is a host name, an IPv4 address, or an IPv6 address in
 * brackets. */
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


int
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


/*
 * Parses the text after a host: ":port", ":" or an empty text. *port is 0 for
 * the last two, which are equivalent (RFC 3986, 3.2.3). Returns MCP_OK or
 * MCP_ERR_SYNTAX.
 */
static int
mcp_http_port_parse(mcp_str_t text, uint64_t *port)
{
    *port = 0;

    if (text.len == 0) {
        return MCP_OK;
    }

    if (text.data[0] != ':') {
        return MCP_ERR_SYNTAX;
    }

    text.data++;
    text.len--;

    if (text.len == 0) {
        return MCP_OK;
    }

    if (mcp_str_uint(text, port) != MCP_OK || *port == 0 || *port > 65535) {
        return MCP_ERR_SYNTAX;
    }

    return MCP_OK;
}


int
mcp_http_authority_parse(mcp_str_t text, mcp_http_authority_t *authority)
{
    mcp_str_t    rest;
    const char  *p;

    authority->host = text;

    if (text.len > 0 && text.data[0] == '[') {
        p = memchr(text.data, ']', text.len);
        if (p == NULL) {
            return MCP_ERR_SYNTAX;
        }

        authority->host.len = (size_t) (p + 1 - text.data);

    } else if (text.len > 0) {
        p = memchr(text.data, ':', text.len);

        if (p != NULL) {
            authority->host.len = (size_t) (p - text.data);
        }
    }

    if (!mcp_http_is_host(authority->host)) {
        return MCP_ERR_SYNTAX;
    }

    rest.data = text.data + authority->host.len;
    rest.len = text.len - authority->host.len;

    return mcp_http_port_parse(rest, &authority->port);
}


/*
 * Returns 1 if the text is a decimal number from 0 to 255 without leading
 * zeros. Other notations, such as "0127", are rejected: some programs treat
 * them as host names.
 */
static int
mcp_http_is_octet(mcp_str_t s)
{
    uint64_t  octet;

    return s.len > 0 && s.len <= 3 && (s.len == 1 || s.data[0] != '0')
           && mcp_str_uint(s, &octet) == MCP_OK && octet <= 255;
}


static int
mcp_http_host_is_ipv4(mcp_str_t host)
{
    int          i;
    mcp_str_t    part;
    const char  *dot;

    for (i = 0; i < 4; i++) {
        dot = host.len > 0 ? memchr(host.data, '.', host.len) : NULL;

        if ((dot == NULL) != (i == 3)) {
            return 0;
        }

        part.data = host.data;
        part.len = dot ? (size_t) (dot - host.data) : host.len;

        if (!mcp_http_is_octet(part)) {
            return 0;
        }

        if (dot != NULL) {
            host.data += part.len + 1;
            host.len -= part.len + 1;
        }
    }

    return 1;
}


/*
 * Returns 1 if the host is localhost, a name below .localhost, or a loopback
 * address.
 */
static int
mcp_http_host_is_loopback(mcp_str_t host)
{
    mcp_str_t  tail;

    if (mcp_str_case_eq(host, mcp_str("localhost"))
        || mcp_str_eq(host, mcp_str("[::1]")))
    {
        return 1;
    }

    /* all names below .localhost are loopback addresses (RFC 6761, 6.3) */

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


/* Returns 1 if the host is an IP address, which needs no name server. */
static int
mcp_http_host_is_address(mcp_str_t host)
{
    return (host.len > 0 && host.data[0] == '[')
           || mcp_http_host_is_ipv4(host);
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


/*
 * Returns 1 if the text matches the pattern, whose asterisks stand for any
 * characters. Backtracks only to the last asterisk: shorter matches for the
 * earlier asterisks need not be changed.
 */
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


/*
 * Returns 1 if a server name in the syntax of nginx or Apache matches the host,
 * ignoring upper and lower case: "*" stands for any characters, "?" for one
 * character, and ".example.com" for example.com and all names below it. Two
 * kinds of server names match no host: a regular expression ("~"), and a name
 * with a wildcard in its rightmost label, because anyone can register a name
 * that it matches.
 */
static int
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


int
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


/* --- the Origin header --- */

/*
 * Decides whether a request with an Origin header is accepted. The check is the
 * protection against DNS rebinding that MCP requires (2025-11-25,
 * basic/transports, "Security Warning").
 */


/* Parses scheme "://" host [ ":" port ] and nothing else (RFC 6454, 7.1). */
static int
mcp_http_origin_parse(mcp_str_t origin, mcp_str_t *scheme,
    mcp_http_authority_t *authority)
{
    if (mcp_http_take_scheme(&origin, scheme) != MCP_OK) {
        return MCP_ERR_SYNTAX;
    }

    return mcp_http_authority_parse(origin, authority);
}


/*
 * Returns 1 if mcp_allow_origin permits the origin. If exact is 1, only a
 * value of mcp_allow_origin that is the origin itself counts, not a regular
 * expression.
 */
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
 * Returns 1 if Origin and Host are equal, and an attacker cannot have chosen
 * the address of this host. Equality alone does not suffice: the owner of a
 * foreign page can change the address of its name to this server's address
 * after the page was loaded. So the host must be a loopback name or address, a
 * server name, or, unless the connection is a loopback connection, any IP
 * address.
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


int
mcp_http_origin_allowed(const mcp_http_origin_t *o)
{
    mcp_str_t             scheme;
    mcp_http_authority_t  origin;

    if (o->origin.len == 0 || o->any) {
        return 1;
    }

    /*
     * every sandboxed page has the origin "null": only an entry with this name
     * permits it, not an expression that matches it
     */

    if (mcp_str_eq(o->origin, mcp_str("null"))) {
        return mcp_http_origin_listed(o, 1);
    }

    if (mcp_http_origin_parse(o->origin, &scheme, &origin) != MCP_OK) {
        return 0;
    }

    return mcp_http_origin_listed(o, 0)
           || mcp_http_origin_own(o, scheme, &origin);
}

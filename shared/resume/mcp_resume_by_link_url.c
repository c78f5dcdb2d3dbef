/* SPDX-License-Identifier: Apache-2.0 */

#include "resume/mcp_resume_by_link_url.h"
#include "base/mcp_uri.h"
#include "http/mcp_http_authority.h"


#define MCP_RESUME_LINK_URL_ARG       "mcp-stream="
#define MCP_RESUME_LINK_URL_ARG_LEN   (sizeof(MCP_RESUME_LINK_URL_ARG) - 1)

#define MCP_RESUME_LINK_URL_TARGET_MAX  2048
#define MCP_RESUME_LINK_URL_OTHER                                             \
    (sizeof("https:///&" MCP_RESUME_LINK_URL_ARG) + MCP_HTTP_AUTHORITY_MAX)

#define MCP_RESUME_LINK_URL_QUOTE_MAX   100
#define MCP_RESUME_LINK_URL_WARN_AFTER  60000  /* minimum time between two
                                                  warnings, ms */


/* Returns 1 for a visible ASCII character that may stand between "<" and ">"
 * of a Link header without percent-encoding. */
static int
mcp_resume_link_url_is_plain(unsigned char c)
{
    return c > ' ' && c < 0x7f && c != '<' && c != '>' && c != '"'
           && c != '\\';
}


/* Returns 1 if s is a path, which may be empty, and an optional query, without
 * a fragment and with at most MCP_RESUME_LINK_URL_TARGET_MAX bytes. */
static int
mcp_resume_link_url_is_target(mcp_str_t s)
{
    return s.len <= MCP_RESUME_LINK_URL_TARGET_MAX
           && (s.len == 0
               || ((s.data[0] == '/' || s.data[0] == '?')
                   && memchr(s.data, '#', s.len) == NULL));
}


/* Writes s to p, percent-encodes the characters that a Link header must not
 * contain, and returns the end. The encoded text names the same resource as s
 * (RFC 3986, 2.1). */
static char *
mcp_resume_link_url_put(char *p, mcp_str_t s)
{
    size_t         i;
    unsigned char  c;

    static const char  digits[] = "0123456789ABCDEF";

    for (i = 0; i < s.len; i++) {
        c = (unsigned char) s.data[i];

        if (mcp_resume_link_url_is_plain(c)) {
            *p++ = (char) c;
            continue;
        }

        *p++ = '%';
        *p++ = digits[c >> 4];
        *p++ = digits[c & 0xf];
    }

    return p;
}


/* Sets *c to the first character of s, decoded if it is percent-encoded (RFC
 * 3986, 6.2.2.2), and returns the number of its bytes in s. s must not be
 * empty. */
static size_t
mcp_resume_link_url_char(const char *s, size_t len, char *c)
{
    int  high, low;

    if (*s == '%' && len >= 3) {
        high = mcp_uri_digit(s[1]);
        low = mcp_uri_digit(s[2]);

        if (high >= 0 && low >= 0) {
            *c = (char) (high << 4 | low);
            return 3;
        }
    }

    *c = *s;

    return 1;
}


/* Returns the number of bytes of "mcp-stream=" at the beginning of s, or 0 if s
 * does not begin with it. The characters before "=" may be percent-encoded. */
static size_t
mcp_resume_link_url_name(const char *s, size_t len)
{
    char    c;
    size_t  i, n;

    static const char  name[] = MCP_RESUME_LINK_URL_ARG;

    n = 0;

    for (i = 0; name[i] != '='; i++) {
        if (n == len) {
            return 0;
        }

        n += mcp_resume_link_url_char(s + n, len - n, &c);

        if (c != name[i]) {
            return 0;
        }
    }

    return n < len && s[n] == '=' ? n + 1 : 0;
}


mcp_str_t
mcp_resume_link_url_decode(mcp_str_t s, char *buf, size_t size)
{
    size_t  i, n;

    n = 0;

    for (i = 0; i < s.len; n++) {
        if (n == size) {
            return mcp_null_str;
        }

        i += mcp_resume_link_url_char(s.data + i, s.len - i, buf + n);
    }

    return (mcp_str_t) { buf, n };
}


/* Removes the next argument from the query *rest, and sets *arg to this
 * argument. If it is "mcp-stream", sets *value to its value, the token. Returns
 * 1, or 0 if *rest has no further argument. */
static int
mcp_resume_link_url_arg(mcp_str_t *rest, mcp_str_t *arg, mcp_str_t *value)
{
    size_t  n;

    if (rest->len == 0) {
        return 0;
    }

    for (n = 0; n < rest->len && rest->data[n] != '&'; n++) { /* void */ }

    arg->data = rest->data;
    arg->len = n;
    n += (n < rest->len);
    rest->data += n;
    rest->len -= n;

    n = mcp_resume_link_url_name(arg->data, arg->len);

    if (n) {
        value->data = arg->data + n;
        value->len = arg->len - n;
    }

    return 1;
}


/* Returns the part of a target before "?", and sets *query to the part after
 * it. */
static mcp_str_t
mcp_resume_link_url_path(mcp_str_t target, mcp_str_t *query)
{
    size_t  n;

    for (n = 0; n < target.len && target.data[n] != '?'; n++) { /* void */ }

    query->data = target.data + n;
    query->len = target.len - n;

    if (query->len) {
        query->data++;
        query->len--;
    }

    target.len = n;

    return target;
}


mcp_str_t
mcp_resume_link_url_token(mcp_str_t target)
{
    mcp_str_t  query, arg, token;

    token = mcp_null_str;
    mcp_resume_link_url_path(target, &query);

    while (mcp_resume_link_url_arg(&query, &arg, &token)) { /* void */ }

    return token;
}


size_t
mcp_resume_link_url_size(const mcp_resume_link_url_t *url)
{
    return MCP_RESUME_LINK_URL_OTHER + 3 * url->target.len;
}


int
mcp_resume_link_url_secret(const mcp_endpoint_t *endpoint, mcp_str_t *rest,
    mcp_str_t *secret)
{
    size_t       i, n, end;
    const char  *p;

    if (!endpoint->link) {
        return 0;
    }

    p = rest->data;

    for (i = 0; i < rest->len; i++) {
        if (i > 0 && p[i - 1] != '?' && p[i - 1] != '&') {
            continue;
        }

        n = mcp_resume_link_url_name(p + i, rest->len - i);

        if (n == 0) {
            continue;
        }

        i += n;

        for (end = i; end < rest->len; end++) {
            if (p[end] == '&' || p[end] == ' ') {
                break;
            }
        }

        secret->data = p + i;
        secret->len = end - i;
        rest->data += end;
        rest->len -= end;

        return 1;
    }

    return 0;
}


/* Logs a warning, at intervals, that the value of mcp_link_origin is not an
 * origin. */
static void
mcp_resume_link_url_warn(mcp_worker_t *worker, mcp_str_t origin)
{
    uint64_t  now;

    now = mcp_worker_now(worker);

    if (worker->url_warned
        && now < worker->url_warned + MCP_RESUME_LINK_URL_WARN_AFTER)
    {
        return;
    }

    worker->url_warned = now;

    mcp_worker_log(worker, MCP_LOG_WARN,
                   "a stream has no URL, because \"%.*s\" is not of the form "
                   "http://host[:port] or https://host[:port]: correct "
                   "mcp_link_origin",
                   (int) (origin.len > MCP_RESUME_LINK_URL_QUOTE_MAX
                          ? MCP_RESUME_LINK_URL_QUOTE_MAX : origin.len),
                   origin.data);
}


int
mcp_resume_link_url_possible(mcp_worker_t *worker,
    const mcp_resume_link_url_t *url)
{
    if (!mcp_resume_link_url_is_target(url->target)) {
        return 0;
    }

    if (url->origin.len == 0) {
        return mcp_http_is_authority(url->host);
    }

    if (mcp_http_is_web_origin(url->origin)) {
        return 1;
    }

    mcp_resume_link_url_warn(worker, url->origin);

    return 0;
}


char *
mcp_resume_link_url_print(const mcp_resume_link_url_t *url, char *p)
{
    char       sep;
    mcp_str_t  path, query, arg, ours;

    if (url->origin.len) {
        memcpy(p, url->origin.data, url->origin.len);
        p += url->origin.len;

    } else {
        memcpy(p, "https", 5);
        p += url->secure ? 5 : 4;
        memcpy(p, "://", 3);
        p += 3;
        memcpy(p, url->host.data, url->host.len);
        p += url->host.len;
    }

    path = mcp_resume_link_url_path(url->target, &query);

    if (path.len == 0) {
        path = mcp_str("/");
    }

    p = mcp_resume_link_url_put(p, path);
    sep = '?';

    for ( ;; ) {
        ours.data = NULL;

        if (!mcp_resume_link_url_arg(&query, &arg, &ours)) {
            break;
        }

        if (ours.data == NULL && arg.len) {
            *p++ = sep;
            p = mcp_resume_link_url_put(p, arg);
            sep = '&';
        }
    }

    *p++ = sep;
    memcpy(p, MCP_RESUME_LINK_URL_ARG, MCP_RESUME_LINK_URL_ARG_LEN);

    return p + MCP_RESUME_LINK_URL_ARG_LEN;
}

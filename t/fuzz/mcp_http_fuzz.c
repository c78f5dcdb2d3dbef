/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Values of headers.  Each line of the input is a value of Accept; the first
 * line is also used as Content-Type, Origin and the request's target, the
 * second as Host, the third as the server's name.
 */


#include "fuzz_env.h"

#include "http/mcp_http_accept.h"
#include "http/mcp_http_authority.h"


#define LINES  8


/* Copies a line to separate memory, so that reading beyond its end is
 * detected. */
static mcp_str_t
copy(const char *data, size_t len)
{
    char  *p;

    if (len == 0) {
        return mcp_null_str;
    }

    p = malloc(len);
    must(p != NULL);
    memcpy(p, data, len);

    return (mcp_str_t) { p, len };
}


static void
accept_and_type(const mcp_str_t *lines, size_t n)
{
    int        joined;
    size_t     i;
    mcp_str_t  bare;

    static const mcp_str_t  json = { "application/json", 16 };

    joined = mcp_http_accepts(lines, n, json);
    must(joined == 0 || joined == 1);

    /* if all Accept lines together accept a type, at least one line alone
     * accepts it */

    for (i = 0; joined && i < n; i++) {
        if (mcp_http_accepts(&lines[i], 1, json)) {
            break;
        }
    }

    must(!joined || i < n);

    bare = mcp_http_media_type(lines[0]);

    must(bare.len == 0 || (bare.data >= lines[0].data
                           && bare.data + bare.len
                              <= lines[0].data + lines[0].len));

    if (mcp_http_is_type(lines[0], json)) {
        must(mcp_str_case_eq(bare, json));
    }

    if (bare.len > 0) {
        (void) mcp_http_is_type(lines[0], bare);
    }
}


static void
origin(const mcp_str_t *lines, size_t n)
{
    int                elsewhere, loopback;
    mcp_http_origin_t  o;

    memset(&o, 0, sizeof(o));

    o.origin = lines[0];
    o.host = n > 1 ? lines[1] : lines[0];
    o.server_names = lines + 2;
    o.n_server_names = n > 2 ? n - 2 : 0;

    elsewhere = mcp_http_origin_allowed(&o);

    o.loopback = 1;
    loopback = mcp_http_origin_allowed(&o);

    must(elsewhere >= loopback);

    o.any = 1;
    must(mcp_http_origin_allowed(&o) == 1);
}


/* Checks that scheme and authority, if any, are the beginning of the
 * target. */
static void
target(mcp_str_t line)
{
    mcp_str_t  rest, authority;

    rest = line;
    mcp_http_target(&rest, &authority);

    if (authority.data == NULL) {
        must(rest.data == line.data && rest.len == line.len);
        return;
    }

    must(authority.data > line.data);
    must(rest.data == authority.data + authority.len);
    must(rest.data + rest.len == line.data + line.len);
    must(rest.len == 0 || rest.data[0] == '/' || rest.data[0] == '?');
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t       i, n;
    mcp_str_t    lines[LINES];
    const char  *p, *end, *eol;

    p = (const char *) data;
    end = p + size;
    n = 0;

    do {
        eol = p < end ? memchr(p, '\n', (size_t) (end - p)) : NULL;
        eol = eol ? eol : end;

        lines[n++] = copy(p, (size_t) (eol - p));
        p = eol + (eol < end);

    } while (p < end && n < LINES);

    accept_and_type(lines, n);
    origin(lines, n);
    target(lines[0]);

    for (i = 0; i < n; i++) {
        free((void *) (uintptr_t) lines[i].data);
    }

    return 0;
}

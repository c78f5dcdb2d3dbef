/* SPDX-License-Identifier: Apache-2.0 */

/* Writes the CORS headers (Fetch, CORS protocol) for origins that may use the
 * endpoint: into the responses of exchanges, and into responses that the web
 * server sends before there is an exchange. Responses to other origins get no
 * CORS headers. */

#include "exchange/mcp_exchange_internal.h"
#include "http/mcp_http_accept.h"
#include "http/mcp_http_authority.h"
#include "worker/mcp_respond.h"


/* Maximum length of Access-Control-Request-Headers, bytes. The names in a
 * longer header are ignored. */
#define MCP_EXCHANGE_REQUESTED_MAX  4096


static const mcp_str_t  mcp_exchange_allowed[] = {
    mcp_str("Accept"),
    mcp_str("Authorization"),
    mcp_str("Content-Type"),
    mcp_str("Last-Event-ID"),
    mcp_str("MCP-Protocol-Version"),
    mcp_str("Mcp-Method"),
    mcp_str("Mcp-Name"),
    mcp_str("Mcp-Session-Id")
};

#define MCP_EXCHANGE_ALLOWED                                                  \
    (sizeof(mcp_exchange_allowed) / sizeof(mcp_exchange_allowed[0]))


/* Returns the header names that a preflight request asks for: the value of
 * Access-Control-Request-Headers, or an empty string if this header is missing
 * or longer than MCP_EXCHANGE_REQUESTED_MAX. */
static mcp_str_t
mcp_exchange_requested_headers(const mcp_head_t *head)
{
    size_t               i;
    const mcp_header_t  *h;

    for (i = 0; i < head->n_headers; i++) {
        h = &head->headers[i];

        if (mcp_str_case_eq(h->name,
                            mcp_str("access-control-request-headers")))
        {
            return h->value.len <= MCP_EXCHANGE_REQUESTED_MAX ? h->value
                                                              : mcp_null_str;
        }
    }

    return mcp_null_str;
}


/* Removes the next name from a comma-separated list. Returns 1, or 0 at the end
 * of the list. */
static int
mcp_exchange_next_requested(mcp_str_t *list, mcp_str_t *name)
{
    const char  *p, *end, *comma;

    if (list->len == 0) {
        return 0;
    }

    p = list->data;
    end = p + list->len;
    comma = memchr(p, ',', list->len);

    list->data = comma ? comma + 1 : end;
    list->len = (size_t) (end - list->data);

    end = comma ? comma : end;

    while (p < end && (*p == ' ' || *p == '\t')) {
        p++;
    }

    while (end > p && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }

    *name = (mcp_str_t) { p, (size_t) (end - p) };

    return 1;
}


/* Returns 1 if the header has to be added to those in mcp_exchange_allowed: it
 * is not among them, and its name begins with "Mcp-", like the names of the
 * headers that repeat arguments of a tool call (Mcp-Param-*). */
static int
mcp_exchange_adds_requested(mcp_str_t name)
{
    size_t  i;

    if (name.len <= 4 || !mcp_http_is_token(name)
        || !mcp_str_case_eq((mcp_str_t) { name.data, 4 }, mcp_str("mcp-")))
    {
        return 0;
    }

    for (i = 0; i < MCP_EXCHANGE_ALLOWED; i++) {
        if (mcp_str_case_eq(name, mcp_exchange_allowed[i])) {
            return 0;
        }
    }

    return 1;
}


static int
mcp_exchange_allow_headers(mcp_exchange_t *x, const mcp_head_t *head)
{
    int        rc;
    size_t     i;
    mcp_buf_t  buf;
    mcp_str_t  list, name, value;

    mcp_buf_init(&buf, &x->worker->env->mem, 3 * MCP_EXCHANGE_REQUESTED_MAX);

    for (i = 0; i < MCP_EXCHANGE_ALLOWED; i++) {
        if (i > 0) {
            mcp_buf_lit(&buf, ", ");
        }

        mcp_buf_str(&buf, mcp_exchange_allowed[i]);
    }

    list = mcp_exchange_requested_headers(head);

    while (mcp_exchange_next_requested(&list, &name)) {
        if (mcp_exchange_adds_requested(name)) {
            mcp_buf_lit(&buf, ", ");
            mcp_buf_str(&buf, name);
        }
    }

    rc = buf.failed;

    if (rc == MCP_OK) {
        value = mcp_arena_dup(&x->arena, (mcp_str_t) { buf.data, buf.len });

        mcp_respond_header(x, mcp_str("Access-Control-Allow-Headers"), value);
        rc = value.data ? MCP_OK : MCP_ERR_MEMORY;
    }

    mcp_buf_free(&buf);

    return rc;
}


int
mcp_exchange_origin_allowed(const mcp_endpoint_t *endpoint,
    const mcp_head_t *head, mcp_str_t origin, mcp_str_t host)
{
    mcp_http_origin_t  o;

    if (origin.data == NULL) {
        return 1;
    }

    memset(&o, 0, sizeof(mcp_http_origin_t));

    o.origin = origin;
    o.host = host;
    o.server_names = head->server_names;
    o.n_server_names = head->n_server_names;
    o.loopback = head->loopback;
    o.allowed = endpoint->origins;
    o.n_allowed = endpoint->n_origins;
    o.any = endpoint->any_origin;

    return mcp_http_origin_allowed(&o);
}


/* Returns the value of Access-Control-Expose-Headers: the response headers
 * that a page of another origin may read. "Link" contains the URL of a
 * stream. */
static mcp_str_t
mcp_exchange_exposed(const mcp_endpoint_t *endpoint)
{
    return endpoint->link ? mcp_str("Mcp-Session-Id, WWW-Authenticate, "
                                    "Retry-After, Link")
                          : mcp_str("Mcp-Session-Id, WWW-Authenticate, "
                                    "Retry-After");
}


int
mcp_exchange_cors(mcp_exchange_t *x, const mcp_head_t *head)
{
    int  rc;

    if (x->head.origin.data == NULL) {
        return MCP_OK;
    }

    mcp_respond_header(x, mcp_str("Access-Control-Allow-Origin"),
                       x->head.origin);
    mcp_respond_header(x, mcp_str("Vary"), mcp_str("Origin"));

    if (x->head.method == MCP_HTTP_OPTIONS) {
        mcp_respond_header(x, mcp_str("Access-Control-Allow-Methods"),
                           mcp_str("GET, POST, DELETE"));

        rc = mcp_exchange_allow_headers(x, head);

        mcp_respond_header(x, mcp_str("Access-Control-Max-Age"),
                           mcp_str("86400"));
        return rc;
    }

    mcp_respond_header(x, mcp_str("Access-Control-Expose-Headers"),
                       mcp_exchange_exposed(x->endpoint));

    return MCP_OK;
}


/* --- responses without an exchange --- */

/* Returns the value of the header with this name; a null string if there is
 * none or more than one. */
static mcp_str_t
mcp_exchange_single(const mcp_head_t *head, mcp_str_t name)
{
    size_t     i;
    mcp_str_t  value;

    value = mcp_null_str;

    for (i = 0; i < head->n_headers; i++) {
        if (!mcp_str_case_eq(head->headers[i].name, name)) {
            continue;
        }

        if (value.data) {
            return mcp_null_str;
        }

        value = head->headers[i].value;
    }

    return value;
}


/* Returns the value of Origin if this origin may use the endpoint, otherwise a
 * null string. */
static mcp_str_t
mcp_exchange_admitted(const mcp_endpoint_t *endpoint, const mcp_head_t *head)
{
    mcp_str_t  origin, host, target, authority;

    origin = mcp_exchange_single(head, mcp_str("origin"));

    if (origin.len == 0) {
        return mcp_null_str;
    }

    target = head->target;
    mcp_http_target(&target, &authority);

    host = authority.data ? authority
                          : mcp_exchange_single(head, mcp_str("host"));

    return mcp_exchange_origin_allowed(endpoint, head, origin, host)
           ? origin : mcp_null_str;
}


int
mcp_exchange_is_preflight(const mcp_endpoint_t *endpoint,
    const mcp_head_t *head)
{
    return mcp_str_eq(head->method, mcp_str("OPTIONS"))
           && mcp_exchange_single(head,
                                  mcp_str("access-control-request-method")).len
           && mcp_exchange_admitted(endpoint, head).len;
}


size_t
mcp_exchange_cors_headers(const mcp_endpoint_t *endpoint,
    const mcp_head_t *head, mcp_header_t headers[MCP_CORS_HEADERS])
{
    mcp_str_t  origin;

    origin = mcp_exchange_admitted(endpoint, head);

    if (origin.len == 0) {
        return 0;
    }

    headers[0].name = mcp_str("Access-Control-Allow-Origin");
    headers[0].value = origin;
    headers[1].name = mcp_str("Vary");
    headers[1].value = mcp_str("Origin");
    headers[2].name = mcp_str("Access-Control-Expose-Headers");
    headers[2].value = mcp_exchange_exposed(endpoint);

    return MCP_CORS_HEADERS;
}

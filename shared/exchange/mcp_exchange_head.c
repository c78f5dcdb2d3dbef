/* SPDX-License-Identifier: Apache-2.0 */

/* Handles the head of an HTTP request: stores its headers, rejects a request
 * that HTTP, CORS or the transport does not allow, and starts the handler of
 * its HTTP method. */

#include "config/mcp_tenant.h"
#include "exchange/mcp_exchange_internal.h"
#include "exchange/mcp_exchange_session.h"
#include "exchange/mcp_stateless.h"
#include "http/mcp_http_accept.h"
#include "http/mcp_http_authority.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_exchange_set_state.h"
#include "worker/mcp_respond.h"
#include "worker/mcp_resume_hooks.h"


#define mcp_json_type    mcp_str("application/json")
#define mcp_stream_type  mcp_str("text/event-stream")


/* A row of mcp_exchange_headers, the table of headers whose values are stored
 * in x->head. */
typedef struct {
    mcp_str_t   name;          /* name of the header, lower case */
    size_t      offset;        /* offset of the value in mcp_exchange_head_t */
    unsigned    mirror;        /* MCP_HEAD_... bit of a header that repeats a
                                  part of the body or describes a trace; 0 for
                                  others */
} mcp_exchange_header_t;


#define mcp_exchange_header(text, member, mirror)                             \
    { mcp_str(text), offsetof(mcp_exchange_head_t, member), mirror }

static const mcp_exchange_header_t  mcp_exchange_headers[] = {
    mcp_exchange_header("content-type", content_type, 0),
    mcp_exchange_header("mcp-session-id", session_text, 0),
    mcp_exchange_header("mcp-protocol-version", revision_text,
                        MCP_HEAD_VERSION),
    mcp_exchange_header("mcp-method", method_text, MCP_HEAD_METHOD),
    mcp_exchange_header("mcp-name", name_text, MCP_HEAD_NAME),
    mcp_exchange_header("last-event-id", event_id, 0),
    mcp_exchange_header("origin", origin, 0),
    mcp_exchange_header("authorization", authorization, 0),
    mcp_exchange_header("traceparent", trace.parent, MCP_HEAD_TRACE),
    mcp_exchange_header("tracestate", trace.state, MCP_HEAD_TRACE),
    mcp_exchange_header("baggage", trace.baggage, MCP_HEAD_TRACE)
};

#define MCP_EXCHANGE_HEADERS                                                  \
    (sizeof(mcp_exchange_headers) / sizeof(mcp_exchange_header_t))

#define MCP_ACCEPT_LINES  16


typedef struct {
    mcp_str_t  accept[MCP_ACCEPT_LINES];
    size_t     n_accept;
    mcp_str_t  host;
} mcp_exchange_lines_t;


static mcp_http_method_e
mcp_exchange_method(mcp_str_t method)
{
    if (mcp_str_eq(method, mcp_str("POST"))) {
        return MCP_HTTP_POST;
    }

    if (mcp_str_eq(method, mcp_str("GET"))) {
        return MCP_HTTP_GET;
    }

    if (mcp_str_eq(method, mcp_str("DELETE"))) {
        return MCP_HTTP_DELETE;
    }

    if (mcp_str_eq(method, mcp_str("OPTIONS"))) {
        return MCP_HTTP_OPTIONS;
    }

    return MCP_HTTP_OTHER;
}


/* Sets x->head.host to the requested host: the host in the request's target if
 * there is one, otherwise the Host header. */
static void
mcp_exchange_read_target(mcp_exchange_t *x, const mcp_head_t *head,
    mcp_exchange_lines_t *h)
{
    mcp_str_t  target, authority;

    target = head->target;
    mcp_http_target(&target, &authority);

    if (authority.data) {
        h->host = authority;
    }

    x->head.host = h->host;
}


/*
 * Returns 1 if the request is rejected at once because this header is repeated.
 * "first" and "second" are its values. Headers that neither repeat the body nor
 * describe a trace must be single. MCP-Protocol-Version must be single if
 * neither value is a revision without sessions.
 *
 * Repetitions of other headers are only recorded, in x->head.twice. In a
 * revision without sessions, mcp_stateless_enter() later rejects the request if
 * a header that repeats a part of the body occurs twice. The error then has the
 * JSON-RPC id of the request.
 */
static int
mcp_exchange_is_single(const mcp_exchange_header_t *header, mcp_str_t first,
    mcp_str_t second)
{
    if (header->mirror != MCP_HEAD_VERSION) {
        return header->mirror == 0;
    }

    return !mcp_revision(mcp_revision_find(first))->stateless
           && !mcp_revision(mcp_revision_find(second))->stateless;
}


/* Stores the value of a header in x->head if mcp_exchange_headers has a row for
 * this header. Returns MCP_OK, or MCP_ERR_DENIED for a repeated header that
 * must be single. */
static int
mcp_exchange_keep_header(mcp_exchange_t *x, const mcp_header_t *h,
    unsigned *seen)
{
    size_t                        k;
    mcp_str_t                    *value;
    const mcp_exchange_header_t  *header;

    for (k = 0; k < MCP_EXCHANGE_HEADERS; k++) {
        header = &mcp_exchange_headers[k];

        if (!mcp_str_case_eq(h->name, header->name)) {
            continue;
        }

        value = (mcp_str_t *) (void *) ((char *) &x->head + header->offset);

        if (value->data == NULL) {
            *value = h->value;

        } else if (mcp_exchange_is_single(header, *value, h->value)) {
            return MCP_ERR_DENIED;
        }

        x->head.twice |= header->mirror & *seen;
        *seen |= header->mirror;
        break;
    }

    return MCP_OK;
}


/* Reads all headers. Returns MCP_FAULT_BAD_REQUEST if a header that must be
 * single is repeated, otherwise MCP_FAULT_NONE. */
static mcp_fault_e
mcp_exchange_read_headers(mcp_exchange_t *x, const mcp_head_t *head,
    mcp_exchange_lines_t *out)
{
    size_t               i;
    unsigned             seen;
    const mcp_header_t  *h;

    seen = 0;
    out->n_accept = 0;
    out->host = mcp_null_str;

    for (i = 0; i < head->n_headers; i++) {
        h = &head->headers[i];

        if (mcp_str_case_eq(h->name, mcp_str("accept"))) {
            if (out->n_accept < MCP_ACCEPT_LINES) {
                out->accept[out->n_accept++] = h->value;
            }

            continue;
        }

        if (mcp_str_case_eq(h->name, mcp_str("host"))) {
            out->host = h->value;
            continue;
        }

        if (mcp_exchange_keep_header(x, h, &seen) != MCP_OK) {
            return MCP_FAULT_BAD_REQUEST;
        }
    }

    return MCP_FAULT_NONE;
}


static mcp_next_e
mcp_exchange_refuse(mcp_exchange_t *x, mcp_fault_e fault)
{
    return mcp_respond_fault(x, fault, mcp_null_str, mcp_null_str);
}


/* Rejects a request whose Accept header lacks a required media type. The text
 * of the error is that of the TypeScript SDK. */
static mcp_next_e
mcp_exchange_unacceptable(mcp_exchange_t *x)
{
    return mcp_respond_fault(x, MCP_FAULT_NOT_ACCEPTABLE, mcp_null_str,
                             x->head.method == MCP_HTTP_POST
                             ? mcp_str("Client must accept both "
                                       "application/json and text/event-stream")
                             : mcp_str("Client must accept text/event-stream"));
}


static mcp_next_e
mcp_exchange_post(mcp_exchange_t *x, const mcp_exchange_lines_t *h)
{
    /* a client MUST list both media types (basic/transports, "Sending
     * Messages"): compares the header with the text that nearly all clients
     * send, before mcp_http_accepts() parses it */

    if (h->n_accept == 1
        && mcp_str_eq(h->accept[0],
                      mcp_str("application/json, text/event-stream")))
    {
        /* void */

    } else if (!mcp_http_accepts(h->accept, h->n_accept, mcp_json_type)
               || !mcp_http_accepts(h->accept, h->n_accept, mcp_stream_type))
    {
        return mcp_exchange_unacceptable(x);
    }

    if (!mcp_str_eq(x->head.content_type, mcp_json_type)
        && !mcp_http_is_type(x->head.content_type, mcp_json_type))
    {
        return mcp_exchange_refuse(x, MCP_FAULT_MEDIA_TYPE);
    }

    mcp_exchange_set_state(x, MCP_EXCHANGE_BODY);

    return MCP_NEXT_BODY;
}


/*
 * Handles HTTP methods other than POST for revisions without sessions, which
 * have no GET stream of a session and no session to end (2026-07-28,
 * basic/transports/streamable-http, "Earlier Streamable HTTP Revisions"). A GET
 * with an event id resumes a stream if mcp_resume_stateless permits this;
 * everything else is rejected.
 */
static mcp_next_e
mcp_exchange_route_stateless(mcp_exchange_t *x, const mcp_exchange_lines_t *h)
{
    if (x->head.stateless && x->head.method == MCP_HTTP_GET
        && x->head.event_id.len && x->resumption->post == NULL
        && x->endpoint->resume_stateless != MCP_RESUME_STATELESS_OFF)
    {
        return mcp_http_accepts(h->accept, h->n_accept, mcp_stream_type)
                   ? mcp_operation_begin(x, x->resumption->get)
                   : mcp_exchange_unacceptable(x);
    }

    mcp_respond_header(x, mcp_str("Allow"), mcp_str("POST"));

    return mcp_exchange_refuse(x, MCP_FAULT_METHOD_NOT_ALLOWED);
}


/* Handles the request according to its HTTP method. Returns the values of
 * mcp_exchange_head(). */
static mcp_next_e
mcp_exchange_route(mcp_exchange_t *x, const mcp_exchange_lines_t *h)
{
    mcp_fault_e  fault;

    if (x->head.method != MCP_HTTP_POST && x->head.method != MCP_HTTP_OPTIONS
        && mcp_stateless_era(x))
    {
        return mcp_exchange_route_stateless(x, h);
    }

    switch (x->head.method) {

    case MCP_HTTP_POST:
        return mcp_exchange_post(x, h);

    case MCP_HTTP_GET:
        if (!mcp_http_accepts(h->accept, h->n_accept, mcp_stream_type)) {
            return mcp_exchange_unacceptable(x);
        }

        if (x->resumption->post) {
            return mcp_operation_begin(x, x->resumption->get);
        }

        break;

    case MCP_HTTP_DELETE:
        break;

    case MCP_HTTP_OPTIONS:
        if (x->head.origin.data) {
            x->output.outcome = "preflight";
            return mcp_respond_status(x, 204);
        }

        /* fall through */

    default:
        mcp_respond_header(x, mcp_str("Allow"),
                           mcp_str("GET, POST, DELETE"));
        return mcp_exchange_refuse(x, MCP_FAULT_METHOD_NOT_ALLOWED);
    }

    fault = mcp_exchange_check_session(x);

    if (fault != MCP_FAULT_NONE) {
        return mcp_exchange_refuse(x, fault);
    }

    if (x->head.method == MCP_HTTP_DELETE) {
        return mcp_session_close_needed(x->endpoint)
               ? mcp_operation_after_body(x, mcp_exchange_delete)
               : mcp_operation_begin(x, mcp_exchange_delete);
    }

    return mcp_operation_begin(x, x->resumption->get);
}


/* Reads the identity of the caller, which the web server has authenticated.
 * Returns MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_exchange_read_caller(mcp_exchange_t *x, const mcp_head_t *head)
{
    x->head.principal_name = head->principal;
    x->head.evaluate = head->evaluate;

    if (mcp_principal(head->principal, x->head.principal) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    mcp_tenant_id(x->endpoint, x->head.principal, head->address,
                  x->head.tenant);

    return MCP_OK;
}


/* Determines from the headers whether the request's revision has sessions. If
 * it has none, also reads the Mcp-Param-* headers. Returns MCP_OK or
 * MCP_ERR_MEMORY. */
static int
mcp_exchange_read_era(mcp_exchange_t *x, const mcp_head_t *head)
{
    int  stateless;

    stateless = mcp_stateless_read(x);

    if (mcp_stateless_era(x)) {
        mcp_stateless_begin(x);
    }

    return stateless ? mcp_exchange_param_read(x, head) : MCP_OK;
}


/* Returns the fault if requests with this principal cannot be served, or if at
 * present no requests can be served; otherwise MCP_FAULT_NONE. */
static mcp_fault_e
mcp_exchange_admit(const mcp_exchange_t *x, const mcp_head_t *head)
{
    /* a principal with control characters could break the heads of backend
     * requests */

    if (mcp_variable_has_control(head->principal)) {
        return MCP_FAULT_FORBIDDEN;
    }

    /* MCP_ERR_DENIED: the clocks of this node and of Redis differ so much that
     * other nodes would misinterpret the times in signed tokens */

    return x->head.method != MCP_HTTP_OPTIONS
           && mcp_operation_clock(x->worker) == MCP_ERR_DENIED
           ? MCP_FAULT_CLUSTER_UNREACHABLE : MCP_FAULT_NONE;
}


mcp_next_e
mcp_exchange_head(mcp_exchange_t *x, const mcp_head_t *head)
{
    mcp_fault_e           fault;
    mcp_exchange_lines_t  h;

    mcp_store_count(x->worker->store, MCP_COUNT_REQUESTS, 1);

    x->head.method = mcp_exchange_method(head->method);

    if (mcp_exchange_read_caller(x, head) != MCP_OK) {
        return MCP_NEXT_ERROR;
    }

    fault = mcp_exchange_read_headers(x, head, &h);

    if (fault != MCP_FAULT_NONE) {
        return mcp_exchange_refuse(x, fault);
    }

    if (x->publish) {
        return mcp_publish_head(x, head);
    }

    mcp_exchange_read_target(x, head, &h);

    if (mcp_exchange_read_era(x, head) != MCP_OK) {
        return MCP_NEXT_ERROR;
    }

    if (!mcp_exchange_origin_allowed(x->endpoint, head, x->head.origin,
                                     h.host))
    {
        return mcp_exchange_refuse(x, MCP_FAULT_ORIGIN);
    }

    if (mcp_exchange_cors(x, head) != MCP_OK) {
        return MCP_NEXT_ERROR;
    }

    fault = mcp_exchange_admit(x, head);

    if (fault != MCP_FAULT_NONE) {
        return mcp_exchange_refuse(x, fault);
    }

    if (mcp_hook_lookup(x, head) != MCP_OK) {
        return MCP_NEXT_ERROR;
    }

    return mcp_exchange_route(x, &h);
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The head of a request: its headers, the rules of HTTP and of browsers, and
 * what its method asks for.
 */

#include "config/mcp_party.h"
#include "exchange/mcp_exchange_param.h"
#include "exchange/mcp_exchange_parts.h"
#include "exchange/mcp_exchange_session.h"
#include "exchange/mcp_stateless.h"
#include "mcp_http.h"
#include "worker/mcp_answer.h"
#include "worker/mcp_ask.h"
#include "worker/mcp_exchange_state.h"
#include "worker/mcp_hook.h"


#define mcp_json_type    mcp_str("application/json")
#define mcp_stream_type  mcp_str("text/event-stream")


/* The headers that have rules here. */
typedef struct {
    mcp_str_t   name;          /* lower case */
    size_t      offset;        /* in mcp_exchange_head_t */
    unsigned    mirror;        /* MCP_HEAD_..., or 0 */
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

#define MCP_EXCHANGE_HEADERS                                                 \
    (sizeof(mcp_exchange_headers) / sizeof(mcp_exchange_header_t))

/* The lengths of those names and of "accept" and "host", a bit each. */
#define MCP_EXCHANGE_LENGTHS                                                 \
    (1U << 4 | 1U << 6 | 1U << 7 | 1U << 8 | 1U << 10 | 1U << 11 | 1U << 12   \
     | 1U << 13 | 1U << 14 | 1U << 20)

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


/* Reads the host that was asked for: the target's own if it has one. */
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


/* Whether two lines of a header are refused here.  The names of stateless
 * revisions are refused once the id of their request is known; others ignore
 * them. */
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


/* Keeps the value of a header of the table; MCP_ERR_DENIED if it stands twice
 * and must not. */
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


/* One pass over the header; MCP_FAULT_BAD_REQUEST if one that must be single
 * is not. */
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

        /* most names are none of ours, and their length says so */

        if (h->name.len > 31
            || !(MCP_EXCHANGE_LENGTHS & ((uint32_t) 1 << h->name.len)))
        {
            continue;
        }

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


static int
mcp_exchange_refuse(mcp_exchange_t *x, mcp_fault_e fault)
{
    return mcp_answer_fault(x, fault, mcp_null_str, mcp_null_str);
}


/* Refuses a request whose Accept lacks a media type, in the TypeScript SDK's
 * words. */
static int
mcp_exchange_unacceptable(mcp_exchange_t *x)
{
    return mcp_answer_fault(x, MCP_FAULT_NOT_ACCEPTABLE, mcp_null_str,
                            x->head.method == MCP_HTTP_POST
                            ? mcp_str("Client must accept both "
                                      "application/json and text/event-stream")
                            : mcp_str("Client must accept text/event-stream"));
}


static int
mcp_exchange_post(mcp_exchange_t *x, const mcp_exchange_lines_t *h)
{
    /* a client MUST list both (basic/transports, "Sending Messages"); nearly
     * all do it in these words */

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

    return MCP_AGAIN;
}


/* What the method asks for. */
static int
mcp_exchange_route(mcp_exchange_t *x, const mcp_exchange_lines_t *h)
{
    mcp_fault_e  fault;

    if (x->head.method != MCP_HTTP_POST && x->head.method != MCP_HTTP_OPTIONS
        && mcp_stateless_era(x))
    {
        /* neither a stream of a session nor its end is left (2026-07-28,
         * basic/transports/streamable-http, "Earlier Streamable HTTP
         * Revisions") */

        mcp_answer_header(x, mcp_str("Allow"), mcp_str("POST"));
        return mcp_exchange_refuse(x, MCP_FAULT_METHOD_NOT_ALLOWED);
    }

    switch (x->head.method) {

    case MCP_HTTP_POST:
        return mcp_exchange_post(x, h);

    case MCP_HTTP_GET:
        if (!mcp_http_accepts(h->accept, h->n_accept, mcp_stream_type)) {
            return mcp_exchange_unacceptable(x);
        }

        if (x->face->url) {
            return x->face->url->get(x);
        }

        break;

    case MCP_HTTP_DELETE:
        break;

    case MCP_HTTP_OPTIONS:
        if (x->head.origin.data) {
            x->answer.outcome = "preflight";
            return mcp_answer_status(x, 204);
        }

        /* fall through */

    default:
        mcp_answer_header(x, mcp_str("Allow"),
                          mcp_str("GET, POST, DELETE"));
        return mcp_exchange_refuse(x, MCP_FAULT_METHOD_NOT_ALLOWED);
    }

    fault = mcp_exchange_check_session(x);

    if (fault != MCP_FAULT_NONE) {
        return mcp_exchange_refuse(x, fault);
    }

    if (x->head.method == MCP_HTTP_DELETE) {
        return mcp_ask_begin(x, mcp_exchange_delete);
    }

    return mcp_ask_begin(x, x->face->get);
}


/* Who asks, as far as the server knows. */
static int
mcp_exchange_read_caller(mcp_exchange_t *x, const mcp_head_t *head)
{
    x->head.principal_name = head->principal;
    x->head.evaluate = head->evaluate;

    if (mcp_principal(head->principal, x->head.principal) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    mcp_party_id(x->endpoint, x->head.principal, head->address, x->head.party);

    return MCP_OK;
}


/* What only revisions without sessions have; MCP_OK or MCP_ERR_MEMORY. */
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


int
mcp_exchange_head(mcp_exchange_t *x, const mcp_head_t *head)
{
    int                   rc;
    mcp_fault_e           fault;
    mcp_exchange_lines_t  h;

    mcp_store_count(x->worker->store, MCP_COUNT_REQUESTS, 1);

    x->head.method = mcp_exchange_method(head->method);

    if (mcp_exchange_read_caller(x, head) != MCP_OK) {
        return MCP_ERR_MEMORY;
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
        return MCP_ERR_MEMORY;
    }

    if (!mcp_exchange_origin_allowed(x->endpoint, head, x->head.origin,
                                     h.host))
    {
        return mcp_exchange_refuse(x, MCP_FAULT_ORIGIN);
    }

    rc = mcp_exchange_cors(x, head);

    if (rc != MCP_OK) {
        return rc;
    }

    /* whoever checked that name did not: it would be written into the heads
     * of backends */

    if (mcp_fact_has_control(head->principal)) {
        return mcp_exchange_refuse(x, MCP_FAULT_FORBIDDEN);
    }

    rc = mcp_hook_look(x, head);

    if (rc != MCP_OK) {
        return rc;
    }

    return mcp_exchange_route(x, &h);
}

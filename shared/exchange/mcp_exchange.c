/* SPDX-License-Identifier: Apache-2.0 */

#include "call/mcp_request.h"
#include "config/mcp_party.h"
#include "exchange/mcp_exchange_parts.h"
#include "mcp_http.h"
#include "rpc/mcp_revision.h"
#include "worker/mcp_answer.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_hook.h"


#define mcp_json_type    mcp_str("application/json")
#define mcp_stream_type  mcp_str("text/event-stream")


/* The headers that have rules here. */
typedef struct {
    mcp_str_t   name;          /* lower case */
    size_t      offset;        /* of the mcp_str_t in mcp_exchange_t */
} mcp_exchange_header_t;


static const mcp_exchange_header_t  mcp_exchange_headers[] = {
    { mcp_str("content-type"), offsetof(mcp_exchange_t, content_type) },
    { mcp_str("mcp-session-id"), offsetof(mcp_exchange_t, session_text) },
    { mcp_str("mcp-protocol-version"),
      offsetof(mcp_exchange_t, revision_text) },
    { mcp_str("last-event-id"), offsetof(mcp_exchange_t, event_id) },
    { mcp_str("origin"), offsetof(mcp_exchange_t, origin) },
    { mcp_str("authorization"), offsetof(mcp_exchange_t, authorization) }
};

#define MCP_EXCHANGE_HEADERS                                                 \
    (sizeof(mcp_exchange_headers) / sizeof(mcp_exchange_header_t))

/* The lengths of those names and of "accept" and "host", a bit each. */
#define MCP_EXCHANGE_LENGTHS                                                 \
    (1U << 4 | 1U << 6 | 1U << 12 | 1U << 13 | 1U << 14 | 1U << 20)

#define MCP_ACCEPT_LINES  16


typedef struct {
    mcp_str_t  accept[MCP_ACCEPT_LINES];
    size_t     n_accept;
    mcp_str_t  host;
} mcp_exchange_head_t;


mcp_exchange_t *
mcp_exchange_create(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    void *glue)
{
    const mcp_mem_t  *mem;
    mcp_exchange_t   *x;

    mem = &worker->env->mem;

    x = mem->alloc(mem->ctx, sizeof(mcp_exchange_t));
    if (x == NULL) {
        return NULL;
    }

    memset(x, 0, sizeof(mcp_exchange_t));

    mcp_arena_init(&x->arena, mem);
    x->worker = worker;
    x->endpoint = endpoint;
    x->glue = glue;
    x->task.action.exchange = x;
    x->outcome = "none";

    mcp_buf_init(&x->out, &worker->env->mem, SIZE_MAX / 2);
    mcp_buf_init(&x->partial, &worker->env->mem, SIZE_MAX / 2);

    return x;
}


void
mcp_exchange_free(mcp_exchange_t *x)
{
    const mcp_mem_t  *mem;

    mcp_worker_unqueue(x->worker, &x->task);
    mcp_timer_del(&x->worker->timers, &x->timer);

    if (x->state == MCP_EXCHANGE_STREAM) {
        mcp_consumer_leave(x);
    }

    if (x->call) {
        if (x->call->x == x) {
            mcp_call_leave(x->call);
        }

        mcp_call_release(x->call);
    }

    mcp_buf_free(&x->out);
    mcp_buf_free(&x->partial);

    mcp_arena_destroy(&x->arena);

    mem = &x->worker->env->mem;
    mem->free(mem->ctx, x);
}


mcp_arena_t *
mcp_exchange_arena(mcp_exchange_t *x)
{
    return x->call ? &x->call->arena : &x->arena;
}


void *
mcp_exchange_glue(const mcp_exchange_t *x)
{
    return x->glue;
}


const mcp_response_t *
mcp_exchange_response(const mcp_exchange_t *x)
{
    return &x->response;
}


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


/* Path and query; and the host that was asked for, which is the target's own
 * if it has one. */
static void
mcp_exchange_read_target(mcp_exchange_t *x, const mcp_head_t *head,
    mcp_exchange_head_t *h)
{
    mcp_str_t  authority;

    x->link.target = head->target;
    mcp_http_target(&x->link.target, &authority);

    if (authority.data) {
        h->host = authority;
    }

    x->link.host = h->host;
}


/* One pass over the header; MCP_FAULT_BAD_REQUEST if one that must be single
 * is not. */
static mcp_fault_e
mcp_exchange_read_headers(mcp_exchange_t *x, const mcp_head_t *head,
    mcp_exchange_head_t *out)
{
    size_t               i, k;
    mcp_str_t           *value;
    const mcp_header_t  *h;

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

        for (k = 0; k < MCP_EXCHANGE_HEADERS; k++) {
            if (!mcp_str_case_eq(h->name, mcp_exchange_headers[k].name)) {
                continue;
            }

            value = (mcp_str_t *) (void *)
                        ((char *) x + mcp_exchange_headers[k].offset);

            if (value->data) {
                return MCP_FAULT_BAD_REQUEST;
            }

            *value = h->value;
            break;
        }
    }

    return MCP_FAULT_NONE;
}


/* The origin may proceed: tell the browser so (Fetch, CORS protocol). */
static void
mcp_exchange_cors(mcp_exchange_t *x)
{
    if (x->origin.data == NULL) {
        return;
    }

    mcp_answer_header(x, mcp_str("Access-Control-Allow-Origin"), x->origin);
    mcp_answer_header(x, mcp_str("Vary"), mcp_str("Origin"));

    if (x->method == MCP_HTTP_OPTIONS) {
        mcp_answer_header(x, mcp_str("Access-Control-Allow-Methods"),
                          mcp_str("GET, POST, DELETE"));
        mcp_answer_header(x, mcp_str("Access-Control-Allow-Headers"),
                          mcp_str("Accept, Authorization, Content-Type, "
                                  "Last-Event-ID, MCP-Protocol-Version, "
                                  "Mcp-Session-Id"));
        mcp_answer_header(x, mcp_str("Access-Control-Max-Age"),
                          mcp_str("86400"));
        return;
    }

    mcp_answer_header(x, mcp_str("Access-Control-Expose-Headers"),
                      x->endpoint->link
                      ? mcp_str("Mcp-Session-Id, WWW-Authenticate, "
                                "Retry-After, Link")
                      : mcp_str("Mcp-Session-Id, WWW-Authenticate, "
                                "Retry-After"));
}


static int
mcp_exchange_origin_allowed(mcp_exchange_t *x, const mcp_head_t *head,
    const mcp_exchange_head_t *h)
{
    mcp_http_origin_t  o;

    if (x->origin.data == NULL) {
        return 1;
    }

    memset(&o, 0, sizeof(mcp_http_origin_t));

    o.origin = x->origin;
    o.host = h->host;
    o.server_names = head->server_names;
    o.n_server_names = head->n_server_names;
    o.loopback = head->loopback;
    o.allowed = x->endpoint->origins;
    o.n_allowed = x->endpoint->n_origins;
    o.any = x->endpoint->any_origin;

    return mcp_http_origin_allowed(&o);
}


static int
mcp_exchange_refuse(mcp_exchange_t *x, mcp_fault_e fault)
{
    return mcp_answer_fault(x, fault, mcp_null_str, mcp_null_str);
}


/* An absent header is fine: the session, or the stream, knows its revision. */
mcp_fault_e
mcp_exchange_check_revision(const mcp_exchange_t *x)
{
    if (x->revision_text.data
        && mcp_revision_find(x->revision_text) == MCP_REVISION_NONE)
    {
        return MCP_FAULT_REVISION;
    }

    return MCP_FAULT_NONE;
}


mcp_fault_e
mcp_exchange_check_session(mcp_exchange_t *x)
{
    int       rc;
    uint64_t  now;
    uint32_t  value;

    if (x->session_text.len == 0) {
        return MCP_FAULT_SESSION_ABSENT;
    }

    now = x->worker->env->now(x->worker->env->ctx);

    rc = mcp_session_parse_cached(&x->worker->sessions, x->endpoint->keys,
                                  x->session_text, now, x->principal,
                                  &x->session);
    if (rc != MCP_OK) {
        return MCP_FAULT_SESSION_UNKNOWN;
    }

    /* 'd': a DELETE leaves its mark until the token would have expired */

    if (mcp_store_value_get(x->worker->store, 'd', x->session.id, now, &value)
        == MCP_OK)
    {
        return MCP_FAULT_SESSION_UNKNOWN;
    }

    x->has_session = 1;

    return mcp_exchange_check_revision(x);
}


void
mcp_session_log(mcp_exchange_t *x, const char *what)
{
    char  id[9];

    if (mcp_worker_logs(x->worker, MCP_LOG_INFO)) {
        mcp_stream_id_short(id, x->session.id);
        mcp_worker_log(x->worker, MCP_LOG_INFO, "session %s %s, revision %s",
                       id,
                     what, mcp_revision(x->session.revision)->name.data);
    }
}


/* DELETE ends a session (2025-11-25, basic/transports, "Session
 * Management"). */
static int
mcp_exchange_delete(mcp_exchange_t *x)
{
    mcp_party_t   party;
    mcp_store_t  *store;

    store = x->worker->store;
    mcp_party(x->endpoint, x->party, &party);

    /* who ended many forgets the first, rather than that this one goes on */

    if (mcp_store_value_push(store, 'd', x->session.id, 1, x->session.expires,
                             &party)
        != MCP_OK)
    {
        return mcp_exchange_refuse(x, MCP_FAULT_STORE_FULL);
    }

    mcp_store_value_delete(store, 'l', x->session.id);
    mcp_call_end_session(x);
    mcp_store_count(store, MCP_COUNT_SESSIONS_DELETED, 1);
    mcp_session_log(x, "ended by its client");

    x->outcome = "deleted";

    return mcp_answer_status(x, 204);
}


static int
mcp_exchange_post(mcp_exchange_t *x, const mcp_exchange_head_t *h)
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
        return mcp_exchange_refuse(x, MCP_FAULT_NOT_ACCEPTABLE);
    }

    if (!mcp_str_eq(x->content_type, mcp_json_type)
        && !mcp_http_is_type(x->content_type, mcp_json_type))
    {
        return mcp_exchange_refuse(x, MCP_FAULT_MEDIA_TYPE);
    }

    x->state = MCP_EXCHANGE_BODY;

    return MCP_AGAIN;
}


int
mcp_exchange_head(mcp_exchange_t *x, const mcp_head_t *head)
{
    int                  rc;
    mcp_fault_e          fault;
    mcp_exchange_head_t  h;

    mcp_store_count(x->worker->store, MCP_COUNT_REQUESTS, 1);

    x->method = mcp_exchange_method(head->method);
    x->principal_name = head->principal;

    if (mcp_principal(head->principal, x->principal) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    mcp_party_id(x->endpoint, x->principal, head->address, x->party);

    fault = mcp_exchange_read_headers(x, head, &h);

    if (fault != MCP_FAULT_NONE) {
        return mcp_exchange_refuse(x, fault);
    }

    if (x->publish) {
        return mcp_publish_head(x, head);
    }

    mcp_exchange_read_target(x, head, &h);

    if (!mcp_exchange_origin_allowed(x, head, &h)) {
        return mcp_exchange_refuse(x, MCP_FAULT_ORIGIN);
    }

    mcp_exchange_cors(x);

    /* whoever checked that name did not: it would be written into the heads
     * of backends */

    if (mcp_fact_has_control(head->principal)) {
        return mcp_exchange_refuse(x, MCP_FAULT_FORBIDDEN);
    }

    rc = mcp_hook_look(x, head);

    if (rc != MCP_OK) {
        return rc;
    }

    switch (x->method) {

    case MCP_HTTP_POST:
        return mcp_exchange_post(x, &h);

    case MCP_HTTP_GET:
        if (!mcp_http_accepts(h.accept, h.n_accept, mcp_stream_type)) {
            return mcp_exchange_refuse(x, MCP_FAULT_NOT_ACCEPTABLE);
        }

        if (x->face) {
            return x->face->get(x);
        }

        break;

    case MCP_HTTP_DELETE:
        break;

    case MCP_HTTP_OPTIONS:
        if (x->origin.data) {
            x->outcome = "preflight";
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

    if (x->method == MCP_HTTP_DELETE) {
        return mcp_exchange_delete(x);
    }

    return mcp_consumer_get(x);
}


char *
mcp_exchange_body_space(mcp_exchange_t *x, size_t len)
{
    x->body = mcp_arena_alloc(&x->arena, len ? len : 1);

    return x->body;
}


int
mcp_exchange_body(mcp_exchange_t *x, size_t len)
{
    if (x->publish) {
        return mcp_publish_body(x, len);
    }

    return mcp_dispatch(x, len);
}


int
mcp_exchange_lasts(const mcp_exchange_t *x)
{
    if (x->done
        || (x->state != MCP_EXCHANGE_STREAM && x->state != MCP_EXCHANGE_WAIT))
    {
        return 0;
    }

    return x->call == NULL || x->call->n > 1 || x->call->jobs == 0
           || mcp_input_possible(&x->call->session);
}


static void
mcp_exchange_session_facts(mcp_exchange_t *x)
{
    char  *p;

    mcp_fact_set(&x->facts, MCP_FACT_PROTOCOL_VERSION,
                 mcp_revision(x->session.revision)->name);

    p = mcp_stream_id_print(x->text, x->session.id);

    mcp_fact_set(&x->facts, MCP_FACT_SESSION, (mcp_str_t) { x->text, 8 });
    mcp_fact_set(&x->facts, MCP_FACT_SESSION_ID,
                 (mcp_str_t) { x->text, (size_t) (p - x->text) });
}


/*
 * A client that leaves may leave a call behind that was over, or one that ends
 * with that (mcp_max_wait 0).
 */
void
mcp_exchange_last(mcp_exchange_t *x)
{
    mcp_stream_info_t  info;

    if (x->ending != MCP_ENDING_NONE || x->publish) {
        return;
    }

    if (x->state == MCP_EXCHANGE_WAIT) {
        if (x->call && x->call->policy.max_wait == 0) {
            x->ending = MCP_ENDING_EXPIRED;
        }

        return;
    }

    if (x->state != MCP_EXCHANGE_STREAM || x->done || x->listener
        || mcp_store_info(x->worker->store, &x->ref, &info) != MCP_OK)
    {
        return;
    }

    x->ending = mcp_ending_of(&info);

    if (x->ending == MCP_ENDING_NONE && x->bound) {
        x->ending = MCP_ENDING_EXPIRED;
    }
}


const mcp_facts_t *
mcp_exchange_facts(mcp_exchange_t *x)
{
    char         *p, *number;
    mcp_facts_t  *facts;

    facts = &x->facts;

    mcp_fact_set(facts, MCP_FACT_VERSION, mcp_str(MCP_VERSION));
    mcp_fact_set(facts, MCP_FACT_PRINCIPAL, x->principal_name);
    mcp_fact_set(facts, MCP_FACT_METHOD, x->msg.method);
    mcp_fact_set(facts, MCP_FACT_REQUEST_ID, x->msg.id);
    mcp_fact_set(facts, MCP_FACT_OUTCOME,
                 (mcp_str_t) { x->outcome, strlen(x->outcome) });
    mcp_fact_set(facts, MCP_FACT_RESULT, mcp_ending_name(x->ending));

    if (x->has_session) {
        mcp_exchange_session_facts(x);
    }

    /* x->text: session id, short call id, events */

    p = x->text + MCP_STREAM_TEXT_LEN;

    if (x->handle || x->call) {
        mcp_stream_id_short(p, x->handle ? x->ref.id : x->call->id);
        mcp_fact_set(facts, MCP_FACT_CALL, (mcp_str_t) { p, 8 });
    }

    if (x->handle) {
        number = p + 9;
        p = mcp_uint_print(number, x->cursor.seq - x->first);
        mcp_fact_set(facts, MCP_FACT_EVENTS,
                     (mcp_str_t) { number, (size_t) (p - number) });
        mcp_fact_set(facts, MCP_FACT_FACE,
                     x->face ? x->face->name : mcp_str("polling"));

        if (x->resumed) {
            mcp_fact_set(facts, MCP_FACT_RESUMED, mcp_str("1"));
        }
    }

    return facts;
}

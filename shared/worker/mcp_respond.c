/* SPDX-License-Identifier: Apache-2.0 */

#include "store/mcp_store_own_node.h"
#include "worker/mcp_call_stats.h"
#include "worker/mcp_exchange_set_state.h"
#include "worker/mcp_respond.h"


#define MCP_REJECT_LOG_INTERVAL  60000  /* minimum time between two log lines
                                           about a full zone, ms */
#define MCP_REJECT_LOG_TEXT      128    /* maximum length of a client's text in
                                           a log line, bytes */


void
mcp_respond_header(mcp_exchange_t *x, mcp_str_t name, mcp_str_t value)
{
    mcp_header_t  *h;

    if (x->output.response.n_headers == MCP_RESPONSE_HEADERS) {
        return;
    }

    h = &x->output.response.headers[x->output.response.n_headers++];
    h->name = name;
    h->value = value;
}


mcp_next_e
mcp_respond_status(mcp_exchange_t *x, int status)
{
    mcp_duration_answered(x, status < 400 ? MCP_ERROR_TYPE_NONE
                                          : MCP_ERROR_TYPE_OTHER);
    mcp_exchange_set_state(x, MCP_EXCHANGE_RESPONSE);
    x->output.response.status = status;
    x->output.response.content_type = mcp_null_str;
    x->output.response.body = mcp_null_str;

    return MCP_NEXT_RESPOND;
}


/* Responds with 200 and the JSON in x->output.out. "error" is the class of the
 * error in that JSON, or MCP_ERROR_TYPE_NONE. Returns the values of
 * mcp_respond_json(). */
static mcp_next_e
mcp_respond_body(mcp_exchange_t *x, mcp_error_type_e error)
{
    if (x->output.out.failed) {
        return MCP_NEXT_ERROR;
    }

    mcp_duration_answered(x, error);
    mcp_exchange_set_state(x, MCP_EXCHANGE_RESPONSE);
    x->output.response.status = 200;
    x->output.response.content_type = mcp_str("application/json");
    x->output.response.body.data = x->output.out.data;
    x->output.response.body.len = x->output.out.len;

    return MCP_NEXT_RESPOND;
}


mcp_next_e
mcp_respond_json(mcp_exchange_t *x)
{
    return mcp_respond_body(x, MCP_ERROR_TYPE_NONE);
}


mcp_next_e
mcp_respond_fault(mcp_exchange_t *x, mcp_fault_e fault, mcp_str_t id,
    mcp_str_t detail)
{
    return mcp_respond_fault_data(x, fault, id, detail, mcp_null_str);
}


/* Returns the reason, for the log, why an Origin was rejected. An Origin that
 * equals the request's Host gets a special text, because
 * mcp_http_origin_allowed() accepts it only if the Host is valid for this
 * server. */
static const char *
mcp_reject_log_origin(const mcp_exchange_t *x)
{
    size_t     i;
    mcp_str_t  origin, host;

    origin = x->head.origin;
    host = x->head.host;
    i = origin.len - host.len;

    if (host.len && origin.len > host.len + 3
        && memcmp(origin.data + i - 3, "://", 3) == 0
        && mcp_str_case_eq((mcp_str_t) { origin.data + i, host.len }, host))
    {
        return "the origin has the same host as the header Host, but this host "
               "is not a name of this server: add the host to server_name "
               "(ServerAlias), or the origin to mcp_allow_origin";
    }

    return "the origin is neither the origin of the endpoint nor listed by "
           "mcp_allow_origin";
}


static const char *
mcp_reject_log_session(const mcp_exchange_t *x)
{
    uint64_t       now;
    mcp_client_t  session;

    now = mcp_worker_now(x->worker);
    memset(&session, 0, sizeof(mcp_client_t));
    session.revision = MCP_REVISION_NONE;

    if (mcp_session_parse(x->endpoint->keys, x->head.session_text, now,
                          x->head.principal, &session)
        == MCP_OK)
    {
        return "the session was ended";
    }

    if (session.revision == MCP_REVISION_NONE) {
        return "the session id was not signed with a key of this endpoint";
    }

    return session.expires <= now ? "the session has expired"
                                  : "the session belongs to another principal";
}


/* Returns the invalid text from the request, or an empty string if there is
 * none or it is secret. Sets *why to a more detailed reason, or to NULL if the
 * text of the fault is sufficient. */
static mcp_str_t
mcp_reject_log_reason(const mcp_exchange_t *x, mcp_fault_e fault,
    const char **why)
{
    *why = NULL;

    switch (fault) {

    case MCP_FAULT_ORIGIN:
        *why = mcp_reject_log_origin(x);
        return x->head.origin;

    case MCP_FAULT_SESSION_UNKNOWN:
        *why = mcp_reject_log_session(x);
        return mcp_null_str;           /* the id of a session is a secret */

    case MCP_FAULT_REVISION:
        return x->head.revision_text;

    case MCP_FAULT_MEDIA_TYPE:
        return x->head.content_type;

    case MCP_FAULT_FORBIDDEN:
        *why = x->publish
            ? "the request has no token that permits its message, has an "
              "Origin header, or does not come from this machine"
                          : "the principal contains control characters";
        return mcp_null_str;

    default:
        return mcp_null_str;
    }
}


/* Logs a rejected request, or a rejected message of a POST, at level info. The
 * line has details that the response lacks, because they would help an attacker
 * to find requests that are accepted. "detail" may be empty. It is logged only
 * if mcp_reject_log_reason() returns no text. */
static void
mcp_reject_log(mcp_exchange_t *x, mcp_fault_e fault, mcp_str_t detail)
{
    mcp_str_t    text;
    const char  *why;

    if (!mcp_worker_logs(x->worker, MCP_LOG_INFO)) {
        return;
    }

    text = mcp_reject_log_reason(x, fault, &why);

    if (text.len == 0) {
        text = detail;
    }

    if (text.len > MCP_REJECT_LOG_TEXT) {
        text.len = MCP_REJECT_LOG_TEXT;
    }

    mcp_worker_log(x->worker, MCP_LOG_INFO,
                   "request refused with %d: %s%s%.*s%s%s%s",
                 mcp_fault_code(fault, x->client.revision)->status,
                 mcp_fault(fault)->message,
                 text.len ? ": \"" : "", (int) text.len,
                 text.len ? text.data : "", text.len ? "\"" : "",
                 why ? ": " : "", why ? why : "");
}


void
mcp_reject_log_full(mcp_worker_t *worker)
{
    uint64_t   n;
    mcp_str_t  zone;

    n = mcp_store_refused(worker->store, mcp_worker_now(worker),
                          MCP_REJECT_LOG_INTERVAL);

    if (n == 0) {
        return;
    }

    zone = worker->env->zone;

    mcp_worker_log(worker, MCP_LOG_WARN,
                 "zone \"%.*s\" is full (requests refused: %llu): enlarge the "
                 "zone",
                 (int) zone.len, zone.len ? zone.data : "",
                 (unsigned long long) n);
}


void
mcp_respond_count_refused(mcp_store_t *store, mcp_fault_e fault)
{
    switch (fault) {

    case MCP_FAULT_STORE_FULL:
    case MCP_FAULT_CALL_FULL:
        mcp_store_count(store, MCP_COUNT_REFUSED_FULL, 1);
        break;

    case MCP_FAULT_TOO_MANY_STREAMS:
    case MCP_FAULT_TOO_MANY_VALUES:
    case MCP_FAULT_CALL_LIMIT:
        mcp_store_count(store, MCP_COUNT_REJECTED_LIMIT, 1);
        break;

    default:
        break;
    }
}


/* Increments the zone's counter for a fault, if the zone has a counter for this
 * fault. Adds a Retry-After header if the status of the fault is 503. */
static void
mcp_respond_fault_note(mcp_exchange_t *x, mcp_fault_e fault)
{
    mcp_store_t  *store;

    store = x->worker->store;

    mcp_respond_count_refused(store, fault);

    switch (fault) {

    case MCP_FAULT_STORE_FULL:
        mcp_reject_log_full(x->worker);
        mcp_call_stats_refused(x, fault);
        mcp_respond_header(x, mcp_str("Retry-After"), mcp_str("5"));
        break;

    case MCP_FAULT_CLUSTER_UNREACHABLE:
        mcp_store_node_count(store, MCP_NODE_UNREACHABLE);
        mcp_respond_header(x, mcp_str("Retry-After"), mcp_str("1"));
        break;

    case MCP_FAULT_CALL_EARLY:
        mcp_respond_header(x, mcp_str("Retry-After"), mcp_str("1"));
        break;

    case MCP_FAULT_UPSTREAM_DOWN:
        mcp_respond_header(x, mcp_str("Retry-After"), mcp_str("2"));
        break;

    case MCP_FAULT_TOO_MANY_STREAMS:
    case MCP_FAULT_TOO_MANY_VALUES:
    case MCP_FAULT_TOOL_UNKNOWN:
    case MCP_FAULT_PROMPT_UNKNOWN:
    case MCP_FAULT_RESOURCE_UNKNOWN:
        mcp_call_stats_refused(x, fault);
        break;

    case MCP_FAULT_HEADER:
        mcp_store_count(store, MCP_COUNT_HEADERS, 1);
        break;

    case MCP_FAULT_VERSION:
        mcp_store_count(store, MCP_COUNT_VERSIONS, 1);
        break;

    case MCP_FAULT_REQUEST_STATE:
        mcp_store_count(store, MCP_COUNT_STATES, 1);
        break;

    default:
        break;
    }
}


mcp_next_e
mcp_respond_fault_data(mcp_exchange_t *x, mcp_fault_e fault, mcp_str_t id,
    mcp_str_t detail, mcp_str_t data)
{
    mcp_next_e               next;
    const mcp_fault_code_t  *code;

    mcp_store_count(x->worker->store, MCP_COUNT_ERRORS, 1);
    mcp_reject_log(x, fault, detail);

    mcp_respond_fault_note(x, fault);

    x->output.out.len = 0;
    mcp_fault_write(&x->output.out, x->client.revision, id, fault, detail,
                    data);

    code = mcp_fault_code(fault, x->client.revision);
    next = mcp_respond_body(x, mcp_error_type_of_code(code->code));

    if (next == MCP_NEXT_RESPOND) {
        x->output.response.status = code->status;
        x->output.outcome = "error";
    }

    return next;
}


mcp_next_e
mcp_respond_no_room(mcp_exchange_t *x, int rc, mcp_str_t id)
{
    switch (rc) {

    case MCP_ERR_FULL:
        return mcp_respond_fault(x, MCP_FAULT_STORE_FULL, id, mcp_null_str);

    case MCP_ERR_LIMIT:
        return mcp_respond_fault(x, MCP_FAULT_TOO_MANY_STREAMS, id,
                                 mcp_null_str);

    default:
        return MCP_NEXT_ERROR;
    }
}


void
mcp_respond_ready(mcp_exchange_t *x, mcp_action_e action)
{
    x->queued.action.type = action;
    mcp_worker_queue(x->worker, &x->queued);
}


void
mcp_answer_next(mcp_exchange_t *x, mcp_next_e next)
{
    switch (next) {

    case MCP_NEXT_WAIT:
        return;

    case MCP_NEXT_RESPOND:
        mcp_respond_ready(x, MCP_ACT_RESPOND);
        return;

    case MCP_NEXT_STREAM:
        mcp_respond_ready(x, MCP_ACT_STREAM);
        return;

    case MCP_NEXT_BODY:
    case MCP_NEXT_CONTINUE:
    case MCP_NEXT_ERROR:
        (void) mcp_respond_status(x, 500);
        mcp_respond_ready(x, MCP_ACT_RESPOND);
    }
}

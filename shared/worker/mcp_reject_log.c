/* SPDX-License-Identifier: Apache-2.0 */

/* Log lines about rejected requests. They contain more details than the client
 * gets: an attacker must not learn which requests would be accepted, but the
 * operator may. */

#include "worker/mcp_reject_log.h"


#define MCP_REJECT_LOG_INTERVAL  60000  /* minimum time between two lines about
                                           a full zone, ms */
#define MCP_REJECT_LOG_TEXT      128    /* maximum length of a client's text in
                                           a line, bytes */


/* Returns the reason why an Origin was rejected. An Origin that equals the
 * request's Host is not accepted for that alone, see
 * mcp_http_origin_allowed(). */
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
        return "the Origin is that of the Host header, which is not a name of "
               "this server";
    }

    return "the Origin is neither the endpoint's own nor listed by "
           "mcp_allow_origin";
}


static const char *
mcp_reject_log_session(const mcp_exchange_t *x)
{
    uint64_t       now;
    mcp_client_t  session;

    now = x->worker->env->now(x->worker->env->ctx);
    memset(&session, 0, sizeof(mcp_client_t));
    session.revision = MCP_REVISION_NONE;

    if (mcp_session_parse(x->endpoint->keys, x->head.session_text, now,
                          x->head.principal, &session)
        == MCP_OK)
    {
        return "the session has been ended";
    }

    if (session.revision == MCP_REVISION_NONE) {
        return "the session id was not signed with a key of this endpoint";
    }

    return session.expires <= now ? "the session has expired"
                                  : "the session belongs to another principal";
}


/* Returns the invalid text from the request, which may be empty, and sets *why
 * to the reason, NULL if the text of the fault is sufficient. */
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
        return mcp_null_str;           /* a secret */

    case MCP_FAULT_REVISION:
        return x->head.revision_text;

    case MCP_FAULT_MEDIA_TYPE:
        return x->head.content_type;

    case MCP_FAULT_FORBIDDEN:
        *why = x->publish
            ? "the request has no token of this publish endpoint, or is not "
              "from this machine"
                          : "the principal has control characters";
        return mcp_null_str;

    default:
        return mcp_null_str;
    }
}


void
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

    n = mcp_store_refused(worker->store, worker->env->now(worker->env->ctx),
                          MCP_REJECT_LOG_INTERVAL);

    if (n == 0) {
        return;
    }

    zone = worker->env->zone;

    mcp_worker_log(worker, MCP_LOG_WARN,
                 "zone \"%.*s\" is full: %llu requests refused: enlarge the "
                 "zone",
                 (int) zone.len, zone.len ? zone.data : "",
                 (unsigned long long) n);
}

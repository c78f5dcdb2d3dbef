/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Why a request was refused, in more words than its client gets: whoever may
 * not enter is not told what would let him in, the operator is.
 */

#include "worker/mcp_refusal.h"


#define MCP_REFUSAL_INTERVAL  60000    /* ms, between lines about a zone */
#define MCP_REFUSAL_TEXT      128      /* of what a client sent */


/* An origin that names the host that was asked for is not trusted for what that
 * host is: see mcp_http_origin_allowed(). */
static const char *
mcp_refusal_origin(const mcp_exchange_t *x)
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
        return "it is the Host, which is no name of this server";
    }

    return "it is not the endpoint's own, nor one of those allowed";
}


static const char *
mcp_refusal_session(const mcp_exchange_t *x)
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
        return "it has been ended";
    }

    if (session.revision == MCP_REVISION_NONE) {
        return "it was not made here, or not with this key";
    }

    return session.expires <= now ? "it has expired"
                                  : "it is another principal's";
}


/* What the client sent that is at fault, and what is wrong with it. */
static mcp_str_t
mcp_refusal_reason(const mcp_exchange_t *x, mcp_fault_e fault,
    const char **why)
{
    *why = NULL;

    switch (fault) {

    case MCP_FAULT_ORIGIN:
        *why = mcp_refusal_origin(x);
        return x->head.origin;

    case MCP_FAULT_SESSION_UNKNOWN:
        *why = mcp_refusal_session(x);
        return mcp_null_str;           /* a secret */

    case MCP_FAULT_REVISION:
        return x->head.revision_text;

    case MCP_FAULT_MEDIA_TYPE:
        return x->head.content_type;

    case MCP_FAULT_FORBIDDEN:
        *why = x->publish
            ? "no token of this publish endpoint, or not from this machine"
                          : "control characters in its principal";
        return mcp_null_str;

    default:
        return mcp_null_str;
    }
}


void
mcp_refusal(mcp_exchange_t *x, mcp_fault_e fault, mcp_str_t detail)
{
    mcp_str_t    text;
    const char  *why;

    if (!mcp_worker_logs(x->worker, MCP_LOG_INFO)) {
        return;
    }

    text = mcp_refusal_reason(x, fault, &why);

    if (text.len == 0) {
        text = detail;
    }

    if (text.len > MCP_REFUSAL_TEXT) {
        text.len = MCP_REFUSAL_TEXT;
    }

    mcp_worker_log(x->worker, MCP_LOG_INFO, "refused with %d: %s%s%.*s%s%s%s",
                 mcp_fault_code(fault, x->client.revision)->status,
                 mcp_fault(fault)->message,
                 text.len ? ": \"" : "", (int) text.len,
                 text.len ? text.data : "", text.len ? "\"" : "",
                 why ? ": " : "", why ? why : "");
}


void
mcp_refusal_full(mcp_worker_t *worker)
{
    uint64_t   n;
    mcp_str_t  zone;

    n = mcp_store_refused(worker->store, worker->env->now(worker->env->ctx),
                          MCP_REFUSAL_INTERVAL);

    if (n == 0) {
        return;
    }

    zone = worker->env->zone;

    mcp_worker_log(worker, MCP_LOG_WARN,
                 "zone \"%.*s\" is full: %llu requests refused",
                 (int) zone.len, zone.len ? zone.data : "",
                 (unsigned long long) n);
}

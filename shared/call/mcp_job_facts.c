/* SPDX-License-Identifier: Apache-2.0 */

/* What all jobs of a call tell their backends. */

#include "call/mcp_call_parts.h"
#include "rpc/mcp_revision.h"


/* Longer ones become neither a header nor a parameter. */
#define MCP_JOB_DECLARED_MAX  4096


/* What a request declares, on one line; empty if that cannot be. */
static mcp_str_t
mcp_job_declared(mcp_call_t *call)
{
    char       *text;
    size_t      i;
    mcp_str_t   declared;

    declared = call->client.declared;

    if (declared.len > MCP_JOB_DECLARED_MAX) {
        return mcp_null_str;
    }

    if (!mcp_fact_has_control(declared)) {
        return declared;
    }

    text = mcp_arena_alloc(&call->arena, declared.len);
    if (text == NULL) {
        return mcp_null_str;
    }

    /* in JSON it is white space, but for DEL */

    for (i = 0; i < declared.len; i++) {
        text[i] = (unsigned char) declared.data[i] < 0x20 ? ' '
                                                          : declared.data[i];
    }

    declared.data = text;

    return mcp_fact_has_control(declared) ? mcp_null_str : declared;
}


/* The capabilities object: as the request has it, or rebuilt from the bits that
 * a session keeps. */
static mcp_str_t
mcp_job_client_capabilities(mcp_call_t *call)
{
    unsigned   bits;
    mcp_buf_t  buf;
    mcp_str_t  text;

    if (mcp_client_is_stateless(&call->client)) {
        text = mcp_job_declared(call);

        if (text.len) {
            return text;
        }
    }

    bits = call->client.capabilities & MCP_CLIENT_INPUT;

    if (bits == 0) {
        return mcp_str("{}");
    }

    mcp_buf_init(&buf, &call->worker->env->mem, 256);
    mcp_input_capabilities(bits, &buf);

    text = mcp_null_str;

    if (buf.failed == MCP_OK) {
        text = mcp_arena_dup(&call->arena,
                             (mcp_str_t) { buf.data, buf.len });
    }

    mcp_buf_free(&buf);

    return text;
}


int
mcp_job_is_last(const mcp_job_t *job)
{
    const mcp_request_t  *req;

    req = &job->call->requests[job->request];

    return !req->live && (req->ending != MCP_ENDING_NONE
                          || req->state == MCP_REQUEST_DETACHED);
}


mcp_str_t
mcp_job_arguments(const mcp_job_t *job)
{
    mcp_str_t             key;
    mcp_json_iter_t       iter;
    mcp_json_value_t      value;
    const mcp_request_t  *req;

    req = &job->call->requests[job->request];
    mcp_json_iter_init(&iter, req->params);

    while (req->params.len && mcp_json_iter_next(&iter, &key, &value)) {
        if (mcp_str_eq(key, mcp_str("\"arguments\""))) {
            return value.raw;
        }
    }

    return mcp_null_str;
}


/* The trace context of the HTTP request, which may go before the call. */
static void
mcp_job_trace(mcp_call_t *call)
{
    mcp_trace_t         copy;
    const mcp_trace_t  *trace;

    trace = &call->x->head.trace;

    if (trace->parent.len == 0 && trace->baggage.len == 0) {
        return;
    }

    copy.parent = mcp_arena_dup(&call->arena, trace->parent);
    copy.state = mcp_arena_dup(&call->arena, trace->state);
    copy.baggage = mcp_arena_dup(&call->arena, trace->baggage);

    mcp_trace_set(&call->facts, &copy);
}


void
mcp_job_facts(mcp_call_t *call)
{
    mcp_facts_t  *facts;

    facts = &call->facts;

    mcp_fact_put(facts, MCP_FACT_PROTOCOL_VERSION,
                 mcp_revision(call->client.revision)->name);
    mcp_fact_put(facts, MCP_FACT_CALL, (mcp_str_t) { call->id_text, 8 });

    if (call->x) {
        mcp_fact_set(facts, MCP_FACT_PRINCIPAL,
                     mcp_arena_dup(&call->arena, call->x->head.principal_name));
        mcp_job_trace(call);
    }

    if (call->client.has_session) {
        mcp_client_session_facts(&call->client, facts);
    }

    mcp_fact_put(facts, MCP_FACT_CLIENT_CAPABILITIES,
                 mcp_job_client_capabilities(call));
}

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


void
mcp_job_facts(mcp_call_t *call)
{
    char         *text;
    mcp_facts_t  *facts;

    facts = &call->facts;

    mcp_fact_set(facts, MCP_FACT_PROTOCOL_VERSION,
                 mcp_revision(call->client.revision)->name);
    mcp_fact_set(facts, MCP_FACT_CALL, (mcp_str_t) { call->id_text, 8 });

    if (call->x) {
        mcp_fact_set(facts, MCP_FACT_PRINCIPAL,
                     mcp_arena_dup(&call->arena, call->x->head.principal_name));
    }

    text = call->client.has_session
           ? mcp_arena_alloc(&call->arena, MCP_STREAM_TEXT_LEN) : NULL;

    if (text) {
        mcp_stream_id_print(text, call->client.id);
        mcp_fact_set(facts, MCP_FACT_SESSION, (mcp_str_t) { text, 8 });
        mcp_fact_set(facts, MCP_FACT_SESSION_ID,
                     (mcp_str_t) { text, MCP_STREAM_TEXT_LEN });
    }

    mcp_fact_set(facts, MCP_FACT_CLIENT_CAPABILITIES,
                 mcp_job_client_capabilities(call));
}

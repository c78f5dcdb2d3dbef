/* SPDX-License-Identifier: Apache-2.0 */

/* The capabilities that a client needs for questions. A declared capability
 * counts only if the client's revision defines it. */

#include "call/mcp_call_internal.h"
#include "call/mcp_input.h"


/* Returns the capabilities that a question of the method
 * sampling/createMessage needs (2025-11-25, client/sampling,
 * "Capabilities"). */
static unsigned
mcp_input_needs_sampling(const mcp_json_value_t *params)
{
    unsigned          needs;
    mcp_json_value_t  context;

    needs = MCP_CLIENT_SAMPLING;
    context = mcp_json_get(params, mcp_str("includeContext"));

    if (mcp_json_get(params, mcp_str("tools")).type != MCP_JSON_NONE
        || mcp_json_get(params, mcp_str("toolChoice")).type != MCP_JSON_NONE)
    {
        needs |= MCP_CLIENT_SAMPLING_TOOLS;
    }

    if (context.type != MCP_JSON_NONE
        && !mcp_json_str_eq(context.raw, mcp_str("none")))
    {
        needs |= MCP_CLIENT_SAMPLING_CONTEXT;
    }

    return needs;
}


/* Returns the bits of the capabilities that a question needs, 0 if its method
 * is unknown. */
static unsigned
mcp_input_needs(const mcp_question_t *q)
{
    mcp_json_value_t  params;

    params.type = q->params.len ? MCP_JSON_OBJECT : MCP_JSON_NONE;
    params.raw = q->params;

    if (mcp_str_eq(q->method, mcp_str("elicitation/create"))) {
        return mcp_json_str_eq(mcp_json_get(&params, mcp_str("mode")).raw,
                               mcp_str("url"))
               ? MCP_CLIENT_ELICITATION_URL : MCP_CLIENT_ELICITATION;
    }

    if (mcp_str_eq(q->method, mcp_str("sampling/createMessage"))) {
        return mcp_input_needs_sampling(&params);
    }

    return mcp_str_eq(q->method, mcp_str("roots/list")) ? MCP_CLIENT_ROOTS : 0;
}


/* Returns the bits of the declared capabilities that the client's revision
 * defines. */
static unsigned
mcp_input_declared(const mcp_client_t *client)
{
    unsigned               can, declared;
    const mcp_revision_t  *revision;

    revision = mcp_revision(client->revision);
    declared = client->capabilities;
    can = MCP_CLIENT_SAMPLING | MCP_CLIENT_SAMPLING_TOOLS
          | MCP_CLIENT_SAMPLING_CONTEXT | MCP_CLIENT_ROOTS;

    if (!revision->context && (declared & MCP_CLIENT_SAMPLING)) {
        declared |= MCP_CLIENT_SAMPLING_CONTEXT;
    }

    if (revision->elicitation) {
        can |= MCP_CLIENT_ELICITATION;
    }

    if (revision->url_mode) {
        can |= MCP_CLIENT_ELICITATION_URL;
    }

    return declared & can;
}


int
mcp_input_capability(const mcp_client_t *client, const mcp_question_t *q)
{
    unsigned  needs;

    needs = mcp_input_needs(q);

    if (needs == 0) {
        return -1;
    }

    return (needs & ~mcp_input_declared(client)) == 0;
}


unsigned
mcp_input_lacks(const mcp_client_t *client, const mcp_question_t *q, size_t n)
{
    size_t    i;
    unsigned  needs;

    needs = 0;

    for (i = 0; i < n; i++) {
        needs |= mcp_input_needs(&q[i]);
    }

    return needs & ~mcp_input_declared(client);
}


int
mcp_input_possible(const mcp_client_t *client)
{
    return !mcp_client_is_stateless(client)
           && mcp_input_declared(client) != 0;
}


void
mcp_input_capabilities(unsigned bits, mcp_buf_t *out)
{
    size_t  start;

    mcp_buf_lit(out, "{");
    start = out->len;

    switch (bits & (MCP_CLIENT_SAMPLING_TOOLS | MCP_CLIENT_SAMPLING_CONTEXT)) {

    case MCP_CLIENT_SAMPLING_TOOLS | MCP_CLIENT_SAMPLING_CONTEXT:
        mcp_buf_lit(out, "\"sampling\":{\"tools\":{},\"context\":{}},");
        break;

    case MCP_CLIENT_SAMPLING_TOOLS:
        mcp_buf_lit(out, "\"sampling\":{\"tools\":{}},");
        break;

    case MCP_CLIENT_SAMPLING_CONTEXT:
        mcp_buf_lit(out, "\"sampling\":{\"context\":{}},");
        break;

    default:
        if (bits & MCP_CLIENT_SAMPLING) {
            mcp_buf_lit(out, "\"sampling\":{},");
        }
    }

    if (bits & MCP_CLIENT_ELICITATION_URL) {
        mcp_buf_lit(out, "\"elicitation\":{");

        if (bits & MCP_CLIENT_ELICITATION) {
            mcp_buf_lit(out, "\"form\":{},");
        }

        mcp_buf_lit(out, "\"url\":{}},");

    } else if (bits & MCP_CLIENT_ELICITATION) {
        mcp_buf_lit(out, "\"elicitation\":{},");
    }

    if (bits & MCP_CLIENT_ROOTS) {
        mcp_buf_lit(out, "\"roots\":{},");
    }

    /* removes the last comma */

    if (out->failed == MCP_OK && out->len > start) {
        out->len--;
    }

    mcp_buf_lit(out, "}");
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a client can be asked: what it declared, as far as its revision knows
 * it.
 */

#include "call/mcp_call_parts.h"
#include "call/mcp_input.h"


int
mcp_input_can(const mcp_client_t *client, const mcp_question_t *q)
{
    unsigned           wanted;
    mcp_json_value_t   params, mode;

    params.type = q->params.len ? MCP_JSON_OBJECT : MCP_JSON_NONE;
    params.raw = q->params;

    if (mcp_str_eq(q->method, mcp_str("elicitation/create"))) {

        if (!mcp_revision(client->revision)->elicitation) {
            return 0;
        }

        mode = mcp_json_get(&params, mcp_str("mode"));
        wanted = MCP_CLIENT_ELICITATION;

        if (mcp_str_eq(mode.raw, mcp_str("\"url\""))) {

            if (!mcp_revision(client->revision)->url_mode) {
                return 0;
            }

            wanted = MCP_CLIENT_ELICITATION_URL;
        }

    } else if (mcp_str_eq(q->method, mcp_str("sampling/createMessage"))) {

        wanted = MCP_CLIENT_SAMPLING;

        if (mcp_json_get(&params, mcp_str("tools")).type != MCP_JSON_NONE
            || mcp_json_get(&params, mcp_str("toolChoice")).type
               != MCP_JSON_NONE)
        {
            wanted = MCP_CLIENT_SAMPLING_TOOLS;
        }

    } else if (mcp_str_eq(q->method, mcp_str("roots/list"))) {
        wanted = MCP_CLIENT_ROOTS;

    } else {
        return -1;
    }

    return (client->capabilities & wanted) != 0;
}


int
mcp_input_possible(const mcp_client_t *client)
{
    unsigned  can;

    can = MCP_CLIENT_SAMPLING | MCP_CLIENT_SAMPLING_TOOLS | MCP_CLIENT_ROOTS;

    if (mcp_revision(client->revision)->elicitation) {
        can |= MCP_CLIENT_ELICITATION;
    }

    if (mcp_revision(client->revision)->url_mode) {
        can |= MCP_CLIENT_ELICITATION_URL;
    }

    return (client->capabilities & can) != 0;
}

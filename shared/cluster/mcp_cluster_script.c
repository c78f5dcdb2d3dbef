/* SPDX-License-Identifier: Apache-2.0 */

#include "cluster/mcp_cluster_script.h"


#define mcp_script(name)                                                      \
    { mcp_lua_##name, &mcp_lua_##name##_len }

static const struct {
    const unsigned char  *text;
    const size_t         *len;
} mcp_scripts[MCP_SCRIPTS] = {
    [MCP_SCRIPT_REGISTER] = mcp_script(register),
    [MCP_SCRIPT_HEARTBEAT] = mcp_script(heartbeat),
    [MCP_SCRIPT_BROADCAST] = mcp_script(broadcast),
    [MCP_SCRIPT_APPEND] = mcp_script(append),
    [MCP_SCRIPT_EVENT] = mcp_script(event),
    [MCP_SCRIPT_RESUME] = mcp_script(resume),
    [MCP_SCRIPT_LOOKUP] = mcp_script(lookup),
    [MCP_SCRIPT_LIST] = mcp_script(list),
    [MCP_SCRIPT_READ_POSITION] = mcp_script(read_position),
    [MCP_SCRIPT_FORGET] = mcp_script(forget),
    [MCP_SCRIPT_CLIENT_INPUT] = mcp_script(client_input),
    [MCP_SCRIPT_TOPIC] = mcp_script(topic),
    [MCP_SCRIPT_QUOTA] = mcp_script(quota),
    [MCP_SCRIPT_TOKEN] = mcp_script(token),
    [MCP_SCRIPT_TAKEOVER] = mcp_script(takeover),
    [MCP_SCRIPT_JOIN] = mcp_script(join),
    [MCP_SCRIPT_KEEP] = mcp_script(keep)
};


mcp_str_t
mcp_script_source(mcp_script_e script)
{
    if (script >= MCP_SCRIPTS) {
        return mcp_null_str;
    }

    return (mcp_str_t) { (const char *) mcp_scripts[script].text,
                         *mcp_scripts[script].len };
}

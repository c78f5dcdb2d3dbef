/* SPDX-License-Identifier: Apache-2.0 */

#include "cluster/mcp_cluster_script.h"


#define mcp_script(name)                                                      \
    { mcp_lua_##name, &mcp_lua_##name##_len }

static const struct {
    const unsigned char  *text;
    const size_t         *len;
} mcp_scripts[MCP_SCRIPTS] = {
    [MCP_SCRIPT_HELLO] = mcp_script(hello),
    [MCP_SCRIPT_BEAT] = mcp_script(beat),
    [MCP_SCRIPT_TELL] = mcp_script(tell),
    [MCP_SCRIPT_APPEND] = mcp_script(append),
    [MCP_SCRIPT_EVENT] = mcp_script(event),
    [MCP_SCRIPT_WATCH] = mcp_script(watch),
    [MCP_SCRIPT_LOOK] = mcp_script(look),
    [MCP_SCRIPT_LIST] = mcp_script(list),
    [MCP_SCRIPT_SENT] = mcp_script(sent),
    [MCP_SCRIPT_FORGET] = mcp_script(forget),
    [MCP_SCRIPT_POST] = mcp_script(post),
    [MCP_SCRIPT_TOPIC] = mcp_script(topic),
    [MCP_SCRIPT_QUOTA] = mcp_script(quota),
    [MCP_SCRIPT_TOKEN] = mcp_script(token),
    [MCP_SCRIPT_REAP] = mcp_script(reap),
    [MCP_SCRIPT_JOIN] = mcp_script(join)
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

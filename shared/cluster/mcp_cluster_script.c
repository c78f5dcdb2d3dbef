/* SPDX-License-Identifier: Apache-2.0 */

#include "cluster/mcp_cluster_script.h"


mcp_str_t
mcp_script_source(mcp_script_e script)
{
    mcp_str_t  source;

    source = mcp_null_str;

    switch (script) {
    case MCP_SCRIPT_HELLO:
        source.data = (const char *) mcp_lua_hello;
        source.len = mcp_lua_hello_len;
        break;
    case MCP_SCRIPT_BEAT:
        source.data = (const char *) mcp_lua_beat;
        source.len = mcp_lua_beat_len;
        break;
    case MCP_SCRIPT_TELL:
        source.data = (const char *) mcp_lua_tell;
        source.len = mcp_lua_tell_len;
        break;
    case MCP_SCRIPTS:
        break;
    }

    return source;
}

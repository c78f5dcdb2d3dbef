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
    case MCP_SCRIPT_APPEND:
        source.data = (const char *) mcp_lua_append;
        source.len = mcp_lua_append_len;
        break;
    case MCP_SCRIPT_WATCH:
        source.data = (const char *) mcp_lua_watch;
        source.len = mcp_lua_watch_len;
        break;
    case MCP_SCRIPT_SENT:
        source.data = (const char *) mcp_lua_sent;
        source.len = mcp_lua_sent_len;
        break;
    case MCP_SCRIPT_FORGET:
        source.data = (const char *) mcp_lua_forget;
        source.len = mcp_lua_forget_len;
        break;
    case MCP_SCRIPT_POST:
        source.data = (const char *) mcp_lua_post;
        source.len = mcp_lua_post_len;
        break;
    case MCP_SCRIPT_REAP:
        source.data = (const char *) mcp_lua_reap;
        source.len = mcp_lua_reap_len;
        break;
    case MCP_SCRIPTS:
        break;
    }

    return source;
}

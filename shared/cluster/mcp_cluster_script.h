/* SPDX-License-Identifier: Apache-2.0 */

/* The scripts that Redis runs for us: redis/NAME.lua, made part of every build
 * by scripts/embed. */


#ifndef MCP_CLUSTER_SCRIPT_H_INCLUDED
#define MCP_CLUSTER_SCRIPT_H_INCLUDED


#include "mcp.h"


/* Hex digits of what Redis calls a script by. */
#define MCP_SCRIPT_ID_LEN  40


typedef enum {
    MCP_SCRIPT_HELLO = 0,      /* a node joins */
    MCP_SCRIPT_BEAT,           /* a member lives */
    MCP_SCRIPT_TELL,           /* a node tells the others */
    MCP_SCRIPTS
} mcp_script_e;


extern const unsigned char  mcp_lua_hello[];
extern const size_t         mcp_lua_hello_len;
extern const unsigned char  mcp_lua_beat[];
extern const size_t         mcp_lua_beat_len;
extern const unsigned char  mcp_lua_tell[];
extern const size_t         mcp_lua_tell_len;


/* Returns the source of a script. */
mcp_str_t mcp_script_source(mcp_script_e script);


#endif /* MCP_CLUSTER_SCRIPT_H_INCLUDED */

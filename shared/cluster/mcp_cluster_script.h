/* SPDX-License-Identifier: Apache-2.0 */

/* The Lua scripts that Redis runs: redis/NAME.lua, embedded into every build by
 * scripts/embed. */


#ifndef MCP_CLUSTER_SCRIPT_H_INCLUDED
#define MCP_CLUSTER_SCRIPT_H_INCLUDED


#include "mcp.h"


/* Number of hex digits of the SHA-1 by which Redis finds a script. */
#define MCP_SCRIPT_ID_LEN  40


typedef enum {
    MCP_SCRIPT_REGISTER = 0,   /* adds a node to the members */
    MCP_SCRIPT_HEARTBEAT,      /* records a heartbeat of a node */
    MCP_SCRIPT_BROADCAST,      /* sends a message to all nodes */
    MCP_SCRIPT_APPEND,         /* appends events and other changes of a stream,
                                  for its owner */
    MCP_SCRIPT_EVENT,          /* appends events only */
    MCP_SCRIPT_RESUME,         /* attaches a reader at another node to a
                                  stream */
    MCP_SCRIPT_LOOKUP,         /* returns a stream's state */
    MCP_SCRIPT_LIST,           /* lists the streams of a session */
    MCP_SCRIPT_READ_POSITION,  /* records how far a reader has read */
    MCP_SCRIPT_FORGET,         /* removes a stream that was freed */
    MCP_SCRIPT_CLIENT_INPUT,   /* passes a client's answers to a call */
    MCP_SCRIPT_TOPIC,          /* changes a session's subscriptions */
    MCP_SCRIPT_QUOTA,          /* checks whether a session may begin another
                                  call */
    MCP_SCRIPT_TOKEN,          /* records the use of a resume token that is
                                  valid once */
    MCP_SCRIPT_TAKEOVER,       /* assigns the streams of a dead node to the node
                                  that runs the script */
    MCP_SCRIPT_JOIN,           /* adds a node to those where requests have
                                  joined a call */
    MCP_SCRIPT_KEEP,           /* renews the keys of many idle streams */
    MCP_SCRIPT_UPSTREAM_SESSION,       /* reads or changes a session at an MCP
                                          server */
    MCP_SCRIPTS
} mcp_script_e;


extern const unsigned char  mcp_lua_register[];
extern const size_t         mcp_lua_register_len;
extern const unsigned char  mcp_lua_heartbeat[];
extern const size_t         mcp_lua_heartbeat_len;
extern const unsigned char  mcp_lua_broadcast[];
extern const size_t         mcp_lua_broadcast_len;
extern const unsigned char  mcp_lua_append[];
extern const size_t         mcp_lua_append_len;
extern const unsigned char  mcp_lua_event[];
extern const size_t         mcp_lua_event_len;
extern const unsigned char  mcp_lua_resume[];
extern const size_t         mcp_lua_resume_len;
extern const unsigned char  mcp_lua_lookup[];
extern const size_t         mcp_lua_lookup_len;
extern const unsigned char  mcp_lua_list[];
extern const size_t         mcp_lua_list_len;
extern const unsigned char  mcp_lua_read_position[];
extern const size_t         mcp_lua_read_position_len;
extern const unsigned char  mcp_lua_forget[];
extern const size_t         mcp_lua_forget_len;
extern const unsigned char  mcp_lua_client_input[];
extern const size_t         mcp_lua_client_input_len;
extern const unsigned char  mcp_lua_topic[];
extern const size_t         mcp_lua_topic_len;
extern const unsigned char  mcp_lua_quota[];
extern const size_t         mcp_lua_quota_len;
extern const unsigned char  mcp_lua_token[];
extern const size_t         mcp_lua_token_len;
extern const unsigned char  mcp_lua_takeover[];
extern const size_t         mcp_lua_takeover_len;
extern const unsigned char  mcp_lua_join[];
extern const size_t         mcp_lua_join_len;
extern const unsigned char  mcp_lua_keep[];
extern const size_t         mcp_lua_keep_len;
extern const unsigned char  mcp_lua_upstream_session[];
extern const size_t         mcp_lua_upstream_session_len;


#endif /* MCP_CLUSTER_SCRIPT_H_INCLUDED */

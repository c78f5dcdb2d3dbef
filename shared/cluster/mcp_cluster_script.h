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
    MCP_SCRIPT_APPEND,         /* events of a stream, by its owner */
    MCP_SCRIPT_EVENT,          /* the same, when nothing else is new */
    MCP_SCRIPT_WATCH,          /* a stream, for who reads it */
    MCP_SCRIPT_LOOK,           /* the same, for who asks about it */
    MCP_SCRIPT_LIST,           /* all of a session */
    MCP_SCRIPT_SENT,           /* how far it is read */
    MCP_SCRIPT_FORGET,         /* a stream that is freed */
    MCP_SCRIPT_POST,           /* answers to what a call asks */
    MCP_SCRIPT_TOPIC,          /* subscriptions of a session */
    MCP_SCRIPT_QUOTA,          /* how many calls a session has */
    MCP_SCRIPT_TOKEN,          /* one that is good for one call */
    MCP_SCRIPT_REAP,           /* what a dead node owned */
    MCP_SCRIPT_JOIN,           /* a call, for who has joined it */
    MCP_SCRIPTS
} mcp_script_e;


extern const unsigned char  mcp_lua_hello[];
extern const size_t         mcp_lua_hello_len;
extern const unsigned char  mcp_lua_beat[];
extern const size_t         mcp_lua_beat_len;
extern const unsigned char  mcp_lua_tell[];
extern const size_t         mcp_lua_tell_len;
extern const unsigned char  mcp_lua_append[];
extern const size_t         mcp_lua_append_len;
extern const unsigned char  mcp_lua_event[];
extern const size_t         mcp_lua_event_len;
extern const unsigned char  mcp_lua_watch[];
extern const size_t         mcp_lua_watch_len;
extern const unsigned char  mcp_lua_look[];
extern const size_t         mcp_lua_look_len;
extern const unsigned char  mcp_lua_list[];
extern const size_t         mcp_lua_list_len;
extern const unsigned char  mcp_lua_sent[];
extern const size_t         mcp_lua_sent_len;
extern const unsigned char  mcp_lua_forget[];
extern const size_t         mcp_lua_forget_len;
extern const unsigned char  mcp_lua_post[];
extern const size_t         mcp_lua_post_len;
extern const unsigned char  mcp_lua_topic[];
extern const size_t         mcp_lua_topic_len;
extern const unsigned char  mcp_lua_quota[];
extern const size_t         mcp_lua_quota_len;
extern const unsigned char  mcp_lua_token[];
extern const size_t         mcp_lua_token_len;
extern const unsigned char  mcp_lua_reap[];
extern const size_t         mcp_lua_reap_len;
extern const unsigned char  mcp_lua_join[];
extern const size_t         mcp_lua_join_len;


/* Returns the source of a script. */
mcp_str_t mcp_script_source(mcp_script_e script);


#endif /* MCP_CLUSTER_SCRIPT_H_INCLUDED */

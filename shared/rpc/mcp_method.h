/* SPDX-License-Identifier: Apache-2.0 */

/* The table of methods, and the names of log levels. */


#ifndef MCP_METHOD_H_INCLUDED
#define MCP_METHOD_H_INCLUDED


#include "rpc/mcp_client.h"


typedef enum {
    MCP_METHOD_UNKNOWN = 0,

    /* requests */
    MCP_METHOD_INITIALIZE,
    MCP_METHOD_PING,
    MCP_METHOD_TOOLS_LIST,
    MCP_METHOD_TOOLS_CALL,
    MCP_METHOD_PROMPTS_LIST,
    MCP_METHOD_PROMPTS_GET,
    MCP_METHOD_RESOURCES_LIST,
    MCP_METHOD_RESOURCES_TEMPLATES_LIST,
    MCP_METHOD_RESOURCES_READ,
    MCP_METHOD_RESOURCES_SUBSCRIBE,
    MCP_METHOD_RESOURCES_UNSUBSCRIBE,
    MCP_METHOD_COMPLETION_COMPLETE,
    MCP_METHOD_LOGGING_SET_LEVEL,
    MCP_METHOD_REQUESTS_GET_STATUS,
    MCP_METHOD_REQUESTS_RESUME,
    MCP_METHOD_STREAM_POLL,
    MCP_METHOD_STREAM_POLL_ALL,
    MCP_METHOD_STREAM_RESUME,
    MCP_METHOD_SERVER_DISCOVER,
    MCP_METHOD_SUBSCRIPTIONS_LISTEN,
    MCP_METHOD_TASKS_GET,
    MCP_METHOD_TASKS_UPDATE,
    MCP_METHOD_TASKS_CANCEL,

    /* notifications */
    MCP_METHOD_NOTIFICATION_INITIALIZED,
    MCP_METHOD_NOTIFICATION_CANCELLED,
    MCP_METHOD_NOTIFICATION_PROGRESS,
    MCP_METHOD_NOTIFICATION_ROOTS_LIST_CHANGED,

    MCP_METHOD_COUNT
} mcp_method_e;


/* The kinds of catalog items. */
typedef enum {
    MCP_LIST_TOOLS = 0,
    MCP_LIST_PROMPTS,
    MCP_LIST_RESOURCES,
    MCP_LIST_TEMPLATES,
    MCP_LIST_COUNT
} mcp_list_e;


/*
 * The kind of result that a method requires. It determines how a backend's
 * output that is not JSON, such as plain text or an image, becomes a result.
 */
typedef enum {
    MCP_WANT_TOOL = 0,         /* {"content":[...]} */
    MCP_WANT_RESOURCE,         /* {"contents":[{uri,mimeType,text|blob}]} */
    MCP_WANT_PROMPT,           /* {"messages":[{role:user,content}]} */
    MCP_WANT_PLAIN             /* results of other methods: JSON only */
} mcp_want_e;


/* The member of params that identifies the tool, prompt, resource or task of a
 * request. The Mcp-Name header repeats this member. */
typedef enum {
    MCP_SUBJECT_NONE = 0,
    MCP_SUBJECT_NAME,
    MCP_SUBJECT_URI,
    MCP_SUBJECT_TASK           /* taskId */
} mcp_subject_e;


#define MCP_METHOD_NO_LIST  -1

typedef struct {
    mcp_str_t           name;          /* name of the method; empty for
                                          MCP_METHOD_UNKNOWN */
    mcp_method_e        id;
    int                 list_kind;     /* kind of items that the method lists,
                                          mcp_list_e; or MCP_METHOD_NO_LIST */
    mcp_want_e          want;
    unsigned            capability;    /* bit MCP_CLIENT_... that a client must
                                          declare to use the method; 0: none. A
                                          client that does not declare it gets
                                          the error for an unknown method, or
                                          for a method of an extension an error
                                          that names the extension */
    mcp_subject_e       subject;       /* member of params that Mcp-Name
                                          repeats */
    unsigned            opens:1;       /* 1: the response to a request with this
                                          method is the stream of an existing
                                          call */
    unsigned            session:1;     /* 1: the method exists in revisions
                                          with sessions */
    unsigned            stateless:1;   /* 1: the method exists in stateless
                                          revisions */
    unsigned            caches:1;      /* 1: results of the method have
                                          "ttlMs" and "cacheScope" */
    unsigned            takes_input:1; /* 1: a result of the method may request
                                          input from the client */
} mcp_method_t;


/* Returns the row with this name, the UNKNOWN row if there is none. */
const mcp_method_t *mcp_method_find(mcp_str_t name);

/* Returns the row with this id, the UNKNOWN row if it is out of range. */
const mcp_method_t *mcp_method(mcp_method_e id);


#define MCP_LOG_LEVELS  8

/*
 * Returns 0 (debug) to 7 (emergency), or -1 for an unknown name (2025-11-25,
 * server/utilities/logging).
 */
int mcp_log_level_find(mcp_str_t name);

/* Returns the name of a level from 0 to MCP_LOG_LEVELS - 1. */
mcp_str_t mcp_log_level_name(unsigned level);


#endif /* MCP_METHOD_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The limits of a call. Limits in the catalog for the call's tool, prompt or
 * resource override the limits of the endpoint.
 */


#ifndef MCP_CALL_POLICY_H_INCLUDED
#define MCP_CALL_POLICY_H_INCLUDED


#include "json/mcp_json_scan.h"
#include "rpc/mcp_method.h"


/* Values of "x-mcp-join" of a tool: which requests may join a call. */
typedef enum {
    MCP_JOIN_NOT = 0,
    MCP_JOIN_KEY,              /* requests with a key join calls of the same
                                  caller with the same key */
    MCP_JOIN_ARGUMENTS         /* in addition, requests without a key join calls
                                  of the same caller with the same arguments */
} mcp_join_e;


/* When calls of a tool become tasks. Except with REQUIRED, this applies only to
 * clients that support tasks. */
typedef enum {
    MCP_TASK_NEVER = 0,
    MCP_TASK_AUTO,             /* when the call has the age task_after */
    MCP_TASK_ALWAYS,           /* before the backend is called */
    MCP_TASK_REQUIRED          /* always; clients that do not support tasks
                                  get an error */
} mcp_task_policy_e;


/* The limits of a call. Times are in ms. */
typedef struct {
    uint64_t  max_wait;        /* how long a stream is kept without a reader;
                                  0: the call cannot be resumed */
    uint64_t  min_wait;        /* how long clients are asked to wait before
                                  they resume or poll ("minWait"); 0: they are
                                  not asked */
    uint64_t  stream_after;    /* age at which a call without a response becomes
                                  durable; 0: at once */
    uint64_t  close_after;     /* time after which the server closes the
                                  connection of an active call; 0: never */
    uint64_t  task_after;      /* with MCP_TASK_AUTO: age of a call that
                                  becomes a task */
    uint64_t  resume_after;    /* time after which a request gets an interim
                                  response with a resume token; 0: never */
    uint64_t  stream_buffer;   /* maximum number of bytes of unsent events */
    uint64_t  max_events;      /* maximum number of unsent events, at most
                                  UINT32_MAX */
    uint64_t  cache_ttl;       /* how long clients may cache a resource */
    uint64_t  cache_public;    /* 1: the cached result is valid for all
                                  callers */
    uint64_t  join;            /* mcp_join_e */
    uint64_t  resumable;       /* 0: the call ends when its client
                                  disconnects */
    uint64_t  task;            /* mcp_task_policy_e */
} mcp_policy_t;


/* The limits that a catalog item sets for its calls. */
typedef struct {
    unsigned      set;         /* a bit for each key that the item has, in the
                                  order of mcp_policy_keys */
    unsigned      has_task:1;  /* 1: the item has "x-mcp-task" */
    mcp_policy_t  value;
} mcp_policy_rule_t;


/*
 * Reads one key of an item: "x-mcp-resumable" (true, false), "x-mcp-max-wait",
 * "x-mcp-min-wait", "x-mcp-stream-after", "x-mcp-close-after",
 * "x-mcp-resume-after" (seconds, up to three decimals), "x-mcp-stream-buffer"
 * (bytes) and "x-mcp-max-events"; for a resource "x-mcp-cache-ttl" (seconds)
 * and "x-mcp-cache-scope" ("public", "private"); for a tool "x-mcp-join"
 * ("key", "arguments") and "x-mcp-task" ("never", "auto", "always",
 * "required", or a number of seconds, which is "auto" after this time).
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG  *error is a static text, which the caller appends to the
 *                   key's name in an error message
 */
int mcp_policy_read(mcp_policy_rule_t *rule, mcp_list_e kind, mcp_str_t key,
    const mcp_json_value_t *value, const char **error);

/*
 * Returns 1 if a call becomes a task for a client that declares these
 * MCP_CLIENT_... capabilities. Unless the policy requires a task, a client
 * that has also declared resumable requests gets a stream instead, so that it
 * need not poll.
 */
int mcp_policy_is_task(const mcp_policy_t *policy, unsigned capabilities);

/* Overrides the policy with the limits of the rule; rule may be NULL. */
void mcp_policy_apply(mcp_policy_t *policy, const mcp_policy_rule_t *rule);


#endif /* MCP_CALL_POLICY_H_INCLUDED */

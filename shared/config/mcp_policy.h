/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The limits of one call: the endpoint's, overridden by those that the catalog
 * has for its tool, prompt or resource.
 */


#ifndef MCP_POLICY_H_INCLUDED
#define MCP_POLICY_H_INCLUDED


#include "json/mcp_json.h"
#include "rpc/mcp_method.h"


/* Which calls of a tool others of the same may join. */
typedef enum {
    MCP_JOIN_NOT = 0,
    MCP_JOIN_KEY,              /* that bring a key, by the same key */
    MCP_JOIN_ARGUMENTS         /* and all of one caller, by their arguments */
} mcp_join_e;


/* Whether calls of a tool become tasks, for clients that know of them. */
typedef enum {
    MCP_TASK_NEVER = 0,
    MCP_TASK_AUTO,             /* if they take long */
    MCP_TASK_ALWAYS,           /* before a backend is asked */
    MCP_TASK_REQUIRED          /* and there is no other way to call it */
} mcp_task_policy_e;


/* Times in ms; 0 where there is none. */
typedef struct {
    uint64_t  max_wait;        /* without a client that reads its stream */
    uint64_t  min_wait;        /* before clients come back, as they are told
                                  */
    uint64_t  stream_after;
    uint64_t  close_after;
    uint64_t  task_after;      /* AUTO: after so long */
    uint64_t  resume_after;    /* interim results with a resume token */
    uint64_t  stream_buffer;
    uint32_t  max_events;
    uint64_t  cache_ttl;       /* of what is read */
    unsigned  cache_public:1;  /* it is the same for all callers */
    unsigned  join:2;          /* mcp_join_e */
    unsigned  resumable:1;     /* 0: it ends when its client disconnects */
    unsigned  task:2;          /* mcp_task_policy_e */
} mcp_policy_t;


/* The limits that an item of the catalog has. */
typedef struct {
    unsigned      set;         /* one bit for each key that is present */
    unsigned      has_task:1;  /* it says what is a task */
    mcp_policy_t  value;
} mcp_policy_rule_t;


/*
 * Reads one key of an item: "x-mcp-resumable" (true, false), "x-mcp-max-wait",
 * "x-mcp-min-wait", "x-mcp-stream-after", "x-mcp-close-after",
 * "x-mcp-resume-after" (seconds, up to three decimals), "x-mcp-stream-buffer"
 * (bytes) and "x-mcp-max-events"; of an item that is read "x-mcp-cache-ttl"
 * (seconds) and "x-mcp-cache-scope" ("public", "private"); of a tool
 * "x-mcp-join" ("key", "arguments") and "x-mcp-task" ("never", "auto",
 * "always", "required", or auto after a number of seconds).
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG  *error, static, continues the key
 */
int mcp_policy_read(mcp_policy_rule_t *rule, mcp_list_e kind, mcp_str_t key,
    const mcp_json_value_t *value, const char **error);

/* Returns 1 if a client that declares these MCP_CLIENT_... gets a task.  One
 * that can come back for a stream need not poll, if there is a choice. */
int mcp_policy_is_task(const mcp_policy_t *policy, unsigned capabilities);

/* Overrides the policy with the limits of the rule, which may be NULL. */
void mcp_policy_apply(mcp_policy_t *policy, const mcp_policy_rule_t *rule);


#endif /* MCP_POLICY_H_INCLUDED */

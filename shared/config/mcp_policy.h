/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How long, how often and how much, for one call: what the endpoint says, and
 * over it what the catalog says of a tool, prompt or resource.
 */


#ifndef MCP_POLICY_H_INCLUDED
#define MCP_POLICY_H_INCLUDED


#include "json/mcp_json.h"


/* Times in ms; 0 where there is none. */
typedef struct {
    uint64_t  max_wait;        /* without anybody attached */
    uint64_t  min_wait;        /* what clients are asked to keep */
    uint64_t  stream_after;
    uint64_t  close_after;
    uint64_t  resume_after;    /* interim results with a resume token */
    uint64_t  stream_buffer;
    uint32_t  max_events;
    unsigned  resumable:1;     /* else it ends when its client leaves */
} mcp_policy_t;


/* What an item of the catalog says. */
typedef struct {
    unsigned      set;         /* a bit for each key that is there */
    mcp_policy_t  value;
} mcp_policy_rule_t;


/*
 * Reads one key of an item: "x-mcp-resumable" (true, false),
 * "x-mcp-max-wait", "x-mcp-min-wait", "x-mcp-stream-after",
 * "x-mcp-close-after", "x-mcp-resume-after" (seconds, three decimals at most),
 * "x-mcp-stream-buffer" (bytes), "x-mcp-max-events".  MCP_OK, or
 * MCP_ERR_CONFIG with *error, which follows the key.
 */
int mcp_policy_read(mcp_policy_rule_t *rule, mcp_str_t key,
    const mcp_json_value_t *value, const char **error);

/* Puts what the rule says over the policy; rule may be NULL. */
void mcp_policy_apply(mcp_policy_t *policy, const mcp_policy_rule_t *rule);


#endif /* MCP_POLICY_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* Facts about an exchange or a backend call, by name: what becomes server
 * variables (nginx $mcp_*, Apache notes mcp-*) and the backend's MCP_*. */


#ifndef MCP_FACT_H_INCLUDED
#define MCP_FACT_H_INCLUDED


#include "mcp.h"
#include "mcp_version.h"


typedef enum {
    MCP_FACT_METHOD = 0,
    MCP_FACT_NAME,
    MCP_FACT_REQUEST_ID,               /* raw JSON */
    MCP_FACT_SESSION,                  /* shortened, for logs */
    MCP_FACT_SESSION_ID,               /* stable, not the secret token */
    MCP_FACT_PRINCIPAL,
    MCP_FACT_PROTOCOL_VERSION,
    MCP_FACT_CLIENT_CAPABILITIES,      /* JSON object */
    MCP_FACT_PROGRESS_TOKEN,           /* raw JSON */
    MCP_FACT_CALL,                     /* shortened stream id */
    MCP_FACT_PUBLISH_URL,
    MCP_FACT_OUTCOME,                  /* of the HTTP request */
    MCP_FACT_RESULT,                   /* of its call, empty: not known */
    MCP_FACT_RESUMED,                  /* "1" if so */
    MCP_FACT_EVENTS,                   /* events sent on this connection */
    MCP_FACT_FACE,
    MCP_FACT_VERSION,                  /* MCP_VERSION, always known */
    MCP_FACT_COUNT
} mcp_fact_e;


/* Read it; mcp_fact_set() writes it. */
typedef struct {
    mcp_str_t  value[MCP_FACT_COUNT];
} mcp_facts_t;


/* "mcp_method" ... in the order of the enum. */
extern const mcp_str_t  mcp_fact_names[MCP_FACT_COUNT];

/* What backends find in their environment, by the same order; empty: not for
 * them (docs/backends.md). */
extern const mcp_str_t  mcp_fact_env[MCP_FACT_COUNT];


/*
 * The one way into *facts.  They become headers of backends and words of log
 * lines, as the operator likes: a value with control characters in it is "?"
 * instead, whoever was to have refused it.  value is borrowed.
 */
void mcp_fact_set(mcp_facts_t *facts, mcp_fact_e fact, mcp_str_t value);

/* 1 if there are control characters in s: 0 to 0x1f and 0x7f. */
int mcp_fact_has_control(mcp_str_t s);


#endif /* MCP_FACT_H_INCLUDED */

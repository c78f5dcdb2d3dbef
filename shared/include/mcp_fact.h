/* SPDX-License-Identifier: Apache-2.0 */

/* Facts about an exchange or a backend call.  They become the server's
 * variables (nginx $mcp_*, Apache notes mcp-*) and a backend's MCP_*
 * parameters. */


#ifndef MCP_FACT_H_INCLUDED
#define MCP_FACT_H_INCLUDED


#include "mcp.h"


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
    MCP_FACT_TRACEPARENT,              /* W3C Trace Context: of _meta, else of
                                          the HTTP headers */
    MCP_FACT_TRACESTATE,
    MCP_FACT_BAGGAGE,
    MCP_FACT_OUTCOME,                  /* of the HTTP request */
    MCP_FACT_RESULT,                   /* of its call; empty: unknown */
    MCP_FACT_RESUMED,                  /* "1" if so */
    MCP_FACT_EVENTS,                   /* number sent on this connection */
    MCP_FACT_FACE,
    MCP_FACT_JOINED,                   /* "1" if it joined another's call */
    MCP_FACT_COUNT
} mcp_fact_e;


/* Anyone may read the values; only mcp_fact_set() and mcp_fact_put() write
 * them. */
typedef struct {
    mcp_str_t  value[MCP_FACT_COUNT];
} mcp_facts_t;


/* The names of variables: "mcp_method" and so on. */
extern const mcp_str_t  mcp_fact_names[MCP_FACT_COUNT];

/* The names of a backend's parameters (docs/backends.md); empty for facts that
 * backends do not get. */
extern const mcp_str_t  mcp_fact_env[MCP_FACT_COUNT];


/*
 * Sets one fact; the value is borrowed.
 *
 * Operators put facts into headers of backend requests and into log lines, so a
 * value with control characters becomes "?", even if an earlier check should
 * have refused it.
 */
void mcp_fact_set(mcp_facts_t *facts, mcp_fact_e fact, mcp_str_t value);

/* Sets one to a text of our own, which is known to have none. */
static inline void
mcp_fact_put(mcp_facts_t *facts, mcp_fact_e fact, mcp_str_t value)
{
    facts->value[fact] = value;
}

/* Returns 1 if s has a control character: 0 to 0x1f, or 0x7f. */
int mcp_fact_has_control(mcp_str_t s);


#endif /* MCP_FACT_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* Variables: values about an exchange or a backend request. They become the
 * server's variables (nginx $mcp_*, Apache notes mcp-*) and a backend's MCP_*
 * parameters. */


#ifndef MCP_VARIABLE_H_INCLUDED
#define MCP_VARIABLE_H_INCLUDED


#include "mcp.h"


MCP_DECLARATIONS_BEGIN


typedef enum {
    MCP_VARIABLE_METHOD = 0,
    MCP_VARIABLE_NAME,
    MCP_VARIABLE_REQUEST_ID,           /* raw JSON */
    MCP_VARIABLE_SESSION,              /* shortened id of the session, for
                                          logs */
    MCP_VARIABLE_SESSION_ID,           /* stable id of the session, not the
                                          secret token */
    MCP_VARIABLE_PRINCIPAL,
    MCP_VARIABLE_PROTOCOL_VERSION,
    MCP_VARIABLE_CLIENT_CAPABILITIES,  /* JSON object */
    MCP_VARIABLE_PROGRESS_TOKEN,       /* raw JSON */
    MCP_VARIABLE_CALL,                 /* shortened stream id */
    MCP_VARIABLE_PUBLISH_URL,
    MCP_VARIABLE_TRACEPARENT,          /* W3C Trace Context: from _meta,
                                          otherwise from the HTTP headers */
    MCP_VARIABLE_TRACESTATE,
    MCP_VARIABLE_BAGGAGE,
    MCP_VARIABLE_OUTCOME,              /* outcome of the HTTP request */
    MCP_VARIABLE_RESULT,               /* outcome of the request's call; empty:
                                          unknown */
    MCP_VARIABLE_RESUMED,              /* "1" if the stream was resumed */
    MCP_VARIABLE_EVENTS,               /* number of events sent on this
                                          connection */
    MCP_VARIABLE_RESUME_METHOD,
    MCP_VARIABLE_JOINED,               /* "1" if the request joined a call of
                                          another request */
    MCP_VARIABLE_UPSTREAM_VERSION,     /* revision in which a backend with
                                          mcp_upstream is called */
    MCP_VARIABLE_UPSTREAM_MCP_NAME,    /* value of the header Mcp-Name of a
                                          request to an MCP server */
    MCP_VARIABLE_UPSTREAM_SESSION,     /* value of the header Mcp-Session-Id of
                                          a request to an MCP server */
    MCP_VARIABLE_UPSTREAM_LAST_EVENT_ID,  /* value of the header Last-Event-ID
                                          of a request to an MCP server */
    MCP_VARIABLE_UPSTREAM_AFFINITY,    /* text that is the same for all backend
                                          requests of a session at an MCP
                                          server */
    MCP_VARIABLE_UPSTREAM_STATE,       /* "hit": the session at the MCP server
                                          existed; "init": the call has opened
                                          the session; "again": the server had
                                          lost the session; "stale": the client
                                          got an old description; or empty */
    MCP_VARIABLE_COUNT
} mcp_variable_e;


/* Values may be read directly; only mcp_variable_set() and mcp_variable_put()
 * write them. */
typedef struct {
    mcp_str_t  value[MCP_VARIABLE_COUNT];
} mcp_variables_t;


/* The names of variables, such as "mcp_method". */
extern const mcp_str_t  mcp_variable_names[MCP_VARIABLE_COUNT];

/* The names of a backend's parameters (docs/backends.md); empty for variables
 * that backends do not get. */
extern const mcp_str_t  mcp_variable_env[MCP_VARIABLE_COUNT];


/* Sets one variable. The value is borrowed. A value with control characters
 * becomes "?", because operators write variables to headers of backend requests
 * and to log lines. Earlier checks should have rejected such a value
 * already. */
void mcp_variable_set(mcp_variables_t *variables, mcp_variable_e variable,
    mcp_str_t value);

/* Sets one variable to a text of the module, which has no control characters.
 * The text is borrowed. */
static inline void
mcp_variable_put(mcp_variables_t *variables, mcp_variable_e variable,
    mcp_str_t value)
{
    variables->value[variable] = value;
}

/* Returns 1 if s has a control character: 0 to 0x1f, or 0x7f. */
int mcp_variable_has_control(mcp_str_t s);


MCP_DECLARATIONS_END


#endif /* MCP_VARIABLE_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* What the tests of rounds with clients of a stateless revision have in
 * common. */


#ifndef ROUND_CASES_H_INCLUDED
#define ROUND_CASES_H_INCLUDED


#include "core_cases.h"


#define MODERN  "2026-07-28"

#define ROUND(members)                                                       \
    "{\"resultType\":\"input_required\"" members "}"

#define FORM  "{\"method\":\"elicitation/create\",\"params\":{\"message\":"  \
              "\"?\"}}"
#define URL   "{\"method\":\"elicitation/create\",\"params\":{\"mode\":"     \
              "\"url\",\"url\":\"https://h/\",\"message\":\"?\"}}"

#define ONE(question)  ",\"inputRequests\":{\"k\":" question "}"
#define STATE(text)    ",\"requestState\":\"" text "\""

#define EVERYTHING                                                           \
    "{\"sampling\":{\"tools\":{}},\"elicitation\":{\"form\":{},"             \
    "\"url\":{}},\"roots\":{}}"

#define REFUSED  "\"error\":{\"code\":-32602,\"message\":\"Invalid or "      \
                 "expired request state\"}"


static char         round_text[8192];
static const char  *round_can = EVERYTHING;
static const char  *round_principal;


/* A request with these params and, at their end, who asks. */
static inline void
modern(unsigned process, client_t *c, const char *method, const char *name,
    const char *params)
{
    client_init(c, NULL);
    c->principal = round_principal;
    client_header(c, "MCP-Protocol-Version", MODERN);
    client_header(c, "Mcp-Method", method);

    if (name) {
        client_header(c, "Mcp-Name", name);
    }

    snprintf(round_text, sizeof(round_text),
             "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\",\"params\":{%s,"
             "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"%s\","
             "\"io.modelcontextprotocol/clientCapabilities\":%s}}}",
             method, params, MODERN, round_can);
    client_send(&d, process, c, "POST", round_text);
}


static inline void
modern_call(unsigned process, client_t *c, const char *more)
{
    char  params[4096];

    snprintf(params, sizeof(params), "\"name\":\"echo\",\"arguments\":"
             "{\"a\":1}%s", more);
    modern(process, c, "tools/call", "echo", params);
}


/* The state that an answer has, with its quotes. */
static inline const char *
state_of(const client_t *c, char *state, size_t size)
{
    const char  *p, *end;

    p = strstr(c->text, "\"requestState\":");
    assert_non_null(p);
    p += strlen("\"requestState\":");
    end = strchr(p + 1, '"');
    assert_non_null(end);
    snprintf(state, size, "%.*s", (int) (end + 1 - p), p);

    return state;
}


#endif /* ROUND_CASES_H_INCLUDED */

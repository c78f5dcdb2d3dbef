/* SPDX-License-Identifier: Apache-2.0 */

/* Helpers for the tests of rounds of questions: a client of the stateless
 * revision gets questions as the result of its request, and repeats the
 * request with the answers. */


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


/* Sends a request of the stateless revision. The members of "params" are
 * followed by "_meta" with the revision and the capabilities of the client. */
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


/* Copies the member requestState of a client's response, with its quotes, to
 * "state", and returns "state". */
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

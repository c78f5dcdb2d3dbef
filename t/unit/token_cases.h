/* SPDX-License-Identifier: Apache-2.0 */

/* Helpers for the tests of resume tokens. */


#ifndef TOKEN_CASES_H_INCLUDED
#define TOKEN_CASES_H_INCLUDED


#include "resume_cases.h"


#define INTERIM  "Interim result: the call has not ended yet."
#define NEXT     "\"nextResumeToken\":\""

#define PAGE     "{\"content\":[],\"_meta\":{\"x\":1,"                        \
                 "\"nextResumeToken\":\"p2\"}}"


/* A progress notification with the progress token of the request that again()
 * returns. */
#define AGAIN(n)                                                              \
                 NOTE("notifications/progress",                               \
                      "{\"progressToken\":\"u\",\"progress\":" #n "}")


static char  text[4096] __attribute__((unused));


static inline void
begin(const char *revision)
{
    d.endpoint.resume_after = 5000;
    d.endpoint.resume_lifetime = 60000;
    client_open(&d, session, revision,
                "{" INPUT ",\"experimental\":{\"resumeTokens\":{}}}");
}


/* Returns the request CALL with a resume token, and with another id and
 * another progress token than CALL. */
static inline const char *
again(const char *key)
{
    snprintf(text, sizeof(text), REQUEST("8", "tools/call",
             "{\"_meta\":{\"progressToken\":\"u\",\"resumeToken\":\"%s\"},"
             " \"name\" : \"echo\", \"arguments\":{\"a\": 1}}"), key);

    return text;
}


static inline void
token_of(client_t *client)
{
    quoted(client->text, NEXT, token, sizeof(token));
}


/* Starts a call that the server answers with an interim response, and copies
 * the resume token of the interim response to "token". */
static inline mcp_backend_request_t *
slow(void)
{
    mcp_backend_request_t  *breq;

    d.endpoint.stream_after = 20000;
    client_post(&d, 0, &a, session, CALL);
    breq = backend_stream(&d, 0);
    driver_wait(&d, 5100);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.streaming, 0);
    has(a.text, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{"
                "\"type\":\"text\",\"text\":\"" INTERIM);
    token_of(&a);
    assert_int_equal(count(a.text, token), 2);
    has(a.text, ",\"_meta\":{\"nextResumeToken\":\"");
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_OUTCOME, "interim");
    client_close(&d, &a);

    return breq;
}


/* Makes a call whose result PAGE contains a resume token of the backend, and
 * copies the token that client a gets to "token". */
static inline void
page(void)
{
    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, PAGE);
    token_of(&a);
    client_close(&d, &a);
}


/* Ends the call of request 8 with a result, and checks that the client gets
 * it. */
static inline void
end_of_rest(mcp_backend_request_t *breq, client_t *client)
{
    end_with_result(breq);
    has(client->text, "\"id\":8,\"result\":" RESULT);
    client_close(&d, client);
}


#endif /* TOKEN_CASES_H_INCLUDED */

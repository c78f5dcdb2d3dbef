/* SPDX-License-Identifier: Apache-2.0 */

/* Resume tokens in requests of a stateless revision that are repeated with
 * answers to questions. */

#include "round_cases.h"


#define NEXT    "\"nextResumeToken\":\""
#define TOKENS  "{\"elicitation\":{\"form\":{}},"                             \
                "\"experimental\":{\"resumeTokens\":{}}}"

#define ASKS(state)  ROUND(ONE(FORM) STATE(state))
#define ANSWERS(text)                                                          \
    "\"inputResponses\":{\"k\":{\"action\":\"accept\",\"content\":{\"a\":\""  \
    text "\"}}}"


static char  first[512], second[512], sealed[512];


static void
begin_tokens(void)
{
    round_can = TOKENS;
    d.endpoint.resume_lifetime = 60000;
}


/* Sends the call with a resume token and "more". */
static void
with_token(client_t *client, const char *key, const char *more)
{
    char  members[2048];

    snprintf(members, sizeof(members), ",\"resumeToken\":\"%s\"%s", key, more);
    modern_call(0, client, members);
}


/* Sends the call with a resume token, and with an answer to the question that
 * has returned the request state in "sealed". */
static void
with_answer(client_t *client, const char *key, const char *answer)
{
    char  more[1024];

    snprintf(more, sizeof(more), ",%s,\"requestState\":%s", answer, sealed);
    with_token(client, key, more);
}


/* Returns the token of client a's result in "key". */
static void
token_to(char *key)
{
    quoted(a.text, NEXT, key, sizeof(first));
    client_close(&d, &a);
}


/* The client has got the request state of a question. */
static void
asked(client_t *client)
{
    has(client->text, "\"resultType\":\"input_required\"");
    (void) state_of(client, sealed, sizeof(sealed));
    client_close(&d, client);
}


/* Client b repeats a request: it gets the response of the call of the first
 * request, and the backend is not called. */
static void
gets_kept(const char *part)
{
    assert_int_equal(d.n_breqs, 0);
    has(b.text, part);
    client_close(&d, &b);
}


TEST(page_asks_questions__each_repetition_with_answers_uses_the_token_once)
{
    begin_tokens();
    modern_call(0, &a, "");
    backend_json(&d, "{\"content\":[]," NEXT "p2\"}");
    token_to(first);

    with_token(&a, first, "");
    has(d.last_body, "\"resumeToken\":\"p2\"");
    backend_json(&d, ASKS("s1"));
    asked(&a);

    /* the response was lost: the client gets the same questions again */

    with_token(&b, first, "");
    gets_kept("\"inputRequests\"");

    with_answer(&a, first, ANSWERS("1"));
    has(d.last_body, "\"resumeToken\":\"p2\"");
    has(d.last_body, "\"requestState\":\"s1\"");
    has(d.last_body, ANSWERS("1"));
    backend_json(&d, ASKS("s2"));
    with_answer(&b, first, ANSWERS("1"));
    gets_kept("\"inputRequests\"");
    asked(&a);

    with_answer(&a, first, ANSWERS("2"));
    has(d.last_body, "\"resumeToken\":\"p2\"");
    has(d.last_body, "\"requestState\":\"s2\"");
    backend_json(&d, "{\"content\":[]," NEXT "p3\"}");
    with_answer(&b, first, ANSWERS("2"));
    gets_kept(NEXT);

    /* the token of the result belongs to the request without answers */

    token_to(second);
    with_token(&a, second, "");
    has(d.last_body, "\"resumeToken\":\"p3\"");
    backend_json(&d, RESULT);
    has(a.text, "\"result\":");
    client_close(&d, &a);
}


/* Waits until client a gets an interim response, and copies its token. */
static void
interim(char *key)
{
    driver_wait(&d, 5100);
    has(a.text, "Interim result");
    token_to(key);
}


TEST(interim_token_is_sent_with_answers__the_server_starts_a_new_call)
{
    mcp_backend_request_t  *breq;

    begin_tokens();
    d.endpoint.resume_after = 5000;

    modern_call(0, &a, "");
    breq = backend_stream(&d, 0);
    interim(first);
    with_token(&a, first, "");
    assert_int_equal(d.n_breqs, 1);
    backend_send(&d, breq, ASKS("s1") "\n");
    backend_end(&d, breq, MCP_FAILURE_NONE);
    asked(&a);

    /* the backend does not get the token, which is not its own */

    with_answer(&a, first, ANSWERS("1"));
    assert_int_equal(d.n_breqs, 1);
    has(d.last_body, "\"resumeToken\":null,");
    has(d.last_body, "\"requestState\":\"s1\"");
    breq = backend_stream(&d, 0);
    interim(second);

    /* the token of the new call is accepted with the answers only */

    with_token(&b, second, "");
    has(b.text, "\"resume\":\"refused\"");
    client_close(&d, &b);
    with_answer(&a, second, ANSWERS("1"));
    assert_int_equal(d.n_breqs, 1);
    backend_send(&d, breq, RESULT "\n");
    backend_end(&d, breq, MCP_FAILURE_NONE);
    has(a.text, "\"result\":");
    client_close(&d, &a);
    with_answer(&b, second, ANSWERS("1"));
    gets_kept("\"result\":");

    /* a token that the server has not created is refused with answers, too */

    first[20] = first[20] == 'A' ? 'B' : 'A';
    with_answer(&b, first, ANSWERS("1"));
    gets_kept("\"resume\":\"refused\"");
}


RUN_TESTS(setup, teardown)

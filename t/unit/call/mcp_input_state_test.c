/* SPDX-License-Identifier: Apache-2.0 */

/* A backend's requestState, which a client gets sealed and sends back. */

#include "round_cases.h"


static char  sealed[1024], more[2048];


/* Starts a call whose backend returns "question". */
static void
ask_with(unsigned process, const char *question)
{
    modern_call(process, &a, "");
    assert_int_equal(d.n_breqs, 1);
    backend_json(&d, question);
    assert_int_equal(a.status, 200);
    state_of(&a, sealed, sizeof(sealed));
    client_close(&d, &a);
    quiet();
}


/* Sends the next request of a client with a state that is invalid for it, and
 * checks the error. */
static void
refused(const char *method, const char *name, const char *params)
{
    modern(0, &a, method, name, params);
    assert_int_equal(a.status, 200);
    assert_int_equal(d.n_breqs, 0);
    has(a.text, REFUSED);
    client_close(&d, &a);
    quiet();
}


/* The backend gets its own requestState back unchanged, at any process, each
 * time that the client sends it, with answers or without them. */
TEST(client_returns_the_sealed_request_state__the_backend_gets_it_unsealed)
{
    unsigned  i;

    ask_with(0, ROUND(ONE(FORM) STATE("s \\u00e9\\n")));
    has_not(sealed, "\\");

    for (i = 0; i < 3; i++) {
        snprintf(more, sizeof(more), ",\"inputResponses\":{\"k\":{\"action\":"
                 "\"accept\"}},\"requestState\":%s", sealed);
        modern_call(i % 2, &a, more);
        assert_int_equal(d.n_breqs, 1);
        has(d.last_body, "\"params\":{\"name\":\"echo\",\"arguments\":{\"a\":1}"
            ",\"inputResponses\":{\"k\":{\"action\":\"accept\"}},"
            "\"requestState\":\"s \\u00e9\\n\",\"_meta\":{");
        backend_json(&d, RESULT);
        has(a.text, "\"resultType\":\"complete\"");
        client_close(&d, &a);
        quiet();
    }
}


/* Each round of questions has a new state, which is valid only for the
 * original request. */
TEST(in_each_round_the_backend_gets_its_latest_request_state)
{
    char      question[256];
    unsigned  i;

    ask_with(0, ROUND(STATE("0")));

    for (i = 1; i < 4; i++) {
        snprintf(more, sizeof(more), ",\"requestState\":%s", sealed);
        modern_call(i % 2, &a, more);
        snprintf(question, sizeof(question), ",\"requestState\":\"%u\",",
                 i - 1);
        has(d.last_body, question);
        snprintf(question, sizeof(question), ROUND(STATE("%u")), i);
        backend_json(&d, question);
        state_of(&a, sealed, sizeof(sealed));
        client_close(&d, &a);
    }
}


TEST(request_state_of_a_tool_is_sent_with_a_prompt__the_request_is_rejected)
{
    ask_with(0, ROUND(STATE("s")));
    snprintf(more, sizeof(more), "\"name\":\"p\",\"arguments\":{\"a\":1},"
             "\"requestState\":%s", sealed);
    refused("prompts/get", "p", more);
}


TEST(request_state_of_another_principal_or_backend_or_key_is_rejected)
{
    mcp_target_t      targets[] = { { .name = mcp_str("@a") },
                                    { .name = mcp_str("@b") } };
    char              params[2048];
    mcp_keys_t        rotated;
    const mcp_keys_t *keys;

    round_principal = "ada";
    d.endpoint.targets = targets;
    ask_with(0, ROUND(STATE("s")));
    snprintf(params, sizeof(params), "\"name\":\"echo\",\"arguments\":"
             "{\"a\":1},\"requestState\":%s", sealed);

    round_principal = "eve";
    refused("tools/call", "echo", params);
    round_principal = NULL;
    refused("tools/call", "echo", params);
    round_principal = "ada";

    d.endpoint.identity = mcp_str("another");
    refused("tools/call", "echo", params);
    d.endpoint.identity = mcp_null_str;

    targets[0].name = mcp_str("@c");
    refused("tools/call", "echo", params);
    targets[0].name = mcp_str("@a");

    memset(&rotated, 0, sizeof(rotated));
    assert_ok(mcp_keys_add(&rotated, mcp_str("another key, of 32 bytes "
                                             "or more")));
    keys = d.endpoint.keys;
    d.endpoint.keys = &rotated;
    refused("tools/call", "echo", params);

    assert_ok(mcp_keys_add(&rotated,
                  mcp_str("0123456789abcdef0123456789abcdef")));

    /* the state is sent to a server that writes the target of the request
     * differently: the state is valid */

    targets[0].name = mcp_str("/a");
    modern(0, &a, "tools/call", "echo", params);
    has(d.last_body, "\"requestState\":\"s\"");
    backend_json(&d, RESULT);
    client_close(&d, &a);

    d.endpoint.keys = keys;
    d.endpoint.targets = NULL;
    round_principal = NULL;
}


TEST(request_state_has_expired__it_is_rejected)
{
    ask_with(0, ROUND(STATE("s")));
    snprintf(more, sizeof(more), ",\"requestState\":%s", sealed);

    driver_wait(&d, 59000);
    modern_call(0, &a, more);
    assert_int_equal(d.n_breqs, 1);
    backend_json(&d, RESULT);
    client_close(&d, &a);

    driver_wait(&d, 1000);
    modern_call(0, &a, more);
    has(a.text, REFUSED);
}


/* requestState and inputResponses must have the right type, and are accepted
 * only in requests of methods that may ask questions. */
TEST(request_state_or_input_responses_of_a_wrong_type_are_rejected)
{
    size_t  i;

    static const struct {
        const char  *more;
        const char  *error;
    } cases[] = {
        { ",\"requestState\":1", "must be a string" },
        { ",\"requestState\":{}", "must be a string" },
        { ",\"requestState\":\"s\"", REFUSED },
        { ",\"requestState\":\"\"", REFUSED },
        { ",\"inputResponses\":[]", "an object of objects" },
        { ",\"inputResponses\":\"k\"", "an object of objects" },
        { ",\"inputResponses\":{\"k\":1}", "an object of objects" },
        { ",\"inputResponses\":{\"k\":{},\"l\":null}",
          "an object of objects" }
    };

    for (i = 0; i < ITEMS(cases); i++) {
        modern_call(0, &a, cases[i].more);
        assert_int_equal(a.status, 200);
        has(a.text, "-32602");
        has(a.text, cases[i].error);
        client_close(&d, &a);
    }

    /* answers to unknown questions are passed to the backend */

    modern_call(0, &a, ",\"inputResponses\":{\"x\":{}}");
    has(d.last_body, "\"inputResponses\":{\"x\":{}}");
    backend_json(&d, RESULT);
    client_close(&d, &a);

    /* a state in a request of a method that never asks questions: an error */

    d.endpoint.catalog = NULL;
    modern(0, &a, "completion/complete", NULL,
           "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},\"argument\":"
           "{\"name\":\"a\",\"value\":\"b\"},\"requestState\":\"s\"");
    has(a.text, "-32602");
    client_close(&d, &a);
    modern(0, &a, "tools/list", NULL, "\"inputResponses\":{}");
    has(a.text, "-32602");
}


/* Clients of revisions with sessions may send neither requestState nor
 * inputResponses. */
TEST(request_in_a_session_with_request_state_or_answers_is_rejected)
{
    ask(session, REQUEST("8", "tools/call",
                         "{\"name\":\"echo\",\"requestState\":\"s\"}"), 200,
        "are not allowed in this revision");
    ask(session, REQUEST("8", "tools/call",
                         "{\"name\":\"echo\",\"inputResponses\":{}}"), 200,
        "are not allowed in this revision");
}


RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: Apache-2.0 */

/* Questions that a client of a stateless revision gets as the response. */

#include "round_cases.h"


#define TOOLS  "{\"method\":\"sampling/createMessage\",\"params\":{"          \
               "\"tools\":[]}}"


/* A client with the capabilities "can" sends a call, and its backend answers
 * with "answer". Checks the status of the response. The caller closes the
 * client. */
static void
responds(const char *can, const char *answer, int status)
{
    round_can = can;
    modern_call(0, &a, "");
    backend_json(&d, answer);
    round_can = EVERYTHING;
    assert_int_equal(a.status, status);
    assert_int_equal(a.streaming, 0);
    assert_int_equal(d.n_breqs, 0);
}


/* The client gets the backend's result: its questions are unchanged, its
 * requestState is sealed, and members that only a complete result may have are
 * removed. */
TEST(client_gets_the_questions_unchanged_and_the_request_state_sealed)
{
    responds(EVERYTHING, "{ \"inputRequests\" : { \"k\" : " FORM ", \"\\u006b2"
             "\":" URL " }, \"x\":1.50,\"_meta\":{\"a\":1,\"nextResumeToken\":"
             "\"t\"},\"resultType\":\"input_required\",\"ttlMs\":5,"
             "\"cacheScope\":\"public\",\"nextResumeToken\":\"t\"}", 200);
    has(a.text, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{");
    has(a.text, "\"inputRequests\":{ \"k\" : " FORM ", \"\\u006b2\":" URL
                " },\"x\":1.50,");
    has(a.text, "\"a\":1");
    has(a.text, "\"resultType\":\"input_required\"");
    has(a.text, "io.modelcontextprotocol/serverInfo");
    has_not(a.text, "ttlMs");
    has_not(a.text, "cacheScope");
    has_not(a.text, "nextResumeToken");
    has_not(a.text, "requestState");
    assert_int_equal(stats().counter[MCP_COUNT_INPUTS], 2);
    client_close(&d, &a);

    responds(EVERYTHING, ROUND(ONE(TOOLS) STATE("secret")), 200);
    has(a.text, ONE(TOOLS));
    has(a.text, "\"requestState\":\"");
    has_not(a.text, "secret");
    client_close(&d, &a);

    /* a result that has requestState but no questions is sent to the client as
     * well */

    responds("{}", ROUND(STATE("s")), 200);
    has(a.text, "\"requestState\":\"");
    has_not(a.text, "inputRequests");
}


/* The call is a stream already: the questions, or the error for them, are its
 * last event. */
TEST(stateless_call_is_a_stream__questions_or_the_error_for_them_end_the_stream)
{
    mcp_backend_request_t  *breq;

    modern_call(0, &a, "");
    breq = backend_stream(&d, 0);
    driver_wait(&d, 1001);
    assert_int_equal(a.streaming, 1);
    end_with(breq, ROUND(ONE(FORM) STATE("s")) "\n");
    has(a.text, "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{"
                "\"resultType\":\"input_required\"");
    has(a.text, "\"requestState\":\"");
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);

    round_can = "{}";
    modern_call(0, &a, "");
    round_can = EVERYTHING;
    breq = backend_stream(&d, 0);
    driver_wait(&d, 1001);
    end_with(breq, ROUND(ONE(FORM)) "\n");
    assert_int_equal(a.status, 200);
    has(a.text, "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":"
                "-32021,");
    has(a.text, "{\"requiredCapabilities\":{\"elicitation\":{}}}");
    assert_int_equal(a.ended, 1);
    assert_int_equal(stats().counter[MCP_COUNT_INPUTS], 1);
}


TEST(backend_returns_invalid_questions_or_result_types__client_gets_an_error)
{
    size_t  i;

    static const struct {
        const char  *answer;
        const char  *log;
    } cases[] = {
        { ROUND(ONE("{\"method\":\"ping\"}")), "or has a method other than " },
        { ROUND(""), "\"requestState\" is absent" },
        { ROUND(",\"requestState\":1"), "\"requestState\" is not a string" },
        { ROUND(",\"inputRequests\":[]"), "is not an object whose values are "
          "requests" },
        { "{\"content\":[],\"resultType\":\"task\"}",
          "neither \"complete\" nor \"input_required\"" },
        { "{\"content\":[],\"resultType\":\"Complete\"}",
          "neither \"complete\" nor \"input_required\"" }
    };

    for (i = 0; i < ITEMS(cases); i++) {
        responds(EVERYTHING, cases[i].answer, 200);
        has(a.text, "\"code\":-32603");
        has(d.te.last, cases[i].log);
        client_close(&d, &a);
        quiet();
    }

    responds(EVERYTHING, "{\"content\":[],\"resultType\":\"comp\\u006cete\"}",
             200);
    has(a.text, "\"result\":{");
}


/* Backends of three methods may ask questions; for other methods, questions
 * are an error. */
TEST(backend_asks_questions_for_a_list_or_completion__the_client_gets_an_error)
{
    size_t  i;

    static const struct {
        const char  *method;
        const char  *name;
        const char  *params;
        int          asks;
    } cases[] = {
        { "prompts/get", "p", "\"name\":\"p\"", 1 },
        { "resources/read", "test://a", "\"uri\":\"test://a\"", 1 },
        { "tools/list", NULL, "\"x\":1", 0 },
        { "completion/complete", NULL,
          "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},\"argument\":"
          "{\"name\":\"a\",\"value\":\"b\"}", 0 }
    };

    d.endpoint.catalog = NULL;

    for (i = 0; i < ITEMS(cases); i++) {
        modern(0, &a, cases[i].method, cases[i].name, cases[i].params);
        assert_int_equal(d.n_breqs, 1);
        backend_json(&d, ROUND(ONE(FORM) STATE("s")));
        assert_int_equal(a.status, 200);

        if (cases[i].asks) {
            has(a.text, "\"resultType\":\"input_required\"");
            has_not(a.text, "ttlMs");

        } else {
            has(a.text, "\"code\":-32603");
            has(d.te.last, "requests input for a method other than ");
        }

        client_close(&d, &a);
        quiet();
    }
}


/* A requestState that exceeds the size limit is an error of the backend. */
TEST(request_state_of_a_backend_is_too_long__the_client_gets_an_error)
{
    char    *answer;
    size_t   len;

    d.endpoint.max_message = 4 * 1024 * 1024;
    len = 1024 * 1024;
    answer = malloc(len + 128);
    assert_non_null(answer);
    strcpy(answer, "{\"resultType\":\"input_required\",\"requestState\":\"");
    memset(answer + strlen(answer) + 1, 0, 64);
    memset(answer + strlen(answer), 's', len);
    strcpy(strrchr(answer, 's') + 1, "\"}");

    responds(EVERYTHING, answer, 200);
    has(a.text, "\"code\":-32603");
    has(d.te.last, "\"requestState\" in the result of the backend is too long");
    client_close(&d, &a);
    free(answer);
}


/* An allocation fails: the client gets the questions, or status 500. */
TEST(memory_runs_out_while_questions_are_sent__the_client_gets_200_or_500)
{
    unsigned long  n;

    for (n = 1; n < 40; n++) {
        modern_call(0, &a, "");
        d.te.tm.fail_at = n;
        backend_json(&d, ROUND(ONE(FORM) STATE("s")));
        d.te.tm.fail_at = 0;
        assert_true(a.status == 200 || a.status == 500);
        client_close(&d, &a);
        quiet();
    }
}


RUN_TESTS(setup, teardown)

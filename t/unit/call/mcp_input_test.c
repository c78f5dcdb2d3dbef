/* SPDX-License-Identifier: Apache-2.0 */

/* Questions to the client during a call. */

#include "core_cases.h"


#define ASK_ONE(key, method, state)                                           \
    "{\"resultType\":\"input_required\",\"inputRequests\":{\"" key "\":{"     \
    "\"method\":\"" method "\",\"params\":{}}},\"requestState\":\"" state     \
    "\"}"


static char  id[72], last[64];


TEST(answers_sent_to_different_processes_reach_the_backend)
{
    uint64_t           seq;
    unsigned char      stream_id[MCP_STREAM_ID_LEN];
    mcp_stream_info_t  info;

    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, ASK);

    assert_int_equal(a.streaming, 1);
    has(a.text, "\"method\":\"elicitation/create\",\"params\":"
                "{\"message\":\"?\"}}");
    has(a.text, "\"method\":\"roots/list\"}");
    assert_int_equal(questions(a.text), 2);

    /* the client sends its responses at different processes */

    question_id(a.text, "elicitation/create", id);
    reply(1, session, id, "\"result\":{\"action\":\"accept\"}");
    assert_int_equal(d.n_breqs, 0);
    question_id(a.text, "roots/list", last);
    snprintf(id, sizeof(id), "\\u%04x%s", (unsigned) last[0], last + 1);
    reply(0, session, id, "\"result\":{\"roots\":[]}");
    assert_int_equal(d.n_breqs, 1);

    /* the event of the last question is confirmed, because a client that
     * answers has received it */

    assert_ok(mcp_event_id_parse(test_str(last), stream_id, &seq));
    assert_ok(mcp_store_find(&d.process[0].store, stream_id, 0, &info));
    assert_int_equal(info.confirmed_seq, seq);

    assert_string_equal(d.last_body,
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{"
        "\"name\":\"echo\",\"arguments\":{\"a\":1},"
        "\"_meta\":{\"progressToken\":\"t\"},\"inputResponses\":{"
        "\"k\":{\"action\":\"accept\"},\"r\":{\"roots\":[]}},"
        "\"requestState\":\"s1\"}}");

    gets_json_result(&a);
    assert_int_equal(a.ended, 1);
    assert_int_equal(stats().counter[MCP_COUNT_INPUTS], 2);
}


/* Several rounds of questions: each backend request gets the answers and the
 * state of the latest round only. */
TEST(each_backend_request_gets_only_the_latest_answers_and_state)
{
    int                     i;
    char                    ask_body[512], expected[256];
    mcp_backend_request_t  *breq;

    client_post(&d, 0, &a, session, CALL);
    last[0] = '\0';

    for (i = 0; i < 25; i++) {
        breq = backend_stream(&d, 0);
        snprintf(ask_body, sizeof(ask_body),
                 PROGRESS(1) "\n" ASK_ONE("k%d", "roots/list", "s%d") "\n",
                 i, i);
        backend_send(&d, breq, ask_body);

        if (i % 2) {
            backend_end(&d, breq, MCP_FAILURE_NONE);
        }

        question_id(a.text, "roots/list", id);
        assert_string_not_equal(id, last);
        strcpy(last, id);
        snprintf(ask_body, sizeof(ask_body), "\"result\":{\"n\":%d}", i);
        reply(i % 2, session, id, ask_body);

        /* if i is even, the answer arrives before the backend request that
         * asked has ended */

        if (i % 2 == 0) {
            assert_int_equal(d.n_breqs, 1);
            assert_ptr_equal(d.breqs[0], breq);
            backend_end(&d, breq, MCP_FAILURE_NONE);
        }

        assert_int_equal(d.n_breqs, 1);
        snprintf(expected, sizeof(expected),
                 ",\"inputResponses\":{\"k%d\":{\"n\":%d}},"
                 "\"requestState\":\"s%d\"}}", i, i, i);
        has(d.last_body, expected);
        assert_int_equal(count(d.last_body, "inputResponses"), 1);
        assert_int_equal(count(d.last_body, "requestState"), 1);
    }

    assert_int_equal(count(a.text, PROGRESS(1)), 25);
    assert_int_equal(questions(a.text), 25);
    gets_json_result(&a);
}


/* The client's request has params without members: no comma is written in
 * front of the answers. */
TEST(answers_and_state_are_added_to_the_params_of_the_clients_request)
{
    static const struct {
        const char  *params;
        const char  *after;
    } cases[] = {
        { "{\"name\":\"p\"}",
          "{\"name\":\"p\",\"inputResponses\":{\"k\":{}},"
          "\"requestState\":\"s\"}}" },
        { "{ \"name\" : \"p\" }",
          "{\"name\":\"p\",\"inputResponses\":{\"k\":{}},"
          "\"requestState\":\"s\"}}" }
    };

    size_t  i;
    char    body[256];

    for (i = 0; i < ITEMS(cases); i++) {
        snprintf(body, sizeof(body), REQUEST("7", "prompts/get", "%s"),
                 cases[i].params);
        client_post(&d, 0, &a, session, body);
        backend_json(&d, ASK_ONE("k", "roots/list", "s"));
        question_id(a.text, "roots/list", id);
        reply(0, session, id, "\"result\":{}");
        has(d.last_body, cases[i].after);
        backend_json(&d, "{\"messages\":[]}");
        has(a.text, "\"result\":{\"messages\":[]}");
        client_close(&d, &a);
    }

    d.endpoint.catalog = NULL;
    client_post(&d, 0, &a, session, REQUEST("7", "tools/list", "{ }"));
    backend_json(&d, ASK_ONE("k", "roots/list", "s"));
    question_id(a.text, "roots/list", id);
    reply(0, session, id, "\"result\":{}");
    has(d.last_body, "{\"inputResponses\":{\"k\":{}},\"requestState\":"
                     "\"s\"}}");
    backend_json(&d, "{\"tools\":[]}");
    client_close(&d, &a);

    /* the client's request has no params: there is no object to which the
     * answers can be added */

    client_post(&d, 0, &a, session,
                "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\"}");
    backend_json(&d, ASK_ONE("k", "roots/list", "s"));
    has(a.text, "-32603");
}


TEST(backend_asks_invalid_questions__the_client_gets_an_error)
{
    static const char *const  broken[] = {
        ASK_ONE("k", "no/such", "s"),
        "{\"resultType\":\"input_required\",\"inputRequests\":{\"k\":{}}}",
        "{\"resultType\":\"input_required\",\"inputRequests\":{\"k\":{"
        "\"method\":7}}}",
        "{\"resultType\":\"input_required\",\"inputRequests\":{\"k\":{"
        "\"method\":\"roots/list\",\"params\":[]}}}",
        "{\"resultType\":\"input_required\",\"inputRequests\":{\"k\":1}}",
        "{\"resultType\":\"input_required\",\"inputRequests\":[]}",
        "{\"resultType\":\"input_required\"}"
    };

    size_t  i;

    for (i = 0; i < ITEMS(broken); i++) {
        client_post(&d, 0, &a, session, CALL);
        backend_json(&d, broken[i]);
        assert_int_equal(a.status, 200);
        assert_int_equal(a.streaming, 0);
        has(a.text, "Backend sent an invalid response");
        client_close(&d, &a);
        quiet();
    }
}


/* Responses with the id of an event that is no question, and error responses in
 * another session or after the answer. */
TEST(answers_to_unknown_questions_and_second_answers_are_ignored)
{
    char  other[MCP_SESSION_TEXT_MAX], wrong[80];

    client_open(&d, other, NEW, ALL);
    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, ASK);
    question_id(a.text, "elicitation/create", id);
    question_id(a.text, "roots/list", last);

    reply(1, other, id, "\"error\":{\"code\":1,\"message\":\"\"}");
    snprintf(wrong, sizeof(wrong), "%.22s.0", id);
    reply(0, session, wrong, "\"result\":{}");
    snprintf(wrong, sizeof(wrong), "%.22s.99", id);
    reply(0, session, wrong, "\"result\":{}");
    snprintf(wrong, sizeof(wrong), "%sx", id);
    reply(0, session, wrong, "\"result\":{}");

    reply(0, session, id, "\"result\":{\"who\":\"first\"}");
    reply(1, session, id, "\"error\":{\"code\":1,\"message\":\"\"}");
    assert_int_equal(d.n_breqs, 0);
    reply(1, session, last, "\"result\":{}");
    has(d.last_body, "{\"k\":{\"who\":\"first\"},\"r\":{}}");

    /* a response after the last question of the round was answered */

    reply(0, session, id, "\"result\":{}");
    assert_int_equal(d.n_breqs, 1);
    backend_json(&d, RESULT);
    has(a.text, ANSWER);
    reply(0, session, id, "\"result\":{}");
    assert_int_equal(d.n_breqs, 0);
}


TEST(client_answers_with_an_error_or_not_at_all__the_call_fails)
{
    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, ASK);
    question_id(a.text, "elicitation/create", id);
    reply(1, session, id, "\"error\":{\"code\":-1,\"message\":\"no\"}");
    has(a.text, "\"isError\":true");
    has(a.text, "with an error");
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    quiet();

    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, ASK);
    driver_wait(&d, 19000);
    assert_int_equal(a.ended, 0);
    driver_wait(&d, 2000);
    has(a.text, "\"isError\":true");
    has(a.text, "in time");
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    quiet();

    /* no answer arrives to a question of prompts/get: the failure is a
     * JSON-RPC error */

    client_post(&d, 0, &a, session, REQUEST("7", "prompts/get",
                                            "{\"name\":\"p\"}"));
    backend_json(&d, ASK);
    driver_wait(&d, 21000);
    has(a.text, "-32603");
}


/* The call is cancelled, or the session ends, while a question has no
 * answer. */
TEST(question_is_open__a_cancellation_or_session_end_ends_the_call)
{
    int  i;

    for (i = 0; i < 2; i++) {
        client_open(&d, session, NEW, ALL);
        client_post(&d, 0, &a, session, CALL);
        backend_json(&d, ASK);
        question_id(a.text, "roots/list", id);

        if (i) {
            end_session(1, session);

        } else {
            cancel(1, session, "7");
            reply(1, session, id, "\"result\":{}");
        }

        assert_int_equal(a.ended, 1);
        has_not(a.text, "\"id\":7");
        assert_int_equal(d.n_breqs, 0);
        client_close(&d, &a);
        quiet();
    }
}


/* The client is disconnected when the backend asks; the client resumes and
 * answers. */
TEST(backend_asks_a_disconnected_client__the_client_can_resume_and_answer)
{
    mcp_backend_request_t  *breq;

    breq = call_with_progress(0);
    leave_with_last_id(&a, last);
    end_with(breq, ASK "\n");

    client_resume(&d, 1, &a, session, last);
    question_id(a.text, "elicitation/create", id);
    reply(1, session, id, "\"result\":{}");
    question_id(a.text, "roots/list", id);
    client_close(&d, &a);
    reply(1, session, id, "\"result\":{}");

    backend_json(&d, RESULT);
    client_resume(&d, 1, &a, session, last);
    has(a.text, ANSWER);
}


/* There is no room for the second of two questions: the answer to the first
 * one is kept until the second one was sent and answered, and the backend
 * receives both answers. */
TEST(second_of_two_questions_waits_for_room__the_answer_to_the_first_is_kept)
{
    static char  body[20000];

    int                     i;
    mcp_backend_request_t  *breq;

    d.endpoint.stream_buffer = 8 * 1024;

    breq = call_with_progress(0);
    leave_with_last_id(&a, last);

    for (i = 0; i < 4; i++) {
        snprintf(body, sizeof(body), NOTE("notifications/progress",
                 "{\"progressToken\":\"t\",\"progress\":1,"
                 "\"message\":\"%0900d\"}") "\n", i);
        assert_true(backend_send(&d, breq, body) > 0);
    }

    snprintf(body, sizeof(body),
             "{\"resultType\":\"input_required\",\"inputRequests\":{\"a\":{"
             "\"method\":\"roots/list\",\"params\":{\"x\":\"%03000d\"}},"
             "\"b\":{\"method\":\"sampling/createMessage\",\"params\":{"
             "\"x\":\"%03000d\"}}}}\n", 1, 2);
    backend_send(&d, breq, body);
    backend_end(&d, breq, MCP_FAILURE_NONE);

    /* a client resumes, and reads until it has received the first question,
     * but not the second one */

    client_init(&a, session);
    client_header(&a, "Last-Event-ID", last);
    a.slow = 1;
    a.cap = 4000;
    client_send(&d, 1, &a, "GET", "");

    for (i = 0; strstr(a.text, "roots/list") == NULL; i++) {
        assert_true(i < 10);
        assert_ok(client_pull(&a));
    }

    has_not(a.text, "sampling/createMessage");
    question_id(a.text, "roots/list", id);
    reply(0, session, id, "\"result\":{\"first\":1}");
    assert_int_equal(d.n_breqs, 0);

    a.slow = 0;
    driver_pull(&a);
    driver_pump(&d);
    assert_int_equal(count(a.text, "sampling/createMessage"), 1);
    assert_int_equal(count(a.text, "roots/list"), 1);
    assert_int_equal(questions(a.text), 2);
    question_id(a.text, "sampling/createMessage", id);
    reply(0, session, id, "\"result\":{\"second\":2}");
    assert_int_equal(d.n_breqs, 1);
    has(d.last_body, "{\"a\":{\"first\":1},\"b\":{\"second\":2}}");
    gets_json_result(&a);
}


/* The backends of two requests of a batch ask at the same time: each one gets
 * the answer to its own question. */
TEST(two_requests_of_a_batch_have_questions__each_backend_gets_its_own_answer)
{
    char  old[MCP_SESSION_TEXT_MAX];

    client_open(&d, old, OLD, ALL);
    client_post(&d, 0, &a, old, "[" CALL "," CALL8 "]");

    backend_reply(&d, d.breqs[0], ASK_ONE("a", "roots/list", "one"));
    backend_json(&d, ASK_ONE("b", "sampling/createMessage", "two"));

    question_id(a.text, "sampling/createMessage", id);
    reply(1, old, id, "\"result\":{\"of\":8}");
    has(d.last_body, "\"inputResponses\":{\"b\":{\"of\":8}}");
    has(d.last_body, "\"requestState\":\"two\"");
    backend_json(&d, RESULT);
    has(a.text, "\"id\":8,\"result\"");
    assert_int_equal(a.ended, 0);

    question_id(a.text, "roots/list", id);
    reply(1, old, id, "\"result\":{\"of\":7}");
    has(d.last_body, "\"inputResponses\":{\"a\":{\"of\":7}}");
    gets_json_result(&a);
    assert_int_equal(a.ended, 1);
    assert_int_equal(questions(a.text), 2);
}


/* A question waits for room while a smaller message of another request is
 * appended to the same stream: the client gets the question after that
 * message. */
TEST(question_waits_for_room__a_smaller_message_is_sent_before_the_question)
{
    int                     i;
    char                    old[MCP_SESSION_TEXT_MAX];
    mcp_backend_request_t  *breq, *slow;

    d.endpoint.stream_buffer = 8 * 1024;
    client_open(&d, old, OLD, ALL);
    client_post(&d, 0, &a, old, "[" CALL "," CALL8 "]");
    a.slow = 1;
    slow = d.breqs[0];
    breq = d.breqs[1];
    mcp_backend_request_head(slow, 200, mcp_str("application/x-ndjson"));
    mcp_backend_request_head(breq, 200, mcp_str("application/x-ndjson"));
    snprintf(line, sizeof(line), BIG(900), 0);

    for (i = 0; i < 4; i++) {
        assert_true(backend_send(&d, slow, line) > 0);
    }

    snprintf(line, sizeof(line),
             "{\"resultType\":\"input_required\",\"inputRequests\":{\"a\":{"
             "\"method\":\"roots/list\",\"params\":{\"x\":\"%05000d\"}}}}\n",
             1);
    backend_send(&d, slow, line);
    backend_end(&d, slow, MCP_FAILURE_NONE);
    backend_send(&d, breq, NOTE("notifications/message",
                              "{\"level\":\"info\",\"data\":8}") "\n");

    a.slow = 0;
    driver_pull(&a);
    driver_wait(&d, 1100);
    assert_int_equal(questions(a.text), 1);
    has(a.text, "\"data\":8}");
    has(strstr(a.text, "\"data\":8}"), "roots/list");
    question_id(a.text, "roots/list", id);
    reply(1, old, id, "\"result\":{\"of\":7}");
    has(d.last_body, "\"inputResponses\":{\"a\":{\"of\":7}}");
    end_with_result(breq);
    gets_json_result(&a);
    assert_int_equal(a.ended, 1);
}


RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: Apache-2.0 */

/* Questions of tasks. */

#include "task_cases.h"


#define TWO  ",\"inputRequests\":{\"k\":" FORM ",\"r\":{\"method\":"          \
             "\"roots/list\"}}" STATE("s1")

#define RESPONSES(members)  ",\"inputResponses\":{" members "}"


static char         publish_url[512];
static const char  *publish_path;


static void
asks(mcp_backend_request_t *breq, const char *what)
{
    backend_send(&d, breq, what);
    backend_end(&d, breq, MCP_FAILURE_NONE);
}


/* Answers may arrive one by one, at any process; the task shows only the
 * questions that are still open. */
TEST(method_tasks_get_at_any_process_returns_only_the_unanswered_questions)
{
    asks(task_begin(0), ROUND(TWO) "\n");
    task_is(1, "\"status\":\"input_required\",\"createdAt\"");
    task_is(1, "\"inputRequests\":{\"k#1\":" FORM ",\"r#1\":{\"method\":"
               "\"roots/list\"}}");
    task_is(0, "\"resultType\":\"complete\"");

    /* the process of the call is paused and cannot read the answer: the other
     * process no longer shows the question that was answered */

    driver_pause(&d, 0, 1);
    task_does(1, "tasks/update",
              RESPONSES("\"k#1\":{\"action\":\"accept\"},\"x\":{}"));
    task_is(1, "\"inputRequests\":{\"r#1\":{\"method\":\"roots/list\"}}");

    /* ignored: a second answer to a question, and an answer to a question that
     * does not exist */

    task_does(1, "tasks/update", RESPONSES("\"k#1\":{\"action\":\"decline\"}"));
    task_does(1, "tasks/update", RESPONSES("\"r\":{},\"r#2\":{},\"#1\":{}"));
    task_is(1, "\"inputRequests\":{\"r#1\":{\"method\":\"roots/list\"}}");

    task_does(1, "tasks/update", RESPONSES("\"\\u0072#1\":{\"roots\":[]}"));
    task_is(1, "\"status\":\"working\"");
    assert_int_equal(d.n_breqs, 0);
    driver_pause(&d, 0, 0);
    assert_int_equal(d.n_breqs, 1);
    has(d.last_body, "\"inputResponses\":{\"k\":{\"action\":\"accept\"},"
                     "\"r\":{\"roots\":[]}},\"requestState\":\"s1\"");

    /* the questions of the next round get other keys: "k#2" instead of
     * "k#1" */

    (void) backend_stream(&d, 0);
    asks(d.breqs[0], ROUND(ONE(FORM)) "\n");
    task_is(0, "\"inputRequests\":{\"k#2\":" FORM "}");
    task_does(0, "tasks/update", RESPONSES("\"k#1\":{\"action\":\"accept\"}"));
    task_is(0, "\"status\":\"input_required\"");
    task_does(0, "tasks/update", RESPONSES("\"k#2\":{\"action\":\"cancel\"}"));
    backend_json(&d, RESULT);
    task_is(0, "\"status\":\"completed\"");
    task_does(0, "tasks/update", RESPONSES("\"k#2\":{\"action\":\"accept\"}"));
}


/* The backend asks before the call is a task: the questions are the
 * response. */
TEST(backend_asks_before_its_call_is_a_task__the_call_returns_the_questions)
{
    asks(task_call(0, "echo"), ROUND(TWO) "\n");
    has(a.text, "\"resultType\":\"input_required\"");
    has_not(a.text, "task");
    client_close(&d, &a);

    (void) task_call(0, "echo");
    driver_wait(&d, 1001);
    begin_status_listener();
    asks(d.breqs[0], ROUND(TWO) "\n");
    task_is(1, "\"status\":\"input_required\"");
    task_does(1, "tasks/cancel", "");
    task_is(1, "\"status\":\"cancelled\"");
}


TEST(backend_asks_an_invalid_or_unsupported_question__its_task_fails)
{
    int                     i;
    mcp_backend_request_t  *breq;

    /* the client has not declared the capability for the question: the task
     * fails */

    asks(task_begin(0), ROUND(ONE(URL)) "\n");
    task_is(1, "\"status\":\"failed\"");
    task_is(1, "\"error\":{\"code\":-32021,");
    task_is(1, "\"requiredCapabilities\":{\"elicitation\":{\"url\":{}}}");

    /* the method of the question is unknown: the task fails */

    asks(task_begin(0), ROUND(ONE("{\"method\":\"no/such\"}")) "\n");
    task_is(1, "\"error\":{\"code\":-32603,");

    /* one round has more questions than allowed: the task fails */

    breq = task_begin(0);
    strcpy(line, "{\"resultType\":\"input_required\",\"inputRequests\":{");

    for (i = 0; i <= MCP_STORE_QUESTIONS; i++) {
        snprintf(line + strlen(line), 200, "%s\"k%d\":" FORM, i ? "," : "", i);
    }

    strcat(line, "}}\n");
    asks(breq, line);
    task_is(1, "\"error\":{\"code\":-32603,");
}


/* Each round has one question, until the maximum number of questions for a
 * call is reached. */
TEST(task_asks_32_questions__it_continues_after_the_last_answer)
{
    int                     i;
    char                    response[64];
    mcp_backend_request_t  *breq;

    breq = task_begin(1);
    strcpy(line, "{\"resultType\":\"input_required\",\"inputRequests\":{");

    for (i = 0; i < MCP_STORE_QUESTIONS; i++) {
        snprintf(line + strlen(line), 200, "%s\"k%d\":" FORM, i ? "," : "", i);
    }

    strcat(line, "}}\n");
    asks(breq, line);

    for (i = MCP_STORE_QUESTIONS - 1; i >= 0; i--) {
        task_is(0, "\"status\":\"input_required\"");
        snprintf(response, sizeof(response),
                 RESPONSES("\"k%d#1\":{\"action\":\"%d\"}"), i, i);
        task_does(i % 2, "tasks/update", response);
    }

    task_is(0, "\"status\":\"working\"");
    has(d.last_body, "\"k31\":{\"action\":\"31\"}");
    backend_json(&d, RESULT);
}


/* No answer arrives within mcp_input_timeout: the task fails. */
TEST(task_gets_no_answer_within_mcp_input_timeout__its_result_is_an_error)
{
    asks(task_begin(0), ROUND(TWO) "\n");
    driver_wait(&d, 19000);
    task_is(1, "\"status\":\"input_required\"");
    driver_wait(&d, 1100);
    task_is(1, "\"status\":\"completed\"");
    task_is(1, "The client did not answer the request for input in time");
}


/* The backend returns a requestState without inputRequests: it is called again
 * after a pause. */
TEST(backend_of_a_task_returns_state_without_questions__it_is_called_again)
{
    asks(task_begin(0), ROUND(STATE("later")) "\n");
    task_is(1, "\"status\":\"working\"");
    assert_int_equal(d.n_breqs, 0);
    driver_wait(&d, 250);
    assert_int_equal(d.n_breqs, 1);
    has(d.last_body, "\"requestState\":\"later\"");
    backend_json(&d, RESULT);
    task_is(1, "\"status\":\"completed\"");
}


/* A progress notification does not replace the status of a task that waits for
 * answers. */
TEST(task_waits_for_answers__progress_does_not_change_its_status)
{
    char        url[512];
    const char             *path;
    mcp_backend_request_t  *breq;

    modern(0, &a, "tools/call", "always", "\"name\":\"always\"");
    breq = d.breqs[0];
    path = publish_url_of(breq, url, sizeof(url));
    respond_202(breq);
    driver_wait(&d, 2);
    begin_status_listener();

    publish(1, &b, path, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":"
                         ROUND(TWO) "}");
    task_is(1, "\"status\":\"input_required\"");
    publish(1, &b, path, PROGRESS(5));
    task_is(1, "\"inputRequests\":{\"k#1\"");
    task_does(1, "tasks/update", RESPONSES("\"k#1\":{},\"r#1\":{}"));
    backend_json(&d, RESULT);
    task_is(1, "\"status\":\"completed\"");
}


/* Starts a task of the tool "always", whose backend publishes a round and has
 * sent no reply yet. */
static mcp_backend_request_t *
publishes(const char *round)
{
    char                    text[1024];
    mcp_backend_request_t  *breq;

    modern(0, &a, "tools/call", "always", "\"name\":\"always\"");
    breq = d.breqs[0];
    publish_path = publish_url_of(breq, publish_url, sizeof(publish_url));
    driver_wait(&d, 2);
    begin_status_listener();

    snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":"
             "%s}", round);
    publish_gets(1, publish_path, text, 202);

    return breq;
}


static void
accepts(mcp_backend_request_t *breq)
{
    mcp_backend_request_head(breq, 202, mcp_str("text/plain"));
    backend_send(&d, breq, "accepted");
    backend_end(&d, breq, MCP_FAILURE_NONE);
}


/* A 202 may have a body. It arrives before or after the answers to the
 * questions that were published before it. */
TEST(questions_are_published_before_a_202_with_a_body__their_answers_arrive)
{
    int                     answered_first;
    mcp_backend_request_t  *breq;

    for (answered_first = 0; answered_first < 2; answered_first++) {
        breq = publishes(ROUND(TWO));
        task_is(1, "\"status\":\"input_required\"");

        if (!answered_first) {
            accepts(breq);
            task_is(1, "\"status\":\"input_required\"");
        }

        task_does(1, "tasks/update", RESPONSES("\"k#1\":{},\"r#1\":{}"));

        if (answered_first) {
            accepts(breq);
        }

        assert_int_equal(d.n_breqs, 1);
        has(d.last_body, "\"inputResponses\":{\"k\":{},\"r\":{}}");
        variable_is(&d.breqs[0]->variables, MCP_VARIABLE_PUBLISH_URL,
                    publish_url);
        backend_json(&d, RESULT);
        task_is(1, "\"status\":\"completed\"");
    }
}


TEST(state_is_published_before_a_202_with_a_body__the_backend_is_called_again)
{
    accepts(publishes(ROUND(STATE("s"))));
    driver_wait(&d, 250);
    assert_int_equal(d.n_breqs, 1);
    has(d.last_body, "\"requestState\":\"s\"");
    backend_json(&d, RESULT);
    task_is(1, "\"status\":\"completed\"");
}


/* The published round is the final message: the backend's reply cannot end the
 * request, with an error, a redirect or another result. */
TEST(questions_are_published__a_final_message_in_the_reply_is_ignored)
{
    int                     status;
    mcp_backend_request_t  *breq;

    for (status = 200; status <= 500; status += 100) {
        breq = publishes(ROUND(TWO));
        mcp_backend_request_head(breq, status, status == 200
                                 ? mcp_str("application/x-ndjson")
                                 : mcp_str("image/png"));
        asks(breq, RESULT "\n");
        task_is(1, "\"status\":\"input_required\"");
        task_does(1, "tasks/update", RESPONSES("\"k#1\":{},\"r#1\":{}"));
        has(d.last_body, "\"inputResponses\":{\"k\":{},\"r\":{}}");
        backend_json(&d, RESULT);
        task_is(1, "\"status\":\"completed\"");
    }
}


/* The backend request that has asked the first questions is still open when
 * they are answered. The next question, published within 5 s, has its own
 * timeout. */
TEST(question_is_published_after_answers__mcp_input_timeout_ends_the_wait_for_it)
{
    mcp_backend_request_t  *breq;

    breq = publishes(ROUND(TWO));
    task_does(1, "tasks/update", RESPONSES("\"k#1\":{},\"r#1\":{}"));
    driver_wait(&d, 1000);
    publish(1, &b, publish_path, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":"
                                 ROUND(ONE(FORM)) "}");
    task_is(1, "\"k#2\"");

    driver_wait(&d, 19000);
    task_is(1, "\"status\":\"input_required\"");
    assert_int_equal(d.n_breqs, 1);
    assert_ptr_equal(d.breqs[0], breq);
    driver_wait(&d, 1100);
    task_is(1, "The client did not answer the request for input in time");
    assert_int_equal(d.n_breqs, 0);
}


/* The client's request has the answers and the state of an earlier request. If
 * its call is a task that asks again, the backend gets only the answers and the
 * state of the last round. */
TEST(request_with_answers_becomes_a_task__later_rounds_replace_these_answers)
{
    static const struct {
        const char  *round;
        const char  *answers;
        const char  *params;
    } rounds[] = {
        { ROUND(TWO), RESPONSES("\"k#1\":{},\"r#1\":{}"),
            ",\"inputResponses\":{\"k\":{},\"r\":{}},\"requestState\":\"s1\""
            "}}" },
        { ROUND(ONE(FORM)), RESPONSES("\"k#1\":{}"),
            ",\"inputResponses\":{\"k\":{}}}}" },
        { ROUND(STATE("s2")), NULL, ",\"requestState\":\"s2\"}}" }
    };

    size_t                  i;
    char                    params[1024], sealed[512];
    mcp_backend_request_t  *breq;

    for (i = 0; i < ITEMS(rounds); i++) {
        modern_call(0, &a, "");
        backend_json(&d, ROUND(TWO));
        state_of(&a, sealed, sizeof(sealed));
        client_close(&d, &a);

        snprintf(params, sizeof(params), "\"inputResponses\":{\"old\":{}},"
                 "\"name\":\"echo\",\"requestState\":%s,\"arguments\":"
                 "{\"a\":1}", sealed);
        modern(0, &a, "tools/call", "echo", params);
        breq = backend_stream(&d, 0);
        has(d.last_body, "\"params\":{\"inputResponses\":{\"old\":{}},\"name\":"
                         "\"echo\",\"requestState\":\"s1\",\"arguments\":");
        driver_wait(&d, 1001);
        begin_status_listener();
        asks(breq, rounds[i].round);

        if (rounds[i].answers) {
            task_does(1, "tasks/update", rounds[i].answers);

        } else {
            driver_wait(&d, 250);
        }

        assert_int_equal(d.n_breqs, 1);
        has(d.last_body, "\"params\":{\"name\":\"echo\",\"arguments\":{\"a\":1},"
                         "\"_meta\":{");
        ends_with(d.last_body, rounds[i].params);
        backend_json(&d, RESULT);
        task_is(1, "\"status\":\"completed\"");
    }
}


/* The process of the call is paused. The client's last answer and a published
 * result arrive meanwhile, and are processed together. */
TEST(result_is_published_right_after_the_last_answer__no_backend_is_called)
{
    mcp_backend_request_t  *breq;

    breq = publishes(ROUND(TWO));
    respond_202(breq);

    driver_pause(&d, 0, 1);
    task_does(1, "tasks/update", RESPONSES("\"k#1\":{},\"r#1\":{}"));
    publish_gets(1, publish_path, RESULT, 202);
    d.last_body[0] = '\0';
    driver_pause(&d, 0, 0);

    assert_int_equal(d.n_breqs, 0);
    assert_string_equal(d.last_body, "");
    task_is(1, "\"status\":\"completed\"");
    assert_int_equal(d.process[0].worker->calls, 0);
}


RUN_TESTS(task_setup, task_teardown)

/* SPDX-License-Identifier: Apache-2.0 */

/* Questions that send the user to a URL, in revision 2025-11-25. */

#include "core_cases.h"


#define CAN    "{\"elicitation\":{\"form\":{},\"url\":{}},\"roots\":{}}"

#define URL(more)                                                             \
    "{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"url\","        \
    "\"url\":\"https://h/\",\"message\":\"?\"" more "}}"

#define ROUND(questions)                                                      \
    "{\"resultType\":\"input_required\",\"inputRequests\":{" questions "},"   \
    "\"requestState\":\"s\"}"

#define EMPTY  "{\"resultType\":\"input_required\",\"requestState\":\"e\"}"

#define COMPLETE  "notifications/elicitation/complete"


static char  own[MCP_SESSION_TEXT_MAX], id[72], second[72], expected[256];


/* Returns the notification that the elicitation with this id is complete. */
static const char *
settled(const char *question)
{
    snprintf(expected, sizeof(expected), "data: " NOTE(COMPLETE,
             "{\"elicitationId\":\"%s\"}") "\n", question);

    return expected;
}


static void
ask_url(const char *round)
{
    client_open(&d, own, NEW, CAN);
    client_post(&d, 0, &a, own, CALL);
    backend_json(&d, round);
    question_id(a.text, "elicitation/create", id);
}


static void
finish(void)
{
    gets_json_result(&a);
    client_close(&d, &a);
    quiet();
}


/* The elicitationId that the server adds to a question is the id of the
 * question's event. When the call gets its result, the client is notified that
 * the elicitation is complete. */
TEST(accepted_url_question_is_reported_as_complete_before_the_result_is_sent)
{
    ask_url(ROUND("\"k\":" URL("")));
    snprintf(line, sizeof(line), "\"id\":\"%s\",\"method\":"
             "\"elicitation/create\",\"params\":{\"mode\":\"url\",\"url\":"
             "\"https://h/\",\"message\":\"?\",\"elicitationId\":\"%s\"}}", id,
             id);
    has(a.text, line);

    reply(1, own, id, "\"result\":{\"action\":\"accept\"}");
    has_not(a.text, COMPLETE);
    backend_json(&d, RESULT);
    has(a.text, settled(id));
    assert_true(strstr(a.text, COMPLETE) < strstr(a.text, ANSWER));
    assert_int_equal(count(a.text, COMPLETE), 1);
}


/* Elicitations of a round stay open during rounds without questions; the next
 * round with a question completes them. */
TEST(backend_asks_again__earlier_accepted_url_questions_are_reported_complete)
{
    ask_url(ROUND("\"k\":" URL("") ",\"l\":" URL("")));
    strcpy(second, id);
    snprintf(id, sizeof(id), "%.22s.1", second);
    reply(1, own, id, "\"result\":{\"action\":\"accept\"}");
    reply(1, own, second, "\"result\":{\"action\":\"accept\"}");

    backend_json(&d, EMPTY);
    driver_wait(&d, 250);
    has_not(a.text, COMPLETE);

    backend_json(&d, ROUND("\"m\":{\"method\":\"roots/list\"}"));
    has(a.text, settled(id));
    has(a.text, settled(second));
    assert_int_equal(count(a.text, COMPLETE), 2);
    assert_true(strstr(a.text, settled(second))
                < strstr(a.text, "roots/list"));
    question_id(a.text, "roots/list", id);
    reply(1, own, id, "\"result\":{}");
    finish();
    assert_int_equal(count(a.text, COMPLETE), 2);
}


/* Elicitations that the user did not accept, or that failed, are not reported
 * as complete. */
TEST(url_questions_that_are_declined_or_fail_are_not_reported_as_complete)
{
    size_t  i;

    static const char *const  answers[] = {
        "\"result\":{\"action\":\"decline\"}",
        "\"result\":{\"action\":\"cancel\"}",
        "\"result\":{}"
    };

    for (i = 0; i < ITEMS(answers); i++) {
        ask_url(ROUND("\"k\":" URL("")));
        reply(1, own, id, answers[i]);
        finish();
        has_not(a.text, COMPLETE);
    }

    ask_url(ROUND("\"k\":" URL("")));
    reply(1, own, id, "\"result\":{\"action\":\"accept\"}");
    backend_json(&d, "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1,"
                     "\"message\":\"\"}}");
    has_not(a.text, COMPLETE);
    client_close(&d, &a);

    /* a question for a form gets no elicitationId; an elicitationId of the
     * backend is kept */

    ask_url(ROUND("\"k\":{\"method\":\"elicitation/create\",\"params\":{"
                  "\"message\":\"?\"}}"));
    has_not(a.text, "elicitationId");
    reply(1, own, id, "\"result\":{\"action\":\"accept\"}");
    finish();
    has_not(a.text, COMPLETE);

    ask_url(ROUND("\"k\":" URL(",\"elicitationId\":\"own\"")));
    assert_int_equal(count(a.text, "elicitationId"), 1);
    reply(1, own, id, "\"result\":{\"action\":\"accept\"}");
    finish();
    has_not(a.text, COMPLETE);
}


/* The page behind the URL publishes that the elicitation is complete, before
 * the client has answered or afterwards: the client is notified once. */
TEST(completion_of_a_url_question_is_published__the_client_is_notified_once)
{
    int   before;
    char  url[256];

    for (before = 0; before < 2; before++) {
        client_open(&d, own, NEW, CAN);
        client_post(&d, 0, &a, own, CALL);
        publish_url_of(d.breqs[0], url, sizeof(url));
        backend_json(&d, ROUND("\"k\":" URL("")));
        question_id(a.text, "elicitation/create", id);

        if (before) {
            publish(1, &b, url + strlen("http://127.0.0.1"),
                    NOTE(COMPLETE, "{}"));
            has(a.text, settled(id));
        }

        reply(1, own, id, "\"result\":{\"action\":\"accept\"}");

        if (!before) {
            publish(1, &b, url + strlen("http://127.0.0.1"),
                    NOTE(COMPLETE, "{}"));
            has(a.text, settled(id));
        }

        finish();
        assert_int_equal(count(a.text, COMPLETE), 1);
    }
}


/*
 * A backend itself sends notifications that elicitations are complete. In
 * revision 2025-11-25 the client gets only those with an elicitationId; in an
 * older revision, which does not define the notification, the client gets it
 * unchanged.
 */
TEST(elicitation_complete_has_no_id__only_clients_before_2025_11_25_get_it)
{
    mcp_backend_request_t  *breq;

    client_open(&d, session, NEW, CAN);
    breq = call(0);
    backend_send(&d, breq, NOTE(COMPLETE, "{}") "\n");
    backend_send(&d, breq, NOTE(COMPLETE, "{\"elicitationId\":\"own\"}") "\n");
    has(a.text, "data: " NOTE(COMPLETE, "{\"elicitationId\":\"own\"}") "\n");
    assert_int_equal(count(a.text, COMPLETE), 1);
    end_with_result(breq);
    client_close(&d, &a);
    quiet();

    client_open(&d, session, MIDDLE, CAN);
    breq = call(0);
    backend_send(&d, breq, NOTE(COMPLETE, "{}") "\n");
    has(a.text, NOTE(COMPLETE, "{}"));
    end_with_result(breq);
}


/* The zone has no room: the result waits, and so do the notifications in front
 * of it, which report that two elicitations are complete. The client gets each
 * of them once. */
TEST(zone_has_no_room_for_the_result__elicitation_complete_also_waits_for_room)
{
    mcp_stream_ref_t  all;

    ask_url(ROUND("\"k\":" URL("") ",\"l\":" URL("")));
    strcpy(second, id);
    snprintf(id, sizeof(id), "%.22s.1", second);
    reply(1, own, id, "\"result\":{\"action\":\"accept\"}");
    reply(1, own, second, "\"result\":{\"action\":\"accept\"}");

    hog(&all);
    backend_json(&d, RESULT);
    has_not(a.text, ANSWER);
    mcp_store_free(&d.process[1].store, &all);
    driver_wait(&d, 2000);

    has(a.text, settled(id));
    has(a.text, settled(second));
    has(a.text, ANSWER);
    assert_int_equal(count(a.text, COMPLETE), 2);
}


RUN_TESTS(setup, teardown)

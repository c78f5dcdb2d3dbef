/* SPDX-License-Identifier: Apache-2.0 */

/* Responses of clients on their way to the call that has asked the
 * questions. */

#include "core_cases.h"


#define ASK_ONE(key, method, state)                                          \
    "{\"resultType\":\"input_required\",\"inputRequests\":{\"" key "\":{"    \
    "\"method\":\"" method "\",\"params\":{}}},\"requestState\":\"" state    \
    "\"}"


static char  id[72];


/* There is no room for a client's response: the client gets an error, and may
 * send the response again. */
TEST(zone_has_no_room_for_an_answer__the_client_gets_503_and_can_send_it_again)
{
    static char  answer[3000];

    mcp_stream_ref_t  ref;

    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, ASK_ONE("a", "roots/list", "one"));
    question_id(a.text, "roots/list", id);
    snprintf(answer, sizeof(answer), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\","
             "\"result\":{\"roots\":[],\"x\":\"%02000d\"}}", id, 1);

    hog(&ref);
    client_post(&d, 1, &b, session, answer);
    assert_int_equal(b.status, 503);
    assert_string_equal(client_response_header(&b, "Retry-After"), "5");
    has(b.text, "\"error\":");
    client_close(&d, &b);
    assert_int_equal(d.n_breqs, 0);
    mcp_store_free(&d.process[1].store, &ref);

    client_post(&d, 1, &b, session, answer);
    answered(&b, 202, NULL);
    has(d.last_body, "\"inputResponses\":{\"a\":{\"roots\":[]");
    gets_json_result(&a);
}


/* A client's response was accepted, but there is no memory to read it: the
 * call ends with an error instead of waiting for that response. */
TEST(no_memory_to_read_an_accepted_answer__the_call_ends_with_an_error)
{
    int            lost = 0, accepted;
    char           answer[1000];
    unsigned long  k = 0;

    while (test_next_failure(&d.te.tm, &k)) {
        client_post(&d, 0, &a, session, CALL);
        backend_json(&d, ASK_ONE("a", "roots/list", "one"));
        question_id(a.text, "roots/list", id);
        snprintf(answer, sizeof(answer), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\","
                 "\"result\":{\"roots\":[],\"x\":\"%0700d\"}}", id, 1);

        d.te.tm.fail_at = k;
        client_post(&d, 1, &b, session, answer);
        d.te.tm.fail_at = 0;
        accepted = (b.status == 202);
        client_close(&d, &b);

        if (!accepted) {
            reply(1, session, id, "\"result\":{\"roots\":[]}");
        }

        if (d.n_breqs) {
            gets_json_result(&a);

        } else {
            has(a.text, "-32603");
            lost++;
        }

        assert_int_equal(a.ended, 1);
        client_close(&d, &a);
    }

    assert_in_range(lost, 1, k);
}


/* The responses in one POST, of any length, are either all accepted or all
 * rejected. */
TEST(answers_in_one_POST_request_are_all_accepted_or_all_rejected)
{
    static char  answers[20000];

    char  old[MCP_SESSION_TEXT_MAX], second[64];

    d.endpoint.stream_buffer = 2 * 1024;
    client_open(&d, old, OLD, ALL);
    client_post(&d, 0, &a, old, "[" CALL "," CALL8 "]");
    backend_reply(&d, d.breqs[0], ASK_ONE("a", "roots/list", "one"));
    backend_json(&d, ASK_ONE("b", "sampling/createMessage", "two"));
    question_id(a.text, "roots/list", id);
    question_id(a.text, "sampling/createMessage", second);

    snprintf(answers, sizeof(answers), "[" PING ",{\"jsonrpc\":\"2.0\","
             "\"id\":\"%s\",\"result\":{\"x\":\"%01500d\"}},{\"jsonrpc\":"
             "\"2.0\",\"id\":\"nobody\",\"result\":{}},{\"jsonrpc\":\"2.0\","
             "\"id\":\"%s\",\"result\":{\"y\":\"%01500d\"}}]", id, 1, second,
             2);
    client_post(&d, 1, &b, old, answers);
    answered(&b, 200, PONG);

    assert_int_equal(d.n_breqs, 2);
    backend_reply(&d, d.breqs[0], RESULT);
    backend_json(&d, RESULT);
    assert_int_equal(a.ended, 1);
    has(a.text, ANSWER);
    has(a.text, "\"id\":8,\"result\":" RESULT);
}


RUN_TESTS(setup, teardown)

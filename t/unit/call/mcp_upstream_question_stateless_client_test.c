/* SPDX-License-Identifier: Apache-2.0 */

/* Questions of an MCP server with sessions to a client without a session, whose
 * next request lacks answers. */

#include "upstream_cases.h"

#include "call/mcp_upstream_question_stateless_client.h"


#define QUESTION  "data: {\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":"     \
                  "\"roots/list\"}\n\n"

#define ANSWERS(members)  ",\"inputResponses\":{" members "}"


static char  first[1024];


/* The MCP server asks a question on the stream of the call. */
static void
server_asks(const char *id)
{
    snprintf(line, sizeof(line), QUESTION, id);
    backend_send(&d, d.breqs[0], line);
}


/* A client calls a tool, and gets its first question. Copies the request state
 * to "first". The connection remains. */
static void
question_arrives(void)
{
    d.endpoint.call_timeout = 600000;
    d.endpoint.state_lifetime = 600000;

    modern_call(0, &a, "");
    open_session();
    sends("tools/call");
    mcp_backend_request_head(d.breqs[0], 200, mcp_str("text/event-stream"));
    server_asks("one");

    has(a.text, "\"inputRequests\":{\"q1\":{\"method\":\"roots/list\"}}");
    state_of(&a, first, sizeof(first));
}


static void
first_question(void)
{
    question_arrives();
    client_close(&d, &a);
}


/* Sends the request again, with a request state and perhaps with answers. */
static void
again(unsigned process, client_t *c, const char *state, const char *answers)
{
    char  more[2048];

    snprintf(more, sizeof(more), ",\"requestState\":%s%s", state, answers);
    modern_call(process, c, more);
}


/* Acknowledges the POST with an answer of the client, and checks that the MCP
 * server gets it once. */
static void
posted(const char *id)
{
    assert_int_equal(d.n_breqs, 2);
    snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\","
                                 "\"result\":{}}", id);
    assert_str_is(d.breqs[1]->body, line);
    respond_202(d.breqs[1]);
    assert_int_equal(d.n_breqs, 1);
}


/* Ends the call with a result. */
static void
server_responds(void)
{
    char  id[24];

    *mcp_uint_print(id, (mcp_be_get(d.breqs[0]->call->id, 8) >> 12)) = '\0';
    snprintf(line, sizeof(line), "data: {\"jsonrpc\":\"2.0\",\"id\":%s,"
                                 "\"result\":%s}\n\n", id, RESULT);
    backend_send(&d, d.breqs[0], line);
    backend_end(&d, d.breqs[0], MCP_FAILURE_NONE);
    end();
}


TEST(request_lacks_the_answer__the_client_gets_the_question_and_a_new_state)
{
    char  next[1024];

    first_question();
    again(1, &a, first, "");
    has(a.text, "\"inputRequests\":{\"q1\":{\"method\":\"roots/list\"}}");
    assert_int_equal(a.ended, 1);
    assert_string_not_equal(state_of(&a, next, sizeof(next)), first);
    client_close(&d, &a);

    again(1, &a, next, ANSWERS("\"q1\":{}"));
    posted("one");
    server_responds();
    has(a.text, "\"text\":\"hi\"");
}


TEST(request_has_one_of_two_answers__the_client_gets_the_other_question)
{
    char  next[1024];

    first_question();
    server_asks("two");
    again(0, &a, first, "");
    has(a.text, "\"inputRequests\":{\"q2\":");
    state_of(&a, next, sizeof(next));
    client_close(&d, &a);

    again(0, &a, next, "");
    has(a.text, "\"inputRequests\":{\"q1\":{\"method\":\"roots/list\"},"
                "\"q2\":{\"method\":\"roots/list\"}}");
    state_of(&a, next, sizeof(next));
    client_close(&d, &a);

    again(0, &a, next, ANSWERS("\"q2\":{}"));
    posted("two");
    has(a.text, "\"inputRequests\":{\"q1\":{\"method\":\"roots/list\"}}");
    state_of(&a, next, sizeof(next));
    client_close(&d, &a);

    again(0, &a, next, ANSWERS("\"q1\":{},\"q2\":{}"));
    posted("one");
    server_responds();
    has(a.text, "\"text\":\"hi\"");
}


TEST(question_was_asked_again__a_request_with_the_answer_does_not_get_it)
{
    first_question();
    again(0, &a, first, "");
    client_close(&d, &a);

    again(0, &a, first, ANSWERS("\"q1\":{}"));
    posted("one");
    has_not(a.text, "inputRequests");
    server_responds();
    has(a.text, "\"text\":\"hi\"");
}


TEST(request_without_answers_follows_the_answer__it_gets_the_result)
{
    first_question();
    again(0, &a, first, ANSWERS("\"q1\":{}"));
    posted("one");
    again(1, &b, first, "");
    has(a.text, "-32602");
    server_responds();
    has_not(b.text, "inputRequests");
    has(b.text, "\"text\":\"hi\"");
}


TEST(server_withdraws_a_newer_question__the_older_one_is_asked_again)
{
    char  next[1024];

    first_question();
    server_asks("two");
    backend_send(&d, d.breqs[0], "data: " NOTE("notifications/cancelled",
                                 "{\"requestId\":\"two\"}") "\n\n");

    again(0, &a, first, "");
    has(a.text, "\"inputRequests\":{\"q2\":");
    state_of(&a, next, sizeof(next));
    client_close(&d, &a);

    again(0, &a, next, ANSWERS("\"q2\":{}"));
    has(a.text, "\"inputRequests\":{\"q1\":{\"method\":\"roots/list\"}}");
    client_close(&d, &a);

    again(0, &a, first, ANSWERS("\"q1\":{},\"q2\":{}"));
    posted("one");
    server_responds();
    has(a.text, "\"text\":\"hi\"");
}


/* An event that the stream cannot store is repeated when there is room. */
TEST(zone_is_full__the_client_gets_the_question_again_when_there_is_room)
{
    mcp_stream_ref_t  ref;

    first_question();
    driver_pause(&d, 0, 1);
    again(1, &a, first, "");
    hog(&ref);
    driver_pause(&d, 0, 0);
    driver_wait(&d, MCP_CALL_RETRY);
    has_not(a.text, "inputRequests");

    mcp_store_free(&d.process[1].store, &ref);
    driver_wait(&d, MCP_CALL_RETRY);
    has(a.text, "\"inputRequests\":{\"q1\":{\"method\":\"roots/list\"}}");
    client_close(&d, &a);

    again(1, &a, first, ANSWERS("\"q1\":{}"));
    posted("one");
    server_responds();
    has(a.text, "\"text\":\"hi\"");
}


TEST(question_is_asked_again__the_time_for_the_answer_does_not_begin_again)
{
    first_question();
    driver_wait(&d, 599000);
    again(0, &a, first, "");
    has(a.text, "inputRequests");
    client_close(&d, &a);

    driver_wait(&d, 1000);
    assert_int_equal(d.n_breqs, 2);
    has(d.last_body, "-32000");
    respond_202(d.breqs[1]);
    server_responds();
}


/* A request may get a question that another request has just answered. */
TEST(request_ends_after_questions_were_asked_again__call_continues_for_30_s)
{
    first_question();
    again(0, &a, first, "");
    client_close(&d, &a);
    again(0, &a, first, ANSWERS("\"q1\":{}"));
    posted("one");
    client_close(&d, &a);

    aborts_after(MCP_UPSTREAM_ROUND_WAIT - 1, 0);
    aborts_after(1, 1);
    sends("notifications/cancelled");
    end();
}


/* The answer arrives by another node before the connection has ended that sent
 * the question to the client. */
TEST(connection_with_the_question_ends_after_the_answer__the_call_continues)
{
    char              id[MCP_EVENT_ID_MAX], answer[256];
    mcp_str_t         text;
    mcp_stream_ref_t  ref;

    question_arrives();
    ref = d.breqs[0]->call->ref;
    *mcp_event_id_print(id, ref.id, 1) = '\0';
    snprintf(answer, sizeof(answer), "[{\"jsonrpc\":\"2.0\",\"id\":\"%s\","
                                     "\"result\":{}}]", id);
    text = (mcp_str_t) { answer, strlen(answer) };
    assert_int_equal(mcp_store_inbox_put(&d.process[1].store, &ref,
                                         MCP_INBOX_INPUT, 0, text), MCP_OK);
    driver_wait(&d, 1);
    posted("one");
    client_close(&d, &a);
    aborts_after(1, 0);

    again(1, &a, first, ANSWERS("\"q1\":{}"));
    server_responds();
    has(a.text, "\"text\":\"hi\"");
}


/* A slow client reads the question only when the call would become a task. */
TEST(question_is_read_when_mcp_task_after_has_passed__the_client_gets_no_task)
{
    round_can = "{\"roots\":{},\"extensions\":"
                "{\"io.modelcontextprotocol/tasks\":{}}}";
    d.endpoint.task_after = 1000;
    d.endpoint.task_ttl = 60000;
    d.endpoint.stream_after = 500;

    modern_call(0, &a, "");
    open_session();
    sends("tools/call");
    mcp_backend_request_head(d.breqs[0], 200, mcp_str("text/event-stream"));
    driver_wait(&d, 500);
    assert_int_equal(a.streaming, 1);
    a.slow = 1;
    server_asks("one");
    driver_wait(&d, 500);

    while (!a.ended) {
        (void) client_pull(&a);
    }

    round_can = EVERYTHING;
    has(a.text, "\"resultType\":\"input_required\"");
    has_not(a.text, "taskId");
    assert_int_equal(d.breqs[0]->call->task, 0);

    client_close(&d, &a);
    server_responds();
}


RUN_TESTS(setup_upstream, teardown)

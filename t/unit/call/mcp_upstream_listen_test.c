/* SPDX-License-Identifier: Apache-2.0 */

/* The GET stream of a session at an MCP server: when it is opened again, when
 * it ends, and messages for which the client's stream has no room. */

#include "upstream_cases.h"

#include "call/mcp_upstream_listen.h"
#include "call/mcp_upstream_session.h"
#include "call/mcp_upstream_wait.h"


#define EVENT(text)  "data: " text "\n\n"

#define ROOTS        EVENT("{\"jsonrpc\":\"2.0\",\"id\":1,"                    \
                           "\"method\":\"roots/list\"}")


static int
setup_listen(void **state)
{
    setup_upstream(state);
    target.listens = 1;

    return 0;
}


/* Returns the only GET request. */
static mcp_backend_request_t *
get(void)
{
    size_t                  i;
    mcp_backend_request_t  *found;

    found = NULL;

    for (i = 0; i < d.n_breqs; i++) {
        if (d.breqs[i]->kind == MCP_BACKEND_REQUEST_LISTEN) {
            assert_null(found);
            found = d.breqs[i];
        }
    }

    assert_non_null(found);
    assert_int_equal(found->http_method, MCP_BACKEND_REQUEST_GET);
    assert_true(found->asks);

    return found;
}


/* Returns the first backend request of a kind, or NULL. */
static mcp_backend_request_t *
first(mcp_backend_request_kind_e kind)
{
    size_t  i;

    for (i = 0; i < d.n_breqs; i++) {
        if (d.breqs[i]->kind == kind) {
            return d.breqs[i];
        }
    }

    return NULL;
}


/* Calls a tool, which waits for the stream. */
static mcp_backend_request_t *
waits(void)
{
    call_tool(&a);
    open_session();
    assert_int_equal(d.n_breqs, 1);

    return get();
}


/* Responds to a GET request with a stream. */
static void
opened(mcp_backend_request_t *breq)
{
    mcp_backend_request_head(breq, 200, mcp_str("text/event-stream"));
    driver_pump(&d);
}


/* Returns the only request of a call. */
static mcp_backend_request_t *
sent(void)
{
    size_t                  i;
    mcp_backend_request_t  *found;

    found = NULL;

    for (i = 0; i < d.n_breqs; i++) {
        if (d.breqs[i]->kind == MCP_BACKEND_REQUEST_CALL) {
            assert_null(found);
            found = d.breqs[i];
        }
    }

    assert_non_null(found);

    return found;
}


/* Responds to a request of a call. */
static void
responds(mcp_backend_request_t *breq)
{
    size_t  i;

    for (i = 0; d.breqs[i] != breq; i++) {
        /* the loop ends, because the request runs */
    }

    d.breqs[i] = d.breqs[0];
    d.breqs[0] = breq;
    answer(RESULT);
}


/* Ends the only POST of a response. Checks that it has an error. */
static void
refuses(void)
{
    mcp_backend_request_t  *breq;

    breq = first(MCP_BACKEND_REQUEST_RESPONSE);
    assert_non_null(breq);
    has(breq->body.data, "\"id\":1,\"error\":{\"code\":-32000");
    respond_202(breq);
    assert_null(first(MCP_BACKEND_REQUEST_RESPONSE));
}


TEST(last_request_of_a_session_ends__its_GET_stream_is_aborted)
{
    opened(waits());
    assert_int_equal(d.n_breqs, 2);
    responds(sent());
    assert_string_equal(a.text, ANSWER);
    assert_int_equal(d.n_breqs, 0);
    assert_int_equal(d.aborts, 1);
}


/* When a request is over, its session may become one that it has to end. Other
 * requests still use the GET stream that it has opened. */
TEST(request_that_opened_the_GET_stream_ends_a_session__the_stream_keeps_affinity)
{
    mcp_str_t                affinity;
    mcp_backend_request_t   *breq;
    mcp_upstream_session_t  *own;

    breq = waits();
    own = a.x->call->requests[0].session;
    affinity = breq->variables.value[MCP_VARIABLE_UPSTREAM_AFFINITY];
    assert_int_equal(affinity.len, MCP_STREAM_TEXT_LEN);
    assert_memory_equal(affinity.data, own->affinity, affinity.len);

    memset(own->affinity, '-', MCP_STREAM_TEXT_LEN);
    assert_memory_not_equal(affinity.data, own->affinity, affinity.len);

    opened(breq);
    responds(sent());
    assert_int_equal(d.n_breqs, 0);
}


TEST(request_that_waits_for_the_GET_stream_is_cancelled__the_GET_is_aborted)
{
    waits();
    client_post(&d, 0, &b, session, CANCEL7);
    assert_int_equal(d.n_breqs, 0);
}


TEST(request_that_opens_the_GET_stream_is_cancelled__another_request_uses_it)
{
    mcp_backend_request_t  *breq;

    breq = waits();
    client_post(&d, 0, &b, session, CALL8);
    assert_int_equal(d.n_breqs, 1);
    cancel(0, session, "7");
    assert_int_equal(d.n_breqs, 1);
    client_close(&d, &a);

    opened(breq);
    backend_send(&d, breq, ROOTS);
    has(b.text, "roots/list");
    responds(sent());
    has(b.text, RESULT);
    refuses();
    assert_int_equal(d.n_breqs, 0);
}


TEST(server_does_not_respond_to_GET__the_waiting_request_is_sent_after_2_s)
{
    waits();
    driver_wait(&d, MCP_UPSTREAM_LISTEN_WAIT - 1);
    assert_int_equal(d.n_breqs, 1);
    driver_wait(&d, 1);
    assert_int_equal(d.n_breqs, 2);

    /* another request waits only for the first one, not for the stream */

    client_post(&d, 0, &b, session, CALL8);
    driver_wait(&d, MCP_UPSTREAM_ALONE_TIME);
    assert_int_equal(d.n_breqs, 3);

    while (d.n_breqs > 1) {
        responds(d.breqs[0]->kind == MCP_BACKEND_REQUEST_CALL ? d.breqs[0]
                                                              : d.breqs[1]);
    }

    assert_int_equal(d.n_breqs, 0);
}


TEST(first_request_of_a_session_waits_for_the_GET_stream__it_is_sent_alone)
{
    mcp_backend_request_t  *breq;

    call_tool(&a);
    client_post(&d, 0, &b, session, CALL8);
    open_session();
    driver_wait(&d, MCP_UPSTREAM_LISTEN_WAIT);
    breq = sent();
    has(breq->body.data, "\"echo\"");
    driver_wait(&d, MCP_UPSTREAM_ALONE_TIME);
    assert_int_equal(d.n_breqs, 3);

    while (d.n_breqs > 1) {
        responds(d.breqs[0]->kind == MCP_BACKEND_REQUEST_CALL ? d.breqs[0]
                                                              : d.breqs[1]);
    }

    client_close(&d, &a);
    client_close(&d, &b);
    end();
}


TEST(server_rejects_GET_with_409_five_times__request_is_sent_and_GET_repeated)
{
    size_t    i;
    uint64_t  wait;

    waits();
    wait = MCP_UPSTREAM_LISTEN_SOON;

    for (i = 0; i < MCP_UPSTREAM_LISTEN_BUSY; i++) {
        mcp_backend_request_head(get(), 409, mcp_null_str);
        driver_pump(&d);
        assert_int_equal(d.n_breqs, 0);
        driver_wait(&d, wait - 1);
        assert_int_equal(d.n_breqs, 0);
        driver_wait(&d, 1);
        assert_int_equal(d.n_breqs, 1);
        wait *= 2;
    }

    mcp_backend_request_head(get(), 409, mcp_null_str);
    driver_pump(&d);
    assert_int_equal(d.n_breqs, 1);
    driver_wait(&d, MCP_UPSTREAM_LISTEN_AGAIN);
    opened(get());
    backend_send(&d, get(), ROOTS);
    has(a.text, "roots/list");
    responds(sent());
    refuses();
    assert_int_equal(d.n_breqs, 0);
}


TEST(nine_GET_streams_in_a_row_bring_no_message__no_further_one_is_opened)
{
    size_t    i;
    uint64_t  wait;

    d.endpoint.call_timeout = 600000;
    waits();
    wait = MCP_UPSTREAM_LISTEN_AGAIN;

    for (i = 0; i < MCP_UPSTREAM_LISTEN_TRIES; i++) {
        opened(get());
        backend_end(&d, get(), MCP_FAILURE_NONE);
        assert_int_equal(d.n_breqs, 1);
        driver_wait(&d, wait - 1);
        assert_int_equal(d.n_breqs, 1);
        driver_wait(&d, 1);
        assert_int_equal(d.n_breqs, 2);
        wait = 2 * wait < MCP_UPSTREAM_LISTEN_LONG ? 2 * wait
                                                   : MCP_UPSTREAM_LISTEN_LONG;
    }

    opened(get());
    backend_end(&d, get(), MCP_FAILURE_REPLY);
    driver_wait(&d, MCP_UPSTREAM_LISTEN_LONG);
    assert_int_equal(d.n_breqs, 1);
    responds(sent());
}


TEST(server_sends_retry_1_ms__the_GET_stream_is_opened_again_after_100_ms)
{
    size_t    i;
    uint64_t  wait;

    waits();
    wait = 100;

    for (i = 0; i < 3; i++) {
        opened(get());
        backend_send(&d, get(), "id: e\nretry: 1\ndata: \n\n");
        backend_end(&d, get(), MCP_FAILURE_NONE);
        driver_wait(&d, wait - 1);
        assert_int_equal(d.n_breqs, 1);
        driver_wait(&d, 1);
        assert_int_equal(d.n_breqs, 2);
        wait *= 2;
    }

    responds(sent());
}


/* The GET stream gets these bytes and ends: it is opened again after this time,
 * ms, and not earlier. */
static void
opens_again_after(const char *bytes, uint64_t time)
{
    opened(get());
    backend_send(&d, get(), bytes);
    backend_end(&d, get(), MCP_FAILURE_NONE);
    driver_wait(&d, time - 1);
    assert_int_equal(d.n_breqs, 1);
    driver_wait(&d, 1);
    assert_int_equal(d.n_breqs, 2);
}


TEST(each_GET_stream_brings_a_message__the_pause_before_the_next_stays_100_ms)
{
    size_t  i;

    waits();

    for (i = 0; i < 2 * MCP_UPSTREAM_LISTEN_TRIES; i++) {
        opens_again_after("retry: 1\n" EVENT(CHANGED), 100);
    }

    responds(sent());
}


TEST(server_sends_no_valid_retry__the_GET_stream_is_opened_again_after_1_s)
{
    size_t  i;

    static const char *const  events[] = {
        EVENT(CHANGED), "retry: 0\n" EVENT(CHANGED), "retry: x\n" EVENT(CHANGED)
    };

    waits();

    for (i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        opens_again_after(events[i], 1000);
    }

    responds(sent());
}


TEST(mcp_upstream_session_is_principal__the_request_is_sent_without_GET_stream)
{
    target.session = MCP_UPSTREAM_OF_PRINCIPAL;
    call_tool(&a);
    open_session();
    assert_int_equal(d.n_breqs, 1);
    responds(sent());
    end();
}


TEST(last_request_ends_while_the_GET_stream_is_closed__it_is_not_opened_again)
{
    opened(waits());
    backend_end(&d, get(), MCP_FAILURE_NONE);
    responds(sent());
    driver_wait(&d, MCP_UPSTREAM_LISTEN_AGAIN);
    assert_int_equal(d.n_breqs, 0);
}


TEST(GET_stream_is_closed__a_new_request_opens_it_at_once)
{
    opened(waits());
    driver_wait(&d, MCP_UPSTREAM_ALONE_TIME);
    backend_end(&d, get(), MCP_FAILURE_NONE);
    client_post(&d, 0, &b, session, CALL8);
    opened(get());
    assert_int_equal(d.n_breqs, 3);

    responds(d.breqs[0]->kind == MCP_BACKEND_REQUEST_CALL ? d.breqs[0]
                                                          : d.breqs[1]);
    responds(sent());
    assert_int_equal(d.n_breqs, 0);
}


/* Calls a tool whose stream at the client is full, so that a question waits.
 * Sets id to an event id from which the client can resume. */
static mcp_backend_request_t *
full(char id[MCP_EVENT_ID_MAX])
{
    mcp_backend_request_t  *breq, *listen;

    listen = waits();
    opened(listen);
    breq = sent();
    mcp_backend_request_head(breq, 200, mcp_str("text/event-stream"));
    client_close(&d, &a);

    snprintf(line, sizeof(line), "data: " BIG(900) "\n", 0);

    while (backend_send(&d, breq, line)) {
        /* void */
    }

    assert_int_equal(backend_send(&d, listen, ROOTS), strlen(ROOTS));
    *mcp_event_id_print(id, breq->call->id, 0) = '\0';

    return listen;
}


TEST(stream_of_the_client_is_full__a_question_of_the_server_waits_for_room)
{
    char                    id[MCP_EVENT_ID_MAX + 1];
    unsigned                resumes;
    mcp_backend_request_t  *listen;

    listen = full(id);
    resumes = d.resumes;
    assert_int_equal(backend_send(&d, listen, ":\n\n"), 0);

    client_resume(&d, 0, &b, session, id);
    driver_wait(&d, MCP_CALL_RETRY);
    has(b.text, "roots/list");
    assert_true(d.resumes > resumes);
    assert_int_equal(backend_send(&d, listen, ":\n\n"), 3);

    backend_end(&d, sent(), MCP_FAILURE_REPLY);
    client_close(&d, &b);
    end();
}


TEST(request_whose_question_waits_ends__another_request_gets_the_question)
{
    char  id[MCP_EVENT_ID_MAX + 1];

    full(id);
    client_post(&d, 0, &b, session, CALL8);
    cancel(0, session, "7");
    driver_wait(&d, MCP_CALL_RETRY);
    has(b.text, "roots/list");
    has_not(b.text, "notifications/cancelled");

    end();
    driver_wait(&d, 1);
}


/* Two calls of a session use the stream, and the client of the second one has a
 * question. Returns the backend request of the first call, and sets *second to
 * that of the second one. */
static mcp_backend_request_t *
two_calls(mcp_backend_request_t **second)
{
    size_t                  i;
    mcp_backend_request_t  *listen, *breq;

    listen = waits();
    opened(listen);
    breq = sent();
    driver_wait(&d, MCP_UPSTREAM_ALONE_TIME);
    client_post(&d, 0, &b, session, CALL8);
    assert_int_equal(d.n_breqs, 3);
    *second = NULL;

    for (i = 0; i < d.n_breqs; i++) {
        if (d.breqs[i]->kind == MCP_BACKEND_REQUEST_CALL && d.breqs[i] != breq)
        {
            *second = d.breqs[i];
        }
    }

    assert_non_null(*second);
    backend_send(&d, listen, ROOTS);
    has(b.text, "roots/list");
    has_not(a.text, "roots/list");

    return breq;
}


TEST(request_with_an_open_question_ends__another_request_repeats_the_question)
{
    char                    id[MCP_EVENT_ID_MAX + 1];
    mcp_backend_request_t  *one, *two;

    one = two_calls(&two);
    *mcp_event_id_print(id, two->call->id, 1) = '\0';
    responds(two);
    has(b.text, RESULT);
    client_close(&d, &b);

    driver_wait(&d, 1);
    has(a.text, "notifications/cancelled");
    has(a.text, id);
    has(a.text, "roots/list");

    question_id(a.text, "roots/list", id);
    reply(0, session, id, "\"result\":{}");
    assert_non_null(first(MCP_BACKEND_REQUEST_RESPONSE));
    backend_end(&d, first(MCP_BACKEND_REQUEST_RESPONSE), MCP_FAILURE_NONE);

    responds(one);
    has(a.text, RESULT);
    client_close(&d, &a);
    end();
}


/* The variables of a request that waits for the GET stream have no session id
 * yet, so the response to a question would be sent without it. */
TEST(request_that_waits_for_the_GET_stream__gets_a_question_only_afterwards)
{
    static client_t  c;

    char                    id[MCP_EVENT_ID_MAX + 1];
    mcp_backend_request_t  *one, *post;

    opened(waits());
    one = sent();
    driver_wait(&d, MCP_UPSTREAM_ALONE_TIME);
    backend_send(&d, get(), ROOTS);
    has(a.text, "roots/list");
    backend_end(&d, get(), MCP_FAILURE_NONE);

    client_post(&d, 0, &c, session, CALL8);
    responds(one);
    driver_wait(&d, 1);
    assert_ptr_equal(d.breqs[0], get());
    has_not(c.text, "roots/list");

    opened(get());
    driver_wait(&d, MCP_UPSTREAM_LISTEN_QUESTION);
    question_id(c.text, "roots/list", id);
    reply(0, session, id, "\"result\":{}");
    post = first(MCP_BACKEND_REQUEST_RESPONSE);
    assert_non_null(post);
    assert_true(mcp_str_eq(post->variables.value[MCP_VARIABLE_UPSTREAM_SESSION],
                           mcp_str("s1")));
    backend_end(&d, post, MCP_FAILURE_NONE);

    responds(sent());
    client_close(&d, &a);
    client_close(&d, &c);
    end();
}


TEST(both_requests_of_a_session_end_with_an_open_question__server_gets_an_error)
{
    mcp_backend_request_t  *one, *two;

    one = two_calls(&two);
    responds(two);
    has_not(b.text, "notifications/cancelled");
    assert_null(first(MCP_BACKEND_REQUEST_RESPONSE));
    responds(one);
    refuses();

    client_close(&d, &a);
    client_close(&d, &b);
    end();
}


TEST(GET_stream_fails__its_question_is_refused_when_the_request_ends)
{
    mcp_backend_request_t  *one, *two;

    one = two_calls(&two);
    backend_send(&d, get(), EVENT("{"));
    responds(one);
    assert_null(first(MCP_BACKEND_REQUEST_RESPONSE));
    responds(two);
    has(b.text, "notifications/cancelled");
    has(b.text, RESULT);
    refuses();

    client_close(&d, &a);
    client_close(&d, &b);
    end();
}


TEST(only_request_ends_while_a_question_waits_for_room__server_gets_an_error)
{
    char  id[MCP_EVENT_ID_MAX + 1];

    full(id);
    cancel(0, session, "7");
    refuses();
    end();
}


TEST(process_ends_with_an_open_question__server_gets_an_error)
{
    waits();
    opened(get());
    backend_send(&d, get(), ROOTS);
    has(a.text, "roots/list");
    mcp_worker_stop(d.process[0].worker, 1);
    driver_pump(&d);
    backend_end(&d, sent(), MCP_FAILURE_REPLY);
    has(a.text, "notifications/cancelled");
    refuses();
    client_close(&d, &a);
    end();
}


/* Two calls of a session wait for the answer to a question. After "fails", ms,
 * the GET stream fails; 0: it does not fail. */
static void
times_out_after_the_question(uint64_t fails)
{
    mcp_backend_request_t  *two;

    d.endpoint.input_timeout = 4 * d.endpoint.call_timeout;
    two_calls(&two);

    if (fails) {
        driver_wait(&d, fails);
        backend_send(&d, get(), EVENT("{"));
    }

    driver_wait(&d, 4 * d.endpoint.call_timeout - 1 - fails);
    assert_int_equal(d.n_breqs, fails ? 2 : 3);

    /* the question times out, and later both requests */

    driver_wait(&d, 1);
    assert_non_null(first(MCP_BACKEND_REQUEST_RESPONSE));
    backend_end(&d, first(MCP_BACKEND_REQUEST_RESPONSE), MCP_FAILURE_NONE);
    driver_wait(&d, d.endpoint.call_timeout - 1);
    has_not(a.text, "error");
    driver_wait(&d, 1 + MCP_CALL_GRACE);
    has(a.text, "error");
    has(b.text, "error");

    client_close(&d, &a);
    client_close(&d, &b);
    end();
    quiet();
}


TEST(question_of_the_server_is_open__no_request_of_the_session_times_out)
{
    times_out_after_the_question(0);
}


TEST(GET_stream_fails_with_an_open_question__no_request_times_out_before_it)
{
    times_out_after_the_question(1);
}


TEST(GET_stream_fails_after_mcp_call_timeout__it_begins_again_after_the_question)
{
    times_out_after_the_question(d.endpoint.call_timeout + 1);
}


TEST(GET_stream_fails_and_its_question_is_refused__the_other_request_times_out)
{
    mcp_backend_request_t  *two;

    d.endpoint.input_timeout = 4 * d.endpoint.call_timeout;
    two_calls(&two);
    driver_wait(&d, d.endpoint.call_timeout);
    backend_send(&d, get(), EVENT("{"));
    responds(two);
    refuses();
    driver_wait(&d, d.endpoint.call_timeout - 1);
    has_not(a.text, "error");
    driver_wait(&d, 1 + MCP_CALL_GRACE);
    has(a.text, "error");

    client_close(&d, &a);
    client_close(&d, &b);
    end();
}


/* The timeout of the first call is postponed in the session that is lost, but
 * not in the next session. */
TEST(session_is_lost_after_a_postponed_timeout__the_next_one_is_not_postponed)
{
    client_t                c;
    uint64_t                wait;
    mcp_backend_request_t  *one, *two;

    wait = d.endpoint.call_timeout;
    d.endpoint.input_timeout = 4 * wait;
    one = two_calls(&two);
    driver_wait(&d, wait);

    /* the server has lost the session, and the second call ends */

    mcp_backend_request_head(one, 404, mcp_null_str);
    backend_end(&d, one, MCP_FAILURE_NONE);
    responds(two);
    refuses();
    client_close(&d, &b);

    mcp_backend_request_session(sent(), mcp_str("s2"));
    answer(VERSION);
    mcp_backend_request_head(sends("notifications/initialized"), 202,
                             mcp_null_str);
    backend_end(&d, d.breqs[0], MCP_FAILURE_NONE);
    opened(get());
    driver_wait(&d, MCP_UPSTREAM_ALONE_TIME);

    /* another call has a question for half of the timeout */

    d.endpoint.input_timeout = wait / 2;
    client_post(&d, 0, &c, session, REQUEST("9", "tools/call",
                                            "{\"name\":\"other\"}"));
    backend_send(&d, get(), ROOTS);
    has(c.text, "roots/list");
    driver_wait(&d, wait / 2);
    assert_non_null(first(MCP_BACKEND_REQUEST_RESPONSE));
    backend_end(&d, first(MCP_BACKEND_REQUEST_RESPONSE), MCP_FAILURE_NONE);
    has_not(a.text, "error");
    driver_wait(&d, wait / 2);
    has(a.text, "error");
    has_not(c.text, "error");

    client_close(&d, &a);
    client_close(&d, &c);
    driver_wait(&d, 2 * wait);
    end();
}


TEST(chosen_request_gets_no_stream__another_request_gets_the_question)
{
    mcp_backend_request_t  *listen, *breq;

    listen = waits();
    opened(listen);
    breq = sent();
    driver_wait(&d, 1500);
    client_post(&d, 0, &b, session, CALL8);

    d.endpoint.max_session_streams = 1;
    backend_send(&d, listen, ROOTS);
    has(b.text, "error");
    has_not(b.text, "roots/list");
    driver_wait(&d, 1);
    has(a.text, "roots/list");

    responds(breq);
    has(a.text, RESULT);
    refuses();
    client_close(&d, &a);
    client_close(&d, &b);
    end();
}


TEST(only_request_gets_no_stream_for_a_question__server_gets_an_error)
{
    mcp_stream_ref_t        ref;
    mcp_backend_request_t  *listen;

    listen = waits();
    opened(listen);
    hog(&ref);
    backend_send(&d, listen, ROOTS);
    has(a.text, "error");
    refuses();

    client_close(&d, &a);
    end();
    mcp_store_free(&d.process[1].store, &ref);
}


/* A further question on the same stream shows that the calls continue. */
TEST(question_on_the_GET_stream_exceeds_the_quota__it_is_refused_calls_continue)
{
    d.endpoint.quota_key = MCP_QUOTA_KEY_ADDRESS;
    d.endpoint.quota_bytes = 8 * 1024;
    opened(waits());
    driver_wait(&d, MCP_UPSTREAM_ALONE_TIME);
    client_post(&d, 0, &b, session, CALL8);
    assert_int_equal(d.n_breqs, 3);

    snprintf(line, sizeof(line),
             EVENT("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\","
                   "\"params\":{\"_meta\":{\"a\":\"%012000d\"}}}"), 0);
    backend_send(&d, get(), line);
    driver_wait(&d, MCP_CALL_RETRY);
    has_not(a.text, "error");
    has_not(b.text, "error");
    refuses();

    backend_send(&d, get(), ROOTS);
    has(b.text, "roots/list");

    responds(d.breqs[0]->kind == MCP_BACKEND_REQUEST_CALL ? d.breqs[0]
                                                          : d.breqs[1]);
    responds(sent());
    has(a.text, RESULT);
    has(b.text, RESULT);
    refuses();
    client_close(&d, &a);
    client_close(&d, &b);
    end();
}


TEST(GET_stream_ends__it_reopens_only_after_a_waiting_question_was_sent)
{
    char  id[MCP_EVENT_ID_MAX + 1];

    backend_end(&d, full(id), MCP_FAILURE_NONE);
    driver_wait(&d, 2 * MCP_UPSTREAM_LISTEN_AGAIN);
    assert_int_equal(d.n_breqs, 1);

    client_resume(&d, 0, &b, session, id);
    driver_wait(&d, MCP_CALL_RETRY);
    has(b.text, "roots/list");
    driver_wait(&d, MCP_UPSTREAM_LISTEN_AGAIN);
    assert_int_equal(d.n_breqs, 2);

    backend_end(&d, sent(), MCP_FAILURE_REPLY);
    client_close(&d, &b);
    end();
}


TEST(memory_runs_out_on_a_GET_stream_or_for_a_question__the_request_still_ends)
{
    unsigned long           k = 0;
    mcp_backend_request_t  *breq;

    while (test_next_failure(&d.te.tm, &k)) {
        client_open(&d, session, NEW, ALL);
        opened(waits());
        responds(sent());
        client_close(&d, &a);

        d.te.tm.fail_at = k;
        call_tool(&a);
        breq = first(MCP_BACKEND_REQUEST_LISTEN);

        if (breq) {
            opened(breq);
            backend_send(&d, breq, ROOTS);
            driver_wait(&d, 1);
        }

        d.te.tm.fail_at = 0;

        while ((breq = first(MCP_BACKEND_REQUEST_CALL)) != NULL) {
            responds(breq);
        }

        while ((breq = first(MCP_BACKEND_REQUEST_RESPONSE)) != NULL) {
            backend_end(&d, breq, MCP_FAILURE_REPLY);
        }

        client_close(&d, &a);
        driver_wait(&d, 100000);
        quiet();
    }

    assert_true(k > 8);
}


RUN_TESTS(setup_listen, teardown)

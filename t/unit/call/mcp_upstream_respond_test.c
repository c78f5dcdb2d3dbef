/* SPDX-License-Identifier: Apache-2.0 */

/* Responses to requests of an MCP server that does not confirm them: the number
 * of responses that wait, and further requests. */

#include "upstream_cases.h"

#include "call/mcp_upstream_question.h"
#include "call/mcp_upstream_respond.h"


#define MOST  (MCP_UPSTREAM_POSTS + MCP_UPSTREAM_POSTS_WAITING)


static mcp_backend_request_t  *stream;


/* Calls a tool. The server responds with a stream. */
static void
begins(void)
{
    call_tool(&a);
    open_session();
    stream = sends("\"tools/call\"");
    mcp_backend_request_head(stream, 200, mcp_str("text/event-stream"));
}


/* The server sends a request with this id. */
static void
asks(const char *method, size_t id)
{
    char  text[128];

    snprintf(text, sizeof(text), "data: {\"jsonrpc\":\"2.0\",\"id\":%zu,"
             "\"method\":\"%s\"}\n\n", id, method);
    assert_int_equal(backend_send(&d, stream, text), strlen(text));
}


/* Ends a POST. Returns its id. */
static size_t
confirms(void)
{
    size_t                  i, id;
    mcp_backend_request_t  *breq;

    for (i = 0; d.breqs[i]->kind != MCP_BACKEND_REQUEST_RESPONSE; i++) {
        /* the loop ends, because a POST runs */
    }

    breq = d.breqs[i];
    id = strtoul(strstr(breq->body.data, "\"id\":") + 5, NULL, 10);
    respond_202(breq);

    return id;
}


/* The server responds to the call. */
static void
responds(void)
{
    char  text[256];

    snprintf(text, sizeof(text), "data: {\"jsonrpc\":\"2.0\",\"id\":%lu,"
             "\"result\":" RESULT "}\n\n",
             strtoul(strstr(stream->body.data, "\"id\":") + 5, NULL, 10));
    backend_send(&d, stream, text);
    backend_end(&d, stream, MCP_FAILURE_NONE);
    has(a.text, RESULT);
}


/* Ends all POSTs and then the call. Checks that the server has got the
 * responses with the ids below n. */
static void
confirms_all(size_t n)
{
    size_t  i;
    char    got[2 * MOST];

    memset(got, 0, sizeof(got));

    while (d.n_breqs > 1) {
        i = confirms();
        assert_in_range(i, 0, n - 1);
        assert_int_equal(got[i]++, 0);
    }

    for (i = 0; i < n; i++) {
        assert_int_equal(got[i], 1);
    }

    responds();
    client_close(&d, &a);
    end();
    quiet();
}


TEST(POSTs_are_not_confirmed__at_most_32_run_and_32_wait_further_pings_get_none)
{
    size_t    i;
    unsigned  logged;

    begins();
    logged = d.te.logged;

    for (i = 0; i < MOST; i++) {
        asks("ping", i);
    }

    assert_int_equal(d.n_breqs, 1 + MCP_UPSTREAM_POSTS);
    assert_int_equal(d.te.logged, logged);
    asks("ping", MOST);
    asks("ping", MOST + 1);
    assert_int_equal(d.te.logged, logged + 1);
    confirms_all(MOST);
}


TEST(as_many_POSTs_wait_as_may__a_question_is_held_until_a_POST_is_confirmed)
{
    char    text[8192];
    size_t  i, len;

    begins();
    len = 0;

    for (i = 0; i < MOST + 3; i++) {
        len += (size_t) snprintf(text + len, sizeof(text) - len,
                                 "data: {\"jsonrpc\":\"2.0\",\"id\":%zu,"
                                 "\"method\":\"unknown\"}\n\n", i);
    }

    backend_send(&d, stream, text);
    assert_int_equal(backend_send(&d, stream, ":\n\n"), 0);
    assert_int_equal(d.n_breqs, 1 + MCP_UPSTREAM_POSTS);
    confirms_all(MOST + 3);
}


TEST(as_many_POSTs_wait_as_may__the_answer_of_the_client_waits_as_well)
{
    char    id[MCP_EVENT_ID_MAX + 1];
    size_t  i;

    client_open(&d, session, NEW, ALL);
    begins();
    asks("roots/list", MOST);

    for (i = 0; i < MOST; i++) {
        asks("ping", i);
    }

    question_id(a.text, "roots/list", id);
    reply(0, session, id, "\"result\":{}");
    assert_int_equal(d.n_breqs, 1 + MCP_UPSTREAM_POSTS);
    confirms_all(MOST + 1);
}


TEST(call_ends_while_POSTs_wait__all_are_sent_before_its_session_ends)
{
    size_t  i;

    target.session = MCP_UPSTREAM_OF_CALL;
    begins();

    for (i = 0; i < MOST; i++) {
        asks("ping", i);
    }

    responds();

    for (i = 0; i < MOST; i++) {
        assert_int_equal(d.breqs[0]->kind, MCP_BACKEND_REQUEST_RESPONSE);
        confirms();
    }

    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(d.breqs[0]->http_method, MCP_BACKEND_REQUEST_DELETE);
    end();
}


RUN_TESTS(setup_upstream, teardown)

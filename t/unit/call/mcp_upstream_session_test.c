/* SPDX-License-Identifier: Apache-2.0 */

/* Which callers share a session at an MCP server. */

#include "upstream_cases.h"

#include "call/mcp_upstream_session.h"


static client_t  others[2];


/* Two clients of one principal open sessions here and call a tool. Copies the
 * keys of the sessions that this opens at the MCP server. */
static void
two_clients(mcp_upstream_of_e of, char keys[2][MCP_STREAM_TEXT_LEN])
{
    size_t     i;
    mcp_str_t  affinity;

    target.session = of;

    for (i = 0; i < 2; i++) {
        client_open_as(&d, session, "alice", NEW, ALL);
        client_post_as(&d, 0, &others[i], session, "alice", CALL);

        if (of != MCP_UPSTREAM_OF_PRINCIPAL || i == 0) {
            open_session();
        }

        sends("tools/call");
        affinity = d.breqs[0]->variables.value[MCP_VARIABLE_UPSTREAM_AFFINITY];
        assert_int_equal(affinity.len, MCP_STREAM_TEXT_LEN);
        memcpy(keys[i], affinity.data, affinity.len);
        answer(RESULT);
        assert_string_equal(others[i].text, ANSWER);
        client_close(&d, &others[i]);
    }
}


TEST(mcp_upstream_session_is_client__each_client_has_its_own_session)
{
    char  keys[2][MCP_STREAM_TEXT_LEN];

    two_clients(MCP_UPSTREAM_OF_CLIENT, keys);
    assert_memory_not_equal(keys[0], keys[1], MCP_STREAM_TEXT_LEN);
}


TEST(mcp_upstream_session_is_principal__DELETE_does_not_end_the_shared_session)
{
    char  keys[2][MCP_STREAM_TEXT_LEN];

    two_clients(MCP_UPSTREAM_OF_PRINCIPAL, keys);
    assert_memory_equal(keys[0], keys[1], MCP_STREAM_TEXT_LEN);

    client_init(&a, session);
    a.principal = "alice";
    client_send(&d, 0, &a, "DELETE", "");
    assert_int_equal(a.status, 204);
    assert_int_equal(d.n_breqs, 0);
}


TEST(upstream_session_in_the_zone_has_an_unknown_revision__it_is_replaced)
{
    unsigned char  key[MCP_DIGEST_LEN];

    call_tool(&a);
    memcpy(key, d.breqs[0]->call->requests[0].session->key, MCP_DIGEST_LEN);
    open_session();
    answer(RESULT);
    client_close(&d, &a);

    mcp_store_value_delete(&d.process[1].store, MCP_VALUE_UPSTREAM_SESSION,
                           key);
    assert_ok(mcp_store_text_add(&d.process[1].store,
                                 MCP_VALUE_UPSTREAM_SESSION, key,
                                 mcp_str("1999-01-01 s1"), 1, 0, NULL));

    call_tool(&a);
    open_session();
    answer(RESULT);
    client_close(&d, &a);
    assert_int_equal(d.n_breqs, 0);

    call_tool(&a);
    sends("tools/call");
    answer(RESULT);
}


TEST(mcp_upstream_session_is_principal__initialize_declares_no_capabilities)
{
    target.session = MCP_UPSTREAM_OF_PRINCIPAL;
    client_open_as(&d, session, "alice", NEW, ALL);
    client_post_as(&d, 0, &a, session, "alice", CALL);
    has(d.last_body, "\"capabilities\":{}");
    client_close(&d, &a);
    open_session();
    end();
}


/* A client of 2026-07-28 has no session, so the session at the server ends with
 * its call. */
TEST(call_ends_while_the_reply_to_a_ping_is_sent__session_ends_after_the_reply)
{
    const char             *id;
    mcp_backend_request_t  *call, *post;

    modern_call(0, &a, "");
    open_session();
    call = sends("tools/call");
    mcp_backend_request_head(call, 200, mcp_str("text/event-stream"));
    backend_send(&d, call, "data: {\"jsonrpc\":\"2.0\",\"id\":1,"
                           "\"method\":\"ping\"}\n\n");
    assert_int_equal(d.n_breqs, 2);
    post = d.breqs[1];
    assert_int_equal(post->kind, MCP_BACKEND_REQUEST_RESPONSE);
    assert_true(post->urgent);
    assert_true(call->asks);

    id = memmem(call->body.data, call->body.len, "\"id\":", 5);
    assert_non_null(id);
    snprintf(line, sizeof(line),
             "data: {\"jsonrpc\":\"2.0\",%.*s,\"result\":" RESULT "}\n\n",
             (int) strcspn(id, ",}"), id);
    backend_send(&d, call, line);
    backend_end(&d, call, MCP_FAILURE_NONE);
    has(a.text, "\"hi\"");
    assert_int_equal(d.n_breqs, 1);
    assert_ptr_equal(d.breqs[0], post);

    mcp_backend_request_head(post, 202, mcp_null_str);
    backend_end(&d, post, MCP_FAILURE_NONE);
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(d.breqs[0]->http_method, MCP_BACKEND_REQUEST_DELETE);
    end();
    client_close(&d, &a);
}


RUN_TESTS(setup_upstream, teardown)


/* Checks when the glue starts the only running backend request. */
static void
ranks(unsigned urgent, unsigned asks)
{
    assert_int_equal(d.n_breqs, 1);
    assert_int_equal(d.breqs[0]->urgent, urgent);
    assert_int_equal(d.breqs[0]->asks, asks);
}


TEST(requests_of_a_call_in_a_session__asks_until_DELETE_which_is_urgent)
{
    modern_call(0, &a, "");
    sends("initialize");
    ranks(0, 1);
    open_session();
    sends("tools/call");
    ranks(0, 1);
    answer(RESULT);
    assert_int_equal(d.breqs[0]->http_method, MCP_BACKEND_REQUEST_DELETE);
    ranks(1, 0);
    end();
    client_close(&d, &a);
}


TEST(call_in_a_session_is_cancelled__the_notification_is_urgent)
{
    call_tool(&a);
    open_session();
    sends("tools/call");
    client_post(&d, 0, &others[0], session,
                NOTE("notifications/cancelled", "{\"requestId\":7}"));
    sends("notifications/cancelled");
    ranks(1, 0);
    end();
    client_close(&d, &others[0]);
    client_close(&d, &a);
}

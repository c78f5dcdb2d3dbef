/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of sessions that are deleted, expired, forged, or of another
 * principal. */

#include "core_cases.h"


TEST(session_is_deleted__its_requests_get_404_at_each_process)
{
    char               other[MCP_SESSION_TEXT_MAX];
    static const char  last[] = "AAAAAAAAAAAAAAAAAAAAAA.1";

    client_open(&d, other, NEW, ALL);
    end_session(1, session);
    assert_int_equal(stats().counter[MCP_COUNT_SESSIONS_DELETED], 1);

    /* the session is deleted at process 1: every request with it, DELETE as
     * well, is rejected at both processes */

    ask(session, PING, 404, "-32001");
    ask(session, NOTE("notifications/x", "{}"), 404, "-32001");
    ask(session, CALL, 404, "\"id\":7");

    client_resume(&d, 0, &a, session, NULL);
    answered(&a, 404, "-32001");

    client_resume(&d, 1, &a, session, last);
    answered(&a, 404, NULL);

    client_init(&a, session);
    client_send(&d, 0, &a, "DELETE", "");
    answered(&a, 404, NULL);

    ask(other, PING, 200, PONG);
}


TEST(session_is_accepted_until_its_lifetime_has_passed)
{
    d.te.now += 3600000 - 1000;
    ask(session, PING, 200, PONG);
    d.te.now += 3000;
    ask(session, PING, 404, "-32001");
}


/* The mark that a session was deleted is kept until the token of the session
 * has expired. */
TEST(deletion_of_a_session_is_stored_until_the_session_expires)
{
    end_session(0, session);
    driver_wait(&d, 3600000 - 5000);
    ask(session, PING, 404, "-32001");
    driver_wait(&d, 10000);
    ask(session, PING, 404, "-32001");
    assert_int_equal(stats().values, 0);
}


/* The log level of a tenant has used up its quota_values: a session of the
 * tenant can still be deleted. The mark that the session was deleted replaces
 * the mark of a session that was deleted before. */
TEST(mcp_quota_values_is_used_up__a_session_can_still_be_deleted)
{
    char  second[MCP_SESSION_TEXT_MAX], third[MCP_SESSION_TEXT_MAX];

    d.endpoint.quota_key = MCP_QUOTA_KEY_PRINCIPAL;
    d.endpoint.quota_values = 1;

    client_open(&d, second, NEW, ALL);
    client_open(&d, third, NEW, ALL);
    ask(third, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\","
        "\"params\":{\"level\":\"error\"}}", 200, "\"result\":{}");

    end_session(0, session);
    ask(session, PING, 404, "-32001");
    end_session(1, second);
    ask(second, PING, 404, "-32001");
    ask(session, PING, 200, PONG);             /* its mark was replaced, so the
                                                  session is valid again */
    end_session(0, third);
    ask(third, PING, 404, "-32001");

    assert_int_equal(stats().counter[MCP_COUNT_REJECTED_LIMIT], 0);
    assert_int_equal(stats().values, 1);
}


TEST(only_the_principal_of_a_session_can_use_or_delete_it)
{
    static const char *const  who[] = { "bob", NULL, "Ada", "" };

    size_t  i;
    char    own[MCP_SESSION_TEXT_MAX];

    client_open_as(&d, own, "ada", NEW, "{}");
    client_post_as(&d, 1, &a, own, "ada", PING);
    assert_int_equal(a.status, 200);
    variable_is(mcp_exchange_variables(a.x), MCP_VARIABLE_PRINCIPAL, "ada");
    client_close(&d, &a);

    /* another principal, or none, cannot use or delete the session */

    for (i = 0; i < ITEMS(who); i++) {
        client_post_as(&d, 1, &a, own, who[i], PING);
        answered(&a, 404, NULL);

        client_init(&a, own);
        a.principal = who[i];
        client_send(&d, 1, &a, "DELETE", "");
        answered(&a, 404, NULL);
    }

    client_init(&a, session);
    a.principal = "ada";
    client_send(&d, 0, &a, "POST", PING);
    assert_int_equal(a.status, 404);
}


RUN_TESTS(setup, teardown)

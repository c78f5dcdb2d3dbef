/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of initialize: the negotiated revision, the capabilities, the
 * session. */

#include "core_cases.h"


TEST(initialize_returns_a_supported_revision_and_a_new_session)
{
    static const struct {
        const char  *wanted;
        const char  *got;
    } revisions[] = {
        { NEW, NEW }, { MIDDLE, MIDDLE }, { OLD, OLD },
        { "2024-11-05", NEW }, { "2099-01-01", NEW }, { "x", NEW }
    };

    size_t  i;
    char    body[512];

    d.endpoint.title = mcp_str("A \"title\"");

    for (i = 0; i < ITEMS(revisions); i++) {
        snprintf(body, sizeof(body),
                 REQUEST("\"i\"", "initialize", "{\"protocolVersion\":\"%s\","
                         "\"capabilities\":{},\"clientInfo\":{}}"),
                 revisions[i].wanted);
        client_post(&d, 0, &a, NULL, body);
        assert_int_equal(a.status, 200);

        snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":\"i\","
                 "\"result\":{\"protocolVersion\":\"%s\",\"capabilities\":{",
                 revisions[i].got);
        has(a.text, body);
        has(a.text, "\"instructions\":\"Be kind.\"}}");
        has(a.text, "\"serverInfo\":{\"name\":\"driver\"");
        assert_int_equal(count(a.text, "\"title\":\"A \\\"title\\\"\""),
                         strcmp(revisions[i].got, OLD) != 0);
        assert_true(a.session[0] != '\0');

        strcpy(body, a.session);
        client_close(&d, &a);
        ask(body, PING, 200, PONG);
    }

    /* initialize with a session id: a new session with another id */

    client_post(&d, 0, &a, session,
                REQUEST("1", "initialize", "{\"protocolVersion\":\"" NEW
                        "\"}"));
    assert_int_equal(a.status, 200);
    assert_string_not_equal(a.session, session);
    client_close(&d, &a);

    /* initialize stores nothing in the zone */

    assert_int_equal(stats().values, 0);
    assert_int_equal(stats().streams, 0);

    ask(NULL, REQUEST("1", "initialize", "{}"), 200, "-32602");
    ask(NULL, REQUEST("1", "initialize", "{\"protocolVersion\":1}"), 200,
        "-32602");
    ask(NULL, NOTE("initialize", "{}"), 400, "-32000");

    /* random bytes can be had neither from the worker, which fetches some in
     * advance, nor from the system: 500 */

    d.process[0].worker->n_random = 0;
    d.te.random_rc = MCP_ERR_INTERNAL;
    ask(NULL, REQUEST("1", "initialize", "{\"protocolVersion\":\"" NEW
                      "\"}"), 500, "-32603");

    /* without random bytes, a call cannot get an id either */

    client_post(&d, 0, &a, session, CALL);
    assert_int_equal(a.next, MCP_NEXT_ERROR);
    client_close(&d, &a);
    d.te.random_rc = MCP_OK;
}


RUN_TESTS(setup, teardown)

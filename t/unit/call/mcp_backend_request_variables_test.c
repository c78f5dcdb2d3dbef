/* SPDX-License-Identifier: Apache-2.0 */

/* Variables of a backend request. */

#include "round_cases.h"


/* A backend receives the request unchanged, and variables about it. */
TEST(backend_gets_the_request_unchanged_and_variables_that_describe_the_request)
{
    static const struct {
        const char  *method;
        const char  *params;
        const char  *name;
        const char  *result;
    } calls[] = {
        { "tools/call", "{\"name\":\"ech\\u006f\"}", "echo",
          "{\"content\":[]}" },
        { "prompts/get", "{\"name\":\"p\",\"arguments\":{\"a\":\"b\"}}", "p",
          "{\"messages\":[]}" },
        { "resources/read", "{\"uri\":\"test://a\"}", "test://a",
          "{\"contents\":[]}" },
        { "resources/read", "{\"uri\":\"test://t/5\"}", "test://t/5",
          "{\"contents\":[]}" },
        { "completion/complete",
          "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},"
          "\"argument\":{\"name\":\"a\",\"value\":\"b\"}}", "p",
          "{\"completion\":{\"values\":[]}}" },
        { "completion/complete",
          "{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"test://t/{id}\"}}",
          "test://t/{id}", "{\"completion\":{\"values\":[]}}" }
    };

    size_t  i;
    char    body[512];

    for (i = 0; i < ITEMS(calls); i++) {
        snprintf(body, sizeof(body), REQUEST("\"q\"", "%s", "%s"),
                 calls[i].method, calls[i].params);
        client_post(&d, i % 2, &a, session, body);

        if (d.n_breqs != 1) {
            fail_msg("%s: %s", body, a.text);
        }

        assert_string_equal(d.last_body, body);
        variable_is(&d.breqs[0]->variables, MCP_VARIABLE_METHOD,
                    calls[i].method);
        variable_is(&d.breqs[0]->variables, MCP_VARIABLE_NAME, calls[i].name);
        variable_is(&d.breqs[0]->variables, MCP_VARIABLE_REQUEST_ID, "\"q\"");
        variable_is(&d.breqs[0]->variables, MCP_VARIABLE_PROGRESS_TOKEN, "");
        variable_is(&d.breqs[0]->variables, MCP_VARIABLE_PROTOCOL_VERSION, NEW);
        variable_is(&d.breqs[0]->variables, MCP_VARIABLE_CLIENT_CAPABILITIES,
                    ALL);

        backend_json(&d, calls[i].result);
        snprintf(body, sizeof(body),
                 "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":%s}",
                 calls[i].result);
        assert_string_equal(a.text, body);
        client_close(&d, &a);
    }
}


TEST(backend_gets_the_known_capabilities_that_the_session_declared)
{
    static const struct {
        const char  *declared;
        const char  *variable;
    } cases[] = {
        { "{}", "{}" },
        { "{\"roots\":{\"listChanged\":true}}", "{\"roots\":{}}" },
        { "{\"sampling\":{\"tools\":{}}}", "{\"sampling\":{\"tools\":{}}}" },
        { "{\"elicitation\":{}}", "{\"elicitation\":{}}" },
        { "{\"elicitation\":{\"url\":{}}}", "{\"elicitation\":{\"url\":{}}}" },
        { "{\"elicitation\":{\"url\":{},\"form\":{}},\"roots\":{}}",
          "{\"elicitation\":{\"form\":{},\"url\":{}},\"roots\":{}}" }
    };

    size_t  i;
    char    own[MCP_SESSION_TEXT_MAX];

    for (i = 0; i < ITEMS(cases); i++) {
        client_open(&d, own, NEW, cases[i].declared);
        client_post(&d, 0, &a, own, CALL);
        variable_is(&d.breqs[0]->variables, MCP_VARIABLE_CLIENT_CAPABILITIES,
                cases[i].variable);
        backend_json(&d, RESULT);
        client_close(&d, &a);
    }
}


/* Capabilities that a request declares are passed as one line; those that do
 * not fit into a line are reduced to the known ones. */
TEST(request_declares_capabilities__the_backend_gets_them_as_one_line)
{
    size_t  i;
    char    big[6000];

    static const struct {
        const char  *declared;
        const char  *variable;
    } cases[] = {
        { "{}", "{}" },
        { "{\"extensions\":{\"a/b\":{\"c\":[1.0]}}}",
          "{\"extensions\":{\"a/b\":{\"c\":[1.0]}}}" },
        { "{\r\n\t\"roots\" :\n{ }\n}", "{   \"roots\" : { } }" },
        { "{\"roots\":{},\"x\":\"\x7f\"}", "{\"roots\":{}}" }
    };

    for (i = 0; i < ITEMS(cases); i++) {
        round_can = cases[i].declared;
        modern_call(0, &a, "");
        variable_is(&d.breqs[0]->variables, MCP_VARIABLE_CLIENT_CAPABILITIES,
                cases[i].variable);
        backend_json(&d, RESULT);
        client_close(&d, &a);
    }

    snprintf(big, sizeof(big), "{\"sampling\":{},\"x\":%04096d}", 1);
    memcpy(strstr(big, "000"), "\"00", 3);
    big[strlen(big) - 2] = '"';
    round_can = big;
    modern_call(0, &a, "");
    variable_is(&d.breqs[0]->variables, MCP_VARIABLE_CLIENT_CAPABILITIES,
            "{\"sampling\":{}}");
    backend_json(&d, RESULT);
    client_close(&d, &a);
    round_can = EVERYTHING;
}


RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: Apache-2.0 */

/* Which questions a client supports. */

#include "core_cases.h"

#include "call/mcp_input.h"


#define FORM   "{\"mode\":\"form\"}"
#define URL    "{\"mode\":\"url\",\"url\":\"https://h/\"}"
#define ASKED  "\"mode\":\"url\",\"url\":\"https://h/\",\"elicitationId\":"
#define TOOLS  "{\"tools\":[{\"name\":\"x\"}]}"

#define CAN_URL    "{\"elicitation\":{\"url\":{}}}"
#define CAN_BOTH   "{\"elicitation\":{\"form\":{},\"url\":{}}}"
#define CONTEXT    "{\"includeContext\":\"thisServer\"}"
#define CAN_CONTEXT  "{\"sampling\":{\"context\":{}}}"
#define CAN_TOOLS  "{\"sampling\":{\"tools\":{}}}"


/* A client gets only questions for which it has declared the capability, and
 * which its revision defines. */
TEST(client_lacks_the_capability_or_revision_for_a_question__the_call_fails)
{
    static const struct {
        const char  *revision;
        const char  *declared;
        const char  *method;
        const char  *params;
        int          can;
    } cases[] = {
        { NEW, ALL, "elicitation/create", "{}", 1 },
        { NEW, ALL, "sampling/createMessage", "{}", 1 },
        { NEW, ALL, "roots/list", "{}", 1 },
        { NEW, "{}", "elicitation/create", "{}", 0 },
        { NEW, "{}", "sampling/createMessage", "{}", 0 },
        { NEW, "{}", "roots/list", "{}", 0 },
        { NEW, "{\"roots\":{}}", "elicitation/create", "{}", 0 },
        { MIDDLE, ALL, "elicitation/create", "{}", 1 },
        { OLD, ALL, "elicitation/create", "{}", 0 },
        { OLD, ALL, "sampling/createMessage", "{}", 1 },
        { OLD, ALL, "roots/list", "{}", 1 },

        /* a question without a mode is a form; a capability "elicitation"
         * without members means forms */

        { NEW, ALL, "elicitation/create", FORM, 1 },
        { NEW, ALL, "elicitation/create", URL, 0 },
        { NEW, "{}", "elicitation/create", URL, 0 },
        { NEW, CAN_URL, "elicitation/create", URL, 1 },
        { NEW, CAN_URL, "elicitation/create", FORM, 0 },
        { NEW, CAN_URL, "elicitation/create", "{}", 0 },
        { NEW, CAN_BOTH, "elicitation/create", URL, 1 },
        { NEW, CAN_BOTH, "elicitation/create", FORM, 1 },
        { NEW, CAN_BOTH, "elicitation/create", "{}", 1 },
        { MIDDLE, CAN_URL, "elicitation/create", URL, 0 },
        { MIDDLE, CAN_BOTH, "elicitation/create", URL, 0 },
        { MIDDLE, CAN_BOTH, "elicitation/create", FORM, 1 },
        { OLD, CAN_BOTH, "elicitation/create", URL, 0 },

        { NEW, ALL, "sampling/createMessage", TOOLS, 0 },
        { NEW, ALL, "sampling/createMessage", "{\"tools\":[]}", 0 },
        { NEW, ALL, "sampling/createMessage", "{\"toolChoice\":{}}", 0 },
        { NEW, CAN_TOOLS, "sampling/createMessage", TOOLS, 1 },
        { NEW, CAN_TOOLS, "sampling/createMessage", "{\"tools\":[]}", 1 },
        { NEW, CAN_TOOLS, "sampling/createMessage", "{\"toolChoice\":{}}",
          1 },
        { NEW, CAN_TOOLS, "sampling/createMessage", "{}", 1 },

        /* includeContext needs the capability "sampling.context", except in
         * older revisions */

        { NEW, ALL, "sampling/createMessage", CONTEXT, 0 },
        { NEW, ALL, "sampling/createMessage",
          "{\"includeContext\":\"none\"}", 1 },
        { NEW, CAN_TOOLS, "sampling/createMessage", CONTEXT, 0 },
        { NEW, CAN_CONTEXT, "sampling/createMessage", CONTEXT, 1 },
        { NEW, CAN_CONTEXT, "sampling/createMessage", TOOLS, 0 },
        { MIDDLE, ALL, "sampling/createMessage", CONTEXT, 1 },
        { MIDDLE, "{}", "sampling/createMessage", CONTEXT, 0 },
        { OLD, ALL, "sampling/createMessage", CONTEXT, 1 }
    };

    size_t  i;
    char    own[MCP_SESSION_TEXT_MAX], body[512], id[72];

    for (i = 0; i < ITEMS(cases); i++) {
        client_open(&d, own, cases[i].revision, cases[i].declared);
        client_post(&d, 0, &a, own, CALL);
        snprintf(body, sizeof(body),
                 "{\"resultType\":\"input_required\",\"inputRequests\":{"
                 "\"k\":{\"method\":\"%s\",\"params\":%s}},"
                 "\"requestState\":\"s\"}",
                 cases[i].method, cases[i].params);
        backend_json(&d, body);

        if (a.streaming != cases[i].can) {
            fail_msg("%s with %s of a client of %s with %s",
                     cases[i].method, cases[i].params, cases[i].revision,
                     cases[i].declared);
        }

        if (cases[i].can) {
            has(a.text, strcmp(cases[i].params, URL) ? cases[i].params : ASKED);
            question_id(a.text, cases[i].method, id);
            reply(1, own, id, "\"result\":{}");
            gets_json_result(&a);

        } else {
            assert_int_equal(a.status, 200);
            has(a.text, "\"isError\":true");
            has(a.text, cases[i].method);
        }

        client_close(&d, &a);
        quiet();
    }

    /* the client supports one of two questions: it gets neither */

    client_open(&d, own, NEW, "{\"roots\":{}}");
    client_post(&d, 0, &a, own, CALL);
    backend_json(&d, ASK);
    has(a.text, "does not support elicitation/create");
    has_not(a.text, "\"method\":\"roots/list\"");
    client_close(&d, &a);

    /* the request is prompts/get: the failure is a JSON-RPC error, because
     * results for prompts have no isError */

    client_post(&d, 0, &a, own, REQUEST("7", "prompts/get",
                                        "{\"name\":\"p\"}"));
    backend_json(&d, "{\"resultType\":\"input_required\",\"inputRequests\":{"
                     "\"k\":{\"method\":\"elicitation/create\","
                     "\"params\":{}}},\"requestState\":\"s\"}");
    has(a.text, "-32603");
}


/* The capabilities that the client lacks for a set of questions are returned
 * as one JSON object. */
TEST(client_lacks_capabilities_for_questions__a_json_object_names_them_all)
{
    mcp_buf_t       buf;
    mcp_client_t    client;
    mcp_question_t  q[3];

    static const struct {
        unsigned     bits;
        const char  *object;
    } cases[] = {
        { 0, "{}" },
        { MCP_CLIENT_ELICITATION, "{\"elicitation\":{}}" },
        { MCP_CLIENT_ELICITATION_URL, "{\"elicitation\":{\"url\":{}}}" },
        { MCP_CLIENT_ELICITATION | MCP_CLIENT_ELICITATION_URL,
          "{\"elicitation\":{\"form\":{},\"url\":{}}}" },
        { MCP_CLIENT_SAMPLING | MCP_CLIENT_ELICITATION | MCP_CLIENT_ROOTS,
          "{\"sampling\":{},\"elicitation\":{},\"roots\":{}}" },
        { MCP_CLIENT_SAMPLING | MCP_CLIENT_SAMPLING_TOOLS,
          "{\"sampling\":{\"tools\":{}}}" },
        { MCP_CLIENT_SAMPLING | MCP_CLIENT_SAMPLING_CONTEXT,
          "{\"sampling\":{\"context\":{}}}" },
        { MCP_CLIENT_SAMPLING | MCP_CLIENT_SAMPLING_TOOLS
          | MCP_CLIENT_SAMPLING_CONTEXT,
          "{\"sampling\":{\"tools\":{},\"context\":{}}}" }
    };

    size_t  i;

    memset(&client, 0, sizeof(client));
    memset(q, 0, sizeof(q));
    client.revision = MCP_REVISION_2026_07_28;
    q[0].method = mcp_str("roots/list");
    q[1].method = mcp_str("elicitation/create");
    q[1].params = mcp_str(URL);
    q[2].method = mcp_str("sampling/createMessage");
    q[2].params = mcp_str(TOOLS);

    assert_int_equal(mcp_input_lacks(&client, q, 0), 0);
    assert_int_equal(mcp_input_lacks(&client, q, 3),
                     MCP_CLIENT_ROOTS | MCP_CLIENT_ELICITATION_URL
                     | MCP_CLIENT_SAMPLING | MCP_CLIENT_SAMPLING_TOOLS);
    client.capabilities = MCP_CLIENT_ROOTS | MCP_CLIENT_SAMPLING;
    assert_int_equal(mcp_input_lacks(&client, q, 3),
                     MCP_CLIENT_ELICITATION_URL | MCP_CLIENT_SAMPLING_TOOLS);
    client.capabilities |= MCP_CLIENT_ELICITATION_URL
                           | MCP_CLIENT_SAMPLING_TOOLS;
    assert_int_equal(mcp_input_lacks(&client, q, 3), 0);

    /* 2026-07-28: the server sends no requests, questions are results */

    assert_int_equal(mcp_input_possible(&client), 0);
    client.revision = MCP_REVISION_2025_11_25;
    assert_int_equal(mcp_input_possible(&client), 1);

    for (i = 0; i < ITEMS(cases); i++) {
        mcp_buf_init(&buf, &d.te.env.mem, 256);
        mcp_input_capabilities(cases[i].bits, &buf);
        assert_str_is(((mcp_str_t) { buf.data, buf.len }), cases[i].object);
        mcp_buf_free(&buf);
    }
}


RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: Apache-2.0 */

/* The table of methods has a row for each method, and the lookup by name finds
 * the row. */


#include "test_env.h"

#include "rpc/mcp_method.h"


TEST(each_method_is_found_by_its_name)
{
    static const struct {
        const char    *name;
        mcp_method_e   id;
        int            list_kind;
        int            want;
    } cases[] = {
        { "initialize", MCP_METHOD_INITIALIZE,
          -1, MCP_WANT_PLAIN },
        { "ping", MCP_METHOD_PING,
          -1, MCP_WANT_PLAIN },
        { "tools/list", MCP_METHOD_TOOLS_LIST,
          MCP_LIST_TOOLS, MCP_WANT_PLAIN },
        { "tools/call", MCP_METHOD_TOOLS_CALL,
          -1, MCP_WANT_TOOL },
        { "prompts/list", MCP_METHOD_PROMPTS_LIST,
          MCP_LIST_PROMPTS, MCP_WANT_PLAIN },
        { "prompts/get", MCP_METHOD_PROMPTS_GET,
          -1, MCP_WANT_PROMPT },
        { "resources/list", MCP_METHOD_RESOURCES_LIST,
          MCP_LIST_RESOURCES, MCP_WANT_PLAIN },
        { "resources/templates/list", MCP_METHOD_RESOURCES_TEMPLATES_LIST,
          MCP_LIST_TEMPLATES, MCP_WANT_PLAIN },
        { "resources/read", MCP_METHOD_RESOURCES_READ,
          -1, MCP_WANT_RESOURCE },
        { "resources/subscribe", MCP_METHOD_RESOURCES_SUBSCRIBE,
          -1, MCP_WANT_PLAIN },
        { "resources/unsubscribe", MCP_METHOD_RESOURCES_UNSUBSCRIBE,
          -1, MCP_WANT_PLAIN },
        { "completion/complete", MCP_METHOD_COMPLETION_COMPLETE,
          -1, MCP_WANT_PLAIN },
        { "logging/setLevel", MCP_METHOD_LOGGING_SET_LEVEL,
          -1, MCP_WANT_PLAIN },
        { "requests/getStatus", MCP_METHOD_REQUESTS_GET_STATUS,
          -1, MCP_WANT_PLAIN },
        { "requests/resume", MCP_METHOD_REQUESTS_RESUME,
          -1, MCP_WANT_PLAIN },
        { "stream/poll", MCP_METHOD_STREAM_POLL,
          -1, MCP_WANT_PLAIN },
        { "stream/poll/all", MCP_METHOD_STREAM_POLL_ALL,
          -1, MCP_WANT_PLAIN },
        { "stream/resume", MCP_METHOD_STREAM_RESUME,
          -1, MCP_WANT_PLAIN },
        { "server/discover", MCP_METHOD_SERVER_DISCOVER,
          -1, MCP_WANT_PLAIN },
        { "subscriptions/listen", MCP_METHOD_SUBSCRIPTIONS_LISTEN,
          -1, MCP_WANT_PLAIN },
        { "tasks/get", MCP_METHOD_TASKS_GET,
          -1, MCP_WANT_PLAIN },
        { "tasks/update", MCP_METHOD_TASKS_UPDATE,
          -1, MCP_WANT_PLAIN },
        { "tasks/cancel", MCP_METHOD_TASKS_CANCEL,
          -1, MCP_WANT_PLAIN },
        { "notifications/initialized", MCP_METHOD_NOTIFICATION_INITIALIZED,
          -1, MCP_WANT_PLAIN },
        { "notifications/cancelled", MCP_METHOD_NOTIFICATION_CANCELLED,
          -1, MCP_WANT_PLAIN },
        { "notifications/progress", MCP_METHOD_NOTIFICATION_PROGRESS,
          -1, MCP_WANT_PLAIN },
        { "notifications/roots/list_changed",
          MCP_METHOD_NOTIFICATION_ROOTS_LIST_CHANGED,
          -1, MCP_WANT_PLAIN },
    };

    size_t               i;
    const mcp_method_t  *m;

    assert_int_equal(sizeof(cases) / sizeof(cases[0]), MCP_METHOD_COUNT - 1);

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        m = mcp_method_find(test_str(cases[i].name));

        assert_int_equal(m->id, cases[i].id);
        assert_str_is(m->name, cases[i].name);
        assert_int_equal(m->list_kind, cases[i].list_kind);
        assert_int_equal(m->want, cases[i].want);
        assert_ptr_equal(m, mcp_method(cases[i].id));
    }
}


/* The revisions that have a method, the parameter that Mcp-Name mirrors, and
 * the methods whose results may be cached or ask questions (2026-07-28). */
TEST(each_method_has_the_specified_revisions_and_subject_and_flags)
{
    static const struct {
        const char     *name;
        unsigned        session, stateless, caches, asks;
        mcp_subject_e   subject;
    } cases[] = {
        { "tasks/get", 0, 1, 0, 0, MCP_SUBJECT_TASK },
        { "tasks/update", 0, 1, 0, 0, MCP_SUBJECT_TASK },
        { "tasks/cancel", 0, 1, 0, 0, MCP_SUBJECT_TASK },
        { "initialize", 1, 0, 0, 0, MCP_SUBJECT_NONE },
        { "ping", 1, 0, 0, 0, MCP_SUBJECT_NONE },
        { "logging/setLevel", 1, 0, 0, 0, MCP_SUBJECT_NONE },
        { "resources/subscribe", 1, 0, 0, 0, MCP_SUBJECT_NONE },
        { "resources/unsubscribe", 1, 0, 0, 0, MCP_SUBJECT_NONE },
        { "stream/poll", 1, 0, 0, 0, MCP_SUBJECT_NONE },
        { "stream/poll/all", 1, 0, 0, 0, MCP_SUBJECT_NONE },
        { "stream/resume", 1, 0, 0, 0, MCP_SUBJECT_NONE },
        { "requests/getStatus", 1, 1, 0, 0, MCP_SUBJECT_NONE },
        { "requests/resume", 1, 1, 0, 0, MCP_SUBJECT_NONE },
        { "tools/list", 1, 1, 1, 0, MCP_SUBJECT_NONE },
        { "prompts/list", 1, 1, 1, 0, MCP_SUBJECT_NONE },
        { "resources/list", 1, 1, 1, 0, MCP_SUBJECT_NONE },
        { "resources/templates/list", 1, 1, 1, 0, MCP_SUBJECT_NONE },
        { "completion/complete", 1, 1, 0, 0, MCP_SUBJECT_NONE },
        { "tools/call", 1, 1, 0, 1, MCP_SUBJECT_NAME },
        { "prompts/get", 1, 1, 0, 1, MCP_SUBJECT_NAME },
        { "resources/read", 1, 1, 1, 1, MCP_SUBJECT_URI },
        { "server/discover", 0, 1, 1, 0, MCP_SUBJECT_NONE },
        { "subscriptions/listen", 0, 1, 0, 0, MCP_SUBJECT_NONE },
    };

    size_t               i;
    const mcp_method_t  *m;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        m = mcp_method_find(test_str(cases[i].name));

        assert_int_equal(m->session, cases[i].session);
        assert_int_equal(m->stateless, cases[i].stateless);
        assert_int_equal(m->caches, cases[i].caches);
        assert_int_equal(m->takes_input, cases[i].asks);
        assert_int_equal(m->subject, cases[i].subject);
    }

    assert_int_equal(mcp_method(MCP_METHOD_UNKNOWN)->stateless, 0);
}


TEST(text_that_is_not_a_method_of_clients_is_not_found)
{
    static const char  *names[] = {
        "", "Ping", "pin", "pings", "tools/lisT", "tools/list ", "tools",
        "notifications/message", "sampling/createMessage",
    };

    size_t               i;
    const mcp_method_t  *unknown;

    unknown = mcp_method(MCP_METHOD_UNKNOWN);

    assert_int_equal(unknown->id, MCP_METHOD_UNKNOWN);
    assert_int_equal(unknown->name.len, 0);
    assert_int_equal(unknown->list_kind, MCP_METHOD_NO_LIST);
    assert_int_equal(unknown->want, MCP_WANT_PLAIN);

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_ptr_equal(mcp_method_find(test_str(names[i])), unknown);
    }

    assert_ptr_equal(mcp_method_find(mcp_null_str), unknown);
    assert_ptr_equal(mcp_method(MCP_METHOD_COUNT), unknown);
    assert_ptr_equal(mcp_method((mcp_method_e) -1), unknown);
}


TEST(each_log_level_is_found_by_its_exact_name)
{
    static const char  *names[MCP_LOG_LEVELS] = {
        "debug", "info", "notice", "warning", "error", "critical", "alert",
        "emergency",
    };

    int  i;

    for (i = 0; i < MCP_LOG_LEVELS; i++) {
        assert_int_equal(mcp_log_level_find(test_str(names[i])), i);
    }

    assert_int_equal(mcp_log_level_find(mcp_str("")), -1);
    assert_int_equal(mcp_log_level_find(mcp_str("warn")), -1);
    assert_int_equal(mcp_log_level_find(mcp_str("DEBUG")), -1);
    assert_int_equal(mcp_log_level_find(mcp_str("errors")), -1);
}


RUN_TESTS(NULL, NULL)

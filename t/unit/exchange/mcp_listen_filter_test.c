/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of the filters of subscriptions, and of the parts that are
 * honoured. */

#include "task_cases.h"


static void
asks(const char *filter)
{
    char  params[2048];

    snprintf(params, sizeof(params), "\"notifications\":%s", filter);
    modern(0, &a, "subscriptions/listen", NULL, params);
}


/* The catalog has only tools: the response leaves out the other parts of a
 * filter, because they are not honoured, and their notifications are not
 * sent. */
TEST(catalog_has_only_tools__other_parts_of_a_filter_are_not_honoured)
{
    size_t  i;
    char    expected[256];

    static const char *const  cases[][2] = {
        { "{}", "{}" },
        { "{\"toolsListChanged\":true}", "{\"toolsListChanged\":true}" },
        { "{\"toolsListChanged\":false}", "{}" },
        { "{\"tools\\u004cistChanged\":true}", "{\"toolsListChanged\":true}" },
        { "{\"promptsListChanged\":true,\"toolsListChanged\":true}",
          "{\"toolsListChanged\":true}" },
        { "{\"resourcesListChanged\":true}", "{}" },
        { "{\"resourceSubscriptions\":[\"a:b\"]}", "{}" },
        { "{\"taskIds\":[]}", "{}" },
        { "{\"other\":1,\"other\":2}", "{}" }
    };

    for (i = 0; i < ITEMS(cases); i++) {
        asks(cases[i][0]);
        assert_int_equal(a.streaming, 1);
        snprintf(expected, sizeof(expected), "\"notifications\":%s}}",
                 cases[i][1]);
        has(a.text, expected);
        publish(1, &b, "/publish/static-token",
                "[" NOTE("notifications/resources/list_changed", "{}") ","
                NOTE("notifications/resources/updated", "{\"uri\":\"a:b\"}")
                "]");
        assert_int_equal(b.status, 202);
        has_not(a.text, "notifications/resources");
        client_close(&d, &a);
    }
}


TEST(invalid_filter_is_rejected__the_error_names_the_invalid_member)
{
    size_t  i;
    char    expected[256];

    static const char *const  cases[][2] = {
        { "[]", "notifications" },
        { "null", "notifications" },
        { "true", "notifications" },
        { "{\"toolsListChanged\":1}", "toolsListChanged" },
        { "{\"toolsListChanged\":true,\"toolsListChanged\":true}",
          "toolsListChanged" },
        { "{\"promptsListChanged\":null}", "promptsListChanged" },
        { "{\"resourcesListChanged\":\"true\"}", "resourcesListChanged" },
        { "{\"resourceSubscriptions\":true}", "resourceSubscriptions" },
        { "{\"resourceSubscriptions\":{}}", "resourceSubscriptions" },
        { "{\"resourceSubscriptions\":[1]}", "resourceSubscriptions" },
        { "{\"resourceSubscriptions\":[\"a:b\",null]}",
          "resourceSubscriptions" },
        { "{\"resourceSubscriptions\":[\"\"]}", "resourceSubscriptions" },
        { "{\"taskIds\":\"x\"}", "taskIds" }
    };

    for (i = 0; i < ITEMS(cases); i++) {
        asks(cases[i][0]);
        snprintf(expected, sizeof(expected), "\"code\":-32602,\"message\":"
                 "\"Invalid params: %s\"", cases[i][1]);
        has(a.text, expected);
        client_close(&d, &a);
    }
}


RUN_TESTS(task_setup, task_teardown)

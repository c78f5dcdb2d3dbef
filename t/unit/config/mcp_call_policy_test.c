/* SPDX-License-Identifier: Apache-2.0 */

/* Policies: the keys of a catalog's items that control calls. */


#include "test_env.h"

#include "config/mcp_call_policy.h"


static mcp_json_value_t
value(mcp_json_type_e type, const char *raw)
{
    return (mcp_json_value_t) { type, test_str(raw) };
}


TEST(invalid_value_of_a_policy_key_is_rejected_with_the_reason)
{
    static const struct {
        const char       *key;
        mcp_json_type_e   type;
        const char       *raw;
        const char       *error;       /* NULL: accepted */
    } cases[] = {
        { "x-mcp-resumable", MCP_JSON_BOOL, "true", NULL },
        { "x-mcp-resumable", MCP_JSON_BOOL, "false", NULL },
        { "x-mcp-resumable", MCP_JSON_NUMBER, "1", "must be true or false" },
        { "x-mcp-resumable", MCP_JSON_STRING, "\"true\"",
          "must be true or false" },
        { "x-mcp-cache-ttl", MCP_JSON_NUMBER, "0.5", NULL },
        { "x-mcp-cache-ttl", MCP_JSON_NUMBER, "-1",
          "must be a number of seconds, with three decimals at most" },
        { "x-mcp-cache-scope", MCP_JSON_STRING, "\"public\"", NULL },
        { "x-mcp-cache-scope", MCP_JSON_STRING, "\"private\"", NULL },
        { "x-mcp-cache-scope", MCP_JSON_STRING, "\"Public\"",
          "must be \"public\" or \"private\"" },
        { "x-mcp-cache-scope", MCP_JSON_BOOL, "true",
          "must be \"public\" or \"private\"" },
        { "x-mcp-max-wait", MCP_JSON_NUMBER, "0", NULL },
        { "x-mcp-max-wait", MCP_JSON_NUMBER, "31536000", NULL },
        { "x-mcp-min-wait", MCP_JSON_NUMBER, "1.5", NULL },
        { "x-mcp-max-wait", MCP_JSON_NUMBER, "31536001",
          "must be a number of seconds, with three decimals at most" },
        { "x-mcp-max-wait", MCP_JSON_NUMBER, "-1",
          "must be a number of seconds, with three decimals at most" },
        { "x-mcp-stream-after", MCP_JSON_NUMBER, "1e3",
          "must be a number of seconds, with three decimals at most" },
        { "x-mcp-stream-after", MCP_JSON_NUMBER, "1.5e3",
          "must be a number of seconds, with three decimals at most" },
        { "x-mcp-close-after", MCP_JSON_NUMBER, "0.0001",
          "must be a number of seconds, with three decimals at most" },
        { "x-mcp-close-after", MCP_JSON_STRING, "\"10s\"",
          "must be a number of seconds, with three decimals at most" },
        { "x-mcp-resume-after", MCP_JSON_NULL, "null",
          "must be a number of seconds, with three decimals at most" },
        { "x-mcp-stream-buffer", MCP_JSON_NUMBER, "1", NULL },
        { "x-mcp-stream-buffer", MCP_JSON_NUMBER, "0",
          "must be a number of bytes, 1 or more" },
        { "x-mcp-stream-buffer", MCP_JSON_NUMBER, "1099511627777",
          "must be a number of bytes, 1 or more" },
        { "x-mcp-stream-buffer", MCP_JSON_NUMBER, "1.5",
          "must be a number of bytes, 1 or more" },
        { "x-mcp-max-events", MCP_JSON_NUMBER, "1", NULL },
        { "x-mcp-max-events", MCP_JSON_NUMBER, "0",
          "must be a number of events, 1 or more" },
        { "x-mcp-max-events", MCP_JSON_NUMBER, "1073741825",
          "must be a number of events, 1 or more" },
        { "x-mcp-max-events", MCP_JSON_ARRAY, "[]",
          "must be a number of events, 1 or more" },
        { "x-mcp-join", MCP_JSON_STRING, "\"key\"", NULL },
        { "x-mcp-join", MCP_JSON_STRING, "\"arguments\"", NULL },
        { "x-mcp-join", MCP_JSON_STRING, "\"Key\"",
          "must be \"key\" or \"arguments\"" },
        { "x-mcp-join", MCP_JSON_STRING, "\"\"",
          "must be \"key\" or \"arguments\"" },
        { "x-mcp-join", MCP_JSON_BOOL, "true",
          "must be \"key\" or \"arguments\"" },
        { "x-mcp-other", MCP_JSON_ARRAY, "[]", "is unknown" },
        { "x-mcp-", MCP_JSON_NULL, "null", "is unknown" },
    };

    int                 rc;
    size_t              i;
    const char         *error;
    mcp_json_value_t    v;
    mcp_policy_rule_t   rule;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(&rule, 0, sizeof(rule));
        error = NULL;
        v = value(cases[i].type, cases[i].raw);
        rc = mcp_policy_read(&rule, strstr(cases[i].key, "join")
                                    ? MCP_LIST_TOOLS : MCP_LIST_RESOURCES,
                             test_str(cases[i].key), &v, &error);

        if (cases[i].error) {
            assert_int_equal(rc, MCP_ERR_CONFIG);
            assert_string_equal(error, cases[i].error);
            assert_int_equal(rule.set, 0);

        } else {
            assert_ok(rc);
            assert_null(error);
        }
    }
}


static void
read_one(mcp_policy_rule_t *rule, const char *key, mcp_json_type_e type,
    const char *raw)
{
    const char       *error;
    mcp_json_value_t  v;

    v = value(type, raw);
    assert_ok(mcp_policy_read(rule, MCP_LIST_RESOURCES, test_str(key), &v,
                              &error));
}


TEST(item_sets_a_policy_value__the_value_replaces_the_value_of_the_endpoint)
{
    const char        *error;
    mcp_policy_t       p, of;
    mcp_json_value_t   v;
    mcp_policy_rule_t  rule;

    memset(&of, 0, sizeof(of));
    of.max_wait = 60000;
    of.close_after = 7;
    of.resumable = 1;
    of.max_events = 5;

    p = of;
    mcp_policy_apply(&p, NULL);
    assert_memory_equal(&p, &of, sizeof(p));

    memset(&rule, 0, sizeof(rule));
    mcp_policy_apply(&p, &rule);
    assert_memory_equal(&p, &of, sizeof(p));

    read_one(&rule, "x-mcp-max-wait", MCP_JSON_NUMBER, "90");
    read_one(&rule, "x-mcp-min-wait", MCP_JSON_NUMBER, "0.25");
    read_one(&rule, "x-mcp-stream-after", MCP_JSON_NUMBER, "0");
    read_one(&rule, "x-mcp-resume-after", MCP_JSON_NUMBER, "1.05");
    read_one(&rule, "x-mcp-stream-buffer", MCP_JSON_NUMBER, "4096");
    read_one(&rule, "x-mcp-max-events", MCP_JSON_NUMBER, "9");

    v = value(MCP_JSON_NUMBER, "1");
    assert_int_equal(mcp_policy_read(&rule, MCP_LIST_TOOLS,
                                     mcp_str("x-mcp-max-events"), &v,
                                     &error),
                     MCP_ERR_CONFIG);
    assert_string_equal(error, "is duplicate");

    v = value(MCP_JSON_NUMBER, "1");
    assert_int_equal(mcp_policy_read(&rule, MCP_LIST_TOOLS,
                                     mcp_str("x-mcp-cache-ttl"), &v,
                                     &error),
                     MCP_ERR_CONFIG);
    assert_string_equal(error,
                        "is allowed only for resources and resource templates");

    read_one(&rule, "x-mcp-cache-ttl", MCP_JSON_NUMBER, "300");
    read_one(&rule, "x-mcp-cache-scope", MCP_JSON_STRING, "\"public\"");

    p.stream_after = 1000;
    mcp_policy_apply(&p, &rule);
    assert_int_equal(p.cache_ttl, 300000);
    assert_int_equal(p.cache_public, 1);
    assert_int_equal(p.max_wait, 90000);
    assert_int_equal(p.min_wait, 250);
    assert_int_equal(p.stream_after, 0);
    assert_int_equal(p.resume_after, 1050);
    assert_int_equal(p.stream_buffer, 4096);
    assert_int_equal(p.max_events, 9);
    assert_int_equal(p.close_after, 7);
    assert_int_equal(p.resumable, 1);

    /* "x-mcp-resumable": false and "x-mcp-max-wait": 0 have the same effect */

    read_one(&rule, "x-mcp-resumable", MCP_JSON_BOOL, "false");
    mcp_policy_apply(&p, &rule);
    assert_int_equal(p.resumable, 0);
    assert_int_equal(p.max_wait, 0);
    assert_int_equal(p.close_after, 0);
    assert_int_equal(p.resume_after, 0);

    memset(&rule, 0, sizeof(rule));
    read_one(&rule, "x-mcp-max-wait", MCP_JSON_NUMBER, "0");
    p = of;
    mcp_policy_apply(&p, &rule);
    assert_int_equal(p.resumable, 0);
    assert_int_equal(p.close_after, 0);
}


/* "x-mcp-task" is a word or a time. */
TEST(x_mcp_task_is_neither_one_of_four_words_nor_a_time__it_is_rejected)
{
    static const struct {
        mcp_json_type_e   type;
        const char       *raw;
        unsigned          task;
        uint64_t          after;       /* resulting task_after, ms; 7:
                                          unchanged */
    } cases[] = {
        { MCP_JSON_STRING, "\"never\"", MCP_TASK_NEVER, 7 },
        { MCP_JSON_STRING, "\"auto\"", MCP_TASK_AUTO, 7 },
        { MCP_JSON_STRING, "\"always\"", MCP_TASK_ALWAYS, 7 },
        { MCP_JSON_STRING, "\"required\"", MCP_TASK_REQUIRED, 7 },
        { MCP_JSON_NUMBER, "0", MCP_TASK_AUTO, 1 },
        { MCP_JSON_NUMBER, "2.5", MCP_TASK_AUTO, 2500 },
        { MCP_JSON_NUMBER, "31536000", MCP_TASK_AUTO, 31536000000 }
    };

    static const struct {
        mcp_json_type_e   type;
        const char       *raw;
    } wrong[] = {
        { MCP_JSON_STRING, "\"Auto\"" }, { MCP_JSON_STRING, "\"\"" },
        { MCP_JSON_STRING, "\"5\"" }, { MCP_JSON_NUMBER, "-1" },
        { MCP_JSON_NUMBER, "1e3" }, { MCP_JSON_NUMBER, "31536001" },
        { MCP_JSON_BOOL, "true" }, { MCP_JSON_NULL, "null" },
        { MCP_JSON_OBJECT, "{}" }
    };

    size_t              i;
    const char         *error;
    mcp_policy_t        p;
    mcp_json_value_t    v;
    mcp_policy_rule_t   rule;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(&rule, 0, sizeof(rule));
        memset(&p, 0, sizeof(p));
        p.task = MCP_TASK_AUTO;
        p.task_after = 7;
        v = value(cases[i].type, cases[i].raw);
        assert_ok(mcp_policy_read(&rule, MCP_LIST_TOOLS,
                                  mcp_str("x-mcp-task"), &v, &error));
        assert_int_equal(rule.has_task, 1);
        mcp_policy_apply(&p, &rule);
        assert_int_equal(p.task, cases[i].task);
        assert_int_equal(p.task_after, cases[i].after);
    }

    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        memset(&rule, 0, sizeof(rule));
        v = value(wrong[i].type, wrong[i].raw);
        assert_int_equal(mcp_policy_read(&rule, MCP_LIST_TOOLS,
                                         mcp_str("x-mcp-task"), &v, &error),
                         MCP_ERR_CONFIG);
        assert_string_equal(error, "must be \"never\", \"auto\", \"always\", "
                                   "\"required\" or a number of seconds");
    }

    v = value(MCP_JSON_STRING, "\"auto\"");
    assert_int_equal(mcp_policy_read(&rule, MCP_LIST_PROMPTS,
                                     mcp_str("x-mcp-task"), &v, &error),
                     MCP_ERR_CONFIG);
    assert_string_equal(error, "is allowed only for tools");
}


/* Which calls become tasks, by the policy and by the client. */
TEST(policy_and_client_capabilities_decide_if_a_call_becomes_a_task)
{
    mcp_policy_t  p;

    memset(&p, 0, sizeof(p));
    assert_false(mcp_policy_is_task(&p, MCP_CLIENT_TASKS));
    p.task = MCP_TASK_ALWAYS;
    assert_true(mcp_policy_is_task(&p, MCP_CLIENT_TASKS));
    assert_true(mcp_policy_is_task(&p, MCP_CLIENT_TASKS | MCP_CLIENT_TOKENS));
    assert_false(mcp_policy_is_task(&p, MCP_CLIENT_TOKENS));
    assert_false(mcp_policy_is_task(&p, MCP_CLIENT_TASKS
                                        | MCP_CLIENT_REQUESTS));
    p.task = MCP_TASK_REQUIRED;
    assert_true(mcp_policy_is_task(&p, MCP_CLIENT_TASKS
                                       | MCP_CLIENT_REQUESTS));
}


RUN_TESTS(NULL, NULL)

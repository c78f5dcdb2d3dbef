/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of the rules and scopes that decide which items callers see and
 * use. */

#include "round_cases.h"


static const char  catalog[] =
    "{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"}},"
    "{\"name\":\"admin_a\",\"inputSchema\":{\"type\":\"object\"}},"
    "{\"name\":\"admin_b\",\"inputSchema\":{\"type\":\"object\"}},"
    "{\"name\":\"pay\",\"x-mcp-scope\":\"pay read\","
    "\"inputSchema\":{\"type\":\"object\"}},"
    "{\"name\":\"zed\",\"inputSchema\":{\"type\":\"object\"}}],"
    "\"prompts\":[{\"name\":\"p\"},{\"name\":\"secret\"}],"
    "\"resources\":[{\"uri\":\"test://a\",\"name\":\"a\"},"
    "{\"uri\":\"test://s\",\"name\":\"s\",\"x-mcp-scope\":\"s\"}],"
    "\"resourceTemplates\":[{\"uriTemplate\":\"db:{t}\",\"name\":\"t\"},"
    "{\"uriTemplate\":\"open:{t}\",\"name\":\"o\",\"x-mcp-scope\":\"o\"}],"
    "\"completions\":true}";

static mcp_allow_t  rules[4];


static void
drop_rules(void)
{
    while (d.endpoint.n_allow) {
        mcp_match_free(rules[--d.endpoint.n_allow].match);
    }
}


/* Sets the rules of the endpoint, the values of their expressions, and the
 * caller's scopes. */
static void
use_rules(const char *const patterns[4], const char *const values[4],
    const char *scopes)
{
    char    error[128];
    size_t  n;

    drop_rules();
    memset(driver_evaluated, 0, sizeof(driver_evaluated));

    for (n = 0; n < 4 && patterns[n]; n++) {
        assert_ok(mcp_allow_read(&d.te.env.mem, test_str(patterns[n]),
                                 &rules[n], error, sizeof(error)));
        rules[n].value = "";
        driver_values[n] = values[n];
    }

    driver_values[n] = scopes;
    d.endpoint.page_size = 0;
    d.endpoint.allow = rules;
    d.endpoint.n_allow = n;
    d.endpoint.granted_scopes = "";
}


static int
drop(void **state)
{
    drop_rules();

    return teardown(state);
}


static const char *const  guarded[4] = {
    "tools/admin_*", "prompts/secret", "resources/db:{t}", "*"
};

static const char *const  nobody[4] = { "0", "", NULL, "1" };
static const char *const  admin[4] = { "1", "alice", "1", "1" };


/* Sends a request. Returns the body of its response, which is valid until the
 * next call of this function. */
static const char *
answer_to(const char *name, const char *method, const char *params)
{
    client_close(&d, &a);
    modern(0, &a, method, name, params);

    return a.text;
}


TEST(lists_omit_the_items_that_the_caller_may_not_see)
{
    const char  *text;

    use_catalog(catalog);
    use_rules(guarded, nobody, "");

    text = answer_to(NULL, "tools/list", "\"x\":1");
    has(text, "[{\"name\":\"echo\"");
    has(text, "}},{\"name\":\"pay\"");
    has(text, "\"zed\"");
    has_not(text, "admin");
    has(text, "\"cacheScope\":\"private\"");

    /* a rule is evaluated once for all its items, and not at all if it has no
     * item */

    assert_int_equal(driver_evaluated[0], 1);
    assert_int_equal(driver_evaluated[1], 0);
    assert_int_equal(driver_evaluated[3], 1);

    has_not(answer_to(NULL, "prompts/list", "\"x\":1"), "secret");
    has(a.text, "\"p\"");
    has_not(answer_to(NULL, "resources/templates/list", "\"x\":1"), "db:");
    has(a.text, "open:{t}");
    has(answer_to(NULL, "resources/list", "\"x\":1"), "test://s");

    driver_values[0] = "1";
    has(answer_to(NULL, "tools/list", "\"x\":1"), "admin_b");
}


/* All items after a full page are hidden: there is no next page. */
TEST(only_hidden_items_follow_a_page_of_a_list__the_page_has_no_cursor)
{
    use_catalog(catalog);
    use_rules(guarded, nobody, "");
    d.endpoint.page_size = 1;

    has(answer_to(NULL, "prompts/list", "\"x\":1"), "[{\"name\":\"p\"}]");
    has_not(a.text, "nextCursor");
}


/* The error for an item that the caller may not see equals that for an unknown
 * item, except for the name. */
TEST(hidden_item_gets_the_same_error_as_an_unknown_item)
{
    size_t  len;

    use_catalog(catalog);
    use_rules(guarded, nobody, "");

    len = strlen(answer_to("admin_a", "tools/call",
                           "\"name\":\"admin_a\",\"arguments\":[]"));
    has(a.text, "-32602");
    assert_int_equal(strlen(answer_to("admin_c", "tools/call",
                            "\"name\":\"admin_c\",\"arguments\":[]")), len);

    len = strlen(answer_to(NULL, "completion/complete", "\"ref\":"
                           "{\"type\":\"ref/resource\",\"uri\":\"db:users\"}"));
    has(a.text, "-32602");
    assert_int_equal(strlen(answer_to(NULL, "completion/complete", "\"ref\":"
                     "{\"type\":\"ref/resource\",\"uri\":\"dc:users\"}")), len);
    assert_int_equal(d.n_breqs, 0);
    client_close(&d, &a);

    /* the rules allow the items: the backend is invoked */

    use_rules(guarded, admin, "");
    modern(0, &a, "tools/call", "admin_a", "\"name\":\"admin_a\"");
    assert_int_equal(d.n_breqs, 1);
    backend_json(&d, RESULT);
    assert_int_equal(a.status, 200);
    assert_int_equal(driver_evaluated[0], 1);
    assert_int_equal(driver_evaluated[3], 0);
    client_close(&d, &a);

    modern(0, &a, "resources/read", "db:users", "\"uri\":\"db:users\"");
    assert_int_equal(d.n_breqs, 1);
    backend_json(&d, "{\"contents\":[],\"cacheScope\":\"public\"}");
    has(a.text, "\"cacheScope\":\"private\"");
    has_not(a.text, "public");
}


/* An item to which no rule applies is hidden. */
TEST(item_to_which_no_rule_applies_is_hidden)
{
    static const char *const  only[4] = { "tools/echo", NULL };
    static const char *const  yes[4] = { "1" };

    use_catalog(catalog);
    use_rules(only, yes, "");

    has_not(answer_to(NULL, "tools/list", "\"x\":1"), "pay");
    has(a.text, "echo");
    has(answer_to(NULL, "prompts/list", "\"x\":1"), "\"prompts\":[]");
    has(answer_to("pay", "tools/call", "\"name\":\"pay\""), "Unknown tool");
}


TEST(caller_lacks_a_scope_of_an_item__the_request_gets_403)
{
    static const char *const  all[4] = { "*", NULL };
    static const char *const  yes[4] = { "1" };

    use_catalog(catalog);
    use_rules(all, yes, "read");

    (void) answer_to("open:x", "resources/read", "\"uri\":\"open:x\"");
    assert_int_equal(a.status, 403);
    assert_int_equal(driver_evaluated[1], 1);
    (void) answer_to(NULL, "completion/complete",
                     "\"ref\":{\"type\":\"ref/resource\","
                     "\"uri\":\"open:{t}\"}");
    assert_int_equal(a.status, 403);
    assert_string_equal(client_response_header(&a, "WWW-Authenticate"),
                        "Bearer error=\"insufficient_scope\", scope=\"o\"");

    /* the caller's scopes cannot be evaluated */

    driver_values[1] = NULL;
    (void) answer_to("pay", "tools/call", "\"name\":\"pay\"");
    assert_int_equal(a.status, 403);

    driver_values[1] = "";
    ask(session, REQUEST("7", "resources/subscribe",
                         "{\"uri\":\"test://s\"}"), 403, "scopes: s");
}


/* A subscription contains only resources that its caller may read. */
TEST(subscription_has_only_resources_that_the_caller_may_read)
{
    static const char *const  most[4] = { "resources/test://a", "tools/*" };
    static const char *const  yes[4] = { "1", "1" };

    use_catalog(catalog);
    use_rules(most, yes, "");

    modern(0, &a, "subscriptions/listen", NULL,
           "\"notifications\":{\"toolsListChanged\":true,"
           "\"resourceSubscriptions\":[\"test://a\",\"db:x\",\"none:\"]}");
    assert_true(a.streaming);
    has(a.text, "\"notifications\":{\"toolsListChanged\":true,"
                "\"resourceSubscriptions\":[\"test://a\"]}");
    client_close(&d, &a);

    modern(0, &a, "subscriptions/listen", NULL, "\"notifications\":{"
           "\"resourceSubscriptions\":[\"db:x\"]}");
    has(a.text, "\"notifications\":{}");
    client_close(&d, &a);

    mcp_match_free(rules[0].match);
    memset(&rules[0].name, 0, sizeof(mcp_str_t));
    rules[0].match = NULL;
    modern(0, &a, "subscriptions/listen", NULL, "\"notifications\":{"
           "\"resourceSubscriptions\":[\"test://a\",\"test://s\",\"open:x\"]}");
    assert_int_equal(a.status, 403);
    assert_string_equal(client_response_header(&a, "WWW-Authenticate"),
                        "Bearer error=\"insufficient_scope\", scope=\"s o\"");
}


TEST(memory_runs_out__a_call_without_the_scope_is_still_rejected)
{
    unsigned long  n, live;

    use_catalog(catalog);
    use_rules(guarded, nobody, "");
    live = d.te.tm.live;

    for (n = 1; n < 60; n++) {
        d.te.tm.fail_at = n;
        modern(0, &a, "tools/call", "pay", "\"name\":\"pay\"");
        d.te.tm.fail_at = 0;
        assert_true(a.next == MCP_NEXT_ERROR || a.status == 403
                    || strstr(a.text, "Unknown tool"));
        client_close(&d, &a);

        d.te.tm.fail_at = n;
        modern(0, &a, "subscriptions/listen", NULL, "\"notifications\":{"
               "\"resourceSubscriptions\":[\"test://a\",\"test://s\"]}");
        d.te.tm.fail_at = 0;
        client_close(&d, &a);
        assert_int_equal(d.te.tm.live, live);
    }
}


RUN_TESTS(setup, drop)

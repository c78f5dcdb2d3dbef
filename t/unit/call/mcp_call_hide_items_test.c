/* SPDX-License-Identifier: Apache-2.0 */

/* Lists of backends, without the items that are hidden from the caller. */

#include "core_cases.h"


static mcp_allow_t  rules[2];


static void
use_patterns(const char *first, const char *second, const char *value)
{
    char    error[128];
    size_t  i;

    const char *const  patterns[2] = { first, second };

    d.endpoint.catalog = NULL;
    memset(driver_evaluated, 0, sizeof(driver_evaluated));

    for (i = 0; i < 2; i++) {
        assert_ok(mcp_allow_read(&d.te.env.mem, test_str(patterns[i]),
                                 &rules[i], error, sizeof(error)));
        rules[i].value = "";
    }

    driver_values[0] = value;
    driver_values[1] = "1";
    d.endpoint.allow = rules;
    d.endpoint.n_allow = 2;
}


/* The caller may use all items but those that begin with "admin", and these
 * only if value is not "0". */
static void
use_rules(const char *value)
{
    use_patterns("~^admin", "*", value);
}


static int
drop(void **state)
{
    mcp_match_free(rules[0].match);
    mcp_match_free(rules[1].match);
    memset(rules, 0, sizeof(rules));

    return teardown(state);
}


/* Answers a list request as the backend with "list", and checks that the
 * client gets "shown". */
static void
lists(const char *method, const char *list, const char *shown)
{
    char  expected[512];

    snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":7,"
             "\"method\":\"%s\",\"params\":{}}", method);
    client_post(&d, 0, &a, session, line);
    backend_json(&d, list);
    snprintf(expected, sizeof(expected),
             "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":%s}", shown);
    assert_string_equal(a.text, expected);
    client_close(&d, &a);
}


TEST(items_hidden_from_the_caller_are_removed_from_backend_lists)
{
    use_rules("0");

    lists("tools/list",
          "{\"tools\":[{\"name\":\"admin_a\"},{\"name\":\"b\"},{\"x\":1},1,"
          "{\"name\":\"\\u0061dmin\"},{\"name\":\"c\"}],\"nextCursor\":\"n\"}",
          "{\"tools\":[{\"name\":\"b\"},{\"name\":\"c\"}],"
          "\"nextCursor\":\"n\"}");
    assert_int_equal(driver_evaluated[0], 1);
    assert_int_equal(driver_evaluated[1], 1);

    lists("prompts/list", "{\"prompts\":[{\"name\":\"admin\"}]}",
          "{\"prompts\":[]}");
    lists("resources/list", "{\"resources\":[{\"uri\":\"admin:a\","
          "\"name\":\"b\"},{\"uri\":\"b:a\",\"name\":\"admin\"}]}",
          "{\"resources\":[{\"uri\":\"b:a\",\"name\":\"admin\"}]}");
    lists("resources/templates/list", "{\"resourceTemplates\":["
          "{\"uriTemplate\":\"admin:{x}\"},{\"uriTemplate\":\"a:{x}\"}]}",
          "{\"resourceTemplates\":[{\"uriTemplate\":\"a:{x}\"}]}");
    lists("tools/list", "{\"tools\":{}}", "{\"tools\":{}}");

    ask(session, REQUEST("7", "tools/call", "{\"name\":\"admin_a\"}"), 200,
        "Unknown tool");
}


TEST(uri_in_a_backend_list_is_spelled_in_another_way__the_rule_applies_to_it)
{
    use_patterns("resources/file:///secret*", "*", "0");

    lists("resources/list", "{\"resources\":[{\"uri\":\"FILE:///secret/x\"},"
          "{\"uri\":\"file:///%73ecret/x\"},{\"uri\":\"file:///Public/%7e\"}]}",
          "{\"resources\":[{\"uri\":\"file:///Public/%7e\"}]}");
    lists("resources/templates/list", "{\"resourceTemplates\":["
          "{\"uriTemplate\":\"file:///%73ecret/{x}\"},"
          "{\"uriTemplate\":\"file:///p/{%73}\"}]}",
          "{\"resourceTemplates\":[{\"uriTemplate\":\"file:///p/{%73}\"}]}");

    mcp_match_free(rules[0].match);
    use_patterns("resources/~^file:///docs/caf%C3%A9", "tools/*", "1");

    lists("resources/list",
          "{\"resources\":[{\"uri\":\"file:///docs/caf\xc3\xa9.txt\"}]}",
          "{\"resources\":[{\"uri\":\"file:///docs/caf\xc3\xa9.txt\"}]}");

    /* names of tools are not URIs */

    mcp_match_free(rules[0].match);
    use_patterns("tools/A:b%41", "tools/a*", "1");
    lists("tools/list",
          "{\"tools\":[{\"name\":\"A:b%41\"},{\"name\":\"B:bA\"}]}",
          "{\"tools\":[{\"name\":\"A:b%41\"}]}");
}


TEST(permission_changes_after_a_list_request__the_old_permission_still_filters)
{
    use_rules("1");

    lists("tools/list", "{\"tools\":[{\"name\":\"admin_a\"}]}",
          "{\"tools\":[{\"name\":\"admin_a\"}]}");

    /* a permission changes after the request: the list is filtered by the
     * permissions at the time of the request */

    client_post(&d, 0, &a, session, REQUEST("7", "tools/list", "{}"));
    driver_values[0] = "0";
    backend_json(&d, "{\"tools\":[{\"name\":\"admin_a\"}]}");
    has(a.text, "admin_a");
}


TEST(memory_runs_out__hidden_items_are_not_sent)
{
    unsigned long  n;

    use_rules("0");

    for (n = 1; n < 40; n++) {
        client_post(&d, 0, &a, session, REQUEST("7", "tools/list", "{}"));
        d.te.tm.fail_at = n;
        backend_json(&d, "{\"tools\":[{\"name\":\"admin_a\"}]}");
        d.te.tm.fail_at = 0;
        has_not(a.text, "admin_a");
        client_close(&d, &a);
    }

    for (n = 1; n < 40; n++) {
        client_post(&d, 0, &a, session, REQUEST("7", "resources/list", "{}"));
        d.te.tm.fail_at = n;
        backend_json(&d, "{\"resources\":[{\"uri\":\"%61dmin:a\"}]}");
        d.te.tm.fail_at = 0;
        has_not(a.text, "dmin:a");
        client_close(&d, &a);
    }
}


RUN_TESTS(setup, drop)

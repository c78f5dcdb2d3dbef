/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of routing: requests to which the server responds from the catalog,
 * and requests for which a backend is invoked. */

#include "core_cases.h"


static const char  elsewhere[] =
    "{\"resourceTemplates\":[{\"uriTemplate\":\"test://t/{id}\","
    "\"name\":\"t\"}]}";


TEST(cursor_of_a_list_is_valid_at_each_process_but_not_for_another_list)
{
    char  *p, cursor[128], body[256];
    int    pages;

    strcpy(body, REQUEST("1", "tools/list", "{}"));

    for (pages = 0; pages < 10; pages++) {
        client_post(&d, pages % 2, &a, session, body);
        assert_int_equal(a.status, 200);
        assert_int_equal(count(a.text, "\"name\":"), 1);
        has(a.text, pages == 0 ? "\"echo\"" : "\"other\"");

        p = strstr(a.text, "\"nextCursor\":\"");

        if (p == NULL) {
            break;
        }

        p += strlen("\"nextCursor\":\"");
        snprintf(cursor, sizeof(cursor), "%.*s", (int) strcspn(p, "\""), p);
        snprintf(body, sizeof(body),
                 REQUEST("1", "tools/list", "{\"cursor\":\"%s\"}"), cursor);
        client_close(&d, &a);
    }

    client_close(&d, &a);
    assert_int_equal(pages, 1);

    /* the cursor of one list is invalid for another list */

    snprintf(body, sizeof(body),
             REQUEST("1", "prompts/list", "{\"cursor\":\"%s\"}"), cursor);
    ask(session, body, 200, "Invalid cursor");
}


/* A catalog with nothing but resource templates. */
TEST(catalog_has_only_templates__methods_for_tools_and_prompts_are_unknown)
{
    use_catalog(elsewhere);

    ask(session, REQUEST("1", "tools/list", "{}"), 200, "-32601");
    ask(session, REQUEST("1", "prompts/list", "{}"), 200, "-32601");
    ask(session, REQUEST("1", "tools/call", "{\"name\":\"x\"}"), 200,
        "-32601");
    ask(session, REQUEST("1", "prompts/get", "{\"name\":\"x\"}"), 200,
        "-32601");
    ask(session, REQUEST("1", "completion/complete",
                         "{\"ref\":{\"type\":\"ref/prompt\","
                         "\"name\":\"p\"}}"), 200, "-32601");

    /* the methods of templates are available with the capability
     * "resources" */

    ask(session, REQUEST("1", "resources/list", "{}"), 200,
        "\"result\":{\"resources\":[]}");
    ask(session, REQUEST("1", "resources/templates/list", "{}"), 200,
        "test://t/{id}");
    ask(session, REQUEST("1", "resources/read", "{\"uri\":\"x:y\"}"), 200,
        "-32002");

    client_post(&d, 0, &a, session,
                REQUEST("7", "resources/read", "{\"uri\":\"test://t/1\"}"));
    backend_json(&d, "{\"contents\":[]}");
    assert_int_equal(a.status, 200);
}


/* Without a catalog, a backend responds to all lists, and to requests with any
 * name. */
TEST(endpoint_has_no_catalog__backend_serves_all_lists_and_items_of_any_name)
{
    static const char *const  all[] = {
        REQUEST("7", "tools/list", "{\"cursor\":\"c\"}"),
        REQUEST("7", "prompts/list", "{}"),
        REQUEST("7", "resources/list", "{}"),
        REQUEST("7", "resources/templates/list", "{}"),
        REQUEST("7", "tools/call", "{\"name\":\"whatever\"}"),
        REQUEST("7", "prompts/get", "{\"name\":\"whatever\"}"),
        REQUEST("7", "resources/read", "{\"uri\":\"x:y\"}"),
        REQUEST("7", "completion/complete",
                "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"}}")
    };

    size_t  i;

    d.endpoint.catalog = NULL;

    for (i = 0; i < ITEMS(all); i++) {
        client_post(&d, 0, &a, session, all[i]);
        assert_string_equal(d.last_body, all[i]);
        backend_json(&d, "{\"x\":1}");
        assert_string_equal(a.text, "{\"jsonrpc\":\"2.0\",\"id\":7,"
                                    "\"result\":{\"x\":1}}");
        client_close(&d, &a);
    }

    ask(session, REQUEST("7", "tools/call", "{}"), 200, "-32602");

    /* neither a catalog nor a backend: the methods do not exist */

    d.endpoint.target = MCP_NO_TARGET;

    for (i = 0; i < ITEMS(all); i++) {
        ask(session, all[i], 200, "-32601");
    }
}


TEST(call_goes_to_the_backend_of_its_route_or_to_the_default_one)
{
    char           error[128];
    mcp_route_t    route;
    mcp_match_t   *match;

    assert_ok(mcp_match_create(&d.te.env.mem, mcp_str("other"),
                               &match, error, sizeof(error)));
    route.match = match;
    route.target = 3;
    d.endpoint.routes = &route;
    d.endpoint.n_routes = 1;
    d.endpoint.target = 5;

    client_post(&d, 0, &a, session, CALL8);
    assert_int_equal(d.breqs[0]->target, 3);
    backend_json(&d, RESULT);
    client_close(&d, &a);

    client_post(&d, 0, &a, session, CALL);
    assert_int_equal(d.breqs[0]->target, 5);
    backend_json(&d, RESULT);
    client_close(&d, &a);

    d.endpoint.target = MCP_NO_TARGET;
    ask(session, CALL, 200, "No backend configured");
    has(d.te.last, "no backend for tools/call of \"echo\"");

    d.endpoint.debug = 1;
    ask(session, CALL, 200, "\"data\":{\"reason\":\"no mcp_route matches "
                            "and mcp_backend is not set\"}");
    d.endpoint.debug = 0;
    quiet();

    mcp_match_free(match);
}


RUN_TESTS(setup, teardown)

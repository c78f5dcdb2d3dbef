/* SPDX-License-Identifier: Apache-2.0 */

/* Endpoints: routes, capabilities, server info, and cache hints of results. */

#include "test_env.h"

#include "config/mcp_endpoint_internal.h"


static test_env_t  te;


static mcp_match_t *
match(const char *pattern)
{
    char          error[128];
    mcp_match_t  *m;

    assert_ok(mcp_match_create(&te.env.mem, test_str(pattern), &m, error,
                               sizeof(error)));

    return m;
}


TEST(first_route_that_matches_a_name_decides_its_target)
{
    size_t          i;
    mcp_route_t     routes[3];
    mcp_endpoint_t  e;

    static const struct {
        const char  *name;
        unsigned     target;
    } cases[] = {
        { "one", 1 }, { "two", 2 }, { "tool_x", 3 }, { "tool_", 3 },
        { "other", 9 }, { "", 9 }, { "One", 9 }, { "one ", 9 }
    };

    test_env_init(&te);
    memset(&e, 0, sizeof(e));
    e.target = 9;

    assert_int_equal(mcp_endpoint_route(&e, mcp_str("one")), 9);

    routes[0].match = match("one");
    routes[0].target = 1;
    routes[1].match = match("two");
    routes[1].target = 2;
    routes[2].match = match("~^tool_");
    routes[2].target = 3;
    e.routes = routes;
    e.n_routes = 3;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(mcp_endpoint_route(&e, test_str(cases[i].name)),
                         cases[i].target);
    }

    e.target = MCP_NO_TARGET;
    assert_int_equal(mcp_endpoint_route(&e, mcp_str("other")), MCP_NO_TARGET);
    assert_int_equal(mcp_endpoint_route(&e, mcp_str("one")), 1);

    /* two routes match: the first one is used */

    routes[0].target = 7;
    routes[1].target = 8;
    mcp_match_free(routes[1].match);
    routes[1].match = match("~.");
    assert_int_equal(mcp_endpoint_route(&e, mcp_str("one")), 7);
    assert_int_equal(mcp_endpoint_route(&e, mcp_str("tool_x")), 8);

    for (i = 0; i < 3; i++) {
        mcp_match_free(routes[i].match);
    }

    assert_int_equal(te.tm.live, 0);
}


TEST(capabilities_depend_on_the_catalog_and_the_default_backend)
{
    size_t          i;
    char            error[256];
    mcp_buf_t       buf;
    mcp_catalog_t  *catalog;
    mcp_endpoint_t  e;

    static const struct {
        const char  *catalog;          /* NULL: the endpoint has no catalog */
        unsigned     target;
        const char  *capabilities;
        int          kinds[4];         /* 1: this kind of list is offered; in
                                          the order of kinds[] below */
        int          completes;
    } cases[] = {
        { NULL, 0,
          "{\"tools\":{\"listChanged\":true},"
          "\"prompts\":{\"listChanged\":true},"
          "\"resources\":{\"listChanged\":true},"
          "\"completions\":{},\"logging\":{}}", { 1, 1, 1, 1 }, 1 },
        { NULL, MCP_NO_TARGET, "{\"logging\":{}}", { 0, 0, 0, 0 }, 0 },
        { "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}"
          "}]}", 0,
          "{\"tools\":{\"listChanged\":true},\"logging\":{}}",
          { 1, 0, 0, 0 }, 0 },
        { "{\"prompts\":[{\"name\":\"p\"}],\"completions\":true}",
          MCP_NO_TARGET,
          "{\"prompts\":{\"listChanged\":true},\"completions\":{},"
          "\"logging\":{}}", { 0, 1, 0, 0 }, 1 },
        { "{\"resources\":[{\"uri\":\"a:b\",\"name\":\"r\"}]}", 0,
          "{\"resources\":{\"subscribe\":true,\"listChanged\":true},"
          "\"logging\":{}}", { 0, 0, 1, 0 }, 0 },
        { "{\"resourceTemplates\":[{\"uriTemplate\":\"a:{b}\","
          "\"name\":\"r\"}]}", 0,
          "{\"resources\":{\"subscribe\":true,\"listChanged\":true},"
          "\"logging\":{}}", { 0, 0, 0, 1 }, 0 },
        { "{\"extensions\":{\"com.example/x\":{ \"a\":1}}}", 0,
          "{\"logging\":{},\"extensions\":{\"com.example/x\":{\"a\":1}}}",
          { 0, 0, 0, 0 }, 0 }
    };

    static const mcp_list_e  kinds[] = {
        MCP_LIST_TOOLS, MCP_LIST_PROMPTS, MCP_LIST_RESOURCES,
        MCP_LIST_TEMPLATES
    };

    size_t  k;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        test_env_init(&te);
        memset(&e, 0, sizeof(e));
        catalog = NULL;

        if (cases[i].catalog
            && mcp_catalog_create(&te.env.mem, test_str(cases[i].catalog),
                                  &catalog, error, sizeof(error))
               != MCP_OK)
        {
            fail_msg("%s", error);
        }

        e.catalog = catalog;
        e.target = cases[i].target;

        for (k = 0; k < 4; k++) {
            assert_int_equal(mcp_endpoint_offers(&e, kinds[k]),
                             cases[i].kinds[k]);
        }

        assert_int_equal(mcp_endpoint_completes(&e), cases[i].completes);

        mcp_buf_init(&buf, &te.env.mem, 4096);
        mcp_endpoint_capabilities(&e, 0, &buf);
        assert_ok(buf.failed);
        assert_str_is(mcp_buf_text(&buf), cases[i].capabilities);
        mcp_buf_free(&buf);

        if (catalog) {
            mcp_catalog_free(catalog);
        }

        assert_int_equal(te.tm.live, 0);
    }
}


/* The capabilities list the resumption methods that the endpoint offers. */
TEST(capabilities_name_the_resumption_methods_of_the_endpoint)
{
    mcp_buf_t       buf;
    test_env_t      local;
    mcp_endpoint_t  e;

    test_env_init(&local);
    memset(&e, 0, sizeof(e));
    e.target = MCP_NO_TARGET;
    e.max_wait = 1;
    mcp_buf_init(&buf, &local.env.mem, 4096);

    mcp_endpoint_capabilities(&e, 0, &buf);
    assert_str_is(mcp_buf_text(&buf),
                  "{\"logging\":{},\"experimental\":{"
                  "\"resumableRequests\":{},\"streams\":{},"
                  "\"resumeTokens\":{}}}");

    e.link = 1;
    buf.len = 0;
    mcp_endpoint_capabilities(&e, 0, &buf);
    assert_str_is(mcp_buf_text(&buf),
                  "{\"logging\":{},\"experimental\":{"
                  "\"resumableRequests\":{},\"streams\":{},"
                  "\"resumeTokens\":{},\"streamLinks\":{}}}");

    mcp_buf_free(&buf);
    assert_int_equal(local.tm.live, 0);
}


static mcp_catalog_t *
catalog_of(const char *text)
{
    char            error[256];
    mcp_catalog_t  *catalog;

    if (mcp_catalog_create(&te.env.mem, test_str(text), &catalog, error,
                           sizeof(error))
        != MCP_OK)
    {
        fail_msg("%s", error);
    }

    return catalog;
}


/* The server info has only the fields that the revision defines. */
TEST(server_info_has_only_the_fields_that_the_revision_defines)
{
    size_t          i;
    mcp_buf_t       buf;
    mcp_catalog_t  *catalog;
    mcp_endpoint_t  e;

    static const struct {
        mcp_revision_e  revision;
        const char     *info;
    } cases[] = {
        { MCP_REVISION_2025_03_26, "{\"name\":\"n\",\"version\":\"1\"}" },
        { MCP_REVISION_2025_06_18,
          "{\"name\":\"n\",\"title\":\"\\\"t\\\"\",\"version\":\"1\"}" },
        { MCP_REVISION_2025_11_25,
          "{\"name\":\"n\",\"title\":\"\\\"t\\\"\",\"version\":\"1\","
          "\"description\":\"d\",\"websiteUrl\":\"http://w/\","
          "\"icons\":[{\"src\":\"s\"}]}" },
        { MCP_REVISION_2026_07_28,
          "{\"name\":\"n\",\"title\":\"\\\"t\\\"\",\"version\":\"1\","
          "\"description\":\"d\",\"websiteUrl\":\"http://w/\","
          "\"icons\":[{\"src\":\"s\"}]}" },
    };

    test_env_init(&te);
    memset(&e, 0, sizeof(e));
    catalog = catalog_of("{\"icons\":[{\"src\":\"s\"}],\"websiteUrl\":"
                         "\"http://w/\",\"description\":\"d\"}");
    e.name = mcp_str("n");
    e.version = mcp_str("1");
    e.title = mcp_str("\"t\"");
    e.catalog = catalog;
    mcp_buf_init(&buf, &te.env.mem, 4096);

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        buf.len = 0;
        mcp_endpoint_info(&e, cases[i].revision, &buf);
        assert_str_is(mcp_buf_text(&buf), cases[i].info);
    }

    e.catalog = NULL;
    e.title = mcp_null_str;
    buf.len = 0;
    mcp_endpoint_info(&e, MCP_REVISION_2026_07_28, &buf);
    assert_str_is(mcp_buf_text(&buf), cases[0].info);

    mcp_buf_free(&buf);
    mcp_catalog_free(catalog);
    assert_int_equal(te.tm.live, 0);
}


/* Results have the time to live and the cache scope of the endpoint or of the
 * catalog's item. */
TEST(cache_values_come_from_the_endpoint_for_lists_and_from_the_item_for_reads)
{
    size_t               i;
    mcp_client_t         client;
    mcp_result_t         add;
    mcp_catalog_t       *catalog;
    mcp_endpoint_t       e;
    const mcp_method_t  *method;

    static const struct {
        mcp_method_e  method;
        const char   *name;
        unsigned      catalog:1;
        unsigned      has_principal:1;
        uint64_t      ttl;
        int           is_public;
    } cases[] = {
        { MCP_METHOD_SERVER_DISCOVER, "", 0, 0, 7, 1 },
        { MCP_METHOD_SERVER_DISCOVER, "", 1, 1, 7, 0 },
        { MCP_METHOD_TOOLS_LIST, "", 1, 0, 7, 1 },
        { MCP_METHOD_TOOLS_LIST, "", 1, 1, 7, 0 },
        { MCP_METHOD_TOOLS_LIST, "", 0, 0, 0, 0 },
        { MCP_METHOD_RESOURCES_READ, "x:1", 1, 0, 300000, 0 },
        { MCP_METHOD_RESOURCES_READ, "x:1", 0, 0, 0, 0 },
        { MCP_METHOD_RESOURCES_READ, "x:2", 1, 1, 500, 1 },
        { MCP_METHOD_RESOURCES_READ, "x:3", 1, 0, 0, 0 },
        { MCP_METHOD_RESOURCES_READ, "x:4", 1, 0, 0, 0 },
        { MCP_METHOD_RESOURCES_READ, "y:0", 1, 0, 0, 1 },
        { MCP_METHOD_RESOURCES_READ, "y:1", 1, 0, 0, 0 },
        { MCP_METHOD_RESOURCES_READ, "z:0", 1, 0, 0, 0 },
    };

    test_env_init(&te);
    memset(&e, 0, sizeof(e));
    memset(&client, 0, sizeof(client));
    catalog = catalog_of(
        "{\"resources\":["
        "{\"uri\":\"x:1\",\"name\":\"a\",\"x-mcp-cache-ttl\":300},"
        "{\"uri\":\"x:2\",\"name\":\"a\",\"x-mcp-cache-ttl\":0.5,"
        "\"x-mcp-cache-scope\":\"public\"},"
        "{\"uri\":\"x:3\",\"name\":\"a\",\"x-mcp-cache-scope\":\"private\"},"
        "{\"uri\":\"x:4\",\"name\":\"a\",\"x-mcp-max-wait\":3},"
        "{\"uri\":\"y:1\",\"name\":\"a\"}],"
        "\"resourceTemplates\":[{\"uriTemplate\":\"y:{a}\",\"name\":\"t\","
        "\"x-mcp-cache-scope\":\"public\"}]}");
    e.result_members = mcp_str("members");
    e.cache_ttl = 7;

    client.revision = MCP_REVISION_2025_11_25;
    assert_null(mcp_endpoint_result(&e, &client,
                                    mcp_method(MCP_METHOD_TOOLS_LIST),
                                    mcp_null_str, &add));

    client.revision = MCP_REVISION_2026_07_28;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        e.catalog = cases[i].catalog ? catalog : NULL;
        e.has_principal = cases[i].has_principal;
        method = mcp_method(cases[i].method);

        assert_ptr_equal(mcp_endpoint_result(&e, &client, method,
                                             test_str(cases[i].name), &add),
                         &add);
        assert_int_equal(add.caches, 1);
        assert_int_equal(add.ttl, cases[i].ttl);
        assert_int_equal(add.is_public, cases[i].is_public);
    }

    /* a client with a principal: lists for it are not public */

    e.has_principal = 0;
    client.principal[0] = 1;
    (void) mcp_endpoint_result(&e, &client, mcp_method(MCP_METHOD_TOOLS_LIST),
                               mcp_null_str, &add);
    assert_int_equal(add.is_public, 0);

    mcp_catalog_free(catalog);
    assert_int_equal(te.tm.live, 0);
}


RUN_TESTS(NULL, NULL)

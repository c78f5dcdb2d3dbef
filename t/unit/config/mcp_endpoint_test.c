/* SPDX-License-Identifier: Apache-2.0 */

/* What an endpoint offers, and where its calls go. */

#include "test_env.h"

#include "mcp_endpoint.h"


static test_env_t  te;


static mcp_match_t *
match(const char *pattern)
{
    char          error[128];
    mcp_match_t  *m;

    assert_int_equal(mcp_match_create(&te.env.mem, test_str(pattern), &m,
                                      error, sizeof(error)),
                     MCP_OK);

    return m;
}


static void
test_route(void **state)
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

    (void) state;

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
    assert_int_equal(mcp_endpoint_route(&e, mcp_str("other")),
                     MCP_NO_TARGET);
    assert_int_equal(mcp_endpoint_route(&e, mcp_str("one")), 1);

    /* the first one that fits */

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


static void
test_offers(void **state)
{
    size_t          i;
    char            error[256];
    mcp_buf_t       buf;
    mcp_catalog_t  *catalog;
    mcp_endpoint_t  e;

    static const struct {
        const char  *catalog;          /* NULL: none */
        unsigned     target;
        const char  *capabilities;
        int          kinds[4];         /* in the order below */
        int          completes;
    } cases[] = {
        { NULL, 0,
          "{\"tools\":{\"listChanged\":true},"
          "\"prompts\":{\"listChanged\":true},"
          "\"resources\":{\"subscribe\":true,\"listChanged\":true},"
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
          "\"logging\":{}}", { 0, 0, 0, 1 }, 0 }
    };

    static const mcp_list_e  kinds[] = {
        MCP_LIST_TOOLS, MCP_LIST_PROMPTS, MCP_LIST_RESOURCES,
        MCP_LIST_TEMPLATES
    };

    size_t  k;

    (void) state;

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
        assert_int_equal(buf.failed, MCP_OK);
        assert_str_is(((mcp_str_t) { buf.data, buf.len }),
                      cases[i].capabilities);
        mcp_buf_free(&buf);

        if (catalog) {
            mcp_catalog_free(catalog);
        }

        assert_int_equal(te.tm.live, 0);
    }
}


/* The faces that clients may ask for, or are given. */
static void
test_faces(void **state)
{
    mcp_buf_t       buf;
    test_env_t      local;
    mcp_endpoint_t  e;

    (void) state;

    test_env_init(&local);
    memset(&e, 0, sizeof(e));
    e.target = MCP_NO_TARGET;
    e.max_wait = 1;
    mcp_buf_init(&buf, &local.env.mem, 4096);

    mcp_endpoint_capabilities(&e, 0, &buf);
    assert_str_is(((mcp_str_t) { buf.data, buf.len }),
                  "{\"logging\":{},\"experimental\":{"
                  "\"resumableRequests\":{},\"streams\":{},"
                  "\"resumeTokens\":{}}}");

    e.link = 1;
    buf.len = 0;
    mcp_endpoint_capabilities(&e, 0, &buf);
    assert_str_is(((mcp_str_t) { buf.data, buf.len }),
                  "{\"logging\":{},\"experimental\":{"
                  "\"resumableRequests\":{},\"streams\":{},"
                  "\"resumeTokens\":{},\"streamLinks\":{}}}");

    mcp_buf_free(&buf);
    assert_int_equal(local.tm.live, 0);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_route),
        cmocka_unit_test(test_offers),
        cmocka_unit_test(test_faces)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Inheritance between sections, and the resulting endpoint. */


#include "setup_cases.h"


TEST(endpoint_without_directives_has_the_defaults)
{
    mcp_keys_t    keys;
    mcp_setup_t  *s;

    s = setup_new();

    assert_int_equal(mcp_setup_targets(s), 0);

    assert_ok(endpoint_of(s, &keys));

    assert_str_is(e.name, "own");
    assert_str_is(e.version, "0.1");
    assert_str_is(e.result_members,
                  "\"resultType\":\"complete\",\"_meta\":{"
                  "\"io.modelcontextprotocol/serverInfo\":"
                  "{\"name\":\"own\",\"version\":\"0.1\"}}");
    assert_int_equal(e.title.len, 0);
    assert_ptr_equal(e.keys, &keys);
    assert_null(e.catalog);
    assert_int_equal(e.n_routes, 0);
    assert_int_equal(e.target, MCP_NO_TARGET);
    assert_int_equal(e.n_origins, 0);
    assert_int_equal(e.any_origin, 0);
    assert_int_equal(e.publish_url.len, 0);
    assert_int_equal(e.retry, 2000);
    assert_int_equal(mcp_setup_targets(s), 0);
    assert_int_equal(mcp_setup_publish_secret(s).len, 0);
}


TEST(identity_of_an_endpoint_is_its_path_unless_a_name_is_set)
{
    mcp_setup_t  *s, *inner;

    s = setup_new();
    inner = setup_new();

    assert_int_equal(mcp_setup_identity(s).len, 0);
    assert_ok(mcp_setup_path(s, mcp_str("/outer")));
    assert_ok(mcp_setup_path(inner, mcp_str("/inner")));
    assert_int_equal(mcp_setup_has_cluster_endpoint(s), 0);

    /* the identity of an endpoint is the path of the innermost section, unless
     * a section sets a name */

    mcp_setup_merge(inner, s);
    endpoint(inner);
    assert_true(mcp_str_eq(e.identity, mcp_str("/inner")));

    assert_int_equal(mcp_setup_cluster_endpoint(s, mcp_null_str, error),
                     MCP_ERR_CONFIG);
    assert_ok(mcp_setup_cluster_endpoint(s, mcp_str("shop"), error));
    assert_int_equal(mcp_setup_cluster_endpoint(s, mcp_str("shop"), error),
                     MCP_ERR_CONFIG);
    mcp_setup_merge(inner, s);
    assert_int_equal(mcp_setup_has_cluster_endpoint(inner), 1);
    endpoint(inner);
    assert_true(mcp_str_eq(e.identity, mcp_str("shop")));
}


TEST(catalog_key_depends_on_server_name_and_section_path_and_endpoint_number)
{
    unsigned char  place[MCP_DIGEST_LEN];
    mcp_setup_t   *s, *inner;

    s = setup_new();
    inner = setup_new();

    assert_null(mcp_setup_catalog_key(s));
    endpoint(s);
    assert_true(
        e.catalog_key[0] == 0 && e.catalog_key[MCP_DIGEST_LEN - 1] == 0);

    assert_ok(mcp_setup_set_catalog_key(s, mcp_str("a"), mcp_str("/b"), 0));
    memcpy(place, mcp_setup_catalog_key(s), MCP_DIGEST_LEN);
    endpoint(s);
    assert_memory_equal(e.catalog_key, place, MCP_DIGEST_LEN);

    /* the catalog key is inherited together with the catalog */

    mcp_setup_merge(inner, s);
    endpoint(inner);
    assert_memory_equal(e.catalog_key, place, MCP_DIGEST_LEN);

    assert_ok(mcp_setup_set_catalog_key(inner, mcp_str("a"), mcp_str("/b"), 1));
    endpoint(inner);
    assert_memory_not_equal(e.catalog_key, place, MCP_DIGEST_LEN);
    assert_ok(mcp_setup_set_catalog_key(inner, mcp_str("/b"), mcp_str("a"), 0));
    assert_memory_not_equal(mcp_setup_catalog_key(inner), place,
        MCP_DIGEST_LEN);
    assert_ok(mcp_setup_set_catalog_key(inner, mcp_str("a"), mcp_str("/b"), 0));
    assert_memory_equal(mcp_setup_catalog_key(inner), place, MCP_DIGEST_LEN);
}


TEST(default_stream_buffer_is_at_most_an_eighth_of_the_zone)
{
    mcp_setup_t    *s, *inner;
    mcp_endpoint_t  endpoint;

    s = setup_new();
    inner = setup_new();

    /* mcp_stream_buffer is 8m by default, but at most an eighth of the zone */

    assert_int_equal(mcp_setup_fills_zone(s, 64 << 20), 0);
    assert_int_equal(mcp_setup_fills_zone(s, 16 << 20), 0);
    assert_int_equal(mcp_setup_fills_zone(s, 300 << 10), 0);

    memset(&endpoint, 0, sizeof(endpoint));
    endpoint.stream_buffer = 8 << 20;
    mcp_setup_fit(s, 64 << 20, &endpoint);
    assert_int_equal(endpoint.stream_buffer, 8 << 20);
    mcp_setup_fit(s, 16 << 20, &endpoint);
    assert_int_equal(endpoint.stream_buffer, 2 << 20);

    taken(mcp_setup_option(s, MCP_OPTION_STREAM_BUFFER, mcp_str("64k"), error));
    mcp_setup_merge(inner, s);
    assert_int_equal(mcp_setup_fills_zone(inner, 300 << 10), 0);
    assert_int_equal(mcp_setup_fills_zone(inner, 256 << 10), 1);

    endpoint.stream_buffer = 64 << 10;
    mcp_setup_fit(inner, 256 << 10, &endpoint);
    assert_int_equal(endpoint.stream_buffer, 64 << 10);
}


static int
drops(void *ctx, mcp_str_t name)
{
    return memchr(name.data, *(char *) ctx, name.len) != NULL;
}


TEST(mcp_task_ttl_shorter_than_mcp_call_timeout_is_reported)
{
    mcp_setup_t  *s;

    s = setup_new();
    assert_int_equal(warnings(s, 0, "mcp_task_ttl"), 0);
    taken(mcp_setup_option(s, MCP_OPTION_TASK_TTL, mcp_str("9m"), error));
    assert_int_equal(warnings(s, 0, "mcp_task_ttl"), 1);
    taken(mcp_setup_option(s, MCP_OPTION_TASK_AFTER, mcp_str("off"), error));
    assert_int_equal(warnings(s, 0, "mcp_task_ttl"), 0);

    /* mcp_task_after is off, but the catalog has a tool with tasks */

    taken(mcp_setup_catalog(s, mcp_str("/c.json"), mcp_str(
                                "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{"
                                "\"type\":\"object\"},"
                                "\"x-mcp-task\":\"always\"}]}"), error));
    assert_int_equal(warnings(s, 0, "mcp_task_ttl"), 1);
    taken(mcp_setup_option(s, MCP_OPTION_CALL_TIMEOUT, mcp_str("8m"), error));
    assert_int_equal(warnings(s, 0, "mcp_task_ttl"), 0);
}


/* The server drops a header that the catalog requires: the error message names
 * the header and the catalog. */
TEST(catalog_requires_a_header_that_the_server_drops__the_catalog_is_rejected)
{
    char          c;
    mcp_setup_t  *s, *inner;

    s = setup_new();
    inner = setup_new();

    c = '_';
    assert_ok(mcp_setup_check_headers(s, drops, &c, error));

    taken(mcp_setup_catalog(s, mcp_str("/c.json"), mcp_str(
                                "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{"
                                "\"type\":\"object\",\"properties\":{\"a\":\n{"
                                "\"type\":\"string\",\"x-mcp-header\":\"A_b\"}"
                                "}}}]}"), error));
    mcp_setup_merge(inner, s);

    refused(mcp_setup_check_headers(inner, drops, &c, error),
            "/c.json: line 2: the header \"Mcp-Param-A_b\"");

    c = '.';
    assert_ok(mcp_setup_check_headers(inner, drops, &c, error));

    /* the endpoint has only revisions that do not use these headers:
     * accepted */

    c = '_';
    taken(mcp_setup_revision(inner, mcp_str("2025-11-25"), error));
    assert_ok(mcp_setup_check_headers(inner, drops, &c, error));
}


static void
is_all(mcp_setup_t *s, const char *n)
{
    mcp_keys_t  expected;
    char        key[64], url[64];

    snprintf(url, sizeof(url), "http://%s", n);
    snprintf(key, sizeof(key), "%s%s", n, KEY);
    memset(&expected, 0, sizeof(expected));
    assert_ok(mcp_keys_add(&expected, test_str(key)));

    endpoint(s);

    assert_int_equal(e.retry, (uint64_t) (n[0] - '0') * 1000);
    assert_str_is(e.name, n);
    assert_str_is(e.version, n);
    assert_str_is(e.title, n);
    assert_memory_equal(e.keys->key[0], expected.key[0],
                        sizeof(expected.key[0]));
    assert_non_null(e.catalog);
    assert_int_equal(e.n_routes, 2);
    assert_int_equal(mcp_setup_targets(s), 1);
    assert_str_is(mcp_setup_target(s, 0), n);
    assert_int_equal(e.n_origins, 1);
    assert_str_is(e.publish_url, url);
    assert_str_is(mcp_setup_publish_secret(s), n);
}


TEST(section_inherits_each_directive_that_it_does_not_set)
{
    mcp_setup_t  *outer, *inner, *leaf;

    outer = setup_new();
    inner = setup_new();
    leaf = setup_new();

    /* a section without directives inherits all directives, even across
     * another section without directives */

    taken(say_all(outer, "1"));
    mcp_setup_merge(inner, outer);
    mcp_setup_merge(leaf, inner);
    is_all(leaf, "1");
    is_all(outer, "1");

    /* a section with all directives inherits none */

    inner = setup_new();
    taken(say_all(inner, "2"));
    mcp_setup_merge(inner, outer);
    is_all(inner, "2");
    is_all(outer, "1");

    /* two setups are merged into a new section, as Apache does: values of the
     * first one take precedence */

    leaf = setup_new();
    mcp_setup_merge(leaf, inner);
    mcp_setup_merge(leaf, outer);
    is_all(leaf, "2");
}


/* Directives that belong together are inherited together, and an empty value
 * counts as set. */
TEST(directives_that_belong_together_are_inherited_together)
{
    mcp_setup_t  *outer, *s;

    outer = setup_new();
    taken(say_all(outer, "1"));

    s = setup_new();
    taken(mcp_setup_server(s, mcp_str("a"), mcp_str("b"), mcp_null_str, error));
    taken(mcp_setup_route(s, mcp_str("y"), mcp_str("@y"), error));
    taken(mcp_setup_origin(s, mcp_str("*"), error));
    taken(mcp_setup_publish_url(s, mcp_str(""), error));
    taken(mcp_setup_backend(s, mcp_str(""), error));
    mcp_setup_merge(s, outer);

    endpoint(s);
    assert_str_is(e.name, "a");
    assert_int_equal(e.title.len, 0);
    assert_int_equal(e.n_routes, 1);
    assert_int_equal(e.target, MCP_NO_TARGET);
    assert_int_equal(e.any_origin, 1);
    assert_int_equal(e.n_origins, 0);
    assert_int_equal(e.publish_url.len, 0);
    assert_int_equal(e.retry, 1000);

    /* the origin "*" is inherited, unless the inner section sets origins */

    taken(mcp_setup_origin(outer, mcp_str("*"), error));
    s = setup_new();
    mcp_setup_merge(s, outer);
    endpoint(s);
    assert_int_equal(e.any_origin, 1);
    assert_int_equal(e.n_origins, 1);

    s = setup_new();
    taken(mcp_setup_origin(s, mcp_str("null"), error));
    mcp_setup_merge(s, outer);
    endpoint(s);
    assert_int_equal(e.any_origin, 0);
    assert_int_equal(e.n_origins, 1);
}


/* A setup copies all texts of its caller. */
TEST(setup_keeps_a_copy_of_each_text)
{
    char          n[2];
    mcp_setup_t  *s;

    s = setup_new();
    strcpy(n, "3");
    taken(say_all(s, n));
    memset(n, 'x', sizeof(n));
    is_all(s, "3");
}


RUN_TESTS(init, done)

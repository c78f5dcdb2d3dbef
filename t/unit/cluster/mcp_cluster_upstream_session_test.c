/* SPDX-License-Identifier: Apache-2.0 */

/* Sessions at MCP servers that the nodes of a cluster share, by Redis. */

#include "cluster_streams.h"


#define LASTS  86400000


static int                   answered;
static mcp_operation_text_t  found;


static void
note(void *data, int rc)
{
    answered = rc;
}


/* Starts an operation of node i on the session with this key, and returns its
 * result. */
static int
session(int i, mcp_operation_session_e what, char key, const char *text)
{
    int                   rc;
    mcp_operation_spec_t  spec;

    memset(&spec, 0, sizeof(spec));
    spec.kind = MCP_OPERATION_UPSTREAM_SESSION;
    spec.session.what = what;
    memset(spec.session.key, key, MCP_DIGEST_LEN);
    spec.session.text = (mcp_str_t) { text, strlen(text) };
    spec.session.lasts = LASTS;
    spec.session.found = &found;

    found.len = 0;
    answered = MCP_AGAIN;
    rc = mcp_operation_send(nodes[i].worker, &spec, note, NULL);

    if (rc != MCP_AGAIN) {
        return rc;
    }

    run(i);
    assert_int_not_equal(answered, MCP_AGAIN);

    return answered;
}


static int
get(int i, char key)
{
    return session(i, MCP_OPERATION_SESSION_GET, key, "");
}


static void
has_found(const char *text)
{
    assert_true(mcp_str_eq((mcp_str_t) { found.text, found.len },
                           (mcp_str_t) { text, strlen(text) }));
}


TEST(upstream_session_is_stored_by_one_node__other_nodes_can_get_it)
{
    begin_all(2);
    assert_int_equal(get(1, 'a'), MCP_ERR_NOT_FOUND);
    assert_ok(session(0, MCP_OPERATION_SESSION_PUT, 'a', "s1"));
    assert_ok(get(1, 'a'));
    has_found("s1");
    assert_int_equal(get(1, 'b'), MCP_ERR_NOT_FOUND);
    all_expire(0);
}


TEST(two_nodes_store_an_upstream_session_under_one_key__the_first_one_stays)
{
    begin_all(2);
    assert_ok(session(0, MCP_OPERATION_SESSION_PUT, 'a', "s1"));
    assert_int_equal(session(1, MCP_OPERATION_SESSION_PUT, 'a', "s2"),
                     MCP_ERR_EXISTS);
    has_found("s1");
    assert_ok(session(0, MCP_OPERATION_SESSION_PUT, 'a', "s1"));
    assert_ok(get(1, 'a'));
    has_found("s1");
}


TEST(old_upstream_session_is_dropped__a_newer_session_under_its_key_stays)
{
    begin_all(2);
    assert_ok(session(0, MCP_OPERATION_SESSION_PUT, 'a', "s1"));
    assert_ok(session(1, MCP_OPERATION_SESSION_DROP, 'a', "s0"));
    assert_ok(get(0, 'a'));
    assert_ok(session(1, MCP_OPERATION_SESSION_DROP, 'a', "s1"));
    assert_int_equal(get(0, 'a'), MCP_ERR_NOT_FOUND);
    assert_ok(session(1, MCP_OPERATION_SESSION_DROP, 'a', "s1"));
}


TEST(upstream_session_is_taken_out_of_redis__no_node_gets_it_any_more)
{
    begin_all(2);
    assert_ok(session(0, MCP_OPERATION_SESSION_PUT, 'a', "s1"));
    assert_ok(session(1, MCP_OPERATION_SESSION_TAKE, 'a', ""));
    has_found("s1");
    assert_int_equal(get(0, 'a'), MCP_ERR_NOT_FOUND);
    assert_int_equal(session(0, MCP_OPERATION_SESSION_TAKE, 'a', ""),
                     MCP_ERR_NOT_FOUND);
}


/* Runs a Redis command on the key of the session 'a'. */
static const char *
on_key(const char *name, const char *argument)
{
    char  key[MCP_DIGEST_LEN + 1], text[1024];

    memset(key, 'a', MCP_DIGEST_LEN);
    key[MCP_DIGEST_LEN] = '\0';
    snprintf(text, sizeof(text), "%s {mcp}:1:u:%s %s", name, key, argument);

    return command(0, text);
}


TEST(node_gets_or_stores_an_upstream_session__its_expiry_in_redis_is_extended)
{
    begin_all(1);
    assert_ok(session(0, MCP_OPERATION_SESSION_PUT, 'a', "s1"));
    assert_string_equal(on_key("PEXPIRE", "1000"), "1");
    assert_ok(get(0, 'a'));
    assert_true(atoi(on_key("PTTL", "")) > 1000);
    assert_string_equal(on_key("PEXPIRE", "1000"), "1");
    assert_ok(session(0, MCP_OPERATION_SESSION_PUT, 'a', "s1"));
    assert_true(atoi(on_key("PTTL", "")) > 1000);
}


TEST(upstream_session_in_redis_is_too_long__a_node_gets_an_error_instead)
{
    char  text[MCP_STORE_TEXT_MAX + 2];

    begin_all(1);
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    (void) on_key("SET", text);
    (void) on_key("EXPIRE", "60");
    assert_int_equal(get(0, 'a'), MCP_ERR_UNREACHABLE);
    assert_non_null(strstr(nodes[0].te.last, "script upstream_session: "));
}


TEST(node_is_not_a_member__its_request_for_an_upstream_session_fails)
{
    begin_all(1);
    nodes[0].cluster->state = MCP_CLUSTER_APART;
    assert_int_equal(get(0, 'a'), MCP_ERR_UNREACHABLE);
    nodes[0].cluster->state = MCP_CLUSTER_MEMBER;
}


RUN_TESTS_WITH_REDIS(start)

/* SPDX-License-Identifier: Apache-2.0 */

/* The body of a request for an upstream of another revision than the client's:
 * which members are added and removed, and that all other bytes are copied. */


#include "memory_cases.h"

#include "rpc/mcp_upstream_body.h"


#define OWN      "io.modelcontextprotocol/"

#define ADDED    "\"" OWN "protocolVersion\":\"2026-07-28\","                 \
                 "\"" OWN "clientCapabilities\":{\"roots\":{}},"              \
                 "\"" OWN "clientInfo\":{\"name\":\"m\"}"

#define HEAD     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\""

#define META(m)  HEAD ",\"params\":{\"_meta\":{" m "}}}"


static const struct {
    const char  *body;
    const char  *result;               /* with the members of a modern request */
} added[] = {
    { HEAD "}", META(ADDED) },
    { HEAD " } ", HEAD " ,\"params\":{\"_meta\":{" ADDED "}}} " },
    { HEAD ",\"params\":null}", META(ADDED) },
    { HEAD ",\"params\":{}}", META(ADDED) },
    { HEAD ",\"params\":{ \"_meta\" : { } } }",
      HEAD ",\"params\":{\"_meta\":{" ADDED "}} }" },
    { HEAD ",\"params\":{\"_meta\":null}}", META(ADDED) },
    { HEAD ",\"params\":{\"name\":\"a}\",\"arguments\":{\"_meta\": [1, 2]}}}",
      HEAD ",\"params\":{\"name\":\"a}\",\"arguments\":{\"_meta\": [1, 2]},"
      "\"_meta\":{" ADDED "}}}" },
    { "{\"params\":{\"_meta\":{\"progressToken\":7,\"traceparent\":\"00\"},"
      "\"name\":\"a\"},\"method\":\"tools/call\",\"id\":\"x\"}",
      "{\"params\":{\"name\":\"a\",\"_meta\":{\"progressToken\":7,"
      "\"traceparent\":\"00\"," ADDED "}},\"method\":\"tools/call\","
      "\"id\":\"x\"}" },

    /* reserved members of an older client, in each spelling */
    { META("\"" OWN "clientCapabilities\":{\"sampling\":{}},\"a\":1"),
      META("\"a\":1," ADDED) },
    { META("\"IO.ModelContextProtocol/x\":1"), META(ADDED) },
    { META("\"\\u0069o.modelcontextprotocol\\/x\":1"), META(ADDED) },
    { META("\"io.modelcontextprotocol\":1"),
      META("\"io.modelcontextprotocol\":1," ADDED) },
    { META("\"a" OWN "x\":1"), META("\"a" OWN "x\":1," ADDED) },
};


static const struct {
    const char  *body;
    const char  *result;               /* NULL: unchanged */
} tasks[] = {
    { HEAD "}", NULL },
    { META(""), NULL },
    { META("\"" OWN "clientCapabilities\":{}"), NULL },
    { META("\"" OWN "clientCapabilities\":{\"extensions\":[]}"), NULL },
    { META("\"" OWN "clientCapabilities\":{\"extensions\":{\"a/b\": {}}}"),
      NULL },
    { META("\"" OWN "clientCapabilities\": {\"extensions\":{\"a/b\": {},"
           "\"" OWN "tasks\":{}, \"c/d\":1}, \"roots\" : {}},\"z\":1"),
      META("\"" OWN "clientCapabilities\": {\"extensions\":{\"a/b\":{},"
           "\"c/d\":1}, \"roots\" : {}},\"z\":1") },
    { META("\"" OWN "clientCapabilities\":{\"extensions\":{"
           "\"" OWN "\\u0074asks\":{}}}"),
      META("\"" OWN "clientCapabilities\":{\"extensions\":{}}") },
}, removed[] = {
    { HEAD "}", NULL },
    { META("\"progressToken\":1"), NULL },
    { HEAD ",\"params\":{\"name\":\"a\"}}", NULL },
    { META("\"" OWN "logLevel\":\"info\", \"progressToken\":1"),
      META("\"progressToken\":1") },
    { HEAD ",\"params\":{\"name\": \"a\",\"inputResponses\":{},"
      "\"requestState\":\"s\"}}",
      HEAD ",\"params\":{\"name\":\"a\"}}" },
    { HEAD ",\"params\":{\"requestState\":\"s\",\"_meta\":{\"a\":1}} }",
      HEAD ",\"params\":{\"_meta\":{\"a\":1}} }" },
};

static const mcp_upstream_meta_t  meta = {
    mcp_str("{\"roots\":{}}"), mcp_str("{\"name\":\"m\"}"), { NULL, 0 }
};


TEST(request_for_an_mcp_server_of_2026_07_28_gets_its_meta_members)
{
    size_t     i;
    mcp_buf_t  out;

    for (i = 0; i < sizeof(added) / sizeof(added[0]); i++) {
        mcp_buf_init(&out, &tm.mem, 2000);
        mcp_upstream_add_meta(&out, test_str(added[i].body), &meta);
        assert_ok(out.failed);
        assert_str_is(mcp_buf_text(&out), added[i].result);
        mcp_buf_free(&out);
    }
}


TEST(log_level_is_added_to_the_meta_of_a_request)
{
    mcp_buf_t            out;
    mcp_upstream_meta_t  logs;

    logs = meta;
    logs.log_level = mcp_str("\"debug\"");
    mcp_buf_init(&out, &tm.mem, 2000);
    mcp_upstream_add_meta(&out, mcp_str(HEAD "}"), &logs);
    assert_str_is(mcp_buf_text(&out),
                  META(ADDED ",\"" OWN "logLevel\":\"debug\""));
    mcp_buf_free(&out);
}


TEST(client_capabilities_include_the_tasks_extension__only_this_is_removed)
{
    int        rc;
    size_t     i;
    mcp_buf_t  out;

    for (i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++) {
        mcp_buf_init(&out, &tm.mem, 2000);
        rc = mcp_upstream_remove_tasks(&out, test_str(tasks[i].body));
        assert_int_equal(rc, tasks[i].result != NULL);
        assert_str_is(mcp_buf_text(&out),
                      tasks[i].result ? tasks[i].result : "");
        mcp_buf_free(&out);
    }
}


TEST(members_of_2026_07_28_are_removed_for_an_older_mcp_server)
{
    int        rc;
    size_t     i;
    mcp_buf_t  out;

    for (i = 0; i < sizeof(removed) / sizeof(removed[0]); i++) {
        mcp_buf_init(&out, &tm.mem, 2000);
        rc = mcp_upstream_remove_meta(&out, test_str(removed[i].body));
        assert_int_equal(rc, removed[i].result != NULL);

        if (rc) {
            assert_str_is(mcp_buf_text(&out), removed[i].result);
        }

        mcp_buf_free(&out);
    }
}


TEST(id_of_a_request_is_replaced_and_all_other_bytes_stay)
{
    size_t     i;
    mcp_buf_t  out;

    static const struct {
        const char  *body;
        const char  *result;
    } ids[] = {
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
          "{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"ping\"}" },
        { " {\"params\":{\"id\":2},\"id\" : \"a\\\"b\" } ",
          " {\"params\":{\"id\":2},\"id\" : 77 } " },
        { "{\"\\u0069d\":-1.5,\"method\":\"id\"}",
          "{\"\\u0069d\":77,\"method\":\"id\"}" }
    };

    for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        mcp_buf_init(&out, &tm.mem, 2000);
        mcp_upstream_set_id(&out, test_str(ids[i].body), mcp_str("77"));
        assert_str_is(mcp_buf_text(&out), ids[i].result);
        mcp_buf_free(&out);
    }
}


TEST(memory_or_room_runs_out__adding_meta_to_a_request_fails)
{
    mcp_buf_t  out;

    mcp_buf_init(&out, &tm.mem, 40);
    mcp_upstream_add_meta(&out, mcp_str(META("\"a\":1")), &meta);
    assert_int_equal(out.failed, MCP_ERR_LIMIT);
    mcp_buf_free(&out);

    tm.fail_at = 1;
    mcp_buf_init(&out, &tm.mem, 2000);
    mcp_upstream_add_meta(&out, mcp_str(META("\"a\":1")), &meta);
    assert_int_equal(out.failed, MCP_ERR_MEMORY);
    mcp_buf_free(&out);
}


RUN_TESTS(init, done)

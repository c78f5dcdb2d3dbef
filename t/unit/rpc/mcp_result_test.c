/* SPDX-License-Identifier: Apache-2.0 */

/* Results contain each member that the revision requires once; the rest of the
 * backend's result is unchanged. */


#include "memory_cases.h"

#include "json/mcp_json_scan.h"
#include "rpc/mcp_result.h"


#define INFO  "{\"name\":\"n\",\"version\":\"1\"}"
#define META  "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":" INFO
#define DONE  "\"resultType\":\"complete\""


#define MEMBERS  mcp_str(DONE "," META "}")

static const mcp_result_t  plain = { MEMBERS, 0, 0, 0, 0, 0 };
static const mcp_result_t  caches = { MEMBERS, 1, 0, 70, 0, 0 };
static const mcp_result_t  is_public = { MEMBERS, 1, 1, 0, 0, 0 };
static const mcp_result_t  keeps = { MEMBERS, 0, 0, 0, 0, 1 };
static const mcp_result_t  is_private = { MEMBERS, 1, 0, 0, 1, 0 };


static const struct {
    const char          *body;
    const mcp_result_t  *add;
    const char          *result;
} cases[] = {
    { "{\"a\": 1 }", NULL, "{\"a\": 1 }" },
    { "{}", &plain, "{" DONE "," META "}}" },
    { "{\"a\":1}", &plain, "{\"a\":1," DONE "," META "}}" },
    { "{\"a\":[ 1 ,{\"b\":\"\\/\"}] , \"c\":2.0}", &plain,
      "{\"a\":[ 1 ,{\"b\":\"\\/\"}],\"c\":2.0," DONE "," META "}}" },

    /* the backend's result has a valid resultType, or one that is not a
     * string */
    { "{\"resultType\":\"complete\",\"a\":1}", &plain,
      "{\"resultType\":\"complete\",\"a\":1," META "}}" },
    { "{\"resultType\":7,\"a\":1}", &plain,
      "{\"a\":1," DONE "," META "}}" },

    /* the backend's _meta is kept, except for its serverInfo */
    { "{\"_meta\":{\"x\":1}}", &plain,
      "{" META ",\"x\":1}," DONE "}" },
    { "{\"_meta\":{\"io.modelcontextprotocol/serverInfo\":0,\"x\":1}}", &plain,
      "{" META ",\"x\":1}," DONE "}" },
    { "{\"_meta\":{\"x\":1,\"io.modelcontextprotocol/serverInfo\":{}}}", &keeps,
      "{\"_meta\":{\"x\":1,\"io.modelcontextprotocol/serverInfo\":{}}," DONE
      "}" },
    { "{\"_meta\":{\"io.modelcontextprotocol/serverInfo\":0,\"x\":1}}", &keeps,
      "{" META ",\"x\":1}," DONE "}" },
    { "{\"_meta\":{ }}", &plain, "{" META "}," DONE "}" },
    { "{\"_meta\":null}", &plain, "{" DONE "," META "}}" },

    /* the backend's result has ttlMs or cacheScope */
    { "{\"a\":1}", &caches,
      "{\"a\":1," DONE ",\"ttlMs\":70,\"cacheScope\":\"private\"," META "}}" },
    { "{}", &is_public,
      "{" DONE ",\"ttlMs\":0,\"cacheScope\":\"public\"," META "}}" },
    { "{\"ttlMs\":5,\"cacheScope\":\"public\"}", &caches,
      "{\"ttlMs\":5,\"cacheScope\":\"public\"," DONE "," META "}}" },
    { "{\"ttlMs\":5,\"cacheScope\":\"public\"}", &is_private,
      "{\"ttlMs\":5," DONE ",\"cacheScope\":\"private\"," META "}}" },
    { "{\"ttlMs\":5,\"cacheScope\":\"private\"}", &is_private,
      "{\"ttlMs\":5,\"cacheScope\":\"private\"," DONE "," META "}}" },
    { "{\"ttlMs\":-5,\"cacheScope\":\"all\"}", &caches,
      "{" DONE ",\"ttlMs\":70,\"cacheScope\":\"private\"," META "}}" },
    { "{\"ttlMs\":1.5,\"cacheScope\":1}", &caches,
      "{" DONE ",\"ttlMs\":70,\"cacheScope\":\"private\"," META "}}" },
    { "{\"resultType\":\"input_required\",\"requestState\":\"s\"}", &caches,
      "{\"resultType\":\"input_required\",\"requestState\":\"s\"," META "}}" },

    /* a member's name has escapes; of two members with one name, the first
     * counts */
    { "{\"result\\u0054ype\":\"complete\",\"resultType\":\"other\"}", &plain,
      "{\"result\\u0054ype\":\"complete\"," META "}}" },
};


TEST(backends_result_lacks_a_valid_required_member__the_server_adds_it)
{
    char       text[1024];
    size_t     i;
    mcp_buf_t  out;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mcp_buf_init(&out, &tm.mem, 2000);
        mcp_result_write(&out, mcp_str("7"), test_str(cases[i].body),
                         cases[i].add);
        snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":7,"
                 "\"result\":%s}", cases[i].result);
        assert_str_is(mcp_buf_text(&out), text);
        mcp_buf_free(&out);
    }
}


TEST(result_of_this_server_gets_the_required_members)
{
    static const struct {
        const char          *id;
        const char          *result;
        const mcp_result_t  *add;
        const char          *text;     /* the id and the result */
    } own[] = {
        { "\"a\"", "{}", NULL, "\"a\",\"result\":{}}" },
        { "1", "{}", &plain, "1,\"result\":{" DONE "," META "}}}" },
        { "1", "{ \"a\": 1 \r\n\t}", &plain,
          "1,\"result\":{ \"a\": 1," DONE "," META "}}}" },
        { "1", "{ }", &plain, "1,\"result\":{" DONE "," META "}}}" },
        { "1", "{\"tools\":[]}", &caches,
          "1,\"result\":{\"tools\":[]," DONE ",\"ttlMs\":70,"
          "\"cacheScope\":\"private\"," META "}}}" }
    };

    char       text[1024];
    size_t     i;
    mcp_buf_t  out;

    for (i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        mcp_buf_init(&out, &tm.mem, 2000);
        mcp_result_head(&out, test_str(own[i].id));
        mcp_buf_str(&out, test_str(own[i].result));
        mcp_result_tail(&out, own[i].add);
        snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%s",
                 own[i].text);
        assert_str_is(mcp_buf_text(&out), text);
        mcp_buf_free(&out);
    }

    /* the buffer is too small for the result: an error */

    mcp_buf_init(&out, &tm.mem, 50);
    mcp_result_head(&out, mcp_str("1"));
    mcp_buf_lit(&out, "{\"tools\":[]}");
    mcp_result_tail(&out, &caches);
    assert_int_equal(out.failed, MCP_ERR_LIMIT);
    mcp_buf_free(&out);
}


TEST(required_members_of_any_result_are_result_type_and_server_info)
{
    mcp_buf_t  out;

    mcp_buf_init(&out, &tm.mem, 2000);
    mcp_result_members(&out, mcp_str(INFO));
    assert_str_is(mcp_buf_text(&out), DONE "," META "}");
    mcp_buf_free(&out);
}


RUN_TESTS(init, done)

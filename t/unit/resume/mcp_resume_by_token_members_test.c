/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of the members of requests and results that contain resume tokens. */

#include "resume_cases.h"
#include "memory_cases.h"
#include "resume/mcp_resume_by_token.h"


TEST(resume_tokens_at_the_top_of_params_and_in_meta_are_found)
{
    static const struct {
        const char  *params;
        const char  *found[2];
    } cases[] = {
        { "{\"name\":\"echo\"}", { NULL, NULL } },
        { "{\"resumeToken\":\"a\"}", { "\"a\"", NULL } },
        { "{\"_meta\":{\"resumeToken\":\"b\"}}", { "\"b\"", NULL } },
        { "{\"_meta\":{\"resumeToken\":7},\"resumeToken\":\"a\"}",
          { "\"a\"", "7" } },
        { "{\"arguments\":{\"resumeToken\":\"a\"}}", { NULL, NULL } }
    };

    size_t            i, k, n;
    mcp_rpc_t         msg;
    mcp_arena_t       arena;
    mcp_json_value_t  places[2];

    mcp_arena_init(&arena, &tm.mem);

    for (i = 0; i < ITEMS(cases); i++) {
        snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":1,"
                 "\"method\":\"tools/call\",\"params\":%s}", cases[i].params);
        assert_ok(mcp_rpc_parse(&arena, test_str(line), 20, MCP_RPC_FROM_CLIENT,
                                &msg));

        n = mcp_resume_token_find(&msg, places);

        for (k = 0; k < 2 && cases[i].found[k]; k++) {
            assert_true(k < n);
            assert_str_is(places[k].raw, cases[i].found[k]);
        }

        assert_int_equal(n, k);
    }

    mcp_arena_destroy(&arena);
}


TEST(next_token_of_a_result_is_replaced_or_added_or_removed)
{
    static const struct {
        const char  *result;
        const char  *token;
        int          wanted;
        const char  *written;
    } cases[] = {
        { "{\"content\":[],\"nextResumeToken\":\"a\"}", "\"b\"", 0,
          "{\"content\":[],\"nextResumeToken\":\"b\"}" },
        { "{\"_meta\":{\"x\":1,\"nextResumeToken\":\"a\"},\"content\":[]}",
          "\"b\"", 0,
          "{\"content\":[],\"_meta\":{\"x\":1,\"nextResumeToken\":\"b\"}}" },
        { "{\"nextResumeToken\":\"a\"}", "\"b\"", 1,
          "{\"nextResumeToken\":\"b\",\"_meta\":{"
          "\"nextResumeToken\":\"b\"}}" },
        { "{\"nextResumeToken\":null,\"_meta\":{\"nextResumeToken\":\"a\"}}",
          "", 1, "{\"_meta\":{}}" },
        { "{\"a\":{\"nextResumeToken\":\"a\"}}", "", 0,
          "{\"a\":{\"nextResumeToken\":\"a\"}}" }
    };

    size_t            i;
    mcp_buf_t         out;
    mcp_json_value_t  result, meta;

    mcp_buf_init(&out, &tm.mem, SIZE_MAX / 2);

    for (i = 0; i < ITEMS(cases); i++) {
        result = (mcp_json_value_t) { MCP_JSON_OBJECT,
                                      test_str(cases[i].result) };
        meta = mcp_json_get(&result, mcp_str("_meta"));

        out.len = 0;
        mcp_resume_token_write(&out, &result, &meta, test_str(cases[i].token),
                               cases[i].wanted);
        assert_ok(out.failed);
        assert_str_is(((mcp_str_t) { out.data, out.len }), cases[i].written);
    }

    mcp_buf_free(&out);
}


/* A token in _meta takes precedence over a token at the top of the result. */
TEST(result_has_two_nextResumeToken_members__that_in_meta_is_used)
{
    static const struct {
        const char  *result;
        const char  *next;             /* NULL: none */
    } cases[] = {
        { "{}", NULL },
        { "{\"nextResumeToken\":\"a\"}", "\"a\"" },
        { "{\"nextResumeToken\":\"a\",\"_meta\":{\"nextResumeToken\":1}}",
          "1" },
        { "{\"nextResumeToken\":\"a\",\"_meta\":[]}", "\"a\"" }
    };

    size_t            i;
    mcp_json_value_t  result, meta, next;

    for (i = 0; i < ITEMS(cases); i++) {
        result = (mcp_json_value_t) { MCP_JSON_OBJECT,
                                      test_str(cases[i].result) };
        meta = mcp_json_get(&result, mcp_str("_meta"));
        next = mcp_resume_token_next(&result, &meta);

        if (cases[i].next) {
            assert_str_is(next.raw, cases[i].next);

        } else {
            assert_int_equal(next.type, MCP_JSON_NONE);
        }
    }
}


RUN_TESTS(init, done)

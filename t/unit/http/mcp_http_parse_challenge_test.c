/* SPDX-License-Identifier: Apache-2.0 */

/* The Bearer challenge among others in a WWW-Authenticate header. */


#include "test_env.h"
#include "http/mcp_http_parse_challenge.h"


#define NONE  -1

/* end: length of the line up to the end of the challenge, or NONE */
static const struct {
    const char  *line;
    int          rc;
    int          end;
    int          params;
    int          metadata;
    int          scope;
} cases[] = {
    { "Bearer", MCP_OK, 6, 0, 0, 0 },
    { "bearer", MCP_OK, 6, 0, 0, 0 },
    { " , Bearer ,", MCP_OK, 9, 0, 0, 0 },
    { "Bearer realm=x", MCP_OK, 14, 1, 0, 0 },
    { "Bearer realm=\"a, b\"", MCP_OK, 19, 1, 0, 0 },
    { "Bearer realm=\"a\\\", scope=b\"", MCP_OK, 27, 1, 0, 0 },
    { "Bearer realm = \"a\" , SCOPE = b", MCP_OK, 30, 1, 0, 1 },
    { "Bearer error=\"invalid_token\",resource_metadata=\"u\"", MCP_OK, 50, 1,
      1, 0 },
    { "Basic realm=\"a\", Bearer scope=\"x y\", Digest realm=b", MCP_OK, 35, 1,
      0, 1 },
    { "Basic realm=\"a\", Bearer, Digest scope=b", MCP_OK, 23, 0, 0, 0 },
    { "Negotiate abc==, Bearer realm=x", MCP_OK, 31, 1, 0, 0 },
    { "Negotiate a/b, Bearer", MCP_OK, 21, 0, 0, 0 },
    { "Bearer a=1, Bearer scope=2", MCP_OK, 10, 1, 0, 0 },
    { "Bearer\trealm=x", MCP_OK, 14, 1, 0, 0 },

    { "", MCP_ERR_NOT_FOUND, NONE, 0, 0, 0 },
    { ",,", MCP_ERR_NOT_FOUND, NONE, 0, 0, 0 },
    { "Basic realm=\"Bearer\"", MCP_ERR_NOT_FOUND, NONE, 0, 0, 0 },
    { "Basic realm=\"a, Bearer b=c\"", MCP_ERR_NOT_FOUND, NONE, 0, 0, 0 },
    { "Bearers realm=x", MCP_ERR_NOT_FOUND, NONE, 0, 0, 0 },

    { "Bearer abc==", MCP_ERR_SYNTAX, NONE, 0, 0, 0 },
    { "Bearer abc", MCP_ERR_SYNTAX, NONE, 0, 0, 0 },
    { "Bearer realm=\"a", MCP_ERR_SYNTAX, NONE, 0, 0, 0 },
    { "Bearer realm=\"a\\", MCP_ERR_SYNTAX, NONE, 0, 0, 0 },
    { "Bearer realm=\"a\\\"", MCP_ERR_SYNTAX, NONE, 0, 0, 0 },
    { "Bearer realm=\"a\"x", MCP_ERR_SYNTAX, NONE, 0, 0, 0 },
    { "Bearer realm=a b=c", MCP_ERR_SYNTAX, NONE, 0, 0, 0 },
    { "Bearer \"a\"", MCP_ERR_SYNTAX, NONE, 0, 0, 0 },
    { "\"Bearer\"", MCP_ERR_SYNTAX, NONE, 0, 0, 0 },
    { "=", MCP_ERR_SYNTAX, NONE, 0, 0, 0 },
    { "Basic a==b, Bearer", MCP_ERR_SYNTAX, NONE, 0, 0, 0 }
};


TEST(bearer_challenge_is_found_with_its_parameters)
{
    int                   rc;
    size_t                i;
    mcp_http_challenge_t  c;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rc = mcp_http_bearer(test_str(cases[i].line), &c);

        if (rc != cases[i].rc) {
            fail_msg("%s: %d", cases[i].line, rc);
        }

        if (rc == MCP_OK
            && ((int) c.end != cases[i].end
                || (int) c.params != cases[i].params
                || (int) c.metadata != cases[i].metadata
                || (int) c.scope != cases[i].scope))
        {
            fail_msg("%s: end %d, %d%d%d", cases[i].line, (int) c.end,
                     c.params, c.metadata, c.scope);
        }
    }
}


/* The line is cut at each position: nothing after the cut is read. */
TEST(challenge_header_is_cut_off__nothing_after_the_cut_is_read)
{
    char                 *copy;
    size_t                i, n;
    mcp_http_challenge_t  c;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (n = 0; n <= strlen(cases[i].line); n++) {
            copy = malloc(n ? n : 1);
            assert_non_null(copy);
            memcpy(copy, cases[i].line, n);
            (void) mcp_http_bearer((mcp_str_t) { copy, n }, &c);
            assert_true(c.end <= n);
            free(copy);
        }
    }
}


RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: Apache-2.0 */

/* A backend's error is passed to the client unchanged, except for codes that
 * the client's revision forbids. */


#include "test_env.h"

#include "rpc/mcp_error.h"


#define SESSION    MCP_REVISION_2025_11_25
#define STATELESS  MCP_REVISION_2026_07_28


static const struct {
    mcp_revision_e  revision;
    const char     *error;
    const char     *uri;
    int             code;
    const char     *written;   /* NULL: unchanged */
} cases[] = {
    { SESSION, "{\"code\":-32002, \"message\":\"m\"}", "a:b", -32002, NULL },
    { SESSION, "{\"code\":-32042,\"message\":\"m\"}", "", -32042, NULL },
    { SESSION, "{\"code\":-32000,\"message\":\"m\"}", "", -32000, NULL },

    { STATELESS, "{ \"message\":\"m\" ,\"code\":7}", "", 7, NULL },
    { STATELESS, "{\"code\":-32602,\"message\":\"m\"}", "a:b", -32602, NULL },
    { STATELESS, "{\"code\":-31999,\"message\":\"m\"}", "", -31999, NULL },
    { STATELESS, "{\"code\":-32100,\"message\":\"m\"}", "", -32100, NULL },
    { STATELESS, "{\"code\":-32021,\"message\":\"m\"}", "", -32021, NULL },

    { STATELESS, "{\"code\":-32000,\"message\":\"m\"}", "", -32603,
      "{\"code\":-32603,\"message\":\"m\"}" },
    { STATELESS, "{\"message\":\"m\",\"data\":[ 1 ],\"c\\u006fde\":-32019}",
      "a:b", -32603, "{\"code\":-32603,\"message\":\"m\",\"data\":[ 1 ]}" },
    { STATELESS, "{\"code\":-32020,\"message\":\"m\"}", "", -32603,
      "{\"code\":-32603,\"message\":\"m\"}" },
    { STATELESS, "{\"code\":-32022,\"message\":\"m\"}", "", -32603,
      "{\"code\":-32603,\"message\":\"m\"}" },
    { STATELESS, "{\"code\":-32042,\"message\":\"m\"}", "", -32603,
      "{\"code\":-32603,\"message\":\"m\"}" },
    { STATELESS, "{\"code\":-32099,\"message\":\"m\"}", "", -32603,
      "{\"code\":-32603,\"message\":\"m\"}" },

    /* an unknown resource: the error contains its URI */
    { STATELESS, "{\"code\":-32002,\"message\":\"m\"}", "a:\"", -32602,
      "{\"code\":-32602,\"message\":\"m\",\"data\":{\"uri\":\"a:\\\"\"}}" },
    { STATELESS, "{\"code\":-32002,\"message\":\"m\",\"data\":1}", "a:b",
      -32602, "{\"code\":-32602,\"message\":\"m\",\"data\":1}" },
    { STATELESS, "{\"code\":-32002,\"message\":\"m\"}", "", -32602,
      "{\"code\":-32602,\"message\":\"m\"}" },

    /* an error code beyond 64 bits: sent unchanged, and the function
     * returns 0 */
    { STATELESS, "{\"code\":-99999999999999999999,\"message\":\"m\"}", "", 0,
      NULL },
};


static void
errors_of_backends(void **state)
{
    char        text[512];
    size_t      i;
    int64_t     code;
    mcp_buf_t   out;
    test_mem_t  tm;

    (void) state;

    test_mem_init(&tm);

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mcp_buf_init(&out, &tm.mem, 1000);

        code = mcp_error_write(&out, cases[i].revision, mcp_str("\"i\""),
                               test_str(cases[i].error),
                               test_str(cases[i].uri));

        assert_int_equal(code, cases[i].code);
        snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":\"i\","
                 "\"error\":%s}", cases[i].written ? cases[i].written
                                                   : cases[i].error);
        assert_str_is(((mcp_str_t) { out.data, out.len }), text);
        mcp_buf_free(&out);
    }

    assert_int_equal(tm.live, 0);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(errors_of_backends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

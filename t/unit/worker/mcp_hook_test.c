/* SPDX-License-Identifier: Apache-2.0 */

/* Methods of faces exist only for clients that know them. */

#include "core_cases.h"

#include "face/mcp_faces.h"


static void
test_methods(void **state)
{
    mcp_exchange_t  x;

    (void) state;

    memset(&x, 0, sizeof(x));
    x.worker = d.process[0].worker;
    assert_null(mcp_hook_find(&x, mcp_method(MCP_METHOD_STREAM_POLL)));
    assert_null(mcp_hook_find(&x, mcp_method(MCP_METHOD_PING)));

    x.session.capabilities = MCP_CLIENT_STREAMS;
    assert_ptr_equal(mcp_hook_find(&x, mcp_method(MCP_METHOD_STREAM_POLL)),
                     &mcp_face_stream);
    assert_null(mcp_hook_find(&x, mcp_method(MCP_METHOD_REQUESTS_RESUME)));

    x.session.capabilities = 0xffff;
    assert_ptr_equal(mcp_hook_find(&x, mcp_method(MCP_METHOD_REQUESTS_RESUME)),
                     &mcp_face_request);
    assert_null(mcp_hook_find(&x, mcp_method(MCP_METHOD_PING)));
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        test(test_methods)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* The URL at which a backend can publish messages after its backend
 * request. */

#include "core_cases.h"


/* No publish endpoint is configured: backends get no URL. */
TEST(mcp_publish_url_is_not_set__backends_get_no_publish_url)
{
    d.endpoint.publish_url = mcp_null_str;
    client_post(&d, 0, &a, session, CALL);
    variable_is(&d.breqs[0]->variables, MCP_VARIABLE_PUBLISH_URL, "");
    backend_json(&d, RESULT);
    client_close(&d, &a);

    d.endpoint.publish_url = mcp_str("http://h/p/");
    client_post(&d, 0, &a, session, CALL);
    assert_memory_equal(d.breqs[0]->variables
                            .value[MCP_VARIABLE_PUBLISH_URL].data,
                        "http://h/p/", 11);
    assert_true(d.breqs[0]->variables.value[MCP_VARIABLE_PUBLISH_URL].data[11]
                != '/');
    backend_json(&d, RESULT);
}


RUN_TESTS(setup, teardown)

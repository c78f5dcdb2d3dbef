/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of the response with the metadata document of a protected resource. */

#include "core_cases.h"

#include "config/mcp_auth_internal.h"


static const mcp_auth_t  auth = {
    .document = mcp_str("{}"),
    .etag = mcp_str("\"e\"")
};


static void
header_is(const mcp_response_t *response, const char *name, const char *value)
{
    size_t  i;

    for (i = 0; i < response->n_headers; i++) {
        if (mcp_str_eq(response->headers[i].name, test_str(name))) {
            assert_non_null(value);
            assert_str_is(response->headers[i].value, value);
            return;
        }
    }

    assert_null(value);
}


TEST(requests_GET_and_HEAD_return_the_metadata_document_and_others_do_not)
{
    size_t          i;
    mcp_response_t  response;

    static const struct {
        const char  *method;
        int          status;
        const char  *allow;
        const char  *cache;
    } cases[] = {
        { "GET", 200, NULL, "public, max-age=3600" },
        { "HEAD", 200, NULL, "public, max-age=3600" },
        { "OPTIONS", 204, "GET, HEAD, OPTIONS", NULL },
        { "POST", 405, "GET, HEAD, OPTIONS", NULL },
        { "get", 405, "GET, HEAD, OPTIONS", NULL }
    };

    for (i = 0; i < ITEMS(cases); i++) {
        memset(&response, 0x5a, sizeof(response));
        mcp_exchange_document(&auth, test_str(cases[i].method), &response);

        assert_int_equal(response.status, cases[i].status);
        header_is(&response, "Access-Control-Allow-Origin", "*");
        header_is(&response, "Allow", cases[i].allow);
        header_is(&response, "Cache-Control", cases[i].cache);
        header_is(&response, "ETag", cases[i].cache ? "\"e\"" : NULL);
        header_is(&response, "Access-Control-Allow-Headers",
                  cases[i].status == 204 ? "*" : NULL);
        assert_str_is(response.body, cases[i].cache ? "{}" : "");
        assert_str_is(response.content_type,
                      cases[i].cache ? "application/json" : "");
    }
}


RUN_TESTS(setup, teardown)

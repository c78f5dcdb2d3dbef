/* SPDX-License-Identifier: Apache-2.0 */

/* The metadata document for a request target, and challenges. */


#include "test_env.h"
#include "mcp_auth.h"


#define AUTH(at)                                                              \
    { .resource = mcp_str("https://a" at),                                    \
      .path = mcp_str(MCP_AUTH_WELL_KNOWN at),                                \
      .url = mcp_str("https://a" MCP_AUTH_WELL_KNOWN at),                     \
      .scope = mcp_str("x y"),                                                \
      .document = mcp_str("{" at "}") }

static const mcp_auth_t  mcp = AUTH("/mcp"), two = AUTH("/two"), root = AUTH("");

#define METADATA  "resource_metadata=\"https://a" MCP_AUTH_WELL_KNOWN "/mcp\""


static void
finds(void **state)
{
    size_t  i;

    static const mcp_auth_t *const  auths[] = { &mcp, &two };
    static const mcp_auth_t *const  roots[] = { &root };

    static const struct {
        const char        *target;
        const mcp_auth_t  *one;
        const mcp_auth_t  *both;
        const mcp_auth_t  *root;
    } cases[] = {
        { MCP_AUTH_WELL_KNOWN "/mcp", &mcp, &mcp, NULL },
        { MCP_AUTH_WELL_KNOWN "/mcp?a=b", &mcp, &mcp, NULL },
        { "http://h" MCP_AUTH_WELL_KNOWN "/mcp", &mcp, &mcp, NULL },
        { MCP_AUTH_WELL_KNOWN "/two", NULL, &two, NULL },
        { MCP_AUTH_WELL_KNOWN, &mcp, NULL, &root },
        { MCP_AUTH_WELL_KNOWN "?", &mcp, NULL, &root },
        { MCP_AUTH_WELL_KNOWN "/", NULL, NULL, NULL },
        { MCP_AUTH_WELL_KNOWN "/mcp/", NULL, NULL, NULL },
        { MCP_AUTH_WELL_KNOWN "/MCP", NULL, NULL, NULL },
        { MCP_AUTH_WELL_KNOWN "mcp", NULL, NULL, NULL },
        { "/mcp", NULL, NULL, NULL },
        { "", NULL, NULL, NULL }
    };

    (void) state;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_ptr_equal(mcp_auth_find(auths, 1, test_str(cases[i].target)),
                         cases[i].one);
        assert_ptr_equal(mcp_auth_find(auths, 2, test_str(cases[i].target)),
                         cases[i].both);
        assert_ptr_equal(mcp_auth_find(roots, 1, test_str(cases[i].target)),
                         cases[i].root);
        assert_null(mcp_auth_find(auths, 0, test_str(cases[i].target)));
    }
}


static void
checks(void **state)
{
    mcp_auth_t                      other;
    static const mcp_auth_t *const  auths[] = { &mcp };

    (void) state;

    other = mcp;

    assert_int_equal(mcp_auth_check(auths, 0, &mcp), MCP_OK);
    assert_int_equal(mcp_auth_check(auths, 1, &two), MCP_OK);
    assert_int_equal(mcp_auth_check(auths, 1, &other), MCP_DONE);
    other.document = mcp_str("{}");
    assert_int_equal(mcp_auth_check(auths, 1, &other), MCP_ERR_EXISTS);
}


static void
challenges(void **state)
{
    int         rc;
    size_t      i, n, which;
    mcp_buf_t   buf;
    mcp_str_t   values[2];
    test_mem_t  mem;

    static const struct {
        const char  *values[2];
        int          rc;
        size_t       which;
        const char  *text;
    } cases[] = {
        { { NULL }, MCP_OK, 0, "Bearer " METADATA ", scope=\"x y\"" },
        { { "Basic realm=\"a\"" }, MCP_OK, 1,
          "Bearer " METADATA ", scope=\"x y\"" },
        { { "Bearer abc" }, MCP_OK, 1, "Bearer " METADATA ", scope=\"x y\"" },
        { { "Bearer" }, MCP_OK, 0, "Bearer " METADATA ", scope=\"x y\"" },
        { { "Bearer error=\"invalid_token\"" }, MCP_OK, 0,
          "Bearer error=\"invalid_token\", " METADATA ", scope=\"x y\"" },
        { { "Bearer error=\"insufficient_scope\", scope=\"z\"" }, MCP_OK, 0,
          "Bearer error=\"insufficient_scope\", scope=\"z\", " METADATA },
        { { "Basic realm=\"a\", bearer realm=b, Digest c=d" }, MCP_OK, 0,
          "Basic realm=\"a\", bearer realm=b, " METADATA
          ", scope=\"x y\", Digest c=d" },
        { { "Basic realm=\"a\"", "Bearer realm=\"b\"" }, MCP_OK, 1,
          "Bearer realm=\"b\", " METADATA ", scope=\"x y\"" },
        { { "Bearer resource_metadata=\"u\"" }, MCP_OK, 0,
          "Bearer resource_metadata=\"u\", scope=\"x y\"" },
        { { "Bearer scope=\"\", resource_metadata=\"u\"" }, MCP_DONE, 0, "" }
    };

    (void) state;

    test_mem_init(&mem);
    mcp_buf_init(&buf, &mem.mem, 4096);

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (n = 0; n < 2 && cases[i].values[n]; n++) {
            values[n] = test_str(cases[i].values[n]);
        }

        buf.len = 0;
        rc = mcp_auth_challenge(&mcp, 401, mcp_str("Bearer a"), values, n, &which, &buf);
        assert_int_equal(rc, cases[i].rc);
        assert_int_equal(which, cases[i].which);

        if (rc == MCP_OK) {
            assert_str_is(((mcp_str_t) { buf.data, buf.len }), cases[i].text);
        }
    }

    mcp_buf_free(&buf);
    assert_int_equal(mem.live, 0);
}


/* Challenges in responses with 403, for requests with and without a token. */
static void
forbidden(void **state)
{
    size_t      i, which;
    mcp_buf_t   buf;
    mcp_str_t   value;
    test_mem_t  mem;

    static const struct {
        const char  *authorization;
        const char  *value;
        const char  *text;
    } cases[] = {
        { "Bearer a", "Bearer",
          "Bearer error=\"insufficient_scope\", " METADATA
          ", scope=\"x y\"" },
        { "bearer a", "Bearer error=\"e\"",
          "Bearer error=\"e\", " METADATA ", scope=\"x y\"" },
        { "Basic a", "Bearer", "Bearer " METADATA ", scope=\"x y\"" },
        { "Bearer ", "Bearer", "Bearer " METADATA ", scope=\"x y\"" },
        { "", "Bearer", "Bearer " METADATA ", scope=\"x y\"" }
    };

    (void) state;

    test_mem_init(&mem);
    mcp_buf_init(&buf, &mem.mem, 4096);

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        buf.len = 0;
        value = test_str(cases[i].value);
        assert_int_equal(mcp_auth_challenge(&mcp, 403,
                                            test_str(cases[i].authorization),
                                            &value, 1, &which, &buf),
                         MCP_OK);
        assert_str_is(((mcp_str_t) { buf.data, buf.len }), cases[i].text);
    }

    mcp_buf_free(&buf);
    assert_int_equal(mem.live, 0);
}


static void
no_scope(void **state)
{
    size_t      which;
    mcp_buf_t   buf;
    mcp_str_t   value;
    mcp_auth_t  auth;
    test_mem_t  mem;

    (void) state;

    auth = mcp;
    auth.scope = mcp_null_str;

    test_mem_init(&mem);
    mcp_buf_init(&buf, &mem.mem, 4096);

    assert_int_equal(mcp_auth_challenge(&auth, 403, mcp_str("Bearer a"), NULL,
                                        0, &which, &buf), MCP_OK);
    assert_str_is(((mcp_str_t) { buf.data, buf.len }), "Bearer " METADATA);

    value = mcp_str("Bearer resource_metadata=\"u\"");
    assert_int_equal(mcp_auth_challenge(&auth, 403, mcp_str("Bearer a"),
                                        &value, 1, &which, &buf),
                     MCP_DONE);

    buf.len = 0;
    mcp_auth_insufficient(&auth, mcp_str("a b"), &buf);
    assert_str_is(((mcp_str_t) { buf.data, buf.len }),
                  "Bearer error=\"insufficient_scope\", scope=\"a b\", "
                  METADATA);

    buf.len = 0;
    mcp_auth_insufficient(NULL, mcp_str("a"), &buf);
    assert_str_is(((mcp_str_t) { buf.data, buf.len }),
                  "Bearer error=\"insufficient_scope\", scope=\"a\"");
    mcp_buf_free(&buf);

    mcp_buf_init(&buf, &mem.mem, 8);
    assert_int_equal(mcp_auth_challenge(&auth, 403, mcp_str("Bearer a"), NULL,
                                        0, &which, &buf),
                     MCP_ERR_LIMIT);
    mcp_buf_free(&buf);
    assert_int_equal(mem.live, 0);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(finds),
        cmocka_unit_test(checks),
        cmocka_unit_test(challenges),
        cmocka_unit_test(forbidden),
        cmocka_unit_test(no_scope)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

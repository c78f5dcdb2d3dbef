/* SPDX-License-Identifier: Apache-2.0 */

/* The metadata document for a request target, and challenges. */


#include "test_env.h"
#include "config/mcp_auth_internal.h"
#include "setup_cases.h"


#define AUTH(at)                                                              \
    { .path = mcp_str(MCP_AUTH_WELL_KNOWN at),                                \
      .url = mcp_str("https://a" MCP_AUTH_WELL_KNOWN at),                     \
      .scope = mcp_str("x y"),                                                \
      .document = mcp_str("{" at "}") }

static const mcp_auth_t  mcp = AUTH("/mcp"), two = AUTH("/two"), root = AUTH("");

#define METADATA  "resource_metadata=\"https://a" MCP_AUTH_WELL_KNOWN "/mcp\""


TEST(metadata_document_is_found_by_the_request_target)
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


TEST(two_resources_at_one_path_have_different_documents__second_is_rejected)
{
    mcp_auth_t                      other;
    static const mcp_auth_t *const  auths[] = { &mcp };

    other = mcp;

    assert_ok(mcp_auth_check(auths, 0, &mcp));
    assert_ok(mcp_auth_check(auths, 1, &two));
    assert_int_equal(mcp_auth_check(auths, 1, &other), MCP_DONE);
    other.document = mcp_str("{}");
    assert_int_equal(mcp_auth_check(auths, 1, &other), MCP_ERR_EXISTS);
}


TEST(bearer_challenge_lacks_metadata_url_or_scope__the_parameter_is_added)
{
    int        rc;
    size_t     i, n, which;
    mcp_buf_t  buf;
    mcp_str_t  values[2];

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

    mcp_buf_init(&buf, &tm.mem, 4096);

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (n = 0; n < 2 && cases[i].values[n]; n++) {
            values[n] = test_str(cases[i].values[n]);
        }

        buf.len = 0;
        rc = mcp_auth_challenge(&mcp, 401, mcp_str("Bearer a"), values, n, &which, &buf);
        assert_int_equal(rc, cases[i].rc);
        assert_int_equal(which, cases[i].which);

        if (rc == MCP_OK) {
            assert_str_is(mcp_buf_text(&buf), cases[i].text);
        }
    }

    mcp_buf_free(&buf);
}


/* Challenges in responses with 403, for requests with and without a token. */
TEST(challenge_of_a_403_response_has_attribute_error_only_if_a_token_was_sent)
{
    size_t     i, which;
    mcp_buf_t  buf;
    mcp_str_t  value;

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

    mcp_buf_init(&buf, &tm.mem, 4096);

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        buf.len = 0;
        value = test_str(cases[i].value);
        assert_ok(mcp_auth_challenge(&mcp, 403,
                                     test_str(cases[i].authorization), &value,
                                     1, &which, &buf));
        assert_str_is(mcp_buf_text(&buf), cases[i].text);
    }

    mcp_buf_free(&buf);
}


TEST(resource_has_no_scopes__a_challenge_names_only_the_required_scopes)
{
    size_t      which;
    mcp_buf_t   buf;
    mcp_str_t   value;
    mcp_auth_t  auth;

    auth = mcp;
    auth.scope = mcp_null_str;

    mcp_buf_init(&buf, &tm.mem, 4096);

    assert_ok(mcp_auth_challenge(&auth, 403, mcp_str("Bearer a"), NULL,
                                 0, &which, &buf));
    assert_str_is(mcp_buf_text(&buf), "Bearer " METADATA);

    value = mcp_str("Bearer resource_metadata=\"u\"");
    assert_int_equal(mcp_auth_challenge(&auth, 403, mcp_str("Bearer a"),
                                        &value, 1, &which, &buf),
                     MCP_DONE);

    buf.len = 0;
    mcp_auth_insufficient(&auth, mcp_str("a b"), &buf);
    assert_str_is(mcp_buf_text(&buf),
                  "Bearer error=\"insufficient_scope\", scope=\"a b\", "
                  METADATA);

    buf.len = 0;
    mcp_auth_insufficient(NULL, mcp_str("a"), &buf);
    assert_str_is(mcp_buf_text(&buf),
                  "Bearer error=\"insufficient_scope\", scope=\"a\"");
    mcp_buf_free(&buf);

    mcp_buf_init(&buf, &tm.mem, 8);
    assert_int_equal(mcp_auth_challenge(&auth, 403, mcp_str("Bearer a"), NULL,
                                        0, &which, &buf),
                     MCP_ERR_LIMIT);
    mcp_buf_free(&buf);
}


#define RESOURCE_FORM                                                         \
    " is neither \"off\" nor the URI of a resource: http:// or https://, a "      \
    "host, and a path, without a query or a fragment"

#define ISSUER_FORM                                                           \
    " is not the URI of an issuer: http:// or https://, a host, and a "       \
    "path, without a query or a fragment"

static const char *const  uris[] = {
    "", "a", "mcp.example.com", "/mcp", "https", "https:", "https:/", "https://",
    "https://?", "https:///mcp", "ftp://a/mcp", "https://a#f", "https://a/b#f",
    "https://a?x", "https://a/b?x", "https://u@a/b", "https://a:0/b",
    "https://a:99999", "https://a/b c", "https://a/b\"c", "https://a/b\\c",
    "https://a/b\xc3\xa4", "https://a/b\n", "https://a b", "javascript:x", "Off"
};


TEST(invalid_uris_of_resources_and_issuers_are_rejected)
{
    char          text[2048];
    size_t        i;
    mcp_setup_t  *s;

    s = setup_new();

    for (i = 0; i < sizeof(uris) / sizeof(uris[0]); i++) {
        snprintf(text, sizeof(text), "\"%s\"" RESOURCE_FORM, uris[i]);
        refused(mcp_setup_auth_resource(s, test_str(uris[i]), error), text);

        snprintf(text, sizeof(text), "\"%s\"" ISSUER_FORM, uris[i]);
        refused(mcp_setup_auth_server(s, test_str(uris[i]), error), text);
    }

    /* a URI of 1024 bytes: accepted; one of 1025: rejected */

    memset(text, 'a', sizeof(text));
    memcpy(text, "https://a/", 10);
    taken(mcp_setup_auth_server(s, (mcp_str_t) { text, 1024 }, error));
    assert_int_equal(mcp_setup_auth_server(s, (mcp_str_t) { text, 1025 },
                                           error),
                     MCP_ERR_CONFIG);

    taken(mcp_setup_auth_resource(s, mcp_str("HTTP://[::1]:80"), error));
    refused(mcp_setup_auth_resource(s, mcp_str("https://a"), error),
            MCP_SETUP_DUPLICATE);
}


TEST(invalid_or_repeated_scopes_and_more_than_64_are_rejected)
{
    int           i;
    char          text[256];
    mcp_setup_t  *s;

    static const char *const  bad[] = {
        "", "a b", "a\"b", "a\\b", "a\tb", "\x7f", "\xc3\xa4"
    };

    s = setup_new();

    for (i = 0; i < (int) (sizeof(bad) / sizeof(bad[0])); i++) {
        snprintf(text, sizeof(text), "\"%s\" is not a scope: write "
                 "printable ASCII characters without spaces, quotes or "
                 "backslashes", bad[i]);
        refused(mcp_setup_auth_scope(s, test_str(bad[i]), error), text);
    }

    refused(mcp_setup_auth_scope(s, mcp_str("offline_access"), error),
            "\"offline_access\" is not a scope of a resource, because clients request it from the issuer themselves: remove it");

    taken(mcp_setup_auth_scope(s, mcp_str("!#[]~"), error));
    refused(mcp_setup_auth_scope(s, mcp_str("!#[]~"), error),
            "\"!#[]~\" is listed twice");

    for (i = 1; i < 64; i++) {
        snprintf(text, sizeof(text), "s%d", i);
        taken(mcp_setup_auth_scope(s, test_str(text), error));
    }

    refused(mcp_setup_auth_scope(s, mcp_str("x"), error), "more than 64 values are not allowed");
}


static mcp_setup_t *
resource(const char *uri, const char *scope)
{
    mcp_setup_t  *s;

    s = setup_new();

    taken(mcp_setup_auth_resource(s, test_str(uri), error));
    taken(mcp_setup_auth_server(s, mcp_str("https://as.example"), error));

    if (scope) {
        taken(mcp_setup_auth_scope(s, test_str(scope), error));
    }

    endpoint(s);

    return s;
}


TEST(metadata_document_has_the_resource_and_its_issuers_and_scopes)
{
    mcp_setup_t       *s;
    const mcp_auth_t  *auth;

    s = resource("https://a.example:8443/x/mcp", "files:read");

    assert_str_is(e.auth->path, MCP_AUTH_WELL_KNOWN "/x/mcp");
    assert_str_is(e.auth->url, "https://a.example:8443" MCP_AUTH_WELL_KNOWN
                  "/x/mcp");
    assert_str_is(e.auth->scope, "files:read");
    assert_str_is(e.auth->document,
                  "{\"resource\":\"https://a.example:8443/x/mcp\","
                  "\"authorization_servers\":[\"https://as.example\"],"
                  "\"scopes_supported\":[\"files:read\"],"
                  "\"bearer_methods_supported\":[\"header\"]}");
    assert_int_equal(e.auth->etag.len, 18);
    assert_int_equal(e.auth->etag.data[0], '"');
    assert_int_equal(e.auth->etag.data[17], '"');

    /* mcp_setup_auth() is called again: it returns the same document */

    taken(mcp_setup_auth(s, &auth, error));
    assert_ptr_equal(auth, e.auth);

    /* a resource with the path "/" has the same document as one without a
     * path */

    s = resource("http://a/", NULL);
    assert_str_is(e.auth->path, MCP_AUTH_WELL_KNOWN);
    assert_str_is(e.auth->url, "http://a" MCP_AUTH_WELL_KNOWN);
    assert_int_equal(e.auth->scope.len, 0);

    s = resource("http://a", NULL);
    assert_str_is(e.auth->url, "http://a" MCP_AUTH_WELL_KNOWN);

    /* a document with the title of the server, and with several authorization
     * servers and scopes */

    s = setup_new();
    taken(mcp_setup_auth_resource(s, mcp_str("http://a/b/"), error));
    taken(mcp_setup_auth_server(s, mcp_str("http://c"), error));
    taken(mcp_setup_auth_server(s, mcp_str("http://d/e"), error));
    taken(mcp_setup_auth_scope(s, mcp_str("x"), error));
    taken(mcp_setup_auth_scope(s, mcp_str("y"), error));
    taken(mcp_setup_server(s, mcp_str("n"), mcp_str("1"), mcp_str("N \"1\""),
                           error));
    endpoint(s);
    assert_str_is(e.auth->path, MCP_AUTH_WELL_KNOWN "/b/");
    assert_str_is(e.auth->scope, "x y");
    assert_str_is(e.auth->document,
                  "{\"resource\":\"http://a/b/\","
                  "\"authorization_servers\":[\"http://c\",\"http://d/e\"],"
                  "\"scopes_supported\":[\"x\",\"y\"],"
                  "\"bearer_methods_supported\":[\"header\"],"
                  "\"resource_name\":\"N \\\"1\\\"\"}");
}


TEST(section_inherits_the_resource_and_issuers_and_scopes_that_it_does_not_set)
{
    mcp_setup_t       *outer, *s;
    const mcp_auth_t  *auth;

    outer = setup_new();
    taken(mcp_setup_auth_server(outer, mcp_str("http://c"), error));
    taken(mcp_setup_auth_scope(outer, mcp_str("x"), error));

    taken(mcp_setup_auth(outer, &auth, error));
    assert_null(auth);

    s = setup_new();
    taken(mcp_setup_auth_resource(s, mcp_str("http://a/b"), error));
    refused(mcp_setup_auth(s, &auth, error),
            "the resource \"http://a/b\" has no authorization server");
    endpoint(s);
    assert_null(e.auth);
    mcp_setup_merge(s, outer);
    taken(mcp_setup_auth_resource(outer, mcp_str("http://z"), error));
    taken(mcp_setup_auth(s, &auth, error));
    assert_str_is(auth->url, "http://a" MCP_AUTH_WELL_KNOWN "/b");
    assert_str_is(auth->scope, "x");

    s = setup_new();
    taken(mcp_setup_auth_scope(s, mcp_str("y"), error));
    mcp_setup_merge(s, outer);
    taken(mcp_setup_auth(s, &auth, error));
    assert_str_is(auth->url, "http://z" MCP_AUTH_WELL_KNOWN);
    assert_str_is(auth->scope, "y");

    s = setup_new();
    taken(mcp_setup_auth_resource(s, mcp_str("off"), error));
    mcp_setup_merge(s, outer);
    endpoint(s);
    assert_null(e.auth);
}


/* Each allocation fails once: no leak. */
TEST(memory_runs_out__the_setup_of_a_resource_fails)
{
    int                rc;
    unsigned           n;
    mcp_setup_t       *s;
    const mcp_auth_t  *auth;

    for (n = 1; /* void */ ; n++) {
        s = setup_new();

        tm.fail_at = n;

        rc = mcp_setup_auth_resource(s, mcp_str("http://a"), error);
        rc = rc ? rc : mcp_setup_auth_server(s, mcp_str("http://b"), error);
        rc = rc ? rc : mcp_setup_auth_scope(s, mcp_str("c"), error);
        rc = rc ? rc : mcp_setup_auth(s, &auth, error);

        tm.fail_at = 0;

        if (rc == MCP_OK) {
            break;
        }

        assert_int_equal(rc, MCP_ERR_MEMORY);
    }

    assert_true(n > 1);
}


RUN_TESTS(init, done)

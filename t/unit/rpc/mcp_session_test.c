/* SPDX-License-Identifier: Apache-2.0 */

/* Session tokens: their owner, their lifetime, and their content. */


#include "memory_cases.h"

#include "rpc/mcp_session.h"


#define KEY    "0123456789abcdef0123456789abcdef"
#define OTHER  "fedcba9876543210fedcba9876543210"

#define NOW    1700000000000ULL


typedef struct {
    mcp_keys_t     keys;
    mcp_client_t  session;
    char           text[MCP_SESSION_TEXT_MAX];
    mcp_str_t      token;
} fixture_t;


static void
fixture_print(fixture_t *f)
{
    char  *end;

    end = mcp_session_print(&f->keys, &f->session, f->text);
    assert_non_null(end);
    assert_true(end - f->text <= MCP_SESSION_TEXT_MAX);

    f->token.data = f->text;
    f->token.len = (size_t) (end - f->text);
}


static void
fixture_init(fixture_t *f)
{
    memset(f, 0, sizeof(fixture_t));

    assert_ok(mcp_keys_add(&f->keys, mcp_str(KEY)));

    memset(f->session.id, 0x42, MCP_DIGEST_LEN);
    assert_ok(mcp_principal(mcp_str("alice"), f->session.principal));
    f->session.expires = NOW + 3600 * 1000;
    f->session.revision = MCP_REVISION_2025_06_18;
    f->session.capabilities = MCP_CLIENT_ROOTS|MCP_CLIENT_SAMPLING_TOOLS;

    fixture_print(f);
}


static int
parse(fixture_t *f, uint64_t now, const char *name, mcp_client_t *out)
{
    unsigned char  principal[MCP_DIGEST_LEN];

    assert_ok(mcp_principal(test_str(name), principal));

    return mcp_session_parse(&f->keys, f->token, now, principal, out);
}


static int
parse_cached(fixture_t *f, mcp_session_cache_t *cache, mcp_client_t *out)
{
    unsigned char  principal[MCP_DIGEST_LEN];

    assert_ok(mcp_principal(mcp_str("alice"), principal));

    return mcp_session_parse_cached(cache, &f->keys, f->token, NOW, principal,
                                    out);
}


TEST(session_token_contains_all_members_of_the_session)
{
    size_t         i;
    fixture_t      f;
    mcp_client_t  out;

    fixture_init(&f);

    /* the token consists of visible ASCII characters, as its header
     * requires */

    assert_int_equal(f.token.len, 76);

    for (i = 0; i < f.token.len; i++) {
        assert_in_range(f.text[i], 0x21, 0x7e);
    }

    memset(&out, 0xff, sizeof(out));
    assert_ok(parse(&f, NOW, "alice", &out));

    assert_memory_equal(out.id, f.session.id, MCP_DIGEST_LEN);
    assert_memory_equal(out.principal, f.session.principal, MCP_DIGEST_LEN);
    assert_int_equal(out.expires, f.session.expires);
    assert_int_equal(out.revision, f.session.revision);
    assert_int_equal(out.capabilities, f.session.capabilities);
}


TEST(session_token_has_expired__it_is_rejected)
{
    static const struct {
        uint64_t  expires;
        uint64_t  now;
        int       rc;
    } cases[] = {
        { NOW, NOW - 1, MCP_OK },
        { NOW, NOW, MCP_ERR_NOT_FOUND },
        { NOW, NOW + 1, MCP_ERR_NOT_FOUND },
        { NOW + 1, NOW + 999, MCP_OK },            /* rounded up */
        { NOW + 1, NOW + 1000, MCP_ERR_NOT_FOUND },
        { 0, 0, MCP_ERR_NOT_FOUND },
        { UINT64_MAX, NOW, MCP_OK },               /* the latest possible
                                                      time */
        { UINT64_MAX, 4294967294999ULL, MCP_OK },
        { UINT64_MAX, 4294967295000ULL, MCP_ERR_NOT_FOUND },
    };

    size_t         i;
    fixture_t      f;
    mcp_client_t  out;

    fixture_init(&f);

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        f.session.expires = cases[i].expires;
        fixture_print(&f);

        assert_int_equal(parse(&f, cases[i].now, "alice", &out), cases[i].rc);
    }
}


TEST(session_token_is_accepted_only_for_the_principal_of_its_session)
{
    fixture_t      f;
    mcp_client_t  out;

    fixture_init(&f);

    assert_ok(parse(&f, NOW, "alice", &out));
    assert_int_equal(parse(&f, NOW, "mallory", &out), MCP_ERR_NOT_FOUND);
    assert_int_equal(parse(&f, NOW, "", &out), MCP_ERR_NOT_FOUND);

    memset(f.session.principal, 0, MCP_DIGEST_LEN);
    fixture_print(&f);

    assert_ok(parse(&f, NOW, "", &out));
    assert_int_equal(parse(&f, NOW, "alice", &out), MCP_ERR_NOT_FOUND);
}


TEST(session_token_is_altered_or_has_another_key_or_payload__it_is_rejected)
{
    char           other[MCP_TOKEN_TEXT_MAX], *end;
    size_t         i;
    fixture_t      f;
    mcp_keys_t     keys;
    mcp_client_t  out;
    unsigned char  payload[41];

    fixture_init(&f);

    /* a change of any byte invalidates the token */

    for (i = 0; i < f.token.len; i++) {
        f.text[i] ^= 1;
        assert_int_equal(parse(&f, NOW, "alice", &out), MCP_ERR_NOT_FOUND);
        f.text[i] ^= 1;
    }

    for (i = 0; i < f.token.len; i++) {
        f.token.len--;
        assert_int_equal(parse(&f, NOW, "alice", &out), MCP_ERR_NOT_FOUND);
    }

    /* another key */

    fixture_init(&f);
    memset(&keys, 0, sizeof(keys));
    assert_ok(mcp_keys_add(&keys, mcp_str(OTHER)));
    end = mcp_session_print(&keys, &f.session, f.text);
    f.token.len = (size_t) (end - f.text);
    assert_int_equal(parse(&f, NOW, "alice", &out), MCP_ERR_NOT_FOUND);

    /* tokens with a valid signature, but with a payload that is not a
     * session */

    for (i = 0; i <= sizeof(payload); i++) {
        memset(payload, 0, sizeof(payload));
        payload[0] = 1;
        payload[1] = MCP_REVISION_2025_03_26;
        memset(payload + 4, 0xff, 4);

        end = mcp_token_sign(&f.keys, 's', payload, i, other);
        f.token.data = other;
        f.token.len = (size_t) (end - other);
        assert_int_equal(parse(&f, NOW, "", &out),
                         i == 40 ? MCP_OK : MCP_ERR_NOT_FOUND);
    }

    payload[0] = 2;
    end = mcp_token_sign(&f.keys, 's', payload, 40, other);
    f.token.len = (size_t) (end - other);
    assert_int_equal(parse(&f, NOW, "", &out), MCP_ERR_NOT_FOUND);

    payload[0] = 1;
    payload[1] = MCP_REVISION_2026_07_28;
    end = mcp_token_sign(&f.keys, 's', payload, 40, other);
    f.token.len = (size_t) (end - other);
    assert_int_equal(parse(&f, NOW, "", &out), MCP_ERR_NOT_FOUND);

    payload[1] = MCP_REVISION_2025_03_26;
    end = mcp_token_sign(&f.keys, 'p', payload, 40, other);
    f.token.len = (size_t) (end - other);
    assert_int_equal(parse(&f, NOW, "", &out), MCP_ERR_NOT_FOUND);
}


/* A token is compared with all bytes of the cached one. */
TEST(session_token_differs_from_the_cached_token_in_one_byte__it_is_rejected)
{
    size_t               i;
    fixture_t            f;
    mcp_client_t         out;
    mcp_session_cache_t  cache;

    fixture_init(&f);
    mcp_session_cache_init(&cache, &tm.mem);

    assert_ok(parse_cached(&f, &cache, &out));

    for (i = 0; i < f.token.len; i++) {
        f.text[i] ^= 1;
        assert_int_equal(parse_cached(&f, &cache, &out), MCP_ERR_NOT_FOUND);
        f.text[i] ^= 1;
        assert_ok(parse_cached(&f, &cache, &out));
        assert_memory_equal(out.id, f.session.id, MCP_DIGEST_LEN);
    }

    for (i = 0; i < f.token.len; i++) {
        f.token.len--;
        assert_int_equal(parse_cached(&f, &cache, &out), MCP_ERR_NOT_FOUND);
    }

    mcp_session_cache_free(&cache);
}


TEST(no_key_is_configured__no_session_token_is_written)
{
    fixture_t  f;

    fixture_init(&f);
    memset(&f.keys, 0, sizeof(f.keys));

    assert_null(mcp_session_print(&f.keys, &f.session, f.text));
}


RUN_TESTS(init, done)

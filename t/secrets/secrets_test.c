/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Comparison of secrets in constant time; runs only under valgrind.
 * scripts/check also runs the tests of sessions, of the publish endpoint and
 * of the resumption methods with secret keys.  This file has the cases that
 * those tests do not reach, and the controls, which show that valgrind detects
 * a violation.
 */


#include "resume_cases.h"
#include "resume/mcp_resume_common.h"
#include "secrets.h"


static mcp_keys_t  keys;
static unsigned    errors;


static int
begin(void **state)
{
    (void) state;

    assert_true(RUNNING_ON_VALGRIND);

    secrets_plain = 0;
    secrets_kept = 0;
    memset(&keys, 0, sizeof(mcp_keys_t));
    assert_int_equal(mcp_keys_add(&keys,
                         mcp_str("0123456789abcdef0123456789abcdef")),
                     MCP_OK);

    secrets_compared = 0;
    errors = VALGRIND_COUNT_ERRORS;

    return 0;
}


static int
unseen(void **state)
{
    (void) state;

    assert_int_equal(VALGRIND_COUNT_ERRORS, errors);
    assert_true(secrets_compared > 0);

    return 0;
}


static int
seen(void **state)
{
    (void) state;

    assert_true(VALGRIND_COUNT_ERRORS > errors);

    return 0;
}


#define constant_test(f)  cmocka_unit_test_setup_teardown(f, begin, unseen)
#define control_test(f)   cmocka_unit_test_setup_teardown(f, begin, seen)


/* Compares two secrets of 32 bytes that differ in byte k, or are equal if k is
 * larger. */
static int
equal_but(size_t k)
{
    int   rc;
    char  one[32], two[32];

    memset(one, 'x', sizeof(one));
    memset(two, 'x', sizeof(two));

    if (k < sizeof(two)) {
        two[k] = 'y';
    }

    secret(one, sizeof(one));
    secret(two, sizeof(two));

    rc = mcp_secret_eq((mcp_str_t) { one, sizeof(one) },
                       (mcp_str_t) { two, sizeof(two) });

    return rc;
}


static void
comparison_of_secrets_takes_constant_time(void **state)
{
    size_t  k;

    (void) state;

    for (k = 0; k <= 32; k++) {
        assert_int_equal(equal_but(k), k == 32);
    }
}


/* Signed tokens with each kind of damage, made with each of two keys. */
static void
verification_of_tokens_takes_constant_time(void **state)
{
    char        text[MCP_TOKEN_TEXT_MAX + 1], bad[MCP_TOKEN_TEXT_MAX + 2];
    char       *end;
    size_t      k;
    mcp_keys_t  both;

    (void) state;

    end = mcp_token_sign(&keys, 'x', "payload", 7, text);
    assert_non_null(end);
    *end = '\0';

    memset(&both, 0, sizeof(mcp_keys_t));
    assert_int_equal(mcp_keys_add(&both,
                         mcp_str("another key, of 32 bytes or more")),
                     MCP_OK);
    assert_int_equal(mcp_keys_add(&both,
                         mcp_str("0123456789abcdef0123456789abcdef")),
                     MCP_OK);

    /* if both keys have the same id, each is tried */

    both.id[0] = both.id[1];

    assert_int_equal(mcp_token_verify(&both, 'x', test_str(text), bad, 7),
                     MCP_OK);

    for (k = 0; k <= strlen(text); k++) {
        mangle(text, bad, k);
        assert_int_not_equal(mcp_token_verify(&both, 'x', test_str(bad),
                                              (char [sizeof(text)]) { 0 },
                                              7),
                             MCP_OK);
    }
}


/* Sealed tokens with each kind of damage, and with another binding than at
 * their creation. */
static void
opening_of_sealed_tokens_takes_constant_time(void **state)
{
    char           text[256], bad[256];
    size_t         k;
    mcp_buf_t      out;
    mcp_mem_t      mem;
    mcp_str_t      data;
    test_mem_t     tm;
    mcp_arena_t    arena;
    unsigned char  nonce[MCP_SEAL_NONCE_LEN] = { 1 };

    (void) state;

    test_mem_init(&tm);
    mem = tm.mem;
    mcp_arena_init(&arena, &mem);
    mcp_buf_init(&out, &mem, 1024);

    assert_int_equal(mcp_token_seal(&keys, 'x', mcp_str("bound"),
                                    mcp_str("page 2"), nonce, &out),
                     MCP_OK);
    snprintf(text, sizeof(text), "%.*s", (int) out.len, out.data);

    assert_int_equal(mcp_token_open(&keys, 'x', mcp_str("bound"),
                                    test_str(text), &arena, &data),
                     MCP_OK);
    assert_int_equal(mcp_token_open(&keys, 'x', mcp_str("bounD"),
                                    test_str(text), &arena, &data),
                     MCP_ERR_DENIED);

    for (k = 0; k <= strlen(text); k++) {
        mangle(text, bad, k);
        assert_int_not_equal(mcp_token_open(&keys, 'x', mcp_str("bound"),
                                            test_str(bad), &arena, &data),
                             MCP_OK);
    }

    mcp_buf_free(&out);
    mcp_arena_destroy(&arena);
}


/* Session ids in the cache are secrets of other clients: comparing an id with
 * them takes constant time. */
static void
lookup_of_cached_session_ids_takes_constant_time(void **state)
{
    int                  i;
    char                 text[MCP_SESSION_TEXT_MAX + 1], *end;
    mcp_mem_t            mem;
    test_mem_t           tm;
    mcp_client_t        one;
    mcp_session_cache_t  cache;
    unsigned char        principal[MCP_DIGEST_LEN];

    (void) state;

    test_mem_init(&tm);
    mem = tm.mem;
    mcp_session_cache_init(&cache, &mem);
    memset(&one, 0, sizeof(mcp_client_t));
    memset(one.principal, 'p', sizeof(one.principal));
    memset(principal, 'p', sizeof(principal));
    one.revision = MCP_REVISION_2025_11_25;
    one.expires = 5000;
    end = mcp_session_print(&keys, &one, text);
    assert_non_null(end);
    *end = '\0';

    assert_int_equal(mcp_session_parse_cached(&cache, &keys, test_str(text), 1,
                                              principal, &one), MCP_OK);

    for (i = 0; i < MCP_SESSION_CACHE; i++) {
        secret(cache.seen[i].text, sizeof(cache.seen[i].text));
        secret(cache.seen[i].client.principal, MCP_DIGEST_LEN);
    }

    assert_int_equal(mcp_session_parse_cached(&cache, &keys, test_str(text), 1,
                                              principal, &one), MCP_OK);
    secret(principal, sizeof(principal));
    assert_int_equal(mcp_session_parse_cached(&cache, &keys, test_str(text), 1,
                                              principal, &one), MCP_OK);
    assert_int_equal(secrets_compared, 6);

    /* a damaged id in the same slot of the cache: its signature rejects it */

    text[0] = text[0] == 'A' ? 'B' : 'A';
    assert_int_equal(mcp_session_parse_cached(&cache, &keys, test_str(text), 1,
                                              principal, &one),
                     MCP_ERR_NOT_FOUND);
    assert_int_equal(secrets_compared, 8);

    mcp_session_cache_free(&cache);
}


/* The comparison of a request's principal and session with the stream's. */
static void
comparison_of_principal_and_session_takes_constant_time(void **state)
{
    int                i;
    mcp_exchange_t     x;
    mcp_stream_info_t  info;

    (void) state;

    for (i = 0; i < 3; i++) {
        memset(&x, 0, sizeof(mcp_exchange_t));
        memset(&info, 0, sizeof(mcp_stream_info_t));
        x.client.has_session = 1;
        info.max_wait = 1;
        info.principal[5] = (i == 1);
        info.session[5] = (i == 2);
        secret(x.head.principal, MCP_DIGEST_LEN);
        secret(x.client.id, MCP_DIGEST_LEN);
        secret(info.principal, MCP_DIGEST_LEN);
        secret(info.session, MCP_DIGEST_LEN);

        assert_int_equal(mcp_resume_owns(&x, &info), i == 0);
        assert_int_equal(mcp_resume_allows(&x, &info), i == 0);
    }
}


/* Sends a request to the publish endpoint with this token. */
static mcp_next_e
knock_with(const char *text)
{
    char            own[] = "a token of the operator";
    mcp_head_t      head;
    mcp_next_e      next;
    mcp_exchange_t  *x;

    secret(own, strlen("a token of the operator"));
    memset(&head, 0, sizeof(mcp_head_t));
    head.method = mcp_str("POST");
    head.path = test_str(text);
    head.local = 1;

    x = mcp_exchange_create_publish(d.process[0].worker, &d.endpoint,
                                    (mcp_str_t) { own, sizeof(own) - 1 }, 0,
                                    &a);
    assert_non_null(x);
    next = mcp_exchange_head(x, &head);
    mcp_exchange_free(x);

    return next;
}


static void
check_of_the_publish_token_takes_constant_time(void **state)
{
    setup(state);
    assert_int_equal(knock_with("/publish/a token of the operator"),
                     MCP_NEXT_BODY);
    assert_int_equal(knock_with("/publish/a token of the operatoR"),
                     MCP_NEXT_RESPOND);
    assert_int_equal(knock_with("/publish/A token of the operator"),
                     MCP_NEXT_RESPOND);
    assert_int_equal(knock_with("/publish/"), MCP_NEXT_RESPOND);
    teardown(state);
}


/* Control: valgrind detects comparisons by memcmp(). */

static void
secrets_compared_by_memcmp__valgrind_reports_it(void **state)
{
    secrets_plain = 1;
    comparison_of_secrets_takes_constant_time(state);
}


static void
tokens_compared_by_memcmp__valgrind_reports_it(void **state)
{
    secrets_plain = 1;
    verification_of_tokens_takes_constant_time(state);
}


static void
session_ids_compared_by_memcmp__valgrind_reports_it(void **state)
{
    secrets_plain = 1;
    lookup_of_cached_session_ids_takes_constant_time(state);
}


static void
principals_compared_by_memcmp__valgrind_reports_it(void **state)
{
    secrets_plain = 1;
    comparison_of_principal_and_session_takes_constant_time(state);
}


static void
publish_tokens_compared_by_memcmp__valgrind_reports_it(void **state)
{
    secrets_plain = 1;
    check_of_the_publish_token_takes_constant_time(state);
}


/* Control: valgrind detects a table indexed by a secret, and a computed
 * signature that is sent to the client while it counts as secret. */
static void
signature_is_sent_while_it_is_secret__valgrind_reports_it(void **state)
{
    char  text[MCP_TOKEN_TEXT_MAX];

    (void) state;

    secrets_kept = 1;
    assert_non_null(mcp_token_sign(&keys, 'x', "payload", 7, text));
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        constant_test(comparison_of_secrets_takes_constant_time),
        constant_test(verification_of_tokens_takes_constant_time),
        constant_test(opening_of_sealed_tokens_takes_constant_time),
        constant_test(lookup_of_cached_session_ids_takes_constant_time),
        constant_test(comparison_of_principal_and_session_takes_constant_time),
        constant_test(check_of_the_publish_token_takes_constant_time),
        control_test(secrets_compared_by_memcmp__valgrind_reports_it),
        control_test(tokens_compared_by_memcmp__valgrind_reports_it),
        control_test(session_ids_compared_by_memcmp__valgrind_reports_it),
        control_test(principals_compared_by_memcmp__valgrind_reports_it),
        control_test(publish_tokens_compared_by_memcmp__valgrind_reports_it),
        control_test(signature_is_sent_while_it_is_secret__valgrind_reports_it)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* A test of the keys by which requests join calls. */

#include "join_cases.h"


TEST(joinable_call_has_an_invalid_key_or_changed_params__it_is_rejected)
{
    size_t  i;
    char    text[1024], key[300];

    static const char *const  wrong[] = {
        "\"\"", "7", "{}", "\" \"", "\"a b\"", "\"\\u0061\"",
        "\"\xc3\xa4\"", "\"\x7f\""
    };

    for (i = 0; i < ITEMS(wrong); i++) {
        snprintf(text, sizeof(text), REQUEST("1", "tools/call", "{\"name\":"
                 "\"other\",\"_meta\":{\"idempotencyKey\":%s}}"), wrong[i]);
        ask(session, text, 200, "\"code\":-32602");
        snprintf(text, sizeof(text), REQUEST("1", "tools/call", "{\"name\":"
                 "\"other\",\"idempotencyKey\":%s}"), wrong[i]);
        ask(session, text, 200, "\"code\":-32602");
    }

    memset(key, '~', 256);
    key[256] = '\0';
    snprintf(text, sizeof(text), REQUEST("1", "tools/call", "{\"name\":"
             "\"other\",\"idempotencyKey\":\"%s\"}"), key);
    ask(session, text, 200, "\"code\":-32602");
    ask(session, REQUEST("1", "tools/call", "{\"name\":\"other\","
        "\"idempotencyKey\":\"a\",\"_meta\":{\"idempotencyKey\":\"b\"}}"),
        200, "\"code\":-32602");
    assert_int_equal(d.n_breqs, 0);

    key[255] = '\0';
    snprintf(text, sizeof(text), REQUEST("1", "tools/call", "{\"name\":"
             "\"other\",\"idempotencyKey\":\"%s\"}"), key);
    client_post(&d, 0, &a, session, text);
    assert_int_equal(d.n_breqs, 1);
    client_close(&d, &a);

    /* the client uses a key twice: with other params it gets an error; with
     * the same params in another spelling, the request joins the call */

    client_post(&d, 1, &a, session, REQUEST("2", "tools/call", "{\"name\":"
                "\"other\",\"idempotencyKey\":\"k\",\"arguments\":{\"a\":1,"
                "\"b\":2}}"));
    ask(session, REQUEST("3", "tools/call", "{\"name\":\"other\","
        "\"idempotencyKey\":\"k\",\"arguments\":{\"a\":2}}"), 200,
        "\"code\":-32602");
    client_post(&d, 0, &b, session, REQUEST("4", "tools/call", "{\"name\":"
                "\"other\",\"_meta\":{\"idempotencyKey\":\"k\"},"
                "\"arguments\":{\"b\":2.0,\"\\u0061\":1}}"));
    assert_int_equal(d.n_breqs, 2);
    assert_int_equal(joined(), 1);

    /* a tool without x-mcp-join ignores the key */

    client_close(&d, &b);
    client_post(&d, 0, &b, session, KEYED("5", "p", "7"));
    assert_int_equal(d.n_breqs, 3);
}


/* Clients that take other kinds of questions: without a key their equal
 * requests are separate calls, with a key they join. */
TEST(capabilities_differ__equal_requests_join_only_with_a_key)
{
    round_can = EVERYTHING;
    modern_call(0, &a, "");
    client_close(&d, &a);
    round_can = "{\"roots\":{}}";
    modern_call(1, &b, "");
    assert_int_equal(d.n_breqs, 2);
    client_close(&d, &b);
    modern_call(1, &b, "");
    assert_int_equal(d.n_breqs, 2);
    assert_int_equal(joined(), 1);
    client_close(&d, &b);

    modern_call(0, &a, KEY("k"));
    round_can = EVERYTHING;
    modern_call(1, &b, KEY("k"));
    assert_int_equal(d.n_breqs, 3);
    assert_int_equal(joined(), 2);
}


RUN_TESTS(join_setup, join_teardown)

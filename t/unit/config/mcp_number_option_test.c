/* SPDX-License-Identifier: Apache-2.0 */

/* Options: their texts, bounds and default values. */


#include "test_env.h"

#include "config/mcp_number_option_internal.h"
#include "config/mcp_tenant.h"


#define MAX  "9223372036854775807"


typedef struct {
    const char  *text;
    int64_t      value;                /* -1: invalid */
} case_t;


static void
parse_all(int (*parse)(mcp_str_t text, uint64_t *value), const case_t *cases,
    size_t n)
{
    int       rc;
    size_t    i;
    uint64_t  value;

    for (i = 0; i < n; i++) {
        rc = parse(test_str(cases[i].text), &value);

        if (rc != (cases[i].value < 0 ? MCP_ERR_SYNTAX : MCP_OK)) {
            fail_msg("\"%s\": %d", cases[i].text, rc);
        }

        if (rc == MCP_OK && value != (uint64_t) cases[i].value) {
            fail_msg("\"%s\" is %llu", cases[i].text,
                     (unsigned long long) value);
        }
    }
}


TEST(times_are_read_with_units_and_invalid_texts_are_rejected)
{
    static const case_t  cases[] = {
        { "0", 0 },
        { "5", 5000 },
        { "007", 7000 },
        { "5s", 5000 },
        { "5ms", 5 },
        { "0ms", 0 },
        { "2m", 120000 },
        { "2h", 7200000 },
        { "3d", 259200000 },
        { "1w", 604800000 },
        { "1w2d3h4m5s6ms", 788645006 },
        { "1h 30m", 5400000 },
        { "1h30m", 5400000 },
        { "1h   30m  ", 5400000 },
        { "1m 5", 65000 },
        { "1m5", 65000 },
        { "1s 5", 6000 },
        { "1ms 5", 5001 },
        { "5 ", 5000 },
        { "5 5", 10000 },
        { " 5", 5000 },
        { "h5", 5000 },

        /* texts that are empty, or have a unit without a number */
        { "", -1 },
        { " ", -1 },
        { "s", -1 },
        { "off", -1 },

        /* unknown units, signs and fractions */
        { "1M", -1 },
        { "1y", -1 },
        { "5S", -1 },
        { "5x", -1 },
        { "5 m", -1 },
        { "-5", -1 },
        { "+5", -1 },
        { "1.5s", -1 },
        { "0x5", -1 },
        { "5\t", -1 },

        /* units that are repeated or not in descending order */
        { "1m 1h", -1 },
        { "1s 1s", -1 },
        { "1ms 1s", -1 },
        { "1ms 1ms", -1 },
        { "5 1s", -1 },
        { "5 1ms", -1 },
        { "1s 5 1ms", -1 },
        { "5 5 5", -1 },
        { " 5s", -1 },

        /* the largest values, and values that exceed them */
        { MAX "ms", INT64_MAX },
        { "9223372036854775s 807ms", INT64_MAX },
        { "9223372036854775s 808ms", -1 },
        { "9223372036854775", 9223372036854775000 },
        { "9223372036854776", -1 },
        { "15250284452w", 9223372036569600000 },
        { "15250284453w", -1 },
        { "9223372036854775808ms", -1 },
        { "18446744073709551616ms", -1 },
        { "99999999999999999999999", -1 }
    };

    uint64_t  value;

    parse_all(mcp_option_time, cases, sizeof(cases) / sizeof(cases[0]));

    /* the text ends at its length, not at a NUL */

    assert_ok(mcp_option_time((mcp_str_t) { "5ms", 2 }, &value));
    assert_int_equal(value, 300000);

    assert_int_equal(mcp_option_time(mcp_null_str, &value), MCP_ERR_SYNTAX);
}


TEST(sizes_are_read_with_units_and_invalid_texts_are_rejected)
{
    static const case_t  cases[] = {
        { "0", 0 },
        { "5", 5 },
        { "64k", 65536 },
        { "64K", 65536 },
        { "8m", 8388608 },
        { "8M", 8388608 },
        { "2g", 2147483648 },
        { "2G", 2147483648 },

        { "", -1 },
        { "k", -1 },
        { "m", -1 },
        { "g", -1 },
        { "5t", -1 },
        { "5kk", -1 },
        { "5 k", -1 },
        { "k5", -1 },
        { "-5", -1 },
        { "1.5m", -1 },
        { "off", -1 },

        { MAX, INT64_MAX },
        { "9223372036854775808", -1 },
        { "9007199254740991k", 9223372036854774784 },
        { "9007199254740992k", -1 },
        { "8796093022208m", -1 },
        { "8589934591g", 9223372035781033984 },
        { "8589934592g", -1 },
        { "18446744073709551616", -1 }
    };

    uint64_t  value;

    parse_all(mcp_option_size, cases, sizeof(cases) / sizeof(cases[0]));

    assert_int_equal(mcp_option_size(mcp_null_str, &value), MCP_ERR_SYNTAX);
}


TEST(invalid_value_or_second_value_of_an_option_is_rejected_and_changes_nothing)
{
    static const struct {
        mcp_option_e  option;
        const char   *text;
        int64_t       value;           /* -1: MCP_QUOTA_OFF, or an error */
        const char   *error;
    } cases[] = {
        { MCP_OPTION_RETRY, "2s", 2000, NULL },
        { MCP_OPTION_RETRY, "off", -1, "invalid value" },
        { MCP_OPTION_RETRY, "", -1, "invalid value" },
        { MCP_OPTION_KEEPALIVE, "off", 0, NULL },
        { MCP_OPTION_KEEPALIVE, "0", 0, NULL },
        { MCP_OPTION_KEEPALIVE, "Off", 0, NULL },
        { MCP_OPTION_CLOSE_AFTER, "off", 0, NULL },
        { MCP_OPTION_SESSION_LIFETIME, "26w", 15724800000, NULL },
        { MCP_OPTION_SESSION_LIFETIME, "15250w", 9223200000000, NULL },
        { MCP_OPTION_SESSION_LIFETIME, "15251w", -1, "invalid value" },

        { MCP_OPTION_STREAM_BUFFER, "64k", 65536, NULL },
        { MCP_OPTION_STREAM_BUFFER, "off", -1, "invalid value" },
        { MCP_OPTION_STREAM_BUFFER, "0", -1, "invalid value" },
        { MCP_OPTION_STREAM_BUFFER, "0k", -1, "invalid value" },
        { MCP_OPTION_STREAM_BUFFER, "1024", 1024, NULL },
        { MCP_OPTION_STREAM_BUFFER, "1023", -1,
          "value is less than 1 KB: add the unit, as in 8m" },
        { MCP_OPTION_CALL_TIMEOUT, "0", -1, "value must not be 0" },
        { MCP_OPTION_MAX_SESSION_STREAMS, "0", 0, NULL },
        { MCP_OPTION_MAX_MESSAGE, "1x", -1, "invalid value" },

        { MCP_OPTION_MAX_DEPTH, "4", 4, NULL },
        { MCP_OPTION_MAX_DEPTH, "512", 512, NULL },
        { MCP_OPTION_MAX_DEPTH, "3", -1, "value must be between 4 and 512" },
        { MCP_OPTION_MAX_DEPTH, "513", -1, "value must be between 4 and 512" },
        { MCP_OPTION_MAX_DEPTH, "64k", -1, "invalid number" },
        { MCP_OPTION_MAX_DEPTH, "-1", -1, "invalid number" },
        { MCP_OPTION_MAX_DEPTH, "off", -1, "invalid number" },
        { MCP_OPTION_MAX_BATCH, "65", -1, "value must be between 1 and 64" },
        { MCP_OPTION_MAX_EVENTS, "0", -1,
          "value must be between 1 and 1073741824" },
        { MCP_OPTION_LINK, "on", 1, NULL },
        { MCP_OPTION_PASS_AUTHORIZATION, "on", 1, NULL },
        { MCP_OPTION_PASS_COOKIE, "off", 0, NULL },
        { MCP_OPTION_LINK, "Off", 0, NULL },
        { MCP_OPTION_LINK, "1", -1, "invalid value" },
        { MCP_OPTION_LINK, "", -1, "invalid value" },
        { MCP_OPTION_MIN_WAIT, "off", 0, NULL },
        { MCP_OPTION_RESUME_AFTER, "500ms", 500, NULL },
        { MCP_OPTION_PAGE_SIZE, "off", 0, NULL },
        { MCP_OPTION_PAGE_SIZE, "1073741824", 1073741824, NULL },
        { MCP_OPTION_PAGE_SIZE, "1073741825", -1,
          "value must be between 0 and 1073741824" },
        { MCP_OPTION_MAX_SESSION_STREAMS, "off", 0, NULL },
        { MCP_OPTION_QUOTA_KEY, "principal", MCP_QUOTA_KEY_PRINCIPAL, NULL },
        { MCP_OPTION_QUOTA_KEY, "Address", MCP_QUOTA_KEY_ADDRESS, NULL },
        { MCP_OPTION_QUOTA_KEY, "off", MCP_QUOTA_KEY_OFF, NULL },
        { MCP_OPTION_QUOTA_KEY, "1", -1, "invalid value" },
        { MCP_OPTION_QUOTA_KEY, "", -1, "invalid value" },
        { MCP_OPTION_RESUME_STATELESS, "off", MCP_RESUME_STATELESS_OFF, NULL },
        { MCP_OPTION_RESUME_STATELESS, "declared",
          MCP_RESUME_STATELESS_DECLARED, NULL },
        { MCP_OPTION_RESUME_STATELESS, "All", MCP_RESUME_STATELESS_ALL, NULL },
        { MCP_OPTION_RESUME_STATELESS, "on", -1, "invalid value" },
        { MCP_OPTION_UPSTREAM, "off", MCP_UPSTREAM_OFF, NULL },
        { MCP_OPTION_UPSTREAM, "modern", MCP_UPSTREAM_MODERN, NULL },
        { MCP_OPTION_UPSTREAM, "Stateless", MCP_UPSTREAM_STATELESS, NULL },
        { MCP_OPTION_UPSTREAM, "session", MCP_UPSTREAM_SESSION, NULL },
        { MCP_OPTION_UPSTREAM, "1", -1, "invalid value" },
        { MCP_OPTION_UPSTREAM_SESSION, "client", MCP_UPSTREAM_OF_CLIENT, NULL },
        { MCP_OPTION_UPSTREAM_SESSION, "call", MCP_UPSTREAM_OF_CALL, NULL },
        { MCP_OPTION_UPSTREAM_SESSION, "off", -1, "invalid value" },
        { MCP_OPTION_UPSTREAM_LISTS, "off", MCP_UPSTREAM_LISTS_OFF, NULL },
        { MCP_OPTION_UPSTREAM_LISTS, "shared", MCP_UPSTREAM_LISTS_SHARED,
          NULL },
        { MCP_OPTION_UPSTREAM_LISTS, "private", -1, "invalid value" },
        { MCP_OPTION_UPSTREAM_LISTEN, "on", 1, NULL },
        { MCP_OPTION_UPSTREAM_MAX_SESSIONS, "100", 100, NULL },
        { MCP_OPTION_UPSTREAM_MAX_SESSIONS, "off", 0, NULL },
        { MCP_OPTION_RECONNECT_WAIT, "0", -1, "value must not be 0" },
        { MCP_OPTION_RECONNECT_WAIT, "3s", 3000, NULL },
        { MCP_OPTION_QUOTA_STREAMS, "7", 7, NULL },
        { MCP_OPTION_QUOTA_STREAMS, "share", 0, NULL },
        { MCP_OPTION_QUOTA_STREAMS, "0", -1, NULL },
        { MCP_OPTION_QUOTA_LISTENERS, "off", -1, NULL },
        { MCP_OPTION_QUOTA_VALUES, "64k", -1, "invalid number" },
        { MCP_OPTION_QUOTA_VALUES, "1073741825", -1,
          "value must be between 0 and 1073741824" },
        { MCP_OPTION_QUOTA_BYTES, "64k", 65536, NULL },
        { MCP_OPTION_QUOTA_BYTES, "Share", 0, NULL },
        { MCP_OPTION_QUOTA_BYTES, "off", -1, NULL },
        { MCP_OPTION_QUOTA_BYTES, "1x", -1, "invalid value" }
    };

    int             rc;
    size_t          i;
    const char     *error;
    mcp_options_t   o;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(&o, 0, sizeof(o));
        error = NULL;

        rc = mcp_option_set(&o, cases[i].option, test_str(cases[i].text),
                            &error);

        if (cases[i].error) {
            assert_int_equal(rc, MCP_ERR_CONFIG);
            assert_string_equal(error, cases[i].error);

            /* an invalid value leaves the option unset */

            assert_int_equal(o.set, 0);
            continue;
        }

        assert_ok(rc);
        assert_int_equal(o.value[cases[i].option], cases[i].value);
        assert_int_equal(o.set, (uint64_t) 1 << cases[i].option);

        /* an option is set twice: an error, which does not depend on the
         * second value */

        assert_int_equal(mcp_option_set(&o, cases[i].option, mcp_str("?"),
                                        &error),
                         MCP_ERR_CONFIG);
        assert_string_equal(error, "is duplicate");
        assert_int_equal(o.value[cases[i].option], cases[i].value);
    }
}


TEST(section_inherits_the_options_that_it_does_not_set)
{
    const char     *error;
    mcp_options_t   parent, o;
    mcp_endpoint_t  e;

    memset(&parent, 0, sizeof(parent));
    memset(&o, 0, sizeof(o));
    memset(&e, 0, sizeof(e));

    assert_ok(mcp_option_set(&parent, MCP_OPTION_RETRY, mcp_str("9s"), &error));
    assert_ok(mcp_option_set(&parent, MCP_OPTION_LINGER, mcp_str("8s"),
                             &error));
    assert_ok(mcp_option_set(&o, MCP_OPTION_LINGER, mcp_str("0"), &error));
    assert_ok(mcp_option_set(&o, MCP_OPTION_PAGE_SIZE, mcp_str("off"), &error));

    mcp_options_merge(&o, &parent);
    mcp_options_apply(&o, &e);

    assert_int_equal(e.retry, 9000);
    assert_int_equal(e.linger, 0);
    assert_int_equal(e.page_size, 0);
    assert_int_equal(e.max_wait, 600000);

    /* a section inherits a value through a section that does not set it */

    memset(&parent, 0, sizeof(parent));
    mcp_options_merge(&parent, &o);
    memset(&e, 0, sizeof(e));
    mcp_options_apply(&parent, &e);
    assert_int_equal(e.retry, 9000);
    assert_int_equal(e.page_size, 0);
}


/* The default values, as in the manual. */
TEST(options_that_are_not_set_have_their_default_values)
{
    mcp_options_t   o;
    mcp_endpoint_t  e;

    memset(&o, 0, sizeof(o));
    memset(&e, 0x5a, sizeof(e));

    mcp_options_apply(&o, &e);

    assert_int_equal(e.session_lifetime, 24 * 3600000);
    assert_int_equal(e.stream_after, 1000);
    assert_int_equal(e.task_after, 1000);
    assert_int_equal(e.task_ttl, 3600000);
    assert_int_equal(e.policy_after, 50);
    assert_int_equal(e.close_after, 0);
    assert_int_equal(e.retry, 2000);
    assert_int_equal(e.keepalive, 15000);
    assert_int_equal(e.max_wait, 600000);
    assert_int_equal(e.linger, 60000);
    assert_int_equal(e.call_timeout, 600000);
    assert_int_equal(e.input_timeout, 600000);
    assert_int_equal(e.max_events, 65536);
    assert_int_equal(e.stream_buffer, 8 * 1024 * 1024);
    assert_int_equal(e.max_session_streams, 1024);
    assert_int_equal(e.quota_key, MCP_QUOTA_KEY_PRINCIPAL);
    assert_int_equal(e.resume_stateless, MCP_RESUME_STATELESS_DECLARED);
    assert_int_equal(e.reconnect_wait, 10000);
    assert_int_equal(e.quota_streams, MCP_QUOTA_SHARE);
    assert_int_equal(e.quota_listeners, MCP_QUOTA_SHARE);
    assert_int_equal(e.quota_values, MCP_QUOTA_SHARE);
    assert_int_equal(e.quota_bytes, MCP_QUOTA_SHARE);
    assert_int_equal(e.max_message, 8 * 1024 * 1024);
    assert_int_equal(e.max_depth, 64);
    assert_int_equal(e.max_batch, 50);
    assert_int_equal(e.page_size, 100);
}


/* The names of each option in both servers consist of the same words, and each
 * default value is within the bounds of its option. */
TEST(names_of_an_option_in_nginx_and_apache_have_the_same_words)
{
    char        words[64], *w;
    size_t      i;
    const char *p;

    static const struct {
        const char  *nginx;
        const char  *apache;
        uint64_t     min;
        uint64_t     max;
        uint64_t     value;
    } rows[] = {
#define ROW(id, member, nginx, apache, kind, off, min, max, def)              \
        { nginx, apache, (uint64_t) (min), (uint64_t) (max),                  \
          (uint64_t) (def) },

        MCP_OPTIONS(ROW)
    };

    assert_int_equal(sizeof(rows) / sizeof(rows[0]), MCP_OPTION_COUNT);

    for (i = 0; i < MCP_OPTION_COUNT; i++) {
        w = words;

        for (p = rows[i].nginx; *p; p++) {
            if (*p != '_') {
                *w++ = *p;
            }
        }

        *w = '\0';

        assert_true(mcp_str_case_eq(test_str(words), test_str(rows[i].apache)));
        assert_memory_equal(rows[i].nginx, "mcp_", 4);
        assert_memory_equal(rows[i].apache, "MCP", 3);
        assert_true(rows[i].value >= rows[i].min);
        assert_true(rows[i].value <= rows[i].max);
    }
}


RUN_TESTS(NULL, NULL)

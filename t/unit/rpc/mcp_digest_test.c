/* SPDX-License-Identifier: Apache-2.0 */

/* The canonical digest of params: texts with an equal digest, and texts with
 * different digests. */


#include "memory_cases.h"

#include "rpc/mcp_digest.h"


#define DEPTH  32


static void
digest(const char *params, unsigned char out[MCP_DIGEST_LEN])
{
    assert_ok(mcp_digest_params(&tm.mem, test_str(params), DEPTH, out));
}


static int
same(const char *a, const char *b)
{
    unsigned char  one[MCP_DIGEST_LEN], two[MCP_DIGEST_LEN];

    digest(a, one);
    digest(b, two);

    return memcmp(one, two, MCP_DIGEST_LEN) == 0;
}


/* Checks that all texts of a row have the same digest, and that texts of other
 * rows have another one. */
static void
check(const char *const (*rows)[6], size_t n)
{
    size_t  i, j, k;

    for (i = 0; i < n; i++) {
        for (k = 1; k < 6 && rows[i][k]; k++) {
            if (!same(rows[i][0], rows[i][k])) {
                fail_msg("%s is not %s", rows[i][0], rows[i][k]);
            }
        }

        for (j = 0; j < i; j++) {
            if (same(rows[i][0], rows[j][0])) {
                fail_msg("%s is %s", rows[i][0], rows[j][0]);
            }
        }
    }
}


TEST(order_of_members_does_not_change_the_digest_but_order_of_elements_does)
{
    static const char *const  rows[][6] = {
        { "{\"name\":\"a\",\"arguments\":{\"x\":1,\"y\":[{\"p\":1,\"q\":2}]}}",
          "{\"arguments\":{\"y\":[{\"q\":2,\"p\":1}],\"x\":1},\"name\":\"a\"}",
          " {\n\"name\" : \"a\" ,\t\"arguments\":{ \"x\":1,\r\"y\":[ {\"p\":1"
          " ,\"q\":2} ] } } " },
        { "{\"name\":\"a\",\"arguments\":{\"x\":1,\"y\":[{\"p\":2,\"q\":1}]}}" },
        { "{\"a\":1,\"b\":2,\"c\":3}", "{\"c\":3,\"b\":2,\"a\":1}",
          "{\"b\":2,\"c\":3,\"a\":1}" },
        { "{\"a\":1,\"b\":3,\"c\":2}" },
        { "{\"ab\":1,\"a\":2,\"\":3}", "{\"\":3,\"a\":2,\"ab\":1}" },
        { "{\"a\":[1,2]}" }, { "{\"a\":[2,1]}" }, { "{\"a\":[[1],2]}" },
        { "{\"a\":[1,[2]]}" }, { "{\"a\":[12]}" }, { "{\"a\":[]}" },
        { "{\"a\":{}}" }, { "{\"a\":[[]]}" }, { "{\"a\":\"\"}" },
        { "{\"a\":{\"b\":1},\"c\":2}" }, { "{\"a\":{\"b\":1,\"c\":2}}" }
    };

    check(rows, ITEMS(rows));
}


/* An object has two members with the same name: in another order they have a
 * different digest, because some parsers use the first one and others the
 * second one. */
TEST(members_have_the_same_name__their_order_changes_the_digest)
{
    static const char *const  rows[][6] = {
        { "{\"a\":1,\"a\":2,\"b\":3}", "{\"b\":3,\"a\":1,\"a\":2}",
          "{\"a\":1,\"b\":3,\"\\u0061\":2}" },
        { "{\"a\":2,\"a\":1,\"b\":3}" },
        { "{\"a\":1,\"b\":3}" }
    };

    check(rows, ITEMS(rows));
}


/* An object has members whose names differ only in case: in another order they
 * have a different digest, because a backend that ignores case uses only the
 * first or the last one. */
TEST(order_of_members_whose_names_differ_only_in_case_changes_the_digest)
{
    static const char *const  rows[][6] = {
        { "{\"Id\":1,\"id\":2,\"b\":3}", "{\"b\":3,\"Id\":1,\"id\":2}",
          "{\"Id\":1,\"b\":3,\"\\u0069d\":2}" },
        { "{\"id\":2,\"Id\":1,\"b\":3}", "{\"id\":2,\"b\":3,\"Id\":1}" },
        { "{\"id\":1,\"Id\":2,\"b\":3}" }, { "{\"Id\":1,\"id\":2}" },
        { "{\"s\":1,\"\xc5\xbf\":2}" }, { "{\"\\u017f\":2,\"s\":1}" },
        { "{\"K\":1,\"\xe2\x84\xaa\":2}" }, { "{\"\xe2\x84\xaa\":2,\"K\":1}" },
        { "{\"i\":1,\"\xc4\xb1\":2}" }, { "{\"\xc4\xb1\":2,\"i\":1}" },
        { "{\"n\":1,\"n\\u0000x\":2}" }, { "{\"n\\u0000x\":2,\"n\":1}" },
        { "{\"N\\u0000y\":1,\"n\\u0000x\":2}" },
        { "{\"n\\u0000x\":2,\"N\\u0000y\":1}" },
        { "{\"abcdefgh\":1,\"ABCDEFGH\":2}" },
        { "{\"ABCDEFGH\":2,\"abcdefgh\":1}" },
        { "{\"abcdefghi\":1,\"ABCDEFGHI\":2}" },
        { "{\"ABCDEFGHI\":2,\"abcdefghi\":1}" },
        { "{\"a\":{\"Id\":1,\"id\":2}}" }, { "{\"a\":{\"id\":2,\"Id\":1}}" },

        /* members whose names differ not only in ASCII case: their order does
         * not matter */

        { "{\"abcdefghi\":1,\"ABCDEFGHJ\":2}",
          "{\"ABCDEFGHJ\":2,\"abcdefghi\":1}" },
        { "{\"\xc3\xa9\":1,\"\xc3\x89\":2}", "{\"\xc3\x89\":2,\"\xc3\xa9\":1}" },
        { "{\"n\":1,\"nx\":2}", "{\"nx\":2,\"n\":1}" },
        { "{\"\":1,\"x\":2}", "{\"x\":2,\"\":1}" },
        { "{\"[\":1,\"{\":2}", "{\"{\":2,\"[\":1}" },
        { "{\"@\":1,\"`\":2}", "{\"`\":2,\"@\":1}" }
    };

    check(rows, ITEMS(rows));
}


TEST(escapes_in_a_string_do_not_change_the_digest_but_characters_do)
{
    static const char *const  rows[][6] = {
        { "{\"k\":\"a/b\"}", "{\"k\":\"a\\/b\"}", "{\"\\u006b\":\"a/b\"}",
          "{\"k\":\"\\u0061\\u002Fb\"}" },
        { "{\"k\":\"\xc3\xa9\"}", "{\"k\":\"\\u00e9\"}", "{\"k\":\"\\u00E9\"}" },
        { "{\"k\":\"e\xcc\x81\"}" },
        { "{\"k\":\"\xf0\x9f\x90\xa6\"}", "{\"k\":\"\\ud83d\\udc26\"}" },
        { "{\"k\":\"\\n\\t\\b\\f\\r\\\"\\\\\"}",
          "{\"k\":\"\\u000a\\u0009\\u0008\\u000c\\u000d\\u0022\\u005c\"}" },
        { "{\"k\":\"\\u0000\"}" }, { "{\"k\":\"\\u0000\\u0000\"}" },
        { "{\"k\":\"\\\\n\"}" }, { "{\"k\":\"A\"}" }, { "{\"K\":\"A\"}" },
        { "{\"k\":\"1\"}" }, { "{\"k\":1}" }, { "{\"k\":\"#1e0;\"}" },
        { "{\"k\":true}" }, { "{\"k\":\"true\"}" }, { "{\"k\":false}" },
        { "{\"k\":null}" }, { "{\"k\":\"n\"}" }, { "{\"k\":0}" },
        { "{\"k\":\"ab\",\"l\":\"c\"}" }, { "{\"k\":\"a\",\"l\":\"bc\"}" }
    };

    check(rows, ITEMS(rows));
}


TEST(spelling_of_a_number_does_not_change_the_digest_but_its_value_does)
{
    static const char *const  rows[][6] = {
        { "{\"k\":3}", "{\"k\":3.0}", "{\"k\":3.000}", "{\"k\":30e-1}",
          "{\"k\":0.3E+1}", "{\"k\":0.003e3}" },
        { "{\"k\":-3}", "{\"k\":-3.0}", "{\"k\":-30e-01}" },
        { "{\"k\":0}", "{\"k\":-0}", "{\"k\":0.00}", "{\"k\":-0e5}",
          "{\"k\":0e99999999999999999999}" },
        { "{\"k\":100}", "{\"k\":1e2}", "{\"k\":1E+02}", "{\"k\":10.0e1}",
          "{\"k\":1e0000000000000000000000002}" },
        { "{\"k\":1000}" }, { "{\"k\":10}" }, { "{\"k\":1}" },
        { "{\"k\":0.1}", "{\"k\":1e-1}", "{\"k\":0.10}" },
        { "{\"k\":0.01}" }, { "{\"k\":1.01}", "{\"k\":101e-2}" },
        { "{\"k\":11}" }, { "{\"k\":110}", "{\"k\":1.1e2}" },
        { "{\"k\":9007199254740993}", "{\"k\":9007199254740993.0}" },
        { "{\"k\":9007199254740992}" },
        { "{\"k\":0.1000000000000000055511151231257827}" },
        { "{\"k\":1e400}", "{\"k\":10e399}" }, { "{\"k\":1e401}" },
        { "{\"k\":1e-400}" },
        { "{\"k\":1e999999999999999}", "{\"k\":10e999999999999998}" },
        { "{\"k\":1e1000000000000000}" },
        { "{\"k\":1e99999999999999999999999}" },
        { "{\"k\":-1e99999999999999999999999}" }
    };

    check(rows, ITEMS(rows));
}


TEST(meta_and_request_state_and_token_members_do_not_change_the_digest)
{
    static const char *const  rows[][6] = {
        { "{\"a\":1}", "{\"a\":1,\"_meta\":{\"x\":1}}",
          "{\"inputResponses\":{},\"a\":1,\"requestState\":\"s\"}",
          "{\"resumeToken\":\"t\",\"_m\\u0065ta\":2,\"a\":1}" },
        { "", "{}", "{\"_meta\":{}}", " { } " },
        { "{\"a\":{\"_meta\":1}}" }, { "{\"a\":{}}" },
        { "{\"a\":{\"resumeToken\":\"t\"}}" }, { "{\"meta\":1}" },
        { "{\"resumetoken\":1}" }
    };

    check(rows, ITEMS(rows));
}


TEST(params_beyond_the_maximum_depth_have_no_digest)
{
    size_t         i;
    char           text[600];
    unsigned char  out[MCP_DIGEST_LEN];

    strcpy(text, "{\"a\":");

    for (i = 0; i < 31; i++) {
        strcat(text, i % 2 ? "[" : "{\"a\":");
    }

    strcat(text, "1");

    while (i-- > 0) {
        strcat(text, i % 2 ? "]" : "}");
    }

    strcat(text, "}");

    assert_ok(mcp_digest_params(&tm.mem, test_str(text), 32, out));
    assert_int_equal(mcp_digest_params(&tm.mem, test_str(text), 31, out),
                     MCP_ERR_LIMIT);
    assert_ok(mcp_digest_params(&tm.mem, mcp_str("{}"), 1, out));
    assert_int_equal(mcp_digest_params(&tm.mem, mcp_str("{}"), 0, out),
                     MCP_ERR_LIMIT);
}


/* Many members, in orders that are the worst for some sorting algorithms: the
 * digest is the same. */
TEST(order_of_5000_members_does_not_change_the_digest)
{
    int            i, n;
    char          *text[3], *p[3];
    unsigned char  out[3][MCP_DIGEST_LEN];

    n = 5000;

    for (i = 0; i < 3; i++) {
        text[i] = malloc((size_t) n * 16 + 16);
        assert_non_null(text[i]);
        p[i] = text[i] + sprintf(text[i], "{");
    }

    for (i = 0; i < n; i++) {
        p[0] += sprintf(p[0], "%s\"%d\":%d", i ? "," : "", i, i);
        p[1] += sprintf(p[1], "%s\"%d\":%d", i ? "," : "", n - 1 - i,
                        n - 1 - i);
        p[2] += sprintf(p[2], "%s\"%d\":%d", i ? "," : "", i * 7 % n,
                        i * 7 % n);
    }

    for (i = 0; i < 3; i++) {
        strcpy(p[i], "}");
        digest(text[i], out[i]);
        assert_memory_equal(out[0], out[i], MCP_DIGEST_LEN);
        free(text[i]);
    }
}


/* Nested objects that are so long that their digests replace their texts: the
 * content still matters, and the order of the members does not. */
TEST(content_of_nested_objects_changes_the_digest_but_member_order_does_not)
{
    int            i;
    char          *text;
    char           filler[5000];
    unsigned char  out[4][MCP_DIGEST_LEN];

    static const char *const  forms[] = {
        "{\"o\":{\"b\":{\"x\":\"%s\",\"a\":1},\"a\":2},\"a\":[3]}",
        "{\"a\":[3],\"o\":{\"a\":2,\"b\":{\"a\":1,\"x\":\"%s\"}}}",
        "{\"a\":[3],\"o\":{\"a\":2,\"b\":{\"a\":0,\"x\":\"%s\"}}}",
        "{\"a\":[3],\"o\":{\"a\":0,\"b\":{\"a\":1,\"x\":\"%s\"}}}"
    };

    memset(filler, 'f', sizeof(filler) - 1);
    filler[sizeof(filler) - 1] = '\0';

    for (i = 0; i < 4; i++) {
        assert_true(asprintf(&text, forms[i], filler) > 0);
        digest(text, out[i]);
        free(text);
    }

    assert_memory_equal(out[0], out[1], MCP_DIGEST_LEN);
    assert_memory_not_equal(out[0], out[2], MCP_DIGEST_LEN);
    assert_memory_not_equal(out[0], out[3], MCP_DIGEST_LEN);
}


/* Memory grows by doubling: 100000 members with escapes need at most 50
 * allocations. */
TEST(digest_of_100000_members_needs_at_most_50_allocations)
{
    int            i, n;
    char          *text, *p;
    unsigned long  before;
    unsigned char  out[MCP_DIGEST_LEN];

    n = 100000;
    text = malloc((size_t) n * 40 + 16);
    assert_non_null(text);
    p = text + sprintf(text, "{");

    for (i = 0; i < n; i++) {
        p += sprintf(p, "%s\"\\u0061%d\":{\"\\u0062\":\"\\n\"}", i ? "," : "",
                     (int) (i * 7919LL % n));
    }

    strcpy(p, "}");
    before = tm.total;
    digest(text, out);
    assert_in_range(tm.total - before, 1, 50);
    free(text);
}


TEST(memory_runs_out__the_digest_of_params_fails_without_a_leak)
{
    int            rc;
    unsigned char  out[MCP_DIGEST_LEN];
    unsigned long  k = 0;

    static const char  text[] =
        "{\"a\\u0062\":\"c\\u0064\",\"b\":[{\"x\\n\":1.50},null]}";

    while (test_next_failure(&tm, &k)) {
        tm.fail_at = k;
        rc = mcp_digest_params(&tm.mem, mcp_str(text), DEPTH, out);
        assert_int_equal(rc, tm.failed ? MCP_ERR_MEMORY : MCP_OK);
        assert_int_equal(tm.live, 0);
    }
}


#define NAMES  3000


typedef struct {
    char                 *text;
    size_t                len;
    mcp_digest_member_t  *members;
    size_t                n;
} names_t;


static void
names_init(names_t *names)
{
    names->text = malloc(NAMES * 200);
    names->members = malloc(2 * NAMES * sizeof(mcp_digest_member_t));
    assert_non_null(names->text);
    assert_non_null(names->members);
    names->len = 0;
    names->n = 0;
}


static void
names_free(names_t *names)
{
    free(names->text);
    free(names->members);
}


static void
add(names_t *names, const char *name, size_t len)
{
    mcp_digest_member_t  *m;

    m = &names->members[names->n++];
    m->start = (uint32_t) names->len;
    m->at = m->start + 1;
    names->text[names->len++] = '"';
    memcpy(names->text + names->len, name, len);
    names->len += len;
    names->text[names->len++] = MCP_DIGEST_END;
    names->text[names->len++] = 'n';
    m->end = (uint32_t) names->len;
}


static size_t
sort(names_t *names)
{
    return mcp_digest_sort(names->text, names->members,
                           names->members + names->n, names->n);
}


TEST(member_names_are_sorted__names_equal_without_case_keep_their_order)
{
    size_t   i;
    names_t  names;

    static const struct {
        mcp_str_t  name;
        size_t     place;
    } rows[] = {
        { mcp_str("zebra"), 9 },
        { mcp_str("ID"), 3 },
        { mcp_str("abcdefgh2"), 1 },
        { mcp_str("id"), 4 },
        { mcp_str("\xc3\xa9"), 10 },
        { mcp_str(""), 0 },
        { mcp_str("Id\0x"), 5 },
        { mcp_str("ABCDEFGHI"), 2 },
        { mcp_str("\xc4\xb0""d"), 6 },
        { mcp_str("\xe2\x84\xaa"), 7 },
        { mcp_str("k"), 8 }
    };

    names_init(&names);

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        add(&names, rows[i].name.data, rows[i].name.len);
        names.members[i].end = (uint32_t) rows[i].place;
    }

    (void) sort(&names);

    for (i = 0; i < names.n; i++) {
        assert_int_equal(names.members[i].end, i);
    }

    names_free(&names);
}


/* Sorts names of "len" bytes that differ only in their last eight bytes, and
 * are in no particular order. Returns the number of pieces that were read. */
static size_t
pieces_of(size_t len)
{
    size_t    i, pieces;
    char      name[200];
    names_t   names;
    uint32_t  n;

    names_init(&names);
    n = 1;

    for (i = 0; i < NAMES; i++) {
        n = n * 1664525 + 1013904223;
        memset(name, 'a', sizeof(name));
        sprintf(name + len - 8, "%08x", n);
        add(&names, name, len);
    }

    pieces = sort(&names);

    for (i = 1; i < names.n; i++) {
        assert_true(memcmp(names.text + names.members[i - 1].start,
                           names.text + names.members[i].start, len + 1) <= 0);
    }

    names_free(&names);

    return pieces;
}


TEST(sorting_work_is_linear_in_the_length_of_the_names)
{
    assert_int_equal(pieces_of(8), NAMES);
    assert_int_equal(pieces_of(16), 2 * NAMES);
    assert_int_equal(pieces_of(64), 8 * NAMES);
    assert_int_equal(pieces_of(160), 20 * NAMES);
}


RUN_TESTS(init, done)

/* SPDX-License-Identifier: Apache-2.0 */

/* Sorting of members for a digest, and the number of comparisons. */


#include "test_env.h"

#include "rpc/mcp_digest_sort.h"


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


static void
names_are_sorted_and_alike_ones_keep_their_order(void **state)
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

    (void) state;

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


static void
work_is_linear_in_the_length_of_the_names(void **state)
{
    (void) state;

    assert_int_equal(pieces_of(8), NAMES);
    assert_int_equal(pieces_of(16), 2 * NAMES);
    assert_int_equal(pieces_of(64), 8 * NAMES);
    assert_int_equal(pieces_of(160), 20 * NAMES);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(names_are_sorted_and_alike_ones_keep_their_order),
        cmocka_unit_test(work_is_linear_in_the_length_of_the_names)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* The table of revisions is complete and agrees with the specifications. */


#include "test_env.h"

#include "rpc/mcp_revision.h"


TEST(name_of_a_revision_is_given__the_revision_and_its_features_are_found)
{
    static const struct {
        const char      *name;
        mcp_revision_e   id;
        unsigned         stateless, batch, priming, polling, elicitation,
                         url_mode, titles, any_output;
    } cases[] = {
        { "2025-03-26", MCP_REVISION_2025_03_26, 0, 1, 0, 0, 0, 0, 0, 0 },
        { "2025-06-18", MCP_REVISION_2025_06_18, 0, 0, 0, 0, 1, 0, 1, 0 },
        { "2025-11-25", MCP_REVISION_2025_11_25, 0, 0, 1, 1, 1, 1, 1, 0 },
        { "2026-07-28", MCP_REVISION_2026_07_28, 1, 0, 0, 0, 1, 1, 1, 1 },
    };

    size_t                 i;
    mcp_revision_e         next;
    const mcp_revision_t  *r;

    next = MCP_REVISION_NONE;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(mcp_revision_find(test_str(cases[i].name)),
                         cases[i].id);

        next = mcp_revision_next(next);
        assert_int_equal(next, cases[i].id);

        r = mcp_revision(cases[i].id);

        assert_str_is(r->name, cases[i].name);
        assert_int_equal(r->stateless, cases[i].stateless);
        assert_int_equal(r->batch, cases[i].batch);
        assert_int_equal(r->priming, cases[i].priming);
        assert_int_equal(r->polling, cases[i].polling);
        assert_int_equal(r->elicitation, cases[i].elicitation);
        assert_int_equal(r->url_mode, cases[i].url_mode);
        assert_int_equal(r->titles, cases[i].titles);
        assert_int_equal(r->any_output, cases[i].any_output);
    }

    assert_int_equal(mcp_revision_next(next), MCP_REVISION_NONE);
}


TEST(set_has_both_kinds_of_revisions__latest_of_the_requested_kind_is_found)
{
    uint32_t  old;

    old = mcp_revision_bit(MCP_REVISION_2025_03_26)
          | mcp_revision_bit(MCP_REVISION_2025_06_18);

    assert_int_equal(mcp_revision_latest(MCP_REVISION_ALL, 0),
                     MCP_REVISION_2025_11_25);
    assert_int_equal(mcp_revision_latest(MCP_REVISION_ALL, 1),
                     MCP_REVISION_2026_07_28);
    assert_int_equal(mcp_revision_latest(old, 0), MCP_REVISION_2025_06_18);
    assert_int_equal(mcp_revision_latest(old, 1), MCP_REVISION_NONE);
    assert_int_equal(mcp_revision_latest(0, 0), MCP_REVISION_NONE);
}


TEST(unknown_name_of_a_revision_is_not_found)
{
    static const char  *names[] = {
        "", "2024-11-05", "2025-11-2", "2025-11-255", "2025-06-18 ", "latest",
        "2026-01-01",
    };

    size_t  i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(mcp_revision_find(test_str(names[i])),
                         MCP_REVISION_NONE);
    }

    assert_int_equal(mcp_revision_find(mcp_null_str), MCP_REVISION_NONE);
}


TEST(unknown_revision_has_an_empty_name)
{
    assert_int_equal(mcp_revision(MCP_REVISION_NONE)->name.len, 0);
    assert_ptr_equal(mcp_revision((mcp_revision_e) 99),
                     mcp_revision(MCP_REVISION_NONE));
    assert_ptr_equal(mcp_revision((mcp_revision_e) -1),
                     mcp_revision(MCP_REVISION_NONE));
}


/* The numbers of revisions never change, because tokens contain them. */
TEST(tokens_contain_numbers_of_revisions__these_numbers_never_change)
{
    assert_int_equal(MCP_REVISION_2025_03_26, 1);
    assert_int_equal(MCP_REVISION_2025_06_18, 2);
    assert_int_equal(MCP_REVISION_2025_11_25, 3);
    assert_int_equal(MCP_REVISION_2026_07_28, 4);
}


RUN_TESTS(NULL, NULL)

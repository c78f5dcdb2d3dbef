/* SPDX-License-Identifier: Apache-2.0 */

/* The table of the reasons of failures is complete and agrees with the
 * manual. */


#include "test_env.h"

#include "rpc/mcp_fault.h"


TEST(each_reason_has_a_name_and_a_text_and_a_remedy)
{
    size_t               i;
    unsigned             r;
    const mcp_reason_t  *row;

    for (r = MCP_REASON_NONE + 1; r < MCP_REASON_COUNT; r++) {
        row = mcp_reason(r);

        assert_true(row->name.len && row->text.len && row->remedy.len);

        for (i = 0; i < row->name.len; i++) {
            assert_true(row->name.data[i] == '_'
                        || (row->name.data[i] >= 'a'
                            && row->name.data[i] <= 'z'));
        }
    }

    assert_int_equal(mcp_reason(MCP_REASON_NONE)->name.len, 0);
    assert_ptr_equal(mcp_reason(MCP_REASON_COUNT), mcp_reason(0));
    assert_ptr_equal(mcp_reason(65535), mcp_reason(0));
}


TEST(each_fault_has_a_reason)
{
    unsigned  fault;

    assert_int_equal(mcp_reason_of_fault(MCP_FAULT_NONE), MCP_REASON_NONE);

    for (fault = 1; fault < MCP_FAULT_COUNT; fault++) {
        assert_int_not_equal(mcp_reason_of_fault((mcp_fault_e) fault),
                             MCP_REASON_NONE);
    }

    assert_int_equal(mcp_reason_of_fault(MCP_FAULT_BACKEND_TIMEOUT),
                     MCP_REASON_BACKEND_TIMEOUT);
    assert_int_equal(mcp_reason_of_fault(MCP_FAULT_PARAMS), MCP_REASON_REQUEST);
}


/* docs/operations.md has a row "| `name` | text | remedy |" for each
 * reason. */
TEST(manual_has_a_row_for_each_reason)
{
    FILE                *file;
    char                *manual, line[512];
    size_t               n;
    unsigned             r;
    const mcp_reason_t  *row;

    file = fopen("docs/operations.md", "r");
    assert_non_null(file);

    manual = calloc(1, 256 * 1024);
    assert_non_null(manual);

    n = fread(manual, 1, 256 * 1024 - 1, file);
    assert_true(n > 0 && n < 256 * 1024 - 1);
    fclose(file);

    for (r = MCP_REASON_NONE + 1; r < MCP_REASON_COUNT; r++) {
        row = mcp_reason(r);

        snprintf(line, sizeof(line), "\n| `%.*s` | %.*s | %.*s |\n",
                 (int) row->name.len, row->name.data,
                 (int) row->text.len, row->text.data,
                 (int) row->remedy.len, row->remedy.data);

        if (strstr(manual, line) == NULL) {
            fail_msg("docs/operations.md lacks: %s", line);
        }
    }

    free(manual);
}


RUN_TESTS(NULL, NULL)

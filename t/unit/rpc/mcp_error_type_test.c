/* SPDX-License-Identifier: Apache-2.0 */

/* The classes of errors for metrics: each has one name, and unknown codes share
 * one class. */


#include "test_env.h"

#include "rpc/mcp_fault.h"


static int
is_named(mcp_error_type_e type, const char *name)
{
    return mcp_str_eq(mcp_error_type_name(type), test_str(name));
}


TEST(each_known_error_code_has_a_class_and_unknown_codes_share_one)
{
    assert_int_equal(mcp_error_type_of_code(0), MCP_ERROR_TYPE_NONE);
    assert_true(is_named(mcp_error_type_of_code(0), ""));
    assert_true(is_named(mcp_error_type_of_code(-32603), "-32603"));
    assert_true(is_named(mcp_error_type_of_code(-32042), "-32042"));
    assert_true(is_named(mcp_error_type_of_code(-32043), "_OTHER"));
    assert_true(is_named(mcp_error_type_of_code(1), "_OTHER"));
    assert_true(is_named(mcp_error_type_of_code(INT64_MIN), "_OTHER"));
    assert_true(is_named(MCP_ERROR_TYPE_TOOL, "tool_error"));
    assert_true(is_named(MCP_ERROR_TYPE_CANCELLED, "cancelled"));
    assert_true(is_named(MCP_ERROR_TYPE_EXPIRED, "expired"));
    assert_int_equal(mcp_error_type_name(MCP_ERROR_TYPE_COUNT).len, 0);
    assert_int_equal(mcp_error_type_name(UINT32_MAX).len, 0);
}


/* Each error of this server has its code as its class. */
TEST(class_of_each_fault_of_this_server_is_the_error_code_of_the_fault)
{
    char                     name[16];
    unsigned                 fault;
    const mcp_fault_code_t  *code;

    for (fault = 1; fault < MCP_FAULT_COUNT; fault++) {
        code = &mcp_fault((mcp_fault_e) fault)->session;
        (void) snprintf(name, sizeof(name), "%d", code->code);
        assert_true(is_named(mcp_error_type_of_code(code->code), name));

        code = &mcp_fault((mcp_fault_e) fault)->stateless;
        (void) snprintf(name, sizeof(name), "%d", code->code);
        assert_true(is_named(mcp_error_type_of_code(code->code), name));
    }
}


RUN_TESTS(NULL, NULL)

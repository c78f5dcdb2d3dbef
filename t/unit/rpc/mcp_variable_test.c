/* SPDX-License-Identifier: Apache-2.0 */

/* Names of variables. */

#include "test_env.h"

#include "mcp_variable.h"


/* Each variable has a unique name, which is valid in both servers. */
TEST(each_variable_has_a_unique_name_of_letters_and_underscores)
{
    size_t     i, k, n;
    mcp_str_t  name;

    for (i = 0; i < MCP_VARIABLE_COUNT; i++) {
        name = mcp_variable_names[i];

        assert_true(name.len > 4);
        assert_memory_equal(name.data, "mcp_", 4);
        assert_int_equal(strlen(name.data), name.len);

        for (n = 0; n < name.len; n++) {
            assert_true((name.data[n] >= 'a' && name.data[n] <= 'z')
                        || name.data[n] == '_');
        }

        for (k = 0; k < i; k++) {
            assert_false(mcp_str_eq(name, mcp_variable_names[k]));
        }
    }
}


TEST(names_of_variables_match_their_constants)
{
    assert_str_is(mcp_variable_names[MCP_VARIABLE_METHOD], "mcp_method");
    assert_str_is(mcp_variable_names[MCP_VARIABLE_NAME], "mcp_name");
    assert_str_is(mcp_variable_names[MCP_VARIABLE_REQUEST_ID],
                  "mcp_request_id");
    assert_str_is(mcp_variable_names[MCP_VARIABLE_SESSION], "mcp_session");
    assert_str_is(mcp_variable_names[MCP_VARIABLE_SESSION_ID],
                  "mcp_session_id");
    assert_str_is(mcp_variable_names[MCP_VARIABLE_PRINCIPAL], "mcp_principal");
    assert_str_is(mcp_variable_names[MCP_VARIABLE_PROTOCOL_VERSION],
                  "mcp_protocol_version");
    assert_str_is(mcp_variable_names[MCP_VARIABLE_CLIENT_CAPABILITIES],
                  "mcp_client_capabilities");
    assert_str_is(mcp_variable_names[MCP_VARIABLE_PROGRESS_TOKEN],
                  "mcp_progress_token");
    assert_str_is(mcp_variable_names[MCP_VARIABLE_CALL], "mcp_call");
    assert_str_is(mcp_variable_names[MCP_VARIABLE_PUBLISH_URL],
                  "mcp_publish_url");
    assert_str_is(mcp_variable_names[MCP_VARIABLE_OUTCOME], "mcp_outcome");
    assert_str_is(mcp_variable_names[MCP_VARIABLE_RESUMED], "mcp_resumed");
    assert_str_is(mcp_variable_names[MCP_VARIABLE_EVENTS], "mcp_events");
    assert_str_is(mcp_variable_names[MCP_VARIABLE_RESUME_METHOD], "mcp_resume_method");
}


/* Backends get the stable id of a session, and no variables that are only for
 * logs. */
TEST(environment_of_a_backend_has_the_session_id_but_no_variables_for_logs)
{
    assert_str_is(mcp_variable_env[MCP_VARIABLE_METHOD], "MCP_METHOD");
    assert_str_is(mcp_variable_env[MCP_VARIABLE_SESSION_ID], "MCP_SESSION");
    assert_str_is(mcp_variable_env[MCP_VARIABLE_PUBLISH_URL],
                  "MCP_PUBLISH_URL");

    assert_int_equal(mcp_variable_env[MCP_VARIABLE_SESSION].len, 0);
    assert_int_equal(mcp_variable_env[MCP_VARIABLE_OUTCOME].len, 0);
    assert_int_equal(mcp_variable_env[MCP_VARIABLE_EVENTS].len, 0);
}


static int
control(const char *text, size_t len)
{
    return mcp_variable_has_control((mcp_str_t) { text, len });
}


/* Each byte at each position of a value, within the machine words and in the
 * bytes that remain after them. */
TEST(control_characters_in_a_value_are_found_at_each_position)
{
    int     c, is;
    char    text[21];
    size_t  len, at;

    for (len = 0; len <= sizeof(text); len++) {
        memset(text, 'x', sizeof(text));
        assert_false(control(text, len));

        for (at = 0; at < len; at++) {
            for (c = 0; c < 256; c++) {
                text[at] = (char) c;
                is = c < 0x20 || c == 0x7f;

                if (control(text, len) != is) {
                    fail_msg("%#x at %zu of %zu", c, at, len);
                }
            }

            text[at] = at % 2 ? '\x20' : '\xff';
        }
    }
}


TEST(value_of_a_variable_has_line_breaks__the_variable_is_a_question_mark)
{
    int              i;
    mcp_variables_t  variables;

    memset(&variables, 0, sizeof(mcp_variables_t));

    for (i = 0; i < MCP_VARIABLE_COUNT; i++) {
        mcp_variable_set(&variables, (mcp_variable_e) i, mcp_str("a value"));
        assert_str_is(variables.value[i], "a value");
        mcp_variable_set(&variables, (mcp_variable_e) i,
                         mcp_str("[\r\n\r\n1]"));
        assert_str_is(variables.value[i], "?");
        mcp_variable_set(&variables, (mcp_variable_e) i, mcp_null_str);
        assert_str_is(variables.value[i], "");
    }
}


RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: Apache-2.0 */

/* Headers that are written from the arguments of a call (2026-07-28,
 * basic/transports/streamable-http, "Value Encoding"), and the annotations of a
 * tool outside of a catalog. */


#include "test_env.h"

#include "config/mcp_catalog_header.h"


#define SCHEMA                                                                \
    "{\"type\":\"object\",\"properties\":{"                                   \
    "\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"},"           \
    "\"n\":{\"type\":\"integer\",\"x-mcp-header\":\"N\"},"                    \
    "\"o\":{\"properties\":{\"b\":{\"type\":\"boolean\","                     \
    "\"x-mcp-header\":\"B\"}}}}}"


static test_mem_t   tm;
static mcp_arena_t  arena;

static const mcp_catalog_header_t  *headers;
static size_t                       n_headers;


static int
init(void **state)
{
    char              *text;
    mcp_json_value_t   schema;

    test_mem_init(&tm);
    mcp_arena_init(&arena, &tm.mem);

    /* the schema is freed, because headers must be copies */

    text = strdup(SCHEMA);
    assert_non_null(text);
    schema = (mcp_json_value_t) { MCP_JSON_OBJECT, test_str(text) };
    assert_ok(mcp_catalog_headers_of(&arena, &schema, &headers, &n_headers));
    memset(text, '?', strlen(text));
    free(text);
    assert_int_equal(n_headers, 3);

    return 0;
}


static int
done(void **state)
{
    mcp_arena_destroy(&arena);
    assert_int_equal(tm.live, 0);

    return 0;
}


/* Writes the headers of arguments, as "name: value" with ";" between them.
 * Returns the value of mcp_tool_params_write(). */
static int
headers_of(const char *arguments, char text[1024])
{
    int                  rc;
    char                *p;
    size_t               i, n;
    const mcp_header_t  *out;
    mcp_json_value_t     value;
    mcp_tool_params_t    params;

    value.raw = test_str(arguments ? arguments : "");
    value.type = arguments ? MCP_JSON_OBJECT : MCP_JSON_NONE;

    mcp_tool_params_read(&params, headers, n_headers, &value);
    rc = mcp_tool_params_write(&params, &arena, &out, &n);

    p = text;
    *p = '\0';

    for (i = 0; i < n && rc != MCP_ERR_LIMIT; i++) {
        p += snprintf(p, 256, "%s%.*s: %.*s", i ? ";" : "",
                      (int) out[i].name.len, out[i].name.data,
                      (int) out[i].value.len,
                      out[i].value.data ? out[i].value.data : "");
    }

    return rc;
}


static const struct {
    const char  *arguments;
    const char  *headers;
} cases[] = {
    { NULL, "" },
    { "{}", "" },
    { "{\"region\":null,\"x\":1,\"o\":null}", "" },
    { "{\"region\":\"eu\"}", "Mcp-Param-Region: eu" },
    { "{\"region\":\"\"}", "Mcp-Param-Region: " },
    { "{\"region\":\"a\\u0062\"}", "Mcp-Param-Region: ab" },
    { "{\"region\":\"Hello, \xe4\xb8\x96\xe7\x95\x8c\"}",
      "Mcp-Param-Region: =?base64?SGVsbG8sIOS4lueVjA==?=" },
    { "{\"region\":\" padded \"}",
      "Mcp-Param-Region: =?base64?IHBhZGRlZCA=?=" },
    { "{\"region\":\"line1\\nline2\"}",
      "Mcp-Param-Region: =?base64?bGluZTEKbGluZTI=?=" },
    { "{\"region\":\"=?base64?literal?=\"}",
      "Mcp-Param-Region: =?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=" },
    { "{\"region\":[\"eu\"],\"n\":{}}", "" },
    { "{\"n\":\"5\"}", "Mcp-Param-N: 5" },
    { "{\"n\":42,\"o\":{\"b\":false}}", "Mcp-Param-N: 42;Mcp-Param-B: false" },
    { "{\"n\":-7}", "Mcp-Param-N: -7" },
    { "{\"n\":0}", "Mcp-Param-N: 0" },
    { "{\"n\":-0.0}", "Mcp-Param-N: 0" },
    { "{\"n\":42.0}", "Mcp-Param-N: 42" },
    { "{\"n\":0.5e2}", "Mcp-Param-N: 50" },
    { "{\"n\":1E3}", "Mcp-Param-N: 1000" },
    { "{\"n\":-9007199254740991}", "Mcp-Param-N: -9007199254740991" },
    { "{\"n\":9007199254740992}", "Mcp-Param-N: 9007199254740992" },
    { "{\"n\":1e400}", "Mcp-Param-N: 1e400" },
    { "{\"n\":1.5}", "Mcp-Param-N: 1.5" }
};


TEST(arguments_of_a_call_become_encoded_mcp_param_headers)
{
    char    text[1024];
    size_t  i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_ok(headers_of(cases[i].arguments, text));
        assert_string_equal(text, cases[i].headers);
    }
}


TEST(argument_is_ambiguous__the_error_names_the_header_of_the_argument)
{
    char    text[1024];
    size_t  i;

    static const char *const  ambiguous[] = {
        "{\"n\":1,\"region\":\"a\",\"region\":\"b\"}",
        "{\"Region\":\"a\"}"
    };

    for (i = 0; i < sizeof(ambiguous) / sizeof(ambiguous[0]); i++) {
        assert_int_equal(headers_of(ambiguous[i], text), MCP_ERR_SYNTAX);
        assert_string_equal(text, "Mcp-Param-Region: ");
    }

    assert_int_equal(headers_of("{\"o\":[{\"b\":true}]}", text),
                     MCP_ERR_SYNTAX);
    assert_string_equal(text, "Mcp-Param-B: ");
}


TEST(argument_that_is_too_long_for_its_mcp_param_header_is_an_error)
{
    char  *argument, text[1024];

    argument = malloc(MCP_TOOL_PARAMS_SIZE + 64);
    assert_non_null(argument);

    memset(argument, 'a', MCP_TOOL_PARAMS_SIZE + 64);
    memcpy(argument, "{\"region\":\"", 11);

    /* the raw string is as long as allowed, but not with the name */

    memcpy(argument + 10 + MCP_TOOL_PARAMS_SIZE - 1, "\"}", 3);
    assert_int_equal(headers_of(argument, text), MCP_ERR_LIMIT);

    memcpy(argument + 10 + MCP_TOOL_PARAMS_SIZE - 16, "\"}", 3);
    argument[10] = '"';
    assert_ok(headers_of(argument, text));

    memset(argument + 11, 'a', MCP_TOOL_PARAMS_SIZE);
    memcpy(argument + 10 + MCP_TOOL_PARAMS_SIZE, "\"}", 3);
    assert_int_equal(headers_of(argument, text), MCP_ERR_LIMIT);

    free(argument);
}


TEST(input_schema_that_is_nested_too_deeply_is_an_error)
{
    char                         *text, *p;
    size_t                        i, n;
    mcp_json_value_t              schema;
    const mcp_catalog_header_t   *found;

    text = malloc(200 * 32);
    assert_non_null(text);
    p = text;

    for (i = 0; i < 200; i++) {
        p += sprintf(p, "{\"properties\":{\"a\":");
    }

    p += sprintf(p, "{\"type\":\"string\",\"x-mcp-header\":\"A\"}");

    for (i = 0; i < 200; i++) {
        p += sprintf(p, "}}");
    }

    schema = (mcp_json_value_t) { MCP_JSON_OBJECT, test_str(text) };
    assert_int_equal(mcp_catalog_headers_of(&arena, &schema, &found, &n),
                     MCP_ERR_CONFIG);
    free(text);
}


TEST(x_mcp_header_annotation_that_violates_a_rule_is_an_error)
{
    size_t                       n;
    mcp_json_value_t             schema;
    const mcp_catalog_header_t  *found;

    schema = (mcp_json_value_t) { MCP_JSON_OBJECT, mcp_str(
        "{\"properties\":{\"a\":{\"type\":\"number\",\n"
        "\"x-mcp-header\":\"A\"}}}") };
    assert_int_equal(mcp_catalog_headers_of(&arena, &schema, &found, &n),
                     MCP_ERR_CONFIG);
}


/* The protocol distinguishes "-" from "_". In a catalog the two names are an
 * error (mcp_catalog_header_test.c). */
TEST(tool_of_an_mcp_server_has_two_header_names_that_differ_in_a_hyphen__accepted)
{
    size_t                       n;
    mcp_json_value_t             schema;
    const mcp_catalog_header_t  *found;

    schema = (mcp_json_value_t) { MCP_JSON_OBJECT, mcp_str(
        "{\"properties\":{"
        "\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A-B\"},"
        "\"b\":{\"type\":\"string\",\"x-mcp-header\":\"A_B\"}}}") };
    assert_ok(mcp_catalog_headers_of(&arena, &schema, &found, &n));
    assert_int_equal(n, 2);
}


RUN_TESTS(init, done)

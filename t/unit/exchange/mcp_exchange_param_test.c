/* SPDX-License-Identifier: Apache-2.0 */

/* Tests that compare Mcp-Param headers with the arguments of a call
 * (2026-07-28, basic/transports/streamable-http, "Server Behavior for Custom
 * Headers"). */

#include "config/mcp_catalog_header.h"
#include "core_cases.h"
#include "exchange/mcp_stateless.h"


static const char  tools[] =
    "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\","
    "\"properties\":{\"region\":{\"type\":\"string\","
    "\"x-mcp-header\":\"Region\"},\"limit\":{\"type\":\"integer\","
    "\"x-mcp-header\":\"Limit\"},\"dry\":{\"type\":\"boolean\","
    "\"x-mcp-header\":\"Dry-Run\"},\"o\":{\"type\":\"object\",\"properties\":{"
    "\"deep\":{\"type\":\"boolean\",\"x-mcp-header\":\"Deep\"}}}}}},"
    "{\"name\":\"u\",\"inputSchema\":{\"type\":\"object\"}}]}";


typedef struct {
    const char  *headers[10];          /* names and values in turn */
    const char  *arguments;            /* NULL: the call has none */
    const char  *detail;               /* detail of the error; NULL: headers
                                          and arguments agree */
} param_case_t;


static const param_case_t  cases[] = {

    /* the table of the specification */

    { { "Mcp-Param-Region", "eu" }, "{\"region\":\"eu\"}", NULL },
    { { NULL }, "{\"region\":null}", NULL },
    { { NULL }, "{}", NULL },
    { { NULL }, NULL, NULL },
    { { NULL }, "{\"region\":\"eu\"}", "Mcp-Param-Region" },
    { { "Mcp-Param-Region", "us" }, "{\"region\":\"eu\"}",
      "Mcp-Param-Region" },

    /* names are case-insensitive, values are not */

    { { "MCP-PARAM-REGION", "eu" }, "{\"region\":\"eu\"}", NULL },
    { { "mcp-param-region", "eu" }, "{\"region\":\"eu\"}", NULL },
    { { "Mcp-Param-Region", "EU" }, "{\"region\":\"eu\"}",
      "Mcp-Param-Region" },
    { { "Mcp-Param-Region", " eu\t" }, "{\"region\":\"eu\"}", NULL },
    { { "Mcp-Param-Region", "" }, "{\"region\":\"\"}", NULL },
    { { "Mcp-Param-Region", "=?base64?\?=" }, "{\"region\":\"\"}", NULL },
    { { "Mcp-Param-Region", "=?base64?ZXU=?=" }, "{\"region\":\"eu\"}", NULL },
    { { "Mcp-Param-Region", "=?base64?ZXU?=" }, "{\"region\":\"eu\"}",
      "Mcp-Param-Region" },
    { { "Mcp-Param-Region", "=?base64?ZXU=" },
      "{\"region\":\"=?base64?ZXU=\"}", NULL },
    { { "Mcp-Param-Region", "e\xc3\xbc" }, "{\"region\":\"e\xc3\xbc\"}",
      "Mcp-Param-Region" },

    /* a header without an argument, or an argument of a wrong type */

    { { "Mcp-Param-Region", "eu" }, "{\"region\":null}", "Mcp-Param-Region" },
    { { "Mcp-Param-Region", "null" }, "{\"region\":null}",
      "Mcp-Param-Region" },
    { { "Mcp-Param-Region", "eu" }, "{}", "Mcp-Param-Region" },
    { { "Mcp-Param-Region", "" }, "{}", "Mcp-Param-Region" },
    { { "Mcp-Param-Region", "eu" }, NULL, "Mcp-Param-Region" },
    { { NULL }, "{\"region\":[\"eu\"]}", "Mcp-Param-Region" },
    { { "Mcp-Param-Region", "eu" }, "{\"region\":[\"eu\"]}",
      "Mcp-Param-Region" },
    { { NULL }, "{\"region\":{\"0\":\"eu\"}}", "Mcp-Param-Region" },
    { { "Mcp-Param-Region", "[object Object]" }, "{\"region\":{}}",
      "Mcp-Param-Region" },

    /* several lines with one name must have the same value */

    { { "Mcp-Param-Region", "eu", "mcp-param-region", "=?base64?ZXU=?=" },
      "{\"region\":\"eu\"}", NULL },
    { { "Mcp-Param-Region", "eu", "mcp-param-region", "us" },
      "{\"region\":\"eu\"}", "Mcp-Param-Region" },
    { { "Mcp-Param-Region", "us", "mcp-param-region", "eu" },
      "{\"region\":\"eu\"}", "Mcp-Param-Region" },

    /* a name with "_" for "-", which has the same variable: the value must be
     * the same, and the argument needs the declared name */

    { { "Mcp-Param-Dry-Run", "true", "Mcp-Param-Dry_Run", "true" },
      "{\"dry\":true}", NULL },
    { { "Mcp-Param-Dry-Run", "true", "Mcp-Param-Dry_Run", "false" },
      "{\"dry\":true}", "Mcp-Param-Dry-Run" },
    { { "mcp-param-dry_run", "false", "Mcp-Param-Dry-Run", "true" },
      "{\"dry\":true}", "Mcp-Param-Dry-Run" },
    { { "Mcp-Param-Dry_Run", "true" }, "{\"dry\":true}",
      "Mcp-Param-Dry-Run" },
    { { "Mcp-Param-Dry_Run", "true" }, "{}", "Mcp-Param-Dry-Run" },
    { { "Mcp-Param-Dry_Run", "true" }, "{\"dry\":null}",
      "Mcp-Param-Dry-Run" },
    { { "Mcp_Param-Dry-Run", "true", "Mcp-Param-Dry.Run", "true" }, "{}",
      NULL },

    /* names that the tool does not declare */

    { { "Mcp-Param-Other", "\x01", "Mcp-Param-", "x", "Mcp-ParamRegion", "x",
        "Mcp-Param-Region-", "x" }, "{}", NULL },
    { { "Mcp-Param-Region", "eu", "Region", "x", "X-Mcp-Param-Region", "x" },
      "{\"region\":\"eu\"}", NULL },

    /* numbers, and types that the schema does not allow */

    { { "Mcp-Param-Limit", "42.0" }, "{\"limit\":42}", NULL },
    { { "Mcp-Param-Limit", "42" }, "{\"limit\":4.2e1}", NULL },
    { { "Mcp-Param-Limit", "=?base64?NDI=?=" }, "{\"limit\":42}", NULL },
    { { "Mcp-Param-Limit", "0x2a" }, "{\"limit\":42}", "Mcp-Param-Limit" },
    { { "Mcp-Param-Limit", "43" }, "{\"limit\":42}", "Mcp-Param-Limit" },
    { { NULL }, "{\"limit\":0}", "Mcp-Param-Limit" },
    { { "Mcp-Param-Limit", "9007199254740992" },
      "{\"limit\":9007199254740992}", "Mcp-Param-Limit" },
    { { "Mcp-Param-Limit", "5" }, "{\"limit\":\"5\"}", "Mcp-Param-Limit" },
    { { "Mcp-Param-Limit", "5.5" }, "{\"limit\":5.5}", "Mcp-Param-Limit" },
    { { "Mcp-Param-Limit", "0" }, "{\"limit\":0.0}", NULL },
    { { "Mcp-Param-Limit", "50" }, "{\"limit\":0.5e2}", NULL },
    { { "Mcp-Param-Limit", "true" }, "{\"limit\":true}", "Mcp-Param-Limit" },
    { { "Mcp-Param-Region", "true" }, "{\"region\":true}",
      "Mcp-Param-Region" },
    { { "Mcp-Param-Region", "7" }, "{\"region\":7}", "Mcp-Param-Region" },

    /* members of nested objects */

    { { "Mcp-Param-Deep", "false" }, "{\"o\":{\"deep\":false}}", NULL },
    { { "Mcp-Param-Deep", "true" }, "{\"o\":{\"deep\":false}}",
      "Mcp-Param-Deep" },
    { { NULL }, "{\"o\":{\"deep\":false}}", "Mcp-Param-Deep" },
    { { NULL }, "{\"o\":{}}", NULL },
    { { NULL }, "{\"o\":null}", NULL },
    { { NULL }, "{\"o\":\"deep\"}", NULL },
    { { NULL }, "{\"deep\":false}", NULL },
    { { NULL }, "{\"o\":[{\"deep\":false}]}", "Mcp-Param-Deep" },
    { { NULL }, "{\"o\":{\"deep\":\"true\"}}", "Mcp-Param-Deep" },

    /* an argument that occurs twice: an error, because a backend may use the
     * other value */

    { { "Mcp-Param-Region", "eu" }, "{\"region\":\"eu\",\"region\":\"us\"}",
      "Mcp-Param-Region" },
    { { "Mcp-Param-Region", "us" }, "{\"region\":\"eu\",\"region\":\"us\"}",
      "Mcp-Param-Region" },
    { { "Mcp-Param-Region", "eu" },
      "{\"region\":\"eu\",\"r\\u0065gion\":\"us\"}", "Mcp-Param-Region" },
    { { "Mcp-Param-Deep", "true" },
      "{\"o\":{\"deep\":true},\"o\":{\"deep\":false}}", "Mcp-Param-Deep" },
    { { NULL }, "{\"x\":1,\"x\":2}", NULL },

    /* argument names that differ from a declared one only by case: an error,
     * because a parser may ignore case */

    { { "Mcp-Param-Region", "eu" }, "{\"region\":\"eu\",\"Region\":\"us\"}",
      "Mcp-Param-Region" },
    { { NULL }, "{\"REGION\":\"us\"}", "Mcp-Param-Region" },
    { { NULL }, "{\"region\\u0000\":\"us\"}", "Mcp-Param-Region" },
    { { NULL }, "{\"reg\\u0131on\":\"us\"}", "Mcp-Param-Region" },
    { { "Mcp-Param-Deep", "true" },
      "{\"o\":{\"deep\":true},\"O\":{\"deep\":false}}", "Mcp-Param-Deep" },
    { { NULL }, "{\"regions\":\"us\",\"egion\":1,\"\\ud800\":2}", NULL }
};


static int
check(const char *tool, mcp_header_t *headers, size_t n,
    const char *arguments, mcp_str_t *detail)
{
    int               rc;
    mcp_head_t        head;
    mcp_json_value_t  value;

    memset(&head, 0, sizeof(mcp_head_t));
    head.headers = headers;
    head.n_headers = n;

    memset(&value, 0, sizeof(mcp_json_value_t));

    if (arguments) {
        value.type = MCP_JSON_OBJECT;
        value.raw = test_str(arguments);
    }

    rc = mcp_exchange_param_read(a.x, &head);

    return rc == MCP_OK ? mcp_exchange_param_check(a.x, test_str(tool), &value,
                                                   detail)
                        : rc;
}


TEST(mcp_param_headers_are_accepted_only_if_they_equal_the_arguments)
{
    int           rc;
    size_t        i, n;
    mcp_str_t     detail;
    mcp_header_t  headers[5];

    use_catalog(tools);

    for (i = 0; i < ITEMS(cases); i++) {
        for (n = 0; n < 5 && cases[i].headers[2 * n]; n++) {
            headers[n].name = test_str(cases[i].headers[2 * n]);
            headers[n].value = test_str(cases[i].headers[2 * n + 1]);
        }

        a.x = mcp_exchange_create(d.process[0].worker, &d.endpoint, &a);

        rc = check("t", headers, n, cases[i].arguments, &detail);

        if (rc != (cases[i].detail ? MCP_ERR_SYNTAX : MCP_OK)) {
            fail_msg("case %zu: %s", i, cases[i].arguments);
        }

        if (cases[i].detail) {
            assert_str_is(detail, cases[i].detail);
        }

        client_close(&d, &a);

        /* a tool without declared headers, and an unknown tool: no check */

        a.x = mcp_exchange_create(d.process[0].worker, &d.endpoint, &a);
        assert_ok(check("u", headers, n, cases[i].arguments, &detail));
        assert_ok(mcp_exchange_param_check(
                      a.x, mcp_str("v"),
                      &(mcp_json_value_t) { 0 }, &detail));
        client_close(&d, &a);
    }

    /* no catalog: the schemas are unknown, so there is no check */

    d.endpoint.catalog = NULL;
    a.x = mcp_exchange_create(d.process[0].worker, &d.endpoint, &a);
    assert_ok(check("t", NULL, 0, "{\"region\":\"eu\"}", &detail));
}


TEST(tool_call_has_too_many_or_too_long_mcp_param_headers__it_is_rejected)
{
    char          *big;
    size_t         i, size;
    mcp_str_t      detail;
    mcp_header_t   headers[MCP_CATALOG_HEADERS_MAX + 1];

    use_catalog(tools);

    for (i = 0; i < ITEMS(headers); i++) {
        headers[i].name = mcp_str("Mcp-Param-X");
        headers[i].value = mcp_str("y");
    }

    headers[3].name = mcp_str("Mcp-Param-Region");

    a.x = mcp_exchange_create(d.process[0].worker, &d.endpoint, &a);
    assert_ok(check("t", headers, MCP_CATALOG_HEADERS_MAX,
                    "{\"region\":\"y\"}", &detail));
    client_close(&d, &a);

    a.x = mcp_exchange_create(d.process[0].worker, &d.endpoint, &a);
    assert_int_equal(check("t", headers, MCP_CATALOG_HEADERS_MAX + 1,
                           "{\"region\":\"y\"}", &detail), MCP_ERR_SYNTAX);
    assert_str_is(detail, "too many Mcp-Param headers");
    assert_ok(mcp_exchange_param_check(
                  a.x, mcp_str("u"), &(mcp_json_value_t) { 0 }, &detail));
    client_close(&d, &a);

    size = MCP_TOOL_PARAMS_SIZE - sizeof("Mcp-Param-X") + 1;
    big = malloc(size + 1);
    assert_non_null(big);
    memset(big, 'a', size + 1);

    for (i = 0; i < 2; i++) {
        headers[0].value = (mcp_str_t) { big, size + i };

        a.x = mcp_exchange_create(d.process[0].worker, &d.endpoint, &a);
        assert_int_equal(check("t", headers, 1, NULL, &detail),
                         i == 0 ? MCP_OK : MCP_ERR_SYNTAX);
        client_close(&d, &a);
    }

    free(big);
}


TEST(memory_runs_out__the_check_of_mcp_param_headers_returns_a_memory_error)
{
    int            rc;
    mcp_str_t      detail;
    mcp_header_t   headers[2];
    unsigned long  i;

    use_catalog(tools);

    headers[0].name = mcp_str("Mcp-Param-Region");
    headers[0].value = mcp_str("=?base64?ZXU=?=");
    headers[1].name = mcp_str("Mcp-Param-Limit");
    headers[1].value = mcp_str("=?base64?ZXU=?=");

    for (i = 1; ; i++) {
        a.x = mcp_exchange_create(d.process[0].worker, &d.endpoint, &a);
        d.te.tm.fail_at = i;

        rc = check("t", headers, 2, "{\"region\":\"eu\",\"limit\":1}",
                   &detail);

        d.te.tm.fail_at = 0;
        client_close(&d, &a);

        if (rc == MCP_ERR_SYNTAX) {
            break;
        }

        assert_int_equal(rc, MCP_ERR_MEMORY);
    }

    assert_true(i > 1);
    assert_str_is(detail, "Mcp-Param-Limit");
}


#define META                                                                  \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","  \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"


static void
call_with(const char *version, const char *region, int status,
    const char *part)
{
    client_init(&a, NULL);
    client_header(&a, "Mcp-Param-Region", region);
    client_header(&a, "MCP-Protocol-Version", version);
    client_header(&a, "Mcp-Method", "tools/call");
    client_header(&a, "Mcp-Name", "t");
    client_send(&d, 0, &a, "POST",
                REQUEST("5", "tools/call", "{\"name\":\"t\",\"arguments\":{"
                        "\"region\":\"eu\"}," META "}"));

    assert_int_equal(a.status, status);

    if (part) {
        has(a.text, part);
    }

    client_close(&d, &a);
}


/* A call whose headers disagree with its arguments does not reach a backend.
 * In a session the headers are not checked. */
TEST(mcp_param_header_is_wrong__the_call_gets_400_except_in_a_session)
{
    use_catalog(tools);

    call_with("2026-07-28", "us", 400, "\"id\":5,\"error\":{\"code\":-32020");
    has(a.text, "Mcp-Param-Region");
    assert_int_equal(d.n_breqs, 0);

    /* MCP-Protocol-Version has tabs around the version: the headers are
     * checked nevertheless */

    call_with("\t2026-07-28\t", "us", 400, "Mcp-Param-Region");

    client_init(&a, session);
    client_header(&a, "Mcp-Param-Region", "us");
    client_send(&d, 0, &a, "POST",
                REQUEST("5", "tools/call", "{\"name\":\"t\",\"arguments\":{"
                        "\"region\":\"eu\"}}"));
    assert_int_equal(d.n_breqs, 1);
    backend_reply(&d, d.breqs[0], RESULT);
    assert_int_equal(a.status, 200);
}


RUN_TESTS(setup, teardown)

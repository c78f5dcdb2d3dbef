/* SPDX-License-Identifier: Apache-2.0 */

/* The table of faults is complete, and each fault is written as a JSON-RPC
 * error response. */


#include "memory_cases.h"
#include "rpc/mcp_fault.h"
#include "rpc/mcp_rpc.h"


static const struct {
    mcp_fault_e  fault;
    int          status;
    int          code;
    int          stateless_status;
    int          stateless_code;
} faults[] = {
    { MCP_FAULT_METHOD_NOT_ALLOWED, 405, -32000, 405, -32600 },
    { MCP_FAULT_NOT_ACCEPTABLE, 406, -32000, 406, -32600 },
    { MCP_FAULT_MEDIA_TYPE, 415, -32000, 415, -32600 },
    { MCP_FAULT_BODY_TOO_LARGE, 413, -32000, 413, -32600 },
    { MCP_FAULT_ORIGIN, 403, -32000, 403, -32600 },
    { MCP_FAULT_REVISION, 400, -32000, 400, -32600 },
    { MCP_FAULT_SESSION_ABSENT, 400, -32000, 400, -32600 },
    { MCP_FAULT_SESSION_UNKNOWN, 404, -32001, 404, -32600 },
    { MCP_FAULT_EVENT_ID_MALFORMED, 400, -32000, 400, -32600 },
    { MCP_FAULT_EVENT_ID_UNKNOWN, 404, -32000, 404, -32600 },
    { MCP_FAULT_EVENT_PURGED, 404, -32000, 404, -32600 },
    { MCP_FAULT_LINK, 404, -32000, 404, -32600 },
    { MCP_FAULT_LINK_INPUT, 400, -32600, 400, -32600 },
    { MCP_FAULT_LINK_ANSWERS, 400, -32600, 400, -32600 },
    { MCP_FAULT_STORE_FULL, 503, -32000, 503, -32603 },
    { MCP_FAULT_CLUSTER_UNREACHABLE, 503, -32000, 503, -32603 },
    { MCP_FAULT_UPSTREAM_DOWN, 503, -32000, 503, -32603 },
    { MCP_FAULT_TOO_MANY_STREAMS, 429, -32000, 429, -32603 },
    { MCP_FAULT_TOO_MANY_VALUES, 429, -32000, 429, -32603 },
    { MCP_FAULT_FORBIDDEN, 403, -32000, 403, -32600 },
    { MCP_FAULT_SCOPE, 403, -32000, 403, -32600 },
    { MCP_FAULT_CALL_UNKNOWN, 404, -32004, 404, -32600 },
    { MCP_FAULT_CALL_EARLY, 503, -32000, 503, -32603 },
    { MCP_FAULT_BAD_REQUEST, 400, -32000, 400, -32600 },
    { MCP_FAULT_HEADER, 400, -32020, 400, -32020 },
    { MCP_FAULT_CAPABILITY, 400, -32021, 400, -32021 },
    { MCP_FAULT_VERSION, 400, -32022, 400, -32022 },
    { MCP_FAULT_ENVELOPE, 400, -32602, 400, -32602 },
    { MCP_FAULT_ERA, 400, -32600, 400, -32600 },
    { MCP_FAULT_PARSE, 400, -32700, 400, -32700 },
    { MCP_FAULT_TOO_DEEP, 400, -32700, 400, -32700 },
    { MCP_FAULT_INVALID_REQUEST, 400, -32600, 400, -32600 },
    { MCP_FAULT_BATCH, 400, -32600, 400, -32600 },
    { MCP_FAULT_BATCH_SIZE, 400, -32600, 400, -32600 },
    { MCP_FAULT_ID, 400, -32600, 400, -32600 },
    { MCP_FAULT_METHOD_UNKNOWN, 200, -32601, 404, -32601 },
    { MCP_FAULT_PARAMS, 200, -32602, 200, -32602 },
    { MCP_FAULT_TOOL_UNKNOWN, 200, -32602, 200, -32602 },
    { MCP_FAULT_PROMPT_UNKNOWN, 200, -32602, 200, -32602 },
    { MCP_FAULT_RESOURCE_UNKNOWN, 200, -32002, 200, -32602 },
    { MCP_FAULT_CURSOR, 200, -32602, 200, -32602 },
    { MCP_FAULT_LOG_LEVEL, 200, -32602, 200, -32602 },
    { MCP_FAULT_REQUEST_STATE, 200, -32602, 200, -32602 },
    { MCP_FAULT_RESUME_TOKEN, 200, -32602, 200, -32602 },
    { MCP_FAULT_RESUME_PURGED, 200, -32602, 200, -32602 },
    { MCP_FAULT_RESUME_BATCH, 200, -32600, 200, -32600 },
    { MCP_FAULT_TASK, 200, -32602, 200, -32602 },
    { MCP_FAULT_BACKEND_FAILED, 200, -32603, 200, -32603 },
    { MCP_FAULT_BACKEND_TIMEOUT, 200, -32603, 200, -32603 },
    { MCP_FAULT_BACKEND_OUTPUT, 200, -32603, 200, -32603 },
    { MCP_FAULT_BACKEND_TOO_LARGE, 200, -32603, 200, -32603 },
    { MCP_FAULT_NO_BACKEND, 200, -32603, 200, -32603 },
    { MCP_FAULT_UPSTREAM_STATUS, 200, -32603, 200, -32603 },
    { MCP_FAULT_UPSTREAM_AUTH, 200, -32603, 200, -32603 },
    { MCP_FAULT_UPSTREAM_HOST, 200, -32603, 200, -32603 },
    { MCP_FAULT_UPSTREAM_VERSION, 200, -32603, 200, -32603 },
    { MCP_FAULT_UPSTREAM_SESSION, 200, -32603, 200, -32603 },
    { MCP_FAULT_CALL_FULL, 200, -32603, 200, -32603 },
    { MCP_FAULT_CALL_LIMIT, 200, -32603, 200, -32603 },
    { MCP_FAULT_OWNER_DIED, 200, -32603, 200, -32603 },
    { MCP_FAULT_JOINED, 200, -32603, 200, -32603 },
    { MCP_FAULT_INTERNAL, 500, -32603, 500, -32603 },
};


TEST(each_fault_has_the_specified_http_status_and_json_rpc_code_per_revision)
{
    size_t              i;
    const mcp_fault_t  *f;

    assert_int_equal(sizeof(faults) / sizeof(faults[0]), MCP_FAULT_COUNT - 1);

    for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        f = mcp_fault(faults[i].fault);
        assert_int_equal(f->session.status, faults[i].status);
        assert_int_equal(f->session.code, faults[i].code);
        assert_int_equal(f->stateless.status, faults[i].stateless_status);
        assert_int_equal(f->stateless.code, faults[i].stateless_code);
        assert_ptr_equal(mcp_fault_code(faults[i].fault,
                                        MCP_REVISION_2025_11_25),
                         &f->session);
        assert_ptr_equal(mcp_fault_code(faults[i].fault, MCP_REVISION_NONE),
                         &f->session);
        assert_ptr_equal(mcp_fault_code(faults[i].fault,
                                        MCP_REVISION_2026_07_28),
                         &f->stateless);
        assert_true(strlen(f->message) > 0);

        /* messages contain no character that JSON has to escape */
        assert_null(strpbrk(f->message, "\"\\\n"));
    }

    assert_non_null(mcp_fault(MCP_FAULT_NONE));
    assert_ptr_equal(mcp_fault(MCP_FAULT_COUNT), mcp_fault(MCP_FAULT_INTERNAL));
    assert_ptr_equal(mcp_fault((mcp_fault_e) -1),
                     mcp_fault(MCP_FAULT_INTERNAL));
}


static const struct {
    const char   *id;
    mcp_fault_e   fault;
    const char   *detail;
    const char   *data;
    const char   *text;
} writes[] = {
    { "", MCP_FAULT_SESSION_UNKNOWN, "", "",
      "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32001,"
      "\"message\":\"Session not found\"}}" },
    { "17", MCP_FAULT_TOOL_UNKNOWN, "a\"b", "",
      "{\"jsonrpc\":\"2.0\",\"id\":17,\"error\":{\"code\":-32602,"
      "\"message\":\"Unknown tool: a\\\"b\"}}" },
    { "\"x\"", MCP_FAULT_RESOURCE_UNKNOWN, "", "{\"uri\":\"file:///a\"}",
      "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-32002,"
      "\"message\":\"Resource not found\","
      "\"data\":{\"uri\":\"file:///a\"}}}" },
};


TEST(fault_is_written_as_a_json_rpc_error_response)
{
    size_t     i;
    mcp_buf_t  buf;

    for (i = 0; i < sizeof(writes) / sizeof(writes[0]); i++) {
        mcp_buf_init(&buf, &tm.mem, 1000);
        mcp_fault_write(&buf, MCP_REVISION_NONE, test_str(writes[i].id),
                        writes[i].fault,
                        test_str(writes[i].detail), test_str(writes[i].data));

        assert_ok(buf.failed);
        assert_str_is(mcp_buf_text(&buf), writes[i].text);

        mcp_buf_free(&buf);
    }

    /* the buffer is too small: MCP_ERR_LIMIT */

    mcp_buf_init(&buf, &tm.mem, 60);
    mcp_fault_write(&buf, MCP_REVISION_NONE, mcp_str("1"), MCP_FAULT_PARSE,
                    mcp_null_str, mcp_null_str);
    assert_int_equal(buf.failed, MCP_ERR_LIMIT);
    mcp_buf_free(&buf);
}


/* The error for a rejected resumption has the id of the call, and so does an
 * error of the call itself: only error.data distinguishes them. */
TEST(error_of_a_rejected_resumption_has_member_resume_in_its_data)
{
    size_t     i;
    mcp_buf_t  buf;

    static const struct {
        mcp_fault_e  fault;
        const char  *text;
    } cases[] = {
        { MCP_FAULT_RESUME_TOKEN,
          "{\"code\":-32602,\"message\":\"Unknown or expired resume token\"," },
        { MCP_FAULT_RESUME_PURGED,
          "{\"code\":-32602,\"message\":\"Events no longer available\"," },
        { MCP_FAULT_RESUME_BATCH,
          "{\"code\":-32600,\"message\":\"Invalid Request: a method that opens a stream is not allowed in a batch\"," }
    };

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char  expected[256];

        mcp_buf_init(&buf, &tm.mem, 1000);
        mcp_fault_write(&buf, MCP_REVISION_NONE, mcp_str("7"), cases[i].fault,
                        mcp_null_str, mcp_null_str);
        snprintf(expected, sizeof(expected), "{\"jsonrpc\":\"2.0\",\"id\":7,"
                 "\"error\":%s\"data\":{\"resume\":\"refused\"}}}",
                 cases[i].text);
        assert_str_is(mcp_buf_text(&buf), expected);
        mcp_buf_free(&buf);
    }
}


TEST(fault_is_written_and_parsed__it_is_an_error_response_with_the_requests_id)
{
    int          fault;
    mcp_buf_t    buf;
    mcp_rpc_t    msg;
    mcp_arena_t  arena;

    mcp_arena_init(&arena, &tm.mem);

    for (fault = MCP_FAULT_NONE + 1; fault < MCP_FAULT_COUNT; fault++) {
        mcp_buf_init(&buf, &tm.mem, 1000);
        mcp_fault_write(&buf, MCP_REVISION_NONE, mcp_str("-0"),
                        (mcp_fault_e) fault,
                        mcp_str("\n\"\\\x01"), mcp_str("[1]"));

        assert_ok(mcp_rpc_parse(&arena, mcp_buf_text(&buf), 8,
                                MCP_RPC_FROM_CLIENT, &msg));
        assert_int_equal(msg.kind, MCP_RPC_ERROR);
        assert_str_is(msg.id, "-0");

        mcp_arena_reset(&arena);
        mcp_buf_free(&buf);
    }

    mcp_arena_destroy(&arena);
}


#define SESSION    MCP_REVISION_2025_11_25
#define STATELESS  MCP_REVISION_2026_07_28


static const struct {
    mcp_revision_e  revision;
    const char     *error;
    const char     *uri;
    int             code;
    const char     *written;   /* NULL: unchanged */
} backend_errors[] = {
    { SESSION, "{\"code\":-32002, \"message\":\"m\"}", "a:b", -32002, NULL },
    { SESSION, "{\"code\":-32042,\"message\":\"m\"}", "", -32042, NULL },
    { SESSION, "{\"code\":-32000,\"message\":\"m\"}", "", -32000, NULL },

    { STATELESS, "{ \"message\":\"m\" ,\"code\":7}", "", 7, NULL },
    { STATELESS, "{\"code\":-32602,\"message\":\"m\"}", "a:b", -32602, NULL },
    { STATELESS, "{\"code\":-31999,\"message\":\"m\"}", "", -31999, NULL },
    { STATELESS, "{\"code\":-32100,\"message\":\"m\"}", "", -32100, NULL },
    { STATELESS, "{\"code\":-32021,\"message\":\"m\"}", "", -32021, NULL },

    { STATELESS, "{\"code\":-32000,\"message\":\"m\"}", "", -32603,
      "{\"code\":-32603,\"message\":\"m\"}" },
    { STATELESS, "{\"message\":\"m\",\"data\":[ 1 ],\"c\\u006fde\":-32019}",
      "a:b", -32603, "{\"code\":-32603,\"message\":\"m\",\"data\":[ 1 ]}" },
    { STATELESS, "{\"code\":-32020,\"message\":\"m\"}", "", -32603,
      "{\"code\":-32603,\"message\":\"m\"}" },
    { STATELESS, "{\"code\":-32022,\"message\":\"m\"}", "", -32603,
      "{\"code\":-32603,\"message\":\"m\"}" },
    { STATELESS, "{\"code\":-32042,\"message\":\"m\"}", "", -32603,
      "{\"code\":-32603,\"message\":\"m\"}" },
    { STATELESS, "{\"code\":-32099,\"message\":\"m\"}", "", -32603,
      "{\"code\":-32603,\"message\":\"m\"}" },

    /* an unknown resource: the error contains its URI */
    { STATELESS, "{\"code\":-32002,\"message\":\"m\"}", "a:\"", -32602,
      "{\"code\":-32602,\"message\":\"m\",\"data\":{\"uri\":\"a:\\\"\"}}" },
    { STATELESS, "{\"code\":-32002,\"message\":\"m\",\"data\":1}", "a:b",
      -32602, "{\"code\":-32602,\"message\":\"m\",\"data\":1}" },
    { STATELESS, "{\"code\":-32002,\"message\":\"m\"}", "", -32602,
      "{\"code\":-32602,\"message\":\"m\"}" },

    /* an error code beyond 64 bits: sent unchanged, and the function
     * returns 0 */
    { STATELESS, "{\"code\":-99999999999999999999,\"message\":\"m\"}", "", 0,
      NULL },
};


TEST(error_code_of_a_backend_is_replaced_if_the_revision_forbids_it)
{
    char       text[512];
    size_t     i;
    int64_t    code;
    mcp_buf_t  out;

    for (i = 0; i < sizeof(backend_errors) / sizeof(backend_errors[0]); i++) {
        mcp_buf_init(&out, &tm.mem, 1000);

        code = mcp_error_write(&out, backend_errors[i].revision, mcp_str("\"i\""),
                               test_str(backend_errors[i].error),
                               test_str(backend_errors[i].uri));

        assert_int_equal(code, backend_errors[i].code);
        snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":\"i\","
                 "\"error\":%s}", backend_errors[i].written ? backend_errors[i].written
                                                   : backend_errors[i].error);
        assert_str_is(mcp_buf_text(&out), text);
        mcp_buf_free(&out);
    }
}


RUN_TESTS(init, done)

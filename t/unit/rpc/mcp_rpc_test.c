/* SPDX-License-Identifier: Apache-2.0 */

/* Messages: their kind, their faults, the id of the response; batches. */


#include "memory_cases.h"
#include "rpc/mcp_rpc.h"


#define DEPTH  8

#define V  "\"jsonrpc\":\"2.0\","

#define A16   "aaaaaaaaaaaaaaaa"
#define A64   A16 A16 A16 A16
#define A254  A64 A64 A64 A16 A16 A16 "aaaaaaaaaaaaaa"


/* members of an invalid message */
#define INVALID(fault, id)  MCP_RPC_INVALID, MCP_FAULT_##fault, id, ""


static const struct {
    const char      *text;
    mcp_rpc_kind_e   kind;
    mcp_fault_e      fault;
    const char      *id;       /* raw; "": no id */
    const char      *method;
} messages[] = {

    /* valid messages */

    { "{" V "\"id\":1,\"method\":\"ping\"}", MCP_RPC_REQUEST, 0, "1", "ping" },
    { " {\"method\":\"ping\" , \"id\" : \"a\\u0062\",\"jsonrpc\":\"2.0\"}\n",
      MCP_RPC_REQUEST, 0, "\"a\\u0062\"", "ping" },
    { "{" V "\"id\":-0,\"method\":\"tools\\/list\",\"params\":{}}",
      MCP_RPC_REQUEST, 0, "-0", "tools/list" },
    { "{" V "\"id\":123456789012345678901234567890,\"method\":\"x\"}",
      MCP_RPC_REQUEST, 0, "123456789012345678901234567890",
      "x" },
    { "{" V "\"id\":\"\",\"method\":\"x\",\"extra\":[1]}",
      MCP_RPC_REQUEST, 0, "\"\"", "x" },
    { "{" V "\"id\":\"" A254 "\",\"method\":\"x\"}",
      MCP_RPC_REQUEST, 0, "\"" A254 "\"", "x" },
    { "{\"jsonrpc\":\"\\u0032.0\",\"method\":\"n\"}",
      MCP_RPC_NOTIFICATION, 0, "", "n" },
    { "{" V "\"id\":1,\"result\":{}}", MCP_RPC_RESULT, 0, "1", "" },
    { "{" V "\"id\":\"x\",\"error\":{\"code\":1,\"message\":\"m\"}}",
      MCP_RPC_ERROR, 0, "\"x\"", "" },
    { "{" V "\"error\":{\"code\":1,\"message\":\"m\"}}",
      MCP_RPC_ERROR, 0, "", "" },

    /* not JSON */

    { "", INVALID(PARSE, "") },
    { "{" V "\"id\":1,\"method\":\"ping\"", INVALID(PARSE, "") },
    { "{" V "\"id\":1,\"id\":1,\"method\":\"ping\"", INVALID(PARSE, "") },
    { "{" V "\"id\":1,\"method\":\"\xc0\x80\"}", INVALID(PARSE, "") },
    { "{" V "\"id\":1,\"method\":\"x\",\"params\":{\"a\":[[[[[[[1]]]]]]]}}",
      INVALID(TOO_DEEP, "") },

    /* no object */

    { "[]", INVALID(BATCH, "") },
    { " [{" V "\"id\":1,\"method\":\"x\"}]", INVALID(BATCH, "") },
    { "1", INVALID(INVALID_REQUEST, "") },
    { "\"x\"", INVALID(INVALID_REQUEST, "") },
    { "null", INVALID(INVALID_REQUEST, "") },

    /* jsonrpc */

    { "{}", INVALID(INVALID_REQUEST, "") },
    { "{\"id\":1,\"method\":\"x\"}", INVALID(INVALID_REQUEST, "1") },
    { "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"x\"}",
      INVALID(INVALID_REQUEST, "1") },
    { "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"x\"}",
      INVALID(INVALID_REQUEST, "1") },
    { "{\"jsonrpc\":\"2.0 \",\"id\":\"y\",\"method\":\"x\"}",
      INVALID(INVALID_REQUEST, "\"y\"") },

    /* id */

    { "{" V "\"id\":null,\"method\":\"x\"}", INVALID(ID, "") },
    { "{" V "\"id\":1.0,\"method\":\"x\"}", INVALID(ID, "") },
    { "{" V "\"id\":1e3,\"method\":\"x\"}", INVALID(ID, "") },
    { "{" V "\"id\":1E3,\"method\":\"x\"}", INVALID(ID, "") },
    { "{" V "\"id\":true,\"method\":\"x\"}", INVALID(ID, "") },
    { "{" V "\"id\":{},\"method\":\"x\"}", INVALID(ID, "") },
    { "{" V "\"id\":[1],\"method\":\"x\"}", INVALID(ID, "") },
    { "{" V "\"id\":\"" A254 "a\",\"method\":\"x\"}", INVALID(ID, "") },
    { "{" V "\"id\":null,\"result\":{}}", INVALID(ID, "") },

    /* method */

    { "{" V "\"id\":1}", INVALID(INVALID_REQUEST, "1") },
    { "{" V "\"id\":1,\"method\":\"\"}", INVALID(INVALID_REQUEST, "1") },
    { "{" V "\"id\":1,\"method\":7}", INVALID(INVALID_REQUEST, "1") },
    { "{" V "\"id\":1,\"method\":null,\"result\":{}}",
      INVALID(INVALID_REQUEST, "1") },

    /* params */

    { "{" V "\"id\":1,\"method\":\"x\",\"params\":[]}",
      INVALID(INVALID_REQUEST, "1") },
    { "{" V "\"id\":1,\"method\":\"x\",\"params\":null}",
      MCP_RPC_REQUEST, 0, "1", "x" },
    { "{" V "\"method\":\"x\",\"params\":\"y\"}",
      INVALID(INVALID_REQUEST, "") },

    /* more than one of method, result and error */

    { "{" V "\"id\":1,\"method\":\"x\",\"result\":{}}",
      INVALID(INVALID_REQUEST, "1") },
    { "{" V "\"id\":1,\"method\":\"x\",\"error\":null}",
      INVALID(INVALID_REQUEST, "1") },
    { "{" V "\"id\":1,\"result\":{},\"error\":{}}",
      INVALID(INVALID_REQUEST, "1") },
    { "{" V "\"result\":{}}", INVALID(INVALID_REQUEST, "") },

    /* result and error are objects */

    { "{" V "\"id\":1,\"result\":null}", INVALID(INVALID_REQUEST, "1") },
    { "{" V "\"id\":1,\"result\":\"x\"}", INVALID(INVALID_REQUEST, "1") },
    { "{" V "\"id\":1,\"result\":[2]}", INVALID(INVALID_REQUEST, "1") },
    { "{" V "\"id\":1,\"error\":null}", INVALID(INVALID_REQUEST, "1") },
    { "{" V "\"id\":1,\"error\":\"x\"}", INVALID(INVALID_REQUEST, "1") },

    /* duplicate members, with the id that the error response may have */

    { "{" V "\"id\":1,\"method\":\"x\",\"method\":\"x\"}",
      INVALID(INVALID_REQUEST, "1") },
    { "{" V "\"id\":1,\"method\":\"x\",\"id\":1}",
      INVALID(INVALID_REQUEST, "") },
    { "{" V V "\"id\":1,\"method\":\"x\",\"id\":2}",
      INVALID(INVALID_REQUEST, "") },
    { "{" V "\"method\":\"x\",\"params\":{\"name\":\"a\",\"n\\u0061me\":1},"
      "\"id\":5}", INVALID(INVALID_REQUEST, "5") },
    { "{" V "\"id\":5,\"method\":\"x\",\"params\":{\"_meta\":{"
      "\"progressToken\":1,\"progressToken\":2}}}",
      INVALID(INVALID_REQUEST, "5") },
    { "{" V "\"id\":null,\"method\":\"x\",\"method\":\"x\"}",
      INVALID(INVALID_REQUEST, "") },

    /* names that differ from the name of a field only in case */

    { "{" V "\"id\":5,\"method\":\"x\",\"params\":{\"name\":\"a\","
      "\"Name\":\"b\"}}", INVALID(INVALID_REQUEST, "5") },
    { "{" V "\"id\":5,\"method\":\"x\",\"params\":{\"NAME\":\"b\"}}",
      INVALID(INVALID_REQUEST, "5") },
    { "{" V "\"id\":5,\"method\":\"x\",\"param\\u017f\":{}}",
      INVALID(INVALID_REQUEST, "5") },
    { "{" V "\"id\":5,\"method\":\"x\",\"param\xc5\xbf\":{}}",
      INVALID(INVALID_REQUEST, "5") },
    { "{" V "\"id\":5,\"method\":\"x\",\"params\":{\"_meta\":{"
      "\"progressTo\xe2\x84\xaa" "en\":1}}}", INVALID(INVALID_REQUEST, "5") },
    { "{" V "\"id\":5,\"method\":\"x\",\"params\":{\"name\\u0000b\":\"b\","
      "\"name\":\"a\"}}", INVALID(INVALID_REQUEST, "5") },
    { "{" V "\"id\":5,\"ID\":6,\"method\":\"x\"}",
      INVALID(INVALID_REQUEST, "5") },
    { "{" V "\"id\":5,\"method\":\"x\",\"params\":{\"names\":1,\"ame\":2,"
      "\"arguments\":{\"Name\":1,\"name\":2}}}", MCP_RPC_REQUEST, 0, "5", "x" },

    /* duplicates of members that the server does not read are accepted */

    { "{" V "\"id\":1,\"method\":\"x\",\"y\":1,\"y\":2,\"params\":{\"y\":1,"
      "\"y\":2,\"id\":1,\"arguments\":{\"name\":1,\"name\":2}}}",
      MCP_RPC_REQUEST, 0, "1", "x" },
};


TEST(valid_messages_are_read_and_malformed_ones_are_faults)
{
    char        *copy;
    size_t       i, len;
    mcp_rpc_t    msg;
    mcp_arena_t  arena;

    for (i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        mcp_arena_init(&arena, &tm.mem);

        len = strlen(messages[i].text);
        copy = malloc(len ? len : 1);
        memcpy(copy, messages[i].text, len);

        assert_ok(mcp_rpc_parse(&arena, (mcp_str_t) { copy, len },
                                DEPTH, MCP_RPC_FROM_CLIENT, &msg));

        if (msg.kind != messages[i].kind || msg.fault != messages[i].fault) {
            fail_msg("kind %d, fault %d: %s", msg.kind, msg.fault,
                     messages[i].text);
        }

        assert_str_is(msg.id, messages[i].id);
        assert_str_is(msg.method, messages[i].method);

        free(copy);
        mcp_arena_destroy(&arena);
        assert_int_equal(tm.live, 0);
    }
}


TEST(raw_text_of_a_message_has_no_white_space_around_it)
{
    mcp_rpc_t    msg;
    mcp_arena_t  arena;

    mcp_arena_init(&arena, &tm.mem);

    assert_ok(mcp_rpc_parse(&arena,
                            mcp_str("\n {" V "\"method\":\"n\"} \n"),
                            DEPTH, MCP_RPC_FROM_CLIENT, &msg));
    assert_str_is(msg.raw, "{" V "\"method\":\"n\"}");

    assert_int_equal(mcp_rpc_parse(&arena, mcp_str(" {x "), DEPTH, MCP_RPC_FROM_CLIENT, &msg),
                     MCP_OK);
    assert_str_is(msg.raw, " {x ");

    mcp_arena_destroy(&arena);
}


TEST(objects_of_a_message_have_equal_keys__each_field_is_read_from_its_object)
{
    mcp_rpc_t           msg;
    mcp_arena_t         arena;
    static const char   text[] =
        "{" V "\"id\":1,\"method\":\"m\",\"params\":{"
        "\"name\":\"N\",\"uri\":\"U\",\"cursor\":\"C\",\"level\":\"L\","
        "\"requestId\":7,\"reason\":\"R\",\"protocolVersion\":\"P\","
        "\"capabilities\":{\"roots\":{}},\"clientInfo\":{\"name\":\"X\"},"
        "\"arguments\":{\"uri\":\"A\"},"
        "\"ref\":{\"type\":\"T\",\"name\":\"RN\",\"uri\":\"RU\"},"
        "\"_meta\":{\"progressToken\":\"PT\",\"name\":1},"
        "\"progressToken\":9,\"type\":\"no\"}}";

    mcp_arena_init(&arena, &tm.mem);

    assert_ok(mcp_rpc_parse(&arena, mcp_str(text), DEPTH, MCP_RPC_FROM_CLIENT,
                            &msg));
    assert_int_equal(msg.kind, MCP_RPC_REQUEST);

    assert_int_equal(msg.params.type, MCP_JSON_OBJECT);
    assert_str_is(msg.name.raw, "\"N\"");
    assert_str_is(msg.uri.raw, "\"U\"");
    assert_str_is(msg.cursor.raw, "\"C\"");
    assert_str_is(msg.level.raw, "\"L\"");
    assert_str_is(msg.request_id.raw, "7");
    assert_str_is(msg.reason.raw, "\"R\"");
    assert_str_is(msg.protocol_version.raw, "\"P\"");
    assert_str_is(msg.capabilities.raw, "{\"roots\":{}}");
    assert_str_is(msg.client_info.raw, "{\"name\":\"X\"}");
    assert_str_is(msg.arguments.raw, "{\"uri\":\"A\"}");
    assert_str_is(msg.ref.raw,
                  "{\"type\":\"T\",\"name\":\"RN\",\"uri\":\"RU\"}");
    assert_str_is(msg.ref_type.raw, "\"T\"");
    assert_str_is(msg.ref_name.raw, "\"RN\"");
    assert_str_is(msg.ref_uri.raw, "\"RU\"");
    assert_str_is(msg.meta.raw, "{\"progressToken\":\"PT\",\"name\":1}");
    assert_str_is(msg.progress_token.raw, "\"PT\"");
    assert_str_is(msg.notify_token.raw, "9");

    assert_int_equal(msg.result.type, MCP_JSON_NONE);
    assert_int_equal(msg.error.type, MCP_JSON_NONE);

    assert_ok(mcp_rpc_parse(&arena,
                            mcp_str("{" V "\"id\":1,"
                                    "\"result\":{\"a\":2}}"),
                            DEPTH, MCP_RPC_FROM_CLIENT, &msg));
    assert_str_is(msg.result.raw, "{\"a\":2}");
    assert_int_equal(msg.params.type, MCP_JSON_NONE);

    mcp_arena_destroy(&arena);
}


static const struct {
    const char   *text;
    mcp_fault_e   fault;
    size_t        n;
    const char   *last;
} batches[] = {
    { "[{}]", MCP_FAULT_NONE, 1, "{}" },
    { " [ 1 , {\"a\":[2]} ,\"x\" ] ", MCP_FAULT_NONE, 3, "\"x\"" },
    { "[1,2,3,4]", MCP_FAULT_NONE, 4, "4" },
    { "[[],[[[[[[[]]]]]]]]", MCP_FAULT_NONE, 2, "[[[[[[[]]]]]]]" },
    { "[1,2,3,4,5]", MCP_FAULT_BATCH_SIZE, 0, NULL },
    { "[]", MCP_FAULT_INVALID_REQUEST, 0, NULL },
    { "{}", MCP_FAULT_INVALID_REQUEST, 0, NULL },
    { "1", MCP_FAULT_INVALID_REQUEST, 0, NULL },
    { "", MCP_FAULT_PARSE, 0, NULL },
    { "[{}", MCP_FAULT_PARSE, 0, NULL },
    { "[1,2,3,4,5", MCP_FAULT_PARSE, 0, NULL },
    { "[[[[[[[[[[]]]]]]]]]]", MCP_FAULT_TOO_DEEP, 0, NULL },
};


TEST(batches_are_split_into_messages)
{
    size_t       i, n;
    mcp_str_t   *items;
    mcp_arena_t  arena;
    mcp_fault_e  fault;

    mcp_arena_init(&arena, &tm.mem);

    for (i = 0; i < sizeof(batches) / sizeof(batches[0]); i++) {
        assert_ok(mcp_rpc_split(&arena, test_str(batches[i].text), DEPTH, 4,
                                &items, &n, &fault));
        assert_int_equal(fault, batches[i].fault);
        assert_int_equal(n, batches[i].n);

        if (n > 0) {
            assert_str_is(items[n - 1], batches[i].last);
        }
    }

    assert_ok(mcp_rpc_split(&arena, mcp_str("[[[]]]"), UINT32_MAX, 1,
                            &items, &n, &fault));
    assert_int_equal(fault, MCP_FAULT_NONE);

    mcp_arena_destroy(&arena);
}


TEST(text_that_begins_with_a_square_bracket_is_a_batch)
{
    assert_true(mcp_rpc_is_batch(mcp_str("[")));
    assert_true(mcp_rpc_is_batch(mcp_str(" \t\r\n[x")));
    assert_false(mcp_rpc_is_batch(mcp_str("{[")));
    assert_false(mcp_rpc_is_batch(mcp_str("\v[")));
    assert_false(mcp_rpc_is_batch(mcp_str("  ")));
    assert_false(mcp_rpc_is_batch(mcp_null_str));
}


TEST(memory_runs_out__a_message_or_a_batch_is_not_read)
{
    int          rc;
    size_t       i, k, n;
    mcp_rpc_t    msg;
    mcp_str_t   *items;
    mcp_arena_t  arena;
    mcp_fault_e  fault;

    for (i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        for (k = 1; /* void */ ; k++) {
            test_mem_init(&tm);
            tm.fail_at = k;
            mcp_arena_init(&arena, &tm.mem);

            rc = mcp_rpc_parse(&arena, test_str(messages[i].text), DEPTH, MCP_RPC_FROM_CLIENT,
                               &msg);
            assert_int_equal(rc, tm.failed ? MCP_ERR_MEMORY : MCP_OK);

            mcp_arena_destroy(&arena);
            assert_int_equal(tm.live, 0);

            if (tm.failed == 0) {
                break;
            }
        }
    }

    /* fill the arena before each step, so that the step has to allocate
     * memory */

    for (k = 1; /* void */ ; k++) {
        test_mem_init(&tm);
        mcp_arena_init(&arena, &tm.mem);
        assert_non_null(mcp_arena_alloc(&arena, 4072));
        tm.fail_at = k;

        rc = mcp_rpc_parse(&arena,
                           mcp_str("{" V "\"method\":\"a\\/bcdefghi\"}"),
                           DEPTH, MCP_RPC_FROM_CLIENT, &msg);

        if (rc == MCP_OK) {
            assert_non_null(mcp_arena_alloc(&arena, 4064));
            rc = mcp_rpc_split(&arena, mcp_str("[1,2]"), DEPTH, 4, &items, &n,
                               &fault);
        }

        assert_int_equal(rc, tm.failed ? MCP_ERR_MEMORY : MCP_OK);

        mcp_arena_destroy(&arena);
        assert_int_equal(tm.live, 0);

        if (tm.failed == 0) {
            break;
        }
    }

    assert_true(k > 2);
}


/* A message copied to the arena is read like the original. */
TEST(memory_runs_out_once__a_message_is_read_only_at_the_second_attempt)
{
    mcp_arena_t       arena;
    const mcp_rpc_t  *msg;

    mcp_arena_init(&arena, &tm.mem);

    msg = &mcp_rpc_none;
    assert_int_equal(msg->kind, MCP_RPC_INVALID);
    assert_int_equal(msg->id.len + msg->method.len, 0);

    tm.fail_at = 1;
    assert_int_equal(mcp_rpc_read(&arena, mcp_str("{" V "\"method\":\"a\"}"),
                                  DEPTH, &msg),
                     MCP_ERR_MEMORY);
    assert_ptr_equal(msg, &mcp_rpc_none);

    assert_ok(mcp_rpc_read(&arena, mcp_str("{" V "\"method\":\"a\"}"),
                           DEPTH, &msg));
    assert_int_equal(msg->kind, MCP_RPC_NOTIFICATION);
    assert_true(mcp_str_eq(msg->method, mcp_str("a")));

    mcp_arena_destroy(&arena);
}


RUN_TESTS(init, done)

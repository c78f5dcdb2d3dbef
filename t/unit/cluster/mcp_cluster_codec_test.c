/* SPDX-License-Identifier: Apache-2.0 */

/* Text forms of a stream's values in Redis. */

#include "test_env.h"

#include "cluster/mcp_cluster_replication.h"


TEST(encoded_checkpoint_is_decoded_unchanged_and_invalid_texts_are_rejected)
{
    char                    text[MCP_CODEC_STATE_MAX], *end;
    mcp_store_checkpoint_t  in = { 0, MCP_STATE_FAILED, UINT64_MAX, UINT64_MAX - 1,
                              UINT64_MAX - 2 };
    mcp_store_checkpoint_t  out;

    memset(&out, 0, sizeof(out));
    end = mcp_codec_encode_state(text, &in);
    assert_true(end <= text + sizeof(text));
    assert_ok(mcp_codec_decode_state((mcp_str_t) { text,
                                             (size_t) (end - text) },
                                     &out));
    assert_int_equal(out.state, in.state);
    assert_true(out.answered == in.answered && out.failed == in.failed
                && out.failed_seq == in.failed_seq);

    assert_ok(mcp_codec_decode_state(mcp_str("1 2 3 4"), &out));
    assert_int_equal(out.state, MCP_STATE_INPUT_REQUIRED);
    assert_int_equal(out.failed_seq, 4);
    assert_int_equal(mcp_codec_decode_state(mcp_str(""), &out), MCP_ERR_SYNTAX);
    assert_int_equal(mcp_codec_decode_state(mcp_str("1 2 3"), &out),
                     MCP_ERR_SYNTAX);
    assert_int_equal(mcp_codec_decode_state(mcp_str("1 2 3 4 5"), &out),
                     MCP_ERR_SYNTAX);
    assert_int_equal(mcp_codec_decode_state(mcp_str("5 2 3 4"), &out),
                     MCP_ERR_SYNTAX);
    assert_int_equal(mcp_codec_decode_state(mcp_str("1  2 3"), &out),
                     MCP_ERR_SYNTAX);
    assert_int_equal(mcp_codec_decode_state(mcp_str("1 2 x 4"), &out),
                     MCP_ERR_SYNTAX);
}


TEST(encoded_event_answers_are_decoded_unchanged_and_invalid_texts_are_rejected)
{
    char             text[MCP_CODEC_ANSWERS_MAX], *end;
    mcp_store_raw_t  in, out;

    memset(&in, 0, sizeof(in));
    memset(&out, 0, sizeof(out));
    in.answers = UINT16_MAX;
    in.state = MCP_STATE_CANCELLED;
    end = mcp_codec_encode_answers(text, &in);
    assert_true(end <= text + sizeof(text));
    assert_ok(mcp_codec_decode_answers((mcp_str_t) { text,
                                               (size_t) (end - text) },
                                       &out));
    assert_memory_equal(&in, &out, sizeof(in));
    assert_int_equal(mcp_codec_decode_answers(mcp_str("65536 0"), &out),
                     MCP_ERR_SYNTAX);
    assert_int_equal(mcp_codec_decode_answers(mcp_str("1 5"), &out),
                     MCP_ERR_SYNTAX);
    assert_int_equal(mcp_codec_decode_answers(mcp_str("1"), &out),
                     MCP_ERR_SYNTAX);
}


TEST(encoded_task_values_are_decoded_unchanged_and_invalid_texts_are_rejected)
{
    char              text[MCP_CODEC_TASK_MAX], *end;
    mcp_codec_task_t  in = { UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 2,
                            UINT32_MAX };
    mcp_codec_task_t  out;

    end = mcp_codec_encode_task(text, &in);
    assert_true(end <= text + sizeof(text));
    assert_ok(mcp_codec_decode_task((mcp_str_t) { text,
                                            (size_t) (end - text) },
                                    &out));
    assert_true(out.expires == in.expires && out.kept == in.kept
                && out.changed == in.changed && out.given == in.given);

    assert_ok(mcp_codec_decode_task(mcp_str("0 2 3 4"), &out));
    assert_int_equal(out.expires, 0);
    assert_int_equal(mcp_codec_decode_task(mcp_str(""), &out), MCP_ERR_SYNTAX);
    assert_int_equal(mcp_codec_decode_task(mcp_str("1 2 3"), &out),
                     MCP_ERR_SYNTAX);
    assert_int_equal(mcp_codec_decode_task(mcp_str("1 2 3 4 5"), &out),
                     MCP_ERR_SYNTAX);
    assert_int_equal(mcp_codec_decode_task(mcp_str("1 2 3 4294967296"), &out),
                     MCP_ERR_SYNTAX);
}


TEST(encoded_stream_spec_is_decoded_unchanged_and_invalid_texts_are_rejected)
{
    size_t             i;
    mcp_buf_t          buf;
    test_env_t         te;
    mcp_str_t          text;
    mcp_stream_spec_t  in, out;

    test_env_init(&te);
    mcp_buf_init(&buf, &te.env.mem, SIZE_MAX / 2);
    memset(&in, 0, sizeof(in));
    memset(in.id, 1, sizeof(in.id));
    memset(in.session, 2, sizeof(in.session));
    memset(in.principal, ' ', sizeof(in.principal));
    memset(in.params, 255, sizeof(in.params));
    in.kind = MCP_STREAM_CALL;
    in.revision = 3;
    in.max_wait = UINT64_MAX;
    in.linger = 1;
    in.promised = MCP_PROMISE_TIME|MCP_PROMISE_IDS;
    in.max_events = UINT32_MAX;
    in.max_bytes = UINT64_MAX - 1;
    in.method = mcp_str("tools/call");
    in.name = mcp_str("a b");
    in.request = mcp_str("\"1 2\"");

    mcp_codec_encode_spec(&buf, &in);
    assert_ok(buf.failed);
    text = (mcp_str_t) { buf.data, buf.len };
    assert_ok(mcp_codec_decode_spec(&te.env.mem, text, &out));
    assert_memory_equal(out.id, in.id, sizeof(in.id));
    assert_memory_equal(out.session, in.session, sizeof(in.session));
    assert_memory_equal(out.principal, in.principal, sizeof(in.principal));
    assert_memory_equal(out.params, in.params, sizeof(in.params));
    assert_int_equal(out.revision, 3);
    assert_true(out.max_wait == in.max_wait && out.linger == 1);
    assert_true(out.max_bytes == in.max_bytes);
    assert_int_equal(out.promised, in.promised);
    assert_int_equal(out.max_events, UINT32_MAX);
    assert_true(mcp_str_eq(out.method, in.method));
    assert_true(mcp_str_eq(out.name, in.name));
    assert_true(mcp_str_eq(out.request, in.request));

    /* a text that is cut at any byte, and one with an additional byte:
     * MCP_ERR_SYNTAX */

    for (i = 0; i < buf.len; i++) {
        assert_int_equal(mcp_codec_decode_spec(&te.env.mem,
                                               (mcp_str_t) { buf.data, i },
                                               &out),
                         MCP_ERR_SYNTAX);
    }

    mcp_buf_lit(&buf, "x");
    assert_int_equal(mcp_codec_decode_spec(&te.env.mem,
                                           (mcp_str_t) { buf.data, buf.len },
                                           &out),
                     MCP_ERR_SYNTAX);

    /* the first byte means that requests can join the call, but the text lacks
     * the digest that equal calls have in common: MCP_ERR_SYNTAX */

    buf.len--;
    buf.data[0] = '2';
    assert_int_equal(mcp_codec_decode_spec(&te.env.mem,
                                           (mcp_str_t) { buf.data, buf.len },
                                           &out),
                     MCP_ERR_SYNTAX);

    /* the first byte is no form of this version: MCP_ERR_SYNTAX */

    for (i = 0; i < 2; i++) {
        buf.data[0] = "03"[i];
        assert_int_equal(mcp_codec_decode_spec(&te.env.mem,
                                               (mcp_str_t) { buf.data,
                                                             buf.len }, &out),
                         MCP_ERR_SYNTAX);
    }

    mcp_buf_free(&buf);
    assert_int_equal(te.tm.live, 0);
}


/* A text with a line end, or one that is not JSON, is not accepted as an
 * event. */
TEST(text_with_a_line_end_or_invalid_json_is_not_accepted_as_an_event)
{
    size_t      i;
    test_env_t  te;

    static const struct {
        const char  *text;
        int          is;
    } cases[] = {
        { "{\"a\":[1,\"\\n\"]}", 1 }, { "{}", 1 }, { "\"7\"", 1 },
        { "", 0 }, { "{", 0 }, { "{}x", 0 }, { "{\n}", 0 }, { "{\r}", 0 },
        { "{}\n\ndata: {}", 0 }, { "\xff", 0 }
    };

    test_env_init(&te);

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(mcp_codec_is_message(&te.env.mem,
                                              test_str(cases[i].text)),
                         cases[i].is);
    }

    assert_int_equal(te.tm.live, 0);
}


RUN_TESTS(NULL, NULL)

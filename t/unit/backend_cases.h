/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Helpers for the tests of decoders. A case consists of a backend's answer and
 * the expected transcript of messages. The answer is written as a whole, byte
 * by byte with and without reading in between, divided in two at each
 * position, and with each allocation failing in turn.
 */


#ifndef BACKEND_CASES_H_INCLUDED
#define BACKEND_CASES_H_INCLUDED


#include "test_env.h"
#include "backend/mcp_backend.h"


#define TOOL      MCP_WANT_TOOL
#define RESOURCE  MCP_WANT_RESOURCE
#define PROMPT    MCP_WANT_PROMPT
#define PLAIN     MCP_WANT_PLAIN

#define SSE       "text/event-stream"
#define LINES     "application/x-ndjson"
#define JSON      "application/json"

#define PROGRESS                                                              \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","             \
    "\"params\":{\"progressToken\":7,\"progress\":1}}"
#define RESULT    "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{\"a\":1}}"
#define ERROR     "{\"code\":-32000,\"message\":\"no\",\"data\":[1]}"
#define RPC_ERROR "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":" ERROR "}"
#define SAID(t)   "{\"content\":[{\"type\":\"text\",\"text\":\"" t "\"}]}"
#define FAILED(t) "{\"content\":[{\"type\":\"text\",\"text\":\"" t "\"}],"    \
                  "\"isError\":true}"
#define ASKED     "{\"a\":{\"method\":\"roots/list\",\"params\":{}}}"

#define PROGRESSED                                                            \
    "NOTIFICATION notifications/progress token=7 " PROGRESS "\n"


typedef struct {
    const char          *name;
    mcp_want_e           want;
    int                  status;
    const char          *type;         /* NULL: no Content-Type */
    const char          *body;
    size_t               len;
    const char          *expected;
    mcp_fault_e          fault;        /* fault reported at the end of the
                                          answer; MCP_FAULT_NONE: it ends in
                                          order */
    size_t               max;          /* maximum size of a message, 0: 1 MB */
    const char          *uri;
} answer_t;


/* Sets the members body and len of an answer_t. */
#define BODY(text)  .body = text, .len = sizeof(text) - 1


typedef enum {
    WHOLE = 0,
    BYTES,                             /* byte by byte, read after each byte */
    UNREAD,                            /* byte by byte, read at the end */
    PIECES
} how_e;


typedef struct {
    char    text[400000];
    size_t  len;
} transcript_t;


static inline void
note(transcript_t *t, const char *text, size_t len)
{
    assert_true(t->len + len < sizeof(t->text));

    memcpy(t->text + t->len, text, len);
    t->len += len;
    t->text[t->len] = '\0';
}


static inline void
note_text(transcript_t *t, const char *text)
{
    note(t, text, strlen(text));
}


static inline void
note_value(transcript_t *t, const char *name, mcp_json_value_t value)
{
    if (value.type != MCP_JSON_NONE) {
        note_text(t, name);
        note(t, value.raw.data, value.raw.len);
        note_text(t, " ");
    }
}


static inline const char *
fault_name(mcp_fault_e fault)
{
    switch (fault) {

    case MCP_FAULT_BACKEND_FAILED:
        return "FAILED ";

    case MCP_FAULT_BACKEND_TIMEOUT:
        return "TIMEOUT ";

    case MCP_FAULT_BACKEND_OUTPUT:
        return "OUTPUT ";

    case MCP_FAULT_BACKEND_TOO_LARGE:
        return "TOO_LARGE ";

    case MCP_FAULT_RESOURCE_UNKNOWN:
        return "RESOURCE_UNKNOWN ";

    case MCP_FAULT_PROMPT_UNKNOWN:
        return "PROMPT_UNKNOWN ";

    default:
        return "UNEXPECTED ";
    }
}


static inline void
note_message(transcript_t *t, const mcp_backend_msg_t *msg)
{
    static const char *const  kinds[] = {
        "", "NOTIFICATION ", "REQUEST ", "RESULT ", "ERROR ", "INPUT ",
        "DETACHED ", "FAULT "
    };

    size_t            i;
    mcp_mem_t         mem;
    mcp_arena_t       arena;
    test_mem_t        tm;
    mcp_json_value_t  root;

    note_text(t, kinds[msg->kind]);

    if (msg->kind == MCP_BACKEND_FAULT) {
        assert_non_null(msg->detail);
        note_text(t, fault_name(msg->fault));
        note_text(t, msg->detail);
    }

    if (msg->method.len) {
        note(t, msg->method.data, msg->method.len);
        note_text(t, " ");
    }

    note_value(t, "token=", msg->progress_token);
    note_value(t, "level=", msg->level);
    note_value(t, "uri=", msg->uri);
    note_value(t, "requests=", msg->input_requests);
    note_value(t, "state=", msg->request_state);

    if (msg->any_output) {
        note_text(t, "any output ");
    }

    if (msg->body.data) {
        note(t, msg->body.data, msg->body.len);

        for (i = 0; i < msg->body.len; i++) {
            assert_true(msg->body.data[i] != '\n');
            assert_true(msg->body.data[i] != '\r');
        }

        /* the body of every message is one JSON object */

        test_mem_init(&tm);
        mem = tm.mem;
        mcp_arena_init(&arena, &mem);

        assert_ok(mcp_json_scan(&arena, msg->body, 100, NULL, 0, &root, NULL,
                                NULL));
        assert_int_equal(root.type, MCP_JSON_OBJECT);

        mcp_arena_destroy(&arena);
    }

    note_text(t, "\n");
}


/* Reads all messages into the transcript. Returns MCP_OK or MCP_ERR_MEMORY. */

static inline int
drain(mcp_backend_t *b, transcript_t *t)
{
    int                rc;
    mcp_backend_msg_t  msg;

    while ((rc = mcp_backend_read(b, &msg)) == MCP_OK) {
        note_message(t, &msg);

        if (msg.kind != MCP_BACKEND_NOTIFICATION) {
            rc = mcp_backend_read(b, &msg);
            assert_int_equal(rc, MCP_DONE);
        }
    }

    if (rc == MCP_ERR_MEMORY) {

        /* after MCP_ERR_MEMORY, the next read returns MCP_ERR_MEMORY as
         * well */

        assert_int_equal(mcp_backend_read(b, &msg), MCP_ERR_MEMORY);
        return rc;
    }

    assert_true(rc == MCP_AGAIN || rc == MCP_DONE);

    return MCP_OK;
}


static inline int
play_piece(mcp_backend_t *b, const answer_t *a, size_t from, size_t to,
    int read, transcript_t *t)
{
    int    rc;
    char  *copy;

    /* a copy of exactly the right size: memory checkers detect reads after its
     * end */

    copy = malloc(to - from + 1);
    assert_non_null(copy);
    memcpy(copy, a->body + from, to - from);

    rc = mcp_backend_write(b, copy, to - from);
    free(copy);

    if (rc == MCP_ERR_MEMORY) {
        return rc;
    }

    assert_true(rc == MCP_OK || rc == MCP_ERR_LIMIT);

    return read ? drain(b, t) : MCP_OK;
}


static inline int
play_answer(mcp_backend_t *b, const answer_t *a, how_e how, size_t cut,
    transcript_t *t)
{
    int        rc;
    size_t     i, step;
    mcp_str_t  type;

    type = a->type ? test_str(a->type) : mcp_null_str;

    if (a->status) {
        mcp_backend_head(b, a->status, type);
    }

    rc = drain(b, t);

    step = how == WHOLE ? a->len : how == PIECES ? cut : 1;

    for (i = 0; rc == MCP_OK && i < a->len; i += step) {

        if (how == PIECES && i) {
            step = a->len - i;
        }

        rc = play_piece(b, a, i, i + step, how != UNREAD, t);
    }

    if (rc == MCP_OK) {
        rc = mcp_backend_end(b, a->fault,
                             a->fault == MCP_FAULT_NONE ? NULL : "broke off");
    }

    if (rc == MCP_OK) {
        rc = drain(b, t);
    }

    return rc;
}


static inline int
play(test_mem_t *tm, const answer_t *a, how_e how, size_t cut,
    transcript_t *t)
{
    int                rc;
    mcp_backend_t     *b;
    mcp_backend_msg_t  msg;

    t->len = 0;
    t->text[0] = '\0';

    b = mcp_backend_create(&tm->mem, a->want,
                           a->uri ? test_str(a->uri) : mcp_null_str,
                           a->max ? a->max : 1024 * 1024, 20);
    if (b == NULL) {
        return MCP_ERR_MEMORY;
    }

    rc = play_answer(b, a, how, cut, t);

    if (rc == MCP_OK) {
        assert_int_equal(mcp_backend_read(b, &msg), MCP_DONE);
        assert_ok(mcp_backend_write(b, "x", 1));
        assert_ok(mcp_backend_end(b, MCP_FAULT_BACKEND_FAILED, "late"));
        assert_int_equal(mcp_backend_read(b, &msg), MCP_DONE);

        /* after MCP_DONE only the decoder itself is still allocated */

        assert_int_equal(tm->live, 1);

    } else {
        assert_int_equal(mcp_backend_write(b, "x", 1), MCP_ERR_MEMORY);
        assert_int_equal(mcp_backend_end(b, MCP_FAULT_NONE, NULL),
                         MCP_ERR_MEMORY);
    }

    mcp_backend_free(b);

    return rc;
}


static inline void
check_transcript(const answer_t *a, const char *how, size_t cut,
    const transcript_t *t)
{
    if (strcmp(t->text, a->expected) != 0) {
        fail_msg("%s, %s %zu:\n--- expected\n%.2000s--- got\n%.2000s",
                 a->name, how, cut, a->expected, t->text);
    }
}


static inline void
check_memory(const answer_t *a, how_e how, transcript_t *t)
{
    int            rc;
    test_mem_t     tm;
    unsigned long  n = 0;

    test_mem_init(&tm);

    while (test_next_failure(&tm, &n)) {
        tm.fail_at = n;

        rc = play(&tm, a, how, 0, t);

        assert_int_equal(tm.live, 0);
        assert_true(rc == MCP_ERR_MEMORY || tm.failed == 0);
    }
}


static inline void
check(const answer_t *answers, size_t n)
{
    size_t                i, cut;
    test_mem_t            tm;
    const answer_t       *a;
    static transcript_t   t;

    for (i = 0; i < n; i++) {
        a = &answers[i];
        test_mem_init(&tm);

        assert_ok(play(&tm, a, WHOLE, 0, &t));
        check_transcript(a, "whole", 0, &t);

        assert_ok(play(&tm, a, BYTES, 0, &t));
        check_transcript(a, "byte by byte", 0, &t);

        assert_ok(play(&tm, a, UNREAD, 0, &t));
        check_transcript(a, "unread", 0, &t);

        for (cut = 1; cut < a->len && a->len < 2000; cut++) {
            assert_ok(play(&tm, a, PIECES, cut, &t));
            check_transcript(a, "cut", cut, &t);
        }

        assert_int_equal(tm.live, 0);

        check_memory(a, WHOLE, &t);
        check_memory(a, a->len < 2000 ? BYTES : WHOLE, &t);
    }
}


#define CHECK(answers)  check(answers, sizeof(answers) / sizeof(answers[0]))


#endif /* BACKEND_CASES_H_INCLUDED */

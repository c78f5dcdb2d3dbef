
/*
 * Decoding of backend answers.  Each case is an answer and the transcript of
 * the messages it gives; it is played whole, one byte at a time, unread until
 * its end, cut in two at every place, and with every allocation failing once.
 */


#include "test_env.h"
#include "mcp_backend.h"


#define TOOL      MCP_BACKEND_TOOL
#define RESOURCE  MCP_BACKEND_RESOURCE
#define PROMPT    MCP_BACKEND_PROMPT
#define PLAIN     MCP_BACKEND_PLAIN

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
    mcp_backend_want_e   want;
    int                  status;
    const char          *type;         /* NULL: no Content-Type */
    const char          *body;
    size_t               len;
    const char          *expected;
    mcp_fault_e          fault;        /* how it ends */
    size_t               max;          /* 0: plenty */
    const char          *uri;
} answer_t;


/* designated, so that the fields behind may be left out */
#define BODY(text)  .body = text, .len = sizeof(text) - 1


typedef enum {
    WHOLE = 0,
    BYTES,                             /* one at a time, read in between */
    UNREAD,                            /* one at a time, read at the end */
    PIECES
} how_e;


typedef struct {
    char    text[400000];
    size_t  len;
} transcript_t;


static void
note(transcript_t *t, const char *text, size_t len)
{
    assert_true(t->len + len < sizeof(t->text));

    memcpy(t->text + t->len, text, len);
    t->len += len;
    t->text[t->len] = '\0';
}


static void
note_text(transcript_t *t, const char *text)
{
    note(t, text, strlen(text));
}


static void
note_value(transcript_t *t, const char *name, mcp_json_value_t value)
{
    if (value.type != MCP_JSON_NONE) {
        note_text(t, name);
        note(t, value.raw.data, value.raw.len);
        note_text(t, " ");
    }
}


static const char *
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


static void
note_message(transcript_t *t, const mcp_backend_msg_t *msg)
{
    static const char *const  kinds[] = {
        "", "NOTIFICATION ", "RESULT ", "ERROR ", "INPUT ", "DETACHED ",
        "FAULT "
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

    if (msg->body.data) {
        note(t, msg->body.data, msg->body.len);

        for (i = 0; i < msg->body.len; i++) {
            assert_true(msg->body.data[i] != '\n');
            assert_true(msg->body.data[i] != '\r');
        }

        /* whatever is handed out is one JSON object */

        test_mem_init(&tm);
        mem = tm.mem;
        mcp_arena_init(&arena, &mem);

        assert_int_equal(mcp_json_scan(&arena, msg->body, 100, NULL, 0, &root,
                                       NULL, NULL),
                         MCP_OK);
        assert_int_equal(root.type, MCP_JSON_OBJECT);

        mcp_arena_destroy(&arena);
    }

    note_text(t, "\n");
}


/* MCP_OK, or MCP_ERR_MEMORY as soon as that is met. */

static int
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

        /* and it stays so */

        assert_int_equal(mcp_backend_read(b, &msg), MCP_ERR_MEMORY);
        return rc;
    }

    assert_true(rc == MCP_AGAIN || rc == MCP_DONE);

    return MCP_OK;
}


static int
play_piece(mcp_backend_t *b, const answer_t *a, size_t from, size_t to,
    int read, transcript_t *t)
{
    int    rc;
    char  *copy;

    /* bytes of its own, so that a look beyond them is seen */

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


static int
play_answer(mcp_backend_t *b, const answer_t *a, how_e how, size_t cut,
    transcript_t *t)
{
    int        rc;
    size_t     i, step;
    mcp_str_t  type;

    type = a->type ? test_str(a->type) : mcp_null_str;

    if (a->status) {
        assert_int_equal(mcp_backend_head(b, a->status, type), MCP_OK);
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


static int
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
        assert_int_equal(mcp_backend_write(b, "x", 1), MCP_OK);
        assert_int_equal(mcp_backend_end(b, MCP_FAULT_BACKEND_FAILED, "late"),
                         MCP_OK);
        assert_int_equal(mcp_backend_read(b, &msg), MCP_DONE);

        /* nothing but itself is kept once it is done */

        assert_int_equal(tm->live, 1);
    }

    mcp_backend_free(b);

    return rc;
}


static void
check_transcript(const answer_t *a, const char *how, size_t cut,
    const transcript_t *t)
{
    if (strcmp(t->text, a->expected) != 0) {
        fail_msg("%s, %s %zu:\n--- expected\n%.2000s--- got\n%.2000s",
                 a->name, how, cut, a->expected, t->text);
    }
}


static void
check_memory(const answer_t *a, how_e how, transcript_t *t)
{
    int            rc;
    test_mem_t     tm;
    unsigned long  n;

    for (n = 1; /* void */ ; n++) {
        test_mem_init(&tm);
        tm.fail_at = n;

        rc = play(&tm, a, how, 0, t);

        assert_int_equal(tm.live, 0);

        if (tm.failed == 0) {
            break;
        }

        assert_int_equal(rc, MCP_ERR_MEMORY);
    }

    assert_true(n > 1);
}


static void
check(const answer_t *answers, size_t n)
{
    size_t                i, cut;
    test_mem_t            tm;
    const answer_t       *a;
    static transcript_t   t;

    for (i = 0; i < n; i++) {
        a = &answers[i];
        test_mem_init(&tm);

        assert_int_equal(play(&tm, a, WHOLE, 0, &t), MCP_OK);
        check_transcript(a, "whole", 0, &t);

        assert_int_equal(play(&tm, a, BYTES, 0, &t), MCP_OK);
        check_transcript(a, "byte by byte", 0, &t);

        assert_int_equal(play(&tm, a, UNREAD, 0, &t), MCP_OK);
        check_transcript(a, "unread", 0, &t);

        for (cut = 1; cut < a->len && a->len < 2000; cut++) {
            assert_int_equal(play(&tm, a, PIECES, cut, &t), MCP_OK);
            check_transcript(a, "cut", cut, &t);
        }

        assert_int_equal(tm.live, 0);

        check_memory(a, WHOLE, &t);
        check_memory(a, a->len < 2000 ? BYTES : WHOLE, &t);
    }
}


#define CHECK(answers)  check(answers, sizeof(answers) / sizeof(answers[0]))


static void
test_json(void **state)
{
    static const answer_t  answers[] = {
        { "response", TOOL, 200, JSON, BODY(RESULT), "RESULT {\"a\":1}\n" },
        { "another id", TOOL, 200, JSON,
          BODY("{\"id\":\"x\",\"jsonrpc\":\"2.0\",\"result\":{}}"),
          "RESULT {}\n" },
        { "no id", TOOL, 200, JSON, BODY("{\"jsonrpc\":\"2.0\",\"result\":{}}"),
          "RESULT {}\n" },
        { "error", TOOL, 200, JSON, BODY(RPC_ERROR), "ERROR " ERROR "\n" },
        { "error, other wants", PLAIN, 200, JSON, BODY(RPC_ERROR),
          "ERROR " ERROR "\n" },
        { "bare", TOOL, 200, JSON, BODY("{\"content\":[]}"),
          "RESULT {\"content\":[]}\n" },
        { "bare, with names of the envelope", PLAIN, 200, JSON,
          BODY("{\"method\":1,\"result\":2,\"id\":3}"),
          "RESULT {\"method\":1,\"result\":2,\"id\":3}\n" },
        { "bare, other result type", TOOL, 200, JSON,
          BODY("{\"resultType\":\"complete\",\"content\":[]}"),
          "RESULT {\"resultType\":\"complete\",\"content\":[]}\n" },
        { "space, type in capitals with parameters", TOOL, 201,
          " Application/JSON ; charset=UTF-8", BODY(" \t{}\r\n"),
          "RESULT {}\n" },
        { "a type on top of JSON", TOOL, 200, "application/vnd.acme+json",
          BODY("{}"), "RESULT {}\n" },
        { "byte order mark", TOOL, 200, JSON, BODY("\xef\xbb\xbf{}"),
          "RESULT {}\n" },
        { "several lines", TOOL, 200, JSON,
          BODY("{\r\n  \"a\": [\n    1,\r    2\n  ]\n}\n"),
          "RESULT {    \"a\": [     1,     2   ] }\n" },
        { "several lines, response", TOOL, 200, JSON,
          BODY("{\n\"jsonrpc\": \"2.0\",\n\"result\": {\n\"a\": 1\n}\n}\n"),
          "RESULT { \"a\": 1 }\n" },

        { "empty", TOOL, 200, JSON, BODY(""),
          "FAULT OUTPUT empty body\n" },
        { "blank", TOOL, 200, JSON, BODY(" \n"),
          "FAULT OUTPUT broken JSON\n" },
        { "broken", TOOL, 200, JSON, BODY("{\"content\":[}"),
          "FAULT OUTPUT broken JSON\n" },
        { "cut", TOOL, 200, JSON, BODY("{\"content\":["),
          "FAULT OUTPUT broken JSON\n" },
        { "not JSON at all", TOOL, 200, JSON, BODY("Fatal error: oops"),
          "FAULT OUTPUT broken JSON\n" },
        { "not UTF-8", TOOL, 200, JSON, BODY("{\"a\":\"\xff\"}"),
          "FAULT OUTPUT broken JSON\n" },
        { "two values", TOOL, 200, JSON, BODY("{} {}"),
          "FAULT OUTPUT broken JSON\n" },
        { "array", TOOL, 200, JSON, BODY("[{}]"),
          "FAULT OUTPUT not a JSON object\n" },
        { "string", TOOL, 200, JSON, BODY("\"x\""),
          "FAULT OUTPUT not a JSON object\n" },
        { "null", TOOL, 200, JSON, BODY("null"),
          "FAULT OUTPUT not a JSON object\n" },
        { "too deep", TOOL, 200, JSON,
          BODY("{\"a\":[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]}"),
          "FAULT OUTPUT JSON nested too deep\n" },
        { "twice", TOOL, 200, JSON,
          BODY("{\"jsonrpc\":\"2.0\",\"result\":{},\"result\":{}}"),
          "FAULT OUTPUT a field stands twice\n" },
        { "both", TOOL, 200, JSON,
          BODY("{\"jsonrpc\":\"2.0\",\"result\":{},\"error\":" ERROR "}"),
          "FAULT OUTPUT not exactly one of method, result and error\n" },
        { "neither", TOOL, 200, JSON, BODY("{\"jsonrpc\":\"2.0\",\"id\":1}"),
          "FAULT OUTPUT not exactly one of method, result and error\n" },
        { "other version", TOOL, 200, JSON,
          BODY("{\"jsonrpc\":\"1.0\",\"result\":{}}"),
          "FAULT OUTPUT jsonrpc is not \"2.0\"\n" },
        { "version as a number", TOOL, 200, JSON,
          BODY("{\"jsonrpc\":2.0,\"result\":{}}"),
          "FAULT OUTPUT jsonrpc is not \"2.0\"\n" },
        { "notification", TOOL, 200, JSON, BODY(PROGRESS),
          "FAULT OUTPUT not a response\n" },
        { "result of another type", TOOL, 200, JSON,
          BODY("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}"),
          "FAULT OUTPUT result is not an object\n" },
        { "error of another type", TOOL, 200, JSON,
          BODY("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"no\"}"),
          "FAULT OUTPUT error without code and message\n" },
        { "error without message", TOOL, 200, JSON,
          BODY("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1}}"),
          "FAULT OUTPUT error without code and message\n" },
        { "error with a fraction", TOOL, 200, JSON,
          BODY("{\"jsonrpc\":\"2.0\",\"id\":1,"
               "\"error\":{\"code\":1.5,\"message\":\"\"}}"),
          "FAULT OUTPUT error code is not an integer\n" },

        { "broke off", TOOL, 200, JSON, BODY(RESULT),
          "FAULT TIMEOUT broke off\n", MCP_FAULT_BACKEND_TIMEOUT },
        { "as large as may be", TOOL, 200, JSON, BODY(RESULT),
          "RESULT {\"a\":1}\n", .max = sizeof(RESULT) - 1 },
        { "too large", TOOL, 200, JSON, BODY(RESULT),
          "FAULT TOO_LARGE body too large\n", .max = sizeof(RESULT) - 2 },
        { "too large and broke off", TOOL, 200, JSON, BODY(RESULT),
          "FAULT TOO_LARGE body too large\n", MCP_FAULT_BACKEND_TIMEOUT, 4 },
    };

    (void) state;

    CHECK(answers);
}


static void
test_input(void **state)
{
    static const answer_t  answers[] = {
        { "requests and state", TOOL, 200, JSON,
          BODY("{\"resultType\":\"input_required\",\"inputRequests\":" ASKED
               ",\"requestState\":\"s\"}"),
          "INPUT requests=" ASKED " state=\"s\" "
          "{\"resultType\":\"input_required\",\"inputRequests\":" ASKED
          ",\"requestState\":\"s\"}\n" },
        { "requests only, response, stream", TOOL, 200, SSE,
          BODY("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":"
               "{\"resultType\":\"input_required\",\"inputRequests\":" ASKED
               "}}\n\n"),
          "INPUT requests=" ASKED " "
          "{\"resultType\":\"input_required\",\"inputRequests\":" ASKED
          "}\n" },
        { "state only", PROMPT, 200, JSON,
          BODY("{\"resultType\":\"input_required\",\"requestState\":\"\"}"),
          "INPUT state=\"\" "
          "{\"resultType\":\"input_required\",\"requestState\":\"\"}\n" },
        { "several lines", TOOL, 200, JSON,
          BODY("{\"resultType\":\"input_required\",\n\"inputRequests\":{\n"
               "\"a\":{\n\"method\":\"m\"}}}\n"),
          "INPUT requests={ \"a\":{ \"method\":\"m\"}} "
          "{\"resultType\":\"input_required\", \"inputRequests\":{ "
          "\"a\":{ \"method\":\"m\"}}}\n" },
        { "several lines, stream", TOOL, 200, SSE,
          BODY("data: {\"resultType\":\"input_required\",\ndata: "
               "\"inputRequests\":{\ndata: \"a\":{\ndata: \"method\":\"m\""
               "}}}\n\n"),
          "INPUT requests={ \"a\":{ \"method\":\"m\"}} "
          "{\"resultType\":\"input_required\", \"inputRequests\":{ "
          "\"a\":{ \"method\":\"m\"}}}\n" },
        { "empty requests with state", TOOL, 200, JSON,
          BODY("{\"resultType\":\"input_required\",\"inputRequests\":{},"
               "\"requestState\":\"s\"}"),
          "INPUT requests={} state=\"s\" "
          "{\"resultType\":\"input_required\",\"inputRequests\":{},"
          "\"requestState\":\"s\"}\n" },

        { "neither", TOOL, 200, JSON,
          BODY("{\"resultType\":\"input_required\"}"),
          "FAULT OUTPUT input_required without requests and state\n" },
        { "empty requests", TOOL, 200, JSON,
          BODY("{\"resultType\":\"input_required\",\"inputRequests\":{}}"),
          "FAULT OUTPUT input_required without requests and state\n" },
        { "an array of requests", TOOL, 200, JSON,
          BODY("{\"resultType\":\"input_required\",\"inputRequests\":[],"
               "\"requestState\":\"s\"}"),
          "FAULT OUTPUT inputRequests is not an object of requests\n" },
        { "no method", TOOL, 200, JSON,
          BODY("{\"resultType\":\"input_required\","
               "\"inputRequests\":{\"a\":{}}}"),
          "FAULT OUTPUT inputRequests is not an object of requests\n" },
        { "a request that is none", TOOL, 200, JSON,
          BODY("{\"resultType\":\"input_required\","
               "\"inputRequests\":{\"a\":1}}"),
          "FAULT OUTPUT inputRequests is not an object of requests\n" },
        { "state of another type", TOOL, 200, JSON,
          BODY("{\"resultType\":\"input_required\",\"requestState\":1}"),
          "FAULT OUTPUT requestState is not a string\n" },
    };

    (void) state;

    CHECK(answers);
}


static void
test_lines(void **state)
{
    static const answer_t  answers[] = {
        { "progress and response", TOOL, 200, LINES,
          BODY(PROGRESS "\n" PROGRESS "\n" RESULT "\n"),
          PROGRESSED PROGRESSED "RESULT {\"a\":1}\n" },
        { "bare result", TOOL, 200, "application/jsonl",
          BODY(PROGRESS "\n{\"content\":[]}\n"),
          PROGRESSED "RESULT {\"content\":[]}\n" },
        { "error", TOOL, 200, "application/ndjson", BODY(RPC_ERROR "\n"),
          "ERROR " ERROR "\n" },
        { "CRLF and blank lines", TOOL, 200, LINES,
          BODY("\r\n\n" PROGRESS "\r\n  \t\r\n\n" RESULT "\r\n\r\n"),
          PROGRESSED "RESULT {\"a\":1}\n" },
        { "CR inside", TOOL, 200, LINES, BODY("{\"a\":\r1}\n"),
          "RESULT {\"a\": 1}\n" },
        { "no last newline", TOOL, 200, LINES, BODY(PROGRESS "\n" RESULT),
          PROGRESSED "RESULT {\"a\":1}\n" },
        { "no last newline, but broke off", TOOL, 200, LINES,
          BODY(PROGRESS "\n" RESULT),
          PROGRESSED "FAULT TIMEOUT broke off\n", MCP_FAULT_BACKEND_TIMEOUT },
        { "broke off after the response", TOOL, 200, LINES,
          BODY(PROGRESS "\n" RESULT "\n"),
          PROGRESSED "RESULT {\"a\":1}\n", MCP_FAULT_BACKEND_TIMEOUT },
        { "byte order mark", TOOL, 200, LINES,
          BODY("\xef\xbb\xbf" PROGRESS "\n" RESULT "\n"),
          PROGRESSED "RESULT {\"a\":1}\n" },
        { "what comes later is dropped", TOOL, 200, LINES,
          BODY(RESULT "\n" PROGRESS "\n{\n"),
          "RESULT {\"a\":1}\n" },
        { "ends early", TOOL, 200, LINES, BODY(PROGRESS "\n"),
          PROGRESSED "FAULT OUTPUT ended without a response\n" },
        { "nothing", TOOL, 200, LINES, BODY(""),
          "FAULT OUTPUT ended without a response\n" },
        { "broken line", TOOL, 200, LINES,
          BODY(PROGRESS "\n{\"jsonrpc\"\n" RESULT "\n"),
          PROGRESSED "FAULT OUTPUT broken JSON\n" },
        { "not JSON", TOOL, 200, LINES, BODY("Warning: deprecated\n"),
          "FAULT OUTPUT broken JSON\n" },
        { "array", TOOL, 200, LINES, BODY("[" RESULT "]\n"),
          "FAULT OUTPUT not a JSON object\n" },
        { "request", TOOL, 200, LINES,
          BODY("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n"),
          "FAULT OUTPUT a request; backends ask by input_required\n" },
        { "no version", TOOL, 200, LINES,
          BODY("{\"method\":\"notifications/progress\"}\n"),
          "FAULT OUTPUT message without jsonrpc\n" },
        { "method of another type", TOOL, 200, LINES,
          BODY("{\"jsonrpc\":\"2.0\",\"method\":1}\n"),
          "FAULT OUTPUT method is not a name\n" },
        { "empty method", TOOL, 200, LINES,
          BODY("{\"jsonrpc\":\"2.0\",\"method\":\"\"}\n"),
          "FAULT OUTPUT method is not a name\n" },
        { "params of another type", TOOL, 200, LINES,
          BODY("{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":[]}\n"),
          "FAULT OUTPUT params is not an object\n" },
        { "log message", TOOL, 200, LINES,
          BODY("{\"jsonrpc\":\"2.0\",\"method\":\"notifications\\/message\","
               "\"params\":{\"level\":\"info\",\"data\":1}}\n{}\n"),
          "NOTIFICATION notifications/message level=\"info\" "
          "{\"jsonrpc\":\"2.0\",\"method\":\"notifications\\/message\","
          "\"params\":{\"level\":\"info\",\"data\":1}}\n"
          "RESULT {}\n" },
        { "resource updated", TOOL, 200, LINES,
          BODY("{\"jsonrpc\":\"2.0\",\"method\":"
               "\"notifications/resources/updated\","
               "\"params\":{\"uri\":\"a:b\"}}\n{}\n"),
          "NOTIFICATION notifications/resources/updated uri=\"a:b\" "
          "{\"jsonrpc\":\"2.0\",\"method\":"
          "\"notifications/resources/updated\","
          "\"params\":{\"uri\":\"a:b\"}}\n"
          "RESULT {}\n" },
        { "any other", TOOL, 200, LINES,
          BODY("{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n{}\n"),
          "NOTIFICATION x {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n"
          "RESULT {}\n" },

        { "as large as may be", TOOL, 200, LINES,
          BODY(PROGRESS "\n" PROGRESS "\r\n{}\n"),
          PROGRESSED PROGRESSED "RESULT {}\n", .max = sizeof(PROGRESS) - 1 },
        { "too large", TOOL, 200, LINES, BODY("{}" PROGRESS "\n{}\n"),
          "FAULT TOO_LARGE message too large\n",
          .max = sizeof(PROGRESS) - 1 },
        { "too large by one", TOOL, 200, LINES,
          BODY(PROGRESS "\n " PROGRESS "\n{}\n"),
          PROGRESSED "FAULT TOO_LARGE message too large\n",
          .max = sizeof(PROGRESS) - 1 },
        { "too large, unended", TOOL, 200, LINES, BODY("{}\n{    "),
          "RESULT {}\n", .max = 2 },
        { "too large, broke off", TOOL, 200, LINES, BODY("{          "),
          "FAULT TOO_LARGE message too large\n", MCP_FAULT_BACKEND_TIMEOUT,
          4 },
    };

    (void) state;

    CHECK(answers);
}


static void
test_events(void **state)
{
    static const answer_t  answers[] = {
        { "progress and response", TOOL, 200, SSE,
          BODY("data: " PROGRESS "\n\ndata:" PROGRESS "\n\n"
               "data: " RESULT "\n\n"),
          PROGRESSED PROGRESSED "RESULT {\"a\":1}\n" },
        { "CRLF, CR, comments, other fields, empty events", TOOL, 200, SSE,
          BODY("\xef\xbb\xbf: hello\r\nretry: 5\r\nid: 1\r\ndata:\r\n\r\n"
               "event: message\r\ndata: " PROGRESS "\r\n\r\n"
               "data: " RESULT "\r\r"),
          PROGRESSED "RESULT {\"a\":1}\n" },
        { "several lines", TOOL, 200, SSE,
          BODY("data: {\ndata: \"a\":\ndata: 1}\n\n"),
          "RESULT { \"a\": 1}\n" },
        { "bare result", RESOURCE, 200, SSE,
          BODY("data: {\"contents\":[]}\n\n"),
          "RESULT {\"contents\":[]}\n" },
        { "blank data", TOOL, 200, SSE, BODY("data:  \n\ndata: {}\n\n"),
          "RESULT {}\n" },
        { "no blank line at the end", TOOL, 200, SSE,
          BODY("data: " PROGRESS "\n\ndata: " RESULT "\n"),
          PROGRESSED "RESULT {\"a\":1}\n" },
        { "no newline at the end", TOOL, 200, SSE, BODY("data: " RESULT),
          "RESULT {\"a\":1}\n" },
        { "no blank line, but broke off", TOOL, 200, SSE,
          BODY("data: " RESULT "\n"), "FAULT TIMEOUT broke off\n",
          MCP_FAULT_BACKEND_TIMEOUT },
        { "broke off after the response", TOOL, 200, SSE,
          BODY("data: " RESULT "\n\ndata: {\"jso"), "RESULT {\"a\":1}\n",
          MCP_FAULT_BACKEND_TIMEOUT },
        { "ends early", TOOL, 200, SSE, BODY("data: " PROGRESS "\n\n"),
          PROGRESSED "FAULT OUTPUT ended without a response\n" },
        { "broken event", TOOL, 200, SSE, BODY("data: {\"jsonrpc\"\n\n"),
          "FAULT OUTPUT broken JSON\n" },
        { "a line break in a string", TOOL, 200, SSE,
          BODY("data: {\"a\":\"b\ndata: c\"}\n\n"),
          "FAULT OUTPUT broken JSON\n" },
        { "error", TOOL, 200, SSE, BODY("data: " RPC_ERROR "\n\n"),
          "ERROR " ERROR "\n" },
        { "as large as may be", TOOL, 200, SSE,
          BODY("data: " PROGRESS "\n\ndata: {}\n\n"),
          PROGRESSED "RESULT {}\n", .max = sizeof(PROGRESS) - 1 },
        { "too large", TOOL, 200, SSE,
          BODY("data: " PROGRESS "\n\ndata: {}\n\n"),
          "FAULT TOO_LARGE message too large\n",
          .max = sizeof(PROGRESS) - 2 },
    };

    (void) state;

    CHECK(answers);
}


static void
test_content(void **state)
{
    static const answer_t  answers[] = {
        { "text", TOOL, 200, "text/plain", BODY("a \"b\"\r\n\tc\0d\x7f"),
          "RESULT " SAID("a \\\"b\\\"\\r\\n\\tc\\u0000d\x7f") "\n" },
        { "HTML", TOOL, 200, "text/html; charset=utf-8",
          BODY("<p>Gr\xc3\xbc\xc3\x9f</p>"),
          "RESULT " SAID("<p>Gr\xc3\xbc\xc3\x9f</p>") "\n" },
        { "byte order mark", TOOL, 200, "text/plain", BODY("\xef\xbb\xbfx"),
          "RESULT " SAID("x") "\n" },
        { "empty text", TOOL, 200, "text/plain", BODY(""),
          "RESULT {\"content\":[]}\n" },
        { "204", TOOL, 204, NULL, BODY(""), "RESULT {\"content\":[]}\n" },
        { "204, JSON", TOOL, 204, JSON, BODY(""),
          "RESULT {\"content\":[]}\n" },
        { "latin1", TOOL, 200, "text/plain; format=flowed; Charset=ISO-8859-1",
          BODY("Gr\xfc\xdf\x80 \xc3\xbc"),
          "RESULT " SAID("Gr\xc3\xbc\xc3\x9f\xc2\x80 \xc3\x83\xc2\xbc")
          "\n" },
        { "latin1, quoted", TOOL, 200, "text/plain;charset=\"latin1\"",
          BODY("\xfc"), "RESULT " SAID("\xc3\xbc") "\n" },
        { "no charset after all", TOOL, 200, "text/plain; ;charset;a=latin1",
          BODY("\xfc"), "RESULT " SAID("\xef\xbf\xbd") "\n" },
        { "other charset", TOOL, 200, "text/plain; charset=koi8-r",
          BODY("a\xc1z"), "RESULT " SAID("a\xef\xbf\xbdz") "\n" },
        { "ill-formed", TOOL, 200, "text/plain",
          BODY("\x61\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64"),
          "RESULT " SAID("a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                         "b\xef\xbf\xbd" "c\xef\xbf\xbd\xef\xbf\xbd" "d")
          "\n" },
        { "surrogates, overlong, too high", TOOL, 200, "text/plain",
          BODY("\xed\xa0\x80|\xc0\xaf|\xf4\x90|\xf0\x8f|\xe0\x9f|\xf5"),
          "RESULT " SAID("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|"
                         "\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|"
                         "\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|"
                         "\xef\xbf\xbd") "\n" },
        { "whole and cut", TOOL, 200, "text/plain",
          BODY("\xf0\x9f\x98\x80\xf0\x9f\x98"),
          "RESULT " SAID("\xf0\x9f\x98\x80\xef\xbf\xbd") "\n" },

        { "image", TOOL, 200, "Image/PNG", BODY("\x89PNG\n"),
          "RESULT {\"content\":[{\"type\":\"image\",\"data\":\"iVBORwo=\","
          "\"mimeType\":\"image/png\"}]}\n" },
        { "no image", TOOL, 200, "image/png", BODY(""),
          "RESULT {\"content\":[]}\n" },
        { "audio", TOOL, 200, "audio/wav", BODY("RIFF"),
          "RESULT {\"content\":[{\"type\":\"audio\",\"data\":\"UklGRg==\","
          "\"mimeType\":\"audio/wav\"}]}\n" },
        { "binary", TOOL, 200, "application/pdf", BODY("%PDF"),
          "RESULT {\"content\":[{\"type\":\"resource\",\"resource\":{"
          "\"uri\":\"mcp:result\",\"mimeType\":\"application/pdf\","
          "\"blob\":\"JVBERg==\"}}]}\n" },
        { "binary with a URI", TOOL, 200, "application/pdf", BODY("%PDF"),
          "RESULT {\"content\":[{\"type\":\"resource\",\"resource\":{"
          "\"uri\":\"a:\\\"b\",\"mimeType\":\"application/pdf\","
          "\"blob\":\"JVBERg==\"}}]}\n", .uri = "a:\"b" },
        { "binary of a named tool", TOOL, 200, "a/b", BODY("x"),
          "RESULT {\"content\":[{\"type\":\"resource\",\"resource\":{"
          "\"uri\":\"mcp:result\",\"mimeType\":\"a/b\","
          "\"blob\":\"eA==\"}}]}\n", .uri = "chart.draw" },
        { "XML", TOOL, 200, "application/atom+xml", BODY("<a/>"),
          "RESULT {\"content\":[{\"type\":\"resource\",\"resource\":{"
          "\"uri\":\"mcp:result\",\"mimeType\":\"application/atom+xml\","
          "\"text\":\"<a/>\"}}]}\n" },
        { "XML in another encoding", TOOL, 200, "application/xml",
          BODY("<\xff/>"),
          "RESULT {\"content\":[{\"type\":\"resource\",\"resource\":{"
          "\"uri\":\"mcp:result\",\"mimeType\":\"application/xml\","
          "\"blob\":\"PP8vPg==\"}}]}\n" },
        { "XML in latin1", TOOL, 200, "application/xml; charset=latin1",
          BODY("<\xfc/>"),
          "RESULT {\"content\":[{\"type\":\"resource\",\"resource\":{"
          "\"uri\":\"mcp:result\",\"mimeType\":\"application/xml\","
          "\"text\":\"<\xc3\xbc/>\"}}]}\n" },

        { "no type: a result", TOOL, 200, NULL, BODY(" {\"content\":[]}\n"),
          "RESULT {\"content\":[]}\n" },
        { "no type: text", TOOL, 200, NULL, BODY("hello\n"),
          "RESULT " SAID("hello\\n") "\n" },
        { "no type: no object", TOOL, 200, NULL, BODY("[1]"),
          "RESULT " SAID("[1]") "\n" },
        { "no type: broken envelope", TOOL, 200, NULL,
          BODY("{\"jsonrpc\":\"2.0\"}"),
          "FAULT OUTPUT not exactly one of method, result and error\n" },
        { "no type: empty", TOOL, 200, "", BODY(""),
          "RESULT {\"content\":[]}\n" },
        { "malformed type: text", TOOL, 200, "text", BODY("x"),
          "RESULT " SAID("x") "\n" },
        { "malformed type: two slashes", TOOL, 200, "a/b/c", BODY("x"),
          "RESULT " SAID("x") "\n" },
        { "malformed type: no subtype", TOOL, 200, "text/", BODY("x"),
          "RESULT " SAID("x") "\n" },
        { "malformed type: quotes", TOOL, 200, "te\"xt/plain", BODY("x"),
          "RESULT " SAID("x") "\n" },
        { "a type beyond reason", TOOL, 200,
          "application/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
          BODY("x"),
          "RESULT {\"content\":[{\"type\":\"resource\",\"resource\":{"
          "\"uri\":\"mcp:result\",\"mimeType\":\"application/octet-stream\","
          "\"blob\":\"eA==\"}}]}\n" },
        { "no head", TOOL, 0, NULL, BODY("hello"),
          "RESULT " SAID("hello") "\n" },

        { "broke off", TOOL, 200, "text/plain", BODY("hello"),
          "FAULT FAILED broke off\n", MCP_FAULT_BACKEND_FAILED },
        { "as large as may be", TOOL, 200, "text/plain", BODY("hello"),
          "RESULT " SAID("hello") "\n", .max = 5 },
        { "too large", TOOL, 200, "text/plain", BODY("hello"),
          "FAULT TOO_LARGE body too large\n", .max = 4 },

        { "resource, text", RESOURCE, 200, "text/css; charset=utf-8",
          BODY("a{}"),
          "RESULT {\"contents\":[{\"uri\":\"a:b\",\"mimeType\":\"text/css\","
          "\"text\":\"a{}\"}]}\n", .uri = "a:b" },
        { "resource, image", RESOURCE, 200, "image/png", BODY("\x89PNG\n"),
          "RESULT {\"contents\":[{\"uri\":\"a:b\",\"mimeType\":\"image/png\","
          "\"blob\":\"iVBORwo=\"}]}\n", .uri = "a:b" },
        { "resource, image to be read", RESOURCE, 200, "image/svg+xml",
          BODY("<svg/>"),
          "RESULT {\"contents\":[{\"uri\":\"a:b\","
          "\"mimeType\":\"image/svg+xml\",\"text\":\"<svg/>\"}]}\n",
          .uri = "a:b" },
        { "resource, empty", RESOURCE, 200, "text/plain", BODY(""),
          "RESULT {\"contents\":[{\"uri\":\"a:b\","
          "\"mimeType\":\"text/plain\",\"text\":\"\"}]}\n", .uri = "a:b" },
        { "resource, latin1, empty", RESOURCE, 200,
          "text/plain;charset=latin1", BODY(""),
          "RESULT {\"contents\":[{\"uri\":\"a:b\","
          "\"mimeType\":\"text/plain\",\"text\":\"\"}]}\n", .uri = "a:b" },
        { "resource, empty blob", RESOURCE, 200, "image/png", BODY(""),
          "RESULT {\"contents\":[{\"uri\":\"a:b\","
          "\"mimeType\":\"image/png\",\"blob\":\"\"}]}\n", .uri = "a:b" },
        { "resource, 204", RESOURCE, 204, NULL, BODY(""),
          "RESULT {\"contents\":[{\"uri\":\"mcp:result\","
          "\"mimeType\":\"text/plain\",\"text\":\"\"}]}\n" },
        { "resource, no type", RESOURCE, 200, NULL, BODY("x"),
          "RESULT {\"contents\":[{\"uri\":\"a:b\","
          "\"mimeType\":\"text/plain\",\"text\":\"x\"}]}\n", .uri = "a:b" },

        { "prompt, text", PROMPT, 200, "text/plain", BODY("Do it."),
          "RESULT {\"messages\":[{\"role\":\"user\",\"content\":"
          "{\"type\":\"text\",\"text\":\"Do it.\"}}]}\n" },
        { "prompt, image", PROMPT, 200, "image/png", BODY("\x89PNG\n"),
          "RESULT {\"messages\":[{\"role\":\"user\",\"content\":"
          "{\"type\":\"image\",\"data\":\"iVBORwo=\","
          "\"mimeType\":\"image/png\"}}]}\n" },
        { "prompt, empty", PROMPT, 200, "text/plain", BODY(""),
          "RESULT {\"messages\":[]}\n" },

        { "plain, text", PLAIN, 200, "text/plain", BODY("x"),
          "FAULT OUTPUT not JSON by its Content-Type\n" },
        { "plain, no type", PLAIN, 200, NULL, BODY("x"),
          "FAULT OUTPUT broken JSON\n" },
        { "plain, no type, JSON", PLAIN, 200, NULL, BODY("{\"a\":1}"),
          "RESULT {\"a\":1}\n" },
        { "plain, 204", PLAIN, 204, NULL, BODY(""),
          "FAULT OUTPUT empty body\n" },
    };

    (void) state;

    CHECK(answers);
}


static void
test_status(void **state)
{
    static const answer_t  answers[] = {
        { "202", TOOL, 202, "text/plain", BODY("Accepted"), "DETACHED \n" },
        { "202, broke off", TOOL, 202, NULL, BODY(""), "DETACHED \n",
          MCP_FAULT_BACKEND_FAILED },
        { "redirect", TOOL, 302, "text/html", BODY("<p>elsewhere</p>"),
          "FAULT FAILED redirect\n" },
        { "interim", TOOL, 103, NULL, BODY(""),
          "FAULT FAILED no final status\n" },
        { "no answer", TOOL, 0, NULL, BODY(""), "FAULT FAILED no answer\n" },
        { "refused", TOOL, 0, NULL, BODY(""), "FAULT TIMEOUT broke off\n",
          MCP_FAULT_BACKEND_TIMEOUT },

        { "text", TOOL, 500, "text/plain", BODY("out of luck\n"),
          "RESULT " FAILED("out of luck\\n") "\n" },
        { "HTML", TOOL, 404, "text/html", BODY("<h1>no</h1>"),
          "RESULT " FAILED("<h1>no</h1>") "\n" },
        { "empty", TOOL, 503, "text/plain", BODY(""),
          "RESULT " FAILED("HTTP 503") "\n" },
        { "a status of one's own", TOOL, 599, NULL, BODY(""),
          "RESULT " FAILED("HTTP 599") "\n" },
        { "binary", TOOL, 502, "image/gif", BODY("GIF89a"),
          "RESULT " FAILED("HTTP 502") "\n" },
        { "no type", TOOL, 500, NULL, BODY("oops"),
          "RESULT " FAILED("oops") "\n" },
        { "JSON-RPC error", TOOL, 400, JSON, BODY(RPC_ERROR),
          "ERROR " ERROR "\n" },
        { "JSON-RPC error, no type", TOOL, 400, NULL, BODY(RPC_ERROR),
          "ERROR " ERROR "\n" },
        { "result", TOOL, 500, JSON, BODY("{\"content\":\n[]}"),
          "RESULT {\"isError\":true,\"content\": []}\n" },
        { "result, response", TOOL, 500, JSON,
          BODY("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}"),
          "RESULT {\"isError\":true,\"content\":[]}\n" },
        { "result that says so", TOOL, 500, JSON,
          BODY("{\"content\":[],\"isError\":true}"),
          "RESULT {\"content\":[],\"isError\":true}\n" },
        { "other JSON", TOOL, 422, "application/problem+json",
          BODY("{\"title\":\"no\"}"),
          "RESULT " FAILED("{\\\"title\\\":\\\"no\\\"}") "\n" },
        { "other JSON, two lines", TOOL, 422, JSON, BODY("[\n1]"),
          "RESULT " FAILED("[\\n1]") "\n" },
        { "broken JSON", TOOL, 500, JSON, BODY("{\"a\""),
          "RESULT " FAILED("{\\\"a\\\"") "\n" },
        { "empty JSON", TOOL, 500, JSON, BODY(""),
          "RESULT " FAILED("HTTP 500") "\n" },
        { "input", TOOL, 500, JSON,
          BODY("{\"resultType\":\"input_required\",\"requestState\":\"\"}"),
          "RESULT " FAILED("{\\\"resultType\\\":\\\"input_required\\\","
                           "\\\"requestState\\\":\\\"\\\"}") "\n" },
        { "broke off", TOOL, 500, "text/plain", BODY("out of"),
          "FAULT TIMEOUT broke off\n", MCP_FAULT_BACKEND_TIMEOUT },
        { "larger than may be", TOOL, 500, "text/plain", BODY("hell\xc3\xb6"),
          "RESULT " FAILED("hell") "\n", .max = 5 },
        { "larger than may be, ill-formed", TOOL, 500, "text/plain",
          BODY("hel\x80\x80\x80\x80"),
          "RESULT " FAILED("hel\xef\xbf\xbd\xef\xbf\xbd") "\n", .max = 5 },
        { "larger than may be, whole character", TOOL, 500, "text/plain",
          BODY("hel\xc3\xb6o"), "RESULT " FAILED("hel\xc3\xb6") "\n",
          .max = 5 },
        { "larger than may be, latin1", TOOL, 500,
          "text/plain;charset=latin1", BODY("hel\xc3\xb6"),
          "RESULT " FAILED("hel\xc3\x83") "\n", .max = 4 },
        { "larger than may be, JSON", TOOL, 500, JSON,
          BODY("{\"content\":[]}  "),
          "RESULT " FAILED("{\\\"content\\\":[]}") "\n", .max = 14 },

        { "lines, result", TOOL, 500, LINES,
          BODY(PROGRESS "\n{\"content\":[]}\n"),
          PROGRESSED "RESULT {\"isError\":true,\"content\":[]}\n" },
        { "lines, error", TOOL, 500, LINES, BODY(RPC_ERROR),
          "ERROR " ERROR "\n" },
        { "lines, nothing", TOOL, 500, LINES, BODY(""),
          "RESULT " FAILED("HTTP 500") "\n" },
        { "lines, broke off", TOOL, 500, LINES, BODY(""),
          "FAULT TIMEOUT broke off\n", MCP_FAULT_BACKEND_TIMEOUT },
        { "lines, something", TOOL, 500, LINES, BODY("oops\n"),
          "RESULT " FAILED("oops") "\n" },
        { "event, two lines", TOOL, 500, SSE,
          BODY("data: {\ndata: \"content\":[]}\n\n"),
          "RESULT {\"isError\":true, \"content\":[]}\n" },
        { "event, other JSON", TOOL, 500, SSE,
          BODY("data: {\ndata: \"a\":[]}\n\n"),
          "RESULT " FAILED("{ \\\"a\\\":[]}") "\n" },

        { "resource, 404", RESOURCE, 404, "text/html", BODY("<h1>"),
          "FAULT RESOURCE_UNKNOWN HTTP 404\n" },
        { "resource, 404 in JSON", RESOURCE, 404, JSON, BODY("{}"),
          "FAULT RESOURCE_UNKNOWN HTTP 404\n" },
        { "resource, JSON-RPC error", RESOURCE, 404, JSON, BODY(RPC_ERROR),
          "ERROR " ERROR "\n" },
        { "resource, 500", RESOURCE, 500, "text/plain", BODY("x"),
          "FAULT FAILED HTTP 500\n" },
        { "prompt, 404", PROMPT, 404, NULL, BODY(""),
          "FAULT PROMPT_UNKNOWN HTTP 404\n" },
        { "prompt, lines, 404", PROMPT, 404, LINES, BODY("{}\n"),
          "FAULT PROMPT_UNKNOWN HTTP 404\n" },
        { "prompt, 403", PROMPT, 403, JSON, BODY("{\"content\":[]}"),
          "FAULT FAILED HTTP 403\n" },
        { "plain, 404", PLAIN, 404, "text/plain", BODY("x"),
          "FAULT FAILED HTTP 404\n" },
        { "plain, 418", PLAIN, 418, NULL, BODY("x"),
          "FAULT FAILED HTTP error\n" },
    };

    (void) state;

    CHECK(answers);
}


/* Of a large error page a model sees the beginning, whole characters only. */

static void
test_error_page(void **state)
{
    size_t                i;
    test_mem_t            tm;
    static char           body[70000], expected[140000];
    static transcript_t   t;

    answer_t  a = { "error page", TOOL, 500, "text/html", body, sizeof(body),
                    expected, .max = 1024 * 1024 };

    (void) state;

    /* the third of three bytes would be one too many */

    memset(body, 'x', sizeof(body));
    memcpy(body + 65534, "\xe2\x82\xac", 3);

    i = (size_t) sprintf(expected, "RESULT {\"content\":[{\"type\":\"text\","
                         "\"text\":\"");
    memset(expected + i, 'x', 65534);
    strcpy(expected + i + 65534, "\"}],\"isError\":true}\n");

    test_mem_init(&tm);

    assert_int_equal(play(&tm, &a, WHOLE, 0, &t), MCP_OK);
    check_transcript(&a, "whole", 0, &t);

    assert_int_equal(play(&tm, &a, BYTES, 0, &t), MCP_OK);
    check_transcript(&a, "byte by byte", 0, &t);

    /* JSON is read to its end before it is shown as text */

    a.type = JSON;

    assert_int_equal(play(&tm, &a, WHOLE, 0, &t), MCP_OK);
    check_transcript(&a, "as JSON", 0, &t);

    assert_int_equal(tm.live, 0);
    check_memory(&a, WHOLE, &t);
}


/* What grows most by being wrapped has a limit as well. */

static void
test_wrapped_limit(void **state)
{
    test_mem_t            tm;
    static char           body[4000];
    static transcript_t   t;

    answer_t  a = { "controls", TOOL, 200, "text/plain", body, sizeof(body),
                    "FAULT TOO_LARGE too large once wrapped\n",
                    .max = sizeof(body) };

    (void) state;

    memset(body, 1, sizeof(body));

    test_mem_init(&tm);
    assert_int_equal(play(&tm, &a, WHOLE, 0, &t), MCP_OK);
    check_transcript(&a, "whole", 0, &t);

    /* replacements too */

    memset(body, 0xff, sizeof(body));

    assert_int_equal(play(&tm, &a, WHOLE, 0, &t), MCP_OK);
    check_transcript(&a, "replaced", 0, &t);

    /* base64 never meets it */

    a.type = "image/png";
    a.len = 0;
    a.max = 1;

    for (a.len = 1; a.len < 600; a.len += 7) {
        a.max = a.len;
        assert_int_equal(play(&tm, &a, WHOLE, 0, &t), MCP_OK);
        assert_memory_equal(t.text, "RESULT ", 7);
    }

    assert_int_equal(tm.live, 0);
}


/* A long stream: every message in order, memory bounded by what is unread. */

static void
test_long_stream(void **state)
{
    int                 rc, len;
    size_t              i, n, pos, size, got;
    char               *all, number[32];
    test_mem_t          tm;
    mcp_backend_t      *b;
    mcp_backend_msg_t   msg;

    static const size_t  steps[] = { 1, 7, 100, 4096, 70000, 1000000 };

    (void) state;

    all = malloc(1000000);
    assert_non_null(all);

    for (n = 0, size = 0; n < 3000; n++) {
        size += (size_t) sprintf(all + size,
                                 "{\"jsonrpc\":\"2.0\",\"method\":"
                                 "\"notifications/progress\",\"params\":"
                                 "{\"progressToken\":%zu,\"progress\":1}}\n",
                                 n);
    }

    for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        test_mem_init(&tm);

        b = mcp_backend_create(&tm.mem, MCP_BACKEND_TOOL, mcp_null_str, 1024,
                               20);
        assert_non_null(b);
        assert_int_equal(mcp_backend_head(b, 200, mcp_str(LINES)), MCP_OK);

        got = 0;

        for (pos = 0; pos < size; pos += n) {
            n = size - pos < steps[i] ? size - pos : steps[i];

            assert_int_equal(mcp_backend_write(b, all + pos, n), MCP_OK);

            while ((rc = mcp_backend_read(b, &msg)) == MCP_OK) {
                len = sprintf(number, "%zu", got++);

                assert_int_equal(msg.kind, MCP_BACKEND_NOTIFICATION);
                assert_int_equal(msg.progress_token.raw.len, len);
                assert_memory_equal(msg.progress_token.raw.data, number, len);

                /* now and then less than all is read */

                if (got % 3 == 0 && pos + n < size) {
                    rc = MCP_AGAIN;
                    break;
                }
            }

            assert_int_equal(rc, MCP_AGAIN);
        }

        assert_int_equal(got, 3000);

        mcp_backend_free(b);
        assert_int_equal(tm.live, 0);
    }

    free(all);
}


/* Messages that come whole, whatever the answer itself has been. */

static void
test_message(void **state)
{
    char                text[] = PROGRESS;
    test_mem_t          tm;
    unsigned long       n;
    mcp_backend_t      *b;
    mcp_backend_msg_t   msg;

    (void) state;

    test_mem_init(&tm);

    b = mcp_backend_create(&tm.mem, MCP_BACKEND_TOOL, mcp_null_str, 200, 20);
    assert_non_null(b);

    assert_int_equal(mcp_backend_message(b, mcp_str("{\"a\":\n1}"), &msg),
                     MCP_OK);
    assert_int_equal(msg.kind, MCP_BACKEND_RESULT);
    assert_str_is(msg.body, "{\"a\": 1}");

    assert_int_equal(mcp_backend_head(b, 202, mcp_null_str), MCP_OK);
    assert_int_equal(mcp_backend_end(b, MCP_FAULT_NONE, NULL), MCP_OK);
    assert_int_equal(mcp_backend_read(b, &msg), MCP_OK);
    assert_int_equal(msg.kind, MCP_BACKEND_DETACHED);
    assert_int_equal(mcp_backend_read(b, &msg), MCP_DONE);

    /* the text may go before the message does */

    assert_int_equal(mcp_backend_message(b, test_str(text), &msg), MCP_OK);
    memset(text, 'x', sizeof(text));
    assert_int_equal(msg.kind, MCP_BACKEND_NOTIFICATION);
    assert_str_is(msg.method, "notifications/progress");
    assert_str_is(msg.progress_token.raw, "7");
    assert_str_is(msg.body, PROGRESS);

    assert_int_equal(mcp_backend_message(b, mcp_str(RESULT), &msg), MCP_OK);
    assert_int_equal(msg.kind, MCP_BACKEND_RESULT);
    assert_int_equal(mcp_backend_message(b, mcp_str(RPC_ERROR), &msg),
                     MCP_OK);
    assert_int_equal(msg.kind, MCP_BACKEND_ERROR);

    assert_int_equal(mcp_backend_message(b, mcp_null_str, &msg), MCP_OK);
    assert_int_equal(msg.kind, MCP_BACKEND_FAULT);
    assert_int_equal(msg.fault, MCP_FAULT_BACKEND_OUTPUT);

    assert_int_equal(mcp_backend_message(b, mcp_str("[]"), &msg), MCP_OK);
    assert_int_equal(msg.kind, MCP_BACKEND_FAULT);

    assert_int_equal(mcp_backend_message(b,
                                         mcp_str(PROGRESS PROGRESS PROGRESS),
                                         &msg),
                     MCP_OK);
    assert_int_equal(msg.kind, MCP_BACKEND_FAULT);
    assert_int_equal(msg.fault, MCP_FAULT_BACKEND_TOO_LARGE);

    mcp_backend_free(b);
    assert_int_equal(tm.live, 0);

    for (n = 1; /* void */ ; n++) {
        test_mem_init(&tm);
        b = mcp_backend_create(&tm.mem, MCP_BACKEND_TOOL, mcp_null_str, 200,
                               20);
        assert_non_null(b);
        tm.fail_at = n;

        if (mcp_backend_message(b, mcp_str(PROGRESS), &msg) == MCP_OK) {
            assert_int_equal(tm.failed, 0);
            mcp_backend_free(b);
            break;
        }

        assert_int_equal(tm.failed, 1);
        mcp_backend_free(b);
        assert_int_equal(tm.live, 0);
    }

    mcp_backend_free(NULL);
}


/* A stream that has grown gives its memory back while it is idle. */

static void
test_idle(void **state)
{
    char                *large;
    test_mem_t           tm;
    mcp_backend_t       *b;
    mcp_backend_msg_t    msg;

    (void) state;

    test_mem_init(&tm);

    large = malloc(100000);
    assert_non_null(large);
    memset(large, ' ', 100000);
    memcpy(large, PROGRESS, sizeof(PROGRESS) - 1);
    large[99999] = '\n';

    b = mcp_backend_create(&tm.mem, MCP_BACKEND_TOOL, mcp_null_str, 1000000,
                           20);
    assert_non_null(b);
    assert_int_equal(mcp_backend_head(b, 200, mcp_str(LINES)), MCP_OK);
    assert_int_equal(mcp_backend_write(b, large, 100000), MCP_OK);
    assert_int_equal(mcp_backend_read(b, &msg), MCP_OK);
    assert_str_is(msg.body, PROGRESS);
    assert_int_equal(mcp_backend_read(b, &msg), MCP_AGAIN);

    /* nothing but itself */

    assert_int_equal(tm.live, 1);

    assert_int_equal(mcp_backend_write(b, RESULT "\n", sizeof(RESULT)),
                     MCP_OK);
    assert_int_equal(mcp_backend_read(b, &msg), MCP_OK);
    assert_str_is(msg.body, "{\"a\":1}");
    assert_int_equal(mcp_backend_head(b, 500, mcp_null_str), MCP_OK);
    assert_int_equal(mcp_backend_read(b, &msg), MCP_DONE);

    mcp_backend_free(b);
    free(large);

    assert_int_equal(tm.live, 0);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_input),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_content),
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_error_page),
        cmocka_unit_test(test_wrapped_limit),
        cmocka_unit_test(test_long_stream),
        cmocka_unit_test(test_message),
        cmocka_unit_test(test_idle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* What a POSTed message means: each branch with its status and code. */

#include "core_cases.h"


static const char  elsewhere[] =
    "{\"resourceTemplates\":[{\"uriTemplate\":\"test://t/{id}\","
    "\"name\":\"t\"}]}";


typedef struct {
    const char  *body;
    int          status;
    const char  *part;
} answer_case_t;


static const answer_case_t  answer_cases[] = {

    { PING, 200, PONG },
    { "{\"jsonrpc\":\"2.0\",\"id\":\"x\\u0041\",\"method\":\"ping\"}", 200,
      "{\"jsonrpc\":\"2.0\",\"id\":\"x\\u0041\",\"result\":{}}" },
    { REQUEST("-5", "ping", "{\"x\":1}"), 200, "\"id\":-5,\"result\":{}" },

    /* broken JSON, broken JSON-RPC */

    { "{", 400, "-32700" },
    { "nonsense", 400, "-32700" },
    { PING PING, 400, "-32700" },
    { "1", 400, "-32600" },
    { "{}", 400, "-32600" },
    { "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", 400, "-32600" },
    { "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", 400, "-32600" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", 400, "-32600" },
    { "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", 400, "-32600" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}", 400, "-32600" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", 400,
      "-32600" },

    /* methods */

    { REQUEST("1", "no/such", "{}"), 200, "-32601" },
    { REQUEST("1", "Ping", "{}"), 200, "-32601" },
    { REQUEST("1", "notifications/cancelled", "{\"requestId\":1}"), 200,
      "-32601" },
    { REQUEST("1", "elicitation/create", "{}"), 200, "-32601" },

    /* quiet ones */

    { NOTE("notifications/initialized", "{}"), 202, NULL },
    { NOTE("notifications/x", "{}"), 202, NULL },
    { NOTE("ping", "{}"), 202, NULL },
    { NOTE("notifications/cancelled", "{}"), 202, NULL },
    { NOTE("notifications/cancelled", "{\"requestId\":{}}"), 202, NULL },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 202, NULL },
    { "{\"jsonrpc\":\"2.0\",\"id\":\"\",\"result\":{}}", 202, NULL },
    { "{\"jsonrpc\":\"2.0\",\"id\":\"AAAAAAAAAAAAAAAAAAAAAA.1\","
      "\"result\":{}}", 202, NULL },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,"
      "\"message\":\"\"}}", 202, NULL },

    /* lists; a page is one item */

    { REQUEST("1", "tools/list", "{}"), 200, "\"name\":\"echo\"" },
    { REQUEST("1", "prompts/list", "{}"), 200,
      "\"result\":{\"prompts\":[{\"name\":\"p\"}]}" },
    { REQUEST("1", "resources/list", "{}"), 200, "\"uri\":\"test://a\"" },
    { REQUEST("1", "resources/templates/list", "{}"), 200,
      "\"uriTemplate\":\"test://t/{id}\"" },
    { REQUEST("1", "tools/list", "{\"cursor\":\"bogus\"}"), 200, "-32602" },
    { REQUEST("1", "tools/list", "{\"cursor\":\"\"}"), 200, "-32602" },
    { REQUEST("1", "tools/list", "{\"cursor\":5}"), 200,
      "Invalid cursor" },
    { REQUEST("1", "tools/list", "{\"cursor\":null}"), 200,
      "Invalid cursor" },

    /* tools, prompts */

    { REQUEST("1", "tools/call", "{\"name\":\"none\"}"), 200,
      "Unknown tool: none" },
    { REQUEST("1", "tools/call", "{}"), 200, "-32602" },
    { REQUEST("1", "tools/call", "{\"name\":\"\"}"), 200, "-32602" },
    { REQUEST("1", "tools/call", "{\"name\":7}"), 200,
      "\\\"name\\\" must be a string" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}", 200,
      "-32602" },
    { REQUEST("1", "tools/call", "{\"name\":\"echo\",\"arguments\":[]}"), 200,
      "\\\"arguments\\\" must be an object" },
    { REQUEST("1", "tools/call", "{\"name\":\"echo\",\"arguments\":null}"),
      200, "-32602" },
    { REQUEST("1", "tools/call",
              "{\"name\":\"echo\",\"requestState\":\"x\"}"), 200, "-32602" },
    { REQUEST("1", "tools/call",
              "{\"name\":\"echo\",\"inputResponses\":{}}"), 200, "-32602" },
    { REQUEST("1", "prompts/get", "{\"name\":\"none\"}"), 200,
      "Unknown prompt: none" },
    { REQUEST("1", "prompts/get", "{\"name\":\"echo\"}"), 200, "-32602" },

    /* resources */

    { REQUEST("1", "resources/read", "{\"uri\":\"test://zzz\"}"), 200,
      "-32002" },
    { REQUEST("1", "resources/read", "{}"), 200, "-32602" },
    { REQUEST("1", "resources/read", "{\"uri\":[]}"), 200,
      "\\\"uri\\\" must be a string" },
    { REQUEST("1", "resources/subscribe", "{\"uri\":\"test://zzz\"}"), 200,
      "-32002" },
    { REQUEST("1", "resources/unsubscribe", "{\"uri\":\"test://zzz\"}"), 200,
      "-32002" },

    /* completion */

    { REQUEST("1", "completion/complete", "{}"), 200, "-32602" },
    { REQUEST("1", "completion/complete", "{\"ref\":\"p\"}"), 200, "-32602" },
    { REQUEST("1", "completion/complete",
              "{\"ref\":{\"type\":\"ref/other\",\"name\":\"p\"}}"), 200,
      "-32602" },
    { REQUEST("1", "completion/complete",
              "{\"ref\":{\"type\":\"ref/prompt\",\"uri\":\"p\"}}"), 200,
      "-32602" },
    { REQUEST("1", "completion/complete",
              "{\"ref\":{\"type\":\"ref/resource\",\"name\":\"p\"}}"), 200,
      "-32602" },
    { REQUEST("1", "completion/complete",
              "{\"ref\":{\"type\":\"ref/prompt\",\"name\":1}}"), 200,
      "-32602" },

    /* log levels */

    { REQUEST("1", "logging/setLevel", "{\"level\":\"error\"}"), 200,
      "\"result\":{}" },
    { REQUEST("1", "logging/setLevel", "{\"level\":\"loud\"}"), 200,
      "Invalid log level" },
    { REQUEST("1", "logging/setLevel", "{\"level\":3}"), 200, "-32602" },
    { REQUEST("1", "logging/setLevel", "{}"), 200, "-32602" }
};


static void
test_answers(void **state)
{
    size_t  i;

    (void) state;

    for (i = 0; i < ITEMS(answer_cases); i++) {
        ask(session, answer_cases[i].body, answer_cases[i].status,
            answer_cases[i].part);
    }

    assert_int_equal(stats().streams, 0);
    assert_int_equal(stats().counter[MCP_COUNT_CALLS], 0);
    quiet();
}


#define TOKEN(token)                                                         \
    REQUEST("7", "tools/call",                                               \
            "{\"name\":\"echo\",\"_meta\":{\"progressToken\":" token "}}")

#define BAD_TOKEN                                                            \
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32602,\"message\":"    \
    "\"Invalid params: \\\"progressToken\\\" must be a short string or an "     \
    "integer\"}}"

/* What schema, ProgressToken, does not allow, or what is too long. */
static void
test_progress_tokens(void **state)
{
    static const char *const  bad[] = {
        TOKEN("null"), TOKEN("true"), TOKEN("[\r\n\r\n1]"), TOKEN("[1,\n2]"),
        TOKEN("{\r\n\"a\":1}"), TOKEN("1.5"), TOKEN("1e3"), TOKEN("[]"),
        TOKEN("\"\x7f\""),
        REQUEST("7", "ping", "{\"_meta\":{\"progressToken\":[]}}"),
        REQUEST("7", "tools/list", "{\"_meta\":{\"progressToken\":{}}}"),
        REQUEST("7", "initialize", "{\"protocolVersion\":\"2025-06-18\","
                "\"_meta\":{\"progressToken\":{}}}")
    };

    static const char *const  good[] = { "\"\"", "7", "-7", "\"\\r\\n\"" };

    char    body[700], old[MCP_SESSION_TEXT_MAX];
    size_t  i, n;

    (void) state;

    for (i = 0; i < ITEMS(bad); i++) {
        ask(session, bad[i], 200, BAD_TOKEN);
    }

    for (n = MCP_RPC_MAX_ID - 2; n <= MCP_RPC_MAX_ID - 1; n++) {
        snprintf(body, sizeof(body), TOKEN("\"%0*d\""), (int) n, 0);

        if (n == MCP_RPC_MAX_ID - 1) {
            ask(session, body, 200, BAD_TOKEN);
            continue;
        }

        client_post(&d, 0, &a, session, body);
        assert_int_equal(d.n_jobs, 1);
        backend_answer(&d, d.jobs[0], RESULT);
        client_close(&d, &a);
    }

    for (i = 0; i < ITEMS(good); i++) {
        snprintf(body, sizeof(body), TOKEN("%s"), good[i]);
        client_post(&d, 0, &a, session, body);
        assert_int_equal(d.n_jobs, 1);
        fact_is(&d.jobs[0]->facts, MCP_FACT_PROGRESS_TOKEN, good[i]);
        backend_answer(&d, d.jobs[0], RESULT);
        client_close(&d, &a);
    }

    /* in a batch it is that request's, and of a notification nobody's */

    client_open(&d, old, OLD, ALL);
    client_post(&d, 0, &a, old, "[" TOKEN("[\r\n1]") "," CALL8 ","
                NOTE("ping", "{\"_meta\":{\"progressToken\":[]}}") "]");
    assert_int_equal(d.n_jobs, 1);
    fact_is(&d.jobs[0]->facts, MCP_FACT_REQUEST_ID, "8");
    backend_answer(&d, d.jobs[0], RESULT);
    has(a.text, "[" BAD_TOKEN ",{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":");
    client_close(&d, &a);

    quiet();
}


/* What goes to a backend: the request as it came, and facts about it. */
static void
test_calls(void **state)
{
    static const struct {
        const char  *method;
        const char  *params;
        const char  *name;
        const char  *result;
    } calls[] = {
        { "tools/call", "{\"name\":\"ech\\u006f\"}", "echo",
          "{\"content\":[]}" },
        { "prompts/get", "{\"name\":\"p\",\"arguments\":{\"a\":\"b\"}}", "p",
          "{\"messages\":[]}" },
        { "resources/read", "{\"uri\":\"test://a\"}", "test://a",
          "{\"contents\":[]}" },
        { "resources/read", "{\"uri\":\"test://t/5\"}", "test://t/5",
          "{\"contents\":[]}" },
        { "resources/subscribe", "{\"uri\":\"test://t/5\"}", "test://t/5",
          "{}" },
        { "completion/complete",
          "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},"
          "\"argument\":{\"name\":\"a\",\"value\":\"b\"}}", "p",
          "{\"completion\":{\"values\":[]}}" },
        { "completion/complete",
          "{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"test://t/{id}\"}}",
          "test://t/{id}", "{\"completion\":{\"values\":[]}}" }
    };

    size_t  i;
    char    body[512];

    (void) state;

    for (i = 0; i < ITEMS(calls); i++) {
        snprintf(body, sizeof(body), REQUEST("\"q\"", "%s", "%s"),
                 calls[i].method, calls[i].params);
        client_post(&d, i % 2, &a, session, body);

        if (d.n_jobs != 1) {
            fail_msg("%s: %s", body, a.text);
        }

        assert_string_equal(d.last_body, body);
        fact_is(&d.jobs[0]->facts, MCP_FACT_METHOD, calls[i].method);
        fact_is(&d.jobs[0]->facts, MCP_FACT_NAME, calls[i].name);
        fact_is(&d.jobs[0]->facts, MCP_FACT_REQUEST_ID, "\"q\"");
        fact_is(&d.jobs[0]->facts, MCP_FACT_PROGRESS_TOKEN, "");
        fact_is(&d.jobs[0]->facts, MCP_FACT_PROTOCOL_VERSION, NEW);
        fact_is(&d.jobs[0]->facts, MCP_FACT_CLIENT_CAPABILITIES, ALL);

        backend_json(&d, calls[i].result);
        snprintf(body, sizeof(body),
                 "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":%s}",
                 calls[i].result);
        assert_string_equal(a.text, body);
        client_close(&d, &a);
    }

    quiet();
}


static void
test_capabilities_fact(void **state)
{
    static const struct {
        const char  *declared;
        const char  *fact;
    } cases[] = {
        { "{}", "{}" },
        { "{\"roots\":{\"listChanged\":true}}", "{\"roots\":{}}" },
        { "{\"sampling\":{\"tools\":{}}}", "{\"sampling\":{\"tools\":{}}}" },
        { "{\"elicitation\":{}}", "{\"elicitation\":{}}" },
        { "{\"elicitation\":{\"url\":{}}}", "{\"elicitation\":{\"url\":{}}}" },
        { "{\"elicitation\":{\"url\":{},\"form\":{}},\"roots\":{}}",
          "{\"elicitation\":{\"form\":{},\"url\":{}},\"roots\":{}}" }
    };

    size_t  i;
    char    own[MCP_SESSION_TEXT_MAX];

    (void) state;

    for (i = 0; i < ITEMS(cases); i++) {
        client_open(&d, own, NEW, cases[i].declared);
        client_post(&d, 0, &a, own, CALL);
        fact_is(&d.jobs[0]->facts, MCP_FACT_CLIENT_CAPABILITIES,
                cases[i].fact);
        backend_json(&d, RESULT);
        client_close(&d, &a);
    }
}


static void
test_pages(void **state)
{
    char  *p, cursor[128], body[256];
    int    pages;

    (void) state;

    strcpy(body, REQUEST("1", "tools/list", "{}"));

    for (pages = 0; pages < 10; pages++) {
        client_post(&d, pages % 2, &a, session, body);
        assert_int_equal(a.status, 200);
        assert_int_equal(count(a.text, "\"name\":"), 1);
        has(a.text, pages == 0 ? "\"echo\"" : "\"other\"");

        p = strstr(a.text, "\"nextCursor\":\"");

        if (p == NULL) {
            break;
        }

        p += strlen("\"nextCursor\":\"");
        snprintf(cursor, sizeof(cursor), "%.*s", (int) strcspn(p, "\""), p);
        snprintf(body, sizeof(body),
                 REQUEST("1", "tools/list", "{\"cursor\":\"%s\"}"), cursor);
        client_close(&d, &a);
    }

    client_close(&d, &a);
    assert_int_equal(pages, 1);

    /* one list's cursor is none of another's */

    snprintf(body, sizeof(body),
             REQUEST("1", "prompts/list", "{\"cursor\":\"%s\"}"), cursor);
    ask(session, body, 200, "Invalid cursor");
}


/* A catalog of templates only. */
static void
test_offers(void **state)
{
    char  error[128];

    (void) state;

    mcp_catalog_free(d.catalog);
    assert_int_equal(mcp_catalog_create(&d.te.env.mem, test_str(elsewhere),
                                        &d.catalog, error, sizeof(error)),
                     MCP_OK);
    d.endpoint.catalog = d.catalog;

    ask(session, REQUEST("1", "tools/list", "{}"), 200, "-32601");
    ask(session, REQUEST("1", "prompts/list", "{}"), 200, "-32601");
    ask(session, REQUEST("1", "tools/call", "{\"name\":\"x\"}"), 200,
        "-32601");
    ask(session, REQUEST("1", "prompts/get", "{\"name\":\"x\"}"), 200,
        "-32601");
    ask(session, REQUEST("1", "completion/complete",
                         "{\"ref\":{\"type\":\"ref/prompt\","
                         "\"name\":\"p\"}}"), 200, "-32601");

    /* one capability announces resources and templates */

    ask(session, REQUEST("1", "resources/list", "{}"), 200,
        "\"result\":{\"resources\":[]}");
    ask(session, REQUEST("1", "resources/templates/list", "{}"), 200,
        "test://t/{id}");
    ask(session, REQUEST("1", "resources/read", "{\"uri\":\"x:y\"}"), 200,
        "-32002");

    client_post(&d, 0, &a, session,
                REQUEST("7", "resources/read", "{\"uri\":\"test://t/1\"}"));
    backend_json(&d, "{\"contents\":[]}");
    assert_int_equal(a.status, 200);
    client_close(&d, &a);
}


/* Without a catalog the backend has the lists and knows the names. */
static void
test_no_catalog(void **state)
{
    static const char *const  all[] = {
        REQUEST("7", "tools/list", "{\"cursor\":\"c\"}"),
        REQUEST("7", "prompts/list", "{}"),
        REQUEST("7", "resources/list", "{}"),
        REQUEST("7", "resources/templates/list", "{}"),
        REQUEST("7", "tools/call", "{\"name\":\"whatever\"}"),
        REQUEST("7", "prompts/get", "{\"name\":\"whatever\"}"),
        REQUEST("7", "resources/read", "{\"uri\":\"x:y\"}"),
        REQUEST("7", "completion/complete",
                "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"}}")
    };

    size_t  i;

    (void) state;

    d.endpoint.catalog = NULL;

    for (i = 0; i < ITEMS(all); i++) {
        client_post(&d, 0, &a, session, all[i]);
        assert_string_equal(d.last_body, all[i]);
        backend_json(&d, "{\"x\":1}");
        assert_string_equal(a.text, "{\"jsonrpc\":\"2.0\",\"id\":7,"
                                    "\"result\":{\"x\":1}}");
        client_close(&d, &a);
    }

    ask(session, REQUEST("7", "tools/call", "{}"), 200, "-32602");

    /* and with no backend either, there is nothing */

    d.endpoint.target = MCP_NO_TARGET;

    for (i = 0; i < ITEMS(all); i++) {
        ask(session, all[i], 200, "-32601");
    }

    quiet();
}


static void
test_routes(void **state)
{
    char           error[128];
    mcp_route_t    route;
    mcp_match_t   *match;

    (void) state;

    assert_int_equal(mcp_match_create(&d.te.env.mem, mcp_str("other"),
                                      &match, error, sizeof(error)),
                     MCP_OK);
    route.match = match;
    route.target = 3;
    d.endpoint.routes = &route;
    d.endpoint.n_routes = 1;
    d.endpoint.target = 5;

    client_post(&d, 0, &a, session, CALL8);
    assert_int_equal(d.jobs[0]->target, 3);
    backend_json(&d, RESULT);
    client_close(&d, &a);

    client_post(&d, 0, &a, session, CALL);
    assert_int_equal(d.jobs[0]->target, 5);
    backend_json(&d, RESULT);
    client_close(&d, &a);

    d.endpoint.target = MCP_NO_TARGET;
    ask(session, CALL, 200, "No backend configured");
    has(d.te.last, "tools/call of \"echo\" has no backend");
    quiet();

    mcp_match_free(match);
}


static void
test_initialize(void **state)
{
    static const struct {
        const char  *wanted;
        const char  *got;
    } revisions[] = {
        { NEW, NEW }, { MIDDLE, MIDDLE }, { OLD, OLD },
        { "2024-11-05", NEW }, { "2099-01-01", NEW }, { "x", NEW }
    };

    size_t  i;
    char    body[512];

    (void) state;

    d.endpoint.title = mcp_str("A \"title\"");

    for (i = 0; i < ITEMS(revisions); i++) {
        snprintf(body, sizeof(body),
                 REQUEST("\"i\"", "initialize", "{\"protocolVersion\":\"%s\","
                         "\"capabilities\":{},\"clientInfo\":{}}"),
                 revisions[i].wanted);
        client_post(&d, 0, &a, NULL, body);
        assert_int_equal(a.status, 200);

        snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":\"i\","
                 "\"result\":{\"protocolVersion\":\"%s\",\"capabilities\":{",
                 revisions[i].got);
        has(a.text, body);
        has(a.text, "\"instructions\":\"Be kind.\"}}");
        has(a.text, "\"serverInfo\":{\"name\":\"driver\"");
        assert_int_equal(count(a.text, "\"title\":\"A \\\"title\\\"\""),
                         strcmp(revisions[i].got, OLD) != 0);
        assert_true(a.session[0] != '\0');

        strcpy(body, a.session);
        client_close(&d, &a);
        ask(body, PING, 200, PONG);
    }

    /* a new one does not care for an old session, and no two are alike */

    client_post(&d, 0, &a, session,
                REQUEST("1", "initialize", "{\"protocolVersion\":\"" NEW
                        "\"}"));
    assert_int_equal(a.status, 200);
    assert_string_not_equal(a.session, session);
    client_close(&d, &a);

    /* nothing is stored for who only says hello */

    assert_int_equal(stats().values, 0);
    assert_int_equal(stats().streams, 0);

    ask(NULL, REQUEST("1", "initialize", "{}"), 200, "-32602");
    ask(NULL, REQUEST("1", "initialize", "{\"protocolVersion\":1}"), 200,
        "-32602");
    ask(NULL, NOTE("initialize", "{}"), 400, "-32000");

    /* neither what was drawn before nor anything new */

    d.process[0].worker->n_random = 0;
    d.te.random_rc = MCP_ERR_INTERNAL;
    ask(NULL, REQUEST("1", "initialize", "{\"protocolVersion\":\"" NEW
                      "\"}"), 500, "-32603");

    /* nor is there a call without an id of its own */

    client_post(&d, 0, &a, session, CALL);
    assert_int_equal(a.rc, MCP_ERR_MEMORY);
    client_close(&d, &a);
    d.te.random_rc = MCP_OK;
    quiet();
}


/* --- batches --- */

typedef struct {
    const char  *body;
    int          status;
    const char  *part;
} batch_case_t;

#define N        NOTE("notifications/x", "{}")
#define P(n)     REQUEST(#n, "ping", "{}")

static const batch_case_t  batch_cases[] = {
    { "[]", 400, "-32600" },
    { "[", 400, "-32700" },
    { "[" PING, 400, "-32700" },
    { "[" PING "] x", 400, "-32700" },
    { "[" N "]", 202, NULL },
    { "[" N "," N "]", 202, NULL },
    { "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]", 202, NULL },
    { "[" PING "]", 200, "[" PONG "]" },
    { " [" PING " , " N "]", 200, "[" PONG "]" },
    { "[" P(1) "," P(2) "," P(3) "]", 200,
      "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},"
      "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}},"
      "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}]" },
    { "[1]", 200, "-32600" },
    { "[[]]", 200, "-32600" },
    { "[1," PING "]", 200, PONG "]" },
    { "[{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":5}]", 200, "\"id\":4" },
    { "[" REQUEST("1", "no/such", "{}") "," PING "]", 200, "-32601" },
    { "[" REQUEST("1", "initialize", "{\"protocolVersion\":\"" NEW "\"}")
      "]", 200, "-32600" },
    { "[" REQUEST("1", "tools/call", "{\"name\":\"none\"}") "]", 200,
      "-32602" },
    { "[" N "," N "," N "," N "," N "," N "," N "," N "," N "," N "]", 202,
      NULL },
    { "[" N "," N "," N "," N "," N "," N "," N "," N "," N "," N "," N "]",
      400, "too many messages" }
};


static void
test_batches(void **state)
{
    size_t  i;
    char    old[MCP_SESSION_TEXT_MAX], middle[MCP_SESSION_TEXT_MAX];

    (void) state;

    client_open(&d, old, OLD, ALL);
    client_open(&d, middle, MIDDLE, ALL);

    for (i = 0; i < ITEMS(batch_cases); i++) {
        ask(old, batch_cases[i].body, batch_cases[i].status,
            batch_cases[i].part);

        /* whatever is in it, newer revisions have no batches */

        ask(session, batch_cases[i].body, 400, "batching is not supported");
        ask(middle, batch_cases[i].body, 400, "batching is not supported");
        ask(NULL, batch_cases[i].body, 400, "Mcp-Session-Id");
    }

    assert_int_equal(stats().streams, 0);
    quiet();
}


static void
test_batch_mix(void **state)
{
    char        old[MCP_SESSION_TEXT_MAX];
    mcp_job_t  *one, *two;

    (void) state;

    client_open(&d, old, OLD, ALL);

    client_post(&d, 0, &a, old,
                "[" PING "," N "," CALL "," CALL8 ",{\"id\":1}]");
    assert_int_equal(d.n_jobs, 2);
    one = d.jobs[0];
    two = d.jobs[1];
    fact_is(&one->facts, MCP_FACT_REQUEST_ID, "7");
    fact_is(&two->facts, MCP_FACT_REQUEST_ID, "8");
    fact_is(mcp_exchange_facts(a.x), MCP_FACT_METHOD, "batch");

    backend_answer(&d, two, RESULT);
    assert_int_equal(a.status, 0);
    backend_answer(&d, one, RESULT);

    assert_int_equal(a.status, 200);
    has(a.text, "[" PONG "," ANSWER ",{\"jsonrpc\":\"2.0\",\"id\":8,"
                "\"result\":" RESULT "},{");
    has(a.text, "-32600");
    assert_int_equal(a.text[a.len - 1], ']');
    client_close(&d, &a);
    quiet();
}


static void
test_batch_streams(void **state)
{
    char        old[MCP_SESSION_TEXT_MAX];
    mcp_job_t  *job;

    (void) state;

    client_open(&d, old, OLD, ALL);

    client_post(&d, 0, &a, old, "[" PING "," CALL "]");
    job = d.jobs[0];
    mcp_job_head(job, 200, mcp_str("application/x-ndjson"));
    backend_say(&d, job, PROGRESS(1) "\n");
    has(a.text, ".1\ndata: " PONG "\n\n");
    has(a.text, ".2\ndata: " PROGRESS(1) "\n\n");
    end_with_result(job);
    has(a.text, ".3\ndata: " ANSWER "\n\n");
    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    quiet();
}


/* One request is cancelled, before or after the batch has a stream, by the
 * batch itself even; the others are answered. */
static void
test_batch_cancel(void **state)
{
    int         late;
    char        old[MCP_SESSION_TEXT_MAX];
    mcp_job_t  *job;

    (void) state;

    client_open(&d, old, OLD, ALL);

    for (late = 0; late < 3; late++) {

        client_post(&d, 0, &a, old,
                    late == 2 ? "[" CALL "," CALL8 "," CANCEL7 "]"
                              : "[" CALL "," CALL8 "]");

        if (late == 1) {
            driver_wait(&d, 1500);
            assert_int_equal(d.n_jobs, 2);
        }

        if (late != 2) {
            cancel(1, old, "7");
        }

        driver_wait(&d, 1500);
        assert_int_equal(d.n_jobs, 1);
        assert_int_equal(d.aborts, late + 1);
        job = d.jobs[0];
        fact_is(&job->facts, MCP_FACT_REQUEST_ID, "8");
        assert_int_equal(a.ended, 0);

        backend_json(&d, RESULT);
        assert_int_equal(a.ended, 1);
        has(a.text, "\"id\":8,\"result\"");
        has_not(a.text, "\"id\":7");
        client_close(&d, &a);
        quiet();
    }

    /* all of them */

    client_post(&d, 0, &a, old, "[" CALL "," CALL8 "]");
    driver_wait(&d, 1500);
    cancel(0, old, "8");
    cancel(1, old, "7");
    assert_int_equal(a.ended, 1);
    has_not(a.text, "data:");
    client_close(&d, &a);
    quiet();
}


static void
test_counters(void **state)
{
    mcp_store_stats_t  before, after;

    (void) state;

    before = stats();
    ask(session, PING, 200, PONG);
    ask(session, "{", 400, "-32700");
    ask(session, REQUEST("1", "x", "{}"), 200, "-32601");
    client_post(&d, 1, &a, session, CALL);
    assert_int_equal(stats().counter[MCP_COUNT_CALLS_LIVE], 1);
    backend_json(&d, "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":"
                     "{\"code\":1,\"message\":\"m\"}}");
    client_close(&d, &a);
    after = stats();

    assert_int_equal(after.counter[MCP_COUNT_REQUESTS]
                     - before.counter[MCP_COUNT_REQUESTS], 4);
    assert_int_equal(after.counter[MCP_COUNT_MESSAGES]
                     - before.counter[MCP_COUNT_MESSAGES], 3);
    assert_int_equal(after.counter[MCP_COUNT_ERRORS]
                     - before.counter[MCP_COUNT_ERRORS], 3);
    assert_int_equal(after.counter[MCP_COUNT_CALLS], 1);
    assert_int_equal(after.counter[MCP_COUNT_CALLS_FAILED], 1);
    assert_int_equal(after.counter[MCP_COUNT_CALLS_LIVE], 0);
    assert_int_equal(after.counter[MCP_COUNT_SESSIONS], 1);
}


/* --- memory --- */

static void
many(const char *of, const char *body)
{
    size_t  i;

    client_post(&d, 0, &a, of, body);

    for (i = d.n_jobs; i; i = d.n_jobs) {
        mcp_job_head(d.jobs[0], 200, mcp_str("application/json"));
        backend_say(&d, d.jobs[0], RESULT);

        if (d.n_jobs == i) {
            backend_end(&d, d.jobs[0], MCP_FAULT_NONE);
        }
    }

    client_close(&d, &a);
}


static void
test_no_memory(void **state)
{
    static const char *const  bodies[] = {
        REQUEST("1", "initialize", "{\"protocolVersion\":\"" NEW
                "\",\"capabilities\":" ALL "}"),
        REQUEST("1", "tools/list", "{}"),
        REQUEST("1", "logging/setLevel", "{\"level\":\"\\u0065rror\"}"),
        REQUEST("1", "tools/call", "{\"name\":\"\\u006eone\"}"),
        CALL,
        "[" PING "," CALL "," CALL8 "," CANCEL7 ",1,"
        REQUEST("2", "tools/list", "{}") "]",
        "[" N "," N "]"
    };

    size_t         i;
    unsigned long  k;
    char           old[MCP_SESSION_TEXT_MAX];

    (void) state;

    for (i = 0; i < ITEMS(bodies); i++) {
        for (k = 1; k < 1000; k++) {

            /* a session would not live as long as all of this */

            client_open(&d, old, OLD, ALL);
            d.te.tm.failed = 0;
            d.te.tm.fail_at = k;
            many(old, bodies[i]);
            d.te.tm.fail_at = 0;
            driver_wait(&d, 100000);
            quiet();
            assert_int_equal(stats().streams, 0);

            if (d.te.tm.failed == 0) {
                assert_true(a.status == 200 || a.status == 202);
                break;
            }
        }

        assert_true(k > 1 && k < 1000);
    }
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        test(test_answers),
        test(test_progress_tokens),
        test(test_calls),
        test(test_capabilities_fact),
        test(test_pages),
        test(test_offers),
        test(test_no_catalog),
        test(test_routes),
        test(test_initialize),
        test(test_batches),
        test(test_batch_mix),
        test(test_batch_streams),
        test(test_batch_cancel),
        test(test_counters),
        test(test_no_memory)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* The HTTP rules: methods, headers, origins, sessions; GET is the consumer's,
 * the meaning of a POST the dispatcher's. */

#include "core_cases.h"


/* One request: headers as pairs, NULL at the end.  "S" in a value's place
 * stands for the session. */
typedef struct {
    const char  *what;
    const char  *method;
    const char  *headers[12];
    const char  *body;
    int          status;
    const char  *part;             /* of the answer; NULL: it is empty */
} http_case_t;


#define BOTH     "Accept", "application/json, text/event-stream"
#define JSON     "Content-Type", "application/json"
#define SESSION  "Mcp-Session-Id", "S"


static const http_case_t  http_cases[] = {

    { "all is well", "POST", { BOTH, JSON, SESSION }, PING, 200, PONG },
    { "names of any case", "POST",
      { "aCCept", "application/json, text/event-stream",
        "CONTENT-TYPE", "application/json", "mcp-SESSION-id", "S" },
      PING, 200, PONG },

    /* Accept */

    { "anything", "POST", { "Accept", "*/*", JSON, SESSION }, PING, 200, PONG },
    { "no Accept is anything", "POST", { JSON, SESSION }, PING, 200, PONG },
    { "two lines", "POST",
      { "Accept", "application/json", "Accept", "text/event-stream", JSON,
        SESSION },
      PING, 200, PONG },
    { "JSON alone", "POST",
      { "Accept", "application/json", JSON, SESSION }, PING, 406, "-32000" },
    { "a stream alone", "POST",
      { "Accept", "text/event-stream", JSON, SESSION }, PING, 406, "-32000" },
    { "a stream refused", "POST",
      { "Accept", "*/*, text/event-stream;q=0", JSON, SESSION }, PING, 406,
      "Not Acceptable" },
    { "GET of JSON", "GET",
      { "Accept", "application/json", SESSION }, "", 406, "Not Acceptable" },
    { "DELETE does not care", "DELETE",
      { "Accept", "image/png", SESSION }, "", 204, NULL },

    /* Content-Type */

    { "a charset", "POST",
      { BOTH, "Content-Type", "application/json; charset=UTF-8", SESSION },
      PING, 200, PONG },
    { "another charset", "POST",
      { BOTH, "Content-Type", "application/json; charset=latin1", SESSION },
      PING, 415, "Unsupported Media Type" },
    { "a type that begins alike", "POST",
      { BOTH, "Content-Type", "application/jsonp", SESSION },
      PING, 415, "-32000" },
    { "a form", "POST",
      { BOTH, "Content-Type", "text/plain", SESSION }, PING, 415, "-32000" },
    { "no type", "POST", { BOTH, SESSION }, PING, 415, "-32000" },

    /* what must come once */

    { "two types", "POST", { BOTH, JSON, JSON, SESSION }, PING, 400,
      "Bad Request" },
    { "two sessions", "POST", { BOTH, JSON, SESSION, SESSION }, PING, 400,
      "Bad Request" },
    { "two revisions", "POST",
      { BOTH, JSON, SESSION, "MCP-Protocol-Version", NEW,
        "MCP-Protocol-Version", NEW }, PING, 400, "Bad Request" },
    { "two event ids", "GET",
      { BOTH, SESSION, "Last-Event-ID", "x", "Last-Event-ID", "y" }, "", 400,
      "Bad Request\"" },
    { "two origins", "POST",
      { BOTH, JSON, SESSION, "Origin", "http://localhost", "Origin",
        "http://localhost" }, PING, 400, "Bad Request" },

    /* methods */

    { "PUT", "PUT", { BOTH, JSON, SESSION }, PING, 405,
      "Method not allowed" },
    { "HEAD", "HEAD", { BOTH, SESSION }, "", 405, "Method not allowed" },
    { "methods have a case", "post", { BOTH, JSON, SESSION }, PING, 405,
      "Method not allowed" },
    { "OPTIONS of no browser", "OPTIONS", { NULL }, "", 405,
      "Method not allowed" },

    /* sessions */

    { "POST without", "POST", { BOTH, JSON }, PING, 400,
      "Mcp-Session-Id header is required" },
    { "an empty one", "POST", { BOTH, JSON, "Mcp-Session-Id", "" }, PING, 400,
      "Mcp-Session-Id header is required" },
    { "GET without", "GET", { BOTH }, "", 400,
      "Mcp-Session-Id header is required" },
    { "DELETE without", "DELETE", { BOTH }, "", 400,
      "Mcp-Session-Id header is required" },
    { "POST with none of ours", "POST",
      { BOTH, JSON, "Mcp-Session-Id", "abc" }, PING, 404, "-32001" },
    { "GET with none of ours", "GET",
      { BOTH, "Mcp-Session-Id", "abc" }, "", 404, "-32001" },
    { "DELETE with none of ours", "DELETE",
      { BOTH, "Mcp-Session-Id", "abc" }, "", 404, "-32001" },
    { "a notification with none of ours", "POST",
      { BOTH, JSON, "Mcp-Session-Id", "abc" }, NOTE("notifications/x", "{}"),
      404, "-32001" },
    { "an id with it", "POST",
      { BOTH, JSON, "Mcp-Session-Id", "abc" }, PING, 404, "\"id\":1" },

    /* revisions */

    { "the session's revision", "POST",
      { BOTH, JSON, SESSION, "MCP-Protocol-Version", NEW }, PING, 200, PONG },
    { "one of ours", "POST",
      { BOTH, JSON, SESSION, "MCP-Protocol-Version", OLD }, PING, 200, PONG },
    { "none of ours", "POST",
      { BOTH, JSON, SESSION, "MCP-Protocol-Version", "1999-01-01" }, PING,
      400, "Unsupported protocol version" },
    { "an empty one", "POST",
      { BOTH, JSON, SESSION, "MCP-Protocol-Version", "" }, PING,
      400, "Unsupported protocol version" },
    { "GET, too", "GET",
      { BOTH, SESSION, "MCP-Protocol-Version", "1" }, "", 400,
      "Unsupported protocol version" },
    { "DELETE, too", "DELETE",
      { BOTH, SESSION, "MCP-Protocol-Version", "1" }, "", 400,
      "Unsupported protocol version" },

    /* origins (on loopback) */

    { "its own origin", "POST",
      { BOTH, JSON, SESSION, "Host", "localhost:8080", "Origin",
        "http://localhost:8080" }, PING, 200, PONG },
    { "another's", "POST",
      { BOTH, JSON, SESSION, "Host", "localhost:8080", "Origin",
        "http://evil.example" }, PING, 403, "Origin not allowed" },
    { "a rebound name", "POST",
      { BOTH, JSON, SESSION, "Host", "evil.example", "Origin",
        "http://evil.example" }, PING, 403, "Origin not allowed" },
    { "null", "POST",
      { BOTH, JSON, SESSION, "Host", "localhost", "Origin", "null" }, PING,
      403, "Origin not allowed" },
    { "GET of another's", "GET",
      { BOTH, SESSION, "Host", "localhost", "Origin", "http://evil.example" },
      "", 403, "Origin not allowed" },
    { "DELETE of another's", "DELETE",
      { BOTH, SESSION, "Host", "localhost", "Origin", "http://evil.example" },
      "", 403, "Origin not allowed" },
    { "OPTIONS of another's", "OPTIONS",
      { "Host", "localhost", "Origin", "http://evil.example" }, "", 403,
      "Origin not allowed" }
};


static void
http(client_t *c, const http_case_t *t)
{
    size_t  i;

    memset(c, 0, sizeof(client_t));

    for (i = 0; t->headers[i]; i += 2) {
        client_header(c, t->headers[i],
                      strcmp(t->headers[i + 1], "S") == 0 ? session
                                                         : t->headers[i + 1]);
    }

    client_send(&d, 0, c, t->method, t->body);
}


static void
test_http(void **state)
{
    size_t              i;
    const char         *allow;
    const http_case_t  *t;

    (void) state;

    for (i = 0; i < ITEMS(http_cases); i++) {
        t = &http_cases[i];

        /* the one before may have ended it */

        client_open(&d, session, NEW, ALL);
        http(&a, t);

        if (a.status != t->status) {
            fail_msg("%s: %d %s", t->what, a.status, a.text);
        }

        if (t->part == NULL) {
            assert_int_equal(a.len, 0);

        } else if (strstr(a.text, t->part) == NULL) {
            fail_msg("%s: no %s in %s", t->what, t->part, a.text);
        }

        allow = client_answer_header(&a, "Allow");

        if (t->status == 405) {
            assert_string_equal(allow, "GET, POST, DELETE");

        } else {
            assert_null(allow);
        }

        if (t->status != 200 && t->part) {
            assert_str_is(mcp_exchange_response(a.x)->content_type,
                          "application/json");
            has(a.text, "\"jsonrpc\":\"2.0\"");
        }

        client_close(&d, &a);
    }

    quiet();
}


/* More Accept lines than are kept: what counts came first. */
static void
test_many_lines(void **state)
{
    int           i;
    mcp_head_t    head;
    mcp_header_t  headers[40];

    (void) state;

    for (i = 0; i < 40; i++) {
        headers[i].name = mcp_str("Accept");
        headers[i].value = mcp_str("image/png");
    }

    headers[0].value = mcp_str("*/*");
    headers[39].name = mcp_str("Content-Type");
    headers[39].value = mcp_str("application/json");

    memset(&head, 0, sizeof(mcp_head_t));
    head.method = mcp_str("POST");
    head.headers = headers;
    head.n_headers = 40;

    a.x = mcp_exchange_create(d.process[0].worker, &d.endpoint, &a);
    assert_int_equal(mcp_exchange_head(a.x, &head), MCP_AGAIN);
    client_close(&d, &a);

    headers[0].value = mcp_str("image/png");
    headers[30].value = mcp_str("*/*");
    a.x = mcp_exchange_create(d.process[0].worker, &d.endpoint, &a);
    assert_int_equal(mcp_exchange_head(a.x, &head), MCP_OK);
    assert_int_equal(mcp_exchange_response(a.x)->status, 406);
    client_close(&d, &a);
}


static void
test_cors(void **state)
{
    static const char   allowed[] = "https://app.example";
    static const char  *preflight[] = {
        "Access-Control-Allow-Methods", "GET, POST, DELETE",
        "Access-Control-Allow-Headers",
        "Accept, Authorization, Content-Type, Last-Event-ID, "
        "MCP-Protocol-Version, Mcp-Session-Id",
        "Access-Control-Max-Age", "86400"
    };

    size_t        i;
    char          error[128];
    mcp_match_t  *match;

    (void) state;

    assert_int_equal(mcp_match_create(&d.te.env.mem, test_str(allowed),
                                      &match, error, sizeof(error)),
                     MCP_OK);
    d.endpoint.origins = &match;
    d.endpoint.n_origins = 1;

    /* none of this for who is no browser */

    client_post(&d, 0, &a, session, PING);
    assert_null(client_answer_header(&a, "Access-Control-Allow-Origin"));
    assert_null(client_answer_header(&a, "Vary"));
    client_close(&d, &a);

    client_init(&a, session);
    client_header(&a, "Origin", allowed);
    client_send(&d, 0, &a, "POST", PING);
    assert_int_equal(a.status, 200);
    assert_string_equal(client_answer_header(&a,
                                             "Access-Control-Allow-Origin"),
                        allowed);
    assert_string_equal(client_answer_header(&a, "Vary"), "Origin");
    assert_string_equal(client_answer_header(&a,
                                             "Access-Control-Expose-Headers"),
                        "Mcp-Session-Id, WWW-Authenticate, Retry-After");
    assert_null(client_answer_header(&a, "Access-Control-Allow-Methods"));
    client_close(&d, &a);

    /* errors and streams are to be read by scripts as well */

    client_init(&a, NULL);
    client_header(&a, "Origin", allowed);
    client_send(&d, 0, &a, "POST", PING);
    assert_int_equal(a.status, 400);
    assert_non_null(client_answer_header(&a, "Access-Control-Allow-Origin"));
    client_close(&d, &a);

    client_init(&a, session);
    client_header(&a, "Origin", allowed);
    client_send(&d, 0, &a, "GET", "");
    assert_int_equal(a.streaming, 1);
    assert_non_null(client_answer_header(&a, "Access-Control-Allow-Origin"));
    assert_string_equal(client_answer_header(&a, "X-Accel-Buffering"), "no");
    assert_string_equal(client_answer_header(&a, "Cache-Control"),
                        "no-cache");
    client_close(&d, &a);

    /* preflight: no session is asked for, a browser sends none */

    client_init(&a, NULL);
    client_header(&a, "Origin", allowed);
    client_send(&d, 0, &a, "OPTIONS", "");
    assert_int_equal(a.status, 204);
    assert_int_equal(a.len, 0);
    assert_string_equal(client_answer_header(&a,
                                             "Access-Control-Allow-Origin"),
                        allowed);

    for (i = 0; i < ITEMS(preflight); i += 2) {
        assert_string_equal(client_answer_header(&a, preflight[i]),
                            preflight[i + 1]);
    }

    fact_is(mcp_exchange_facts(a.x), MCP_FACT_OUTCOME, "preflight");
    client_close(&d, &a);

    /* refused: not a word that would let a script read it */

    client_init(&a, session);
    client_header(&a, "Origin", "https://other.example");
    client_send(&d, 0, &a, "POST", PING);
    assert_int_equal(a.status, 403);
    assert_null(client_answer_header(&a, "Access-Control-Allow-Origin"));
    client_close(&d, &a);

    d.endpoint.any_origin = 1;
    client_init(&a, session);
    client_header(&a, "Origin", "https://other.example");
    client_send(&d, 0, &a, "POST", PING);
    assert_int_equal(a.status, 200);
    client_close(&d, &a);

    mcp_match_free(match);
}


/* Not on loopback an address may be its own, which on loopback it may not. */
static void
test_far_origin(void **state)
{
    int  far;

    (void) state;

    for (far = 0; far < 2; far++) {
        client_init(&a, session);
        a.far = far;
        client_header(&a, "Host", "192.0.2.7:8080");
        client_header(&a, "Origin", "http://192.0.2.7:8080");
        client_send(&d, 0, &a, "POST", PING);
        assert_int_equal(a.status, far ? 200 : 403);
        client_close(&d, &a);

        client_init(&a, session);
        a.far = far;
        client_header(&a, "Host", "192.0.2.7:8080");
        client_header(&a, "Origin", "http://192.0.2.8:8080");
        client_send(&d, 0, &a, "POST", PING);
        assert_int_equal(a.status, 403);
        client_close(&d, &a);
    }
}


/* What the target names is the host, whatever Host says. */
static void
test_absolute_form(void **state)
{
    static const struct {
        const char  *target;
        const char  *host;
        int          status;
    } cases[] = {
        { "/mcp", "localhost:80", 200 },
        { "/mcp", "localhost:81", 403 },
        { "http://localhost/mcp", "evil.example", 200 },
        { "http://localhost/mcp", "localhost:81", 200 },
        { "http://localhost/mcp", NULL, 200 },
        { "http://evil.example/mcp", "localhost", 403 },
        { "http://localhost:81/mcp", "localhost", 403 },
        { "http://u@localhost/mcp", "localhost", 403 },
        { "http:///mcp", "localhost", 403 }
    };

    size_t  i;

    (void) state;

    for (i = 0; i < ITEMS(cases); i++) {
        client_init(&a, session);
        a.target = cases[i].target;
        client_header(&a, "Origin", "http://localhost");

        if (cases[i].host) {
            client_header(&a, "Host", cases[i].host);
        }

        client_send(&d, 0, &a, "POST", PING);
        assert_int_equal(a.status, cases[i].status);
        client_close(&d, &a);
    }
}


static void
test_session_ends(void **state)
{
    char               other[MCP_SESSION_TEXT_MAX];
    static const char  last[] = "AAAAAAAAAAAAAAAAAAAAAA.1";

    (void) state;

    client_open(&d, other, NEW, ALL);
    end_session(1, session);
    assert_int_equal(stats().counter[MCP_COUNT_SESSIONS_DELETED], 1);

    /* at both, for everything; again, too */

    ask(session, PING, 404, "-32001");
    ask(session, NOTE("notifications/x", "{}"), 404, "-32001");
    ask(session, CALL, 404, "\"id\":7");

    client_resume(&d, 0, &a, session, NULL);
    assert_int_equal(a.status, 404);
    has(a.text, "-32001");
    client_close(&d, &a);

    client_resume(&d, 1, &a, session, last);
    assert_int_equal(a.status, 404);
    client_close(&d, &a);

    client_init(&a, session);
    client_send(&d, 0, &a, "DELETE", "");
    assert_int_equal(a.status, 404);
    client_close(&d, &a);

    ask(other, PING, 200, PONG);
    quiet();
}


static void
test_session_expires(void **state)
{
    (void) state;

    d.te.now += 3600000 - 1000;
    ask(session, PING, 200, PONG);
    d.te.now += 3000;
    ask(session, PING, 404, "-32001");
}


/* The mark of a deleted session must not go before its token does. */
static void
test_deleted_stays_deleted(void **state)
{
    (void) state;

    end_session(0, session);
    driver_wait(&d, 3600000 - 5000);
    ask(session, PING, 404, "-32001");
    driver_wait(&d, 10000);
    ask(session, PING, 404, "-32001");
    assert_int_equal(stats().values, 0);
}


/* A setting takes all that the party may have; the end of a session is not
 * refused, and takes the place of an earlier one. */
static void
test_session_ends_over_quota(void **state)
{
    char  second[MCP_SESSION_TEXT_MAX], third[MCP_SESSION_TEXT_MAX];

    (void) state;

    d.endpoint.share_by = MCP_SHARE_BY_PRINCIPAL;
    d.endpoint.max_party_values = 1;

    client_open(&d, second, NEW, ALL);
    client_open(&d, third, NEW, ALL);
    ask(third, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\","
        "\"params\":{\"level\":\"error\"}}", 200, "\"result\":{}");

    end_session(0, session);
    ask(session, PING, 404, "-32001");
    end_session(1, second);
    ask(second, PING, 404, "-32001");
    ask(session, PING, 200, PONG);             /* forgotten */
    end_session(0, third);
    ask(third, PING, 404, "-32001");

    assert_int_equal(stats().counter[MCP_COUNT_REFUSED_LIMIT], 0);
    assert_int_equal(stats().values, 1);
    quiet();
}


static void
test_principal(void **state)
{
    static const char *const  who[] = { "bob", NULL, "Ada", "" };

    size_t  i;
    char    own[MCP_SESSION_TEXT_MAX];

    (void) state;

    client_open_as(&d, own, "ada", NEW, "{}");
    client_post_as(&d, 1, &a, own, "ada", PING);
    assert_int_equal(a.status, 200);
    fact_is(mcp_exchange_facts(a.x), MCP_FACT_PRINCIPAL, "ada");
    client_close(&d, &a);

    /* whoever steals the token is somebody else; seen before or not */

    for (i = 0; i < ITEMS(who); i++) {
        client_post_as(&d, 1, &a, own, who[i], PING);
        assert_int_equal(a.status, 404);
        client_close(&d, &a);

        client_init(&a, own);
        a.principal = who[i];
        client_send(&d, 1, &a, "DELETE", "");
        assert_int_equal(a.status, 404);
        client_close(&d, &a);
    }

    client_init(&a, session);
    a.principal = "ada";
    client_send(&d, 0, &a, "POST", PING);
    assert_int_equal(a.status, 404);
    client_close(&d, &a);
}


/* A forged token never passes, whatever byte of it was changed. */
static void
test_forged(void **state)
{
    size_t  i, len;
    char    bad[MCP_SESSION_TEXT_MAX];

    (void) state;

    len = strlen(session);

    for (i = 0; i < len; i++) {
        strcpy(bad, session);
        bad[i] = bad[i] == 'A' ? 'B' : 'A';
        client_post(&d, 0, &a, bad, PING);
        assert_int_equal(a.status, 404);
        client_close(&d, &a);
    }

    strcpy(bad, session);
    bad[len - 1] = '\0';
    ask(bad, PING, 404, "-32001");
}


/* Whoever checked that name did not: nobody is called so. */
static void
test_principal_with_control(void **state)
{
    static const char *const  who[] = { "bob\r\nMcp-Principal", "a\x7f",
                                        "\t" };

    size_t  i;

    (void) state;

    for (i = 0; i < ITEMS(who); i++) {
        client_post_as(&d, 1, &a, session, who[i], PING);
        assert_int_equal(a.status, 403);
        has(a.text, "Forbidden");
        fact_is(mcp_exchange_facts(a.x), MCP_FACT_PRINCIPAL, "?");
        client_close(&d, &a);

        client_init(&a, session);
        a.principal = who[i];
        client_send(&d, 1, &a, "DELETE", "");
        assert_int_equal(a.status, 403);
        client_close(&d, &a);
    }

    ask(session, PING, 200, PONG);
}


static void
test_facts(void **state)
{
    mcp_job_t          *job;
    const mcp_facts_t  *facts;

    (void) state;

    client_post(&d, 0, &a, session, PING);
    facts = mcp_exchange_facts(a.x);
    fact_is(facts, MCP_FACT_METHOD, "ping");
    fact_is(facts, MCP_FACT_REQUEST_ID, "1");
    fact_is(facts, MCP_FACT_PROTOCOL_VERSION, NEW);
    fact_is(facts, MCP_FACT_OUTCOME, "ok");
    fact_is(facts, MCP_FACT_CALL, "");
    assert_int_equal(facts->value[MCP_FACT_SESSION].len, 8);
    assert_int_equal(facts->value[MCP_FACT_SESSION_ID].len, 22);
    client_close(&d, &a);

    client_post(&d, 0, &a, "nonsense", PING);
    facts = mcp_exchange_facts(a.x);
    fact_is(facts, MCP_FACT_OUTCOME, "error");
    fact_is(facts, MCP_FACT_SESSION, "");
    client_close(&d, &a);

    job = call(0);
    facts = mcp_exchange_facts(a.x);
    fact_is(facts, MCP_FACT_OUTCOME, "pending");
    fact_is(facts, MCP_FACT_NAME, "echo");
    assert_int_equal(facts->value[MCP_FACT_CALL].len, 8);
    assert_memory_equal(facts->value[MCP_FACT_CALL].data,
                        job->facts.value[MCP_FACT_CALL].data, 8);
    backend_say(&d, job, PROGRESS(1) "\n" PROGRESS(2) "\n");
    facts = mcp_exchange_facts(a.x);
    fact_is(facts, MCP_FACT_OUTCOME, "stream");
    fact_is(facts, MCP_FACT_EVENTS, "2");
    fact_is(facts, MCP_FACT_FACE, "polling");
    fact_is(facts, MCP_FACT_RESUMED, "");
    backend_say(&d, job, RESULT "\n");
    fact_is(mcp_exchange_facts(a.x), MCP_FACT_OUTCOME, "complete");
    backend_end(&d, job, MCP_FAULT_NONE);
    fact_is(mcp_exchange_facts(a.x), MCP_FACT_EVENTS, "3");
    client_close(&d, &a);
    quiet();
}


/* 1 if an exchange of a session with these capabilities lasts longer than its
 * backend. */
static int
lasts_with(const char *revision, const char *capabilities, const char *body)
{
    int         lasts;
    char        own[MCP_SESSION_TEXT_MAX];

    client_open(&d, own, revision, capabilities);
    client_post(&d, 0, &a, own, body);

    /* the same before it streams and after */

    lasts = mcp_exchange_lasts(a.x);
    driver_wait(&d, 2000);
    assert_int_equal(a.streaming, 1);
    assert_int_equal(mcp_exchange_lasts(a.x), lasts);

    while (d.n_jobs) {
        backend_answer(&d, d.jobs[0], RESULT);
    }

    client_close(&d, &a);
    quiet();

    return lasts;
}


static void
test_lasts(void **state)
{
    size_t  i;

    static const struct {
        const char  *revision;
        const char  *capabilities;
        int          lasts;
    } cases[] = {
        { NEW, "{}", 0 },
        { NEW, "{\"experimental\":{}}", 0 },
        { NEW, "{\"elicitation\":{}}", 1 },
        { NEW, "{\"elicitation\":{\"url\":{}}}", 1 },
        { NEW, "{\"sampling\":{}}", 1 },
        { NEW, "{\"roots\":{}}", 1 },
        { MIDDLE, "{\"elicitation\":{}}", 1 },
        { MIDDLE, "{}", 0 },
        { OLD, "{\"elicitation\":{}}", 0 },
        { OLD, "{\"sampling\":{}}", 1 },
        { OLD, "{\"roots\":{}}", 1 },
        { OLD, "{}", 0 }
    };

    (void) state;

    for (i = 0; i < ITEMS(cases); i++) {
        if (lasts_with(cases[i].revision, cases[i].capabilities, CALL)
            != cases[i].lasts)
        {
            fail_msg("%s, %s", cases[i].revision, cases[i].capabilities);
        }
    }

    assert_int_equal(lasts_with(OLD, "{}", "[" CALL "," CALL8 "]"), 1);
    assert_int_equal(lasts_with(OLD, "{}", "[" CALL "," PING "]"), 1);
    assert_int_equal(lasts_with(OLD, "{}", "[" CALL "]"), 0);
}


/* Listeners, resumptions, calls that no backend works on; and what is no
 * stream. */
static void
test_lasts_without_backend(void **state)
{
    char        own[MCP_SESSION_TEXT_MAX], id[64], url[256];
    mcp_job_t  *job;
    const char *path;

    (void) state;

    client_open(&d, own, NEW, "{}");

    client_post(&d, 0, &b, own, PING);
    assert_int_equal(mcp_exchange_lasts(b.x), 0);
    client_close(&d, &b);

    client_resume(&d, 0, &b, own, "x");
    assert_int_equal(mcp_exchange_lasts(b.x), 0);
    client_close(&d, &b);

    client_resume(&d, 0, &b, own, NULL);
    assert_int_equal(mcp_exchange_lasts(b.x), 1);
    client_close(&d, &b);

    client_post(&d, 0, &a, own, CALL);
    job = d.jobs[0];
    mcp_job_head(job, 200, mcp_str("application/x-ndjson"));
    backend_say(&d, job, PROGRESS(1) "\n");
    assert_int_equal(mcp_exchange_lasts(a.x), 0);
    client_last_id(&a, id);

    client_resume(&d, 0, &b, own, id);
    assert_int_equal(mcp_exchange_lasts(b.x), 1);
    client_close(&d, &a);
    end_with_result(job);
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);

    /* the rest comes through the publish endpoint */

    client_post(&d, 0, &a, own, CALL);
    job = d.jobs[0];
    path = publish_url_of(job, url, sizeof(url));
    assert_int_equal(mcp_exchange_lasts(a.x), 0);
    mcp_job_head(job, 202, mcp_null_str);
    backend_end(&d, job, MCP_FAULT_NONE);
    assert_int_equal(mcp_exchange_lasts(a.x), 1);

    publish(0, &b, path, RESULT);
    assert_int_equal(a.ended, 1);
    assert_int_equal(mcp_exchange_lasts(a.x), 0);
    client_close(&d, &a);
    quiet();
}


/* The client is gone before its body came, or between head and answer. */
static void
test_gone_early(void **state)
{
    (void) state;

    memset(&a, 0, sizeof(a));
    a.x = mcp_exchange_create(d.process[0].worker, &d.endpoint, &a);
    client_close(&d, &a);

    a.x = mcp_exchange_create_publish(d.process[0].worker, &d.endpoint,
                                      mcp_null_str, 0, &a);
    client_close(&d, &a);
    quiet();
}


static void
test_empty_body(void **state)
{
    (void) state;

    ask(session, "", 400, "-32700");
    ask(session, " \n", 400, "-32700");
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        test(test_http),
        test(test_many_lines),
        test(test_cors),
        test(test_far_origin),
        test(test_absolute_form),
        test(test_session_ends),
        test(test_session_expires),
        test(test_deleted_stays_deleted),
        test(test_session_ends_over_quota),
        test(test_principal),
        test(test_principal_with_control),
        test(test_forged),
        test(test_facts),
        test(test_lasts),
        test(test_lasts_without_backend),
        test(test_gone_early),
        test(test_empty_body)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

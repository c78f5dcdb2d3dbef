/* SPDX-License-Identifier: Apache-2.0 */

/* Helpers for the tests of exchanges and calls: messages, a driver with a
 * session, and checks. */


#ifndef CORE_CASES_H_INCLUDED
#define CORE_CASES_H_INCLUDED


#include "core_driver.h"


#define REQUEST(id, method, params)                                           \
                 "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method    \
                 "\",\"params\":" params "}"

#define NOTE(method, params)                                                  \
                 "{\"jsonrpc\":\"2.0\",\"method\":\"" method                  \
                 "\",\"params\":" params "}"

#define PING     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define PONG     "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"

#define CALL     "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\","   \
                 "\"params\":{\"name\":\"echo\",\"arguments\":{\"a\":1},"     \
                 "\"_meta\":{\"progressToken\":\"t\"}}}"

#define CALL8    REQUEST("8", "tools/call", "{\"name\":\"other\"}")

#define PROGRESS(n)                                                           \
                 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"" \
                 ",\"params\":{\"progressToken\":\"t\",\"progress\":" #n "}}"

#define RESULT   "{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}"

#define ANSWER   "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":" RESULT "}"

#define ASK      "{\"resultType\":\"input_required\",\"inputRequests\":{"     \
                 "\"k\":{\"method\":\"elicitation/create\",\"params\":{"      \
                 "\"message\":\"?\"}},\"r\":{\"method\":\"roots/list\"}},"    \
                 "\"requestState\":\"s1\"}"

#define CHANGED  "{\"jsonrpc\":\"2.0\","                                      \
                 "\"method\":\"notifications/tools/list_changed\"}"
#define UPDATED  "{\"jsonrpc\":\"2.0\","                                      \
                 "\"method\":\"notifications/resources/updated\","            \
                 "\"params\":{\"uri\":\"test://a\"}}"

#define CANCEL7  NOTE("notifications/cancelled", "{\"requestId\":7}")

/* A progress notification with a message of n bytes, and a line feed. */
#define BIG(n)   NOTE("notifications/progress", "{\"progressToken\":\"t\","   \
                      "\"progress\":1,\"message\":\"%0" #n "d\"}") "\n"

#define NEW      "2025-11-25"
#define MIDDLE   "2025-06-18"
#define OLD      "2025-03-26"
#define ALL      "{\"sampling\":{},\"elicitation\":{},\"roots\":{}}"


static driver_t  d;
static client_t  a __attribute__((unused));
static client_t  b __attribute__((unused));
static char      session[MCP_SESSION_TEXT_MAX];
static char      line[40000] __attribute__((unused));


/* Replaces the catalog of the endpoint; NULL: the endpoint has none. */
static inline void
use_catalog(const char *text)
{
    char  error[256];

    mcp_catalog_free(d.catalog);
    d.catalog = NULL;

    if (text
        && mcp_catalog_create(&d.te.env.mem, test_str(text), &d.catalog,
                              error, sizeof(error))
           != MCP_OK)
    {
        fail_msg("%s", error);
    }

    d.endpoint.catalog = d.catalog;
}


static inline int
setup(void **state)
{
    driver_init(&d);
    client_open(&d, session, NEW, ALL);

    return 0;
}


/* Checks that no backend request, call or consumer is left. */
static inline void
quiet(void)
{
    assert_int_equal(d.n_breqs, 0);
    assert_int_equal(d.process[0].worker->calls, 0);
    assert_int_equal(d.process[1].worker->calls, 0);
    assert_int_equal(d.process[0].worker->consumers, 0);
    assert_int_equal(d.process[1].worker->consumers, 0);
}


/* Waits for ms milliseconds, and checks the number of backend requests that
 * have been aborted since the beginning of the test. */
#define aborts_after(ms, n)                                                   \
    do {                                                                      \
        driver_wait(&d, ms);                                                  \
        assert_int_equal(d.aborts, n);                                        \
    } while (0)


/* Closes the clients that the test has left open, checks that no call is left,
 * and destroys the driver. */
static inline int
teardown(void **state)
{
    client_close(&d, &a);
    client_close(&d, &b);
    quiet();
    driver_destroy(&d);

    return 0;
}


static inline void
ends_with(const char *text, const char *end)
{
    size_t  len = strlen(text), n = strlen(end);

    if (len < n || strcmp(text + len - n, end) != 0) {
        fail_msg("%s does not end with %s", text, end);
    }
}


static inline void
has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("no %s in %s", part, text);
    }
}


static inline void
has_not(const char *text, const char *part)
{
    if (strstr(text, part) != NULL) {
        fail_msg("%s in %s", part, text);
    }
}


static inline unsigned
count(const char *text, const char *part)
{
    unsigned  n;

    for (n = 0; (text = strstr(text, part)) != NULL; n++) {
        text++;
    }

    return n;
}


/* Copies the text between the last occurrence of "before" and the next
 * quote. */
static inline void
quoted(const char *text, const char *before, char *out, size_t size)
{
    const char  *p, *last;

    last = NULL;

    for (p = text; (p = strstr(p, before)) != NULL; p++) {
        last = p + strlen(before);
    }

    if (last == NULL) {
        fail_msg("no %s in %s", before, text);
    }

    snprintf(out, size, "%.*s", (int) strcspn(last, "\""), last);
}


static inline mcp_store_stats_t
stats(void)
{
    mcp_store_stats_t  s;

    mcp_store_stats(&d.process[0].store, &s);

    return s;
}


static inline void
variable_is(const mcp_variables_t *variables, mcp_variable_e variable,
    const char *text)
{
    assert_str_is(variables->value[variable], text);
}


/* Checks the status of a response and, if part is not NULL, that its body
 * contains part; then closes the client. */
static inline void
answered(client_t *c, int status, const char *part)
{
    assert_int_equal(c->status, status);

    if (part) {
        has(c->text, part);
    }

    client_close(&d, c);
}


/* Copies the id of the last event that a client has got to id, and closes the
 * client's connection. */
static inline void
leave_with_last_id(client_t *c, char *id)
{
    client_last_id(c, id);
    client_close(&d, c);
}


/* POSTs a body in the session "of", checks the status and the body of the
 * response, and closes the client. */
static inline void
ask(const char *of, const char *body, int status, const char *part)
{
    client_post(&d, 0, &b, of, body);

    if (b.status != status) {
        fail_msg("%d instead of %d for %s: %s", b.status, status, body,
                 b.text);
    }

    if (part) {
        has(b.text, part);

    } else {
        assert_int_equal(b.len, 0);
    }

    client_close(&d, &b);
}


/* Starts CALL for client a, and sends the head of its backend's stream. */
static inline mcp_backend_request_t *
call(unsigned process)
{
    client_post(&d, process, &a, session, CALL);
    assert_int_equal(d.n_breqs, 1);

    return backend_stream(&d, 0);
}


/* Starts CALL for client a. Its backend sends a progress message. */
static inline mcp_backend_request_t *
call_with_progress(unsigned process)
{
    mcp_backend_request_t  *breq;

    breq = call(process);
    backend_send(&d, breq, PROGRESS(1) "\n");

    return breq;
}


/* Sends the last message of a backend, and ends the backend request. */
static inline void
end_with(mcp_backend_request_t *breq, const char *message)
{
    backend_send(&d, breq, message);
    backend_end(&d, breq, MCP_FAILURE_NONE);
}


static inline void
end_with_result(mcp_backend_request_t *breq)
{
    end_with(breq, RESULT "\n");
}


/* Lets a backend respond with 202. */
static inline void
respond_202(mcp_backend_request_t *breq)
{
    mcp_backend_request_head(breq, 202, mcp_null_str);
    backend_end(&d, breq, MCP_FAILURE_NONE);
}


/* Sends RESULT as the last message of a backend's stream. The client must get
 * ANSWER. */
static inline void
gets_result(client_t *c, mcp_backend_request_t *breq)
{
    end_with_result(breq);
    has(c->text, ANSWER);
}


/* Lets the first backend respond with RESULT. The client must get ANSWER. */
static inline void
gets_json_result(client_t *c)
{
    backend_json(&d, RESULT);
    has(c->text, ANSWER);
}


/* Sends messages of a backend until the core takes no byte. Returns the number
 * of messages that the core has taken. */
static inline int
fill(mcp_backend_request_t *breq)
{
    int  i;

    snprintf(line, sizeof(line), BIG(900), 0);

    for (i = 0; backend_send(&d, breq, line); i++) {
        assert_true(i < 1000);
    }

    return i;
}


/* Creates a stream that uses up all memory of the zone, the reserve included,
 * until mcp_store_free(). */
static inline void
hog(mcp_stream_ref_t *ref)
{
    int                 rc;
    size_t              len;
    uint64_t            seq;
    mcp_str_t           text;
    mcp_stream_spec_t   spec;

    memset(&spec, 0, sizeof(mcp_stream_spec_t));
    memset(spec.id, 0xee, MCP_STREAM_ID_LEN);
    spec.kind = MCP_STREAM_CALL;
    spec.request = mcp_str("1");
    spec.method = mcp_str("hog");
    spec.name = mcp_str("hog");
    spec.max_wait = 3600000;

    assert_ok(mcp_store_create(&d.process[1].store, &spec, d.te.now, ref));

    memset(line, 'x', sizeof(line));

    for (len = sizeof(line); len; len /= 2) {
        text = (mcp_str_t) { line, len };

        do {
            rc = mcp_store_append(&d.process[1].store, ref, text, 0,
                                  MCP_STATE_PROCESSING, d.te.now, &seq);
        } while (rc == MCP_OK);

        assert_int_equal(rc, MCP_ERR_FULL);
    }
}


static inline void
cancel(unsigned process, const char *of, const char *id)
{
    char      body[256];
    client_t  *c;

    c = malloc(sizeof(client_t));
    assert_non_null(c);

    snprintf(body, sizeof(body), NOTE("notifications/cancelled",
             "{\"requestId\":%s}"), id);
    client_post(&d, process, c, of, body);
    assert_int_equal(c->status, 202);
    client_close(&d, c);
    free(c);
}


/* Deletes the session "of". */
static inline void
end_session(unsigned process, const char *of)
{
    client_init(&b, of);
    client_send(&d, process, &b, "DELETE", "");
    assert_int_equal(b.status, 204);
    client_close(&d, &b);
}


/* Copies the id of the last question with this method to id. */
static inline void
question_id(const char *text, const char *method, char *id)
{
    char        *p, *q, pattern[64];
    const char  *next;

    snprintf(pattern, sizeof(pattern), "\",\"method\":\"%s\"", method);

    p = strstr(text, pattern);
    assert_non_null(p);

    while ((next = strstr(p + 1, pattern)) != NULL) {
        p = (char *) next;
    }

    for (q = p; q[-1] != '"'; q--) { /* void */ }

    snprintf(id, 64, "%.*s", (int) (p - q), q);
}


/* Returns the number of questions, and checks that each has the id of its
 * event. */
static inline unsigned
questions(const char *text)
{
    unsigned     n;
    const char  *p, *start;

    static const char  before[] = "\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"";

    for (n = 0; (p = strstr(text, before)) != NULL; n++) {
        for (start = p; start > text && start[-1] != '\n'; start--) {
            /* void */
        }

        text = p + strlen(before);
        assert_memory_equal(start, "id: ", 4);
        assert_memory_equal(start + 4, text, (size_t) (p - start - 4));
        assert_int_equal(text[p - start - 4], '"');
    }

    return n;
}


/* Answers a question with the member "result" or "error" of the response. */
static inline void
reply(unsigned process, const char *of, const char *id, const char *what)
{
    char  body[1024];

    snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",%s}",
             id, what);
    client_post(&d, process, &b, of, body);
    assert_int_equal(b.status, 202);
    client_close(&d, &b);
}


/* Copies the publish URL of a backend request to url, and returns its path. */
static inline const char *
publish_url_of(mcp_backend_request_t *breq, char *url, size_t size)
{
    mcp_str_t  variable;

    variable = breq->variables.value[MCP_VARIABLE_PUBLISH_URL];
    snprintf(url, size, "%.*s", (int) variable.len, variable.data);
    has(url, "http://127.0.0.1/publish/");

    return url + strlen("http://127.0.0.1");
}


/* Sends a request to the publish endpoint, with the headers that c already
 * has. If c->cap is not 0, the endpoint is open to other machines. Out of
 * memory: c->next is MCP_NEXT_ERROR. */
static inline void
knock(unsigned process, client_t *c, const char *method, const char *url,
    const char *body)
{
    char        *space;
    mcp_head_t   head;

    memset(&head, 0, sizeof(mcp_head_t));
    head.method = test_str(method);
    head.headers = c->headers;
    head.n_headers = c->n_headers;
    head.path = test_str(url);
    head.local = !c->far;

    c->x = mcp_exchange_create_publish(d.process[process].worker, &d.endpoint,
                                       mcp_str("static-token"), c->cap != 0,
                                       c);

    if (c->x == NULL) {
        c->next = MCP_NEXT_ERROR;
        return;
    }

    c->next = mcp_exchange_head(c->x, &head);

    if (c->next == MCP_NEXT_BODY) {
        space = mcp_exchange_body_space(c->x, strlen(body));

        if (space == NULL) {
            c->next = MCP_NEXT_ERROR;
            return;
        }

        memcpy(space, body, strlen(body));
        c->next = mcp_exchange_body(c->x, strlen(body));
    }

    if (c->next == MCP_NEXT_RESPOND) {
        driver_respond(c);
    }

    driver_pump(&d);
}


static inline void
publish(unsigned process, client_t *c, const char *url, const char *body)
{
    client_init(c, NULL);
    knock(process, c, "POST", url, body);
    assert_int_equal(c->next, MCP_NEXT_RESPOND);
    client_close(&d, c);
}


/* Publishes a body, and checks the status of the response to client b. */
static inline void
publish_gets(unsigned process, const char *url, const char *body, int status)
{
    publish(process, &b, url, body);

    if (b.status != status) {
        fail_msg("%d instead of %d for %s: %s", b.status, status, body,
                 b.text);
    }
}


#endif /* CORE_CASES_H_INCLUDED */

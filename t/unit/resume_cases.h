/* SPDX-License-Identifier: Apache-2.0 */

/* What the tests of faces have in common: sessions that know them, and what
 * they read out of streams. */


#ifndef FACE_CASES_H_INCLUDED
#define FACE_CASES_H_INCLUDED


#include "core_cases.h"


#define INPUT  "\"sampling\":{},\"elicitation\":{},\"roots\":{}"

/* Whatever is wrong with a token. */
#define REFUSED  "\"error\":{\"code\":-32602,"                                \
                 "\"message\":\"Unknown or expired resume token\","           \
                 "\"data\":{\"resume\":\"refused\"}}"


static char  token[512] __attribute__((unused));
static char  stream[64] __attribute__((unused));
static char  other[MCP_SESSION_TEXT_MAX] __attribute__((unused));


/* What a's first events say of coming back: the token, and the stream's id if
 * they name it; 0 if they say nothing. */
static inline int
told(void)
{
    if (strstr(a.text, "\"resumeToken\":\"") == NULL) {
        return 0;
    }

    quoted(a.text, "\"resumeToken\":\"", token, sizeof(token));

    if (strstr(a.text, "\"streamId\":\"")) {
        quoted(a.text, "\"streamId\":\"", stream, sizeof(stream));
    }

    return 1;
}


/* A call that is durable, with n messages behind its first events. */
static inline mcp_backend_request_t *
durable(int n)
{
    mcp_backend_request_t  *breq;

    breq = call(0);

    while (n--) {
        backend_say(&d, breq, PROGRESS(1) "\n");
    }

    driver_wait(&d, 1500);
    assert_true(told());

    return breq;
}


/* A call of a principal's, in a session of its own, that has said one thing. */
static inline mcp_backend_request_t *
call_as(const char *principal, const char *capabilities)
{
    mcp_backend_request_t  *breq;

    client_open_as(&d, session, principal, NEW, capabilities);
    client_post_as(&d, 0, &a, session, principal, CALL);
    breq = d.jobs[0];
    mcp_backend_request_head(breq, 200, mcp_str("application/x-ndjson"));
    backend_say(&d, breq, PROGRESS(1) "\n");
    assert_true(told());

    return breq;
}


/* A POST, with Last-Event-ID if there is one; it stays open. */
static inline void
post_after(unsigned process, client_t *c, const char *of, const char *body,
    const char *last)
{
    client_init(c, of);

    if (last) {
        client_header(c, "Last-Event-ID", last);
    }

    client_send(&d, process, c, "POST", body);
}


/* More than stream_buffer keeps, of a call whose consumer reads all of it. */
static inline void
flood(mcp_backend_request_t *breq, int n)
{
    int   i;
    char  text[1200];

    for (i = 0; i < n; i++) {
        snprintf(text, sizeof(text),
                 NOTE("notifications/progress", "{\"progressToken\":\"t\","
                      "\"progress\":%d,\"message\":\"%0900d\"}") "\n", i, 0);
        assert_int_equal(backend_say(&d, breq, text), strlen(text));
    }
}


/* What comes in place of "all" messages that were progress: those that are
 * kept, and behind the first bytes how many are not. */
static inline void
told_of_gap(const char *text, int all)
{
    int          kept;
    const char  *p;

    has(text, "\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":"
              "\"notifications/message\",\"params\":{\"level\":\"error\","
              "\"logger\":\"mcp\",");

    p = strstr(text, "\"events\":");
    assert_non_null(p);

    kept = count(text, "\"notifications/progress\"");
    assert_in_range(kept, 1, all - 1);
    assert_int_equal(atoi(p + 9) + kept, all);
    assert_int_equal(count(text, "\"notifications/message\""), 1);
    assert_true(p < strstr(text, "\"notifications/progress\""));
}


/* Everything that a token may be changed to is refused like that. */
static inline void
mangle(const char *good, char *bad, size_t k)
{
    strcpy(bad, good);

    if (k < strlen(good)) {
        bad[k] = bad[k] == 'A' ? 'B' : 'A';

    } else {
        strcat(bad, "A");
    }
}


/* Backends fail, and what is kept for who might come back goes, too. */
static inline void
give_up(unsigned ms)
{
    size_t  i;

    for (i = d.n_jobs; i-- > 0; ) {
        backend_end(&d, d.jobs[i], MCP_FAULT_BACKEND_FAILED);
    }

    driver_wait(&d, ms);
    quiet();
}


/* Whatever fails, nothing is left behind; f does the same again each time. */
static inline void
fail_each(void (*f)(void))
{
    unsigned long  k;

    for (k = 1; k < 2000; k++) {
        d.te.tm.failed = 0;
        d.te.tm.fail_at = k;
        f();
        d.te.tm.fail_at = 0;

        if (d.te.tm.failed == 0) {
            break;
        }
    }

    assert_true(k > 1 && k < 2000);
}


#endif /* FACE_CASES_H_INCLUDED */

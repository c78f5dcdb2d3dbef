/* SPDX-License-Identifier: Apache-2.0 */

/* Helpers for the tests of resumption methods: sessions that declare the
 * methods, and values that are read out of streams. */


#ifndef RESUME_CASES_H_INCLUDED
#define RESUME_CASES_H_INCLUDED


#include "core_cases.h"


#define INPUT  "\"sampling\":{},\"elicitation\":{},\"roots\":{}"

/* The error that the server sends for each invalid resume token. */
#define REFUSED  "\"error\":{\"code\":-32602,"                                \
                 "\"message\":\"Unknown or expired resume token\","           \
                 "\"data\":{\"resume\":\"refused\"}}"


static char  token[512] __attribute__((unused));
static char  stream[64] __attribute__((unused));
static char  other[MCP_SESSION_TEXT_MAX] __attribute__((unused));


/* Copies the resume token, and the stream id if there is one, from the stream
 * of client a to "token" and "stream". Returns 0 if client a has received no
 * token. */
static inline int
has_token(void)
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


/* Starts a call whose backend sends n messages, and waits until the call is
 * durable and client a has received the resume token. */
static inline mcp_backend_request_t *
durable(int n)
{
    mcp_backend_request_t  *breq;

    breq = call(0);

    while (n--) {
        backend_send(&d, breq, PROGRESS(1) "\n");
    }

    driver_wait(&d, 1500);
    assert_true(has_token());

    return breq;
}


/* Sends a POST, with Last-Event-ID if "last" is not NULL, and leaves the
 * client's connection open. */
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


/* Sends n messages of more than 900 bytes each for a call. The backend is
 * never paused, because the consumer reads all messages at once. */
static inline void
flood(mcp_backend_request_t *breq, int n)
{
    int   i;
    char  text[1200];

    for (i = 0; i < n; i++) {
        snprintf(text, sizeof(text),
                 NOTE("notifications/progress", "{\"progressToken\":\"t\","
                      "\"progress\":%d,\"message\":\"%0900d\"}") "\n", i, 0);
        assert_int_equal(backend_send(&d, breq, text), strlen(text));
    }
}


/* Checks a stream that has lost some of its "all" progress messages: a log
 * message in front of the remaining ones contains the number of lost
 * messages. */
static inline void
gap_reported(const char *text, int all)
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


/* Copies a resume token with another character at position k, or with a
 * character appended if k is the length of the token. The server must reject
 * the copy. */
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


/* Lets all backend requests fail, waits for "ms" milliseconds so that the
 * streams of their calls expire, and checks that no call is left. */
static inline void
give_up(unsigned ms)
{
    size_t  i;

    for (i = d.n_breqs; i-- > 0; ) {
        backend_end(&d, d.breqs[i], MCP_FAILURE_REPLY);
    }

    driver_wait(&d, ms);
    quiet();
}


/* Calls f repeatedly, with the first, second, ... allocation failing, until no
 * allocation of f fails. f must free all that it creates. */
static inline void
fail_each(void (*f)(void))
{
    unsigned long  k = 0;

    while (test_next_failure(&d.te.tm, &k)) {
        d.te.tm.fail_at = k;
        f();
    }
}


#endif /* RESUME_CASES_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* Helpers for the tests of streams that have a URL, which the response sends
 * in its Link header. */


#ifndef LINK_CASES_H_INCLUDED
#define LINK_CASES_H_INCLUDED


#include "resume_cases.h"


static char  url[1024];


static inline void
begin(const char *revision)
{
    d.endpoint.link = 1;
    client_open(&d, session, revision, ALL);
}


/* Copies the path of the URL in a response's Link header to out. Returns the
 * header, or NULL if there is none. */
static inline const char *
link_of(client_t *client, char *out)
{
    char        *end;
    const char  *value, *start;

    value = client_response_header(client, "Link");

    if (value == NULL) {
        return NULL;
    }

    start = strstr(value, "://");
    assert_non_null(start);
    start = strchr(start + 3, '/');
    strcpy(out, start);
    end = strchr(out, '>');
    assert_non_null(end);
    assert_string_equal(end, ">; rel=\"stream\"");
    *end = '\0';

    return value;
}


#define LOST   "\"error\":{\"code\":-32000,\"message\":\"Unknown stream URL\"}"
#define ERROR  "\"code\":-32600"


static char  last[64], ids[4][64];


static inline void
send_to(unsigned process, client_t *client, const char *of,
    const char *method, const char *target, const char *after,
    const char *body)
{
    client_init(client, of);
    client_header(client, "Host", "mcp.example");

    if (after) {
        client_header(client, "Last-Event-ID", after);
    }

    client->target = target;
    client_send(&d, process, client, method, body);
}


/* Starts a call whose backend sends n progress notifications, waits until the
 * call has a stream, and sets "url" to the URL of the stream. */
static inline mcp_backend_request_t *
linked(int n)
{
    mcp_backend_request_t  *breq;

    send_to(0, &a, session, "POST", "/mcp", NULL, CALL);
    breq = backend_stream(&d, 0);

    while (n--) {
        backend_send(&d, breq, PROGRESS(1) "\n");
    }

    driver_wait(&d, 1500);
    assert_non_null(link_of(&a, url));

    return breq;
}


/* Checks Cache-Control: "no-cache" for a stream; "no-store" for any other
 * response, because a later request for the same URL may get a different
 * response. */
static inline void
cached_as_it_must(client_t *client)
{
    const char  *value;

    value = client_response_header(client, "Cache-Control");
    assert_non_null(value);
    assert_string_equal(value, client->status == 200 ? "no-cache"
                                                     : "no-store");
}


static inline void
get_is(const char *of, const char *target, const char *after, int status)
{
    send_to(1, &b, of, "GET", target, after, "");
    assert_int_equal(b.status, status);
    cached_as_it_must(&b);
    client_close(&d, &b);
}


/* Stores in line[] a JSON array of answers, one for each of the first n
 * questions in ids[]. */
static inline const char *
answers(int n)
{
    static const char *const  results[] = { "{\"action\":\"accept\"}",
                                            "{\"roots\":[]}" };

    int     i;
    size_t  len;

    len = (size_t) sprintf(line, "[");

    for (i = 0; i < n; i++) {
        len += (size_t) sprintf(line + len,
                                "%s{\"jsonrpc\":\"2.0\",\"id\":\"%s\","
                                "\"result\":%s}", i ? "," : "", ids[i],
                                results[i]);
    }

    sprintf(line + len, "]");

    return line;
}


/* Sets "ids" to the ids of the two questions of the result ASK, which client a
 * has received. */
static inline void
read_ids(void)
{
    question_id(a.text, "elicitation/create", ids[0]);
    question_id(a.text, "roots/list", ids[1]);
}


/* The backend returns ASK, which has two questions, as its result; the
 * response of client a ends, and client a disconnects. */
static inline void
asked(mcp_backend_request_t *breq)
{
    end_with(breq, ASK "\n");
    assert_int_equal(a.ended, 1);
    client_last_id(&a, last);
    read_ids();
    client_close(&d, &a);
}


/* Returns the client's answer to question i as a JSON-RPC message. */
static inline const char *
answer_of(int i)
{
    static char  text[256];

    snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\","
             "\"result\":%s}", ids[i], i ? "{\"roots\":[]}"
                                        : "{\"action\":\"accept\"}");

    return text;
}


#endif /* LINK_CASES_H_INCLUDED */

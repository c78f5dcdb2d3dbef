/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of exchanges: whether they last longer than a backend request, early
 * ends, parsing in advance, memory. */

#include "core_cases.h"


/* POSTs a body in a session with these capabilities. Returns the value of
 * mcp_exchange_lasts(): 1 if the exchange may last longer than its backend
 * request. */
static int
lasts_with(const char *revision, const char *capabilities, const char *body)
{
    int         lasts;
    char        own[MCP_SESSION_TEXT_MAX];

    client_open(&d, own, revision, capabilities);
    client_post(&d, 0, &a, own, body);

    /* mcp_exchange_lasts() returns the same value before the stream begins and
     * after that */

    lasts = mcp_exchange_lasts(a.x);
    driver_wait(&d, 2000);
    assert_int_equal(a.streaming, 1);
    assert_int_equal(mcp_exchange_lasts(a.x), lasts);

    while (d.n_breqs) {
        backend_reply(&d, d.breqs[0], RESULT);
    }

    client_close(&d, &a);
    quiet();

    return lasts;
}


TEST(batch_or_possible_questions__exchange_may_outlast_its_backend_request)
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


/* mcp_exchange_lasts() returns 1 for listeners, for resumed streams, and for
 * calls whose backend request has ended; it returns 0 for responses that are
 * not streams. */
TEST(listener_or_resumed_stream_or_202__exchange_lasts_without_backend_request)
{
    char                    own[MCP_SESSION_TEXT_MAX], id[64], url[256];
    mcp_backend_request_t  *breq;
    const char *path;

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
    breq = backend_stream(&d, 0);
    backend_send(&d, breq, PROGRESS(1) "\n");
    assert_int_equal(mcp_exchange_lasts(a.x), 0);
    client_last_id(&a, id);

    client_resume(&d, 0, &b, own, id);
    assert_int_equal(mcp_exchange_lasts(b.x), 1);
    client_close(&d, &a);
    end_with_result(breq);
    assert_int_equal(b.ended, 1);
    client_close(&d, &b);

    /* the backend responds with 202: the call lasts until a response is
     * published */

    client_post(&d, 0, &a, own, CALL);
    breq = d.breqs[0];
    path = publish_url_of(breq, url, sizeof(url));
    assert_int_equal(mcp_exchange_lasts(a.x), 0);
    respond_202(breq);
    assert_int_equal(mcp_exchange_lasts(a.x), 1);

    publish(0, &b, path, RESULT);
    assert_int_equal(a.ended, 1);
    assert_int_equal(mcp_exchange_lasts(a.x), 0);
}


/* The client disconnects before the exchange has received the head of the
 * request. */
TEST(client_disconnects_before_the_head_arrives__the_exchange_is_freed)
{
    memset(&a, 0, sizeof(a));
    a.x = mcp_exchange_create(d.process[0].worker, &d.endpoint, &a);
    client_close(&d, &a);

    a.x = mcp_exchange_create_publish(d.process[0].worker, &d.endpoint,
                                      mcp_null_str, 0, &a);
}


TEST(empty_or_blank_body_gets_400_and_a_parse_error)
{
    ask(session, "", 400, "-32700");
    ask(session, " \n", 400, "-32700");
}


static void *
alloc_nothing(void *ctx, size_t size)
{
    return NULL;
}


/* POSTs a body twice, the second time with mcp_exchange_parse(): the responses
 * are equal. */
static void
same_ahead(const char *body, const mcp_mem_t *mem)
{
    const mcp_response_t  *r, *ahead;

    client_init(&a, session);
    client_send(&d, 0, &a, "POST", body);

    client_init(&b, session);
    b.ahead = mem;
    client_send(&d, 0, &b, "POST", body);

    assert_int_equal(b.next, a.next);

    while (d.n_breqs) {
        backend_reply(&d, d.breqs[0], RESULT);
    }

    r = mcp_exchange_response(a.x);
    ahead = mcp_exchange_response(b.x);

    assert_int_equal(ahead->status, r->status);
    assert_int_equal(ahead->n_headers, r->n_headers);
    assert_int_equal(ahead->body.len, r->body.len);
    assert_memory_equal(ahead->body.data, r->body.data, r->body.len);

    client_close(&d, &a);
    client_close(&d, &b);
    quiet();
}


TEST(body_is_parsed_in_advance__the_response_is_the_same)
{
    size_t     i;
    mcp_mem_t  nothing;

    static const char *const bodies[] = {
        PING, CALL, "", "{", "1", "[]", "[" PING "]", "\xff",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\\u006eg\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}"
    };

    nothing = d.te.env.mem;
    nothing.alloc = alloc_nothing;

    for (i = 0; i < ITEMS(bodies); i++) {
        same_ahead(bodies[i], &d.te.env.mem);

        /* out of memory in mcp_exchange_parse(): mcp_exchange_body() parses
         * the body instead */

        same_ahead(bodies[i], &nothing);
    }
}


/* An exchange that uses memory of the glue allocates no memory for itself, and
 * does not free the memory of the glue. */
TEST(exchange_in_memory_of_the_glue_allocates_no_memory_for_itself)
{
    long             live;
    void            *room;
    mcp_exchange_t  *x;

    room = malloc(mcp_exchange_size());
    assert_non_null(room);
    memset(room, 0xa5, mcp_exchange_size());

    live = d.te.tm.live;

    x = mcp_exchange_create_in(room, d.process[0].worker, &d.endpoint, &d);
    assert_ptr_equal(x, room);
    assert_ptr_equal(mcp_exchange_glue(x), &d);
    assert_int_equal(d.te.tm.live, live);

    assert_non_null(mcp_exchange_body_space(x, 10));
    assert_int_equal(d.te.tm.live, live + 1);

    mcp_exchange_free(x);
    assert_int_equal(d.te.tm.live, live);

    free(room);
}


RUN_TESTS(setup, teardown)

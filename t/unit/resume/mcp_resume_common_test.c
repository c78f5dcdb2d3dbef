/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of rules that all resumption methods share: start of the stream,
 * times, tokens, and the policies of individual tools. */

#include "resume_cases.h"

#include "resume/mcp_resume_common.h"


#define EVERY  "\"resumableRequests\":{},\"streams\":{},\"resumeTokens\":{}"

#define TOOL   "\"inputSchema\":{\"type\":\"object\"}"


/* The stream of a call starts after mcp_policy_after (50 ms) if it begins with
 * resume information, otherwise after mcp_stream_after (1000 ms). A call whose
 * response is ready before that gets plain JSON and is not stored. */
TEST(stream_with_resume_information_starts_when_mcp_policy_after_has_passed)
{
    static const struct {
        const char  *capabilities;
        unsigned     link, wait, after;
        const char  *expected;
    } cases[] = {
        { "{\"resumableRequests\":{}}", 0, 60000, 50, "resumePolicy" },
        { "{\"streams\":{}}", 0, 60000, 50, "stream/create" },
        { "{}", 1, 60000, 50, NULL },
        { "{\"resumeTokens\":{}}", 0, 60000, 1000, NULL },
        { "{}", 0, 60000, 1000, NULL },
        { "{\"resumableRequests\":{}}", 1, 0, 1000, NULL }
    };

    size_t  i;

    for (i = 0; i < ITEMS(cases); i++) {
        d.endpoint.link = cases[i].link;
        d.endpoint.max_wait = cases[i].wait;
        client_open(&d, session, OLD, cases[i].capabilities);

        client_post(&d, 0, &a, session, CALL);
        driver_wait(&d, cases[i].after - 1);
        backend_json(&d, RESULT);
        assert_string_equal(a.text, ANSWER);
        assert_int_equal(stats().streams, 0);
        client_close(&d, &a);

        client_post(&d, 0, &a, session, CALL);
        driver_wait(&d, cases[i].after - 1);
        assert_int_equal(a.status, 0);
        driver_wait(&d, 2);
        assert_int_equal(a.streaming, 1);

        if (cases[i].expected) {
            has(a.text, cases[i].expected);
        }

        backend_json(&d, RESULT);
        client_close(&d, &a);
        driver_wait(&d, 70000);
        quiet();
    }

    /* mcp_policy_after is 0: the stream starts at once. Then mcp_stream_after
     * is shorter than mcp_policy_after: the stream starts after
     * mcp_stream_after. */

    d.endpoint.link = 0;
    d.endpoint.max_wait = 60000;
    d.endpoint.policy_after = 0;
    client_open(&d, session, OLD, "{\"streams\":{}}");
    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 1);
    has(a.text, "stream/create");
    backend_json(&d, RESULT);
    client_close(&d, &a);

    d.endpoint.policy_after = 50;
    d.endpoint.stream_after = 10;
    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 11);
    has(a.text, "stream/create");
    backend_json(&d, RESULT);
}


TEST(milliseconds_are_written_as_seconds_and_integers_as_big_endian_bytes)
{
    static const struct {
        uint64_t     ms;
        const char  *text;
    } cases[] = {
        { 0, "0" }, { 1000, "1" }, { 1500, "1.500" }, { 7, "0.007" },
        { 90050, "90.050" }, { 600000, "600" }
    };

    size_t         i;
    mcp_buf_t      buf;
    unsigned char  p[8];

    mcp_buf_init(&buf, &d.te.env.mem, 64);

    for (i = 0; i < ITEMS(cases); i++) {
        buf.len = 0;
        mcp_resume_seconds(&buf, cases[i].ms);
        assert_str_is(((mcp_str_t) { buf.data, buf.len }), cases[i].text);
    }

    mcp_buf_free(&buf);

    mcp_be_put(p, 0x0102030405060708, 8);
    assert_int_equal(p[0], 1);
    assert_int_equal(mcp_be_get(p, 8), 0x0102030405060708);
    assert_int_equal(mcp_be_get(p + 4, 4), 0x05060708);
}


TEST(resume_token_is_written_as_a_json_string_and_verification_returns_its_data)
{
    mcp_buf_t      buf;
    mcp_str_t      text;
    unsigned char  data[20], out[20];

    memset(data, 7, sizeof(data));
    mcp_buf_init(&buf, &d.te.env.mem, 4096);
    mcp_resume_add_token(&buf, &d.keys, 'x', data, sizeof(data));
    assert_ok(buf.failed);
    assert_int_equal(buf.data[0], '"');
    assert_int_equal(buf.data[buf.len - 1], '"');

    text = (mcp_str_t) { buf.data + 1, buf.len - 2 };
    assert_ok(mcp_token_verify(&d.keys, 'x', text, out, 20));
    assert_memory_equal(out, data, 20);
    mcp_buf_free(&buf);
}


/* A client that declared no resumption method receives no resume
 * information. */
TEST(client_declared_no_resumption_method__it_gets_no_resume_information)
{
    char                    plain[8192];
    mcp_backend_request_t  *breq;

    d.endpoint.min_wait = 1000;
    d.endpoint.resume_after = 500;
    d.endpoint.resume_lifetime = 1000;
    client_open(&d, session, NEW, ALL);
    breq = call_with_progress(0);
    driver_wait(&d, 3000);
    end_with_result(breq);
    assert_int_equal(a.len, strlen(a.text));
    strcpy(plain, strchr(a.text, '.'));
    assert_null(client_response_header(&a, "Link"));
    client_close(&d, &a);
    has(plain, ".0\nretry: 2000\ndata: \n\nid: ");
    assert_int_equal(count(plain, "\ndata: {"), 2);
    has_not(plain, "resume");
}


/* x-mcp-stream-after of two tools: with the value 0 the call is a stream at
 * once, with 20 the client gets no stream for 19 seconds. */
TEST(catalog_has_resumption_times_of_a_tool__calls_of_the_tool_use_them)
{
    use_catalog("{\"tools\":["
        "{\"name\":\"echo\",\"x-mcp-stream-after\":0,\"x-mcp-max-wait\":7,"
        "\"x-mcp-min-wait\":1," TOOL "},"
        "{\"name\":\"other\",\"x-mcp-stream-after\":20," TOOL "}]}");

    client_open(&d, session, NEW, "{" INPUT "," EVERY "}");
    client_post(&d, 0, &a, session, CALL);
    driver_wait(&d, 10);
    assert_int_equal(a.streaming, 1);
    has(a.text, "\"minWait\":1,\"maxWait\":7}");
    has(a.text, "{\"min\":1,\"max\":7}");
    client_close(&d, &a);
    aborts_after(6900, 0);
    aborts_after(200, 1);
    quiet();

    client_open(&d, session, NEW, "{" INPUT "}");
    client_post(&d, 0, &a, session, CALL8);
    driver_wait(&d, 19000);
    assert_int_equal(a.streaming, 0);

    /* a cancellation at another process ends a call without a stream */

    cancel(1, session, "8");
    aborts_after(2000, 2);
    client_close(&d, &a);
    quiet();

    ask(session, REQUEST("1", "tools/list", "{}"), 200, "\"name\":\"echo\","
        "\"inputSchema\":{\"type\":\"object\"}}");
}


TEST(tool_is_not_resumable__its_call_ends_with_the_connection)
{
    char                    last[64];
    mcp_backend_request_t  *breq;

    use_catalog("{\"tools\":["
        "{\"name\":\"echo\",\"x-mcp-resumable\":false,"
        "\"x-mcp-close-after\":1," TOOL "}],"
        "\"resourceTemplates\":[{\"uriTemplate\":\"t://{a}\",\"name\":\"t\","
        "\"x-mcp-max-events\":2}]}");

    client_open(&d, session, NEW, "{" INPUT "," EVERY "}");
    breq = call_with_progress(0);
    has_not(a.text, "resumePolicy");
    has(a.text, "\"resumeInterval\":{\"max\":0}");
    driver_wait(&d, 20000);
    assert_int_equal(a.ended, 0);
    leave_with_last_id(&a, last);
    aborts_after(10, 1);
    client_resume(&d, 0, &a, session, last);
    answered(&a, 404, NULL);
    quiet();

    client_open(&d, session, NEW, "{}");
    client_post(&d, 0, &a, session,
                REQUEST("7", "resources/read", "{\"uri\":\"t://x\","
                        "\"_meta\":{\"progressToken\":\"t\"}}"));
    a.slow = 1;
    breq = backend_stream(&d, 0);
    assert_int_equal(fill(breq), 3);        /* two messages are stored, and the
                                               third one is held */
    client_close(&d, &a);
    backend_end(&d, breq, MCP_FAILURE_REPLY);
    driver_wait(&d, 70000);
}


/* A call keeps the policy with which it began, even if the name of its tool is
 * long or the catalog changes during the call. */
TEST(catalog_changes__a_call_keeps_the_policy_with_which_it_began)
{
    char                    name[201], text[1024];
    mcp_backend_request_t  *breq;

    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';

    use_catalog("{\"resourceTemplates\":[{\"uriTemplate\":\"t://{a}\","
                "\"name\":\"t\",\"x-mcp-stream-after\":0,"
                "\"x-mcp-max-wait\":9}]}");
    d.endpoint.max_wait = 0;
    client_open(&d, session, NEW, "{" INPUT "," EVERY "}");

    snprintf(text, sizeof(text), REQUEST("7", "resources/read",
             "{\"uri\":\"t://%s\"}"), name);
    client_post(&d, 0, &a, session, text);
    driver_wait(&d, 10);
    quoted(a.text, "resumePolicy\",\"params\":{\"requestId\":7,"
           "\"resumeToken\":\"", token, sizeof(token));
    client_close(&d, &a);

    snprintf(text, sizeof(text), REQUEST("1", "requests/getStatus",
             "{\"requestId\":7,\"resumeToken\":\"%s\"}"), token);
    ask(session, text, 200, "\"status\":\"processing\"");

    use_catalog("{\"tools\":[{\"name\":\"echo\","
                "\"x-mcp-max-wait\":9," TOOL "}]}");
    ask(session, text, 200, "\"status\":\"processing\"");
    driver_wait(&d, 10000);
    quiet();

    d.endpoint.max_wait = 60000;
    use_catalog("{\"tools\":[{\"name\":\"echo\","
                "\"x-mcp-resumable\":false," TOOL "}]}");
    breq = call_with_progress(0);
    use_catalog("{\"tools\":[{\"name\":\"echo\"," TOOL "}]}");
    ask(session, REQUEST("1", "stream/poll/all", "{}"), 200,
        "{\"statuses\":[]}");
    gets_result(&a, breq);
    client_close(&d, &a);
    driver_wait(&d, 20000);
}


/*
 * A response was written to a broken connection. A client that was informed of
 * a maximum time can get the response again within that time, or until its
 * Last-Event-ID confirms the response; for other clients the response is kept
 * for mcp_linger.
 */
TEST(response_was_lost_on_its_connection__it_is_kept_for_the_announced_time)
{
    size_t                  i;
    uint64_t                linger;
    mcp_backend_request_t  *breq;

    static const struct {
        const char  *knows;
        const char  *resume;
    } cases[] = {
        { "\"resumableRequests\":{}",
          "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"requests/resume\","
          "\"params\":{\"resumeToken\":\"%1$s\"}}" },
        { "\"streams\":{}",
          "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"stream/resume\","
          "\"params\":{\"resumeToken\":\"%1$s\",\"streamId\":\"%2$.22s\"}}" },
        { "\"resumeTokens\":{}", NULL },
        { "\"sampling\":{}", NULL }
    };

    linger = d.endpoint.linger;
    d.endpoint.max_wait = 40000;

    for (i = 0; i < ITEMS(cases); i++) {
        char  text[1024], last[64];

        snprintf(text, sizeof(text), "{%s}", cases[i].knows);
        client_open(&d, session, NEW, text);
        breq = call_with_progress(0);

        if (cases[i].resume) {
            quoted(a.text, "\"resumeToken\":\"", token, sizeof(token));
        }

        gets_result(&a, breq);
        leave_with_last_id(&a, last);

        driver_wait(&d, (unsigned) linger + 1000);

        if (cases[i].resume == NULL) {
            assert_int_equal(stats().streams, 0);
            continue;
        }

        snprintf(text, sizeof(text), cases[i].resume, token, last);
        driver_wait(&d, 40000 - (unsigned) linger - 2000);
        post_after(1, &b, session, text, NULL);
        has(b.text, ANSWER);
        assert_int_equal(b.ended, 1);
        client_close(&d, &b);

        /* the client has lost this copy of the response as well, but its
         * Last-Event-ID then confirms the response */

        driver_wait(&d, 39000);
        assert_int_equal(stats().streams, 1);
        post_after(1, &b, session, text, last);
        has_not(b.text, ANSWER);
        client_close(&d, &b);
        driver_wait(&d, (unsigned) linger + 1000);
        assert_int_equal(stats().streams, 0);
        ask(session, text, 200, REFUSED);
        quiet();
    }
}


/* A call that is not resumable cannot be resumed with any of its event ids, so
 * no request takes its stream over. */
TEST(call_is_not_resumable__none_of_its_event_ids_resumes_it)
{
    char                    last[64];
    mcp_backend_request_t  *breq;

    use_catalog("{\"tools\":[{\"name\":\"echo\","
                "\"x-mcp-resumable\":false," TOOL "}]}");

    d.endpoint.link = 1;
    client_open(&d, session, NEW, "{" INPUT "," EVERY "}");
    breq = call_with_progress(0);
    assert_null(client_response_header(&a, "Link"));
    client_last_id(&a, last);

    client_resume(&d, 1, &b, session, last);
    answered(&b, 404, "Unknown event ID");
    assert_int_equal(a.ended, 0);

    gets_result(&a, breq);
    client_last_id(&a, last);

    client_resume(&d, 1, &b, session, last);
    answered(&b, 404, NULL);
    client_close(&d, &a);
    driver_wait(&d, 20000);
}


/* A batch is not resumable if one of its requests is not. */
TEST(one_request_of_a_batch_is_not_resumable__the_batch_is_not_resumable)
{
    use_catalog("{\"tools\":[{\"name\":\"other\"," TOOL "},"
                "{\"name\":\"echo\",\"x-mcp-resumable\":false," TOOL "}]}");

    client_open(&d, session, OLD, "{" INPUT "," EVERY "}");
    client_post(&d, 0, &a, session, "[" CALL8 "," CALL "]");
    driver_wait(&d, 1500);
    assert_int_equal(a.streaming, 1);
    has_not(a.text, "resumePolicy");
    has(a.text, "\"resumeInterval\":{\"max\":0}");
    client_close(&d, &a);
    aborts_after(10, 2);
    quiet();

    client_post(&d, 0, &a, session, "[" CALL8 "," PING "]");
    driver_wait(&d, 1500);
    has(a.text, "resumePolicy");
    client_close(&d, &a);
    aborts_after(10, 2);
    driver_wait(&d, 70000);
}


RUN_TESTS(setup, teardown)

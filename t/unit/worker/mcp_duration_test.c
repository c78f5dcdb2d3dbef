/* SPDX-License-Identifier: Apache-2.0 */

/* The histogram in which the durations of requests and notifications are
 * counted. */

#include "core_cases.h"

#include "store/mcp_store_call_stats.h"


/* Returns the number of messages that were counted with a method and a class of
 * error, and adds their durations to *sum. */
static uint64_t
durations(mcp_method_e method, mcp_error_type_e error, uint64_t *sum)
{
    uint32_t        i, k;
    uint64_t        n;
    mcp_store_t    *store;
    mcp_duration_t  duration;

    store = &d.process[0].store;
    n = 0;

    for (i = 0; i < mcp_store_durations(store); i++) {
        if (mcp_store_duration_get(store, i, &duration)
            && duration.key.method == method && duration.key.error == error)
        {
            for (k = 0; k < MCP_CALL_STATS_BUCKETS; k++) {
                n += duration.buckets[k];
            }

            *sum += duration.sum;
        }
    }

    return n;
}


static uint64_t
counted(mcp_method_e method, int64_t code)
{
    uint64_t  sum;

    return durations(method, mcp_error_type_of_code(code), &sum);
}


static uint64_t
counted_as(mcp_method_e method, mcp_error_type_e error)
{
    uint64_t  sum;

    return durations(method, error, &sum);
}


static void
post(const char *text)
{
    client_post(&d, 0, &a, session, text);
    client_close(&d, &a);
}


/* Messages to which the server responds without a backend. */
TEST(messages_without_a_backend_are_counted_by_method_and_error)
{
    post(PING);
    post(PING);
    post(REQUEST("1", "no/such", "{}"));
    post(REQUEST("1", "tools/list", "{\"cursor\":5}"));
    post(NOTE("notifications/initialized", "{}"));
    post(NOTE("notifications/x", "{}"));

    /* neither a request nor a notification */

    post("{");
    post("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");

    assert_int_equal(counted(MCP_METHOD_PING, 0), 2);
    assert_int_equal(counted(MCP_METHOD_UNKNOWN, -32601), 1);
    assert_int_equal(counted(MCP_METHOD_TOOLS_LIST, -32602), 1);
    assert_int_equal(counted(MCP_METHOD_NOTIFICATION_INITIALIZED, 0), 1);
    assert_int_equal(counted(MCP_METHOD_UNKNOWN, 0), 1);
    assert_int_equal(counted(MCP_METHOD_UNKNOWN, -32700), 0);

    /* setup() has opened the session */

    assert_int_not_equal(counted(MCP_METHOD_INITIALIZE, 0), 0);

    client_post(&d, 0, &a, "nothing", PING);
    client_close(&d, &a);
    assert_int_equal(counted(MCP_METHOD_PING, -32001), 1);
}


/* Calls, each of which takes 40 ms. */
TEST(durations_of_calls_are_counted_by_their_kind_of_error)
{
    size_t                  i;
    uint64_t                sum;
    mcp_backend_request_t  *breq;

    static const struct {
        const char        *text;
        int64_t            code;
        mcp_error_type_e   error;
    } cases[] = {
        { RESULT "\n", 0, MCP_ERROR_TYPE_NONE },
        { "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[],"
          "\"isError\":true}}\n", 0, MCP_ERROR_TYPE_TOOL },
        { "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32002,"
          "\"message\":\"m\"}}\n", -32002, MCP_ERROR_TYPE_NONE },
        { "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":5,"
          "\"message\":\"m\"}}\n", 5, MCP_ERROR_TYPE_NONE },
        { "{\n", -32603, MCP_ERROR_TYPE_NONE }
    };

    for (i = 0; i < ITEMS(cases); i++) {
        breq = call(0);
        driver_wait(&d, 40);
        end_with(breq, cases[i].text);
        client_close(&d, &a);

        sum = 0;
        assert_int_equal(durations(MCP_METHOD_TOOLS_CALL,
                                   cases[i].error
                                   ? cases[i].error
                                   : mcp_error_type_of_code(cases[i].code),
                                   &sum),
                         1);
        assert_int_equal(sum, 40);
    }
}


/* A call that becomes a stream: counted once, when its response is known. */
TEST(call_with_a_stream_is_counted_once_when_its_response_is_known)
{
    uint64_t                sum;
    mcp_backend_request_t  *breq;

    breq = call_with_progress(0);
    driver_wait(&d, 250);
    assert_int_equal(counted(MCP_METHOD_TOOLS_CALL, 0), 0);

    driver_wait(&d, 50);
    end_with_result(breq);

    sum = 0;
    assert_int_equal(durations(MCP_METHOD_TOOLS_CALL, MCP_ERROR_TYPE_NONE,
                               &sum),
                     1);
    assert_int_equal(sum, 300);
    client_close(&d, &a);
    assert_int_equal(counted(MCP_METHOD_TOOLS_CALL, 0), 1);
}


TEST(cancelled_call_is_counted_as_cancelled_and_not_as_successful)
{
    call_with_progress(0);
    driver_wait(&d, 250);
    client_post(&d, 0, &b, session, CANCEL7);
    driver_pump(&d);
    client_close(&d, &b);
    client_close(&d, &a);

    assert_int_equal(counted_as(MCP_METHOD_TOOLS_CALL,
                                MCP_ERROR_TYPE_CANCELLED), 1);
    assert_int_equal(counted(MCP_METHOD_NOTIFICATION_CANCELLED, 0), 1);
    assert_int_equal(counted(MCP_METHOD_TOOLS_CALL, 0), 0);
}


/* A batch: each of its requests and notifications is counted. */
TEST(each_request_and_notification_of_a_batch_is_counted)
{
    char  old[MCP_SESSION_TEXT_MAX];

    client_open(&d, old, OLD, ALL);
    client_post(&d, 0, &a, old,
                "[" PING "," NOTE("notifications/x", "{}") "," CALL ","
                REQUEST("2", "no/such", "{}") ",{\"id\":1}]");
    backend_reply(&d, d.breqs[0], RESULT);
    client_close(&d, &a);

    assert_int_equal(counted(MCP_METHOD_PING, 0), 1);
    assert_int_equal(counted(MCP_METHOD_UNKNOWN, 0), 1);
    assert_int_equal(counted(MCP_METHOD_UNKNOWN, -32601), 1);
    assert_int_equal(counted(MCP_METHOD_TOOLS_CALL, 0), 1);
}


/* A GET opens a stream, but is no message. */
TEST(GET_request_opens_a_stream_but_is_not_counted_as_a_message)
{
    uint32_t        i, n;
    uint64_t        before, after;
    mcp_duration_t  duration;

    before = counted(MCP_METHOD_INITIALIZE, 0);
    client_resume(&d, 0, &a, session, NULL);
    client_close(&d, &a);
    after = counted(MCP_METHOD_INITIALIZE, 0);
    assert_int_equal(before, after);

    for (n = 0, i = 0; i < mcp_store_durations(&d.process[0].store); i++) {
        n += (uint32_t) mcp_store_duration_get(&d.process[0].store, i,
                                               &duration);
    }

    assert_in_range(n, 1, 2);
}


RUN_TESTS(setup, teardown)

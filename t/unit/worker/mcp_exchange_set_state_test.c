/* SPDX-License-Identifier: Apache-2.0 */

/* The debug log of a call: a line for every change of state, from the head of
 * its request to the last byte of its stream. */

#include "core_cases.h"


/* Checks that the log contains these lines in this order; there may be other
 * lines between them. */
static void
logged(const char *const *lines)
{
    const char  *p;

    for (p = d.te.debug; *lines; lines++) {
        p = strstr(p, *lines);

        if (p == NULL) {
            fail_msg("no \"%s\" where it should be in\n%s", *lines, d.te.debug);
        }

        p += strlen(*lines);
    }
}


TEST(call_has_a_json_response__the_debug_log_has_its_states_in_order)
{
    static const char *const  lines[] = {
        "waits for its body", "created from the message of exchange",
        "waits for its call, call ", "calls its backend",
        "the backend responded with HTTP status 200",
        "the backend request ended",
        "request 0: over", "has its response",
        "phase is now over, was transient", NULL
    };

    d.te.debug[0] = '\0';
    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, RESULT);
    logged(lines);
}


TEST(call_has_a_stream__the_debug_log_has_its_states_in_order)
{
    static const char *const  lines[] = {
        "waits for its body", "waits for its call", "calls its backend",
        "reads a stream, call ", "phase is now durable, was transient",
        "consumer of the exchange", "reads", "request 0: over",
        "now over, was durable", "writes its last bytes", "has written all",
        "no longer reads its stream", NULL
    };

    mcp_backend_request_t  *breq;

    d.te.debug[0] = '\0';
    breq = call_with_progress(0);
    end_with_result(breq);
    client_close(&d, &a);
    logged(lines);
}


/* mcp_consumer_set_close(): after MCP_CONSUMER_CLOSE_NOW,
 * MCP_CONSUMER_CLOSE_SOON (close as soon as the client can resume) has no
 * effect. */
TEST(close_soon_follows_close_now__the_connection_is_still_to_close_now)
{
    mcp_backend_request_t  *breq;

    breq = call_with_progress(0);

    mcp_consumer_set_close(a.x, MCP_CONSUMER_CLOSE_SOON);
    mcp_consumer_set_close(a.x, MCP_CONSUMER_CLOSE_NOW);
    mcp_consumer_set_close(a.x, MCP_CONSUMER_CLOSE_SOON);
    assert_int_equal(a.x->reader.close, MCP_CONSUMER_CLOSE_NOW);

    end_with_result(breq);
}


/* At log level "info" there are no debug messages. */
TEST(log_level_is_info__no_debug_message_is_logged)
{
    d.te.debug[0] = '\0';
    d.te.env.log_level = MCP_LOG_INFO;
    client_post(&d, 0, &a, session, CALL);
    backend_json(&d, RESULT);
    client_close(&d, &a);
    d.te.env.log_level = MCP_LOG_DEBUG;
    assert_string_equal(d.te.debug, "");
}


RUN_TESTS(setup, teardown)

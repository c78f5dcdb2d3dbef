/* SPDX-License-Identifier: Apache-2.0 */

/* A test of the first events of a stream, which contain the information of
 * several resumption methods. */

#include "resume_cases.h"


#define EVERY  "\"resumableRequests\":{},\"streams\":{},\"resumeTokens\":{}"


/* The limits mcp_max_events and mcp_stream_buffer apply to the messages of the
 * backend. They do not apply to the events with resume information, with which
 * the stream begins. */
TEST(limits_of_a_stream_do_not_apply_to_its_resume_information)
{
    mcp_backend_request_t  *breq;

    d.endpoint.max_events = 1;
    d.endpoint.stream_buffer = 100;
    client_open(&d, session, OLD, "{" INPUT "," EVERY "}");
    breq = call_with_progress(0);
    assert_int_equal(a.streaming, 1);
    has(a.text, "resumePolicy");
    has(a.text, "stream/create");
    gets_result(&a, breq);
    client_close(&d, &a);

    client_post(&d, 0, &a, session, "[" CALL "," CALL8 "]");
    assert_int_equal(d.n_breqs, 2);
    driver_wait(&d, 2000);
    assert_int_equal(a.streaming, 1);
    assert_int_equal(count(a.text, "resumePolicy"), 2);

    while (d.n_breqs) {
        breq = backend_stream(&d, 0);
        end_with_result(breq);
    }

    assert_int_equal(a.ended, 1);
    client_close(&d, &a);
    driver_wait(&d, 20000);
}


RUN_TESTS(setup, teardown)

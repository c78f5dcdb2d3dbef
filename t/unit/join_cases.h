/* SPDX-License-Identifier: Apache-2.0 */

/* Helpers for the tests of joined calls. Calls of the tool "echo" are joined
 * if their idempotency keys or their arguments are equal, calls of "other"
 * only if their idempotency keys are equal, calls of "p" never. */


#ifndef JOIN_CASES_H_INCLUDED
#define JOIN_CASES_H_INCLUDED


#include "round_cases.h"


#define KEYED(id, name, key)                                                 \
    REQUEST(id, "tools/call", "{\"name\":\"" name "\",\"arguments\":{\"a\":" \
            "1},\"_meta\":{\"progressToken\":" id ","                         \
            "\"idempotencyKey\":" key "}}")

#define KEY(key)  ",\"idempotencyKey\":\"" key "\""

#define JOINED_ANSWER(id)                                                    \
    "data: {\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":" RESULT "}\n\n"


static inline int
join_setup(void **state)
{
    driver_init(&d);
    use_catalog(
        "{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{\"type\":"
        "\"object\"},\"x-mcp-join\":\"arguments\"},{\"name\":\"other\","
        "\"inputSchema\":{\"type\":\"object\"},\"x-mcp-join\":\"key\"},"
        "{\"name\":\"p\",\"inputSchema\":{\"type\":\"object\"}}]}");
    d.endpoint.join_wait = 10000;
    d.endpoint.call_timeout = 1000000;
    round_principal = "me";
    client_open(&d, session, NEW, ALL);

    return 0;
}


/* Closes the clients and ends the backend requests that a test has left. */
static inline int
join_teardown(void **state)
{
    client_close(&d, &a);
    client_close(&d, &b);
    driver_end_breqs(&d, 0);
    driver_end_breqs(&d, 1);
    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));

    return teardown(state);
}


#undef test
static inline uint64_t
joined(void)
{
    mcp_store_stats_t  s;

    mcp_store_stats(&d.process[0].store, &s);

    return (uint64_t) s.counter[MCP_COUNT_JOINED];
}


/* Checks that the response of a client has ended, reports that it was sent,
 * and closes the client. */
static inline void
sent(client_t *c)
{
    assert_int_equal(c->ended, 1);

    if (!c->streaming) {
        mcp_exchange_sent(c->x);
    }

    client_close(&d, c);
}


#endif /* JOIN_CASES_H_INCLUDED */

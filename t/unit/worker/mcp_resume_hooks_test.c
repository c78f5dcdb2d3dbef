/* SPDX-License-Identifier: Apache-2.0 */

/* Hooks of resumption methods: a client gets only the methods that it
 * supports. */

#include "core_cases.h"

#include "resume/mcp_resume_methods.h"


TEST(client_gets_only_the_resumption_methods_that_it_declared)
{
    mcp_exchange_t  x;

    memset(&x, 0, sizeof(x));
    x.worker = d.process[0].worker;
    assert_null(mcp_hook_find(&x, mcp_method(MCP_METHOD_STREAM_POLL)));
    assert_null(mcp_hook_find(&x, mcp_method(MCP_METHOD_PING)));

    x.client.capabilities = MCP_CLIENT_STREAMS;
    assert_ptr_equal(mcp_hook_find(&x, mcp_method(MCP_METHOD_STREAM_POLL)),
                     &mcp_resume_stream);
    assert_null(mcp_hook_find(&x, mcp_method(MCP_METHOD_REQUESTS_RESUME)));

    x.client.capabilities = 0xffff;
    assert_ptr_equal(mcp_hook_find(&x, mcp_method(MCP_METHOD_REQUESTS_RESUME)),
                     &mcp_resume_request);
    assert_null(mcp_hook_find(&x, mcp_method(MCP_METHOD_PING)));
}


/* Each resumption method has a separate state in an exchange; the state is
 * NULL before the method has created it. */
TEST(each_resumption_method_has_a_separate_state_in_an_exchange)
{
    char           *link, *token;
    size_t          i;
    mcp_exchange_t  x;

    memset(&x, 0, sizeof(x));
    x.worker = d.process[0].worker;
    mcp_arena_init(&x.arena, &x.worker->env->mem);

    assert_null(mcp_hook_state(x.states, &mcp_resume_link));
    link = mcp_hook_state_create(&x, &mcp_resume_link, 100);
    assert_null(mcp_hook_state(x.states, &mcp_resume_token));
    token = mcp_hook_state_create(&x, &mcp_resume_token, 1);
    assert_non_null(link);
    assert_non_null(token);
    assert_int_equal((uintptr_t) link % 8, 0);
    assert_int_equal((uintptr_t) token % 8, 0);

    for (i = 0; i < 100; i++) {
        assert_int_equal(link[i], 0);
    }

    assert_ptr_equal(mcp_hook_state(x.states, &mcp_resume_link), link);
    assert_ptr_equal(mcp_hook_state(x.states, &mcp_resume_token), token);
    assert_null(mcp_hook_state(x.states, &mcp_resume_stream));

    mcp_arena_destroy(&x.arena);
}


/* A request that uses no resumption method is passed to none. */
TEST(request_uses_no_resumption_method__no_method_has_a_state)
{
    mcp_exchange_t  *x;

    client_post(&d, 0, &a, session, CALL);
    x = a.x;
    assert_ptr_equal(x->resumption, &mcp_resume_event_id);
    assert_null(x->states);
    assert_int_equal(mcp_hook_stays(x), 0);
    assert_int_equal(mcp_hook_idle(x), 0);
    backend_json(&d, RESULT);
}


static unsigned    passed;
static mcp_next_e  decided;            /* return value of counts_request() */

static int
counts_lookup(mcp_exchange_t *x, const mcp_head_t *head)
{
    passed++;

    return MCP_DONE;
}


static mcp_next_e
counts_request(mcp_exchange_t *x)
{
    passed++;

    return decided;
}


static const mcp_resume_call_t  counts_hooks = { .request = counts_request };
static const mcp_resume_method_t  counts_link = {
    .capability = MCP_CLIENT_LINKS,
    .lookup = counts_lookup
};
static const mcp_resume_method_t  counts_call = {
    .capability = MCP_CLIENT_TOKENS,
    .call = &counts_hooks
};


/* A call is passed to the resumption methods only if the capabilities of its
 * client, its message or its endpoint require that. */
TEST(client_or_message_or_endpoint_decides_which_resumption_methods_get_a_call)
{
    mcp_rpc_t       msg;
    mcp_head_t      head;
    mcp_exchange_t  x;
    mcp_worker_t    worker;

    static const mcp_resume_method_t *const  methods[] = { &counts_link,
                                                           &counts_call,
                                                           NULL };

    worker = *d.process[0].worker;
    worker.methods = methods;

    memset(&msg, 0, sizeof(msg));
    memset(&head, 0, sizeof(head));
    memset(&x, 0, sizeof(x));
    x.msg = &msg;
    x.worker = &worker;
    x.endpoint = &d.endpoint;
    passed = 0;
    decided = MCP_NEXT_CONTINUE;

    assert_ok(mcp_hook_lookup(&x, &head));
    assert_int_equal(mcp_hook_request(&x), MCP_NEXT_CONTINUE);
    x.client.capabilities = MCP_CLIENT_STREAMS|MCP_CLIENT_INPUT;
    assert_int_equal(mcp_hook_request(&x), MCP_NEXT_CONTINUE);
    assert_int_equal(passed, 0);

    x.client.capabilities = MCP_CLIENT_TOKENS;
    assert_int_equal(mcp_hook_request(&x), MCP_NEXT_CONTINUE);
    assert_int_equal(passed, 1);

    x.client.capabilities = 0;
    msg.meta_resume_token.type = MCP_JSON_STRING;
    assert_int_equal(mcp_hook_request(&x), MCP_NEXT_CONTINUE);
    assert_int_equal(passed, 2);

    d.endpoint.link = 1;
    assert_ok(mcp_hook_lookup(&x, &head));
    assert_int_equal(passed, 3);
}


/* The request of a call waits, or has a response: the methods behind the one
 * that has decided this are not called. */
TEST(resumption_method_responds_or_waits__the_next_method_is_not_called)
{
    size_t          i;
    mcp_rpc_t       msg;
    mcp_exchange_t  x;
    mcp_worker_t    worker;

    static const mcp_resume_method_t *const  methods[] = { &counts_call,
                                                           &counts_call,
                                                           NULL };
    static const struct {
        mcp_next_e  next;
        unsigned    calls;
    } cases[] = {
        { MCP_NEXT_CONTINUE, 2 },
        { MCP_NEXT_WAIT, 1 },
        { MCP_NEXT_RESPOND, 1 },
        { MCP_NEXT_STREAM, 1 },
        { MCP_NEXT_ERROR, 1 }
    };

    worker = *d.process[0].worker;
    worker.methods = methods;

    memset(&msg, 0, sizeof(msg));
    memset(&x, 0, sizeof(x));
    x.msg = &msg;
    x.worker = &worker;
    x.endpoint = &d.endpoint;
    x.client.capabilities = MCP_CLIENT_TOKENS;

    for (i = 0; i < ITEMS(cases); i++) {
        passed = 0;
        decided = cases[i].next;
        assert_int_equal(mcp_hook_request(&x), cases[i].next);
        assert_int_equal(passed, cases[i].calls);
    }
}


RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: Apache-2.0 */

/* Lists of an MCP server in the cache of a process: how long they are used, and
 * when the server is asked again. */

#include "upstream_cases.h"

#include "call/mcp_upstream_list_from_cache.h"
#include "worker/mcp_worker_upstream.h"


#define LIST     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}"
#define PAGE(n)  "{\"tools\":[{\"name\":\"" n "\",\"inputSchema\":{}}]}"


static int
setup_lists(void **state)
{
    setup_upstream(state);

    target.upstream = MCP_UPSTREAM_STATELESS;
    target.check = 60000;
    target.stale = 600000;
    target.lists = MCP_UPSTREAM_LISTS_SHARED;
    d.endpoint.catalog = NULL;

    return 0;
}


static void
list(client_t *c)
{
    client_post(&d, 0, c, session, LIST);
}


/* Checks that a client gets the list with a tool of this name at once. */
static void
cached(const char *name)
{
    client_t  c;

    list(&c);
    assert_int_equal(c.status, 200);
    has(c.text, name);
    client_close(&d, &c);
}


/* Fills the cache. */
static void
fill_cache(void)
{
    list(&a);
    sends("tools/list");
    answer(PAGE("one"));
    has(a.text, "\"one\"");
    client_close(&d, &a);
    assert_int_equal(d.n_breqs, 0);
}


/* Requests the list, and checks that the server gets the request, and client a
 * the server's new list. */
static void
server_is_asked(void)
{
    list(&a);
    sends("tools/list");
    answer(PAGE("two"));
    has(a.text, "\"two\"");
}


TEST(cached_list_is_not_requested_again_within_mcp_upstream_check)
{
    fill_cache();
    driver_wait(&d, 59999);
    cached("\"one\"");
    assert_int_equal(d.n_breqs, 0);

    driver_wait(&d, 1);
    list(&a);
    sends("tools/list");

    /* other clients get the old list meanwhile */

    cached("\"one\"");
    answer(PAGE("two"));
    has(a.text, "\"two\"");
    client_close(&d, &a);
    cached("\"two\"");
}


TEST(renewal_of_a_cached_list_fails__the_cached_list_is_used_for_1_s_more)
{
    fill_cache();
    driver_wait(&d, 60000);
    list(&a);
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    has(a.text, "\"one\"");
    client_close(&d, &a);

    driver_wait(&d, 999);
    cached("\"one\"");
    assert_int_equal(d.n_breqs, 0);

    driver_wait(&d, 1);
    server_is_asked();
}


TEST(mcp_server_sends_no_list_for_10_s__the_client_gets_the_cached_list)
{
    fill_cache();
    driver_wait(&d, 60000);
    list(&a);
    sends("tools/list");
    driver_wait(&d, 9999);
    assert_null(strstr(a.text, "\"one\""));
    driver_wait(&d, 1);
    has(a.text, "\"one\"");
}


/* The zone has no room for the cached list when the server responds. */
TEST(mcp_server_is_overloaded__the_client_gets_the_cached_list_despite_a_delay)
{
    size_t            i;
    mcp_stream_ref_t  ref;

    static const int  statuses[] = { 429, 503 };

    for (i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        fill_cache();
        driver_wait(&d, 60000);
        list(&a);
        sends("tools/list");
        driver_wait(&d, 1500);

        hog(&ref);
        mcp_backend_request_head(d.breqs[0], statuses[i],
                                 mcp_str("application/json"));
        backend_send(&d, d.breqs[0],
                     "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":"
                     "{\"code\":-32000,\"message\":\"busy\"}}");
        backend_end(&d, d.breqs[0], MCP_FAILURE_NONE);
        driver_wait(&d, 3 * MCP_CALL_RETRY);
        has_not(a.text, "\"one\"");
        has_not(a.text, "busy");

        mcp_store_free(&d.process[1].store, &ref);
        driver_wait(&d, MCP_CALL_RETRY);
        has(a.text, "\"one\"");
        client_close(&d, &a);
        mcp_upstream_lists_drop(d.process[0].worker, &d.endpoint, 0,
                                MCP_LIST_TOOLS);
    }
}


TEST(client_leaves_while_a_list_is_renewed__the_next_renewal_begins_11_s_later)
{
    fill_cache();
    driver_wait(&d, 60000);
    list(&a);
    client_close(&d, &a);
    driver_wait(&d, 10000);
    cached("\"one\"");
    driver_wait(&d, 1000);

    while (d.n_breqs) {
        backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    }

    driver_wait(&d, 1000);
    server_is_asked();
}


TEST(mcp_upstream_stale_has_passed_and_the_server_fails__client_gets_the_fault)
{
    fill_cache();
    driver_wait(&d, 660000);
    list(&a);
    backend_end(&d, d.breqs[0], MCP_FAILURE_REPLY);
    has(a.text, "-32603");
}


TEST(mcp_server_rejects_credentials__the_client_gets_the_fault_but_no_list)
{
    fill_cache();
    driver_wait(&d, 60000);
    list(&a);
    mcp_backend_request_head(d.breqs[0], 401, mcp_str("text/plain"));
    backend_end(&d, d.breqs[0], MCP_FAILURE_NONE);
    has(a.text, "-32603");
    client_close(&d, &a);

    /* for the next client the server is asked again */

    server_is_asked();
}


TEST(list_with_a_resume_token_is_not_cached)
{
    list(&a);
    sends("tools/list");
    answer("{\"tools\":[],\"nextResumeToken\":\"secret\"}");
    client_close(&d, &a);

    server_is_asked();
}


TEST(list_changes_during_a_list_request__the_response_is_not_cached)
{
    list(&a);
    sends("tools/list");
    mcp_upstream_lists_drop(d.process[0].worker, &d.endpoint, 0,
                            MCP_LIST_TOOLS);
    answer(PAGE("one"));
    has(a.text, "\"one\"");
    client_close(&d, &a);

    server_is_asked();
    client_close(&d, &a);
    cached("\"two\"");
}


TEST(another_list_changes_while_a_list_is_renewed__clients_get_the_renewed_one)
{
    fill_cache();
    driver_wait(&d, 60000);
    list(&a);
    sends("tools/list");
    mcp_upstream_lists_drop(d.process[0].worker, &d.endpoint, 0,
                            MCP_LIST_PROMPTS);
    mcp_upstream_lists_drop(d.process[0].worker, &d.endpoint, 1,
                            MCP_LIST_TOOLS);
    answer(PAGE("two"));
    has(a.text, "\"two\"");
    client_close(&d, &a);
    cached("\"two\"");
}


TEST(mcp_server_sends_an_invalid_list__the_list_is_not_cached)
{
    list(&a);
    sends("tools/list");
    answer("{\"tools\":null}");
    client_close(&d, &a);

    fill_cache();
    cached("\"one\"");
}


TEST(list_that_another_process_has_cached_is_not_used)
{
    fill_cache();
    client_post(&d, 1, &a, session, LIST);
    sends("tools/list");
    answer(PAGE("two"));
    has(a.text, "\"two\"");
}


TEST(server_without_a_statistics_row_rejects_a_cursor__cached_list_is_dropped)
{
    take_rows();
    fill_cache();
    client_post(&d, 0, &a, session,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\","
                "\"params\":{\"cursor\":\"2\"}}");
    backend_reply(&d, sends("tools/list"),
                  "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":"
                  "{\"code\":-32602,\"message\":\"Invalid cursor\"}}");
    has(a.text, "-32602");
    client_close(&d, &a);

    server_is_asked();
}


RUN_TESTS(setup_lists, teardown)

/* SPDX-License-Identifier: Apache-2.0 */

/* The rows of the call statistics in which requests are counted. */

#include "core_cases.h"

#include "rpc/mcp_fault.h"
#include "store/mcp_store_call_stats.h"
#include "worker/mcp_call_stats.h"


#define CATALOG  "{\"tools\":[{\"name\":\"echo\",\"inputSchema\":"            \
                 "{\"type\":\"object\"}},{\"name\":\"other\","                \
                 "\"inputSchema\":{\"type\":\"object\"}}],"                   \
                 "\"prompts\":[{\"name\":\"echo\"}],"                         \
                 "\"resources\":[{\"uri\":\"a:b\",\"name\":\"r\"}],"          \
                 "\"resourceTemplates\":[{\"uriTemplate\":\"a:{x}\","         \
                 "\"name\":\"t\"}]}"


static int
setup_catalog(void **state)
{
    unsigned  i;

    setup(state);
    use_catalog(CATALOG);
    d.endpoint.catalog_key[0] = 1;
    d.endpoint.label = mcp_str("localhost/mcp");

    for (i = 0; i < 2; i++) {
        mcp_worker_begin(d.process[i].worker, 1);
        mcp_worker_offer(d.process[i].worker, &d.endpoint);
        mcp_worker_offer(d.process[i].worker, &d.endpoint);
        mcp_worker_begun(d.process[i].worker);
    }

    return 0;
}


/* Returns the row with this kind and name. */
static mcp_call_stats_t
stats_of(mcp_call_stats_kind_e kind, const char *name)
{
    uint32_t          i, n;
    mcp_call_stats_t  t;
    mcp_store_t      *store;

    store = &d.process[0].store;
    n = mcp_store_call_stats_rows(store);

    for (i = 1; i < n; i++) {
        mcp_store_call_stats_get(store, i, &t);

        if (t.kind == kind && strcmp(t.name, name) == 0) {
            assert_string_equal(t.endpoint, "localhost/mcp");
            return t;
        }
    }

    fail_msg("no row of %s", name);
    memset(&t, 0, sizeof(t));

    return t;
}


static uint64_t
running(void)
{
    size_t    i;
    uint64_t  n, counts[16] = { 0 };

    mcp_store_active_count(&d.process[0].store, counts, 16);

    for (n = 0, i = 0; i < 16; i++) {
        n += counts[i];
    }

    return n;
}


TEST(each_kind_of_call_is_counted_in_the_row_of_its_catalog_entry)
{
    size_t  i;

    static const struct {
        const char            *text;
        const char            *name;
        mcp_call_stats_kind_e  kind;
    } cases[] = {
        { REQUEST("1", "tools/call", "{\"name\":\"echo\"}"), "echo",
          MCP_CALL_STATS_KIND_TOOL },
        { REQUEST("2", "prompts/get", "{\"name\":\"echo\"}"), "echo",
          MCP_CALL_STATS_KIND_PROMPT },
        { REQUEST("3", "resources/read", "{\"uri\":\"a:b\"}"), "a:b",
          MCP_CALL_STATS_KIND_RESOURCE },
        { REQUEST("4", "resources/read", "{\"uri\":\"a:c\"}"), "a:{x}",
          MCP_CALL_STATS_KIND_TEMPLATE }
    };

    for (i = 0; i < ITEMS(cases); i++) {
        client_post(&d, i % 2, &a, session, cases[i].text);
        assert_int_equal(running(), 1);
        mcp_backend_request_head(d.breqs[0], 200, mcp_str("application/json"));
        end_with(d.breqs[0], "{");
        assert_int_equal(running(), 0);
        assert_int_equal(stats_of(cases[i].kind, cases[i].name)
                         .results[MCP_OUTCOME_FAULT], 1);
        assert_int_equal(stats_of(cases[i].kind, cases[i].name).reason,
                         MCP_REASON_BACKEND_OUTPUT);
        client_close(&d, &a);
    }

    /* a request to which the server responds without a backend */

    client_post(&d, 0, &a, session,
                REQUEST("5", "resources/subscribe", "{\"uri\":\"a:b\"}"));
    assert_int_equal(running(), 0);
    assert_int_equal(stats_of(MCP_CALL_STATS_KIND_OTHER, "(other)")
                     .results[MCP_OUTCOME_OK], 1);
}


/* An endpoint without a catalog and without a catalog key: its requests have a
 * row by its identity, and its listed tools have rows in all processes. */
TEST(endpoint_has_no_catalog__each_tool_that_its_backend_lists_has_a_row)
{
    uint32_t             row;
    mcp_worker_t        *w0, *w1;
    mcp_endpoint_t       endpoint;
    const mcp_method_t  *method;

    w0 = d.process[0].worker;
    w1 = d.process[1].worker;
    method = mcp_method(MCP_METHOD_TOOLS_CALL);

    memset(&endpoint, 0, sizeof(endpoint));
    endpoint.identity = mcp_str("/other");

    row = mcp_call_stats_other(w0, &endpoint);
    assert_int_not_equal(row, MCP_CALL_STATS_OTHER);
    assert_int_equal(mcp_call_stats_other(w1, &endpoint), row);
    assert_int_equal(mcp_call_stats_find(w0, &endpoint, method,
                                         mcp_str("t")), row);

    mcp_call_stats_list(w0, &endpoint,
                        mcp_str("{\"tools\":[{\"name\":\"\\u0074\"},5,"
                                "{\"name\":\"a\\nb\"},{\"name\":\"\"},"
                                "{\"name\":7},{\"name\":\"u\"}]}"));
    mcp_call_stats_list(w1, &endpoint, mcp_str("{\"tools\":{}}"));

    row = mcp_call_stats_find(w1, &endpoint, method, mcp_str("t"));
    assert_true(mcp_store_call_stats_is_tool(&d.process[0].store, row,
                                             mcp_str("t")));
    assert_int_equal(mcp_call_stats_find(w0, &endpoint, method, mcp_str("t")),
                     row);
    row = mcp_call_stats_find(w1, &endpoint, method, mcp_str("u"));
    assert_true(mcp_store_call_stats_is_tool(&d.process[0].store, row,
                                             mcp_str("u")));

    row = mcp_call_stats_other(w1, &endpoint);
    assert_int_equal(mcp_call_stats_find(w1, &endpoint, method,
                                         mcp_str("a\nb")), row);
    assert_int_equal(mcp_call_stats_find(w1, &endpoint, method,
                                         mcp_str("v")), row);
    assert_int_equal(mcp_call_stats_find(w1, &endpoint,
                                         mcp_method(MCP_METHOD_PROMPTS_GET),
                                         mcp_str("t")), row);
}


/* A call of an unknown tool: the failure is stored, but not counted in a
 * row. */
TEST(call_of_an_unknown_tool_is_stored_as_a_failure_but_not_counted)
{
    mcp_call_stats_failure_t  failure;

    client_post(&d, 0, &a, session,
                REQUEST("1", "tools/call", "{\"name\":\"nothing\"}"));
    client_close(&d, &a);

    assert_int_equal(mcp_store_call_stats_recent(&d.process[0].store, &failure,
                                                 1),
                     1);
    assert_int_equal(failure.result, MCP_CALL_STATS_REFUSED);
    assert_int_equal(failure.reason, MCP_REASON_UNKNOWN);
    assert_int_equal(stats_of(MCP_CALL_STATS_KIND_OTHER, "(other)").failed_at,
                     0);
}


/* A call whose backend responds with an HTTP error, and a call that its client
 * cancels. */
TEST(failed_and_cancelled_calls_are_counted_with_their_reason)
{
    mcp_call_stats_t  t;

    client_post(&d, 0, &a, session, CALL8);
    mcp_backend_request_head(d.breqs[0], 500, mcp_str("text/plain"));
    end_with(d.breqs[0], "no");
    client_close(&d, &a);

    t = stats_of(MCP_CALL_STATS_KIND_TOOL, "other");
    assert_int_equal(t.results[MCP_OUTCOME_TOOL_ERROR], 1);
    assert_int_equal(t.reason, MCP_REASON_STATUS);

    call_with_progress(0);
    driver_wait(&d, 250);
    client_post(&d, 0, &b, session, CANCEL7);
    driver_pump(&d);
    client_close(&d, &b);
    client_close(&d, &a);

    t = stats_of(MCP_CALL_STATS_KIND_TOOL, "echo");
    assert_int_equal(t.results[MCP_OUTCOME_CANCELLED], 1);
    assert_int_equal(t.reason, MCP_REASON_CANCELLED);
    assert_int_equal(t.buckets[5], 1);
    assert_int_equal(running(), 0);
}


RUN_TESTS(setup_catalog, teardown)

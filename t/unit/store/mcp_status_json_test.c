/* SPDX-License-Identifier: Apache-2.0 */

/* The status in JSON format. */


#include "store_driver.h"

#include "json/mcp_json.h"
#include "mcp_status.h"
#include "mcp_version.h"
#include "rpc/mcp_reason.h"
#include "store/mcp_store_call_stats.h"


static store_driver_t  d;
static uint32_t        echo;
static const char     *cursor = "";


/* Opens a zone with two processes and the statistics of one called tool. */
static int
setup(void **state)
{
    uint32_t                  other;
    mcp_active_t              live;
    mcp_call_stats_item_t     item;
    mcp_call_stats_failure_t  failure;

    (void) state;

    store_open(&d, 1024 * 1024, 2);

    item.catalog_key = (const unsigned char *) "sixteen bytes ..";
    item.endpoint = mcp_str("localhost/mcp");
    item.kind = MCP_CALL_STATS_KIND_OTHER;
    item.name = mcp_null_str;
    assert_int_equal(mcp_store_call_stats_row(&d.store[0], &item, &other),
                     MCP_OK);

    item.kind = MCP_CALL_STATS_KIND_TOOL;
    item.name = mcp_str("e\\c\"ho");
    assert_int_equal(mcp_store_call_stats_row(&d.store[0], &item, &echo),
                     MCP_OK);

    mcp_store_call_stats_count(&d.store[0], echo, MCP_OUTCOME_OK, 40);
    mcp_store_call_stats_count(&d.store[1], echo, MCP_OUTCOME_FAULT, 2500);

    memset(&failure, 0, sizeof(failure));
    failure.at = 77;
    failure.row = echo;
    failure.result = MCP_OUTCOME_FAULT;
    failure.reason = MCP_REASON_BACKEND_TIMEOUT;
    mcp_call_stats_copy(failure.principal, mcp_str("alice"));
    mcp_store_call_stats_failed(&d.store[0], &failure);
    failure.result = MCP_CALL_STATS_REFUSED;
    failure.reason = MCP_REASON_QUOTA;
    mcp_store_call_stats_failed(&d.store[0], &failure);

    memset(&live, 0, sizeof(live));
    live.row = echo;
    live.began = 100;
    mcp_call_stats_copy(live.principal, mcp_str("bob"));
    (void) mcp_store_active_begin(&d.store[1], &live);

    return 0;
}


static int
teardown(void **state)
{
    (void) state;

    store_close(&d);

    return 0;
}


/* Returns the status as a C string that the caller frees. */
static char *
render(const char *format, const char *type, unsigned details)
{
    char               *text;
    mcp_buf_t           buf;
    mcp_status_query_t  query;
    mcp_status_head_t   head;

    memset(&query, 0, sizeof(mcp_status_query_t));

    query.format = test_str(format);
    query.server = mcp_str("test/1.0");
    query.zone = mcp_str("z");
    query.now = 1500;
    query.details = details & 1;
    query.cursor = test_str(cursor);

    mcp_buf_init(&buf, &d.tm.mem, 65536);

    assert_int_equal(mcp_status_render(&d.store[0], &query, &buf, &head),
                     MCP_OK);
    assert_str_is(head.content_type, type);
    assert_int_equal(head.n_headers, 0);

    text = calloc(1, buf.len + 1);
    assert_non_null(text);
    memcpy(text, buf.data, buf.len);

    mcp_buf_free(&buf);

    return text;
}


static void
test_json(void **state)
{
    char              *text;
    size_t             n;
    mcp_str_t          key;
    mcp_arena_t        arena;
    mcp_json_iter_t    iter;
    mcp_json_value_t   root, value;

    static const char *const  keys[] = {
        "\"now\"", "\"zone\"", "\"endpoints\"", "\"buckets\"", "\"tools\"",
        "\"running\"", "\"next\"", "\"recent\""
    };

    (void) state;

    mcp_store_count(&d.store[0], MCP_COUNT_REQUESTS, 7);
    mcp_store_count(&d.store[1], MCP_COUNT_REQUESTS, 1);
    mcp_store_count(&d.store[1], MCP_COUNT_CALLS_ACTIVE, 3);
    mcp_store_count(&d.store[0],
                    MCP_COUNT_REVISION + MCP_REVISION_2025_11_25, 2);

    text = render("json", "application/json", 0);

    mcp_arena_init(&arena, &d.tm.mem);

    assert_int_equal(mcp_json_scan(&arena, test_str(text), 8, NULL, 0, &root,
                                   NULL, NULL),
                     MCP_OK);

    mcp_json_iter_init(&iter, root.raw);

    assert_true(mcp_json_iter_next(&iter, &key, &value));
    assert_str_is(key, "\"server\"");
    assert_str_is(value.raw, "\"test/1.0\"");
    assert_true(mcp_json_iter_next(&iter, &key, &value));
    assert_str_is(key, "\"version\"");
    assert_str_is(value.raw, "\"" MCP_VERSION "\"");

    for (n = 0; mcp_json_iter_next(&iter, &key, &value)
                && value.type == MCP_JSON_NUMBER; n++)
    {
        /* void */
    }

    /* numbers: one for each counter before MCP_COUNT_REVISION, and six about
     * the zone; the object "revisions" follows */

    assert_int_equal(n, MCP_COUNT_REVISION + 6);
    assert_str_is(key, "\"revisions\"");
    assert_str_is(value.raw, "{\"2025-03-26\":0,\"2025-06-18\":0,"
                             "\"2025-11-25\":2,\"2026-07-28\":0}");

    for (n = 0; n < sizeof(keys) / sizeof(keys[0]); n++) {
        assert_true(mcp_json_iter_next(&iter, &key, &value));
        assert_str_is(key, keys[n]);
    }

    assert_false(mcp_json_iter_next(&iter, &key, &value));

    assert_non_null(strstr(text, "\"requests\":8,"));
    assert_non_null(strstr(text, "\"calls_active\":3,"));
    assert_non_null(strstr(text, "\"streams\":0,"));

    mcp_arena_destroy(&arena);
    free(text);
}


#define TOOL  "{\"endpoint\":\"localhost/mcp\",\"kind\":\"tool\","            \
              "\"tool\":\"e\\\\c\\\"ho\",\"active\":1,\"results\":{\"ok\":1,"   \
              "\"tool_error\":0,\"rpc_error\":0,\"fault\":1,\"lost\":0,"      \
              "\"cancelled\":0,\"expired\":0},\"seconds\":{\"count\":2,"      \
              "\"sum\":2.54,\"buckets\":[0,0,1,1,1,1,1,1,2,2,2,2,2,2,2]},"    \
              "\"last_error\":{\"at\":77,\"result\":\"fault\","               \
              "\"reason\":\"backend_timeout\","

#define ENDPOINT  "{\"endpoint\":\"localhost/mcp\",\"tools\":1,\"active\":1,"   \
                  "\"calls\":2,\"failed\":1}"

#define BUCKETS  "\"buckets\":[0.01,0.02,0.05,0.1,0.2,0.5,1,2,5,10,30,60,120,"  \
                 "300]"


static void
has(const char *text, const char *part, int yes)
{
    if ((strstr(text, part) != NULL) != yes) {
        fail_msg("%s: %s", yes ? "no" : "there is", part);
    }
}


/* Call statistics: always shown; principals only with details. */
static void
test_calls(void **state)
{
    char      *text;
    unsigned   details;

    (void) state;

    for (details = 0; details < 2; details++) {
        text = render("json", "application/json", details);

        has(text, ENDPOINT, 1);
        has(text, BUCKETS, 1);
        has(text, TOOL, 1);
        has(text, "\"zone\":{\"name\":\"z\",\"size\":", 1);
        has(text, "\"began\":100,\"age\":1400,\"state\":\"transient\","
                  "\"events\":0,\"reader\":null,\"process\":101}", 1);
        has(text, "],\"next\":null,\"recent\":[{\"at\":77,", 1);
        has(text, "\"call\":null,\"result\":\"refused\","
                  "\"reason\":\"quota\",", 1);
        has(text, "\"result\":\"fault\",\"reason\":\"backend_timeout\","
                  "\"text\":\"The backend did not answer in time\","
                  "\"remedy\":\"", 1);
        has(text, ",\"principal\":\"alice\"", (int) details);
        has(text, ",\"tool\":\"e\\\\c\\\"ho\",\"principal\":\"bob\"",
            (int) details);
        free(text);
    }
}


/* More calls than one page has: "next" is the cursor of the second page. */
static void
test_pages(void **state)
{
    char          *text;
    unsigned       i;
    mcp_active_t   live;

    (void) state;

    memset(&live, 0, sizeof(live));

    for (i = 0; i < MCP_CALL_STATS_PAGE; i++) {
        live.request = i;
        (void) mcp_store_active_begin(&d.store[1], &live);
    }

    text = render("json", "application/json", 0);
    has(text, "\"request\":62,", 1);
    has(text, "\"request\":63,", 0);
    has(text, "],\"next\":64,\"recent\":[", 1);
    free(text);

    cursor = "64";
    text = render("json", "application/json", 0);
    cursor = "";
    has(text, "\"running\":[{\"call\":\"AAAAAAAA\",\"request\":63,", 1);
    has(text, "],\"next\":null,\"recent\":[", 1);
    free(text);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test_setup_teardown(test_json, setup, teardown),
        cmocka_unit_test_setup_teardown(test_calls, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pages, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

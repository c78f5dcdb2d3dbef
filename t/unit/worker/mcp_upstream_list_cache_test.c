/* SPDX-License-Identifier: Apache-2.0 */

/* The cached pages of the lists of MCP servers. */

#include "core_cases.h"

#include "worker/mcp_worker_upstream.h"


#define CHECK  60000


static mcp_upstream_page_key_t
key_of(mcp_list_e kind, unsigned number)
{
    mcp_upstream_page_key_t  key;

    memset(&key, 0, sizeof(key));
    key.endpoint = &d.endpoint;
    key.kind = kind;
    memcpy(key.request, &number, sizeof(number));

    return key;
}


static void
put(unsigned number, const char *result)
{
    mcp_upstream_page_key_t  key;

    key = key_of(MCP_LIST_TOOLS, number);
    mcp_upstream_lists_put(d.process[0].worker, &key, test_str(result), CHECK);
}


static mcp_upstream_page_t *
find(unsigned number)
{
    mcp_upstream_page_key_t  key;

    key = key_of(MCP_LIST_TOOLS, number);

    return mcp_upstream_lists_find(d.process[0].worker, &key);
}


/* Checks the result of a page some time after it was stored. */
static void
is(unsigned number, uint64_t age, const char *result)
{
    mcp_buf_t             out;
    mcp_upstream_page_t  *page;

    page = find(number);
    assert_non_null(page);

    mcp_buf_init(&out, &d.te.env.mem, 1 << 20);
    mcp_upstream_lists_write(page, page->at + age, &out);
    assert_str_is(mcp_buf_text(&out), result);
    mcp_buf_free(&out);
}


TEST(cached_page_is_read_later__its_ttl_ms_is_the_remaining_time)
{
    put(1, "{\"tools\":[ 1 ],\"ttlMs\":1000,\"a\" : 2}");
    is(1, 0, "{\"ttlMs\":1000,\"tools\":[ 1 ],\"a\":2}");
    is(1, 999, "{\"ttlMs\":1,\"tools\":[ 1 ],\"a\":2}");
    is(1, 5000, "{\"ttlMs\":0,\"tools\":[ 1 ],\"a\":2}");

    put(1, "{\"ttlMs\":7}");
    is(1, 0, "{\"ttlMs\":7}");

    put(1, "{ }");
    is(1, 0, "{}");

    put(1, "{\"ttlMs\":-5}");
    is(1, 0, "{\"ttlMs\":0}");

    put(1, "{\"ttlMs\":\"9\"}");
    is(1, 0, "{\"ttlMs\":0}");
}


TEST(page_is_fresh_for_its_ttl_but_at_least_for_mcp_upstream_check)
{
    size_t                i;
    mcp_upstream_page_t  *page;

    static const struct {
        const char  *result;
        uint64_t     fresh;
    } cases[] = {
        { "{}", CHECK },
        { "{\"ttlMs\":0}", CHECK },
        { "{\"ttlMs\":59999}", CHECK },
        { "{\"ttlMs\":60001}", 60001 },
        { "{\"ttlMs\":1e9}", CHECK },
        { "{\"ttlMs\":3600001}", 3600000 },
        { "{\"ttlMs\":99999999999999999999999999}", 3600000 }
    };

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        put(1, cases[i].result);
        page = find(1);
        assert_non_null(page);
        assert_int_equal(page->until - page->at, cases[i].fresh);
    }
}


TEST(list_is_dropped__all_its_pages_are_removed_and_other_lists_stay)
{
    mcp_upstream_page_key_t  key;

    put(1, "{}");
    put(2, "{}");
    key = key_of(MCP_LIST_PROMPTS, 1);
    mcp_upstream_lists_put(d.process[0].worker, &key, mcp_str("{\"p\":1}"),
                           CHECK);

    mcp_upstream_lists_drop(d.process[0].worker, &d.endpoint, 1,
                            MCP_LIST_TOOLS);
    assert_non_null(find(1));
    mcp_upstream_lists_drop(d.process[0].worker, &d.endpoint, 0,
                            MCP_LIST_TOOLS);
    assert_null(find(1));
    assert_null(find(2));
    assert_non_null(mcp_upstream_lists_find(d.process[0].worker, &key));
}


TEST(cache_has_the_maximum_of_pages__the_least_recently_used_page_is_removed)
{
    unsigned  i;

    for (i = 0; i < MCP_UPSTREAM_LISTS_PAGES; i++) {
        put(i, "{}");
    }

    assert_non_null(find(0));
    put(MCP_UPSTREAM_LISTS_PAGES, "{}");
    assert_non_null(find(0));
    assert_null(find(1));
    assert_non_null(find(2));
}


TEST(pages_exceed_the_total_size_of_the_cache__the_oldest_page_is_removed)
{
    char      *text;
    unsigned   i;

    text = malloc(MCP_UPSTREAM_LISTS_PAGE + 2);
    assert_non_null(text);
    memset(text, 'a', MCP_UPSTREAM_LISTS_PAGE + 2);
    memcpy(text, "{\"a\":\"", 6);

    memcpy(text + MCP_UPSTREAM_LISTS_PAGE - 1, "\"}", 3);
    put(0, text);
    assert_null(find(0));

    memcpy(text + MCP_UPSTREAM_LISTS_PAGE - 2, "\"}", 3);

    for (i = 0; i < 5; i++) {
        put(i, text);
        assert_non_null(find(i));
        assert_true(d.process[0].worker->pages_size
                    <= MCP_UPSTREAM_LISTS_SIZE);
    }

    assert_null(find(0));
    assert_non_null(find(1));
    free(text);
}


TEST(new_version_of_a_page_is_too_large__the_old_version_is_removed)
{
    char  *text;

    text = malloc(MCP_UPSTREAM_LISTS_PAGE + 2);
    assert_non_null(text);
    memset(text, ' ', MCP_UPSTREAM_LISTS_PAGE + 1);
    text[0] = '{';
    memcpy(text + MCP_UPSTREAM_LISTS_PAGE, "}", 2);

    put(1, "{}");
    put(1, text);
    assert_null(find(1));
    free(text);
}


TEST(memory_runs_out__the_page_is_not_cached)
{
    unsigned long  i;

    for (i = 1; ; i++) {
        d.te.tm.fail_at = i;
        put(1, "{\"tools\":[1]}");
        d.te.tm.fail_at = 0;

        if (find(1)) {
            break;
        }

        assert_true(i < 10);
    }

    is(1, 0, "{\"tools\":[1]}");
}


RUN_TESTS(setup, teardown)

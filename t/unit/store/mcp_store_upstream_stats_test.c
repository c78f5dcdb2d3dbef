/* SPDX-License-Identifier: Apache-2.0 */

/* The rows of MCP servers: which servers have one, their numbers and texts, and
 * the number of their sessions in the zone. */


#include "store_tenant.h"

#include "config/mcp_endpoint_internal.h"


#define U  MCP_VALUE_UPSTREAM_SESSION


static const unsigned char   endpoint[MCP_DIGEST_LEN] = "an endpoint 0123";
static mcp_store_upstream_t  rows[MCP_STORE_UPSTREAMS];


/* Offers a server. Returns its row. */
static mcp_store_upstream_row_t
offer_as(const char *name, unsigned form, int rc)
{
    mcp_store_upstream_row_t         row;
    const mcp_store_upstream_item_t  item = {
        endpoint, mcp_str("/mcp"), mcp_str("localhost/mcp"), test_str(name),
        form,
        form == MCP_UPSTREAM_MODERN ? MCP_REVISION_2026_07_28
                                    : MCP_REVISION_NONE
    };

    assert_int_equal(mcp_store_upstream_offer(S0, &item, &row), rc);

    return row;
}


static mcp_store_upstream_row_t
offer(const char *name)
{
    return offer_as(name, MCP_UPSTREAM_SESSION, MCP_OK);
}


/* Offers a server for each row. */
static void
fill_rows(void)
{
    unsigned  i;
    char      name[16];

    for (i = 0; i < S0->head->max_upstreams; i++) {
        snprintf(name, sizeof(name), "s%u", i);
        (void) offer(name);
    }
}


/* Reads the rows in use, in another process. Returns their number. */
static size_t
read_rows(void)
{
    return mcp_store_upstream_all(S1, rows);
}


/* Returns the key of session n. */
static const unsigned char *
key_of(unsigned n)
{
    static unsigned char  key[MCP_DIGEST_LEN];

    memcpy(key, &n, sizeof(n));

    return key;
}


/* Adds session n of a server, which expires at 100 + n. */
static int
add(mcp_store_upstream_row_t row, unsigned n, uint64_t now)
{
    return store_session(S0, row, key_of(n), mcp_str("text"), now,
                         now + 100 + n, NULL);
}


/* Checks the numbers of sessions of the first two rows. */
static void
sessions(uint32_t first, uint32_t second)
{
    assert_true(read_rows() >= 2);
    assert_int_equal(rows[0].sessions, first);
    assert_int_equal(rows[1].sessions, second);
    store_sound(&d);
}


TEST(mcp_server_is_registered_twice__it_has_one_statistics_row)
{
    mcp_store_upstream_row_t  a, b;

    assert_int_equal(read_rows(), 0);

    a = offer("@a");
    b = offer_as("@b", MCP_UPSTREAM_MODERN, MCP_OK);
    assert_int_not_equal(a, b);
    assert_int_equal(offer("@a"), a);

    assert_int_equal(read_rows(), 2);
    assert_string_equal(rows[0].endpoint, "localhost/mcp");
    assert_string_equal(rows[0].name, "@a");
    assert_int_equal(rows[0].form, MCP_UPSTREAM_SESSION);
    assert_int_equal(rows[0].revision, MCP_REVISION_NONE);
    assert_int_equal(rows[0].up, MCP_UPSTREAM_UNKNOWN);
    assert_int_equal(rows[1].form, MCP_UPSTREAM_MODERN);
    assert_int_equal(rows[1].revision, MCP_REVISION_2026_07_28);
}


TEST(row_of_an_mcp_server_has_state_and_revision_and_version_and_last_failure)
{
    mcp_store_upstream_row_t  a;

    (void) offer("@other");
    a = offer("@a");

    mcp_store_upstream_up(S0, a, MCP_UPSTREAM_DOWN);
    mcp_store_upstream_form(S0, a, MCP_UPSTREAM_STATELESS);
    mcp_store_upstream_revision(S0, a, MCP_REVISION_2025_06_18);
    mcp_store_upstream_initialized(S0, a, 1);
    mcp_store_upstream_initialized(S1, a, 1);
    mcp_store_upstream_initialized(S1, a, 0);
    mcp_store_upstream_describe(S0, a, mcp_str("a longer name"), mcp_str("1"));
    mcp_store_upstream_describe(S0, a, mcp_str("a\nb"), mcp_str("2"));
    mcp_store_upstream_failed(S0, a, MCP_REASON_BACKEND_FAILED,
                              mcp_str("refused"), 77);

    assert_int_equal(read_rows(), 2);
    assert_int_equal(rows[1].up, MCP_UPSTREAM_DOWN);
    assert_int_equal(rows[1].form, MCP_UPSTREAM_STATELESS);
    assert_int_equal(rows[1].revision, MCP_REVISION_2025_06_18);
    assert_int_equal(rows[1].opened, 2);
    assert_int_equal(rows[1].refused, 1);
    assert_string_equal(rows[1].server, "a?b");
    assert_string_equal(rows[1].version, "2");
    assert_int_equal(rows[1].failed_at, 77);
    assert_int_equal(rows[1].reason, MCP_REASON_BACKEND_FAILED);
    assert_string_equal(rows[1].detail, "refused");

    assert_int_equal(rows[0].up, MCP_UPSTREAM_UNKNOWN);
    assert_int_equal(rows[0].opened, 0);
    assert_int_equal(rows[0].failed_at, 0);
}


TEST(mcp_server_is_registered_again_with_form_auto__detected_form_is_kept)
{
    mcp_store_upstream_row_t  a;

    a = offer_as("@a", MCP_UPSTREAM_AUTO, MCP_OK);
    assert_int_equal(read_rows(), 1);
    assert_int_equal(rows[0].form, MCP_UPSTREAM_AUTO);

    mcp_store_upstream_form(S0, a, MCP_UPSTREAM_STATELESS);
    mcp_store_upstream_revision(S0, a, MCP_REVISION_2025_06_18);
    (void) offer_as("@a", MCP_UPSTREAM_AUTO, MCP_OK);
    (void) read_rows();
    assert_int_equal(rows[0].form, MCP_UPSTREAM_STATELESS);
    assert_int_equal(rows[0].revision, MCP_REVISION_2025_06_18);

    (void) offer_as("@a", MCP_UPSTREAM_MODERN, MCP_OK);
    (void) read_rows();
    assert_int_equal(rows[0].form, MCP_UPSTREAM_MODERN);
    assert_int_equal(rows[0].revision, MCP_REVISION_2026_07_28);
}


TEST(long_names_of_two_mcp_servers_are_truncated_and_still_differ)
{
    char  a[201], b[201];

    memset(a, 'x', 200);
    a[200] = '\0';
    memcpy(b, a, 201);
    b[199] = 'y';

    (void) offer(a);
    (void) offer(b);
    assert_int_equal(read_rows(), 2);
    assert_string_not_equal(rows[0].name, rows[1].name);
    assert_int_equal(strlen(rows[0].name), MCP_STORE_UPSTREAM_NAME - 1);
}


TEST(all_statistics_rows_are_taken__a_further_mcp_server_gets_no_row)
{
    mcp_store_upstream_row_t  row;

    fill_rows();

    row = offer_as("more", MCP_UPSTREAM_SESSION, MCP_ERR_FULL);
    assert_int_equal(row, MCP_STORE_UPSTREAM_NONE);
    assert_int_equal(read_rows(), S0->head->max_upstreams);

    /* functions for a server without a row have no effect */

    mcp_store_upstream_up(S0, row, MCP_UPSTREAM_UP);
    mcp_store_upstream_failed(S0, row, MCP_REASON_INTERNAL, mcp_str("x"), 1);
    mcp_store_upstream_describe(S0, row, mcp_str("x"), mcp_str("x"));
    mcp_store_upstream_initialized(S0, UINT32_MAX, 1);
    assert_ok(add(row, 1, 0));
    sessions(0, 0);
}


TEST(mcp_server_of_an_older_configuration_is_not_shown)
{
    mcp_store_upstream_row_t  a;

    mcp_store_upstream_begin(S0, 1);
    (void) offer("@old");
    a = offer("@a");

    mcp_store_upstream_begin(S0, 2);
    assert_int_equal(read_rows(), 0);
    assert_int_equal(offer("@a"), a);
    assert_int_equal(read_rows(), 1);
    assert_string_equal(rows[0].name, "@a");
}


TEST(removed_mcp_servers_row_is_reused__its_old_row_number_has_no_effect)
{
    char                      name[16];
    unsigned                  i;
    mcp_store_upstream_row_t  first, second, a;

    mcp_store_upstream_begin(S0, 1);
    fill_rows();
    first = offer("s0");
    second = offer("s1");
    assert_ok(add(first, 1, 0));

    mcp_store_upstream_begin(S0, 2);

    for (i = 2; i < S0->head->max_upstreams; i++) {
        snprintf(name, sizeof(name), "s%u", i);
        (void) offer(name);
    }

    /* the first row has a session */

    a = offer("@a");
    assert_int_equal(a & 63, second & 63);
    assert_int_not_equal(a, second);
    assert_int_equal(offer_as("@b", MCP_UPSTREAM_SESSION, MCP_ERR_FULL),
                     MCP_STORE_UPSTREAM_NONE);

    mcp_store_upstream_up(S1, second, MCP_UPSTREAM_DOWN);
    mcp_store_upstream_initialized(S1, second, 0);
    assert_ok(add(second, 2, 0));

    assert_int_equal(read_rows(), S0->head->max_upstreams - 1);
    assert_string_equal(rows[0].name, "@a");
    assert_int_equal(rows[0].up, MCP_UPSTREAM_UNKNOWN);
    assert_int_equal(rows[0].refused, 0);
    assert_int_equal(rows[0].sessions, 0);

    mcp_store_value_delete(S0, U, key_of(1));
    assert_int_not_equal(offer("@b"), MCP_STORE_UPSTREAM_NONE);
}


TEST(sessions_at_each_mcp_server_are_counted_until_they_are_removed)
{
    mcp_store_upstream_row_t  a, b;

    a = offer("@a");
    b = offer("@b");

    assert_ok(add(a, 1, 0));
    assert_ok(add(a, 2, 0));
    assert_ok(add(b, 3, 0));
    assert_int_equal(store_session(S0, b, key_of(3), mcp_str("other"), 0, 0,
                                   NULL), MCP_ERR_EXISTS);
    sessions(2, 1);

    /* the same session is added again: it is counted once */

    assert_ok(add(b, 3, 0));
    sessions(2, 1);

    /* an expired session is replaced: it is counted once */

    assert_ok(add(a, 2, 200));
    sessions(2, 1);

    mcp_store_value_delete(S1, U, key_of(2));
    sessions(1, 1);
    assert_int_equal(mcp_store_text_delete(S1, U, key_of(3), mcp_str("other")),
                     MCP_ERR_NOT_FOUND);
    assert_ok(mcp_store_text_delete(S1, U, key_of(3), mcp_str("text")));
    sessions(1, 0);

    assert_int_equal(mcp_store_sweep(S0, 500, UINT32_MAX, NULL, NULL), 1);
    sessions(0, 0);
}


TEST(evicted_session_at_an_mcp_server_is_no_longer_counted)
{
    mcp_tenant_t              p;
    mcp_store_upstream_row_t  a;

    a = offer("@a");
    (void) offer("@b");
    p = tenant(1);
    p.values = 1;

    assert_ok(store_session(S0, a, key_of(1), mcp_str("x"), 0, 0, &p));
    assert_ok(store_session(S0, a, key_of(2), mcp_str("y"), 0, 0, &p));
    sessions(1, 0);
    mcp_store_value_delete(S0, U, key_of(2));
    sessions(0, 0);
}


/* Adds session n of a server with at most 2 sessions. Checks which session is
 * dropped for it, 0: none. */
static void
add_third(mcp_store_upstream_row_t row, unsigned n, const mcp_tenant_t *of,
    int rc, unsigned drops)
{
    mcp_store_dropped_t        dropped;
    const mcp_store_session_t  session = {
        row, key_of(n), mcp_str("text"), 1000, of, 2, 0
    };

    assert_int_equal(mcp_store_upstream_session(S0, &session, 0, &dropped), rc);
    assert_int_equal(dropped.len, drops ? 4 : 0);

    if (drops) {
        assert_memory_equal(dropped.text, "text", 4);
        assert_memory_equal(dropped.key, key_of(drops), MCP_DIGEST_LEN);
    }
}


TEST(servers_without_a_row__session_of_one_is_not_ended_at_another)
{
    mcp_tenant_t  p;

    p = tenant(1);
    p.values = 1;

    add_third(MCP_STORE_UPSTREAM_NONE, 1, &p, MCP_OK, 0);
    add_third(MCP_STORE_UPSTREAM_NONE, 2, &p, MCP_OK, 0);
}


TEST(session_limit_is_reached__the_oldest_session_of_a_caller_is_dropped)
{
    char                      text[MCP_STORE_TEXT_MAX];
    size_t                    len;
    mcp_tenant_t              p, q;
    mcp_store_upstream_row_t  a, b;

    a = offer("@a");
    b = offer("@b");
    p = tenant(1);
    q = tenant(2);

    /* sessions of another server do not count */

    assert_ok(store_session(S0, b, key_of(8), mcp_str("b"), 0, 1000, &p));

    add_third(a, 1, &p, MCP_OK, 0);
    add_third(a, 2, &p, MCP_OK, 0);
    assert_ok(store_text_get(S0, U, key_of(1), 0, 1000, text, &len, NULL));
    add_third(a, 3, &p, MCP_OK, 2);
    sessions(2, 1);

    /* a caller without a session takes the place of one with many */

    add_third(a, 4, &q, MCP_OK, 1);
    add_third(a, 5, &q, MCP_OK, 4);
    add_third(a, 5, &q, MCP_OK, 0);
    sessions(2, 1);
    assert_ok(store_text_get(S0, U, key_of(3), 0, 1000, text, &len, NULL));
    assert_ok(store_text_get(S0, U, key_of(8), 0, 1000, text, &len, NULL));
}


TEST(mcp_server_is_above_its_session_limit__add_is_rejected_and_drops_a_session)
{
    unsigned                  n;
    mcp_tenant_t              p;
    mcp_store_upstream_row_t  a;

    a = offer("@a");
    (void) offer("@b");
    p = tenant(1);

    for (n = 1; n <= 4; n++) {
        assert_ok(store_session(S0, a, key_of(n), mcp_str("text"), 0, 1000,
                                &p));
    }

    add_third(a, 5, &p, MCP_ERR_LIMIT, 1);
    sessions(3, 0);
    add_third(a, 5, &p, MCP_ERR_LIMIT, 2);
    add_third(a, 5, &p, MCP_OK, 3);
    sessions(2, 0);
}


/* A process uses a session until the time "until". */
static void
use(mcp_store_t *store, unsigned n, uint64_t now, uint64_t until)
{
    char    text[MCP_STORE_TEXT_MAX];
    size_t  len;

    assert_ok(mcp_store_upstream_session_get(store, key_of(n), now, 1000, until,
                                             text, &len, NULL));
    assert_int_equal(len, 4);
}


/* Adds sessions 1 and 2 of a caller, of which 2 was used last. Returns the row
 * of their server. */
static mcp_store_upstream_row_t
add_two(const mcp_tenant_t *of)
{
    mcp_store_upstream_row_t  a;

    a = offer("@a");
    (void) offer("@b");
    add_third(a, 1, of, MCP_OK, 0);
    add_third(a, 2, of, MCP_OK, 0);

    return a;
}


TEST(oldest_session_is_in_use__an_idle_session_is_dropped_before_it)
{
    mcp_tenant_t              p;
    mcp_store_upstream_row_t  a;

    p = tenant(1);
    a = add_two(&p);
    use(S1, 1, 0, 100);
    use(S0, 2, 0, 0);
    add_third(a, 3, &p, MCP_OK, 2);
    add_third(a, 4, &p, MCP_OK, 3);
    sessions(2, 0);

    /* from now on, session 1 is idle, but was used last */

    mcp_store_upstream_session_leave(S1, key_of(1));
    add_third(a, 5, &p, MCP_OK, 4);
    add_third(a, 6, &p, MCP_OK, 1);
    sessions(2, 0);
}


TEST(all_sessions_are_in_use__the_least_recently_used_one_is_dropped)
{
    mcp_tenant_t              p;
    mcp_store_upstream_row_t  a;

    p = tenant(1);
    a = add_two(&p);
    use(S1, 1, 0, 100);
    use(S0, 2, 0, 100);
    mcp_store_upstream_session_renew(S1, key_of(1), 50, 150);
    add_third(a, 3, &p, MCP_OK, 2);
    sessions(2, 0);
}


TEST(two_processes_use_a_session__it_is_idle_when_both_have_left_it)
{
    mcp_tenant_t              p;
    mcp_store_upstream_row_t  a;

    p = tenant(1);
    a = add_two(&p);
    use(S0, 1, 0, 100);
    use(S1, 1, 0, 100);
    mcp_store_upstream_session_leave(S1, key_of(1));
    use(S0, 2, 0, 0);
    add_third(a, 3, &p, MCP_OK, 2);
    mcp_store_upstream_session_leave(S0, key_of(1));
    use(S0, 3, 0, 0);
    add_third(a, 4, &p, MCP_OK, 1);
}


TEST(process_was_killed__its_session_is_idle_after_the_time_that_it_has_set)
{
    mcp_tenant_t         p;
    mcp_store_dropped_t  dropped;
    mcp_store_session_t  session = {
        MCP_STORE_UPSTREAM_NONE, NULL, mcp_str("text"), 1000, &p, 2, 0
    };

    p = tenant(1);
    session.row = add_two(&p);
    use(S1, 1, 0, 100);
    use(S0, 2, 0, 0);
    session.key = key_of(3);
    assert_ok(mcp_store_upstream_session(S0, &session, 100, &dropped));
    assert_memory_equal(dropped.key, key_of(1), MCP_DIGEST_LEN);

    /* the next process that uses a session does not renew the use by the killed
     * one */

    use(S1, 2, 0, 100);
    use(S0, 2, 100, 200);
    mcp_store_upstream_session_leave(S0, key_of(2));
    use(S0, 3, 100, 0);
    session.key = key_of(4);
    assert_ok(mcp_store_upstream_session(S0, &session, 101, &dropped));
    assert_memory_equal(dropped.key, key_of(2), MCP_DIGEST_LEN);
}


TEST(callers_only_session_is_in_use__an_idle_session_of_another_is_dropped)
{
    mcp_tenant_t              p, q, r;
    mcp_store_upstream_row_t  a;

    a = offer("@a");
    (void) offer("@b");
    p = tenant(1);
    q = tenant(2);
    r = tenant(3);

    add_third(a, 1, &p, MCP_OK, 0);
    add_third(a, 2, &q, MCP_OK, 0);
    use(S0, 1, 0, 100);
    add_third(a, 3, &p, MCP_OK, 2);
    add_third(a, 4, &r, MCP_OK, 3);
    sessions(2, 0);
}


TEST(caller_has_reached_its_quota__its_idle_session_is_dropped)
{
    mcp_tenant_t              p;
    mcp_store_upstream_row_t  a;

    a = offer("@a");
    (void) offer("@b");
    p = tenant(1);
    p.values = 2;

    add_third(a, 1, &p, MCP_OK, 0);
    use(S0, 1, 0, 100);
    assert_ok(store_session(S0, a, key_of(2), mcp_str("text"), 0, 1000, &p));
    assert_ok(store_session(S0, a, key_of(3), mcp_str("text"), 0, 1000, &p));
    use(S0, 3, 0, 100);
    use(S0, 1, 0, 100);
    sessions(2, 0);

    /* all sessions are in use */

    assert_ok(store_session(S0, a, key_of(4), mcp_str("text"), 0, 1000, &p));
    use(S0, 1, 0, 0);
    sessions(2, 0);
}


TEST(process_has_a_slot_above_62__its_session_is_in_use_until_its_time)
{
    mcp_store_t               other;
    mcp_tenant_t              p;
    mcp_store_upstream_row_t  a;

    p = tenant(1);
    a = add_two(&p);
    other = *S1;
    other.slot = MCP_STORE_SLOTS - 1;
    use(&other, 1, 0, 100);
    mcp_store_upstream_session_leave(&other, key_of(1));
    use(S0, 2, 0, 0);
    add_third(a, 3, &p, MCP_OK, 2);
}


TEST(session_does_not_exist__renewing_and_leaving_it_have_no_effect)
{
    (void) offer("@a");
    (void) offer("@b");
    mcp_store_upstream_session_renew(S0, key_of(1), 0, 100);
    mcp_store_upstream_session_leave(S0, key_of(1));
    sessions(0, 0);
}


TEST(repair_corrects_wrong_counts_of_sessions_at_mcp_servers)
{
    mcp_store_upstream_row_t  a, b;

    a = offer("@a");
    b = offer("@b");
    assert_ok(add(a, 1, 0));
    assert_ok(add(b, 2, 0));
    assert_ok(add(b, 3, 0));

    atomic_store(&mcp_store_upstreams(S0->head)[0].sessions, 7);
    atomic_store(&mcp_store_upstreams(S0->head)[1].sessions, 7);
    d.died = 1;
    sessions(1, 2);
}


TEST(row_of_an_mcp_server_is_partly_written__it_is_hidden_and_can_be_reused)
{
    mcp_store_upstream_row_t  a;

    fill_rows();
    a = offer("s0");
    mcp_store_upstreams(S0->head)[0].complete = 0;
    assert_int_equal(read_rows(), S0->head->max_upstreams - 1);

    assert_int_not_equal(offer("s0"), a);
    assert_int_equal(read_rows(), S0->head->max_upstreams);
    assert_string_equal(rows[0].name, "s0");
}


RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: Apache-2.0 */

/* A zone's region: its format, its signing key, its lock, and its store.
 * Nothing is allocated outside of the region. */


#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_env.h"

#include "mcp_zone.h"
#include "store/mcp_lock.h"
#include "store/mcp_store.h"


#define SIZE   (512 * 1024)
#define EPOCH  1700000000000ULL


/* Returns memory that child processes share. */
static unsigned char *
region_new(void)
{
    void  *p;

    p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
             -1, 0);
    assert_true(p != MAP_FAILED);

    return p;
}


static void
region_free(unsigned char *p)
{
    munmap(p, SIZE);
}


static unsigned  woken;


static void
wake(void *ctx, unsigned slot)
{
    assert_ptr_equal(ctx, &woken);

    woken |= 1U << slot;
}


TEST(zone_is_formatted__nothing_is_written_after_its_end)
{
    unsigned char  *p;

    p = region_new();

    assert_int_equal(mcp_zone_format(p, MCP_ZONE_MIN_SIZE - 1, EPOCH),
                     MCP_ERR_CONFIG);
    assert_int_equal(mcp_zone_format(p, 0, EPOCH), MCP_ERR_CONFIG);
    assert_int_equal(mcp_zone_format(p + 8, MCP_ZONE_MIN_SIZE, EPOCH),
                     MCP_ERR_CONFIG);

    /* nothing is written after the end of the zone */

    memset(p, 0x5a, SIZE);
    assert_ok(mcp_zone_format(p, MCP_ZONE_MIN_SIZE, EPOCH));
    assert_ok(mcp_zone_check(p));
    assert_int_equal(p[MCP_ZONE_MIN_SIZE], 0x5a);

    assert_ok(mcp_zone_format(p, SIZE, EPOCH));
    assert_ok(mcp_zone_check(p));

    region_free(p);
}


TEST(zone_check_rejects_a_damaged_zone_and_changes_no_byte)
{
    unsigned char  *p, *copy;

    p = region_new();
    copy = malloc(SIZE);
    assert_non_null(copy);

    assert_int_equal(mcp_zone_check(p), MCP_ERR_CONFIG);

    memset(p, 0xa5, SIZE);
    assert_int_equal(mcp_zone_check(p), MCP_ERR_CONFIG);

    /* mcp_zone_check() changes neither a valid zone nor an invalid one */

    assert_ok(mcp_zone_format(p, SIZE, EPOCH));
    memcpy(copy, p, SIZE);
    assert_ok(mcp_zone_check(p));
    assert_memory_equal(copy, p, SIZE);

    assert_true(mcp_zone_epoch(p) == EPOCH);

    memset(p + MCP_ZONE_HEAD, 0, 64);
    memcpy(copy, p, SIZE);
    assert_int_equal(mcp_zone_check(p), MCP_ERR_CONFIG);
    assert_memory_equal(copy, p, SIZE);

    free(copy);
    region_free(p);
}


/* A zone keeps its signing key; a new zone has another one. */
TEST(zone_keeps_its_signing_key_and_a_newly_formatted_zone_has_another_key)
{
    unsigned        i;
    mcp_keys_t      one, two;
    unsigned char  *p;

    p = region_new();

    memset(&one, 0, sizeof(one));
    memset(&two, 0, sizeof(two));

    assert_ok(mcp_zone_format(p, SIZE, EPOCH));
    assert_ok(mcp_zone_keys(p, &one));
    assert_ok(mcp_zone_keys(p, &two));
    assert_int_equal(one.n, 1);
    assert_memory_equal(&one, &two, sizeof(one));

    assert_ok(mcp_zone_format(p, SIZE, EPOCH));
    assert_ok(mcp_zone_keys(p, &two));
    assert_int_equal(two.n, 2);
    assert_memory_not_equal(two.key[0], two.key[1], sizeof(two.key[0]));

    for (i = two.n; i < MCP_KEYS_MAX; i++) {
        assert_ok(mcp_zone_format(p, SIZE, EPOCH));
        assert_ok(mcp_zone_keys(p, &two));
    }

    assert_ok(mcp_zone_format(p, SIZE, EPOCH));
    assert_int_equal(mcp_zone_keys(p, &two), MCP_ERR_LIMIT);

    region_free(p);
}


static void
create(mcp_store_t *store, unsigned char n, mcp_stream_ref_t *ref)
{
    mcp_stream_spec_t  spec;

    memset(&spec, 0, sizeof(spec));
    spec.id[0] = n;
    spec.request = mcp_str("1");
    spec.max_wait = 1000;

    assert_ok(mcp_store_create(store, &spec, 1000, ref));
}


TEST(process_finds_a_stream_of_another_process_and_is_woken_by_its_appends)
{
    uint64_t            seq;
    mcp_store_t         one, two;
    mcp_cursor_t        cursor;
    unsigned char      *p;
    mcp_stream_ref_t    ref;
    mcp_stream_info_t   info;

    p = region_new();

    assert_ok(mcp_zone_format(p, SIZE, EPOCH));
    assert_ok(mcp_zone_attach(&one, p, wake, &woken, 1, 100));
    assert_ok(mcp_zone_attach(&two, p, wake, &woken, 2, 200));
    assert_int_equal(mcp_store_slot_pid(&one, 2), 200);

    /* process 1 creates a stream and appends to it: process 2 finds the
     * stream, and is woken when process 1 appends */

    create(&one, 1, &ref);
    assert_ok(mcp_store_find(&two, ref.id, 0, &info));
    assert_ok(mcp_store_watch(&two, &ref, 5, 0, &cursor, &(int) { 0 }));
    assert_int_equal(woken, 1U << 1);

    woken = 0;
    assert_ok(mcp_store_append(&one, &ref, mcp_str("{}"), -1,
                               MCP_STATE_PROCESSING, 1000, &seq));
    assert_int_equal(woken, 1U << 2);

    mcp_store_detach(&two);
    mcp_store_detach(&one);
    assert_ok(mcp_zone_check(p));

    region_free(p);
}


static int
children(pid_t *pids, int n)
{
    int  i, status, failed;

    failed = 0;

    for (i = 0; i < n; i++) {
        waitpid(pids[i], &status, 0);
        failed += (status != 0);
    }

    return failed;
}


/* The lock excludes other processes. If a process dies while it holds the
 * lock, others can take it. */
TEST(process_dies_with_the_lock__another_process_takes_it_and_repairs_the_zone)
{
    int                 i, k;
    pid_t               pids[4];
    mcp_store_t         store;
    unsigned char      *p;
    mcp_stream_ref_t    ref;
    mcp_store_stats_t   stats;

    p = region_new();

    assert_ok(mcp_zone_format(p, SIZE, EPOCH));
    assert_ok(mcp_zone_attach(&store, p, wake, &woken, 0, 1));

    for (i = 0; i < 4; i++) {
        pids[i] = fork();

        if (pids[i] == 0) {
            if (mcp_zone_attach(&store, p, wake, &woken, (unsigned) i + 1,
                                (uint64_t) getpid())
                != MCP_OK)
            {
                _exit(1);
            }

            for (k = 0; k < 2000; k++) {
                create(&store, (unsigned char) (i + 1), &ref);
                mcp_store_free(&store, &ref);
            }

            _exit(0);
        }
    }

    assert_int_equal(children(pids, 4), 0);

    pids[0] = fork();

    if (pids[0] == 0) {
        (void) mcp_lock(p);
        kill(getpid(), SIGKILL);
    }

    assert_int_equal(children(pids, 1), 1);

    create(&store, 9, &ref);
    mcp_store_stats(&store, &stats);
    assert_int_equal(stats.streams, 1);
    assert_int_equal(stats.counter[MCP_COUNT_REPAIRS], 1);

    mcp_store_detach(&store);
    region_free(p);
}


RUN_TESTS(NULL, NULL)

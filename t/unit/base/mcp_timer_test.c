/* SPDX-License-Identifier: Apache-2.0 */

/* The pairing heap of timers, compared with a plain list. */

#include "test_env.h"

#include "mcp_timer.h"


#define TIMERS  200


static mcp_timer_t   timers[TIMERS];
static unsigned      fired[TIMERS];
static uint64_t      last;


static void
handler(void *data)
{
    mcp_timer_t  *timer = data;

    assert_false(mcp_timer_armed(timer));
    assert_true(timer->when >= last);
    last = timer->when;
    fired[timer - timers]++;
}


TEST(all_due_timers_run_in_the_order_of_their_times)
{
    unsigned       round, i, expected;
    uint64_t       now, least, when[TIMERS];
    mcp_timers_t   heap;

    memset(&heap, 0, sizeof(heap));
    memset(timers, 0, sizeof(timers));
    memset(when, 0, sizeof(when));
    memset(fired, 0, sizeof(fired));
    srand(7);
    now = 1;

    for (i = 0; i < TIMERS; i++) {
        timers[i].handler = handler;
        timers[i].data = &timers[i];
    }

    for (round = 0; round < 20000; round++) {
        i = (unsigned) rand() % TIMERS;

        switch (rand() % 8) {

        case 0:
        case 1:
        case 2:
        case 3:
            when[i] = now + (unsigned) rand() % 100;
            mcp_timer_set(&heap, &timers[i], when[i]);
            break;

        case 4:
        case 5:
            when[i] = 0;
            mcp_timer_del(&heap, &timers[i]);
            break;

        case 6:
            last = 0;
            now += (unsigned) rand() % 20;
            expected = 0;
            memset(fired, 0, sizeof(fired));
            mcp_timers_run(&heap, now);

            for (i = 0; i < TIMERS; i++) {
                expected = (when[i] && when[i] <= now);
                assert_int_equal(fired[i], expected);

                if (expected) {
                    when[i] = 0;
                }
            }

            break;

        default:
            least = UINT64_MAX;

            for (i = 0; i < TIMERS; i++) {
                if (when[i] && when[i] < least) {
                    least = when[i];
                }

                assert_int_equal(mcp_timer_armed(&timers[i]), when[i] != 0);
            }

            assert_true(mcp_timers_next(&heap) == least);
            break;
        }
    }
}


RUN_TESTS(NULL, NULL)

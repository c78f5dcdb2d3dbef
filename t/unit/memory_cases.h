/* SPDX-License-Identifier: Apache-2.0 */

/* The memory of tests that have no other fixture. */


#ifndef MEMORY_CASES_H_INCLUDED
#define MEMORY_CASES_H_INCLUDED


#include "test_env.h"


static test_mem_t  tm;


static inline int
init(void **state)
{
    (void) state;

    test_mem_init(&tm);

    return 0;
}


/* Checks that the test has freed all memory. */
static inline int
done(void **state)
{
    (void) state;

    assert_int_equal(tm.live, 0);

    return 0;
}


#endif /* MEMORY_CASES_H_INCLUDED */

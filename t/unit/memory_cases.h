/* SPDX-License-Identifier: Apache-2.0 */

/* The memory of tests that have no other fixture. */


#ifndef MEMORY_CASES_H_INCLUDED
#define MEMORY_CASES_H_INCLUDED


#include "test_env.h"


static test_mem_t  tm;

/* Objects that the test has created and does not free itself. */
static struct {
    void  *what;
    void (*free)(void *what);
} kept[256];

static size_t      n_kept;


/* Registers an object and the function by which done() frees it. */
static inline void
keep(void *what, void (*free)(void *what))
{
    assert_in_range(n_kept, 0, sizeof(kept) / sizeof(kept[0]) - 1);

    kept[n_kept].what = what;
    kept[n_kept++].free = free;
}


static inline int
init(void **state)
{
    test_mem_init(&tm);

    return 0;
}


/* Frees the kept objects, and checks that no other memory is in use. */
static inline int
done(void **state)
{
    while (n_kept) {
        n_kept--;
        kept[n_kept].free(kept[n_kept].what);
    }

    assert_int_equal(tm.live, 0);

    return 0;
}


#endif /* MEMORY_CASES_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Declarations for all fuzz targets: must(), which aborts the run if a
 * condition is false, and an allocator that counts allocations.
 */


#ifndef FUZZ_ENV_H_INCLUDED
#define FUZZ_ENV_H_INCLUDED


#include <stdio.h>
#include <stdlib.h>

#include "mcp.h"


#define must(condition)                                                       \
    if (!(condition)) {                                                       \
        fprintf(stderr, "line %d: %s\n", __LINE__, #condition);               \
        abort();                                                              \
    }


static long  live __attribute__((unused));     /* number of allocations that
                                                  are not freed */


static inline void *
fuzz_alloc(void *ctx, size_t size)
{
    (void) ctx;
    live++;

    return malloc(size ? size : 1);
}


static inline void
fuzz_free(void *ctx, void *p)
{
    (void) ctx;
    live -= (p != NULL);
    free(p);
}


static const mcp_mem_t  fuzz_mem __attribute__((unused)) = {
    fuzz_alloc, fuzz_free, NULL
};


int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);


#endif /* FUZZ_ENV_H_INCLUDED */

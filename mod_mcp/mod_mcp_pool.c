/* SPDX-License-Identifier: Apache-2.0 */

/* Pools that calls reuse one after the other. */

#include "mod_mcp_snapshot.h"

/* maximum number of pools; maximum unused memory that each keeps, bytes */
#define POOLS       64
#define POOL_KEEPS  (96 * 1024)

static apr_pool_t *pools[POOLS];
static unsigned n_pools;

apr_pool_t *mod_mcp_pool_get(void)
{
    apr_allocator_t *allocator;
    apr_pool_t *p;

    if (n_pools) {
        return pools[--n_pools];
    }

    if (apr_allocator_create(&allocator) != APR_SUCCESS) {
        return NULL;
    }

    if (apr_pool_create_ex(&p, NULL, NULL, allocator) != APR_SUCCESS) {
        apr_allocator_destroy(allocator);
        return NULL;
    }

    apr_allocator_owner_set(allocator, p);
    apr_allocator_max_free_set(allocator, POOL_KEEPS);

    return p;
}

void mod_mcp_pool_put(apr_pool_t *p)
{
    if (n_pools == POOLS) {
        apr_pool_destroy(p);
        return;
    }

    pools[n_pools++] = p;
}

void mod_mcp_pool_exit(void)
{
    while (n_pools) {
        apr_pool_destroy(pools[--n_pools]);
    }
}

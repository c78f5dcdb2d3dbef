/* SPDX-License-Identifier: Apache-2.0 */

/* Formats, checks and attaches the region of a zone: a head with the lock, the
 * epoch and a secret, followed by the store. */


#include "mcp_zone.h"
#include "store/mcp_lock.h"
#include "store/mcp_store.h"

#include <sys/mman.h>
#include <unistd.h>


#define MCP_ZONE_SECRET_LEN  48


/* The head of a zone. It takes MCP_ZONE_HEAD bytes, a multiple of 64, so that
 * the store starts on a new cache line. */
typedef struct {
    unsigned char  lock[MCP_LOCK_SIZE];
    uint64_t       size;               /* size of the store, bytes */
    uint64_t       epoch;
    unsigned char  secret[MCP_ZONE_SECRET_LEN];
} mcp_zone_t;


_Static_assert(sizeof(mcp_zone_t) <= MCP_ZONE_HEAD && MCP_ZONE_HEAD % 64 == 0,
               "MCP_ZONE_HEAD must be a multiple of 64, not below mcp_zone_t");


/* Excludes the region's pages from core dumps, if the system supports that. */
static void
mcp_zone_hide(void *region, size_t size)
{
#ifdef MADV_DONTDUMP

    long       page;
    uintptr_t  start, end;

    page = sysconf(_SC_PAGESIZE);

    if (page > 0) {
        start = (uintptr_t) region / (size_t) page * (size_t) page;
        end = (uintptr_t) region + size;

        (void) madvise((void *) start, end - start, MADV_DONTDUMP);
    }

#else

    (void) region;
    (void) size;

#endif
}


int
mcp_zone_format(void *region, size_t size, uint64_t epoch)
{
    mcp_zone_t  *zone;

    if (size < MCP_ZONE_MIN_SIZE || (uintptr_t) region % 64 != 0) {
        return MCP_ERR_CONFIG;
    }

    mcp_zone_hide(region, size);

    zone = region;
    memset(zone, 0, MCP_ZONE_HEAD);
    zone->size = size - MCP_ZONE_HEAD;
    zone->epoch = epoch;

    if (mcp_lock_init(zone->lock) != MCP_OK
        || mcp_random(zone->secret, MCP_ZONE_SECRET_LEN) != MCP_OK)
    {
        return MCP_ERR_INTERNAL;
    }

    return mcp_store_format((char *) region + MCP_ZONE_HEAD, zone->size);
}


int
mcp_zone_check(const void *region)
{
    const mcp_zone_t  *zone;

    zone = region;

    return zone->epoch != 0
           && mcp_store_check((const char *) region + MCP_ZONE_HEAD,
                              zone->size)
              == MCP_OK ? MCP_OK : MCP_ERR_CONFIG;
}


uint64_t
mcp_zone_epoch(const void *region)
{
    return ((const mcp_zone_t *) region)->epoch;
}


size_t
mcp_zone_keys_size(void)
{
    return sizeof(mcp_keys_t);
}


int
mcp_zone_keys(const void *region, mcp_keys_t *keys)
{
    const mcp_zone_t  *zone;

    zone = region;

    return mcp_keys_add(keys, (mcp_str_t) { (const char *) zone->secret,
                                            MCP_ZONE_SECRET_LEN });
}


size_t
mcp_zone_store_size(void)
{
    return sizeof(mcp_store_t);
}


int
mcp_zone_attach(mcp_store_t *store, void *region,
    void (*wake)(void *ctx, unsigned slot), void *ctx, unsigned slot,
    uint64_t pid)
{
    const mcp_store_glue_t  glue = {
        mcp_lock, mcp_unlock, ((mcp_zone_t *) region)->lock, wake, ctx
    };

    return mcp_store_attach(store, (char *) region + MCP_ZONE_HEAD, &glue,
                            slot, pid);
}

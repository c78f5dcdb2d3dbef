/* SPDX-License-Identifier: Apache-2.0 */

/* The lock of a zone's store: a robust, process-shared pthread mutex.
 * mcp_zone_attach() passes mcp_lock() and mcp_unlock() to the store. No other
 * file of the core uses pthreads. */


#include <errno.h>
#include <pthread.h>

#include "store/mcp_lock.h"


/* Number of attempts before sleeping. The store's lock is usually held for
 * well under a microsecond, so a few more attempts cost less than sleeping. */
#define MCP_LOCK_SPINS  64


_Static_assert(sizeof(pthread_mutex_t) <= MCP_LOCK_SIZE,
               "MCP_LOCK_SIZE is too small");


static inline void
mcp_lock_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile ("yield");
#endif
}


int
mcp_lock_init(void *lock)
{
    int                  rc;
    pthread_mutexattr_t  attr;

    memset(lock, 0, MCP_LOCK_SIZE);

    if (pthread_mutexattr_init(&attr) != 0) {
        return MCP_ERR_INTERNAL;
    }

    rc = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);

    if (rc == 0) {
        rc = pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    }

    if (rc == 0) {
        rc = pthread_mutex_init(lock, &attr);
    }

    pthread_mutexattr_destroy(&attr);

    return rc == 0 ? MCP_OK : MCP_ERR_INTERNAL;
}


int
mcp_lock(void *lock)
{
    int       rc;
    unsigned  n;

    rc = EBUSY;

    for (n = 0; n < MCP_LOCK_SPINS; n++) {
        rc = pthread_mutex_trylock(lock);

        if (rc != EBUSY) {
            break;
        }

        mcp_lock_pause();
    }

    if (n == MCP_LOCK_SPINS) {
        rc = pthread_mutex_lock(lock);
    }

    if (rc == 0) {
        return MCP_OK;
    }

    /* The mutex is marked consistent at once, before the caller repairs the
     * store: if this process dies during the repair, the next process that
     * takes the mutex gets EOWNERDEAD as well. A mutex that is unlocked
     * without the mark can never be locked again. */

    if (rc == EOWNERDEAD && pthread_mutex_consistent(lock) == 0) {
        return MCP_AGAIN;
    }

    return MCP_ERR_INTERNAL;
}


void
mcp_unlock(void *lock)
{
    (void) pthread_mutex_unlock(lock);
}

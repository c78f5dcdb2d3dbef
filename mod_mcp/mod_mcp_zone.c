/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The shared zone: its memory, a slot for each process, and an eventfd for
 * each slot.
 *
 * An eventfd wakes the process of its slot, which then finds its work in the
 * zone.  The parent creates zone and eventfds once and keeps them across
 * configurations, so that children of all generations share them.
 */

#include "mod_mcp_zone.h"

#include "mod_mcp_child.h"
#include "mod_mcp_config.h"
#include "mod_mcp_worker.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ap_mpm.h"
#include "apr_shm.h"

#include "mcp_version.h"

#define RETAINED_KEY  "mod_mcp"

/*
 * minimum number of slots: children of old and new generations, which run at
 * the same time, need one each
 */
#define SLOTS_MIN  64

/* maximum number of slots that each check for dead processes inspects */
#define PATROL_SLOTS  256

/*
 * Shared memory besides the zone: the pid of the process in each slot, 0 if
 * free.
 */
typedef struct {
    pid_t claims[MCP_STORE_SLOTS];
} shared_t;

/* Data that the parent keeps across configurations
 * (ap_retained_data_create()). */
typedef struct {
    shared_t *shared;
    void *region;                       /* memory of the zone */
    apr_size_t size;                    /* size of "region", bytes */
    unsigned slots;                     /* number of eventfds in wakeup_fds */
    int wakeup_fds[MCP_STORE_SLOTS];
} retained_t;

static retained_t *retained;
static mcp_keys_t *zone_keys;

static int slot;                        /* slot of this process */

/* --- the parent process --- */

/* Initializes the mapped region of the zone.  Returns OK, or an HTTP error
 * after an error in the log. */
static int format_region(server_rec *s)
{
    uint64_t epoch = (uint64_t)apr_time_as_msec(apr_time_now()
                                                - mod_mcp_now());

    switch (mcp_zone_format(retained->region, retained->size, epoch)) {
    case MCP_OK:
        return OK;

    case MCP_ERR_CONFIG:
        ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s,
                     "MCPStore: a zone cannot have %" APR_SIZE_T_FMT " bytes: "
                     "set a size of 257 KB to 32 GB",
                     retained->size);
        break;

    default:
        ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s,
                     "MCPStore: cannot set up the zone, because the system "
                     "cannot create a mutex for several processes, or "
                     "OpenSSL's random generator failed");
        break;
    }

    retained->region = NULL;

    return HTTP_INTERNAL_SERVER_ERROR;
}

static int make_region(server_rec *s, apr_size_t size)
{
    apr_shm_t *shm;
    apr_status_t rv;
    apr_size_t head = APR_ALIGN(sizeof(shared_t), 64);

    /* add 64 bytes, because APR stores the size in front of the memory, and
     * retained->shared is aligned to 64 bytes */

    rv = apr_shm_create(&shm, 64 + head + size, NULL, s->process->pool);
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, rv, s,
                     "MCPStore: the system cannot provide %" APR_SIZE_T_FMT
                     " bytes of shared memory: set a smaller size", size);
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    retained->shared = (shared_t *)
                       APR_ALIGN((apr_uintptr_t)apr_shm_baseaddr_get(shm), 64);
    retained->region = (char *)retained->shared + head;
    retained->size = size;

    memset(retained->shared, 0, sizeof(shared_t));

    return format_region(s);
}

/* Creates the region of the zone, or keeps that of the previous configuration.
 * Returns OK, or an HTTP error after an error in the log. */
static int have_region(server_rec *s, apr_size_t size)
{
    if (retained->region == NULL) {
        return make_region(s, size);
    }

    if (mcp_zone_check(retained->region) != MCP_OK) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s,
                     "MCPStore has the layout of another version of mod_mcp: "
                     "stop and start the server");
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    if (retained->size != size) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "MCPStore was resized, but keeps its %" APR_SIZE_T_FMT
                     " bytes until the next start: stop and start the server",
                     retained->size);
    }

    return OK;
}

static int make_wakeup_fds(server_rec *s)
{
    int daemons = 0, fd;
    unsigned n;

    ap_mpm_query(AP_MPMQ_HARD_LIMIT_DAEMONS, &daemons);

    if (daemons > MCP_STORE_SLOTS) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "mod_mcp: ServerLimit %d exceeds the %d processes that "
                     "MCPStore supports, so further processes answer 503: "
                     "lower ServerLimit", daemons, MCP_STORE_SLOTS);
    }

    n = daemons > 0 ? 2 * (unsigned)daemons : 0;
    n = n < SLOTS_MIN ? SLOTS_MIN : n;
    n = n > MCP_STORE_SLOTS ? MCP_STORE_SLOTS : n;

    while (retained->slots < n) {
        fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (fd == -1) {
            ap_log_error(APLOG_MARK, APLOG_EMERG, APR_FROM_OS_ERROR(errno), s,
                         "mod_mcp: cannot create an eventfd for each process");
            return HTTP_INTERNAL_SERVER_ERROR;
        }

        retained->wakeup_fds[retained->slots++] = fd;
    }

    return OK;
}

int mod_mcp_zone_post_config(apr_pool_t *pconf, apr_pool_t *plog,
                             apr_pool_t *ptemp, server_rec *s)
{
    int rc;

    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG) {
        return OK;
    }

    retained = ap_retained_data_get(RETAINED_KEY);

    if (retained == NULL) {
        retained = ap_retained_data_create(RETAINED_KEY, sizeof(*retained));
    }

    rc = have_region(s, mod_mcp_config_global(s)->store_size);

    if (rc == OK) {
        rc = make_wakeup_fds(s);
    }

    if (rc != OK) {
        return rc;
    }

    zone_keys = apr_pcalloc(pconf, mcp_zone_keys_size());

    if (mcp_zone_keys(retained->region, zone_keys) != MCP_OK) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s,
                     "MCPStore: OpenSSL cannot hash the random key");
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    mod_mcp_check_mpm(s);

    ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s, "mod_mcp %s", mcp_version);
    ap_add_version_component(pconf, apr_pstrcat(pconf, "mod_mcp/", mcp_version,
                                                NULL));

    return OK;
}

int mod_mcp_zone_exists(void)
{
    return retained != NULL;
}

const mcp_keys_t *mod_mcp_zone_keys(void)
{
    return zone_keys;
}

apr_uint64_t mod_mcp_zone_epoch(void)
{
    return mcp_zone_epoch(retained->region);
}

/* --- a child process --- */

/* Returns 1 if no process has this id. */
static int is_dead(uint64_t pid)
{
    return kill((pid_t)pid, 0) == -1 && errno == ESRCH;
}

/*
 * Wakes the process in the slot "other".  Callback of the store, called under
 * mod_mcp_lock().
 */
static void wake_process(void *ctx, unsigned other)
{
    uint64_t one = 1;

    if (other == (unsigned)slot) {
        mod_mcp_worker_woken();
        return;
    }

    /* EAGAIN: the counter of the eventfd is full, a wake-up is pending */

    if (other < retained->slots
        && write(retained->wakeup_fds[other], &one, sizeof(one)) == -1
        && errno != EAGAIN) {
        ap_log_error(APLOG_MARK, APLOG_ERR, APR_FROM_OS_ERROR(errno),
                     mod_mcp_child.server,
                     "mod_mcp: write() to the eventfd of slot %u failed: "
                     "another process was not woken",
                     other);
    }
}

/*
 * Claims a slot that is free or whose process has died.  Returns its number,
 * or -1 if there is none.
 */
static int claim_slot(void)
{
    pid_t pid, *claim;
    unsigned i;

    for (i = 0; i < retained->slots; i++) {
        claim = &retained->shared->claims[i];
        pid = __atomic_load_n(claim, __ATOMIC_ACQUIRE);

        if (pid != 0 && !is_dead((uint64_t)pid)) {
            continue;
        }

        if (__atomic_compare_exchange_n(claim, &pid, getpid(), 0,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            return (int)i;
        }
    }

    return -1;
}

int mod_mcp_zone_claim(int *wakeup_fd)
{
    slot = claim_slot();

    if (slot == -1) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, mod_mcp_child.server,
                     "mod_mcp: this process has no slot in MCPStore, because "
                     "more than %u processes run: raise ServerLimit, then stop "
                     "and start the server",
                     retained->slots);
        return 0;
    }

    *wakeup_fd = retained->wakeup_fds[slot];

    return 1;
}

int mod_mcp_zone_attach(mcp_store_t *store)
{
    return mcp_zone_attach(store, retained->region, wake_process, NULL,
                           (unsigned)slot, (uint64_t)getpid());
}

void mod_mcp_zone_release(void)
{
    __atomic_store_n(&retained->shared->claims[slot], 0, __ATOMIC_RELEASE);
}

void mod_mcp_zone_patrol(void)
{
    mcp_worker_patrol(mod_mcp_child.worker, retained->slots, PATROL_SLOTS,
                      is_dead);
    mod_mcp_worker_woken();
}

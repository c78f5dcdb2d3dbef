/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The shared zone, and this process's worker in it: claiming a slot, waking
 * other processes, and carrying out what the core asks for.
 *
 * Between processes travels only a bell: one eventfd per slot.  The parent
 * makes them once, with the zone, and keeps both from one configuration to
 * the next, so that children of all its generations share them; what there is
 * to do stands in the zone.
 */

#include "mod_mcp.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "apr_shm.h"

#define RETAINED_KEY  "mod_mcp"

/* Children of old generations wind up beside the new ones: slots for both. */
#define SLOTS_MIN  64

/* Slots that one look after other processes takes in. */
#define PATROL_SLOTS  256

/* Wakes that one giving back of the lock takes in. */
#define WAKES  16

/* What start-up warns of. */
#define BUSY_MIN     256
#define THREADS_MIN  8

/* What the processes share besides the zone itself: who has which slot. */
typedef struct {
    pid_t claims[MCP_STORE_SLOTS];
} shared_t;

typedef struct {
    shared_t *shared;
    void *region;
    apr_size_t size;
    unsigned slots;
    int bells[MCP_STORE_SLOTS];
} retained_t;

mod_mcp_child_t mod_mcp_child;

static retained_t *retained;
static mcp_keys_t zone_keys;
static apr_thread_mutex_t *lock;
static int woken;                       /* mcp_worker_wake() is due */
static int waits;                       /* threads in mod_mcp_wait() */

/* while this process winds up */
static struct sigaction term_before;
static int term_taken;                  /* that was replaced */
static int termed;                      /* it came */

/* kept for the next calls: so many, and so much unused memory in each */
#define POOLS       64
#define POOL_KEEPS  (96 * 1024)

static apr_pool_t *pools[POOLS];
static unsigned n_pools;

/* --- memory, clock, log --- */

static void *mem_alloc(void *ctx, size_t size)
{
    return malloc(size);
}

static void mem_free(void *ctx, void *p)
{
    free(p);
}

const mcp_mem_t mod_mcp_mem = { mem_alloc, mem_free, NULL };

apr_time_t mod_mcp_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);

    return apr_time_from_sec(ts.tv_sec) + ts.tv_nsec / 1000;
}

apr_uint64_t mod_mcp_now_ms(void)
{
    return mod_mcp_child.epoch + (apr_uint64_t)apr_time_as_msec(mod_mcp_now());
}

static uint64_t env_now(void *ctx)
{
    return mod_mcp_now_ms();
}

static int env_random(void *ctx, void *buf, size_t len)
{
    return mcp_random(buf, len);
}

static const int log_levels[] = {
    APLOG_ERR,
    APLOG_WARNING,
    APLOG_NOTICE,
    APLOG_INFO,
    APLOG_DEBUG
};

static void env_log(void *ctx, mcp_log_level_e level, const char *line)
{
    ap_log_error(APLOG_MARK, log_levels[level], 0, mod_mcp_child.server,
                 "mcp: %s", line);
}

static mcp_log_level_e env_log_level(server_rec *s)
{
    mcp_log_level_e level = MCP_LOG_DEBUG;

    while (level > MCP_LOG_ERROR && !APLOG_IS_LEVEL(s, log_levels[level])) {
        level--;
    }

    return level;
}

/* --- the parent: zone and bells --- */

static int make_region(server_rec *s, apr_size_t size)
{
    apr_shm_t *shm;
    apr_status_t rv;
    apr_size_t head = APR_ALIGN(sizeof(shared_t), 64);
    uint64_t epoch;

    /* what APR gives begins behind a size of its own */

    rv = apr_shm_create(&shm, 64 + head + size, NULL, s->process->pool);
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, rv, s,
                     "MCPStore: cannot get %" APR_SIZE_T_FMT " bytes of "
                     "shared memory", size);
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    retained->shared = (shared_t *)
                       APR_ALIGN((apr_uintptr_t)apr_shm_baseaddr_get(shm), 64);
    retained->region = (char *)retained->shared + head;
    retained->size = size;

    memset(retained->shared, 0, sizeof(shared_t));

    epoch = (uint64_t)apr_time_as_msec(apr_time_now() - mod_mcp_now());

    switch (mcp_zone_format(retained->region, size, epoch)) {
    case MCP_OK:
        return OK;

    case MCP_ERR_CONFIG:
        ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s,
                     "MCPStore: %" APR_SIZE_T_FMT " bytes will not do", size);
        break;

    default:
        ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s,
                     "MCPStore: no lock, or no random bytes for a key");
        break;
    }

    retained->region = NULL;

    return HTTP_INTERNAL_SERVER_ERROR;
}

static int make_bells(server_rec *s)
{
    int daemons = 0, fd;
    unsigned n;

    ap_mpm_query(AP_MPMQ_HARD_LIMIT_DAEMONS, &daemons);

    if (daemons > MCP_STORE_SLOTS) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "mod_mcp: ServerLimit %d is more than the %d processes "
                     "that MCPStore knows: those beyond answer 503", daemons,
                     MCP_STORE_SLOTS);
    }

    n = daemons > 0 ? 2 * (unsigned)daemons : 0;
    n = n < SLOTS_MIN ? SLOTS_MIN : n;
    n = n > MCP_STORE_SLOTS ? MCP_STORE_SLOTS : n;

    while (retained->slots < n) {
        fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (fd == -1) {
            ap_log_error(APLOG_MARK, APLOG_EMERG, APR_FROM_OS_ERROR(errno), s,
                         "mod_mcp: eventfd()");
            return HTTP_INTERNAL_SERVER_ERROR;
        }

        retained->bells[retained->slots++] = fd;
    }

    return OK;
}

/* A directive that no query tells of; the last one counts. */
static double find_number(const ap_directive_t *d, const char *name,
                          double value)
{
    for ( ; d; d = d->next) {
        if (d->first_child) {
            value = find_number(d->first_child, name, value);
        }

        if (strcasecmp(d->directive, name) == 0) {
            value = atof(d->args);
        }
    }

    return value;
}

/* The event MPM: a suspended stream counts as a connection, and a child must
 * neither refuse new ones for it nor be taken for idle.  It takes new ones
 * below ThreadsPerChild plus the factor for each thread that is idle: while
 * calls run one may be left. */
static void check_event(server_rec *s, int threads, int daemons)
{
    double factor;
    int busy, spare = 0;

    factor = find_number(ap_conftree, "AsyncRequestWorkerFactor", 2);
    busy = (int)(threads + factor);

    if (busy < BUSY_MIN) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "mod_mcp: AsyncRequestWorkerFactor %g allows a process "
                     "of which but one thread is idle no more than about %d "
                     "connections, idle MCP streams among them: raise it, to "
                     "%d or more", factor, busy, BUSY_MIN);
    }

    ap_mpm_query(AP_MPMQ_MAX_SPARE_THREADS, &spare);

    if (spare > 0 && spare < threads * daemons) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "mod_mcp: MaxSpareThreads %d is below MaxRequestWorkers "
                     "%d: processes that hold idle MCP streams, and so have "
                     "spare threads, will be ended, and their clients sent "
                     "elsewhere", spare, threads * daemons);
    }
}

/* What would starve streams or calls; each line names what to change. */
static void check_mpm(server_rec *s)
{
    int async = 0, threads = 0, threaded = 0, daemons = 0;

    ap_mpm_query(AP_MPMQ_IS_ASYNC, &async);
    ap_mpm_query(AP_MPMQ_IS_THREADED, &threaded);
    ap_mpm_query(AP_MPMQ_MAX_THREADS, &threads);
    ap_mpm_query(AP_MPMQ_MAX_DAEMONS, &daemons);

    if (threaded && threads < THREADS_MIN) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "mod_mcp: ThreadsPerChild %d leaves few threads for "
                     "others while MCP calls run: raise it, to %d or more",
                     threads, THREADS_MIN);
    }

    if (async) {
        check_event(s, threads, daemons);
    }
    else {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s,
                     "mod_mcp: with this MPM an idle MCP stream holds a %s, "
                     "for as long as MCPHold says; with the event MPM none",
                     threaded ? "thread" : "process");
    }
}

int mod_mcp_post_config(apr_pool_t *pconf, apr_pool_t *plog,
                        apr_pool_t *ptemp, server_rec *s)
{
    const mod_mcp_global_t *global = mod_mcp_global(s);
    int rc;

    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG) {
        return OK;
    }

    retained = ap_retained_data_get(RETAINED_KEY);

    if (retained == NULL) {
        retained = ap_retained_data_create(RETAINED_KEY, sizeof(*retained));
    }

    if (retained->region == NULL) {
        rc = make_region(s, global->store_size);
        if (rc != OK) {
            return rc;
        }
    }
    else if (mcp_zone_check(retained->region) != MCP_OK) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s,
                     "MCPStore was laid out by another version of mod_mcp: "
                     "stop the server and start it anew");
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    else if (retained->size != global->store_size) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "MCPStore keeps its %" APR_SIZE_T_FMT " bytes until the "
                     "server is stopped and started anew", retained->size);
    }

    rc = make_bells(s);
    if (rc != OK) {
        return rc;
    }

    memset(&zone_keys, 0, sizeof(zone_keys));

    if (mcp_zone_keys(retained->region, &zone_keys) != MCP_OK) {
        ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s,
                     "MCPStore: cannot derive a key");
        return HTTP_INTERNAL_SERVER_ERROR;
    }

    check_mpm(s);
    mod_mcp_proxy_check(s);

    ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s, "mod_mcp " MCP_VERSION);

    return OK;
}

const mcp_keys_t *mod_mcp_zone_keys(void)
{
    return &zone_keys;
}

/* --- the child --- */

static int is_dead(uint64_t pid)
{
    return kill((pid_t)pid, 0) == -1 && errno == ESRCH;
}

/* Takes a slot that is free or whose process is no more; -1: all are taken. */
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

/* The store's wake: called for any slot, within the lock. */
static void ring(void *ctx, unsigned slot)
{
    uint64_t one = 1;

    if (slot == mod_mcp_child.store.slot) {
        woken = 1;
        return;
    }

    /* EAGAIN: it has been ringing for ages */

    if (slot < retained->slots
        && write(retained->bells[slot], &one, sizeof(one)) == -1
        && errno != EAGAIN) {
        ap_log_error(APLOG_MARK, APLOG_ERR, APR_FROM_OS_ERROR(errno),
                     mod_mcp_child.server, "mod_mcp: eventfd of slot %u",
                     slot);
    }
}

/* The queue of actions is looked at whenever the lock is given back. */
static void ready(void *ctx)
{
}

void mod_mcp_patrol(void)
{
    mcp_worker_patrol(&mod_mcp_child.worker, retained->slots, PATROL_SLOTS,
                    is_dead);
    woken = 1;
}

void mod_mcp_bell(void)
{
    mod_mcp_child_t *child = &mod_mcp_child;
    uint64_t count;

    /* EAGAIN: somebody else's, or none */

    if (read(child->bell, &count, sizeof(count)) == -1 && errno != EAGAIN) {
        ap_log_error(APLOG_MARK, APLOG_ERR, APR_FROM_OS_ERROR(errno),
                     child->server, "mod_mcp: reading the eventfd");
    }

    woken = 1;

    /* httpd ends, or starts anew, while this process winds up */

    if (__atomic_load_n(&termed, __ATOMIC_ACQUIRE)
        && child->end == MOD_MCP_WINDING_UP) {
        __atomic_store_n(&child->end, MOD_MCP_ENDING, __ATOMIC_RELEASE);
        mod_mcp_job_interrupt();
    }
}

static int attach(void)
{
    mod_mcp_child_t *child = &mod_mcp_child;
    mcp_worker_glue_t glue = { ready, NULL };
    int slot;

    slot = claim_slot();
    if (slot == -1) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, child->server,
                     "mod_mcp: more processes than slots (%u): raise "
                     "ServerLimit and start the server anew",
                     retained->slots);
        return 0;
    }

    child->bell = retained->bells[slot];

    if (mcp_zone_attach(&child->store, retained->region, ring, NULL,
                        (unsigned)slot, (uint64_t)getpid()) != MCP_OK
        || mcp_worker_init(&child->worker, &child->env, &child->store, &glue)
           != MCP_OK) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, child->server,
                     "mod_mcp: cannot attach to the store");
        return 0;
    }

    return 1;
}

/* --- SIGTERM while this process winds up --- */

/* In a signal's handler: the pump does what is to be done. */
static void on_term(int sig, siginfo_t *info, void *context)
{
    uint64_t one = 1;
    int before = errno;

    /* the MPM wakes its own threads with it */

    if (info->si_pid != getpid()) {
        __atomic_store_n(&termed, 1, __ATOMIC_RELEASE);

        if (write(mod_mcp_child.bell, &one, sizeof(one)) == -1) {
            /* it has been ringing for ages */
        }
    }

    if (term_before.sa_flags & SA_SIGINFO) {
        term_before.sa_sigaction(sig, info, context);
    }
    else if (term_before.sa_handler != SIG_IGN) {
        term_before.sa_handler(sig);
    }

    errno = before;
}

/*
 * An MPM with threads listens to its parent no more once a child winds up, and
 * ignores the signal that the parent sends to all children, of whatever
 * generation, when it ends or starts anew at once.  Calls would hold that up
 * until the parent loses patience and kills the child.
 */
static void watch_term(void)
{
    struct sigaction action;

    if (term_taken || sigaction(SIGTERM, NULL, &term_before) == -1
        || term_before.sa_handler == SIG_DFL) {
        return;
    }

    action = term_before;
    action.sa_flags |= SA_SIGINFO;
    action.sa_sigaction = on_term;

    term_taken = (sigaction(SIGTERM, &action, NULL) == 0);
}

static void unwatch_term(void)
{
    if (term_taken) {
        term_taken = 0;
        sigaction(SIGTERM, &term_before, NULL);
    }
}

/* --- how a child ends --- */

static int can_lock(void)
{
    int n;

    for (n = 0; n < 100; n++) {
        if (apr_thread_mutex_trylock(lock) == APR_SUCCESS) {
            apr_thread_mutex_unlock(lock);
            return 1;
        }

        apr_sleep(apr_time_from_msec(1));
    }

    return 0;
}

/* The order in which a child's part ends: calls, streams, the zone. */
static apr_status_t child_exit(void *data)
{
    mod_mcp_child_t *child = &mod_mcp_child;

    if (!child->ready) {
        return APR_SUCCESS;
    }

    /* prefork ends a process from within a signal's handler: whatever it
     * interrupted may hold the lock */

    if (__atomic_load_n(&child->end, __ATOMIC_ACQUIRE) != MOD_MCP_WINDING_UP
        && !can_lock()) {
        _exit(0);
    }

    mod_mcp_job_stop();
    unwatch_term();
    mod_mcp_pump_stop();

    child->ready = 0;

    mcp_store_detach(&child->store);
    mcp_worker_destroy(&child->worker);

    __atomic_store_n(&retained->shared->claims[child->store.slot], 0,
                     __ATOMIC_RELEASE);

    while (n_pools) {
        apr_pool_destroy(pools[--n_pools]);
    }

    /* prefork, as above: it waits for a condition that is about to be freed,
     * which waits for all who wait for it */

    if (waits) {
        _exit(0);
    }

    return APR_SUCCESS;
}

void mod_mcp_child_init(apr_pool_t *pchild, server_rec *s)
{
    mod_mcp_child_t *child = &mod_mcp_child;
    apr_status_t rv;
    int value = 0;

    if (retained == NULL) {
        return;
    }

    memset(child, 0, sizeof(*child));

    child->server = s;
    child->pool = pchild;

    ap_mpm_query(AP_MPMQ_IS_THREADED, &value);
    child->threaded = (value != AP_MPMQ_NOT_SUPPORTED);

    value = 0;
    ap_mpm_query(AP_MPMQ_IS_ASYNC, &value);
    child->async = (value != 0);

    value = 1;
    ap_mpm_query(AP_MPMQ_MAX_THREADS, &value);
    child->threads = value > 0 ? value : 1;

    child->env.mem = mod_mcp_mem;
    child->env.now = env_now;
    child->epoch = mcp_zone_epoch(retained->region);
    child->env.random = env_random;
    child->env.log = env_log;
    child->env.log_level = env_log_level(s);
    child->env.zone = mcp_str("MCPStore");

    rv = apr_thread_mutex_create(&lock, APR_THREAD_MUTEX_DEFAULT, pchild);

    if (rv != APR_SUCCESS || !attach()) {
        return;
    }

    mod_mcp_job_init(pchild);
    mod_mcp_event_init();
    mod_mcp_handler_init();

    rv = mod_mcp_fetch_init(pchild);

    if (rv == APR_SUCCESS) {
        rv = mod_mcp_pump_start(pchild);
    }

    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, s,
                     "mod_mcp: cannot start");
        return;
    }

    child->ready = 1;

    apr_pool_pre_cleanup_register(pchild, NULL, child_exit);

    /* calls that a predecessor in this slot left behind */

    mod_mcp_lock();
    mcp_worker_adopt(&child->worker);
    mod_mcp_unlock();
}

/* Streams end, with retry, and find another process; calls run on, if there is
 * time for it. */
void mod_mcp_child_stopping(apr_pool_t *pchild, int graceful)
{
    if (!mod_mcp_child.ready) {
        return;
    }

    /* see child_exit() */

    if (!mod_mcp_child.threaded && !can_lock()) {
        _exit(0);
    }

    mod_mcp_lock();
    __atomic_store_n(&mod_mcp_child.end,
                     graceful ? MOD_MCP_WINDING_UP : MOD_MCP_ENDING,
                     __ATOMIC_RELEASE);
    mcp_worker_stop(&mod_mcp_child.worker);

    if (graceful) {
        watch_term();
    }
    else {
        mod_mcp_job_interrupt();
    }

    mod_mcp_unlock();
}

/* --- the lock and the actions --- */

static void act(mcp_action_t *action)
{
    mod_mcp_client_t *client;

    client = action->exchange ? mcp_exchange_glue(action->exchange) : NULL;

    /* its connection may be at the next request already */

    if (client && client->exchange != action->exchange) {
        client = NULL;
    }

    switch (action->type) {
    case MCP_ACT_INVOKE:
        mod_mcp_job_invoke(action->job, client);
        break;

    case MCP_ACT_ABORT:
        mod_mcp_job_abort(action->job);
        break;

    case MCP_ACT_RESUME:
        mod_mcp_job_resume(action->job);
        break;

    case MCP_ACT_FORGET:
        mod_mcp_snapshot_release(action->glue);
        break;

    case MCP_ACT_RESPOND:
        mod_mcp_client_notify(client, MOD_MCP_RESPOND);
        break;

    case MCP_ACT_STREAM:
        mod_mcp_client_notify(client, MOD_MCP_STREAM);
        break;

    case MCP_ACT_PULL:
        mod_mcp_client_notify(client, MOD_MCP_PULL);
        break;

    default:
        break;
    }
}

int mod_mcp_drain(void)
{
    mod_mcp_child_t *child = &mod_mcp_child;
    mcp_action_t action;
    int any = 0, wakes = 0;

    for ( ;; ) {
        if (woken && wakes < WAKES) {
            woken = 0;
            wakes++;
            mcp_worker_wake(&child->worker);
        }

        mcp_worker_next(&child->worker, &action);

        if (action.type != MCP_ACT_NONE) {
            act(&action);
            any = 1;
        }
        else if (!woken || wakes == WAKES) {
            break;
        }
    }

    /* what is left is the pump's, at once */

    mod_mcp_pump_before(woken ? 0 : mcp_worker_deadline(&child->worker, NULL));

    return any;
}

void mod_mcp_lock(void)
{
    apr_thread_mutex_lock(lock);
}

void mod_mcp_unlock(void)
{
    mod_mcp_drain();
    apr_thread_mutex_unlock(lock);
}

void mod_mcp_wait(apr_thread_cond_t *cond, apr_interval_time_t timeout)
{
    /* one of them may be what is waited for */

    if (mod_mcp_drain()) {
        return;
    }

    waits++;

    if (timeout > 0) {
        apr_thread_cond_timedwait(cond, lock, timeout);
    }
    else {
        apr_thread_cond_wait(cond, lock);
    }

    waits--;
}

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

    apr_pool_clear(p);
    pools[n_pools++] = p;
}

apr_status_t mod_mcp_thread_create(apr_thread_t **thread,
                                   apr_threadattr_t *attr,
                                   apr_thread_start_t main, apr_pool_t *p)
{
    sigset_t all, before;
    apr_status_t rv;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);

    rv = ap_thread_create(thread, attr, main, NULL, p);

    pthread_sigmask(SIG_SETMASK, &before, NULL);

    return rv;
}

apr_thread_cond_t *mod_mcp_cond(apr_pool_t *p)
{
    apr_thread_cond_t *cond;

    return apr_thread_cond_create(&cond, p) == APR_SUCCESS ? cond : NULL;
}

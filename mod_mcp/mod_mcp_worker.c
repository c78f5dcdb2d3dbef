/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The core's worker in this process: its lock, its actions, and its access to
 * memory, clock, randomness and log.
 */

#include "mod_mcp_worker.h"

#include "mod_mcp_child.h"
#include "mod_mcp_client.h"
#include "mod_mcp_cluster.h"
#include "mod_mcp_backend_threads.h"
#include "mod_mcp_event_loop.h"
#include "mod_mcp_snapshot.h"
#include "mod_mcp_zone.h"

#include <pthread.h>
#include <time.h>

/* maximum number of wake-ups that mod_mcp_drain() handles at once */
#define WAKES  16

struct mod_mcp_cond_t {
    pthread_cond_t cond;
};

static pthread_mutex_t lock;

static int woken;                       /* 1 if mcp_worker_wake() must be
                                           called */
static int waiting;                     /* number of threads in
                                           mod_mcp_wait() */

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

/* --- start and end --- */

/*
 * Callback of the core for new actions in the worker's queue.  Does nothing,
 * because mod_mcp_unlock() carries out all actions.
 */
static void ready(void *ctx)
{
}

static int attach(void)
{
    mod_mcp_child_t *child = &mod_mcp_child;
    mcp_worker_glue_t glue = { ready, NULL };

    if (!mod_mcp_zone_claim(&child->wakeup_fd)) {
        return 0;
    }

    /* the store is never freed, because the worker refers to it: see
     * mod_mcp_worker_exit() */

    child->store = malloc(mcp_zone_store_size());

    if (child->store && mod_mcp_zone_attach(child->store) == MCP_OK) {
        child->worker = mcp_worker_create(&child->env, child->store, &glue);
    }

    if (child->worker == NULL) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, child->server,
                     "mod_mcp: the endpoints of this process answer 503, "
                     "because it has no memory or MCPStore is damaged: stop "
                     "and start the server");
    }

    return child->worker != NULL;
}

/*
 * Creates the lock of mod_mcp_lock().  Because it is never held for long, a
 * thread spins for a short time before it sleeps.  The lock is never
 * destroyed, because clean-ups of requests' pools may run after that of
 * pchild, and take the lock.
 */
static int make_lock(void)
{
    pthread_mutexattr_t attr;
    int rc;

    if (pthread_mutexattr_init(&attr) != 0) {
        return 0;
    }

#ifdef __GLIBC__
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif

    rc = pthread_mutex_init(&lock, &attr);
    pthread_mutexattr_destroy(&attr);

    return rc == 0;
}

int mod_mcp_worker_init(void)
{
    mod_mcp_child_t *child = &mod_mcp_child;

    child->epoch = mod_mcp_zone_epoch();

    child->env.mem = mcp_free_list_init(&child->free_list, &mod_mcp_mem);
    child->env.now = env_now;
    child->env.random = env_random;
    child->env.log = env_log;
    child->env.log_level = env_log_level(child->server);
    child->env.zone = mcp_str("MCPStore");

    return make_lock() && attach();
}

void mod_mcp_worker_exit(void)
{
    pthread_mutex_lock(&lock);

    mod_mcp_child.ready = 0;

    mcp_store_detach(mod_mcp_child.store);
    mcp_free_list_clear(&mod_mcp_child.free_list);

    /* the worker is not destroyed, because calls that wait for client input or
     * for published messages refer to the worker; they end with the process */

    pthread_mutex_unlock(&lock);

    mod_mcp_zone_release();
}

/* --- the lock and the actions --- */

static void act(const mcp_action_t *action)
{
    mod_mcp_client_t *client;

    client = action->exchange ? mcp_exchange_glue(action->exchange) : NULL;

    /* do not use the client for an action of an earlier exchange of the
     * connection: the client may already serve the next request */

    if (client && client->exchange != action->exchange) {
        client = NULL;
    }

    switch (action->type) {
    case MCP_ACT_PREPARE:
        mod_mcp_backend_threads_prepare(action->breq, client);
        break;

    case MCP_ACT_INVOKE:
        mod_mcp_backend_threads_invoke(action->breq, client);
        break;

    case MCP_ACT_ABORT:
        mod_mcp_backend_threads_abort(action->breq);
        break;

    case MCP_ACT_RESUME:
        mod_mcp_backend_threads_resume(action->breq);
        break;

    case MCP_ACT_FORGET:
        mod_mcp_snapshot_release(action->glue);
        break;

#ifdef MCP_CLUSTER
    case MCP_ACT_CONNECT:
    case MCP_ACT_WRITE:
    case MCP_ACT_DISCONNECT:
        mod_mcp_cluster_act(action);
        break;
#endif

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
            mcp_worker_wake(child->worker);
        }

        mcp_worker_next(child->worker, &action);

        if (action.type != MCP_ACT_NONE) {
            act(&action);
            any = 1;
        }
        else if (!woken || wakes == WAKES) {
            break;
        }
    }

    /* make the event loop run at the core's next deadline, or at once if a
     * wake-up of this process is still pending */

    mod_mcp_event_loop_before(woken ? 0
                                    : mcp_worker_deadline(child->worker, NULL));

    return any;
}

void mod_mcp_lock(void)
{
    pthread_mutex_lock(&lock);
}

int mod_mcp_lock_ready(void)
{
    pthread_mutex_lock(&lock);

    if (mod_mcp_child.ready) {
        return 1;
    }

    pthread_mutex_unlock(&lock);

    return 0;
}

int mod_mcp_can_lock(void)
{
    int n;

    for (n = 0; n < 100; n++) {
        if (pthread_mutex_trylock(&lock) == 0) {
            pthread_mutex_unlock(&lock);
            return 1;
        }

        apr_sleep(apr_time_from_msec(1));
    }

    return 0;
}

void mod_mcp_unlock(void)
{
    mod_mcp_drain();
    pthread_mutex_unlock(&lock);
}

static void wait_until(mod_mcp_cond_t *cond, apr_time_t when)
{
    struct timespec ts;

    ts.tv_sec = apr_time_sec(when);
    ts.tv_nsec = apr_time_usec(when) * 1000;

    pthread_cond_timedwait(&cond->cond, &lock, &ts);
}

void mod_mcp_wait(mod_mcp_cond_t *cond, apr_interval_time_t timeout)
{
    /* do not wait if actions were carried out: the effect that the caller waits
     * for may have occurred already */

    if (mod_mcp_drain()) {
        return;
    }

    waiting++;

    if (timeout > 0) {
        wait_until(cond, mod_mcp_now() + timeout);
    }
    else {
        pthread_cond_wait(&cond->cond, &lock);
    }

    waiting--;
}

int mod_mcp_is_waiting(void)
{
    return waiting > 0;
}

static apr_status_t cond_cleanup(void *data)
{
    mod_mcp_cond_t *cond = data;

    pthread_cond_destroy(&cond->cond);

    return APR_SUCCESS;
}

/*
 * Initializes a condition that uses the clock of mod_mcp_now().  Returns 1, or
 * 0 on failure.
 */
static int cond_init(mod_mcp_cond_t *cond)
{
    pthread_condattr_t attr;
    int rc;

    if (pthread_condattr_init(&attr) != 0) {
        return 0;
    }

    rc = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);

    if (rc == 0) {
        rc = pthread_cond_init(&cond->cond, &attr);
    }

    pthread_condattr_destroy(&attr);

    return rc == 0;
}

mod_mcp_cond_t *mod_mcp_cond(apr_pool_t *p)
{
    mod_mcp_cond_t *cond = apr_palloc(p, sizeof(*cond));

    if (!cond_init(cond)) {
        return NULL;
    }

    apr_pool_cleanup_register(p, cond, cond_cleanup, apr_pool_cleanup_null);

    return cond;
}

void mod_mcp_signal(mod_mcp_cond_t *cond)
{
    pthread_cond_signal(&cond->cond);
}

void mod_mcp_broadcast(mod_mcp_cond_t *cond)
{
    pthread_cond_broadcast(&cond->cond);
}

void mod_mcp_worker_woken(void)
{
    woken = 1;
}

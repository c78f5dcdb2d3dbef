/* SPDX-License-Identifier: Apache-2.0 */

/* Starts and ends the module in a child process. */

#include "mod_mcp_child.h"

#include "mod_mcp_cluster.h"
#include "mod_mcp_config.h"
#include "mod_mcp_stream.h"
#include "mod_mcp_event.h"
#include "mod_mcp_fetch.h"
#include "mod_mcp_backend_threads.h"
#include "mod_mcp_snapshot.h"
#include "mod_mcp_event_loop.h"
#include "mod_mcp_worker.h"
#include "mod_mcp_zone.h"

#include <signal.h>
#include <unistd.h>

#include "ap_mpm.h"

mod_mcp_child_t mod_mcp_child;

/* handling of SIGTERM during a graceful stop */
static struct sigaction term_before;    /* the handler that on_term() has
                                           replaced */
static int term_taken;                  /* 1 while on_term() is installed */
static int termed;                      /* 1 after SIGTERM was received from
                                           another process */

apr_status_t mod_mcp_child_thread(apr_thread_t **thread,
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

/* --- SIGTERM during a graceful stop --- */

/* Handler of SIGTERM: sets a flag, wakes the event loop, and calls the MPM's
 * handler. */
static void on_term(int sig, siginfo_t *info, void *context)
{
    uint64_t one = 1;
    int before = errno;

    /* ignore a signal from this process itself, with which the MPM wakes its
     * threads */

    if (info->si_pid != getpid()) {
        __atomic_store_n(&termed, 1, __ATOMIC_RELEASE);

        if (write(mod_mcp_child.wakeup_fd, &one, sizeof(one)) == -1) {
            /* the counter of the eventfd is full, so a wake-up is pending */
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
 * Installs a handler of SIGTERM for a graceful stop of this process.  If the
 * parent begins an immediate stop or restart during the graceful stop, it sends
 * SIGTERM to children of all generations.  But a child of an MPM with threads
 * ignores its parent during its graceful stop.  Without this handler, running
 * calls would delay the stop until the parent kills the child.
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

void mod_mcp_child_woken(void)
{
    mod_mcp_child_t *child = &mod_mcp_child;
    uint64_t count;

    /* EAGAIN: no wake-up since the last read */

    if (read(child->wakeup_fd, &count, sizeof(count)) == -1 && errno != EAGAIN)
    {
        ap_log_error(APLOG_MARK, APLOG_ERR, APR_FROM_OS_ERROR(errno),
                     child->server,
                     "mod_mcp: read() from the eventfd that wakes this "
                     "process failed");
    }

    mod_mcp_worker_woken();

    /* SIGTERM during a graceful stop: httpd now stops or restarts immediately,
     * so end the calls and the connections */

    if (__atomic_load_n(&termed, __ATOMIC_ACQUIRE)
        && child->end == MOD_MCP_WINDING_UP) {
        __atomic_store_n(&child->end, MOD_MCP_ENDING, __ATOMIC_RELEASE);
        mcp_worker_stop(child->worker, 1);
        mod_mcp_backend_threads_interrupt();
    }
}

/* --- process exit --- */

/* Ends the backend threads, the event loop, the cluster object and the worker,
 * in this order. */
static apr_status_t child_exit(void *data)
{
    mod_mcp_child_t *child = &mod_mcp_child;

    if (!child->ready) {
        return APR_SUCCESS;
    }

    /* prefork ends a process in a signal handler: if the interrupted function
     * holds the lock of mod_mcp_lock(), end the process without clean-up */

    if (__atomic_load_n(&child->end, __ATOMIC_ACQUIRE) != MOD_MCP_WINDING_UP
        && !mod_mcp_can_lock()) {
        _exit(0);
    }

    mod_mcp_backend_threads_stop();
    unwatch_term();
    mod_mcp_event_loop_stop();
#ifdef MCP_CLUSTER
    mod_mcp_cluster_stop();
#endif
    mod_mcp_worker_exit();
    mod_mcp_pool_exit();

    /* prefork ends a process in a signal handler: if the interrupted function
     * waits for a condition, end the process now, because destroying the
     * condition would wait for that function */

    if (mod_mcp_is_waiting()) {
        _exit(0);
    }

#ifdef MCP_CLUSTER
    /* a thread that resolves a host name cannot be interrupted, and its code
     * is about to be unloaded: end the process now */

    if (mod_mcp_cluster_is_naming()) {
        _exit(0);
    }
#endif

    return APR_SUCCESS;
}

/*
 * Hook child_stopping: ends streams with "retry", so that clients resume them
 * at another process.  Calls continue if the stop is graceful, and are ended
 * otherwise.
 */
void mod_mcp_child_stopping(apr_pool_t *pchild, int graceful)
{
    if (!mod_mcp_child.ready) {
        return;
    }

    /* prefork runs this hook in a signal handler: if the interrupted function
     * holds the lock of mod_mcp_lock(), end the process without clean-up */

    if (!mod_mcp_child.threaded && !mod_mcp_can_lock()) {
        _exit(0);
    }

    mod_mcp_lock();
    __atomic_store_n(&mod_mcp_child.end,
                     graceful ? MOD_MCP_WINDING_UP : MOD_MCP_ENDING,
                     __ATOMIC_RELEASE);
    mcp_worker_stop(mod_mcp_child.worker, !graceful);

    if (graceful) {
        watch_term();
    }
    else {
        mod_mcp_backend_threads_interrupt();
    }

    mod_mcp_unlock();
}

/* --- process start --- */

static void query_mpm(mod_mcp_child_t *child)
{
    int value = 0;

    ap_mpm_query(AP_MPMQ_IS_THREADED, &value);
    child->threaded = (value != AP_MPMQ_NOT_SUPPORTED);

    value = 0;
    ap_mpm_query(AP_MPMQ_IS_ASYNC, &value);
    child->async = (value != 0);

    value = 1;
    ap_mpm_query(AP_MPMQ_MAX_THREADS, &value);
    child->threads = value > 0 ? value : 1;
}

void mod_mcp_child_init(apr_pool_t *pchild, server_rec *s)
{
    mod_mcp_child_t *child = &mod_mcp_child;
    apr_status_t rv;

    if (!mod_mcp_zone_exists()) {
        return;
    }

    memset(child, 0, sizeof(*child));

    child->server = s;
    child->pool = pchild;
    query_mpm(child);

    if (!mod_mcp_worker_init()) {
        return;
    }

    mod_mcp_backend_threads_init(pchild);
    mod_mcp_event_init();
    mod_mcp_filter_init();
    mod_mcp_stream_filter_init();

    rv = mod_mcp_fetch_init(pchild);

    if (rv == APR_SUCCESS) {
        rv = mod_mcp_event_loop_start(pchild);
    }

    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, s,
                     "mod_mcp: cannot initialize this process, so its "
                     "endpoints answer 503");
        return;
    }

    child->ready = 1;

    apr_pool_pre_cleanup_register(pchild, NULL, child_exit);

    /* adopt calls of the process that previously had this slot */

    mod_mcp_lock();
    mcp_worker_adopt(child->worker);
    mod_mcp_config_begin(child->worker, mod_mcp_zone_keys());
#ifdef MCP_CLUSTER
    mod_mcp_cluster_start(s);
#endif
    mod_mcp_unlock();
}

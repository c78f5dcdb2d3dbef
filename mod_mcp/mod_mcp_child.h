/* SPDX-License-Identifier: Apache-2.0 */

/* Starts and ends the module in a child process. */

#ifndef MOD_MCP_CHILD_H
#define MOD_MCP_CHILD_H

#include "mod_mcp.h"

#include "mcp_free_list.h"
#include "mcp_worker.h"
#include "mcp_zone.h"

/* How this process is stopping. */
typedef enum {
    MOD_MCP_SERVING = 0,
    MOD_MCP_WINDING_UP,                 /* graceful stop: calls continue */
    MOD_MCP_ENDING                      /* immediate stop */
} mod_mcp_end_e;

typedef struct {
    server_rec *server;                 /* main server */
    apr_pool_t *pool;                   /* pchild */
    mcp_env_t env;
    mcp_free_list_t free_list;          /* free list in front of malloc(),
                                           for env.mem */
    apr_uint64_t epoch;                 /* the zone's epoch, ms since 1970, see
                                           mcp_zone_epoch() */
    mcp_store_t *store;                 /* store and worker are used under
                                           mod_mcp_lock() */
    mcp_worker_t *worker;
    int wakeup_fd;                      /* eventfd by which other processes,
                                           and threads of this one, wake the
                                           event loop */
    int threads;                        /* ThreadsPerChild */
    int ready;                          /* 1 between attaching to the store and
                                           the end of the event loop */
    int threaded;                       /* 0 for the prefork MPM */
    int async;                          /* 1 if the MPM can suspend
                                           connections */
    mod_mcp_end_e end;                  /* written under mod_mcp_lock(); atomic,
                                           because child_exit() reads it
                                           without mod_mcp_lock() */
} mod_mcp_child_t;

extern mod_mcp_child_t mod_mcp_child;

void mod_mcp_child_init(apr_pool_t *pchild, server_rec *s);
void mod_mcp_child_stopping(apr_pool_t *pchild, int graceful);

/* Called by the event loop under mod_mcp_lock() after a wake-up of this
 * process: records the wake-up for the worker, and ends the calls and the
 * connections if SIGTERM has arrived during a graceful stop. */
void mod_mcp_child_woken(void);

/*
 * Creates a thread that blocks all signals.  Returns the status of
 * ap_thread_create().
 */
apr_status_t mod_mcp_child_thread(apr_thread_t **thread,
                                  apr_threadattr_t *attr,
                                  apr_thread_start_t main, apr_pool_t *p);

#endif /* MOD_MCP_CHILD_H */

/* SPDX-License-Identifier: Apache-2.0 */

/* A child process, from its start to its end. */

#ifndef MOD_MCP_CHILD_H
#define MOD_MCP_CHILD_H

#include "mod_mcp.h"

#include "mcp_spare.h"
#include "mcp_worker.h"
#include "mcp_zone.h"

/* Whether this process was told to end. */
typedef enum {
    MOD_MCP_SERVING = 0,
    MOD_MCP_WINDING_UP,                 /* gracefully: calls go on */
    MOD_MCP_ENDING                      /* at once */
} mod_mcp_end_e;

typedef struct {
    server_rec *server;                 /* the main one */
    apr_pool_t *pool;                   /* pchild */
    mcp_env_t env;
    mcp_spare_t spare;                  /* behind env.mem */
    apr_uint64_t epoch;                 /* ms, see mcp_zone_epoch() */
    mcp_store_t store;                  /* these two under the lock */
    mcp_worker_t *worker;
    int bell;                           /* eventfd: other processes, and our
                                           own threads, wake the pump with it */
    int threads;                        /* ThreadsPerChild */
    int ready;                          /* attached, and the pump runs */
    int threaded;                       /* not prefork */
    int async;                          /* connections can be suspended */
    mod_mcp_end_e end;                  /* under the lock; written atomically,
                                         * for one reader has no lock */
} mod_mcp_child_t;

extern mod_mcp_child_t mod_mcp_child;

void mod_mcp_child_init(apr_pool_t *pchild, server_rec *s);
void mod_mcp_child_stopping(apr_pool_t *pchild, int graceful);

/* For the pump, under the lock: somebody rang this process's bell. */
void mod_mcp_child_rang(void);

/* Creates a thread that gets no signals. */
apr_status_t mod_mcp_child_thread(apr_thread_t **thread,
                                  apr_threadattr_t *attr,
                                  apr_thread_start_t main, apr_pool_t *p);

#endif /* MOD_MCP_CHILD_H */

/* SPDX-License-Identifier: Apache-2.0 */

/* The threads that run backend requests. */

#ifndef MOD_MCP_BACKEND_THREADS_H
#define MOD_MCP_BACKEND_THREADS_H

#include "mod_mcp.h"

#include "mcp_backend_request.h"

/* The parts of an ended backend request that remain after
 * mod_mcp_backend_threads_clear(), and are released under mod_mcp_lock(). */
typedef struct {
    apr_pool_t *pool;                   /* pool that has been cleared; NULL if
                                           there is nothing to release */
    mod_mcp_snapshot_t *snapshot;
    mcp_call_t *call;
} mod_mcp_remains_t;

void mod_mcp_backend_threads_init(apr_pool_t *pchild);

/*
 * Carry out the actions PREPARE, INVOKE, ABORT and RESUME. client is the client
 * whose exchange made the call, or NULL.  Called under mod_mcp_lock().
 */
void mod_mcp_backend_threads_prepare(mcp_backend_request_t *breq,
    mod_mcp_client_t *client);
void mod_mcp_backend_threads_invoke(mcp_backend_request_t *breq,
    mod_mcp_client_t *client);
void mod_mcp_backend_threads_abort(mcp_backend_request_t *breq);
void mod_mcp_backend_threads_resume(mcp_backend_request_t *breq);

/*
 * Ends all backend requests immediately, with an error.  Called under
 * mod_mcp_lock().
 */
void mod_mcp_backend_threads_interrupt(void);

/*
 * Runs a backend request on the current thread, and reports to the core that
 * it has ended.  Called without mod_mcp_lock(); returns under mod_mcp_lock().
 */
void mod_mcp_backend_threads_run(mod_mcp_backend_request_t *req);

/*
 * Writes the access log line of a backend request, if req->logs is set, and
 * frees the backend request.  Called without mod_mcp_lock(); returns under
 * mod_mcp_lock().
 */
void mod_mcp_backend_threads_free(mod_mcp_backend_request_t *req);

/*
 * Do the work of mod_mcp_backend_threads_free() in two steps, so that a caller
 * that needs mod_mcp_lock() later has to call it only once.  _clear() is called
 * without mod_mcp_lock(), _release() later under mod_mcp_lock().  _release()
 * does nothing if remains->pool is NULL.
 */
void mod_mcp_backend_threads_clear(mod_mcp_backend_request_t *req,
    mod_mcp_remains_t *remains);
void mod_mcp_backend_threads_release(mod_mcp_remains_t *remains);

/*
 * Ends the threads that run backend requests.  During a graceful stop of the
 * process, waits until all calls have ended.  During an immediate stop, waits
 * for one second at most, and ends the process if threads remain.
 */
void mod_mcp_backend_threads_stop(void);

#endif /* MOD_MCP_BACKEND_THREADS_H */

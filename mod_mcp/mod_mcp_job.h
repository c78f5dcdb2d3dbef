/* SPDX-License-Identifier: Apache-2.0 */

/* The threads that run backend calls. */

#ifndef MOD_MCP_JOB_H
#define MOD_MCP_JOB_H

#include "mod_mcp.h"

#include "mcp_job.h"

/* What a run leaves behind that is freed under the lock. */
typedef struct {
    apr_pool_t *pool;                   /* NULL: nothing */
    mod_mcp_snapshot_t *snapshot;
    mcp_call_t *call;
} mod_mcp_remains_t;

void mod_mcp_job_init(apr_pool_t *pchild);

/* Under the lock: the core's actions. */
void mod_mcp_job_invoke(mcp_job_t *job, mod_mcp_client_t *client);
void mod_mcp_job_abort(mcp_job_t *job);
void mod_mcp_job_resume(mcp_job_t *job);

/* Under the lock: ends all calls at once, with an error. */
void mod_mcp_job_interrupt(void);

/* Runs a backend call and reports its end to the core.  Returns under the
 * lock. */
void mod_mcp_job_run(mod_mcp_run_t *run);

/* Logs the call, if that is wanted, and frees the run.  Likewise. */
void mod_mcp_job_free(mod_mcp_run_t *run);

/* The same in two steps, where the lock is taken later anyway: without the
 * lock; and under the lock what remains, if anything does. */
void mod_mcp_job_clear(mod_mcp_run_t *run, mod_mcp_remains_t *remains);
void mod_mcp_job_release(mod_mcp_remains_t *remains);

/* Ends the job threads.  Waits for their calls while this process winds up, and
 * for a moment if it is to end at once. */
void mod_mcp_job_stop(void);

#endif /* MOD_MCP_JOB_H */

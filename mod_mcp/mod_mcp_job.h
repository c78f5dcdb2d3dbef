/* SPDX-License-Identifier: Apache-2.0 */

/* The threads that run backend calls. */

#ifndef MOD_MCP_JOB_H
#define MOD_MCP_JOB_H

#include "mod_mcp.h"

#include "mcp_job.h"

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

/* Ends the job threads.  Waits for their calls while this process winds up, and
 * for a moment if it is to end at once. */
void mod_mcp_job_stop(void);

#endif /* MOD_MCP_JOB_H */

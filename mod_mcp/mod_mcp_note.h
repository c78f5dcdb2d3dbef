/* SPDX-License-Identifier: Apache-2.0 */

/* The core's facts by name: notes and environment. */

#ifndef MOD_MCP_NOTE_H
#define MOD_MCP_NOTE_H

#include "mod_mcp.h"

#include "mcp_job.h"

/* Under the lock: sets the notes mcp-... of a client's request. */
void mod_mcp_note(mod_mcp_client_t *client);

/* post_perdir_config: sets those that are known before the body is read. */
int mod_mcp_note_early(request_rec *r);

/* log_transaction: sets them for the last time. */
int mod_mcp_note_log(request_rec *r);

/* Under the lock: sets those of a backend's own request, when its job has
 * ended; with the arguments of the call, if they are wanted. */
void mod_mcp_note_job(request_rec *r, const mcp_job_t *job, int arguments);

/* Adds the variables MCP_... of a backend call to those of others. */
void mod_mcp_note_env(apr_table_t *env, const mcp_facts_t *facts);

void mod_mcp_note_register(void);

#endif /* MOD_MCP_NOTE_H */

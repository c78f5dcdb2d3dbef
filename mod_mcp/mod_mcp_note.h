/* SPDX-License-Identifier: Apache-2.0 */

/* The core's variables as notes of requests and as environment variables. */

#ifndef MOD_MCP_NOTE_H
#define MOD_MCP_NOTE_H

#include "mod_mcp.h"

#include "mcp_backend_request.h"

/* Sets the notes mcp-... of a client's request.  Called under
 * mod_mcp_lock(). */
void mod_mcp_note(mod_mcp_client_t *client);

/*
 * Hook post_perdir_config: sets the notes for early headers, because
 * expressions may use these notes before the body is read.
 */
int mod_mcp_note_early(request_rec *r);

/* Hook log_transaction: sets the notes to their final values. */
int mod_mcp_note_log(request_rec *r);

/*
 * Sets the notes of a backend's internal request after the backend request has
 * ended.  Sets the note for the arguments of the call only if "arguments" is 1.
 * Called under mod_mcp_lock().
 */
void mod_mcp_note_backend_request(request_rec *r,
                                  const mcp_backend_request_t *breq,
                                  int arguments);

/* Adds the variables MCP_... of a backend request to an environment. */
void mod_mcp_note_env(apr_table_t *env, const mcp_variables_t *variables);

void mod_mcp_note_register(void);

#endif /* MOD_MCP_NOTE_H */

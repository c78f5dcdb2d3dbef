/* SPDX-License-Identifier: Apache-2.0 */

/* The environment of a backend's own request, while the server adds its
 * variables. */

#ifndef MOD_MCP_ENV_H
#define MOD_MCP_ENV_H

#include "mod_mcp.h"

/* Makes the environment of a run's request. */
void mod_mcp_env_make(mod_mcp_run_t *run, request_rec *r);

/* 1 if the hook will be called while the handler for the URL makes variables,
 * when it has its connection. */
int mod_mcp_env_is_told(const char *url);

/* Puts the variables of a request aside, if that makes no difference but to
 * the time that it takes.  told: the hook is to put them back. */
void mod_mcp_env_hide(mod_mcp_run_t *run, request_rec *r, int told);

/* Puts them back, unless that is done. */
void mod_mcp_env_show(mod_mcp_run_t *run);

void mod_mcp_env_register(void);

/* In a child, when hooks are sorted. */
void mod_mcp_env_init(void);

#endif /* MOD_MCP_ENV_H */

/* SPDX-License-Identifier: Apache-2.0 */

/* Ending a call whose backend is silent. */

#ifndef MOD_MCP_PROXY_H
#define MOD_MCP_PROXY_H

#include "mod_mcp.h"

/* pre_config: finds mod_proxy. */
void mod_mcp_proxy_init(void);

/* When hooks are sorted: 1 if none but modules that belong to mod_proxy is
 * asked before this one to handle a scheme. */
int mod_mcp_proxy_leads_to(const char *module);

/* Warns if mod_proxy belongs to another release than this module. */
void mod_mcp_proxy_check(server_rec *s);

/* For the run's thread, while a FastCGI handler makes its variables: if it has
 * replaced its connection to the backend, ABORT shall find the new one. */
void mod_mcp_proxy_renew(mod_mcp_run_t *run);

/* Under the lock: ends the run's connection to its backend. */
void mod_mcp_proxy_abort(mod_mcp_run_t *run);

#endif /* MOD_MCP_PROXY_H */

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The environment of a backend's internal request, while the server adds its
 * variables.
 */

#ifndef MOD_MCP_ENV_H
#define MOD_MCP_ENV_H

#include "mod_mcp.h"

/* Sets the environment of the internal request r. */
void mod_mcp_env_make(mod_mcp_backend_request_t *req, request_rec *r);

/*
 * Returns 1 if the handler for a backend's URL will call this module's hook
 * http_scheme after it has got its connection to the backend, while it makes
 * the environment.
 */
int mod_mcp_env_is_revealed(const char *url);

/*
 * Hides the variables in the environment of r from ap_add_common_vars(), which
 * would merge them with its own slowly.  Does nothing if hiding could change
 * more than the order of the variables.  Otherwise this module's hook
 * http_scheme, which ap_add_common_vars() calls, appends them again; the
 * caller calls mod_mcp_env_show() after the handler, in case it did not.
 */
void mod_mcp_env_hide(mod_mcp_backend_request_t *req, request_rec *r);

/*
 * Appends the hidden variables to the environment.  Does nothing if none are
 * hidden.
 */
void mod_mcp_env_show(mod_mcp_backend_request_t *req);

void mod_mcp_env_register(void);

/* Initializes the functions of this header in a child, after hooks have been
 * sorted. */
void mod_mcp_env_init(void);

#endif /* MOD_MCP_ENV_H */

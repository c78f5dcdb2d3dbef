/* SPDX-License-Identifier: Apache-2.0 */

/* A client's request: passes its head and body to the core. */

#ifndef MOD_MCP_HANDLER_H
#define MOD_MCP_HANDLER_H

#include "mod_mcp.h"

int mod_mcp_handler(request_rec *r);

#endif /* MOD_MCP_HANDLER_H */

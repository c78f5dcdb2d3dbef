/* SPDX-License-Identifier: Apache-2.0 */

/* The status page, and a line for mod_status. */

#ifndef MOD_MCP_STATUS_H
#define MOD_MCP_STATUS_H

#include "mod_mcp.h"

int mod_mcp_status_handler(request_rec *r);
int mod_mcp_status_line(request_rec *r, int flags);

#endif /* MOD_MCP_STATUS_H */

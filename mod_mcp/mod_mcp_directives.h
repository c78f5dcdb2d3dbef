/* SPDX-License-Identifier: Apache-2.0 */

/* The table of directives. */

#ifndef MOD_MCP_DIRECTIVES_H
#define MOD_MCP_DIRECTIVES_H

#include "mod_mcp.h"

extern const command_rec mod_mcp_directives[];

#endif /* MOD_MCP_DIRECTIVES_H */

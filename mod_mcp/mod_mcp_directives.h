/* SPDX-License-Identifier: Apache-2.0 */

/* The table of directives. */

#ifndef MOD_MCP_DIRECTIVES_H
#define MOD_MCP_DIRECTIVES_H

#include "mod_mcp.h"

extern const command_rec mod_mcp_directives[];

/* For other files: the error of a directive, or NULL.  The core's errors are
 * sentences of their own; MCP_SETUP_DUPLICATE follows the name. */
const char *mod_mcp_directive_result(cmd_parms *cmd, int rc,
                                     const char *error);

/* Makes *name absolute; an error if it is not the name of a regular file. */
const char *mod_mcp_directive_find(cmd_parms *cmd, const char **name);

/* Makes *name absolute and reads the file, whose text may be a secret, and is
 * to be disposed of. */
const char *mod_mcp_directive_read(cmd_parms *cmd, const char **name,
                                   apr_off_t max, mcp_str_t *text);
void mod_mcp_directive_dispose(mcp_str_t *text);

#endif /* MOD_MCP_DIRECTIVES_H */

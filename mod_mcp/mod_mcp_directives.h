/* SPDX-License-Identifier: Apache-2.0 */

/* The table of directives. */

#ifndef MOD_MCP_DIRECTIVES_H
#define MOD_MCP_DIRECTIVES_H

#include "mod_mcp.h"

extern const command_rec mod_mcp_directives[];

/*
 * Converts the result rc of an mcp_setup_*() function, and its text "error",
 * to the return value of a directive: an error message, or NULL for MCP_OK.
 * The message begins with the directive's name.  The texts are complete
 * sentences, except MCP_SETUP_DUPLICATE, which continues after the name.
 */
const char *mod_mcp_directive_result(cmd_parms *cmd, int rc,
                                     const char *error);

/*
 * Makes *name absolute.  Returns an error message if it does not name a
 * regular file, else NULL.
 */
const char *mod_mcp_directive_find(cmd_parms *cmd, const char **name);

/*
 * Makes *name absolute and reads the file, of at most max bytes.  Returns an
 * error message or NULL.  The text may be a secret: the caller passes it to
 * mod_mcp_directive_dispose().
 */
const char *mod_mcp_directive_read(cmd_parms *cmd, const char **name,
                                   apr_off_t max, mcp_str_t *text);
void mod_mcp_directive_dispose(mcp_str_t *text);

#endif /* MOD_MCP_DIRECTIVES_H */

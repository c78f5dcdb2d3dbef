/* SPDX-License-Identifier: Apache-2.0 */

/* The head of a CGI program's answer. */

#ifndef MOD_MCP_CGI_H
#define MOD_MCP_CGI_H

#include "mod_mcp.h"

/* Takes the head, which is complete, off the text, and does with the request
 * what it says.  Returns OK, or the status for a head that is wrong, of which
 * the log tells in the name of the module. */
int mod_mcp_cgi_head(request_rec *r, mcp_str_t *text, int module_index);

#endif /* MOD_MCP_CGI_H */

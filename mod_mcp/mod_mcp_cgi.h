/* SPDX-License-Identifier: Apache-2.0 */

/* The head of a CGI or FastCGI program's response. */

#ifndef MOD_MCP_CGI_H
#define MOD_MCP_CGI_H

#include "mod_mcp.h"

/*
 * Parses a complete head at the beginning of *text, removes it from *text, and
 * sets status, content type and headers of the request.  Returns OK, or an
 * HTTP status if the head is invalid.  Errors are logged for the module whose
 * index is "module_index".
 */
int mod_mcp_cgi_head(request_rec *r, mcp_str_t *text, int module_index);

#endif /* MOD_MCP_CGI_H */

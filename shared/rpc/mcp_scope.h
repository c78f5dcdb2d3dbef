/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Lists of OAuth scopes, as in tokens and challenges: separated by spaces (RFC
 * 6749, 3.3).
 */


#ifndef MCP_SCOPE_H_INCLUDED
#define MCP_SCOPE_H_INCLUDED


#include "base/mcp_buf.h"


/* Return 1 if a list contains a scope, or all scopes of another list. */
int mcp_scope_has(mcp_str_t list, mcp_str_t scope);
int mcp_scope_has_all(mcp_str_t list, mcp_str_t scopes);

/* Appends the scopes that the list in the buffer does not contain. */
void mcp_scope_add(mcp_buf_t *list, mcp_str_t scopes);


#endif /* MCP_SCOPE_H_INCLUDED */

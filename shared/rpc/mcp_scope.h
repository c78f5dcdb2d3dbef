/* SPDX-License-Identifier: Apache-2.0 */

/* Lists of OAuth scopes, as they stand in tokens and challenges: with spaces
 * between them (RFC 6749, 3.3). */


#ifndef MCP_SCOPE_H_INCLUDED
#define MCP_SCOPE_H_INCLUDED


#include "base/mcp_buf.h"


/* Takes the first scope off a list: 1, and *scope is it; or 0 at the end. */
int mcp_scope_next(mcp_str_t *list, mcp_str_t *scope);

/* Return 1 if a list has a scope, or all scopes of another list. */
int mcp_scope_has(mcp_str_t list, mcp_str_t scope);
int mcp_scope_has_all(mcp_str_t list, mcp_str_t scopes);

/* Appends those scopes to a list that it does not have. */
void mcp_scope_add(mcp_buf_t *list, mcp_str_t scopes);


#endif /* MCP_SCOPE_H_INCLUDED */

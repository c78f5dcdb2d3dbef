/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Access of the caller to single items. An item that mcp_allow hides is unknown
 * to the caller, and the attempt is logged. An item for which the caller only
 * lacks a scope is visible, and the error names the scope. The server evaluates
 * each rule at most once for a request.
 */


#ifndef MCP_PERMISSION_H_INCLUDED
#define MCP_PERMISSION_H_INCLUDED


#include "exchange/mcp_exchange_internal.h"


typedef enum {
    MCP_PERMISSION_UNKNOWN = 0,        /* the catalog does not have the item, or
                                          it is hidden */
    MCP_PERMISSION_SCOPE,              /* the caller lacks a scope */
    MCP_PERMISSION_CALL
} mcp_permission_e;


/* Returns whether the caller may call a tool, get a prompt, read a resource, or
 * complete a template. "name" is the name of a tool or prompt, the URI of a
 * resource, which may match a template, or the text of a template. If the
 * caller lacks scopes, sets *scope to all scopes that the item requires. */
mcp_permission_e mcp_permission(mcp_exchange_t *x, mcp_list_e kind,
    mcp_str_t name, mcp_str_t *scope);

/* Returns 1 if the item is visible to the caller. */
int mcp_permission_shows(mcp_exchange_t *x, mcp_list_e kind, mcp_str_t name);

/* Evaluates all rules for a kind of item in advance, so that the decisions are
 * available when the backend's list of items arrives: see
 * mcp_call_list_filter(). */
void mcp_permission_decide(mcp_exchange_t *x, mcp_list_e kind);

/* Rejects a request whose caller lacks a scope. Returns the values of
 * mcp_exchange_body(). */
mcp_next_e mcp_permission_refuse(mcp_exchange_t *x, mcp_str_t scope);


#endif /* MCP_PERMISSION_H_INCLUDED */

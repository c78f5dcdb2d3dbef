/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the caller may see and call.  What mcp_allow hides is unknown to it, and
 * is logged; what only lacks a scope it sees, and is told what it needs.  The
 * values of rules are evaluated by the server, each at most once for a request.
 */


#ifndef MCP_PERMISSION_H_INCLUDED
#define MCP_PERMISSION_H_INCLUDED


#include "exchange/mcp_exchange_parts.h"


typedef enum {
    MCP_PERMISSION_UNKNOWN = 0,        /* the catalog does not have it, or hides
                                          it */
    MCP_PERMISSION_SCOPE,              /* a scope lacks */
    MCP_PERMISSION_CALL
} mcp_permission_e;


/* Says whether the caller may call a tool, a prompt, a resource (by its URI,
 * which a template may match), or may complete a template (by its text).
 * *scope is what it needs in all, where it lacks some of that. */
mcp_permission_e mcp_permission(mcp_exchange_t *x, mcp_list_e kind,
    mcp_str_t name, mcp_str_t *scope);

/* Returns 1 if the caller may see it. */
int mcp_permission_shows(mcp_exchange_t *x, mcp_list_e kind, mcp_str_t name);

/* Evaluates all rules about a kind, so that they are known when the backend's
 * list is there: mcp_call_list_filter(). */
void mcp_permission_decide(mcp_exchange_t *x, mcp_list_e kind);

/* Answers a request whose caller lacks a scope.  Returns what
 * mcp_exchange_body() does. */
int mcp_permission_refuse(mcp_exchange_t *x, mcp_str_t scope);


#endif /* MCP_PERMISSION_H_INCLUDED */

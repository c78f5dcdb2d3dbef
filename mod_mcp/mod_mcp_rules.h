/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Results of the expressions of MCPAllow and MCPGrantedScopes for a request.
 * An expression may be slow, so all expressions are evaluated before
 * mod_mcp_lock() is called.  The core then gets the stored results.
 */

#ifndef MOD_MCP_RULES_H
#define MOD_MCP_RULES_H

#include "mod_mcp_client.h"

#include "ap_expr.h"

#include "mcp_endpoint.h"

/* Evaluates all expressions of the endpoint. Called without mod_mcp_lock(). */
void mod_mcp_rules_evaluate(mod_mcp_client_t *client,
                            const mcp_endpoint_t *endpoint);

/*
 * Callback mcp_head_t.evaluate: sets *text to the stored result of expression
 * i, empty if the rule does not match or the expression failed.  Returns
 * MCP_OK, or MCP_ERR_NOT_FOUND if no results are stored. glue is the client.
 */
int mod_mcp_rules_value(void *glue, size_t i, const void *value,
                        mcp_str_t *text);

/*
 * Returns the value of an expression, or NULL if the expression is NULL or
 * fails.  A failure is logged with the name of the directive.
 */
const char *mod_mcp_rules_string(request_rec *r,
                                 const ap_expr_info_t *expression,
                                 const char *directive);

#endif /* MOD_MCP_RULES_H */

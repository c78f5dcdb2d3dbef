/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Values of MCPAllow and MCPGrantedScopes for a request.  An expression may
 * take its time, so all are evaluated before the core asks under the lock.
 */

#ifndef MOD_MCP_RULES_H
#define MOD_MCP_RULES_H

#include "mod_mcp_client.h"

#include "ap_expr.h"

#include "mcp_endpoint.h"

/* Evaluates what the endpoint has; without the lock. */
void mod_mcp_rules_evaluate(mod_mcp_client_t *client,
                            const mcp_endpoint_t *endpoint);

/* mcp_head_t.evaluate */
int mod_mcp_rules_value(void *glue, size_t i, const void *value,
                        mcp_str_t *text);

/* The value of an expression, NULL if it is NULL or fails, which is logged for
 * the directive. */
const char *mod_mcp_rules_string(request_rec *r,
                                 const ap_expr_info_t *expression,
                                 const char *directive);

#endif /* MOD_MCP_RULES_H */

/* SPDX-License-Identifier: Apache-2.0 */

/* Evaluates the expressions that determine the caller of a request and the
 * caller's permissions. */

#include "mod_mcp_rules.h"

const char *mod_mcp_rules_string(request_rec *r,
                                 const ap_expr_info_t *expression,
                                 const char *directive)
{
    const char *error = NULL, *value;

    if (expression == NULL) {
        return NULL;
    }

    value = ap_expr_str_exec(r, expression, &error);

    if (error) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "%s: %s", directive, error);
        return NULL;
    }

    return value;
}

static const char *evaluate_rule(request_rec *r,
                                 const ap_expr_info_t *expression)
{
    const char *error = NULL;
    int rc = ap_expr_exec(r, expression, &error);

    if (error) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, "MCPAllow: %s", error);
        return NULL;
    }

    return rc > 0 ? "1" : NULL;
}

void mod_mcp_rules_evaluate(mod_mcp_client_t *client,
                            const mcp_endpoint_t *endpoint)
{
    request_rec *r = client->r;
    size_t i, n = endpoint->n_allow;

    if (n == 0 && endpoint->granted_scopes == NULL) {
        return;
    }

    client->values = apr_pcalloc(r->pool, (n + 1) * sizeof(char *));

    for (i = 0; i < n; i++) {
        client->values[i] = evaluate_rule(r, endpoint->allow[i].value);
    }

    client->values[n] = mod_mcp_rules_string(r, endpoint->granted_scopes,
                                             "MCPGrantedScopes");
}

int mod_mcp_rules_value(void *glue, size_t i, const void *value,
                        mcp_str_t *text)
{
    const mod_mcp_client_t *client = glue;

    if (client->values == NULL) {
        return MCP_ERR_NOT_FOUND;
    }

    *text = mod_mcp_str(client->values[i]);
    return MCP_OK;
}

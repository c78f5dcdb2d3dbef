/* SPDX-License-Identifier: Apache-2.0 */

/* An endpoint: its configuration, constant while the server runs.
 * mcp_setup_endpoint() creates it. */


#ifndef MCP_ENDPOINT_H_INCLUDED
#define MCP_ENDPOINT_H_INCLUDED


#include "mcp.h"


MCP_DECLARATIONS_BEGIN


typedef struct mcp_auth_s      mcp_auth_t;
typedef struct mcp_endpoint_s  mcp_endpoint_t;


/* Returns the authorization settings for clients, NULL if the endpoint is not
 * an OAuth resource. */
const mcp_auth_t *mcp_endpoint_auth(const mcp_endpoint_t *endpoint);

/* Returns 1 if error responses that do not come from an exchange may need
 * headers of mcp_exchange_cors_headers() or of mcp_auth_challenge(). */
int mcp_endpoint_has_error_headers(const mcp_endpoint_t *endpoint);

/* mcp_endpoint_rules() returns the number of access rules.
 * mcp_endpoint_expression() returns the expression that mcp_head_t.evaluate()
 * gets with i: the expression of rule i, or, if i is the number of rules, the
 * one for the scopes of the caller, which may be NULL. */
size_t mcp_endpoint_rules(const mcp_endpoint_t *endpoint);
const void *mcp_endpoint_expression(const mcp_endpoint_t *endpoint, size_t i);


MCP_DECLARATIONS_END


#endif /* MCP_ENDPOINT_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* The headers of a backend request: those of the client's request that are
 * forwarded, and those that are always sent. */


#ifndef MCP_FORWARD_H_INCLUDED
#define MCP_FORWARD_H_INCLUDED


#include "mcp_endpoint.h"
#include "mcp_http.h"


MCP_DECLARATIONS_BEGIN


/*
 * Returns 1 if the client's header of this name, in any case, must not be
 * forwarded. These headers are not forwarded:
 *
 * - headers about the client's connection and body;
 *
 * - headers that every backend request has;
 *
 * - the session's token, which tools must not see;
 *
 * - the names of a backend's parameters (mcp_variable_env), such as
 *   Mcp-Principal for MCP_PRINCIPAL, and every Mcp_* that a server or program
 *   would convert to the same variable;
 *
 * - Proxy, which CGI converts to HTTP_PROXY, a setting of many HTTP clients;
 *
 * - the client's credentials (Authorization, Proxy-Authorization, Cookie, and
 *   the tokens OIDC_*_token and OAUTH2_*_token from modules of Apache), unless
 *   the endpoint passes them: a token for this server is not meant for the
 *   servers behind it (2025-11-25, basic/security_best_practices, Token
 *   Passthrough).
 */
int mcp_forward_skips(const mcp_endpoint_t *endpoint, mcp_str_t name);

/* Returns 1 if the name is that of an environment variable with credentials
 * that must not be forwarded, such as "HTTP_COOKIE" or "OIDC_access_token",
 * also after "REDIRECT_". */
int mcp_forward_skips_variable(const mcp_endpoint_t *endpoint, mcp_str_t name);

/* Content-Type and Accept, which backend requests have in front of the
 * forwarded headers. */
extern const mcp_header_t  mcp_forward_headers[];
extern const size_t        mcp_forward_n_headers;


MCP_DECLARATIONS_END


#endif /* MCP_FORWARD_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The head of a backend call: what of the client's request goes into it, and
 * what is the same for all.
 */


#ifndef MCP_FORWARD_H_INCLUDED
#define MCP_FORWARD_H_INCLUDED


#include "mcp_endpoint.h"
#include "mcp_http.h"


/*
 * 1 if a header of the client, in any case, must not be passed on: of its
 * connection and representation, those replaced by our own, the session's
 * token, which tools must not see, and, unless the endpoint says so, what the
 * client proves with who it is (Authorization, Cookie): a token that was meant
 * for this server is none for what stands behind it (2025-11-25,
 * basic/security_best_practices, Token Passthrough).
 */
int mcp_forward_skips(const mcp_endpoint_t *endpoint, mcp_str_t name);

/* The same of what a server has made of a header for programs, as
 * "HTTP_COOKIE", also with "REDIRECT_" before it; 0 for all other names. */
int mcp_forward_skips_variable(const mcp_endpoint_t *endpoint, mcp_str_t name);

/* Content-Type and Accept: they go first, before what was passed on. */
extern const mcp_header_t  mcp_forward_headers[];
extern const size_t        mcp_forward_n_headers;


#endif /* MCP_FORWARD_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* The Protected Resource Metadata of an endpoint (RFC 9728), and the challenge
 * that the core itself sends. */


#ifndef MCP_AUTH_INTERNAL_H_INCLUDED
#define MCP_AUTH_INTERNAL_H_INCLUDED


#include "mcp_auth.h"


struct mcp_auth_s {
    mcp_str_t  path;           /* URL path of the metadata document */
    mcp_str_t  url;            /* URL of the metadata document */
    mcp_str_t  scope;          /* scopes, separated by spaces; empty: unknown */
    mcp_str_t  document;       /* the metadata document, JSON */
    mcp_str_t  etag;           /* value of the ETag header, with its quotation
                                  marks */
};


/* Appends the challenge for a request whose token lacks scopes (RFC 6750, 3.1;
 * 2026-07-28, basic/authorization, "Runtime Insufficient Scope Errors"). scope
 * lists all required scopes, separated by spaces. auth may be NULL. */
void mcp_auth_insufficient(const mcp_auth_t *auth, mcp_str_t scope,
    mcp_buf_t *buf);


#endif /* MCP_AUTH_INTERNAL_H_INCLUDED */

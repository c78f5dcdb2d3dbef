/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An endpoint as an OAuth resource server (2026-07-28, basic/authorization):
 * which authorization servers it trusts, as a document that clients find
 * (RFC 9728), and the challenges that lead them there.  Nobody here checks a
 * token: modules of the server do.
 */


#ifndef MCP_AUTH_H_INCLUDED
#define MCP_AUTH_H_INCLUDED


#include "mcp.h"
#include "base/mcp_buf.h"


/* Below this every document stands; and one that is the server's only one. */
#define MCP_AUTH_WELL_KNOWN  "/.well-known/oauth-protected-resource"


/* Constant once the server runs. */
typedef struct {
    mcp_str_t  resource;       /* its canonical URI */
    mcp_str_t  path;           /* of the document */
    mcp_str_t  url;
    mcp_str_t  scope;          /* separated by spaces; empty: not known */
    mcp_str_t  document;       /* JSON */
    mcp_str_t  etag;           /* quoted */
} mcp_auth_t;


/*
 * Returns the document that a target of a request line asks for, of the n that
 * a server has, or NULL: that of its path (RFC 9728, 3.1), or the only one if
 * it asks for that of the whole server (2026-07-28,
 * basic/authorization/authorization-server-discovery, "Protected Resource
 * Metadata Discovery Requirements").
 */
const mcp_auth_t *mcp_auth_find(const mcp_auth_t *const *auths, size_t n,
    mcp_str_t target);

/*
 * Checks whether a document has room among the n of its server.
 *
 * Returns MCP_OK, or
 *   MCP_DONE        it is there already
 *   MCP_ERR_EXISTS  another stands at its path
 */
int mcp_auth_check(const mcp_auth_t *const *auths, size_t n,
    const mcp_auth_t *auth);

/*
 * Completes the challenges of a 401 or 403, n values of WWW-Authenticate: one
 * of Bearer that a module has written gets what it lacks of resource_metadata
 * (RFC 9728, 5.1) and scope (RFC 6750, 3), and keeps the rest.  If there is
 * none, there will be one, beside the others.  To a request with a Bearer token
 * a 403 says insufficient_scope (RFC 6750, 3.1), where scopes are known.
 * authorization: that header of the request, or empty.
 *
 * Returns MCP_OK: buf, in which the value is written, replaces value *which, or
 * is a new one if that is n; or
 *   MCP_DONE         nothing lacks
 *   MCP_ERR_MEMORY
 */
int mcp_auth_challenge(const mcp_auth_t *auth, int status,
    mcp_str_t authorization, const mcp_str_t *values, size_t n, size_t *which,
    mcp_buf_t *buf);

/* Appends the challenge of a request whose token lacks scopes (RFC 6750, 3.1;
 * 2026-07-28, basic/authorization, "Runtime Insufficient Scope Errors"): it
 * needs all of scope, separated by spaces.  auth may be NULL. */
void mcp_auth_insufficient(const mcp_auth_t *auth, mcp_str_t scope,
    mcp_buf_t *buf);


#endif /* MCP_AUTH_H_INCLUDED */

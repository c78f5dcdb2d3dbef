/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An endpoint as an OAuth resource server (2026-07-28, basic/authorization):
 * the document that names the resource's authorization servers (RFC 9728), and
 * the challenges that direct clients to the document. Access tokens are
 * checked by other modules of the server.
 */


#ifndef MCP_AUTH_H_INCLUDED
#define MCP_AUTH_H_INCLUDED


#include "mcp_buf.h"


MCP_DECLARATIONS_BEGIN


/* URL path of the metadata document of a whole server. The documents of single
 * resources have URLs below this path. */
#define MCP_AUTH_WELL_KNOWN  "/.well-known/oauth-protected-resource"


/* The metadata of one OAuth resource. Constant after the configuration has been
 * read. */
typedef struct mcp_auth_s  mcp_auth_t;


/*
 * Returns the document that the target of a request line names, or NULL. auths
 * are the n documents of the server. A target below MCP_AUTH_WELL_KNOWN names
 * the document with that path (RFC 9728, 3.1); the target MCP_AUTH_WELL_KNOWN
 * itself names the only document if there is one (2026-07-28,
 * basic/authorization/authorization-server-discovery, "Protected Resource
 * Metadata Discovery Requirements").
 */
const mcp_auth_t *mcp_auth_find(const mcp_auth_t *const *auths, size_t n,
    mcp_str_t target);

/*
 * Checks whether a document can be added to the n documents of its server.
 *
 * Returns MCP_OK, or
 *   MCP_DONE        the server already has the same document
 *   MCP_ERR_EXISTS  another document has the same path
 */
int mcp_auth_check(const mcp_auth_t *const *auths, size_t n,
    const mcp_auth_t *auth);

/*
 * Completes the challenges of a 401 or 403 response; values are its n
 * WWW-Authenticate headers. A Bearer challenge of another module gets
 * resource_metadata (RFC 9728, 5.1) and scope (RFC 6750, 3) if they are
 * missing, and keeps its other parameters. If there is no Bearer challenge, one
 * is added. For a request with a Bearer token, a 403 gets the error
 * insufficient_scope (RFC 6750, 3.1) if scopes are known. authorization is the
 * Authorization header of the request, or empty.
 *
 * Returns MCP_OK if the response has to be changed: the text in buf replaces
 * values[*which] or, if *which is n, is the value of an additional
 * WWW-Authenticate header. Otherwise returns
 *   MCP_DONE        nothing is missing
 *   MCP_ERR_MEMORY
 */
int mcp_auth_challenge(const mcp_auth_t *auth, int status,
    mcp_str_t authorization, const mcp_str_t *values, size_t n, size_t *which,
    mcp_buf_t *buf);


MCP_DECLARATIONS_END


#endif /* MCP_AUTH_H_INCLUDED */

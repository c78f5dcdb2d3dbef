/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Headers for error responses at an endpoint that do not come from the core:
 * from access rules, limits, or httpd itself.
 */

#ifndef MOD_MCP_ERROR_HEADERS_H
#define MOD_MCP_ERROR_HEADERS_H

#include "mod_mcp.h"

/*
 * Hook post_perdir_config: answers CORS preflights, before access is checked.
 */
int mod_mcp_error_headers_preflight(request_rec *r);

/*
 * Hook insert_error_filter: adds CORS headers and authentication challenges to
 * an error response.
 */
void mod_mcp_error_headers_error(request_rec *r);

/*
 * Hook insert_filter: adds CORS headers and authentication challenges to an
 * ErrorDocument, which is a separate request.
 */
void mod_mcp_error_headers_document(request_rec *r);

#endif /* MOD_MCP_ERROR_HEADERS_H */

/* SPDX-License-Identifier: Apache-2.0 */

/* What others answer at an endpoint: access rules, limits, httpd itself. */

#ifndef MOD_MCP_GUARD_H
#define MOD_MCP_GUARD_H

#include "mod_mcp.h"

/* post_perdir_config: answers preflights, before anybody checks access. */
int mod_mcp_guard_preflight(request_rec *r);

/* insert_error_filter: adds to an error what pages and clients need to know. */
void mod_mcp_guard_error(request_rec *r);

/* insert_filter: the same for an ErrorDocument, which is a request of its
 * own. */
void mod_mcp_guard_document(request_rec *r);

#endif /* MOD_MCP_GUARD_H */

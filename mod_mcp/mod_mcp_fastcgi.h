/* SPDX-License-Identifier: Apache-2.0 */

/* Requests to FastCGI backends, made by this module instead of
 * mod_proxy_fcgi. */

#ifndef MOD_MCP_FASTCGI_H
#define MOD_MCP_FASTCGI_H

#include "mod_mcp.h"

#include "mod_proxy.h"

/* Called in a child, after hooks have been sorted: determines whether
 * mod_proxy_fcgi is loaded, and whether mod_mcp_fastcgi() may replace it. */
void mod_mcp_fastcgi_init(void);

/* Returns 1 if mod_mcp_fastcgi() can make the request r to the backend at
 * "url", as far as is known before a connection is open. */
int mod_mcp_fastcgi_can(const mod_mcp_backend_request_t *req, request_rec *r,
                        const char *url);

/*
 * Makes the request on an open connection.  Returns the same status as
 * mod_proxy_fcgi's handler, and sets conn->close as that handler does; or
 * returns DECLINED without having sent anything: mod_proxy_fcgi has to make
 * the request.  If "keep" is 1, the backend may leave the connection open.
 */
int mod_mcp_fastcgi(mod_mcp_backend_request_t *req, request_rec *r,
    proxy_conn_rec *conn, int keep);

#endif /* MOD_MCP_FASTCGI_H */

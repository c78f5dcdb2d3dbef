/* SPDX-License-Identifier: Apache-2.0 */

/* Calls of FastCGI backends, in the place of mod_proxy_fcgi. */

#ifndef MOD_MCP_FASTCGI_H
#define MOD_MCP_FASTCGI_H

#include "mod_mcp.h"

#include "mod_proxy.h"

/* In a child, when hooks are sorted: finds out where mod_proxy_fcgi does what
 * this file does. */
void mod_mcp_fastcgi_init(void);

/* 1 if the call is one that mod_mcp_fastcgi() can make, as far as is known
 * before there is a connection. */
int mod_mcp_fastcgi_can(const mod_mcp_backend_request_t *req, request_rec *r,
                        const char *url);

/* Makes the call on a connection that stands.  Returns what mod_proxy_fcgi's
 * handler would, and does with the connection what that would; or DECLINED,
 * with nothing sent: it is for that one.  keep: the connection may stay. */
int mod_mcp_fastcgi(mod_mcp_backend_request_t *req, request_rec *r,
    proxy_conn_rec *conn, int keep);

#endif /* MOD_MCP_FASTCGI_H */

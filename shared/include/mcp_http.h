/* SPDX-License-Identifier: Apache-2.0 */

/* HTTP headers, and the checks of addresses and hosts that glues make before
 * they pass a request to the core. */


#ifndef MCP_HTTP_H_INCLUDED
#define MCP_HTTP_H_INCLUDED


#include "mcp.h"


MCP_DECLARATIONS_BEGIN


typedef struct {
    mcp_str_t  name;
    mcp_str_t  value;
} mcp_header_t;


/*
 * Returns 1 if a Host header is safe from DNS rebinding: it is empty (absent),
 * localhost, below .localhost, a loopback address, or one of the n server
 * names, with any port. Returns 0 for any other host, and for a malformed
 * header.
 */
int mcp_http_host_allowed(mcp_str_t host, const mcp_str_t *names, size_t n);

/* Returns 1 if an address of 4 or 16 bytes in network byte order is a loopback
 * address. */
int mcp_http_address_is_loopback(const void *address, size_t len);


MCP_DECLARATIONS_END


#endif /* MCP_HTTP_H_INCLUDED */

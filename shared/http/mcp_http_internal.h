/* SPDX-License-Identifier: Apache-2.0 */

/* Authorities (RFC 3986, 3.2), for the files that compare them. */


#ifndef MCP_HTTP_INTERNAL_H_INCLUDED
#define MCP_HTTP_INTERNAL_H_INCLUDED


#include "mcp_http.h"


typedef struct {
    mcp_str_t    host;         /* "[...]" includes its brackets */
    uint64_t     port;         /* 0 if there is none */
} mcp_http_authority_t;


/*
 * Removes scheme "://" from the beginning of the text.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  the text does not begin with a scheme, and is unchanged
 */
int mcp_http_take_scheme(mcp_str_t *text, mcp_str_t *scheme);

/*
 * Parses host [ ":" port ], which must be the whole text.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  the text has another form
 */
int mcp_http_authority_parse(mcp_str_t text, mcp_http_authority_t *authority);

/*
 * Returns 1 if the host is localhost, a name below .localhost, or a loopback
 * address.
 */
int mcp_http_host_is_loopback(mcp_str_t host);

/* Returns 1 if the host is an IP address, which needs no name server. */
int mcp_http_host_is_address(mcp_str_t host);

/* Returns 1 if one of the n server names matches the host. */
int mcp_http_host_is_server(const mcp_str_t *names, size_t n, mcp_str_t host);


#endif /* MCP_HTTP_INTERNAL_H_INCLUDED */

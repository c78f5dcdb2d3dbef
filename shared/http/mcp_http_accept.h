/* SPDX-License-Identifier: Apache-2.0 */

/* The headers Accept and Content-Type (RFC 9110, 12.5.1 and 8.3). */


#ifndef MCP_HTTP_ACCEPT_H_INCLUDED
#define MCP_HTTP_ACCEPT_H_INCLUDED


#include "mcp.h"


/*
 * Returns 1 if n Accept header lines accept the media type "type/subtype" (RFC
 * 9110, 12.5.1). Without a line every type is accepted. The most specific range
 * decides, and q=0 rejects the type. Other parameters of a range are ignored,
 * and malformed ranges are skipped.
 */
int mcp_http_accepts(const mcp_str_t *lines, size_t n, mcp_str_t media_type);

/* Returns 1 if a Content-Type names this media type. Ignores the difference
 * between upper and lower case, and all parameters except a charset, which must
 * be utf-8. */
int mcp_http_is_type(mcp_str_t content_type, mcp_str_t media_type);

/* Returns the "type/subtype" of a Content-Type, empty if it is malformed. */
mcp_str_t mcp_http_media_type(mcp_str_t content_type);

/* Returns 1 if s is a token (RFC 9110, 5.6.2), the syntax of header names. */
int mcp_http_is_token(mcp_str_t s);


#endif /* MCP_HTTP_ACCEPT_H_INCLUDED */

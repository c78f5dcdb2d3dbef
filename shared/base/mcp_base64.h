/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Base64 (RFC 4648): the URL-safe alphabet without padding for what goes into
 * headers and event ids, the standard one with padding for binary content.
 */


#ifndef MCP_BASE64_H_INCLUDED
#define MCP_BASE64_H_INCLUDED


#include "mcp.h"


/* Exact number of characters that len bytes take. */
#define mcp_base64url_len(len)                                                \
    ((len) / 3 * 4 + ((len) % 3 ? (len) % 3 + 1 : 0))
#define mcp_base64_len(len)  (((len) + 2) / 3 * 4)

/* The number of bytes that len base64url characters stand for. */
#define mcp_base64url_decoded_len(len)                                        \
    ((len) / 4 * 3 + ((len) % 4 ? (len) % 4 - 1 : 0))


/* Writes mcp_base64url_len(len) characters at p and returns the end. */
char *mcp_base64url_encode(char *p, const void *data, size_t len);

/*
 * Strict inverse: no padding, no foreign characters, the unused bits of the
 * last character zero, so that each value has exactly one text.  Writes at
 * most max bytes to out and sets *len.  MCP_OK, MCP_ERR_SYNTAX, or
 * MCP_ERR_LIMIT if the value is longer than max.
 */
int mcp_base64url_decode(mcp_str_t text, unsigned char *out, size_t max,
    size_t *len);

/* Writes mcp_base64_len(len) characters, padded, at p; returns the end. */
char *mcp_base64_encode(char *p, const void *data, size_t len);


#endif /* MCP_BASE64_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Base64 (RFC 4648): the URL-safe alphabet without padding for headers and
 * event ids, the standard alphabet with padding for binary content.
 */


#ifndef MCP_BASE64_H_INCLUDED
#define MCP_BASE64_H_INCLUDED


#include "mcp.h"


/* The length of the encoding of len bytes, in characters. */
#define mcp_base64url_len(len)                                                \
    ((len) / 3 * 4 + ((len) % 3 ? (len) % 3 + 1 : 0))
#define mcp_base64_len(len)  (((len) + 2) / 3 * 4)

/* The number of bytes that len base64url characters encode. */
#define mcp_base64url_decoded_len(len)                                        \
    ((len) / 4 * 3 + ((len) % 4 ? (len) % 4 - 1 : 0))


/* Writes mcp_base64url_len(len) characters at p and returns the end. */
char *mcp_base64url_encode(char *p, const void *data, size_t len);

/*
 * Decodes the text to out, which has room for max bytes, and sets *len to the
 * number of decoded bytes. Accepts only one encoding of each value: without
 * padding or other characters, and with zeros in the unused bits of the last
 * character.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  the text is not such an encoding
 *   MCP_ERR_LIMIT   the value is longer than max
 */
int mcp_base64url_decode(mcp_str_t text, unsigned char *out, size_t max,
    size_t *len);

/* Writes mcp_base64_len(len) characters, with padding, at p and returns the
 * end. */
char *mcp_base64_encode(char *p, const void *data, size_t len);

/*
 * Decodes a text of the standard alphabet with complete padding. Returns the
 * same values as mcp_base64url_decode().
 */
int mcp_base64_decode(mcp_str_t text, unsigned char *out, size_t max,
    size_t *len);


#endif /* MCP_BASE64_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The values of headers that repeat parts of a request's body (2026-07-28,
 * basic/transports/streamable-http, "Value Encoding" and "Server Validation"):
 * Mcp-Method, Mcp-Name, Mcp-Param-* and MCP-Protocol-Version.
 */


#ifndef MCP_MIRRORED_HEADER_H_INCLUDED
#define MCP_MIRRORED_HEADER_H_INCLUDED


#include "base/mcp_arena.h"
#include "json/mcp_json_scan.h"


/*
 * Removes spaces and tabs from both ends of a value that is never encoded:
 * Mcp-Method and MCP-Protocol-Version. *value is a slice of raw.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  a byte is not visible ASCII, space or tab
 */
int mcp_header_value_plain(mcp_str_t raw, mcp_str_t *value);

/*
 * Trims a value that may be encoded, Mcp-Name and Mcp-Param-*, and decodes it
 * once if it has the form "=?base64?...?=", in lower case. A value with only
 * the beginning or only the end of this form is literal.
 *
 * *value is a slice of raw, or in the arena if it was encoded; its data is
 * never NULL. A decoded value is any UTF-8, possibly with control characters.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  a byte is not visible ASCII, space or tab, or the encoded
 *                   text is not the canonical Base64, with padding, of
 *                   well-formed UTF-8
 *   MCP_ERR_MEMORY
 */
int mcp_header_value_decode(mcp_arena_t *arena, mcp_str_t raw,
    mcp_str_t *value);

/*
 * Returns 1 if a value from mcp_header_value_plain() has the form of an encoded
 * value, "=?base64?...?=".
 */
int mcp_header_value_is_encoded(mcp_str_t value);

/*
 * Decodes an encoded value into the buffer "space", which has room for
 * value.len bytes, and sets *out to the decoded text. Returns MCP_OK, or
 * MCP_ERR_SYNTAX if the encoded text is not the canonical Base64, with padding,
 * of well-formed UTF-8.
 */
int mcp_header_value_decode_to(mcp_str_t value, char *space, mcp_str_t *out);

/*
 * Sets *value to a text in the form of a header that may be encoded: the text
 * itself, or "=?base64?...?=" in the arena if it contains a byte that is not
 * visible ASCII or a space, begins or ends with a space, or has the form of an
 * encoded value.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 */
int mcp_header_value_encode(mcp_arena_t *arena, mcp_str_t text,
    mcp_str_t *value);

/*
 * Sets *value to the text by which a header repeats a value of a body: a
 * string, a number or a boolean. The text is encoded if necessary, see
 * mcp_header_value_encode(). An integer from -2^53+1 to 2^53-1 is written
 * without an exponent and a fraction, any other number as in the body.
 *
 * Returns MCP_OK, or
 *   MCP_DONE        the value is absent, null, an object or an array, which no
 *                   header repeats
 *   MCP_ERR_MEMORY
 */
int mcp_header_value_write(mcp_arena_t *arena, const mcp_json_value_t *body,
    mcp_str_t *value);

/*
 * Returns 1 if the value of a JSON number has no fraction, in any notation (5,
 * 5.0, 5e2).
 */
int mcp_header_value_is_integer(mcp_str_t number);

/*
 * Returns 1 if a decoded value is equal to the string, number or boolean in a
 * body; 0 if it is not, or if the body's value has another type.
 *
 * Numbers are compared exactly, as decimals, and a number in a header has no
 * exponent. Numbers outside -2^53+1 to 2^53-1 are not equal to anything.
 */
int mcp_header_value_is(mcp_str_t value, const mcp_json_value_t *body);


#endif /* MCP_MIRRORED_HEADER_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The values of headers that mirror a request's body (2026-07-28,
 * basic/transports/streamable-http, "Value Encoding" and "Server Validation"):
 * Mcp-Method, Mcp-Name, Mcp-Param-* and MCP-Protocol-Version.
 */


#ifndef MCP_HEADER_VALUE_H_INCLUDED
#define MCP_HEADER_VALUE_H_INCLUDED


#include "base/mcp_arena.h"
#include "json/mcp_json.h"


/*
 * Takes spaces and tabs off both ends of a value that is never encoded:
 * Mcp-Method and MCP-Protocol-Version.  *value is a slice of raw.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  a byte is not visible ASCII, space or tab
 */
int mcp_header_value_plain(mcp_str_t raw, mcp_str_t *value);

/*
 * Does the same for a value that may be encoded, Mcp-Name and Mcp-Param-*, and
 * decodes it once if it is "=?base64?...?=", exactly so and in lower case.
 * What only begins or only ends so is literal.
 *
 * *value is a slice of raw, or in the arena if it was encoded; its data is
 * never NULL.  A decoded value is any UTF-8, also with control characters.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  as above, or the encoded text is not the one text of
 *                   well-formed UTF-8 in Base64 with padding
 *   MCP_ERR_MEMORY
 */
int mcp_header_value_decode(mcp_arena_t *arena, mcp_str_t raw,
    mcp_str_t *value);

/* Returns 1 if a value that mcp_header_value_plain() gave is marked as
 * encoded. */
int mcp_header_value_is_encoded(mcp_str_t value);

/* Decodes such a value into space, which has room for value.len bytes; returns
 * MCP_OK or MCP_ERR_SYNTAX, as above. */
int mcp_header_value_decode_to(mcp_str_t value, char *space, mcp_str_t *out);

/* Returns 1 if a JSON number has no fraction, however it is written (5, 5.0,
 * 5e2). */
int mcp_header_value_is_integer(mcp_str_t number);

/*
 * Returns 1 if a decoded value is that of a body's string, number or boolean,
 * 0 if it is not or if the body's value is of another type.
 *
 * Numbers are compared as decimals, exactly, and a header's has no exponent;
 * those beyond -2^53+1 and 2^53-1 equal nothing.
 */
int mcp_header_value_is(mcp_str_t value, const mcp_json_value_t *body);


#endif /* MCP_HEADER_VALUE_H_INCLUDED */

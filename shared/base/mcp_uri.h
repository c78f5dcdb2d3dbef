/* SPDX-License-Identifier: Apache-2.0 */

/* URIs in normal form, so that they can be compared byte by byte. */


#ifndef MCP_URI_H_INCLUDED
#define MCP_URI_H_INCLUDED


#include "base/mcp_arena.h"
#include "mcp_buf.h"


/* maximum length of the normal form of len bytes */
#define mcp_uri_max(len)  (3 * (len))


/*
 * Writes the normal form of a URI or IRI to out, which has room for
 * mcp_uri_max() bytes, and returns its length (RFC 3986, 6.2.2.1 and 6.2.2.2;
 * RFC 3987, 3.1):
 *
 *   - the scheme and the host are in lower case;
 *   - letters, digits, "-", ".", "_" and "~" are not percent-encoded;
 *   - bytes above 0x7f, and a "%" without two hex digits after it, are
 *     percent-encoded;
 *   - hex digits of other percent-encoded bytes are in upper case.
 *
 * Everything else is unchanged: the segments "." and "..", ports. If
 * is_template is 1, expressions of a URI template ("{...}") are unchanged,
 * too.
 */
size_t mcp_uri_write(char *out, mcp_str_t uri, int is_template);

/*
 * Sets *out to the normal form of a URI: to uri itself if it has that form,
 * else to a copy in the arena.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_MEMORY
 */
int mcp_uri_normal(mcp_arena_t *arena, mcp_str_t uri, mcp_str_t *out);

/* Returns the value of a hex digit, or -1. */
int mcp_uri_digit(char c);


/*
 * URI templates (RFC 6570), translated into regular expressions that match the
 * possible expansions of a template.
 *
 * Levels 1 to 3 and the modifier "*" are supported: {x} matches [^/?#]+, {x*}
 * and {+x} match .+, {?a,b} and {&a} match optional queries, and {/x}, {.x},
 * {;x} and {#x} match optional parts.
 */

/*
 * Appends a regular expression in the syntax of PCRE2, without anchors, that
 * matches the expansions of the template.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG  the template is invalid, or too long for the buffer: error
 *                   (size bytes) is the reason
 *   MCP_ERR_MEMORY
 */
int mcp_uri_template_regex(mcp_str_t uri_template, mcp_buf_t *regex,
    char *error, size_t size);

/*
 * Returns the number of literal ASCII bytes at the start of the template.
 * Callers compare these bytes with a URI first, because most URIs differ in
 * them, and the regular expression is then not needed.
 */
size_t mcp_uri_template_prefix(mcp_str_t uri_template);


#endif /* MCP_URI_H_INCLUDED */

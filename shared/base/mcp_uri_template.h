/* SPDX-License-Identifier: Apache-2.0 */

/*
 * URI templates (RFC 6570), translated into regular expressions that match the
 * possible expansions of a template.
 *
 * Levels 1 to 3 are supported as far as matching can be defined: {x} is
 * [^/?#]+, {x*} and {+x} are .+, {?a,b} and {&a} are optional queries, and
 * {/x}, {.x}, {;x} and {#x} are optional parts.
 */


#ifndef MCP_URI_TEMPLATE_H_INCLUDED
#define MCP_URI_TEMPLATE_H_INCLUDED


#include "base/mcp_buf.h"


/*
 * Appends a regular expression in the syntax of PCRE2, without anchors.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG  the template is invalid, or too long for the buffer: error
 *                   (size bytes) is the reason
 *   MCP_ERR_MEMORY
 */
int mcp_uri_template_regex(mcp_str_t uri_template, mcp_buf_t *regex,
    char *error, size_t size);

/*
 * Returns the number of literal bytes at the start of the template. Most URIs
 * differ in these bytes, and then need no comparison with the regular
 * expression.
 */
size_t mcp_uri_template_prefix(mcp_str_t uri_template);


#endif /* MCP_URI_TEMPLATE_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* Patterns that are compiled at configuration time: routes, origins, URI
 * templates. */


#ifndef MCP_MATCH_H_INCLUDED
#define MCP_MATCH_H_INCLUDED


#include "mcp.h"


typedef struct mcp_match_s  mcp_match_t;


/*
 * Compile a pattern in the syntax of web servers ("~regex", "~*regex" without
 * regard to case, or an exact string) or a URI template (mcp_uri.h).
 *
 * Return MCP_OK, or
 *   MCP_ERR_CONFIG  the pattern is invalid: error (size bytes) is the reason
 *   MCP_ERR_MEMORY
 */
int mcp_match_create(const mcp_mem_t *mem, mcp_str_t pattern,
    mcp_match_t **match, char *error, size_t size);
int mcp_match_create_template(const mcp_mem_t *mem, mcp_str_t uri_template,
    mcp_match_t **match, char *error, size_t size);

/*
 * Makes a pattern that matches all subjects with a prefix; the prefix must not
 * be empty. Returns MCP_OK or MCP_ERR_MEMORY.
 */
int mcp_match_create_prefix(const mcp_mem_t *mem, mcp_str_t prefix,
    mcp_match_t **match);

void mcp_match_free(mcp_match_t *match);

/*
 * Returns 1 if the subject matches:
 *
 *   exact string        equals the string or its normal form as a URI
 *                       (mcp_uri.h)
 *   prefix              begins with the prefix or its normal form
 *   regular expression  contains a match anywhere, as in nginx
 *   URI template        is an expansion of the template
 *
 * A pattern that exceeds the match limit does not match. Nothing is allocated
 * or modified, so threads may share a pattern.
 */
int mcp_match(const mcp_match_t *match, mcp_str_t subject);

/*
 * Matches like mcp_match(), but reports a match that cannot be decided.
 *
 * Returns 1, 0, or
 *   MCP_ERR_LIMIT  the pattern exceeds the match limit, or it requires UTF-8
 *                  and the subject is not valid UTF-8
 */
int mcp_match_try(const mcp_match_t *match, mcp_str_t subject);

/* Returns the normal form (mcp_uri.h) of the pattern's exact string or
 * prefix. */
mcp_str_t mcp_match_uri(const mcp_match_t *match);

/* Returns 1 if the pattern is an exact string. */
int mcp_match_is_exact(const mcp_match_t *match);


#endif /* MCP_MATCH_H_INCLUDED */

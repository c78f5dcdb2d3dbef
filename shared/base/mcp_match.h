/* SPDX-License-Identifier: Apache-2.0 */

/* Patterns that are compiled at configuration time: routes, origins, URI
 * templates. */


#ifndef MCP_MATCH_H_INCLUDED
#define MCP_MATCH_H_INCLUDED


#include "mcp.h"


typedef struct mcp_match_s  mcp_match_t;


/*
 * Compile a pattern as web servers write it ("~regex", "~*regex" for any case,
 * or an exact string), and a URI template (mcp_uri_template.h).
 *
 * Return MCP_OK, or
 *   MCP_ERR_CONFIG  the pattern is wrong: error (size bytes) says why
 *   MCP_ERR_MEMORY
 */
int mcp_match_create(const mcp_mem_t *mem, mcp_str_t pattern,
    mcp_match_t **match, char *error, size_t size);
int mcp_match_create_template(const mcp_mem_t *mem, mcp_str_t uri_template,
    mcp_match_t **match, char *error, size_t size);

void mcp_match_free(mcp_match_t *match);

/*
 * Returns 1 if the subject equals the exact string, has a match of the regular
 * expression anywhere, as in nginx, or is an expansion of the template.
 *
 * A pattern that exceeds the match limit does not match.  Nothing is allocated
 * or changed, so threads may share a match.
 */
int mcp_match(const mcp_match_t *match, mcp_str_t subject);

/*
 * The same for whoever has to know if nobody can tell.
 *
 * Returns 1, 0, or
 *   MCP_ERR_LIMIT  the pattern exceeds the match limit, or the subject is not
 *                  UTF-8 where the pattern asks for that
 */
int mcp_match_try(const mcp_match_t *match, mcp_str_t subject);

/* Returns 1 if the pattern is an exact string. */
int mcp_match_is_exact(const mcp_match_t *match);


#endif /* MCP_MATCH_H_INCLUDED */

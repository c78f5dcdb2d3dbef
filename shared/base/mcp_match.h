/* SPDX-License-Identifier: Apache-2.0 */

/* Patterns compiled at configuration time (the only user of PCRE2): routes,
 * origins, URI templates. */


#ifndef MCP_MATCH_H_INCLUDED
#define MCP_MATCH_H_INCLUDED


#include "mcp.h"


typedef struct mcp_match_s  mcp_match_t;


/*
 * Compiles a pattern in the web servers' manner: "~regex", "~*regex"
 * (caseless) or an exact string.  mem owns the result until
 * mcp_match_free().  On MCP_ERR_CONFIG, error (size bytes) says why.
 */
int mcp_match_create(const mcp_mem_t *mem, mcp_str_t pattern,
    mcp_match_t **match, char *error, size_t size);

/* A URI template (RFC 6570, levels 1-3 as far as matching can be defined:
 * {x} [^/?#]+, {x*} and {+x} .+, {?a,b} and {&a} optional queries, {/x},
 * {.x}, {;x}, {#x}). */
int mcp_match_create_template(const mcp_mem_t *mem, mcp_str_t uri_template,
    mcp_match_t **match, char *error, size_t size);

void mcp_match_free(mcp_match_t *match);

/* 1 if subject matches (exact: equal; regex: anywhere, as in nginx). Bounded
 * by a match limit: a pattern that explodes does not match.  Allocates
 * nothing and changes nothing: threads may share a match. */
int mcp_match(const mcp_match_t *match, mcp_str_t subject);

/* 1 if it is an exact string. */
int mcp_match_is_exact(const mcp_match_t *match);


#endif /* MCP_MATCH_H_INCLUDED */

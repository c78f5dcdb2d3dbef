/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Rules that say who may see and call what: mcp_allow.  A rule is for the names
 * that its pattern matches, and has a value that the server evaluates for each
 * request.  The first rule that is for a name decides; a name for which there
 * is none is nobody's.
 */


#ifndef MCP_ALLOW_H_INCLUDED
#define MCP_ALLOW_H_INCLUDED


#include "base/mcp_match.h"
#include "rpc/mcp_method.h"


typedef struct {
    unsigned      kinds;       /* bits of mcp_list_e */
    mcp_str_t     text;        /* as the operator wrote it */
    mcp_str_t     name;        /* without the kind; of a prefix without "*" */
    mcp_match_t  *match;       /* NULL: names begin with that */
    const void   *value;       /* the glue's */
} mcp_allow_t;


/*
 * Reads the pattern of a rule: "tools/", "prompts/" or "resources/" if it is
 * not for all, and then a name, the beginning of one and "*", or "~regex",
 * "~*regex".  The name of a resource is its URI, that of a template the
 * template's text.  The text is borrowed; the match is the caller's to free.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG  the pattern is wrong: error (size bytes) says why
 *   MCP_ERR_MEMORY
 */
int mcp_allow_read(const mcp_mem_t *mem, mcp_str_t text, mcp_allow_t *rule,
    char *error, size_t size);

/* Returns the number of the first of n rules that is for a name; n if none is,
 * or if it cannot be told whether one is (mcp_match_try()). */
size_t mcp_allow_find(const mcp_allow_t *rules, size_t n, mcp_list_e kind,
    mcp_str_t name);

/* Returns 1 if the rule matches all names of its kinds: "*". */
int mcp_allow_is_all(const mcp_allow_t *rule);

/* Returns 1 if a value lets the caller in: it is neither empty nor "0". */
int mcp_allow_is_true(mcp_str_t value);


#endif /* MCP_ALLOW_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Access rules for catalog items: mcp_allow. A rule applies to the names that
 * match its pattern, and has a value that the server evaluates for each
 * request. The first rule that applies to a name decides; a name without a
 * rule is denied to all callers.
 */


#ifndef MCP_ITEM_ACCESS_H_INCLUDED
#define MCP_ITEM_ACCESS_H_INCLUDED


#include "mcp_buf.h"
#include "base/mcp_match.h"
#include "rpc/mcp_method.h"


typedef struct {
    unsigned      kinds;       /* bits of mcp_list_e: the kinds that the
                                  pattern applies to */
    mcp_str_t     text;        /* the pattern as the operator wrote it */
    mcp_str_t     name;        /* the pattern without its kind and a final
                                  "*" */
    mcp_match_t  *match;       /* NULL: the rule applies to all names of its
                                  kinds */
    const void   *value;       /* value of the rule, an expression compiled by
                                  the glue */
} mcp_allow_t;


/*
 * Parses "text", the pattern of a rule, into *rule. The pattern consists of
 * "tools/", "prompts/" or "resources/", or none of them for all kinds, followed
 * by a name, a prefix with "*", or "~regex" or "~*regex". The name of a
 * resource is its URI, and the name of a template is the template's text. The
 * rule refers to "text" without copying it. The caller frees rule->match.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_CONFIG  the pattern is invalid: the reason is written to "error",
 *                   a buffer of "size" bytes
 *   MCP_ERR_MEMORY
 */
int mcp_allow_read(const mcp_mem_t *mem, mcp_str_t text, mcp_allow_t *rule,
    char *error, size_t size);

/*
 * Returns the index of the first of n rules that applies to a name. Returns n
 * if no rule applies, or if mcp_match_try() cannot decide whether one does.
 */
size_t mcp_allow_find(const mcp_allow_t *rules, size_t n, mcp_list_e kind,
    mcp_str_t name);

/* Returns 1 if a value permits access: it is neither empty nor "0". */
int mcp_allow_is_true(mcp_str_t value);


/* --- scopes --- */

/*
 * Lists of OAuth scopes, as in tokens and challenges: separated by spaces (RFC
 * 6749, 3.3).
 */

/* mcp_scope_has() returns 1 if the list contains the scope. mcp_scope_has_all()
 * returns 1 if the list contains all scopes of the list "scopes". */
int mcp_scope_has(mcp_str_t list, mcp_str_t scope);
int mcp_scope_has_all(mcp_str_t list, mcp_str_t scopes);

/* Appends each scope of the list "scopes" that *list lacks. */
void mcp_scope_add(mcp_buf_t *list, mcp_str_t scopes);


#endif /* MCP_ITEM_ACCESS_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* The directive mcp_allow. */


#include <stdio.h>

#include "config/mcp_setup_internal.h"


/*
 * Maximum number of rules: a list of items may evaluate each rule for each
 * name.
 */
#define MCP_SETUP_ALLOW_MAX  1000


/*
 * Returns 1 if an earlier rule matches every name of this one: "*", or the
 * same pattern.
 */
static int
mcp_setup_allow_hidden(const mcp_setup_t *setup, const mcp_allow_t *rule)
{
    const mcp_allow_t        *before;
    const mcp_setup_allow_t  *allow;

    for (allow = setup->allows.first; allow; allow = allow->next) {
        before = &allow->rule;

        if ((rule->kinds & ~before->kinds) == 0
            && (mcp_allow_is_all(before)
                || mcp_str_eq(before->text, rule->text)))
        {
            return 1;
        }
    }

    return 0;
}


int
mcp_setup_allow(mcp_setup_t *setup, mcp_str_t pattern, const void *value,
    char *error)
{
    int                 rc;
    char                why[MCP_SETUP_ERROR_MAX - MCP_SETUP_QUOTE_MAX - 32];
    mcp_setup_allow_t  *allow;

    if (setup->allows.n == MCP_SETUP_ALLOW_MAX) {
        (void) snprintf(error, MCP_SETUP_ERROR_MAX, "more than %d rules",
                        MCP_SETUP_ALLOW_MAX);
        return MCP_ERR_CONFIG;
    }

    allow = mcp_arena_calloc(&setup->arena, sizeof(mcp_setup_allow_t));
    if (allow == NULL) {
        return MCP_ERR_MEMORY;
    }

    pattern = mcp_arena_dup(&setup->arena, pattern);
    if (pattern.data == NULL) {
        return MCP_ERR_MEMORY;
    }

    rc = mcp_allow_read(setup->mem, pattern, &allow->rule, why, sizeof(why));

    if (rc == MCP_ERR_CONFIG) {
        (void) snprintf(error, MCP_SETUP_ERROR_MAX,
                        "invalid pattern \"%.*s\": %s",
                        mcp_setup_quote(pattern), why);
    }

    if (rc != MCP_OK) {
        return rc;
    }

    if (mcp_setup_allow_hidden(setup, &allow->rule)) {
        (void) snprintf(error, MCP_SETUP_ERROR_MAX,
                        "rule \"%.*s\" is never used, because an earlier rule "
                        "matches all its names: put it before that rule",
                        mcp_setup_quote(pattern));
        mcp_match_free(allow->rule.match);
        return MCP_ERR_CONFIG;
    }

    allow->rule.value = value;

    if (setup->allows.last == NULL) {
        setup->allows.last = &setup->allows.first;
    }

    *setup->allows.last = allow;
    setup->allows.last = &allow->next;
    setup->allows.n++;
    setup->made_allows = setup->allows.first;

    return MCP_OK;
}


int
mcp_setup_granted_scopes(mcp_setup_t *setup, const void *value, char *error)
{
    if (setup->granted_scopes) {
        (void) snprintf(error, MCP_SETUP_ERROR_MAX, "%s", MCP_SETUP_DUPLICATE);
        return MCP_ERR_CONFIG;
    }

    setup->granted_scopes = value;

    return MCP_OK;
}


void
mcp_setup_free_allows(mcp_setup_t *setup)
{
    mcp_setup_allow_t  *allow;

    for (allow = setup->made_allows; allow; allow = allow->next) {
        mcp_match_free(allow->rule.match);
    }
}


int
mcp_setup_make_allows(mcp_setup_t *setup, mcp_endpoint_t *endpoint)
{
    size_t                    n;
    mcp_allow_t              *rules;
    const mcp_setup_allow_t  *allow;

    endpoint->granted_scopes = setup->granted_scopes;

    if (setup->allows.n == 0) {
        return MCP_OK;
    }

    rules = mcp_arena_alloc(&setup->arena,
                            setup->allows.n * sizeof(mcp_allow_t));
    if (rules == NULL) {
        return MCP_ERR_MEMORY;
    }

    n = 0;

    for (allow = setup->allows.first; allow; allow = allow->next) {
        rules[n++] = allow->rule;
    }

    endpoint->allow = rules;
    endpoint->n_allow = n;

    return MCP_OK;
}


int
mcp_setup_lacks_scopes(const mcp_setup_t *setup)
{
    return setup->catalog && mcp_catalog_scoped(setup->catalog)
           && setup->granted_scopes == NULL;
}


/* Returns 1 if the catalog contains the name of a rule without a wildcard. */
static int
mcp_setup_allow_names(const mcp_setup_t *setup, const mcp_allow_t *rule)
{
    int        kind;
    mcp_str_t  scope, uri, name;

    uri = mcp_match_uri(rule->match);

    for (kind = 0; kind < MCP_LIST_COUNT; kind++) {
        name = kind == MCP_LIST_RESOURCES || kind == MCP_LIST_TEMPLATES
               ? uri : rule->name;

        if ((rule->kinds & (1u << kind))
            && mcp_catalog_find(setup->catalog, (mcp_list_e) kind, name).data)
        {
            return 1;
        }
    }

    return (rule->kinds & (1u << MCP_LIST_TEMPLATES))
           && mcp_catalog_has_template(setup->catalog, uri, &scope);
}


mcp_str_t
mcp_setup_allow_nothing(const mcp_setup_t *setup)
{
    const mcp_setup_allow_t  *allow;

    for (allow = setup->catalog ? setup->allows.first : NULL; allow;
         allow = allow->next)
    {
        if (allow->rule.match && mcp_match_is_exact(allow->rule.match)
            && !mcp_setup_allow_names(setup, &allow->rule))
        {
            return allow->rule.text;
        }
    }

    return mcp_null_str;
}

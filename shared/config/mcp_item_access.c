/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>

#include "config/mcp_setup_internal.h"


typedef struct {
    mcp_str_t  before;         /* text at the beginning of a pattern that makes
                                  the pattern apply only to items of "kinds" */
    unsigned   kinds;          /* bits of mcp_list_e */
} mcp_allow_kind_t;

static const mcp_allow_kind_t  mcp_allow_kinds[] = {
    { mcp_str("tools/"), 1u << MCP_LIST_TOOLS },
    { mcp_str("prompts/"), 1u << MCP_LIST_PROMPTS },
    { mcp_str("resources/"), 1u << MCP_LIST_RESOURCES
                             | 1u << MCP_LIST_TEMPLATES }
};

#define MCP_ALLOW_KINDS                                                       \
    (sizeof(mcp_allow_kinds) / sizeof(mcp_allow_kinds[0]))

#define MCP_ALLOW_ALL  ((1u << MCP_LIST_COUNT) - 1)


/*
 * Removes "tools/", "prompts/" or "resources/" from the beginning of the
 * pattern. Returns the bits of mcp_list_e for the removed text, all kinds if
 * the pattern has another beginning.
 */
static unsigned
mcp_allow_kind(mcp_str_t *pattern)
{
    size_t  i;

    for (i = 0; i < MCP_ALLOW_KINDS; i++) {
        if (mcp_str_take(pattern, mcp_allow_kinds[i].before)) {
            return mcp_allow_kinds[i].kinds;
        }
    }

    return MCP_ALLOW_ALL;
}


int
mcp_allow_read(const mcp_mem_t *mem, mcp_str_t text, mcp_allow_t *rule,
    char *error, size_t size)
{
    const char  *star;
    mcp_str_t    pattern;

    memset(rule, 0, sizeof(mcp_allow_t));

    pattern = text;
    rule->text = text;
    rule->kinds = mcp_allow_kind(&pattern);
    rule->name = pattern;

    if (pattern.len == 0) {
        (void) snprintf(error, size,
                        "the name is empty: write \"*\" for all names");
        return MCP_ERR_CONFIG;
    }

    if (pattern.data[0] == '~') {
        return mcp_match_create(mem, pattern, &rule->match, error, size);
    }

    star = memchr(pattern.data, '*', pattern.len);

    if (star == NULL) {
        return mcp_match_create(mem, pattern, &rule->match, error, size);
    }

    /* rejects a "*" that is not the last character: the pattern would match no
     * name, so a later rule would decide about the names that the operator
     * meant */

    if (star != pattern.data + pattern.len - 1) {
        (void) snprintf(error, size,
                        "\"*\" is allowed only at the end: write a regular "
                        "expression, which begins with \"~\"");
        return MCP_ERR_CONFIG;
    }

    rule->name.len--;

    return rule->name.len ? mcp_match_create_prefix(mem, rule->name,
                                                    &rule->match)
                          : MCP_OK;
}


/* Returns 1 if the rule applies to the name, 0 if it does not, or
 * MCP_ERR_LIMIT if the match was too expensive. */
static int
mcp_allow_matches(const mcp_allow_t *rule, mcp_list_e kind, mcp_str_t name)
{
    if (!(rule->kinds & (1u << kind))) {
        return 0;
    }

    return rule->match ? mcp_match_try(rule->match, name) : 1;
}


size_t
mcp_allow_find(const mcp_allow_t *rules, size_t n, mcp_list_e kind,
    mcp_str_t name)
{
    int     rc;
    size_t  i;

    for (i = 0; i < n; i++) {
        rc = mcp_allow_matches(&rules[i], kind, name);

        if (rc == 1) {
            return i;
        }

        /* If it is unknown whether this rule applies, the search ends: the rule
         * may deny access, so no later rule may allow it. */

        if (rc != 0) {
            return n;
        }
    }

    return n;
}


int
mcp_allow_is_true(mcp_str_t value)
{
    return value.len && !mcp_str_eq(value, mcp_str("0"));
}


/* --- the directives mcp_allow and mcp_granted_scopes --- */

/*
 * Maximum number of mcp_allow rules of an endpoint. To render a list of items,
 * the server compares the name of each item with up to this number of rules.
 */
#define MCP_SETUP_ALLOW_MAX  1000


/*
 * Returns 1 if the rule can never decide about a name, because an earlier rule
 * applies to all kinds of items of this rule, and either matches every name or
 * has the same pattern as this rule.
 */
static int
mcp_setup_allow_hidden(const mcp_setup_t *setup, const mcp_allow_t *rule)
{
    const mcp_allow_t        *before;
    const mcp_setup_allow_t  *allow;

    for (allow = setup->allows.first; allow; allow = allow->next) {
        before = &allow->rule;

        if ((rule->kinds & ~before->kinds) == 0
            && ((before->match == NULL && before->name.len == 0)
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
        return mcp_setup_fail(error, "more than %d rules are not allowed",
                              MCP_SETUP_ALLOW_MAX);
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

    if (rc != MCP_OK) {
        return rc == MCP_ERR_CONFIG
               ? mcp_setup_fail(error, "invalid pattern \"%.*s\": %s",
                                mcp_setup_quote(pattern), why) : rc;
    }

    if (mcp_setup_allow_hidden(setup, &allow->rule)) {
        mcp_match_free(allow->rule.match);
        return mcp_setup_fail(error, "rule \"%.*s\" is never used, because "
                                     "an earlier rule matches all its names: "
                                     "put this rule before the earlier one",
                              mcp_setup_quote(pattern));
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
        return mcp_setup_fail(error, MCP_SETUP_DUPLICATE);
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


/* --- scopes --- */

/* Removes the first scope from *list. Returns 1 and sets *scope to the removed
 * scope. Returns 0 if *list contains no scope. */
static int
mcp_scope_next(mcp_str_t *list, mcp_str_t *scope)
{
    const char  *end;

    while (list->len && list->data[0] == ' ') {
        list->data++;
        list->len--;
    }

    if (list->len == 0) {
        return 0;
    }

    end = memchr(list->data, ' ', list->len);

    scope->data = list->data;
    scope->len = end ? (size_t) (end - list->data) : list->len;

    list->data += scope->len;
    list->len -= scope->len;

    return 1;
}


int
mcp_scope_has(mcp_str_t list, mcp_str_t scope)
{
    mcp_str_t  one;

    while (mcp_scope_next(&list, &one)) {
        if (mcp_str_eq(one, scope)) {
            return 1;
        }
    }

    return 0;
}


int
mcp_scope_has_all(mcp_str_t list, mcp_str_t scopes)
{
    mcp_str_t  scope;

    while (mcp_scope_next(&scopes, &scope)) {
        if (!mcp_scope_has(list, scope)) {
            return 0;
        }
    }

    return 1;
}


void
mcp_scope_add(mcp_buf_t *list, mcp_str_t scopes)
{
    mcp_str_t  scope;

    while (mcp_scope_next(&scopes, &scope)) {
        if (mcp_scope_has(mcp_buf_text(list), scope)) {
            continue;
        }

        if (list->len) {
            mcp_buf_lit(list, " ");
        }

        mcp_buf_str(list, scope);
    }
}

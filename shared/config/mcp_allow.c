/* SPDX-License-Identifier: Apache-2.0 */

#include "config/mcp_allow.h"

#include <stdio.h>


typedef struct {
    mcp_str_t  before;         /* beginning of a pattern that is for these
                                  kinds of items only */
    unsigned   kinds;
} mcp_allow_kind_t;

static const mcp_allow_kind_t  mcp_allow_kinds[] = {
    { { "tools/", 6 }, 1u << MCP_LIST_TOOLS },
    { { "prompts/", 8 }, 1u << MCP_LIST_PROMPTS },
    { { "resources/", 10 }, 1u << MCP_LIST_RESOURCES
                            | 1u << MCP_LIST_TEMPLATES }
};

#define MCP_ALLOW_KINDS                                                       \
    (sizeof(mcp_allow_kinds) / sizeof(mcp_allow_kinds[0]))

#define MCP_ALLOW_ALL  ((1u << MCP_LIST_COUNT) - 1)


static int
mcp_allow_starts(mcp_str_t text, mcp_str_t with)
{
    return text.len >= with.len
           && (with.len == 0 || memcmp(text.data, with.data, with.len) == 0);
}


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
        if (mcp_allow_starts(*pattern, mcp_allow_kinds[i].before)) {
            pattern->data += mcp_allow_kinds[i].before.len;
            pattern->len -= mcp_allow_kinds[i].before.len;

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

    /* rejects a "*" in another place: the pattern would match no name, and a
     * later rule would decide about the names that the operator meant */

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

        /* it is unknown whether this rule, which may deny access, applies to
         * the name: no later rule may allow access */

        if (rc != 0) {
            return n;
        }
    }

    return n;
}


int
mcp_allow_is_all(const mcp_allow_t *rule)
{
    return rule->match == NULL && rule->name.len == 0;
}


int
mcp_allow_is_true(mcp_str_t value)
{
    return value.len && !mcp_str_eq(value, mcp_str("0"));
}

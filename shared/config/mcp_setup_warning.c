/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Finds valid settings that have no effect, or probably not the intended one.
 */


#include <stdio.h>

#include "config/mcp_catalog.h"
#include "config/mcp_setup_internal.h"


typedef struct {
    int         (*applies)(const mcp_setup_t *setup, mcp_str_t *name);
    const char   *text[2];             /* text for nginx, for Apache; may
                                          contain one "%.*s" */
} mcp_setup_warning_t;


static int
mcp_setup_is_empty(const mcp_setup_t *setup, mcp_str_t *name)
{
    (void) name;

    return setup->catalog == NULL && setup->backend.len == 0
           && setup->routes.n == 0;
}


/* Returns 1 if a rule of mcp_allow matches the item. */
static int
mcp_setup_has_rule(const mcp_setup_t *setup, mcp_list_e kind, mcp_str_t name)
{
    const mcp_setup_allow_t  *allow;

    for (allow = setup->allows.first; allow; allow = allow->next) {
        if (mcp_allow_find(&allow->rule, 1, kind, name) == 0) {
            return 1;
        }
    }

    return 0;
}


/*
 * Returns 1 and sets *name to the first item of the catalog that no rule
 * matches. If the last rule is "*", there is no such item: the operator has
 * decided about all other names.
 */
static int
mcp_setup_hides(const mcp_setup_t *setup, mcp_str_t *name)
{
    size_t      i, n;
    mcp_list_e  kind;

    if (setup->catalog == NULL || setup->allows.n == 0) {
        return 0;
    }

    n = mcp_catalog_items(setup->catalog);

    for (i = 0; i < n; i++) {
        *name = mcp_catalog_key(setup->catalog, i, &kind);

        if (!mcp_setup_has_rule(setup, kind, *name)) {
            return 1;
        }
    }

    return 0;
}


static int
mcp_setup_waits_long(const mcp_setup_t *setup, mcp_str_t *name)
{
    mcp_endpoint_t  endpoint;

    (void) name;

    mcp_options_apply(&setup->options, &endpoint);

    return endpoint.min_wait > endpoint.max_wait;
}


static const mcp_setup_warning_t  mcp_setup_warnings[] = {

    { mcp_setup_is_empty,
      { "has neither \"mcp_catalog\" nor \"mcp_backend\" nor \"mcp_route\": "
        "clients find nothing there",
        "has neither MCPCatalog nor MCPBackend nor MCPRoute: clients find "
        "nothing there" } },

    { mcp_setup_hides,
      { "hides \"%.*s\" from all callers, because no \"mcp_allow\" matches it: "
        "add \"mcp_allow * 1\" to show it, or \"mcp_allow * 0\" if it is meant "
        "to be hidden",
        "hides \"%.*s\" from all callers, because no MCPAllow matches it: add "
        "\"MCPAllow * true\" to show it, or \"MCPAllow * false\" if it is "
        "meant to be hidden" } },

    { mcp_setup_waits_long,
      { "has an \"mcp_min_wait\" that exceeds \"mcp_max_wait\", so clients "
        "that wait for it resume too late: lower it",
        "has an MCPMinWait that exceeds MCPMaxWait, so clients that wait for "
        "it resume too late: lower it" } }
};

#define MCP_SETUP_WARNINGS                                                    \
    (sizeof(mcp_setup_warnings) / sizeof(mcp_setup_warnings[0]))


int
mcp_setup_warning(const mcp_setup_t *setup, int apache, unsigned *position,
    char *text)
{
    unsigned                    idle;
    mcp_str_t                   name;
    const mcp_setup_warning_t  *warning;

    while (*position < MCP_SETUP_WARNINGS) {
        warning = &mcp_setup_warnings[(*position)++];
        name = mcp_null_str;

        if (warning->applies(setup, &name)) {
            (void) snprintf(text, MCP_SETUP_ERROR_MAX,
                            warning->text[apache != 0], mcp_setup_quote(name));
            return 1;
        }
    }

    idle = *position - (unsigned) MCP_SETUP_WARNINGS;

    if (mcp_setup_warning_idle(setup, apache, &idle, text)) {
        *position = MCP_SETUP_WARNINGS + idle;
        return 1;
    }

    return 0;
}

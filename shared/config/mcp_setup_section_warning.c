/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The directives that a section itself sets, and the warnings about directives
 * that its kind of section never uses. mcp_setup_warning.c has the other
 * warnings about endpoints.
 */


#include <stdio.h>

#include "config/mcp_setup_internal.h"


#define MCP_SETUP_OPTION_NAME(id, member, nginx, apache, kind, off, min, max, \
    def)                                                                      \
    [MCP_OPTION_##id] = { "\"" nginx "\"", apache },

#define MCP_SETUP_OTHER_NAME(id, nginx, apache, args, help)                   \
    [MCP_SETUP_NUMBER_##id] = { "\"" nginx "\"", apache },

/* The names of the directives in nginx and in Apache. The name is empty if
 * nginx does not have the directive. */
static const char *const  mcp_setup_names[MCP_SETUP_NUMBERS][2] = {
    MCP_OPTIONS(MCP_SETUP_OPTION_NAME)
    MCP_DIRECTIVES(MCP_SETUP_OTHER_NAME, MCP_SETUP_OTHER_NAME)
    MCP_CLUSTER_DIRECTIVES(MCP_SETUP_OTHER_NAME)
    [MCP_SETUP_NUMBER_principal] = { "\"mcp_principal\"", "MCPPrincipal" },
    [MCP_SETUP_NUMBER_link_origin] = { "\"mcp_link_origin\"",
                                       "MCPLinkOrigin" },
    [MCP_SETUP_NUMBER_publish_open] = { "", "MCPPublishOpen" },
    [MCP_SETUP_NUMBER_max_body] = { "", "MCPMaxBody" }
};


_Static_assert(MCP_SETUP_NUMBERS - MCP_OPTION_COUNT <= 32,
               "\"own_others\" has too few bits");


static uint32_t
mcp_setup_bit(unsigned directive, int is_set)
{
    return is_set ? (uint32_t) 1 << (directive - MCP_OPTION_COUNT) : 0;
}


void
mcp_setup_mark_own(mcp_setup_t *setup, unsigned kept)
{
    unsigned  i;

    const struct {
        unsigned  directive;
        int       is_set;
    } others[] = {
        { MCP_SETUP_NUMBER_server, setup->name.data != NULL },
        { MCP_SETUP_NUMBER_catalog, setup->catalog != NULL },
        { MCP_SETUP_NUMBER_backend, setup->backend.data != NULL },
        { MCP_SETUP_NUMBER_route, setup->routes.n != 0 },
        { MCP_SETUP_NUMBER_key, setup->keys != NULL },
        { MCP_SETUP_NUMBER_allow, setup->allows.n != 0 },
        { MCP_SETUP_NUMBER_granted_scopes, setup->granted_scopes != NULL },
        { MCP_SETUP_NUMBER_origin, setup->origins.n || setup->any_origin },
        { MCP_SETUP_NUMBER_revision, setup->revisions != 0 },
        { MCP_SETUP_NUMBER_auth_resource, setup->auth_resource.data != NULL },
        { MCP_SETUP_NUMBER_auth_server, setup->auth_servers.n != 0 },
        { MCP_SETUP_NUMBER_auth_scope, setup->auth_scopes.n != 0 },
        { MCP_SETUP_NUMBER_publish_token, setup->publish_token.data != NULL },
        { MCP_SETUP_NUMBER_publish_url, setup->publish_url.data != NULL },
        { MCP_SETUP_NUMBER_cluster_endpoint, setup->identity.data != NULL },
        { MCP_SETUP_NUMBER_principal, (kept & MCP_SETUP_PRINCIPAL) != 0 },
        { MCP_SETUP_NUMBER_link_origin, (kept & MCP_SETUP_LINK_ORIGIN) != 0 },
        { MCP_SETUP_NUMBER_publish_open, (kept & MCP_SETUP_PUBLISH_OPEN) != 0 },
        { MCP_SETUP_NUMBER_max_body, (kept & MCP_SETUP_MAX_BODY) != 0 }
    };

    setup->own = setup->options.set;
    setup->own_others = 0;

    for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        setup->own_others |= mcp_setup_bit(others[i].directive,
                                           others[i].is_set);
    }
}


int
mcp_setup_is_empty_section(const mcp_setup_t *setup)
{
    return setup->own == 0 && setup->own_others == 0;
}


int
mcp_setup_has_own(const mcp_setup_t *setup, unsigned directive)
{
    if (directive < MCP_OPTION_COUNT) {
        return (setup->own >> directive & 1) != 0;
    }

    return (setup->own_others & mcp_setup_bit(directive, 1)) != 0;
}


void
mcp_setup_warn_idle(char *text, unsigned directive, int apache,
    const char *const why[2])
{
    (void) snprintf(text, MCP_SETUP_ERROR_MAX,
                    "has %s, which has no effect: %s",
                    mcp_setup_names[directive][apache], why[apache]);
}


/* --- backends --- */

mcp_str_t
mcp_setup_backend_name(const mcp_setup_t *setup, size_t n)
{
    const mcp_setup_pattern_t  *route;

    if (setup->backend.len && n-- == 0) {
        return setup->backend;
    }

    for (route = setup->routes.first; route && n; route = route->next) {
        n--;
    }

    return route ? route->target : mcp_null_str;
}


void
mcp_setup_mark_backend(mcp_setup_t *backend, const mcp_setup_t *setup,
    mcp_str_t name)
{
    backend->is_backend = 1;

    /* mcp_describe() requests a description only from the backend in
     * mcp_backend, and only if the endpoint has no catalog */

    if (setup->catalog == NULL && mcp_str_eq(setup->backend, name)) {
        backend->is_described = 1;
    }
}


/* --- warnings --- */

typedef enum {
    MCP_SETUP_NO_TARGET = 0,
    MCP_SETUP_NO_UPSTREAM,
    MCP_SETUP_NO_UPSTREAM_SESSION,
    MCP_SETUP_NO_DESCRIPTION,
    MCP_SETUP_NOT_BACKEND,
    MCP_SETUP_NOT_ENDPOINT,
    MCP_SETUP_NOT_PUBLISH,
    MCP_SETUP_IN_PUBLISH,
    MCP_SETUP_IN_STATUS,
    MCP_SETUP_HAS_EFFECT
} mcp_setup_reason_e;


/* The texts for mcp_setup_reason_e in warnings, for nginx and for Apache. */
static const char *const  mcp_setup_reasons[MCP_SETUP_HAS_EFFECT][2] = {
    [MCP_SETUP_NO_TARGET] =
      { "move the directive into the location that \"mcp_backend\" or "
        "\"mcp_route\" names",
        "move the directive into the <Location> of the path that MCPBackend "
        "or MCPRoute names" },
    [MCP_SETUP_NO_UPSTREAM] =
      { "\"mcp_upstream\" is off",
        "MCPUpstream is off in this section" },
    [MCP_SETUP_NO_UPSTREAM_SESSION] =
      { "\"mcp_upstream\" is neither \"session\" nor \"auto\"",
        "MCPUpstream is neither \"session\" nor \"auto\"" },
    [MCP_SETUP_NO_DESCRIPTION] =
      { "it is used only for the \"mcp_backend\" of an endpoint without "
        "\"mcp_catalog\"",
        "it is used only for the path in MCPBackend of an endpoint without "
        "MCPCatalog" },
    [MCP_SETUP_NOT_BACKEND] =
      { "neither \"mcp_backend\" nor \"mcp_route\" names this location",
        "neither MCPBackend nor MCPRoute names the path of this section "
        "or a path below it" },
    [MCP_SETUP_NOT_ENDPOINT] =
      { "only locations with \"mcp\" use it",
        "only sections with \"SetHandler mcp\" use it" },
    [MCP_SETUP_NOT_PUBLISH] =
      { "only locations with \"mcp_publish\" use it",
        "only sections with \"SetHandler mcp-publish\" use it" },
    [MCP_SETUP_IN_PUBLISH] =
      { "locations with \"mcp_publish\" do not use it",
        "sections with \"SetHandler mcp-publish\" do not use it" },
    [MCP_SETUP_IN_STATUS] =
      { "locations with \"mcp_status\" do not use it",
        "sections with \"SetHandler mcp-status\" do not use it" }
};


/* Returns the reason why a directive whose name begins with "mcp_upstream" has
 * no effect in a section, or MCP_SETUP_HAS_EFFECT. */
static mcp_setup_reason_e
mcp_setup_upstream_reason(const mcp_setup_t *setup, unsigned directive)
{
    unsigned  form;

    form = mcp_setup_upstream(setup);

    if (directive == MCP_OPTION_UPSTREAM) {
        return setup->is_backend || form == MCP_UPSTREAM_OFF
               ? MCP_SETUP_HAS_EFFECT : MCP_SETUP_NOT_BACKEND;
    }

    if (form == MCP_UPSTREAM_OFF) {
        return MCP_SETUP_NO_UPSTREAM;
    }

    if (directive == MCP_OPTION_UPSTREAM_SESSION
        || directive == MCP_OPTION_UPSTREAM_LISTEN
        || directive == MCP_OPTION_UPSTREAM_MAX_SESSIONS)
    {
        return form == MCP_UPSTREAM_SESSION || form == MCP_UPSTREAM_AUTO
               ? MCP_SETUP_HAS_EFFECT : MCP_SETUP_NO_UPSTREAM_SESSION;
    }

    /* with mcp_upstream "auto", mcp_upstream_check also sets how long the
     * server's revision and its use of sessions are remembered */

    if (setup->is_described || !setup->is_backend
        || (directive == MCP_OPTION_UPSTREAM_CHECK
            && form == MCP_UPSTREAM_AUTO))
    {
        return MCP_SETUP_HAS_EFFECT;
    }

    return MCP_SETUP_NO_DESCRIPTION;
}


static mcp_setup_reason_e
mcp_setup_publish_reason(unsigned directive)
{
    switch (directive) {

    case MCP_OPTION_STREAM_AFTER:
    case MCP_OPTION_MAX_MESSAGE:
    case MCP_OPTION_MAX_DEPTH:
    case MCP_SETUP_NUMBER_key:
    case MCP_SETUP_NUMBER_principal:   /* for the log */
    case MCP_SETUP_NUMBER_publish_token:
    case MCP_SETUP_NUMBER_publish_open:
    case MCP_SETUP_NUMBER_max_body:
        return MCP_SETUP_HAS_EFFECT;

    default:
        return MCP_SETUP_IN_PUBLISH;
    }
}


/* Returns the reason why a directive has no effect in a section, or
 * MCP_SETUP_HAS_EFFECT. */
static mcp_setup_reason_e
mcp_setup_reason(const mcp_setup_t *setup, mcp_setup_section_e section,
    unsigned directive)
{
    if (mcp_option_is_upstream(directive)) {
        return section == MCP_SETUP_BACKEND || section == MCP_SETUP_OUTER
               ? mcp_setup_upstream_reason(setup, directive)
               : MCP_SETUP_NO_TARGET;
    }

    switch (directive) {

    case MCP_SETUP_NUMBER_publish_token:
    case MCP_SETUP_NUMBER_publish_open:
        return section == MCP_SETUP_PUBLISH || section == MCP_SETUP_OUTER
               ? MCP_SETUP_HAS_EFFECT : MCP_SETUP_NOT_PUBLISH;

    default:
        break;
    }

    switch (section) {

    case MCP_SETUP_PUBLISH:
        return mcp_setup_publish_reason(directive);

    case MCP_SETUP_STATUS:
        return MCP_SETUP_IN_STATUS;

    case MCP_SETUP_BACKEND:
        return MCP_SETUP_NOT_ENDPOINT;

    default: /* MCP_SETUP_OUTER, MCP_SETUP_ENDPOINT (mcp_setup_warning.c) */
        return MCP_SETUP_HAS_EFFECT;
    }
}


int
mcp_setup_section_warning(const mcp_setup_t *setup,
    mcp_setup_section_e section, int apache, unsigned *position, char *text)
{
    unsigned            directive;
    mcp_setup_reason_e  reason;

    while (*position < MCP_SETUP_NUMBERS) {
        directive = (*position)++;

        if (!mcp_setup_has_own(setup, directive)) {
            continue;
        }

        reason = mcp_setup_reason(setup, section, directive);

        if (reason != MCP_SETUP_HAS_EFFECT) {
            mcp_setup_warn_idle(text, directive, apache,
                                mcp_setup_reasons[reason]);
            return 1;
        }
    }

    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Finds valid settings that have no effect, or probably not the intended one.
 * Inherited directives without effect are ignored, because they may have an
 * effect in other sections.
 */


#include <stdio.h>

#include "config/mcp_catalog.h"
#include "config/mcp_setup_internal.h"


uint64_t
mcp_setup_connections(const mcp_setup_t *setup)
{
    uint64_t        n;
    mcp_endpoint_t  endpoint;

    memset(&endpoint, 0, sizeof(mcp_endpoint_t));
    mcp_options_apply(&setup->options, &endpoint);
    n = 0;

    if (endpoint.quota_key == MCP_QUOTA_KEY_OFF) {
        return 0;
    }

    if (endpoint.quota_streams != MCP_QUOTA_OFF) {
        n += 2 * endpoint.quota_streams;
    }

    if (endpoint.quota_listeners != MCP_QUOTA_OFF) {
        n += endpoint.quota_listeners;
    }

    return n;
}


/* --- directives of a section --- */

/*
 * The directives that a section itself sets, and the warnings about directives
 * that its kind of section never uses.
 */


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


/* Returns 1 if the section itself sets the directive with this number. */
static int
mcp_setup_has_own(const mcp_setup_t *setup, unsigned directive)
{
    if (directive < MCP_OPTION_COUNT) {
        return (setup->own >> directive & 1) != 0;
    }

    return (setup->own_others & mcp_setup_bit(directive, 1)) != 0;
}


/*
 * Writes the warning about a directive without effect. why[0] is the reason for
 * nginx, why[1] the reason for Apache.
 */
static void
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

    default: /* MCP_SETUP_OUTER, and MCP_SETUP_ENDPOINT: mcp_setup_warning() */
        return MCP_SETUP_HAS_EFFECT;
    }
}


/* Writes the next warning about a directive that has no effect in this kind of
 * section. Returns the same values as mcp_setup_warning(). */
static int
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


/* --- probable mistakes --- */

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


/*
 * Returns 1 if a route whose pattern is an exact string matches an item of the
 * catalog: the string is the name or the URI of an item, the text of a resource
 * template, or a URI that a template matches. Returns 0 if the route is
 * probably a mistake, because the catalog lists all items of the endpoint.
 */
static int
mcp_setup_route_names(const mcp_catalog_t *catalog,
    const mcp_setup_pattern_t *route)
{
    int        kind;
    mcp_str_t  uri, scope;

    uri = mcp_match_uri(route->match);

    for (kind = 0; kind < MCP_LIST_COUNT; kind++) {
        if (mcp_catalog_find(catalog, (mcp_list_e) kind, route->text).data
            || mcp_catalog_find(catalog, (mcp_list_e) kind, uri).data)
        {
            return 1;
        }
    }

    return mcp_catalog_has_template(catalog, uri, &scope);
}


/*
 * Returns the pattern of the first route that mcp_setup_route_names() finds
 * useless: the section itself sets the route, and its pattern is an exact
 * string. Returns mcp_null_str if there is no such route.
 */
static mcp_str_t
mcp_setup_route_nothing(const mcp_setup_t *setup)
{
    const mcp_setup_pattern_t  *route;

    route = setup->catalog
            && mcp_setup_has_own(setup, MCP_SETUP_NUMBER_route)
            ? setup->routes.first : NULL;

    for ( /* void */ ; route; route = route->next) {
        if (mcp_match_is_exact(route->match)
            && !mcp_setup_route_names(setup->catalog, route))
        {
            return route->text;
        }
    }

    return mcp_null_str;
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


/*
 * Returns the pattern of the first mcp_allow rule that the section itself sets
 * and that names a single item that the catalog does not have, or an empty
 * string.
 */
static mcp_str_t
mcp_setup_allow_nothing(const mcp_setup_t *setup)
{
    const mcp_setup_allow_t  *allow;

    allow = setup->catalog && mcp_setup_has_own(setup, MCP_SETUP_NUMBER_allow)
            ? setup->allows.first : NULL;

    for ( /* void */ ; allow; allow = allow->next) {
        if (allow->rule.match && mcp_match_is_exact(allow->rule.match)
            && !mcp_setup_allow_names(setup, &allow->rule))
        {
            return allow->rule.text;
        }
    }

    return mcp_null_str;
}


/* Returns 1 if the catalog has an array of items. catalog may be NULL. */
static int
mcp_setup_offers(const mcp_catalog_t *catalog)
{
    return catalog && (mcp_catalog_has(catalog, MCP_LIST_TOOLS)
                       || mcp_catalog_has(catalog, MCP_LIST_PROMPTS)
                       || mcp_catalog_has(catalog, MCP_LIST_RESOURCES)
                       || mcp_catalog_has(catalog, MCP_LIST_TEMPLATES));
}


typedef enum {
    MCP_SETUP_IS_EMPTY = 0,
    MCP_SETUP_HIDES_ITEM,
    MCP_SETUP_WAITS_LONG,
    MCP_SETUP_ROUTES_NOTHING,
    MCP_SETUP_LACKS_BACKEND,
    MCP_SETUP_ALLOWS_NOTHING,
    MCP_SETUP_LACKS_SCOPES,
    MCP_SETUP_ENDS_TASKS,
    MCP_SETUP_MISTAKES
} mcp_setup_mistake_e;


/* The texts of the warnings about mistakes, for nginx and for Apache. "%.*s" in
 * a text is the name of the item or of the route. */
static const char *const  mcp_setup_mistakes[MCP_SETUP_MISTAKES][2] = {

    [MCP_SETUP_IS_EMPTY] =
      { "has no \"mcp_catalog\", \"mcp_backend\" or \"mcp_route\", so clients "
        "find nothing there",
        "has no MCPCatalog, MCPBackend or MCPRoute, so clients find nothing "
        "there" },

    [MCP_SETUP_HIDES_ITEM] =
      { "hides \"%.*s\" from all callers, because no \"mcp_allow\" matches it: "
        "add \"mcp_allow * 1\" to show it, or \"mcp_allow * 0\" if it is meant "
        "to be hidden",
        "hides \"%.*s\" from all callers, because no MCPAllow matches it: add "
        "\"MCPAllow * true\" to show it, or \"MCPAllow * false\" if it is "
        "meant to be hidden" },

    [MCP_SETUP_WAITS_LONG] =
      { "has an \"mcp_min_wait\" that exceeds \"mcp_max_wait\", so clients "
        "that wait for \"mcp_min_wait\" resume too late: lower "
        "\"mcp_min_wait\"",
        "has an MCPMinWait that exceeds MCPMaxWait, so clients that wait for "
        "MCPMinWait resume too late: lower MCPMinWait" },

    [MCP_SETUP_ROUTES_NOTHING] =
      { "has \"mcp_route\" for \"%.*s\", which is not a name in its catalog: "
        "correct the name",
        "has MCPRoute for \"%.*s\", which is not a name in its catalog: "
        "correct the name" },

    [MCP_SETUP_LACKS_BACKEND] =
      { "has a catalog, but neither \"mcp_backend\" nor \"mcp_route\", so "
        "its calls will fail: set one of them",
        "has a catalog, but neither MCPBackend nor MCPRoute, so its calls will "
        "fail: set one of them" },

    [MCP_SETUP_ALLOWS_NOTHING] =
      { "has \"mcp_allow %.*s\", which matches no item of its catalog: correct "
        "the name",
        "has \"MCPAllow %.*s\", which matches no item of its catalog: correct "
        "the name" },

    [MCP_SETUP_LACKS_SCOPES] =
      { "has a catalog with \"x-mcp-scope\", but no \"mcp_granted_scopes\", "
        "so calls that need a scope will be refused: set "
        "\"mcp_granted_scopes\"",
        "has a catalog with \"x-mcp-scope\", but no MCPGrantedScopes, so "
        "calls that need a scope will be refused: set MCPGrantedScopes" },

    [MCP_SETUP_ENDS_TASKS] =
      { "has an \"mcp_task_ttl\" below \"mcp_call_timeout\", so tasks may "
        "expire while their backends still run: raise \"mcp_task_ttl\"",
        "has an MCPTaskTTL below MCPCallTimeout, so tasks may expire while "
        "their backends still run: raise MCPTaskTTL" }
};


/* Returns 1 if calls can become tasks: after mcp_task_after, or because the
 * catalog has a tool with "x-mcp-task". */
static int
mcp_setup_makes_tasks(const mcp_setup_t *setup, const mcp_endpoint_t *endpoint)
{
    return endpoint->task_after
           || (setup->catalog && mcp_catalog_info(setup->catalog)->tasks);
}


/* Returns 1 if the setup has the mistake. Sets *name to the name of the item or
 * route, or to an empty text if the mistake concerns neither. */
static int
mcp_setup_has_mistake(const mcp_setup_t *setup, const mcp_endpoint_t *endpoint,
    unsigned mistake, mcp_str_t *name)
{
    *name = mcp_null_str;

    switch (mistake) {

    case MCP_SETUP_IS_EMPTY:
        return setup->catalog == NULL && setup->backend.len == 0
               && setup->routes.n == 0;

    case MCP_SETUP_HIDES_ITEM:
        return mcp_setup_hides(setup, name);

    case MCP_SETUP_WAITS_LONG:
        return endpoint->min_wait > endpoint->max_wait;

    case MCP_SETUP_ROUTES_NOTHING:
        *name = mcp_setup_route_nothing(setup);
        return name->data != NULL;

    case MCP_SETUP_LACKS_BACKEND:
        return setup->backend.len == 0 && setup->routes.n == 0
               && mcp_setup_offers(setup->catalog);

    case MCP_SETUP_ALLOWS_NOTHING:
        *name = mcp_setup_allow_nothing(setup);
        return name->len != 0;

    case MCP_SETUP_LACKS_SCOPES:
        return setup->catalog && mcp_catalog_info(setup->catalog)->scoped
               && setup->granted_scopes == NULL;

    default: /* MCP_SETUP_ENDS_TASKS */
        return mcp_setup_makes_tasks(setup, endpoint)
               && endpoint->task_ttl < endpoint->call_timeout;
    }
}


/* --- directives without effect --- */

/* The conditions under which a directive has no effect. */
typedef enum {
    MCP_SETUP_NO_CATALOG = 0,
    MCP_SETUP_NO_JOIN,
    MCP_SETUP_NO_STATELESS,
    MCP_SETUP_NO_TASK,
    MCP_SETUP_NO_SESSION,
    MCP_SETUP_NO_BATCH,
    MCP_SETUP_NO_QUOTA,
    MCP_SETUP_STREAMS_FIRST,
    MCP_SETUP_ENDS_FIRST,
    MCP_SETUP_NO_SCOPE,
    MCP_SETUP_NO_RESOURCE,
    MCP_SETUP_NO_LINK,
    MCP_SETUP_NO_RECONNECT,
    MCP_SETUP_NO_BACKEND
} mcp_setup_lack_e;


/* The texts of the conditions in warnings, for nginx and for Apache. */
static const char *const  mcp_setup_lacks[][2] = {
    [MCP_SETUP_NO_CATALOG] =
      { "\"mcp_catalog\" is not set", "MCPCatalog is not set" },
    [MCP_SETUP_NO_JOIN] =
      { "no item of a catalog has \"x-mcp-join\"",
        "no item of a catalog has \"x-mcp-join\"" },
    [MCP_SETUP_NO_STATELESS] =
      { "\"mcp_revisions\" has only revisions with sessions",
        "MCPRevisions has only revisions with sessions" },
    [MCP_SETUP_NO_TASK] =
      { "\"mcp_task_after\" is off, and no item of a catalog has "
        "\"x-mcp-task\"",
        "MCPTaskAfter is off, and no item of a catalog has \"x-mcp-task\"" },
    [MCP_SETUP_NO_SESSION] =
      { "\"mcp_revisions\" has only revisions without sessions",
        "MCPRevisions has only revisions without sessions" },
    [MCP_SETUP_NO_BATCH] =
      { "\"mcp_revisions\" has no revision with batches",
        "MCPRevisions has no revision with batches" },
    [MCP_SETUP_NO_QUOTA] =
      { "\"mcp_quota_key\" is off", "MCPQuotaKey is off" },
    [MCP_SETUP_STREAMS_FIRST] =
      { "calls get a stream earlier, by \"mcp_stream_after\"",
        "calls get a stream earlier, by MCPStreamAfter" },
    [MCP_SETUP_ENDS_FIRST] =
      { "calls end earlier, by \"mcp_call_timeout\"",
        "calls end earlier, by MCPCallTimeout" },
    [MCP_SETUP_NO_SCOPE] =
      { "no item of a catalog has \"x-mcp-scope\"",
        "no item of a catalog has \"x-mcp-scope\"" },
    [MCP_SETUP_NO_RESOURCE] =
      { "\"mcp_auth_resource\" is not set", "MCPAuthResource is not set" },
    [MCP_SETUP_NO_LINK] = { "\"mcp_link\" is off", "MCPLink is off" },
    [MCP_SETUP_NO_RECONNECT] =
      { "\"mcp_resume_stateless\" is not \"all\"",
        "MCPResumeStateless is not \"all\"" },
    [MCP_SETUP_NO_BACKEND] =
      { "neither \"mcp_backend\" nor \"mcp_route\" is set",
        "neither MCPBackend nor MCPRoute is set" }
};


typedef struct {
    unsigned          directive;       /* MCP_OPTION_... or
                                          MCP_SETUP_NUMBER_... */
    mcp_setup_lack_e  lack;
} mcp_setup_idle_t;


static const mcp_setup_idle_t  mcp_setup_idle[] = {
    { MCP_OPTION_PAGE_SIZE, MCP_SETUP_NO_CATALOG },
    { MCP_OPTION_JOIN_WAIT, MCP_SETUP_NO_JOIN },
    { MCP_OPTION_CACHE_TTL, MCP_SETUP_NO_STATELESS },
    { MCP_OPTION_STATE_LIFETIME, MCP_SETUP_NO_STATELESS },
    { MCP_OPTION_STREAM_AFTER, MCP_SETUP_ENDS_FIRST },
    { MCP_OPTION_TASK_AFTER, MCP_SETUP_NO_STATELESS },
    { MCP_OPTION_TASK_AFTER, MCP_SETUP_ENDS_FIRST },
    { MCP_OPTION_TASK_TTL, MCP_SETUP_NO_STATELESS },
    { MCP_OPTION_TASK_TTL, MCP_SETUP_NO_TASK },
    { MCP_OPTION_RESUME_STATELESS, MCP_SETUP_NO_STATELESS },
    { MCP_OPTION_RECONNECT_WAIT, MCP_SETUP_NO_STATELESS },
    { MCP_OPTION_RECONNECT_WAIT, MCP_SETUP_NO_RECONNECT },
    { MCP_OPTION_RESUME_AFTER, MCP_SETUP_ENDS_FIRST },
    { MCP_OPTION_SESSION_LIFETIME, MCP_SETUP_NO_SESSION },
    { MCP_OPTION_MAX_SESSION_STREAMS, MCP_SETUP_NO_SESSION },
    { MCP_OPTION_LINK, MCP_SETUP_NO_SESSION },
    { MCP_OPTION_MAX_BATCH, MCP_SETUP_NO_BATCH },
    { MCP_OPTION_QUOTA_STREAMS, MCP_SETUP_NO_QUOTA },
    { MCP_OPTION_QUOTA_LISTENERS, MCP_SETUP_NO_QUOTA },
    { MCP_OPTION_QUOTA_VALUES, MCP_SETUP_NO_QUOTA },
    { MCP_OPTION_QUOTA_BYTES, MCP_SETUP_NO_QUOTA },
    { MCP_OPTION_POLICY_AFTER, MCP_SETUP_STREAMS_FIRST },
    { MCP_SETUP_NUMBER_granted_scopes, MCP_SETUP_NO_SCOPE },
    { MCP_SETUP_NUMBER_auth_server, MCP_SETUP_NO_RESOURCE },
    { MCP_SETUP_NUMBER_auth_scope, MCP_SETUP_NO_RESOURCE },
    { MCP_SETUP_NUMBER_link_origin, MCP_SETUP_NO_LINK },
    { MCP_SETUP_NUMBER_publish_url, MCP_SETUP_NO_BACKEND }
};

#define MCP_SETUP_IDLE  (sizeof(mcp_setup_idle) / sizeof(mcp_setup_idle[0]))


static int
mcp_setup_lacks_batches(const mcp_setup_t *setup)
{
    mcp_revision_e  revision;

    revision = MCP_REVISION_NONE;

    while ((revision = mcp_revision_next(revision)) != MCP_REVISION_NONE) {
        if ((mcp_setup_revisions(setup) & mcp_revision_bit(revision))
            && mcp_revision(revision)->batch)
        {
            return 0;
        }
    }

    return 1;
}


/*
 * Returns the age of a call, in ms, at which the option takes effect. 0 means
 * never, except for MCP_OPTION_STREAM_AFTER, where 0 means at once.
 */
static uint64_t
mcp_setup_after(const mcp_endpoint_t *endpoint, unsigned option)
{
    switch (option) {

    case MCP_OPTION_TASK_AFTER:
        return endpoint->task_after;

    case MCP_OPTION_RESUME_AFTER:
        return endpoint->resume_after;

    default: /* MCP_OPTION_STREAM_AFTER */
        return endpoint->stream_after;
    }
}


static int
mcp_setup_has_lack(const mcp_setup_t *setup, const mcp_endpoint_t *endpoint,
    const mcp_setup_idle_t *idle)
{
    const mcp_catalog_t  *catalog;

    catalog = setup->catalog;

    switch (idle->lack) {

    case MCP_SETUP_NO_CATALOG:
        return catalog == NULL;

    case MCP_SETUP_NO_JOIN:
        return catalog == NULL || !mcp_catalog_info(catalog)->joins;

    case MCP_SETUP_NO_STATELESS:
    case MCP_SETUP_NO_SESSION:
        return mcp_revision_latest(mcp_setup_revisions(setup),
                                   idle->lack == MCP_SETUP_NO_STATELESS)
               == MCP_REVISION_NONE;

    case MCP_SETUP_NO_TASK:
        return !mcp_setup_makes_tasks(setup, endpoint);

    case MCP_SETUP_NO_BATCH:
        return mcp_setup_lacks_batches(setup);

    case MCP_SETUP_NO_QUOTA:
        return endpoint->quota_key == MCP_QUOTA_KEY_OFF;

    case MCP_SETUP_STREAMS_FIRST:
        return endpoint->policy_after >= endpoint->stream_after
               && (catalog == NULL
                   || endpoint->policy_after
                      >= mcp_catalog_info(catalog)->stream_after);

    case MCP_SETUP_ENDS_FIRST:
        return mcp_setup_after(endpoint, idle->directive)
               > endpoint->call_timeout;

    case MCP_SETUP_NO_SCOPE:
        return catalog == NULL || !mcp_catalog_info(catalog)->scoped;

    case MCP_SETUP_NO_RESOURCE:
        return setup->auth_resource.len == 0;

    case MCP_SETUP_NO_LINK:
        return !endpoint->link;

    case MCP_SETUP_NO_RECONNECT:
        return endpoint->resume_stateless != MCP_RESUME_STATELESS_ALL;

    default: /* MCP_SETUP_NO_BACKEND */
        return setup->backend.len == 0 && setup->routes.n == 0;
    }
}


/* Writes the next warning about an endpoint, see mcp_setup_warning(). */
static int
mcp_setup_endpoint_warning(const mcp_setup_t *setup, int apache,
    unsigned *position, char *text)
{
    unsigned                 n;
    mcp_str_t                name;
    mcp_endpoint_t           endpoint;
    const mcp_setup_idle_t  *idle;

    memset(&endpoint, 0, sizeof(mcp_endpoint_t));
    mcp_options_apply(&setup->options, &endpoint);

    while (*position < MCP_SETUP_MISTAKES) {
        n = (*position)++;

        if (mcp_setup_has_mistake(setup, &endpoint, n, &name)) {
            (void) snprintf(text, MCP_SETUP_ERROR_MAX,
                            mcp_setup_mistakes[n][apache],
                            mcp_setup_quote(name));
            return 1;
        }
    }

    while (*position < MCP_SETUP_MISTAKES + MCP_SETUP_IDLE) {
        idle = &mcp_setup_idle[(*position)++ - MCP_SETUP_MISTAKES];

        if (mcp_setup_has_own(setup, idle->directive)
            && mcp_setup_has_lack(setup, &endpoint, idle))
        {
            mcp_setup_warn_idle(text, idle->directive, apache,
                                mcp_setup_lacks[idle->lack]);
            return 1;
        }
    }

    return 0;
}


int
mcp_setup_warning(const mcp_setup_t *setup, mcp_setup_section_e section,
    int apache, unsigned *position, char *text)
{
    int  found;

    apache = apache != 0;

    if (mcp_setup_section_warning(setup, section, apache, position, text)) {
        return 1;
    }

    if (section != MCP_SETUP_ENDPOINT) {
        return 0;
    }

    /* positions below MCP_SETUP_NUMBERS belong to the warnings of
     * mcp_setup_section_warning() */

    *position -= MCP_SETUP_NUMBERS;
    found = mcp_setup_endpoint_warning(setup, apache, position, text);
    *position += MCP_SETUP_NUMBERS;

    return found;
}

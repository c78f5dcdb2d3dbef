/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Finds directives of an endpoint's own section that cannot have an effect
 * there. Inherited directives are ignored, because they may have an effect in
 * other sections.
 */


#include <stdio.h>

#include "config/mcp_catalog.h"
#include "config/mcp_setup_internal.h"
#include "rpc/mcp_revision.h"


typedef struct {
    unsigned      option;              /* mcp_option_e, or
                                          MCP_SETUP_IDLE_... */
    int         (*is_idle)(const mcp_setup_t *setup,
                           const mcp_endpoint_t *endpoint);
    const char   *why[2];              /* reason why the directive has no
                                          effect, for nginx and for Apache */
} mcp_setup_idle_t;

/* Values of mcp_setup_idle_t.option for directives that are not options. */
enum {
    MCP_SETUP_IDLE_SCOPES = MCP_OPTION_COUNT,
    MCP_SETUP_IDLE_AUTH,
    MCP_SETUP_IDLE_ORIGIN
};


#define MCP_SETUP_NAME(id, member, nginx, apache, kind, off, min, max, def)   \
    [MCP_OPTION_##id] = { "\"" nginx "\"", apache },

static const char  *const mcp_setup_idle_names[][2] = {
    MCP_OPTIONS(MCP_SETUP_NAME)
    [MCP_SETUP_IDLE_SCOPES] = { "\"mcp_granted_scopes\"", "MCPGrantedScopes" },
    [MCP_SETUP_IDLE_AUTH] =
        { "\"mcp_auth_server\" or \"mcp_auth_scopes\"",
          "MCPAuthServer or MCPAuthScopes" },
    [MCP_SETUP_IDLE_ORIGIN] = { "\"mcp_link_origin\"", "MCPLinkOrigin" }
};


static uint32_t
mcp_setup_revisions(const mcp_setup_t *setup)
{
    return setup->revisions ? setup->revisions : MCP_REVISION_ALL;
}


static int
mcp_setup_lacks_catalog(const mcp_setup_t *setup,
    const mcp_endpoint_t *endpoint)
{
    (void) endpoint;

    return setup->catalog == NULL;
}


static int
mcp_setup_lacks_joins(const mcp_setup_t *setup, const mcp_endpoint_t *endpoint)
{
    (void) endpoint;

    return setup->catalog == NULL || !mcp_catalog_joins(setup->catalog);
}


static int
mcp_setup_lacks_scoped(const mcp_setup_t *setup,
    const mcp_endpoint_t *endpoint)
{
    (void) endpoint;

    return setup->catalog == NULL || !mcp_catalog_scoped(setup->catalog);
}


static int
mcp_setup_lacks_stateless(const mcp_setup_t *setup,
    const mcp_endpoint_t *endpoint)
{
    (void) endpoint;

    return mcp_revision_latest(mcp_setup_revisions(setup), 1)
           == MCP_REVISION_NONE;
}


static int
mcp_setup_lacks_sessions(const mcp_setup_t *setup,
    const mcp_endpoint_t *endpoint)
{
    (void) endpoint;

    return mcp_revision_latest(mcp_setup_revisions(setup), 0)
           == MCP_REVISION_NONE;
}


static int
mcp_setup_lacks_batches(const mcp_setup_t *setup,
    const mcp_endpoint_t *endpoint)
{
    mcp_revision_e  revision;

    (void) endpoint;

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


static int
mcp_setup_lacks_tasks(const mcp_setup_t *setup, const mcp_endpoint_t *endpoint)
{
    return endpoint->task_after == 0
           && (setup->catalog == NULL || !mcp_catalog_tasks(setup->catalog));
}


static int
mcp_setup_lacks_shares(const mcp_setup_t *setup,
    const mcp_endpoint_t *endpoint)
{
    (void) setup;

    return endpoint->quota_key == MCP_QUOTA_KEY_OFF;
}


/*
 * Returns 1 if mcp_policy_after has no effect: it is not less than
 * mcp_stream_after of the endpoint, nor than the longest stream_after of an
 * item in the catalog.
 */
static int
mcp_setup_streams_first(const mcp_setup_t *setup,
    const mcp_endpoint_t *endpoint)
{
    uint64_t  longest;

    longest = setup->catalog ? mcp_catalog_stream_after(setup->catalog) : 0;

    return endpoint->policy_after >= endpoint->stream_after
           && endpoint->policy_after >= longest;
}


static int
mcp_setup_lacks_resource(const mcp_setup_t *setup,
    const mcp_endpoint_t *endpoint)
{
    (void) endpoint;

    return setup->auth_resource.len == 0;
}


static int
mcp_setup_lacks_link(const mcp_setup_t *setup, const mcp_endpoint_t *endpoint)
{
    (void) setup;

    return !endpoint->link;
}


#define MCP_SETUP_NO_CATALOG                                                  \
    { "there is no \"mcp_catalog\"", "there is no MCPCatalog" }

#define MCP_SETUP_NO_STATELESS                                                \
    { "\"mcp_revisions\" has no revision without sessions",                   \
      "MCPRevisions has no revision without sessions" }

#define MCP_SETUP_NO_SHARES                                                   \
    { "\"mcp_quota_key\" is off", "MCPQuotaKey is off" }

static const mcp_setup_idle_t  mcp_setup_idle[] = {

    { MCP_OPTION_PAGE_SIZE, mcp_setup_lacks_catalog, MCP_SETUP_NO_CATALOG },

    { MCP_OPTION_JOIN_WAIT, mcp_setup_lacks_joins,
      { "no item of a catalog has \"x-mcp-join\"",
        "no item of a catalog has \"x-mcp-join\"" } },

    { MCP_OPTION_CACHE_TTL, mcp_setup_lacks_stateless,
      MCP_SETUP_NO_STATELESS },
    { MCP_OPTION_STATE_LIFETIME, mcp_setup_lacks_stateless,
      MCP_SETUP_NO_STATELESS },
    { MCP_OPTION_TASK_AFTER, mcp_setup_lacks_stateless,
      MCP_SETUP_NO_STATELESS },
    { MCP_OPTION_TASK_TTL, mcp_setup_lacks_stateless,
      MCP_SETUP_NO_STATELESS },

    { MCP_OPTION_TASK_TTL, mcp_setup_lacks_tasks,
      { "\"mcp_task_after\" is off, and no item of a catalog has "
        "\"x-mcp-task\"",
        "MCPTaskAfter is off, and no item of a catalog has \"x-mcp-task\"" } },

    { MCP_OPTION_SESSION_LIFETIME, mcp_setup_lacks_sessions,
      { "\"mcp_revisions\" has no revision with sessions",
        "MCPRevisions has no revision with sessions" } },

    { MCP_OPTION_MAX_BATCH, mcp_setup_lacks_batches,
      { "\"mcp_revisions\" has no revision with batches",
        "MCPRevisions has no revision with batches" } },

    { MCP_OPTION_QUOTA_STREAMS, mcp_setup_lacks_shares,
      MCP_SETUP_NO_SHARES },
    { MCP_OPTION_QUOTA_LISTENERS, mcp_setup_lacks_shares,
      MCP_SETUP_NO_SHARES },
    { MCP_OPTION_QUOTA_VALUES, mcp_setup_lacks_shares,
      MCP_SETUP_NO_SHARES },
    { MCP_OPTION_QUOTA_BYTES, mcp_setup_lacks_shares,
      MCP_SETUP_NO_SHARES },

    { MCP_OPTION_POLICY_AFTER, mcp_setup_streams_first,
      { "calls get a stream earlier, by \"mcp_stream_after\"",
        "calls get a stream earlier, by MCPStreamAfter" } },

    { MCP_SETUP_IDLE_SCOPES, mcp_setup_lacks_scoped,
      { "no item of a catalog has \"x-mcp-scope\"",
        "no item of a catalog has \"x-mcp-scope\"" } },

    { MCP_SETUP_IDLE_AUTH, mcp_setup_lacks_resource,
      { "there is no \"mcp_auth_resource\"", "there is no MCPAuthResource" } },

    { MCP_SETUP_IDLE_ORIGIN, mcp_setup_lacks_link,
      { "\"mcp_link\" is off", "MCPLink is off" } }
};

#define MCP_SETUP_IDLE  (sizeof(mcp_setup_idle) / sizeof(mcp_setup_idle[0]))


void
mcp_setup_mark_own(mcp_setup_t *setup, int link_origin)
{
    setup->own_origin = link_origin != 0;
    setup->own_routes = setup->routes.n != 0;
    setup->own = setup->options.set;
    setup->own_scopes = setup->granted_scopes != NULL;
    setup->own_auth = setup->auth_servers.n != 0 || setup->auth_scopes.n != 0;
}


int
mcp_setup_is_empty_section(const mcp_setup_t *setup)
{
    return setup->options.set == 0 && setup->name.data == NULL
           && setup->backend.data == NULL && setup->publish_token.data == NULL
           && setup->publish_url.data == NULL
           && setup->auth_resource.data == NULL && setup->auth_servers.n == 0
           && setup->auth_scopes.n == 0 && setup->keys == NULL
           && setup->catalog == NULL && setup->routes.n == 0
           && setup->origins.n == 0 && !setup->any_origin
           && setup->allows.n == 0 && setup->granted_scopes == NULL
           && setup->revisions == 0;
}


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


static int
mcp_setup_has_own(const mcp_setup_t *setup, unsigned option)
{
    switch (option) {

    case MCP_SETUP_IDLE_SCOPES:
        return setup->own_scopes;

    case MCP_SETUP_IDLE_AUTH:
        return setup->own_auth;

    case MCP_SETUP_IDLE_ORIGIN:
        return setup->own_origin;

    default:
        return (setup->own >> option & 1) != 0;
    }
}


/*
 * Returns 1 if the catalog, which lists all items, has the name of an exact
 * route.
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
 * Returns the first exact route of the section itself that no call can use;
 * its data is NULL if there is none.
 */
static mcp_str_t
mcp_setup_route_nothing(const mcp_setup_t *setup)
{
    const mcp_setup_pattern_t  *route;

    route = setup->catalog && setup->own_routes ? setup->routes.first : NULL;

    for ( /* void */ ; route; route = route->next) {
        if (mcp_match_is_exact(route->match)
            && !mcp_setup_route_names(setup->catalog, route))
        {
            return route->text;
        }
    }

    return mcp_null_str;
}


int
mcp_setup_warning_idle(const mcp_setup_t *setup, int apache,
    unsigned *position, char *text)
{
    mcp_str_t                route;
    mcp_endpoint_t           endpoint;
    const mcp_setup_idle_t  *idle;

    apache = apache != 0;

    if (*position == 0) {
        (*position)++;
        route = mcp_setup_route_nothing(setup);

        if (route.data != NULL) {
            (void) snprintf(text, MCP_SETUP_ERROR_MAX,
                            "has %s for \"%.*s\", which is not a name in its "
                            "catalog: correct the name",
                            apache ? "MCPRoute" : "\"mcp_route\"",
                            mcp_setup_quote(route));
            return 1;
        }
    }

    memset(&endpoint, 0, sizeof(mcp_endpoint_t));
    mcp_options_apply(&setup->options, &endpoint);

    while (*position <= MCP_SETUP_IDLE) {
        idle = &mcp_setup_idle[(*position)++ - 1];

        if (mcp_setup_has_own(setup, idle->option)
            && idle->is_idle(setup, &endpoint))
        {
            (void) snprintf(text, MCP_SETUP_ERROR_MAX,
                            "has %s, which has no effect: %s",
                            mcp_setup_idle_names[idle->option][apache],
                            idle->why[apache]);
            return 1;
        }
    }

    return 0;
}

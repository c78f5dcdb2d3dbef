/* SPDX-License-Identifier: Apache-2.0 */

/* Merges setups, and makes an endpoint from a setup. */


#include "config/mcp_setup_internal.h"
#include "rpc/mcp_result.h"


/* The default of mcp_stream_buffer is at most 1/8 of the zone, so that one
 * stream, which takes up to twice mcp_stream_buffer, leaves at least 3/4 of the
 * zone to other streams. */
#define MCP_SETUP_STREAM_SHARE  8


static void
mcp_setup_inherit(mcp_str_t *member, mcp_str_t parent)
{
    if (member->data == NULL) {
        *member = parent;
    }
}


void
mcp_setup_merge(mcp_setup_t *setup, const mcp_setup_t *parent)
{
    mcp_options_merge(&setup->options, &parent->options);

    if (setup->name.data == NULL) {
        setup->name = parent->name;
        setup->version = parent->version;
        setup->title = parent->title;
    }

    mcp_setup_inherit(&setup->backend, parent->backend);
    mcp_setup_inherit(&setup->publish_token, parent->publish_token);
    mcp_setup_inherit(&setup->publish_url, parent->publish_url);
    mcp_setup_inherit(&setup->identity, parent->identity);
    mcp_setup_inherit(&setup->path, parent->path);

    mcp_setup_merge_auth(setup, parent);

    if (setup->keys == NULL) {
        setup->keys = parent->keys;
    }

    if (setup->catalog == NULL) {
        setup->catalog = parent->catalog;
        setup->catalog_file = parent->catalog_file;
        setup->catalog_key = parent->catalog_key;
        setup->label = parent->label;
    }

    if (setup->routes.last == NULL) {
        setup->routes = parent->routes;
    }

    if (setup->allows.last == NULL) {
        setup->allows = parent->allows;
    }

    if (setup->granted_scopes == NULL) {
        setup->granted_scopes = parent->granted_scopes;
    }

    /* "*" and other origins are values of one directive, inherited together */

    if (setup->origins.last == NULL && !setup->any_origin) {
        setup->origins = parent->origins;
        setup->any_origin = parent->any_origin;
    }

    if (setup->revisions == 0) {
        setup->revisions = parent->revisions;
    }
}


static unsigned
mcp_setup_add_target(mcp_setup_t *setup, mcp_str_t target)
{
    unsigned  i;

    for (i = 0; i < setup->n_targets; i++) {
        if (mcp_str_eq(setup->targets[i].name, target)) {
            return i;
        }
    }

    setup->targets[setup->n_targets++] = (mcp_target_t) {
        .name = target, .upstream = MCP_UPSTREAM_OFF, .check = 0, .stale = 0
    };

    return i;
}


/*
 * Appends routes of the setup to the endpoint's n routes: those with exact
 * names if exact is 1, all others if exact is 0. Returns the new number of
 * routes.
 */
static size_t
mcp_setup_add_routes(mcp_setup_t *setup, int exact, mcp_route_t *routes,
    size_t n)
{
    const mcp_setup_pattern_t  *pattern;

    for (pattern = setup->routes.first; pattern; pattern = pattern->next) {
        if (mcp_match_is_exact(pattern->match) == exact) {
            routes[n].match = pattern->match;
            routes[n].target = mcp_setup_add_target(setup, pattern->target);
            n++;
        }
    }

    return n;
}


/* Sorts the routes of an endpoint. mcp_endpoint_route() takes the first
 * route that matches. */
static int
mcp_setup_make_routes(mcp_setup_t *setup, mcp_endpoint_t *endpoint)
{
    size_t        n;
    mcp_route_t  *routes;

    n = setup->routes.n;

    setup->targets = mcp_arena_alloc(&setup->arena,
                                     (n + 1) * sizeof(mcp_target_t));
    routes = mcp_arena_alloc(&setup->arena, (n + 1) * sizeof(mcp_route_t));

    if (setup->targets == NULL || routes == NULL) {
        return MCP_ERR_MEMORY;
    }

    setup->n_targets = 0;

    endpoint->target = setup->backend.len
                       ? mcp_setup_add_target(setup, setup->backend)
                       : MCP_NO_TARGET;

    /* routes with exact names precede routes with regular expressions,
     * regardless of their order in the configuration */

    n = mcp_setup_add_routes(setup, 1, routes, 0);
    n = mcp_setup_add_routes(setup, 0, routes, n);

    endpoint->routes = routes;
    endpoint->n_routes = n;

    return MCP_OK;
}


static int
mcp_setup_make_origins(mcp_setup_t *setup, mcp_endpoint_t *endpoint)
{
    size_t                      n;
    mcp_match_t               **origins;
    const mcp_setup_pattern_t  *pattern;

    endpoint->any_origin = setup->any_origin;

    if (setup->origins.n == 0) {
        return MCP_OK;
    }

    origins = mcp_arena_alloc(&setup->arena,
                              setup->origins.n * sizeof(mcp_match_t *));
    if (origins == NULL) {
        return MCP_ERR_MEMORY;
    }

    n = 0;

    for (pattern = setup->origins.first; pattern; pattern = pattern->next) {
        origins[n++] = pattern->match;
    }

    endpoint->origins = origins;
    endpoint->n_origins = n;

    return MCP_OK;
}


/*
 * Sets endpoint->result_members to the members that each result of a stateless
 * revision has: resultType, and _meta with the name and version of the server.
 * Returns MCP_OK or MCP_ERR_MEMORY.
 */
static int
mcp_setup_make_members(mcp_setup_t *setup, mcp_endpoint_t *endpoint)
{
    mcp_buf_t  info, members;

    mcp_buf_init(&info, setup->mem, SIZE_MAX / 2);
    mcp_buf_init(&members, setup->mem, SIZE_MAX / 2);

    mcp_endpoint_info(endpoint, mcp_revision_latest(MCP_REVISION_ALL, 1),
                      &info);
    mcp_result_members(&members, mcp_buf_text(&info));

    members.failed |= info.failed;
    mcp_buf_free(&info);
    endpoint->result_members = mcp_arena_take(&setup->arena, &members);

    return endpoint->result_members.data ? MCP_OK : MCP_ERR_MEMORY;
}


/*
 * Sets endpoint->auth. It becomes NULL if there is no resource, or if there is
 * a resource without an authorization server. A missing authorization server is
 * an error, but it is not reported here, because the glue calls
 * mcp_setup_auth() as well and reports it. Returns MCP_OK or MCP_ERR_MEMORY.
 */
static int
mcp_setup_add_auth(mcp_setup_t *setup, mcp_endpoint_t *endpoint)
{
    char  error[MCP_SETUP_ERROR_MAX];

    switch (mcp_setup_auth(setup, &endpoint->auth, error)) {

    case MCP_OK:
    case MCP_ERR_CONFIG:
        return MCP_OK;

    default:
        return MCP_ERR_MEMORY;
    }
}


mcp_endpoint_t *
mcp_setup_endpoint(mcp_setup_t *setup, const mcp_keys_t *keys, mcp_str_t name,
    mcp_str_t version, int has_principal)
{
    mcp_endpoint_t        *endpoint;
    mcp_upstream_about_t  *about;

    endpoint = mcp_arena_calloc(&setup->arena, sizeof(mcp_endpoint_t));
    about = setup->catalog ? NULL
            : mcp_arena_calloc(&setup->arena, sizeof(mcp_upstream_about_t));

    if (endpoint == NULL || (about == NULL && setup->catalog == NULL)) {
        return NULL;
    }

    if (mcp_setup_make_routes(setup, endpoint) != MCP_OK
        || mcp_setup_make_origins(setup, endpoint) != MCP_OK
        || mcp_setup_add_auth(setup, endpoint) != MCP_OK
        || mcp_setup_make_allows(setup, endpoint) != MCP_OK)
    {
        return NULL;
    }

    endpoint->name = setup->name.data ? setup->name : name;
    endpoint->version = setup->name.data ? setup->version : version;
    endpoint->title = setup->title;
    endpoint->named = setup->name.data != NULL;
    endpoint->targets = setup->targets;
    endpoint->n_targets = setup->n_targets;
    endpoint->keys = setup->keys ? setup->keys : keys;
    endpoint->catalog = setup->catalog;
    endpoint->about = about;
    endpoint->revisions = mcp_setup_revisions(setup);
    endpoint->publish_url = setup->publish_url;
    endpoint->identity = mcp_setup_identity(setup);
    endpoint->has_principal = has_principal ? 1 : 0;

    if (setup->catalog_key) {
        memcpy(endpoint->catalog_key, setup->catalog_key, MCP_DIGEST_LEN);
        endpoint->label = setup->label;
    }

    mcp_options_apply(&setup->options, endpoint);

    return mcp_setup_make_members(setup, endpoint) == MCP_OK ? endpoint : NULL;
}


void
mcp_setup_fit(const mcp_setup_t *setup, uint64_t size, mcp_endpoint_t *endpoint)
{
    if (!mcp_options_has(&setup->options, MCP_OPTION_STREAM_BUFFER)
        && endpoint->stream_buffer > size / MCP_SETUP_STREAM_SHARE)
    {
        endpoint->stream_buffer = size / MCP_SETUP_STREAM_SHARE;
    }
}


int
mcp_setup_fills_zone(const mcp_setup_t *setup, uint64_t size)
{
    mcp_endpoint_t  endpoint;

    mcp_options_apply(&setup->options, &endpoint);
    mcp_setup_fit(setup, size, &endpoint);

    /* if stream_buffer is a quarter of the zone, one stream can fill half the
     * zone: a stream keeps up to stream_buffer bytes of unsent events, and as
     * many bytes of events that were sent (mcp_store_append()) */

    return endpoint.stream_buffer >= size / 4;
}


unsigned
mcp_setup_targets(const mcp_setup_t *setup)
{
    return setup->n_targets;
}


mcp_str_t
mcp_setup_target(const mcp_setup_t *setup, unsigned target)
{
    return setup->targets[target].name;
}


int
mcp_setup_has_upstream(const mcp_setup_t *setup)
{
    return mcp_options_has(&setup->options, MCP_OPTION_UPSTREAM);
}


unsigned
mcp_setup_upstream(const mcp_setup_t *setup)
{
    mcp_endpoint_t  endpoint;

    mcp_options_apply(&setup->options, &endpoint);

    return endpoint.upstream;
}


#define MCP_SETUP_DIFFERS(id, member, nginx, apache, kind, off, min, max, def) \
    || (mcp_option_is_upstream(MCP_OPTION_##id) && x.member != y.member)

int
mcp_setup_same_upstream(const mcp_setup_t *a, const mcp_setup_t *b)
{
    mcp_endpoint_t  x, y;

    mcp_options_apply(&a->options, &x);
    mcp_options_apply(&b->options, &y);

    return !(0 MCP_OPTIONS(MCP_SETUP_DIFFERS));
}


void
mcp_setup_set_upstream(mcp_setup_t *setup, unsigned target,
    const mcp_setup_t *backend)
{
    mcp_endpoint_t  endpoint;

    mcp_options_apply(&backend->options, &endpoint);

    setup->targets[target].upstream = endpoint.upstream;
    setup->targets[target].check = endpoint.upstream_check;
    setup->targets[target].stale = endpoint.upstream_stale;
    setup->targets[target].session = endpoint.upstream_session;
    setup->targets[target].lists = endpoint.upstream_lists;
    setup->targets[target].listens = endpoint.upstream_listen;
    setup->targets[target].max_sessions = endpoint.upstream_max_sessions;
}


mcp_str_t
mcp_setup_publish_secret(const mcp_setup_t *setup)
{
    return setup->publish_token;
}


int
mcp_setup_check_headers(const mcp_setup_t *setup,
    int (*drops)(void *ctx, mcp_str_t name), void *ctx, char *error)
{
    size_t                       line;
    const mcp_catalog_header_t  *header;

    if (setup->catalog == NULL
        || mcp_revision_latest(mcp_setup_revisions(setup), 1)
           == MCP_REVISION_NONE)
    {
        return MCP_OK;
    }

    header = mcp_catalog_header_dropped(setup->catalog, drops, ctx, &line);

    if (header == NULL) {
        return MCP_OK;
    }

    return mcp_setup_fail(error,
                          "%.*s: line %zu: the header \"Mcp-Param-%.*s\"",
                          mcp_setup_quote(setup->catalog_file), line,
                          mcp_setup_quote(header->name));
}

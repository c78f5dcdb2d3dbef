/* SPDX-License-Identifier: Apache-2.0 */

#include "config/mcp_endpoint_internal.h"
#include "rpc/mcp_upstream_body.h"


const mcp_auth_t *
mcp_endpoint_auth(const mcp_endpoint_t *endpoint)
{
    return endpoint->auth;
}


int
mcp_endpoint_has_error_headers(const mcp_endpoint_t *endpoint)
{
    return endpoint->auth || endpoint->n_origins || endpoint->any_origin;
}


size_t
mcp_endpoint_rules(const mcp_endpoint_t *endpoint)
{
    return endpoint->n_allow;
}


const void *
mcp_endpoint_expression(const mcp_endpoint_t *endpoint, size_t i)
{
    return i < endpoint->n_allow ? endpoint->allow[i].value
                                 : endpoint->granted_scopes;
}


unsigned
mcp_endpoint_route(const mcp_endpoint_t *endpoint, mcp_str_t name)
{
    size_t  i;

    for (i = 0; i < endpoint->n_routes; i++) {
        if (mcp_match(endpoint->routes[i].match, name)) {
            return endpoint->routes[i].target;
        }
    }

    return endpoint->target;
}


mcp_str_t
mcp_endpoint_key(const mcp_endpoint_t *endpoint, int is_clustered)
{
    if (is_clustered) {
        return endpoint->identity;
    }

    return (mcp_str_t) { (const char *) endpoint->catalog_key, MCP_DIGEST_LEN };
}


mcp_str_t
mcp_endpoint_target(const mcp_endpoint_t *endpoint, unsigned target)
{
    return endpoint->targets ? endpoint->targets[target].name : mcp_null_str;
}


/* Returns the part after the last '@' or '/' in the name of a target (a backend
 * that the endpoint uses). */
static mcp_str_t
mcp_endpoint_short_name(const mcp_endpoint_t *endpoint, unsigned target)
{
    size_t     i;
    mcp_str_t  name;

    name = mcp_endpoint_target(endpoint, target);

    for (i = name.len; i; i--) {
        if (name.data[i - 1] == '@' || name.data[i - 1] == '/') {
            return (mcp_str_t) { name.data + i, name.len - i };
        }
    }

    return name;
}


mcp_str_t
mcp_endpoint_target_in_cluster(const mcp_endpoint_t *endpoint, unsigned target)
{
    unsigned   i;
    mcp_str_t  name;

    name = mcp_endpoint_short_name(endpoint, target);

    for (i = 0; i < endpoint->n_targets; i++) {
        if (i != target
            && mcp_str_eq(mcp_endpoint_short_name(endpoint, i), name))
        {
            return mcp_endpoint_target(endpoint, target);
        }
    }

    return name;
}


mcp_upstream_e
mcp_endpoint_upstream(const mcp_endpoint_t *endpoint, unsigned target)
{
    return endpoint->targets && target != MCP_NO_TARGET
           ? (mcp_upstream_e) endpoint->targets[target].upstream
           : MCP_UPSTREAM_OFF;
}


mcp_upstream_about_t *
mcp_endpoint_describer(const mcp_endpoint_t *endpoint)
{
    return mcp_endpoint_upstream(endpoint, endpoint->target) == MCP_UPSTREAM_OFF
           ? NULL : endpoint->about;
}


/* Returns the description of the MCP server that is the default backend; NULL
 * if the endpoint needs none, or the server has not sent one yet. */
static const mcp_upstream_about_t *
mcp_endpoint_about(const mcp_endpoint_t *endpoint)
{
    const mcp_upstream_about_t  *about;

    about = mcp_endpoint_describer(endpoint);

    return about && about->at ? about : NULL;
}


mcp_str_t
mcp_endpoint_upstream_version(const mcp_endpoint_t *endpoint,
    unsigned target)
{
    const mcp_upstream_about_t  *about;

    about = mcp_endpoint_about(endpoint);

    return about && about->version.len && target == endpoint->target
           ? about->version : mcp_str(MCP_UPSTREAM_STATELESS_VERSION);
}


mcp_str_t
mcp_endpoint_instructions(const mcp_endpoint_t *endpoint)
{
    const mcp_upstream_about_t  *about;

    if (endpoint->catalog) {
        return mcp_catalog_info(endpoint->catalog)->instructions;
    }

    about = mcp_endpoint_about(endpoint);

    return about ? about->instructions : mcp_null_str;
}


int
mcp_endpoint_offers(const mcp_endpoint_t *endpoint, mcp_list_e kind)
{
    if (endpoint->catalog == NULL) {
        return endpoint->target != MCP_NO_TARGET;
    }

    return mcp_catalog_has(endpoint->catalog, kind);
}


int
mcp_endpoint_completes(const mcp_endpoint_t *endpoint)
{
    if (endpoint->catalog == NULL) {
        return endpoint->target != MCP_NO_TARGET;
    }

    return mcp_catalog_info(endpoint->catalog)->completions;
}


/*
 * Appends the resumption methods that the endpoint offers, by the names that
 * their proposals define. URLs of streams, which clients need not declare,
 * have the name "streamLinks", which is defined by this project.
 */
static void
mcp_endpoint_resume_methods(const mcp_endpoint_t *endpoint, int stateless,
    mcp_buf_t *buf)
{
    if (endpoint->max_wait == 0) {
        return;
    }

    mcp_buf_lit(buf, ",\"experimental\":{\"resumableRequests\":{},");

    if (!stateless) {
        mcp_buf_lit(buf, "\"streams\":{},");
    }

    mcp_buf_lit(buf, "\"resumeTokens\":{}");

    if (endpoint->link && !stateless) {
        mcp_buf_lit(buf, ",\"streamLinks\":{}");
    }

    mcp_buf_lit(buf, "}");
}


/*
 * Appends the member "extensions": the extensions in the catalog and, for
 * clients of stateless revisions, the tasks extension if calls of the endpoint
 * can become tasks.
 */
static void
mcp_endpoint_extensions(const mcp_endpoint_t *endpoint, int stateless,
    mcp_buf_t *buf)
{
    int        tasks;
    mcp_str_t  others;

    tasks = stateless && mcp_endpoint_makes_tasks(endpoint);
    others = endpoint->catalog ? mcp_catalog_info(endpoint->catalog)->extensions
                               : mcp_null_str;

    if (!tasks && others.len == 0) {
        return;
    }

    mcp_buf_lit(buf, ",\"extensions\":");

    if (!tasks) {
        mcp_buf_str(buf, others);
        return;
    }

    mcp_buf_lit(buf, "{\"" MCP_CLIENT_TASKS_NAME "\":{}");

    if (others.len > 2) {
        mcp_buf_lit(buf, ",");
        mcp_buf_add(buf, others.data + 1, others.len - 1);

    } else {
        mcp_buf_lit(buf, "}");
    }
}


/* Appends the capabilities of an MCP server that is the backend, without those
 * that need notifications from it. */
static void
mcp_endpoint_upstream_capabilities(const mcp_endpoint_t *endpoint,
    int stateless, mcp_buf_t *buf)
{
    const mcp_upstream_about_t  *about;

    about = mcp_endpoint_about(endpoint);

    mcp_buf_str(buf, about->tools ? mcp_str("{\"tools\":{},") : mcp_str("{"));

    if (about->prompts) {
        mcp_buf_lit(buf, "\"prompts\":{},");
    }

    if (about->resources) {
        mcp_buf_lit(buf, "\"resources\":{},");
    }

    if (about->completions) {
        mcp_buf_lit(buf, "\"completions\":{},");
    }

    mcp_buf_lit(buf, "\"logging\":{}");
    mcp_endpoint_resume_methods(endpoint, stateless, buf);
    mcp_endpoint_extensions(endpoint, stateless, buf);
    mcp_buf_lit(buf, "}");
}


void
mcp_endpoint_capabilities(const mcp_endpoint_t *endpoint, int stateless,
    mcp_buf_t *buf)
{
    if (mcp_endpoint_about(endpoint)) {
        mcp_endpoint_upstream_capabilities(endpoint, stateless, buf);
        return;
    }

    mcp_buf_lit(buf, "{");

    if (mcp_endpoint_offers(endpoint, MCP_LIST_TOOLS)) {
        mcp_buf_lit(buf, "\"tools\":{\"listChanged\":true},");
    }

    if (mcp_endpoint_offers(endpoint, MCP_LIST_PROMPTS)) {
        mcp_buf_lit(buf, "\"prompts\":{\"listChanged\":true},");
    }

    if (mcp_endpoint_offers(endpoint, MCP_LIST_RESOURCES)
        || mcp_endpoint_offers(endpoint, MCP_LIST_TEMPLATES))
    {
        mcp_buf_lit(buf, "\"resources\":{");

        /* Without a catalog, clients with sessions get no "subscribe", because
         * only the backend decides which resources they can subscribe to. For
         * clients without sessions, the server itself handles
         * subscriptions/listen. */

        if (stateless || endpoint->catalog != NULL) {
            mcp_buf_lit(buf, "\"subscribe\":true,");
        }

        mcp_buf_lit(buf, "\"listChanged\":true},");
    }

    if (mcp_endpoint_completes(endpoint)) {
        mcp_buf_lit(buf, "\"completions\":{},");
    }

    mcp_buf_lit(buf, "\"logging\":{}");
    mcp_endpoint_resume_methods(endpoint, stateless, buf);
    mcp_endpoint_extensions(endpoint, stateless, buf);

    mcp_buf_lit(buf, "}");
}


/* Appends an optional member, whose value is the JSON text raw. "before" is a
 * comma and the member's name with a colon. Appends nothing if raw is empty. */
static void
mcp_endpoint_member(mcp_buf_t *buf, mcp_str_t before, mcp_str_t raw)
{
    if (raw.len) {
        mcp_buf_str(buf, before);
        mcp_buf_str(buf, raw);
    }
}


void
mcp_endpoint_info(const mcp_endpoint_t *endpoint, mcp_revision_e revision,
    mcp_buf_t *buf)
{
    const mcp_revision_t        *row;
    const mcp_catalog_info_t    *about;
    const mcp_upstream_about_t  *server;

    row = mcp_revision(revision);
    server = mcp_endpoint_about(endpoint);

    if (server && server->server_info.len && !endpoint->named) {
        mcp_buf_str(buf, server->server_info);
        return;
    }

    mcp_buf_lit(buf, "{\"name\":");
    mcp_buf_json(buf, endpoint->name);

    if (endpoint->title.len && row->titles) {
        mcp_buf_lit(buf, ",\"title\":");
        mcp_buf_json(buf, endpoint->title);
    }

    mcp_buf_lit(buf, ",\"version\":");
    mcp_buf_json(buf, endpoint->version);

    if (endpoint->catalog && row->icons) {
        about = mcp_catalog_info(endpoint->catalog);

        mcp_endpoint_member(buf, mcp_str(",\"description\":"),
                            about->description);
        mcp_endpoint_member(buf, mcp_str(",\"websiteUrl\":"),
                            about->website_url);
        mcp_endpoint_member(buf, mcp_str(",\"icons\":"), about->icons);
    }

    mcp_buf_lit(buf, "}");
}


uint64_t
mcp_endpoint_stream_after(const mcp_endpoint_t *endpoint)
{
    uint64_t  longest;

    longest = endpoint->catalog
              ? mcp_catalog_info(endpoint->catalog)->stream_after : 0;

    return longest > endpoint->stream_after ? longest
                                            : endpoint->stream_after;
}


/* Sets *kind to the kind of the items that are requested with this method. For
 * resources/read this is MCP_LIST_RESOURCES, even if the item is a template
 * that matches the URI. Returns MCP_OK or MCP_ERR_NOT_FOUND. */
static int
mcp_endpoint_kind(mcp_str_t method, mcp_list_e *kind)
{
    if (mcp_str_eq(method, mcp_str("tools/call"))) {
        *kind = MCP_LIST_TOOLS;

    } else if (mcp_str_eq(method, mcp_str("prompts/get"))) {
        *kind = MCP_LIST_PROMPTS;

    } else if (mcp_str_eq(method, mcp_str("resources/read"))) {
        *kind = MCP_LIST_RESOURCES;

    } else {
        return MCP_ERR_NOT_FOUND;
    }

    return MCP_OK;
}


/* Returns the limits for calls of an item, NULL if it has none. A template
 * applies only if no resource has the URI, even if the resource has no
 * limits. */
static const mcp_policy_rule_t *
mcp_endpoint_rule(const mcp_catalog_t *catalog, mcp_str_t method,
    mcp_str_t name)
{
    mcp_list_e  kind;

    if (mcp_endpoint_kind(method, &kind) != MCP_OK) {
        return NULL;
    }

    if (kind == MCP_LIST_RESOURCES
        && mcp_catalog_find(catalog, kind, name).data == NULL)
    {
        kind = MCP_LIST_TEMPLATES;
    }

    return mcp_catalog_rule(catalog, kind, name);
}


int
mcp_endpoint_item(const mcp_endpoint_t *endpoint, mcp_str_t method,
    mcp_str_t name, size_t *item)
{
    int         rc;
    mcp_list_e  kind;

    rc = mcp_endpoint_kind(method, &kind);

    if (rc == MCP_OK) {
        rc = mcp_catalog_number(endpoint->catalog, kind, name, item);

        if (rc != MCP_OK && kind == MCP_LIST_RESOURCES) {
            rc = mcp_catalog_number(endpoint->catalog, MCP_LIST_TEMPLATES,
                                    name, item);
        }
    }

    return rc;
}


void
mcp_endpoint_policy(const mcp_endpoint_t *endpoint, mcp_str_t method,
    mcp_str_t name, mcp_policy_t *policy)
{
    const mcp_policy_rule_t  *rule;

    memset(policy, 0, sizeof(mcp_policy_t));

    policy->max_wait = endpoint->max_wait;
    policy->min_wait = endpoint->min_wait;
    policy->stream_after = endpoint->stream_after;
    policy->close_after = endpoint->close_after;
    policy->resume_after = endpoint->resume_after;
    policy->stream_buffer = endpoint->stream_buffer;
    policy->max_events = endpoint->max_events;
    policy->resumable = 1;

    if (mcp_str_eq(method, mcp_str("tools/call"))) {
        policy->task = endpoint->task_after ? MCP_TASK_AUTO : MCP_TASK_NEVER;
        policy->task_after = endpoint->task_after;
    }

    rule = endpoint->catalog
           ? mcp_endpoint_rule(endpoint->catalog, method, name) : NULL;
    mcp_policy_apply(policy, rule);

    /* without "x-mcp-task" in the catalog, a call that ends when its client
     * disconnects does not become a task */

    if (policy->task == MCP_TASK_AUTO && !policy->resumable
        && (rule == NULL || !rule->has_task))
    {
        policy->task = MCP_TASK_NEVER;
    }

    if (policy->task == MCP_TASK_AUTO && policy->task_after == 0) {
        policy->task_after = policy->stream_after ? policy->stream_after : 1;
    }
}


int
mcp_endpoint_makes_tasks(const mcp_endpoint_t *endpoint)
{
    return mcp_endpoint_offers(endpoint, MCP_LIST_TOOLS)
           && ((endpoint->task_after && endpoint->max_wait)
               || (endpoint->catalog
                   && mcp_catalog_info(endpoint->catalog)->tasks));
}


int
mcp_endpoint_restricts(const mcp_endpoint_t *endpoint)
{
    return endpoint->n_allow
           || (endpoint->catalog
               && mcp_catalog_info(endpoint->catalog)->scoped);
}


uint32_t
mcp_endpoint_session_limit(const mcp_endpoint_t *endpoint,
    const mcp_client_t *client)
{
    return mcp_client_is_stateless(client) ? 0 : endpoint->max_session_streams;
}


/*
 * The members that are added to a result include its lifetime in caches, and
 * whether a cached result may be used for all callers. That is the case for
 * lists and server/discover from the configuration if callers are not
 * authenticated, and for a result of a backend if the catalog or the backend
 * declares it. If access rules or scopes hide items from some callers, no
 * cached result may be used for all callers.
 */
const mcp_result_t *
mcp_endpoint_result(const mcp_endpoint_t *endpoint,
    const mcp_client_t *client, const mcp_method_t *method, mcp_str_t name,
    mcp_result_t *add)
{
    int                          own;
    const mcp_policy_rule_t     *rule;
    const mcp_upstream_about_t  *about;

    if (!mcp_client_is_stateless(client)) {
        return NULL;
    }

    own = method->id == MCP_METHOD_SERVER_DISCOVER
          || (method->list_kind != MCP_METHOD_NO_LIST && endpoint->catalog);

    about = endpoint->named ? NULL : mcp_endpoint_about(endpoint);

    add->members = about && about->members.len ? mcp_buf_text(&about->members)
                                               : endpoint->result_members;
    add->keeps_info = (!endpoint->named
                       && mcp_endpoint_describer(endpoint) != NULL);
    add->caches = method->caches;
    add->ttl = own ? endpoint->cache_ttl : 0;
    add->is_public = own && !endpoint->has_principal
                     && mcp_digest_is_nobody(client->principal);

    rule = method->id == MCP_METHOD_RESOURCES_READ && name.len
           && endpoint->catalog
           ? mcp_endpoint_rule(endpoint->catalog, method->name, name) : NULL;

    if (rule) {
        add->ttl = rule->value.cache_ttl;
        add->is_public = rule->value.cache_public == 1;
    }

    add->is_private = (mcp_endpoint_restricts(endpoint) != 0);
    add->is_public &= !add->is_private;

    return add;
}

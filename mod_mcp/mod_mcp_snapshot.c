/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Snapshots: copies of the data of a client's request that backend requests
 * need, because the call may outlive the request.
 */

#include "mod_mcp_snapshot.h"

#include "mod_mcp_client.h"
#include "mod_mcp_config.h"
#include "mod_mcp_request.h"
#include "mod_mcp_zone.h"

#include "mcp_forward.h"

/* --- pools that calls reuse one after the other --- */

/* POOLS: maximum number of unused pools that this file keeps for reuse;
 * POOL_KEEPS: maximum unused memory in each pool, bytes */
#define POOLS       64
#define POOL_KEEPS  (96 * 1024)

static apr_pool_t *pools[POOLS];
static unsigned n_pools;

apr_pool_t *mod_mcp_pool_get(void)
{
    apr_allocator_t *allocator;
    apr_pool_t *p;

    if (n_pools) {
        return pools[--n_pools];
    }

    if (apr_allocator_create(&allocator) != APR_SUCCESS) {
        return NULL;
    }

    if (apr_pool_create_ex(&p, NULL, NULL, allocator) != APR_SUCCESS) {
        apr_allocator_destroy(allocator);
        return NULL;
    }

    apr_allocator_owner_set(allocator, p);
    apr_allocator_max_free_set(allocator, POOL_KEEPS);

    return p;
}

void mod_mcp_pool_put(apr_pool_t *p)
{
    if (n_pools == POOLS) {
        apr_pool_destroy(p);
        return;
    }

    pools[n_pools++] = p;
}

void mod_mcp_pool_exit(void)
{
    while (n_pools) {
        apr_pool_destroy(pools[--n_pools]);
    }
}

/* --- snapshots --- */

typedef struct {
    apr_table_t *table;
    const mcp_endpoint_t *endpoint;
} copy_t;

static int copy_header(void *data, const char *name, const char *value)
{
    copy_t *copy = data;

    if (!mcp_forward_skips(copy->endpoint, mod_mcp_str(name))) {
        apr_table_add(copy->table, name, value);
    }

    return 1;
}

static int copy_variable(void *data, const char *name, const char *value)
{
    copy_t *copy = data;

    if (!mcp_forward_skips_variable(copy->endpoint, mod_mcp_str(name))) {
        apr_table_add(copy->table, name, value);
    }

    return 1;
}

static void copy_headers(mod_mcp_snapshot_t *snapshot, request_rec *r,
                         const mcp_endpoint_t *endpoint)
{
    copy_t copy = { apr_table_make(snapshot->pool, 16), endpoint };
    const char *host = apr_table_get(r->headers_in, "Host");

    apr_table_do(copy_header, &copy, r->headers_in, NULL);

    /* mcp_forward_skips() leaves out Host, so it is added here */

    if (host) {
        apr_table_addn(copy.table, "Host", apr_pstrdup(snapshot->pool, host));
    }

    snapshot->headers = copy.table;
}

/*
 * Copies the environment, because modules store data there that backends need,
 * such as the claims of an access token.
 */
static void copy_env(mod_mcp_snapshot_t *snapshot, request_rec *r,
                     const mcp_endpoint_t *endpoint)
{
    copy_t copy = { apr_table_make(snapshot->pool, 8), endpoint };

    apr_table_do(copy_variable, &copy, r->subprocess_env, NULL);

    snapshot->env = copy.table;
}

static void copy_request(mod_mcp_snapshot_t *snapshot, request_rec *r)
{
    apr_pool_t *p = snapshot->pool;

    snapshot->server = r->server;
    snapshot->dir = mod_mcp_config_dir(r);
    snapshot->hostname = apr_pstrdup(p, r->hostname);
    snapshot->port_str = apr_pstrdup(p, r->parsed_uri.port_str);
    snapshot->port = r->parsed_uri.port;
    snapshot->user = apr_pstrdup(p, r->user);
    snapshot->auth_type = apr_pstrdup(p, r->ap_auth_type);
    snapshot->useragent_ip = apr_pstrdup(p, r->useragent_ip);
    snapshot->secure = mod_mcp_request(r)->secure;
    snapshot->verified = mod_mcp_request(r)->verified;
}

static apr_status_t copy_addresses(mod_mcp_snapshot_t *snapshot,
                                   request_rec *r)
{
    apr_pool_t *p = snapshot->pool;
    apr_status_t rv;

    rv = apr_sockaddr_info_copy(&snapshot->client_addr, r->useragent_addr, p);

    if (rv == APR_SUCCESS) {
        rv = apr_sockaddr_info_copy(&snapshot->local_addr,
                                    r->connection->local_addr, p);
    }

    snapshot->local_ip = apr_pstrdup(p, r->connection->local_ip);

    return rv;
}

mod_mcp_snapshot_t *mod_mcp_snapshot_create(mod_mcp_client_t *client)
{
    request_rec *r = client->r;
    apr_pool_t *p = mod_mcp_pool_get();
    const mcp_endpoint_t *endpoint;
    mod_mcp_snapshot_t *snapshot;

    if (p == NULL) {
        return NULL;
    }

    snapshot = apr_pcalloc(p, sizeof(*snapshot));
    snapshot->refs = 1;
    snapshot->pool = p;

    copy_request(snapshot, r);

    endpoint = mod_mcp_config_endpoint(snapshot->dir, mod_mcp_zone_keys());

    if (endpoint == NULL || copy_addresses(snapshot, r) != APR_SUCCESS) {
        apr_pool_clear(p);
        mod_mcp_pool_put(p);
        return NULL;
    }

    copy_headers(snapshot, r, endpoint);
    copy_env(snapshot, r, endpoint);

    snapshot->client = client;
    client->snapshot = snapshot;

    return snapshot;
}

void mod_mcp_snapshot_detach(mod_mcp_client_t *client)
{
    mod_mcp_snapshot_t *snapshot = client->snapshot;

    if (snapshot) {
        snapshot->client = NULL;
        client->snapshot = NULL;
    }

    if (client->ahead) {
        client->ahead = 0;
        mod_mcp_snapshot_release(snapshot);
    }
}

void mod_mcp_snapshot_retain(mod_mcp_snapshot_t *snapshot)
{
    snapshot->refs++;
}

void mod_mcp_snapshot_release(mod_mcp_snapshot_t *snapshot)
{
    apr_pool_t *p;

    if (snapshot == NULL || --snapshot->refs > 0) {
        return;
    }

    if (snapshot->client) {
        mod_mcp_snapshot_detach(snapshot->client);
    }

    p = snapshot->pool;
    apr_pool_clear(p);
    mod_mcp_pool_put(p);
}

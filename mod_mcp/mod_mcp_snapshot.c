/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A snapshot is a copy of what the backend calls of one call need of the
 * client's request, for the call may outlive the request.  Several threads read
 * it; nothing in it changes but the client, which may leave.
 */

#include "mod_mcp_snapshot.h"

#include "mod_mcp_client.h"
#include "mod_mcp_config.h"
#include "mod_mcp_pool.h"
#include "mod_mcp_request.h"
#include "mod_mcp_zone.h"

#include "mcp_forward.h"

typedef struct {
    mod_mcp_snapshot_t *snapshot;
    const mcp_endpoint_t *endpoint;
} copy_t;

static int copy_header(void *data, const char *name, const char *value)
{
    copy_t *copy = data;

    if (!mcp_forward_skips(copy->endpoint, mod_mcp_str(name))) {
        apr_table_add(copy->snapshot->headers, name, value);
    }

    return 1;
}

/* What modules left in the environment (claims of a token, say) is for
 * backends as well. */
static int copy_env(void *data, const char *name, const char *value)
{
    copy_t *copy = data;

    if (!mcp_forward_skips_variable(copy->endpoint, mod_mcp_str(name))) {
        apr_table_add(copy->snapshot->env, name, value);
    }

    return 1;
}

mod_mcp_snapshot_t *mod_mcp_snapshot_create(mod_mcp_client_t *client)
{
    request_rec *r = client->r;
    conn_rec *c = client->c;
    apr_pool_t *p = mod_mcp_pool_get();
    mod_mcp_snapshot_t *snapshot;
    const char *host;
    copy_t copy;

    if (p == NULL) {
        return NULL;
    }

    snapshot = apr_pcalloc(p, sizeof(*snapshot));

    snapshot->refs = 1;
    snapshot->pool = p;
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
    snapshot->headers = apr_table_make(p, 16);
    snapshot->env = apr_table_make(p, 8);

    if (apr_sockaddr_info_copy(&snapshot->client_addr, r->useragent_addr, p)
        != APR_SUCCESS
        || apr_sockaddr_info_copy(&snapshot->local_addr, c->local_addr, p)
           != APR_SUCCESS) {
        mod_mcp_pool_put(p);
        return NULL;
    }

    /* its client has asked for it before */

    copy.snapshot = snapshot;
    copy.endpoint = mod_mcp_config_endpoint(snapshot->dir, mod_mcp_zone_keys());

    if (copy.endpoint == NULL) {
        mod_mcp_pool_put(p);
        return NULL;
    }

    apr_table_do(copy_header, &copy, r->headers_in, NULL);

    host = apr_table_get(r->headers_in, "Host");

    if (host) {
        apr_table_set(snapshot->headers, "Host", host);
    }

    apr_table_do(copy_env, &copy, r->subprocess_env, NULL);

    snapshot->client = client;
    client->snapshot = snapshot;

    return snapshot;
}

void mod_mcp_snapshot_part(mod_mcp_client_t *client)
{
    if (client->snapshot) {
        client->snapshot->client = NULL;
        client->snapshot = NULL;
    }
}

void mod_mcp_snapshot_retain(mod_mcp_snapshot_t *snapshot)
{
    snapshot->refs++;
}

void mod_mcp_snapshot_release(mod_mcp_snapshot_t *snapshot)
{
    if (snapshot == NULL || --snapshot->refs > 0) {
        return;
    }

    if (snapshot->client) {
        mod_mcp_snapshot_part(snapshot->client);
    }

    mod_mcp_pool_put(snapshot->pool);
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The origin: what the request that asked for a call leaves behind for its
 * backend calls, which may outlive it.  Copied once for each call, never
 * changed, used by several threads; but for its client, who may leave.
 */

#include "mod_mcp.h"

#include "mcp_forward.h"

typedef struct {
    mod_mcp_origin_t *origin;
    const mcp_endpoint_t *endpoint;
} copy_t;

static int copy_header(void *data, const char *name, const char *value)
{
    copy_t *copy = data;

    if (!mcp_forward_skips(copy->endpoint, mod_mcp_str(name))) {
        apr_table_add(copy->origin->headers, name, value);
    }

    return 1;
}

/* What modules left in the environment (claims of a token, say) is for
 * backends as well. */
static int copy_env(void *data, const char *name, const char *value)
{
    copy_t *copy = data;

    if (!mcp_forward_skips_variable(copy->endpoint, mod_mcp_str(name))) {
        apr_table_add(copy->origin->env, name, value);
    }

    return 1;
}

mod_mcp_origin_t *mod_mcp_origin_create(mod_mcp_client_t *client)
{
    request_rec *r = client->r;
    conn_rec *c = client->c;
    apr_pool_t *p = mod_mcp_pool_get();
    mod_mcp_origin_t *origin;
    const char *host;
    copy_t copy;

    if (p == NULL) {
        return NULL;
    }

    origin = apr_pcalloc(p, sizeof(*origin));

    origin->refs = 1;
    origin->pool = p;
    origin->server = r->server;
    origin->dir = mod_mcp_dir(r);
    origin->hostname = apr_pstrdup(p, r->hostname);
    origin->port_str = apr_pstrdup(p, r->parsed_uri.port_str);
    origin->port = r->parsed_uri.port;
    origin->user = apr_pstrdup(p, r->user);
    origin->auth_type = apr_pstrdup(p, r->ap_auth_type);
    origin->useragent_ip = apr_pstrdup(p, r->useragent_ip);
    origin->secure = mod_mcp_request(r)->secure;
    origin->verified = mod_mcp_request(r)->verified;
    origin->headers = apr_table_make(p, 16);
    origin->env = apr_table_make(p, 8);

    if (apr_sockaddr_info_copy(&origin->client_addr, r->useragent_addr, p)
        != APR_SUCCESS
        || apr_sockaddr_info_copy(&origin->local_addr, c->local_addr, p)
           != APR_SUCCESS) {
        mod_mcp_pool_put(p);
        return NULL;
    }

    /* its client has asked for it before */

    copy.origin = origin;
    copy.endpoint = mod_mcp_endpoint(origin->dir, mod_mcp_zone_keys());

    if (copy.endpoint == NULL) {
        mod_mcp_pool_put(p);
        return NULL;
    }

    apr_table_do(copy_header, &copy, r->headers_in, NULL);

    host = apr_table_get(r->headers_in, "Host");

    if (host) {
        apr_table_set(origin->headers, "Host", host);
    }

    apr_table_do(copy_env, &copy, r->subprocess_env, NULL);

    origin->client = client;
    client->origin = origin;

    return origin;
}

void mod_mcp_origin_part(mod_mcp_client_t *client)
{
    if (client->origin) {
        client->origin->client = NULL;
        client->origin = NULL;
    }
}

void mod_mcp_origin_retain(mod_mcp_origin_t *origin)
{
    origin->refs++;
}

void mod_mcp_origin_release(mod_mcp_origin_t *origin)
{
    if (origin == NULL || --origin->refs > 0) {
        return;
    }

    if (origin->client) {
        mod_mcp_origin_part(origin->client);
    }

    mod_mcp_pool_put(origin->pool);
}

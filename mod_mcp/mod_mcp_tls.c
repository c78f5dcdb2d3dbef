/* SPDX-License-Identifier: Apache-2.0 */

/*
 * TLS of the client, as backends see it.  An internal connection has no TLS.
 * But rewriting, access rules and backends need to know whether the client
 * used TLS: they get the values of the client's request.
 *
 * SSLRequireSSL and SSLRequire get the values from mod_ssl directly and are
 * not covered.
 */

#include "mod_mcp_tls.h"

#include "mod_mcp_fetch.h"
#include "mod_mcp_request.h"
#include "mod_mcp_snapshot.h"

#include "ap_provider.h"
#include "http_ssl.h"
#include "mod_auth.h"

#define VERIFY   "SSL_CLIENT_VERIFY"
#define SUCCESS  "SUCCESS"

/* An authorization provider of mod_ssl, and its replacement. */
typedef struct {
    const char *name;
    authz_status (*check)(request_rec *r, const char *line,
                          const void *parsed);
    const authz_provider *before;
    authz_provider provider;
} require_t;

static authz_status require_ssl(request_rec *r, const char *line,
                                const void *parsed);
static authz_status require_verified(request_rec *r, const char *line,
                                     const void *parsed);

static require_t requires[] = {
    { .name = "ssl", .check = require_ssl },
    { .name = "ssl-verify-client", .check = require_verified },
};

enum {
    SSL,
    VERIFIED,
    REQUIRES
};

void mod_mcp_tls_note(request_rec *r)
{
    mod_mcp_request_t *own = mod_mcp_request(r);
    const char *verify;

    own->secure = ap_ssl_conn_is_ssl(r->connection);

    if (own->secure) {
        verify = ap_ssl_var_lookup(r->pool, r->server, r->connection, r,
                                   (char *)VERIFY);
        own->verified = verify && strcmp(verify, SUCCESS) == 0;
    }
}

/*
 * Returns the snapshot of the backend request on the connection c, if the
 * client used TLS; else NULL.
 */
static const mod_mcp_snapshot_t *secure_snapshot(const conn_rec *c)
{
    const mod_mcp_backend_request_t *req = mod_mcp_fetch_current();

    return req && req->r->connection == c && req->snapshot->secure
               ? req->snapshot : NULL;
}

static int conn_is_ssl(conn_rec *c)
{
    return secure_snapshot(c) ? OK : DECLINED;
}

static const char *var_lookup(apr_pool_t *p, server_rec *s, conn_rec *c,
                              request_rec *r, const char *name)
{
    const mod_mcp_snapshot_t *snapshot;

    snapshot = secure_snapshot(c == NULL && r ? r->connection : c);

    if (snapshot == NULL) {
        return NULL;
    }

    if (strcasecmp(name, "HTTPS") == 0) {
        return "on";
    }

    if (strcasecmp(name, VERIFY) == 0) {
        return snapshot->verified ? SUCCESS : "NONE";
    }

    /* variables with other names exist only with "SSLOptions +StdEnvVars"; they
     * may describe the client */

    return strncasecmp(name, "SSL_", 4) == 0 && !mod_mcp_fetch_current()->bare
               ? apr_table_get(snapshot->env, name) : NULL;
}

static const char *tls_http_scheme(const request_rec *r)
{
    return secure_snapshot(r->connection) ? "https" : NULL;
}

static apr_port_t default_port(const request_rec *r)
{
    return secure_snapshot(r->connection) ? 443 : 0;
}

static authz_status require_ssl(request_rec *r, const char *line,
                                const void *parsed)
{
    if (secure_snapshot(r->connection)) {
        return AUTHZ_GRANTED;
    }

    return requires[SSL].before->check_authorization(r, line, parsed);
}

static authz_status require_verified(request_rec *r, const char *line,
                                     const void *parsed)
{
    const mod_mcp_snapshot_t *snapshot = secure_snapshot(r->connection);

    if (snapshot) {
        return snapshot->verified ? AUTHZ_GRANTED : AUTHZ_DENIED;
    }

    return requires[VERIFIED].before->check_authorization(r, line, parsed);
}

/*
 * Replaces mod_ssl's authorization providers.  Called in pre_config, when
 * mod_ssl is loaded and no Require directive has been read.  A replacement that
 * is registered already is not replaced again, because it would then call
 * itself without end.
 */
void mod_mcp_tls_init(apr_pool_t *pconf)
{
    const authz_provider *found;
    require_t *require;

    for (require = requires; require < requires + REQUIRES; require++) {
        found = ap_lookup_provider(AUTHZ_PROVIDER_GROUP, require->name,
                                   AUTHZ_PROVIDER_VERSION);

        if (found == NULL || found == &require->provider) {
            continue;
        }

        require->before = found;
        require->provider = *found;
        require->provider.check_authorization = require->check;

        ap_register_provider(pconf, AUTHZ_PROVIDER_GROUP, require->name,
                             AUTHZ_PROVIDER_VERSION, &require->provider);
    }
}

void mod_mcp_tls_register(void)
{
    ap_hook_ssl_conn_is_ssl(conn_is_ssl, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_ssl_var_lookup(var_lookup, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_http_scheme(tls_http_scheme, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_default_port(default_port, NULL, NULL, APR_HOOK_FIRST);
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads the directives of clusters and completes their configuration.  The core
 * checks the values (mcp_cluster_conf.h).  This file resolves host names,
 * checks files and creates the TLS contexts.
 */


#include "ngx_http_mcp_cluster_conf.h"

#include "ngx_http_mcp_directive.h"
#include "ngx_http_mcp_env.h"


/* maximum depth of Redis's certificate chain */
#define NGX_HTTP_MCP_CLUSTER_DEPTH  9


/* --- directives --- */

static void
ngx_http_mcp_cluster_cleanup(void *data)
{
    mcp_cluster_setup_free(data);
}


static mcp_cluster_setup_t *
ngx_http_mcp_cluster_setup(ngx_conf_t *cf)
{
    ngx_pool_cleanup_t   *cln;
    mcp_cluster_setup_t  *setup;

    cln = ngx_pool_cleanup_add(cf->pool, 0);
    if (cln == NULL) {
        return NULL;
    }

    setup = mcp_cluster_setup_create(&ngx_http_mcp_mem);

    if (setup) {
        cln->handler = ngx_http_mcp_cluster_cleanup;
        cln->data = setup;
    }

    return setup;
}


static ngx_int_t
ngx_http_mcp_cluster_password(ngx_conf_t *cf, mcp_cluster_setup_t *setup,
    mcp_str_t file, char *error)
{
    int        rc;
    ngx_str_t  name, text;

    name.len = file.len;
    name.data = ngx_pnalloc(cf->pool, file.len + 1);
    if (name.data == NULL) {
        return MCP_ERR_MEMORY;
    }

    (void) ngx_cpystrn(name.data, (u_char *) file.data, file.len + 1);

    if (ngx_http_mcp_directive_file(cf, &name, MCP_CLUSTER_PASSWORD_MAX, &text)
        != NGX_OK)
    {
        /* the error has been logged */
        return MCP_ERR_INTERNAL;
    }

    rc = mcp_cluster_setup_password(setup, ngx_http_mcp_str(&name),
                                    ngx_http_mcp_str(&text), error);

    ngx_explicit_memzero(text.data, text.len);
    ngx_free(text.data);

    return rc;
}


char *
ngx_http_mcp_cluster_add(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    int                      rc;
    char                     error[MCP_SETUP_ERROR_MAX];
    mcp_str_t                file;
    ngx_str_t               *value;
    ngx_uint_t               i;
    ngx_http_mcp_zone_t     *zone;
    ngx_http_mcp_cluster_t  *cluster;

    value = cf->args->elts;

    zone = ngx_http_mcp_zone_find(cf, &value[1]);
    if (zone == NULL) {
        return NGX_CONF_ERROR;
    }

    if (zone->cluster) {
        return MCP_SETUP_DUPLICATE;
    }

    cluster = ngx_pcalloc(cf->pool, sizeof(ngx_http_mcp_cluster_t));
    if (cluster == NULL) {
        return NGX_CONF_ERROR;
    }

    cluster->setup = ngx_http_mcp_cluster_setup(cf);
    if (cluster->setup == NULL) {
        return NGX_CONF_ERROR;
    }

    cluster->file = cf->conf_file->file.name;
    cluster->line = cf->conf_file->line;

    zone->cluster = cluster;

    rc = mcp_cluster_setup_begin(cluster->setup, error);

    for (i = 2; rc == MCP_OK && i < cf->args->nelts; i++) {
        rc = mcp_cluster_setup_parameter(cluster->setup,
                                         ngx_http_mcp_str(&value[i]), &file,
                                         error);

        if (rc == MCP_OK && file.len) {
            rc = ngx_http_mcp_cluster_password(cf, cluster->setup, file,
                                               error);
        }
    }

    return ngx_http_mcp_directive_result(cf, rc, error);
}


/* Returns the settings that are the defaults of all clusters; creates them on
 * first use. */
static mcp_cluster_setup_t *
ngx_http_mcp_cluster_common(ngx_conf_t *cf, ngx_http_mcp_main_conf_t *mmcf)
{
    if (mmcf->cluster == NULL) {
        mmcf->cluster = ngx_http_mcp_cluster_setup(cf);
        mmcf->cluster_file = cf->conf_file->file.name;
        mmcf->cluster_line = cf->conf_file->line;
    }

    return mmcf->cluster;
}


char *
ngx_http_mcp_cluster_sync(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    int                   rc;
    char                  error[MCP_SETUP_ERROR_MAX];
    mcp_str_t             replicas;
    ngx_str_t            *value;
    mcp_cluster_setup_t  *setup;

    setup = ngx_http_mcp_cluster_common(cf, conf);
    if (setup == NULL) {
        return NGX_CONF_ERROR;
    }

    value = cf->args->elts;

    replicas = cf->args->nelts == 3 ? ngx_http_mcp_str(&value[2])
                                    : mcp_null_str;

    rc = mcp_cluster_setup_sync(setup, ngx_http_mcp_str(&value[1]), replicas,
                                error);

    return ngx_http_mcp_directive_result(cf, rc, error);
}


/*
 * Makes *name absolute and checks that the file can be read.  Returns NGX_OK,
 * or NGX_ERROR after an error in the log.  The error has the position of the
 * directive, which an error of OpenSSL would lack.
 */
static ngx_int_t
ngx_http_mcp_cluster_readable(ngx_conf_t *cf, ngx_str_t *name)
{
    ngx_fd_t         fd;
    ngx_file_info_t  fi;

    if (ngx_conf_full_name(cf->cycle, name, 1) != NGX_OK) {
        return NGX_ERROR;
    }

    /* reject a FIFO: OpenSSL would wait for its writer */

    if (ngx_file_info(name->data, &fi) != NGX_FILE_ERROR && !ngx_is_file(&fi)) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" is not a regular file", name);
        return NGX_ERROR;
    }

    fd = ngx_open_file(name->data, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);

    if (fd == NGX_INVALID_FILE) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           ngx_open_file_n " \"%V\" failed", name);
        return NGX_ERROR;
    }

    if (ngx_close_file(fd) == NGX_FILE_ERROR) {
        ngx_conf_log_error(NGX_LOG_ALERT, cf, ngx_errno,
                           ngx_close_file_n " \"%V\" failed", name);
    }

    return NGX_OK;
}


char *
ngx_http_mcp_cluster_option(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    int                    rc;
    char                   error[MCP_SETUP_ERROR_MAX];
    ngx_str_t             *value;
    mcp_cluster_setup_t   *setup;
    mcp_cluster_option_e   option;

    setup = ngx_http_mcp_cluster_common(cf, conf);
    if (setup == NULL) {
        return NGX_CONF_ERROR;
    }

    value = cf->args->elts;
    option = (mcp_cluster_option_e) cmd->offset;

    if (mcp_cluster_option_is_file(option) && value[1].len
        && ngx_http_mcp_cluster_readable(cf, &value[1]) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    rc = mcp_cluster_setup_option(setup, option, ngx_http_mcp_str(&value[1]),
                                  error);

    return ngx_http_mcp_directive_result(cf, rc, error);
}


/* --- host names --- */

/*
 * If the host of a seed is a name, resolves it and adds its addresses to
 * cluster->names.  Used when the http block has no "resolver", so the name is
 * resolved only once, while nginx reads the configuration.
 */
static ngx_int_t
ngx_http_mcp_cluster_name(ngx_conf_t *cf, ngx_http_mcp_cluster_t *cluster,
    const mcp_cluster_seed_t *seed)
{
    ngx_url_t                     u;
    ngx_str_t                     host;
    ngx_addr_t                    addr;
    ngx_http_mcp_cluster_name_t  *name;

    host = ngx_http_mcp_text(seed->host);

    if (host.len == 0
        || ngx_parse_addr(cf->pool, &addr, host.data, host.len) == NGX_OK)
    {
        return NGX_OK;
    }

    ngx_memzero(&u, sizeof(ngx_url_t));

    u.host = host;
    u.port = (in_port_t) seed->port;

    if (ngx_inet_resolve_host(cf->pool, &u) != NGX_OK) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "%s \"%V\" of \"mcp_cluster\" in %V:%ui",
                      u.err ? u.err : "cannot resolve", &host,
                      &cluster->file, cluster->line);
        return NGX_ERROR;
    }

    name = &cluster->names[cluster->n_names++];

    name->host = seed->host;
    name->addrs = u.addrs;
    name->naddrs = u.naddrs;

    return NGX_OK;
}


static ngx_int_t
ngx_http_mcp_cluster_names(ngx_conf_t *cf, ngx_http_mcp_cluster_t *cluster)
{
    size_t                     i;
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (clcf->resolver && clcf->resolver->connections.nelts) {
        cluster->resolver = clcf->resolver;
        return NGX_OK;
    }

    for (i = 0; i < cluster->conf->n_seeds; i++) {
        if (ngx_http_mcp_cluster_name(cf, cluster, &cluster->conf->seeds[i])
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* --- TLS --- */

#if (NGX_SSL)

/* Copies a file name and terminates it with NUL, for nginx and OpenSSL. */
static ngx_int_t
ngx_http_mcp_cluster_file(ngx_conf_t *cf, mcp_str_t name, ngx_str_t *file)
{
    ngx_str_null(file);

    if (name.len == 0) {
        return NGX_OK;
    }

    file->len = name.len;
    file->data = ngx_pnalloc(cf->pool, name.len + 1);

    if (file->data == NULL) {
        return NGX_ERROR;
    }

    *ngx_cpymem(file->data, name.data, name.len) = '\0';

    return NGX_OK;
}


static ngx_int_t
ngx_http_mcp_cluster_tls_files(ngx_conf_t *cf, ngx_http_mcp_cluster_t *cluster)
{
    ngx_str_t                  ca, certificate, key;
    const mcp_cluster_conf_t  *conf;

    conf = cluster->conf;

    if (ngx_http_mcp_cluster_file(cf, conf->tls_ca, &ca) != NGX_OK
        || ngx_http_mcp_cluster_file(cf, conf->tls_certificate, &certificate)
           != NGX_OK
        || ngx_http_mcp_cluster_file(cf, conf->tls_certificate_key, &key)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (certificate.len
        && ngx_ssl_certificate(cf, &cluster->ssl, &certificate, &key, NULL)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ca.len) {
        return ngx_ssl_trusted_certificate(cf, &cluster->ssl, &ca,
                                           NGX_HTTP_MCP_CLUSTER_DEPTH);
    }

    if (SSL_CTX_set_default_verify_paths(cluster->ssl.ctx) == 0) {
        ngx_ssl_error(NGX_LOG_EMERG, cf->log, 0,
                      "SSL_CTX_set_default_verify_paths() failed");
        return NGX_ERROR;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_mcp_cluster_tls(ngx_conf_t *cf, ngx_http_mcp_cluster_t *cluster)
{
    ngx_pool_cleanup_t  *cln;

    cluster->ssl.log = cf->log;

    if (ngx_ssl_create(&cluster->ssl, NGX_SSL_TLSv1_2|NGX_SSL_TLSv1_3, NULL)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    cln = ngx_pool_cleanup_add(cf->pool, 0);
    if (cln == NULL) {
        ngx_ssl_cleanup_ctx(&cluster->ssl);
        return NGX_ERROR;
    }

    cln->handler = ngx_ssl_cleanup_ctx;
    cln->data = &cluster->ssl;

    if (ngx_http_mcp_cluster_tls_files(cf, cluster) != NGX_OK) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "cannot set up TLS for \"mcp_cluster\" in %V:%ui: check "
                      "\"mcp_cluster_ca\", \"mcp_cluster_certificate\" and "
                      "\"mcp_cluster_certificate_key\" (the line above has "
                      "the cause)",
                      &cluster->file, cluster->line);
        return NGX_ERROR;
    }

    return NGX_OK;
}

#else

static ngx_int_t
ngx_http_mcp_cluster_tls(ngx_conf_t *cf, ngx_http_mcp_cluster_t *cluster)
{
    ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                  "\"mcp_cluster\" in %V:%ui has \"rediss://\", but this "
                  "nginx has no TLS: build nginx with "
                  "--with-http_ssl_module", &cluster->file, cluster->line);

    return NGX_ERROR;
}

#endif


/* --- the complete configuration --- */

/*
 * Rejects endpoints that sign with the zone's generated key, because other
 * nodes could not verify their tokens.
 */
static ngx_int_t
ngx_http_mcp_cluster_keys(ngx_conf_t *cf, ngx_http_mcp_main_conf_t *mmcf,
    ngx_http_mcp_zone_t *zone)
{
    ngx_uint_t                  i;
    ngx_http_mcp_loc_conf_t   **mlcf;

    mlcf = mmcf->endpoints.elts;

    for (i = 0; i < mmcf->endpoints.nelts; i++) {
        if (mlcf[i]->zone == zone && mcp_setup_keys(mlcf[i]->setup) == NULL) {
            ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                          "the endpoint in %V:%ui has no \"mcp_key\", but the "
                          "nodes of the cluster of zone \"%V\" need a common "
                          "key: set \"mcp_key\"", &mlcf[i]->file, mlcf[i]->line,
                          &zone->name);
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_mcp_cluster_finish_zone(ngx_conf_t *cf,
    ngx_http_mcp_main_conf_t *mmcf, ngx_http_mcp_zone_t *zone)
{
    int                      rc;
    char                     error[MCP_SETUP_ERROR_MAX];
    ngx_http_mcp_cluster_t  *cluster;

    cluster = zone->cluster;

    if (mmcf->cluster) {
        mcp_cluster_setup_merge(cluster->setup, mmcf->cluster);
    }

    rc = mcp_cluster_setup_finish(cluster->setup, &cluster->conf, 0, error);

    if (rc == MCP_ERR_CONFIG) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "\"mcp_cluster\" in %V:%ui: %s",
                      &cluster->file, cluster->line, error);
    }

    if (rc == MCP_OK && mcp_cluster_conf_is_open(cluster->conf)) {
        ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                      "\"mcp_cluster\" in %V:%ui connects to Redis over the "
                      "network without a password, so anyone who can connect "
                      "to Redis can read and forge messages: set "
                      "\"password_file=\"",
                      &cluster->file, cluster->line);
    }

    if (rc != MCP_OK
        || ngx_http_mcp_cluster_keys(cf, mmcf, zone) != NGX_OK
        || ngx_http_mcp_cluster_names(cf, cluster) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return cluster->conf->tls ? ngx_http_mcp_cluster_tls(cf, cluster) : NGX_OK;
}


/*
 * Rejects endpoint n if an earlier endpoint of the zone has the same identity,
 * because other nodes could not distinguish these endpoints.  An "if" or
 * "limit_except" block may have the identity of its location.  The block is
 * recognized by its file and line, which are equal to those of the location.
 */
static ngx_int_t
ngx_http_mcp_cluster_is_unique(ngx_conf_t *cf, ngx_http_mcp_main_conf_t *mmcf,
    ngx_uint_t n)
{
    ngx_str_t                  identity;
    ngx_uint_t                 i;
    ngx_http_mcp_loc_conf_t   *a, *b, **mlcf;

    mlcf = mmcf->endpoints.elts;
    b = mlcf[n];

    for (i = 0; i < n; i++) {
        a = mlcf[i];

        if (a->zone != b->zone
            || (a->line == b->line && ngx_strcmp(a->file.data, b->file.data)
                                      == 0 && a->cscf == b->cscf)
            || !mcp_str_eq(mcp_setup_identity(a->setup),
                           mcp_setup_identity(b->setup)))
        {
            continue;
        }

        identity = ngx_http_mcp_text(mcp_setup_identity(b->setup));
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "the endpoints in %V:%ui and %V:%ui of server \"%V\" "
                      "have the same name \"%V\" in the cluster of zone "
                      "\"%V\": give each its own name by "
                      "\"mcp_cluster_endpoint\"",
                      &a->file, a->line, &b->file, b->line,
                      &b->cscf->server_name, &identity, &b->zone->name);
        return NGX_ERROR;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_mcp_cluster_endpoints(ngx_conf_t *cf, ngx_http_mcp_main_conf_t *mmcf)
{
    ngx_uint_t                  i;
    ngx_http_mcp_loc_conf_t   **mlcf;

    mlcf = mmcf->endpoints.elts;

    for (i = 0; i < mmcf->endpoints.nelts; i++) {
        if (mlcf[i]->zone->cluster
            && ngx_http_mcp_cluster_is_unique(cf, mmcf, i) != NGX_OK)
        {
            return NGX_ERROR;
        }

        if (mlcf[i]->zone->cluster == NULL
            && mcp_setup_has_cluster_endpoint(mlcf[i]->setup))
        {
            ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                          "\"mcp\" in %V:%ui has \"mcp_cluster_endpoint\", but "
                          "its zone \"%V\" is in no cluster: set "
                          "\"mcp_cluster\"", &mlcf[i]->file, mlcf[i]->line,
                          &mlcf[i]->zone->name);
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* Warns about directives of the http block that have no effect in any
 * cluster. */
static void
ngx_http_mcp_cluster_warn(ngx_conf_t *cf, ngx_http_mcp_main_conf_t *mmcf,
    int tls)
{
    char      text[MCP_SETUP_ERROR_MAX];
    unsigned  position;

    position = 0;

    while (mcp_cluster_setup_idle(mmcf->cluster, tls, 0 /* nginx */, &position,
                                  text))
    {
        ngx_log_error(NGX_LOG_WARN, cf->log, 0, "%s", text);
    }
}


ngx_int_t
ngx_http_mcp_cluster_finish(ngx_conf_t *cf)
{
    int                         tls;
    ngx_uint_t                  i, n;
    ngx_http_mcp_zone_t       **zones;
    ngx_http_mcp_main_conf_t   *mmcf;

    mmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_mcp_module);
    zones = mmcf->zones.elts;
    n = 0;
    tls = 0;

    for (i = 0; i < mmcf->zones.nelts; i++) {
        if (zones[i]->cluster == NULL) {
            continue;
        }

        n++;

        if (ngx_http_mcp_cluster_finish_zone(cf, mmcf, zones[i]) != NGX_OK) {
            return NGX_ERROR;
        }

        tls |= zones[i]->cluster->conf->tls;
    }

    if (mmcf->cluster && n == 0) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "\"%s\" in %V:%ui has no effect, because no zone is in a "
                      "cluster: set \"mcp_cluster\"",
                      mcp_cluster_setup_warning(mmcf->cluster, 0),
                      &mmcf->cluster_file, mmcf->cluster_line);
        return NGX_ERROR;
    }

    if (mmcf->cluster) {
        ngx_http_mcp_cluster_warn(cf, mmcf, tls);
    }

    return ngx_http_mcp_cluster_endpoints(cf, mmcf);
}

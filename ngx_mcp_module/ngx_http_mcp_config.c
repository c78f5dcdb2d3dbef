/* SPDX-License-Identifier: Apache-2.0 */

/* Creates, merges and checks the configuration, and creates the endpoints. */


#include "ngx_http_mcp_config.h"

#include "ngx_http_mcp_access.h"
#include "ngx_http_mcp_capture.h"
#include "ngx_http_mcp_cluster_conf.h"
#include "ngx_http_mcp_document.h"
#include "ngx_http_mcp_env.h"
#include "ngx_http_mcp_error_headers.h"
#include "ngx_http_mcp_handler.h"
#include "ngx_http_mcp_redirect.h"
#include "ngx_http_mcp_secret.h"
#include "ngx_http_mcp_status.h"
#include "ngx_http_mcp_variables.h"
#include "ngx_http_mcp_worker.h"
#include "ngx_http_mcp_zone.h"


void *
ngx_http_mcp_config_create_main(ngx_conf_t *cf)
{
    ngx_http_mcp_main_conf_t  *mmcf;

    mmcf = ngx_pcalloc(cf->pool, sizeof(ngx_http_mcp_main_conf_t));
    if (mmcf == NULL) {
        return NULL;
    }

    if (ngx_array_init(&mmcf->zones, cf->pool, 2, sizeof(ngx_http_mcp_zone_t *))
        != NGX_OK
        || ngx_array_init(&mmcf->endpoints, cf->pool, 4,
                          sizeof(ngx_http_mcp_loc_conf_t *))
           != NGX_OK
        || ngx_array_init(&mmcf->others, cf->pool, 4,
                          sizeof(ngx_http_mcp_loc_conf_t *))
           != NGX_OK
        || ngx_array_init(&mmcf->variables, cf->pool, MCP_VARIABLE_COUNT,
                          sizeof(ngx_http_mcp_used_t))
           != NGX_OK
        || ngx_array_init(&mmcf->exported, cf->pool, MCP_VARIABLE_COUNT,
                          sizeof(ngx_http_mcp_used_t))
           != NGX_OK
        || mcp_random(&mmcf->number, sizeof(mmcf->number)) != MCP_OK)
    {
        return NULL;
    }

    return mmcf;
}


char *
ngx_http_mcp_config_init_main(ngx_conf_t *cf, void *conf)
{
    ngx_http_mcp_main_conf_t  *mmcf = conf;

    return ngx_http_mcp_zone_check(cf, &mmcf->zones);
}


static void
ngx_http_mcp_config_cleanup(void *data)
{
    mcp_setup_free(data);
}


void *
ngx_http_mcp_config_create_loc(ngx_conf_t *cf)
{
    ngx_pool_cleanup_t       *cln;
    ngx_http_mcp_loc_conf_t  *mlcf;

    mlcf = ngx_pcalloc(cf->pool, sizeof(ngx_http_mcp_loc_conf_t));
    if (mlcf == NULL) {
        return NULL;
    }

    /*
     * set by ngx_pcalloc():
     *
     *     mlcf->zone = NULL;
     *     mlcf->publish_zone = NULL;
     *     mlcf->status_zone = NULL;
     *     mlcf->publish_open = 0;
     *     mlcf->documents = NULL;
     *     mlcf->status_details = 0;
     *     mlcf->is_backend = 0;
     *     mlcf->error_headers = 0;
     *     mlcf->endpoint = NULL;
     *     mlcf->host_names = NULL;
     *     mlcf->n_host_names = 0;
     *     mlcf->cscf = NULL;
     *     mlcf->file = { 0, NULL };
     *     mlcf->line = 0;
     */

    mlcf->principal = NGX_CONF_UNSET_PTR;
    mlcf->principal_set = NGX_CONF_UNSET;
    mlcf->link_origin = NGX_CONF_UNSET_PTR;

    cln = ngx_pool_cleanup_add(cf->pool, 0);
    if (cln == NULL) {
        return NULL;
    }

    mlcf->setup = mcp_setup_create(&ngx_http_mcp_mem);
    if (mlcf->setup == NULL) {
        return NULL;
    }

    cln->handler = ngx_http_mcp_config_cleanup;
    cln->data = mlcf->setup;

    return mlcf;
}


/*
 * Copies the names in "server_name", because nginx keeps its list only while
 * it reads the configuration.
 */
static ngx_int_t
ngx_http_mcp_config_host_names(ngx_conf_t *cf, ngx_http_mcp_loc_conf_t *mlcf)
{
    ngx_uint_t                 i, n;
    ngx_http_server_name_t    *sn;
    ngx_http_core_srv_conf_t  *cscf;

    cscf = ngx_http_conf_get_module_srv_conf(cf, ngx_http_core_module);
    sn = cscf->server_names.elts;
    n = cscf->server_names.nelts;

    mlcf->host_names = ngx_palloc(cf->pool, n * sizeof(mcp_str_t));
    if (mlcf->host_names == NULL) {
        return NGX_ERROR;
    }

    for (i = 0; i < n; i++) {
        mlcf->host_names[i] = ngx_http_mcp_str(&sn[i].name);
    }

    mlcf->n_host_names = n;

    return NGX_OK;
}


/* Returns 1 if a location is an "if" or "limit_except" block. */
static ngx_uint_t
ngx_http_mcp_config_is_block(ngx_http_core_loc_conf_t *clcf)
{
    return clcf->noname || clcf->lmt_excpt;
}


/*
 * Copies the handler of the enclosing location into an "if" or "limit_except"
 * block, which nginx treats as a separate location.
 */
static void
ngx_http_mcp_config_inherit_handler(ngx_conf_t *cf,
    ngx_http_mcp_loc_conf_t *prev, ngx_http_mcp_loc_conf_t *conf)
{
    ngx_http_handler_pt        handler;
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (!ngx_http_mcp_config_is_block(clcf)) {
        return;
    }

    if (conf->zone || conf->publish_zone || conf->status_zone) {
        return;
    }

    if (prev->zone) {
        handler = ngx_http_mcp_handler;

    } else if (prev->publish_zone) {
        handler = ngx_http_mcp_publish_handler;

    } else if (prev->status_zone) {
        handler = ngx_http_mcp_status_handler;

    } else {
        return;
    }

    conf->zone = prev->zone;
    conf->publish_zone = prev->publish_zone;
    conf->publish_open = prev->publish_open;
    conf->status_zone = prev->status_zone;
    conf->status_details = prev->status_details;
    conf->file = prev->file;
    conf->line = prev->line;

    if (clcf->lmt_excpt && clcf->handler == NULL) {
        clcf->handler = handler;
    }
}


/*
 * Warns about an endpoint that authenticates its clients, but does not set
 * "mcp_principal": anybody who obtains a session id could use the session.
 * Only the operator knows the right value; $remote_user, for example, is not
 * verified where "auth_basic" is off.
 */
static void
ngx_http_mcp_config_warn_principal(ngx_conf_t *cf,
    ngx_http_mcp_loc_conf_t *mlcf)
{
    const char  *directive;

    directive = ngx_http_mcp_access_check(cf);

    if (directive) {
        ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                      "\"mcp\" in %V:%ui has \"%s\", but no "
                      "\"mcp_principal\", so anyone who has the id of a "
                      "session can use the session: set \"mcp_principal\", or "
                      "\"mcp_principal off\" to accept this",
                      &mlcf->file, mlcf->line, directive);
    }
}


/* Warns about settings that are valid, but probably not intended. */
static void
ngx_http_mcp_config_warn(ngx_conf_t *cf, ngx_http_mcp_loc_conf_t *mlcf)
{
    char                  text[MCP_SETUP_ERROR_MAX];
    unsigned              position;
    ngx_http_mcp_zone_t  *zone;

    zone = mlcf->zone;
    position = 0;

    while (mcp_setup_warning(mlcf->setup, MCP_SETUP_ENDPOINT, 0 /* nginx */,
                             &position, text))
    {
        ngx_log_error(NGX_LOG_WARN, cf->log, 0, "\"mcp\" in %V:%ui %s",
                      &mlcf->file, mlcf->line, text);
    }

    if (zone->shm_zone
        && mcp_setup_fills_zone(mlcf->setup, zone->shm_zone->shm.size))
    {
        ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                      "\"mcp\" in %V:%ui has an \"mcp_stream_buffer\" that "
                      "lets one stream fill half of zone \"%V\" or more: "
                      "lower \"mcp_stream_buffer\" or enlarge the zone",
                      &mlcf->file, mlcf->line, &zone->name);
    }

    if (!mlcf->principal_set) {
        ngx_http_mcp_config_warn_principal(cf, mlcf);
    }
}


/* Returns 1 if another endpoint of the zone has the same catalog key. */
static ngx_uint_t
ngx_http_mcp_config_is_taken(ngx_http_mcp_main_conf_t *mmcf,
    ngx_http_mcp_zone_t *zone, const unsigned char *catalog_key)
{
    ngx_uint_t                  i;
    ngx_http_mcp_loc_conf_t   **endpoint;

    endpoint = mmcf->endpoints.elts;

    for (i = 0; i < mmcf->endpoints.nelts; i++) {
        if (endpoint[i]->zone == zone
            && ngx_memcmp(mcp_setup_catalog_key(endpoint[i]->setup),
                          catalog_key, MCP_DIGEST_LEN)
               == 0)
        {
            return 1;
        }
    }

    return 0;
}


/*
 * Sets the catalog key of an endpoint from server name and path, so that the
 * next configuration finds the counters and the lists of the same endpoint.  A
 * number distinguishes endpoints with equal server names and equal paths.
 */
static ngx_int_t
ngx_http_mcp_config_set_catalog_key(ngx_conf_t *cf,
    ngx_http_mcp_loc_conf_t *mlcf)
{
    unsigned                   n;
    ngx_http_core_loc_conf_t  *clcf;
    ngx_http_core_srv_conf_t  *cscf;
    ngx_http_mcp_main_conf_t  *mmcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    cscf = ngx_http_conf_get_module_srv_conf(cf, ngx_http_core_module);
    mmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_mcp_module);

    n = 0;

    if (mcp_setup_path(mlcf->setup, ngx_http_mcp_str(&clcf->name)) != MCP_OK) {
        return NGX_ERROR;
    }

    do {
        if (mcp_setup_set_catalog_key(mlcf->setup,
                ngx_http_mcp_str(&cscf->server_name),
                ngx_http_mcp_str(&clcf->name), n++)
            != MCP_OK)
        {
            return NGX_ERROR;
        }

    } while (ngx_http_mcp_config_is_taken(mmcf, mlcf->zone,
                                          mcp_setup_catalog_key(mlcf->setup)));

    if (n > 1 && !ngx_http_mcp_config_is_block(clcf)) {
        ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                      "\"mcp\" in %V:%ui has the same path \"%V\" as an "
                      "endpoint of another server with the \"server_name\" "
                      "\"%V\", so a reload may mix up the counters of the two "
                      "endpoints: name the servers differently",
                      &mlcf->file, mlcf->line, &clcf->name,
                      &cscf->server_name);
    }

    return NGX_OK;
}


/* Returns 1 if nginx drops request headers of this name, according to
 * "ignore_invalid_headers" and "underscores_in_headers". */
static int
ngx_http_mcp_config_drops(void *ctx, mcp_str_t name)
{
    ngx_http_core_srv_conf_t  *cscf = ctx;

    size_t  i;

    if (!cscf->ignore_invalid_headers) {
        return 0;
    }

    for (i = 0; i < name.len; i++) {
        if (!mcp_is_alnum(name.data[i]) && name.data[i] != '-'
            && (name.data[i] != '_' || !cscf->underscores_in_headers))
        {
            return 1;
        }
    }

    return 0;
}


static char *
ngx_http_mcp_config_headers(ngx_conf_t *cf, ngx_http_mcp_loc_conf_t *mlcf)
{
    char                       error[MCP_SETUP_ERROR_MAX];
    ngx_http_core_srv_conf_t  *cscf;

    cscf = ngx_http_conf_get_module_srv_conf(cf, ngx_http_core_module);

    if (mcp_setup_check_headers(mlcf->setup, ngx_http_mcp_config_drops, cscf,
                                error)
        == MCP_OK)
    {
        return NGX_CONF_OK;
    }

    ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                  "%s is removed by nginx from requests to \"mcp\" in "
                  "%V:%ui: rename the header, or set "
                  "\"underscores_in_headers on\" or "
                  "\"ignore_invalid_headers off\"",
                  error, &mlcf->file, mlcf->line);

    return NGX_CONF_ERROR;
}


/* Checks the settings of a protected resource: rejects one without an
 * authorization server. */
static char *
ngx_http_mcp_config_auth(ngx_conf_t *cf, ngx_http_mcp_loc_conf_t *mlcf)
{
    char               error[MCP_SETUP_ERROR_MAX];
    const mcp_auth_t  *auth;

    switch (mcp_setup_auth(mlcf->setup, &auth, error)) {

    case MCP_OK:
        return NGX_CONF_OK;

    case MCP_ERR_CONFIG:
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "\"mcp\" in %V:%ui: %s: set \"mcp_auth_server\"",
                      &mlcf->file, mlcf->line, error);

        /* fall through */

    default:
        return NGX_CONF_ERROR;
    }
}


/* Creates the endpoint of a location with "mcp" or "mcp_publish". */
static char *
ngx_http_mcp_config_endpoint(ngx_conf_t *cf, ngx_http_mcp_loc_conf_t *mlcf,
    ngx_http_mcp_zone_t *zone)
{
    ngx_http_mcp_loc_conf_t   **endpoint;
    ngx_http_core_loc_conf_t   *clcf;
    ngx_http_mcp_main_conf_t   *mmcf;

    if (mlcf->zone && ngx_http_mcp_config_set_catalog_key(cf, mlcf) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    if (mlcf->zone && ngx_http_mcp_config_auth(cf, mlcf) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    mlcf->endpoint = mcp_setup_endpoint(mlcf->setup, zone->keys,
                                        mcp_str("nginx"),
                                        mcp_str(NGINX_VERSION),
                                        mlcf->principal != NULL);
    if (mlcf->endpoint == NULL) {
        return NGX_CONF_ERROR;
    }

    if (mlcf->zone == NULL) {
        return NGX_CONF_OK;
    }

    mlcf->error_headers = ngx_http_mcp_error_headers_needed(mlcf);

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (!ngx_http_mcp_config_is_block(clcf)) {
        ngx_http_mcp_config_warn(cf, mlcf);
    }

    if (ngx_http_mcp_config_headers(cf, mlcf) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    /* store the server: ngx_http_mcp_config_finish() looks up the endpoint's
     * backends there when the named locations of all servers are known */

    mlcf->cscf = ngx_http_conf_get_module_srv_conf(cf, ngx_http_core_module);
    mmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_mcp_module);

    endpoint = ngx_array_push(&mmcf->endpoints);
    if (endpoint == NULL) {
        return NGX_CONF_ERROR;
    }

    *endpoint = mlcf;

    return NGX_CONF_OK;
}


/*
 * Rejects a location in which a later directive has replaced the content
 * handler of "mcp", "mcp_publish" or "mcp_status".  Also rejects "mcp_publish"
 * without "mcp_publish_token" in an exact location: backends append a token to
 * the path of the location, so their URLs would not match it.
 */
static ngx_int_t
ngx_http_mcp_config_check_handler(ngx_conf_t *cf, ngx_http_mcp_loc_conf_t *mlcf)
{
    ngx_http_core_loc_conf_t  *clcf;

    if (mlcf->handler == NULL) {
        return NGX_OK;
    }

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (clcf->handler != mlcf->handler) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "\"%s\" in %V:%ui has no effect, because another "
                      "directive of location \"%V\", such as \"proxy_pass\", "
                      "replaces its content handler: remove one of them (calls "
                      "are forwarded by the named location of \"mcp_backend\")",
                      mlcf->zone ? "mcp"
                                 : mlcf->publish_zone ? "mcp_publish"
                                                      : "mcp_status",
                      &mlcf->file, mlcf->line, &clcf->name);
        return NGX_ERROR;
    }

    if (mlcf->publish_zone && clcf->exact_match
        && mcp_setup_publish_secret(mlcf->setup).len == 0)
    {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "\"mcp_publish\" in %V:%ui has no effect in exact "
                      "location \"= %V\", because backends add a token to the "
                      "URL: write \"location %V\", or set "
                      "\"mcp_publish_token\" for publishers",
                      &mlcf->file, mlcf->line, &clcf->name, &clcf->name);
        return NGX_ERROR;
    }

    return NGX_OK;
}


/*
 * If the location "conf" has a content handler of this module, sets has_inner
 * in all enclosing locations.  If the location sets directives of this module
 * but is not an endpoint, adds it to mmcf->others.  Called before values are
 * merged.
 */
static ngx_int_t
ngx_http_mcp_config_note(ngx_conf_t *cf, ngx_http_mcp_loc_conf_t *prev,
    ngx_http_mcp_loc_conf_t *conf)
{
    ngx_http_mcp_zone_t       *zone;
    ngx_http_mcp_loc_conf_t   *mlcf, **other;
    ngx_http_core_loc_conf_t  *clcf;
    ngx_http_mcp_main_conf_t  *mmcf;

    conf->outer = prev;

    zone = conf->zone ? conf->zone
                      : conf->publish_zone ? conf->publish_zone
                                           : conf->status_zone;

    if (zone) {
        zone->served = 1;

        for (mlcf = prev; mlcf && !mlcf->has_inner; mlcf = mlcf->outer) {
            mlcf->has_inner = 1;
        }
    }

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (conf->zone || clcf->name.len == 0 || ngx_http_mcp_config_is_block(clcf)
        || mcp_setup_is_empty_section(conf->setup))
    {
        return NGX_OK;
    }

    mmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_mcp_module);

    other = ngx_array_push(&mmcf->others);
    if (other == NULL) {
        return NGX_ERROR;
    }

    *other = conf;
    conf->name = clcf->name;

    return NGX_OK;
}


static void
ngx_http_mcp_config_warn_zones(ngx_conf_t *cf, ngx_http_mcp_main_conf_t *mmcf)
{
    ngx_uint_t             i;
    ngx_http_mcp_zone_t  **zone;

    zone = mmcf->zones.elts;

    for (i = 0; i < mmcf->zones.nelts; i++) {
        if (!zone[i]->served) {
            ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                          "zone \"%V\" in %V:%ui has no effect, because no "
                          "location has \"mcp\", \"mcp_publish\" or "
                          "\"mcp_status\" with it",
                          &zone[i]->name, &zone[i]->file, zone[i]->line);
        }
    }
}


/* Warns about directives without effect in a location that is not an
 * endpoint. */
static void
ngx_http_mcp_config_warn_other(ngx_conf_t *cf, ngx_http_mcp_loc_conf_t *mlcf)
{
    char                 text[MCP_SETUP_ERROR_MAX];
    unsigned             position;
    mcp_setup_section_e  section;

    if (mlcf->handler == NULL && !mlcf->is_backend) {
        ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                      "location \"%V\" has directives of this module "
                      "that have no effect, because neither this "
                      "location nor one nested in it has \"mcp\", "
                      "\"mcp_publish\" or \"mcp_status\"", &mlcf->name);
        return;
    }

    section = mlcf->publish_zone ? MCP_SETUP_PUBLISH
              : mlcf->status_zone ? MCP_SETUP_STATUS : MCP_SETUP_BACKEND;
    position = 0;

    while (mcp_setup_warning(mlcf->setup, section, 0 /* nginx */, &position,
                             text))
    {
        ngx_log_error(NGX_LOG_WARN, cf->log, 0, "location \"%V\" %s",
                      &mlcf->name, text);
    }
}


/* Warns about directives without effect in locations that are not endpoints.
 * Skips a location that contains another one with a content handler of this
 * module, because the inner location may inherit the directives. */
static void
ngx_http_mcp_config_warn_others(ngx_conf_t *cf, ngx_http_mcp_main_conf_t *mmcf)
{
    ngx_uint_t                 i;
    ngx_http_mcp_loc_conf_t  **mlcf;

    mlcf = mmcf->others.elts;

    for (i = 0; i < mmcf->others.nelts; i++) {
        if (!mlcf[i]->has_inner) {
            ngx_http_mcp_config_warn_other(cf, mlcf[i]);
        }
    }
}


/* Records in mlcf->setup the directives that the location itself sets, so that
 * mcp_setup_warning() can distinguish them from inherited ones. */
static void
ngx_http_mcp_config_mark_own(ngx_http_mcp_loc_conf_t *mlcf)
{
    unsigned  kept;

    kept = 0;

    if (mlcf->principal_set != NGX_CONF_UNSET) {
        kept |= MCP_SETUP_PRINCIPAL;
    }

    if (mlcf->link_origin != NGX_CONF_UNSET_PTR) {
        kept |= MCP_SETUP_LINK_ORIGIN;
    }

    mcp_setup_mark_own(mlcf->setup, kept);
}


char *
ngx_http_mcp_config_merge_loc(ngx_conf_t *cf, void *parent, void *child)
{
    ngx_http_mcp_loc_conf_t  *prev = parent;
    ngx_http_mcp_loc_conf_t  *conf = child;

    ngx_http_mcp_zone_t  *zone;

    ngx_http_mcp_config_mark_own(conf);

    if (ngx_http_mcp_config_note(cf, prev, conf) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    ngx_conf_merge_ptr_value(conf->principal, prev->principal, NULL);
    ngx_conf_merge_value(conf->principal_set, prev->principal_set, 0);
    ngx_conf_merge_ptr_value(conf->link_origin, prev->link_origin, NULL);

    mcp_setup_merge(conf->setup, prev->setup);

    if (ngx_http_mcp_config_check_handler(cf, conf) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    ngx_http_mcp_config_inherit_handler(cf, prev, conf);

    zone = conf->zone ? conf->zone : conf->publish_zone;

    if ((zone || conf->status_zone)
        && ngx_http_mcp_config_host_names(cf, conf) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    return zone ? ngx_http_mcp_config_endpoint(cf, conf, zone) : NGX_CONF_OK;
}


/* Checks that the named location of target n exists and is not an endpoint
 * itself, marks it as a backend, and applies its "mcp_upstream". */
static ngx_int_t
ngx_http_mcp_config_target(ngx_conf_t *cf, ngx_http_mcp_loc_conf_t *mlcf,
    unsigned n)
{
    mcp_str_t                   name;
    ngx_str_t                   text;
    ngx_http_mcp_loc_conf_t    *target;
    ngx_http_core_loc_conf_t  **clcfp;

    name = mcp_setup_target(mlcf->setup, n);

    text.data = (u_char *) name.data;
    text.len = name.len;

    clcfp = mlcf->cscf->named_locations;

    while (clcfp && *clcfp) {
        if (!mcp_str_eq(ngx_http_mcp_str(&(*clcfp)->name), name)) {
            clcfp++;
            continue;
        }

        target = (*clcfp)->loc_conf[ngx_http_mcp_module.ctx_index];

        if (target->zone == NULL) {
            target->is_backend = 1;
            mcp_setup_mark_backend(target->setup, mlcf->setup, name);
            mcp_setup_set_upstream(mlcf->setup, n, target->setup);
            return NGX_OK;
        }

        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "\"mcp\" in %V:%ui: \"mcp_backend\" or \"mcp_route\" "
                      "names location \"%V\", which is an endpoint itself",
                      &mlcf->file, mlcf->line, &text);

        return NGX_ERROR;
    }

    ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                  "\"mcp\" in %V:%ui: \"mcp_backend\" or \"mcp_route\" names "
                  "location \"%V\", which this server does not have",
                  &mlcf->file, mlcf->line, &text);

    return NGX_ERROR;
}


static ngx_int_t
ngx_http_mcp_config_targets(ngx_conf_t *cf, ngx_http_mcp_loc_conf_t *mlcf)
{
    unsigned  i;

    for (i = 0; i < mcp_setup_targets(mlcf->setup); i++) {
        if (ngx_http_mcp_config_target(cf, mlcf, i) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


ngx_int_t
ngx_http_mcp_config_finish(ngx_conf_t *cf)
{
    ngx_uint_t                  i;
    ngx_http_mcp_loc_conf_t   **mlcf;
    ngx_http_mcp_main_conf_t   *mmcf;

    mmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_mcp_module);

    if (ngx_http_mcp_variables_check(cf) != NGX_OK) {
        return NGX_ERROR;
    }

    if (mmcf->zones.nelts
        && ngx_http_mcp_worker_check_events(cf->cycle, cf->log) != NGX_OK)
    {
        return NGX_ERROR;
    }

#if (MCP_CLUSTER)
    if (ngx_http_mcp_cluster_finish(cf) != NGX_OK) {
        return NGX_ERROR;
    }
#endif

    mlcf = mmcf->endpoints.elts;

    for (i = 0; i < mmcf->endpoints.nelts; i++) {
        mcp_setup_fit(mlcf[i]->setup, mlcf[i]->zone->shm_zone->shm.size,
                      mlcf[i]->endpoint);

        if (ngx_http_mcp_config_targets(cf, mlcf[i]) != NGX_OK
            || ngx_http_mcp_document_add(cf, mlcf[i]) != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    ngx_http_mcp_config_warn_zones(cf, mmcf);
    ngx_http_mcp_config_warn_others(cf, mmcf);

    if (ngx_http_mcp_secret_init(cf) != NGX_OK
        || ngx_http_mcp_redirect_init(cf) != NGX_OK
        || ngx_http_mcp_document_init(cf) != NGX_OK
        || ngx_http_mcp_error_headers_init(cf) != NGX_OK)
    {
        return NGX_ERROR;
    }

    /* install the capture filters after all other filters of this module: the
     * filter installed last runs first, and the others must not see responses
     * of backends */

    ngx_http_mcp_capture_init();

    return NGX_OK;
}


ngx_int_t
ngx_http_mcp_config_add_handler(ngx_conf_t *cf, ngx_http_phases phase,
    ngx_http_handler_pt handler)
{
    ngx_http_handler_pt        *h;
    ngx_http_core_main_conf_t  *cmcf;

    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);

    h = ngx_array_push(&cmcf->phases[phase].handlers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    *h = handler;

    return NGX_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Directives, what they inherit, and the endpoint that they make. */


#include "ngx_http_mcp_module.h"


#define NGX_HTTP_MCP_ANY_CONF                                                 \
    (NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF)

/* A row of MCP_OPTIONS as a command. */
#define NGX_HTTP_MCP_OPTION(id, member, nginx, apache, kind, off, min, max,   \
    def)                                                                      \
    { ngx_string(nginx),                                                      \
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,                                   \
      ngx_http_mcp_option,                                                    \
      NGX_HTTP_LOC_CONF_OFFSET,                                               \
      MCP_OPTION_##id,                                                        \
      NULL },

/* And of MCP_OPTION_ALIASES. */
#define NGX_HTTP_MCP_ALIAS(id, member, nginx, apache)                         \
    NGX_HTTP_MCP_OPTION(id, member, nginx, apache, , , , ,)


static ngx_int_t ngx_http_mcp_preconfiguration(ngx_conf_t *cf);
static ngx_int_t ngx_http_mcp_postconfiguration(ngx_conf_t *cf);
static void *ngx_http_mcp_create_main_conf(ngx_conf_t *cf);
static char *ngx_http_mcp_init_main_conf(ngx_conf_t *cf, void *conf);
static void *ngx_http_mcp_create_loc_conf(ngx_conf_t *cf);
static char *ngx_http_mcp_merge_loc_conf(ngx_conf_t *cf, void *parent,
    void *child);

static char *ngx_http_mcp_endpoint(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static char *ngx_http_mcp_publish(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static char *ngx_http_mcp_status(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static char *ngx_http_mcp_key(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
static char *ngx_http_mcp_server(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static char *ngx_http_mcp_catalog(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static char *ngx_http_mcp_backend(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static char *ngx_http_mcp_route(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static char *ngx_http_mcp_principal(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static char *ngx_http_mcp_link_origin(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static char *ngx_http_mcp_allow_origin(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static char *ngx_http_mcp_publish_token(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static char *ngx_http_mcp_publish_url(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static char *ngx_http_mcp_option(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);


static ngx_command_t  ngx_http_mcp_commands[] = {

    { ngx_string("mcp_zone"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE2,
      ngx_http_mcp_zone,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("mcp"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_http_mcp_endpoint,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("mcp_publish"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE12,
      ngx_http_mcp_publish,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("mcp_publish_token"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_mcp_publish_token,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("mcp_publish_url"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_mcp_publish_url,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("mcp_status"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_http_mcp_status,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("mcp_key"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_1MORE,
      ngx_http_mcp_key,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("mcp_server"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE23,
      ngx_http_mcp_server,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("mcp_catalog"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_mcp_catalog,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("mcp_backend"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_mcp_backend,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("mcp_route"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE2,
      ngx_http_mcp_route,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("mcp_principal"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_mcp_principal,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, principal),
      NULL },

    { ngx_string("mcp_link_origin"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_mcp_link_origin,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, link_origin),
      NULL },

    { ngx_string("mcp_allow_origin"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_1MORE,
      ngx_http_mcp_allow_origin,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    MCP_OPTIONS(NGX_HTTP_MCP_OPTION)
    MCP_OPTION_ALIASES(NGX_HTTP_MCP_ALIAS)

    ngx_null_command
};


static ngx_http_module_t  ngx_http_mcp_module_ctx = {
    ngx_http_mcp_preconfiguration,         /* preconfiguration */
    ngx_http_mcp_postconfiguration,        /* postconfiguration */

    ngx_http_mcp_create_main_conf,         /* create main configuration */
    ngx_http_mcp_init_main_conf,           /* init main configuration */

    NULL,                                  /* create server configuration */
    NULL,                                  /* merge server configuration */

    ngx_http_mcp_create_loc_conf,          /* create location configuration */
    ngx_http_mcp_merge_loc_conf            /* merge location configuration */
};


ngx_module_t  ngx_http_mcp_module = {
    NGX_MODULE_V1,
    &ngx_http_mcp_module_ctx,              /* module context */
    ngx_http_mcp_commands,                 /* module directives */
    NGX_HTTP_MODULE,                       /* module type */
    NULL,                                  /* init master */
    ngx_http_mcp_init_module,              /* init module */
    ngx_http_mcp_init_process,             /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    ngx_http_mcp_exit_process,             /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};


static ngx_int_t
ngx_http_mcp_preconfiguration(ngx_conf_t *cf)
{
    return ngx_http_mcp_add_variables(cf);
}


static ngx_int_t
ngx_http_mcp_check_target(ngx_conf_t *cf, ngx_http_mcp_loc_conf_t *mlcf,
    mcp_str_t name)
{
    ngx_str_t                   text;
    ngx_http_mcp_loc_conf_t    *target;
    ngx_http_core_loc_conf_t  **clcfp;

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
            return NGX_OK;
        }

        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "\"mcp\" in %V:%ui uses named location \"%V\", which "
                      "is an endpoint itself",
                      &mlcf->file, mlcf->line, &text);

        return NGX_ERROR;
    }

    ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                  "\"mcp\" in %V:%ui uses named location \"%V\", which its "
                  "server does not have", &mlcf->file, mlcf->line, &text);

    return NGX_ERROR;
}


static ngx_int_t
ngx_http_mcp_postconfiguration(ngx_conf_t *cf)
{
    unsigned                   k;
    ngx_uint_t                 i;
    ngx_http_mcp_loc_conf_t  **mlcf;
    ngx_http_mcp_main_conf_t  *mmcf;

    mmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_mcp_module);

    if (mmcf->zones.nelts && ngx_http_mcp_check_events(cf->cycle, cf->log)
                             != NGX_OK)
    {
        return NGX_ERROR;
    }

    mlcf = mmcf->endpoints.elts;

    for (i = 0; i < mmcf->endpoints.nelts; i++) {
        for (k = 0; k < mcp_setup_targets(mlcf[i]->setup); k++) {
            if (ngx_http_mcp_check_target(cf, mlcf[i],
                                          mcp_setup_target(mlcf[i]->setup, k))
                != NGX_OK)
            {
                return NGX_ERROR;
            }
        }
    }

    if (ngx_http_mcp_secret_init(cf) != NGX_OK
        || ngx_http_mcp_redirect_init(cf) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_mcp_call_filter_init(cf);
}


static void *
ngx_http_mcp_create_main_conf(ngx_conf_t *cf)
{
    ngx_http_mcp_main_conf_t  *mmcf;

    mmcf = ngx_pcalloc(cf->pool, sizeof(ngx_http_mcp_main_conf_t));
    if (mmcf == NULL) {
        return NULL;
    }

    if (ngx_array_init(&mmcf->zones, cf->pool, 2,
                       sizeof(ngx_http_mcp_zone_t *))
        != NGX_OK)
    {
        return NULL;
    }

    if (ngx_array_init(&mmcf->endpoints, cf->pool, 4,
                       sizeof(ngx_http_mcp_loc_conf_t *))
        != NGX_OK)
    {
        return NULL;
    }

    if (ngx_array_init(&mmcf->variables, cf->pool, MCP_FACT_COUNT,
                       sizeof(ngx_uint_t))
        != NGX_OK)
    {
        return NULL;
    }

    return mmcf;
}


static char *
ngx_http_mcp_init_main_conf(ngx_conf_t *cf, void *conf)
{
    return ngx_http_mcp_zone_check(cf, conf);
}


static void
ngx_http_mcp_setup_cleanup(void *data)
{
    mcp_setup_free(data);
}


static void *
ngx_http_mcp_create_loc_conf(ngx_conf_t *cf)
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
     *     mlcf->zone, publish_zone, status_zone = NULL;
     *     mlcf->publish_open = 0;
     *     mlcf->is_backend = 0;
     *     mlcf->endpoint = { 0 };
     *     mlcf->host_names = NULL;
     *     mlcf->cscf = NULL;
     *     mlcf->file = { 0, NULL };
     *     mlcf->line = 0;
     */

    mlcf->principal = NGX_CONF_UNSET_PTR;
    mlcf->principal_said = NGX_CONF_UNSET;
    mlcf->link_origin = NGX_CONF_UNSET_PTR;

    cln = ngx_pool_cleanup_add(cf->pool, 0);
    if (cln == NULL) {
        return NULL;
    }

    mlcf->setup = mcp_setup_create(&ngx_http_mcp_mem);
    if (mlcf->setup == NULL) {
        return NULL;
    }

    cln->handler = ngx_http_mcp_setup_cleanup;
    cln->data = mlcf->setup;

    return mlcf;
}


/* The names of the server: nginx's own list of them lives only as long as the
 * configuration is read. */
static ngx_int_t
ngx_http_mcp_make_host_names(ngx_conf_t *cf, ngx_http_mcp_loc_conf_t *mlcf)
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


/* Nobody is told apart whom the location has identified: an id that leaks is as
 * good for others.  What is right nobody but the operator knows: $remote_user,
 * say, is unverified where "auth_basic" did not look at it. */
static void
ngx_http_mcp_warn_principal(ngx_conf_t *cf, ngx_http_mcp_loc_conf_t *mlcf)
{
    const char  *directive;

    directive = ngx_http_mcp_access_check(cf);

    if (directive) {
        ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                      "\"mcp\" in %V:%ui has \"%s\", but no "
                      "\"mcp_principal\": sessions belong to whoever has their "
                      "id; say \"mcp_principal off\" if that is meant",
                      &mlcf->file, mlcf->line, directive);
    }
}


/* The endpoint that a location with "mcp" or "mcp_publish" gets. */
static char *
ngx_http_mcp_make_endpoint(ngx_conf_t *cf, ngx_http_mcp_loc_conf_t *mlcf,
    ngx_http_mcp_zone_t *zone)
{
    ngx_http_mcp_loc_conf_t   **made;
    ngx_http_core_loc_conf_t   *clcf;
    ngx_http_mcp_main_conf_t   *mmcf;

    if (mcp_setup_endpoint(mlcf->setup, &zone->keys, mcp_str("nginx"),
                              mcp_str(NGINX_VERSION), &mlcf->endpoint)
           != MCP_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (mlcf->zone == NULL) {
        return NGX_CONF_OK;
    }

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (mcp_setup_lacks_backend(mlcf->setup) && !clcf->noname
        && !clcf->lmt_excpt)
    {
        ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                      "\"mcp\" in %V:%ui has a catalog, but neither "
                      "\"mcp_backend\" nor \"mcp_route\": its calls will fail",
                      &mlcf->file, mlcf->line);
    }

    if (mlcf->zone->shm_zone && !clcf->noname && !clcf->lmt_excpt
        && mcp_setup_fills_zone(mlcf->setup, mlcf->zone->shm_zone->shm.size))
    {
        ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                      "\"mcp\" in %V:%ui has a \"mcp_stream_buffer\" with "
                      "which one stream may have half of zone \"%V\", or "
                      "more: lower it, or give the zone more room",
                      &mlcf->file, mlcf->line, &mlcf->zone->name);
    }

    if (!mlcf->principal_said && !clcf->noname && !clcf->lmt_excpt) {
        ngx_http_mcp_warn_principal(cf, mlcf);
    }

    /* named locations are known once all servers are */

    mlcf->cscf = ngx_http_conf_get_module_srv_conf(cf, ngx_http_core_module);
    mmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_mcp_module);

    made = ngx_array_push(&mmcf->endpoints);
    if (made == NULL) {
        return NGX_CONF_ERROR;
    }

    *made = mlcf;

    return NGX_CONF_OK;
}


/* "if" and "limit_except" blocks are locations, too, and keep the handler of
 * theirs. */
static void
ngx_http_mcp_inherit_handler(ngx_conf_t *cf, ngx_http_mcp_loc_conf_t *prev,
    ngx_http_mcp_loc_conf_t *conf)
{
    ngx_http_handler_pt        handler;
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (!clcf->noname && !clcf->lmt_excpt) {
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
    conf->file = prev->file;
    conf->line = prev->line;

    if (clcf->lmt_excpt && clcf->handler == NULL) {
        clcf->handler = handler;
    }
}


static char *
ngx_http_mcp_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
    ngx_http_mcp_loc_conf_t  *prev = parent;
    ngx_http_mcp_loc_conf_t  *conf = child;

    ngx_http_mcp_zone_t  *zone;

    ngx_conf_merge_ptr_value(conf->principal, prev->principal, NULL);
    ngx_conf_merge_value(conf->principal_said, prev->principal_said, 0);
    ngx_conf_merge_ptr_value(conf->link_origin, prev->link_origin, NULL);

    mcp_setup_merge(conf->setup, prev->setup);

    ngx_http_mcp_inherit_handler(cf, prev, conf);

    zone = conf->zone ? conf->zone : conf->publish_zone;

    if ((zone || conf->status_zone)
        && ngx_http_mcp_make_host_names(cf, conf) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    return zone ? ngx_http_mcp_make_endpoint(cf, conf, zone) : NGX_CONF_OK;
}


/* A location has one content handler, and says once which. */
static char *
ngx_http_mcp_set_handler(ngx_conf_t *cf, ngx_http_mcp_loc_conf_t *mlcf,
    ngx_http_mcp_zone_t **zone, ngx_http_handler_pt handler)
{
    ngx_str_t                 *value;
    ngx_http_core_loc_conf_t  *clcf;

    if (*zone) {
        return "is duplicate";
    }

    if (mlcf->zone || mlcf->publish_zone || mlcf->status_zone) {
        return "must be the only one of \"mcp\", \"mcp_publish\" and "
               "\"mcp_status\" in its location";
    }

    value = cf->args->elts;

    *zone = ngx_http_mcp_zone_find(cf, &value[1]);
    if (*zone == NULL) {
        return NGX_CONF_ERROR;
    }

    mlcf->file = cf->conf_file->file.name;
    mlcf->line = cf->conf_file->line;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    clcf->handler = handler;

    return NGX_CONF_OK;
}


static char *
ngx_http_mcp_endpoint(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    return ngx_http_mcp_set_handler(cf, mlcf, &mlcf->zone,
                                    ngx_http_mcp_handler);
}


static char *
ngx_http_mcp_publish(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    ngx_str_t  *value;

    value = cf->args->elts;

    if (cf->args->nelts == 3) {
        if (ngx_strcmp(value[2].data, "open") != 0) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid parameter \"%V\"", &value[2]);
            return NGX_CONF_ERROR;
        }

        mlcf->publish_open = 1;
    }

    return ngx_http_mcp_set_handler(cf, mlcf, &mlcf->publish_zone,
                                    ngx_http_mcp_publish_handler);
}


static char *
ngx_http_mcp_status(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    return ngx_http_mcp_set_handler(cf, mlcf, &mlcf->status_zone,
                                    ngx_http_mcp_status_handler);
}


/* Reads a whole file that the configuration names. */
static ngx_int_t
ngx_http_mcp_read_file(ngx_conf_t *cf, ngx_str_t *name, off_t max,
    ngx_str_t *text)
{
    off_t       size;
    ssize_t     n;
    ngx_int_t   rc;
    ngx_file_t  file;

    if (ngx_conf_full_name(cf->cycle, name, 1) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_memzero(&file, sizeof(ngx_file_t));
    file.name = *name;
    file.log = cf->log;

    rc = NGX_ERROR;

    file.fd = ngx_open_file(name->data, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);

    if (file.fd == NGX_INVALID_FILE) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           ngx_open_file_n " \"%V\" failed", name);
        return NGX_ERROR;
    }

    if (ngx_fd_info(file.fd, &file.info) == NGX_FILE_ERROR) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           ngx_fd_info_n " \"%V\" failed", name);
        goto done;
    }

    size = ngx_file_size(&file.info);

    if (size > max) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" is larger than %O bytes", name, max);
        goto done;
    }

    text->len = (size_t) size;
    text->data = ngx_alloc(text->len + 1, cf->log);
    if (text->data == NULL) {
        goto done;
    }

    n = ngx_read_file(&file, text->data, text->len, 0);

    if (n == NGX_ERROR || (size_t) n != text->len) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           ngx_read_file_n " \"%V\" returned %z instead of "
                           "%uz", name, n, text->len);
        ngx_free(text->data);
        goto done;
    }

    rc = NGX_OK;

done:

    if (ngx_close_file(file.fd) == NGX_FILE_ERROR) {
        ngx_conf_log_error(NGX_LOG_ALERT, cf, ngx_errno,
                           ngx_close_file_n " \"%V\" failed", name);
    }

    return rc;
}


/* What a setter returns after an mcp_setup_...(). */
static char *
ngx_http_mcp_result(ngx_conf_t *cf, int rc, char *error)
{
    if (rc == MCP_OK) {
        return NGX_CONF_OK;
    }

    if (rc != MCP_ERR_CONFIG) {
        return NGX_CONF_ERROR;
    }

    if (ngx_strcmp(error, MCP_SETUP_DUPLICATE) == 0) {
        return MCP_SETUP_DUPLICATE;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%s", error);

    return NGX_CONF_ERROR;
}


static char *
ngx_http_mcp_option(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    char        error[MCP_SETUP_ERROR_MAX];
    ngx_str_t  *value;

    value = cf->args->elts;

    if (mcp_setup_option(mlcf->setup, (mcp_option_e) cmd->offset,
                         ngx_http_mcp_str(&value[1]), error)
        == MCP_OK)
    {
        return NGX_CONF_OK;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\" directive %s",
                       &cmd->name, error);

    return NGX_CONF_ERROR;
}


static char *
ngx_http_mcp_publish_token(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    int         rc;
    char        error[MCP_SETUP_ERROR_MAX];
    ngx_str_t  *value;

    value = cf->args->elts;

    rc = mcp_setup_publish_token(mlcf->setup, ngx_http_mcp_str(&value[1]),
                                 error);

    return ngx_http_mcp_result(cf, rc, error);
}


static char *
ngx_http_mcp_publish_url(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    int         rc;
    char        error[MCP_SETUP_ERROR_MAX];
    ngx_str_t  *value;

    value = cf->args->elts;

    rc = mcp_setup_publish_url(mlcf->setup, ngx_http_mcp_str(&value[1]),
                               error);

    return ngx_http_mcp_result(cf, rc, error);
}


static char *
ngx_http_mcp_key(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    int          rc;
    char         error[MCP_SETUP_ERROR_MAX];
    ngx_str_t   *value, text;
    ngx_uint_t   i;

    value = cf->args->elts;

    rc = mcp_setup_keys_begin(mlcf->setup, error);

    for (i = 1; rc == MCP_OK && i < cf->args->nelts; i++) {
        if (ngx_http_mcp_read_file(cf, &value[i], MCP_SETUP_KEY_FILE_MAX,
                                   &text)
            != NGX_OK)
        {
            return NGX_CONF_ERROR;
        }

        rc = mcp_setup_key(mlcf->setup, ngx_http_mcp_str(&value[i]),
                           ngx_http_mcp_str(&text), error);

        ngx_explicit_memzero(text.data, text.len);
        ngx_free(text.data);
    }

    return ngx_http_mcp_result(cf, rc, error);
}


static char *
ngx_http_mcp_server(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    int         rc;
    char        error[MCP_SETUP_ERROR_MAX];
    mcp_str_t   title;
    ngx_str_t  *value;

    value = cf->args->elts;

    title = cf->args->nelts == 4 ? ngx_http_mcp_str(&value[3]) : mcp_null_str;

    rc = mcp_setup_server(mlcf->setup, ngx_http_mcp_str(&value[1]),
                          ngx_http_mcp_str(&value[2]), title, error);

    return ngx_http_mcp_result(cf, rc, error);
}


static char *
ngx_http_mcp_catalog(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    int         rc;
    char        error[MCP_SETUP_ERROR_MAX];
    ngx_str_t  *value, text;

    value = cf->args->elts;

    if (ngx_http_mcp_read_file(cf, &value[1], MCP_SETUP_CATALOG_FILE_MAX,
                               &text)
        != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    rc = mcp_setup_catalog(mlcf->setup, ngx_http_mcp_str(&value[1]),
                           ngx_http_mcp_str(&text), error);

    ngx_free(text.data);

    return ngx_http_mcp_result(cf, rc, error);
}


static ngx_int_t
ngx_http_mcp_check_location(ngx_conf_t *cf, ngx_str_t *name)
{
    if (name->len > 1 && name->data[0] == '@') {
        return NGX_OK;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "\"%V\" is not a named location", name);

    return NGX_ERROR;
}


static char *
ngx_http_mcp_backend(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    int         rc;
    char        error[MCP_SETUP_ERROR_MAX];
    ngx_str_t  *value;

    value = cf->args->elts;

    if (ngx_http_mcp_check_location(cf, &value[1]) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    rc = mcp_setup_backend(mlcf->setup, ngx_http_mcp_str(&value[1]), error);

    return ngx_http_mcp_result(cf, rc, error);
}


static char *
ngx_http_mcp_route(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    int         rc;
    char        error[MCP_SETUP_ERROR_MAX];
    ngx_str_t  *value;

    value = cf->args->elts;

    if (ngx_http_mcp_check_location(cf, &value[2]) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    rc = mcp_setup_route(mlcf->setup, ngx_http_mcp_str(&value[1]),
                         ngx_http_mcp_str(&value[2]), error);

    return ngx_http_mcp_result(cf, rc, error);
}


static char *
ngx_http_mcp_principal(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    ngx_str_t  *value;

    if (mlcf->principal_said != NGX_CONF_UNSET) {
        return "is duplicate";
    }

    mlcf->principal_said = 1;

    value = cf->args->elts;

    if (ngx_strcmp(value[1].data, "off") == 0) {
        mlcf->principal = NULL;
        return NGX_CONF_OK;
    }

    return ngx_http_set_complex_value_slot(cf, cmd, conf);
}


static char *
ngx_http_mcp_link_origin(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    char  *rv;
    char   error[MCP_SETUP_ERROR_MAX];

    rv = ngx_http_set_complex_value_slot(cf, cmd, conf);

    /* with variables in it, it is looked at when it is used */

    if (rv != NGX_CONF_OK || mlcf->link_origin->lengths) {
        return rv;
    }

    return ngx_http_mcp_result(cf,
              mcp_setup_link_origin(ngx_http_mcp_str(&mlcf->link_origin->value),
                                    error),
              error);
}


static char *
ngx_http_mcp_allow_origin(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    int          rc;
    char         error[MCP_SETUP_ERROR_MAX];
    ngx_str_t   *value;
    ngx_uint_t   i;

    value = cf->args->elts;
    rc = MCP_OK;

    for (i = 1; rc == MCP_OK && i < cf->args->nelts; i++) {
        rc = mcp_setup_origin(mlcf->setup, ngx_http_mcp_str(&value[i]), error);
    }

    return ngx_http_mcp_result(cf, rc, error);
}

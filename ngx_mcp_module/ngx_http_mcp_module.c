
/* Directives, what they inherit, and the endpoint that they make. */


#include "ngx_http_mcp_module.h"


#define NGX_HTTP_MCP_ANY_CONF                                                 \
    (NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF)

#define NGX_HTTP_MCP_KEY_FILE_MAX      4096
#define NGX_HTTP_MCP_CATALOG_FILE_MAX  (64 * 1024 * 1024)


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
static char *ngx_http_mcp_allow_origin(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static char *ngx_http_mcp_msec(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
static char *ngx_http_mcp_num(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);


static ngx_conf_num_bounds_t  ngx_http_mcp_events_bounds = {
    ngx_conf_check_num_bounds, 1, 1 << 30
};

static ngx_conf_num_bounds_t  ngx_http_mcp_streams_bounds = {
    ngx_conf_check_num_bounds, 0, 1 << 30
};

static ngx_conf_num_bounds_t  ngx_http_mcp_depth_bounds = {
    ngx_conf_check_num_bounds, 4, 512
};

/* a call notes which of its requests were answered in 64 bits */

static ngx_conf_num_bounds_t  ngx_http_mcp_batch_bounds = {
    ngx_conf_check_num_bounds, 1, 64
};

static ngx_conf_num_bounds_t  ngx_http_mcp_page_bounds = {
    ngx_conf_check_num_bounds, 0, 1 << 30
};


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
      ngx_conf_set_str_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, publish_token),
      NULL },

    { ngx_string("mcp_publish_url"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_str_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, publish_url),
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
      ngx_http_set_complex_value_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, principal),
      NULL },

    { ngx_string("mcp_allow_origin"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_1MORE,
      ngx_http_mcp_allow_origin,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("mcp_session_lifetime"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_msec_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, session_lifetime),
      NULL },

    { ngx_string("mcp_stream_after"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_msec_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, stream_after),
      NULL },

    { ngx_string("mcp_close_after"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_mcp_msec,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, close_after),
      NULL },

    { ngx_string("mcp_retry"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_msec_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, retry),
      NULL },

    { ngx_string("mcp_keepalive"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_mcp_msec,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, keepalive),
      NULL },

    { ngx_string("mcp_max_wait"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_msec_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, max_wait),
      NULL },

    { ngx_string("mcp_linger"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_msec_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, linger),
      NULL },

    { ngx_string("mcp_call_timeout"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_msec_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, call_timeout),
      NULL },

    { ngx_string("mcp_input_timeout"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_msec_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, input_timeout),
      NULL },

    { ngx_string("mcp_max_events"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_num_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, max_events),
      &ngx_http_mcp_events_bounds },

    { ngx_string("mcp_stream_buffer"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_size_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, stream_buffer),
      NULL },

    { ngx_string("mcp_max_session_streams"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_mcp_num,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, max_session_streams),
      &ngx_http_mcp_streams_bounds },

    { ngx_string("mcp_max_principal_streams"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_mcp_num,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, max_principal_streams),
      &ngx_http_mcp_streams_bounds },

    { ngx_string("mcp_max_message"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_size_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, max_message),
      NULL },

    { ngx_string("mcp_max_depth"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_num_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, max_depth),
      &ngx_http_mcp_depth_bounds },

    { ngx_string("mcp_max_batch"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_num_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, max_batch),
      &ngx_http_mcp_batch_bounds },

    { ngx_string("mcp_page_size"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_mcp_num,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, page_size),
      &ngx_http_mcp_page_bounds },

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
    ngx_str_t *name)
{
    ngx_http_core_loc_conf_t  **clcfp;

    clcfp = mlcf->cscf->named_locations;

    while (clcfp && *clcfp) {
        if ((*clcfp)->name.len == name->len
            && ngx_strncmp((*clcfp)->name.data, name->data, name->len) == 0)
        {
            return NGX_OK;
        }

        clcfp++;
    }

    ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                  "\"mcp\" in %V:%ui uses named location \"%V\", which its "
                  "server does not have", &mlcf->file, mlcf->line, name);

    return NGX_ERROR;
}


static ngx_int_t
ngx_http_mcp_postconfiguration(ngx_conf_t *cf)
{
    ngx_str_t                 *name;
    ngx_uint_t                 i, j;
    ngx_http_mcp_loc_conf_t  **mlcf;
    ngx_http_mcp_main_conf_t  *mmcf;

    mmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_mcp_module);

    mlcf = mmcf->endpoints.elts;

    for (i = 0; i < mmcf->endpoints.nelts; i++) {
        name = mlcf[i]->targets->elts;

        for (j = 0; j < mlcf[i]->targets->nelts; j++) {
            if (ngx_http_mcp_check_target(cf, mlcf[i], &name[j]) != NGX_OK) {
                return NGX_ERROR;
            }
        }
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


static void *
ngx_http_mcp_create_loc_conf(ngx_conf_t *cf)
{
    ngx_http_mcp_loc_conf_t  *mlcf;

    mlcf = ngx_pcalloc(cf->pool, sizeof(ngx_http_mcp_loc_conf_t));
    if (mlcf == NULL) {
        return NULL;
    }

    /*
     * set by ngx_pcalloc():
     *
     *     mlcf->zone, publish_zone, status_zone = NULL;
     *     mlcf->endpoint = { 0 };
     *     mlcf->targets = NULL;
     *     mlcf->publish_open = 0;
     *     mlcf->publish_token, publish_url = { 0, NULL };
     *     mlcf->server_name, server_version, server_title = { 0, NULL };
     *     mlcf->backend = { 0, NULL };
     *     mlcf->keys = NULL;
     *     mlcf->catalog = NULL;
     *     mlcf->routes = NULL;
     *     mlcf->cscf = NULL;
     *     mlcf->file = { 0, NULL };
     *     mlcf->line = 0;
     */

    mlcf->principal = NGX_CONF_UNSET_PTR;
    mlcf->any_origin = NGX_CONF_UNSET;
    mlcf->origins = NGX_CONF_UNSET_PTR;
    mlcf->session_lifetime = NGX_CONF_UNSET_MSEC;
    mlcf->stream_after = NGX_CONF_UNSET_MSEC;
    mlcf->close_after = NGX_CONF_UNSET_MSEC;
    mlcf->retry = NGX_CONF_UNSET_MSEC;
    mlcf->keepalive = NGX_CONF_UNSET_MSEC;
    mlcf->max_wait = NGX_CONF_UNSET_MSEC;
    mlcf->linger = NGX_CONF_UNSET_MSEC;
    mlcf->call_timeout = NGX_CONF_UNSET_MSEC;
    mlcf->input_timeout = NGX_CONF_UNSET_MSEC;
    mlcf->max_events = NGX_CONF_UNSET_UINT;
    mlcf->stream_buffer = NGX_CONF_UNSET_SIZE;
    mlcf->max_session_streams = NGX_CONF_UNSET_UINT;
    mlcf->max_principal_streams = NGX_CONF_UNSET_UINT;
    mlcf->max_message = NGX_CONF_UNSET_SIZE;
    mlcf->max_depth = NGX_CONF_UNSET_UINT;
    mlcf->max_batch = NGX_CONF_UNSET_UINT;
    mlcf->page_size = NGX_CONF_UNSET_UINT;

    return mlcf;
}


static ngx_int_t
ngx_http_mcp_add_target(ngx_http_mcp_loc_conf_t *mlcf, ngx_str_t *name,
    unsigned *target)
{
    ngx_str_t   *names;
    ngx_uint_t   i;

    names = mlcf->targets->elts;

    for (i = 0; i < mlcf->targets->nelts; i++) {
        if (names[i].len == name->len
            && ngx_strncmp(names[i].data, name->data, name->len) == 0)
        {
            *target = (unsigned) i;
            return NGX_OK;
        }
    }

    names = ngx_array_push(mlcf->targets);
    if (names == NULL) {
        return NGX_ERROR;
    }

    *names = *name;
    *target = (unsigned) i;

    return NGX_OK;
}


static ngx_int_t
ngx_http_mcp_make_routes(ngx_conf_t *cf, ngx_http_mcp_loc_conf_t *mlcf)
{
    int                    exact;
    ngx_uint_t             i, n;
    mcp_route_t           *routes;
    ngx_http_mcp_route_t  *route;

    mlcf->targets = ngx_array_create(cf->pool, 4, sizeof(ngx_str_t));
    if (mlcf->targets == NULL) {
        return NGX_ERROR;
    }

    mlcf->endpoint.target = MCP_NO_TARGET;

    if (mlcf->backend.len
        && ngx_http_mcp_add_target(mlcf, &mlcf->backend,
                                   &mlcf->endpoint.target)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (mlcf->routes == NULL) {
        return NGX_OK;
    }

    routes = ngx_palloc(cf->pool, mlcf->routes->nelts * sizeof(mcp_route_t));
    if (routes == NULL) {
        return NGX_ERROR;
    }

    route = mlcf->routes->elts;
    n = 0;

    /* exact names win over regular expressions, wherever they stand */

    for (exact = 1; exact >= 0; exact--) {
        for (i = 0; i < mlcf->routes->nelts; i++) {
            if (mcp_match_is_exact(route[i].match) != exact) {
                continue;
            }

            if (ngx_http_mcp_add_target(mlcf, &route[i].location,
                                        &routes[n].target)
                != NGX_OK)
            {
                return NGX_ERROR;
            }

            routes[n++].match = route[i].match;
        }
    }

    mlcf->endpoint.routes = routes;
    mlcf->endpoint.n_routes = n;

    return NGX_OK;
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


/* The endpoint that a location with "mcp" or "mcp_publish" gets. */
static char *
ngx_http_mcp_make_endpoint(ngx_conf_t *cf, ngx_http_mcp_loc_conf_t *mlcf,
    ngx_http_mcp_zone_t *zone)
{
    mcp_endpoint_t             *endpoint;
    ngx_http_mcp_loc_conf_t   **made;
    ngx_http_mcp_main_conf_t   *mmcf;

    endpoint = &mlcf->endpoint;

    if (ngx_http_mcp_make_host_names(cf, mlcf) != NGX_OK
        || ngx_http_mcp_make_routes(cf, mlcf) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    endpoint->name = ngx_http_mcp_str(&mlcf->server_name);
    endpoint->version = ngx_http_mcp_str(&mlcf->server_version);
    endpoint->title = ngx_http_mcp_str(&mlcf->server_title);
    endpoint->keys = mlcf->keys ? mlcf->keys : &zone->keys;
    endpoint->catalog = mlcf->catalog;
    endpoint->publish_url = ngx_http_mcp_str(&mlcf->publish_url);
    endpoint->any_origin = (mlcf->any_origin == 1);

    if (mlcf->origins) {
        endpoint->origins = mlcf->origins->elts;
        endpoint->n_origins = mlcf->origins->nelts;
    }

    endpoint->session_lifetime = mlcf->session_lifetime;
    endpoint->stream_after = mlcf->stream_after;
    endpoint->close_after = mlcf->close_after;
    endpoint->retry = mlcf->retry;
    endpoint->keepalive = mlcf->keepalive;
    endpoint->max_wait = mlcf->max_wait;
    endpoint->linger = mlcf->linger;
    endpoint->call_timeout = mlcf->call_timeout;
    endpoint->input_timeout = mlcf->input_timeout;
    endpoint->max_events = (uint32_t) mlcf->max_events;
    endpoint->stream_buffer = mlcf->stream_buffer;
    endpoint->max_session_streams = (uint32_t) mlcf->max_session_streams;
    endpoint->max_principal_streams = (uint32_t) mlcf->max_principal_streams;
    endpoint->max_message = mlcf->max_message;
    endpoint->max_depth = (unsigned) mlcf->max_depth;
    endpoint->max_batch = mlcf->max_batch;
    endpoint->page_size = mlcf->page_size;

    if (mlcf->zone == NULL) {
        return NGX_CONF_OK;
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
    ngx_conf_merge_ptr_value(conf->origins, prev->origins, NULL);
    ngx_conf_merge_value(conf->any_origin, prev->any_origin, 0);

    ngx_conf_merge_str_value(conf->publish_token, prev->publish_token, "");
    ngx_conf_merge_str_value(conf->publish_url, prev->publish_url, "");
    ngx_conf_merge_str_value(conf->backend, prev->backend, "");

    if (conf->server_name.data == NULL) {
        conf->server_name = prev->server_name;
        conf->server_version = prev->server_version;
        conf->server_title = prev->server_title;
    }

    ngx_conf_merge_str_value(conf->server_name, prev->server_name, "nginx");
    ngx_conf_merge_str_value(conf->server_version, prev->server_version,
                             NGINX_VERSION);

    if (conf->keys == NULL) {
        conf->keys = prev->keys;
    }

    if (conf->catalog == NULL) {
        conf->catalog = prev->catalog;
    }

    if (conf->routes == NULL) {
        conf->routes = prev->routes;
    }

    ngx_conf_merge_msec_value(conf->session_lifetime, prev->session_lifetime,
                              24 * 60 * 60 * 1000);
    ngx_conf_merge_msec_value(conf->stream_after, prev->stream_after, 1000);
    ngx_conf_merge_msec_value(conf->close_after, prev->close_after, 0);
    ngx_conf_merge_msec_value(conf->retry, prev->retry, 2000);
    ngx_conf_merge_msec_value(conf->keepalive, prev->keepalive, 15000);
    ngx_conf_merge_msec_value(conf->max_wait, prev->max_wait, 600000);
    ngx_conf_merge_msec_value(conf->linger, prev->linger, 60000);
    ngx_conf_merge_msec_value(conf->call_timeout, prev->call_timeout, 600000);
    ngx_conf_merge_msec_value(conf->input_timeout, prev->input_timeout,
                              600000);

    ngx_conf_merge_uint_value(conf->max_events, prev->max_events, 65536);
    ngx_conf_merge_size_value(conf->stream_buffer, prev->stream_buffer,
                              8 * 1024 * 1024);
    ngx_conf_merge_uint_value(conf->max_session_streams,
                              prev->max_session_streams, 1024);
    ngx_conf_merge_uint_value(conf->max_principal_streams,
                              prev->max_principal_streams, 0);
    ngx_conf_merge_size_value(conf->max_message, prev->max_message,
                              8 * 1024 * 1024);
    ngx_conf_merge_uint_value(conf->max_depth, prev->max_depth, 64);
    ngx_conf_merge_uint_value(conf->max_batch, prev->max_batch, 50);
    ngx_conf_merge_uint_value(conf->page_size, prev->page_size, 100);

    ngx_http_mcp_inherit_handler(cf, prev, conf);

    zone = conf->zone ? conf->zone : conf->publish_zone;

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


static char *
ngx_http_mcp_key(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    int          rc;
    ngx_str_t   *value, text;
    ngx_uint_t   i;

    if (mlcf->keys) {
        return "is duplicate";
    }

    mlcf->keys = ngx_pcalloc(cf->pool, sizeof(mcp_keys_t));
    if (mlcf->keys == NULL) {
        return NGX_CONF_ERROR;
    }

    value = cf->args->elts;

    for (i = 1; i < cf->args->nelts; i++) {
        if (ngx_http_mcp_read_file(cf, &value[i],
                                   NGX_HTTP_MCP_KEY_FILE_MAX, &text)
            != NGX_OK)
        {
            return NGX_CONF_ERROR;
        }

        rc = mcp_keys_add(mlcf->keys, ngx_http_mcp_str(&text));

        ngx_explicit_memzero(text.data, text.len);
        ngx_free(text.data);

        switch (rc) {

        case MCP_OK:
            break;

        case MCP_ERR_LIMIT:
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "more than %d keys", MCP_KEYS_MAX);
            return NGX_CONF_ERROR;

        case MCP_ERR_CONFIG:
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "key in \"%V\" is shorter than %d bytes",
                               &value[i], MCP_KEY_MIN_LEN);
            return NGX_CONF_ERROR;

        default:
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "cannot derive a key from \"%V\"", &value[i]);
            return NGX_CONF_ERROR;
        }
    }

    return NGX_CONF_OK;
}


/* What goes into JSON must be UTF-8. */
static ngx_uint_t
ngx_http_mcp_is_text(ngx_str_t *s)
{
    u_char  *p, *last;

    p = s->data;
    last = p + s->len;

    while (p < last) {
        if (*p < 0x80) {
            p++;

        } else if (ngx_utf8_decode(&p, last - p) > 0x10ffff) {
            return 0;
        }
    }

    return s->len != 0;
}


static char *
ngx_http_mcp_server(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    ngx_str_t   *value;
    ngx_uint_t   i;

    if (mlcf->server_name.data) {
        return "is duplicate";
    }

    value = cf->args->elts;

    for (i = 1; i < cf->args->nelts; i++) {
        if (!ngx_http_mcp_is_text(&value[i])) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "\"%V\" is empty or not UTF-8", &value[i]);
            return NGX_CONF_ERROR;
        }
    }

    mlcf->server_name = value[1];
    mlcf->server_version = value[2];

    if (cf->args->nelts == 4) {
        mlcf->server_title = value[3];
    }

    return NGX_CONF_OK;
}


static void
ngx_http_mcp_catalog_cleanup(void *data)
{
    mcp_catalog_free(data);
}


static char *
ngx_http_mcp_catalog(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    int                  rc;
    char                 error[256];
    ngx_str_t           *value, text;
    ngx_pool_cleanup_t  *cln;

    if (mlcf->catalog) {
        return "is duplicate";
    }

    value = cf->args->elts;

    if (ngx_http_mcp_read_file(cf, &value[1], NGX_HTTP_MCP_CATALOG_FILE_MAX,
                               &text)
        != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    cln = ngx_pool_cleanup_add(cf->pool, 0);
    if (cln == NULL) {
        ngx_free(text.data);
        return NGX_CONF_ERROR;
    }

    rc = mcp_catalog_create(&ngx_http_mcp_mem, ngx_http_mcp_str(&text),
                            &mlcf->catalog, error, sizeof(error));

    ngx_free(text.data);

    if (rc == MCP_ERR_CONFIG) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%V: %s", &value[1], error);
    }

    if (rc != MCP_OK) {
        return NGX_CONF_ERROR;
    }

    cln->handler = ngx_http_mcp_catalog_cleanup;
    cln->data = mlcf->catalog;

    return NGX_CONF_OK;
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

    ngx_str_t  *value;

    if (mlcf->backend.data) {
        return "is duplicate";
    }

    value = cf->args->elts;

    if (ngx_http_mcp_check_location(cf, &value[1]) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    mlcf->backend = value[1];

    return NGX_CONF_OK;
}


static void
ngx_http_mcp_match_cleanup(void *data)
{
    mcp_match_free(data);
}


static mcp_match_t *
ngx_http_mcp_compile(ngx_conf_t *cf, ngx_str_t *pattern)
{
    int                  rc;
    char                 error[256];
    mcp_match_t         *match;
    ngx_pool_cleanup_t  *cln;

    cln = ngx_pool_cleanup_add(cf->pool, 0);
    if (cln == NULL) {
        return NULL;
    }

    rc = mcp_match_create(&ngx_http_mcp_mem, ngx_http_mcp_str(pattern), &match,
                          error, sizeof(error));

    if (rc == MCP_ERR_CONFIG) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid pattern \"%V\": %s", pattern, error);
    }

    if (rc != MCP_OK) {
        return NULL;
    }

    cln->handler = ngx_http_mcp_match_cleanup;
    cln->data = match;

    return match;
}


static char *
ngx_http_mcp_route(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    ngx_str_t             *value;
    ngx_http_mcp_route_t  *route;

    value = cf->args->elts;

    if (ngx_http_mcp_check_location(cf, &value[2]) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    if (mlcf->routes == NULL) {
        mlcf->routes = ngx_array_create(cf->pool, 4,
                                        sizeof(ngx_http_mcp_route_t));
        if (mlcf->routes == NULL) {
            return NGX_CONF_ERROR;
        }
    }

    route = ngx_array_push(mlcf->routes);
    if (route == NULL) {
        return NGX_CONF_ERROR;
    }

    route->location = value[2];
    route->match = ngx_http_mcp_compile(cf, &value[1]);

    return route->match ? NGX_CONF_OK : NGX_CONF_ERROR;
}


static char *
ngx_http_mcp_allow_origin(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    ngx_str_t     *value;
    ngx_uint_t     i;
    mcp_match_t  **match;

    if (mlcf->origins == NGX_CONF_UNSET_PTR) {
        mlcf->any_origin = 0;
        mlcf->origins = ngx_array_create(cf->pool, 4, sizeof(mcp_match_t *));
        if (mlcf->origins == NULL) {
            return NGX_CONF_ERROR;
        }
    }

    value = cf->args->elts;

    for (i = 1; i < cf->args->nelts; i++) {
        if (ngx_strcmp(value[i].data, "*") == 0) {
            mlcf->any_origin = 1;
            continue;
        }

        if (value[i].data[0] != '~'
            && ngx_strstr(value[i].data, "://") == NULL
            && ngx_strcmp(value[i].data, "null") != 0)
        {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "\"%V\" is not an origin "
                               "(scheme://host[:port]), ~regex, null or *",
                               &value[i]);
            return NGX_CONF_ERROR;
        }

        match = ngx_array_push(mlcf->origins);
        if (match == NULL) {
            return NGX_CONF_ERROR;
        }

        *match = ngx_http_mcp_compile(cf, &value[i]);
        if (*match == NULL) {
            return NGX_CONF_ERROR;
        }
    }

    return NGX_CONF_OK;
}


/* A time, or "off": 0. */
static char *
ngx_http_mcp_msec(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    char  *p = conf;

    ngx_str_t   *value;
    ngx_msec_t  *msp;

    msp = (ngx_msec_t *) (p + cmd->offset);
    value = cf->args->elts;

    if (*msp == NGX_CONF_UNSET_MSEC
        && ngx_strcmp(value[1].data, "off") == 0)
    {
        *msp = 0;
        return NGX_CONF_OK;
    }

    return ngx_conf_set_msec_slot(cf, cmd, conf);
}


/* A number, or "off": 0. */
static char *
ngx_http_mcp_num(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    char  *p = conf;

    ngx_str_t   *value;
    ngx_uint_t  *np;

    np = (ngx_uint_t *) (p + cmd->offset);
    value = cf->args->elts;

    if (*np == NGX_CONF_UNSET_UINT && ngx_strcmp(value[1].data, "off") == 0) {
        *np = 0;
        return NGX_CONF_OK;
    }

    return ngx_conf_set_num_slot(cf, cmd, conf);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Setters of the directives: they fill the configuration of their block. */


#include "ngx_http_mcp_directive.h"

#include "ngx_http_mcp_config.h"
#include "ngx_http_mcp_handler.h"
#include "ngx_http_mcp_status.h"
#include "ngx_http_mcp_zone.h"


/* --- zones and locations --- */

char *
ngx_http_mcp_directive_zone(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    size_t      min;
    ssize_t     size;
    ngx_str_t  *value;

    value = cf->args->elts;

    if (value[1].len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "empty zone name");
        return NGX_CONF_ERROR;
    }

    size = ngx_parse_size(&value[2]);

    if (size == NGX_ERROR) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid zone size \"%V\"",
                           &value[2]);
        return NGX_CONF_ERROR;
    }

    /* minimum size: the store, nginx's header and page table, and the zone's
     * head */

    min = MCP_STORE_MIN_SIZE + 8 * ngx_pagesize;

    if ((size_t) size < min) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "zone \"%V\" is too small, it needs at least %uzk",
                           &value[1], min / 1024);
        return NGX_CONF_ERROR;
    }

    if ((uint64_t) size > MCP_STORE_SIZE_MAX) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "zone \"%V\" is too large, at most %uLm are "
                           "possible",
                           &value[1], MCP_STORE_SIZE_MAX / (1024 * 1024));
        return NGX_CONF_ERROR;
    }

    return ngx_http_mcp_zone_add(cf, &value[1], (size_t) size);
}


/* Sets the content handler of a location. Rejects a second content handler. */
static char *
ngx_http_mcp_directive_handler(ngx_conf_t *cf, ngx_http_mcp_loc_conf_t *mlcf,
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

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    /* ngx_http_mcp_config_merge_loc() detects later directives that set a
     * content handler */

    if (clcf->handler) {
        return "is in a location that has another content handler, such as "
               "\"proxy_pass\": remove one of them (calls are forwarded by "
               "the named location of \"mcp_backend\")";
    }

    value = cf->args->elts;

    *zone = ngx_http_mcp_zone_find(cf, &value[1]);
    if (*zone == NULL) {
        return NGX_CONF_ERROR;
    }

    mlcf->file = cf->conf_file->file.name;
    mlcf->line = cf->conf_file->line;
    mlcf->handler = handler;

    clcf->handler = handler;

    return NGX_CONF_OK;
}


char *
ngx_http_mcp_directive_endpoint(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    return ngx_http_mcp_directive_handler(cf, mlcf, &mlcf->zone,
                                    ngx_http_mcp_handler);
}


/* Returns NGX_OK if there is no second parameter or if it is "word"; otherwise
 * NGX_ERROR, after an error in the log. */
static ngx_int_t
ngx_http_mcp_directive_has(ngx_conf_t *cf, const char *word)
{
    ngx_str_t  *value;

    value = cf->args->elts;

    if (cf->args->nelts == 3 && ngx_strcmp(value[2].data, word) != 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid parameter \"%V\", only \"%s\" is allowed",
                           &value[2], word);
        return NGX_ERROR;
    }

    return NGX_OK;
}


char *
ngx_http_mcp_directive_publish(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    if (ngx_http_mcp_directive_has(cf, "open") == NGX_ERROR) {
        return NGX_CONF_ERROR;
    }

    mlcf->publish_open = cf->args->nelts == 3;

    return ngx_http_mcp_directive_handler(cf, mlcf, &mlcf->publish_zone,
                                    ngx_http_mcp_publish_handler);
}


char *
ngx_http_mcp_directive_status(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    if (ngx_http_mcp_directive_has(cf, "details") == NGX_ERROR) {
        return NGX_CONF_ERROR;
    }

    mlcf->status_details = cf->args->nelts == 3;

    return ngx_http_mcp_directive_handler(cf, mlcf, &mlcf->status_zone,
                                    ngx_http_mcp_status_handler);
}


static ngx_int_t
ngx_http_mcp_directive_read(ngx_conf_t *cf, ngx_file_t *file, off_t max,
    ngx_str_t *text)
{
    off_t    size;
    ssize_t  n;

    if (ngx_fd_info(file->fd, &file->info) == NGX_FILE_ERROR) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           ngx_fd_info_n " \"%V\" failed", &file->name);
        return NGX_ERROR;
    }

    if (!ngx_is_file(&file->info)) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" is not a regular file", &file->name);
        return NGX_ERROR;
    }

    size = ngx_file_size(&file->info);

    if (size > max) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" is larger than %O bytes", &file->name, max);
        return NGX_ERROR;
    }

    text->len = (size_t) size;
    text->data = ngx_alloc(text->len + 1, cf->log);
    if (text->data == NULL) {
        return NGX_ERROR;
    }

    n = ngx_read_file(file, text->data, text->len, 0);

    if (n == NGX_ERROR || (size_t) n != text->len) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           ngx_read_file_n " \"%V\" returned %z bytes instead "
                           "of %uz", &file->name, n, text->len);
        ngx_free(text->data);
        return NGX_ERROR;
    }

    return NGX_OK;
}


ngx_int_t
ngx_http_mcp_directive_file(ngx_conf_t *cf, ngx_str_t *name, off_t max,
    ngx_str_t *text)
{
    ngx_int_t   rc;
    ngx_file_t  file;

    if (ngx_conf_full_name(cf->cycle, name, 1) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_memzero(&file, sizeof(ngx_file_t));
    file.name = *name;
    file.log = cf->log;

    /* do not wait for the writer of a FIFO */

    file.fd = ngx_open_file(name->data, NGX_FILE_RDONLY|NGX_FILE_NONBLOCK,
                            NGX_FILE_OPEN, 0);

    if (file.fd == NGX_INVALID_FILE) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           ngx_open_file_n " \"%V\" failed", name);
        return NGX_ERROR;
    }

    rc = ngx_http_mcp_directive_read(cf, &file, max, text);

    if (ngx_close_file(file.fd) == NGX_FILE_ERROR) {
        ngx_conf_log_error(NGX_LOG_ALERT, cf, ngx_errno,
                           ngx_close_file_n " \"%V\" failed", name);
    }

    return rc;
}


char *
ngx_http_mcp_directive_result(ngx_conf_t *cf, int rc, char *error)
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

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\": %s",
                       (ngx_str_t *) cf->args->elts, error);

    return NGX_CONF_ERROR;
}


char *
ngx_http_mcp_directive_setup(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    int                           rc;
    char                          error[MCP_SETUP_ERROR_MAX];
    ngx_http_mcp_directive_fn   **set;

    set = cmd->post;

    rc = (*set)(cf, mlcf->setup, cf->args->elts, error);

    return ngx_http_mcp_directive_result(cf, rc, error);
}


char *
ngx_http_mcp_directive_option(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
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


static void
ngx_http_mcp_directive_warn_key(ngx_conf_t *cf, ngx_str_t *name,
    ngx_str_t *text)
{
    char             warning[MCP_SETUP_ERROR_MAX];
    ngx_uint_t       readable;
    ngx_file_info_t  fi;

    readable = ngx_file_info(name->data, &fi) != NGX_FILE_ERROR
               && (fi.st_mode & S_IROTH);

    if (mcp_setup_key_weak(ngx_http_mcp_str(name), ngx_http_mcp_str(text),
                           (int) readable, warning))
    {
        ngx_conf_log_error(NGX_LOG_WARN, cf, 0, "%s", warning);
    }
}


int
ngx_http_mcp_directive_key(ngx_conf_t *cf, mcp_setup_t *setup,
    ngx_str_t *value, char *error)
{
    int         rc;
    ngx_str_t   text;
    ngx_uint_t  i;

    rc = mcp_setup_keys_begin(setup, error);

    for (i = 1; rc == MCP_OK && i < cf->args->nelts; i++) {
        if (ngx_http_mcp_directive_file(cf, &value[i], MCP_SETUP_KEY_FILE_MAX,
                                        &text)
            != NGX_OK)
        {
            return MCP_ERR_INTERNAL;
        }

        rc = mcp_setup_key(setup, ngx_http_mcp_str(&value[i]),
                           ngx_http_mcp_str(&text), error);

        if (rc == MCP_OK) {
            ngx_http_mcp_directive_warn_key(cf, &value[i], &text);
        }

        ngx_explicit_memzero(text.data, text.len);
        ngx_free(text.data);
    }

    return rc;
}


int
ngx_http_mcp_directive_server(ngx_conf_t *cf, mcp_setup_t *setup,
    ngx_str_t *value, char *error)
{
    return mcp_setup_server(setup, ngx_http_mcp_str(&value[1]),
                            ngx_http_mcp_str(&value[2]),
                            cf->args->nelts == 4 ? ngx_http_mcp_str(&value[3])
                                                 : mcp_null_str,
                            error);
}


int
ngx_http_mcp_directive_catalog(ngx_conf_t *cf, mcp_setup_t *setup,
    ngx_str_t *value, char *error)
{
    int        rc;
    ngx_str_t  text;

    if (ngx_http_mcp_directive_file(cf, &value[1], MCP_SETUP_CATALOG_FILE_MAX,
                                    &text)
        != NGX_OK)
    {
        return MCP_ERR_INTERNAL;
    }

    rc = mcp_setup_catalog(setup, ngx_http_mcp_str(&value[1]),
                           ngx_http_mcp_str(&text), error);

    ngx_free(text.data);

    return rc;
}


static ngx_int_t
ngx_http_mcp_directive_location(ngx_conf_t *cf, ngx_str_t *name)
{
    if (name->len > 1 && name->data[0] == '@') {
        return NGX_OK;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "\"%V\" is not a named location, such as @tools", name);

    return NGX_ERROR;
}


int
ngx_http_mcp_directive_backend(ngx_conf_t *cf, mcp_setup_t *setup,
    ngx_str_t *value, char *error)
{
    if (ngx_http_mcp_directive_location(cf, &value[1]) != NGX_OK) {
        return MCP_ERR_INTERNAL;
    }

    return mcp_setup_backend(setup, ngx_http_mcp_str(&value[1]), error);
}


int
ngx_http_mcp_directive_route(ngx_conf_t *cf, mcp_setup_t *setup,
    ngx_str_t *value, char *error)
{
    if (ngx_http_mcp_directive_location(cf, &value[2]) != NGX_OK) {
        return MCP_ERR_INTERNAL;
    }

    return mcp_setup_route(setup, ngx_http_mcp_str(&value[1]),
                           ngx_http_mcp_str(&value[2]), error);
}


/*
 * Compiles a directive's value that contains variables, for evaluation at each
 * request.  Returns NULL on error.
 */
static ngx_http_complex_value_t *
ngx_http_mcp_directive_value(ngx_conf_t *cf, ngx_str_t *text)
{
    ngx_http_complex_value_t          *value;
    ngx_http_compile_complex_value_t   ccv;

    value = ngx_palloc(cf->pool, sizeof(ngx_http_complex_value_t));
    if (value == NULL) {
        return NULL;
    }

    ngx_memzero(&ccv, sizeof(ngx_http_compile_complex_value_t));

    ccv.cf = cf;
    ccv.value = text;
    ccv.complex_value = value;

    return ngx_http_compile_complex_value(&ccv) == NGX_OK ? value : NULL;
}


int
ngx_http_mcp_directive_allow(ngx_conf_t *cf, mcp_setup_t *setup,
    ngx_str_t *value, char *error)
{
    ngx_http_complex_value_t  *rule;

    rule = ngx_http_mcp_directive_value(cf, &value[2]);

    return rule ? mcp_setup_allow(setup, ngx_http_mcp_str(&value[1]), rule,
                                  error)
                : MCP_ERR_INTERNAL;
}


int
ngx_http_mcp_directive_granted_scopes(ngx_conf_t *cf, mcp_setup_t *setup,
    ngx_str_t *value, char *error)
{
    ngx_http_complex_value_t  *scopes;

    scopes = ngx_http_mcp_directive_value(cf, &value[1]);

    return scopes ? mcp_setup_granted_scopes(setup, scopes, error)
                  : MCP_ERR_INTERNAL;
}


char *
ngx_http_mcp_directive_principal(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    ngx_str_t  *value;

    if (mlcf->principal_set != NGX_CONF_UNSET) {
        return "is duplicate";
    }

    mlcf->principal_set = 1;

    value = cf->args->elts;

    if (ngx_strcmp(value[1].data, "off") == 0) {
        mlcf->principal = NULL;
        return NGX_CONF_OK;
    }

    return ngx_http_set_complex_value_slot(cf, cmd, conf);
}


char *
ngx_http_mcp_directive_link_origin(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    char  *rv;
    char   error[MCP_SETUP_ERROR_MAX];

    rv = ngx_http_set_complex_value_slot(cf, cmd, conf);

    /* check only a constant value here: a value with variables is known, and
     * checked by the core, only at a request */

    if (rv != NGX_CONF_OK || mlcf->link_origin->lengths) {
        return rv;
    }

    return ngx_http_mcp_directive_result(cf,
              mcp_setup_link_origin(ngx_http_mcp_str(&mlcf->link_origin->value),
                                    error),
              error);
}


char *
ngx_http_mcp_directive_words(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_mcp_loc_conf_t  *mlcf = conf;

    int                      rc;
    char                     error[MCP_SETUP_ERROR_MAX];
    ngx_str_t               *value;
    ngx_uint_t               i;
    ngx_http_mcp_setup_pt   *set;

    set = cmd->post;
    value = cf->args->elts;
    rc = MCP_OK;

    for (i = 1; rc == MCP_OK && i < cf->args->nelts; i++) {
        rc = (*set)(mlcf->setup, ngx_http_mcp_str(&value[i]), error);
    }

    return ngx_http_mcp_directive_result(cf, rc, error);
}


char *
ngx_http_mcp_directive_renamed(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\" was renamed: write \"%s\"",
                       &cmd->name, cmd->post);

    return NGX_CONF_ERROR;
}

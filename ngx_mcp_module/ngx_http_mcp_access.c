/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Detects whether a location authenticates its clients.  An endpoint in such a
 * location should set "mcp_principal", so that each session belongs to a
 * principal.
 *
 * The configuration structures of other modules are private.  So this file
 * reads their values by the offsets in the modules' tables of commands.
 */


#include "ngx_http_mcp_access.h"


static const char *const  ngx_http_mcp_access_names[] = {
    "auth_basic",
    "auth_request",
    "auth_jwt",
    "auth_jwt_enabled",
    "auth_oidc",
    NULL
};


/*
 * Returns 1 if the directive cmd is set in the configuration structure conf to
 * a value other than "off".  conf must have been merged.
 */
static ngx_uint_t
ngx_http_mcp_access_is_on(ngx_command_t *cmd, void *conf)
{
    ngx_str_t                 *text;
    ngx_flag_t                *flag;
    ngx_http_complex_value_t  *value;

    if (cmd->set == ngx_http_set_complex_value_slot) {
        value = *(ngx_http_complex_value_t **) ((u_char *) conf + cmd->offset);

        return value != NULL && value != NGX_CONF_UNSET_PTR
               && (value->lengths != NULL
                   || value->value.len != 3
                   || ngx_strncmp(value->value.data, "off", 3) != 0);
    }

    if (cmd->set == ngx_conf_set_flag_slot) {
        flag = (ngx_flag_t *) ((u_char *) conf + cmd->offset);

        return *flag == 1;
    }

    /* for "auth_request", which has its own setter, the URI is the first member
     * of its module's structure; "off" leaves the URI empty */

    if (ngx_strcmp(cmd->name.data, "auth_request") == 0) {
        text = conf;

        return text->len != 0 && text->data != NULL;
    }

    return 0;
}


static ngx_uint_t
ngx_http_mcp_access_is_known(ngx_command_t *cmd)
{
    ngx_uint_t  i;

    if (cmd->conf != NGX_HTTP_LOC_CONF_OFFSET) {
        return 0;
    }

    for (i = 0; ngx_http_mcp_access_names[i]; i++) {
        if (ngx_strcmp(cmd->name.data, ngx_http_mcp_access_names[i]) == 0) {
            return 1;
        }
    }

    return 0;
}


const char *
ngx_http_mcp_access_check(ngx_conf_t *cf)
{
    void                 *conf;
    ngx_uint_t            m;
    ngx_module_t         *module;
    ngx_command_t        *cmd;
    ngx_http_conf_ctx_t  *ctx;

    ctx = cf->ctx;

    for (m = 0; m < cf->cycle->modules_n; m++) {
        module = cf->cycle->modules[m];

        if (module->type != NGX_HTTP_MODULE || module->commands == NULL) {
            continue;
        }

        conf = ctx->loc_conf[module->ctx_index];

        for (cmd = module->commands; conf && cmd->name.len; cmd++) {
            if (ngx_http_mcp_access_is_known(cmd)
                && ngx_http_mcp_access_is_on(cmd, conf))
            {
                return (const char *) cmd->name.data;
            }
        }
    }

    return NULL;
}

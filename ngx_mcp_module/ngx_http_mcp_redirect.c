/* SPDX-License-Identifier: Apache-2.0 */

/*
 * X-Accel-Redirect in the answer of a backend is an internal redirect: it could
 * lead to any location marked "internal", to files and servers that no tool was
 * meant to reach.  On our connections it leads to locations of backends only.
 * What the operator has written ("error_page", "rewrite") is not restricted.
 */


#include "ngx_http_mcp_redirect.h"

#include "ngx_http_mcp_call.h"
#include "ngx_http_mcp_config.h"


/* Returns the invocation if its redirect has not been checked yet, or NULL. */
static ngx_http_mcp_invocation_t *
ngx_http_mcp_redirect_pending(ngx_http_request_t *r)
{
    ngx_http_upstream_t        *u;
    ngx_http_mcp_invocation_t  *inv;

    inv = ngx_http_mcp_call_invocation(r);

    if (inv == NULL || r != r->main) {
        return NULL;
    }

    u = r->upstream;

    if (u == NULL || u->headers_in.x_accel_redirect == NULL
        || u == inv->redirect)
    {
        return NULL;
    }

    return inv;
}


static ngx_int_t
ngx_http_mcp_redirect_refuse(ngx_http_request_t *r,
    ngx_http_mcp_invocation_t *inv)
{
    ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                  "X-Accel-Redirect to \"%V\" leads out of the locations of "
                  "MCP backends",
                  &r->upstream->headers_in.x_accel_redirect->value);

    inv->fault = MCP_FAULT_BACKEND_FAILED;
    inv->detail = "redirected out of the locations of backends";

    /* not with an error page: "error_page" would lead there as well */

    return NGX_ERROR;
}


/* Runs before a location is chosen by URI: such a redirect does not name a
 * location, so it cannot lead to one of a backend.  */
static ngx_int_t
ngx_http_mcp_redirect_server_handler(ngx_http_request_t *r)
{
    ngx_http_mcp_invocation_t  *inv;

    inv = ngx_http_mcp_redirect_pending(r);

    return inv ? ngx_http_mcp_redirect_refuse(r, inv) : NGX_DECLINED;
}


static ngx_int_t
ngx_http_mcp_redirect_handler(ngx_http_request_t *r)
{
    ngx_http_mcp_loc_conf_t    *mlcf;
    ngx_http_mcp_invocation_t  *inv;

    inv = ngx_http_mcp_redirect_pending(r);

    if (inv == NULL) {
        return NGX_DECLINED;
    }

    mlcf = ngx_http_get_module_loc_conf(r, ngx_http_mcp_module);

    if (!mlcf->is_backend) {
        return ngx_http_mcp_redirect_refuse(r, inv);
    }

    inv->redirect = r->upstream;

    return NGX_DECLINED;
}


ngx_int_t
ngx_http_mcp_redirect_init(ngx_conf_t *cf)
{
    if (ngx_http_mcp_config_add_handler(cf, NGX_HTTP_SERVER_REWRITE_PHASE,
                                        ngx_http_mcp_redirect_server_handler)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_mcp_config_add_handler(cf, NGX_HTTP_REWRITE_PHASE,
                                           ngx_http_mcp_redirect_handler);
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * X-Accel-Redirect in a backend's response causes an internal redirect.  It
 * could lead to any location marked "internal", and so to files and servers
 * that no tool is meant to reach.  So an X-Accel-Redirect of a backend request
 * may lead only to locations of backends.  Redirects in the configuration
 * ("error_page", "rewrite") are not restricted.
 */


#include "ngx_http_mcp_redirect.h"

#include "ngx_http_mcp_call.h"
#include "ngx_http_mcp_config.h"


/*
 * Returns the backend request of r if its response has an X-Accel-Redirect
 * that has not been checked yet, else NULL.
 */
static ngx_http_mcp_backend_request_t *
ngx_http_mcp_redirect_pending(ngx_http_request_t *r)
{
    ngx_http_upstream_t             *u;
    ngx_http_mcp_backend_request_t  *req;

    req = ngx_http_mcp_call_backend_request(r);

    if (req == NULL || r != r->main) {
        return NULL;
    }

    u = r->upstream;

    if (u == NULL || u->headers_in.x_accel_redirect == NULL
        || (u->conf->ignore_headers & NGX_HTTP_UPSTREAM_IGN_XA_REDIRECT)
        || u == req->redirect)
    {
        return NULL;
    }

    return req;
}


static ngx_int_t
ngx_http_mcp_redirect_refuse(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req)
{
    ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                  "X-Accel-Redirect to \"%V\" is refused, because its target "
                  "is not the location of an MCP backend: redirect to the "
                  "location of a backend",
                  &r->upstream->headers_in.x_accel_redirect->value);

    req->failure = MCP_FAILURE_REPLY;
    req->detail = "the backend redirected to a location that is not a backend";

    /* return NGX_ERROR, not a status: for a status, nginx could redirect to an
     * "error_page", and this file would reject that redirect as well */

    return NGX_ERROR;
}


/*
 * Handler of the server rewrite phase, in which nginx has not yet chosen a
 * location by the URI.  Rejects a backend request that reaches this phase by an
 * X-Accel-Redirect.  The target of such a redirect is a URI, because nginx
 * enters named locations without this phase, and all backends are named
 * locations.
 */
static ngx_int_t
ngx_http_mcp_redirect_server_handler(ngx_http_request_t *r)
{
    ngx_http_mcp_backend_request_t  *req;

    req = ngx_http_mcp_redirect_pending(r);

    return req ? ngx_http_mcp_redirect_refuse(r, req) : NGX_DECLINED;
}


static ngx_int_t
ngx_http_mcp_redirect_handler(ngx_http_request_t *r)
{
    ngx_http_mcp_loc_conf_t         *mlcf;
    ngx_http_mcp_backend_request_t  *req;

    req = ngx_http_mcp_redirect_pending(r);

    if (req == NULL) {
        return NGX_DECLINED;
    }

    mlcf = ngx_http_get_module_loc_conf(r, ngx_http_mcp_module);

    if (!mlcf->is_backend) {
        return ngx_http_mcp_redirect_refuse(r, req);
    }

    req->redirect = r->upstream;

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

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Serves the metadata documents of protected resources, below /.well-known/.
 * The documents are public.  So they are served before nginx chooses a
 * location, and no location's access rules or rewrites apply to them.
 */


#include "ngx_http_mcp_document.h"

#include "ngx_http_mcp_handler.h"

#include "mcp_auth.h"
#include "mcp_exchange.h"


static ngx_http_mcp_loc_conf_t *
ngx_http_mcp_document_server(ngx_http_core_srv_conf_t *cscf)
{
    return cscf->ctx->loc_conf[ngx_http_mcp_module.ctx_index];
}


ngx_int_t
ngx_http_mcp_document_add(ngx_conf_t *cf, ngx_http_mcp_loc_conf_t *mlcf)
{
    const mcp_auth_t         **auth;
    ngx_http_mcp_loc_conf_t   *server;
    ngx_http_mcp_main_conf_t  *mmcf;

    if (mcp_endpoint_auth(mlcf->endpoint) == NULL) {
        return NGX_OK;
    }

    server = ngx_http_mcp_document_server(mlcf->cscf);

    if (server->documents == NULL) {
        server->documents = ngx_array_create(cf->pool, 2,
                                             sizeof(const mcp_auth_t *));
        if (server->documents == NULL) {
            return NGX_ERROR;
        }
    }

    switch (mcp_auth_check(server->documents->elts, server->documents->nelts,
                           mcp_endpoint_auth(mlcf->endpoint)))
    {
    case MCP_OK:
        break;

    case MCP_DONE:
        return NGX_OK;

    default:
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "\"mcp\" in %V:%ui has the same resource path as "
                      "another endpoint of its server, but different "
                      "authorization settings: set \"mcp_auth_resource\" for "
                      "one of the two",
                      &mlcf->file, mlcf->line);
        return NGX_ERROR;
    }

    auth = ngx_array_push(server->documents);
    if (auth == NULL) {
        return NGX_ERROR;
    }

    *auth = mcp_endpoint_auth(mlcf->endpoint);

    mmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_mcp_module);
    mmcf->has_documents = 1;

    return NGX_OK;
}


static ngx_int_t
ngx_http_mcp_document_send(ngx_http_request_t *r, const mcp_auth_t *auth)
{
    ngx_int_t       rc;
    mcp_response_t  response;

    mcp_exchange_document(auth, ngx_http_mcp_str(&r->method_name), &response);

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    if (ngx_http_mcp_set_headers(r, &response) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    r->headers_out.content_length_n = (off_t) response.body.len;

    if (response.body.len == 0) {
        r->header_only = 1;
    }

    rc = ngx_http_send_header(r);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    return ngx_http_mcp_send_body(r, response.body);
}


static ngx_int_t
ngx_http_mcp_document_handler(ngx_http_request_t *r)
{
    const mcp_auth_t         *auth;
    ngx_http_mcp_loc_conf_t  *mlcf;

    mlcf = ngx_http_get_module_loc_conf(r, ngx_http_mcp_module);

    /* mlcf is the configuration of the server, because no location has been
     * chosen yet */

    if (mlcf->documents == NULL || r != r->main || r->internal) {
        return NGX_DECLINED;
    }

    auth = mcp_auth_find(mlcf->documents->elts, mlcf->documents->nelts,
                         ngx_http_mcp_str(&r->unparsed_uri));

    return auth ? ngx_http_mcp_document_send(r, auth) : NGX_DECLINED;
}


ngx_int_t
ngx_http_mcp_document_init(ngx_conf_t *cf)
{
    ngx_http_mcp_main_conf_t  *mmcf;

    mmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_mcp_module);

    if (!mmcf->has_documents) {
        return NGX_OK;
    }

    return ngx_http_mcp_config_add_handler(cf, NGX_HTTP_SERVER_REWRITE_PHASE,
                                           ngx_http_mcp_document_handler);
}

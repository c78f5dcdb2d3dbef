/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Hides secrets in URLs, such as the token in a URL by which a client resumes
 * a stream, from logs, variables and backends.  The core finds the secrets.
 * This file overwrites them with asterisks in the request, as soon as the
 * location is known.  The exchange gets a copy of the original target.
 */


#include "ngx_http_mcp_secret.h"

#include "ngx_http_mcp_config.h"

#include "mcp_exchange.h"


/* Clean-up handler that does nothing: its address identifies the entry for
 * ngx_http_mcp_secret_kept(). */
static void
ngx_http_mcp_secret_cleanup(void *data)
{
}


/*
 * Returns the original target, or NULL if no secret was hidden.  The target is
 * stored in a clean-up entry, because an internal redirect clears contexts.
 */
static ngx_str_t *
ngx_http_mcp_secret_kept(ngx_http_request_t *r)
{
    ngx_pool_cleanup_t  *cln;

    for (cln = r->pool->cleanup; cln; cln = cln->next) {
        if (cln->handler == ngx_http_mcp_secret_cleanup) {
            return cln->data;
        }
    }

    return NULL;
}


/*
 * Returns the target in the request line.  Unlike $request_uri, it includes the
 * scheme and the host of an absolute target.
 */
static ngx_str_t
ngx_http_mcp_secret_line(ngx_http_request_t *r)
{
    u_char     *last;
    ngx_str_t   target;

    if (r->http_version >= NGX_HTTP_VERSION_20 || r->schema_start == NULL) {
        return r->unparsed_uri;
    }

    last = r->request_line.data + r->request_line.len;

    target.data = r->schema_start;
    target.len = 0;

    while (target.data + target.len < last && target.data[target.len] != ' ') {
        target.len++;
    }

    return target;
}


ngx_str_t
ngx_http_mcp_secret_target(ngx_http_request_t *r)
{
    ngx_str_t  *kept;

    kept = ngx_http_mcp_secret_kept(r);

    return kept ? *kept : ngx_http_mcp_secret_line(r);
}


static ngx_int_t
ngx_http_mcp_secret_keep(ngx_http_request_t *r)
{
    ngx_str_t           *kept, target;
    ngx_pool_cleanup_t  *cln;

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_str_t));
    if (cln == NULL) {
        return NGX_ERROR;
    }

    target = ngx_http_mcp_secret_line(r);

    kept = cln->data;
    kept->len = target.len;
    kept->data = ngx_pstrdup(r->pool, &target);

    if (kept->data == NULL) {
        return NGX_ERROR;
    }

    cln->handler = ngx_http_mcp_secret_cleanup;

    return NGX_OK;
}


static void
ngx_http_mcp_secret_mask(const mcp_endpoint_t *endpoint, ngx_str_t *text)
{
    mcp_str_t  rest, secret;

    rest = ngx_http_mcp_str(text);

    while (mcp_exchange_secret(endpoint, &rest, &secret)) {
        ngx_memset((u_char *) secret.data, '*', secret.len);
    }
}


static ngx_int_t
ngx_http_mcp_secret_handler(ngx_http_request_t *r)
{
    ngx_int_t                 rc;
    mcp_str_t                 rest, secret;
    ngx_http_mcp_loc_conf_t  *mlcf;

    mlcf = ngx_http_get_module_loc_conf(r, ngx_http_mcp_module);

    if (mlcf->zone == NULL || r != r->main) {
        return NGX_DECLINED;
    }

    rest = ngx_http_mcp_str(&r->unparsed_uri);

    if (!mcp_exchange_secret(mlcf->endpoint, &rest, &secret)
        || ngx_http_mcp_secret_kept(r))
    {
        return NGX_DECLINED;
    }

    rc = ngx_http_mcp_secret_keep(r);

    /*
     * overwrite r->request_line, r->unparsed_uri and r->args separately: the
     * last two point into the request line only with HTTP/1, and r->args only
     * if "rewrite" has not replaced the arguments
     */

    ngx_http_mcp_secret_mask(mlcf->endpoint, &r->request_line);
    ngx_http_mcp_secret_mask(mlcf->endpoint, &r->unparsed_uri);
    ngx_http_mcp_secret_mask(mlcf->endpoint, &r->args);

    return rc == NGX_OK ? NGX_DECLINED : NGX_HTTP_INTERNAL_SERVER_ERROR;
}


ngx_int_t
ngx_http_mcp_secret_init(ngx_conf_t *cf)
{
    /* the rewrite phase is the first that knows the location */

    return ngx_http_mcp_config_add_handler(cf, NGX_HTTP_REWRITE_PHASE,
                                           ngx_http_mcp_secret_handler);
}

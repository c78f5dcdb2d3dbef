/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Headers for error responses at an endpoint that do not come from the core:
 * from access rules, limits, or nginx itself.
 *
 * CORS preflights are answered before the access phase, because they carry no
 * credentials.  Responses that do not come from the core pass through a header
 * filter.  It adds the CORS headers that let pages of allowed origins read
 * them, and adds the authentication challenge of the protected resource to
 * status 401 and 403.
 */


#include "ngx_http_mcp_error_headers.h"

#include "ngx_http_mcp_call.h"
#include "ngx_http_mcp_env.h"
#include "ngx_http_mcp_handler.h"
#include "ngx_http_mcp_head.h"

#include "mcp_auth.h"


#define NGX_HTTP_MCP_CHALLENGES     16         /* maximum number of
                                                  WWW-Authenticate headers */
#define NGX_HTTP_MCP_CHALLENGE_MAX  16384      /* bytes */


/*
 * The endpoint to which a client sent its request.  The structure is in a
 * clean-up entry of the request, so it is kept when "error_page" redirects the
 * request to another location.
 */
typedef struct {
    ngx_http_mcp_loc_conf_t  *mlcf;
    ngx_str_t                 challenge;       /* WWW-Authenticate of a
                                                  subrequest's response with
                                                  status 403 */
} ngx_http_mcp_error_headers_t;


typedef struct {
    mcp_str_t         values[NGX_HTTP_MCP_CHALLENGES];
    ngx_table_elt_t  *headers[NGX_HTTP_MCP_CHALLENGES];
    size_t            n;
} ngx_http_mcp_challenges_t;


static ngx_http_output_header_filter_pt  ngx_http_next_header_filter;


ngx_uint_t
ngx_http_mcp_error_headers_needed(ngx_http_mcp_loc_conf_t *mlcf)
{
    return mlcf->zone && mcp_endpoint_has_error_headers(mlcf->endpoint);
}


/* --- the stored structure --- */

static void
ngx_http_mcp_error_headers_cleanup(void *data)
{
    /* empty: ngx_http_mcp_error_headers_find() finds the clean-up entry by the
     * address of this function */
}


static ngx_http_mcp_error_headers_t *
ngx_http_mcp_error_headers_find(ngx_http_request_t *r)
{
    ngx_pool_cleanup_t  *cln;

    for (cln = r->pool->cleanup; cln; cln = cln->next) {
        if (cln->handler == ngx_http_mcp_error_headers_cleanup) {
            return cln->data;
        }
    }

    return NULL;
}


static ngx_int_t
ngx_http_mcp_error_headers_mark(ngx_http_request_t *r,
    ngx_http_mcp_loc_conf_t *mlcf)
{
    ngx_pool_cleanup_t            *cln;
    ngx_http_mcp_error_headers_t  *headers;

    if (r->internal && ngx_http_mcp_error_headers_find(r)) {
        return NGX_OK;
    }

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_http_mcp_error_headers_t));
    if (cln == NULL) {
        return NGX_ERROR;
    }

    cln->handler = ngx_http_mcp_error_headers_cleanup;

    headers = cln->data;
    headers->mlcf = mlcf;
    ngx_str_null(&headers->challenge);

    return NGX_OK;
}


/* --- preflights --- */

static ngx_int_t
ngx_http_mcp_error_headers_handler(ngx_http_request_t *r)
{
    mcp_head_t                head;
    ngx_http_mcp_loc_conf_t  *mlcf;

    mlcf = ngx_http_get_module_loc_conf(r, ngx_http_mcp_module);

    if (!mlcf->error_headers || r != r->main
        || ngx_http_mcp_call_backend_request(r))
    {
        return NGX_DECLINED;
    }

    if (ngx_http_mcp_error_headers_mark(r, mlcf) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (!(r->method & NGX_HTTP_OPTIONS)) {
        return NGX_DECLINED;
    }

    if (ngx_http_mcp_head_origin(r, mlcf, &head) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (!mcp_exchange_is_preflight(mlcf->endpoint, &head)) {
        return NGX_DECLINED;
    }

    r->write_event_handler = ngx_http_request_empty_handler;

    ngx_http_finalize_request(r, ngx_http_mcp_handler(r));

    return NGX_DONE;
}


/* --- CORS headers --- */

static ngx_int_t
ngx_http_mcp_error_headers_push(ngx_http_request_t *r, mcp_str_t name,
    mcp_str_t value)
{
    ngx_table_elt_t  *h;

    h = ngx_list_push(&r->headers_out.headers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(h, sizeof(ngx_table_elt_t));

    h->hash = 1;
    h->key = ngx_http_mcp_text(name);
    h->value = ngx_http_mcp_text(value);

    return NGX_OK;
}


static ngx_int_t
ngx_http_mcp_error_headers_cors(ngx_http_request_t *r,
    ngx_http_mcp_loc_conf_t *mlcf)
{
    size_t        i, n;
    mcp_head_t    head;
    mcp_header_t  headers[MCP_CORS_HEADERS];

    if (ngx_http_mcp_head_origin(r, mlcf, &head) != NGX_OK) {
        return NGX_ERROR;
    }

    n = mcp_exchange_cors_headers(mlcf->endpoint, &head, headers);

    for (i = 0; i < n; i++) {
        if (ngx_http_mcp_error_headers_push(r, headers[i].name,
                                            headers[i].value)
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* --- challenges --- */

static void
ngx_http_mcp_error_headers_read(ngx_http_request_t *r,
    ngx_http_mcp_challenges_t *out)
{
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    out->n = 0;

    for (part = &r->headers_out.headers.part; part; part = part->next) {
        h = part->elts;

        for (i = 0; i < part->nelts; i++) {
            if (h[i].hash && out->n < NGX_HTTP_MCP_CHALLENGES
                && mcp_str_case_eq(ngx_http_mcp_str(&h[i].key),
                                   mcp_str("WWW-Authenticate")))
            {
                out->headers[out->n] = &h[i];
                out->values[out->n++] = ngx_http_mcp_str(&h[i].value);
            }
        }
    }
}


static ngx_int_t
ngx_http_mcp_error_headers_write(ngx_http_request_t *r, ngx_table_elt_t *h,
    mcp_buf_t *buf)
{
    u_char     *p;
    mcp_str_t   value;

    p = ngx_pnalloc(r->pool, buf->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(p, buf->data, buf->len);

    value.data = (const char *) p;
    value.len = buf->len;

    if (h == NULL) {
        return ngx_http_mcp_error_headers_push(r, mcp_str("WWW-Authenticate"),
                                               value);
    }

    h->value = ngx_http_mcp_text(value);

    return NGX_OK;
}


static ngx_int_t
ngx_http_mcp_error_headers_challenge(ngx_http_request_t *r,
    ngx_http_mcp_loc_conf_t *mlcf, ngx_http_mcp_error_headers_t *headers)
{
    size_t                     which;
    ngx_int_t                  rc;
    mcp_buf_t                  buf;
    mcp_str_t                  authorization;
    ngx_table_elt_t           *h;
    ngx_http_mcp_challenges_t  challenges;

    h = r->headers_in.authorization;
    authorization = h ? ngx_http_mcp_str(&h->value) : mcp_null_str;

    /* add the subrequest's challenge, because "auth_request" copies
     * WWW-Authenticate for status 401 only */

    if (headers && headers->challenge.len
        && r->headers_out.status == NGX_HTTP_FORBIDDEN
        && ngx_http_mcp_error_headers_push(r, mcp_str("WWW-Authenticate"),
               ngx_http_mcp_str(&headers->challenge))
               != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_http_mcp_error_headers_read(r, &challenges);

    mcp_buf_init(&buf, &ngx_http_mcp_mem, NGX_HTTP_MCP_CHALLENGE_MAX);

    switch (mcp_auth_challenge(mcp_endpoint_auth(mlcf->endpoint),
                               (int) r->headers_out.status, authorization,
                               challenges.values, challenges.n, &which, &buf))
    {
    case MCP_OK:
        rc = ngx_http_mcp_error_headers_write(r, which < challenges.n
                                         ? challenges.headers[which] : NULL,
                                              &buf);
        break;

    case MCP_DONE:
        rc = NGX_OK;
        break;

    default:
        rc = NGX_ERROR;
        break;
    }

    mcp_buf_free(&buf);

    return rc;
}


/* --- the filter --- */

/*
 * If the endpoint is a protected resource, and the response of a subrequest
 * has status 403 and a header WWW-Authenticate, stores the first such header
 * for the response of the main request.
 */
static ngx_int_t
ngx_http_mcp_error_headers_subrequest(ngx_http_request_t *r)
{
    ngx_http_mcp_error_headers_t  *headers;
    ngx_http_mcp_loc_conf_t       *mlcf;
    ngx_http_mcp_challenges_t      challenges;

    mlcf = ngx_http_get_module_loc_conf(r->main, ngx_http_mcp_module);

    if (mlcf->error_headers && mcp_endpoint_auth(mlcf->endpoint)
        && r->headers_out.status == NGX_HTTP_FORBIDDEN)
    {
        headers = ngx_http_mcp_error_headers_find(r->main);
        ngx_http_mcp_error_headers_read(r, &challenges);

        if (headers && challenges.n) {
            headers->challenge = challenges.headers[0]->value;
        }
    }

    return ngx_http_next_header_filter(r);
}


/*
 * Logs the directive and the limit for a body that nginx has rejected, because
 * nginx's own message has neither.
 */
static void
ngx_http_mcp_error_headers_too_large(ngx_http_request_t *r)
{
    off_t                      len, max;
    ngx_table_elt_t           *h;
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);
    h = r->headers_in.content_length;

    /* use the header Content-Length, because content_length_n is only the
     * number of bytes that nginx still has to discard */

    len = h ? ngx_atoof(h->value.data, h->value.len) : NGX_ERROR;
    max = clcf->client_max_body_size;

    ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                  "mcp: a request body of %s%O bytes is refused, because it "
                  "exceeds \"client_max_body_size\" %O",
                  len > max ? "" : "more than ", len > max ? len : max, max);
}


static ngx_int_t
ngx_http_mcp_error_headers_header_filter(ngx_http_request_t *r)
{
    ngx_uint_t                     status;
    ngx_http_mcp_ctx_t            *ctx;
    ngx_http_mcp_error_headers_t  *headers;
    ngx_http_mcp_loc_conf_t       *mlcf;

    if (r != r->main) {
        return ngx_http_mcp_error_headers_subrequest(r);
    }

    mlcf = ngx_http_get_module_loc_conf(r, ngx_http_mcp_module);

    ctx = ngx_http_mcp_get_ctx(r);

    if (r->headers_out.status == NGX_HTTP_REQUEST_ENTITY_TOO_LARGE
        && (mlcf->zone || mlcf->publish_zone) && !(ctx && ctx->answered))
    {
        ngx_http_mcp_error_headers_too_large(r);
    }

    if (!mlcf->error_headers && !r->internal) {
        return ngx_http_next_header_filter(r);
    }

    headers = ngx_http_mcp_error_headers_find(r);

    if (headers) {
        mlcf = headers->mlcf;
    }

    /* skip the responses of the core, which already have these headers */

    if (!mlcf->error_headers || (ctx && ctx->answered)) {
        return ngx_http_next_header_filter(r);
    }

    status = r->headers_out.status;

    if (mcp_endpoint_auth(mlcf->endpoint)
        && (status == NGX_HTTP_UNAUTHORIZED || status == NGX_HTTP_FORBIDDEN)
        && ngx_http_mcp_error_headers_challenge(r, mlcf, headers) != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ngx_http_mcp_error_headers_cors(r, mlcf) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_http_next_header_filter(r);
}


ngx_int_t
ngx_http_mcp_error_headers_init(ngx_conf_t *cf)
{
    ngx_http_next_header_filter = ngx_http_top_header_filter;
    ngx_http_top_header_filter = ngx_http_mcp_error_headers_header_filter;

    return ngx_http_mcp_config_add_handler(cf, NGX_HTTP_PREACCESS_PHASE,
                                           ngx_http_mcp_error_headers_handler);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Converts a client request's head into the core's mcp_head_t. */


#include "ngx_http_mcp_head.h"

#include "ngx_http_mcp_handler.h"
#include "ngx_http_mcp_secret.h"

#include "mcp_http.h"


/* Returns the address in network byte order, or an empty string if it is
 * neither IPv4 nor IPv6. */
static mcp_str_t
ngx_http_mcp_head_address(struct sockaddr *sockaddr)
{
    mcp_str_t             address;
    struct sockaddr_in   *sin;
#if (NGX_HAVE_INET6)
    struct sockaddr_in6  *sin6;
#endif

    switch (sockaddr->sa_family) {

#if (NGX_HAVE_INET6)
    case AF_INET6:
        sin6 = (struct sockaddr_in6 *) sockaddr;
        address.data = (const char *) &sin6->sin6_addr;
        address.len = 16;
        return address;
#endif

    case AF_INET:
        sin = (struct sockaddr_in *) sockaddr;
        address.data = (const char *) &sin->sin_addr;
        address.len = 4;
        return address;
    }

    return mcp_null_str;
}


static ngx_uint_t
ngx_http_mcp_head_is_loopback(struct sockaddr *sockaddr)
{
    mcp_str_t  address;

#if (NGX_HAVE_UNIX_DOMAIN)
    if (sockaddr->sa_family == AF_UNIX) {
        return 1;
    }
#endif

    address = ngx_http_mcp_head_address(sockaddr);

    return address.len != 0
           && mcp_http_address_is_loopback(address.data, address.len);
}


ngx_int_t
ngx_http_mcp_head_lines(ngx_http_request_t *r, mcp_head_t *head)
{
    ngx_uint_t        i, n;
    mcp_header_t     *h;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *header;

    n = 1;

    for (part = &r->headers_in.headers.part; part; part = part->next) {
        n += part->nelts;
    }

    h = ngx_palloc(r->pool, n * sizeof(mcp_header_t));
    if (h == NULL) {
        return NGX_ERROR;
    }

    head->headers = h;

    for (part = &r->headers_in.headers.part; part; part = part->next) {
        header = part->elts;

        for (i = 0; i < part->nelts; i++) {
            h->name = ngx_http_mcp_str(&header[i].key);
            h->value = ngx_http_mcp_str(&header[i].value);
            h++;
        }
    }

    /* pass ":authority" as Host: nginx does not list ":authority" of HTTP/3
     * among the header lines */

    if (r->headers_in.host == NULL && r->headers_in.server.len) {
        h->name = mcp_str("Host");
        h->value = ngx_http_mcp_str(&r->headers_in.server);
        h++;
    }

    head->n_headers = h - head->headers;

    return NGX_OK;
}


static ngx_int_t
ngx_http_mcp_head_connection(ngx_connection_t *c, mcp_head_t *head)
{
#if (NGX_HTTP_SSL)
    head->secure = (c->ssl != NULL);
#endif

    /* nginx calls getsockname() here, once per connection, if "listen" has a
     * wildcard address */

    if (ngx_connection_local_sockaddr(c, NULL, 0) != NGX_OK) {
        return NGX_ERROR;
    }

    head->loopback = ngx_http_mcp_head_is_loopback(c->local_sockaddr);
    head->local = ngx_http_mcp_head_is_loopback(c->sockaddr);
    head->address = ngx_http_mcp_head_address(c->sockaddr);

    return NGX_OK;
}


static int
ngx_http_mcp_head_evaluate(void *glue, size_t i, const void *value,
    mcp_str_t *text)
{
    ngx_http_mcp_ctx_t  *ctx = glue;

    ngx_str_t  s;

    if (ngx_http_complex_value(ctx->request,
                               (ngx_http_complex_value_t *) value, &s)
        != NGX_OK)
    {
        return MCP_ERR_MEMORY;
    }

    *text = ngx_http_mcp_str(&s);

    return MCP_OK;
}


ngx_int_t
ngx_http_mcp_head_origin(ngx_http_request_t *r, ngx_http_mcp_loc_conf_t *mlcf,
    mcp_head_t *head)
{
    ngx_str_t  target;

    ngx_memzero(head, sizeof(mcp_head_t));

    if (ngx_http_mcp_head_lines(r, head) != NGX_OK) {
        return NGX_ERROR;
    }

    target = ngx_http_mcp_secret_target(r);

    head->method = ngx_http_mcp_str(&r->method_name);
    head->target = ngx_http_mcp_str(&target);
    head->server_names = mlcf->host_names;
    head->n_server_names = mlcf->n_host_names;

    return ngx_http_mcp_head_connection(r->connection, head);
}


ngx_int_t
ngx_http_mcp_head_make(ngx_http_request_t *r, mcp_head_t *head)
{
    ngx_str_t                 principal, origin;
    ngx_http_mcp_loc_conf_t  *mlcf;

    mlcf = ngx_http_get_module_loc_conf(r, ngx_http_mcp_module);

    if (ngx_http_mcp_head_origin(r, mlcf, head) != NGX_OK) {
        return NGX_ERROR;
    }

    head->path = ngx_http_mcp_str(&r->uri);
    head->evaluate = ngx_http_mcp_head_evaluate;

    if (mlcf->principal) {
        if (ngx_http_complex_value(r, mlcf->principal, &principal) != NGX_OK) {
            return NGX_ERROR;
        }

        head->principal = ngx_http_mcp_str(&principal);
    }

    if (mlcf->link_origin) {
        if (ngx_http_complex_value(r, mlcf->link_origin, &origin) != NGX_OK) {
            return NGX_ERROR;
        }

        head->origin = ngx_http_mcp_str(&origin);
    }

    return NGX_OK;
}

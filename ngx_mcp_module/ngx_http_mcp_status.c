/* SPDX-License-Identifier: Apache-2.0 */

/* The handler of "mcp_status": state and counters of a zone. */


#include "ngx_http_mcp_status.h"

#include "ngx_http_mcp_config.h"
#include "ngx_http_mcp_env.h"

#include "mcp_http.h"
#include "mcp_status.h"


#define NGX_HTTP_MCP_STATUS_MAX  (16 * 1024 * 1024)


static mcp_str_t
ngx_http_mcp_status_choose(ngx_http_request_t *r)
{
    ngx_str_t         value;
    mcp_str_t         accept;
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *header;

    if (ngx_http_arg(r, (u_char *) "format", 6, &value) == NGX_OK) {
        return ngx_http_mcp_str(&value);
    }

    accept = mcp_null_str;

    /* search the headers for Accept, because nginx stores a pointer to it only
     * if a module that needs it is built in */

    for (part = &r->headers_in.headers.part; part; part = part->next) {
        header = part->elts;

        for (i = 0; i < part->nelts; i++) {
            if (header[i].key.len == 6
                && ngx_strncasecmp(header[i].key.data, (u_char *) "Accept", 6)
                   == 0)
            {
                accept = ngx_http_mcp_str(&header[i].value);
            }
        }
    }

    return mcp_status_format(accept);
}


static ngx_int_t
ngx_http_mcp_status_copy(ngx_http_request_t *r, mcp_str_t text, ngx_str_t *out)
{
    out->len = text.len;
    out->data = ngx_pnalloc(r->pool, text.len);
    if (out->data == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(out->data, text.data, text.len);

    return NGX_OK;
}


static ngx_int_t
ngx_http_mcp_status_send(ngx_http_request_t *r, mcp_buf_t *buf,
    mcp_status_head_t *head)
{
    size_t                    i;
    ngx_str_t                 content_type;
    ngx_table_elt_t          *header;
    ngx_http_complex_value_t  text;

    for (i = 0; i < head->n_headers; i++) {
        header = ngx_list_push(&r->headers_out.headers);
        if (header == NULL) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        ngx_memzero(header, sizeof(ngx_table_elt_t));

        if (ngx_http_mcp_status_copy(r, head->headers[i].name, &header->key)
            != NGX_OK
            || ngx_http_mcp_status_copy(r, head->headers[i].value,
                                        &header->value) != NGX_OK)
        {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        header->hash = 1;
    }

    ngx_memzero(&text, sizeof(ngx_http_complex_value_t));

    if (ngx_http_mcp_status_copy(r, (mcp_str_t) { buf->data, buf->len },
                                 &text.value) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    content_type.data = (u_char *) head->content_type.data;
    content_type.len = head->content_type.len;

    return ngx_http_send_response(r, NGX_HTTP_OK, &content_type, &text);
}


/*
 * Rejects unknown hosts, so that no page of another site can read the status
 * through a name that resolves to this server.  The host of an absolute target
 * takes precedence over Host (RFC 9112, section 3.2.2).
 */
static ngx_uint_t
ngx_http_mcp_status_allowed(ngx_http_request_t *r)
{
    ngx_str_t                *host;
    ngx_http_mcp_loc_conf_t  *mlcf;

    mlcf = ngx_http_get_module_loc_conf(r, ngx_http_mcp_module);

    host = &r->headers_in.server;

    if (mcp_http_host_allowed(ngx_http_mcp_str(host), mlcf->host_names,
                              mlcf->n_host_names))
    {
        return 1;
    }

    ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
                  "a request for the MCP status page is refused, because its "
                  "host \"%V\" is neither loopback nor a \"server_name\" of "
                  "the server", host);

    return 0;
}


ngx_int_t
ngx_http_mcp_status_handler(ngx_http_request_t *r)
{
    ngx_int_t                 rc;
    ngx_str_t                 value;
    mcp_buf_t                 buf;
    mcp_status_query_t        query;
    mcp_status_head_t         head;
    ngx_http_mcp_zone_t      *zone;
    ngx_http_mcp_loc_conf_t  *mlcf;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return NGX_HTTP_NOT_ALLOWED;
    }

    if (!ngx_http_mcp_status_allowed(r)) {
        return NGX_HTTP_FORBIDDEN;
    }

    mlcf = ngx_http_get_module_loc_conf(r, ngx_http_mcp_module);
    zone = mlcf->status_zone;

    if (!zone->ready) {
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    ngx_memzero(&query, sizeof(mcp_status_query_t));

    query.format = ngx_http_mcp_status_choose(r);
    query.server = mcp_str(NGINX_VER);
    query.zone = ngx_http_mcp_str(&zone->name);
    query.now = zone->env.now(zone->env.ctx);
    query.details = mlcf->status_details;

    if (ngx_http_arg(r, (u_char *) "cursor", 6, &value) == NGX_OK) {
        query.cursor = ngx_http_mcp_str(&value);
    }

    mcp_buf_init(&buf, &ngx_http_mcp_mem, NGX_HTTP_MCP_STATUS_MAX);

    switch (mcp_status_render(zone->store, &query, &buf, &head))
    {
    case MCP_OK:
        rc = ngx_http_mcp_status_send(r, &buf, &head);
        break;

    case MCP_ERR_NOT_FOUND:
        rc = NGX_HTTP_BAD_REQUEST;
        break;

    default:
        rc = NGX_HTTP_INTERNAL_SERVER_ERROR;
        break;
    }

    mcp_buf_free(&buf);

    return rc;
}

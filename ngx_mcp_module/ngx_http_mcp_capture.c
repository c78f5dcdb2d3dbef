/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Catches the answer of a backend's location, before the filters that make an
 * HTTP response of it, and hands it to the core.
 *
 * The core takes as much as it has room for.  The rest stays in the buffers of
 * the module that read it; that module stops reading once they are full.
 */


#include "ngx_http_mcp_capture.h"


static ngx_int_t ngx_http_mcp_capture_header_filter(ngx_http_request_t *r);
static void ngx_http_mcp_capture_retry_after(ngx_http_request_t *r,
    ngx_http_mcp_invocation_t *inv);
static ngx_uint_t ngx_http_mcp_capture_own_page(ngx_http_request_t *r,
    ngx_http_mcp_invocation_t *inv);
static ngx_int_t ngx_http_mcp_capture_body_filter(ngx_http_request_t *r,
    ngx_chain_t *in);
static ngx_int_t ngx_http_mcp_capture_feed(ngx_http_request_t *r,
    ngx_http_mcp_invocation_t *inv, ngx_chain_t **in);
static void ngx_http_mcp_capture_park(ngx_http_request_t *r,
    ngx_http_mcp_invocation_t *inv);


static ngx_http_output_header_filter_pt  ngx_http_next_header_filter;
static ngx_http_output_body_filter_pt    ngx_http_next_body_filter;


static ngx_int_t
ngx_http_mcp_capture_header_filter(ngx_http_request_t *r)
{
    mcp_str_t                   type;
    ngx_http_mcp_invocation_t  *inv;

    inv = ngx_http_mcp_call_invocation(r);

    /* readers of a subrequest's answer set subrequest_in_memory; lua and njs do
     * so, too */

    if (inv == NULL || (r != r->main && r->subrequest_in_memory)) {
        return ngx_http_next_header_filter(r);
    }

    if (r->header_sent) {
        return NGX_OK;
    }

    r->header_sent = 1;

    if (r != r->main) {
        return NGX_OK;
    }

    r->filter_need_in_memory = 1;

    inv->heard = ngx_current_msec;

    if (inv->job == NULL || inv->fault
        || ngx_http_mcp_capture_own_page(r, inv))
    {
        return NGX_OK;
    }

    inv->head = 1;

    if (r->headers_out.status == NGX_HTTP_NO_CONTENT
        || r->headers_out.status == NGX_HTTP_NOT_MODIFIED)
    {
        r->header_only = 1;
    }

    type.data = (const char *) r->headers_out.content_type.data;
    type.len = r->headers_out.content_type.len;

    ngx_http_mcp_capture_retry_after(r, inv);
    mcp_job_head(inv->job, (int) r->headers_out.status, type);

    if (r->header_only) {
        ngx_http_mcp_call_complete(inv);
    }

    return NGX_OK;
}


/* Says when the backend, or its location, may be asked again.  */
static void
ngx_http_mcp_capture_retry_after(ngx_http_request_t *r,
    ngx_http_mcp_invocation_t *inv)
{
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *header;

    if (r->headers_out.status < NGX_HTTP_BAD_REQUEST) {
        return;
    }

    for (part = &r->headers_out.headers.part; part; part = part->next) {
        header = part->elts;

        for (i = 0; i < part->nelts; i++) {
            if (header[i].hash && header[i].key.len == 11
                && ngx_strncasecmp(header[i].key.data,
                                   (u_char *) "Retry-After", 11)
                   == 0)
            {
                mcp_job_retry_after(inv->job,
                                    ngx_http_mcp_str(&header[i].value));
            }
        }
    }
}


/* Returns why a 502 is nginx's own. */
static const char *
ngx_http_mcp_capture_bad_gateway(ngx_http_upstream_t *u)
{
    if (u == NULL || !u->request_sent) {
        return "could not connect";
    }

    if (u->state && u->state->bytes_received == 0) {
        return "closed without an answer";
    }

    return "malformed before an answer";
}


/*
 * Recognizes nginx's own page for an error of class 5xx, which is no answer of
 * a backend.  While a backend answers, its upstream has yet to be cleaned up.
 */
static ngx_uint_t
ngx_http_mcp_capture_own_page(ngx_http_request_t *r,
    ngx_http_mcp_invocation_t *inv)
{
    if (r->err_status < NGX_HTTP_INTERNAL_SERVER_ERROR
        || (r->upstream && r->upstream->cleanup))
    {
        return 0;
    }

    /* a limiter's: no backend was asked, its caller may try again */

    if (r->err_status == NGX_HTTP_SERVICE_UNAVAILABLE && r->upstream == NULL) {
        return 0;
    }

    inv->fault = MCP_FAULT_BACKEND_FAILED;

    switch (r->err_status) {

    case NGX_HTTP_GATEWAY_TIME_OUT:
        inv->fault = MCP_FAULT_BACKEND_TIMEOUT;
        inv->detail = "timed out before an answer";
        break;

    case NGX_HTTP_BAD_GATEWAY:
        inv->detail = ngx_http_mcp_capture_bad_gateway(r->upstream);
        break;

    case NGX_HTTP_SERVICE_UNAVAILABLE:
        inv->detail = "unavailable";
        break;

    default:
        inv->detail = "its location failed";
        break;
    }

    return 1;
}


static ngx_int_t
ngx_http_mcp_capture_body_filter(ngx_http_request_t *r, ngx_chain_t *in)
{
    ngx_int_t                   rc;
    ngx_chain_t                *rest;
    ngx_http_mcp_invocation_t  *inv;

    inv = ngx_http_mcp_call_invocation(r);

    if (inv == NULL || (r != r->main && r->subrequest_in_memory)) {
        return ngx_http_next_body_filter(r, in);
    }

    rest = in;

    if (!inv->parked || r != r->main) {
        rc = ngx_http_mcp_capture_feed(r, inv, &rest);

        if (rc != NGX_AGAIN) {
            return rc;
        }

        ngx_http_mcp_capture_park(r, inv);
    }

    if (ngx_chain_add_copy(r->pool, &inv->out, rest) != NGX_OK) {
        return NGX_ERROR;
    }

    return NGX_AGAIN;
}


/* Hands the bytes of a buffer to the core; NGX_AGAIN: it did not take all.  */
static ngx_int_t
ngx_http_mcp_capture_offer(ngx_http_request_t *r,
    ngx_http_mcp_invocation_t *inv, ngx_buf_t *b)
{
    size_t  size, taken;

    if (!ngx_buf_in_memory(b)) {
        ngx_log_error(NGX_LOG_ALERT, r->connection->log, 0,
                      "file buffer in the answer of an mcp backend");
        return NGX_ERROR;
    }

    size = b->last - b->pos;
    taken = mcp_job_data(inv->job, (const char *) b->pos, size);

    b->pos += taken;
    r->connection->sent += taken;

    if (taken < size) {
        return NGX_AGAIN;
    }

    inv->heard = ngx_current_msec;

    return NGX_OK;
}


/*
 * Hands a chain to the core.  NGX_AGAIN: *in is the part that the core did not
 * take.  Bytes that nobody wants are consumed: bodies of subrequests and of
 * error pages.
 */
static ngx_int_t
ngx_http_mcp_capture_feed(ngx_http_request_t *r,
    ngx_http_mcp_invocation_t *inv, ngx_chain_t **in)
{
    ngx_int_t     rc;
    ngx_buf_t    *b;
    ngx_uint_t    wanted;
    ngx_chain_t  *cl;

    wanted = (r == r->main && inv->job && inv->head && !inv->fault);

    for (cl = *in; cl; cl = cl->next) {
        b = cl->buf;

        if (wanted && ngx_buf_size(b) > 0) {
            rc = ngx_http_mcp_capture_offer(r, inv, b);

            if (rc != NGX_OK) {
                *in = cl;
                return rc;
            }
        }

        if (wanted && b->last_buf) {
            ngx_http_mcp_call_complete(inv);
        }

        if (ngx_buf_in_memory(b)) {
            b->pos = b->last;
        }

        if (b->in_file) {
            b->file_pos = b->file_last;
        }
    }

    *in = NULL;

    return NGX_OK;
}


/*
 * Makes the connection look rate limited: the modules above stop reading when
 * their buffers are full, and no timer of a client runs.
 */
static void
ngx_http_mcp_capture_park(ngx_http_request_t *r,
    ngx_http_mcp_invocation_t *inv)
{
    ngx_connection_t     *c;
    ngx_http_upstream_t  *u;

    c = r->connection;
    u = r->upstream;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, c->log, 0, "mcp call %V: park",
                   &inv->id);

    inv->parked = 1;
    c->buffered |= NGX_HTTP_WRITE_BUFFERED;
    c->write->delayed = 1;

    /* a backend that runs ahead must wait, not fill the disk */

    if (u && u->buffering && u->pipe && !u->pipe->cacheable) {
        u->pipe->max_temp_file_size = 0;
    }
}


ngx_int_t
ngx_http_mcp_capture_unpark(ngx_http_mcp_invocation_t *inv)
{
    ngx_int_t            rc;
    ngx_chain_t         *cl, *next, *rest;
    ngx_connection_t    *c;
    ngx_http_request_t  *r;

    r = inv->request;
    c = r->connection;

    rest = inv->out;

    rc = ngx_http_mcp_capture_feed(r, inv, &rest);

    for (cl = inv->out; cl != rest; cl = next) {
        next = cl->next;
        ngx_free_chain(r->pool, cl);
    }

    inv->out = rest;

    if (rc == NGX_OK) {
        inv->parked = 0;
        c->buffered &= ~NGX_HTTP_WRITE_BUFFERED;
        c->write->delayed = 0;
    }

    return rc;
}


void
ngx_http_mcp_capture_init(void)
{
    ngx_http_next_header_filter = ngx_http_top_header_filter;
    ngx_http_top_header_filter = ngx_http_mcp_capture_header_filter;

    ngx_http_next_body_filter = ngx_http_top_body_filter;
    ngx_http_top_body_filter = ngx_http_mcp_capture_body_filter;
}

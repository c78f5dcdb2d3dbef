/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Captures the response of a backend's location, before the filters that turn
 * it into HTTP, and passes it to the core.
 *
 * The core takes as many bytes as it has room for.  The rest stays in the
 * buffers of the nginx module that reads the response from the backend. That
 * nginx module stops reading when its buffers are full.
 */


#include "ngx_http_mcp_capture.h"


static ngx_int_t ngx_http_mcp_capture_header_filter(ngx_http_request_t *r);
static void ngx_http_mcp_capture_headers(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req);
static ngx_uint_t ngx_http_mcp_capture_own_page(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req);
static ngx_int_t ngx_http_mcp_capture_body_filter(ngx_http_request_t *r,
    ngx_chain_t *in);
static ngx_int_t ngx_http_mcp_capture_feed(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req, ngx_chain_t **in);
static void ngx_http_mcp_capture_park(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req);


static ngx_http_output_header_filter_pt  ngx_http_next_header_filter;
static ngx_http_output_body_filter_pt    ngx_http_next_body_filter;


static ngx_int_t
ngx_http_mcp_capture_header_filter(ngx_http_request_t *r)
{
    mcp_str_t                        type;
    ngx_http_mcp_backend_request_t  *req;

    req = ngx_http_mcp_call_backend_request(r);

    /* do not capture the response of a subrequest that another module, such as
     * lua or njs, reads: these modules set subrequest_in_memory */

    if (req == NULL || (r != r->main && r->subrequest_in_memory)) {
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

    req->last_read = ngx_current_msec;

    if (req->breq == NULL || req->failure
        || ngx_http_mcp_capture_own_page(r, req))
    {
        return NGX_OK;
    }

    req->head = 1;

    if (r->headers_out.status == NGX_HTTP_NO_CONTENT
        || r->headers_out.status == NGX_HTTP_NOT_MODIFIED)
    {
        r->header_only = 1;
    }

    type.data = (const char *) r->headers_out.content_type.data;
    type.len = r->headers_out.content_type.len;

    ngx_http_mcp_capture_headers(r, req);
    mcp_backend_request_head(req->breq, (int) r->headers_out.status, type);

    if (r->header_only) {
        ngx_http_mcp_call_complete(req);
    }

    return NGX_OK;
}


/*
 * Passes a response header to the core if it is Mcp-Session-Id, or Retry-After
 * in a response with a status of 400 or more.  The backend or a directive of
 * its location may have set the header.
 */
static void
ngx_http_mcp_capture_header(ngx_table_elt_t *h, ngx_uint_t status,
    mcp_backend_request_t *breq)
{
    static ngx_str_t  retry_after = ngx_string("Retry-After");
    static ngx_str_t  session = ngx_string(MCP_BACKEND_REQUEST_SESSION);

    if (h->hash == 0) {
        return;
    }

    if (status >= NGX_HTTP_BAD_REQUEST && h->key.len == retry_after.len
        && ngx_strncasecmp(h->key.data, retry_after.data, retry_after.len)
           == 0)
    {
        mcp_backend_request_retry_after(breq, ngx_http_mcp_str(&h->value));

    } else if (h->key.len == session.len
               && ngx_strncasecmp(h->key.data, session.data, session.len) == 0)
    {
        mcp_backend_request_session(breq, ngx_http_mcp_str(&h->value));
    }
}


static void
ngx_http_mcp_capture_headers(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req)
{
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *header;

    for (part = &r->headers_out.headers.part; part; part = part->next) {
        header = part->elts;

        for (i = 0; i < part->nelts; i++) {
            ngx_http_mcp_capture_header(&header[i], r->headers_out.status,
                                        req->breq);
        }
    }
}


/* Returns the reason why nginx itself has generated a status 502, as a text
 * for the log. */
static const char *
ngx_http_mcp_capture_bad_gateway(ngx_http_upstream_t *u)
{
    if (u == NULL || !u->request_sent) {
        return "could not connect";
    }

    if (u->state && u->state->bytes_received == 0) {
        return "the backend closed the connection without an answer";
    }

    return "the backend sent a malformed response head";
}


/*
 * Returns 1, and sets the failure, if the response is nginx's own page for a
 * status of 500 or more, and not the response of a backend.  A response of a
 * backend is recognized by the pending clean-up of its upstream.
 */
static ngx_uint_t
ngx_http_mcp_capture_own_page(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req)
{
    if (r->err_status < NGX_HTTP_INTERNAL_SERVER_ERROR
        || (r->upstream && r->upstream->cleanup))
    {
        return 0;
    }

    /* a 503 without an upstream is from a limiter such as limit_req: no
     * backend was called; the core gets the 503, so that the client can
     * retry */

    if (r->err_status == NGX_HTTP_SERVICE_UNAVAILABLE && r->upstream == NULL) {
        return 0;
    }

    req->failure = MCP_FAILURE_REPLY;

    switch (r->err_status) {

    case NGX_HTTP_GATEWAY_TIME_OUT:
        req->failure = MCP_FAILURE_TIMEOUT;
        req->detail = "the backend timed out before its response";
        break;

    case NGX_HTTP_BAD_GATEWAY:
        req->detail = ngx_http_mcp_capture_bad_gateway(r->upstream);
        break;

    case NGX_HTTP_SERVICE_UNAVAILABLE:
        req->detail = "the backend is unavailable: a limit of the location "
                      "was exceeded, or all servers of its upstream are down";
        break;

    default:

        /* "proxy_intercept_errors" replaces the backend's own error page, too:
         * then the failure is one of the backend */

        if (r->upstream == NULL
            || r->upstream->headers_in.status_n != r->err_status)
        {
            req->failure = MCP_FAILURE_LOCAL;
        }

        req->detail = "the server itself answered with an error in the "
                      "location of the backend";
        break;
    }

    return 1;
}


static ngx_int_t
ngx_http_mcp_capture_body_filter(ngx_http_request_t *r, ngx_chain_t *in)
{
    ngx_int_t                        rc;
    ngx_chain_t                     *rest;
    ngx_http_mcp_backend_request_t  *req;

    req = ngx_http_mcp_call_backend_request(r);

    if (req == NULL || (r != r->main && r->subrequest_in_memory)) {
        return ngx_http_next_body_filter(r, in);
    }

    rest = in;

    if (!req->parked || r != r->main) {
        rc = ngx_http_mcp_capture_feed(r, req, &rest);

        if (rc != NGX_AGAIN) {
            return rc;
        }

        ngx_http_mcp_capture_park(r, req);
    }

    if (ngx_chain_add_copy(r->pool, &req->out, rest) != NGX_OK) {
        return NGX_ERROR;
    }

    return NGX_AGAIN;
}


/*
 * Passes the bytes of a buffer to the core.  Returns
 *   NGX_OK     the core has taken all
 *   NGX_AGAIN  the core has taken a part; b->pos is after that part
 *   NGX_ERROR  the buffer is not in memory
 */
static ngx_int_t
ngx_http_mcp_capture_offer(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req, ngx_buf_t *b)
{
    size_t  size, taken;

    if (!ngx_buf_in_memory(b)) {
        ngx_log_error(NGX_LOG_ALERT, r->connection->log, 0,
                      "the response of an MCP backend is in a file buffer, "
                      "which is not supported: the call fails");
        return NGX_ERROR;
    }

    size = b->last - b->pos;
    taken = mcp_backend_request_data(req->breq, (const char *) b->pos, size);

    b->pos += taken;
    r->connection->sent += taken;

    if (taken < size) {
        return NGX_AGAIN;
    }

    req->last_read = ngx_current_msec;

    return NGX_OK;
}


/*
 * Passes a chain to the core.  Discards bytes that the core does not need:
 * bodies of subrequests and of error pages.  Returns
 *   NGX_OK     all is consumed, *in is NULL
 *   NGX_AGAIN  *in is the part that the core has not taken
 *   NGX_ERROR  a buffer is not in memory
 */
static ngx_int_t
ngx_http_mcp_capture_feed(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req, ngx_chain_t **in)
{
    ngx_int_t     rc;
    ngx_buf_t    *b;
    ngx_uint_t    wanted;
    ngx_chain_t  *cl;

    wanted = (r == r->main && req->breq && req->head && !req->failure);

    for (cl = *in; cl; cl = cl->next) {
        b = cl->buf;

        if (wanted && ngx_buf_size(b) > 0) {
            rc = ngx_http_mcp_capture_offer(r, req, b);

            if (rc != NGX_OK) {
                *in = cl;
                return rc;
            }
        }

        if (wanted && b->last_buf) {
            ngx_http_mcp_call_complete(req);
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
 * Marks the internal connection as rate limited.  So the modules that read the
 * backend's response stop when their buffers are full, and nginx runs no
 * timeout for the client.
 */
static void
ngx_http_mcp_capture_park(ngx_http_request_t *r,
    ngx_http_mcp_backend_request_t *req)
{
    ngx_connection_t     *c;
    ngx_http_upstream_t  *u;

    c = r->connection;
    u = r->upstream;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, c->log, 0,
                   "mcp call %V: stops reading from the backend", &req->id);

    req->parked = 1;
    c->buffered |= NGX_HTTP_WRITE_BUFFERED;
    c->write->delayed = 1;

    /*
     * do not write temporary files: a backend that is faster than the client
     * must wait, instead of filling the disk
     */

    if (u && u->buffering && u->pipe && !u->pipe->cacheable) {
        u->pipe->max_temp_file_size = 0;
    }
}


ngx_int_t
ngx_http_mcp_capture_unpark(ngx_http_mcp_backend_request_t *req)
{
    ngx_int_t            rc;
    ngx_chain_t         *cl, *next, *rest;
    ngx_connection_t    *c;
    ngx_http_request_t  *r;

    r = req->request;
    c = r->connection;

    rest = req->out;

    rc = ngx_http_mcp_capture_feed(r, req, &rest);

    for (cl = req->out; cl != rest; cl = next) {
        next = cl->next;
        ngx_free_chain(r->pool, cl);
    }

    req->out = rest;

    if (rc == NGX_OK) {
        req->parked = 0;
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

/* SPDX-License-Identifier: Apache-2.0 */

/* Requests of clients and publishers. */


#ifndef NGX_HTTP_MCP_HANDLER_H_INCLUDED
#define NGX_HTTP_MCP_HANDLER_H_INCLUDED


#include "ngx_http_mcp_zone.h"

#include "mcp_exchange.h"


/* The context of a client's or publisher's request. */
typedef struct {
    ngx_http_request_t   *request;
    ngx_http_mcp_zone_t  *zone;
    mcp_exchange_t       *exchange;
    ngx_str_t             call;        /* short id of the exchange's call, set
                                          by ngx_http_mcp_ctx_call() */

    /* members from buf to kept: output of a stream, see
     * ngx_http_mcp_stream.c */
    u_char               *buf;         /* memory for the next bytes to send;
                                          NULL while there are none */
    size_t                size;        /* size of buf, or of the next buffer if
                                          buf is NULL, bytes */
    ngx_chain_t          *free;        /* unused ngx_buf_t structures, without
                                          memory for data */
    ngx_chain_t          *busy;        /* buffers that filters have not
                                          consumed yet; each owns its memory */
    size_t                kept;        /* size of the memory of the buffers in
                                          "busy", bytes */
    unsigned              waiting:1;   /* 1 until the core's action RESPOND or
                                          STREAM is carried out */
    unsigned              streaming:1; /* 1 after the head of a stream was
                                          passed to the filters */
    unsigned              paused:1;    /* 1 if the output of the stream waits
                                          for a write event */
    unsigned              ended:1;     /* 1 after the request was finalized:
                                          further actions are ignored */
    unsigned              answered:1;  /* 1 if the response head comes from the
                                          core */
} ngx_http_mcp_ctx_t;


/* Content handlers of "mcp" and "mcp_publish". */
ngx_int_t ngx_http_mcp_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_mcp_publish_handler(ngx_http_request_t *r);

/*
 * Returns the context of a client's or publisher's request, or NULL for other
 * requests.  Unlike ngx_http_get_module_ctx(), also finds the context after an
 * internal redirect and in the log phase.
 */
ngx_http_mcp_ctx_t *ngx_http_mcp_get_ctx(ngx_http_request_t *r);

/*
 * _set_headers() sets status, content type and header lines of a response.
 * _send_body() sends its body, which must not be empty.
 */
ngx_int_t ngx_http_mcp_set_headers(ngx_http_request_t *r,
    const mcp_response_t *response);
ngx_int_t ngx_http_mcp_send_body(ngx_http_request_t *r, mcp_str_t body);

/*
 * Returns the short id of the exchange's call, or "-" if there is none; for
 * debug lines.
 */
ngx_str_t *ngx_http_mcp_ctx_call(ngx_http_mcp_ctx_t *ctx);

/* Carries out the core's action RESPOND: sends the exchange's response. */
void ngx_http_mcp_respond(ngx_http_mcp_ctx_t *ctx);


#endif /* NGX_HTTP_MCP_HANDLER_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* Client requests.  */


#ifndef NGX_HTTP_MCP_HANDLER_H_INCLUDED
#define NGX_HTTP_MCP_HANDLER_H_INCLUDED


#include "ngx_http_mcp_zone.h"

#include "mcp_exchange.h"


/* A client request's context.  */
typedef struct {
    ngx_http_request_t   *request;
    ngx_http_mcp_zone_t  *zone;
    mcp_exchange_t       *exchange;
    ngx_str_t             call;        /* see ngx_http_mcp_ctx_call() */

    /* of a stream: ngx_http_mcp_stream.c */
    u_char               *buf;         /* NULL while there is nothing to send */
    size_t                size;        /* of buf, or of the next one */
    ngx_chain_t          *free;        /* buffers without memory */
    ngx_chain_t          *busy;        /* buffers that own their memory */
    size_t                kept;        /* bytes of memory in busy */
    unsigned              waiting:1;   /* RESPOND or STREAM is to come */
    unsigned              streaming:1;
    unsigned              paused:1;    /* continues with a write event */
    unsigned              ended:1;     /* finalized: no action concerns it */
    unsigned              answered:1;  /* the core gave the answer's head */
} ngx_http_mcp_ctx_t;


/* The content handlers of "mcp" and "mcp_publish".  */
ngx_int_t ngx_http_mcp_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_mcp_publish_handler(ngx_http_request_t *r);

/* NULL if r is no client's or publisher's request; also found in the log
 * phase and after internal redirects.  */
ngx_http_mcp_ctx_t *ngx_http_mcp_get_ctx(ngx_http_request_t *r);

/* Status, type and header lines of a response; and its body, which is not
 * empty.  */
ngx_int_t ngx_http_mcp_set_headers(ngx_http_request_t *r,
    const mcp_response_t *response);
ngx_int_t ngx_http_mcp_send_body(ngx_http_request_t *r, mcp_str_t body);

/* The short id of the exchange's call, or "-": for debug lines.  */
ngx_str_t *ngx_http_mcp_ctx_call(ngx_http_mcp_ctx_t *ctx);

/* RESPOND. */
void ngx_http_mcp_respond(ngx_http_mcp_ctx_t *ctx);


#endif /* NGX_HTTP_MCP_HANDLER_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the files of the detached backend calls share: the snapshot
 * (ngx_http_mcp_snapshot.c), the invocation (ngx_http_mcp_call.c) and the
 * capture of its answer (ngx_http_mcp_capture.c).
 */


#ifndef NGX_HTTP_MCP_CALL_H_INCLUDED
#define NGX_HTTP_MCP_CALL_H_INCLUDED


#include "ngx_http_mcp_module.h"


typedef struct {
    ngx_table_elt_t              elt;
    ngx_http_header_t           *header;   /* NULL: not known to nginx */
} ngx_http_mcp_line_t;


typedef struct {
    ngx_uint_t                   index;
    ngx_http_variable_value_t    value;
} ngx_http_mcp_frozen_t;


/* One allocation: the strings and addresses stand behind the structures. */
typedef struct {
    ngx_uint_t                   refs;     /* the core's and invocations' */

    ngx_http_addr_conf_t        *addr_conf;
    ngx_http_conf_ctx_t         *conf_ctx;
    void                       **main_conf;
    void                       **srv_conf;
    void                       **loc_conf;
    ngx_listening_t             *listening;
    ngx_log_t                    log;      /* without handler: tells of c */
    ngx_log_handler_pt           log_handler;

    struct sockaddr             *sockaddr;
    socklen_t                    socklen;
    struct sockaddr             *local_sockaddr;
    socklen_t                    local_socklen;

    ngx_str_t                    addr_text;
    ngx_str_t                    server;   /* normalized */
    ngx_str_t                    host;     /* as sent, if at all */
    ngx_str_t                    request_line;
    ngx_str_t                    unparsed_uri;
    ngx_str_t                    uri;
    ngx_str_t                    args;

    ngx_http_mcp_line_t         *lines;
    ngx_uint_t                   nlines;
    ngx_http_mcp_frozen_t       *frozen;
    ngx_uint_t                   nfrozen;
} ngx_http_mcp_snapshot_t;


typedef struct ngx_http_mcp_invocation_s  ngx_http_mcp_invocation_t;

typedef struct {
    ngx_http_log_ctx_t           ctx;      /* first: nginx casts */
    ngx_log_handler_pt           handler;
    ngx_http_mcp_invocation_t   *inv;
} ngx_http_mcp_log_ctx_t;


struct ngx_http_mcp_invocation_s {
    ngx_http_connection_t        hc;       /* first: r->http_connection */
    ngx_http_mcp_snapshot_t       *snapshot;
    mcp_job_t                   *job;      /* NULL: has ended */
    mcp_call_t                  *call;     /* retained: has the body */
    mcp_facts_t                 *facts;    /* in there, for the log */
    ngx_http_request_t          *request;

    ngx_log_t                    log;
    ngx_http_mcp_log_ctx_t       log_ctx;

    ngx_http_request_body_t      body;
    ngx_buf_t                    body_buf;
    ngx_chain_t                  body_chain;
    ngx_buf_t                    header_in;
    u_char                       length[NGX_SIZE_T_LEN];

    ngx_chain_t                 *out;      /* not taken by the core yet */
    ngx_event_t                  done;     /* posted: the answer is whole */
    ngx_msec_t                   heard;    /* when the backend last spoke */

    mcp_fault_e                  fault;
    const char                  *detail;

    ngx_http_upstream_t         *redirect; /* its X-Accel-Redirect was let
                                              through; only compared */

    unsigned                     head:1;
    unsigned                     parked:1;
    unsigned                     complete:1;
};


/* Copies what is needed of a client's request; its reference is the call's. */
ngx_http_mcp_snapshot_t *ngx_http_mcp_snapshot_create(ngx_http_request_t *r);

/* A pool's clean-up handler: gives one reference back. */
void ngx_http_mcp_snapshot_release(void *data);

/* Not for sending: what comes this far is dropped.  It marks our connections,
 * as everything else in them can be found in others too. */
ngx_chain_t *ngx_http_mcp_call_send_chain(ngx_connection_t *c,
    ngx_chain_t *in, off_t limit);

/* The answer is whole and was taken: ends the job soon, as the request may
 * have to wait for others that the location began ("mirror"). */
void ngx_http_mcp_call_complete(ngx_http_mcp_invocation_t *inv);

/* Offers what was not taken; NGX_OK: all is, the connection can be written to
 * again; NGX_AGAIN: not yet. */
ngx_int_t ngx_http_mcp_call_unpark(ngx_http_mcp_invocation_t *inv);


static ngx_inline ngx_http_mcp_invocation_t *
ngx_http_mcp_call_invocation(ngx_http_request_t *r)
{
    if (r->connection->send_chain != ngx_http_mcp_call_send_chain) {
        return NULL;
    }

    return (ngx_http_mcp_invocation_t *) r->http_connection;
}


#endif /* NGX_HTTP_MCP_CALL_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Backend calls, detached from their clients: carrying out the core's actions,
 * and what the files around them share.
 */


#ifndef NGX_HTTP_MCP_CALL_H_INCLUDED
#define NGX_HTTP_MCP_CALL_H_INCLUDED


#include "ngx_http_mcp_connection.h"

#include "mcp_job.h"


typedef struct ngx_http_mcp_invocation_s  ngx_http_mcp_invocation_t;

typedef struct {
    ngx_http_log_ctx_t           ctx;      /* first: nginx casts */
    ngx_log_handler_pt           handler;
    ngx_http_mcp_invocation_t   *inv;
} ngx_http_mcp_log_ctx_t;


/* A connection and a request in a backend's location, for one job.  */
struct ngx_http_mcp_invocation_s {
    ngx_http_connection_t        hc;       /* first: r->http_connection */
    ngx_http_mcp_snapshot_t     *snapshot;
    mcp_job_t                   *job;      /* NULL: has ended */
    mcp_call_t                  *call;     /* retained: has the body */
    mcp_job_t                   *kept;     /* in there, for logs; NULL: they
                                              may not use it any more */
    ngx_str_t                    id;       /* the call's, for debug lines */
    ngx_http_request_t          *request;

    ngx_log_t                    log;
    ngx_http_mcp_log_ctx_t       log_ctx;

    ngx_http_request_body_t      body;
    ngx_buf_t                    body_buf;
    ngx_chain_t                  body_chain;
    ngx_buf_t                    header_in;
    ngx_table_elt_t              content_length;
    u_char                       length[NGX_SIZE_T_LEN];   /* its value */

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


/*
 * INVOKE: starts a job.  r is the client's request, or NULL when it is gone:
 * then mcp_call_glue() has the snapshot that the first invocation made of it.
 * Nothing of r is used afterwards.  A job that cannot start is ended.
 */
void ngx_http_mcp_call_invoke(mcp_job_t *job, ngx_http_request_t *r);

/* ABORT, RESUME, FORGET. */
void ngx_http_mcp_call_abort(mcp_job_t *job);
void ngx_http_mcp_call_resume(mcp_job_t *job);
void ngx_http_mcp_call_forget(void *glue);

/* The answer is whole and was taken: ends the job soon, as the request may
 * have to wait for others that the location began ("mirror").  */
void ngx_http_mcp_call_complete(ngx_http_mcp_invocation_t *inv);


/* NULL if r is no request of an invocation.  */
static ngx_inline ngx_http_mcp_invocation_t *
ngx_http_mcp_call_invocation(ngx_http_request_t *r)
{
    if (!ngx_http_mcp_connection_is_ours(r->connection)) {
        return NULL;
    }

    return (ngx_http_mcp_invocation_t *) r->http_connection;
}


#endif /* NGX_HTTP_MCP_CALL_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Backend requests, which run on connections of their own, and the structure
 * of a backend request.
 */


#ifndef NGX_HTTP_MCP_CALL_H_INCLUDED
#define NGX_HTTP_MCP_CALL_H_INCLUDED


#include "ngx_http_mcp_connection.h"

#include "mcp_backend_request.h"


typedef struct ngx_http_mcp_backend_request_s  ngx_http_mcp_backend_request_t;

typedef struct {
    ngx_http_log_ctx_t               ctx;  /* first member, because nginx
                                              casts log->data to
                                              ngx_http_log_ctx_t */
    ngx_log_handler_pt               handler;  /* log handler of the client's
                                                  connection, or NULL */
    ngx_http_mcp_backend_request_t  *req;
} ngx_http_mcp_log_ctx_t;


/*
 * A connection and a request in a backend's location, for one backend request
 * of the core.
 */
struct ngx_http_mcp_backend_request_s {
    ngx_http_connection_t        hc;       /* first member, because
                                              r->http_connection points here */
    ngx_http_mcp_snapshot_t     *snapshot;
    mcp_backend_request_t       *breq;     /* the core's backend request; NULL
                                              after it has ended */
    mcp_call_t                  *call;     /* retained until the connection's
                                              pool is freed, because the call
                                              owns the request's body */
    /* the core's backend request, for variables and log lines; still valid
     * after its end, NULL after its call has been released */
    mcp_backend_request_t       *kept;
    ngx_str_t                    id;       /* id of the call, for debug
                                              lines */
    ngx_http_request_t          *request;

    ngx_log_t                    log;
    ngx_http_mcp_log_ctx_t       log_ctx;

    ngx_http_request_body_t      body;
    ngx_buf_t                    body_buf;
    ngx_chain_t                  body_chain;
    ngx_buf_t                    header_in;
    ngx_table_elt_t              content_length;
    /* buffer for the value of the header line Content-Length */
    u_char                       length[NGX_SIZE_T_LEN];

    ngx_chain_t                 *out;      /* output of the backend that the
                                              core has not taken yet */
    ngx_event_t                  done;     /* posted when the response is
                                              complete; ends the backend
                                              request */
    ngx_msec_t                   last_read; /* value of ngx_current_msec when
                                               the last bytes arrived from the
                                               backend */

    mcp_failure_e                failure;  /* failure with which the backend
                                              request will end, if any */
    const char                  *detail;   /* text about the failure, or NULL */

    /*
     * the upstream whose X-Accel-Redirect has been permitted; only compared,
     * never dereferenced
     */
    ngx_http_upstream_t         *redirect;

    unsigned                     head:1;   /* 1 if the core has received the
                                              head of the response */
    unsigned                     parked:1; /* 1 while the backend has to wait,
                                              because the core has no room */
    unsigned                     complete:1;   /* 1 if the core has received the
                                                  complete response */
};


/*
 * Carries out the action PREPARE: makes the snapshot of r for a backend
 * request that starts later. r is the client's request, or NULL if the
 * client's request has been freed.
 */
void ngx_http_mcp_call_prepare(mcp_backend_request_t *breq,
    ngx_http_request_t *r);

/*
 * Carries out the action INVOKE: starts a backend request.  Uses the snapshot
 * of the call, and if the call has none yet, makes one of the client's request
 * r. r may be NULL.  Keeps no pointer into r.  If the backend request cannot
 * start, reports its end to the core.
 */
void ngx_http_mcp_call_invoke(mcp_backend_request_t *breq,
    ngx_http_request_t *r);

/*
 * Carry out the core's actions ABORT (ends the backend request), RESUME
 * (passes the output that the core has not taken yet) and FORGET (drops the
 * call's reference to its snapshot "glue", which may be NULL).
 */
void ngx_http_mcp_call_abort(mcp_backend_request_t *breq);
void ngx_http_mcp_call_resume(mcp_backend_request_t *breq);
void ngx_http_mcp_call_forget(void *glue);

/*
 * Called when the response is complete and the core has taken it.  Posts an
 * event that ends the backend request later, because filters and the upstream
 * module still use the request during this call.
 */
void ngx_http_mcp_call_complete(ngx_http_mcp_backend_request_t *req);


/*
 * Returns the backend request that r belongs to, or NULL if r does not run on
 * a connection of this module.
 */
static ngx_inline ngx_http_mcp_backend_request_t *
ngx_http_mcp_call_backend_request(ngx_http_request_t *r)
{
    if (!ngx_http_mcp_connection_is_ours(r->connection)) {
        return NULL;
    }

    return (ngx_http_mcp_backend_request_t *) r->http_connection;
}


#endif /* NGX_HTTP_MCP_CALL_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the files of the nginx glue share.  The protocol lives in shared/;
 * here is only how nginx carries it.
 *
 *   ngx_http_mcp_module.c     directives, configuration, module
 *   ngx_http_mcp_zone.c       shared zone, worker's worker, wake-ups, timers
 *   ngx_http_mcp_handler.c    client requests: head, body, response
 *   ngx_http_mcp_secret.c     what logs must not show of a URL
 *   ngx_http_mcp_stream.c     consumers: the pull loop of an SSE response
 *   ngx_http_mcp_call.c       backend calls, detached from their clients
 *   ngx_http_mcp_snapshot.c     what a client's request leaves behind for them
 *   ngx_http_mcp_capture.c    the filter that catches a backend's output
 *   ngx_http_mcp_redirect.c   where X-Accel-Redirect may lead
 *   ngx_http_mcp_access.c     whether a location identifies its clients
 *   ngx_http_mcp_variables.c  $mcp_*
 *   ngx_http_mcp_status.c     mcp_status
 */


#ifndef NGX_HTTP_MCP_MODULE_H_INCLUDED
#define NGX_HTTP_MCP_MODULE_H_INCLUDED


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "mcp_call.h"
#include "mcp_exchange.h"
#include "mcp_setup.h"
#include "mcp_zone.h"


/* A zone as configured (cycle's memory) and this worker's part in it. */
typedef struct {
    ngx_str_t           name;
    ngx_shm_zone_t     *shm_zone;      /* NULL: used, not yet defined */
    ngx_log_t          *log;
    mcp_keys_t          keys;          /* generated; they live with the zone */

    ngx_str_t           file;          /* where it was first used */
    ngx_uint_t          line;

    /* set up in init_process */
    mcp_env_t           env;
    uint64_t            epoch;         /* ms, see mcp_zone_epoch() */
    mcp_store_t         store;
    mcp_worker_t          worker;
    ngx_connection_t    dummy;         /* events ask it for fd and log */
    ngx_event_t         pump;          /* posted: pull the worker's actions */
    ngx_event_t         timer;         /* the worker's next deadline */
    ngx_event_t         watchdog;      /* slow: dead workers */
    uint64_t            armed;         /* what timer is set to */
    ngx_msec_t          patrolled;     /* when other processes were looked
                                          after last */
    unsigned            ready:1;
    unsigned            woken:1;       /* mcp_worker_wake() is due */
    unsigned            pumping:1;
} ngx_http_mcp_zone_t;


typedef struct {
    ngx_array_t           zones;       /* of ngx_http_mcp_zone_t * */
    ngx_array_t           endpoints;   /* of ngx_http_mcp_loc_conf_t * */
    ngx_array_t           variables;   /* of ngx_uint_t: indexes of $mcp_* */
} ngx_http_mcp_main_conf_t;


typedef struct {
    mcp_setup_t          *setup;
    ngx_http_complex_value_t  *principal;
    ngx_flag_t            principal_said;      /* be it "off" */
    ngx_http_complex_value_t  *link_origin;

    ngx_http_mcp_zone_t  *zone;        /* "mcp" */
    ngx_http_mcp_zone_t  *publish_zone;
    ngx_flag_t            publish_open;
    ngx_http_mcp_zone_t  *status_zone;

    /* made of the rest when merging, where "mcp" or "mcp_publish" stands */
    mcp_endpoint_t        endpoint;
    mcp_str_t            *host_names;  /* of "server_name" */
    ngx_uint_t            n_host_names;

    unsigned              is_backend:1;        /* some endpoint names it */

    ngx_http_core_srv_conf_t  *cscf;   /* where the endpoint stands */
    ngx_str_t             file;
    ngx_uint_t            line;
} ngx_http_mcp_loc_conf_t;


/* A client request's context. */
typedef struct {
    ngx_http_request_t   *request;
    ngx_http_mcp_zone_t  *zone;
    mcp_exchange_t       *exchange;

    /* consumer (ngx_http_mcp_stream.c) */
    u_char               *buf;         /* NULL while there is nothing to send */
    size_t                size;        /* of buf, or of the next one */
    ngx_chain_t          *free;
    ngx_chain_t          *busy;
    unsigned              waiting:1;   /* RESPOND or STREAM is to come */
    unsigned              streaming:1;
    unsigned              yielded:1;   /* goes on in the next iteration */
    unsigned              ended:1;     /* finalized: no action concerns it */
} ngx_http_mcp_ctx_t;


extern ngx_module_t  ngx_http_mcp_module;


/* zone */
char *ngx_http_mcp_zone(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);

/* A zone by name, also one that is defined further on. */
ngx_http_mcp_zone_t *ngx_http_mcp_zone_find(ngx_conf_t *cf, ngx_str_t *name);
char *ngx_http_mcp_zone_check(ngx_conf_t *cf, ngx_http_mcp_main_conf_t *mmcf);

/* Whether the event method suits, as far as it is known yet; logs if not. */
ngx_int_t ngx_http_mcp_check_events(ngx_cycle_t *cycle, ngx_log_t *log);

ngx_int_t ngx_http_mcp_init_module(ngx_cycle_t *cycle);
ngx_int_t ngx_http_mcp_init_process(ngx_cycle_t *cycle);
void ngx_http_mcp_exit_process(ngx_cycle_t *cycle);

/* Pulls and carries out all actions and arms the timer.  Runs from events of
 * its own only, never from a request's handler: an action may free any
 * request. */
void ngx_http_mcp_pump(ngx_http_mcp_zone_t *zone);

/* After feeding the worker from elsewhere: the next deadline may be earlier. */
void ngx_http_mcp_arm(ngx_http_mcp_zone_t *zone);

/* malloc for what the core keeps. */
extern const mcp_mem_t  ngx_http_mcp_mem;

/* handler */
ngx_int_t ngx_http_mcp_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_mcp_publish_handler(ngx_http_request_t *r);

/* NULL if r is no client's or publisher's request; also found in the log
 * phase and after internal redirects. */
ngx_http_mcp_ctx_t *ngx_http_mcp_get_ctx(ngx_http_request_t *r);

/* Status, type and header lines of the exchange's response. */
ngx_int_t ngx_http_mcp_set_headers(ngx_http_request_t *r,
    const mcp_response_t *response);

/* RESPOND action. */
void ngx_http_mcp_respond(ngx_http_mcp_ctx_t *ctx);

/* secret: hides them from now on, in the rewrite phase. */
ngx_int_t ngx_http_mcp_secret_init(ngx_conf_t *cf);

/* The request line's target as it came; lives as long as the request. */
ngx_str_t ngx_http_mcp_secret_target(ngx_http_request_t *r);

/* stream: STREAM and PULL actions; r may be freed when they return, but only
 * through its posted requests. */
void ngx_http_mcp_stream(ngx_http_mcp_ctx_t *ctx);
void ngx_http_mcp_pull(ngx_http_mcp_ctx_t *ctx);

/*
 * call: carry out INVOKE, ABORT, RESUME, FORGET.  invoke: r is the client's
 * request, or NULL when it is gone (then mcp_call_glue() holds what the first
 * invocation copied from it).  Any failure to start ends the job by
 * mcp_job_end().
 */
void ngx_http_mcp_call_invoke(ngx_http_mcp_zone_t *zone, mcp_job_t *job,
    ngx_http_request_t *r);
void ngx_http_mcp_call_abort(mcp_job_t *job);
void ngx_http_mcp_call_resume(mcp_job_t *job);
void ngx_http_mcp_call_forget(void *glue);

/* NULL if r is no detached request of ours. */
mcp_job_t *ngx_http_mcp_call_job(ngx_http_request_t *r);

/* Whether it is one, be its job over or not. */
ngx_uint_t ngx_http_mcp_call_is_detached(ngx_http_request_t *r);

ngx_int_t ngx_http_mcp_call_filter_init(ngx_conf_t *cf);
ngx_int_t ngx_http_mcp_call_init_process(ngx_cycle_t *cycle);

/* A connection of no socket: for its events, or its place in the cycle. */
ngx_connection_t *ngx_http_mcp_call_dummy(ngx_log_t *log);

/* redirect: keeps what backends say within the locations of backends. */
ngx_int_t ngx_http_mcp_redirect_init(ngx_conf_t *cf);

/* access: the directive by which the location that is being merged finds out
 * who its clients are, or NULL. */
const char *ngx_http_mcp_access_check(ngx_conf_t *cf);

/* variables */
ngx_int_t ngx_http_mcp_add_variables(ngx_conf_t *cf);
ngx_int_t ngx_http_mcp_find_variables(ngx_cycle_t *cycle);

/* Forgets values that were looked at before the request's end, for logs. */
void ngx_http_mcp_flush_variables(ngx_http_request_t *r);

/* status */
ngx_int_t ngx_http_mcp_status_handler(ngx_http_request_t *r);


static ngx_inline mcp_str_t
ngx_http_mcp_str(ngx_str_t *s)
{
    mcp_str_t  out;

    out.data = (const char *) s->data;
    out.len = s->len;

    return out;
}


#endif /* NGX_HTTP_MCP_MODULE_H_INCLUDED */

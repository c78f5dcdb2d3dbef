
/*
 * What the files of the nginx glue share.  The protocol lives in shared/;
 * here is only how nginx carries it.
 *
 *   ngx_http_mcp_module.c     directives, configuration, module
 *   ngx_http_mcp_zone.c       shared zone, worker's node, wake-ups, timers
 *   ngx_http_mcp_handler.c    client requests: head, body, response
 *   ngx_http_mcp_stream.c     consumers: the pull loop of an SSE response
 *   ngx_http_mcp_call.c       detached backend calls and their capture filter
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
#include "mcp_lock.h"


/* A zone as configured (cycle's memory) and this worker's part in it. */
typedef struct {
    ngx_str_t           name;
    ngx_shm_zone_t     *shm_zone;
    ngx_log_t          *log;

    /* set up in init_process */
    mcp_env_t           env;
    mcp_store_t         store;
    mcp_node_t          node;
    ngx_event_t         pump;          /* posted: pull the node's actions */
    ngx_event_t         timer;         /* the node's next deadline */
    ngx_event_t         watchdog;      /* slow: dead workers */
    unsigned            ready:1;
} ngx_http_mcp_zone_t;


typedef struct {
    ngx_array_t           zones;       /* of ngx_http_mcp_zone_t * */
    mcp_keys_t            generated;   /* when no mcp_key is configured */
} ngx_http_mcp_main_conf_t;


typedef struct {
    ngx_http_mcp_zone_t  *zone;        /* "mcp" */
    mcp_endpoint_t        endpoint;
    ngx_array_t          *targets;     /* ngx_str_t: named locations */
    ngx_http_complex_value_t  *principal;
    /* directive values to merge stand behind; see ngx_http_mcp_module.c */

    ngx_http_mcp_zone_t  *publish_zone;
    ngx_str_t             publish_token;
    ngx_flag_t            publish_open;

    ngx_http_mcp_zone_t  *status_zone;

    ngx_msec_t            session_lifetime;
    ngx_msec_t            stream_after;
    ngx_msec_t            close_after;
    ngx_msec_t            retry;
    ngx_msec_t            keepalive;
    ngx_msec_t            max_wait;
    ngx_msec_t            linger;
    ngx_msec_t            call_timeout;
    ngx_msec_t            input_timeout;
    ngx_uint_t            max_events;
    size_t                stream_buffer;
    ngx_uint_t            max_session_streams;
    ngx_uint_t            max_principal_streams;
    size_t                max_message;
    ngx_uint_t            max_depth;
    ngx_uint_t            max_batch;
    ngx_uint_t            page_size;
    ngx_str_t             server_name;
    ngx_str_t             server_version;
    ngx_str_t             server_title;
    ngx_str_t             catalog_file;
    ngx_str_t             publish_url;
    ngx_array_t          *key_files;   /* ngx_str_t */
    ngx_array_t          *origins;     /* mcp_match_t * */
    ngx_array_t          *routes;      /* mcp_route_t */
    ngx_str_t             backend;     /* default named location */
} ngx_http_mcp_loc_conf_t;


/* A client request's context. */
typedef struct {
    ngx_http_request_t   *request;
    ngx_http_mcp_zone_t  *zone;
    mcp_exchange_t       *exchange;
    mcp_header_t         *headers;
    ngx_uint_t            n_headers;

    /* consumer (ngx_http_mcp_stream.c) */
    ngx_buf_t            *buf;
    ngx_chain_t          *free;
    ngx_chain_t          *busy;
    unsigned              waiting:1;   /* RESPOND or STREAM is to come */
    unsigned              streaming:1;
    unsigned              header_sent:1;
    unsigned              ended:1;
} ngx_http_mcp_ctx_t;


extern ngx_module_t  ngx_http_mcp_module;


/* zone */
char *ngx_http_mcp_zone(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
ngx_http_mcp_zone_t *ngx_http_mcp_zone_find(ngx_conf_t *cf, ngx_str_t *name);
ngx_int_t ngx_http_mcp_init_module(ngx_cycle_t *cycle);
ngx_int_t ngx_http_mcp_init_process(ngx_cycle_t *cycle);
void ngx_http_mcp_exit_process(ngx_cycle_t *cycle);

/* Pulls and carries out all actions; re-arms the timer.  May free the request
 * whose handler calls it only through its posted requests. */
void ngx_http_mcp_pump(ngx_http_mcp_zone_t *zone);

/* handler */
ngx_int_t ngx_http_mcp_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_mcp_publish_handler(ngx_http_request_t *r);

/* RESPOND and STREAM actions */
void ngx_http_mcp_respond(ngx_http_mcp_ctx_t *ctx);
void ngx_http_mcp_stream(ngx_http_mcp_ctx_t *ctx);

/* stream: PULL action, and the write handler behind it */
void ngx_http_mcp_pull(ngx_http_mcp_ctx_t *ctx);
ngx_int_t ngx_http_mcp_stream_start(ngx_http_request_t *r,
    ngx_http_mcp_ctx_t *ctx);

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

ngx_int_t ngx_http_mcp_call_filter_init(ngx_conf_t *cf);
ngx_int_t ngx_http_mcp_call_init_process(ngx_cycle_t *cycle);

/* variables */
ngx_int_t ngx_http_mcp_add_variables(ngx_conf_t *cf);

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

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The glue for nginx.  The protocol itself is in shared/.
 *
 *   ngx_http_mcp_module.c         table of directives, module
 *   ngx_http_mcp_directive.c      setters of directives
 *   ngx_http_mcp_config.c         creates and merges configurations, endpoints
 *   ngx_http_mcp_access.c         does a location authenticate its clients?
 *   ngx_http_mcp_zone.c           shared memory
 *
 *   ngx_http_mcp_worker.c         this process's worker: timers, actions
 *   ngx_http_mcp_wakeup.c         wake-ups between processes
 *   ngx_http_mcp_cluster.c        connections to Redis
 *   ngx_http_mcp_cluster_conf.c   directives of clusters
 *   ngx_http_mcp_env.c            memory, clock and log for the core
 *
 *   ngx_http_mcp_handler.c        client requests: head, body, response
 *   ngx_http_mcp_head.c           converts a request's head for the core
 *   ngx_http_mcp_error_headers.c  headers of error responses at endpoints
 *   ngx_http_mcp_document.c       metadata documents, below /.well-known/
 *   ngx_http_mcp_secret.c         hides secrets of URLs from logs
 *   ngx_http_mcp_stream.c         sends a stream to a client
 *
 *   ngx_http_mcp_call.c           backend requests: start and end
 *   ngx_http_mcp_snapshot.c       copy of a client's request for its backends
 *   ngx_http_mcp_connection.c     connections to backends, without a socket
 *   ngx_http_mcp_request.c        requests in the locations of backends
 *   ngx_http_mcp_capture.c        output filters that capture a response
 *   ngx_http_mcp_redirect.c       checks X-Accel-Redirect
 *
 *   ngx_http_mcp_variables.c      $mcp_*
 *   ngx_http_mcp_status.c         mcp_status
 */


#ifndef NGX_HTTP_MCP_MODULE_H_INCLUDED
#define NGX_HTTP_MCP_MODULE_H_INCLUDED


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "mcp.h"


extern ngx_module_t  ngx_http_mcp_module;


static ngx_inline mcp_str_t
ngx_http_mcp_str(ngx_str_t *s)
{
    mcp_str_t  out;

    out.data = (const char *) s->data;
    out.len = s->len;

    return out;
}


/*
 * Converts a string of the core to one of nginx.  The text must not be
 * changed.
 */
static ngx_inline ngx_str_t
ngx_http_mcp_text(mcp_str_t s)
{
    ngx_str_t  out;

    out.data = (u_char *) s.data;
    out.len = s.len;

    return out;
}


#endif /* NGX_HTTP_MCP_MODULE_H_INCLUDED */

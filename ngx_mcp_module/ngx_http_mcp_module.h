/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How nginx carries the protocol, which lives in shared/.
 *
 *   ngx_http_mcp_module.c      table of directives, module
 *   ngx_http_mcp_directive.c   what each directive means
 *   ngx_http_mcp_config.c      life of the configuration, endpoints
 *   ngx_http_mcp_access.c      whether a location identifies its clients
 *   ngx_http_mcp_zone.c        shared memory
 *
 *   ngx_http_mcp_worker.c      this process's part in a zone: timers, actions
 *   ngx_http_mcp_bell.c        waking other processes
 *   ngx_http_mcp_cluster.c     connections to Redis
 *   ngx_http_mcp_cluster_conf.c   their directives
 *   ngx_http_mcp_env.c         memory, clock and log for the core
 *
 *   ngx_http_mcp_handler.c     client requests: head, body, response
 *   ngx_http_mcp_head.c        a request's head for the core
 *   ngx_http_mcp_guard.c       what others answer at an endpoint
 *   ngx_http_mcp_document.c    documents of resources, below /.well-known/
 *   ngx_http_mcp_secret.c      what logs must not show of a URL
 *   ngx_http_mcp_stream.c      a client that reads a stream
 *
 *   ngx_http_mcp_call.c        backend calls, detached from their clients
 *   ngx_http_mcp_snapshot.c    what a client's request leaves behind for them
 *   ngx_http_mcp_connection.c  their connections, which have no socket
 *   ngx_http_mcp_request.c     their requests
 *   ngx_http_mcp_fastcgi.c     what FastCGI backends get
 *   ngx_http_mcp_capture.c     the filter that catches a backend's answer
 *   ngx_http_mcp_redirect.c    where X-Accel-Redirect may lead
 *
 *   ngx_http_mcp_variables.c   $mcp_*
 *   ngx_http_mcp_status.c      mcp_status
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


/* The other way; the text is not to be changed.  */
static ngx_inline ngx_str_t
ngx_http_mcp_text(mcp_str_t s)
{
    ngx_str_t  out;

    out.data = (u_char *) s.data;
    out.len = s.len;

    return out;
}


#endif /* NGX_HTTP_MCP_MODULE_H_INCLUDED */

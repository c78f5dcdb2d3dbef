/* SPDX-License-Identifier: Apache-2.0 */

/* $mcp_*. */


#ifndef NGX_HTTP_MCP_VARIABLES_H_INCLUDED
#define NGX_HTTP_MCP_VARIABLES_H_INCLUDED


#include "ngx_http_mcp_module.h"

#include "mcp_worker.h"


/* One that the configuration uses.  */
typedef struct {
    ngx_uint_t                   index;
    ngx_uint_t                   fact;
} ngx_http_mcp_used_t;


ngx_int_t ngx_http_mcp_variables_add(ngx_conf_t *cf);

/* Finds those that the configuration uses.  */
ngx_int_t ngx_http_mcp_variables_find(ngx_cycle_t *cycle);

/* Forgets the values that were read before the request's end, so that logs get
 * the last ones.  */
void ngx_http_mcp_variables_flush(ngx_http_request_t *r);

/* Sets those that a backend's request r has from its beginning.  Their values
 * are the job's: they live as long as its call.  */
void ngx_http_mcp_variables_fill(ngx_http_request_t *r, mcp_job_t *job);


#endif /* NGX_HTTP_MCP_VARIABLES_H_INCLUDED */

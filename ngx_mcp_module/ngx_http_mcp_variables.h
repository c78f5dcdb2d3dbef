/* SPDX-License-Identifier: Apache-2.0 */

/* The variables $mcp_*. */


#ifndef NGX_HTTP_MCP_VARIABLES_H_INCLUDED
#define NGX_HTTP_MCP_VARIABLES_H_INCLUDED


#include "ngx_http_mcp_module.h"

#include "mcp_worker.h"


/*
 * A variable that the configuration uses: its index in nginx, and its number
 * in mcp_variables_t.
 */
typedef struct {
    ngx_uint_t                   index;
    ngx_uint_t                   variable;
} ngx_http_mcp_used_t;


ngx_int_t ngx_http_mcp_variables_add(ngx_conf_t *cf);

/* Rejects a configuration that uses an earlier name of a variable.  Called
 * when the whole configuration has been read.  */
ngx_int_t ngx_http_mcp_variables_check(ngx_conf_t *cf);

/*
 * Finds the variables that the configuration uses, for
 * ngx_http_mcp_variables_flush() and ngx_http_mcp_variables_fill().
 */
ngx_int_t ngx_http_mcp_variables_find(ngx_cycle_t *cycle);

/* Discards the cached values of this module's variables, so that logs get the
 * final values. */
void ngx_http_mcp_variables_flush(ngx_http_request_t *r);

/*
 * Sets the variables that the backend of the internal request r gets as MCP_*,
 * to their values at the start of the backend request.  The values are not
 * copied.  They live as long as the call of breq.
 */
void ngx_http_mcp_variables_fill(ngx_http_request_t *r,
    mcp_backend_request_t *breq);


#endif /* NGX_HTTP_MCP_VARIABLES_H_INCLUDED */

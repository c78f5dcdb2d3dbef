/* SPDX-License-Identifier: Apache-2.0 */

/* Setters of directives, for the table of commands.  */


#ifndef NGX_HTTP_MCP_DIRECTIVE_H_INCLUDED
#define NGX_HTTP_MCP_DIRECTIVE_H_INCLUDED


#include "ngx_http_mcp_module.h"

#include "mcp_setup_directive.h"


/* Rejects an earlier name of a directive; cmd->post is the name to use
 * instead. */
char *ngx_http_mcp_directive_renamed(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/* A function that adds one argument of a directive to a setup.
 * ngx_http_mcp_directive_words() calls the function that cmd->post points to,
 * once for each argument. */
typedef int (*ngx_http_mcp_setup_pt)(mcp_setup_t *setup, mcp_str_t word,
    char *error);

char *ngx_http_mcp_directive_words(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/*
 * A function that sets one directive of the core's table MCP_DIRECTIVES;
 * cmd->post points to the function of the directive.  Returns the value of an
 * mcp_setup_*() function, or MCP_ERR_INTERNAL after an error in the log.
 */
typedef int ngx_http_mcp_directive_fn(ngx_conf_t *cf, mcp_setup_t *setup,
    ngx_str_t *value, char *error);

char *ngx_http_mcp_directive_setup(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

ngx_http_mcp_directive_fn  ngx_http_mcp_directive_key;
ngx_http_mcp_directive_fn  ngx_http_mcp_directive_server;
ngx_http_mcp_directive_fn  ngx_http_mcp_directive_catalog;
ngx_http_mcp_directive_fn  ngx_http_mcp_directive_backend;
ngx_http_mcp_directive_fn  ngx_http_mcp_directive_route;
ngx_http_mcp_directive_fn  ngx_http_mcp_directive_allow;
ngx_http_mcp_directive_fn  ngx_http_mcp_directive_granted_scopes;

char *ngx_http_mcp_directive_option(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_mcp_directive_zone(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_mcp_directive_endpoint(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_mcp_directive_publish(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_mcp_directive_status(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_mcp_directive_principal(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_mcp_directive_link_origin(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/*
 * Reads a whole file for a setter, and makes *name absolute. "max" limits the
 * size of the file, bytes.  Returns NGX_OK, or NGX_ERROR after an error in the
 * log.  The caller passes text->data to ngx_free().
 */
ngx_int_t ngx_http_mcp_directive_file(ngx_conf_t *cf, ngx_str_t *name,
    off_t max, ngx_str_t *text);

/*
 * Converts the result of an mcp_setup_*() function, and its error text, to the
 * return value of a setter.
 */
char *ngx_http_mcp_directive_result(ngx_conf_t *cf, int rc, char *error);


#endif /* NGX_HTTP_MCP_DIRECTIVE_H_INCLUDED */

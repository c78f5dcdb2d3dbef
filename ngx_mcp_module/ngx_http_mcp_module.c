/* SPDX-License-Identifier: Apache-2.0 */

/* The module: its directives, and its callbacks. */


#include "ngx_http_mcp_module.h"

#include "ngx_http_mcp_cluster_conf.h"
#include "ngx_http_mcp_config.h"
#include "ngx_http_mcp_directive.h"
#include "ngx_http_mcp_variables.h"
#include "ngx_http_mcp_worker.h"

#include "mcp_directive.h"


#define NGX_HTTP_MCP_ANY_CONF                                                 \
    (NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF)

/* The rows of MCP_DIRECTIVES as commands. */
#define NGX_HTTP_MCP_DIRECTIVE(name, nginx, apache, args, help)               \
    { ngx_string(nginx),                                                      \
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_##args,                                  \
      ngx_http_mcp_directive_setup,                                           \
      NGX_HTTP_LOC_CONF_OFFSET,                                               \
      0,                                                                      \
      &(ngx_http_mcp_directive_fn *) { ngx_http_mcp_directive_##name } },

#define NGX_HTTP_MCP_WORDS(name, nginx, apache, args, help)                   \
    { ngx_string(nginx),                                                      \
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_##args,                                  \
      ngx_http_mcp_directive_words,                                           \
      NGX_HTTP_LOC_CONF_OFFSET,                                               \
      0,                                                                      \
      &(ngx_http_mcp_setup_pt) { mcp_setup_##name } },

/* A row of MCP_OPTIONS as a command. */
#define NGX_HTTP_MCP_OPTION(id, member, nginx, apache, kind, off, min, max,   \
    def)                                                                      \
    { ngx_string(nginx),                                                      \
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,                                   \
      ngx_http_mcp_directive_option,                                          \
      NGX_HTTP_LOC_CONF_OFFSET,                                               \
      MCP_OPTION_##id,                                                        \
      NULL },

/* A row of MCP_RENAMED_DIRECTIVES. */
#define NGX_HTTP_MCP_RENAMED(nginx, new_nginx, apache, new_apache)            \
    { ngx_string(nginx),                                                      \
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_ANY,                                     \
      ngx_http_mcp_directive_renamed,                                         \
      0,                                                                      \
      0,                                                                      \
      new_nginx },


/* A row of MCP_CLUSTER_OPTIONS. */
#define NGX_HTTP_MCP_CLUSTER_OPTION(id, nginx, apache, kind, member, min,     \
    max, help)                                                                \
    { ngx_string(nginx),                                                      \
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,                                      \
      ngx_http_mcp_cluster_option,                                            \
      NGX_HTTP_MAIN_CONF_OFFSET,                                              \
      MCP_CLUSTER_##id,                                                       \
      NULL },


static ngx_command_t  ngx_http_mcp_commands[] = {

    { ngx_string("mcp_zone"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE2,
      ngx_http_mcp_directive_zone,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("mcp"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_http_mcp_directive_endpoint,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("mcp_publish"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE12,
      ngx_http_mcp_directive_publish,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("mcp_status"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE12,
      ngx_http_mcp_directive_status,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("mcp_principal"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_mcp_directive_principal,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, principal),
      NULL },

    { ngx_string("mcp_link_origin"),
      NGX_HTTP_MCP_ANY_CONF|NGX_CONF_TAKE1,
      ngx_http_mcp_directive_link_origin,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_mcp_loc_conf_t, link_origin),
      NULL },

#if (MCP_CLUSTER)

    { ngx_string("mcp_cluster"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_2MORE,
      ngx_http_mcp_cluster_add,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("mcp_cluster_sync"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE12,
      ngx_http_mcp_cluster_sync,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    /* clang-format off */
    MCP_CLUSTER_DIRECTIVES(NGX_HTTP_MCP_WORDS)
    MCP_CLUSTER_OPTIONS(NGX_HTTP_MCP_CLUSTER_OPTION)
    /* clang-format on */

#endif

    /* clang-format off */
    MCP_DIRECTIVES(NGX_HTTP_MCP_DIRECTIVE, NGX_HTTP_MCP_WORDS)
    MCP_OPTIONS(NGX_HTTP_MCP_OPTION)
    MCP_RENAMED_DIRECTIVES(NGX_HTTP_MCP_RENAMED)
    /* clang-format on */

    ngx_null_command
};


static ngx_http_module_t  ngx_http_mcp_module_ctx = {
    ngx_http_mcp_variables_add,            /* preconfiguration */
    ngx_http_mcp_config_finish,            /* postconfiguration */

    ngx_http_mcp_config_create_main,       /* create main configuration */
    ngx_http_mcp_config_init_main,         /* init main configuration */

    NULL,                                  /* create server configuration */
    NULL,                                  /* merge server configuration */

    ngx_http_mcp_config_create_loc,        /* create location configuration */
    ngx_http_mcp_config_merge_loc          /* merge location configuration */
};


ngx_module_t  ngx_http_mcp_module = {
    NGX_MODULE_V1,
    &ngx_http_mcp_module_ctx,              /* module context */
    ngx_http_mcp_commands,                 /* module directives */
    NGX_HTTP_MODULE,                       /* module type */
    NULL,                                  /* init master */
    ngx_http_mcp_worker_init_module,       /* init module */
    ngx_http_mcp_worker_init_process,      /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    ngx_http_mcp_worker_exit_process,      /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};

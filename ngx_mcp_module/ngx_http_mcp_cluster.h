/* SPDX-License-Identifier: Apache-2.0 */

/* A process's connections to Redis, for zones that belong to a cluster. */


#ifndef NGX_HTTP_MCP_CLUSTER_H_INCLUDED
#define NGX_HTTP_MCP_CLUSTER_H_INCLUDED


#include "ngx_http_mcp_config.h"


#if (MCP_CLUSTER)


/*
 * Create and destroy the core's cluster object and its connections, when the
 * worker of the zone starts or ends.  The zone must belong to a cluster.
 */
void ngx_http_mcp_cluster_start(ngx_http_mcp_zone_t *zone,
    ngx_http_mcp_main_conf_t *mmcf);
void ngx_http_mcp_cluster_stop(ngx_http_mcp_zone_t *zone);

/* Carries out an action of the core for a connection to Redis: CONNECT, WRITE
 * or DISCONNECT. */
void ngx_http_mcp_cluster_act(ngx_http_mcp_zone_t *zone,
    mcp_action_t *action);


#endif /* MCP_CLUSTER */


#endif /* NGX_HTTP_MCP_CLUSTER_H_INCLUDED */

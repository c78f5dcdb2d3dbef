/* SPDX-License-Identifier: Apache-2.0 */

/* A zone: its memory, which all processes share, and this process's part.  */


#ifndef NGX_HTTP_MCP_ZONE_H_INCLUDED
#define NGX_HTTP_MCP_ZONE_H_INCLUDED


#include "ngx_http_mcp_module.h"

#include "mcp_spare.h"
#include "mcp_worker.h"
#include "mcp_zone.h"


typedef struct ngx_http_mcp_cluster_s  ngx_http_mcp_cluster_t;


/* As configured, in the memory of the cycle.  */
typedef struct {
    ngx_str_t           name;
    ngx_shm_zone_t     *shm_zone;      /* NULL: used, not yet defined */
    ngx_log_t          *log;
    mcp_keys_t          keys;          /* generated; they live with the zone */
    ngx_http_mcp_cluster_t  *cluster;  /* NULL: it is in none */

    ngx_str_t           file;          /* where it was first used */
    ngx_uint_t          line;

    /* of this process: ngx_http_mcp_worker.c */
    mcp_env_t           env;
    mcp_spare_t         spare;         /* behind env.mem */
    uint64_t            epoch;         /* ms, see mcp_zone_epoch() */
    mcp_store_t         store;
    mcp_worker_t       *worker;
    ngx_connection_t    dummy;         /* events ask it for fd and log */
    ngx_event_t         pump;          /* posted: pull the core's actions */
    ngx_event_t         timer;         /* the core's next deadline */
    ngx_event_t         patrol;        /* slow: dead processes */
    uint64_t            armed;         /* what timer is set to */
    ngx_msec_t          patrolled;     /* time of the last patrol */
    unsigned            ready:1;
    unsigned            woken:1;       /* mcp_worker_wake() is due */
    unsigned            pumping:1;
} ngx_http_mcp_zone_t;


/* A zone by name, also one that is defined further on; NULL without memory.  */
ngx_http_mcp_zone_t *ngx_http_mcp_zone_find(ngx_conf_t *cf, ngx_str_t *name);

/* Defines a zone.  */
char *ngx_http_mcp_zone_add(ngx_conf_t *cf, ngx_str_t *name, size_t size);

/* Whether all zones that are used are defined; logs those that are not.  */
char *ngx_http_mcp_zone_check(ngx_conf_t *cf, ngx_array_t *zones);


#endif /* NGX_HTTP_MCP_ZONE_H_INCLUDED */

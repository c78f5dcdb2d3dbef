/* SPDX-License-Identifier: Apache-2.0 */

/* A zone: its shared memory, and this process's worker in it. */


#ifndef NGX_HTTP_MCP_ZONE_H_INCLUDED
#define NGX_HTTP_MCP_ZONE_H_INCLUDED


#include "ngx_http_mcp_module.h"

#include "mcp_free_list.h"
#include "mcp_worker.h"
#include "mcp_zone.h"


typedef struct ngx_http_mcp_cluster_s  ngx_http_mcp_cluster_t;


/* A zone of one configuration, in the memory of its cycle. */
typedef struct {
    ngx_str_t           name;
    ngx_shm_zone_t     *shm_zone;      /* NULL as long as a directive has named
                                          the zone, but none has defined it */
    ngx_log_t          *log;
    mcp_keys_t         *keys;          /* signing keys generated in the zone;
                                          they live as long as the zone */
    ngx_http_mcp_cluster_t  *cluster;  /* cluster of the zone, or NULL */

    ngx_str_t           file;          /* file where a directive first named
                                          the zone */
    ngx_uint_t          line;

    /* members below: state of this process, see ngx_http_mcp_worker.c */
    mcp_env_t           env;
    mcp_free_list_t     free_list;     /* free list in front of malloc(),
                                          for env.mem */
    uint64_t            epoch;         /* the wall clock's time at which the
                                          steady clock was 0, ms since 1970 */
    mcp_store_t        *store;
    mcp_worker_t       *worker;
    ngx_connection_t    dummy;         /* connection for the events below,
                                          because an event needs an fd and a
                                          log */
    ngx_event_t         queue_event;   /* posted to carry out the core's
                                          actions */
    ngx_event_t         timer;         /* expires at the core's next deadline */
    ngx_event_t         patrol;        /* periodic check for processes that
                                          have died */
    uint64_t            armed;         /* deadline for which "timer" is set,
                                          ms */
    ngx_msec_t          patrolled;     /* ngx_current_msec of the last check
                                          for processes that have died */
    unsigned            served:1;      /* 1 if a location uses the zone */
    unsigned            ready:1;       /* 1 while this process is attached to
                                          the zone */
    unsigned            woken:1;       /* 1 if mcp_worker_wake() must be
                                          called before the process waits
                                          for events */
    unsigned            runs_queue:1;  /* 1 while the process carries out the
                                          core's actions */
} ngx_http_mcp_zone_t;


/*
 * Returns the zone with this name, and creates it if needed: the directive that
 * defines the zone may follow later.  Returns NULL when out of memory.
 */
ngx_http_mcp_zone_t *ngx_http_mcp_zone_find(ngx_conf_t *cf, ngx_str_t *name);

/* Defines a zone with a size in bytes. */
char *ngx_http_mcp_zone_add(ngx_conf_t *cf, ngx_str_t *name, size_t size);

/*
 * Checks that all zones that are used are defined.  Returns NGX_CONF_OK, or
 * logs an error and returns NGX_CONF_ERROR.
 */
char *ngx_http_mcp_zone_check(ngx_conf_t *cf, ngx_array_t *zones);


#endif /* NGX_HTTP_MCP_ZONE_H_INCLUDED */

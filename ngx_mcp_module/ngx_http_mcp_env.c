/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The mcp_env_t of a zone: memory, clock, randomness and log for the core.
 */


#include "ngx_http_mcp_env.h"


static void *ngx_http_mcp_env_alloc(void *ctx, size_t size);
static void ngx_http_mcp_env_free(void *ctx, void *p);


const mcp_mem_t  ngx_http_mcp_mem = {
    ngx_http_mcp_env_alloc,
    ngx_http_mcp_env_free,
    NULL
};


static const ngx_uint_t  ngx_http_mcp_env_levels[] = {
    NGX_LOG_ERR,
    NGX_LOG_WARN,
    NGX_LOG_NOTICE,
    NGX_LOG_INFO,
    NGX_LOG_DEBUG
};


static void *
ngx_http_mcp_env_alloc(void *ctx, size_t size)
{
    return ngx_alloc(size, ngx_cycle->log);
}


static void
ngx_http_mcp_env_free(void *ctx, void *p)
{
    ngx_free(p);
}


/*
 * Returns the time of a steady clock, ms.  This is nginx's own
 * ngx_current_msec, except on 32-bit systems, where ngx_current_msec wraps
 * around.
 */
static uint64_t
ngx_http_mcp_env_steady(void)
{
#if (NGX_PTR_SIZE > 4)

    return ngx_current_msec;

#else
    struct timespec  ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);

    return (uint64_t) ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
#endif
}


uint64_t
ngx_http_mcp_env_epoch(void)
{
    ngx_time_t  *tp;

    tp = ngx_timeofday();

    return (uint64_t) tp->sec * 1000 + tp->msec - ngx_http_mcp_env_steady();
}


uint64_t
ngx_http_mcp_env_now(void *ctx)
{
    ngx_http_mcp_zone_t  *zone = ctx;

    return zone->epoch + ngx_http_mcp_env_steady();
}


static int
ngx_http_mcp_env_random(void *ctx, void *buf, size_t len)
{
    return mcp_random(buf, len);
}


static void
ngx_http_mcp_env_log(void *ctx, mcp_log_level_e level, const char *line)
{
    ngx_http_mcp_zone_t  *zone = ctx;

    ngx_log_error_core(ngx_http_mcp_env_levels[level], zone->log, 0, "mcp: %s",
                       line);
}


static mcp_log_level_e
ngx_http_mcp_env_log_level(ngx_log_t *log)
{
    mcp_log_level_e  level;

    if (log->log_level & NGX_LOG_DEBUG_HTTP) {
        return MCP_LOG_DEBUG;
    }

    level = MCP_LOG_INFO;

    while (level > MCP_LOG_ERROR
           && log->log_level < ngx_http_mcp_env_levels[level])
    {
        level--;
    }

    return level;
}


void
ngx_http_mcp_env_init(ngx_http_mcp_zone_t *zone)
{
    mcp_env_t  *env;

    env = &zone->env;

    env->mem = mcp_free_list_init(&zone->free_list, &ngx_http_mcp_mem);
    env->now = ngx_http_mcp_env_now;
    env->random = ngx_http_mcp_env_random;
    env->log = ngx_http_mcp_env_log;
    env->log_level = ngx_http_mcp_env_log_level(zone->log);
    env->zone = ngx_http_mcp_str(&zone->shm_zone->shm.name);
    env->ctx = zone;
}

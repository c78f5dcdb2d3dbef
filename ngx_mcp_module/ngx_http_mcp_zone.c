/* SPDX-License-Identifier: Apache-2.0 */

/* Defines the zones of a configuration, and initializes their shared memory. */


#include "ngx_http_mcp_zone.h"

#include "ngx_http_mcp_config.h"
#include "ngx_http_mcp_env.h"


static ngx_int_t ngx_http_mcp_zone_init(ngx_shm_zone_t *shm_zone, void *data);


/* --- configuration --- */

ngx_http_mcp_zone_t *
ngx_http_mcp_zone_find(ngx_conf_t *cf, ngx_str_t *name)
{
    ngx_uint_t                 i;
    ngx_http_mcp_zone_t       *zone, **zones;
    ngx_http_mcp_main_conf_t  *mmcf;

    mmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_mcp_module);

    zones = mmcf->zones.elts;

    for (i = 0; i < mmcf->zones.nelts; i++) {
        if (zones[i]->name.len == name->len
            && ngx_strncmp(zones[i]->name.data, name->data, name->len) == 0)
        {
            return zones[i];
        }
    }

    zone = ngx_pcalloc(cf->pool, sizeof(ngx_http_mcp_zone_t));
    if (zone == NULL) {
        return NULL;
    }

    zone->keys = ngx_pcalloc(cf->pool, mcp_zone_keys_size());
    zone->store = ngx_pcalloc(cf->pool, mcp_zone_store_size());

    if (zone->keys == NULL || zone->store == NULL) {
        return NULL;
    }

    zone->name = *name;
    zone->file = cf->conf_file->file.name;
    zone->line = cf->conf_file->line;

    zones = ngx_array_push(&mmcf->zones);
    if (zones == NULL) {
        return NULL;
    }

    *zones = zone;

    return zone;
}


char *
ngx_http_mcp_zone_add(ngx_conf_t *cf, ngx_str_t *name, size_t size)
{
    ngx_http_mcp_zone_t  *zone;

    zone = ngx_http_mcp_zone_find(cf, name);
    if (zone == NULL) {
        return NGX_CONF_ERROR;
    }

    if (zone->shm_zone) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "duplicate zone \"%V\"", name);
        return NGX_CONF_ERROR;
    }

    zone->shm_zone = ngx_shared_memory_add(cf, name, size,
                                           &ngx_http_mcp_module);
    if (zone->shm_zone == NULL) {
        return NGX_CONF_ERROR;
    }

    zone->shm_zone->init = ngx_http_mcp_zone_init;
    zone->shm_zone->data = zone;

    return NGX_CONF_OK;
}


char *
ngx_http_mcp_zone_check(ngx_conf_t *cf, ngx_array_t *zones)
{
    ngx_uint_t             i;
    ngx_http_mcp_zone_t  **zone;

    zone = zones->elts;

    for (i = 0; i < zones->nelts; i++) {
        if (zone[i]->shm_zone == NULL) {
            ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                          "unknown MCP zone \"%V\" in %V:%ui: define it by "
                          "\"mcp_zone\"",
                          &zone[i]->name, &zone[i]->file, zone[i]->line);
            return NGX_CONF_ERROR;
        }
    }

    return NGX_CONF_OK;
}


/* --- shared memory --- */

static ngx_int_t
ngx_http_mcp_zone_format(ngx_http_mcp_zone_t *zone, ngx_slab_pool_t *pool)
{
    void    *region;
    size_t   size;

    /* take all of nginx's slab memory in one allocation */

    size = pool->pfree << ngx_pagesize_shift;

    region = ngx_slab_alloc(pool, size);
    if (region == NULL) {
        return NGX_ERROR;
    }

    switch (mcp_zone_format(region, size, ngx_http_mcp_env_epoch())) {

    case MCP_OK:
        pool->data = region;
        return NGX_OK;

    case MCP_ERR_CONFIG:
        ngx_log_error(NGX_LOG_EMERG, zone->shm_zone->shm.log, 0,
                      "zone \"%V\" is too small: enlarge it", &zone->name);
        return NGX_ERROR;

    default:
        ngx_log_error(NGX_LOG_EMERG, zone->shm_zone->shm.log, 0,
                      "cannot set up zone \"%V\", because the system cannot "
                      "create a mutex for several processes, or OpenSSL's "
                      "random generator failed",
                      &zone->name);
        return NGX_ERROR;
    }
}


static ngx_int_t
ngx_http_mcp_zone_init(ngx_shm_zone_t *shm_zone, void *data)
{
    ngx_slab_pool_t      *pool;
    ngx_http_mcp_zone_t  *zone;

    zone = shm_zone->data;
    pool = (ngx_slab_pool_t *) shm_zone->shm.addr;

    if (data == NULL && !shm_zone->shm.exists) {
        if (ngx_http_mcp_zone_format(zone, pool) != NGX_OK) {
            return NGX_ERROR;
        }

    } else if (mcp_zone_check(pool->data) != MCP_OK) {
        ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                      "zone \"%V\" has the layout of another version of the "
                      "module: restart nginx, or rename the zone", &zone->name);
        return NGX_ERROR;
    }

    if (mcp_zone_keys(pool->data, zone->keys) != MCP_OK) {
        ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                      "cannot set up zone \"%V\": OpenSSL cannot hash the "
                      "random key", &zone->name);
        return NGX_ERROR;
    }

    return NGX_OK;
}

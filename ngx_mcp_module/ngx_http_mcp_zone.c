/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The shared zone, and this worker's worker in it: attaching, waking other
 * workers and being woken, timers, and the pump that carries out what the
 * core asks for.
 *
 * Between processes travels only a bell: one eventfd per process slot.  The
 * master makes them, so that workers of all its generations hold the same
 * ones; what there is to do stands in the zone.
 */


#include "ngx_http_mcp_module.h"

#include <sys/eventfd.h>
#include <sys/resource.h>


/* how many processes old and new generations may have before the coarse
 * watchdog is all that wakes the rest */
#define NGX_HTTP_MCP_BELLS_MIN     64

/* the part of the descriptors that the master may have which bells may take:
 * it needs two for each worker, and those of listening sockets and files */
#define NGX_HTTP_MCP_BELLS_PART    4

#define NGX_HTTP_MCP_WATCH         2000   /* ms */
#define NGX_HTTP_MCP_WATCH_NO_BELL 50
#define NGX_HTTP_MCP_WATCH_SLOTS   256    /* looked at in one turn, at most */

/* actions carried out before other events get their turn */
#define NGX_HTTP_MCP_PUMP_MAX      1024

/* times that it may be woken anew without one */
#define NGX_HTTP_MCP_WAKES_MAX     16

/* the longest sleep; the clock may be set meanwhile */
#define NGX_HTTP_MCP_TIMER_MAX     60000


static ngx_int_t ngx_http_mcp_zone_init(ngx_shm_zone_t *shm_zone, void *data);
static ngx_uint_t ngx_http_mcp_bells_wanted(ngx_cycle_t *cycle);
static ngx_int_t ngx_http_mcp_zone_start(ngx_http_mcp_zone_t *zone);
static ngx_int_t ngx_http_mcp_bell_listen(ngx_cycle_t *cycle);
static void ngx_http_mcp_bell_handler(ngx_event_t *ev);
static void ngx_http_mcp_ready(void *ctx);
static void ngx_http_mcp_pump_handler(ngx_event_t *ev);
static void ngx_http_mcp_timer_handler(ngx_event_t *ev);
static void ngx_http_mcp_watchdog_handler(ngx_event_t *ev);

static void *ngx_http_mcp_alloc(void *ctx, size_t size);
static void ngx_http_mcp_free(void *ctx, void *p);


const mcp_mem_t  ngx_http_mcp_mem = {
    ngx_http_mcp_alloc,
    ngx_http_mcp_free,
    NULL
};


/* of the process, not of a cycle: they outlive reloads */

static ngx_fd_t    ngx_http_mcp_bells[NGX_MAX_PROCESSES];
static ngx_uint_t  ngx_http_mcp_n_bells;


static void *
ngx_http_mcp_alloc(void *ctx, size_t size)
{
    return ngx_alloc(size, ngx_cycle->log);
}


static void
ngx_http_mcp_free(void *ctx, void *p)
{
    ngx_free(p);
}


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
ngx_http_mcp_zone(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    size_t                min;
    ssize_t               size;
    ngx_str_t            *value;
    ngx_http_mcp_zone_t  *zone;

    value = cf->args->elts;

    if (value[1].len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "empty zone name");
        return NGX_CONF_ERROR;
    }

    size = ngx_parse_size(&value[2]);

    if (size == NGX_ERROR) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid zone size \"%V\"",
                           &value[2]);
        return NGX_CONF_ERROR;
    }

    /* besides the store: nginx's header and page table, our own head */

    min = MCP_STORE_MIN_SIZE + 8 * ngx_pagesize;

    if ((size_t) size < min) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "zone \"%V\" is too small, it needs at least %uzk",
                           &value[1], min / 1024);
        return NGX_CONF_ERROR;
    }

    zone = ngx_http_mcp_zone_find(cf, &value[1]);
    if (zone == NULL) {
        return NGX_CONF_ERROR;
    }

    if (zone->shm_zone) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "duplicate zone \"%V\"",
                           &value[1]);
        return NGX_CONF_ERROR;
    }

    zone->shm_zone = ngx_shared_memory_add(cf, &value[1], size,
                                           &ngx_http_mcp_module);
    if (zone->shm_zone == NULL) {
        return NGX_CONF_ERROR;
    }

    zone->shm_zone->init = ngx_http_mcp_zone_init;
    zone->shm_zone->data = zone;

    return NGX_CONF_OK;
}


char *
ngx_http_mcp_zone_check(ngx_conf_t *cf, ngx_http_mcp_main_conf_t *mmcf)
{
    ngx_uint_t            i;
    ngx_http_mcp_zone_t  **zones;

    zones = mmcf->zones.elts;

    for (i = 0; i < mmcf->zones.nelts; i++) {
        if (zones[i]->shm_zone == NULL) {
            ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                          "unknown MCP zone \"%V\" in %V:%ui",
                          &zones[i]->name, &zones[i]->file, zones[i]->line);
            return NGX_CONF_ERROR;
        }
    }

    return NGX_CONF_OK;
}


/* --- shared memory --- */

/* A clock that nobody sets, in ms: nginx's own, unless that is too small. */
static uint64_t
ngx_http_mcp_steady(void)
{
#if (NGX_PTR_SIZE > 4)

    return ngx_current_msec;

#else
    struct timespec  ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);

    return (uint64_t) ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
#endif
}


static uint64_t
ngx_http_mcp_epoch(void)
{
    ngx_time_t  *tp;

    tp = ngx_timeofday();

    return (uint64_t) tp->sec * 1000 + tp->msec - ngx_http_mcp_steady();
}


static ngx_int_t
ngx_http_mcp_zone_format(ngx_http_mcp_zone_t *zone, ngx_slab_pool_t *pool)
{
    void    *region;
    size_t   size;

    /* nginx's own allocator gives us all it has, once */

    size = pool->pfree << ngx_pagesize_shift;

    region = ngx_slab_alloc(pool, size);
    if (region == NULL) {
        return NGX_ERROR;
    }

    switch (mcp_zone_format(region, size, ngx_http_mcp_epoch())) {

    case MCP_OK:
        pool->data = region;
        return NGX_OK;

    case MCP_ERR_CONFIG:
        ngx_log_error(NGX_LOG_EMERG, zone->shm_zone->shm.log, 0,
                      "zone \"%V\" is too small", &zone->name);
        return NGX_ERROR;

    default:
        ngx_log_error(NGX_LOG_EMERG, zone->shm_zone->shm.log, 0,
                      "cannot make a lock or a key in zone \"%V\"",
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
                      "zone \"%V\" was laid out by another version of the "
                      "module: restart nginx, or give the zone another "
                      "name", &zone->name);
        return NGX_ERROR;
    }

    if (mcp_zone_keys(pool->data, &zone->keys) != MCP_OK) {
        ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                      "cannot derive the key of zone \"%V\"", &zone->name);
        return NGX_ERROR;
    }

    return NGX_OK;
}


/* --- event methods --- */

/* With others an event that is "active" is not yet a no-op. */
static ngx_uint_t
ngx_http_mcp_suits(u_char *method)
{
    return ngx_strcmp(method, "epoll") == 0
           || ngx_strcmp(method, "kqueue") == 0;
}


ngx_int_t
ngx_http_mcp_check_events(ngx_cycle_t *cycle, ngx_log_t *log)
{
    ngx_event_conf_t  *ecf;

    /* "events" may stand behind "http" */

    if (ngx_get_conf(cycle->conf_ctx, ngx_events_module) == NULL) {
        return NGX_OK;
    }

    ecf = ngx_event_get_conf(cycle->conf_ctx, ngx_event_core_module);

    if (ecf == NULL || ecf->name == NGX_CONF_UNSET_PTR
        || ngx_http_mcp_suits(ecf->name))
    {
        return NGX_OK;
    }

    ngx_log_error(NGX_LOG_EMERG, log, 0,
                  "MCP zones require the event method epoll or kqueue, not "
                  "\"%s\"", ecf->name);

    return NGX_ERROR;
}


/* --- bells --- */

/* An error in here would end the master, or, where "nginx -t" was not asked, a
 * server that runs. */
ngx_int_t
ngx_http_mcp_init_module(ngx_cycle_t *cycle)
{
    ngx_fd_t                   fd;
    ngx_int_t                  rc;
    ngx_uint_t                 n;
    ngx_http_mcp_main_conf_t  *mmcf;

    mmcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_mcp_module);

    if (mmcf == NULL || mmcf->zones.nelts == 0) {
        return NGX_OK;
    }

    rc = ngx_http_mcp_check_events(cycle, cycle->log);

    if (ngx_test_config) {
        return rc;
    }

    ngx_log_error(NGX_LOG_NOTICE, cycle->log, 0, "MCP module " MCP_VERSION);

    n = ngx_http_mcp_bells_wanted(cycle);

    while (ngx_http_mcp_n_bells < n) {
        fd = eventfd(0, EFD_NONBLOCK|EFD_CLOEXEC);

        if (fd == -1) {
            ngx_log_error(NGX_LOG_ERR, cycle->log, ngx_errno,
                          "eventfd() failed: %ui of %ui processes can be "
                          "woken, others look every %d ms",
                          ngx_http_mcp_n_bells, n, NGX_HTTP_MCP_WATCH_NO_BELL);
            break;
        }

        ngx_http_mcp_bells[ngx_http_mcp_n_bells++] = fd;
    }

    return NGX_OK;
}


static ngx_uint_t
ngx_http_mcp_bells_wanted(ngx_cycle_t *cycle)
{
    ngx_uint_t        n;
    struct rlimit     rlmt;
    ngx_core_conf_t  *ccf;

    /* a slot is free again once its process is gone; while a generation winds
     * up the next one has its own slots */

    ccf = (ngx_core_conf_t *) ngx_get_conf(cycle->conf_ctx, ngx_core_module);

    n = 4 * ccf->worker_processes;
    n = ngx_max(n, NGX_HTTP_MCP_BELLS_MIN);
    n = ngx_min(n, NGX_MAX_PROCESSES);

    if (getrlimit(RLIMIT_NOFILE, &rlmt) == 0
        && rlmt.rlim_cur / NGX_HTTP_MCP_BELLS_PART < n)
    {
        n = rlmt.rlim_cur / NGX_HTTP_MCP_BELLS_PART;

        if (n < (ngx_uint_t) ccf->worker_processes) {
            ngx_log_error(NGX_LOG_WARN, cycle->log, 0,
                          "the limit of open files lets only %ui of %i "
                          "workers be woken, others look every %d ms",
                          n, ccf->worker_processes,
                          NGX_HTTP_MCP_WATCH_NO_BELL);
        }
    }

    return n;
}


/* The store's wake: called by any process, for any slot. */
static void
ngx_http_mcp_wake(void *ctx, unsigned slot)
{
    uint64_t              one;
    ngx_http_mcp_zone_t  *zone;

    zone = ctx;

    if (slot == (unsigned) ngx_process_slot) {
        zone->woken = 1;
        ngx_http_mcp_ready(zone);
        return;
    }

    if (slot >= ngx_http_mcp_n_bells) {
        return;
    }

    one = 1;

    /* EAGAIN: it has been ringing for ages */

    if (write(ngx_http_mcp_bells[slot], &one, sizeof(one)) == -1
        && ngx_errno != NGX_EAGAIN)
    {
        ngx_log_error(NGX_LOG_ALERT, zone->log, ngx_errno,
                      "write() to the eventfd of process slot %ui failed",
                      (ngx_uint_t) slot);
    }
}


static ngx_int_t
ngx_http_mcp_bell_listen(ngx_cycle_t *cycle)
{
    ngx_connection_t  *c;

    ngx_uint_t         rings;

    rings = (ngx_uint_t) ngx_process_slot < ngx_http_mcp_n_bells;

    c = rings ? ngx_get_connection(ngx_http_mcp_bells[ngx_process_slot],
                                   cycle->log)
              : ngx_http_mcp_call_dummy(cycle->log);

    if (c == NULL) {
        return NGX_ERROR;
    }

    c->data = cycle;
    c->log = cycle->log;
    c->read->log = cycle->log;
    c->write->log = cycle->log;

    /* channel: no leak when the process ends; idle: the handler is called, with
     * c->close, when the process begins to wind up */

    c->read->channel = 1;
    c->write->channel = 1;
    c->idle = 1;

    c->read->handler = ngx_http_mcp_bell_handler;

    return rings ? ngx_add_event(c->read, NGX_READ_EVENT, 0) : NGX_OK;
}


static void
ngx_http_mcp_bell_handler(ngx_event_t *ev)
{
    uint64_t                    count;
    ngx_uint_t                  i;
    ngx_cycle_t                *cycle;
    ngx_connection_t           *c;
    ngx_http_mcp_zone_t       **zones;
    ngx_http_mcp_main_conf_t   *mmcf;

    c = ev->data;
    cycle = c->data;

    mmcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_mcp_module);
    zones = mmcf->zones.elts;

    if (c->close) {
        c->close = 0;
        c->idle = 0;

        for (i = 0; i < mmcf->zones.nelts; i++) {
            if (zones[i]->ready) {
                mcp_worker_stop(&zones[i]->worker);
                ngx_http_mcp_pump(zones[i]);
            }
        }

        return;
    }

    if (read(c->fd, &count, sizeof(count)) == -1 && ngx_errno != NGX_EAGAIN) {
        ngx_log_error(NGX_LOG_ALERT, ev->log, ngx_errno,
                      "read() from eventfd failed");
    }

    for (i = 0; i < mmcf->zones.nelts; i++) {
        if (zones[i]->ready) {
            zones[i]->woken = 1;
            ngx_http_mcp_pump(zones[i]);
        }
    }
}


/* --- the worker's environment --- */

static uint64_t
ngx_http_mcp_now(void *ctx)
{
    ngx_http_mcp_zone_t  *zone;

    zone = ctx;

    return zone->epoch + ngx_http_mcp_steady();
}


static int
ngx_http_mcp_random(void *ctx, void *buf, size_t len)
{
    return mcp_random(buf, len);
}


static const ngx_uint_t  ngx_http_mcp_log_levels[] = {
    NGX_LOG_ERR,
    NGX_LOG_WARN,
    NGX_LOG_NOTICE,
    NGX_LOG_INFO,
    NGX_LOG_DEBUG
};


static void
ngx_http_mcp_log(void *ctx, mcp_log_level_e level, const char *line)
{
    ngx_http_mcp_zone_t  *zone;

    zone = ctx;

    ngx_log_error_core(ngx_http_mcp_log_levels[level], zone->log, 0, "mcp: %s",
                       line);
}


static mcp_log_level_e
ngx_http_mcp_log_level(ngx_log_t *log)
{
    ngx_uint_t  level;

    if (log->log_level & NGX_LOG_DEBUG_HTTP) {
        return MCP_LOG_DEBUG;
    }

    level = MCP_LOG_INFO;

    while (level > MCP_LOG_ERROR
           && log->log_level < ngx_http_mcp_log_levels[level])
    {
        level--;
    }

    return level;
}


static void
ngx_http_mcp_ready(void *ctx)
{
    ngx_http_mcp_zone_t  *zone;

    zone = ctx;

    if (!zone->pumping) {
        ngx_post_event(&zone->pump, &ngx_posted_events);
    }
}


/* --- life of the process --- */

ngx_int_t
ngx_http_mcp_init_process(ngx_cycle_t *cycle)
{
    ngx_int_t                   rc;
    ngx_uint_t                  i;
    ngx_http_mcp_zone_t       **zones;
    ngx_http_conf_ctx_t        *ctx;
    ngx_http_core_loc_conf_t   *clcf;
    ngx_http_mcp_main_conf_t   *mmcf;

    mmcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_mcp_module);

    if (mmcf == NULL || mmcf->zones.nelts == 0) {
        return NGX_OK;
    }

    if (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE)
    {
        return NGX_OK;
    }

    /* an error in here would end the worker, and each one after it, with all
     * else that they serve: endpoints answer 503 instead */

    rc = NGX_OK;

    if (!(ngx_event_flags & NGX_USE_CLEAR_EVENT)
        || ngx_http_mcp_call_init_process(cycle) != NGX_OK
        || ngx_http_mcp_find_variables(cycle) != NGX_OK
        || ngx_http_mcp_bell_listen(cycle) != NGX_OK)
    {
        rc = NGX_ERROR;
    }

    /* what belongs to no request goes where "error_log" of the http block
     * says */

    ctx = (ngx_http_conf_ctx_t *) cycle->conf_ctx[ngx_http_module.index];
    clcf = ctx->loc_conf[ngx_http_core_module.ctx_index];

    zones = mmcf->zones.elts;

    for (i = 0; i < mmcf->zones.nelts; i++) {
        zones[i]->log = clcf->error_log ? clcf->error_log : cycle->log;

        if (rc != NGX_OK || ngx_http_mcp_zone_start(zones[i]) != NGX_OK) {
            ngx_log_error(NGX_LOG_EMERG, cycle->log, 0,
                          "this process has no part in MCP zone \"%V\": its "
                          "endpoints answer 503", &zones[i]->name);
        }
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_mcp_zone_start(ngx_http_mcp_zone_t *zone)
{
    ngx_slab_pool_t  *pool;
    mcp_worker_glue_t   worker;

    zone->env.mem = ngx_http_mcp_mem;
    zone->env.now = ngx_http_mcp_now;
    zone->env.random = ngx_http_mcp_random;
    zone->env.log = ngx_http_mcp_log;
    zone->env.log_level = ngx_http_mcp_log_level(zone->log);
    zone->env.zone.data = (char *) zone->shm_zone->shm.name.data;
    zone->env.zone.len = zone->shm_zone->shm.name.len;
    zone->env.ctx = zone;

    zone->dummy.fd = (ngx_socket_t) -1;
    zone->dummy.log = zone->log;

    zone->pump.handler = ngx_http_mcp_pump_handler;
    zone->pump.data = &zone->dummy;
    zone->pump.log = zone->log;

    zone->timer = zone->pump;
    zone->timer.handler = ngx_http_mcp_timer_handler;
    zone->timer.cancelable = 1;

    zone->watchdog = zone->timer;
    zone->watchdog.handler = ngx_http_mcp_watchdog_handler;

    zone->dummy.data = zone;

    pool = (ngx_slab_pool_t *) zone->shm_zone->shm.addr;

    zone->epoch = mcp_zone_epoch(pool->data);

    if (mcp_zone_attach(&zone->store, pool->data, ngx_http_mcp_wake, zone,
                        (unsigned) ngx_process_slot, (uint64_t) ngx_pid)
        != MCP_OK)
    {
        ngx_log_error(NGX_LOG_ALERT, zone->log, 0,
                      "cannot attach to MCP zone \"%V\"", &zone->name);
        return NGX_ERROR;
    }

    worker.ready = ngx_http_mcp_ready;
    worker.ctx = zone;

    if (mcp_worker_init(&zone->worker, &zone->env, &zone->store, &worker)
        != MCP_OK)
    {
        return NGX_ERROR;
    }

    zone->ready = 1;
    zone->patrolled = ngx_current_msec - NGX_HTTP_MCP_WATCH;

    /* calls that a predecessor in this slot left behind */

    mcp_worker_adopt(&zone->worker);

    ngx_http_mcp_watchdog_handler(&zone->watchdog);
    ngx_http_mcp_arm(zone);

    return NGX_OK;
}


void
ngx_http_mcp_exit_process(ngx_cycle_t *cycle)
{
    ngx_uint_t                  i;
    ngx_http_mcp_zone_t       **zones;
    ngx_http_mcp_main_conf_t   *mmcf;

    mmcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_mcp_module);

    if (mmcf == NULL) {
        return;
    }

    zones = mmcf->zones.elts;

    for (i = 0; i < mmcf->zones.nelts; i++) {
        if (!zones[i]->ready) {
            continue;
        }

        zones[i]->ready = 0;

        /* a fast shutdown leaves requests behind, but nothing runs them */

        mcp_store_detach(&zones[i]->store);
        mcp_worker_destroy(&zones[i]->worker);
    }
}


/* --- timers --- */

void
ngx_http_mcp_arm(ngx_http_mcp_zone_t *zone)
{
    int         busy;
    uint64_t    when, now;
    ngx_msec_t  delay;

    when = mcp_worker_deadline(&zone->worker, &busy);

    /* a process that winds up waits for what must not be cut off */

    zone->timer.cancelable = !busy;

    if (when == UINT64_MAX
        || (zone->timer.timer_set && zone->armed <= when))
    {
        return;
    }

    now = ngx_http_mcp_now(zone);

    delay = (when <= now) ? 1
                          : (ngx_msec_t) ngx_min(when - now,
                                                 NGX_HTTP_MCP_TIMER_MAX);

    /* nginx leaves a timer alone that is to move by less than 300 ms */

    if (zone->timer.timer_set) {
        ngx_del_timer(&zone->timer);
    }

    ngx_add_timer(&zone->timer, delay);
    zone->armed = when;
}


static void
ngx_http_mcp_timer_handler(ngx_event_t *ev)
{
    ngx_connection_t     *c;
    ngx_http_mcp_zone_t  *zone;

    c = ev->data;
    zone = c->data;

    mcp_worker_expire(&zone->worker);
    ngx_http_mcp_pump(zone);
}


static int
ngx_http_mcp_is_dead(uint64_t pid)
{
    return kill((pid_t) pid, 0) == -1 && ngx_errno == NGX_ESRCH;
}


/* Slow, bounded: a worker that was killed while it wound up has no successor
 * in its slot; and a wake-up that got lost is made good for. */
static void
ngx_http_mcp_watchdog_handler(ngx_event_t *ev)
{
    ngx_uint_t            n;
    ngx_connection_t     *c;
    ngx_http_mcp_zone_t  *zone;

    c = ev->data;
    zone = c->data;

    if (ngx_current_msec - zone->patrolled >= NGX_HTTP_MCP_WATCH) {
        zone->patrolled = ngx_current_msec;

        /* low slots are taken first: no process stands far beyond the bells */

        n = 4 * ngx_max(ngx_http_mcp_n_bells, NGX_HTTP_MCP_BELLS_MIN);
        n = ngx_min(n, NGX_MAX_PROCESSES);

        mcp_worker_patrol(&zone->worker, (unsigned) n, NGX_HTTP_MCP_WATCH_SLOTS,
                        ngx_http_mcp_is_dead);
    }

    zone->woken = 1;
    ngx_http_mcp_ready(zone);

    ngx_add_timer(ev, (ngx_uint_t) ngx_process_slot < ngx_http_mcp_n_bells
                      ? NGX_HTTP_MCP_WATCH : NGX_HTTP_MCP_WATCH_NO_BELL);
}


/* --- the pump --- */

static void
ngx_http_mcp_act(ngx_http_mcp_zone_t *zone, mcp_action_t *action)
{
    ngx_connection_t    *c;
    ngx_http_request_t  *r;
    ngx_http_mcp_ctx_t  *ctx;

    ctx = action->exchange ? mcp_exchange_glue(action->exchange) : NULL;
    r = ctx ? ctx->request : NULL;

    switch (action->type) {

    case MCP_ACT_INVOKE:
        ngx_http_mcp_call_invoke(zone, action->job, r);
        return;

    case MCP_ACT_ABORT:
        ngx_http_mcp_call_abort(action->job);
        return;

    case MCP_ACT_RESUME:
        ngx_http_mcp_call_resume(action->job);
        return;

    case MCP_ACT_FORGET:
        ngx_http_mcp_call_forget(action->glue);
        return;

    default:
        break;
    }

    if (r == NULL || ctx->ended) {
        return;
    }

    c = r->connection;

    ngx_http_set_log_request(c->log, r);

    switch (action->type) {

    case MCP_ACT_RESPOND:
        ngx_http_mcp_respond(ctx);
        break;

    case MCP_ACT_STREAM:
        ngx_http_mcp_stream(ctx);
        break;

    case MCP_ACT_PULL:
        ngx_http_mcp_pull(ctx);
        break;

    default:
        break;
    }

    /* r may be gone */

    ngx_http_run_posted_requests(c);
}


void
ngx_http_mcp_pump(ngx_http_mcp_zone_t *zone)
{
    ngx_uint_t    n, wakes;
    mcp_action_t  action;

    if (zone->pumping) {
        return;
    }

    zone->pumping = 1;
    wakes = 0;

    for (n = 0; n < NGX_HTTP_MCP_PUMP_MAX || ngx_exiting; n++) {
        if (zone->woken) {
            zone->woken = 0;
            mcp_worker_wake(&zone->worker);
        }

        mcp_worker_next(&zone->worker, &action);

        if (action.type == MCP_ACT_NONE) {
            if (!zone->woken) {
                goto done;
            }

            if (++wakes == NGX_HTTP_MCP_WAKES_MAX) {
                break;
            }

            continue;
        }

        ngx_http_mcp_act(zone, &action);
    }

    ngx_post_event(&zone->pump, &ngx_posted_next_events);

done:

    zone->pumping = 0;

    ngx_http_mcp_arm(zone);
}


static void
ngx_http_mcp_pump_handler(ngx_event_t *ev)
{
    ngx_connection_t     *c;

    c = ev->data;

    ngx_http_mcp_pump(c->data);
}

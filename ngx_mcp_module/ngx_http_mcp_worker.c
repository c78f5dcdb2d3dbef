/* SPDX-License-Identifier: Apache-2.0 */

/*
 * This process's worker in a zone: attaching, wake-ups, the core's timers, and
 * the core's actions.
 */


#include "ngx_http_mcp_worker.h"

#include "ngx_http_mcp_wakeup.h"
#include "ngx_http_mcp_call.h"
#include "ngx_http_mcp_cluster.h"
#include "ngx_http_mcp_config.h"
#include "ngx_http_mcp_connection.h"
#include "ngx_http_mcp_env.h"
#include "ngx_http_mcp_handler.h"
#include "ngx_http_mcp_request.h"
#include "ngx_http_mcp_stream.h"
#include "ngx_http_mcp_variables.h"
#include "mcp_version.h"


/*
 * interval of checks for dead processes, ms, and the maximum number of slots
 * inspected by each check
 */
#define NGX_HTTP_MCP_PATROL        2000
#define NGX_HTTP_MCP_PATROL_SLOTS  256

/* maximum number of actions carried out before other events get their turn */
#define NGX_HTTP_MCP_RUN_QUEUE_MAX  1024

/* maximum number of wake-ups handled before other events get their turn */
#define NGX_HTTP_MCP_WAKES_MAX     16

/* maximum time of the zone's timer, ms; for a later deadline of the core, the
 * timer is set again when it expires */
#define NGX_HTTP_MCP_TIMER_MAX     60000


/* time at which worker_shutdown_timeout passes, in terms of ngx_current_msec,
 * and 1 if this process shuts down with such a limit */
static ngx_msec_t  ngx_http_mcp_worker_limit;
static ngx_uint_t  ngx_http_mcp_worker_limited;


static ngx_int_t ngx_http_mcp_worker_start(ngx_http_mcp_zone_t *zone,
    ngx_http_mcp_main_conf_t *mmcf);
static void ngx_http_mcp_worker_init_events(ngx_http_mcp_zone_t *zone);
static void ngx_http_mcp_worker_wake(void *ctx, unsigned slot);
static void ngx_http_mcp_worker_ready(void *ctx);
static void ngx_http_mcp_worker_wakeup_handler(ngx_event_t *ev);
static void ngx_http_mcp_worker_stop(ngx_cycle_t *cycle);
static ngx_uint_t ngx_http_mcp_worker_is_cut(void);
static void ngx_http_mcp_worker_arm_now(ngx_http_mcp_zone_t *zone);
static void ngx_http_mcp_worker_set_timer(ngx_http_mcp_zone_t *zone,
    uint64_t when);
static void ngx_http_mcp_worker_timer_handler(ngx_event_t *ev);
static void ngx_http_mcp_worker_patrol_handler(ngx_event_t *ev);
static void ngx_http_mcp_worker_run_queue(ngx_http_mcp_zone_t *zone);
static void ngx_http_mcp_worker_run_queue_handler(ngx_event_t *ev);


/* --- event methods --- */

/*
 * Returns 1 for an event method that nginx can use with internal connections,
 * because the method neither registers nor removes events marked as "active".
 */
static ngx_uint_t
ngx_http_mcp_worker_suits(u_char *method)
{
    return ngx_strcmp(method, "epoll") == 0
           || ngx_strcmp(method, "kqueue") == 0;
}


ngx_int_t
ngx_http_mcp_worker_check_events(ngx_cycle_t *cycle, ngx_log_t *log)
{
    ngx_event_conf_t  *ecf;

    /* accept the configuration without a check: the "events" block may follow
     * the "http" block, and then no event method is set yet */

    if (ngx_get_conf(cycle->conf_ctx, ngx_events_module) == NULL) {
        return NGX_OK;
    }

    ecf = ngx_event_get_conf(cycle->conf_ctx, ngx_event_core_module);

    if (ecf == NULL || ecf->name == NGX_CONF_UNSET_PTR
        || ngx_http_mcp_worker_suits(ecf->name))
    {
        return NGX_OK;
    }

    ngx_log_error(NGX_LOG_EMERG, log, 0,
                  "MCP zones require the event method epoll or kqueue, not "
                  "\"%s\": change \"use\"", ecf->name);

    return NGX_ERROR;
}


/*
 * Warns about endpoints whose quotas permit one tenant more connections than
 * all processes have together ("worker_connections").
 */
static void
ngx_http_mcp_worker_check_connections(ngx_cycle_t *cycle,
    ngx_http_mcp_main_conf_t *mmcf)
{
    uint64_t                    quota, all;
    ngx_uint_t                  i;
    ngx_core_conf_t            *ccf;
    ngx_http_mcp_loc_conf_t   **mlcf;

    ccf = (ngx_core_conf_t *) ngx_get_conf(cycle->conf_ctx, ngx_core_module);

    all = cycle->connection_n * (ccf->master ? ccf->worker_processes : 1);
    mlcf = mmcf->endpoints.elts;

    for (i = 0; i < mmcf->endpoints.nelts; i++) {
        quota = mcp_setup_connections(mlcf[i]->setup);

        if (quota > all) {
            ngx_log_error(NGX_LOG_WARN, cycle->log, 0,
                          "\"mcp\" in %V:%ui has quotas that let one caller "
                          "hold %uL connections, but the "
                          "\"worker_connections\" of all processes add up to "
                          "%uL: raise \"worker_connections\", or lower "
                          "\"mcp_quota_streams\" and \"mcp_quota_listeners\"",
                          &mlcf[i]->file, mlcf[i]->line, quota, all);
        }
    }
}


/* --- start and end of the process --- */

ngx_int_t
ngx_http_mcp_worker_init_module(ngx_cycle_t *cycle)
{
    ngx_int_t                  rc;
    ngx_http_mcp_main_conf_t  *mmcf;

    mmcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_mcp_module);

    if (mmcf == NULL || mmcf->zones.nelts == 0) {
        return NGX_OK;
    }

    rc = ngx_http_mcp_worker_check_events(cycle, cycle->log);
    ngx_http_mcp_worker_check_connections(cycle, mmcf);

    if (ngx_test_config) {
        return rc;
    }

    ngx_log_error(NGX_LOG_NOTICE, cycle->log, 0, "MCP module %s", mcp_version);

    /* do not return a failure: NGX_ERROR would end the master, even one that
     * is already running */

    ngx_http_mcp_wakeup_create(cycle);

    return NGX_OK;
}


/*
 * Returns the log for events that belong to no request: that of "error_log" in
 * the http block.
 */
static ngx_log_t *
ngx_http_mcp_worker_log(ngx_cycle_t *cycle)
{
    ngx_http_conf_ctx_t       *ctx;
    ngx_http_core_loc_conf_t  *clcf;

    ctx = (ngx_http_conf_ctx_t *) cycle->conf_ctx[ngx_http_module.index];
    clcf = ctx->loc_conf[ngx_http_core_module.ctx_index];

    return clcf->error_log ? clcf->error_log : cycle->log;
}


ngx_int_t
ngx_http_mcp_worker_init_process(ngx_cycle_t *cycle)
{
    ngx_int_t                   rc;
    ngx_uint_t                  i;
    ngx_http_mcp_zone_t       **zones;
    ngx_http_mcp_main_conf_t   *mmcf;

    mmcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_mcp_module);

    if (mmcf == NULL || mmcf->zones.nelts == 0) {
        return NGX_OK;
    }

    if (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE)
    {
        return NGX_OK;
    }

    /* return NGX_OK even after a failure: for NGX_ERROR nginx would end the
     * process, and each process that replaces it, so that all other sites would
     * fail too.  Endpoints respond with 503 instead */

    rc = NGX_OK;

    ngx_http_mcp_request_init_process();

    if (!(ngx_event_flags & NGX_USE_CLEAR_EVENT)
        || ngx_http_mcp_connection_init_process(cycle) != NGX_OK
        || ngx_http_mcp_variables_find(cycle) != NGX_OK
        || ngx_http_mcp_wakeup_listen(cycle, ngx_http_mcp_worker_wakeup_handler)
           != NGX_OK)
    {
        rc = NGX_ERROR;
    }

    zones = mmcf->zones.elts;

    for (i = 0; i < mmcf->zones.nelts; i++) {
        zones[i]->log = ngx_http_mcp_worker_log(cycle);

        if (rc != NGX_OK || ngx_http_mcp_worker_start(zones[i], mmcf) != NGX_OK)
        {
            ngx_log_error(NGX_LOG_EMERG, cycle->log, 0,
                          "this process is not attached to MCP zone \"%V\": "
                          "its endpoints answer 503", &zones[i]->name);
        }
    }

    return NGX_OK;
}


/* Passes this process's configuration to the core. */
static void
ngx_http_mcp_worker_begin(ngx_http_mcp_zone_t *zone,
    ngx_http_mcp_main_conf_t *mmcf)
{
    ngx_uint_t                  i;
    ngx_http_mcp_loc_conf_t   **endpoint;

    mcp_worker_begin(zone->worker, mmcf->number);

    endpoint = mmcf->endpoints.elts;

    for (i = 0; i < mmcf->endpoints.nelts; i++) {
        if (endpoint[i]->zone == zone) {
            mcp_worker_offer(zone->worker, endpoint[i]->endpoint);
        }
    }

    mcp_worker_begun(zone->worker);
}


static ngx_int_t
ngx_http_mcp_worker_start(ngx_http_mcp_zone_t *zone,
    ngx_http_mcp_main_conf_t *mmcf)
{
    ngx_slab_pool_t    *pool;
    mcp_worker_glue_t   glue;

    ngx_http_mcp_env_init(zone);
    ngx_http_mcp_worker_init_events(zone);

    pool = (ngx_slab_pool_t *) zone->shm_zone->shm.addr;

    zone->epoch = mcp_zone_epoch(pool->data);

    if (mcp_zone_attach(zone->store, pool->data, ngx_http_mcp_worker_wake,
                        zone, (unsigned) ngx_process_slot, (uint64_t) ngx_pid)
        != MCP_OK)
    {
        ngx_log_error(NGX_LOG_ALERT, zone->log, 0,
                      "MCP zone \"%V\" has no slot for this process, or is "
                      "damaged: restart nginx", &zone->name);
        return NGX_ERROR;
    }

    glue.ready = ngx_http_mcp_worker_ready;
    glue.ctx = zone;

    zone->worker = mcp_worker_create(&zone->env, zone->store, &glue);
    if (zone->worker == NULL) {
        return NGX_ERROR;
    }

    zone->ready = 1;
    zone->patrolled = ngx_current_msec - NGX_HTTP_MCP_PATROL;

    /* adopt calls of the process that previously had this slot */

    mcp_worker_adopt(zone->worker);

    ngx_http_mcp_worker_begin(zone, mmcf);

#if (MCP_CLUSTER)
    if (zone->cluster) {
        ngx_http_mcp_cluster_start(zone, mmcf);

        /* carry out the actions immediately, because a posted event would wait
         * for another event */

        ngx_http_mcp_worker_run_queue(zone);
    }
#endif

    ngx_http_mcp_worker_patrol_handler(&zone->patrol);
    ngx_http_mcp_worker_arm_now(zone);

    return NGX_OK;
}


static void
ngx_http_mcp_worker_init_events(ngx_http_mcp_zone_t *zone)
{
    zone->dummy.fd = (ngx_socket_t) -1;
    zone->dummy.log = zone->log;
    zone->dummy.data = zone;

    zone->queue_event.handler = ngx_http_mcp_worker_run_queue_handler;
    zone->queue_event.data = &zone->dummy;
    zone->queue_event.log = zone->log;

    zone->timer = zone->queue_event;
    zone->timer.handler = ngx_http_mcp_worker_timer_handler;
    zone->timer.cancelable = 1;

    zone->patrol = zone->timer;
    zone->patrol.handler = ngx_http_mcp_worker_patrol_handler;
}


void
ngx_http_mcp_worker_exit_process(ngx_cycle_t *cycle)
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

        /* destroy the worker, which nothing uses after this: requests that a
         * fast shutdown leaves behind never run again */

#if (MCP_CLUSTER)
        if (zones[i]->cluster) {
            ngx_http_mcp_cluster_stop(zones[i]);
        }
#endif

        mcp_store_detach(zones[i]->store);
        mcp_worker_destroy(zones[i]->worker);
        mcp_free_list_clear(&zones[i]->free_list);
    }
}


/* --- wake-ups --- */

/*
 * Wakes a process of the zone, which may be this one.  Callback of the store.
 */
static void
ngx_http_mcp_worker_wake(void *ctx, unsigned slot)
{
    ngx_http_mcp_zone_t  *zone = ctx;

    if (slot != (unsigned) ngx_process_slot) {
        ngx_http_mcp_wakeup_send(slot, zone->log);
        return;
    }

    zone->woken = 1;
    ngx_http_mcp_worker_ready(zone);
}


/* Callback of the worker: the core's queue of actions is no longer empty.
 * Posts an event that carries them out. */
static void
ngx_http_mcp_worker_ready(void *ctx)
{
    ngx_http_mcp_zone_t  *zone = ctx;

    if (!zone->runs_queue) {
        ngx_post_event(&zone->queue_event, &ngx_posted_events);
    }
}


static void
ngx_http_mcp_worker_wakeup_handler(ngx_event_t *ev)
{
    ngx_uint_t                  i;
    ngx_cycle_t                *cycle;
    ngx_connection_t           *c;
    ngx_http_mcp_zone_t       **zones;
    ngx_http_mcp_main_conf_t   *mmcf;

    c = ev->data;
    cycle = c->data;

    if (c->close) {
        c->close = 0;
        c->idle = 0;

        ngx_http_mcp_worker_stop(cycle);
        return;
    }

    ngx_http_mcp_wakeup_silence(c);

    mmcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_mcp_module);
    zones = mmcf->zones.elts;

    for (i = 0; i < mmcf->zones.nelts; i++) {
        if (zones[i]->ready) {
            zones[i]->woken = 1;
            ngx_http_mcp_worker_run_queue(zones[i]);
        }
    }
}


/*
 * Called when the process starts to shut down: ends the streams of clients
 * that can resume them.
 */
static void
ngx_http_mcp_worker_stop(ngx_cycle_t *cycle)
{
    ngx_uint_t                  i;
    ngx_core_conf_t            *ccf;
    ngx_http_mcp_zone_t       **zones;
    ngx_http_mcp_main_conf_t   *mmcf;

    ccf = (ngx_core_conf_t *) ngx_get_conf(cycle->conf_ctx, ngx_core_module);

    if (ccf->shutdown_timeout) {
        ngx_http_mcp_worker_limited = 1;
        ngx_http_mcp_worker_limit = ngx_current_msec + ccf->shutdown_timeout;
    }

    mmcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_mcp_module);
    zones = mmcf->zones.elts;

    for (i = 0; i < mmcf->zones.nelts; i++) {
        if (zones[i]->ready) {
            mcp_worker_stop(zones[i]->worker, 0);
            ngx_http_mcp_worker_run_queue(zones[i]);
        }
    }
}


/* --- timers --- */

void
ngx_http_mcp_worker_arm(ngx_http_mcp_zone_t *zone)
{
    /* the timer is set after the actions in the queue; not so if the process
     * shuts down, because it might exit before it carries them out */

    if (!zone->runs_queue && (!zone->queue_event.posted || ngx_exiting)) {
        ngx_http_mcp_worker_arm_now(zone);
    }
}


static void
ngx_http_mcp_worker_arm_now(ngx_http_mcp_zone_t *zone)
{
    int       busy;
    uint64_t  when;

    when = mcp_worker_deadline(zone->worker, &busy);

    /* the timer is not cancelable while calls run, so that the shutdown waits
     * for them */

    zone->timer.cancelable = !busy || ngx_http_mcp_worker_is_cut();

    if (when == UINT64_MAX
        || (zone->timer.timer_set && zone->armed <= when))
    {
        return;
    }

    ngx_http_mcp_worker_set_timer(zone, when);
}


/*
 * Returns 1 if worker_shutdown_timeout has passed.  nginx has then closed all
 * connections, and so has ended all backend requests.  A call may be left that
 * has no backend request at the moment, because it waits for its client or for
 * its backend.
 */
static ngx_uint_t
ngx_http_mcp_worker_is_cut(void)
{
    return ngx_http_mcp_worker_limited
           && (ngx_msec_int_t) (ngx_current_msec - ngx_http_mcp_worker_limit)
              >= 0;
}


static void
ngx_http_mcp_worker_set_timer(ngx_http_mcp_zone_t *zone, uint64_t when)
{
    uint64_t    now;
    ngx_msec_t  delay;

    now = ngx_http_mcp_env_now(zone);

    delay = (when <= now) ? 1
                          : (ngx_msec_t) ngx_min(when - now,
                                                 NGX_HTTP_MCP_TIMER_MAX);

    /* delete the timer first, because nginx ignores a change of a timer by
     * less than 300 ms */

    if (zone->timer.timer_set) {
        ngx_del_timer(&zone->timer);
    }

    ngx_add_timer(&zone->timer, delay);
    zone->armed = when;
}


static void
ngx_http_mcp_worker_timer_handler(ngx_event_t *ev)
{
    ngx_connection_t     *c;
    ngx_http_mcp_zone_t  *zone;

    c = ev->data;
    zone = c->data;

    mcp_worker_expire(zone->worker);
    ngx_http_mcp_worker_run_queue(zone);
}


/* Returns 1 if no process has this id. */
static int
ngx_http_mcp_worker_is_dead(uint64_t pid)
{
    return kill((pid_t) pid, 0) == -1 && ngx_errno == NGX_ESRCH;
}


/*
 * Checks for processes that have died.  nginx replaces a worker that has died,
 * and the new process reclaims the slot.  But nginx does not replace a worker
 * that died during its shutdown.  Also does the work of a wake-up, because a
 * wake-up of this process may have been lost.
 */
static void
ngx_http_mcp_worker_patrol_handler(ngx_event_t *ev)
{
    ngx_connection_t     *c;
    ngx_http_mcp_zone_t  *zone;

    c = ev->data;
    zone = c->data;

    if (ngx_current_msec - zone->patrolled >= NGX_HTTP_MCP_PATROL) {
        zone->patrolled = ngx_current_msec;

        mcp_worker_patrol(zone->worker, (unsigned) ngx_http_mcp_wakeup_slots(),
                          NGX_HTTP_MCP_PATROL_SLOTS,
                          ngx_http_mcp_worker_is_dead);
    }

    zone->woken = 1;
    ngx_http_mcp_worker_ready(zone);

    ngx_add_timer(ev, ngx_http_mcp_wakeup_is_ours() ? NGX_HTTP_MCP_PATROL
                                                  : NGX_HTTP_MCP_WAKEUP_POLL);
}


/* --- the queue of actions --- */

/* Carries out an action for a client's request. */
static void
ngx_http_mcp_worker_client(ngx_http_mcp_ctx_t *ctx, mcp_action_e type)
{
    ngx_connection_t    *c;
    ngx_http_request_t  *r;

    r = ctx->request;
    c = r->connection;

    ngx_http_set_log_request(c->log, r);

    switch (type) {

    case MCP_ACT_RESPOND:
        ngx_http_mcp_respond(ctx);
        break;

    case MCP_ACT_STREAM:
        ngx_http_mcp_stream_start(ctx);
        break;

    default: /* MCP_ACT_PULL */
        ngx_http_mcp_stream_pull(ctx);
        break;
    }

    /* use c, because r may have been freed */

    ngx_http_run_posted_requests(c);
}


static void
ngx_http_mcp_worker_act(ngx_http_mcp_zone_t *zone, mcp_action_t *action)
{
    ngx_http_mcp_ctx_t  *ctx;

    ctx = action->exchange ? mcp_exchange_glue(action->exchange) : NULL;

    switch (action->type) {

    case MCP_ACT_PREPARE:
        ngx_http_mcp_call_prepare(action->breq, ctx ? ctx->request : NULL);
        break;

    case MCP_ACT_INVOKE:
        ngx_http_mcp_call_invoke(action->breq, ctx ? ctx->request : NULL);
        break;

    case MCP_ACT_ABORT:
        ngx_http_mcp_call_abort(action->breq);
        break;

    case MCP_ACT_RESUME:
        ngx_http_mcp_call_resume(action->breq);
        break;

    case MCP_ACT_FORGET:
        ngx_http_mcp_call_forget(action->glue);
        break;

#if (MCP_CLUSTER)
    case MCP_ACT_CONNECT:
    case MCP_ACT_WRITE:
    case MCP_ACT_DISCONNECT:
        ngx_http_mcp_cluster_act(zone, action);
        break;
#endif

    default:
        if (ctx && !ctx->ended) {
            ngx_http_mcp_worker_client(ctx, action->type);
        }

        break;
    }
}


/*
 * Carries out the actions in the worker's queue, and sets the timer.  Leaves
 * the rest to a posted event after NGX_HTTP_MCP_RUN_QUEUE_MAX actions or
 * NGX_HTTP_MCP_WAKES_MAX wake-ups.  Called from events of this module only,
 * never from a handler of a request, because an action may free any request.
 */
static void
ngx_http_mcp_worker_run_queue(ngx_http_mcp_zone_t *zone)
{
    ngx_uint_t    n, wakes;
    mcp_action_t  action;

    if (zone->runs_queue) {
        return;
    }

    zone->runs_queue = 1;
    wakes = 0;

    for (n = 0; n < NGX_HTTP_MCP_RUN_QUEUE_MAX || ngx_exiting; n++) {
        mcp_worker_next(zone->worker, &action);

        if (action.type != MCP_ACT_NONE) {
            ngx_http_mcp_worker_act(zone, &action);
            continue;
        }

        if (!zone->woken) {
            goto done;
        }

        if (++wakes == NGX_HTTP_MCP_WAKES_MAX) {
            break;
        }

        /* the next wake-up is handled after the actions: streams that the
         * previous wake-up has read are then served while they are in the
         * processor's cache */

        zone->woken = 0;
        mcp_worker_wake(zone->worker);
    }

    ngx_post_event(&zone->queue_event, &ngx_posted_next_events);

done:

    zone->runs_queue = 0;

    ngx_http_mcp_worker_arm_now(zone);
}


static void
ngx_http_mcp_worker_run_queue_handler(ngx_event_t *ev)
{
    ngx_connection_t  *c;

    c = ev->data;

    ngx_http_mcp_worker_run_queue(c->data);
}

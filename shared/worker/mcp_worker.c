/* SPDX-License-Identifier: Apache-2.0 */


#include <stdarg.h>
#include <stdio.h>

#include "base/mcp_base64.h"
#include "json/mcp_json_scan.h"
#include "rpc/mcp_fault.h"
#include "store/mcp_store_call_stats.h"
#include "worker/mcp_call_stats.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_notification.h"
#include "worker/mcp_respond.h"
#include "worker/mcp_worker_internal.h"
#include "worker/mcp_worker_upstream.h"


/*
 * Every MCP_WORKER_SWEEP_INTERVAL ms, a part of the store is checked for
 * expired streams and values: MCP_WORKER_SWEEP_SLICES slices of
 * MCP_WORKER_SWEEP_CHUNKS chunks. The store's lock is released between two
 * slices.
 */
#define MCP_WORKER_SWEEP_INTERVAL  1000
#define MCP_WORKER_SWEEP_SLICES    8
#define MCP_WORKER_SWEEP_CHUNKS    4096

/* Maximum number of wake-ups that one call of mcp_worker_wake() reads from the
 * store and handles. With this limit the wake-ups stay in the processor's
 * cache, and the process also does other work if there are always new
 * wake-ups. */
#define MCP_WORKER_DRAIN           64


static int mcp_worker_note(void *noter, uint64_t handle);
static void mcp_worker_wake_noted(mcp_worker_t *worker);
static void mcp_worker_sweep(void *data);


mcp_worker_t *
mcp_worker_create_with_methods(const mcp_env_t *env, mcp_store_t *store,
    const mcp_worker_glue_t *glue, const mcp_resume_method_t *const *methods)
{
    mcp_worker_t  *worker;

    worker = mcp_mem_calloc(&env->mem, sizeof(mcp_worker_t));
    if (worker == NULL) {
        return NULL;
    }

    worker->env = env;
    worker->store = store;
    worker->glue = *glue;
    worker->methods = methods;
    worker->tail = &worker->head;

    mcp_session_cache_init(&worker->sessions, &env->mem);

    worker->sweep.handler = mcp_worker_sweep;
    worker->sweep.data = worker;

    mcp_timer_set(&worker->timers, &worker->sweep,
                  env->now(env->ctx) + MCP_WORKER_SWEEP_INTERVAL);

    store->note = mcp_worker_note;
    store->noter = worker;

    return worker;
}


void
mcp_worker_destroy(mcp_worker_t *worker)
{
    mcp_upstream_about_t  *about;

    if (worker == NULL) {
        return;
    }

    for (about = worker->abouts; about; about = about->next) {
        mcp_upstream_about_drop(about);
    }

    mcp_session_cache_free(&worker->sessions);
    mcp_call_stats_free(worker);
    mcp_upstream_stats_free(worker);
    mcp_upstream_tools_free(worker);
    mcp_upstream_lists_free(worker);
    mcp_notify_drop(worker);

    mcp_mem_free(&worker->env->mem, worker->handles);
    mcp_mem_free(&worker->env->mem, worker);
}


int
mcp_worker_random(mcp_worker_t *worker, void *buf, size_t len)
{
    unsigned char  *p;

    if (len > sizeof(worker->random)) {
        return MCP_ERR_INTERNAL;
    }

    if (worker->n_random < len) {
        if (worker->env->random(worker->env->ctx, worker->random,
                              sizeof(worker->random))
            != MCP_OK)
        {
            return MCP_ERR_INTERNAL;
        }

        worker->n_random = sizeof(worker->random);
    }

    worker->n_random -= len;
    p = worker->random + worker->n_random;

    memcpy(buf, p, len);
    memset(p, 0, len);

    return MCP_OK;
}


void
mcp_worker_log(mcp_worker_t *worker, mcp_log_level_e level, const char *fmt,
    ...)
{
    char     line[512], *p;
    va_list  args;

    if (level > worker->env->log_level) {
        return;
    }

    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);

    /* replaces control characters, because a client's name with a line break
     * could forge a line of the log */

    for (p = line; *p; p++) {
        if ((unsigned char) *p < 0x20 || *p == 0x7f) {
            *p = '?';
        }
    }

    worker->env->log(worker->env->ctx, level, line);
}


void
mcp_stream_id_short(char out[9], const unsigned char id[MCP_STREAM_ID_LEN])
{
    char  *end;

    /* six bytes of the id are eight characters of base64url */

    end = mcp_base64url_encode(out, id, 6);
    *end = '\0';
}


void
mcp_worker_queue(mcp_worker_t *worker, mcp_queued_action_t *queued)
{
    int  empty;

    if (queued->link) {
        return;
    }

    empty = (worker->head == NULL);

    queued->next = NULL;
    queued->link = worker->tail;
    *worker->tail = queued;
    worker->tail = &queued->next;

    if (empty) {
        worker->glue.ready(worker->glue.ctx);
    }
}


void
mcp_worker_unqueue(mcp_worker_t *worker, mcp_queued_action_t *queued)
{
    if (queued->link == NULL) {
        return;
    }

    *queued->link = queued->next;

    if (queued->next) {
        queued->next->link = queued->link;

    } else {
        worker->tail = queued->link;
    }

    queued->link = NULL;
}


void
mcp_worker_next(mcp_worker_t *worker, mcp_action_t *action)
{
    mcp_queued_action_t  *queued;

    /* continues with the next entry if the function "taken" has done all the
     * work of an entry, so that the entry has no action for the glue */

    do {
        if (worker->head == NULL && worker->n_noted != 0) {
            mcp_worker_wake_noted(worker);
        }

        queued = worker->head;

        if (queued == NULL) {
            memset(action, 0, sizeof(mcp_action_t));
            return;
        }

        mcp_worker_unqueue(worker, queued);
        *action = queued->action;

        if (queued->taken) {
            queued->taken(queued, action);
        }
    } while (action->type == MCP_ACT_NONE);
}


uint64_t
mcp_worker_handle(mcp_worker_t *worker, void *object,
    void (*wake)(void *object), void (*stop)(void *object))
{
    uint32_t          i, n;
    mcp_handle_t     *h;
    const mcp_mem_t  *mem;

    if (worker->free_handle == 0) {
        mem = &worker->env->mem;
        n = worker->n_handles ? worker->n_handles * 2 : 64;

        h = mcp_mem_calloc(mem, n * sizeof(mcp_handle_t));
        if (h == NULL) {
            return 0;
        }

        if (worker->handles) {
            memcpy(h, worker->handles,
                   worker->n_handles * sizeof(mcp_handle_t));
            mcp_mem_free(mem, worker->handles);
        }

        /* index 0 stays unused, so no handle is 0 */

        for (i = n - 1; i >= (worker->n_handles ? worker->n_handles : 1); i--) {
            h[i].next = worker->free_handle;
            worker->free_handle = i;
        }

        worker->handles = h;
        worker->n_handles = n;
    }

    i = worker->free_handle;
    h = &worker->handles[i];

    worker->free_handle = h->next;
    h->object = object;
    h->wake = wake;
    h->stop = stop;
    h->generation++;

    return ((uint64_t) h->generation << 32) | i;
}


/* Returns the entry of a handle, or NULL if the handle was freed. */
static mcp_handle_t *
mcp_worker_find_handle(mcp_worker_t *worker, uint64_t handle)
{
    uint32_t       i;
    mcp_handle_t  *h;

    i = (uint32_t) handle;

    if (i == 0 || i >= worker->n_handles) {
        return NULL;
    }

    h = &worker->handles[i];

    return h->object && h->generation == (uint32_t) (handle >> 32) ? h : NULL;
}


void
mcp_worker_drop_handle(mcp_worker_t *worker, uint64_t handle)
{
    mcp_handle_t  *h;

    h = mcp_worker_find_handle(worker, handle);

    if (h != NULL) {
        h->object = NULL;
        h->next = worker->free_handle;
        worker->free_handle = (uint32_t) handle;
    }
}


/* Wakes the object of a handle, unless the handle was freed in the
 * meantime. */
static void
mcp_worker_wake_handle(mcp_worker_t *worker, uint64_t handle)
{
    mcp_handle_t  *h;

    h = mcp_worker_find_handle(worker, handle);

    if (h != NULL) {
        h->wake(h->object);
    }
}


/* Implements store->note(): adds a consumer of this process to worker->noted.
 * mcp_worker_next() wakes it when the queue of actions is empty. Returns 0 if
 * worker->noted has no space. */
static int
mcp_worker_note(void *noter, uint64_t handle)
{
    mcp_worker_t  *worker;

    worker = noter;

    if (worker->n_noted == 0) {
        worker->glue.ready(worker->glue.ctx);

    } else if (worker->noted[worker->n_noted - 1] == handle) {
        return 1;
    }

    if (worker->n_noted == MCP_WORKER_NOTED) {
        return 0;
    }

    worker->noted[worker->n_noted++] = handle;

    return 1;
}


static void
mcp_worker_wake_noted(mcp_worker_t *worker)
{
    unsigned  i;

    for (i = 0; i < worker->n_noted; i++) {
        mcp_worker_wake_handle(worker, worker->noted[i]);
    }

    worker->n_noted = 0;
}


void
mcp_worker_wake(mcp_worker_t *worker)
{
    size_t            i, n;
    mcp_store_wake_t  wakes[MCP_WORKER_DRAIN];

    n = mcp_store_drain(worker->store, wakes, MCP_WORKER_DRAIN);

    for (i = 0; i < n; i++) {
        if (wakes[i].kind != MCP_WAKE_REPLICATOR) {
            mcp_worker_wake_handle(worker, wakes[i].handle);

        } else if (worker->cluster) {
            worker->cluster_hooks->changed(worker->cluster, &wakes[i].ref,
                                           wakes[i].handle);
        }
    }

    if (n == MCP_WORKER_DRAIN) {
        worker->store->glue.wake(worker->store->glue.ctx, worker->store->slot);
    }

    if (worker->cluster) {
        worker->cluster_hooks->check_leader(worker->cluster);
    }
}


uint64_t
mcp_worker_deadline(const mcp_worker_t *worker, int *busy)
{
    if (busy) {
        *busy = worker->calls != 0 || worker->n_waiting != 0
                || (worker->stopping && worker->consumers != 0);
    }

    return mcp_timers_next(&worker->timers);
}


unsigned
mcp_worker_calls(const mcp_worker_t *worker)
{
    return worker->calls;
}


void
mcp_worker_expire(mcp_worker_t *worker)
{
    mcp_timers_run(&worker->timers, mcp_worker_now(worker));
}


void
mcp_worker_patrol(mcp_worker_t *worker, unsigned n, unsigned max,
    int (*is_dead)(uint64_t pid))
{
    unsigned  i, dead;
    uint64_t  pid;

    dead = 0;

    for (i = 0; i < n && i < max; i++) {
        worker->patrol = (worker->patrol + 1) % n;

        pid = mcp_store_slot_pid(worker->store, worker->patrol);

        if (pid == 0 || !is_dead(pid)) {
            continue;
        }

        mcp_worker_log(worker, MCP_LOG_WARN,
                       "process %llu ended without cleaning up (it crashed, "
                       "was killed, or had a thread that did not stop): its "
                       "running calls are lost",
                     (unsigned long long) pid);

        mcp_store_reclaim(worker->store, worker->patrol, pid);
        dead = 1;
    }

    if (dead) {
        mcp_worker_adopt(worker);
    }
}


static void
mcp_worker_report(void *ctx, const mcp_stream_info_t *info)
{
    char         id[9];
    mcp_worker_t  *worker;

    worker = ctx;

    if (!mcp_worker_logs(worker, MCP_LOG_NOTICE)
        || info->kind == MCP_STREAM_LISTEN)
    {
        return;
    }

    mcp_stream_id_short(id, info->ref.id);
    mcp_worker_log(worker, MCP_LOG_NOTICE,
                 "call %s of \"%s\" expired: no client has fetched its last "
                 "%llu events within mcp_max_wait", id, info->name,
                 (unsigned long long) (info->last_seq - info->sent_seq));
}


/* Called every MCP_WORKER_SWEEP_INTERVAL ms: removes expired streams and
 * values from a part of the zone. */
static void
mcp_worker_sweep(void *data)
{
    uint64_t     now;
    unsigned     i;
    mcp_worker_t  *worker;

    worker = data;
    now = mcp_worker_now(worker);

    for (i = 0; i < MCP_WORKER_SWEEP_SLICES; i++) {
        mcp_store_sweep(worker->store, now, MCP_WORKER_SWEEP_CHUNKS,
                        mcp_worker_report, worker);
    }

    mcp_reject_log_full(worker);
    mcp_upstream_session_uses_renew(worker, now);

    /* adopts the streams of processes that have ended normally; this costs
     * little if there are no such streams */

    mcp_worker_adopt(worker);

    mcp_timer_set(&worker->timers, &worker->sweep,
                  now + MCP_WORKER_SWEEP_INTERVAL);
}


/* --- calls of dead processes and nodes --- */

/* Recovery of the calls of dead processes, and of the calls of dead nodes whose
 * streams this node has taken over: each of their requests without a response
 * gets an error. The errors also end a call that waits for an answer of the
 * client; a later answer has no effect. */


/* Appends the error response for request k of a lost call, with the new state
 * of its stream. id is the request's id, raw JSON. */
static int
mcp_recovery_fail(mcp_worker_t *worker, const mcp_stream_info_t *info,
    mcp_str_t id, unsigned k, mcp_stream_state_e state)
{
    int        rc;
    uint64_t   seq;
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &worker->env->mem, 4096);
    mcp_fault_write(&buf, (mcp_revision_e) info->revision, id,
                    MCP_FAULT_OWNER_DIED, mcp_null_str, mcp_null_str);

    rc = buf.failed;

    if (rc == MCP_OK) {
        rc = mcp_store_append(worker->store, &info->ref, mcp_buf_text(&buf),
                              (int) k | MCP_STORE_ERROR
                              | MCP_STORE_RESULT(MCP_OUTCOME_LOST), state,
                              mcp_worker_now(worker), &seq);
    }

    mcp_store_count(worker->store, MCP_COUNT_CALLS_LOST, 1);

    if (rc == MCP_OK) {
        mcp_store_count(worker->store, MCP_COUNT_ERRORS, 1);
    }

    mcp_buf_free(&buf);

    return rc;
}


static int
mcp_recovery_fail_batch(mcp_worker_t *worker, const mcp_stream_info_t *info,
    mcp_str_t ids)
{
    int               rc;
    unsigned          k, last;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    last = 0;
    mcp_json_iter_init(&iter, ids);

    for (k = 0; mcp_json_iter_next(&iter, NULL, &value); k++) {
        if (k < 64 && !(info->own_answered & ((uint64_t) 1 << k))) {
            last = k;
        }
    }

    mcp_json_iter_init(&iter, ids);

    for (k = 0; mcp_json_iter_next(&iter, NULL, &value); k++) {
        if (k >= 64 || (info->own_answered & ((uint64_t) 1 << k))) {
            continue;
        }

        rc = mcp_recovery_fail(worker, info, value.raw, k,
                               k == last ? MCP_STATE_FAILED
                                       : MCP_STATE_PROCESSING);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    return MCP_OK;
}


void
mcp_worker_adopt(mcp_worker_t *worker)
{
    int                rc;
    char               id[9];
    mcp_buf_t          request;
    mcp_str_t          text;
    mcp_stream_info_t  info;

    mcp_buf_init(&request, &worker->env->mem, 1024 * 1024);

    for ( ;; ) {
        request.len = 0;
        request.failed = 0;

        rc = mcp_store_adopt(worker->store, mcp_worker_now(worker),
                             &info, &request);
        if (rc != MCP_OK) {
            break;
        }

        /* the call is over, so its requests need no error: the stream was
         * adopted only to be replicated */

        if (info.owner_slot == MCP_STORE_NO_SLOT) {
            continue;
        }

        text.data = request.data;
        text.len = request.failed ? 0 : request.len;

        mcp_stream_id_short(id, info.ref.id);
        mcp_worker_log(worker, MCP_LOG_ERROR,
                     "call %s of \"%s\" was lost, because its server process "
                     "ended", id,
                     info.name);

        if (text.len && text.data[0] == '[') {
            rc = mcp_recovery_fail_batch(worker, &info, text);

        } else {
            rc = mcp_recovery_fail(worker, &info, text, 0, MCP_STATE_FAILED);
        }

        if (info.expires) {
            mcp_notify_task(worker, info.ref.id);
        }

        /* if the error cannot be stored, the stream would never end, so it is
         * freed: its client gets 404 */

        if (rc != MCP_OK) {
            mcp_store_free(worker->store, &info.ref);
        }
    }

    mcp_buf_free(&request);
}

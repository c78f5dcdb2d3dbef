
#include <stdarg.h>
#include <stdio.h>

#include "call/mcp_ending.h"
#include "exchange/mcp_refusal.h"


/* Every second a part of the store is looked at for what is due, in slices
 * that hold the lock only shortly. */
#define MCP_NODE_SWEEP_INTERVAL  1000
#define MCP_NODE_SWEEP_SLICES    8
#define MCP_NODE_SWEEP_CHUNKS    4096

#define MCP_NODE_DRAIN           64

/* So many drains are one turn: whatever goes wrong in the store, the process
 * does other things, too. */
#define MCP_NODE_DRAINS          16


static void mcp_node_sweep(void *data);


int
mcp_node_init(mcp_node_t *node, const mcp_env_t *env, mcp_store_t *store,
    const mcp_node_glue_t *glue)
{
    memset(node, 0, sizeof(mcp_node_t));

    node->env = env;
    node->store = store;
    node->glue = *glue;
    node->tail = &node->head;

    mcp_session_cache_init(&node->sessions, &env->mem);

    node->sweep.handler = mcp_node_sweep;
    node->sweep.data = node;
    node->look.handler = mcp_inbox_look;
    node->look.data = node;

    mcp_timer_set(&node->timers, &node->sweep,
                  env->now(env->ctx) + MCP_NODE_SWEEP_INTERVAL);

    return MCP_OK;
}


void
mcp_node_destroy(mcp_node_t *node)
{
    mcp_timer_del(&node->timers, &node->sweep);
    mcp_session_cache_free(&node->sessions);

    if (node->handles) {
        node->env->mem.free(node->env->mem.ctx, node->handles);
        node->handles = NULL;
    }
}


int
mcp_node_random(mcp_node_t *node, void *buf, size_t len)
{
    unsigned char  *p;

    if (len > sizeof(node->random)) {
        return MCP_ERR_INTERNAL;
    }

    if (node->n_random < len) {
        if (node->env->random(node->env->ctx, node->random,
                              sizeof(node->random))
            != MCP_OK)
        {
            return MCP_ERR_INTERNAL;
        }

        node->n_random = sizeof(node->random);
    }

    node->n_random -= len;
    p = node->random + node->n_random;

    memcpy(buf, p, len);
    memset(p, 0, len);

    return MCP_OK;
}


void
mcp_node_log(mcp_node_t *node, mcp_log_level_e level, const char *fmt, ...)
{
    char     line[512], *p;
    va_list  args;

    if (level > node->env->log_level) {
        return;
    }

    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);

    /* names are the clients': none forges a line */

    for (p = line; *p; p++) {
        if ((unsigned char) *p < 0x20 || *p == 0x7f) {
            *p = '?';
        }
    }

    node->env->log(node->env->ctx, level, line);
}


void
mcp_stream_id_short(char out[9], const unsigned char id[MCP_STREAM_ID_LEN])
{
    char  text[MCP_STREAM_TEXT_LEN];

    mcp_stream_id_print(text, id);
    memcpy(out, text, 8);
    out[8] = '\0';
}


void
mcp_node_queue(mcp_node_t *node, mcp_task_t *task)
{
    int  empty;

    if (task->link) {
        return;
    }

    empty = (node->head == NULL);

    task->next = NULL;
    task->link = node->tail;
    *node->tail = task;
    node->tail = &task->next;

    if (empty) {
        node->glue.ready(node->glue.ctx);
    }
}


void
mcp_node_unqueue(mcp_node_t *node, mcp_task_t *task)
{
    if (task->link == NULL) {
        return;
    }

    *task->link = task->next;

    if (task->next) {
        task->next->link = task->link;

    } else {
        node->tail = task->link;
    }

    task->link = NULL;
}


void
mcp_node_next(mcp_node_t *node, mcp_action_t *action)
{
    mcp_task_t  *task;
    mcp_call_t  *call;

    task = node->head;

    if (task == NULL) {
        memset(action, 0, sizeof(mcp_action_t));
        return;
    }

    mcp_node_unqueue(node, task);
    *action = task->action;

    switch (action->type) {

    case MCP_ACT_INVOKE:
        action->job->started = 1;
        action->exchange = action->job->call->x;
        break;

    case MCP_ACT_FORGET:
        /* the task is the first member of its call, which ends here */
        call = (mcp_call_t *) (void *) task;
        mcp_call_forgotten(call);
        break;

    default:
        break;
    }
}


uint64_t
mcp_node_handle(mcp_node_t *node, void *object, int call)
{
    size_t            size;
    uint32_t          i, n;
    mcp_handle_t     *h;
    const mcp_mem_t  *mem;

    if (node->free_handle == 0) {
        mem = &node->env->mem;
        n = node->n_handles ? node->n_handles * 2 : 64;
        size = n * sizeof(mcp_handle_t);

        h = mem->alloc(mem->ctx, size);
        if (h == NULL) {
            return 0;
        }

        memset(h, 0, size);

        if (node->handles) {
            memcpy(h, node->handles, node->n_handles * sizeof(mcp_handle_t));
            mem->free(mem->ctx, node->handles);
        }

        /* index 0 stays unused: no handle is 0 */

        for (i = n - 1; i >= (node->n_handles ? node->n_handles : 1); i--) {
            h[i].next = node->free_handle;
            node->free_handle = i;
        }

        node->handles = h;
        node->n_handles = n;
    }

    i = node->free_handle;
    h = &node->handles[i];

    node->free_handle = h->next;
    h->object = object;
    h->call = (call != 0);
    h->generation++;

    return ((uint64_t) h->generation << 32) | i;
}


void
mcp_node_drop_handle(mcp_node_t *node, uint64_t handle)
{
    uint32_t       i;
    mcp_handle_t  *h;

    i = (uint32_t) handle;

    if (i == 0 || i >= node->n_handles) {
        return;
    }

    h = &node->handles[i];

    if (h->object == NULL || h->generation != (uint32_t) (handle >> 32)) {
        return;
    }

    h->object = NULL;
    h->next = node->free_handle;
    node->free_handle = i;
}


static void *
mcp_node_object(mcp_node_t *node, uint64_t handle, int call)
{
    uint32_t       i;
    mcp_handle_t  *h;

    i = (uint32_t) handle;

    if (i == 0 || i >= node->n_handles) {
        return NULL;
    }

    h = &node->handles[i];

    if (h->object == NULL || h->generation != (uint32_t) (handle >> 32)
        || h->call != (unsigned) call)
    {
        return NULL;
    }

    return h->object;
}


void
mcp_node_wake(mcp_node_t *node)
{
    void              *object;
    size_t             i, n;
    unsigned           k;
    mcp_store_wake_t   wakes[MCP_NODE_DRAIN];

    for (k = 0; k < MCP_NODE_DRAINS; k++) {
        n = mcp_store_drain(node->store, wakes, MCP_NODE_DRAIN);

        if (n == 0) {
            return;
        }

        for (i = 0; i < n; i++) {
            object = mcp_node_object(node, wakes[i].handle, wakes[i].owner);

            if (object == NULL) {
                continue;
            }

            if (wakes[i].owner) {
                mcp_call_wake(object);

            } else {
                mcp_consumer_wake(object);
            }
        }
    }

    node->store->glue.wake(node->store->glue.ctx, node->store->slot);
}


uint64_t
mcp_node_deadline(const mcp_node_t *node, int *busy)
{
    if (busy) {
        *busy = node->calls != 0 || (node->stopping && node->consumers != 0);
    }

    return mcp_timers_next(&node->timers);
}


void
mcp_node_expire(mcp_node_t *node)
{
    mcp_timers_run(&node->timers, node->env->now(node->env->ctx));
}


void
mcp_node_patrol(mcp_node_t *node, unsigned n, unsigned max,
    int (*is_dead)(uint64_t pid))
{
    unsigned  i, dead;
    uint64_t  pid;

    dead = 0;

    for (i = 0; i < n && i < max; i++) {
        node->patrol = (node->patrol + 1) % n;

        pid = mcp_store_slot_pid(node->store, node->patrol);

        if (pid == 0 || !is_dead(pid)) {
            continue;
        }

        mcp_node_log(node, MCP_LOG_WARN, "process %llu left without a word",
                     (unsigned long long) pid);

        mcp_store_bury(node->store, node->patrol, pid);
        dead = 1;
    }

    if (dead) {
        mcp_node_adopt(node);
    }
}


void
mcp_node_stop(mcp_node_t *node)
{
    uint32_t       i;
    mcp_handle_t  *h;

    node->stopping = 1;

    for (i = 1; i < node->n_handles; i++) {
        h = &node->handles[i];

        if (h->object && !h->call) {
            mcp_consumer_stop(h->object);
        }
    }
}


static void
mcp_node_report(void *ctx, const mcp_stream_info_t *info)
{
    char         id[9];
    mcp_node_t  *node;

    node = ctx;

    if (!mcp_node_logs(node, MCP_LOG_NOTICE)) {
        return;
    }

    if (info->kind == MCP_STREAM_LISTEN) {
        return;
    }

    mcp_stream_id_short(id, info->ref.id);
    mcp_node_log(node, MCP_LOG_NOTICE,
                 "call %s of \"%s\" expired with %llu events not fetched", id,
                 info->name,
                 (unsigned long long) (info->last_seq - info->sent_seq));
}


static void
mcp_node_sweep(void *data)
{
    uint64_t     now;
    unsigned     i;
    mcp_node_t  *node;

    node = data;
    now = node->env->now(node->env->ctx);

    for (i = 0; i < MCP_NODE_SWEEP_SLICES; i++) {
        mcp_store_sweep(node->store, now, MCP_NODE_SWEEP_CHUNKS,
                        mcp_node_report, node);
    }

    mcp_refusal_full(node);

    /* what a process left behind that ended in order; costs nothing when there
     * is none */

    mcp_node_adopt(node);

    mcp_timer_set(&node->timers, &node->sweep,
                  now + MCP_NODE_SWEEP_INTERVAL);
}


/* Gives one request of an orphan its error response. */
static int
mcp_node_bury(mcp_node_t *node, const mcp_stream_ref_t *ref, mcp_str_t id,
    unsigned k, mcp_stream_state_e state)
{
    int        rc;
    uint64_t   seq;
    mcp_buf_t  buf;

    mcp_buf_init(&buf, &node->env->mem, 4096);
    mcp_fault_write(&buf, id, MCP_FAULT_OWNER_DIED, mcp_null_str,
                    mcp_null_str);

    rc = buf.failed;

    if (rc == MCP_OK) {
        rc = mcp_store_append(node->store, ref,
                              (mcp_str_t) { buf.data, buf.len },
                              (int) k | MCP_STORE_ERROR
                              | MCP_STORE_RESULT(MCP_ENDING_LOST), state,
                              node->env->now(node->env->ctx), &seq);
    }

    mcp_store_count(node->store, MCP_COUNT_CALLS_LOST, 1);

    if (rc == MCP_OK) {
        mcp_store_count(node->store, MCP_COUNT_ERRORS, 1);
    }

    mcp_buf_free(&buf);

    return rc;
}


static int
mcp_node_bury_batch(mcp_node_t *node, const mcp_stream_info_t *info,
    mcp_str_t ids)
{
    int               rc;
    unsigned          k, last;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    last = 0;
    mcp_json_iter_init(&iter, ids);

    for (k = 0; mcp_json_iter_next(&iter, NULL, &value); k++) {
        if (k < 64 && !(info->answered & ((uint64_t) 1 << k))) {
            last = k;
        }
    }

    mcp_json_iter_init(&iter, ids);

    for (k = 0; mcp_json_iter_next(&iter, NULL, &value); k++) {
        if (k >= 64 || (info->answered & ((uint64_t) 1 << k))) {
            continue;
        }

        rc = mcp_node_bury(node, &info->ref, value.raw, k,
                           k == last ? MCP_STATE_FAILED
                                     : MCP_STATE_PROCESSING);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    return MCP_OK;
}


void
mcp_node_adopt(mcp_node_t *node)
{
    int                rc;
    char               id[9];
    mcp_buf_t          request;
    mcp_str_t          text;
    mcp_stream_info_t  info;

    mcp_buf_init(&request, &node->env->mem, 1024 * 1024);

    for ( ;; ) {
        request.len = 0;
        request.failed = 0;

        rc = mcp_store_adopt(node->store, node->env->now(node->env->ctx),
                             &info, &request);
        if (rc != MCP_OK) {
            break;
        }

        text.data = request.data;
        text.len = request.failed ? 0 : request.len;

        mcp_stream_id_short(id, info.ref.id);
        mcp_node_log(node, MCP_LOG_ERROR,
                     "call %s of \"%s\" was lost with its process", id,
                     info.name);

        if (text.len && text.data[0] == '[') {
            rc = mcp_node_bury_batch(node, &info, text);

        } else {
            rc = mcp_node_bury(node, &info.ref, text, 0, MCP_STATE_FAILED);
        }

        /* better gone, and its client told so, than without an end */

        if (rc != MCP_OK) {
            mcp_store_free(node->store, &info.ref);
        }
    }

    mcp_buf_free(&request);
}

/* SPDX-License-Identifier: Apache-2.0 */

#include "worker/mcp_notification_slice.h"


/* Maximum number of subscribers that get a notification while the store's lock
 * is held once. */
#define MCP_NOTIFY_BUDGET  256

/* Maximum size of the queue, bytes. Above it, mcp_notify_slices() delivers all
 * queued notifications before it returns. */
#define MCP_NOTIFY_QUEUE   (4 * 1024 * 1024)


/* A queued notification, which some subscribers have not got yet. */
struct mcp_notify_part_s {
    mcp_notify_part_t  *next;
    unsigned char       topic[MCP_DIGEST_LEN];
    mcp_publish_to_t    to;
    uint64_t            position;      /* see mcp_store_publish() */
    mcp_str_t           message;       /* the text is stored after this
                                          structure */
};


static void mcp_notify_turn(void *data);


/* Delivers a notification to at most *left subscribers, and subtracts their
 * number from *left. Returns MCP_AGAIN if there are more subscribers. */
static int
mcp_notify_serve(mcp_worker_t *worker, mcp_notify_part_t *part,
    unsigned *left)
{
    int       rc;
    size_t    n;
    unsigned  budget;

    rc = MCP_AGAIN;

    while (rc == MCP_AGAIN && *left > 0) {
        n = 0;
        budget = *left < MCP_NOTIFY_BUDGET ? *left : MCP_NOTIFY_BUDGET;

        rc = mcp_store_publish(worker->store, part->topic, part->message,
                               &part->to, budget, &part->position, &n);

        *left -= rc == MCP_AGAIN ? budget : (unsigned) n;
    }

    return rc;
}


static size_t
mcp_notify_size(const mcp_notify_part_t *part)
{
    return sizeof(mcp_notify_part_t) + part->message.len;
}


/* Frees the first notification of the queue. */
static void
mcp_notify_remove(mcp_worker_t *worker)
{
    mcp_notify_part_t  *part;

    part = worker->notify;
    worker->notify = part->next;
    worker->notify_size -= mcp_notify_size(part);

    if (worker->notify == NULL) {
        worker->notify_last = NULL;
        mcp_timer_del(&worker->timers, &worker->notify_timer);
    }

    worker->env->mem.free(worker->env->mem.ctx, part);
}


/* Appends a copy of a notification to the queue. Returns 0 when out of
 * memory. */
static int
mcp_notify_keep(mcp_worker_t *worker, const mcp_notify_part_t *part)
{
    char               *text;
    mcp_notify_part_t  *kept;

    kept = worker->env->mem.alloc(worker->env->mem.ctx, mcp_notify_size(part));
    if (kept == NULL) {
        return 0;
    }

    *kept = *part;
    text = (char *) (kept + 1);
    memcpy(text, part->message.data, part->message.len);
    kept->message.data = text;
    kept->next = NULL;

    if (worker->notify_last != NULL) {
        worker->notify_last->next = kept;

    } else {
        worker->notify = kept;
        worker->notify_timer.handler = mcp_notify_turn;
        worker->notify_timer.data = worker;
        mcp_timer_set(&worker->timers, &worker->notify_timer,
                      mcp_worker_now(worker) + 1);
    }

    worker->notify_last = kept;
    worker->notify_size += mcp_notify_size(kept);

    return 1;
}


static void
mcp_notify_turn(void *data)
{
    unsigned       left;
    mcp_worker_t  *worker;

    worker = data;
    left = MCP_NOTIFY_SLICE;

    while (worker->notify != NULL
           && mcp_notify_serve(worker, worker->notify, &left) != MCP_AGAIN)
    {
        mcp_notify_remove(worker);
    }

    if (worker->notify != NULL) {
        mcp_timer_set(&worker->timers, &worker->notify_timer,
                      mcp_worker_now(worker) + 1);
    }
}


/* Delivers a notification to all subscribers that have not got it yet. */
static void
mcp_notify_serve_all(mcp_worker_t *worker, mcp_notify_part_t *part)
{
    unsigned  left;

    do {
        left = MCP_NOTIFY_SLICE;
    } while (mcp_notify_serve(worker, part, &left) == MCP_AGAIN);
}


void
mcp_notify_flush(mcp_worker_t *worker)
{
    while (worker->notify != NULL) {
        mcp_notify_serve_all(worker, worker->notify);
        mcp_notify_remove(worker);
    }
}


void
mcp_notify_drop(mcp_worker_t *worker)
{
    while (worker->notify != NULL) {
        mcp_notify_remove(worker);
    }
}


void
mcp_notify_slices(mcp_worker_t *worker,
    const unsigned char topic[MCP_DIGEST_LEN], mcp_str_t message,
    const mcp_publish_to_t *to)
{
    unsigned           left;
    mcp_notify_part_t  part;

    left = MCP_NOTIFY_SLICE;
    memset(&part, 0, sizeof(mcp_notify_part_t));
    memcpy(part.topic, topic, MCP_DIGEST_LEN);
    part.to = *to;
    part.message = message;

    if (worker->stopping
        || worker->notify_size + message.len > MCP_NOTIFY_QUEUE)
    {
        mcp_notify_flush(worker);
    }

    if (worker->notify != NULL) {

        /* streams that subscribe from now on do not get the message */

        part.position = mcp_store_publish_start(worker->store);

    } else if (mcp_notify_serve(worker, &part, &left) != MCP_AGAIN) {
        return;
    }

    if (!worker->stopping && mcp_notify_keep(worker, &part)) {
        return;
    }

    mcp_notify_flush(worker);
    mcp_notify_serve_all(worker, &part);
}

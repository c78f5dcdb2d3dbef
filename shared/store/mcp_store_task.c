/* SPDX-License-Identifier: Apache-2.0 */

/* Tasks: calls whose stream is kept until a fixed time, and whose last event
 * any process can read. For the answers to a task's questions see
 * mcp_store_inbox.c. */


#include "store/mcp_store_layout.h"


/* Maximum number of attempts to read the last event, which the owner may
 * replace during an attempt. */
#define MCP_STORE_LOOKUPS  16


void
mcp_store_task_release(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    if (mcp_store_is_task(st)) {
        mcp_store_stream_sent(op, st, mcp_store_visible(op->head, st));
    }
}


void
mcp_store_task_replace(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    while (mcp_store_is_task(st)
           && st->events.first < mcp_store_visible(op->head, st))
    {
        (void) mcp_store_stream_drop_event(op, st);
    }
}


int
mcp_store_keep(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t expires, uint64_t now)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc != MCP_OK) {
        return rc;
    }

    if (st->kind == MCP_STREAM_CALL) {
        st->expires = expires;
        st->kept_after = now - st->created < UINT32_MAX
                         ? (uint32_t) (now - st->created) : UINT32_MAX;
        st->changed = now;
        st->seen = 1;
        mcp_store_stream_settle(&op, st);
        mcp_store_mark_replication(&op, st);

    } else {
        rc = MCP_ERR_NOT_FOUND;
    }

    mcp_store_leave(&op);

    return rc;
}


/* The progress of copying the last event of a task. */
typedef struct {
    mcp_store_pos_t  pos;
    size_t           left;
    char            *p;
    unsigned         ahead:1;          /* 1: the last event is copied even if
                                          Redis has not acknowledged it */
} mcp_store_lookup_progress_t;


static uint64_t
mcp_store_lookup_last(const mcp_store_op_t *op, const mcp_store_stream_t *st,
    const mcp_store_lookup_progress_t *progress)
{
    return progress->ahead ? st->events.last : mcp_store_visible(op->head, st);
}


/* Reads the state of the task, and finds its last event. */
static int
mcp_store_lookup_begin(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_lookup_t *lookup, mcp_store_lookup_progress_t *progress,
    mcp_buf_t *buf)
{
    uint64_t             last;
    mcp_store_record_t  *rec;

    mcp_store_stream_info(op, st, &lookup->info);
    lookup->given = st->given;

    if (progress->ahead) {
        lookup->info.state = (mcp_stream_state_e) st->state;
    }

    last = mcp_store_lookup_last(op, st, progress);

    if (last < st->events.first) {
        return MCP_OK;
    }

    if (!mcp_store_log_seek(op->head, &st->events, last, &progress->pos))
    {
        return MCP_ERR_INTERNAL;
    }

    rec = mcp_store_log_record(op->head, &progress->pos);

    if (rec == NULL || rec->seq != last) {
        return MCP_ERR_INTERNAL;
    }

    lookup->seq = rec->seq;
    lookup->state = (mcp_stream_state_e) rec->type;
    progress->pos.offset += MCP_RECORD_HEAD;
    progress->left = rec->len;

    if (progress->left > 0) {
        progress->p = mcp_buf_reserve(buf, progress->left);

        if (progress->p == NULL) {
            return buf->failed;
        }
    }

    return MCP_OK;
}


/* Copies at most MCP_STORE_BIG bytes of a task's last event, so that the lock
 * is held only briefly. Returns MCP_DONE at the end of the event, or MCP_AGAIN
 * if it is no longer the last one. */
static int
mcp_store_lookup_some(mcp_store_op_t *op, const mcp_stream_ref_t *ref,
    mcp_store_lookup_t *lookup, mcp_store_lookup_progress_t *progress,
    mcp_buf_t *buf)
{
    int                  rc;
    mcp_store_stream_t  *st;

    st = mcp_store_stream_get(op, ref);

    if (st == NULL) {
        return MCP_ERR_NOT_FOUND;
    }

    if (lookup->seq == 0) {
        rc = mcp_store_lookup_begin(op, st, lookup, progress, buf);
        if (rc != MCP_OK) {
            return rc;
        }

    } else if (mcp_store_lookup_last(op, st, progress) != lookup->seq
               || lookup->seq < st->events.first)
    {
        return MCP_AGAIN;
    }

    return mcp_store_copy_piece(op->head, &progress->pos, &progress->p,
                                &progress->left);
}


/* Makes one attempt to read a task. Returns MCP_AGAIN if the last event was
 * replaced during the attempt. */
static int
mcp_store_lookup_once(mcp_store_t *store, const mcp_stream_ref_t *ref,
    unsigned ahead, mcp_store_lookup_t *lookup, mcp_buf_t *buf)
{
    int                          rc;
    size_t                       start;
    mcp_store_op_t               op;
    mcp_store_lookup_progress_t  progress;

    memset(lookup, 0, sizeof(mcp_store_lookup_t));
    memset(&progress, 0, sizeof(mcp_store_lookup_progress_t));
    progress.ahead = (ahead != 0);
    start = buf->len;

    do {
        rc = mcp_store_enter(store, &op);
        if (rc != MCP_OK) {
            return rc;
        }

        rc = mcp_store_lookup_some(&op, ref, lookup, &progress, buf);

        mcp_store_leave(&op);

    } while (rc == MCP_OK);

    if (rc == MCP_DONE) {
        buf->len = progress.p ? (size_t) (progress.p - buf->data) : start;
        rc = MCP_OK;
    }

    return rc;
}


int
mcp_store_lookup(mcp_store_t *store, const mcp_stream_ref_t *ref,
    unsigned ahead, mcp_store_lookup_t *lookup, mcp_buf_t *buf)
{
    int  i, rc;

    rc = MCP_AGAIN;

    for (i = 0; rc == MCP_AGAIN && i < MCP_STORE_LOOKUPS; i++) {
        rc = mcp_store_lookup_once(store, ref, ahead, lookup, buf);
    }

    return rc;
}

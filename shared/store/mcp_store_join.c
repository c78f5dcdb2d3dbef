/* SPDX-License-Identifier: Apache-2.0 */

/* Calls that other requests may join. Each has a JOIN entry, which is found by
 * a digest of the request, refers to the call's stream, and has the list of
 * its joined readers. The entry is created and freed with the stream. */


#include "store/mcp_store_layout.h"


/* Returns the stream of a JOIN entry, or NULL. */
static mcp_store_stream_t *
mcp_store_join_stream(mcp_store_op_t *op, const mcp_store_entry_t *e)
{
    mcp_stream_ref_t  ref;

    ref.index = e->u.join.stream;
    memcpy(ref.id, e->u.join.id, MCP_STREAM_ID_LEN);

    return mcp_store_stream_get(op, &ref);
}


/* Returns the last event sent to the consumer of a stream. For a mirror
 * without a local consumer, returns the last event that was sent to the
 * consumer of the owner's stream, if there is one. */
static uint64_t
mcp_store_join_sent(mcp_store_op_t *op, const mcp_store_stream_t *st)
{
    const mcp_store_joined_t  *joined;

    if (!mcp_store_is_mirror(op->head, st)
        || st->consumer_slot != MCP_STORE_NO_SLOT)
    {
        return st->sent_seq;
    }

    joined = &mcp_store_replication_of(op->head, st->repl)->joined;

    return joined->attended ? joined->sent : st->sent_seq;
}


/* Returns 1 if a request with this spec can join a stream. A cancelled call
 * has no response for the request. */
static int
mcp_store_join_open(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_stream_spec_t *spec, uint64_t now)
{
    if (st->state == MCP_STATE_CANCELLED
        || mcp_store_stream_due(op, st, now)
        || (mcp_store_is_mirror(op->head, st)
            && !spec->join_known && !mcp_store_attended(op->head, st)))
    {
        return 0;
    }

    return !spec->join_once || !mcp_store_final(st)
           || mcp_store_join_sent(op, st) < st->events.last;
}


/* Sets *out to the stream that a request with this spec can join, or to NULL
 * if there is none. Returns MCP_OK, or MCP_ERR_DENIED if the stream has other
 * params. */
static int
mcp_store_join_lookup(mcp_store_op_t *op, const mcp_stream_spec_t *spec,
    uint64_t now, mcp_store_stream_t **out)
{
    mcp_store_entry_t   *e;
    mcp_store_stream_t  *st;

    *out = NULL;

    e = mcp_store_entry_find(op->head, MCP_ENTRY_JOIN, 0, spec->join, 0);
    if (e == NULL) {
        return MCP_OK;
    }

    st = mcp_store_join_stream(op, e);

    if (st == NULL || !mcp_store_join_open(op, st, spec, now)) {
        return MCP_OK;
    }

    if (memcmp(st->params, spec->params, MCP_DIGEST_LEN) != 0) {
        return MCP_ERR_DENIED;
    }

    *out = st;

    return MCP_OK;
}


int
mcp_store_join_check(mcp_store_op_t *op, const mcp_stream_spec_t *spec,
    uint64_t now)
{
    int                  rc;
    mcp_store_stream_t  *st;

    rc = mcp_store_join_lookup(op, spec, now, &st);

    return rc == MCP_OK && st != NULL ? MCP_ERR_EXISTS : rc;
}


/* Sets the task fields of info for a mirror: only the owner's stream has
 * expires and the other times of a task. */
static void
mcp_store_join_task(mcp_store_op_t *op, const mcp_store_stream_t *st,
    mcp_stream_info_t *info)
{
    const mcp_store_joined_t  *joined;

    joined = &mcp_store_replication_of(op->head, st->repl)->joined;

    if (joined->expires) {
        info->expires = joined->expires;
        info->kept = joined->kept;
        info->changed = joined->changed;
    }
}


int
mcp_store_join_find(mcp_store_t *store, const mcp_stream_spec_t *spec,
    uint64_t now, mcp_stream_info_t *info)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    rc = mcp_store_join_lookup(&op, spec, now, &st);

    if (rc == MCP_OK) {
        if (st != NULL) {
            mcp_store_stream_info(&op, st, info);

            if (info->mirror) {
                mcp_store_join_task(&op, st, info);
            }

        } else {
            rc = MCP_ERR_NOT_FOUND;
        }
    }

    mcp_store_leave(&op);

    return rc;
}


void
mcp_store_join_release(mcp_store_t *store, const mcp_stream_ref_t *ref)
{
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    if (mcp_store_stream_enter(store, ref, &op, &st) != MCP_OK) {
        return;
    }

    st->held = 0;
    mcp_store_mark_owner(&op, st);
    mcp_store_mark_consumer(&op, st);
    mcp_store_mark_replication(&op, st);
    mcp_store_leave(&op);
}


/* Makes requests that join by "key" no longer find the stream that they found
 * before. The stream is kept for its joined readers: its entry gets the
 * stream's id as the key. */
static void
mcp_store_join_hide(mcp_store_op_t *op, const unsigned char key[MCP_DIGEST_LEN])
{
    mcp_store_entry_t  *old;

    old = mcp_store_entry_find(op->head, MCP_ENTRY_JOIN, 0, key, 0);

    if (old != NULL) {
        mcp_store_entry_rename(op->head, old, old->u.join.id);
    }
}


void
mcp_store_join_name(mcp_store_op_t *op, mcp_store_stream_t *st,
    const unsigned char key[MCP_DIGEST_LEN])
{
    mcp_store_entry_t  *e;

    e = mcp_store_at(op->head, st->join);

    if (st->join != 0 && memcmp(e->key, key, MCP_DIGEST_LEN) != 0) {
        mcp_store_join_hide(op, key);
        mcp_store_entry_rename(op->head, e, key);
    }
}


void
mcp_store_join_enter(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_entry_t *e, const unsigned char key[MCP_DIGEST_LEN])
{
    mcp_store_join_hide(op, key);

    memcpy(e->key, key, MCP_DIGEST_LEN);
    e->u.join.stream = st->self;
    memcpy(e->u.join.id, st->id, MCP_STREAM_ID_LEN);
    mcp_store_entry_publish(op->head, e, MCP_ENTRY_JOIN);

    st->join = mcp_store_ref(op->head, e);
}


void
mcp_store_join_leave(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    uint32_t            n;
    mcp_store_entry_t  *e, *reader;

    if (st->join == 0) {
        return;
    }

    e = mcp_store_at(op->head, st->join);
    mcp_store_readers_mark(op, e);

    for (n = e->u.join.count; n && e->u.join.readers.first; n--) {
        reader = mcp_store_container(op->head, e->u.join.readers.first,
                                     mcp_store_entry_t, u.reader.peer);
        mcp_store_list_remove(op->head, &e->u.join.readers,
                              &reader->u.reader.peer);
    }

    st->join = 0;
    mcp_store_entry_free(op, e);
}


void
mcp_store_repair_join(mcp_store_op_t *op, mcp_store_entry_t *e)
{
    mcp_store_stream_t  *st;

    st = mcp_store_join_stream(op, e);

    if (st == NULL || st->join != 0
        || mcp_store_entry_find(op->head, MCP_ENTRY_JOIN, 0, e->key, 0))
    {
        mcp_store_entry_free(op, e);
        return;
    }

    e->u.join.count = 0;
    memset(&e->u.join.readers, 0, sizeof(mcp_store_list_t));
    mcp_store_entry_insert(op->head, e);
    st->join = mcp_store_ref(op->head, e);
}

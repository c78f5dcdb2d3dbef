/* SPDX-License-Identifier: Apache-2.0 */

/* Creates a mirror for a client that reads or joins a stream of another node,
 * or finds the existing mirror. */


#include "store/mcp_store_layout.h"


/* Gives the existing mirror the reader begin->number, and makes this process
 * feed it. Raises the limits of the mirror if the spec has higher limits. */
static void
mcp_store_mirror_reuse(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_store_making_t *making)
{
    mcp_store_replication_t  *repl;
    const mcp_stream_spec_t  *spec;

    spec = making->spec;
    repl = mcp_store_replication_of(op->head, st->repl);

    repl->reader = making->begin->number;
    mcp_store_barrier();
    repl->here = making->begin->number;

    if (!mcp_store_attended(op->head, st)) {
        st->unattended = making->now;
    }

    if (st->max_events && (spec->max_events == 0
                           || spec->max_events > st->max_events))
    {
        st->max_events = spec->max_events;
    }

    if (st->max_bytes && (spec->max_bytes == 0
                          || spec->max_bytes > st->max_bytes))
    {
        st->max_bytes = spec->max_bytes;
    }

    mcp_store_replication_pass(op, repl, op->store->slot);
}


/*
 * Returns 1 if the existing mirror can be used for the next reader: it has the
 * events after begin->after; or the reader is a joined one, which begins at
 * the mirror's position, and the mirror has a reader for which it is kept up
 * to date.
 */
static int
mcp_store_mirror_continues(mcp_store_op_t *op, const mcp_store_stream_t *st,
    const mcp_store_begin_t *begin)
{
    if (begin->number == 0 && mcp_store_attended(op->head, st)) {
        return 1;
    }

    return st->events.first <= begin->after + 1
           && st->events.last >= begin->after;
}


/* Returns 1 if joined requests read the mirror. */
static int
mcp_store_mirror_is_joined(mcp_store_op_t *op, const mcp_store_stream_t *st)
{
    const mcp_store_entry_t  *join;

    if (st->join == 0) {
        return 0;
    }

    join = mcp_store_at(op->head, st->join);

    return join->u.join.count != 0;
}


/* Allows requests to join the existing mirror. If it has a reader, the
 * reader's process already feeds the mirror; otherwise this process feeds the
 * mirror from now on. */
static void
mcp_store_mirror_replicate(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_store_making_t *making)
{
    mcp_store_replication_t  *repl;

    repl = mcp_store_replication_of(op->head, st->repl);

    if (!mcp_store_attended(op->head, st)) {
        st->unattended = making->now;
        mcp_store_replication_pass(op, repl, op->store->slot);
    }

    if (making->spec->join) {
        mcp_store_join_name(op, st, making->spec->join);
    }
}


/*
 * Finds the existing mirror, and frees it if the next reader cannot use it.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is no mirror, or it was freed
 *   MCP_ERR_EXISTS     the stream itself is at this node
 *   MCP_ERR_DENIED     there was a later reader; or the mirror lacks the events
 *                      for the next reader, and joined requests read it
 */
static int
mcp_store_mirror_lookup(mcp_store_op_t *op, const mcp_store_making_t *making,
    mcp_stream_ref_t *ref)
{
    mcp_store_replication_t  *repl;
    mcp_store_stream_t       *st;
    const mcp_store_begin_t  *begin;

    begin = making->begin;
    st = mcp_store_stream_find(op, making->spec->id);

    if (st == NULL) {
        return MCP_ERR_NOT_FOUND;
    }

    if (!mcp_store_is_mirror(op->head, st)) {
        return MCP_ERR_EXISTS;
    }

    repl = mcp_store_replication_of(op->head, st->repl);

    if (begin->number && begin->number < repl->reader) {
        return MCP_ERR_DENIED;
    }

    if (!mcp_store_mirror_continues(op, st, begin)) {

        /* if the mirror were freed, its joined requests would get the error
         * that the call does not exist any more; so the client has to resume
         * again after they have their response */

        if (begin->number && mcp_store_mirror_is_joined(op, st)) {
            return MCP_ERR_DENIED;
        }

        /* the process that feeds the freed mirror is notified, unless it is
         * this one, which is about to feed the new mirror */

        if (repl->slot == op->store->slot) {
            mcp_store_replication_pass(op, repl, MCP_STORE_NO_SLOT);
        }

        mcp_store_stream_free(op, st);

        return MCP_ERR_NOT_FOUND;
    }

    if (begin->number) {
        mcp_store_mirror_reuse(op, st, making);

    } else {
        mcp_store_mirror_replicate(op, st, making);
    }

    ref->index = st->self;
    memcpy(ref->id, st->id, MCP_STREAM_ID_LEN);

    return MCP_OK;
}


static int
mcp_store_mirror_make(mcp_store_t *store, mcp_store_making_t *making,
    mcp_stream_ref_t *ref)
{
    int             rc;
    mcp_store_op_t  op;

    rc = mcp_store_create_begin(store, making);
    if (rc != MCP_OK) {
        return rc;
    }

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    rc = op.head->slots[store->slot].pid == store->pid
         ? mcp_store_mirror_lookup(&op, making, ref) : MCP_ERR_INTERNAL;

    if (rc == MCP_ERR_NOT_FOUND) {
        rc = mcp_store_create_end(&op, making, ref);

        /* the new mirror has no reader yet: it may be evicted from now on */

        if (rc == MCP_OK) {
            mcp_store_stream_settle(&op, mcp_store_stream(op.head,
                                                          ref->index));
        }

    } else {
        mcp_store_private_drop(&op, &making->chain);
    }

    mcp_store_leave(&op);

    return rc;
}


int
mcp_store_mirror(mcp_store_t *store, const mcp_stream_spec_t *spec,
    uint64_t first, uint64_t after, uint64_t number, uint64_t now,
    mcp_stream_ref_t *ref)
{
    mcp_store_begin_t   begin;
    mcp_stream_spec_t   own;
    mcp_store_making_t  making = { 0 };

    own = *spec;
    own.session_limit = 0;
    own.consumer = 0;
    own.held = 0;

    begin.after = after + 1 < first ? first - 1 : after;
    begin.number = number;

    making.spec = &own;
    making.begin = &begin;
    making.now = now;

    return mcp_store_mirror_make(store, &making, ref);
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Makes mirrors, for who reads a stream of another machine, or joins it; or
 * finds the one that is here. */


#include "store/mcp_store_layout.h"


/* Gives the mirror that is here another reader and feeder.  It may have to take
 * more than it was made for, as whoever inherits it does. */
static void
mcp_store_mirror_reuse(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_store_making_t *making)
{
    mcp_store_share_t        *share;
    const mcp_stream_spec_t  *spec;

    spec = making->spec;
    share = mcp_store_share_of(op->head, st->share);

    share->reader = making->begin->number;
    mcp_store_barrier();
    share->here = making->begin->number;

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

    mcp_store_share_pass(op, share, op->store->slot);
}


/* Whether the mirror that is here goes on from where the next reader begins.
 * Who joins reads it from where it is, if that is kept up. */
static int
mcp_store_mirror_goes_on(mcp_store_op_t *op, const mcp_store_stream_t *st,
    const mcp_store_begin_t *begin)
{
    if (begin->number == 0 && mcp_store_attended(op->head, st)) {
        return 1;
    }

    return st->events.first <= begin->after + 1
           && st->events.last >= begin->after;
}


/* Returns 1 if requests that have joined the call read the mirror. */
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


/* Has others join the mirror that is here.  Who reads it feeds it already. */
static void
mcp_store_mirror_share(mcp_store_op_t *op, mcp_store_stream_t *st,
    const mcp_store_making_t *making)
{
    mcp_store_share_t  *share;

    share = mcp_store_share_of(op->head, st->share);

    if (!mcp_store_attended(op->head, st)) {
        st->unattended = making->now;
        mcp_store_share_pass(op, share, op->store->slot);
    }

    if (making->spec->join) {
        mcp_store_join_name(op, st, making->spec->join);
    }
}


/*
 * Looks for the mirror to begin with, and frees one that will not do.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_NOT_FOUND  there is none
 *   MCP_ERR_EXISTS     the stream itself is here
 *   MCP_ERR_DENIED     there was a later reader; or the next one needs other
 *                      events than those for whom the mirror was made
 */
static int
mcp_store_mirror_look(mcp_store_op_t *op, const mcp_store_making_t *making,
    mcp_stream_ref_t *ref)
{
    mcp_store_share_t        *share;
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

    share = mcp_store_share_of(op->head, st->share);

    if (begin->number && begin->number < share->reader) {
        return MCP_ERR_DENIED;
    }

    if (!mcp_store_mirror_goes_on(op, st, begin)) {

        /* the requests that have joined would be told that the call is gone:
         * the client comes again until they have their response */

        if (begin->number && mcp_store_mirror_is_joined(op, st)) {
            return MCP_ERR_DENIED;
        }

        /* its feeder learns of it, unless it is about to feed the next one */

        if (share->slot == op->store->slot) {
            mcp_store_share_pass(op, share, MCP_STORE_NO_SLOT);
        }

        mcp_store_stream_free(op, st);

        return MCP_ERR_NOT_FOUND;
    }

    if (begin->number) {
        mcp_store_mirror_reuse(op, st, making);

    } else {
        mcp_store_mirror_share(op, st, making);
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
         ? mcp_store_mirror_look(&op, making, ref) : MCP_ERR_INTERNAL;

    if (rc == MCP_ERR_NOT_FOUND) {
        rc = mcp_store_create_end(&op, making, ref);

        /* nobody reads it yet: it gives way to others from here on */

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

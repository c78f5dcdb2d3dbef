/* SPDX-License-Identifier: Apache-2.0 */

/* Creates streams: checks the limits, makes room in the region, and copies the
 * method, the name and the request to the stream's chunks. */


#include "store/mcp_store_layout.h"


static void
mcp_store_stream_fill(mcp_store_stream_t *st, const mcp_stream_spec_t *spec,
    const mcp_str_t text[3], uint64_t now)
{
    memcpy(st->id, spec->id, MCP_STREAM_ID_LEN);
    memcpy(st->session, spec->session, MCP_DIGEST_LEN);
    memcpy(st->principal, spec->principal, MCP_DIGEST_LEN);
    memcpy(st->tenant, spec->tenant.id, MCP_DIGEST_LEN);
    memcpy(st->params, spec->params, MCP_DIGEST_LEN);

    st->kind = (uint8_t) spec->kind;
    st->state = MCP_STATE_PROCESSING;
    st->revision = spec->revision;
    st->created = now;
    st->unattended = now;
    st->expires = spec->kind == MCP_STREAM_LISTEN ? spec->expires : 0;
    st->max_wait = spec->max_wait;
    st->linger = spec->linger;
    st->promised = (uint8_t) spec->promised;
    st->seen = spec->left != 0;
    st->held = (uint8_t) (spec->held ? 1 + (spec->join_once != 0) : 0);
    st->max_events = spec->max_events;
    st->max_bytes = spec->max_bytes;
    st->quota = mcp_store_tenant_quota(&spec->tenant);

    st->method_len = (uint16_t) text[0].len;
    st->name_len = (uint16_t) text[1].len;
    st->request_len = (uint32_t) text[2].len;

    st->owner_slot = MCP_STORE_NO_SLOT;
    st->consumer_slot = MCP_STORE_NO_SLOT;
    st->events.first = 1;
    st->inbox.first = 1;
}


/* Returns MCP_OK if a stream with this spec, which takes "chunks" chunks, may
 * be created. Otherwise returns MCP_ERR_INTERNAL, MCP_ERR_EXISTS,
 * MCP_ERR_LIMIT, or an error of mcp_store_join_lookup(). */
static int
mcp_store_create_check(mcp_store_op_t *op, const mcp_stream_spec_t *spec,
    uint32_t chunks, uint64_t now, int mirror)
{
    int                  rc;
    mcp_store_stream_t  *st;

    if (op->head->slots[op->store->slot].pid != op->store->pid) {
        return MCP_ERR_INTERNAL;
    }

    if (mcp_store_stream_find(op, spec->id) != NULL) {
        return MCP_ERR_EXISTS;
    }

    if (spec->join && !mirror) {
        rc = mcp_store_join_lookup(op, spec, now, &st);
        if (rc != MCP_OK || st != NULL) {
            return rc != MCP_OK ? rc : MCP_ERR_EXISTS;
        }
    }

    if (mcp_store_session_crowded(op->head, spec->session, spec->session_limit)
        || !mcp_store_tenant_may_create(op, &spec->tenant, spec->kind, chunks))
    {
        return MCP_ERR_LIMIT;
    }

    return MCP_OK;
}


/* Copies the method, the name and the request of a new stream to a chain of n
 * chunks. Does nothing if n is 0, because mcp_store_create_begin() has copied
 * them. */
static void
mcp_store_create_text(mcp_store_op_t *op, mcp_store_making_t *making,
    uint32_t n)
{
    unsigned         i;
    mcp_store_pos_t  pos;

    if (n == 0) {
        return;
    }

    mcp_store_chain_take(op, n, &making->chain);
    pos = (mcp_store_pos_t) { making->chain.first, MCP_CHUNK_HEAD };

    for (i = 0; i < 3; i++) {
        mcp_store_copy_in(op->head, &pos, making->text[i].data,
                          making->text[i].len);
    }
}


/* Creates the chunk of a new stream. The stream exists from then on, but is in
 * no list yet. */
static mcp_store_stream_t *
mcp_store_create_root(mcp_store_op_t *op, const mcp_store_making_t *making)
{
    uint32_t                  index;
    mcp_store_head_t         *head;
    mcp_store_stream_t       *st;
    const mcp_stream_spec_t  *spec;

    head = op->head;
    spec = making->spec;
    index = mcp_store_root_take(op, MCP_CHUNK_STREAM);
    st = mcp_store_stream(head, index);

    mcp_store_stream_fill(st, spec, making->text, making->now);
    st->self = index;
    st->ordinal = ++head->ordinal;
    st->joined = st->ordinal;
    st->text = making->chain.first;
    st->text_chunks = making->chain.count;

    if (making->begin != NULL) {
        mcp_store_mirror_begin(op, st, making->begin);

    } else if (spec->kind == MCP_STREAM_CALL) {
        st->owner_slot = op->store->slot;
        st->owner_handle = spec->handle;
    }

    if (spec->consumer) {
        st->consumer_slot = op->store->slot;
        st->consumer_handle = spec->consumer;
        st->unattended = 0;
    }

    mcp_store_barrier();
    st->live = MCP_STREAM_LIVE;
    mcp_store_barrier();

    return st;
}


/* Makes room for all parts of a stream: n chunks of text, the groups of its
 * session and its tenant, the JOIN entry if requests may join it, and the
 * replication data if it is a mirror. */
static int
mcp_store_create_room(mcp_store_op_t *op, const mcp_store_making_t *making,
    uint32_t n)
{
    unsigned char             up[MCP_DIGEST_LEN];
    const mcp_stream_spec_t  *spec;

    spec = making->spec;
    n += 1u + (spec->join != NULL) + (making->begin != NULL);

    /* upper bounds: the groups usually exist already, or their entries are in
     * the same chunk */
    n += mcp_tenant_parent(spec->tenant.id, up)
         && mcp_store_entry_find(op->head, MCP_ENTRY_TENANT, 0,
                                 spec->tenant.id, 0)
            == NULL ? 1 + MCP_TENANT_LEVELS : 2;

    return mcp_store_ensure(op, n, 0);
}


static int
mcp_store_create_locked(mcp_store_op_t *op, mcp_store_making_t *making,
    mcp_stream_ref_t *ref)
{
    int                       rc;
    uint32_t                  need, count;
    mcp_store_entry_t        *session, *tenant, *join;
    mcp_store_stream_t       *st;
    const mcp_stream_spec_t  *spec;

    spec = making->spec;
    op->tenant = making->begin ? NULL : spec->tenant.id;
    op->creates = 1;
    need = 0;

    if (making->chain.count == 0) {
        need = mcp_store_chunks(making->text[0].len + making->text[1].len
                                + making->text[2].len);
    }

    count = 1 + need + making->chain.count;

    rc = mcp_store_create_check(op, spec, count, making->now,
                                making->begin != NULL);
    if (rc != MCP_OK) {
        return rc;
    }

    if (mcp_store_create_room(op, making, need) != MCP_OK) {
        return MCP_ERR_FULL;
    }

    session = mcp_store_group(op, MCP_ENTRY_SESSION, 0, spec->session);
    tenant = mcp_store_tenant_group(op, spec->tenant.id);

    join = spec->join ? mcp_store_entry_take(op, 1) : NULL;

    if (session == NULL || tenant == NULL || (spec->join && join == NULL)) {
        return MCP_ERR_INTERNAL;
    }

    mcp_store_create_text(op, making, need);

    st = mcp_store_create_root(op, making);
    mcp_store_stream_link(op->head, st->self);
    mcp_store_tenant_enter(op, st, tenant);
    mcp_store_session_enter(op->head, session, st);

    if (join != NULL) {
        mcp_store_join_enter(op, st, join, spec->join);
    }

    if (spec->left) {
        mcp_store_stream_settle(op, st);
    }

    ref->index = st->self;
    memcpy(ref->id, st->id, MCP_STREAM_ID_LEN);

    return MCP_OK;
}


static mcp_str_t
mcp_store_cut(mcp_str_t s)
{
    if (s.len > MCP_STORE_NAME_MAX - 1) {
        s.len = MCP_STORE_NAME_MAX - 1;

        /* do not cut within a UTF-8 character */

        while (s.len > 0 && ((unsigned char) s.data[s.len] & 0xc0) == 0x80) {
            s.len--;
        }
    }

    return s;
}


int
mcp_store_create_begin(mcp_store_t *store, mcp_store_making_t *making)
{
    const mcp_stream_spec_t  *spec;

    spec = making->spec;
    making->text[0] = mcp_store_cut(spec->method);
    making->text[1] = mcp_store_cut(spec->name);
    making->text[2] = spec->request;

    if (spec->request.len > MCP_STORE_LEN_MAX) {
        return MCP_ERR_FULL;
    }

    if (spec->request.len <= MCP_STORE_BIG) {
        return MCP_OK;
    }

    return mcp_store_private_make(store, making->text, 3, 0, 0,
                                  spec->tenant.id, &making->chain);
}


int
mcp_store_create_end(mcp_store_op_t *op, mcp_store_making_t *making,
    mcp_stream_ref_t *ref)
{
    int                 rc;
    mcp_store_chain_t  *chain;

    chain = &making->chain;

    if (chain->count > 0) {
        rc = mcp_store_private_claim(op, chain);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    /* a long request is already in a chain, from mcp_store_create_begin().
     * mcp_store_create_locked() copies a short one to a new chain when the
     * checks have succeeded and there is room */

    rc = mcp_store_create_locked(op, making, ref);

    if (rc != MCP_OK) {
        mcp_store_chain_free(op, chain->first, chain->last, chain->count);
    }

    return rc;
}


int
mcp_store_create(mcp_store_t *store, const mcp_stream_spec_t *spec,
    uint64_t now, mcp_stream_ref_t *ref)
{
    int                 rc;
    mcp_store_op_t      op;
    mcp_store_making_t  making = { 0 };

    making.spec = spec;
    making.now = now;

    rc = mcp_store_create_begin(store, &making);
    if (rc != MCP_OK) {
        return rc;
    }

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    rc = mcp_store_create_end(&op, &making, ref);

    mcp_store_leave(&op);

    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* The beginning of a stream: its limits, its room, its text. */


#include "store/mcp_store_layout.h"


static void
mcp_store_stream_fill(mcp_store_stream_t *st, const mcp_stream_spec_t *spec,
    const mcp_str_t text[3], uint64_t now)
{
    memcpy(st->id, spec->id, MCP_STREAM_ID_LEN);
    memcpy(st->session, spec->session, MCP_DIGEST_LEN);
    memcpy(st->principal, spec->principal, MCP_DIGEST_LEN);
    memcpy(st->party, spec->party.id, MCP_DIGEST_LEN);
    memcpy(st->params, spec->params, MCP_DIGEST_LEN);

    st->kind = (uint8_t) spec->kind;
    st->state = MCP_STATE_PROCESSING;
    st->revision = spec->revision;
    st->created = now;
    st->unattended = now;
    st->expires = spec->expires;
    st->max_wait = spec->max_wait;
    st->linger = spec->linger;
    st->promised = spec->promised;
    st->max_events = spec->max_events;
    st->max_bytes = spec->max_bytes;
    st->quota = mcp_store_party_quota(&spec->party);

    st->method_len = (uint16_t) text[0].len;
    st->name_len = (uint16_t) text[1].len;
    st->request_len = (uint32_t) text[2].len;

    st->owner_slot = MCP_STORE_NO_SLOT;
    st->consumer_slot = MCP_STORE_NO_SLOT;
    st->events.first = 1;
    st->inbox.first = 1;
}


/* Enters a stream into its session and party, whose groups there is room
 * for. */
static void
mcp_store_stream_join(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_entry_t *session, mcp_store_entry_t *party)
{
    st->session_group = mcp_store_ref(op->head, session);

    session->u.group.count++;
    session->u.group.active++;

    mcp_store_party_enter(op, st, party);
    mcp_store_session_enter(op->head, session, st);
}


static int
mcp_store_create_locked(mcp_store_op_t *op, const mcp_stream_spec_t *spec,
    const mcp_str_t text[3], mcp_store_chain_t *chain, uint64_t now,
    mcp_stream_ref_t *ref)
{
    unsigned             i;
    uint32_t             index, need;
    mcp_store_pos_t      pos;
    mcp_store_head_t    *head;
    mcp_store_entry_t   *session, *party;
    mcp_store_stream_t  *st;

    head = op->head;
    op->party = spec->party.id;

    if (head->slots[op->store->slot].pid != op->store->pid) {
        return MCP_ERR_INTERNAL;
    }

    if (mcp_store_stream_find(op, spec->id) != NULL) {
        return MCP_ERR_EXISTS;
    }

    need = 0;

    if (chain->count == 0) {
        need = mcp_store_chunks(text[0].len + text[1].len + text[2].len);
    }

    if (mcp_store_session_crowded(head, spec->session, spec->session_limit)
        || !mcp_store_party_may_create(op, &spec->party, spec->kind,
                                       1 + need + chain->count))
    {
        return MCP_ERR_LIMIT;
    }

    /* header, text, and an entry for each of two groups */

    if (mcp_store_ensure(op, 1 + need + 2, 0) != MCP_OK) {
        return MCP_ERR_FULL;
    }

    session = mcp_store_group(op, MCP_ENTRY_SESSION, spec->session);
    party = mcp_store_group(op, MCP_ENTRY_PARTY, spec->party.id);

    if (session == NULL || party == NULL) {
        return MCP_ERR_INTERNAL;
    }

    if (need > 0) {
        mcp_store_chain_take(op, need, chain);
        pos.chunk = chain->first;
        pos.offset = MCP_CHUNK_HEAD;

        for (i = 0; i < 3; i++) {
            mcp_store_copy_in(head, &pos, text[i].data, text[i].len);
        }
    }

    index = mcp_store_root_take(op, MCP_CHUNK_STREAM);
    st = mcp_store_stream(head, index);

    mcp_store_stream_fill(st, spec, text, now);
    st->self = index;
    st->ordinal = ++head->ordinal;
    st->joined = st->ordinal;
    st->text = chain->first;
    st->text_chunks = chain->count;

    if (spec->kind == MCP_STREAM_CALL) {
        st->owner_slot = op->store->slot;
        st->owner_handle = spec->handle;
    }

    mcp_store_barrier();
    st->live = MCP_STREAM_LIVE;
    mcp_store_barrier();

    mcp_store_stream_link(head, index);
    mcp_store_stream_join(op, st, session, party);

    ref->index = index;
    memcpy(ref->id, st->id, MCP_STREAM_ID_LEN);

    return MCP_OK;
}


static mcp_str_t
mcp_store_cut(mcp_str_t s)
{
    if (s.len > MCP_STORE_NAME_MAX - 1) {
        s.len = MCP_STORE_NAME_MAX - 1;

        /* not in the middle of a UTF-8 sequence */

        while (s.len > 0 && ((unsigned char) s.data[s.len] & 0xc0) == 0x80) {
            s.len--;
        }
    }

    return s;
}


/* A private chain for which no use was found. */
static void
mcp_store_private_return(mcp_store_op_t *op, mcp_store_chain_t *chain)
{
    mcp_store_chain_free(op, chain->first, chain->last, chain->count);
    chain->count = 0;
}


int
mcp_store_create(mcp_store_t *store, const mcp_stream_spec_t *spec,
    uint64_t now, mcp_stream_ref_t *ref)
{
    int                rc;
    mcp_str_t          text[3];
    mcp_store_op_t     op;
    mcp_store_chain_t  chain = { 0, 0, 0 };

    text[0] = mcp_store_cut(spec->method);
    text[1] = mcp_store_cut(spec->name);
    text[2] = spec->request;

    if (text[2].len > MCP_STORE_LEN_MAX) {
        return MCP_ERR_FULL;
    }

    if (text[2].len > MCP_STORE_BIG) {
        rc = mcp_store_private_make(store, text, 3, 0, 0, spec->party.id,
                                    &chain);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    rc = MCP_OK;

    if (chain.count > 0) {
        rc = mcp_store_private_claim(&op, &chain);
    }

    if (rc == MCP_OK) {
        rc = mcp_store_create_locked(&op, spec, text, &chain, now, ref);

        if (rc != MCP_OK && chain.count > 0) {
            mcp_store_private_return(&op, &chain);
        }
    }

    mcp_store_leave(&op);

    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Finds streams by their id or by a reference, and describes them. */


#include "store/mcp_store_layout.h"


static uint32_t *
mcp_store_stream_bucket(mcp_store_head_t *head,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    uint32_t  *table;

    table = (uint32_t *) ((char *) head + head->stream_hash);

    return &table[mcp_store_hash(head, 0, id) & head->stream_mask];
}


void
mcp_store_stream_link(mcp_store_head_t *head, uint32_t index)
{
    uint32_t            *bucket;
    mcp_store_stream_t  *st;

    st = mcp_store_stream(head, index);
    bucket = mcp_store_stream_bucket(head, st->id);
    st->next = *bucket;
    *bucket = index;

    head->n_streams++;
    head->n_listeners += (st->kind == MCP_STREAM_LISTEN);
}


void
mcp_store_stream_unlink(mcp_store_head_t *head, uint32_t index)
{
    uint32_t             n, *link;
    mcp_store_stream_t  *st;

    st = mcp_store_stream(head, index);
    link = mcp_store_stream_bucket(head, st->id);

    for (n = 0; *link && n < head->chunks; n++) {
        if (*link == index) {
            *link = st->next;
            break;
        }

        link = &mcp_store_stream(head, *link)->next;
    }

    head->n_streams--;
    head->n_listeners -= (st->kind == MCP_STREAM_LISTEN);
}


mcp_store_stream_t *
mcp_store_stream_find(mcp_store_op_t *op,
    const unsigned char id[MCP_STREAM_ID_LEN])
{
    uint32_t             index, n;
    mcp_store_stream_t  *st;

    index = *mcp_store_stream_bucket(op->head, id);

    for (n = 0; index && n < op->head->chunks; n++) {
        st = mcp_store_stream(op->head, index);

        if (memcmp(st->id, id, MCP_STREAM_ID_LEN) == 0) {
            return st;
        }

        index = st->next;
    }

    return NULL;
}


mcp_store_stream_t *
mcp_store_stream_at(mcp_store_head_t *head, uint32_t index)
{
    mcp_store_stream_t  *st;

    if (!mcp_store_index_ok(head, index)
        || mcp_store_types(head)[index] != MCP_CHUNK_STREAM)
    {
        return NULL;
    }

    st = mcp_store_stream(head, index);

    return st->live == MCP_STREAM_LIVE ? st : NULL;
}


mcp_store_stream_t *
mcp_store_stream_get(mcp_store_op_t *op, const mcp_stream_ref_t *ref)
{
    mcp_store_stream_t  *st;

    st = mcp_store_stream_at(op->head, ref->index);

    return st && memcmp(st->id, ref->id, MCP_STREAM_ID_LEN) == 0 ? st : NULL;
}


int
mcp_store_stream_enter(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_store_op_t *op, mcp_store_stream_t **st)
{
    int  rc;

    rc = mcp_store_enter(store, op);
    if (rc != MCP_OK) {
        return rc;
    }

    *st = mcp_store_stream_get(op, ref);

    if (*st == NULL) {
        mcp_store_leave(op);
        return MCP_ERR_NOT_FOUND;
    }

    op->tenant = (*st)->tenant;

    return MCP_OK;
}


static void
mcp_store_stream_names(mcp_store_head_t *head, const mcp_store_stream_t *st,
    mcp_stream_info_t *info)
{
    mcp_store_pos_t  pos;

    pos = (mcp_store_pos_t) { st->text, MCP_CHUNK_HEAD };

    if (st->method_len < MCP_STORE_NAME_MAX
        && st->name_len < MCP_STORE_NAME_MAX)
    {
        mcp_store_copy_out(head, &pos, info->method, st->method_len);
        mcp_store_copy_out(head, &pos, info->name, st->name_len);
    }
}


void
mcp_store_stream_info(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_stream_info_t *info)
{
    mcp_store_checkpoint_t  checkpoint;

    mcp_store_replication_checkpoint(op->head, st, &checkpoint);
    memset(info, 0, sizeof(mcp_stream_info_t));

    info->ref.index = mcp_store_index(op->head, st);
    memcpy(info->ref.id, st->id, MCP_STREAM_ID_LEN);
    memcpy(info->session, st->session, MCP_DIGEST_LEN);
    memcpy(info->principal, st->principal, MCP_DIGEST_LEN);

    info->kind = (mcp_stream_kind_e) st->kind;
    info->state = checkpoint.state;
    info->revision = st->revision;
    info->created = st->created;
    info->max_wait = st->max_wait;
    info->expires = mcp_store_is_task(st) ? st->expires : 0;
    info->kept = st->created + st->kept_after;
    info->changed = st->changed;
    info->first_seq = st->events.first;
    info->last_seq = checkpoint.seq;
    info->own_seq = st->events.last;
    info->own_answered = st->answered;
    info->own_failed = st->failed;
    info->posted = (st->inbox.head != 0 || st->taken || st->cancelled != 0);
    info->replicated = 1;
    info->held = st->held && !mcp_store_final(st);
    info->attended = st->consumer_slot != MCP_STORE_NO_SLOT;

    if (st->repl) {
        mcp_store_replication_info(op->head, st, info);
    }

    info->sent_seq = st->sent_seq;
    info->confirmed_seq = st->confirmed_seq;
    info->answered = checkpoint.answered;
    info->failed = checkpoint.failed;
    info->failed_seq = checkpoint.failed_seq;
    info->unattended = st->unattended;
    info->bytes = st->events.bytes;
    info->alias = st->alias;
    info->generation = st->generation;
    info->result = st->result;
    info->takeovers = st->takeovers;
    info->promised = st->promised;
    info->cancelled = st->cancelled;
    info->consumer_slot = st->consumer_slot;
    info->consumer_handle = st->consumer_handle;
    info->owner_slot = st->owner_slot == MCP_STORE_OWNERLESS ? MCP_STORE_NO_SLOT
                                                          : st->owner_slot;

    mcp_store_stream_names(op->head, st, info);
}


void
mcp_store_stream_request(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_buf_t *buf)
{
    char             *p, skipped[2 * MCP_STORE_NAME_MAX];
    mcp_store_pos_t   pos;

    pos = (mcp_store_pos_t) { st->text, MCP_CHUNK_HEAD };

    if (buf == NULL || st->request_len == 0
        || (size_t) st->method_len + st->name_len > sizeof(skipped))
    {
        return;
    }

    p = mcp_buf_reserve(buf, st->request_len);

    if (p != NULL) {
        mcp_store_copy_out(op->head, &pos, skipped,
                           (size_t) st->method_len + st->name_len);
        buf->len += mcp_store_copy_out(op->head, &pos, p, st->request_len);
    }
}


int
mcp_store_find(mcp_store_t *store, const unsigned char id[MCP_STREAM_ID_LEN],
    uint64_t now, mcp_stream_info_t *info)
{
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    st = mcp_store_stream_find(&op, id);

    if (st != NULL && now != 0 && mcp_store_stream_due(&op, st, now)) {
        st = NULL;                     /* the next sweep will free the stream
                                          and report it */
    } else if (st != NULL) {
        mcp_store_stream_info(&op, st, info);
    }

    mcp_store_leave(&op);

    return st ? MCP_OK : MCP_ERR_NOT_FOUND;
}


int
mcp_store_info(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_stream_info_t *info)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc == MCP_OK) {
        mcp_store_stream_info(&op, st, info);
        mcp_store_leave(&op);
    }

    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Appends messages of other processes to the inbox of a call, from which the
 * call's owner takes them. The inbox is a log, like the events. Each of its
 * records contains a tag of 8 bytes (see mcp_inbox_item_e), followed by the
 * data of a post. */


#include "store/mcp_store_layout.h"


#define MCP_TAG_LEN   sizeof(uint64_t)

/* Bytes that are added to the size of each post, so that empty posts count as
 * well. */
#define MCP_INBOX_RECORD_SIZE (sizeof(mcp_store_record_t) + MCP_TAG_LEN)


/* Checks whether the stream has an owner that reads posts, and whether its
 * limits allow a post of len bytes. */
static int
mcp_store_inbox_admit(const mcp_store_stream_t *st, size_t len)
{
    uint64_t  used;

    if (st->owner_slot == MCP_STORE_NO_SLOT) {
        return MCP_ERR_NOT_FOUND;
    }

    if (st->max_bytes == 0 || st->inbox.head == 0) {
        return MCP_OK;
    }

    used = st->inbox.bytes
           + mcp_store_log_count(&st->inbox) * sizeof(mcp_store_record_t);

    return used > st->max_bytes
           || len + MCP_INBOX_RECORD_SIZE > st->max_bytes - used
           ? MCP_ERR_LIMIT : MCP_OK;
}


/* The arguments "bits", "all" and "now" of mcp_store_answer(): bits of the
 * questions that a post answers, bits of all questions of the event, and the
 * time. */
typedef struct {
    uint32_t  bits;
    uint32_t  all;
    uint64_t  now;
} mcp_store_answers_t;


/* Appends a post. If "answers" is not NULL, the post answers questions of a
 * task: marks them as answered in the same critical section, so that other
 * processes see either both changes or neither. */
static int
mcp_store_inbox_put_locked(mcp_store_op_t *op, const mcp_stream_ref_t *ref,
    mcp_inbox_item_e type, uint64_t tag, const mcp_str_t parts[2],
    mcp_store_chain_t *chain, const mcp_store_answers_t *answers)
{
    int                  rc;
    mcp_store_record_t   rec = { 0 };
    mcp_store_stream_t  *st;

    st = mcp_store_stream_get(op, ref);

    if (st == NULL || st->owner_slot == MCP_STORE_NO_SLOT) {
        return MCP_ERR_NOT_FOUND;
    }

    if (answers && (st->state != MCP_STATE_INPUT_REQUIRED
                    || st->events.last != tag || (st->given & answers->bits)))
    {
        return MCP_AGAIN;
    }

    rc = mcp_store_inbox_admit(st, parts[1].len);
    if (rc != MCP_OK) {
        return rc;
    }

    rec.len = (uint32_t) (parts[0].len + parts[1].len);
    rec.type = (uint16_t) type;
    op->tenant = st->tenant;

    if (chain->count > 0) {
        mcp_store_log_attach(op, &st->inbox, &rec, chain);
    } else if (mcp_store_log_append(op, &st->inbox, &rec, parts, 2, 0)
               != MCP_OK)
    {
        return MCP_ERR_FULL;
    }

    mcp_store_mark_owner(op, st);

    if (answers) {
        st->given |= answers->bits;
        st->changed = answers->now;
        mcp_store_mark_replication(op, st);

        if ((st->given & answers->all) == answers->all) {
            st->state = MCP_STATE_PROCESSING;
        }
    }

    return MCP_OK;
}


/* Copies a long post to a private chain without the lock. First checks whether
 * the stream would accept the post, so that no other stream is evicted for a
 * post that is rejected. */
static int
mcp_store_inbox_copy(mcp_store_t *store, const mcp_stream_ref_t *ref,
    const mcp_str_t parts[2], mcp_store_chain_t *chain)
{
    int                  rc;
    mcp_store_op_t       op;
    unsigned char        tenant[MCP_DIGEST_LEN];
    mcp_store_stream_t  *st;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_store_inbox_admit(st, parts[1].len);
    memcpy(tenant, st->tenant, MCP_DIGEST_LEN);

    mcp_store_leave(&op);

    if (rc != MCP_OK) {
        return rc;
    }

    return mcp_store_private_make(store, parts, 2, sizeof(mcp_store_record_t),
                                  0, tenant, chain);
}


static int
mcp_store_inbox_post(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_inbox_item_e type, uint64_t tag, mcp_str_t data,
    const mcp_store_answers_t *answers)
{
    int                rc;
    mcp_store_op_t     op;
    mcp_store_chain_t  chain = { 0, 0, 0 };
    const mcp_str_t    parts[2] = {
        { (const char *) &tag, MCP_TAG_LEN }, data
    };

    if (data.len > MCP_STORE_LEN_MAX) {
        return MCP_ERR_LIMIT;
    }

    if (data.len > MCP_STORE_BIG) {
        rc = mcp_store_inbox_copy(store, ref, parts, &chain);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    rc = mcp_store_enter(store, &op);
    if (rc != MCP_OK) {
        return rc;
    }

    if (chain.count > 0) {
        rc = mcp_store_private_claim(&op, &chain);
    }

    if (rc == MCP_OK) {
        rc = mcp_store_inbox_put_locked(&op, ref, type, tag, parts, &chain,
                                        answers);
        if (rc != MCP_OK) {
            mcp_store_chain_free(&op, chain.first, chain.last, chain.count);
        }
    }

    mcp_store_leave(&op);

    return rc;
}


int
mcp_store_inbox_put(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_inbox_item_e type, uint64_t tag, mcp_str_t data)
{
    return mcp_store_inbox_post(store, ref, type, tag, data, NULL);
}


int
mcp_store_answer(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t seq, uint32_t bits, uint32_t all, mcp_str_t data, uint64_t now)
{
    const mcp_store_answers_t  answers = { bits, all, now };

    return mcp_store_inbox_post(store, ref, MCP_INBOX_TASK, seq, data,
                                &answers);
}


/* The progress of copying a post. */
typedef struct {
    mcp_store_pos_t     pos;
    mcp_store_record_t  rec;           /* head of the post's record; seq 0:
                                          copying has not begun */
    uint64_t            tag;
    char               *data;
    size_t              left;
} mcp_store_taking_t;


static int
mcp_store_take_begin(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_taking_t *taking, mcp_buf_t *data)
{
    mcp_store_record_t  *rec;

    if (st->inbox.head == 0) {
        if (st->taken) {
            st->taken = 0;
            mcp_store_mark_consumer(op, st);
            mcp_store_mark_replication(op, st);
        }

        return MCP_AGAIN;
    }

    taking->pos = (mcp_store_pos_t) { st->inbox.head, st->inbox.offset };
    rec = mcp_store_log_record(op->head, &taking->pos);

    if (rec == NULL || rec->len < MCP_TAG_LEN) {
        return MCP_ERR_INTERNAL;
    }

    taking->rec = *rec;
    taking->pos.offset += sizeof(mcp_store_record_t);
    mcp_store_copy_out(op->head, &taking->pos, &taking->tag, MCP_TAG_LEN);

    taking->left = rec->len - MCP_TAG_LEN;

    if (taking->left > 0) {
        taking->data = mcp_buf_reserve(data, taking->left);

        if (taking->data == NULL) {
            return data->failed;
        }
    }

    return MCP_OK;
}


/* Copies at most MCP_STORE_BIG bytes of a post, so that the lock is held only
 * briefly. After the last byte, removes the post and returns MCP_DONE. */
static int
mcp_store_take_some(mcp_store_op_t *op, const mcp_stream_ref_t *ref,
    mcp_store_taking_t *taking, mcp_buf_t *data)
{
    int                  rc;
    mcp_store_stream_t  *st;

    st = mcp_store_stream_get(op, ref);

    if (st == NULL) {
        return MCP_ERR_NOT_FOUND;
    }

    if (taking->rec.seq == 0) {
        rc = mcp_store_take_begin(op, st, taking, data);
        if (rc != MCP_OK) {
            return rc;
        }

    } else if (st->inbox.head == 0 || st->inbox.first != taking->rec.seq) {
        return MCP_AGAIN;
    }

    rc = mcp_store_copy_piece(op->head, &taking->pos, &taking->data,
                              &taking->left);

    if (rc == MCP_DONE) {
        st->taken = 1;
        mcp_store_log_drop(op, &st->inbox);
    }

    return rc;
}


int
mcp_store_take(mcp_store_t *store, const mcp_stream_ref_t *ref,
    mcp_inbox_item_e *type, uint64_t *tag, mcp_buf_t *data)
{
    int                 rc;
    mcp_store_op_t      op;
    mcp_store_taking_t  taking;

    memset(&taking, 0, sizeof(mcp_store_taking_t));

    do {
        rc = mcp_store_enter(store, &op);
        if (rc != MCP_OK) {
            return rc;
        }

        rc = mcp_store_take_some(&op, ref, &taking, data);

        mcp_store_leave(&op);

    } while (rc == MCP_OK);

    if (rc != MCP_DONE) {
        return rc;
    }

    *type = (mcp_inbox_item_e) taking.rec.type;
    *tag = taking.tag;
    data->len += taking.rec.len - MCP_TAG_LEN;

    return MCP_OK;
}


uint32_t
mcp_store_count_cancel(mcp_store_t *store)
{
    return atomic_fetch_add(&store->head->cancels, 1) + 1;
}


uint32_t
mcp_store_cancels(const mcp_store_t *store)
{
    return atomic_load(&store->head->cancels);
}


int
mcp_store_cancel(mcp_store_t *store, const mcp_stream_ref_t *ref,
    uint64_t requests)
{
    int                  rc;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    rc = mcp_store_stream_enter(store, ref, &op, &st);
    if (rc != MCP_OK) {
        return rc;
    }

    if (st->owner_slot == MCP_STORE_NO_SLOT) {
        rc = MCP_ERR_NOT_FOUND;
    } else {
        st->cancelled |= requests;
        mcp_store_mark_owner(&op, st);
    }

    mcp_store_leave(&op);

    return rc;
}


uint64_t
mcp_store_take_cancelled(mcp_store_t *store, const mcp_stream_ref_t *ref)
{
    uint64_t             requests;
    mcp_store_op_t       op;
    mcp_store_stream_t  *st;

    if (mcp_store_stream_enter(store, ref, &op, &st) != MCP_OK) {
        return 0;
    }

    requests = st->cancelled;

    if (requests) {

        /* The cancellation counts as processed when mcp_store_take() next finds
         * the inbox empty. The consumer is woken then. */

        st->taken = 1;
        mcp_store_barrier();
        st->cancelled = 0;
    }

    mcp_store_leave(&op);

    return requests;
}

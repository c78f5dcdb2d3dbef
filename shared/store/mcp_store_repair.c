/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Repairs the store after a process died while it held the lock: rebuilds all
 * derived data from the primary data. Primary data are live streams, with
 * their text and the chain and the first and last number of each log;
 * tombstones; values; subscriptions; JOIN and READER entries; replication
 * data; private chains; and slots. A repair changes primary data only if they
 * are certainly wrong, so the repair may itself be interrupted and started
 * again.
 *
 * The first part, in this file, finds out which chunks are used, and by which
 * data. The second part, in mcp_store_repair_link.c, rebuilds hash tables,
 * groups, lists and counts.
 */


#include "store/mcp_store_layout.h"


/* Sets the type of all chunks in a chain without records to MCP_CHUNK_MARK.
 * Ends the chain before the first chunk that is invalid or has a type already.
 * Returns the number of its chunks. */
static uint32_t
mcp_store_repair_chain(mcp_store_head_t *head, uint32_t *first)
{
    uint32_t        n, *link;
    unsigned char  *types;

    types = mcp_store_types(head);
    link = first;
    n = 0;

    while (*link != 0) {
        if (!mcp_store_index_ok(head, *link)
            || types[*link] != MCP_CHUNK_NONE)
        {
            *link = 0;
            break;
        }

        types[*link] = MCP_CHUNK_MARK;
        n++;
        link = &mcp_store_chunk(head, *link)->next;
    }

    return n;
}


/* Clears the derived data of the region: hash tables, lists and counts. */
static void
mcp_store_repair_reset(mcp_store_head_t *head)
{
    unsigned  i;

    if (head->fresh < 1 || head->fresh > head->chunks + 1) {
        head->fresh = head->chunks + 1;
    }

    memset((char *) head + head->stream_hash, 0,
           ((size_t) head->stream_mask + 1) * 4);
    memset((char *) head + head->entry_hash, 0,
           ((size_t) head->entry_mask + 1) * 4);

    memset(&head->ownerless, 0, sizeof(mcp_store_list_t));
    memset(head->rank, 0, sizeof(head->rank));
    memset(&head->blocked, 0, sizeof(mcp_store_list_t));
    memset(&head->partial, 0, sizeof(mcp_store_list_t));

    head->free = 0;
    head->n_free = 0;
    head->n_streams = 0;
    head->n_listeners = 0;
    head->n_mirrors = 0;
    head->n_values = 0;
    head->n_subs = 0;
    head->n_calls = 0;
    head->evictable = 0;
    head->n_unread = 0;
    atomic_store(&head->n_ownerless, 0);

    for (i = 0; i < MCP_STORE_SLOTS; i++) {
        memset(&head->slots[i].dirty, 0, sizeof(mcp_store_list_t));
    }
}


/* Clears the types of all chunks but those with entries, live streams,
 * tombstones, or valid replication data. */
static void
mcp_store_repair_types(mcp_store_head_t *head)
{
    uint32_t             i;
    unsigned char       *types;
    mcp_store_stream_t  *st;

    types = mcp_store_types(head);

    for (i = 1; i < head->fresh; i++) {
        if (types[i] == MCP_CHUNK_STREAM) {
            st = mcp_store_stream(head, i);

            if (st->live == MCP_STREAM_LIVE || st->live == MCP_STREAM_TOMBSTONE)
            {
                continue;
            }

        } else if (types[i] == MCP_CHUNK_REPLICATION) {
            if (mcp_store_replication_of(head, i)->live == MCP_REPLICATION_LIVE)
            {
                continue;
            }

        } else if (types[i] == MCP_CHUNK_ENTRY) {
            continue;
        }

        types[i] = MCP_CHUNK_NONE;
    }
}


/* Applies the effects of the last event, whose record is *rec, to the stream's
 * state and answers, if the process died between the commit and that. */
static void
mcp_store_repair_apply(mcp_store_stream_t *st, const mcp_store_record_t *rec)
{
    if (st->applied_seq == st->events.last) {
        return;
    }

    if (rec->seq == st->events.last) {
        mcp_store_stream_answer(st, rec);
        mcp_store_stream_set_state(st, (mcp_stream_state_e) rec->type);
        st->given = 0;
    }

    mcp_store_barrier();
    st->applied_seq = st->events.last;
}


/* Repairs the chunks of a stream: its text, its events and its inbox. Returns
 * 0 if the stream cannot be kept, because a log is broken. */
static int
mcp_store_repair_stream(mcp_store_head_t *head, mcp_store_stream_t *st)
{
    mcp_store_record_t  rec;

    memset(st->link, 0, sizeof(st->link));
    st->evict = 0;
    memset(&st->subs, 0, sizeof(mcp_store_list_t));

    st->n_subs = 0;
    st->want_room = 0;
    st->session_group = 0;
    st->tenant_entry = 0;
    st->join = 0;
    st->repl = 0;

    st->text_chunks = mcp_store_repair_chain(head, &st->text);

    if (!mcp_store_repair_log(head, &st->events, &rec)) {
        return 0;
    }

    mcp_store_repair_apply(st, &rec);

    if (st->sent_seq > st->events.last) {
        st->sent_seq = st->events.last;
    }

    if (st->confirmed_seq > st->events.last) {
        st->confirmed_seq = st->events.last;
    }

    st->sent_bytes = mcp_store_log_bytes(head, &st->events, st->events.first,
                                         st->sent_seq);

    if (mcp_store_final(st)) {
        st->owner_slot = MCP_STORE_NO_SLOT;
        st->inbox.head = 0;
        st->cancelled = 0;
    }

    return mcp_store_repair_log(head, &st->inbox, &rec);
}


/* Repairs all streams. Returns 0 if one could not be kept and was removed: the
 * caller has to start again, because some of its chunks have been marked as
 * used. */
static int
mcp_store_repair_streams(mcp_store_head_t *head)
{
    uint32_t             i;
    unsigned char       *types;
    mcp_store_stream_t  *st;

    types = mcp_store_types(head);

    for (i = 1; i < head->fresh; i++) {
        if (types[i] != MCP_CHUNK_STREAM) {
            continue;
        }

        st = mcp_store_stream(head, i);

        if (st->live == MCP_STREAM_TOMBSTONE) {
            memset(st->link, 0, sizeof(st->link));
            st->text = 0;
            st->join = 0;
            st->repl = 0;
            continue;
        }

        if (!mcp_store_repair_stream(head, st)) {
            st->live = 0;
            return 0;
        }
    }

    return 1;
}


static void
mcp_store_repair_private(mcp_store_head_t *head)
{
    unsigned           i;
    uint32_t           first, count, *link;
    mcp_store_slot_t  *slot;

    for (i = 0; i < MCP_STORE_SLOTS; i++) {
        slot = &head->slots[i];

        if (slot->pid == 0) {
            slot->reserved = 0;
        }

        link = &slot->reserved;

        while (*link != 0) {
            first = *link;

            if (!mcp_store_index_ok(head, first)
                || mcp_store_types(head)[first] != MCP_CHUNK_NONE)
            {
                *link = 0;
                break;
            }

            count = mcp_store_repair_chain(head, &first);
            mcp_store_chunk(head, first)->count = count;
            link = &mcp_store_chunk(head, *link)->skip;
        }
    }
}


/* Frees incomplete entries, and all groups (of sessions, tenants and topics),
 * which the repair rebuilds later. Frees the entry chunks that are then empty,
 * and lists those that have free entries. */
static void
mcp_store_repair_entries(mcp_store_head_t *head)
{
    unsigned              k;
    uint32_t              i, used;
    mcp_store_entry_t    *e;
    mcp_store_entries_t  *entries;

    for (i = 1; i < head->fresh; i++) {
        if (mcp_store_types(head)[i] != MCP_CHUNK_ENTRY) {
            continue;
        }

        entries = (mcp_store_entries_t *) mcp_store_chunk(head, i);
        used = 0;

        for (k = 0; k < MCP_STORE_ENTRIES; k++) {
            e = &entries->entry[k];

            if (e->kind >= MCP_ENTRY_VALUE && e->kind < MCP_ENTRY_SESSION) {
                used |= 1u << k;

            } else {
                e->kind = MCP_ENTRY_FREE;
            }
        }

        entries->used = used;
        entries->partial.prev = 0;
        entries->partial.next = 0;

        if (used == 0) {
            mcp_store_types(head)[i] = MCP_CHUNK_NONE;

        } else if (used != (1u << MCP_STORE_ENTRIES) - 1) {
            mcp_store_list_append(head, &head->partial, &entries->partial);
        }
    }
}


static void
mcp_store_repair_free(mcp_store_head_t *head)
{
    uint32_t        i;
    unsigned char  *types;

    types = mcp_store_types(head);

    for (i = head->fresh - 1; i > 0; i--) {
        if (types[i] == MCP_CHUNK_MARK) {
            types[i] = MCP_CHUNK_NONE;

        } else if (types[i] == MCP_CHUNK_NONE) {
            mcp_store_chunk(head, i)->next = head->free;
            head->free = i;
            head->n_free++;
        }
    }
}


void
mcp_store_repair(mcp_store_op_t *op)
{
    unsigned           i;
    mcp_store_head_t  *head;

    head = op->head;

    do {
        mcp_store_repair_reset(head);
        mcp_store_repair_types(head);

    } while (!mcp_store_repair_streams(head));

    mcp_store_repair_private(head);
    mcp_store_repair_entries(head);
    mcp_store_repair_free(head);

    mcp_store_repair_insert(op);
    mcp_store_repair_replications(op);
    mcp_store_repair_links(op);
    mcp_store_repair_readers(op);
    mcp_store_repair_replicators(op);

    for (i = 0; i < MCP_STORE_SLOTS; i++) {
        if (head->slots[i].dirty.first != 0) {
            atomic_store(&head->slots[i].pending, 1);
            mcp_store_wake_slot(op, i);
        }
    }

    mcp_store_add(head, MCP_COUNT_REPAIRS, 1);
}

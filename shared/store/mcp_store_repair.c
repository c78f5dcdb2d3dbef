/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Repair: what the store derives, built anew from what counts, after a
 * process died with the lock.
 *
 * What counts: streams that are live, with their text, the chain and the
 * first and last number of each log; ghosts; values; subscriptions; private
 * chains; the slots.  Nothing that counts is changed here before it is sure,
 * so that a repair may itself be cut short and begun again.
 */


#include "store/mcp_store_layout.h"


/* Marks a chain that has no records; cuts it off where it does not go on
 * properly, and returns its length. */
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


/* Forgets what is derived. */
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

    memset(&head->orphans, 0, sizeof(mcp_store_list_t));
    memset(head->rank, 0, sizeof(head->rank));
    memset(&head->hungry, 0, sizeof(mcp_store_list_t));
    memset(&head->partial, 0, sizeof(mcp_store_list_t));

    head->free = 0;
    head->n_free = 0;
    head->n_streams = 0;
    head->n_listeners = 0;
    head->n_values = 0;
    head->n_subs = 0;
    head->n_calls = 0;
    head->evictable = 0;
    atomic_store(&head->n_orphans, 0);

    for (i = 0; i < MCP_STORE_SLOTS; i++) {
        memset(&head->slots[i].dirty, 0, sizeof(mcp_store_list_t));
    }
}


/* Leaves only roots typed. */
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

            if (st->live == MCP_STREAM_LIVE || st->live == MCP_STREAM_GHOST) {
                continue;
            }

        } else if (types[i] == MCP_CHUNK_ENTRY) {
            continue;
        }

        types[i] = MCP_CHUNK_NONE;
    }
}


/* Checks one log, or empties it. */
static int
mcp_store_repair_log(mcp_store_head_t *head, mcp_store_log_t *log,
    mcp_store_record_t *rec)
{
    mcp_store_log_t  fixed;

    if (!mcp_store_log_scan(head, log, 1, &fixed, rec)) {
        return 0;
    }

    *log = fixed;

    return 1;
}


/* A stream's own chunks; 0 if it cannot be kept. */
static int
mcp_store_repair_stream(mcp_store_head_t *head, mcp_store_stream_t *st)
{
    mcp_store_record_t  rec;

    memset(st->link, 0, sizeof(st->link));
    memset(&st->subs, 0, sizeof(mcp_store_list_t));

    st->n_subs = 0;
    st->want_room = 0;
    st->session_group = 0;
    st->party_group = 0;

    st->text_chunks = mcp_store_repair_chain(head, &st->text);

    if (!mcp_store_repair_log(head, &st->events, &rec)) {
        return 0;
    }

    if (st->applied_seq != st->events.last) {

        /* the last append did not get to do all that follows from it */

        if (rec.seq == st->events.last) {
            mcp_store_stream_answer(st, &rec);
            st->state = (uint8_t) rec.type;
        }

        mcp_store_barrier();
        st->applied_seq = st->events.last;
    }

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


/* Streams and what hangs on them.  0: one could not be kept and has gone;
 * begin again. */
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

        if (st->live == MCP_STREAM_GHOST) {
            memset(st->link, 0, sizeof(st->link));
            st->text = 0;
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


/* Drops groups and half-made entries, and gives empty chunks back. */
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

            if (e->kind == MCP_ENTRY_VALUE || e->kind == MCP_ENTRY_SUB) {
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


/*
 * Sorts things chained by their first word (a ref), oldest first, by their
 * ordinal, which is at a distance of "offset": a radix sort, one pass a byte.
 */
static uint32_t
mcp_store_repair_sort(mcp_store_head_t *head, uint32_t list, size_t offset)
{
    char      *p;
    unsigned   shift, k;
    uint32_t   ordinal, next, first[256], *last[256], *tail;

    for (shift = 0; shift < 32; shift += 8) {
        for (k = 0; k < 256; k++) {
            first[k] = 0;
            last[k] = &first[k];
        }

        for ( /* void */ ; list; list = next) {
            p = mcp_store_at(head, list);
            next = *(uint32_t *) p;
            memcpy(&ordinal, p + offset, sizeof(ordinal));

            /* the distance from the oldest there can be */
            ordinal -= head->ordinal + 1;
            k = (ordinal >> shift) & 0xff;

            *last[k] = list;
            last[k] = (uint32_t *) p;
            *(uint32_t *) p = 0;
        }

        tail = &list;

        for (k = 0; k < 256; k++) {
            if (first[k] != 0) {
                *tail = first[k];
                tail = last[k];
            }
        }
    }

    return list;
}


/* The owner and consumer of a stream: told, or found to be no more. */
static void
mcp_store_repair_parties(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_head_t  *head;

    head = op->head;

    if (st->consumer_slot != MCP_STORE_NO_SLOT
        && (st->consumer_slot >= MCP_STORE_SLOTS
            || head->slots[st->consumer_slot].pid == 0))
    {
        st->consumer_slot = MCP_STORE_NO_SLOT;
        st->unattended = 0;
    }

    if (st->owner_slot == MCP_STORE_ORPHAN
        || (st->owner_slot < MCP_STORE_SLOTS
            && head->slots[st->owner_slot].pid == 0))
    {
        st->owner_slot = MCP_STORE_ORPHAN;
        mcp_store_list_append(head, &head->orphans,
                              &st->link[MCP_LINK_OWNER]);
        atomic_fetch_add(&head->n_orphans, 1);

    } else {
        mcp_store_mark_owner(op, st);
    }

    mcp_store_mark_consumer(op, st);
}


/* Hash, groups and lists of a stream. */
static void
mcp_store_repair_enter(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_head_t   *head;
    mcp_store_entry_t  *session, *party;

    head = op->head;

    mcp_store_repair_parties(op, st);
    mcp_store_stream_link(head, mcp_store_index(head, st));

    /* there were as many groups before, or more */

    session = mcp_store_group(op, MCP_ENTRY_SESSION, st->session);
    party = mcp_store_group(op, MCP_ENTRY_PARTY, st->party);

    if (session == NULL || party == NULL) {
        return;
    }

    mcp_store_party_enter(op, st, party);

    /* in no session yet: when it joined its list stays as it is */

    mcp_store_stream_settle(op, st);

    st->session_group = mcp_store_ref(head, session);
    session->u.group.count++;

    if (!mcp_store_linked(&st->link[MCP_LINK_LINGER])) {
        session->u.group.active++;
    }

    mcp_store_session_enter(head, session, st);
}


static void
mcp_store_repair_links(mcp_store_op_t *op)
{
    uint32_t             i, list, next;
    mcp_store_head_t    *head;
    mcp_store_stream_t  *st;

    head = op->head;
    list = 0;

    for (i = 1; i < head->fresh; i++) {
        if (mcp_store_types(head)[i] != MCP_CHUNK_STREAM) {
            continue;
        }

        st = mcp_store_stream(head, i);

        if (st->live == MCP_STREAM_LIVE) {
            st->next = list;
            list = mcp_store_ref(head, st);
            continue;
        }

        /* ghosts only wait to be drained */

        mcp_store_mark_owner(op, st);
        mcp_store_mark_consumer(op, st);

        if (!mcp_store_linked(&st->link[MCP_LINK_OWNER])
            && !mcp_store_linked(&st->link[MCP_LINK_CONSUMER]))
        {
            st->live = 0;
            mcp_store_root_free(op, i);
        }
    }

    list = mcp_store_repair_sort(head, list,
                                 offsetof(mcp_store_stream_t, joined));

    for ( /* void */ ; list; list = next) {
        st = mcp_store_at(head, list);
        next = st->next;
        mcp_store_repair_enter(op, st);
    }
}


static void
mcp_store_repair_sub(mcp_store_op_t *op, mcp_store_entry_t *e)
{
    uint32_t             index;
    mcp_store_head_t    *head;
    mcp_store_entry_t   *topic;
    mcp_store_stream_t  *st;

    head = op->head;
    index = e->u.sub.stream;
    topic = NULL;

    memset(&e->u.sub.topic, 0, sizeof(mcp_store_link_t));
    memset(&e->u.sub.peer, 0, sizeof(mcp_store_link_t));

    if (mcp_store_index_ok(head, index)
        && mcp_store_types(head)[index] == MCP_CHUNK_STREAM)
    {
        st = mcp_store_stream(head, index);

        /* one older than the stream was another's that had the chunk */

        if (st->live == MCP_STREAM_LIVE && st->kind == MCP_STREAM_LISTEN
            && mcp_store_older(st->ordinal, e->u.sub.ordinal)
            && !mcp_store_entry_find(head, MCP_ENTRY_SUB, 0, e->key, index))
        {
            topic = mcp_store_group(op, MCP_ENTRY_TOPIC, e->key);
        }
    }

    if (topic == NULL) {
        mcp_store_entry_free(op, e);
        return;
    }

    mcp_store_entry_insert(head, e);
    mcp_store_sub_link(head, topic, e);
}


static void
mcp_store_repair_value(mcp_store_op_t *op, mcp_store_entry_t *e)
{
    mcp_store_entry_t  *party;

    mcp_store_entry_insert(op->head, e);
    op->head->n_values++;
    e->u.value.group = 0;
    memset(&e->u.value.ring, 0, sizeof(mcp_store_link_t));

    if (mcp_store_party_is_nobody(e->u.value.party)) {
        return;
    }

    party = mcp_store_party_value_enter(op, e->u.value.party);

    if (party != NULL) {
        e->u.value.group = mcp_store_ref(op->head, party);

        if (e->pushed) {
            mcp_store_party_push(op, e);
        }
    }
}


/* Values and subscriptions. */
static void
mcp_store_repair_insert(mcp_store_op_t *op)
{
    unsigned              k;
    uint32_t              i, list, next, purpose[256];
    mcp_store_head_t     *head;
    mcp_store_entry_t    *e;
    mcp_store_entries_t  *entries;

    head = op->head;
    list = 0;
    memset(purpose, 0, sizeof(purpose));

    for (i = 1; i < head->fresh; i++) {
        if (mcp_store_types(head)[i] != MCP_CHUNK_ENTRY) {
            continue;
        }

        entries = (mcp_store_entries_t *) mcp_store_chunk(head, i);

        for (k = 0; k < MCP_STORE_ENTRIES; k++) {
            e = &entries->entry[k];

            if (e->kind == MCP_ENTRY_VALUE) {
                purpose[e->purpose]++;
                mcp_store_repair_value(op, e);

            } else if (e->kind == MCP_ENTRY_SUB) {
                e->next = list;
                list = mcp_store_ref(head, e);
            }
        }
    }

    /* at once: others read them without the lock */

    for (k = 0; k < 256; k++) {
        atomic_store(&head->purpose[k], purpose[k]);
    }

    list = mcp_store_repair_sort(head, list,
                                 offsetof(mcp_store_entry_t, u.sub.ordinal));

    for ( /* void */ ; list; list = next) {
        e = mcp_store_at(head, list);
        next = e->next;
        mcp_store_repair_sub(op, e);
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
    mcp_store_repair_links(op);

    for (i = 0; i < MCP_STORE_SLOTS; i++) {
        if (head->slots[i].dirty.first != 0) {
            atomic_store(&head->slots[i].pending, 1);
            mcp_store_wake_slot(op, i);
        }
    }

    mcp_store_add(head, MCP_COUNT_REPAIRS, 1);
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Repairs the store after a process died while it held the lock: rebuilds all
 * derived data from the primary data. Primary data are live streams, with
 * their text and the chain and the first and last number of each log;
 * tombstones; values, with their texts; subscriptions; JOIN and READER
 * entries; replication data; private chains; and slots. A repair changes
 * primary data only if they are certainly wrong, so the repair may itself be
 * interrupted and started again.
 *
 * A repair first finds out which chunks are used, and by which data. For a
 * log, that is a scan of all its records. Then it adds streams, values and
 * subscriptions to their hash tables, groups and lists again, in the order
 * that they had before.
 */


#include "store/mcp_store_layout.h"


/* --- logs --- */

/* The state of a scan over all chunks of a log. */
typedef struct {
    mcp_store_head_t       *head;
    const mcp_store_log_t  *log;
    mcp_store_log_t        *out;
    mcp_store_record_t     *rec;       /* copy of the latest record that was
                                          scanned */
    uint64_t                seq;       /* number of the latest record that was
                                          scanned; 0: none yet */
    uint32_t                left;      /* bytes of the payload of record "seq"
                                          that follow in the next chunks */
    int                     fix;
} mcp_store_scan_t;


/* Begins the scan at the first chunk of a log: sets *offset to the first record
 * that begins in this chunk. That record may be older than the first record of
 * the log. Returns 0 if no record begins in the chunk. In later chunks, does
 * nothing and returns 1. */
static int
mcp_store_scan_begin(mcp_store_scan_t *scan, const mcp_store_chunk_t *chunk,
    uint32_t *offset)
{
    if (scan->seq != 0) {
        return 1;
    }

    if (chunk->first == 0) {
        return 0;
    }

    *offset = chunk->first;
    scan->seq = chunk->seq - 1;
    scan->out->total = chunk->total;

    return 1;
}


/* Counts the record at "offset" of chunk "index". Returns 0 if its number is
 * not the next one. If it is the first record of the chunk, also checks
 * chunk->total: corrects it if scan->fix is 1, and otherwise returns 0 if it is
 * wrong. */
static int
mcp_store_scan_record(mcp_store_scan_t *scan, uint32_t index, uint32_t offset)
{
    mcp_store_chunk_t   *chunk;
    mcp_store_record_t  *rec;

    chunk = mcp_store_chunk(scan->head, index);
    rec = (mcp_store_record_t *) ((char *) chunk + offset);

    if (rec->seq != scan->seq + 1) {
        return 0;
    }

    if (rec->seq == scan->log->first) {
        scan->out->head = index;
        scan->out->offset = offset;
    }

    if (rec->seq >= scan->log->first) {
        scan->out->bytes += rec->len;
    }

    if (offset == chunk->first && chunk->total != scan->out->total) {
        if (!scan->fix) {
            return 0;
        }

        chunk->total = scan->out->total;
    }

    scan->out->total += rec->len;
    scan->seq = rec->seq;
    *scan->rec = *rec;

    return 1;
}


/* Counts the records that begin in chunk "index" at "offset" or later. Returns
 * 0 if the log is broken. */
static int
mcp_store_scan_records(mcp_store_scan_t *scan, uint32_t index, uint32_t offset)
{
    uint32_t            end, n, len;
    mcp_store_chunk_t  *chunk;

    chunk = mcp_store_chunk(scan->head, index);
    end = offset;

    if (!mcp_store_scan_begin(scan, chunk, &offset)) {
        return 0;
    }

    while (scan->seq < scan->log->last) {
        offset = mcp_store_align8(offset);

        if (offset + MCP_RECORD_HEAD > chunk->used) {
            break;
        }

        if (!mcp_store_scan_record(scan, index, offset)) {
            return 0;
        }

        len = scan->rec->len;
        offset += MCP_RECORD_HEAD;
        n = chunk->used - offset;
        n = n < len ? n : len;
        scan->left = len - n;
        offset += n;
        end = offset;

        if (scan->left > 0) {
            if (chunk->used != MCP_STORE_CHUNK) {
                return 0;
            }

            break;
        }
    }

    scan->out->tail = index;

    if (scan->fix && scan->seq == scan->log->last && scan->left == 0) {
        /* removes the rest of an append that was not committed */
        chunk->used = (uint16_t) end;
        chunk->next = 0;

        if (chunk->first >= end) {
            chunk->first = 0;
        }
    }

    return 1;
}


/* Scans one chunk. Returns 0 if it is broken. */
static int
mcp_store_scan_chunk(mcp_store_scan_t *scan, uint32_t index)
{
    uint32_t            n;
    mcp_store_chunk_t  *chunk;

    chunk = mcp_store_chunk(scan->head, index);

    if (chunk->used > MCP_STORE_CHUNK || chunk->used < MCP_CHUNK_HEAD
        || chunk->first > chunk->used
        || (chunk->first != 0 && chunk->first < MCP_CHUNK_HEAD))
    {
        return 0;
    }

    n = chunk->used - MCP_CHUNK_HEAD;

    if (n > scan->left) {
        n = scan->left;

    } else if (n < scan->left && chunk->used != MCP_STORE_CHUNK) {
        return 0;
    }

    scan->left -= n;

    if (scan->left > 0) {
        scan->out->tail = index;
        return 1;
    }

    return mcp_store_scan_records(scan, index, MCP_CHUNK_HEAD + n);
}


/* Computes again which chunks of a log are its marks. */
static void
mcp_store_log_remark(mcp_store_head_t *head, mcp_store_log_t *log)
{
    uint32_t            index;
    mcp_store_chunk_t  *chunk;

    for (index = log->head; index; index = chunk->next) {
        chunk = mcp_store_chunk(head, index);
        chunk->skip = 0;
        chunk->count = 0;

        if (chunk->first != 0) {
            mcp_store_log_mark(head, log, index, 1);

        } else {
            log->since++;
        }
    }
}


/* Scans all chunks of a log, and sets the type of the chunks in use to
 * MCP_CHUNK_MARK. Returns 0 if the log is broken. */
static int
mcp_store_scan_chain(mcp_store_scan_t *scan)
{
    uint32_t        index, n;
    unsigned char  *types;

    types = mcp_store_types(scan->head);
    index = scan->log->head;

    for (n = 0; n < scan->head->chunks; n++) {
        if (!mcp_store_index_ok(scan->head, index)
            || types[index] != MCP_CHUNK_NONE
            || !mcp_store_scan_chunk(scan, index))
        {
            return 0;
        }

        /* all records in the chunks before that of record "first" were removed,
         * so these chunks become free */

        if (scan->out->head != 0) {
            types[index] = MCP_CHUNK_MARK;
            scan->out->chunks++;
        }

        if (scan->seq == scan->log->last && scan->left == 0) {
            break;
        }

        index = mcp_store_chunk(scan->head, index)->next;
    }

    return scan->out->head != 0;
}


int
mcp_store_log_scan(mcp_store_head_t *head, const mcp_store_log_t *log, int fix,
    mcp_store_log_t *out, mcp_store_record_t *rec)
{
    mcp_store_scan_t  scan = { head, log, out, rec, 0, 0, fix };

    memset(out, 0, sizeof(mcp_store_log_t));
    memset(rec, 0, sizeof(mcp_store_record_t));
    out->first = log->first;
    out->last = log->last;
    out->total = log->total;

    if (log->head == 0 || log->first == log->last + 1) {
        out->first = log->last + 1;
        return 1;
    }

    if (log->first > log->last || log->first == 0
        || !mcp_store_scan_chain(&scan))
    {
        return 0;
    }

    if (fix) {
        mcp_store_log_remark(head, out);
    }

    return 1;
}


/* Scans a log, corrects *log and the derived data in its chunks, and sets *rec
 * to the last record. Returns 1, or 0 if the log is broken. */
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


/* --- hash tables, groups and lists --- */

/* Sorts a list of structures by the ordinal at "offset" in each, oldest first:
 * a radix sort with a pass for each byte. The structures are linked by a ref
 * in their first word. Returns the first one. */
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

            /* ordinals wrap, so their distances from the oldest possible
             * ordinal are sorted */
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


/* Wakes the owner, the consumer and the joined readers of a stream. If the
 * owner is dead, makes the stream ownerless; if the consumer is dead, detaches
 * it. */
static void
mcp_store_repair_processes(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_head_t         *head;
    mcp_store_replication_t  *repl;

    head = op->head;

    if (st->consumer_slot == MCP_STORE_REMOTE_CONSUMER && st->repl != 0) {
        repl = mcp_store_replication_of(head, st->repl);

        if (repl->reader < st->consumer_handle) {
            repl->reader = st->consumer_handle;
        }

    } else if (st->consumer_slot != MCP_STORE_NO_SLOT
               && (st->consumer_slot >= MCP_STORE_SLOTS
                   || head->slots[st->consumer_slot].pid == 0))
    {
        st->consumer_slot = MCP_STORE_NO_SLOT;
        st->unattended = 0;
    }

    if (st->owner_slot == MCP_STORE_OWNERLESS
        || (st->owner_slot < MCP_STORE_SLOTS
            && head->slots[st->owner_slot].pid == 0)
        || (st->owner_slot == MCP_STORE_NO_SLOT
            && st->kind == MCP_STREAM_CALL && !mcp_store_final(st)
            && !mcp_store_is_mirror(head, st)))
    {
        st->owner_slot = MCP_STORE_OWNERLESS;
        mcp_store_mark_ownerless(head, &st->link[MCP_LINK_OWNER]);

    } else {
        mcp_store_mark_owner(op, st);
    }

    mcp_store_mark_consumer(op, st);
}


/* Adds a stream to the hash table, to the groups of its session and its
 * tenant, and to their lists. */
static void
mcp_store_repair_enter(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    mcp_store_head_t   *head;
    mcp_store_entry_t  *session, *tenant;

    head = op->head;

    mcp_store_repair_processes(op, st);
    mcp_store_stream_link(head, mcp_store_index(head, st));

    /* there is room, because at least as many groups existed before the
     * repair */

    session = mcp_store_group(op, MCP_ENTRY_SESSION, 0, st->session);
    tenant = mcp_store_tenant_group(op, st->tenant);

    if (session == NULL || tenant == NULL) {
        return;
    }

    mcp_store_tenant_enter(op, st, tenant);

    /* moves the stream to its ring before it enters its session's list:
     * otherwise mcp_store_stream_settle() would also move it to the top of the
     * session's other list */

    mcp_store_stream_settle(op, st);

    mcp_store_session_enter(head, session, st);
}


/* Adds all streams to the hash table, and to their groups and lists. */
static void
mcp_store_repair_links(mcp_store_op_t *op)
{
    uint32_t             i, list, next;
    mcp_store_head_t    *head;
    mcp_store_stream_t  *st;

    head = op->head;
    list = 0;
    i = 0;

    while ((i = mcp_store_next_chunk(head, i, MCP_CHUNK_STREAM)) != 0) {
        st = mcp_store_stream(head, i);

        if (st->live == MCP_STREAM_LIVE) {
            st->next = list;
            list = mcp_store_ref(head, st);
            continue;
        }

        /* a tombstone only has to notify its owner and its consumer */
        mcp_store_mark_owner(op, st);
        mcp_store_mark_consumer(op, st);
        mcp_store_tombstone_settle(op, st);
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
    mcp_store_head_t    *head;
    mcp_store_entry_t   *topic;
    mcp_store_stream_t  *st;

    head = op->head;
    topic = NULL;
    memset(&e->u.sub.topic, 0, sizeof(mcp_store_link_t));
    memset(&e->u.sub.peer, 0, sizeof(mcp_store_link_t));

    /* a subscription older than the stream belonged to an earlier stream in
     * the same chunk */
    st = mcp_store_stream_at(head, e->u.sub.stream);

    if (st != NULL && st->kind == MCP_STREAM_LISTEN
        && mcp_store_older(head, st->ordinal, e->u.sub.ordinal)
        && !mcp_store_entry_find(head, MCP_ENTRY_SUB, 0, e->key,
                                 e->u.sub.stream))
    {
        topic = mcp_store_group(op, MCP_ENTRY_TOPIC, 0, e->key);
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
    mcp_store_entry_t  *tenant;

    mcp_store_entry_insert(op->head, e);
    op->head->n_values++;
    e->u.value.group = 0;
    memset(&e->u.value.ring, 0, sizeof(mcp_store_link_t));

    if (mcp_digest_is_nobody(e->u.value.tenant)
        && !mcp_store_value_has_text(e->purpose))
    {
        return;
    }

    if (mcp_store_value_has_text(e->purpose)) {
        mcp_store_upstream_enter(op->head, e->u.value.value);
    }

    tenant = mcp_store_tenant_value_enter(op, e->u.value.tenant,
                                          mcp_store_value_has_text(e->purpose));

    if (tenant != NULL) {
        e->u.value.group = mcp_store_ref(op->head, tenant);

        if (e->pushed) {
            mcp_store_tenant_push(op, e);
        }
    }
}


/* Adds all values, subscriptions and JOIN entries to the hash table, and to
 * their groups and lists. */
static void
mcp_store_repair_insert(mcp_store_op_t *op)
{
    unsigned              k;
    uint32_t              i, list, next, purpose[256];
    mcp_store_head_t     *head;
    mcp_store_entry_t    *e;

    head = op->head;
    list = 0;
    i = 0;
    memset(purpose, 0, sizeof(purpose));
    mcp_store_upstream_reset(head);

    while ((i = mcp_store_next_chunk(head, i, MCP_CHUNK_ENTRY)) != 0) {
        for (k = 0; k < MCP_STORE_ENTRIES; k++) {
            e = &mcp_store_entries(head, i)->entry[k];

            if (e->kind == MCP_ENTRY_VALUE) {
                purpose[e->purpose]++;
                mcp_store_repair_value(op, e);
            } else if (e->kind == MCP_ENTRY_SUB) {
                e->next = list;
                list = mcp_store_ref(head, e);
            } else if (e->kind == MCP_ENTRY_JOIN) {
                mcp_store_repair_join(op, e);
            }
        }
    }

    /* the complete counts are stored at once, because other processes read
     * them without the lock */
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


/* --- chunks --- */

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
    memset(head->blocked, 0, sizeof(head->blocked));
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
    uint32_t        i, live;
    unsigned char  *types;

    types = mcp_store_types(head);

    for (i = 1; i < head->fresh; i++) {
        live = mcp_store_stream(head, i)->live;

        if (types[i] != MCP_CHUNK_ENTRY
            && (types[i] != MCP_CHUNK_STREAM
                || (live != MCP_STREAM_LIVE && live != MCP_STREAM_TOMBSTONE))
            && (types[i] != MCP_CHUNK_REPLICATION
                || mcp_store_replication_of(head, i)->live
                   != MCP_REPLICATION_LIVE))
        {
            types[i] = MCP_CHUNK_NONE;
        }
    }
}


/* Applies the effects of the last event, whose record is *rec, to the stream's
 * state and answers, in case the process died after the commit of the event and
 * before it applied them. */
static void
mcp_store_repair_apply(mcp_store_stream_t *st, const mcp_store_record_t *rec)
{
    if (st->applied_seq == st->events.last) {
        return;
    }

    if (rec->seq == st->events.last) {
        mcp_store_stream_response(st, rec);
        st->state = (uint8_t) rec->type;
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
    st->blocked = 0;
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
    mcp_store_stream_t  *st;

    i = 0;

    while ((i = mcp_store_next_chunk(head, i, MCP_CHUNK_STREAM)) != 0) {
        st = mcp_store_stream(head, i);

        if (st->live == MCP_STREAM_TOMBSTONE) {
            memset(st->link, 0, sizeof(st->link));
            st->text = 0;
            st->join = 0;
            st->repl = 0;
        } else if (!mcp_store_repair_stream(head, st)) {
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


/* Sets the type of the chunk with a value's text to MCP_CHUNK_MARK. Returns 0
 * if there is no valid text: "index" is not that of a chunk with data, the
 * chunk has another use, or the process died while it changed the text. */
static int
mcp_store_repair_text(mcp_store_head_t *head, uint32_t index)
{
    unsigned char      *types;
    mcp_store_chunk_t  *chunk;

    types = mcp_store_types(head);

    if (index == 0 || index >= head->fresh || types[index] != MCP_CHUNK_NONE) {
        return 0;
    }

    chunk = mcp_store_chunk(head, index);

    if (chunk->used < MCP_CHUNK_HEAD || chunk->used > MCP_STORE_CHUNK) {
        return 0;
    }

    chunk->next = 0;
    types[index] = MCP_CHUNK_MARK;

    return 1;
}


/* Returns 1 if an entry is complete and not a group. Marks the chunk that a
 * value with text uses. */
static int
mcp_store_repair_keeps(mcp_store_head_t *head, const mcp_store_entry_t *e)
{
    if (e->kind < MCP_ENTRY_VALUE || e->kind >= MCP_ENTRY_SESSION) {
        return 0;
    }

    return e->kind != MCP_ENTRY_VALUE || !mcp_store_value_has_text(e->purpose)
           || mcp_store_repair_text(head, e->u.value.value);
}


/* Frees incomplete entries, values without their text, and all groups (of
 * sessions, tenants and topics), which the repair rebuilds later. Frees the
 * entry chunks that are then empty, and lists those that have free entries. */
static void
mcp_store_repair_entries(mcp_store_head_t *head)
{
    unsigned              k;
    uint32_t              i;
    mcp_store_entry_t    *e;
    mcp_store_entries_t  *entries;

    i = 0;

    while ((i = mcp_store_next_chunk(head, i, MCP_CHUNK_ENTRY)) != 0) {
        entries = mcp_store_entries(head, i);
        entries->used = 0;
        entries->partial = (mcp_store_link_t) { 0, 0 };

        for (k = 0; k < MCP_STORE_ENTRIES; k++) {
            e = &entries->entry[k];

            if (mcp_store_repair_keeps(head, e)) {
                entries->used |= 1u << k;
            } else {
                e->kind = MCP_ENTRY_FREE;
            }
        }

        if (entries->used == 0) {
            mcp_store_types(head)[i] = MCP_CHUNK_NONE;
        } else if (entries->used != (1u << MCP_STORE_ENTRIES) - 1) {
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

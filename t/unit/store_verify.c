/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Checks every invariant of a store's region while the lock is held. During
 * the check, the type bytes of chunks that are not roots mark the chunks that
 * were already found.
 */


#include "store_verify.h"


typedef struct {
    mcp_store_op_t    *op;
    mcp_store_head_t  *head;
    const char        *why;
    uint32_t           streams;
    uint32_t           listeners;
    uint32_t           mirrors;
    uint32_t           values;
    uint32_t           texts;          /* values with text */
    uint32_t           servers[MCP_STORE_UPSTREAMS];  /* sessions of each MCP
                                                         server */
    uint32_t           subs;
    uint32_t           groups;
    uint32_t           members;        /* members of groups, minus the sum of
                                          the groups' own counts */
    uint32_t           calls;          /* calls that do not linger */
    uint32_t           evictable;
    uint32_t           unread;
    uint32_t           ranked;
    uint32_t           blocked;
    uint32_t           joins;          /* JOIN entries, minus streams that can
                                          be joined */
    uint32_t           readers;        /* READER entries, minus the sum of the
                                          counts in JOIN entries */
    uint32_t           shares;         /* SHARE chunks with a stream, minus
                                          replicated streams */
    uint32_t           dirty;          /* links that are in some dirty list or
                                          in the list of ownerless streams */
    uint32_t           roots;
    uint32_t           data;
} store_verify_t;


/* Stores the first broken invariant. */
static void
store_expect(store_verify_t *v, int ok, const char *why)
{
    if (!ok && v->why == NULL) {
        v->why = why;
    }
}


/* Returns the length of a list, or -1 if one of its links is broken. */
static int64_t
store_verify_list(store_verify_t *v, const mcp_store_list_t *list)
{
    int64_t            n;
    uint32_t           ref, prev;
    mcp_store_link_t  *link;

    if (list->first == 0) {
        return 0;
    }

    prev = MCP_STORE_END;

    for (n = 0, ref = list->first; ref != MCP_STORE_END; n++) {
        if (ref == 0 || n > (int64_t) v->head->chunks * MCP_STORE_ENTRIES) {
            return -1;
        }

        link = mcp_store_at(v->head, ref);

        if (link->prev != prev) {
            return -1;
        }

        prev = ref;
        ref = link->next;
    }

    return list->last == prev ? n : -1;
}


static void
store_verify_chain(store_verify_t *v, uint32_t first, uint32_t count)
{
    uint32_t        n;
    unsigned char  *types;

    types = mcp_store_types(v->head);

    for (n = 0; first && n < v->head->chunks; n++) {
        if (!mcp_store_index_ok(v->head, first)
            || types[first] != MCP_CHUNK_NONE)
        {
            store_expect(v, 0, "a chunk has two uses");
            return;
        }

        types[first] = MCP_CHUNK_MARK;
        v->data++;
        first = mcp_store_chunk(v->head, first)->next;
    }

    store_expect(v, n == count, "a chain's length");
}


static void
store_verify_log(store_verify_t *v, const mcp_store_log_t *log)
{
    mcp_store_log_t     out;
    mcp_store_record_t  rec;

    if (log->head == 0) {
        store_expect(v, log->first == log->last + 1 && log->chunks == 0
                        && log->bytes == 0, "an empty log");
        return;
    }

    if (!mcp_store_log_scan(v->head, log, 0, &out, &rec)) {
        store_expect(v, 0, "a log is broken");
        return;
    }

    v->data += out.chunks;

    store_expect(v, out.head == log->head, "a log's head");
    store_expect(v, out.tail == log->tail, "a log's tail");
    store_expect(v, out.offset == log->offset, "a log's offset");
    store_expect(v, out.chunks == log->chunks, "a log's chunks");
    store_expect(v, out.bytes == log->bytes, "a log's bytes");
    store_expect(v, out.total == log->total, "a log's total");
    store_expect(v, mcp_store_chunk(v->head, log->tail)->next == 0,
                 "a log's end");
}


/* Checks one link of a stream. A link that is in a list must belong to a slot
 * with a process, or ownerless. store_verify_slots() compares the number
 * of such links with the lengths of the lists. */
static void
store_verify_side(store_verify_t *v, const mcp_store_stream_t *st,
    unsigned role, uint32_t slot)
{
    if (!mcp_store_linked(&st->link[role])) {
        store_expect(v, slot != MCP_STORE_OWNERLESS, "an ownerless stream is lost");
        return;
    }

    v->dirty++;

    store_expect(v, slot == MCP_STORE_OWNERLESS
                    || (slot < MCP_STORE_SLOTS
                        && v->head->slots[slot].pid != 0),
                 "something waits for nobody");
}


static void
store_verify_group(store_verify_t *v, const mcp_store_stream_t *st,
    unsigned kind, uint32_t ref, const unsigned char key[MCP_DIGEST_LEN])
{
    mcp_store_entry_t  *group;

    group = mcp_store_entry_find(v->head, kind, 0, key, 0);

    store_expect(v, group && mcp_store_ref(v->head, group) == ref,
                 "a stream's group");
    v->members++;

    (void) st;
}


static void
store_verify_stream(store_verify_t *v, mcp_store_stream_t *st,
    uint32_t index)
{
    int  lingering;

    store_expect(v, st->self == index, "a stream's index");

    v->streams++;
    v->joins -= st->join != 0;
    v->shares -= st->repl != 0;
    v->listeners += st->kind == MCP_STREAM_LISTEN;

    store_expect(v, mcp_store_stream_find(v->op, st->id) == st,
                 "a stream is not found");
    store_verify_chain(v, st->text, st->text_chunks);
    store_verify_log(v, &st->events);
    store_verify_log(v, &st->inbox);

    store_expect(v, st->applied_seq == st->events.last, "applied");
    store_expect(v, st->sent_seq <= st->events.last, "sent");
    store_expect(v, st->confirmed_seq <= st->events.last, "confirmed");
    store_expect(v, st->sent_bytes
                    == mcp_store_log_bytes(v->op->head, &st->events,
                                           st->events.first,
                                           st->sent_seq), "bytes sent");
    store_expect(v, !mcp_store_final(st)
                    || (st->owner_slot == MCP_STORE_NO_SLOT
                        && st->inbox.head == 0 && st->cancelled == 0),
                 "a stream is over");

    store_expect(v, st->consumer_slot != MCP_STORE_REMOTE_CONSUMER || st->repl,
                 "a consumer elsewhere");

    store_verify_side(v, st, MCP_LINK_OWNER, st->owner_slot);
    store_verify_side(v, st, MCP_LINK_CONSUMER, st->consumer_slot);

    store_verify_group(v, st, MCP_ENTRY_SESSION, st->session_group,
                       st->session);
    store_verify_group(v, st, MCP_ENTRY_TENANT, st->tenant_entry,
                       st->tenant);

    lingering = mcp_store_in_ring(st, MCP_EVICT_LINGER);
    v->blocked +=
        (uint32_t) mcp_store_linked(&st->link[MCP_LINK_BLOCKED_ON_SPACE]);

    store_expect(v, lingering == mcp_store_stream_settled(v->head, st),
                 "lingering");
    store_expect(v, st->evict == (mcp_store_stream_ring(v->head, st) + 1)
                                 % (MCP_EVICT_MAX + 1), "a tenant's ring");
    store_expect(v, store_verify_list(v, &st->subs) == st->n_subs,
                 "a stream's subscriptions");
}


/* Checks one of a session's two lists, which must have n streams: those that
 * linger, or all others. */
static void
store_verify_session(store_verify_t *v, const mcp_store_entry_t *e,
    const mcp_store_list_t *list, int lingering, int64_t n)
{
    uint32_t             ref, before;
    mcp_store_stream_t  *st;

    before = v->head->ordinal + 1;

    store_expect(v, store_verify_list(v, list) == n,
                 "a session's list");

    for (ref = list->first; ref && ref != MCP_STORE_END;
         ref = st->link[MCP_LINK_SESSION].next)
    {
        st = mcp_store_container(v->head, ref, mcp_store_stream_t,
                                 link[MCP_LINK_SESSION]);

        store_expect(v, mcp_store_in_ring(st, MCP_EVICT_LINGER)
                        == lingering, "a session's other list");
        store_expect(v, memcmp(st->session, e->key, MCP_DIGEST_LEN) == 0,
                     "a session's stream");
        store_expect(v, mcp_store_older(v->head, st->joined, before),
                     "a session's order");
        before = st->joined;
    }
}


/* Returns 1 if the tenant group at ref is "group" or contains it. */
static int
store_verify_within(store_verify_t *v, uint32_t group, uint32_t ref)
{
    mcp_store_entry_t  *tenant;

    for (tenant = group ? mcp_store_at(v->head, group) : NULL;
         tenant != NULL;
         tenant = mcp_store_tenant_up(v->head, tenant))
    {
        if (mcp_store_ref(v->head, tenant) == ref) {
            return 1;
        }
    }

    return 0;
}


/* Counts everything that belongs to a tenant group, by a scan of all chunks.
 * sum->next counts only the streams that belong to the group directly, and not
 * to a group within it. */
static void
store_verify_members(store_verify_t *v, uint32_t ref,
    mcp_store_entry_t *sum)
{
    uint32_t              i, size;
    unsigned              k;
    mcp_store_stream_t   *st;
    mcp_store_entries_t  *entries;

    memset(sum, 0, sizeof(mcp_store_entry_t));

    for (i = 1; i < v->head->fresh; i++) {
        st = mcp_store_stream(v->head, i);

        if (mcp_store_types(v->head)[i] == MCP_CHUNK_ENTRY) {
            entries = (mcp_store_entries_t *) mcp_store_chunk(v->head, i);

            for (k = 0; k < MCP_STORE_ENTRIES; k++) {
                if (entries->entry[k].kind == MCP_ENTRY_VALUE
                    && store_verify_within(v, entries->entry[k].u.value.group,
                                           ref))
                {
                    sum->u.tenant.values++;
                    sum->u.tenant.pushed += entries->entry[k].pushed
                        && entries->entry[k].u.value.group == ref;
                }
            }
        }

        if (mcp_store_types(v->head)[i] != MCP_CHUNK_STREAM
            || st->live != MCP_STREAM_LIVE
            || !store_verify_within(v, st->tenant_entry, ref))
        {
            continue;
        }

        size = mcp_store_tenant_size(st);

        sum->u.tenant.listeners += st->kind == MCP_STREAM_LISTEN;
        sum->u.tenant.streams += st->kind == MCP_STREAM_CALL
                                && !mcp_store_stream_settled(v->head, st);
        sum->u.tenant.chunks += size;

        k = mcp_store_stream_ring(v->head, st);

        if (k != MCP_EVICT_IDLE && k != MCP_EVICT_LINGER) {
            sum->u.tenant.held += size;
        }

        if (st->tenant_entry == ref) {
            sum->next++;

            if (k != MCP_EVICT_MAX) {
                sum->u.tenant.ring[k]++;
            }
        }
    }
}


/* Checks that a tenant's ring k has n streams, and that its first stream is in
 * the list of the tenant's rank. */
static void
store_verify_rank(store_verify_t *v, const mcp_store_entry_t *e,
    unsigned k, uint32_t n)
{
    uint32_t             ref, first, before;
    mcp_store_stream_t  *st;

    before = e->u.tenant.ring[k];

    for (ref = before; ref != 0 && n != 0; n--) {
        ref = ((mcp_store_link_t *) mcp_store_at(v->head, before))->next;
        st = mcp_store_container(v->head, ref, mcp_store_stream_t,
                                 link[MCP_LINK_EVICT]);
        store_expect(v, mcp_store_in_ring(st, k)
                        && st->link[MCP_LINK_EVICT].prev == before
                        && st->tenant_entry == mcp_store_ref(v->head, e),
                     "a stream in a tenant's ring");
        before = ref;
    }

    store_expect(v, n == 0 && ref == e->u.tenant.ring[k], "a tenant's ring");

    if (e->u.tenant.ring[k] == 0) {
        return;
    }

    st = mcp_store_tenant_first(v->head, e, k);
    first = mcp_store_ref(v->head, &st->link[MCP_LINK_RANK]);
    ref = v->head->rank[k][e->rank].first;

    while (ref != first && ref != 0 && ref != MCP_STORE_END) {
        ref = ((mcp_store_link_t *) mcp_store_at(v->head, ref))->next;
    }

    store_expect(v, ref == first, "a tenant's rank");
    v->ranked++;
}


/* Checks that a tenant's ring of pushed values has n members. */
static void
store_verify_ring(store_verify_t *v, const mcp_store_entry_t *tenant,
    uint32_t n)
{
    uint32_t            ref, before;
    mcp_store_entry_t  *e;

    before = tenant->u.tenant.pushed;

    for (ref = before; ref != 0 && n != 0; n--) {
        ref = ((mcp_store_link_t *) mcp_store_at(v->head, before))->next;
        e = mcp_store_container(v->head, ref, mcp_store_entry_t,
                                u.value.ring);

        store_expect(v, e->pushed && e->u.value.ring.prev == before,
                     "a pushed value");
        before = ref;
    }

    store_expect(v, n == 0 && ref == tenant->u.tenant.pushed,
                 "a tenant's pushed values");
}


static void
store_verify_tenant(store_verify_t *v, const mcp_store_entry_t *e)
{
    unsigned           k;
    mcp_store_entry_t  sum;

    store_verify_members(v, mcp_store_ref(v->head, e), &sum);

    v->members -= sum.next;

    if (mcp_store_tenant_up(v->head, e) == NULL) {
        v->calls += sum.u.tenant.streams;
        v->evictable += sum.u.tenant.chunks - sum.u.tenant.held;
    }

    v->unread += sum.u.tenant.ring[MCP_EVICT_OVER]
                 + sum.u.tenant.ring[MCP_EVICT_LEFT];

    store_expect(v, sum.u.tenant.chunks || sum.u.tenant.values,
                 "a tenant without anything");
    store_expect(v, sum.u.tenant.streams == e->u.tenant.streams,
                 "a tenant's streams");
    store_expect(v, sum.u.tenant.listeners == e->u.tenant.listeners,
                 "a tenant's listeners");
    store_expect(v, sum.u.tenant.values == e->u.tenant.values,
                 "a tenant's values");
    store_verify_ring(v, e, sum.u.tenant.pushed);
    store_expect(v, sum.u.tenant.chunks == e->u.tenant.chunks,
                 "a tenant's chunks");
    store_expect(v, sum.u.tenant.held == e->u.tenant.held,
                 "what a party holds");

    for (k = 0; k < MCP_EVICT_MAX; k++) {
        store_verify_rank(v, e, k, sum.u.tenant.ring[k]);
    }
}


static void
store_verify_topic(store_verify_t *v, const mcp_store_entry_t *e)
{
    uint32_t            ref, before;
    mcp_store_entry_t  *sub;

    before = v->head->ordinal + 1;

    for (ref = e->u.group.list.first; ref && ref != MCP_STORE_END;
         ref = sub->u.sub.topic.next)
    {
        sub = mcp_store_container(v->head, ref, mcp_store_entry_t,
                                  u.sub.topic);

        store_expect(v, sub->kind == MCP_ENTRY_SUB
                        && memcmp(sub->key, e->key, MCP_DIGEST_LEN) == 0,
                     "a topic's subscription");
        store_expect(v, mcp_store_older(v->head, sub->u.sub.ordinal, before),
                     "a topic's order");
        before = sub->u.sub.ordinal;
    }
}


/* Checks a JOIN entry: its stream, and its list of joined readers. */
static void
store_verify_join(store_verify_t *v, const mcp_store_entry_t *e)
{
    mcp_store_stream_t  *st;

    st = mcp_store_stream_find(v->op, e->u.join.id);

    store_expect(v, st != NULL && st->self == e->u.join.stream
                    && st->join == mcp_store_ref(v->head, e),
                 "a call to join");
    store_expect(v, store_verify_list(v, &e->u.join.readers)
                    == e->u.join.count, "those who have joined");
    v->readers -= e->u.join.count;
    v->joins++;
}


static void
store_verify_reader(store_verify_t *v, const mcp_store_entry_t *e)
{
    store_expect(v, e->u.reader.slot < MCP_STORE_SLOTS
                    && v->head->slots[e->u.reader.slot].pid != 0,
                 "a reader's process");

    v->readers += (uint32_t) mcp_store_linked(&e->u.reader.peer);
    v->dirty += (uint32_t) mcp_store_linked(&e->u.reader.dirty);
}


/* Checks a value: the group that counts it, and the chunk with its text. */
static void
store_verify_value(store_verify_t *v, const mcp_store_entry_t *e)
{
    unsigned                    text;
    mcp_store_entry_t          *group;
    mcp_store_chunk_t          *chunk;
    mcp_store_upstream_data_t  *server;

    text = mcp_store_value_has_text(e->purpose);
    v->values++;
    v->texts += text;

    store_expect(v, (e->u.value.group == 0)
                    == (!text
                        && mcp_digest_is_nobody(e->u.value.tenant)),
                 "a value's party");

    if (e->u.value.group != 0) {
        group = mcp_store_at(v->head, e->u.value.group);
        store_expect(v, group->kind == MCP_ENTRY_TENANT
                        && group->purpose == text
                        && memcmp(group->key, e->u.value.tenant,
                                  MCP_DIGEST_LEN) == 0,
                     "a value is counted in another group");
    }

    if (!text) {
        return;
    }

    store_expect(v, e->pushed, "a text that cannot be replaced");

    if (e->u.value.value == 0 || e->u.value.value >= v->head->fresh) {
        store_expect(v, 0, "a text has no chunk");
        return;
    }

    store_verify_chain(v, e->u.value.value, 1);
    chunk = mcp_store_chunk(v->head, e->u.value.value);
    store_expect(v, chunk->used >= MCP_CHUNK_HEAD
                    && chunk->used <= MCP_STORE_CHUNK, "a text's length");

    server = mcp_store_upstream_row(v->head, chunk->count);

    if (server) {
        v->servers[server - mcp_store_upstreams(v->head)]++;
    }
}


static void
store_verify_entry(store_verify_t *v, mcp_store_entry_t *e)
{
    int64_t   active;
    uint32_t  stream;

    stream = e->kind == MCP_ENTRY_SUB ? e->u.sub.stream
             : e->kind == MCP_ENTRY_READER ? e->u.reader.tag : 0;

    store_expect(v, mcp_store_entry_find(v->head, e->kind, e->purpose,
                                         e->key, stream) == e,
                 "an entry is not found");

    switch (e->kind) {

    case MCP_ENTRY_VALUE:
        store_verify_value(v, e);
        return;

    case MCP_ENTRY_SUB:
        v->subs++;
        store_expect(v, mcp_store_linked(&e->u.sub.topic)
                        && mcp_store_linked(&e->u.sub.peer),
                     "a subscription is in no list");
        store_expect(v, mcp_store_stream(v->head, stream)->live
                        == MCP_STREAM_LIVE, "a subscription's stream");
        return;

    case MCP_ENTRY_JOIN:
        store_verify_join(v, e);
        return;

    case MCP_ENTRY_READER:
        store_verify_reader(v, e);
        return;

    default:
        break;
    }

    v->groups++;

    if (e->kind == MCP_ENTRY_TENANT) {
        store_verify_tenant(v, e);
        return;
    }

    store_expect(v, e->u.group.count > 0, "an empty group");

    switch (e->kind) {

    case MCP_ENTRY_SESSION:
        v->members -= e->u.group.count;
        active = e->u.group.active;
        store_verify_session(v, e, &e->u.group.list, 0, active);
        store_verify_session(v, e, &e->u.group.sent, 1,
                             e->u.group.count - active);
        return;

    default:
        store_expect(v, store_verify_list(v, &e->u.group.list)
                        == e->u.group.count, "a topic's list");
        store_verify_topic(v, e);
    }
}


static void
store_verify_entries(store_verify_t *v, uint32_t index)
{
    unsigned              k;
    mcp_store_entries_t  *entries;

    entries = (mcp_store_entries_t *) mcp_store_chunk(v->head, index);

    store_expect(v, entries->used != 0, "an empty chunk of entries");
    store_expect(v, mcp_store_linked(&entries->partial)
                    == (entries->used != (1u << MCP_STORE_ENTRIES) - 1),
                 "a chunk of entries in the wrong list");

    for (k = 0; k < MCP_STORE_ENTRIES; k++) {
        store_expect(v, !(entries->used & (1u << k))
                        == (entries->entry[k].kind == MCP_ENTRY_FREE),
                     "an entry's bit");

        if (entries->used & (1u << k)) {
            store_verify_entry(v, &entries->entry[k]);
        }
    }
}


/* Checks a mirror: it has no owner, and the owner's answers count for all
 * events that the mirror has. */
static void
store_verify_mirror(store_verify_t *v, const mcp_store_replication_t *share,
    const mcp_store_stream_t *st)
{
    const mcp_store_checkpoint_t  *known;

    known = &share->known[share->which];

    store_expect(v, st->owner_slot == MCP_STORE_NO_SLOT
                    && st->inbox.head == 0 && st->cancelled == 0,
                 "a mirror's owner");
    store_expect(v,
                 share->sync == 0
                     && st->consumer_slot != MCP_STORE_REMOTE_CONSUMER
                     && share->here <= share->reader,
                 "a mirror's reader");
    store_expect(v, known->seq <= share->last, "what is known of a mirror");
    store_expect(v, known->seq > st->events.last
                    || (known->answered & ~st->answered) == 0,
                 "what a mirror has answered");
}


/* Checks the SHARE chunk of a replicated stream, which may outlive the stream
 * until its replicator is notified. */
static void
store_verify_share(store_verify_t *v, uint32_t index)
{
    mcp_store_replication_t  *share;
    mcp_store_stream_t       *st;

    share = mcp_store_replication_of(v->head, index);
    v->dirty += (uint32_t) mcp_store_linked(&share->link);

    store_expect(v, share->live == MCP_REPLICATION_LIVE, "half a share");
    store_expect(v, share->slot < MCP_STORE_SLOTS
                    ? v->head->slots[share->slot].pid != 0
                    : share->slot == (share->mirror ? MCP_STORE_NO_SLOT
                                                    : MCP_STORE_OWNERLESS),
                 "a copier's process");

    if (share->stream == 0) {
        store_expect(v, mcp_store_linked(&share->link),
                     "a share for nobody");
        return;
    }

    v->shares++;
    st = mcp_store_stream(v->head, share->stream);

    store_expect(v, st->live == MCP_STREAM_LIVE && st->repl == index
                    && memcmp(st->id, share->id, MCP_STREAM_ID_LEN) == 0,
                 "a shared stream");
    store_expect(v, share->acked.seq <= st->events.last, "acked");
    store_expect(v, !share->sync || st->sent_seq <= share->acked.seq,
                 "sent before it was acked");
    store_expect(v, share->slot != MCP_STORE_OWNERLESS
                    || mcp_store_linked(&share->link) == mcp_store_final(st),
                 "a stream that nobody copies");

    if (share->mirror) {
        v->mirrors++;
        store_verify_mirror(v, share, st);
    }
}


static void
store_verify_roots(store_verify_t *v)
{
    uint32_t             i;
    mcp_store_stream_t  *st;

    for (i = 1; i < v->head->fresh; i++) {
        switch (mcp_store_types(v->head)[i]) {

        case MCP_CHUNK_STREAM:
            v->roots++;
            st = mcp_store_stream(v->head, i);

            if (st->live == MCP_STREAM_LIVE) {
                store_verify_stream(v, st, i);
                break;
            }

            store_expect(v, st->live == MCP_STREAM_TOMBSTONE,
                         "half a stream");
            store_expect(v, mcp_store_linked(&st->link[MCP_LINK_OWNER])
                            || mcp_store_linked(
                                   &st->link[MCP_LINK_CONSUMER]),
                         "a ghost for nobody");
            v->dirty += (uint32_t)
                        (mcp_store_linked(&st->link[MCP_LINK_OWNER])
                         + mcp_store_linked(&st->link[MCP_LINK_CONSUMER]));
            break;

        case MCP_CHUNK_REPLICATION:
            v->roots++;
            store_verify_share(v, i);
            break;

        case MCP_CHUNK_ENTRY:
            v->roots++;
            store_verify_entries(v, i);
            break;

        default:
            break;
        }
    }
}


static void
store_verify_slots(store_verify_t *v)
{
    int64_t            n, dirty;
    unsigned           i;
    uint32_t           first, chunks;
    mcp_store_slot_t  *slot;

    dirty = store_verify_list(v, &v->head->ownerless);
    store_expect(v, dirty == atomic_load(&v->head->n_ownerless), "ownerless");

    for (i = 0; i < MCP_STORE_SLOTS; i++) {
        slot = &v->head->slots[i];
        n = store_verify_list(v, &slot->dirty);

        store_expect(v, n >= 0, "a slot's list");
        store_expect(v, n == 0 || atomic_load(&slot->pending),
                     "a slot was not woken");
        store_expect(v, n == 0 || slot->pid != 0, "a dead slot's list");
        store_expect(v, slot->reserved == 0 || slot->pid != 0,
                     "a dead slot's chains");
        dirty += n;

        for (first = slot->reserved; first != 0 && v->why == NULL;
             first = mcp_store_chunk(v->head, first)->skip)
        {
            chunks = mcp_store_chunk(v->head, first)->count;
            store_verify_chain(v, first, chunks);
        }
    }

    store_expect(v, dirty == v->dirty, "what waits");
}


static void
store_verify_free(store_verify_t *v)
{
    uint32_t        i, n;
    unsigned char  *types;

    types = mcp_store_types(v->head);

    for (n = 0, i = v->head->free; i && n <= v->head->chunks; n++) {
        if (!mcp_store_index_ok(v->head, i) || types[i] != MCP_CHUNK_NONE) {
            store_expect(v, 0, "a free chunk is in use");
            break;
        }

        types[i] = MCP_CHUNK_FREE;
        i = mcp_store_chunk(v->head, i)->next;
    }

    store_expect(v, n == v->head->n_free, "number of free chunks");
    store_expect(v, n + v->roots + v->data + 1 == v->head->fresh,
                 "a chunk is lost");
}


/* Checks that the rank lists contain only the first streams of rings. */
static void
store_verify_ranks(store_verify_t *v)
{
    int64_t   n;
    unsigned  i, k;

    n = 0;

    for (k = 0; k < MCP_EVICT_MAX; k++) {
        for (i = 0; i < MCP_STORE_RANKS; i++) {
            n += store_verify_list(v, &v->head->rank[k][i]);
        }
    }

    store_expect(v, n == v->ranked, "ranks");
}


static void
store_verify_counts(store_verify_t *v)
{
    unsigned           i;
    uint32_t           values;
    mcp_store_head_t  *head;

    head = v->head;
    values = 0;

    for (i = 0; i < 256; i++) {
        values += atomic_load(&head->purpose[i]);
    }

    store_expect(v, values == v->values, "values of purposes");
    store_expect(v, head->n_values == v->values, "number of values");
    store_expect(v, mcp_store_values(head, 1) == v->texts,
                 "number of values with text");

    for (i = 0; i < head->max_upstreams; i++) {
        store_expect(v, atomic_load(&mcp_store_upstreams(head)[i].sessions)
                        == v->servers[i], "sessions of an MCP server");
    }

    store_expect(v, head->n_subs == v->subs, "subscriptions");
    store_expect(v, head->n_streams == v->streams, "streams");
    store_expect(v, head->n_listeners == v->listeners, "listeners");
    store_expect(v, head->n_mirrors == v->mirrors, "mirrors");
    store_expect(v, v->members == 0, "members of groups");
    store_expect(v, v->joins == 0, "calls to join");
    store_expect(v, v->readers == 0, "readers");
    store_expect(v, v->shares == 0, "shared streams");
    store_expect(v, head->n_calls == v->calls, "calls");
    store_expect(v, head->evictable == v->evictable, "evictable");
    store_expect(v, head->n_unread == v->unread, "unread");
    store_verify_ranks(v);
    store_expect(v, store_verify_list(v, &head->blocked[0])
                    + store_verify_list(v, &head->blocked[1]) == v->blocked,
                 "streams blocked on space");
    store_expect(v, store_verify_list(v, &head->partial) >= 0,
                 "chunks of entries");
}


int
store_verify(mcp_store_t *store, const char **why)
{
    uint32_t            i;
    unsigned char      *types;
    mcp_store_op_t      op;
    store_verify_t  v;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        *why = "no lock";
        return MCP_ERR_INTERNAL;
    }

    memset(&v, 0, sizeof(store_verify_t));
    v.op = &op;
    v.head = op.head;
    types = mcp_store_types(v.head);

    for (i = 1; i <= v.head->chunks; i++) {
        if (types[i] == MCP_CHUNK_MARK || types[i] == MCP_CHUNK_FREE) {
            types[i] = MCP_CHUNK_NONE;
        }
    }

    store_verify_roots(&v);
    store_verify_slots(&v);
    store_verify_free(&v);
    store_verify_counts(&v);

    for (i = 1; i <= v.head->chunks; i++) {
        if (types[i] == MCP_CHUNK_MARK || types[i] == MCP_CHUNK_FREE) {
            types[i] = MCP_CHUNK_NONE;
        }
    }

    mcp_store_leave(&op);

    *why = v.why;

    return v.why ? MCP_ERR_INTERNAL : MCP_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What each party has of the region.
 *
 * A party's group counts its streams, their chunks and its values, and has two
 * lists of streams that may be evicted: idle listeners, and streams that
 * linger.  The first stream of each list also hangs in a list of all parties of
 * the same rank, which have about as many chunks, so that the largest party is
 * found at once.
 */


#include "store/mcp_store_layout.h"


_Static_assert(MCP_LINK_LINGER == MCP_LINK_IDLE + 1, "links of those to evict");


static uint32_t
mcp_store_party_size(const mcp_store_stream_t *st)
{
    return 1 + st->text_chunks + st->events.chunks + st->inbox.chunks
           + mcp_store_subs_chunks(st->n_subs);
}


uint32_t
mcp_store_subs_chunks(uint32_t n)
{
    return (2 * n + MCP_STORE_ENTRIES - 1) / MCP_STORE_ENTRIES;
}


int
mcp_store_party_is_nobody(const unsigned char id[MCP_DIGEST_LEN])
{
    static const unsigned char  nobody[MCP_DIGEST_LEN];

    return memcmp(id, nobody, MCP_DIGEST_LEN) == 0;
}


/* --- ranks --- */

/* Returns the rank of a size: there are four to each power of two. */
static unsigned
mcp_store_party_rank(uint32_t chunks)
{
    unsigned  log;

    if (chunks < 8) {
        return chunks;
    }

    log = 31 - (unsigned) __builtin_clz(chunks);

    return 4 * (log - 1) + ((chunks >> (log - 2)) & 3);
}


static void
mcp_store_party_rank_enter(mcp_store_head_t *head, mcp_store_entry_t *party,
    unsigned k)
{
    mcp_store_stream_t  *st;

    st = mcp_store_party_first(head, party, k);

    if (st != NULL) {
        mcp_store_list_append(head, &head->rank[k][party->rank],
                              &st->link[MCP_LINK_RANK]);
    }
}


static void
mcp_store_party_rank_leave(mcp_store_head_t *head, mcp_store_entry_t *party,
    unsigned k)
{
    mcp_store_stream_t  *st;

    st = mcp_store_party_first(head, party, k);

    if (st != NULL) {
        mcp_store_list_remove(head, &head->rank[k][party->rank],
                              &st->link[MCP_LINK_RANK]);
    }
}


/* Counts n chunks more, or less, for a party. */
static void
mcp_store_party_add(mcp_store_head_t *head, mcp_store_entry_t *party,
    uint32_t n)
{
    unsigned  k, rank;

    party->u.party.chunks += n;
    rank = mcp_store_party_rank(party->u.party.chunks);

    if (rank == party->rank) {
        return;
    }

    for (k = 0; k < MCP_EVICT_MAX; k++) {
        mcp_store_party_rank_leave(head, party, k);
    }

    party->rank = (uint8_t) rank;

    for (k = 0; k < MCP_EVICT_MAX; k++) {
        mcp_store_party_rank_enter(head, party, k);
    }
}


/* --- members --- */

static int
mcp_store_party_evictable(const mcp_store_stream_t *st)
{
    return mcp_store_linked(&st->link[MCP_LINK_IDLE])
           || mcp_store_linked(&st->link[MCP_LINK_LINGER]);
}


/* Counts n chunks more, or less, of a stream: as evictable, or as held. */
static void
mcp_store_party_hold(mcp_store_head_t *head, mcp_store_entry_t *party,
    const mcp_store_stream_t *st, uint32_t n)
{
    if (mcp_store_party_evictable(st)) {
        head->evictable += n;

    } else {
        party->u.party.held += n;
    }
}


/* Counts n chunks more, or less, of a stream. */
static void
mcp_store_party_change(mcp_store_head_t *head, const mcp_store_stream_t *st,
    uint32_t n)
{
    mcp_store_entry_t  *party;

    if (n == 0 || st->party_group == 0) {
        return;
    }

    party = mcp_store_party_of(head, st);

    mcp_store_party_hold(head, party, st, n);
    mcp_store_party_add(head, party, n);
}


void
mcp_store_party_resize(mcp_store_op_t *op, const mcp_store_log_t *log,
    uint32_t n)
{
    mcp_store_party_change(op->head,
                           mcp_store_stream(op->head,
                                            mcp_store_index(op->head, log)),
                           n);
}


void
mcp_store_party_subs(mcp_store_head_t *head, mcp_store_stream_t *st,
    uint32_t n)
{
    uint32_t  before;

    before = mcp_store_subs_chunks(st->n_subs);
    st->n_subs = n;

    mcp_store_party_change(head, st, mcp_store_subs_chunks(n) - before);
}


/* Counts a call that does not linger; n is 1 or -1. */
static void
mcp_store_party_count(mcp_store_head_t *head, mcp_store_entry_t *party,
    const mcp_store_stream_t *st, uint32_t n)
{
    if (st->kind == MCP_STREAM_CALL) {
        party->u.party.streams += n;
        head->n_calls += n;
    }
}


static void
mcp_store_party_list_enter(mcp_store_head_t *head, mcp_store_entry_t *party,
    mcp_store_stream_t *st, unsigned k)
{
    int                first;
    uint32_t           size;
    mcp_store_list_t  *list;

    size = mcp_store_party_size(st);
    list = &party->u.party.list[k];
    first = (list->first == 0);

    mcp_store_party_hold(head, party, st, (uint32_t) -(int32_t) size);
    mcp_store_list_append(head, list, &st->link[MCP_LINK_IDLE + k]);
    mcp_store_party_hold(head, party, st, size);

    if (first) {
        mcp_store_party_rank_enter(head, party, k);
    }

    if (k == MCP_EVICT_LINGER) {
        mcp_store_party_count(head, party, st, (uint32_t) -1);
    }
}


static void
mcp_store_party_list_leave(mcp_store_head_t *head, mcp_store_entry_t *party,
    mcp_store_stream_t *st, unsigned k)
{
    int                first;
    uint32_t           size;
    mcp_store_link_t  *link;

    link = &st->link[MCP_LINK_IDLE + k];

    if (!mcp_store_linked(link)) {
        return;
    }

    size = mcp_store_party_size(st);
    first = mcp_store_party_first(head, party, k) == st;

    if (first) {
        mcp_store_party_rank_leave(head, party, k);
    }

    mcp_store_party_hold(head, party, st, (uint32_t) -(int32_t) size);
    mcp_store_list_remove(head, &party->u.party.list[k], link);
    mcp_store_party_hold(head, party, st, size);

    if (first) {
        mcp_store_party_rank_enter(head, party, k);
    }

    if (k == MCP_EVICT_LINGER) {
        mcp_store_party_count(head, party, st, 1);
    }
}


int
mcp_store_stream_idle(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    return st->kind == MCP_STREAM_LISTEN && !mcp_store_final(st) && st->seen
           && st->consumer_slot == MCP_STORE_NO_SLOT
           && st->sent_seq >= st->events.last
           && !mcp_store_is_mirror(head, st);
}


void
mcp_store_party_settle(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    int                 want[MCP_EVICT_MAX];
    unsigned            k;
    mcp_store_entry_t  *party;

    if (st->party_group == 0) {
        return;
    }

    party = mcp_store_party_of(op->head, st);

    want[MCP_EVICT_IDLE] = mcp_store_stream_idle(op->head, st);
    want[MCP_EVICT_LINGER] = mcp_store_stream_settled(op->head, st);

    for (k = 0; k < MCP_EVICT_MAX; k++) {
        if (!want[k]) {
            mcp_store_party_list_leave(op->head, party, st, k);
        }
    }

    for (k = 0; k < MCP_EVICT_MAX; k++) {
        if (want[k] && !mcp_store_linked(&st->link[MCP_LINK_IDLE + k])) {
            mcp_store_party_list_enter(op->head, party, st, k);
        }
    }
}


void
mcp_store_party_enter(mcp_store_op_t *op, mcp_store_stream_t *st,
    mcp_store_entry_t *party)
{
    uint32_t  size;

    st->party_group = mcp_store_ref(op->head, party);
    size = mcp_store_party_size(st);

    mcp_store_party_count(op->head, party, st, 1);
    party->u.party.listeners += st->kind == MCP_STREAM_LISTEN;
    party->u.party.held += size;
    mcp_store_party_add(op->head, party, size);
}


/* Ends a group that has nothing left to count. */
static void
mcp_store_party_check(mcp_store_op_t *op, mcp_store_entry_t *party)
{
    if (party->u.party.chunks == 0 && party->u.party.values == 0) {
        mcp_store_entry_free(op, party);
    }
}


void
mcp_store_party_leave(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    unsigned            k;
    uint32_t            size;
    mcp_store_entry_t  *party;

    if (st->party_group == 0) {
        return;                        /* see repair */
    }

    party = mcp_store_party_of(op->head, st);
    size = mcp_store_party_size(st);

    for (k = 0; k < MCP_EVICT_MAX; k++) {
        mcp_store_party_list_leave(op->head, party, st, k);
    }

    st->party_group = 0;

    mcp_store_party_count(op->head, party, st, (uint32_t) -1);
    party->u.party.listeners -= st->kind == MCP_STREAM_LISTEN;
    party->u.party.held -= size;
    mcp_store_party_add(op->head, party, (uint32_t) -(int32_t) size);

    mcp_store_party_check(op, party);
}


mcp_store_entry_t *
mcp_store_party_value_enter(mcp_store_op_t *op,
    const unsigned char id[MCP_DIGEST_LEN])
{
    mcp_store_entry_t  *party;

    party = mcp_store_group(op, MCP_ENTRY_PARTY, id);

    if (party != NULL) {
        party->u.party.values++;
    }

    return party;
}


void
mcp_store_party_value_leave(mcp_store_op_t *op, uint32_t ref)
{
    mcp_store_entry_t  *party;

    if (ref == 0) {
        return;
    }

    party = mcp_store_at(op->head, ref);
    party->u.party.values--;

    mcp_store_party_check(op, party);
}


/* --- values that may give way --- */

void
mcp_store_party_push(mcp_store_op_t *op, mcp_store_entry_t *e)
{
    uint32_t            ref;
    mcp_store_link_t   *link, *newest, *oldest;
    mcp_store_entry_t  *party;

    link = &e->u.value.ring;
    ref = mcp_store_ref(op->head, link);
    party = mcp_store_at(op->head, e->u.value.group);

    if (party->u.party.pushed == 0) {
        link->prev = ref;
        link->next = ref;

    } else {
        newest = mcp_store_at(op->head, party->u.party.pushed);
        oldest = mcp_store_at(op->head, newest->next);

        link->prev = party->u.party.pushed;
        link->next = newest->next;
        newest->next = ref;
        oldest->prev = ref;
    }

    party->u.party.pushed = ref;
}


void
mcp_store_party_pull(mcp_store_op_t *op, mcp_store_entry_t *e)
{
    uint32_t            ref;
    mcp_store_link_t   *link, *other;
    mcp_store_entry_t  *party;

    link = &e->u.value.ring;

    if (!mcp_store_linked(link)) {
        return;
    }

    ref = mcp_store_ref(op->head, link);
    party = mcp_store_at(op->head, e->u.value.group);

    if (party->u.party.pushed == ref) {
        party->u.party.pushed = link->prev == ref ? 0 : link->prev;
    }

    other = mcp_store_at(op->head, link->prev);
    other->next = link->next;
    other = mcp_store_at(op->head, link->next);
    other->prev = link->prev;

    link->prev = 0;
    link->next = 0;
}


mcp_store_entry_t *
mcp_store_party_oldest(mcp_store_op_t *op, const mcp_party_t *party)
{
    mcp_store_link_t   *newest;
    mcp_store_entry_t  *group;

    group = mcp_store_entry_find(op->head, MCP_ENTRY_PARTY, 0, party->id, 0);

    if (group == NULL || group->u.party.pushed == 0) {
        return NULL;
    }

    newest = mcp_store_at(op->head, group->u.party.pushed);

    return mcp_store_container(op->head, newest->next, mcp_store_entry_t,
                               u.value.ring);
}

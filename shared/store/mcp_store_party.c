/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What each party has of the region, and who goes when there is no room.
 *
 * A party's group counts its streams, their chunks and its values, and has two
 * lists of those that may be evicted: listeners that nobody reads and that have
 * nothing to bring, and streams that linger.  The first stream of each list
 * hangs in a list of all parties that have about as many chunks, its rank, so
 * that the largest party is found at once.
 */


#include "store/mcp_store_layout.h"


_Static_assert(MCP_LINK_LINGER == MCP_LINK_IDLE + 1, "links of those to evict");


/* An answer of so many chunks goes out whatever its party has: what is over
 * takes no more room. */
#define MCP_STORE_ANSWER  8


static mcp_store_entry_t *
mcp_store_party_of(mcp_store_head_t *head, const mcp_store_stream_t *st)
{
    return mcp_store_at(head, st->party_group);
}


static uint32_t
mcp_store_party_size(const mcp_store_stream_t *st)
{
    return 1 + st->text_chunks + st->events.chunks + st->inbox.chunks;
}


int
mcp_store_party_is_nobody(const unsigned char id[MCP_DIGEST_LEN])
{
    static const unsigned char  nobody[MCP_DIGEST_LEN];

    return memcmp(id, nobody, MCP_DIGEST_LEN) == 0;
}


/* --- ranks --- */

/* Four to a power of two. */
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


static mcp_store_stream_t *
mcp_store_party_first(mcp_store_head_t *head, const mcp_store_entry_t *party,
    unsigned k)
{
    uint32_t  ref;

    ref = party->u.party.list[k].first;

    return ref ? mcp_store_container(head, ref, mcp_store_stream_t,
                                     link[MCP_LINK_IDLE + k])
               : NULL;
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


/* It has so many chunks more, or less. */
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


/* Chunks of a stream that is in one of the lists, or is not, come or go. */
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


void
mcp_store_party_resize(mcp_store_op_t *op, const mcp_store_log_t *log,
    uint32_t n)
{
    mcp_store_entry_t   *party;
    mcp_store_stream_t  *st;

    st = mcp_store_stream(op->head, mcp_store_index(op->head, log));

    if (n == 0 || st->party_group == 0) {
        return;
    }

    party = mcp_store_party_of(op->head, st);

    mcp_store_party_hold(op->head, party, st, n);
    mcp_store_party_add(op->head, party, n);
}


/* Calls that do not linger count. */
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
mcp_store_stream_idle(const mcp_store_stream_t *st)
{
    return st->kind == MCP_STREAM_LISTEN && !mcp_store_final(st) && st->seen
           && st->consumer_slot == MCP_STORE_NO_SLOT
           && st->sent_seq >= st->events.last;
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

    want[MCP_EVICT_IDLE] = mcp_store_stream_idle(st);
    want[MCP_EVICT_LINGER] = mcp_store_stream_settled(st);

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


/* A group that counts nothing is none. */
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


/* --- quotas --- */

/*
 * Whether so many more may be taken by who has so many, of what is free of all.
 * A share is half of what others leave: several who are greedy at once get the
 * same, and leave as much.  But of those who come one after the other each
 * would leave half of the last one's; so the last eighth is for who has little,
 * and takes little of it.
 */
static int
mcp_store_share(uint64_t quota, uint64_t own, uint64_t n, uint64_t free,
    uint64_t all)
{
    uint64_t  little;

    own += n;

    if (quota == MCP_QUOTA_OFF) {
        return 1;
    }

    if (quota != MCP_QUOTA_SHARE) {
        return own <= quota;
    }

    if (n > free) {
        return 0;
    }

    free -= n;

    if (own + all / MCP_STORE_LAST <= free) {
        return 1;
    }

    little = all / MCP_STORE_LITTLE;
    little = little > 2 * MCP_STORE_LEAST ? little : 2 * MCP_STORE_LEAST;

    return own <= little && own <= free / 4;
}


static uint64_t
mcp_store_left(uint64_t all, uint64_t used)
{
    return used < all ? all - used : 0;
}


/* Of bytes as chunks. */
static uint64_t
mcp_store_quota_chunks(uint64_t bytes)
{
    if (bytes == MCP_QUOTA_SHARE || bytes == MCP_QUOTA_OFF) {
        return bytes;
    }

    return bytes < MCP_STORE_CHUNK ? 1 : bytes / MCP_STORE_CHUNK;
}


uint32_t
mcp_store_party_quota(const mcp_party_t *party)
{
    uint64_t  chunks;

    chunks = mcp_store_party_is_nobody(party->id)
             ? MCP_QUOTA_OFF : mcp_store_quota_chunks(party->bytes);

    return chunks < MCP_STORE_NO_QUOTA ? (uint32_t) chunks
                                       : MCP_STORE_NO_QUOTA;
}


/* Room that is there, or will be as soon as it is needed. */
static uint64_t
mcp_store_party_free(const mcp_store_head_t *head)
{
    return (uint64_t) mcp_store_room(head, 0) + head->evictable;
}


int
mcp_store_party_allows(mcp_store_op_t *op, const mcp_store_stream_t *st,
    uint32_t n, int answer)
{
    uint64_t  held, quota;

    if (st->quota == MCP_STORE_NO_QUOTA || st->party_group == 0
        || (answer && n <= MCP_STORE_ANSWER))
    {
        return 1;
    }

    held = mcp_store_party_of(op->head, st)->u.party.held;
    quota = st->quota == 0 ? MCP_QUOTA_SHARE : st->quota;

    return mcp_store_share(quota, held, n, mcp_store_party_free(op->head),
                           op->head->chunks);
}


int
mcp_store_party_large(mcp_store_op_t *op, const mcp_store_stream_t *st,
    uint32_t n)
{
    if (st->quota == MCP_STORE_NO_QUOTA) {
        return 0;
    }

    return !mcp_store_share(st->quota == 0 ? MCP_QUOTA_SHARE : st->quota, 0,
                            n, op->head->chunks, op->head->chunks);
}


/* Without a group a party has nothing yet. */
static int
mcp_store_party_takes(mcp_store_head_t *head, const mcp_store_entry_t *group,
    const mcp_party_t *party, mcp_stream_kind_e kind, uint32_t chunks)
{
    uint64_t  own, all, used, quota;

    if (kind == MCP_STREAM_CALL) {
        quota = party->streams;
        own = group ? group->u.party.streams : 0;
        all = head->chunks / MCP_STORE_CALLS;
        used = head->n_calls;

    } else {
        quota = party->listeners;
        own = group ? group->u.party.listeners : 0;
        all = head->chunks / MCP_STORE_LISTENERS;
        used = head->n_listeners;
    }

    return mcp_store_share(quota, own, 1, mcp_store_left(all, used), all)
           && mcp_store_share(mcp_store_quota_chunks(party->bytes),
                              group ? group->u.party.held : 0, chunks,
                              mcp_store_party_free(head), head->chunks);
}


int
mcp_store_party_may_create(mcp_store_op_t *op, const mcp_party_t *party,
    mcp_stream_kind_e kind, uint32_t chunks)
{
    mcp_store_entry_t  *group;

    if (mcp_store_party_is_nobody(party->id)) {
        return 1;
    }

    group = mcp_store_entry_find(op->head, MCP_ENTRY_PARTY, 0, party->id, 0);

    return mcp_store_party_takes(op->head, group, party, kind, chunks);
}


int
mcp_store_party_may_value(mcp_store_op_t *op, const mcp_party_t *party)
{
    uint64_t            own, all;
    mcp_store_entry_t  *group;

    group = mcp_store_entry_find(op->head, MCP_ENTRY_PARTY, 0, party->id, 0);
    own = group ? group->u.party.values : 0;
    all = mcp_store_values_max(op->head);

    return mcp_store_share(party->values, own, 1,
                           mcp_store_left(all, op->head->n_values), all);
}


/* --- who goes --- */

/* The party's first of a list, other than the one that is being worked on. */
static mcp_store_stream_t *
mcp_store_victim_of(mcp_store_op_t *op, const mcp_store_entry_t *party,
    unsigned k)
{
    uint32_t             ref;
    mcp_store_stream_t  *st;

    st = mcp_store_party_first(op->head, party, k);

    if (st == NULL || st != op->keep) {
        return st;
    }

    ref = st->link[MCP_LINK_IDLE + k].next;

    return ref == MCP_STORE_END ? NULL
           : mcp_store_container(op->head, ref, mcp_store_stream_t,
                                 link[MCP_LINK_IDLE + k]);
}


/* The same of the largest party that is of this rank or above. */
static mcp_store_stream_t *
mcp_store_victim_largest(mcp_store_op_t *op, unsigned k, unsigned least)
{
    uint32_t             ref;
    unsigned             rank;
    mcp_store_head_t    *head;
    mcp_store_stream_t  *st, *victim;

    head = op->head;

    for (rank = MCP_STORE_RANKS; rank-- > least; /* void */ ) {
        ref = head->rank[k][rank].first;

        /* a second one is looked at only where the first is kept */

        while (ref != 0 && ref != MCP_STORE_END) {
            st = mcp_store_container(head, ref, mcp_store_stream_t,
                                     link[MCP_LINK_RANK]);
            victim = mcp_store_victim_of(op, mcp_store_party_of(head, st), k);

            if (victim != NULL) {
                return victim;
            }

            ref = st->link[MCP_LINK_RANK].next;
        }
    }

    return NULL;
}


mcp_store_stream_t *
mcp_store_victim(mcp_store_op_t *op)
{
    unsigned             rank;
    mcp_store_entry_t   *own;
    mcp_store_stream_t  *st;

    if (op->head->evictable == 0) {
        return NULL;
    }

    own = op->party ? mcp_store_entry_find(op->head, MCP_ENTRY_PARTY, 0,
                                           op->party, 0)
                    : NULL;
    rank = own ? own->rank + 1 : 0;

    /* who listens without being there misses nothing */

    st = own ? mcp_store_victim_of(op, own, MCP_EVICT_IDLE) : NULL;

    if (st == NULL) {
        st = mcp_store_victim_largest(op, MCP_EVICT_IDLE, 0);
    }

    if (st == NULL && own) {
        st = mcp_store_victim_of(op, own, MCP_EVICT_LINGER);
    }

    /* nobody makes room for who has more */

    if (st == NULL) {
        st = mcp_store_victim_largest(op, MCP_EVICT_LINGER, rank);
    }

    return st;
}


/* --- asked before a backend is troubled --- */

int
mcp_store_admits(mcp_store_t *store,
    const unsigned char session[MCP_DIGEST_LEN], uint32_t session_limit,
    const mcp_party_t *party)
{
    int                rc;
    uint32_t           calls, room;
    uint64_t           all, bytes;
    mcp_store_op_t     op;
    mcp_store_head_t  *head;

    head = store->head;
    calls = atomic_load_explicit(&head->hint_calls, memory_order_relaxed);
    room = atomic_load_explicit(&head->hint_room, memory_order_relaxed);
    bytes = mcp_store_quota_chunks(party->bytes);
    all = head->chunks / MCP_STORE_CALLS;

    /* mostly none would have too much if all of it were his */

    if (room >= MCP_STORE_LEAST
        && (session_limit == 0 || calls < session_limit)
        && (mcp_store_party_is_nobody(party->id)
            || (mcp_store_share(party->streams, calls, 1,
                                mcp_store_left(all, calls), all)
                && mcp_store_share(bytes, head->chunks - room,
                                   MCP_STORE_LEAST, room, head->chunks))))
    {
        return MCP_OK;
    }

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    op.party = party->id;
    rc = MCP_OK;

    if (mcp_store_session_crowded(head, session, session_limit)
        || !mcp_store_party_may_create(&op, party, MCP_STREAM_CALL,
                                       MCP_STORE_LEAST))
    {
        rc = MCP_ERR_LIMIT;

    } else if (mcp_store_room(head, 0) < MCP_STORE_LEAST
               && mcp_store_victim(&op) == NULL)
    {
        rc = MCP_ERR_FULL;
    }

    mcp_store_leave(&op);

    return rc;
}

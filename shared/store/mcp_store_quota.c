/* SPDX-License-Identifier: Apache-2.0 */

/* How much of the region a party may have. */


#include "store/mcp_store_layout.h"


/* An answer of at most so many chunks goes out whatever its party has: a stream
 * that is over takes no more room. */
#define MCP_STORE_ANSWER  8


/*
 * Whether a party that has "own" may take n more, when "free" of "all" is free.
 *
 * A share is half of what others leave: parties that take all they can at the
 * same time get equal shares, and leave as much for the next.  Parties that
 * come one after the other would each find half of what the last one found; so
 * the last eighth is kept for those that have little and take little.
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


/* Converts a quota from bytes to chunks. */
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


/* Returns the room that is free, or will be as soon as it is needed. */
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


/* group is NULL for a party that has nothing yet. */
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


/* Whether a call would be admitted even if its session and party had all that
 * is taken, as far as can be seen without the lock. */
static int
mcp_store_admits_at_once(const mcp_store_head_t *head, uint32_t session_limit,
    const mcp_party_t *party)
{
    uint32_t  calls, room;
    uint64_t  all, bytes;

    calls = atomic_load_explicit(&head->hint_calls, memory_order_relaxed);
    room = atomic_load_explicit(&head->hint_room, memory_order_relaxed);

    if (room < MCP_STORE_LEAST
        || (session_limit != 0 && calls >= session_limit))
    {
        return 0;
    }

    if (mcp_store_party_is_nobody(party->id)) {
        return 1;
    }

    bytes = mcp_store_quota_chunks(party->bytes);
    all = head->chunks / MCP_STORE_CALLS;

    return mcp_store_share(party->streams, calls, 1,
                           mcp_store_left(all, calls), all)
           && mcp_store_share(bytes, head->chunks - room, MCP_STORE_LEAST,
                              room, head->chunks);
}


int
mcp_store_admits(mcp_store_t *store,
    const unsigned char session[MCP_DIGEST_LEN], uint32_t session_limit,
    const mcp_party_t *party)
{
    int                rc;
    mcp_store_op_t     op;
    mcp_store_head_t  *head;

    head = store->head;

    if (mcp_store_admits_at_once(head, session_limit, party)) {
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

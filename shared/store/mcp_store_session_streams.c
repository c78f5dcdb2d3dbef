/* SPDX-License-Identifier: Apache-2.0 */

/* The streams of a session, in two lists, each with the latest first: streams
 * that linger, and all others. */


#include "store/mcp_store_layout.h"


static mcp_store_list_t *
mcp_store_session_list(mcp_store_entry_t *session, int lingering)
{
    return lingering ? &session->u.group.sent : &session->u.group.list;
}


void
mcp_store_session_enter(mcp_store_head_t *head, mcp_store_entry_t *session,
    mcp_store_stream_t *st)
{
    mcp_store_list_t  *list;

    list = mcp_store_session_list(session,
                                  mcp_store_in_ring(st, MCP_EVICT_LINGER));

    mcp_store_list_prepend(head, list, &st->link[MCP_LINK_SESSION]);
}


void
mcp_store_session_move(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    int                 lingering;
    mcp_store_entry_t  *session;

    if (st->session_group == 0) {      /* see repair */
        return;
    }

    lingering = mcp_store_in_ring(st, MCP_EVICT_LINGER);
    session = mcp_store_at(op->head, st->session_group);
    session->u.group.active += lingering ? (uint32_t) -1 : 1;

    mcp_store_list_remove(op->head,
                          mcp_store_session_list(session, !lingering),
                          &st->link[MCP_LINK_SESSION]);

    /* the ordinal is taken before the stream gets it, so that no later stream
     * gets the same one, even if this process dies in between */

    op->head->ordinal++;
    mcp_store_barrier();
    st->joined = op->head->ordinal;

    mcp_store_session_enter(op->head, session, st);
}


void
mcp_store_session_leave(mcp_store_op_t *op, mcp_store_stream_t *st)
{
    int                 lingering;
    mcp_store_entry_t  *session;

    if (st->session_group == 0) {      /* see repair */
        return;
    }

    lingering = mcp_store_in_ring(st, MCP_EVICT_LINGER);
    session = mcp_store_at(op->head, st->session_group);

    mcp_store_list_remove(op->head,
                          mcp_store_session_list(session, lingering),
                          &st->link[MCP_LINK_SESSION]);

    if (!lingering) {
        session->u.group.active--;
    }

    mcp_store_group_leave(op, st->session_group);
}


/*
 * Returns the next stream of one of a session's lists after "position": the
 * index of the previous stream, and the ordinal with which it entered the
 * list. If that stream has left the list, the list is searched for the first
 * older stream.
 */
static mcp_store_stream_t *
mcp_store_session_stream(mcp_store_op_t *op, mcp_store_entry_t *group,
    int sent, uint64_t position)
{
    uint32_t             ref, index, joined, n;
    mcp_store_head_t    *head;
    mcp_store_stream_t  *st;

    head = op->head;
    index = (uint32_t) (position >> 32);
    joined = (uint32_t) position;
    ref = mcp_store_session_list(group, sent)->first;

    if (mcp_store_index_ok(head, index)
        && mcp_store_types(head)[index] == MCP_CHUNK_STREAM)
    {
        st = mcp_store_stream(head, index);

        if (st->live == MCP_STREAM_LIVE && st->joined == joined
            && mcp_store_in_ring(st, MCP_EVICT_LINGER) == sent
            && memcmp(st->session, group->key, MCP_DIGEST_LEN) == 0)
        {
            ref = st->link[MCP_LINK_SESSION].next;
        }
    }

    for (n = 0; ref != 0 && ref != MCP_STORE_END && n < head->chunks; n++) {
        st = mcp_store_container(head, ref, mcp_store_stream_t,
                                 link[MCP_LINK_SESSION]);

        if (position == 0 || mcp_store_older(st->joined, joined)) {
            return st;
        }

        ref = st->link[MCP_LINK_SESSION].next;
    }

    return NULL;
}


int
mcp_store_session_next(mcp_store_t *store,
    const unsigned char session[MCP_DIGEST_LEN], int sent,
    uint64_t *position, mcp_stream_info_t *info, mcp_buf_t *request)
{
    mcp_store_op_t       op;
    mcp_store_entry_t   *group;
    mcp_store_stream_t  *st;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    group = mcp_store_entry_find(op.head, MCP_ENTRY_SESSION, 0, session, 0);
    st = group ? mcp_store_session_stream(&op, group, sent, *position) : NULL;

    if (st != NULL) {
        mcp_store_stream_info(&op, st, info);
        *position = (uint64_t) info->ref.index << 32 | st->joined;
        mcp_store_stream_request(&op, st, request);
    }

    mcp_store_leave(&op);

    return st ? MCP_OK : MCP_DONE;
}


int
mcp_store_session_crowded(mcp_store_head_t *head,
    const unsigned char session[MCP_DIGEST_LEN], uint32_t limit)
{
    mcp_store_entry_t           *group;
    static const unsigned char   nobody[MCP_DIGEST_LEN];

    if (limit == 0 || memcmp(session, nobody, MCP_DIGEST_LEN) == 0) {
        return 0;
    }

    group = mcp_store_entry_find(head, MCP_ENTRY_SESSION, 0, session, 0);

    return group && group->u.group.active >= limit;
}

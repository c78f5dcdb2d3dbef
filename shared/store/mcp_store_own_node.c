/* SPDX-License-Identifier: Apache-2.0 */

/* Stores and reads the state of the zone as a node of a cluster. If a process
 * dies while it writes a text, the text is truncated, but still ends with a
 * NUL. */


#include "store/mcp_store_layout.h"


/* The bits of mcp_store_slot_t.link. Three flags: the process has recorded a
 * link to Redis, the link is up, and the process may become the leader. The
 * other bits are the round trip of the link, ms. */
#define MCP_NODE_LINK      0x80000000u
#define MCP_NODE_LINK_UP   0x40000000u
#define MCP_NODE_MAY_LEAD  0x20000000u
#define MCP_NODE_TRIP_MAX  0x1fffffffu


/* Copies "len" bytes to or from the node's data under the lock. Does nothing
 * if the lock cannot be taken. */
static void
mcp_store_node_copy(mcp_store_t *store, void *to, const void *from, size_t len)
{
    mcp_store_op_t  op;

    if (mcp_store_enter(store, &op) == MCP_OK) {
        memcpy(to, from, len);
        mcp_store_leave(&op);
    }
}


uint64_t
mcp_store_node_id(mcp_store_t *store)
{
    return atomic_load(&store->head->node.id);
}


void
mcp_store_node_renew(mcp_store_t *store, uint64_t old, uint64_t id)
{
    mcp_node_position_t  begin = { 0, 0 };

    if (atomic_compare_exchange_strong(&store->head->node.id, &old, id)) {
        mcp_store_node_set_position(store, MCP_NODE_QUEUE, &begin);
    }
}


/* --- the leader --- */


/* Returns 1 if the node has a leader whose slot was not reclaimed, and which
 * has received a reply from Redis, or has become the leader, in the last
 * "silence" ms. */
static int
mcp_store_node_has_leader(mcp_store_head_t *head, uint64_t now,
                          uint64_t silence)
{
    uint32_t  leader;
    uint64_t  leader_at;

    leader = atomic_load(&head->node.leader);
    leader_at = atomic_load(&head->node.leader_at);

    return leader > 0 && leader <= MCP_STORE_SLOTS
           && atomic_load(&head->slots[leader - 1].pid)
              == atomic_load(&head->node.leader_pid)
           && (now <= leader_at || now - leader_at <= silence);
}


int
mcp_store_node_is_leader(mcp_store_t *store)
{
    return atomic_load(&store->head->node.leader) == store->slot + 1
           && atomic_load(&store->head->node.leader_pid) == store->pid;
}


int
mcp_store_node_lead(mcp_store_t *store, uint64_t now, uint64_t silence)
{
    int                is;
    mcp_store_op_t     op;
    mcp_store_head_t  *head;

    head = store->head;

    if (mcp_store_node_is_leader(store)) {
        return 1;
    }

    if (mcp_store_node_has_leader(head, now, silence)
        || mcp_store_enter(store, &op) != MCP_OK)
    {
        return 0;
    }

    is = 0;

    if (!mcp_store_node_has_leader(head, now, silence)
        && head->slots[store->slot].pid == store->pid)
    {
        atomic_store(&head->node.leader, 0);
        atomic_store(&head->node.leader_pid, store->pid);
        atomic_store(&head->node.leader_at, now);
        atomic_store(&head->node.leader, store->slot + 1);
        is = 1;
    }

    mcp_store_leave(&op);

    return is;
}


void
mcp_store_node_leader_reply(mcp_store_t *store, uint64_t now)
{
    if (mcp_store_node_is_leader(store)) {
        atomic_store(&store->head->node.leader_at, now);
    }
}


/* Returns the first slot from "slot" on, other than this process's own, whose
 * process may become the leader; MCP_STORE_SLOTS if there is none. */
static unsigned
mcp_store_node_other(mcp_store_t *store, unsigned slot)
{
    mcp_store_slot_t  *slots;

    slots = store->head->slots;

    while (slot < MCP_STORE_SLOTS
           && (slot == store->slot || atomic_load(&slots[slot].pid) == 0
               || !(atomic_load(&slots[slot].link) & MCP_NODE_MAY_LEAD)))
    {
        slot++;
    }

    return slot;
}


int
mcp_store_node_has_other(mcp_store_t *store)
{
    return mcp_store_node_other(store, 0) < MCP_STORE_SLOTS;
}


void
mcp_store_node_resign(mcp_store_t *store)
{
    unsigned  slot;

    if (!mcp_store_node_is_leader(store)) {
        return;
    }

    atomic_store(&store->head->node.leader, 0);

    for (slot = mcp_store_node_other(store, 0); slot < MCP_STORE_SLOTS;
         slot = mcp_store_node_other(store, slot + 1))
    {
        store->glue.wake(store->glue.ctx, slot);
    }
}


int
mcp_store_node_is_leaderless(mcp_store_t *store)
{
    return atomic_load(&store->head->node.leader) == 0;
}


void
mcp_store_node_wake_leader(mcp_store_t *store)
{
    uint32_t  leader;

    leader = atomic_load(&store->head->node.leader);

    if (leader > 0 && leader <= MCP_STORE_SLOTS) {
        store->glue.wake(store->glue.ctx, leader - 1);
    }
}


/* --- notes --- */

void
mcp_store_node_link(mcp_store_t *store, mcp_node_link_e how,
    uint64_t round_trip)
{
    uint32_t           note;
    mcp_store_slot_t  *slot;

    slot = &store->head->slots[store->slot];
    note = MCP_NODE_LINK | (how != MCP_NODE_LINK_LOST ? MCP_NODE_LINK_UP : 0)
           | (how == MCP_NODE_LINK_LEADS ? MCP_NODE_MAY_LEAD : 0)
           | (round_trip < MCP_NODE_TRIP_MAX ? (uint32_t) round_trip
                                             : MCP_NODE_TRIP_MAX);

    if (slot->pid == store->pid) {
        atomic_store(&slot->link, note);
    }
}


void
mcp_store_node_lag(mcp_store_t *store, const mcp_node_lag_t *lag)
{
    mcp_store_slot_t  *slot;

    slot = &store->head->slots[store->slot];

    if (slot->pid == store->pid) {
        atomic_store(&slot->lag_events, lag->events < UINT32_MAX
                                        ? (uint32_t) lag->events : UINT32_MAX);
        atomic_store(&slot->lag_bytes, lag->bytes);
        atomic_store(&slot->lag_since, lag->since);
    }
}


void
mcp_store_node_count(mcp_store_t *store, mcp_node_count_e which)
{
    mcp_store_node_add(store->head, which, 1);
}


/* Copies a text that the status shows, at most MCP_NODE_REASON_MAX bytes. It
 * may contain any bytes that other nodes have sent, so each byte that is not
 * printable ASCII becomes "?". */
static void
mcp_store_node_text(char to[MCP_NODE_REASON_MAX + 1], const char *from)
{
    size_t  i;

    for (i = 0; i < MCP_NODE_REASON_MAX && from[i]; i++) {
        to[i] = from[i] < 0x20 || from[i] > 0x7e ? '?' : from[i];
    }

    to[i] = '\0';
}


int
mcp_store_node_error(mcp_store_t *store, uint64_t now, uint64_t again,
    const char *text, uint64_t *suppressed)
{
    int                logs;
    mcp_store_op_t     op;
    mcp_store_node_t  *node;

    *suppressed = 0;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return 1;
    }

    node = &op.head->node;
    mcp_store_node_text(node->error, text);
    node->error_at = now;
    node->failing = 1;
    logs = node->logged_at == 0 || now >= node->logged_at + again;

    if (logs) {
        node->logged_at = now;
        *suppressed = node->suppressed;
        node->suppressed = 0;

    } else {
        node->suppressed++;
    }

    mcp_store_leave(&op);

    return logs;
}


void
mcp_store_node_insist(mcp_store_t *store)
{
    const uint64_t  never = 0;

    mcp_store_node_copy(store, &store->head->node.logged_at, &never,
                        sizeof(never));
}


int
mcp_store_node_well(mcp_store_t *store)
{
    int             was_ill;
    mcp_store_op_t  op;

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return 0;
    }

    was_ill = op.head->node.failing != 0;
    op.head->node.failing = 0;

    mcp_store_leave(&op);

    return was_ill;
}


void
mcp_store_node_standalone(mcp_store_t *store, const char *why)
{
    char  text[MCP_NODE_REASON_MAX + 1] = "";

    mcp_store_node_text(text, why);
    mcp_store_node_copy(store, store->head->node.standalone, text,
                        sizeof(text));
}


int
mcp_store_node_is_standalone(mcp_store_t *store)
{
    char  first = '\0';

    mcp_store_node_copy(store, &first, store->head->node.standalone, 1);

    return first != '\0';
}


void
mcp_store_node_set_position(mcp_store_t *store, mcp_node_position_e which,
    const mcp_node_position_t *position)
{
    mcp_store_node_copy(store, &store->head->node.positions[which], position,
                        sizeof(mcp_node_position_t));
}


void
mcp_store_node_position(mcp_store_t *store, mcp_node_position_e which,
    mcp_node_position_t *position)
{
    memset(position, 0, sizeof(mcp_node_position_t));
    mcp_store_node_copy(store, position, &store->head->node.positions[which],
                        sizeof(mcp_node_position_t));
}


void
mcp_store_node_set_run(mcp_store_t *store, mcp_str_t run)
{
    char  text[MCP_NODE_RUN_MAX + 1] = "";

    memcpy(text, run.data,
           run.len < MCP_NODE_RUN_MAX ? run.len : MCP_NODE_RUN_MAX);
    mcp_store_node_copy(store, store->head->node.run, text, sizeof(text));
}


void
mcp_store_node_run(mcp_store_t *store, char run[MCP_NODE_RUN_MAX + 1])
{
    run[0] = '\0';
    mcp_store_node_copy(store, run, store->head->node.run,
                        MCP_NODE_RUN_MAX + 1);
    run[MCP_NODE_RUN_MAX] = '\0';
}


void
mcp_store_node_view(mcp_store_t *store, const mcp_node_view_t *view)
{
    mcp_store_node_copy(store, &store->head->node.view, view,
                        sizeof(mcp_node_view_t));
}


void
mcp_store_node_set_skewed(mcp_store_t *store, int skewed)
{
    atomic_store(&store->head->node.skewed, skewed != 0);
}


int
mcp_store_node_is_skewed(mcp_store_t *store)
{
    return atomic_load(&store->head->node.skewed) != 0;
}


int
mcp_store_node_has_joined(mcp_store_t *store)
{
    uint64_t  at = 0;

    mcp_store_node_copy(store, &at, &store->head->node.view.at, sizeof(at));

    return at != 0;
}


/* Adds up the links and the replication lags of all processes. */
static void
mcp_store_node_links(mcp_store_head_t *head, mcp_node_info_t *info)
{
    uint32_t           note, trip;
    uint64_t           since;
    unsigned           i;
    mcp_store_slot_t  *slot;

    for (i = 0; i < MCP_STORE_SLOTS; i++) {
        slot = &head->slots[i];
        note = atomic_load(&slot->link);

        if (note == 0) {
            continue;
        }

        info->processes++;
        info->lag.events += atomic_load(&slot->lag_events);
        info->lag.bytes += atomic_load(&slot->lag_bytes);
        since = atomic_load(&slot->lag_since);

        if (since && (info->lag.since == 0 || since < info->lag.since)) {
            info->lag.since = since;
        }

        if (note & MCP_NODE_LINK_UP) {
            trip = note & MCP_NODE_TRIP_MAX;
            info->up++;

            if (trip > info->round_trip) {
                info->round_trip = trip;
            }
        }
    }
}


/* Limits the length of a list of members and of its texts, because a process
 * may have died while it wrote the list. */
static void
mcp_store_node_trim(mcp_node_view_t *view)
{
    unsigned  i;

    if (view->n_members > MCP_NODE_MEMBERS) {
        view->n_members = MCP_NODE_MEMBERS;
    }

    for (i = 0; i < view->n_members; i++) {
        view->members[i].label[MCP_NODE_LABEL_MAX] = '\0';
        view->members[i].build[MCP_NODE_BUILD_MAX] = '\0';
    }
}


int
mcp_store_node_info(mcp_store_t *store, mcp_node_info_t *info)
{
    unsigned           i;
    mcp_store_op_t     op;
    mcp_store_node_t  *node;

    memset(info, 0, sizeof(mcp_node_info_t));
    mcp_store_node_links(store->head, info);

    if (info->processes == 0) {
        return MCP_ERR_NOT_FOUND;
    }

    if (mcp_store_enter(store, &op) != MCP_OK) {
        return MCP_ERR_INTERNAL;
    }

    node = &op.head->node;

    info->id = atomic_load(&node->id);
    info->error_at = node->error_at;
    info->mirrors = op.head->n_mirrors;
    info->view = node->view;
    memcpy(info->error, node->error, MCP_NODE_REASON_MAX);
    memcpy(info->standalone, node->standalone, MCP_NODE_REASON_MAX);

    mcp_store_leave(&op);
    mcp_store_node_trim(&info->view);

    for (i = 0; i < MCP_NODE_COUNTS; i++) {
        info->counts[i] = atomic_load(&node->counts[i]);
    }

    return MCP_OK;
}

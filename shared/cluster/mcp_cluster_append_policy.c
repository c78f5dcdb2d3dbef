/* SPDX-License-Identifier: Apache-2.0 */

/* Decides when a stream's state is sent to Redis, and by which script. Usually
 * there are only new events, which redis/append_events.lua, a short script,
 * appends. */


#include "cluster/mcp_cluster_replication.h"


static int
mcp_append_policy_is_read(const mcp_store_replication_state_t *repl_state)
{
    return repl_state->consumer_slot != MCP_STORE_NO_SLOT
           || repl_state->readers;
}


/* Returns 1 if the stream expires within a node timeout, or has expired, but
 * is kept here because it has a reader. Returns 0 for the stream of a task. */
static int
mcp_append_policy_stays(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state, uint64_t now)
{
    return repl_state->end && !repl_state->expires
           && mcp_append_policy_is_read(repl_state)
           && repl_state->end < now + repl->cluster->conf->node_timeout;
}


/* Returns the size of the longest event in "from", or 0 without events. */
static size_t
mcp_append_policy_longest(const mcp_store_replicator_t *from)
{
    size_t  i, longest;

    longest = 0;

    for (i = 0; i < from->n; i++) {
        if (from->raw[i].len > longest) {
            longest = from->raw[i].len;
        }
    }

    return longest;
}


/* Returns 1 if two checkpoints differ at most in their event numbers, and the
 * call is not over. */
static int
mcp_append_policy_is_unchanged(const mcp_store_checkpoint_t *before,
    const mcp_store_checkpoint_t *now)
{
    return now->state == before->state && now->answered == before->answered
           && now->failed == before->failed
           && now->failed_seq == before->failed_seq
           && now->state < MCP_STATE_COMPLETED;
}


/* Returns 1 if Redis has to get a change other than events and renewals. */
static int
mcp_append_policy_has_news(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    return repl->time == 0 || repl->refills || repl_state->state_requests
           || repl->at.state != repl_state->own.state
           || repl->expires != repl_state->expires
           || repl->given != repl_state->given
           || repl->taken != repl_state->taken
           || (repl->stays && !mcp_append_policy_is_read(repl_state))
           || (repl_state->own.state >= MCP_STATE_COMPLETED
               && repl_state->sent_seq >= repl_state->own.seq
               && repl_state->sent_seq != repl->sent)
           || mcp_coalesce_is_due(repl, repl_state)
           || (repl_state->listener
               && repl_state->consumer_slot == MCP_STORE_NO_SLOT
               && repl_state->sent_seq != repl->sent);
}


int
mcp_append_policy_is_idle(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    return !repl_state->mirror && !repl_state->held && !repl_state->joins
           && repl_state->end == 0 && repl_state->expires == 0
           && repl->whole && !repl->begin
           && repl->at.seq == repl_state->own.seq
           && mcp_append_policy_is_unchanged(&repl->at, &repl_state->own)
           && repl->floor == repl_state->first_seq
           && repl->confirmed == repl_state->confirmed_seq
           && (repl_state->consumer_slot == MCP_STORE_REMOTE_CONSUMER
               || repl->sent == repl_state->sent_seq)
           && !mcp_append_policy_has_news(repl, repl_state);
}


/* Returns the interval at which the keys of a stream are renewed, ms.
 * mcp_cluster_keep.c renews the keys of idle streams earlier. */
static uint64_t
mcp_append_policy_period(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    return repl->cluster->conf->node_timeout
           / (mcp_append_policy_is_idle(repl, repl_state) ? 2 : 3);
}


/* Returns 1 if it is time to renew the stream's keys. A stream whose time
 * of expiry has passed is renewed only if it belongs to a task or has a
 * reader. */
static int
mcp_append_policy_continues(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state, uint64_t now)
{
    return now >= repl->time + mcp_append_policy_period(repl, repl_state)
           && (repl_state->end == 0 || now < repl_state->end
               || repl_state->expires
               || mcp_append_policy_is_read(repl_state));
}


int
mcp_append_policy_is_due(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    return mcp_append_policy_has_news(repl, repl_state)
           || mcp_append_policy_continues(repl, repl_state,
                                          mcp_worker_now(
                                              repl->cluster->worker));
}


uint64_t
mcp_append_policy_within(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    uint64_t  now, when;

    if (!mcp_append_policy_is_idle(repl, repl_state)) {
        return repl->cluster->conf->node_timeout / 3;
    }

    now = mcp_worker_now(repl->cluster->worker);
    when = repl->time + mcp_append_policy_period(repl, repl_state);

    return when > now ? when - now : repl->cluster->conf->node_timeout / 3;
}


int
mcp_append_policy_is_short(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state,
    const mcp_store_replicator_t *from)
{
    uint64_t  now;

    now = mcp_worker_now(repl->cluster->worker);

    return from->n && repl->whole
           && now < repl->whole + repl->cluster->conf->node_timeout / 3
           && !repl->begin && !repl->refills && repl->time
           && mcp_append_policy_is_unchanged(&repl->at, &from->at)
           && repl_state->end == 0 && !repl_state->joins
                  && repl_state->expires == 0
           && repl->expires == 0 && repl->taken == repl_state->taken
           && repl->floor == repl_state->first_seq
           && repl->confirmed == repl_state->confirmed_seq
           && mcp_append_policy_longest(from) <= repl->longest;
}


void
mcp_append_policy_sent(mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state,
    const mcp_store_replicator_t *from)
{
    size_t  longest;

    longest = mcp_append_policy_longest(from);

    repl->whole = repl->time;
    repl->expires = repl_state->expires;
    repl->given = repl_state->given;
    repl->taken = repl_state->taken;
    repl->joined = mcp_coalesce_how(repl_state);
    repl->claims = mcp_coalesce_claims(repl_state) != 0;
    repl->floor = repl_state->first_seq;
    repl->confirmed = repl_state->confirmed_seq;
    repl->over = from->at.state >= MCP_STATE_COMPLETED;
    repl->stays = (mcp_append_policy_stays(repl, repl_state, repl->time)
                   != 0);

    /* Redis has no earlier events, or may have lost them; or an event is
     * longer than all earlier ones */

    if (repl->begin || repl->refills || longest > repl->longest) {
        repl->longest = longest;
    }
}


uint64_t
mcp_append_policy_lasts(const mcp_replication_t *repl,
    const mcp_store_replication_state_t *repl_state)
{
    uint64_t  now, until, slack;

    now = mcp_worker_now(repl->cluster->worker);
    until = now + repl->max_wait;
    slack = 2 * repl->cluster->conf->node_timeout;

    if (repl_state->expires) {
        until = repl_state->expires;

    } else if (repl_state->end) {
        until = repl_state->end;
    }

    until = until > now ? until - now : 1;

    if (mcp_append_policy_stays(repl, repl_state, now)) {
        until = repl->cluster->conf->node_timeout;
    }

    /* The node may die before Redis has decided whether its call is the first
     * of several equal calls, or while requests at other nodes have joined the
     * call. The keys must last until another node has taken the stream over
     * and informed these requests. */

    if (repl_state->held || (repl_state->joins && !repl_state->end
                             && until < slack))
    {
        until = slack;
    }

    return repl_state->end ? until : until + slack;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Decides when a stream's state is sent to Redis, and whether more than
 * events has to be sent. Usually there are only events, and a short script
 * takes them. */


#include "cluster/mcp_cluster_replication.h"


static int
mcp_append_policy_is_read(const mcp_store_replicating_t *copying)
{
    return copying->consumer_slot != MCP_STORE_NO_SLOT || copying->readers;
}


/* Returns 1 if the stream's end is reached or near, but it is kept here because
 * it has a reader. */
static int
mcp_append_policy_stays(const mcp_replication_t *repl,
    const mcp_store_replicating_t *copying, uint64_t now)
{
    return copying->end && !copying->expires
           && mcp_append_policy_is_read(copying)
           && copying->end < now + repl->cluster->conf->node_timeout;
}


/* Returns the size of the longest of some events. */
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


/* Returns 1 if two states differ in their last event only. */
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
    const mcp_store_replicating_t *copying)
{
    return repl->time == 0 || repl->refills || copying->state_requests
           || repl->at.state != copying->own.state
           || repl->expires != copying->expires
           || repl->given != copying->given
           || repl->taken != copying->taken
           || (repl->stays && !mcp_append_policy_is_read(copying))
           || (copying->own.state >= MCP_STATE_COMPLETED
               && copying->sent_seq >= copying->own.seq
               && copying->sent_seq != repl->sent)
           || mcp_coalesce_is_due(repl, copying)
           || (copying->listener
               && copying->consumer_slot == MCP_STORE_NO_SLOT
               && copying->sent_seq != repl->sent);
}


int
mcp_append_policy_is_idle(const mcp_replication_t *repl,
    const mcp_store_replicating_t *copying)
{
    return !copying->mirror && !copying->held && !copying->joins
           && copying->end == 0 && copying->expires == 0
           && repl->whole && !repl->begin
           && repl->at.seq == copying->own.seq
           && mcp_append_policy_is_unchanged(&repl->at, &copying->own)
           && repl->floor == copying->first_seq
           && repl->confirmed == copying->confirmed_seq
           && (copying->consumer_slot == MCP_STORE_REMOTE_CONSUMER
               || repl->sent == copying->sent_seq)
           && !mcp_append_policy_has_news(repl, copying);
}


/* Returns the ms after which the keys of a stream are renewed.
 * mcp_cluster_keep.c renews idle streams earlier. */
static uint64_t
mcp_append_policy_period(const mcp_replication_t *repl,
    const mcp_store_replicating_t *copying)
{
    return repl->cluster->conf->node_timeout
           / (mcp_append_policy_is_idle(repl, copying) ? 2 : 3);
}


/* Returns 1 if it is time to renew the stream's keys. A stream that is about to
 * expire is not renewed. */
static int
mcp_append_policy_continues(const mcp_replication_t *repl,
    const mcp_store_replicating_t *copying, uint64_t now)
{
    return now >= repl->time + mcp_append_policy_period(repl, copying)
           && (copying->end == 0 || now < copying->end || copying->expires
               || mcp_append_policy_is_read(copying));
}


int
mcp_append_policy_is_due(const mcp_replication_t *repl,
    const mcp_store_replicating_t *copying)
{
    return mcp_append_policy_has_news(repl, copying)
           || mcp_append_policy_continues(repl, copying,
                                          mcp_worker_now(
                                              repl->cluster->worker));
}


uint64_t
mcp_append_policy_within(const mcp_replication_t *repl,
    const mcp_store_replicating_t *copying)
{
    uint64_t  now, when;

    if (!mcp_append_policy_is_idle(repl, copying)) {
        return repl->cluster->conf->node_timeout / 3;
    }

    now = mcp_worker_now(repl->cluster->worker);
    when = repl->time + mcp_append_policy_period(repl, copying);

    return when > now ? when - now : repl->cluster->conf->node_timeout / 3;
}


int
mcp_append_policy_is_short(const mcp_replication_t *repl,
    const mcp_store_replicating_t *copying, const mcp_store_replicator_t *from)
{
    uint64_t  now;

    now = mcp_worker_now(repl->cluster->worker);

    return from->n && repl->whole
           && now < repl->whole + repl->cluster->conf->node_timeout / 3
           && !repl->begin && !repl->refills && repl->time
           && mcp_append_policy_is_unchanged(&repl->at, &from->at)
           && copying->end == 0 && !copying->joins && copying->expires == 0
           && repl->expires == 0 && repl->taken == copying->taken
           && repl->floor == copying->first_seq
           && repl->confirmed == copying->confirmed_seq
           && mcp_append_policy_longest(from) <= repl->longest;
}


void
mcp_append_policy_sent(mcp_replication_t *repl,
    const mcp_store_replicating_t *copying, const mcp_store_replicator_t *from)
{
    size_t  longest;

    longest = mcp_append_policy_longest(from);

    repl->whole = repl->time;
    repl->expires = copying->expires;
    repl->given = copying->given;
    repl->taken = copying->taken;
    repl->joined = mcp_coalesce_how(copying);
    repl->claims = mcp_coalesce_claims(copying) != 0;
    repl->floor = copying->first_seq;
    repl->confirmed = copying->confirmed_seq;
    repl->over = from->at.state >= MCP_STATE_COMPLETED;
    repl->stays = mcp_append_policy_stays(repl, copying, repl->time);

    /* Redis has no earlier event, or may have lost them */

    if (repl->begin || repl->refills || longest > repl->longest) {
        repl->longest = longest;
    }
}


uint64_t
mcp_append_policy_lasts(const mcp_replication_t *repl,
    const mcp_store_replicating_t *copying)
{
    uint64_t  now, until, slack;

    now = mcp_worker_now(repl->cluster->worker);
    until = now + repl->max_wait;
    slack = 2 * repl->cluster->conf->node_timeout;

    if (copying->expires) {
        until = copying->expires;

    } else if (copying->end) {
        until = copying->end;
    }

    until = until > now ? until - now : 1;

    if (mcp_append_policy_stays(repl, copying, now)) {
        until = repl->cluster->conf->node_timeout;
    }

    /* the node may die before it knows that its call is the first; requests
     * that join have to be informed */

    if (copying->held || (copying->joins && !copying->end && until < slack)) {
        until = slack;
    }

    return copying->end ? until : until + slack;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* What else than events the copier has to tell Redis: mostly it is nothing, and
 * a short script takes them. */


#include "cluster/mcp_cluster_copy.h"


static int
mcp_due_is_read(const mcp_store_copying_t *copying)
{
    return copying->consumer_slot != MCP_STORE_NO_SLOT || copying->readers;
}


/* Its end has come, or is about to, but it is kept here for as long as it is
 * read. */
static int
mcp_due_stays(const mcp_copy_t *copy, const mcp_store_copying_t *copying,
    uint64_t now)
{
    return copying->end && !copying->expires && mcp_due_is_read(copying)
           && copying->end < now + copy->cluster->conf->dead_after;
}


/* Whether it is time to say that the stream goes on; not one that is about to
 * go, here as in Redis. */
static int
mcp_due_goes_on(const mcp_copy_t *copy, const mcp_store_copying_t *copying,
    uint64_t now)
{
    return now >= copy->time + copy->cluster->conf->dead_after / 3
           && (copying->end == 0 || now < copying->end || copying->expires
               || mcp_due_is_read(copying));
}


int
mcp_due_is(const mcp_copy_t *copy, const mcp_store_copying_t *copying)
{
    return copy->time == 0 || copy->refills || copying->asked
           || copy->at.state != copying->own.state
           || copy->expires != copying->expires
           || copy->given != copying->given
           || copy->taken != copying->taken
           || (copy->stays && !mcp_due_is_read(copying))
           || mcp_due_goes_on(copy, copying,
                                 mcp_worker_now(copy->cluster->worker))
           || (copying->own.state >= MCP_STATE_COMPLETED
               && copying->sent_seq >= copying->own.seq
               && copying->sent_seq != copy->sent)
           || mcp_beside_is_due(copy, copying)
           || (copying->listener
               && copying->consumer_slot == MCP_STORE_NO_SLOT
               && copying->sent_seq != copy->sent);
}


/* The longest of some events. */
static size_t
mcp_due_longest(const mcp_store_copy_t *from)
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


/* Whether the stream stands as before, its last event aside. */
static int
mcp_due_stands_still(const mcp_store_stand_t *before,
    const mcp_store_stand_t *now)
{
    return now->state == before->state && now->answered == before->answered
           && now->failed == before->failed
           && now->failed_seq == before->failed_seq
           && now->state < MCP_STATE_COMPLETED;
}


int
mcp_due_is_short(const mcp_copy_t *copy, const mcp_store_copying_t *copying,
    const mcp_store_copy_t *from)
{
    uint64_t  now;

    now = mcp_worker_now(copy->cluster->worker);

    return from->n && copy->whole
           && now < copy->whole + copy->cluster->conf->dead_after / 3
           && !copy->begin && !copy->refills && copy->time
           && mcp_due_stands_still(&copy->at, &from->at)
           && copying->end == 0 && !copying->joins && copying->expires == 0
           && copy->expires == 0 && copy->taken == copying->taken
           && copy->floor == copying->first_seq
           && copy->confirmed == copying->confirmed_seq
           && mcp_due_longest(from) <= copy->longest;
}


void
mcp_due_told(mcp_copy_t *copy, const mcp_store_copying_t *copying,
    const mcp_store_copy_t *from)
{
    size_t  longest;

    longest = mcp_due_longest(from);

    copy->whole = copy->time;
    copy->expires = copying->expires;
    copy->given = copying->given;
    copy->taken = copying->taken;
    copy->joined = mcp_beside_how(copying);
    copy->claims = mcp_beside_claims(copying) != 0;
    copy->floor = copying->first_seq;
    copy->confirmed = copying->confirmed_seq;
    copy->over = from->at.state >= MCP_STATE_COMPLETED;
    copy->stays = mcp_due_stays(copy, copying, copy->time);

    /* Redis has nothing of before, or may have lost it */

    if (copy->begin || copy->refills || longest > copy->longest) {
        copy->longest = longest;
    }
}


uint64_t
mcp_due_lasts(const mcp_copy_t *copy, const mcp_store_copying_t *copying)
{
    uint64_t  now, until, slack;

    now = mcp_worker_now(copy->cluster->worker);
    until = now + copy->max_wait;
    slack = 2 * copy->cluster->conf->dead_after;

    if (copying->expires) {
        until = copying->expires;

    } else if (copying->end) {
        until = copying->end;
    }

    until = until > now ? until - now : 1;

    if (mcp_due_stays(copy, copying, now)) {
        until = copy->cluster->conf->dead_after;
    }

    /* its node may be lost before it knows that it is the first; who joins it
     * has to be told */

    if (copying->held || (copying->joins && !copying->end && until < slack)) {
        until = slack;
    }

    return copying->end ? until : until + slack;
}

/* SPDX-License-Identifier: Apache-2.0 */

#include "mcp_timer.h"


static mcp_timer_t *
mcp_timer_merge(mcp_timer_t *a, mcp_timer_t *b)
{
    mcp_timer_t  *t;

    if (a == NULL) {
        return b;
    }

    if (b == NULL) {
        return a;
    }

    if (b->when < a->when) {
        t = a;
        a = b;
        b = t;
    }

    b->next = a->child;

    if (b->next) {
        b->next->link = &b->next;
    }

    b->link = &a->child;
    a->child = b;
    a->next = NULL;

    return a;
}


/* Merges a list of siblings into one heap: joins neighbours to pairs, from left
 * to right, and then joins the pairs, from right to left. */
static mcp_timer_t *
mcp_timer_merge_pairs(mcp_timer_t *first)
{
    mcp_timer_t  *a, *b, *next, *pairs, *root;

    pairs = NULL;

    while (first) {
        a = first;
        b = a->next;
        next = b ? b->next : NULL;

        a->next = NULL;

        if (b) {
            b->next = NULL;
        }

        a = mcp_timer_merge(a, b);
        a->next = pairs;
        pairs = a;

        first = next;
    }

    root = NULL;

    while (pairs) {
        next = pairs->next;
        pairs->next = NULL;
        root = mcp_timer_merge(root, pairs);
        pairs = next;
    }

    return root;
}


static void
mcp_timers_set_root(mcp_timers_t *timers, mcp_timer_t *root)
{
    timers->root = root;

    if (root) {
        root->link = &timers->root;
        root->next = NULL;
    }
}


void
mcp_timer_set(mcp_timers_t *timers, mcp_timer_t *timer, uint64_t when)
{
    mcp_timer_del(timers, timer);

    timer->when = when;
    timer->child = NULL;
    timer->next = NULL;

    mcp_timers_set_root(timers, mcp_timer_merge(timers->root, timer));
}


void
mcp_timer_del(mcp_timers_t *timers, mcp_timer_t *timer)
{
    mcp_timer_t  *children;

    if (timer->link == NULL) {
        return;
    }

    *timer->link = timer->next;

    if (timer->next) {
        timer->next->link = timer->link;
    }

    timer->link = NULL;

    children = mcp_timer_merge_pairs(timer->child);

    mcp_timers_set_root(timers, mcp_timer_merge(timers->root, children));
}


uint64_t
mcp_timers_next(const mcp_timers_t *timers)
{
    return timers->root ? timers->root->when : UINT64_MAX;
}


void
mcp_timers_run(mcp_timers_t *timers, uint64_t now)
{
    mcp_timer_t  *timer;

    while (timers->root && timers->root->when <= now) {
        timer = timers->root;
        mcp_timer_del(timers, timer);
        timer->handler(timer->data);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */

/* The timers of one worker: a pairing heap whose nodes are the timers
 * themselves, so that arming a timer never fails and takes constant time. */


#ifndef MCP_TIMER_H_INCLUDED
#define MCP_TIMER_H_INCLUDED


#include "mcp.h"


MCP_DECLARATIONS_BEGIN


typedef struct mcp_timer_s  mcp_timer_t;

struct mcp_timer_s {
    uint64_t       when;       /* time of expiry, in ms of mcp_env_t.now() */
    void         (*handler)(void *data);
    void          *data;
    mcp_timer_t   *child;
    mcp_timer_t   *next;       /* sibling */
    mcp_timer_t  **link;       /* address of the heap's pointer to this timer;
                                  NULL: not armed */
};


typedef struct {
    mcp_timer_t  *root;
} mcp_timers_t;


/* Arms the timer, or moves it if it is armed. */
void mcp_timer_set(mcp_timers_t *timers, mcp_timer_t *timer, uint64_t when);

/* Disarms the timer, if it is armed. */
void mcp_timer_del(mcp_timers_t *timers, mcp_timer_t *timer);

#define mcp_timer_armed(timer)  ((timer)->link != NULL)

/* Returns the time at which the first timer is due, ms, or UINT64_MAX if none
 * is armed. */
uint64_t mcp_timers_next(const mcp_timers_t *timers);

/* Disarms each timer that is due at now and calls its handler. */
void mcp_timers_run(mcp_timers_t *timers, uint64_t now);


MCP_DECLARATIONS_END


#endif /* MCP_TIMER_H_INCLUDED */

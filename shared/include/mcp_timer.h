/* SPDX-License-Identifier: Apache-2.0 */

/* Timers of one worker: an intrusive pairing heap, so that adding never fails
 * and costs O(1). */


#ifndef MCP_TIMER_H_INCLUDED
#define MCP_TIMER_H_INCLUDED


#include "mcp.h"


typedef struct mcp_timer_s  mcp_timer_t;

struct mcp_timer_s {
    uint64_t       when;
    void         (*handler)(void *data);
    void          *data;
    mcp_timer_t   *child;
    mcp_timer_t   *next;       /* sibling */
    mcp_timer_t  **link;       /* what points here; NULL: not armed */
};


typedef struct {
    mcp_timer_t  *root;
} mcp_timers_t;


/* Arms or re-arms. */
void mcp_timer_set(mcp_timers_t *timers, mcp_timer_t *timer, uint64_t when);
void mcp_timer_del(mcp_timers_t *timers, mcp_timer_t *timer);

#define mcp_timer_armed(timer)  ((timer)->link != NULL)

/* UINT64_MAX if there is none. */
uint64_t mcp_timers_next(const mcp_timers_t *timers);

/* Runs the handlers of all timers due at now; each is disarmed before. */
void mcp_timers_run(mcp_timers_t *timers, uint64_t now);


#endif /* MCP_TIMER_H_INCLUDED */

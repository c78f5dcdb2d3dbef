/* SPDX-License-Identifier: Apache-2.0 */

/* What the files mcp_ask*.c share. */


#ifndef MCP_ASK_PARTS_H_INCLUDED
#define MCP_ASK_PARTS_H_INCLUDED


#include "worker/mcp_ask.h"


/* What an exchange waits for. */
struct mcp_asking_s {
    int         (*root)(mcp_exchange_t *x);
    mcp_ask_t    *first;
    unsigned      found[MCP_ASK_TOKEN + 1];    /* answers of each kind, in
                                                  this run */
    size_t        headers;     /* of the answer, before the first run */
    mcp_face_state_t  *states; /* of the exchange, at that time */
    mcp_timer_t   timer;
    void        (*then)(mcp_exchange_t *x, int rc);    /* it holds */
    uint64_t      begun;       /* when it was noted */
    unsigned      late:1;      /* there will be no answers any more */
    unsigned      again:1;     /* its root runs again in a while */
    unsigned      quota:2;     /* 1: its session has many calls; 2: it has
                                  not; as its first run has found it */
};


/*
 * Finds the next answer of this kind.
 *
 * Returns MCP_OK and *ask, a new one: there is none yet; or
 *   MCP_DONE        *rc is the answer
 *   MCP_ERR_MEMORY
 */
int mcp_ask_next(mcp_exchange_t *x, mcp_ask_kind_e kind, mcp_ask_t **ask,
    int *rc);

/* Takes note of a question, and of its answer if that is there at once. */
int mcp_ask_asked(mcp_exchange_t *x, mcp_ask_t *ask, int rc);


/* Makes a question of x; NULL when out of memory.  Frees one that is
 * answered. */
mcp_ask_t *mcp_ask_create(mcp_exchange_t *x);
void mcp_ask_free(mcp_ask_t *ask);

/* The exchange waits for nothing any more; what it has waited for, with
 * mcp_ask_t.holds, has come. */
void mcp_ask_drop(mcp_asking_t *asking);
void mcp_ask_go_on(mcp_exchange_t *x, int rc);


#endif /* MCP_ASK_PARTS_H_INCLUDED */

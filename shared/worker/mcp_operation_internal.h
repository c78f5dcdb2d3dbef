/* SPDX-License-Identifier: Apache-2.0 */

/* Internal declarations of the files mcp_operation*.c. */


#ifndef MCP_OPERATION_INTERNAL_H_INCLUDED
#define MCP_OPERATION_INTERNAL_H_INCLUDED


#include "worker/mcp_operation.h"


/* The pending operations of an exchange. */
struct mcp_asking_s {
    int         (*entry)(mcp_exchange_t *x);
    mcp_operation_t  *first;
    unsigned          found[MCP_OPERATION_TOKEN + 1];  /* number of results of
                                                          each kind that were
                                                          used in this run */
    size_t            headers;  /* number of the response's headers before the
                                   first run */
    mcp_resume_state_t  *states; /* resumption states of the exchange before the
                                    first run */
    mcp_timer_t       timer;
    void        (*then)(mcp_exchange_t *x, int rc);    /* called with the result
                                                          of an operation that
                                                          holds the exchange */
    uint64_t          begun;    /* when the entry function was stored, ms */
    unsigned          late:1;   /* 1: results are no longer awaited */
    unsigned          again:1;  /* 1: the entry function runs again after a
                                   delay */
    unsigned          quota:2;  /* 1: the session has many calls; 2: it has not;
                                   found in the first run */
};


/*
 * Finds the next operation of this kind.
 *
 * Returns MCP_OK and a new one in *ask if there is none, or
 *   MCP_DONE        *rc is its result
 *   MCP_ERR_MEMORY
 */
int mcp_operation_next(mcp_exchange_t *x, mcp_operation_kind_e kind,
    mcp_operation_t **op, int *rc);

/* Stores a started operation, and its result if it is available at once. */
int mcp_operation_is_started(mcp_exchange_t *x, mcp_operation_t *op, int rc);


/* Create an operation of x, which returns NULL when out of memory, and free a
 * finished one. */
mcp_operation_t *mcp_operation_create(mcp_exchange_t *x);
void mcp_operation_free(mcp_operation_t *op);

/* mcp_operation_drop() discards all operations of an exchange;
 * mcp_operation_go_on() continues an exchange whose operation with
 * mcp_operation_t.holds is finished. */
void mcp_operation_drop(mcp_asking_t *asking);
void mcp_operation_go_on(mcp_exchange_t *x, int rc);


#endif /* MCP_OPERATION_INTERNAL_H_INCLUDED */

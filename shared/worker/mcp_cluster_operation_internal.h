/* SPDX-License-Identifier: Apache-2.0 */

/* Internal declarations of the files mcp_operation*.c. */


#ifndef MCP_CLUSTER_OPERATION_INTERNAL_H_INCLUDED
#define MCP_CLUSTER_OPERATION_INTERNAL_H_INCLUDED


#include "worker/mcp_cluster_operation.h"


/* The operations of an exchange, and its entry function. */
struct mcp_asking_s {
    int         (*entry)(mcp_exchange_t *x);
    mcp_operation_t  *first;
    unsigned          found[MCP_OPERATION_KINDS];   /* for each kind: number
                                                          of operations that
                                                          the entry function
                                                          has started in this
                                                          run */
    size_t            headers;  /* number of headers of the response before
                                   the first run; restored before each
                                   further run */
    mcp_resume_state_t  *states; /* states of the resumption methods before the
                                    first run; restored before each further
                                    run */
    mcp_timer_t       timer;
    void        (*then)(mcp_exchange_t *x, int rc);    /* called with the
                                                          result of the
                                                          operation whose
                                                          "holds" is 1 */
    uint64_t          begun;    /* when the entry function was stored, ms */
    unsigned          late:1;   /* 1: a result was not available in time: all
                                   operations are MCP_ERR_UNREACHABLE */
    unsigned          again:1;  /* 1: the exchange waits in
                                   mcp_operation_later() */
    unsigned          quota:2;  /* whether the session has many calls: 0: not
                                   looked up yet, 1: yes, 2: no */
};


/* Does the same as mcp_operation(), and sets *op to the operation if it has
 * other results than the return value; *op is undefined after MCP_AGAIN, and
 * NULL if there is no operation. */
int mcp_operation_run(mcp_exchange_t *x, const mcp_operation_spec_t *spec,
    mcp_operation_t **op);


/* mcp_operation_drop() discards all operations of an exchange.
 * mcp_operation_go_on() calls then() of an exchange whose operation with
 * "holds" is finished. */
void mcp_operation_drop(mcp_asking_t *asking);
void mcp_operation_go_on(mcp_exchange_t *x, int rc);


#endif /* MCP_CLUSTER_OPERATION_INTERNAL_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

/* Lookups of a stream of another node for an exchange whose entry function has
 * returned. */


#include "worker/mcp_cluster_operation_internal.h"


/* Removes a finished operation from the list of x, and frees it. */
static void
mcp_operation_remove(mcp_exchange_t *x, mcp_operation_t *op)
{
    mcp_operation_t  **p;

    for (p = &x->asking->first; *p != op; p = &(*p)->next) { /* void */ }

    *p = op->next;
    mcp_operation_free(op);
}


int
mcp_operation_follow(mcp_exchange_t *x, const mcp_operation_stream_t *stream,
    void (*handler)(void *data, int rc), void *data, mcp_operation_t **op)
{
    int               rc;
    mcp_operation_t  *next;

    if (*op) {
        mcp_operation_remove(x, *op);
        *op = NULL;
    }

    if (x->asking == NULL) {
        return MCP_ERR_UNREACHABLE;
    }

    next = mcp_operation_create(x->worker, x);

    if (next == NULL) {
        return MCP_ERR_MEMORY;
    }

    next->handler = handler;
    next->data = data;
    next->spec.kind = MCP_OPERATION_LOOKUP;
    next->spec.stream = *stream;

    rc = x->worker->cluster_hooks->start(x->worker->cluster, &next->spec,
                                         next);

    if (rc != MCP_AGAIN) {
        mcp_operation_free(next);
        return rc == MCP_ERR_MEMORY ? rc : MCP_ERR_UNREACHABLE;
    }

    next->next = x->asking->first;
    x->asking->first = next;
    *op = next;

    return MCP_AGAIN;
}

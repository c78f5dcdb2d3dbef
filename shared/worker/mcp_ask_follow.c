/* SPDX-License-Identifier: Apache-2.0 */

/* An exchange that follows how a stream of another node goes on. */


#include "worker/mcp_ask_parts.h"


/* Takes an answered question out of those of x. */
static void
mcp_ask_remove(mcp_exchange_t *x, mcp_ask_t *ask)
{
    mcp_ask_t  **p;

    for (p = &x->asking->first; *p != ask; p = &(*p)->next) { /* void */ }

    *p = ask->next;
    mcp_ask_free(ask);
}


int
mcp_ask_follow(mcp_exchange_t *x, const mcp_ask_stream_t *stream,
    void (*handler)(void *data, int rc), void *data, mcp_ask_t **ask)
{
    int         rc;
    mcp_ask_t  *next;

    if (*ask) {
        mcp_ask_remove(x, *ask);
        *ask = NULL;
    }

    if (x->asking == NULL) {
        return MCP_ERR_AWAY;
    }

    next = mcp_ask_create(x);

    if (next == NULL) {
        return MCP_ERR_MEMORY;
    }

    next->handler = handler;
    next->data = data;

    rc = x->worker->cluster_hooks->look(x->worker->cluster, stream, next);

    if (rc != MCP_AGAIN) {
        mcp_ask_free(next);
        return rc == MCP_ERR_MEMORY ? rc : MCP_ERR_AWAY;
    }

    next->next = x->asking->first;
    x->asking->first = next;
    *ask = next;

    return MCP_AGAIN;
}

/* SPDX-License-Identifier: Apache-2.0 */

#include "worker/mcp_upstream_session_use.h"

#include "store/mcp_store_upstream_stats.h"


/* Returns the list of the uses of all sessions whose keys begin as this one
 * does. */
static mcp_upstream_session_use_t **
mcp_upstream_session_use_list(mcp_worker_t *worker, const unsigned char *key)
{
    return &worker->uses[key[0] % MCP_WORKER_USES];
}


/* Returns the first use of the session with this key in a list, or NULL. */
static mcp_upstream_session_use_t *
mcp_upstream_session_use_find(mcp_upstream_session_use_t *use,
    const unsigned char *key)
{
    while (use && memcmp(use->key, key, MCP_DIGEST_LEN) != 0) {
        use = use->next;
    }

    return use;
}


void
mcp_upstream_session_use_begin(mcp_worker_t *worker,
    mcp_upstream_session_use_t *use, const unsigned char *key)
{
    mcp_upstream_session_use_t  **first;

    if (use->link) {
        return;
    }

    first = mcp_upstream_session_use_list(worker, key);

    use->key = key;
    use->next = *first;
    use->link = first;

    if (use->next) {
        use->next->link = &use->next;
    }

    *first = use;
}


void
mcp_upstream_session_use_end(mcp_worker_t *worker,
    mcp_upstream_session_use_t *use)
{
    mcp_upstream_session_use_t  *first;

    if (use->link == NULL) {
        return;
    }

    *use->link = use->next;

    if (use->next) {
        use->next->link = use->link;
    }

    use->link = NULL;

    first = *mcp_upstream_session_use_list(worker, use->key);

    if (mcp_upstream_session_use_find(first, use->key) == NULL) {
        mcp_store_upstream_session_leave(worker->store, use->key);
    }
}


void
mcp_upstream_session_uses_renew(mcp_worker_t *worker, uint64_t now)
{
    unsigned                     i;
    mcp_upstream_session_use_t  *use;

    if (now < worker->uses_renewed_at + MCP_UPSTREAM_SESSION_USED_RENEW
        && now >= worker->uses_renewed_at)
    {
        return;
    }

    worker->uses_renewed_at = now;

    for (i = 0; i < MCP_WORKER_USES; i++) {
        for (use = worker->uses[i]; use; use = use->next) {

            /* renews each session once: with the last one of its uses */

            if (mcp_upstream_session_use_find(use->next, use->key) == NULL) {
                mcp_store_upstream_session_renew(worker->store, use->key, now,
                                            now + MCP_UPSTREAM_SESSION_USED);
            }
        }
    }
}

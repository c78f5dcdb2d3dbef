/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/mcp_reason.h"
#include "worker/mcp_call_stats.h"


/* The rows of the call statistics for one catalog: one row for each item, in
 * the order of the catalog, and the row "other" for all other names. */
struct mcp_call_stats_entry_s {
    mcp_call_stats_entry_t  *next;
    unsigned char            catalog_key[MCP_DIGEST_LEN];
    const mcp_catalog_t     *catalog;  /* NULL: the endpoint has no catalog */
    uint32_t                 other;
    uint32_t                 rows[];
};


static mcp_call_stats_entry_t *
mcp_call_stats_entry(mcp_worker_t *worker, const unsigned char *catalog_key)
{
    mcp_call_stats_entry_t  *p;

    for (p = worker->call_stats; p; p = p->next) {
        if (memcmp(p->catalog_key, catalog_key, MCP_DIGEST_LEN) == 0) {
            return p;
        }
    }

    return NULL;
}


static void
mcp_call_stats_rows(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    mcp_call_stats_entry_t *p)
{
    size_t                 i, n;
    mcp_list_e             kind;
    mcp_call_stats_item_t  item;

    item.catalog_key = p->catalog_key;
    item.endpoint = endpoint->label;
    item.kind = MCP_CALL_STATS_KIND_OTHER;
    item.name = mcp_null_str;

    if (mcp_store_call_stats_row(worker->store, &item, &p->other)
        == MCP_ERR_FULL)
    {
        mcp_worker_log(worker, MCP_LOG_WARN,
                       "no row of call statistics left for \"%.*s\": its "
                       "calls are counted in \"other\": enlarge the zone (one "
                       "row for each 16 KB, 1024 at most)",
                       (int) endpoint->label.len,
                       endpoint->label.len ? endpoint->label.data : "");
    }

    n = endpoint->catalog ? mcp_catalog_items(endpoint->catalog) : 0;

    for (i = 0; i < n; i++) {
        item.name = mcp_catalog_key(endpoint->catalog, i, &kind);
        item.kind = (mcp_call_stats_kind_e) kind;

        if (mcp_store_call_stats_row(worker->store, &item, &p->rows[i])
            != MCP_OK) {
            p->rows[i] = p->other;
        }
    }
}


/* Removes the entry of a catalog, which may have been freed. */
static void
mcp_call_stats_forget(mcp_worker_t *worker, mcp_call_stats_entry_t *p)
{
    mcp_call_stats_entry_t  **link;

    for (link = &worker->call_stats; *link != p; link = &(*link)->next) {
        /* void */
    }

    *link = p->next;
    worker->env->mem.free(worker->env->mem.ctx, p);
}


void
mcp_call_stats_offer(mcp_worker_t *worker, const mcp_endpoint_t *endpoint)
{
    size_t                   n;
    mcp_call_stats_entry_t  *p;
    const mcp_mem_t         *mem;

    p = mcp_call_stats_entry(worker, endpoint->catalog_key);

    if (p) {
        mcp_call_stats_forget(worker, p);
    }

    mem = &worker->env->mem;
    n = endpoint->catalog ? mcp_catalog_items(endpoint->catalog) : 0;

    p = mem->alloc(mem->ctx,
                   sizeof(mcp_call_stats_entry_t) + n * sizeof(uint32_t));
    if (p == NULL) {
        return;
    }

    memcpy(p->catalog_key, endpoint->catalog_key, MCP_DIGEST_LEN);
    p->catalog = endpoint->catalog;
    mcp_call_stats_rows(worker, endpoint, p);

    p->next = worker->call_stats;
    worker->call_stats = p;
}


void
mcp_call_stats_free(mcp_worker_t *worker)
{
    while (worker->call_stats) {
        mcp_call_stats_forget(worker, worker->call_stats);
    }
}


uint32_t
mcp_call_stats_find(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    const mcp_method_t *method, mcp_str_t name)
{
    size_t                   i;
    mcp_call_stats_entry_t  *p;

    p = mcp_call_stats_entry(worker, endpoint->catalog_key);

    if (p == NULL) {
        return MCP_CALL_STATS_OTHER;
    }

    if (endpoint->catalog == NULL || endpoint->catalog != p->catalog
        || mcp_endpoint_item(endpoint, method->name, name, &i) != MCP_OK)
    {
        return p->other;
    }

    return p->rows[i];
}


uint32_t
mcp_call_stats_other(mcp_worker_t *worker, const mcp_endpoint_t *endpoint)
{
    const mcp_call_stats_entry_t  *p;

    p = mcp_call_stats_entry(worker, endpoint->catalog_key);

    return p ? p->other : MCP_CALL_STATS_OTHER;
}


void
mcp_call_stats_refused(mcp_exchange_t *x, mcp_fault_e fault)
{
    mcp_call_stats_failure_t  failure;

    memset(&failure, 0, sizeof(mcp_call_stats_failure_t));

    failure.at = mcp_worker_now(x->worker);
    failure.row = mcp_call_stats_find(x->worker, x->endpoint,
                                      mcp_method_find(x->msg->method),
                                      x->variables.value[MCP_VARIABLE_NAME]);
    failure.result = MCP_CALL_STATS_REFUSED;
    failure.reason = (uint16_t) mcp_reason_of_fault(fault);
    mcp_call_stats_copy(failure.principal, x->head.principal_name);

    mcp_store_call_stats_failed(x->worker->store, &failure);
}

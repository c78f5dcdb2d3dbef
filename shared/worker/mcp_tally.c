/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/mcp_reason.h"
#include "worker/mcp_tally.h"


/* The rows of one place: of its items, by their numbers, and of the rest. */
struct mcp_tally_place_s {
    mcp_tally_place_t    *next;
    unsigned char         place[MCP_DIGEST_LEN];
    const mcp_catalog_t  *catalog;     /* NULL: there is none */
    uint32_t              other;
    uint32_t              rows[];
};


static mcp_tally_place_t *
mcp_tally_place(mcp_worker_t *worker, const unsigned char *place)
{
    mcp_tally_place_t  *p;

    p = worker->tallied;

    if (p && memcmp(p->place, place, MCP_DIGEST_LEN) == 0) {
        return p;
    }

    for (p = worker->tallies; p; p = p->next) {
        if (memcmp(p->place, place, MCP_DIGEST_LEN) == 0) {
            worker->tallied = p;
            return p;
        }
    }

    return NULL;
}


static void
mcp_tally_rows(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    mcp_tally_place_t *p)
{
    size_t            i, n;
    mcp_list_e        kind;
    mcp_tally_item_t  item;

    item.place = p->place;
    item.endpoint = endpoint->label;
    item.kind = MCP_TALLY_KIND_OTHER;
    item.name = mcp_null_str;

    if (mcp_store_tally_row(worker->store, &item, &p->other) != MCP_OK) {
        mcp_worker_log(worker, MCP_LOG_WARN,
                       "no room in the zone for counters of \"%.*s\"",
                       (int) endpoint->label.len,
                       endpoint->label.len ? endpoint->label.data : "");
    }

    n = endpoint->catalog ? mcp_catalog_items(endpoint->catalog) : 0;

    for (i = 0; i < n; i++) {
        item.name = mcp_catalog_key(endpoint->catalog, i, &kind);
        item.kind = (mcp_tally_kind_e) kind;

        if (mcp_store_tally_row(worker->store, &item, &p->rows[i]) != MCP_OK) {
            p->rows[i] = p->other;
        }
    }
}


/* Forgets a place, whose catalog may have gone. */
static void
mcp_tally_forget(mcp_worker_t *worker, mcp_tally_place_t *p)
{
    mcp_tally_place_t  **link;

    for (link = &worker->tallies; *link != p; link = &(*link)->next) {
        /* void */
    }

    *link = p->next;
    worker->tallied = NULL;
    worker->env->mem.free(worker->env->mem.ctx, p);
}


void
mcp_tally_offer(mcp_worker_t *worker, const mcp_endpoint_t *endpoint)
{
    size_t              n;
    mcp_tally_place_t  *p;
    const mcp_mem_t    *mem;

    p = mcp_tally_place(worker, endpoint->place);

    if (p) {
        mcp_tally_forget(worker, p);
    }

    mem = &worker->env->mem;
    n = endpoint->catalog ? mcp_catalog_items(endpoint->catalog) : 0;

    p = mem->alloc(mem->ctx, sizeof(mcp_tally_place_t) + n * sizeof(uint32_t));
    if (p == NULL) {
        return;
    }

    memcpy(p->place, endpoint->place, MCP_DIGEST_LEN);
    p->catalog = endpoint->catalog;
    mcp_tally_rows(worker, endpoint, p);

    p->next = worker->tallies;
    worker->tallies = p;
}


void
mcp_tally_free(mcp_worker_t *worker)
{
    while (worker->tallies) {
        mcp_tally_forget(worker, worker->tallies);
    }
}


uint32_t
mcp_tally_find(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    const mcp_method_t *method, mcp_str_t name)
{
    size_t              i;
    mcp_tally_place_t  *p;

    p = mcp_tally_place(worker, endpoint->place);

    if (p == NULL) {
        return MCP_TALLY_OTHER;
    }

    if (endpoint->catalog == NULL || endpoint->catalog != p->catalog
        || mcp_endpoint_item(endpoint, method->id, name, &i) != MCP_OK)
    {
        return p->other;
    }

    return p->rows[i];
}


void
mcp_tally_refused(mcp_exchange_t *x, mcp_fault_e fault)
{
    mcp_tally_failure_t  failure;

    memset(&failure, 0, sizeof(mcp_tally_failure_t));

    failure.at = mcp_worker_now(x->worker);
    failure.row = mcp_tally_find(x->worker, x->endpoint,
                                 mcp_method_find(x->msg->method),
                                 x->facts.value[MCP_FACT_NAME]);
    failure.result = MCP_TALLY_REFUSED;
    failure.reason = mcp_reason_of_fault(fault);
    mcp_tally_principal(failure.principal, x->head.principal_name);

    mcp_store_tally_failed(x->worker->store, &failure);
}

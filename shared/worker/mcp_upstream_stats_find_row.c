/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/mcp_upstream_body.h"
#include "worker/mcp_upstream_stats_find_row.h"


/* An entry of the worker's list: one MCP server of an endpoint, and the row of
 * its statistics in the zone. */
struct mcp_upstream_entry_s {
    mcp_upstream_entry_t      *next;
    mcp_store_upstream_row_t   row;
    unsigned char              catalog_key[MCP_DIGEST_LEN];
    mcp_str_t                  identity;
    mcp_str_t                  name;
    char                       text[];     /* contains the text of identity and
                                              of name */
};


static mcp_upstream_entry_t *
mcp_upstream_stats_entry(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    mcp_str_t name)
{
    mcp_upstream_entry_t  *p;

    for (p = worker->upstreams; p; p = p->next) {
        if (memcmp(p->catalog_key, endpoint->catalog_key, MCP_DIGEST_LEN) == 0
            && mcp_str_eq(p->identity, endpoint->identity)
            && mcp_str_eq(p->name, name))
        {
            break;
        }
    }

    return p;
}


static mcp_str_t
mcp_upstream_stats_copy(char *p, mcp_str_t text)
{
    if (text.len) {
        memcpy(p, text.data, text.len);
    }

    return (mcp_str_t) { p, text.len };
}


/* Adds an entry for an MCP server to the worker's list. Returns NULL when out
 * of memory. */
static mcp_upstream_entry_t *
mcp_upstream_stats_add(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    mcp_str_t name)
{
    const mcp_mem_t       *mem;
    mcp_upstream_entry_t  *p;

    mem = &worker->env->mem;

    p = mem->alloc(mem->ctx, sizeof(mcp_upstream_entry_t)
                             + endpoint->identity.len + name.len);
    if (p == NULL) {
        return NULL;
    }

    memcpy(p->catalog_key, endpoint->catalog_key, MCP_DIGEST_LEN);
    p->identity = mcp_upstream_stats_copy(p->text, endpoint->identity);
    p->name = mcp_upstream_stats_copy(p->text + endpoint->identity.len, name);

    p->next = worker->upstreams;
    worker->upstreams = p;

    return p;
}


/* Returns the revision for the first request to an MCP server with this value
 * of mcp_upstream. Returns MCP_REVISION_NONE if the revision is negotiated with
 * the server. */
static mcp_revision_e
mcp_upstream_stats_revision(unsigned form)
{
    switch (form) {

    case MCP_UPSTREAM_MODERN:
        return mcp_revision_find(mcp_upstream_latest());

    case MCP_UPSTREAM_STATELESS:
        return mcp_revision_find(mcp_str(MCP_UPSTREAM_STATELESS_VERSION));

    default:
        return MCP_REVISION_NONE;
    }
}


/* Returns the entry of a target, and adds it to the worker's list if necessary.
 * Looks its row up in the zone, or takes a new one. Returns NULL when out of
 * memory. */
static mcp_upstream_entry_t *
mcp_upstream_stats_target(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    unsigned target)
{
    mcp_upstream_entry_t       *p;
    mcp_store_upstream_item_t   item;

    item.catalog_key = endpoint->catalog_key;
    item.identity = endpoint->identity;
    item.endpoint = endpoint->label.len ? endpoint->label : endpoint->identity;
    item.name = mcp_endpoint_target(endpoint, target);
    item.form = mcp_endpoint_upstream(endpoint, target);
    item.revision = mcp_upstream_stats_revision(item.form);

    p = mcp_upstream_stats_entry(worker, endpoint, item.name);

    if (p == NULL) {
        p = mcp_upstream_stats_add(worker, endpoint, item.name);
    }

    if (p && mcp_store_upstream_offer(worker->store, &item, &p->row)
             == MCP_ERR_FULL)
    {
        mcp_worker_log(worker, MCP_LOG_WARN,
                       "the status page does not show the MCP server \"%.*s\" "
                       "of the endpoint \"%.*s\", because the zone has no "
                       "free row: enlarge the zone (one row for each 64 KB, "
                       "%d at most)",
                       (int) item.name.len, item.name.data,
                       (int) item.endpoint.len,
                       item.endpoint.len ? item.endpoint.data : "",
                       MCP_STORE_UPSTREAMS);
    }

    return p;
}


void
mcp_upstream_stats_offer(mcp_worker_t *worker, const mcp_endpoint_t *endpoint)
{
    unsigned  i;

    for (i = 0; i < endpoint->n_targets; i++) {
        if (mcp_endpoint_upstream(endpoint, i) != MCP_UPSTREAM_OFF) {
            (void) mcp_upstream_stats_target(worker, endpoint, i);
        }
    }
}


void
mcp_upstream_stats_free(mcp_worker_t *worker)
{
    mcp_upstream_entry_t  *p;

    while ((p = worker->upstreams) != NULL) {
        worker->upstreams = p->next;
        mcp_mem_free(&worker->env->mem, p);
    }
}


mcp_store_upstream_row_t
mcp_upstream_stats_find(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    unsigned target)
{
    mcp_upstream_entry_t  *p;

    p = mcp_upstream_stats_entry(worker, endpoint,
                                 mcp_endpoint_target(endpoint, target));

    if (p == NULL) {
        p = mcp_upstream_stats_target(worker, endpoint, target);
    }

    return p ? p->row : MCP_STORE_UPSTREAM_NONE;
}

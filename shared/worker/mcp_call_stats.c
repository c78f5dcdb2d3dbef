/* SPDX-License-Identifier: Apache-2.0 */


#include "rpc/mcp_fault.h"
#include "store/mcp_store_call_stats.h"
#include "worker/mcp_call_stats.h"


/* The rows of the call statistics for one catalog key: the row "other" and, if
 * there is a catalog, one row for each item, in the order of the catalog. An
 * endpoint without a catalog key has its own entry, which "identity"
 * identifies. */
struct mcp_call_stats_entry_s {
    mcp_call_stats_entry_t  *next;
    unsigned char            catalog_key[MCP_DIGEST_LEN];
    unsigned char            key[MCP_DIGEST_LEN];      /* key of the endpoint's
                                                          rows in the zone */
    mcp_str_t                identity; /* its text is stored after "rows" */
    const mcp_catalog_t     *catalog;  /* NULL: the endpoint has no catalog */
    uint32_t                 other;
    uint32_t                 seen;     /* number of the zone's rows that were
                                          searched for tools of the endpoint so
                                          far */
    uint32_t                 n_tools;  /* without a catalog: number of tools in
                                          "rows" */
    unsigned                 full:1;   /* 1: no further tools of the endpoint
                                          get rows in the zone */
    uint32_t                 rows[];   /* without a catalog: a hash table of
                                          the rows of tools by name, 0 for a
                                          free place */
};

/* Number of places in the hash table, and maximum number of tools in it. At
 * least half of the places stay free, so that each search ends at a free
 * place. */
#define MCP_CALL_STATS_PLACES  512
#define MCP_CALL_STATS_TOOLS   (MCP_CALL_STATS_PLACES / 2)


static mcp_call_stats_entry_t *
mcp_call_stats_known(mcp_worker_t *worker, const mcp_endpoint_t *endpoint)
{
    mcp_call_stats_entry_t  *p;

    for (p = worker->call_stats; p; p = p->next) {
        if (memcmp(p->catalog_key, endpoint->catalog_key, MCP_DIGEST_LEN) == 0
            && (endpoint->label.len
                || mcp_str_eq(p->identity, endpoint->identity)))
        {
            return p;
        }
    }

    return NULL;
}


/* Returns the entry of an endpoint, or NULL if there is none. Creates the entry
 * of an endpoint without a catalog key at its first request, because such an
 * endpoint is not passed to mcp_worker_offer(). */
static mcp_call_stats_entry_t *
mcp_call_stats_entry(mcp_worker_t *worker, const mcp_endpoint_t *endpoint)
{
    mcp_call_stats_entry_t  *p;

    p = mcp_call_stats_known(worker, endpoint);

    if (p == NULL && endpoint->label.len == 0 && endpoint->catalog == NULL) {
        mcp_call_stats_offer(worker, endpoint);
        p = mcp_call_stats_known(worker, endpoint);
    }

    return p;
}


static mcp_str_t
mcp_call_stats_name(const mcp_endpoint_t *endpoint)
{
    return endpoint->label.len ? endpoint->label : endpoint->identity;
}


/* Copies the endpoint's catalog key to an entry, and sets the key of the
 * entry's rows. That key is the catalog key, or a digest of the endpoint's
 * identity if the endpoint has no catalog key. */
static void
mcp_call_stats_key(mcp_call_stats_entry_t *p, const mcp_endpoint_t *endpoint)
{
    const mcp_str_t  parts[2] = {
        mcp_str("endpoint without a catalog key"), endpoint->identity
    };

    memcpy(p->catalog_key, endpoint->catalog_key, MCP_DIGEST_LEN);

    if (endpoint->label.len || mcp_digest(p->key, parts, 2) != MCP_OK) {
        memcpy(p->key, endpoint->catalog_key, MCP_DIGEST_LEN);
    }
}


static void
mcp_call_stats_rows(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    mcp_call_stats_entry_t *p)
{
    size_t                 i, n;
    mcp_list_e             kind;
    mcp_call_stats_item_t  item;

    item.catalog_key = p->key;
    item.endpoint = mcp_call_stats_name(endpoint);
    item.kind = MCP_CALL_STATS_KIND_OTHER;
    item.name = mcp_null_str;

    if (mcp_store_call_stats_row(worker->store, &item, 0, &p->other)
        == MCP_ERR_FULL)
    {
        mcp_worker_log(worker, MCP_LOG_WARN,
                       "the zone has no row of call statistics left for the "
                       "endpoint \"%.*s\", whose calls are counted as "
                       "\"other\": enlarge the zone (one row for each 16 KB, "
                       "1024 at most)",
                       (int) item.endpoint.len,
                       item.endpoint.len ? item.endpoint.data : "");
    }

    n = endpoint->catalog ? mcp_catalog_items(endpoint->catalog) : 0;

    for (i = 0; i < n; i++) {
        item.name = mcp_catalog_key(endpoint->catalog, i, &kind);
        item.kind = (mcp_call_stats_kind_e) kind;

        if (mcp_store_call_stats_row(worker->store, &item, 0, &p->rows[i])
            != MCP_OK) {
            p->rows[i] = p->other;
        }
    }
}


/* Removes an entry from the worker's list and frees it. Does not use
 * p->catalog, because the catalog may have been freed. */
static void
mcp_call_stats_forget(mcp_worker_t *worker, mcp_call_stats_entry_t *p)
{
    mcp_call_stats_entry_t  **link;

    for (link = &worker->call_stats; *link != p; link = &(*link)->next) {
        /* void */
    }

    *link = p->next;
    mcp_mem_free(&worker->env->mem, p);
}


void
mcp_call_stats_offer(mcp_worker_t *worker, const mcp_endpoint_t *endpoint)
{
    size_t                   n;
    mcp_call_stats_entry_t  *p;
    const mcp_mem_t         *mem;

    p = mcp_call_stats_known(worker, endpoint);

    if (p) {
        mcp_call_stats_forget(worker, p);
    }

    mem = &worker->env->mem;
    n = endpoint->catalog ? mcp_catalog_items(endpoint->catalog)
                          : MCP_CALL_STATS_PLACES;

    p = mcp_mem_calloc(mem, sizeof(mcp_call_stats_entry_t)
                            + n * sizeof(uint32_t)
                            + endpoint->identity.len);
    if (p == NULL) {
        return;
    }

    if (endpoint->identity.len) {
        p->identity.data = (const char *) &p->rows[n];
        p->identity.len = endpoint->identity.len;
        memcpy(&p->rows[n], endpoint->identity.data, endpoint->identity.len);
    }

    mcp_call_stats_key(p, endpoint);
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


/* --- tools of MCP servers without a catalog --- */

/* Returns the place of a tool in the hash table: the place with the tool's row
 * or, if the tool has no row yet, the free place for it. */
static uint32_t *
mcp_call_stats_place(mcp_worker_t *worker, mcp_call_stats_entry_t *p,
    mcp_str_t name)
{
    size_t    i;
    uint32_t  hash;

    hash = 2166136261u;                /* FNV-1a */

    for (i = 0; i < name.len && i < MCP_CALL_STATS_NAME; i++) {
        hash = (hash ^ (unsigned char) name.data[i]) * 16777619u;
    }

    for (i = hash % MCP_CALL_STATS_PLACES;
         p->rows[i] != MCP_CALL_STATS_OTHER
         && !mcp_store_call_stats_is_tool(worker->store, p->rows[i], name);
         i = (i + 1) % MCP_CALL_STATS_PLACES)
    {
        /* void */
    }

    return &p->rows[i];
}


/* Adds to the hash table the rows that processes have taken for tools of the
 * endpoint since the last call of this function. */
static void
mcp_call_stats_update(mcp_worker_t *worker, mcp_call_stats_entry_t *p)
{
    uint32_t          n, *place;
    mcp_call_stats_t  stats;

    n = mcp_store_call_stats_rows(worker->store);

    for ( ; p->seen < n && p->n_tools < MCP_CALL_STATS_TOOLS; p->seen++) {

        if (!mcp_store_call_stats_same(worker->store, p->seen, p->other)) {
            continue;
        }

        mcp_store_call_stats_get(worker->store, p->seen, &stats);

        if (stats.kind != MCP_CALL_STATS_KIND_TOOL) {
            continue;
        }

        place = mcp_call_stats_place(worker, p,
                                     (mcp_str_t) { stats.name,
                                                   strlen(stats.name) });
        if (*place == MCP_CALL_STATS_OTHER) {
            *place = p->seen;
            p->n_tools++;
        }
    }
}


static uint32_t
mcp_call_stats_tool(mcp_worker_t *worker, mcp_call_stats_entry_t *p,
    mcp_str_t name)
{
    uint32_t  row;

    mcp_call_stats_update(worker, p);

    if (p->n_tools == 0) {
        return p->other;
    }

    row = *mcp_call_stats_place(worker, p, name);

    return row == MCP_CALL_STATS_OTHER ? p->other : row;
}


/* Takes a row in the zone for a tool from a result of tools/list, unless the
 * tool has a row. */
static void
mcp_call_stats_listed(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    mcp_call_stats_entry_t *p, mcp_str_t name)
{
    char                   text[MCP_CALL_STATS_NAME];
    uint32_t               row;
    mcp_call_stats_item_t  item;

    /* a tool whose name a row cannot store unchanged gets no row, because its
     * row would not be found again */

    if (name.len == 0 || mcp_call_stats_text(text, sizeof(text), name)
        || memcmp(text, name.data, name.len) != 0
        || mcp_call_stats_tool(worker, p, name) != p->other)
    {
        return;
    }

    item.catalog_key = p->key;
    item.endpoint = mcp_call_stats_name(endpoint);
    item.kind = MCP_CALL_STATS_KIND_TOOL;
    item.name = name;

    if (mcp_store_call_stats_row(worker->store, &item, 1, &row) == MCP_ERR_FULL)
    {
        p->full = 1;
        mcp_worker_log(worker, MCP_LOG_NOTICE,
                       "the zone has no row of call statistics left for the "
                       "tool \"%.*s\" of the endpoint \"%.*s\": calls of this "
                       "tool and of further tools are counted as \"other\"",
                       (int) name.len, name.data, (int) item.endpoint.len,
                       item.endpoint.len ? item.endpoint.data : "");
    }
}


void
mcp_call_stats_list(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    mcp_str_t result)
{
    mcp_str_t                name;
    mcp_arena_t              scratch;
    mcp_json_iter_t          iter;
    mcp_json_value_t         list, item;
    mcp_call_stats_entry_t  *p;

    p = mcp_call_stats_entry(worker, endpoint);

    if (p == NULL || p->catalog || p->other == MCP_CALL_STATS_OTHER || p->full)
    {
        return;
    }

    list = mcp_json_get_from(result, mcp_str("tools"));
    mcp_json_iter_type(&iter, &list, MCP_JSON_ARRAY);
    mcp_arena_init(&scratch, &worker->env->mem);

    while (!p->full && mcp_json_iter_next(&iter, NULL, &item)) {

        if (item.type != MCP_JSON_OBJECT) {
            continue;
        }

        item = mcp_json_get(&item, mcp_str("name"));

        if (item.type == MCP_JSON_STRING
            && item.raw.len <= 6 * MCP_CALL_STATS_NAME
            && mcp_json_unescape(&scratch, item.raw, &name) == MCP_OK)
        {
            mcp_call_stats_listed(worker, endpoint, p, name);
        }
    }

    mcp_arena_destroy(&scratch);
}


/* --- endpoints with and without a catalog --- */

uint32_t
mcp_call_stats_find(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    const mcp_method_t *method, mcp_str_t name)
{
    size_t                   i;
    mcp_call_stats_entry_t  *p;

    p = mcp_call_stats_entry(worker, endpoint);

    if (p == NULL) {
        return MCP_CALL_STATS_OTHER;
    }

    if (endpoint->catalog == NULL && p->catalog == NULL
        && p->other != MCP_CALL_STATS_OTHER
        && method->id == MCP_METHOD_TOOLS_CALL)
    {
        return mcp_call_stats_tool(worker, p, name);
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

    p = mcp_call_stats_entry(worker, endpoint);

    return p ? p->other : MCP_CALL_STATS_OTHER;
}


void
mcp_call_stats_refused(mcp_exchange_t *x, mcp_fault_e fault)
{
    mcp_call_stats_failure_t  failure;

    /* the request began a call, which has stored the failure with its id, see
     * mcp_request_ends() */

    if (x->counted) {
        return;
    }

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


/* --- durations --- */

void
mcp_duration_count(mcp_exchange_t *x, const mcp_method_t *method,
    mcp_str_t name, mcp_error_type_e error)
{
    mcp_duration_key_t  key;

    key.row = method->subject == MCP_SUBJECT_NAME
              ? mcp_call_stats_find(x->worker, x->endpoint, method, name)
              : mcp_call_stats_other(x->worker, x->endpoint);
    key.method = method->id;
    key.revision = x->client.revision;
    key.error = error;

    mcp_store_duration_count(x->worker->store, &key, x->received,
                             mcp_worker_now(x->worker));
}


void
mcp_duration_answered(mcp_exchange_t *x, mcp_error_type_e error)
{
    if (x->counted || (x->msg->kind != MCP_RPC_REQUEST
                       && x->msg->kind != MCP_RPC_NOTIFICATION))
    {
        return;
    }

    x->counted = 1;
    mcp_duration_count(x, x->msg->row, x->variables.value[MCP_VARIABLE_NAME],
                       error);
}


void
mcp_duration_opened(mcp_exchange_t *x)
{
    if (x->msg->row && !x->msg->row->takes_input) {
        mcp_duration_answered(x, MCP_ERROR_TYPE_NONE);
    }
}

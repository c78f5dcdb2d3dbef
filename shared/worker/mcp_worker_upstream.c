/* SPDX-License-Identifier: Apache-2.0 */


#include "base/mcp_str.h"
#include "rpc/mcp_upstream_body.h"
#include "store/mcp_store_upstream.h"
#include "worker/mcp_worker_upstream.h"


/* --- the cache of lists --- */

static int
mcp_upstream_lists_same(const mcp_upstream_page_key_t *a,
    const mcp_upstream_page_key_t *b)
{
    return a->endpoint == b->endpoint && a->target == b->target
           && a->kind == b->kind
           && memcmp(a->request, b->request, MCP_DIGEST_LEN) == 0;
}


/* Removes the page at *link from the worker's list and returns it. */
static mcp_upstream_page_t *
mcp_upstream_lists_take(mcp_worker_t *worker, mcp_upstream_page_t **link)
{
    mcp_upstream_page_t  *page;

    page = *link;
    *link = page->next;

    worker->n_pages--;
    worker->pages_size -= page->text.len;

    return page;
}


/* Inserts a page at the front of the worker's list, in which the page that was
 * used last is the first one. */
static void
mcp_upstream_lists_link(mcp_worker_t *worker, mcp_upstream_page_t *page)
{
    page->next = worker->pages;
    worker->pages = page;

    worker->n_pages++;
    worker->pages_size += page->text.len;
}


static void
mcp_upstream_lists_remove(mcp_worker_t *worker, mcp_upstream_page_t **link)
{
    mcp_upstream_page_t  *page;

    page = mcp_upstream_lists_take(worker, link);

    mcp_buf_free(&page->text);
    mcp_mem_free(&worker->env->mem, page);
}


static mcp_upstream_page_t **
mcp_upstream_lists_search(mcp_worker_t *worker,
    const mcp_upstream_page_key_t *key)
{
    mcp_upstream_page_t  **link;

    for (link = &worker->pages; *link; link = &(*link)->next) {
        if (mcp_upstream_lists_same(&(*link)->key, key)) {
            break;
        }
    }

    return link;
}


mcp_upstream_page_t *
mcp_upstream_lists_find(mcp_worker_t *worker,
    const mcp_upstream_page_key_t *key)
{
    mcp_upstream_page_t  *page, **link;

    link = mcp_upstream_lists_search(worker, key);

    if (*link == NULL) {
        return NULL;
    }

    page = mcp_upstream_lists_take(worker, link);
    mcp_upstream_lists_link(worker, page);

    return page;
}


/* Removes the least recently used pages until a page of "size" bytes fits into
 * the cache. */
static void
mcp_upstream_lists_trim(mcp_worker_t *worker, size_t size)
{
    mcp_upstream_page_t  **last;

    while (worker->pages
           && (worker->n_pages == MCP_UPSTREAM_LISTS_PAGES
               || worker->pages_size + size > MCP_UPSTREAM_LISTS_SIZE))
    {
        for (last = &worker->pages; (*last)->next; last = &(*last)->next) {
            /* void */
        }

        mcp_upstream_lists_remove(worker, last);
    }
}


/* Returns the value of ttlMs, or 0 if it contains anything but digits. */
static uint64_t
mcp_upstream_lists_ttl(const mcp_json_value_t *value)
{
    size_t    i;
    uint64_t  ttl;

    ttl = 0;

    for (i = 0; value->type == MCP_JSON_NUMBER && i < value->raw.len; i++) {
        if (value->raw.data[i] < '0' || value->raw.data[i] > '9') {
            return 0;
        }

        ttl = ttl * 10 + (uint64_t) (value->raw.data[i] - '0');

        if (ttl > INT64_MAX / 16) {
            ttl = INT64_MAX / 16;
        }
    }

    return ttl;
}


/* Copies the members of a result to a page, except ttlMs, which is stored
 * separately. */
static void
mcp_upstream_lists_copy(mcp_upstream_page_t *page, mcp_str_t result)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_buf_lit(&page->text, "{");
    mcp_json_iter_init(&iter, result);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (mcp_json_str_eq(key, mcp_str("ttlMs"))) {
            page->has_ttl = 1;
            page->ttl = mcp_upstream_lists_ttl(&value);
            continue;
        }

        mcp_json_add_key(&page->text, key);
        mcp_buf_str(&page->text, value.raw);
    }

    mcp_buf_lit(&page->text, "}");
}


void
mcp_upstream_lists_put(mcp_worker_t *worker,
    const mcp_upstream_page_key_t *key, mcp_str_t result, uint64_t check)
{
    uint64_t               fresh;
    const mcp_mem_t       *mem;
    mcp_upstream_page_t   *page, **old;

    old = mcp_upstream_lists_search(worker, key);

    if (*old) {
        mcp_upstream_lists_remove(worker, old);
    }

    mem = &worker->env->mem;

    page = result.len <= MCP_UPSTREAM_LISTS_PAGE
           ? mcp_mem_calloc(mem, sizeof(mcp_upstream_page_t)) : NULL;

    if (page == NULL) {
        return;
    }

    mcp_buf_init(&page->text, mem, SIZE_MAX / 2);
    mcp_upstream_lists_copy(page, result);

    if (page->text.failed) {
        mcp_buf_free(&page->text);
        mcp_mem_free(mem, page);
        return;
    }

    fresh = page->ttl < MCP_UPSTREAM_LISTS_TTL ? page->ttl
                                               : MCP_UPSTREAM_LISTS_TTL;

    page->key = *key;
    page->at = mcp_worker_now(worker);
    page->until = page->at + (fresh > check ? fresh : check);

    mcp_upstream_lists_trim(worker, page->text.len);
    mcp_upstream_lists_link(worker, page);
}


void
mcp_upstream_lists_write(const mcp_upstream_page_t *page, uint64_t now,
    mcp_buf_t *out)
{
    uint64_t   age;
    mcp_str_t  text;

    text = mcp_buf_text(&page->text);

    if (!page->has_ttl) {
        mcp_buf_str(out, text);
        return;
    }

    age = now - page->at;

    mcp_buf_lit(out, "{\"ttlMs\":");
    mcp_buf_int(out, (int64_t) (age < page->ttl ? page->ttl - age : 0));

    if (text.len > 2) {
        mcp_buf_lit(out, ",");
    }

    mcp_buf_add(out, text.data + 1, text.len - 1);
}


static uint64_t *
mcp_upstream_lists_counter(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    unsigned target, mcp_list_e kind)
{
    uintptr_t  hash;

    hash = (uintptr_t) endpoint / 64 + target * MCP_LIST_COUNT + kind;

    return &worker->lists_changed[hash % MCP_WORKER_LISTS];
}


uint64_t
mcp_upstream_lists_changed(mcp_worker_t *worker,
    const mcp_upstream_page_key_t *key)
{
    return *mcp_upstream_lists_counter(worker, key->endpoint, key->target,
                                       key->kind);
}


void
mcp_upstream_lists_drop(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    unsigned target, mcp_list_e kind)
{
    mcp_upstream_page_t  **link;

    (*mcp_upstream_lists_counter(worker, endpoint, target, kind))++;
    link = &worker->pages;

    while (*link) {
        if ((*link)->key.endpoint == endpoint && (*link)->key.target == target
            && (*link)->key.kind == kind)
        {
            mcp_upstream_lists_remove(worker, link);

        } else {
            link = &(*link)->next;
        }
    }
}


void
mcp_upstream_lists_free(mcp_worker_t *worker)
{
    while (worker->pages) {
        mcp_upstream_lists_remove(worker, &worker->pages);
    }
}


/* --- the headers of tools --- */

#define mcp_upstream_tools_mark  mcp_str("\"x-mcp-header\"")


struct mcp_upstream_tool_s {
    mcp_upstream_tool_t         *next;
    const mcp_endpoint_t        *endpoint;
    unsigned                     target;
    mcp_arena_t                  arena;        /* memory for the name and the
                                                  headers */
    mcp_str_t                    name;
    const mcp_catalog_header_t  *headers;
    size_t                       n;
};


/* Returns the address of the pointer to a tool in the worker's list. If the
 * list does not have the tool, returns the address of the NULL pointer at its
 * end. */
static mcp_upstream_tool_t **
mcp_upstream_tools_link(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    unsigned target, mcp_str_t name)
{
    mcp_upstream_tool_t  **link;

    for (link = &worker->tools; *link; link = &(*link)->next) {
        if ((*link)->endpoint == endpoint && (*link)->target == target
            && mcp_str_eq((*link)->name, name))
        {
            break;
        }
    }

    return link;
}


static void
mcp_upstream_tools_remove(mcp_worker_t *worker, mcp_upstream_tool_t **link)
{
    mcp_upstream_tool_t  *tool;

    tool = *link;

    if (tool) {
        *link = tool->next;
        worker->n_tools--;

        mcp_arena_destroy(&tool->arena);
        mcp_mem_free(&worker->env->mem, tool);
    }
}


void
mcp_upstream_tools_free(mcp_worker_t *worker)
{
    while (worker->tools) {
        mcp_upstream_tools_remove(worker, &worker->tools);
    }
}


/* Removes the last tool of the worker's list if the list has MCP_UPSTREAM_TOOLS
 * tools. */
static void
mcp_upstream_tools_trim(mcp_worker_t *worker)
{
    mcp_upstream_tool_t  **last;

    if (worker->n_tools < MCP_UPSTREAM_TOOLS) {
        return;
    }

    for (last = &worker->tools; (*last)->next; last = &(*last)->next) {
        /* void */
    }

    mcp_upstream_tools_remove(worker, last);
}


/* Adds a tool to the worker's list if its schema declares headers. "name" is
 * unescaped. */
static void
mcp_upstream_tools_add(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    unsigned target, mcp_str_t name, const mcp_json_value_t *schema)
{
    mcp_upstream_tool_t  *tool;

    tool = mcp_mem_calloc(&worker->env->mem, sizeof(mcp_upstream_tool_t));
    if (tool == NULL) {
        return;
    }

    mcp_arena_init(&tool->arena, &worker->env->mem);

    tool->endpoint = endpoint;
    tool->target = target;
    tool->name = mcp_arena_dup(&tool->arena, name);

    if (tool->name.data == NULL
        || mcp_catalog_headers_of(&tool->arena, schema, &tool->headers,
                                  &tool->n)
           != MCP_OK
        || tool->n == 0)
    {
        mcp_arena_destroy(&tool->arena);
        mcp_mem_free(&worker->env->mem, tool);
        return;
    }

    mcp_upstream_tools_trim(worker);

    tool->next = worker->tools;
    worker->tools = tool;
    worker->n_tools++;
}


/* Reads one item of a tools/list result: removes the tool from the worker's
 * list, and adds it again if its schema declares headers. */
static void
mcp_upstream_tools_read_one(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, unsigned target,
    const mcp_json_value_t *item)
{
    mcp_str_t         name;
    mcp_arena_t       scratch;
    mcp_json_value_t  raw, schema;

    raw = mcp_json_get(item, mcp_str("name"));
    schema = mcp_json_get(item, mcp_str("inputSchema"));

    if (raw.type != MCP_JSON_STRING) {
        return;
    }

    mcp_arena_init(&scratch, &worker->env->mem);

    if (mcp_json_unescape(&scratch, raw.raw, &name) == MCP_OK) {
        mcp_upstream_tools_remove(worker,
            mcp_upstream_tools_link(worker, endpoint, target, name));

        if (schema.type == MCP_JSON_OBJECT
            && schema.raw.len <= MCP_UPSTREAM_TOOLS_SCHEMA
            && mcp_str_find(schema.raw, mcp_upstream_tools_mark))
        {
            mcp_upstream_tools_add(worker, endpoint, target, name, &schema);
        }
    }

    mcp_arena_destroy(&scratch);
}


void
mcp_upstream_tools_read(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    unsigned target, mcp_str_t result)
{
    mcp_json_iter_t   iter;
    mcp_json_value_t  list, item;

    /* a shortcut, because most servers have no tools with "x-mcp-header" */

    if (worker->tools == NULL
        && !mcp_str_find(result, mcp_upstream_tools_mark))
    {
        return;
    }

    list = mcp_json_get_from(result, mcp_str("tools"));
    mcp_json_iter_type(&iter, &list, MCP_JSON_ARRAY);

    while (mcp_json_iter_next(&iter, NULL, &item)) {
        if (item.type == MCP_JSON_OBJECT) {
            mcp_upstream_tools_read_one(worker, endpoint, target, &item);
        }
    }
}


const mcp_catalog_header_t *
mcp_upstream_tools_find(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    unsigned target, mcp_str_t tool, size_t *n)
{
    const mcp_upstream_tool_t  *found;

    found = *mcp_upstream_tools_link(worker, endpoint, target, tool);
    *n = found ? found->n : 0;

    return found ? found->headers : NULL;
}


/* --- rows of statistics --- */

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


/* --- sessions in use --- */

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

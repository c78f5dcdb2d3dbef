/* SPDX-License-Identifier: Apache-2.0 */

#include "worker/mcp_upstream_list_cache.h"


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


void
mcp_upstream_lists_drop(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    unsigned target, mcp_list_e kind)
{
    mcp_upstream_page_t  **link;

    worker->lists_changed++;
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

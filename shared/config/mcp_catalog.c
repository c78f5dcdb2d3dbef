/* SPDX-License-Identifier: Apache-2.0 */

/* Finds items and their limits in a catalog, and writes the pages of its lists,
 * with cursors. */


#include "base/mcp_base64.h"
#include "config/mcp_catalog_internal.h"


/* Length of a cursor in bytes: position of an item (4), kind (1), digest of
 * the catalog (7). */
#define MCP_CATALOG_CURSOR_LEN   12
#define MCP_CATALOG_CURSOR_TEXT  mcp_base64url_len(MCP_CATALOG_CURSOR_LEN)


const mcp_json_field_t  mcp_catalog_fields[MCP_CATALOG_FIELDS] = {
    mcp_json_field(MCP_JSON_ROOT, "tools"),
    mcp_json_field(MCP_JSON_ROOT, "prompts"),
    mcp_json_field(MCP_JSON_ROOT, "resources"),
    mcp_json_field(MCP_JSON_ROOT, "resourceTemplates"),
    mcp_json_field(MCP_JSON_ROOT, "instructions"),
    mcp_json_field(MCP_JSON_ROOT, "completions"),
    mcp_json_field(MCP_JSON_ROOT, "extensions"),
    mcp_json_field(MCP_JSON_ROOT, "icons"),
    mcp_json_field(MCP_JSON_ROOT, "websiteUrl"),
    mcp_json_field(MCP_JSON_ROOT, "description")
};


void
mcp_catalog_free(mcp_catalog_t *catalog)
{
    int                 kind, filter;
    uint32_t            i;
    mcp_catalog_set_t  *set;

    if (catalog == NULL) {
        return;
    }

    for (kind = 0; kind < MCP_LIST_COUNT; kind++) {
        set = &catalog->sets[kind];

        for (i = 0; i < set->n; i++) {
            mcp_match_free(set->items[i].match);
        }

        for (filter = 0; filter < MCP_REVISION_FILTER_SETS; filter++) {
            mcp_buf_free(&set->texts[filter].items);
        }
    }

    mcp_arena_destroy(&catalog->arena);
    mcp_mem_free(&catalog->mem, catalog);
}


int
mcp_catalog_has(const mcp_catalog_t *catalog, mcp_list_e kind)
{
    return catalog->sets[kind].present;
}


const unsigned char *
mcp_catalog_digest(const mcp_catalog_t *catalog, mcp_list_e kind)
{
    return catalog->sets[kind].digest;
}


const mcp_catalog_info_t *
mcp_catalog_info(const mcp_catalog_t *catalog)
{
    return &catalog->info;
}


/*
 * The hash function FNV-1a, which needs no secret: the keys come from the
 * operator, so that no attacker chooses colliding ones.
 */
static uint32_t
mcp_catalog_hash(mcp_str_t key)
{
    size_t    i;
    uint32_t  hash;

    hash = 2166136261u;

    for (i = 0; i < key.len; i++) {
        hash = (hash ^ (unsigned char) key.data[i]) * 16777619u;
    }

    return hash ^ hash >> 15;
}


const mcp_catalog_item_t *
mcp_catalog_lookup(const mcp_catalog_set_t *set, mcp_str_t key, uint32_t *slot)
{
    uint32_t                   i;
    const mcp_catalog_item_t  *item;

    if (set->table == NULL) {
        return NULL;
    }

    i = mcp_catalog_hash(key) & set->mask;

    while (set->table[i] != 0) {
        item = &set->items[set->table[i] - 1];

        if (mcp_str_eq(item->key, key)) {
            return item;
        }

        i = (i + 1) & set->mask;
    }

    if (slot != NULL) {
        *slot = i;
    }

    return NULL;
}


static const mcp_catalog_item_t *
mcp_catalog_item(const mcp_catalog_t *catalog, mcp_list_e kind,
    mcp_str_t key)
{
    uint32_t                  i;
    const mcp_catalog_set_t  *set;

    set = &catalog->sets[kind];

    if (kind != MCP_LIST_TEMPLATES) {
        return mcp_catalog_lookup(set, key, NULL);
    }

    for (i = 0; i < set->n; i++) {
        if (mcp_match(set->items[i].match, key)) {
            return &set->items[i];
        }
    }

    return NULL;
}


mcp_str_t
mcp_catalog_find(const mcp_catalog_t *catalog, mcp_list_e kind,
    mcp_str_t key)
{
    const mcp_catalog_item_t  *item;

    item = mcp_catalog_item(catalog, kind, key);

    return item ? item->raw : mcp_null_str;
}


size_t
mcp_catalog_items(const mcp_catalog_t *catalog)
{
    int     kind;
    size_t  n;

    n = 0;

    for (kind = 0; kind < MCP_LIST_COUNT; kind++) {
        n += catalog->sets[kind].n;
    }

    return n;
}


mcp_str_t
mcp_catalog_key(const mcp_catalog_t *catalog, size_t number, mcp_list_e *kind)
{
    int  k;

    for (k = 0; number >= catalog->sets[k].n; k++) {
        number -= catalog->sets[k].n;
    }

    *kind = (mcp_list_e) k;

    return catalog->sets[k].items[number].key;
}


int
mcp_catalog_number(const mcp_catalog_t *catalog, mcp_list_e kind,
    mcp_str_t key, size_t *number)
{
    int                        k;
    const mcp_catalog_item_t  *item;

    item = mcp_catalog_item(catalog, kind, key);

    if (item == NULL) {
        return MCP_ERR_NOT_FOUND;
    }

    *number = (size_t) (item - catalog->sets[kind].items);

    for (k = 0; k < (int) kind; k++) {
        *number += catalog->sets[k].n;
    }

    return MCP_OK;
}


const mcp_policy_rule_t *
mcp_catalog_rule(const mcp_catalog_t *catalog, mcp_list_e kind,
    mcp_str_t key)
{
    const mcp_catalog_item_t  *item;

    item = mcp_catalog_item(catalog, kind, key);

    return item ? item->rule : NULL;
}


int
mcp_catalog_has_output(const mcp_catalog_t *catalog, mcp_str_t tool)
{
    const mcp_catalog_item_t  *item;

    if (!catalog->info.outputs) {
        return 0;
    }

    item = mcp_catalog_item(catalog, MCP_LIST_TOOLS, tool);

    return item && item->output;
}


mcp_str_t
mcp_catalog_scope(const mcp_catalog_t *catalog, mcp_list_e kind, mcp_str_t key)
{
    const mcp_catalog_item_t  *item;

    item = mcp_catalog_item(catalog, kind, key);

    return item ? item->scope : mcp_null_str;
}


int
mcp_catalog_template(const mcp_catalog_t *catalog, mcp_str_t uri, uint32_t *i,
    mcp_str_t *text, mcp_str_t *scope)
{
    const mcp_catalog_set_t  *set;

    set = &catalog->sets[MCP_LIST_TEMPLATES];

    while (*i < set->n) {
        (*i)++;

        if (mcp_match(set->items[*i - 1].match, uri)) {
            *text = set->items[*i - 1].key;
            *scope = set->items[*i - 1].scope;
            return 1;
        }
    }

    return 0;
}


int
mcp_catalog_has_template(const mcp_catalog_t *catalog, mcp_str_t text,
    mcp_str_t *scope)
{
    const mcp_catalog_item_t  *item;

    item = mcp_catalog_lookup(&catalog->sets[MCP_LIST_TEMPLATES], text, NULL);
    *scope = item ? item->scope : mcp_null_str;

    return item != NULL;
}


static void
mcp_catalog_cursor_make(const mcp_catalog_t *catalog, mcp_list_e kind,
    uint32_t pos, unsigned char cursor[MCP_CATALOG_CURSOR_LEN])
{
    mcp_be_put(cursor, pos, 4);
    cursor[4] = (unsigned char) kind;

    memcpy(cursor + 5, catalog->digest, MCP_CATALOG_CURSOR_LEN - 5);
}


/*
 * Reads a client's cursor and sets *pos to the position in it. Returns MCP_OK,
 * or MCP_ERR_NOT_FOUND if the cursor is not one that this catalog creates for a
 * page of this kind.
 */
static int
mcp_catalog_cursor_read(const mcp_catalog_t *catalog, mcp_list_e kind,
    mcp_str_t text, uint32_t *pos)
{
    size_t         len;
    uint32_t       n;
    unsigned char  ours[MCP_CATALOG_CURSOR_LEN];
    unsigned char  cursor[MCP_CATALOG_CURSOR_LEN];

    if (mcp_base64url_decode(text, cursor, sizeof(cursor), &len) != MCP_OK
        || len != sizeof(cursor))
    {
        return MCP_ERR_NOT_FOUND;
    }

    n = (uint32_t) mcp_be_get(cursor, 4);

    mcp_catalog_cursor_make(catalog, kind, n, ours);

    if (memcmp(cursor, ours, sizeof(cursor)) != 0
        || n == 0 || n >= catalog->sets[kind].n)
    {
        return MCP_ERR_NOT_FOUND;
    }

    *pos = n;

    return MCP_OK;
}


/* Appends the member "nextCursor" with the cursor of the next page, whose
 * first item has the index pos. */
static void
mcp_catalog_add_cursor(const mcp_catalog_t *catalog, mcp_list_e kind,
    uint32_t pos, mcp_buf_t *buf)
{
    char           *p;
    unsigned char   cursor[MCP_CATALOG_CURSOR_LEN];

    mcp_catalog_cursor_make(catalog, kind, pos, cursor);

    mcp_buf_lit(buf, ",\"nextCursor\":\"");

    p = mcp_buf_reserve(buf, MCP_CATALOG_CURSOR_TEXT);
    if (p != NULL) {
        (void) mcp_base64url_encode(p, cursor, sizeof(cursor));
        buf->len += MCP_CATALOG_CURSOR_TEXT;
    }

    mcp_buf_lit(buf, "\"");
}


/*
 * Appends the items from first to last - 1, without the members that the
 * filter removes.
 */
static void
mcp_catalog_add_items(const mcp_catalog_set_t *set, unsigned filter,
    uint32_t first, uint32_t last, mcp_buf_t *buf)
{
    size_t                     start;
    const mcp_catalog_text_t  *text;

    text = &set->texts[filter & set->filter];
    start = first ? text->ends[first - 1] + 1 : 0;

    mcp_buf_add(buf, text->items.data + start, text->ends[last - 1] - start);
}


/*
 * Appends the items of a page, from index first on. Returns the index of the
 * first item of the next page, or the number of items if this page is the last
 * one.
 */
static uint32_t
mcp_catalog_add_page(const mcp_catalog_set_t *set, unsigned filter,
    uint32_t first, size_t page, mcp_buf_t *buf)
{
    uint32_t  last;

    last = page > 0 && page < set->n - first ? first + (uint32_t) page
                                             : set->n;

    if (first < last) {
        mcp_catalog_add_items(set, filter, first, last, buf);
    }

    return last;
}


/*
 * Appends the items of a page as mcp_catalog_add_page() does, but only items
 * for which view->shows() returns 1.
 */
static uint32_t
mcp_catalog_add_shown(const mcp_catalog_set_t *set, mcp_list_e kind,
    unsigned filter, uint32_t first, size_t page,
    const mcp_catalog_view_t *view, mcp_buf_t *buf)
{
    size_t    n;
    uint32_t  i;

    n = 0;

    for (i = first; i < set->n; i++) {
        if (!view->shows(view->ctx, kind, set->items[i].key)) {
            continue;
        }

        if (page > 0 && n == page) {
            break;
        }

        if (n++) {
            mcp_buf_lit(buf, ",");
        }

        mcp_catalog_add_items(set, filter, i, i + 1, buf);
    }

    return i;
}


int
mcp_catalog_list(const mcp_catalog_t *catalog, mcp_list_e kind,
    unsigned filter, mcp_str_t cursor, size_t page,
    const mcp_catalog_view_t *view, mcp_buf_t *buf)
{
    uint32_t                   first, next;
    const mcp_catalog_set_t   *set;

    set = &catalog->sets[kind];
    first = 0;

    if (cursor.len > 0
        && mcp_catalog_cursor_read(catalog, kind, cursor, &first) != MCP_OK)
    {
        return MCP_ERR_NOT_FOUND;
    }

    mcp_buf_lit(buf, "{\"");
    mcp_buf_str(buf, mcp_catalog_fields[kind].key);
    mcp_buf_lit(buf, "\":[");

    next =
        view ? mcp_catalog_add_shown(set, kind, filter, first, page, view, buf)
             : mcp_catalog_add_page(set, filter, first, page, buf);

    mcp_buf_lit(buf, "]");

    if (next < set->n) {
        mcp_catalog_add_cursor(catalog, kind, next, buf);
    }

    mcp_buf_lit(buf, "}");

    return buf->failed;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Builds the public texts of a catalog's items. */


#include "config/mcp_catalog_internal.h"


/*
 * Appends the item without this server's keys and without the filtered
 * members.
 */
static int
mcp_catalog_add_public(mcp_catalog_reader_t *r, const mcp_catalog_item_t *item,
    unsigned filter, mcp_buf_t *buf)
{
    int               first;
    mcp_str_t         raw_key, key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    first = 1;
    mcp_buf_lit(buf, "{");

    mcp_json_iter_init(&iter, item->raw);

    while (mcp_json_iter_next(&iter, &raw_key, &value)) {

        if (mcp_json_unescape(&r->scratch, raw_key, &key) != MCP_OK) {
            return MCP_ERR_MEMORY;
        }

        if (mcp_catalog_is_private(key)
            || (filter
                && (mcp_revision_filter_member(raw_key, &value) & filter)))
        {
            continue;
        }

        if (!first) {
            mcp_buf_lit(buf, ",");
        }

        first = 0;

        mcp_buf_str(buf, raw_key);
        mcp_buf_lit(buf, ":");
        mcp_json_add_compact(buf, value.raw);
    }

    mcp_buf_lit(buf, "}");

    return MCP_OK;
}


static int
mcp_catalog_make_text(mcp_catalog_reader_t *r, const mcp_catalog_set_t *set,
    unsigned filter, mcp_catalog_text_t *text)
{
    uint32_t                   i;
    const mcp_catalog_item_t  *item;

    text->ends = mcp_arena_alloc(&r->catalog->arena, set->n * sizeof(size_t));
    if (text->ends == NULL) {
        return MCP_ERR_MEMORY;
    }

    for (i = 0; i < set->n; i++) {
        item = &set->items[i];
        mcp_arena_reset(&r->scratch);

        if (i > 0) {
            mcp_buf_lit(&text->items, ",");
        }

        if (!item->private && !(item->filter & filter)) {
            mcp_json_add_compact(&text->items, item->raw);

        } else if (mcp_catalog_add_public(r, item, item->filter & filter,
                                          &text->items)
                   != MCP_OK)
        {
            return MCP_ERR_MEMORY;
        }

        text->ends[i] = text->items.len;
    }

    return text->items.failed;
}


int
mcp_catalog_make_texts(mcp_catalog_reader_t *r, mcp_catalog_set_t *set)
{
    int                  rc;
    unsigned             filter;
    mcp_revision_e       revision;
    mcp_catalog_text_t  *text;

    if (set->n == 0) {
        return MCP_OK;
    }

    rc = mcp_catalog_make_text(r, set, 0, &set->texts[0]);

    for (revision = mcp_revision_next(MCP_REVISION_NONE);
         rc == MCP_OK && revision != MCP_REVISION_NONE;
         revision = mcp_revision_next(revision))
    {
        filter = mcp_revision_filter(revision) & set->filter;
        text = &set->texts[filter];

        if (text->ends == NULL) {
            rc = mcp_catalog_make_text(r, set, filter, text);
        }
    }

    return rc;
}


void
mcp_catalog_add_items(const mcp_catalog_set_t *set, unsigned filter,
    uint32_t first, uint32_t last, mcp_buf_t *buf)
{
    size_t                     start;
    const mcp_catalog_text_t  *text;

    text = &set->texts[filter & set->filter];
    start = first ? text->ends[first - 1] + 1 : 0;

    mcp_buf_add(buf, text->items.data + start, text->ends[last - 1] - start);
}

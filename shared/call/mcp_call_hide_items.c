/* SPDX-License-Identifier: Apache-2.0 */

/* Removes hidden items from a backend's lists of tools, prompts, resources and
 * resource templates: items that the rules of mcp_allow hide from the
 * caller. */

#include "call/mcp_call_internal.h"


/* The member of a result that contains the items of a list, and the member of
 * an item that contains its name, for each kind of list. */
typedef struct {
    mcp_str_t  items;
    mcp_str_t  name;
} mcp_call_list_member_t;

static const mcp_call_list_member_t  mcp_call_list_members[MCP_LIST_COUNT] = {
    { { "tools", 5 }, { "name", 4 } },
    { { "prompts", 7 }, { "name", 4 } },
    { { "resources", 9 }, { "uri", 3 } },
    { { "resourceTemplates", 17 }, { "uriTemplate", 11 } }
};


int
mcp_call_list_has_items(mcp_list_e kind, mcp_str_t result)
{
    return mcp_json_get_from(result, mcp_call_list_members[kind].items).type
           == MCP_JSON_ARRAY;
}


/* Returns 1 if the caller may see the item. The rules were evaluated when the
 * call began, see mcp_permission.h. */
static int
mcp_call_list_shows(const mcp_call_t *call, mcp_list_e kind, mcp_str_t name)
{
    size_t  i, n;

    n = call->endpoint->n_allow;
    i = mcp_allow_find(call->endpoint->allow, n, kind, name);

    return i < n && call->decisions
           && call->decisions[i] == MCP_DECISION_YES;
}


/* Returns 1 if the caller may see the item, 0 if not or if the item has no
 * name, or MCP_ERR_MEMORY. */
static int
mcp_call_list_shows_item(mcp_call_t *call, mcp_list_e kind,
    const mcp_json_value_t *item)
{
    int                rc;
    mcp_str_t          name;
    mcp_arena_mark_t   mark;
    mcp_json_value_t   value;

    if (item->type != MCP_JSON_OBJECT) {
        return 0;
    }

    value = mcp_json_get(item, mcp_call_list_members[kind].name);

    if (value.type != MCP_JSON_STRING) {
        return 0;
    }

    mark = mcp_arena_mark(&call->arena);
    rc = mcp_json_unescape(&call->arena, value.raw, &name);

    if (rc == MCP_OK) {
        rc = mcp_call_list_shows(call, kind, name);
    }

    mcp_arena_release(&call->arena, mark);

    return rc;
}


static int
mcp_call_list_items(mcp_call_t *call, mcp_list_e kind, mcp_str_t items,
    mcp_buf_t *out)
{
    int               shows;
    const char       *before;
    mcp_json_iter_t   iter;
    mcp_json_value_t  item;

    before = "";
    mcp_buf_lit(out, "[");
    mcp_json_iter_init(&iter, items);

    while (mcp_json_iter_next(&iter, NULL, &item)) {
        shows = mcp_call_list_shows_item(call, kind, &item);

        if (shows < 0) {
            return shows;
        }

        if (shows) {
            mcp_buf_add(out, before, strlen(before));
            mcp_buf_str(out, item.raw);
            before = ",";
        }
    }

    mcp_buf_lit(out, "]");

    return MCP_OK;
}


int
mcp_call_list_filter(mcp_request_t *req, mcp_str_t result, mcp_buf_t *out)
{
    int               rc;
    mcp_str_t         key;
    mcp_call_t       *call;
    mcp_list_e        kind;
    const char       *before;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    call = req->call;

    if (req->method->list_kind == MCP_METHOD_NO_LIST
        || call->endpoint->n_allow == 0)
    {
        return MCP_DONE;
    }

    kind = (mcp_list_e) req->method->list_kind;
    before = "";
    mcp_buf_lit(out, "{");
    mcp_json_iter_init(&iter, result);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        mcp_buf_add(out, before, strlen(before));
        mcp_buf_str(out, key);
        mcp_buf_lit(out, ":");
        before = ",";

        if (!mcp_json_str_eq(key, mcp_call_list_members[kind].items)
            || value.type != MCP_JSON_ARRAY)
        {
            mcp_buf_str(out, value.raw);
            continue;
        }

        rc = mcp_call_list_items(call, kind, value.raw, out);
        if (rc != MCP_OK) {
            return rc;
        }
    }

    mcp_buf_lit(out, "}");

    return out->failed == MCP_OK ? MCP_OK : MCP_ERR_MEMORY;
}

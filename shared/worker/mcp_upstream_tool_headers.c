/* SPDX-License-Identifier: Apache-2.0 */

#include "worker/mcp_upstream_tool_headers.h"


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


static int
mcp_upstream_tools_has(mcp_str_t text, mcp_str_t part)
{
    size_t       left;
    const char  *p;

    p = text.data;
    left = text.len;

    while (left >= part.len && (p = memchr(p, part.data[0], left)) != NULL) {
        left = text.len - (size_t) (p - text.data);

        if (left >= part.len && memcmp(p, part.data, part.len) == 0) {
            return 1;
        }

        p++;
        left--;
    }

    return 0;
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
            && mcp_upstream_tools_has(schema.raw, mcp_upstream_tools_mark))
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
        && !mcp_upstream_tools_has(result, mcp_upstream_tools_mark))
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

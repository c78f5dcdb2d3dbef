/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/mcp_revision_filter.h"


unsigned
mcp_revision_filter(mcp_revision_e revision)
{
    unsigned               filter;
    const mcp_revision_t  *row;

    row = mcp_revision(revision);
    filter = 0;

    if (!row->any_output) {
        filter |= MCP_REVISION_FILTER_OUTPUT;
    }

    if (row->stateless) {
        filter |= MCP_REVISION_FILTER_EXECUTION;
    }

    return filter;
}


static int
mcp_revision_filter_is_of_objects(const mcp_json_value_t *schema)
{
    mcp_json_value_t  type;

    return mcp_json_get_once(schema, mcp_str("type"), &type) == MCP_OK
           && mcp_json_str_eq(type.raw, mcp_str("object"));
}


unsigned
mcp_revision_filter_member(mcp_str_t key, const mcp_json_value_t *value)
{
    if (mcp_json_str_eq(key, mcp_str("outputSchema"))) {
        return mcp_revision_filter_is_of_objects(value)
                   ? 0
                   : MCP_REVISION_FILTER_OUTPUT;
    }

    return mcp_json_str_eq(key, mcp_str("execution"))
               ? MCP_REVISION_FILTER_EXECUTION
               : 0;
}


static int
mcp_revision_filter_has(unsigned filter, const mcp_json_value_t *tool)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_json_iter_type(&iter, tool, MCP_JSON_OBJECT);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (mcp_revision_filter_member(key, &value) & filter) {
            return 1;
        }
    }

    return 0;
}


static void
mcp_revision_filter_tool(unsigned filter, const mcp_json_value_t *tool,
    mcp_buf_t *out)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    if (!mcp_revision_filter_has(filter, tool)) {
        mcp_buf_str(out, tool->raw);
        return;
    }

    mcp_buf_lit(out, "{");
    mcp_json_iter_init(&iter, tool->raw);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (!(mcp_revision_filter_member(key, &value) & filter)) {
            mcp_json_add_key(out, key);
            mcp_buf_str(out, value.raw);
        }
    }

    mcp_buf_lit(out, "}");
}


static int
mcp_revision_filter_has_any(unsigned filter, const mcp_json_value_t *tools)
{
    mcp_json_iter_t   iter;
    mcp_json_value_t  tool;

    mcp_json_iter_init(&iter, tools->raw);

    while (mcp_json_iter_next(&iter, NULL, &tool)) {
        if (mcp_revision_filter_has(filter, &tool)) {
            return 1;
        }
    }

    return 0;
}


static void
mcp_revision_filter_tools(unsigned filter, const mcp_json_value_t *tools,
    mcp_buf_t *out)
{
    const char        *before;
    mcp_json_iter_t    iter;
    mcp_json_value_t   tool;

    before = "[";
    mcp_json_iter_init(&iter, tools->raw);

    while (mcp_json_iter_next(&iter, NULL, &tool)) {
        mcp_buf_add(out, before, 1);
        mcp_revision_filter_tool(filter, &tool, out);
        before = ",";
    }

    mcp_buf_lit(out, "]");
}


/*
 * Returns 1 if the filter removes this member of a result, or if the member is
 * the list of tools and the filter removes members of its tools.
 */
static int
mcp_revision_filter_is(unsigned filter, const mcp_method_t *method,
    mcp_str_t key, const mcp_json_value_t *value)
{
    if (method->want == MCP_WANT_TOOL) {
        return (filter & MCP_REVISION_FILTER_OUTPUT)
               && value->type != MCP_JSON_OBJECT
               && mcp_json_str_eq(key, mcp_str("structuredContent"));
    }

    return method->list_kind == MCP_LIST_TOOLS && value->type == MCP_JSON_ARRAY
           && mcp_json_str_eq(key, mcp_str("tools"))
           && mcp_revision_filter_has_any(filter, value);
}


static int
mcp_revision_filter_is_any(unsigned filter, const mcp_method_t *method,
    mcp_str_t result)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_json_iter_init(&iter, result);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (mcp_revision_filter_is(filter, method, key, &value)) {
            return 1;
        }
    }

    return 0;
}


int
mcp_revision_filter_result(unsigned filter, const mcp_method_t *method,
    mcp_str_t result, mcp_buf_t *out)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    if (!mcp_revision_filter_is_any(filter, method, result)) {
        return MCP_DONE;
    }

    mcp_buf_lit(out, "{");
    mcp_json_iter_init(&iter, result);

    while (mcp_json_iter_next(&iter, &key, &value)) {

        if (!mcp_revision_filter_is(filter, method, key, &value)) {
            mcp_json_add_key(out, key);
            mcp_buf_str(out, value.raw);

        } else if (method->want != MCP_WANT_TOOL) {
            mcp_json_add_key(out, key);
            mcp_revision_filter_tools(filter, &value, out);
        }
    }

    mcp_buf_lit(out, "}");

    return out->failed == MCP_OK ? MCP_OK : MCP_ERR_MEMORY;
}

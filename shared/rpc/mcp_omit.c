/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/mcp_omit.h"


unsigned
mcp_omit(mcp_revision_e revision)
{
    unsigned               omit;
    const mcp_revision_t  *row;

    row = mcp_revision(revision);
    omit = 0;

    if (!row->any_output) {
        omit |= MCP_OMIT_OUTPUT;
    }

    if (row->stateless) {
        omit |= MCP_OMIT_EXECUTION;
    }

    return omit;
}


static int
mcp_omit_is_of_objects(const mcp_json_value_t *schema)
{
    mcp_json_value_t  type;

    return mcp_json_get_once(schema, mcp_str("type"), &type) == MCP_OK
           && mcp_json_str_eq(type.raw, mcp_str("object"));
}


unsigned
mcp_omit_member(mcp_str_t key, const mcp_json_value_t *value)
{
    if (mcp_json_str_eq(key, mcp_str("outputSchema"))) {
        return mcp_omit_is_of_objects(value) ? 0 : MCP_OMIT_OUTPUT;
    }

    return mcp_json_str_eq(key, mcp_str("execution")) ? MCP_OMIT_EXECUTION : 0;
}


/* Begins a member of an object of which out has the rest. */
static void
mcp_omit_key(mcp_buf_t *out, mcp_str_t key)
{
    if (out->len && out->data[out->len - 1] != '{') {
        mcp_buf_lit(out, ",");
    }

    mcp_buf_str(out, key);
    mcp_buf_lit(out, ":");
}


static int
mcp_omit_has(unsigned omit, const mcp_json_value_t *tool)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    if (tool->type != MCP_JSON_OBJECT) {
        return 0;
    }

    mcp_json_iter_init(&iter, tool->raw);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (mcp_omit_member(key, &value) & omit) {
            return 1;
        }
    }

    return 0;
}


static void
mcp_omit_tool(unsigned omit, const mcp_json_value_t *tool, mcp_buf_t *out)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    if (!mcp_omit_has(omit, tool)) {
        mcp_buf_str(out, tool->raw);
        return;
    }

    mcp_buf_lit(out, "{");
    mcp_json_iter_init(&iter, tool->raw);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (!(mcp_omit_member(key, &value) & omit)) {
            mcp_omit_key(out, key);
            mcp_buf_str(out, value.raw);
        }
    }

    mcp_buf_lit(out, "}");
}


static int
mcp_omit_has_any(unsigned omit, const mcp_json_value_t *tools)
{
    mcp_json_iter_t   iter;
    mcp_json_value_t  tool;

    mcp_json_iter_init(&iter, tools->raw);

    while (mcp_json_iter_next(&iter, NULL, &tool)) {
        if (mcp_omit_has(omit, &tool)) {
            return 1;
        }
    }

    return 0;
}


static void
mcp_omit_tools(unsigned omit, const mcp_json_value_t *tools, mcp_buf_t *out)
{
    const char        *before;
    mcp_json_iter_t    iter;
    mcp_json_value_t   tool;

    before = "[";
    mcp_json_iter_init(&iter, tools->raw);

    while (mcp_json_iter_next(&iter, NULL, &tool)) {
        mcp_buf_add(out, before, 1);
        mcp_omit_tool(omit, &tool, out);
        before = ",";
    }

    mcp_buf_lit(out, "]");
}


/* Whether the member of a result is one of which something is left out: all of
 * it, or parts of its tools. */
static int
mcp_omit_is(unsigned omit, const mcp_method_t *method, mcp_str_t key,
    const mcp_json_value_t *value)
{
    if (method->want == MCP_WANT_TOOL) {
        return (omit & MCP_OMIT_OUTPUT) && value->type != MCP_JSON_OBJECT
               && mcp_json_str_eq(key, mcp_str("structuredContent"));
    }

    return method->list_kind == MCP_LIST_TOOLS && value->type == MCP_JSON_ARRAY
           && mcp_json_str_eq(key, mcp_str("tools"))
           && mcp_omit_has_any(omit, value);
}


static int
mcp_omit_is_any(unsigned omit, const mcp_method_t *method, mcp_str_t result)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_json_iter_init(&iter, result);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (mcp_omit_is(omit, method, key, &value)) {
            return 1;
        }
    }

    return 0;
}


int
mcp_omit_result(unsigned omit, const mcp_method_t *method, mcp_str_t result,
    mcp_buf_t *out)
{
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    if (!mcp_omit_is_any(omit, method, result)) {
        return MCP_DONE;
    }

    mcp_buf_lit(out, "{");
    mcp_json_iter_init(&iter, result);

    while (mcp_json_iter_next(&iter, &key, &value)) {

        if (!mcp_omit_is(omit, method, key, &value)) {
            mcp_omit_key(out, key);
            mcp_buf_str(out, value.raw);

        } else if (method->want != MCP_WANT_TOOL) {
            mcp_omit_key(out, key);
            mcp_omit_tools(omit, &value, out);
        }
    }

    mcp_buf_lit(out, "}");

    return out->failed == MCP_OK ? MCP_OK : MCP_ERR_MEMORY;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Stores the Mcp-Param-* headers of a request, and checks whether they agree
 * with the arguments of a tool call in the body. */

#include "config/mcp_param_header_write.h"
#include "exchange/mcp_exchange_param.h"
#include "http/mcp_mirrored_header.h"


/* Returns the part of a header's name after "Mcp-Param-"; its data is NULL if
 * the name has another beginning. */
static mcp_str_t
mcp_exchange_param_name(mcp_str_t name)
{
    mcp_str_t  prefix;

    prefix = mcp_tool_param_prefix;

    /* compares the hyphens of "Mcp-Param-" first, because few other header
     * names have hyphens at these two places */

    if (name.len <= prefix.len || name.data[3] != '-' || name.data[9] != '-'
        || !mcp_str_case_eq((mcp_str_t) { name.data, prefix.len }, prefix))
    {
        return mcp_null_str;
    }

    return (mcp_str_t) { name.data + prefix.len, name.len - prefix.len };
}


int
mcp_exchange_param_read(mcp_exchange_t *x, const mcp_head_t *head)
{
    size_t         i, n, size;
    mcp_str_t      name;
    mcp_header_t  *params;

    n = 0;
    size = 0;

    for (i = 0; i < head->n_headers; i++) {
        if (mcp_exchange_param_name(head->headers[i].name).data) {
            n++;
            size += head->headers[i].name.len + head->headers[i].value.len;
        }
    }

    if (n == 0) {
        return MCP_OK;
    }

    if (n > MCP_CATALOG_HEADERS_MAX || size > MCP_TOOL_PARAMS_SIZE) {
        x->head.too_many_params = 1;
        return MCP_OK;
    }

    params = mcp_arena_alloc(&x->arena, n * sizeof(mcp_header_t));
    if (params == NULL) {
        return MCP_ERR_MEMORY;
    }

    x->head.params = params;
    x->head.n_params = n;

    for (i = 0; i < head->n_headers; i++) {
        name = mcp_exchange_param_name(head->headers[i].name);

        if (name.data) {
            params->name = name;
            params->value = head->headers[i].value;
            params++;
        }
    }

    return MCP_OK;
}


/* Returns 1 if an argument has the type of its property, or is null or absent.
 * A value of another type cannot be written to a header, so a rule of the
 * operator about the header would not apply to it. */
static int
mcp_exchange_param_fits(mcp_catalog_type_e type,
    const mcp_json_value_t *value)
{
    switch (value->type) {

    case MCP_JSON_NONE:
    case MCP_JSON_NULL:
        return 1;

    case MCP_JSON_STRING:
        return type == MCP_CATALOG_STRING;

    case MCP_JSON_BOOL:
        return type == MCP_CATALOG_BOOLEAN;

    case MCP_JSON_NUMBER:
        return type == MCP_CATALOG_INTEGER
               && mcp_header_value_is_integer(value->raw);

    default:
        return 0;
    }
}


/* Checks whether the Mcp-Param-* headers with the name of "header" agree with
 * the argument "value" in the body. Returns MCP_OK, MCP_ERR_SYNTAX if a header
 * differs, the header is missing or "value" has the wrong type, or
 * MCP_ERR_MEMORY. */
static int
mcp_exchange_param_compare(mcp_exchange_t *x,
    const mcp_catalog_header_t *header, const mcp_json_value_t *value)
{
    int                  rc;
    size_t               i, lines;
    mcp_str_t            text;
    const mcp_header_t  *param;

    rc = mcp_exchange_param_fits(header->type, value) ? MCP_OK
                                                       : MCP_ERR_SYNTAX;
    lines = 0;

    for (i = 0; rc == MCP_OK && i < x->head.n_params; i++) {
        param = &x->head.params[i];

        if (!mcp_str_case_eq(param->name, header->name)) {
            continue;
        }

        lines++;
        rc = mcp_header_value_decode(&x->arena, param->value, &text);

        if (rc == MCP_OK && !mcp_header_value_is(text, value)) {
            rc = MCP_ERR_SYNTAX;
        }
    }

    if (rc == MCP_OK && lines == 0 && value->type != MCP_JSON_NONE
        && value->type != MCP_JSON_NULL)
    {
        return MCP_ERR_SYNTAX;
    }

    return rc;
}


int
mcp_exchange_param_check(mcp_exchange_t *x, mcp_str_t tool,
    const mcp_json_value_t *arguments, mcp_str_t *detail)
{
    int                          rc;
    size_t                       i, n;
    mcp_tool_params_t            params;
    const mcp_catalog_header_t  *headers;

    if (x->endpoint->catalog == NULL) {
        return MCP_OK;
    }

    headers = mcp_catalog_headers(x->endpoint->catalog, tool, &n);

    if (n == 0) {
        return MCP_OK;
    }

    if (x->head.too_many_params) {
        *detail = mcp_str("too many Mcp-Param headers");
        return MCP_ERR_SYNTAX;
    }

    mcp_tool_params_read(&params, headers, n, arguments);

    for (i = 0; i < n; i++) {
        rc = params.ambiguous >> i & 1
             ? MCP_ERR_SYNTAX
             : mcp_exchange_param_compare(x, &headers[i], &params.values[i]);

        if (rc == MCP_ERR_SYNTAX
            && mcp_tool_param_name(&x->arena, &headers[i], detail) != MCP_OK)
        {
            return MCP_ERR_MEMORY;
        }

        if (rc != MCP_OK) {
            return rc;
        }
    }

    return MCP_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Mcp-Param-*: which are kept, and whether they say what the body says. */

#include "config/mcp_catalog.h"
#include "exchange/mcp_exchange_param.h"
#include "http/mcp_header_value.h"


#define mcp_exchange_param_prefix  mcp_str("Mcp-Param-")


/* What follows the prefix; its data is NULL if the name is another. */
static mcp_str_t
mcp_exchange_param_name(mcp_str_t name)
{
    mcp_str_t  prefix;

    prefix = mcp_exchange_param_prefix;

    /* all hyphens stand at their places in very few names */

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

    if (n > MCP_CATALOG_HEADERS_MAX || size > MCP_EXCHANGE_PARAMS_SIZE) {
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


/* Finds what the header mirrors.  Whoever reads a member that is there twice
 * may take the other one. */
static int
mcp_exchange_param_argument(const mcp_catalog_header_t *header,
    const mcp_json_value_t *arguments, mcp_json_value_t *value)
{
    size_t            i;
    mcp_json_value_t  object;

    *value = *arguments;

    for (i = 0; i < header->depth; i++) {
        object = *value;

        if (mcp_json_get_once(&object, header->path[i], value) != MCP_OK) {
            return MCP_ERR_SYNTAX;
        }
    }

    return MCP_OK;
}


/* Null is not mirrored, nor is what has no form in a header. */
static int
mcp_exchange_param_is_mirrored(const mcp_json_value_t *value)
{
    return value->type == MCP_JSON_STRING || value->type == MCP_JSON_NUMBER
           || value->type == MCP_JSON_BOOL;
}


/* All lines of a header must say what the body says. */
static int
mcp_exchange_param_compare(mcp_exchange_t *x,
    const mcp_catalog_header_t *header, const mcp_json_value_t *arguments)
{
    int                  rc;
    size_t               i, lines;
    mcp_str_t            text;
    mcp_json_value_t     value;
    const mcp_header_t  *param;

    rc = mcp_exchange_param_argument(header, arguments, &value);
    lines = 0;

    for (i = 0; rc == MCP_OK && i < x->head.n_params; i++) {
        param = &x->head.params[i];

        if (!mcp_str_case_eq(param->name, header->name)) {
            continue;
        }

        lines++;
        rc = mcp_header_value_decode(&x->arena, param->value, &text);

        if (rc == MCP_OK && !mcp_header_value_is(text, &value)) {
            rc = MCP_ERR_SYNTAX;
        }
    }

    if (rc == MCP_OK && lines == 0 && mcp_exchange_param_is_mirrored(&value)) {
        return MCP_ERR_SYNTAX;
    }

    return rc;
}


/* Names a header in an error: as the catalog has it, whatever was sent. */
static int
mcp_exchange_param_refuse(mcp_exchange_t *x, mcp_str_t name,
    mcp_str_t *detail)
{
    char       *text;
    mcp_str_t   prefix;

    prefix = mcp_exchange_param_prefix;

    text = mcp_arena_alloc(&x->arena, prefix.len + name.len);
    if (text == NULL) {
        return MCP_ERR_MEMORY;
    }

    memcpy(text, prefix.data, prefix.len);
    memcpy(text + prefix.len, name.data, name.len);

    *detail = (mcp_str_t) { text, prefix.len + name.len };

    return MCP_ERR_SYNTAX;
}


int
mcp_exchange_param_check(mcp_exchange_t *x, mcp_str_t tool,
    const mcp_json_value_t *arguments, mcp_str_t *detail)
{
    int                          rc;
    size_t                       i, n;
    const mcp_catalog_header_t  *headers;

    if (x->endpoint->catalog == NULL) {
        return MCP_OK;
    }

    headers = mcp_catalog_headers(x->endpoint->catalog, tool, &n);

    if (n > 0 && x->head.too_many_params) {
        *detail = mcp_str("too many Mcp-Param headers");
        return MCP_ERR_SYNTAX;
    }

    for (i = 0; i < n; i++) {
        rc = mcp_exchange_param_compare(x, &headers[i], arguments);

        if (rc == MCP_ERR_SYNTAX) {
            return mcp_exchange_param_refuse(x, headers[i].name, detail);
        }

        if (rc != MCP_OK) {
            return rc;
        }
    }

    return MCP_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* Reads the scopes that callers of an item need. */


#include "config/mcp_catalog_internal.h"
#include "rpc/mcp_scope.h"


#define MCP_CATALOG_SCOPE_MAX  1024


/* Returns 1 if the character belongs to a scope-token (RFC 6749, 3.3). */
static int
mcp_catalog_scope_is(unsigned char c)
{
    return c > 0x20 && c < 0x7f && c != '"' && c != '\\';
}


static int
mcp_catalog_scope_valid(mcp_str_t scope)
{
    size_t         i;
    unsigned char  c, last;

    last = ' ';

    for (i = 0; i < scope.len; i++) {
        c = (unsigned char) scope.data[i];

        if (c == ' ' ? last == ' ' : !mcp_catalog_scope_is(c)) {
            return 0;
        }

        last = c;
    }

    return last != ' ' && scope.len <= MCP_CATALOG_SCOPE_MAX;
}


int
mcp_catalog_read_scope(mcp_catalog_reader_t *r, const mcp_json_value_t *value,
    mcp_str_t *scope)
{
    if (scope->len) {
        return mcp_catalog_error(r, value->raw.data,
                                 "\"x-mcp-scope\" is duplicate");
    }

    if (value->type == MCP_JSON_STRING
        && mcp_json_unescape(&r->catalog->arena, value->raw, scope) != MCP_OK)
    {
        return MCP_ERR_MEMORY;
    }

    if (!mcp_catalog_scope_valid(*scope)) {
        return mcp_catalog_error(r, value->raw.data,
                                 "\"x-mcp-scope\" must be a string of scopes "
                                 "with a space between them");
    }

    /* "offline_access" does not belong to a resource: clients request it from
     * the authorization server themselves (2026-07-28, basic/authorization,
     * "Refresh Tokens") */

    if (mcp_scope_has(*scope, mcp_str("offline_access"))) {
        return mcp_catalog_error(r, value->raw.data,
                                 "\"x-mcp-scope\" must not contain "
                                 "\"offline_access\", which clients request "
                                 "themselves");
    }

    r->catalog->scoped = 1;

    return MCP_OK;
}


int
mcp_catalog_scoped(const mcp_catalog_t *catalog)
{
    return catalog->scoped;
}

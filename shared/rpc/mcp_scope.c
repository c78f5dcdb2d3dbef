/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/mcp_scope.h"


/* Removes the first scope from a list. Returns 1 and sets *scope, or returns 0
 * at the end. */
static int
mcp_scope_next(mcp_str_t *list, mcp_str_t *scope)
{
    const char  *end;

    while (list->len && list->data[0] == ' ') {
        list->data++;
        list->len--;
    }

    if (list->len == 0) {
        return 0;
    }

    end = memchr(list->data, ' ', list->len);

    scope->data = list->data;
    scope->len = end ? (size_t) (end - list->data) : list->len;

    list->data += scope->len;
    list->len -= scope->len;

    return 1;
}


int
mcp_scope_has(mcp_str_t list, mcp_str_t scope)
{
    mcp_str_t  one;

    while (mcp_scope_next(&list, &one)) {
        if (mcp_str_eq(one, scope)) {
            return 1;
        }
    }

    return 0;
}


int
mcp_scope_has_all(mcp_str_t list, mcp_str_t scopes)
{
    mcp_str_t  scope;

    while (mcp_scope_next(&scopes, &scope)) {
        if (!mcp_scope_has(list, scope)) {
            return 0;
        }
    }

    return 1;
}


void
mcp_scope_add(mcp_buf_t *list, mcp_str_t scopes)
{
    mcp_str_t  scope;

    while (mcp_scope_next(&scopes, &scope)) {
        if (mcp_scope_has(mcp_buf_text(list), scope)) {
            continue;
        }

        if (list->len) {
            mcp_buf_lit(list, " ");
        }

        mcp_buf_str(list, scope);
    }
}

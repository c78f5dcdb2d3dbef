/* SPDX-License-Identifier: Apache-2.0 */

/* Values with text: single operations on a store, which count no session of an
 * MCP server. */


#ifndef STORE_TEXT_H_INCLUDED
#define STORE_TEXT_H_INCLUDED


#include "store/mcp_store_layout.h"


/* Adds a text. Returns the values of mcp_store_text_put(). */
static inline int
store_text_add(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], mcp_str_t text, uint64_t now,
    uint64_t expires, const mcp_tenant_t *tenant)
{
    int                      rc;
    mcp_store_op_t           op;
    const mcp_store_value_t  v = {
        purpose, key, 0, text, expires, tenant, 1
    };

    rc = mcp_store_enter(store, &op);

    if (rc == MCP_OK) {
        op.now = now;
        rc = mcp_store_text_put(&op, &v);
        mcp_store_leave(&op);
    }

    return rc;
}


/* Reads a text. Returns the values of mcp_store_text_read(), and
 * MCP_ERR_NOT_FOUND also if the value does not exist. */
static inline int
store_text_get(mcp_store_t *store, mcp_value_e purpose,
    const unsigned char key[MCP_DIGEST_LEN], uint64_t now, uint64_t expires,
    char text[MCP_STORE_TEXT_MAX], size_t *len, int *extended)
{
    int                 rc;
    mcp_store_op_t      op;
    mcp_store_entry_t  *e;

    rc = mcp_store_value_enter(store, purpose, key, &op, &e);

    if (rc == MCP_OK) {
        op.now = now;
        rc = mcp_store_text_read(&op, e, expires, text, len, extended);
        mcp_store_leave(&op);
    }

    return rc;
}


#endif /* STORE_TEXT_H_INCLUDED */

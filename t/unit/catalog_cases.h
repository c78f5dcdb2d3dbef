/* SPDX-License-Identifier: Apache-2.0 */

/* Helpers for the tests of catalogs. */


#ifndef CATALOG_CASES_H_INCLUDED
#define CATALOG_CASES_H_INCLUDED


#include "memory_cases.h"

#include "config/mcp_catalog.h"


#define SCHEMA  "\"inputSchema\":{\"type\":\"object\"}"


static inline void
catalog_free(void *catalog)
{
    mcp_catalog_free(catalog);
}


/* Returns a catalog, which done() frees. */
static inline mcp_catalog_t *
catalog_create(const char *text)
{
    char            error[256];
    mcp_catalog_t  *catalog;

    if (mcp_catalog_create(&tm.mem, test_str(text), &catalog, error,
                           sizeof(error)) != MCP_OK)
    {
        fail_msg("%s", error);
    }

    keep(catalog, catalog_free);

    return catalog;
}


/* Returns the page of a list after the cursor, without the members that "omit"
 * selects, as a C string that is valid until the next call. */
static inline const char *
page_without(const mcp_catalog_t *catalog, mcp_list_e kind, unsigned omit,
    const char *cursor, size_t page)
{
    mcp_buf_t    buf;

    static char  text[4096];

    mcp_buf_init(&buf, &tm.mem, sizeof(text) - 1);

    assert_ok(mcp_catalog_list(catalog, kind, omit, test_str(cursor), page,
                               NULL, &buf));

    memcpy(text, buf.data, buf.len);
    text[buf.len] = '\0';

    mcp_buf_free(&buf);

    return text;
}


static inline const char *
page_of(const mcp_catalog_t *catalog, mcp_list_e kind,
    const char *cursor, size_t page)
{
    return page_without(catalog, kind, 0, cursor, page);
}


#endif /* CATALOG_CASES_H_INCLUDED */

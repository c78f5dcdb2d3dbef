/* SPDX-License-Identifier: Apache-2.0 */

/* Common parts of the tests of the status: a zone with two processes, which is
 * rendered in a format. */


#ifndef STATUS_CASES_H_INCLUDED
#define STATUS_CASES_H_INCLUDED


#include "store_driver.h"

#include "mcp_status.h"
#include "mcp_version.h"
#include "rpc/mcp_fault.h"
#include "store/mcp_store_call_stats.h"


static store_driver_t      d;
static mcp_status_query_t  query;
static mcp_status_head_t   head;       /* headers of the last response */


static inline int
setup(void **state)
{
    store_open(&d, 1024 * 1024, 2);
    memset(&query, 0, sizeof(mcp_status_query_t));
    query.server = mcp_str("test/1.0");
    query.zone = mcp_str("z");
    query.now = 1500;

    return 0;
}


static inline int
teardown(void **state)
{
    store_close(&d);

    return 0;
}


/* Returns the status that a process renders, as a C string that the caller
 * frees. */
static inline char *
render(unsigned slot, const char *format)
{
    char       *text;
    mcp_buf_t   buf;

    query.format = test_str(format);
    mcp_buf_init(&buf, &d.tm.mem, 1024 * 1024);
    assert_ok(mcp_status_render(&d.store[slot], &query, &buf, &head));
    text = calloc(1, buf.len + 1);
    assert_non_null(text);
    memcpy(text, buf.data, buf.len);
    mcp_buf_free(&buf);

    return text;
}


/* Checks that a rendered status contains a text. */
static inline void
says(unsigned slot, const char *format, const char *part)
{
    char  *text;

    text = render(slot, format);

    if (strstr(text, part) == NULL) {
        fail_msg("no %s in %s", part, text);
    }

    free(text);
}


/* Returns the row of an item of the catalog. */
static inline uint32_t
row_of(mcp_call_stats_kind_e kind, const char *name)
{
    uint32_t                     row;
    const mcp_call_stats_item_t  item = {
        (const unsigned char *) "sixteen bytes ..", mcp_str("localhost/mcp"),
        kind, test_str(name)
    };

    assert_ok(mcp_store_call_stats_row(&d.store[0], &item, 0, &row));

    return row;
}


/* Counts a call of a tool that has succeeded and one that has failed. Returns
 * the tool's row. */
static inline uint32_t
called(const char *tool, const char *principal)
{
    uint32_t                  row;
    mcp_call_stats_failure_t  failure;

    (void) row_of(MCP_CALL_STATS_KIND_OTHER, "");
    row = row_of(MCP_CALL_STATS_KIND_TOOL, tool);
    mcp_store_call_stats_count(&d.store[0], row, MCP_OUTCOME_OK, 40);
    mcp_store_call_stats_count(&d.store[1], row, MCP_OUTCOME_FAULT, 2500);

    memset(&failure, 0, sizeof(failure));
    failure.at = 77;
    failure.row = row;
    failure.result = MCP_OUTCOME_FAULT;
    failure.reason = MCP_REASON_BACKEND_TIMEOUT;
    mcp_call_stats_copy(failure.principal, test_str(principal));
    mcp_store_call_stats_failed(&d.store[0], &failure);

    return row;
}


/* Adds a rejected and an active request to those of called(). */
static inline void
runs(uint32_t row, const char *rejected, const char *principal)
{
    mcp_active_t              active;
    mcp_call_stats_failure_t  failure;

    memset(&failure, 0, sizeof(failure));
    failure.at = 77;
    failure.row = row;
    failure.result = MCP_CALL_STATS_REFUSED;
    failure.reason = MCP_REASON_QUOTA;
    mcp_call_stats_copy(failure.principal, test_str(rejected));
    mcp_store_call_stats_failed(&d.store[0], &failure);

    memset(&active, 0, sizeof(active));
    active.row = row;
    active.began = 100;
    mcp_call_stats_copy(active.principal, test_str(principal));
    (void) mcp_store_active_begin(&d.store[1], &active);
}


#endif /* STATUS_CASES_H_INCLUDED */

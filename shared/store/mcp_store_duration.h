/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Durations of requests and notifications, as OpenTelemetry's metric
 * mcp.server.operation.duration has them: one histogram for each combination of
 * attributes that has occurred. The histograms are in a table of the zone. The
 * size of the table follows from that of the zone and never changes.
 *
 * Counting takes no lock.
 */


#ifndef MCP_STORE_DURATION_H_INCLUDED
#define MCP_STORE_DURATION_H_INCLUDED


#include "rpc/mcp_fault.h"
#include "rpc/mcp_method.h"
#include "store/mcp_store_call_stats.h"


/* The attributes of a histogram. */
typedef struct {
    uint32_t          row;             /* row of the call statistics: the
                                          endpoint, and the tool or prompt */
    mcp_method_e      method;
    mcp_revision_e    revision;        /* NONE: unknown */
    mcp_error_type_e  error;
} mcp_duration_key_t;


/* A copy of a histogram. The numbers are read one by one without a lock. */
typedef struct {
    mcp_duration_key_t  key;
    uint64_t            buckets[MCP_CALL_STATS_BUCKETS];  /* bounds as in
                                          mcp_call_stats_bounds */
    uint64_t            sum;           /* sum of all durations, ms */
} mcp_duration_t;


/* Counts a request or a notification that was received at the time "received"
 * and ended at the time "ended", both in ms. The duration counts as 0 if the
 * clock was set back in between. If the table has no room for a new combination
 * of attributes, uses the histogram with the row MCP_CALL_STATS_OTHER, the
 * method UNKNOWN, no revision, and the error NONE (if key->error is NONE) or
 * OTHER. */
void mcp_store_duration_count(mcp_store_t *store, const mcp_duration_key_t *key,
    uint64_t received, uint64_t ended);

/* Returns the number of places in the table of histograms, including free
 * places. */
uint32_t mcp_store_durations(mcp_store_t *store);

/* Copies the histogram at a place of the table. Returns 0 if the place is free,
 * or if its histogram has counted nothing. */
int mcp_store_duration_get(mcp_store_t *store, uint32_t place,
    mcp_duration_t *out);


#endif /* MCP_STORE_DURATION_H_INCLUDED */

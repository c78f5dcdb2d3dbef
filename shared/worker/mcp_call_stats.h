/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The rows of the call statistics. A worker looks up the rows of the catalog
 * items of its configuration when it starts. The tools of an MCP server without
 * a catalog get rows when a worker receives a list with them; the other workers
 * find these rows in the zone.
 */


#ifndef MCP_CALL_STATS_H_INCLUDED
#define MCP_CALL_STATS_H_INCLUDED


#include "rpc/mcp_fault.h"
#include "store/mcp_store_call_stats.h"
#include "worker/mcp_worker_internal.h"


/* Looks up the rows of an endpoint's catalog items in the zone, and takes new
 * ones for items without a row. Calls of an item that gets no row, because the
 * zone has no room or this process is out of memory, are counted in a common
 * row. */
void mcp_call_stats_offer(mcp_worker_t *worker, const mcp_endpoint_t *endpoint);

void mcp_call_stats_free(mcp_worker_t *worker);

/* Returns the number of the row in which a request is counted. "name" is the
 * name of its tool or prompt, or the URI of its resource. */
uint32_t mcp_call_stats_find(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, const mcp_method_t *method, mcp_str_t name);

/* Returns the number of the endpoint's common row, for requests without a row
 * of their own. */
uint32_t mcp_call_stats_other(mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint);

/* Takes rows for the tools in a result of tools/list, which an MCP server of an
 * endpoint without a catalog has sent. "result" is an object of valid JSON. The
 * calls of tools beyond MCP_CALL_STATS_LISTED are counted in the common row. */
void mcp_call_stats_list(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    mcp_str_t result);

/* Stores a rejected request as a recent failure. Does nothing if the request
 * began a call, because the call stores its own failure. */
void mcp_call_stats_refused(mcp_exchange_t *x, mcp_fault_e fault);


/* --- durations --- */

/*
 * Durations of the requests and notifications of clients, from the time when
 * the message was received until its response is ready.
 *
 * A request that begins a call is counted by the call, when its result is
 * known. All other messages are counted here: notifications, requests with a
 * local response or an error, requests that join a call, and requests that read
 * an earlier stream or a stream without a call. The duration of a request that
 * joins a call ends with its response. The duration of a request that reads an
 * earlier stream or a stream without a call ends when its response begins.
 */


/* Counts the message of an exchange if it is a request or a notification, was
 * not counted before, and is not counted by its call. */
void mcp_duration_answered(mcp_exchange_t *x, mcp_error_type_e error);

/* Counts the message of an exchange whose response is a stream that begins now.
 * Does nothing for a request that gets the result of a call: a joined reader is
 * counted when it gets the response, and the request that began the call is
 * counted by the call. */
void mcp_duration_opened(mcp_exchange_t *x);

/* Counts one message, which does not begin a call; for a batch, called for each
 * of its messages. name is the name of a tool or prompt, and may be empty. */
void mcp_duration_count(mcp_exchange_t *x, const mcp_method_t *method,
    mcp_str_t name, mcp_error_type_e error);


#endif /* MCP_CALL_STATS_H_INCLUDED */

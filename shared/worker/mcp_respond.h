/* SPDX-License-Identifier: Apache-2.0 */

/* Builds and sends responses that are not streams: JSON, faults, and responses
 * without a body. Counts and logs rejected requests. */


#ifndef MCP_RESPOND_H_INCLUDED
#define MCP_RESPOND_H_INCLUDED


#include "rpc/mcp_fault.h"
#include "worker/mcp_worker_internal.h"


/* Appends a header to the response. Headers beyond MCP_RESPONSE_HEADERS are
 * dropped. */
void mcp_respond_header(mcp_exchange_t *x, mcp_str_t name, mcp_str_t value);

/* Responds without a body. Returns MCP_NEXT_RESPOND. */
mcp_next_e mcp_respond_status(mcp_exchange_t *x, int status);

/* Responds with 200 and the JSON in x->output.out. Returns MCP_NEXT_RESPOND, or
 * MCP_NEXT_ERROR if the buffer has failed. */
mcp_next_e mcp_respond_json(mcp_exchange_t *x);

/* Counts a call in the statistics if the fault means that it was refused
 * because of a limit or of a full zone. mcp_respond_fault() does this for each
 * response. */
void mcp_respond_count_refused(mcp_store_t *store, mcp_fault_e fault);

/* Responds with a fault, which is counted and logged. id and detail may be
 * empty. Returns the values of mcp_respond_json(). */
mcp_next_e mcp_respond_fault(mcp_exchange_t *x, mcp_fault_e fault, mcp_str_t id,
    mcp_str_t detail);

/* Responds with a fault like mcp_respond_fault(). The error gets the raw JSON
 * in "data" as its member "data". */
mcp_next_e mcp_respond_fault_data(mcp_exchange_t *x, mcp_fault_e fault,
    mcp_str_t id, mcp_str_t detail, mcp_str_t data);

/* Responds to a request that needs a stream for which there is no room: rc is
 * MCP_ERR_FULL or MCP_ERR_LIMIT. Returns the values of mcp_respond_json(), or
 * MCP_NEXT_ERROR if rc is another value. */
mcp_next_e mcp_respond_no_room(mcp_exchange_t *x, int rc, mcp_str_t id);

/* Queues the action RESPOND or STREAM for an exchange whose glue waits for the
 * response. */
void mcp_respond_ready(mcp_exchange_t *x, mcp_action_e action);

/* Queues the action RESPOND or STREAM for an exchange whose glue waits for the
 * response. "next" is a value of mcp_exchange_body(). MCP_NEXT_ERROR becomes
 * status 500. Does nothing for MCP_NEXT_WAIT. */
void mcp_answer_next(mcp_exchange_t *x, mcp_next_e next);

/* Logs how many requests were rejected because the zone was full, at most once
 * a minute for all processes of the zone. */
void mcp_reject_log_full(mcp_worker_t *worker);


#endif /* MCP_RESPOND_H_INCLUDED */

/* SPDX-License-Identifier: Apache-2.0 */

#include "worker/mcp_answer.h"
#include "store/mcp_store_node.h"
#include "worker/mcp_exchange_state.h"
#include "worker/mcp_reject_log.h"
#include "worker/mcp_call_stats.h"


void
mcp_answer_header(mcp_exchange_t *x, mcp_str_t name, mcp_str_t value)
{
    mcp_header_t  *h;

    if (x->answer.response.n_headers == MCP_RESPONSE_HEADERS) {
        return;
    }

    h = &x->answer.response.headers[x->answer.response.n_headers++];
    h->name = name;
    h->value = value;
}


int
mcp_answer_status(mcp_exchange_t *x, int status)
{
    mcp_exchange_set_state(x, MCP_EXCHANGE_RESPONSE);
    x->answer.response.status = status;
    x->answer.response.content_type = mcp_null_str;
    x->answer.response.body = mcp_null_str;

    return MCP_OK;
}


int
mcp_answer_json(mcp_exchange_t *x)
{
    if (x->answer.out.failed) {
        return x->answer.out.failed == MCP_ERR_LIMIT ? MCP_ERR_MEMORY
                                              : x->answer.out.failed;
    }

    mcp_exchange_set_state(x, MCP_EXCHANGE_RESPONSE);
    x->answer.response.status = 200;
    x->answer.response.content_type = mcp_str("application/json");
    x->answer.response.body.data = x->answer.out.data;
    x->answer.response.body.len = x->answer.out.len;

    return MCP_OK;
}


int
mcp_answer_fault(mcp_exchange_t *x, mcp_fault_e fault, mcp_str_t id,
    mcp_str_t detail)
{
    return mcp_answer_fault_data(x, fault, id, detail, mcp_null_str);
}


/* Counts a fault in the counters of the zone, if it has one, and adds a
 * Retry-After header if the fault is temporary. */
static void
mcp_answer_fault_note(mcp_exchange_t *x, mcp_fault_e fault)
{
    mcp_store_t  *store;

    store = x->worker->store;

    switch (fault) {

    case MCP_FAULT_STORE_FULL:
        mcp_store_count(store, MCP_COUNT_REFUSED_FULL, 1);
        mcp_reject_log_full(x->worker);
        mcp_call_stats_refused(x, fault);
        mcp_answer_header(x, mcp_str("Retry-After"), mcp_str("5"));
        break;

    case MCP_FAULT_CLUSTER_UNREACHABLE:
        mcp_store_node_count(store, MCP_NODE_UNREACHABLE);
        mcp_answer_header(x, mcp_str("Retry-After"), mcp_str("1"));
        break;

    case MCP_FAULT_CALL_EARLY:
        mcp_answer_header(x, mcp_str("Retry-After"), mcp_str("1"));
        break;

    case MCP_FAULT_TOO_MANY_STREAMS:
    case MCP_FAULT_TOO_MANY_VALUES:
        mcp_store_count(store, MCP_COUNT_REJECTED_LIMIT, 1);
        mcp_call_stats_refused(x, fault);
        break;

    case MCP_FAULT_TOOL_UNKNOWN:
    case MCP_FAULT_PROMPT_UNKNOWN:
    case MCP_FAULT_RESOURCE_UNKNOWN:
        mcp_call_stats_refused(x, fault);
        break;

    case MCP_FAULT_HEADER:
        mcp_store_count(store, MCP_COUNT_HEADERS, 1);
        break;

    case MCP_FAULT_VERSION:
        mcp_store_count(store, MCP_COUNT_VERSIONS, 1);
        break;

    case MCP_FAULT_REQUEST_STATE:
        mcp_store_count(store, MCP_COUNT_STATES, 1);
        break;

    default:
        break;
    }
}


int
mcp_answer_fault_data(mcp_exchange_t *x, mcp_fault_e fault, mcp_str_t id,
    mcp_str_t detail, mcp_str_t data)
{
    int  rc;

    mcp_store_count(x->worker->store, MCP_COUNT_ERRORS, 1);
    mcp_reject_log(x, fault, detail);

    mcp_answer_fault_note(x, fault);

    x->answer.out.len = 0;
    mcp_fault_write(&x->answer.out, x->client.revision, id, fault, detail,
                    data);

    rc = mcp_answer_json(x);

    if (rc == MCP_OK) {
        x->answer.response.status = mcp_fault_code(fault,
                                                   x->client.revision)->status;
        x->answer.outcome = "error";
    }

    return rc;
}


void
mcp_answer_ready(mcp_exchange_t *x, mcp_action_e action)
{
    x->queued.action.type = action;
    mcp_worker_queue(x->worker, &x->queued);
}

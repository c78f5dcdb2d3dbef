/* SPDX-License-Identifier: Apache-2.0 */

#include "store/mcp_store_duration.h"
#include "worker/mcp_call_stats_find_row.h"
#include "worker/mcp_duration.h"


void
mcp_duration_count(mcp_exchange_t *x, const mcp_method_t *method,
    mcp_str_t name, mcp_error_type_e error)
{
    mcp_duration_key_t  key;

    key.row = method->subject == MCP_SUBJECT_NAME
              ? mcp_call_stats_find(x->worker, x->endpoint, method, name)
              : mcp_call_stats_other(x->worker, x->endpoint);
    key.method = method->id;
    key.revision = x->client.revision;
    key.error = error;

    mcp_store_duration_count(x->worker->store, &key, x->received,
                             mcp_worker_now(x->worker));
}


void
mcp_duration_answered(mcp_exchange_t *x, mcp_error_type_e error)
{
    if (x->counted || (x->msg->kind != MCP_RPC_REQUEST
                       && x->msg->kind != MCP_RPC_NOTIFICATION))
    {
        return;
    }

    x->counted = 1;
    mcp_duration_count(x, x->msg->row, x->variables.value[MCP_VARIABLE_NAME],
                       error);
}


void
mcp_duration_opened(mcp_exchange_t *x)
{
    if (x->msg->row && !x->msg->row->takes_input) {
        mcp_duration_answered(x, MCP_ERROR_TYPE_NONE);
    }
}

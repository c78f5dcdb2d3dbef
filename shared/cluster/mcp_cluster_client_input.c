/* SPDX-License-Identifier: Apache-2.0 */

/* Client input for calls at other nodes: answers, updates of tasks and
 * cancellations. */


#include "cluster/mcp_cluster_replication.h"


void
mcp_client_input_encode(mcp_cluster_t *cluster,
    const mcp_operation_spec_t *spec, mcp_script_args_t *args)
{
    int                                  answers;
    const mcp_operation_client_input_t  *input;

    static const char *const  kinds[] = {
        [MCP_OPERATION_INPUT_ANSWER] = "p",
        [MCP_OPERATION_INPUT_TASK] = "u",
        [MCP_OPERATION_INPUT_CANCEL] = "x"
    };

    (void) cluster;

    input = &spec->input;
    answers = (input->what == MCP_OPERATION_INPUT_ANSWER);

    mcp_args_stream(args, input->id);
    mcp_args_digest_if(args, input->session, answers);
    mcp_args_digest_if(args, input->principal, !answers);
    mcp_args_number(args, input->generation);
    mcp_args_text(args, (mcp_str_t) { kinds[input->what], 1 });
    mcp_args_text(args, input->data);
    mcp_args_number(args, input->bits);
    mcp_args_number(args, input->seq);
    mcp_args_number(args, input->all);
}


int
mcp_client_input_decode(mcp_cluster_t *cluster, mcp_operation_t *op,
    const mcp_reply_t *reply, int rc)
{
    const mcp_operation_client_input_t  *input;

    if (rc == MCP_OK && !op->unwaited) {
        input = &op->spec.input;
        mcp_store_remote_inputs(cluster->worker->store, input->id,
                                mcp_reply_number(mcp_reply_item(reply, 1)));
        mcp_cluster_generation(cluster, input->id, input->generation);
    }

    return rc;
}

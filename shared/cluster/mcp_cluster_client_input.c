/* SPDX-License-Identifier: Apache-2.0 */

/* Client input for calls at other nodes: answers, updates of tasks and
 * cancellations. */


#include "cluster/mcp_cluster_replication.h"


/* A request that waits for the reply of redis/client_input.lua. */
typedef struct {
    mcp_operation_t  *op;
    uint32_t          generation;
    unsigned char     id[MCP_STREAM_ID_LEN];
} mcp_client_input_t;


#define MCP_CLIENT_INPUT_ARGS  9


/* Returns the session or principal to which the stream must belong, or an
 * empty text if the script need not check it ("matters" is 0). */
static mcp_str_t
mcp_client_input_tenant(const unsigned char digest[MCP_DIGEST_LEN], int matters)
{
    return (mcp_str_t) { (const char *) digest,
                         matters ? MCP_DIGEST_LEN : 0 };
}


/*
 * Handles the reply of redis/client_input.lua.
 *
 * Returns MCP_OK if the input is in the queue of the owner's node, or
 *   MCP_ERR_NOT_FOUND    there is no such stream, or it is over
 *   MCP_ERR_LIMIT        there is too much input since the owner's last append
 *   MCP_ERR_UNREACHABLE  there is no reply, or an unexpected one; or Redis may
 *                        have lost the stream
 */
static int
mcp_client_input_taken(mcp_cluster_t *cluster, const mcp_reply_t *reply)
{
    const mcp_reply_t  *kind;

    if (reply == NULL) {
        return MCP_ERR_UNREACHABLE;
    }

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "OK")) {
        return MCP_OK;
    }

    if (mcp_reply_is(kind, "LATER")) {
        return MCP_ERR_UNREACHABLE;
    }

    if (mcp_reply_is(kind, "NONE")) {
        return MCP_ERR_NOT_FOUND;
    }

    if (mcp_reply_is(kind, "FULL")) {
        return MCP_ERR_LIMIT;
    }

    mcp_cluster_unexpected_reply(cluster, "client_input", reply);

    return MCP_ERR_UNREACHABLE;
}


/* Handles the reply for a request that waits for it. */
static void
mcp_client_input_done(void *data, const mcp_reply_t *reply)
{
    int               rc;
    mcp_operation_t  *op;
    mcp_client_input_t *input;
    mcp_cluster_t    *cluster;
    const mcp_mem_t  *mem;

    input = data;
    op = input->op;
    cluster = op->worker->cluster;

    rc = mcp_client_input_taken(cluster, reply);

    if (rc == MCP_OK) {
        mcp_store_remote_inputs(cluster->worker->store, input->id,
                                mcp_reply_number(mcp_reply_item(reply, 1)));
        mcp_cluster_generation(cluster, input->id, input->generation);
    }

    mem = &op->worker->env->mem;
    mem->free(mem->ctx, input);

    mcp_operation_answer(op, rc);
}


static void
mcp_client_input_done_unknown(void *data, const mcp_reply_t *reply)
{
    (void) mcp_client_input_taken(data, reply);
}


/* Sends the input to redis/client_input.lua. mcp_client_input_done() gets the
 * reply for the request "waits". If "waits" is NULL, no request waits, and an
 * unexpected reply is only logged. */
static int
mcp_client_input_send(mcp_cluster_t *cluster,
    const mcp_operation_client_input_t *input, mcp_client_input_t *waits)
{
    char       id[MCP_STREAM_TEXT_LEN], numbers[4][20];
    size_t     i;
    mcp_str_t  args[MCP_CLIENT_INPUT_ARGS];
    uint64_t   values[4] =
        { input->generation, input->bits, input->seq, input->all };

    static const char *const  kinds[] = {
        [MCP_OPERATION_INPUT_ANSWER] = "p",
        [MCP_OPERATION_INPUT_TASK] = "u",
        [MCP_OPERATION_INPUT_CANCEL] = "x"
    };

    (void) mcp_stream_id_print(id, input->id);
    args[0] = (mcp_str_t) { id, MCP_STREAM_TEXT_LEN };
    args[1] = mcp_client_input_tenant(input->session,
                              input->what == MCP_OPERATION_INPUT_ANSWER);
    args[2] = mcp_client_input_tenant(input->principal,
                              input->what != MCP_OPERATION_INPUT_ANSWER);
    args[4] = (mcp_str_t) { kinds[input->what], 1 };
    args[5] = input->data;

    for (i = 0; i < 4; i++) {
        args[i ? 5 + i : 3].data = numbers[i];
        args[i ? 5 + i : 3].len = (size_t) (mcp_uint_print(numbers[i],
                                                           values[i])
                                            - numbers[i]);
    }

    return mcp_cluster_run(cluster, MCP_SCRIPT_CLIENT_INPUT, args,
                           MCP_CLIENT_INPUT_ARGS,
                           waits ? mcp_client_input_done
                                 : mcp_client_input_done_unknown,
                           waits ? (void *) waits : cluster);
}


int
mcp_cluster_client_input(void *data, const mcp_operation_client_input_t *input,
    mcp_operation_t *op)
{
    mcp_client_input_t *waits;
    mcp_cluster_t    *cluster;
    const mcp_mem_t  *mem;

    cluster = data;

    if (cluster->state != MCP_CLUSTER_MEMBER) {
        return mcp_store_node_is_standalone(cluster->worker->store)
               ? MCP_ERR_NOT_FOUND : MCP_ERR_UNREACHABLE;
    }

    if (op == NULL) {
        return mcp_client_input_send(cluster, input, NULL) == MCP_OK
                   ? MCP_OK
                   : MCP_ERR_UNREACHABLE;
    }

    mem = &cluster->worker->env->mem;
    waits = mcp_mem_calloc(mem, sizeof(mcp_client_input_t));

    if (waits == NULL) {
        return MCP_ERR_MEMORY;
    }

    waits->op = op;
    waits->generation = input->generation;
    memcpy(waits->id, input->id, MCP_STREAM_ID_LEN);

    if (mcp_client_input_send(cluster, input, waits) != MCP_OK) {
        mem->free(mem->ctx, waits);
        return MCP_ERR_UNREACHABLE;
    }

    return MCP_AGAIN;
}

/* SPDX-License-Identifier: Apache-2.0 */

/* The list of all resumption methods, and the functions of the interface that
 * need it. rpc/mcp_client.c has the names of the capabilities by which clients
 * declare the methods. */


#include "call/mcp_cluster_broadcast_receive.h"
#include "resume/mcp_resume_methods.h"


const mcp_resume_method_t *const  mcp_resume_methods[] = {
    &mcp_resume_event_id,
    &mcp_resume_request,
    &mcp_resume_stream,
    &mcp_resume_link,
    &mcp_resume_token,
    &mcp_resume_task,
    NULL
};


mcp_worker_t *
mcp_worker_create(const mcp_env_t *env, mcp_store_t *store,
    const mcp_worker_glue_t *glue)
{
    mcp_worker_t  *worker;

    worker =
        mcp_worker_create_with_methods(env, store, glue, mcp_resume_methods);

    if (worker) {
        worker->on_broadcast = mcp_receive_broadcast;
    }

    return worker;
}


int
mcp_exchange_secret(const mcp_endpoint_t *endpoint, mcp_str_t *rest,
    mcp_str_t *secret)
{
    size_t  i;

    for (i = 0; mcp_resume_methods[i]; i++) {
        if (mcp_resume_methods[i]->secret
            && mcp_resume_methods[i]->secret(endpoint, rest, secret))
        {
            return 1;
        }
    }

    return 0;
}

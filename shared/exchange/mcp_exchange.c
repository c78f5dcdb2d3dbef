/* SPDX-License-Identifier: Apache-2.0 */

#include "call/mcp_input.h"
#include "exchange/mcp_exchange_internal.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_consumer.h"


size_t
mcp_exchange_size(void)
{
    return sizeof(mcp_exchange_t);
}


mcp_exchange_t *
mcp_exchange_create(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    void *glue)
{
    const mcp_mem_t  *mem;
    mcp_exchange_t   *x;

    mem = &worker->env->mem;

    x = mem->alloc(mem->ctx, sizeof(mcp_exchange_t));
    if (x == NULL) {
        return NULL;
    }

    mcp_exchange_create_in(x, worker, endpoint, glue);
    x->allocated = 1;

    return x;
}


mcp_exchange_t *
mcp_exchange_create_in(void *room, mcp_worker_t *worker,
    const mcp_endpoint_t *endpoint, void *glue)
{
    const mcp_mem_t  *mem;
    mcp_exchange_t   *x;

    mem = &worker->env->mem;

    x = room;

    mcp_zero(x, sizeof(mcp_exchange_t));

    mcp_arena_init(&x->arena, mem);
    mcp_arena_init(&x->scratch, mem);
    x->worker = worker;
    x->number = ++worker->exchanges;
    x->cancels = mcp_store_cancels(worker->store);
    x->endpoint = endpoint;
    x->glue = glue;
    x->queued.action.exchange = x;
    x->answer.outcome = "none";
    x->client.log_level = -1;
    x->msg = &mcp_rpc_none;
    x->resumption = worker->methods[0];

    mcp_buf_init(&x->answer.out, &worker->env->mem, SIZE_MAX / 2);

    return x;
}


void
mcp_exchange_free(mcp_exchange_t *x)
{
    const mcp_mem_t  *mem;

    mcp_worker_unqueue(x->worker, &x->queued);
    mcp_timer_del(&x->worker->timers, &x->reader.timer);
    mcp_operation_leave(x);

    if (x->state == MCP_EXCHANGE_CLUSTER_WAIT) {
        x->worker->asking--;
    }

    if (x->state == MCP_EXCHANGE_STREAM) {
        mcp_consumer_leave(x);

    } else if (x->state != MCP_EXCHANGE_ENDED) {
        mcp_consumer_detach(x);
    }

    if (x->call) {
        if (x->call->x == x) {
            mcp_call_leave(x->call);
        }

        mcp_call_release(x->call);
    }

    mcp_buf_free(&x->answer.out);

    mcp_arena_destroy(&x->arena);
    mcp_arena_destroy(&x->scratch);

    if (x->allocated) {
        mem = &x->worker->env->mem;
        mem->free(mem->ctx, x);
    }
}


void *
mcp_exchange_glue(const mcp_exchange_t *x)
{
    return x->glue;
}


void
mcp_exchange_sent(mcp_exchange_t *x)
{
    x->answer.sent = 1;
}


const mcp_response_t *
mcp_exchange_response(const mcp_exchange_t *x)
{
    return &x->answer.response;
}


char *
mcp_exchange_body_space(mcp_exchange_t *x, size_t len)
{
    x->body = mcp_arena_alloc(&x->arena, len ? len : 1);

    return x->body;
}


void
mcp_exchange_parse(mcp_exchange_t *x, size_t len, const mcp_mem_t *mem)
{
    /* if an entry function was stored when the head was processed, the request
     * has no message, and its body is ignored */

    if (x->publish == NULL && x->asking == NULL && x->entry == NULL) {
        mcp_arena_init(&x->scratch, mem);
        mcp_dispatch_parse(x, len);
    }
}


int
mcp_exchange_body(mcp_exchange_t *x, size_t len)
{
    if (x->publish) {
        return mcp_publish_body(x, len);
    }

    if (x->asking) {
        return mcp_operation_entry(x);
    }

    if (x->entry) {
        return x->entry(x);
    }

    return mcp_dispatch(x, len);
}


int
mcp_exchange_is_open(const mcp_exchange_t *x)
{
    return x->reader.woken != NULL || x->state == MCP_EXCHANGE_CLUSTER_WAIT
           || (x->call && x->call->x == x && x->call->glue == NULL
               && x->call->phase != MCP_CALL_OVER);
}


int
mcp_exchange_lasts(const mcp_exchange_t *x)
{
    if (x->reader.state == MCP_CONSUMER_DONE
        || (x->state != MCP_EXCHANGE_STREAM && x->state != MCP_EXCHANGE_WAIT))
    {
        return 0;
    }

    return x->call == NULL || x->call->n > 1 || x->call->n_breqs == 0
           || mcp_input_possible(&x->call->client);
}


int
mcp_exchange_ends_first(const mcp_exchange_t *x)
{
    return x->call && x->call->rounds;
}

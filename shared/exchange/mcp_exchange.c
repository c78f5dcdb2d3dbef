/* SPDX-License-Identifier: Apache-2.0 */

/* Creates and frees exchanges, selects the function that handles a body, and
 * sets variables and outcomes. Also responds to requests for the metadata of a
 * protected resource (RFC 9728). */

#include "call/mcp_input.h"
#include "config/mcp_auth_internal.h"
#include "exchange/mcp_exchange_internal.h"
#include "rpc/mcp_revision.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_exchange_set_state.h"
#include "worker/mcp_resume_hooks.h"


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
    x->output.outcome = "none";
    x->client.log_level = -1;
    x->msg = &mcp_rpc_none;
    x->resumption = worker->methods[0];

    mcp_buf_init(&x->output.out, &worker->env->mem, SIZE_MAX / 2);

    return x;
}


void
mcp_exchange_free(mcp_exchange_t *x)
{
    mcp_worker_unqueue(x->worker, &x->queued);
    mcp_timer_del(&x->worker->timers, &x->reader.timer);
    mcp_operation_leave(x);

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

    x->worker->n_waiting -= mcp_exchange_is_waiting(x);

    mcp_buf_free(&x->output.out);

    mcp_arena_destroy(&x->arena);
    mcp_arena_destroy(&x->scratch);

    if (x->allocated) {
        mcp_mem_free(&x->worker->env->mem, x);
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
    x->output.sent = 1;
}


const mcp_response_t *
mcp_exchange_response(const mcp_exchange_t *x)
{
    return &x->output.response;
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
    /* parses nothing for a request without a message: mcp_publish_body() reads
     * the body of a request to the publish endpoint, and the body is ignored if
     * an entry function was stored when the head was processed */

    if (x->publish == NULL && x->operations == NULL && x->entry == NULL) {
        mcp_arena_init(&x->scratch, mem);
        mcp_dispatch_parse(x, len);
    }
}


mcp_next_e
mcp_exchange_body(mcp_exchange_t *x, size_t len)
{
    if (x->publish) {
        return mcp_publish_body(x, len);
    }

    if (x->operations) {
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
           || mcp_endpoint_upstream(x->endpoint, x->call->requests->target)
              != MCP_UPSTREAM_OFF
           || mcp_input_possible(&x->call->client);
}


int
mcp_exchange_ends_first(const mcp_exchange_t *x)
{
    return x->call && x->call->rounds;
}


/* --- variables --- */

/* Sets the variables about the client of x, for the logs and maps of the web
 * server: the revision, and the variables of the session if there is one. */

static void
mcp_exchange_client_variables(mcp_exchange_t *x)
{
    const mcp_client_t  *client;

    client = &x->client;

    if (!client->has_session && !mcp_client_is_stateless(client)) {
        return;
    }

    mcp_variable_put(&x->variables, MCP_VARIABLE_PROTOCOL_VERSION,
                     mcp_revision(client->revision)->name);

    if (client->has_session) {
        mcp_client_session_variables(client, &x->variables);
    }
}


/* Returns the outcome of a call that ends because its client has disconnected:
 * "cancelled" in a revision without sessions, where the disconnection cancels
 * the call (2026-07-28, basic/transports/streamable-http, "Cancellation"),
 * otherwise "expired". */
static mcp_outcome_e
mcp_exchange_left(const mcp_exchange_t *x)
{
    return mcp_client_is_stateless(&x->client) ? MCP_OUTCOME_CANCELLED
                                               : MCP_OUTCOME_EXPIRED;
}


/* Called when the HTTP request of the exchange ends. Sets the outcome of its
 * call if the call is over, or if it ends now because its client has
 * disconnected (mcp_max_wait 0, or mcp_call_is_bound()). */
void
mcp_exchange_last(mcp_exchange_t *x)
{
    mcp_stream_info_t  info;

    if (x->output.call_outcome != MCP_OUTCOME_NONE || x->publish) {
        return;
    }

    if (x->state == MCP_EXCHANGE_WAIT) {
        if (x->call
            && (x->call->policy.max_wait == 0 || mcp_call_is_bound(x->call)))
        {
            x->output.call_outcome = mcp_exchange_left(x);
        }

        return;
    }

    if (x->state != MCP_EXCHANGE_STREAM
        || x->reader.state == MCP_CONSUMER_DONE || x->reader.listener
        || mcp_store_info(x->worker->store, &x->reader.ref, &info) != MCP_OK)
    {
        return;
    }

    x->output.call_outcome = mcp_outcome_of(&info);

    /* if other requests may join the call, it does not end with this
     * exchange */

    if (x->output.call_outcome == MCP_OUTCOME_NONE && x->reader.bound
        && x->join == NULL)
    {
        x->output.call_outcome = mcp_exchange_left(x);
    }
}


const mcp_variables_t *
mcp_exchange_variables(mcp_exchange_t *x)
{
    char             *p, *number;
    mcp_variables_t  *variables;

    variables = &x->variables;

    mcp_variable_set(variables, MCP_VARIABLE_PRINCIPAL, x->head.principal_name);
    mcp_variable_set(variables, MCP_VARIABLE_METHOD, x->msg->method);
    mcp_variable_set(variables, MCP_VARIABLE_REQUEST_ID, x->msg->id);
    mcp_variable_put(variables, MCP_VARIABLE_OUTCOME,
                     (mcp_str_t) { x->output.outcome,
                                   strlen(x->output.outcome) });
    mcp_variable_put(variables, MCP_VARIABLE_RESULT,
                     mcp_outcome_name(x->output.call_outcome));

    mcp_exchange_client_variables(x);

    /* x->text stores the values of two variables: the short id of the call, and
     * the number of events */

    p = x->text;

    if (x->reader.handle || x->call) {
        mcp_stream_id_short(p, x->reader.handle ? x->reader.ref.id
                                                : x->call->id);
        mcp_variable_put(variables, MCP_VARIABLE_CALL, (mcp_str_t) { p, 8 });
    }

    if (x->reader.joins) {
        mcp_variable_put(variables, MCP_VARIABLE_JOINED, mcp_str("1"));
    }

    if (x->reader.handle && x->state >= MCP_EXCHANGE_STREAM) {
        number = p + 9;
        p = mcp_uint_print(number, x->reader.cursor.seq - x->reader.first);
        mcp_variable_put(variables, MCP_VARIABLE_EVENTS,
                         (mcp_str_t) { number, (size_t) (p - number) });
        mcp_variable_put(variables, MCP_VARIABLE_RESUME_METHOD,
                         x->resumption->name);

        if (x->reader.resumed) {
            mcp_variable_put(variables, MCP_VARIABLE_RESUMED, mcp_str("1"));
        }
    }

    return variables;
}


/* --- the document of a resource --- */

/* The metadata of a protected resource, a JSON document that names the
 * authorization servers of an endpoint (RFC 9728, 3). */

/* Time for which clients and caches may keep the document, one hour. */
#define MCP_EXCHANGE_DOCUMENT_AGE  "max-age=3600"


static void
mcp_exchange_document_header(mcp_response_t *response, mcp_str_t name,
    mcp_str_t value)
{
    mcp_header_t  *h;

    h = &response->headers[response->n_headers++];
    h->name = name;
    h->value = value;
}


static int
mcp_exchange_document_requested(mcp_str_t method)
{
    return mcp_str_eq(method, mcp_str("GET"))
           || mcp_str_eq(method, mcp_str("HEAD"));
}


void
mcp_exchange_document(const mcp_auth_t *auth, mcp_str_t method,
    mcp_response_t *response)
{
    memset(response, 0, sizeof(mcp_response_t));

    mcp_exchange_document_header(response,
                                 mcp_str("Access-Control-Allow-Origin"),
                                 mcp_str("*"));

    if (mcp_exchange_document_requested(method)) {
        response->status = 200;
        response->content_type = mcp_str("application/json");
        response->body = auth->document;

        mcp_exchange_document_header(response, mcp_str("Cache-Control"),
                             mcp_str("public, " MCP_EXCHANGE_DOCUMENT_AGE));
        mcp_exchange_document_header(response, mcp_str("ETag"), auth->etag);
        return;
    }

    mcp_exchange_document_header(response, mcp_str("Allow"),
                                 mcp_str("GET, HEAD, OPTIONS"));

    if (!mcp_str_eq(method, mcp_str("OPTIONS"))) {
        response->status = 405;
        return;
    }

    /* responds to a preflight request, which browsers send before the GET if
     * the client adds the header MCP-Protocol-Version */

    response->status = 204;

    mcp_exchange_document_header(response,
                                 mcp_str("Access-Control-Allow-Methods"),
                                 mcp_str("GET, HEAD"));
    mcp_exchange_document_header(response,
                                 mcp_str("Access-Control-Allow-Headers"),
                                 mcp_str("*"));
    mcp_exchange_document_header(response, mcp_str("Access-Control-Max-Age"),
                                 mcp_str("86400"));
}

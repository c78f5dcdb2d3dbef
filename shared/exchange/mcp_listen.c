/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Handles subscriptions/listen. Each subscription has a separate stream in the
 * store. Other requests cannot find this stream, and it ends with the client's
 * connection. A client that subscribes again does not get the notifications
 * that it has missed, and has to request the lists and resources again. The
 * acknowledgement at the start and the result at the end are written to the
 * connection only.
 */

#include "base/mcp_uri.h"
#include "exchange/mcp_listen.h"
#include "exchange/mcp_listen_filter.h"
#include "exchange/mcp_permission.h"
#include "rpc/mcp_result.h"
#include "rpc/mcp_subscription.h"
#include "worker/mcp_respond.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_resume_hooks.h"
#include "worker/mcp_notification.h"


/* Maximum number of events of a subscription that wait to be sent. */
#define MCP_LISTEN_EVENTS  64

/* Time after which the stream of a subscription is freed if it has no reader,
 * because its process has died. */
#define MCP_LISTEN_WAIT    10000       /* ms */

#define MCP_LISTEN_READ    4096


/* --- the stream of a subscription --- */

static int
mcp_listen_create(mcp_exchange_t *x, mcp_stream_ref_t *ref)
{
    int                rc;
    mcp_stream_spec_t  spec;

    memset(&spec, 0, sizeof(mcp_stream_spec_t));

    rc = mcp_worker_random(x->worker, spec.id, MCP_STREAM_ID_LEN);
    if (rc != MCP_OK) {
        return rc;
    }

    spec.kind = MCP_STREAM_LISTEN;
    memcpy(spec.principal, x->client.principal, MCP_DIGEST_LEN);
    spec.revision = x->client.revision;
    spec.max_wait = MCP_LISTEN_WAIT;
    spec.max_events = MCP_LISTEN_EVENTS;
    spec.max_bytes = x->endpoint->stream_buffer;
    mcp_tenant(x->endpoint, x->head.tenant, &spec.tenant);

    return mcp_store_create(x->worker->store, &spec,
                            mcp_worker_now(x->worker), ref);
}


static int
mcp_listen_subscribe_uri(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    mcp_str_t raw)
{
    int               rc;
    mcp_str_t         uri;
    mcp_arena_mark_t  mark;
    unsigned char     topic[MCP_DIGEST_LEN];

    mark = mcp_arena_mark(&x->arena);
    rc = mcp_json_unescape(&x->arena, raw, &uri);

    if (rc == MCP_OK) {
        rc = mcp_uri_normal(&x->arena, uri, &uri);
    }

    if (rc == MCP_OK) {
        rc = mcp_topic_uri(uri, topic);
    }

    mcp_arena_release(&x->arena, mark);

    return rc == MCP_OK ? mcp_store_subscribe(x->worker->store, ref, topic)
                        : rc;
}


static int
mcp_listen_subscribe(mcp_exchange_t *x, const mcp_listen_filter_t *filter,
    const mcp_stream_ref_t *ref)
{
    int               rc;
    unsigned          list;
    mcp_json_iter_t   iter;
    mcp_json_value_t  uri;

    rc = MCP_OK;

    for (list = 0; rc == MCP_OK && list < MCP_TOPIC_LISTS; list++) {
        if (filter->lists & (1u << list)) {
            rc = mcp_notify_subscribe(x->worker, x->endpoint, ref,
                                      (mcp_topic_e) list);
        }
    }

    mcp_json_iter_init(&iter, filter->uris);

    while (rc == MCP_OK && filter->uris.len
           && mcp_json_iter_next(&iter, NULL, &uri))
    {
        rc = mcp_listen_subscribe_uri(x, ref, uri.raw);
    }

    return rc == MCP_OK ? mcp_listen_task_subscribe(x, &filter->tasks, ref)
                        : rc;
}


/* Writes the first message, which lists the notifications that the endpoint
 * will send. */
static void
mcp_listen_acknowledge(mcp_exchange_t *x, const mcp_listen_filter_t *filter)
{
    mcp_buf_t  *out;

    out = &x->output.out;

    mcp_buf_lit(out, "data: {\"jsonrpc\":\"2.0\",\"method\":"
                     "\"notifications/subscriptions/acknowledged\","
                     "\"params\":{\"_meta\":{\"" MCP_SUBSCRIPTION_ID "\":");
    mcp_buf_str(out, x->msg->id);
    mcp_buf_lit(out, "},\"notifications\":");
    mcp_listen_filter_write(filter, out);
    mcp_buf_lit(out, "}}\n\n");
}


/* --- the connection --- */

/* The state of a subscription, kept with its exchange. "splice" is used to
 * insert the id of the subscription into each notification. */
typedef struct {
    mcp_subscription_splice_t  splice;
    mcp_listen_tasks_t         tasks;
} mcp_listen_state_t;


static int
mcp_listen_read(mcp_exchange_t *x)
{
    int                  rc;
    char                 text[MCP_LISTEN_READ];
    size_t               len;
    mcp_listen_state_t  *state;

    state = mcp_hook_state(x->states, x->resumption);

    if (state->tasks.n) {
        return mcp_listen_task_read(x, &state->tasks, &state->splice);
    }

    rc = mcp_store_read(x->worker->store, &x->reader.ref, x->reader.handle,
                        &x->reader.cursor, x->reader.sent, text, sizeof(text),
                        &len);

    if (rc != MCP_OK) {
        return rc;
    }

    mcp_subscription_splice(&state->splice, x->msg->id,
                            (mcp_str_t) { text, len }, &x->output.out);

    return x->output.out.failed;
}


/* Writes the result, by which a subscription ends normally. Writes nothing if
 * only a part of the last event was sent, which happens if the client reads too
 * slowly. */
static void
mcp_listen_last(mcp_exchange_t *x)
{
    mcp_buf_t     body;
    mcp_result_t  add;

    if (x->reader.cursor.done) {
        return;
    }

    mcp_buf_init(&body, &x->worker->env->mem, SIZE_MAX / 2);
    mcp_buf_lit(&body, "{\"resultType\":\"complete\","
                       "\"_meta\":{\"" MCP_SUBSCRIPTION_ID "\":");
    mcp_buf_str(&body, x->msg->id);
    mcp_buf_lit(&body, "}}");

    if (!body.failed) {
        mcp_buf_lit(&x->output.out, "data: ");
        mcp_result_write(&x->output.out, x->msg->id,
                         (mcp_str_t) { body.data, body.len },
                         mcp_endpoint_result(x->endpoint, &x->client,
                             mcp_method(MCP_METHOD_SUBSCRIPTIONS_LISTEN),
                             mcp_null_str, &add));
        mcp_buf_lit(&x->output.out, "\n\n");
    }

    mcp_buf_free(&body);
}


static const mcp_resume_reader_t  mcp_listen_reader = {
    .read = mcp_listen_read,
    .last = mcp_listen_last
};

/* The functions of a subscription, in the form of a resumption method. This
 * structure is not in the worker's list of methods, because clients cannot
 * resume a subscription. */
static const mcp_resume_method_t  mcp_listen_resume = {
    .name = { "listen", 6 },
    .reader = &mcp_listen_reader
};


static int
mcp_listen_begin(mcp_exchange_t *x, const mcp_listen_filter_t *filter,
    const mcp_stream_ref_t *ref)
{
    int                  rc;
    mcp_listen_state_t  *state;

    x->resumption = &mcp_listen_resume;

    state = mcp_hook_state_create(x, x->resumption, sizeof(mcp_listen_state_t));
    if (state == NULL) {
        return MCP_ERR_MEMORY;
    }

    state->tasks = filter->tasks;

    rc = mcp_listen_subscribe(x, filter, ref);

    if (rc == MCP_OK) {
        rc = mcp_consumer_start(x, ref, 0);
    }

    if (rc != MCP_OK) {
        return rc;
    }

    x->reader.cursor.plain = 1;
    x->reader.listener = 1;
    x->reader.own = 1;
    mcp_listen_acknowledge(x, filter);

    return x->output.out.failed;
}


static mcp_next_e
mcp_listen_start(mcp_exchange_t *x, const mcp_listen_filter_t *filter)
{
    int               rc;
    mcp_stream_ref_t  ref;

    rc = mcp_listen_create(x, &ref);

    if (rc == MCP_OK) {
        rc = mcp_listen_begin(x, filter, &ref);

        if (rc != MCP_OK) {
            mcp_store_free(x->worker->store, &ref);
        }
    }

    switch (rc) {

    case MCP_OK:
        return MCP_NEXT_STREAM;

    case MCP_ERR_LIMIT:
        return mcp_respond_fault(x, MCP_FAULT_TOO_MANY_STREAMS, x->msg->id,
                                 mcp_null_str);

    case MCP_ERR_FULL:
        return mcp_respond_fault(x, MCP_FAULT_STORE_FULL, x->msg->id,
                                 mcp_null_str);

    default:
        return MCP_NEXT_ERROR;
    }
}


/* Handles subscriptions/listen. After returning MCP_NEXT_WAIT, this function
 * runs again when the cluster has replied, see mcp_cluster_operation.h. */
mcp_next_e
mcp_listen(mcp_exchange_t *x)
{
    int                  rc;
    mcp_str_t            wrong, scope;
    mcp_listen_filter_t  filter;

    memset(&filter, 0, sizeof(mcp_listen_filter_t));
    rc = mcp_listen_filter_read(x, &filter, &wrong);

    if (rc == MCP_ERR_SYNTAX) {
        return mcp_respond_fault(x, MCP_FAULT_PARAMS, x->msg->id, wrong);
    }

    if (rc == MCP_ERR_DENIED) {
        return mcp_respond_fault_data(x, MCP_FAULT_CAPABILITY, x->msg->id,
                                      mcp_null_str,
                                      mcp_str(MCP_CLIENT_TASKS_REQUIRED));
    }

    if (rc == MCP_ERR_UNREACHABLE) {
        return mcp_respond_fault(x, MCP_FAULT_CLUSTER_UNREACHABLE, x->msg->id,
                                 mcp_null_str);
    }

    if (rc != MCP_OK) {
        return mcp_operation_next(rc);
    }

    mcp_listen_filter_honour(x, &filter);

    if (mcp_listen_filter_permit(x, &filter, &scope) != MCP_OK) {
        return MCP_NEXT_ERROR;
    }

    if (scope.len) {
        return mcp_permission_refuse(x, scope);
    }

    return mcp_listen_start(x, &filter);
}

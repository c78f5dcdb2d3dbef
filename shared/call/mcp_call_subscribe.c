/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The methods resources/subscribe and resources/unsubscribe. When the backend
 * has returned a result, this server adds or removes the subscription in the
 * session's own stream. In a cluster, any node may have that stream. The result
 * is held until the subscription has changed there.
 */


#include "call/mcp_call_internal.h"
#include "rpc/mcp_subscription.h"
#include "store/mcp_store_replication.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_notification.h"


/* Maximum number of attempts of the cluster operation that subscribes the
 * session at all nodes. If no node has the session's own stream at the first
 * attempt, this node creates the stream before the second attempt. */
#define MCP_BACKEND_REQUEST_SUBSCRIBE_TRIES 2


static int
mcp_backend_request_subscribes(const mcp_request_t *req)
{
    return req->method->id == MCP_METHOD_RESOURCES_SUBSCRIBE;
}


/* Adds or removes a subscription in the session's own stream at this node.
 * Creates the stream if it does not exist. Returns MCP_OK, or an error of
 * mcp_notify_listener() or mcp_store_subscribe(). */
static int
mcp_backend_request_subscribe_here(mcp_request_t *req,
    const unsigned char topic[MCP_DIGEST_LEN])
{
    int                rc;
    mcp_call_t        *call;
    mcp_stream_info_t  info;

    call = req->call;

    rc = mcp_notify_listener(call->worker, call->endpoint, &call->client,
                             call->tenant, &info);
    if (rc != MCP_OK) {
        return rc;
    }

    if (mcp_backend_request_subscribes(req)) {
        return mcp_store_subscribe(call->worker->store, &info.ref, topic);
    }

    mcp_store_unsubscribe(call->worker->store, &info.ref, topic);

    return MCP_OK;
}


/* Called when the cluster operation that subscribes or unsubscribes the session
 * has ended. Stores rc, its return value, and processes the held message of the
 * backend again. */
static void
mcp_backend_request_subscribe_done(void *data, int rc)
{
    mcp_call_t     *call;
    mcp_request_t  *req;

    req = data;
    call = req->call;
    req->subscribed = rc;

    if (call->phase != MCP_CALL_OVER) {
        mcp_backend_request_continue(req);
    }

    if (call->phase != MCP_CALL_OVER || call->n_breqs) {
        mcp_call_set_timer(call);
    }

    mcp_call_release(call);
}


/*
 * Starts the cluster operation that subscribes or unsubscribes the session at
 * all nodes. If this node has the session's own stream, changes the stream
 * first, because notifications from other nodes may arrive during the
 * operation. Returns the values of mcp_operation_send(), or MCP_ERR_NOT_FOUND
 * without a cluster.
 */
static int
mcp_backend_request_subscribe_start(mcp_request_t *req,
    const unsigned char topic[MCP_DIGEST_LEN])
{
    int                     rc;
    mcp_call_t             *call;
    mcp_operation_spec_t    spec;
    mcp_operation_topic_t  *op;

    call = req->call;
    op = &spec.topic;
    memset(&spec, 0, sizeof(mcp_operation_spec_t));
    spec.kind = MCP_OPERATION_TOPIC;
    memcpy(op->session, call->client.id, MCP_DIGEST_LEN);
    memcpy(op->topic, topic, MCP_DIGEST_LEN);
    op->subscribe = mcp_backend_request_subscribes(req) != 0;

    rc = mcp_notify_listener_id(call->client.id, op->id);

    if (rc == MCP_OK) {
        rc = mcp_notify_receive_topic(call->worker, call->client.id, topic,
                                      op->subscribe);
    }

    if (rc != MCP_OK) {
        return rc;
    }

    rc = call->worker->cluster
         ? mcp_operation_send(call->worker, &spec,
                              mcp_backend_request_subscribe_done, req)
         : MCP_ERR_NOT_FOUND;

    if (rc == MCP_AGAIN) {
        call->refs++;
    }

    return rc;
}


/* Creates the session's own stream at this node with the subscription, because
 * no node has the stream. */
static int
mcp_backend_request_subscribe_make(mcp_request_t *req,
    const unsigned char topic[MCP_DIGEST_LEN])
{
    int            rc;
    unsigned char  id[MCP_STREAM_ID_LEN];

    rc = mcp_notify_listener_id(req->call->client.id, id);
    if (rc != MCP_OK) {
        return rc;
    }

    /* no node has the session's own stream: frees its mirror at this node, if
     * there is one */

    mcp_store_mirror_forget(req->call->worker->store, id);

    return mcp_backend_request_subscribe_here(req, topic);
}


/* Called if Redis is unreachable. Returns MCP_OK if the session's own stream
 * belongs to this node: the subscription was changed in the stream, and the
 * other nodes get the change later. Otherwise returns MCP_ERR_UNREACHABLE. */
static int
mcp_backend_request_subscribe_standalone(mcp_request_t *req)
{
    unsigned char      id[MCP_STREAM_ID_LEN];
    mcp_worker_t      *worker;
    mcp_stream_info_t  info;

    worker = req->call->worker;

    return mcp_notify_listener_id(req->call->client.id, id) == MCP_OK
           && mcp_store_find(worker->store, id, mcp_worker_now(worker), &info)
              == MCP_OK
           && !info.mirror ? MCP_OK : MCP_ERR_UNREACHABLE;
}


static int
mcp_backend_request_subscribe_all(mcp_request_t *req,
    const unsigned char topic[MCP_DIGEST_LEN])
{
    int  rc;

    if (req->call->worker->cluster == NULL) {
        return mcp_backend_request_subscribe_here(req, topic);
    }

    for ( ;; ) {
        if (req->subscribe_tries == 0) {
            req->subscribe_tries++;
            req->subscribed = mcp_backend_request_subscribe_start(req, topic);
        }

        if (req->subscribed == MCP_ERR_UNREACHABLE) {
            return mcp_backend_request_subscribe_standalone(req);
        }

        if (req->subscribed != MCP_ERR_NOT_FOUND) {
            return req->subscribed;
        }

        if (!mcp_backend_request_subscribes(req)
            || req->subscribe_tries == MCP_BACKEND_REQUEST_SUBSCRIBE_TRIES)
        {
            return MCP_OK;
        }

        rc = mcp_backend_request_subscribe_make(req, topic);
        if (rc != MCP_OK) {
            return rc;
        }

        req->subscribe_tries++;
        req->subscribed = mcp_backend_request_subscribe_start(req, topic);
    }
}


int
mcp_backend_request_subscribe(mcp_request_t *req, mcp_fault_e *fault)
{
    int            rc;
    unsigned char  topic[MCP_DIGEST_LEN];

    *fault = MCP_FAULT_NONE;

    if (req->method->id != MCP_METHOD_RESOURCES_SUBSCRIBE
        && req->method->id != MCP_METHOD_RESOURCES_UNSUBSCRIBE)
    {
        return MCP_OK;
    }

    rc = mcp_topic_session_uri(req->name, topic);

    if (rc == MCP_OK) {
        rc = mcp_backend_request_subscribe_all(req, topic);
    }

    switch (rc) {

    case MCP_OK:
        break;

    case MCP_AGAIN:
        return MCP_AGAIN;

    case MCP_ERR_FULL:
        *fault = MCP_FAULT_STORE_FULL;
        break;

    case MCP_ERR_LIMIT:
        *fault = MCP_FAULT_TOO_MANY_STREAMS;
        break;

    case MCP_ERR_UNREACHABLE:
        *fault = MCP_FAULT_CLUSTER_UNREACHABLE;
        break;

    default:
        *fault = MCP_FAULT_INTERNAL;
    }

    return MCP_OK;
}

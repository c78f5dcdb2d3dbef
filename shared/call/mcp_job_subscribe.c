/* SPDX-License-Identifier: Apache-2.0 */

/*
 * resources/subscribe and resources/unsubscribe: the subscription itself is
 * ours, once the backend has agreed to it.  In a cluster the result is held
 * until the session's own stream, wherever it is, has the subscription.
 */


#include "call/mcp_call_parts.h"
#include "rpc/mcp_topic.h"
#include "store/mcp_store_share.h"
#include "worker/mcp_ask.h"
#include "worker/mcp_notify.h"


/* A stream that nobody knows of is made here, and asked for once more. */
#define MCP_JOB_ASKS  2


static int
mcp_job_subscribes(const mcp_request_t *req)
{
    return req->method->id == MCP_METHOD_RESOURCES_SUBSCRIBE;
}


/* Subscribes the session's own stream, which is made if it is not here. */
static int
mcp_job_subscribe_here(mcp_request_t *req,
    const unsigned char topic[MCP_DIGEST_LEN])
{
    int                rc;
    mcp_call_t        *call;
    mcp_stream_info_t  info;

    call = req->call;

    rc = mcp_notify_listener(call->worker, call->endpoint, &call->client,
                             call->party, &info);
    if (rc != MCP_OK) {
        return rc;
    }

    if (mcp_job_subscribes(req)) {
        return mcp_store_subscribe(call->worker->store, &info.ref, topic);
    }

    mcp_store_unsubscribe(call->worker->store, &info.ref, topic);

    return MCP_OK;
}


/* The answer of other nodes: the result that is held goes on. */
static void
mcp_job_subscribe_done(void *data, int rc)
{
    mcp_call_t     *call;
    mcp_request_t  *req;

    req = data;
    call = req->call;
    req->subscribed = rc;

    if (call->phase != MCP_CALL_OVER) {
        mcp_job_continue(req);
    }

    if (call->phase != MCP_CALL_OVER || call->jobs) {
        mcp_call_set_timer(call);
    }

    mcp_call_release(call);
}


/* Asks for it.  What has to be subscribed here is before that: who has the
 * stream hears from there on what is told. */
static int
mcp_job_subscribe_ask(mcp_request_t *req,
    const unsigned char topic[MCP_DIGEST_LEN])
{
    int              rc;
    mcp_call_t      *call;
    mcp_ask_topic_t  ask;

    call = req->call;
    memset(&ask, 0, sizeof(mcp_ask_topic_t));
    memcpy(ask.session, call->client.id, MCP_DIGEST_LEN);
    memcpy(ask.topic, topic, MCP_DIGEST_LEN);
    ask.subscribe = mcp_job_subscribes(req) != 0;

    rc = mcp_notify_listener_id(call->client.id, ask.id);

    if (rc == MCP_OK) {
        rc = mcp_notify_hear_topic(call->worker, call->client.id, topic,
                                   ask.subscribe);
    }

    if (rc != MCP_OK) {
        return rc;
    }

    rc = mcp_ask_topic(call->worker, &ask, mcp_job_subscribe_done, req);

    if (rc == MCP_AGAIN) {
        call->refs++;
    }

    return rc;
}


/* Nobody knows of the stream: it is made here. */
static int
mcp_job_subscribe_make(mcp_request_t *req,
    const unsigned char topic[MCP_DIGEST_LEN])
{
    int            rc;
    unsigned char  id[MCP_STREAM_ID_LEN];

    rc = mcp_notify_listener_id(req->call->client.id, id);
    if (rc != MCP_OK) {
        return rc;
    }

    /* a mirror is one of a stream that is gone */

    mcp_store_mirror_forget(req->call->worker->store, id);

    return mcp_job_subscribe_here(req, topic);
}


/* Of a cluster that is away: what is here goes on, and is told later. */
static int
mcp_job_subscribe_alone(mcp_request_t *req)
{
    unsigned char      id[MCP_STREAM_ID_LEN];
    mcp_worker_t      *worker;
    mcp_stream_info_t  info;

    worker = req->call->worker;

    return mcp_notify_listener_id(req->call->client.id, id) == MCP_OK
           && mcp_store_find(worker->store, id, mcp_worker_now(worker), &info)
              == MCP_OK
           && !info.mirror ? MCP_OK : MCP_ERR_AWAY;
}


static int
mcp_job_subscribe_all(mcp_request_t *req,
    const unsigned char topic[MCP_DIGEST_LEN])
{
    int  rc;

    if (req->call->worker->cluster == NULL) {
        return mcp_job_subscribe_here(req, topic);
    }

    for ( ;; ) {
        if (req->asks == 0) {
            req->asks++;
            req->subscribed = mcp_job_subscribe_ask(req, topic);
        }

        if (req->subscribed == MCP_ERR_AWAY) {
            return mcp_job_subscribe_alone(req);
        }

        if (req->subscribed != MCP_ERR_NOT_FOUND) {
            return req->subscribed;
        }

        if (!mcp_job_subscribes(req) || req->asks == MCP_JOB_ASKS) {
            return MCP_OK;
        }

        rc = mcp_job_subscribe_make(req, topic);
        if (rc != MCP_OK) {
            return rc;
        }

        req->asks++;
        req->subscribed = mcp_job_subscribe_ask(req, topic);
    }
}


int
mcp_job_subscribe(mcp_request_t *req, mcp_fault_e *fault)
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
        rc = mcp_job_subscribe_all(req, topic);
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

    case MCP_ERR_AWAY:
        *fault = MCP_FAULT_CLUSTER_AWAY;
        break;

    default:
        *fault = MCP_FAULT_INTERNAL;
    }

    return MCP_OK;
}

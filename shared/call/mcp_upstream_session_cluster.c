/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The sessions at MCP servers in a cluster: Redis has the session of each
 * caller, so that all nodes use the same one.
 *
 * A request that finds no session in the zone looks it up in Redis, and opens
 * one if Redis has none either. It puts its new session into Redis before it
 * sends the client's request. If another node was faster, the request uses that
 * node's session, and ends its own. If Redis cannot be reached, the session
 * remains one of this node.
 */

#include "call/mcp_upstream_session.h"

#include "call/mcp_call_internal.h"
#include "call/mcp_upstream_detect.h"
#include "call/mcp_upstream_wait.h"
#include "worker/mcp_cluster_operation.h"


/* A pending cluster operation for a session. It is freed when its result
 * arrives, even if the request does not wait any more. */
struct mcp_upstream_lookup_s {
    mcp_worker_t             *worker;
    mcp_upstream_session_t   *session; /* session of the request that waits;
                                          NULL: no request waits */
    mcp_operation_session_e   what;
    mcp_operation_text_t      found;
};


static void
mcp_upstream_cluster_spec(mcp_operation_spec_t *spec,
    mcp_operation_session_e what, const unsigned char key[MCP_DIGEST_LEN],
    mcp_str_t text)
{
    memset(spec, 0, sizeof(mcp_operation_spec_t));

    spec->kind = MCP_OPERATION_UPSTREAM_SESSION;
    spec->session.what = what;
    memcpy(spec->session.key, key, MCP_DIGEST_LEN);
    spec->session.text = text;
    spec->session.lasts = MCP_UPSTREAM_SESSION_KEEP
                          + MCP_UPSTREAM_SESSION_RENEW;
}


void
mcp_upstream_cluster_renew(mcp_request_t *req, mcp_str_t text)
{
    mcp_operation_spec_t  spec;

    mcp_upstream_cluster_spec(&spec, MCP_OPERATION_SESSION_PUT,
                              req->session->key, text);
    (void) mcp_operation_send(req->call->worker, &spec, NULL, NULL);
}


void
mcp_upstream_cluster_drop(mcp_worker_t *worker,
    const unsigned char key[MCP_DIGEST_LEN], mcp_str_t text)
{
    mcp_operation_spec_t  spec;

    mcp_upstream_cluster_spec(&spec, MCP_OPERATION_SESSION_DROP, key, text);
    (void) mcp_operation_send(worker, &spec, NULL, NULL);
}


/* --- operations that a request waits for --- */

/* Called when a request no longer waits for its cluster operation. Separates
 * the session of the request from the operation. */
static void
mcp_upstream_cluster_detach(mcp_upstream_session_t *session)
{
    mcp_request_t  *req;

    session->lookup->session = NULL;
    session->lookup = NULL;
    session->wait_until = 0;

    /* removes the action MCP_ACT_PREPARE, which may still be in the queue */

    req = session->req;
    mcp_worker_unqueue(req->call->worker, &req->breq.queued);
}


void
mcp_upstream_cluster_leave(mcp_upstream_session_t *session)
{
    char                     text[MCP_STORE_TEXT_MAX];
    mcp_operation_session_e  what;

    if (session->lookup == NULL) {
        return;
    }

    what = session->lookup->what;
    mcp_upstream_cluster_detach(session);

    /* the request is over and ends its session at the MCP server: removes the
     * session from Redis, so that no other node uses it */

    if (what == MCP_OPERATION_SESSION_PUT) {
        mcp_upstream_cluster_drop(session->req->call->worker, session->key,
                                  mcp_upstream_session_text(session, text));
    }
}


/* Called when a request has got its session from the cluster, so that it need
 * not open one. */
static void
mcp_upstream_cluster_fetched(mcp_request_t *req)
{
    mcp_upstream_session_t  *session;

    session = req->session;
    session->fetched = 1;

    if (mcp_endpoint_upstream(req->call->endpoint, req->target)
        == MCP_UPSTREAM_AUTO)
    {
        mcp_upstream_form_found(req, MCP_UPSTREAM_SESSION, session->version);
    }

    mcp_upstream_session_set_step(req, MCP_UPSTREAM_STEP_CALL);
    mcp_upstream_wait_release(session, MCP_FAULT_NONE);
}


/* Continues a request when its cluster operation has ended. "text" is the text
 * of the session that another node has opened, empty if there is none. */
static void
mcp_upstream_cluster_result(mcp_upstream_session_t *session,
    mcp_operation_session_e what, mcp_str_t text)
{
    mcp_request_t  *req;

    req = session->req;
    mcp_upstream_cluster_detach(session);

    if (text.len && mcp_upstream_session_adopt(req, text)) {

        if (what == MCP_OPERATION_SESSION_GET) {
            mcp_upstream_cluster_fetched(req);
        }

    } else if (what == MCP_OPERATION_SESSION_PUT) {
        mcp_upstream_session_keep(req);

    } else if (what == MCP_OPERATION_SESSION_TAKE) {

        /* the client has no session at the MCP server: nothing to end */

        (void) mcp_call_finish_plain(req, mcp_str("{}"), MCP_OUTCOME_OK);
        mcp_call_set_timer(req->call);
        return;
    }

    mcp_upstream_wait_start(req, MCP_FAULT_NONE);
}


static void
mcp_upstream_cluster_done(void *data, int rc)
{
    mcp_str_t               text;
    mcp_call_t             *call;
    mcp_upstream_lookup_t  *lookup;

    lookup = data;

    if (lookup->session) {
        call = lookup->session->req->call;
        mcp_call_retain(call);

        text = (mcp_str_t) { lookup->found.text, lookup->found.len };

        if (rc != (lookup->what == MCP_OPERATION_SESSION_PUT ? MCP_ERR_EXISTS
                                                             : MCP_OK))
        {
            text = mcp_null_str;
        }

        mcp_upstream_cluster_result(lookup->session, lookup->what, text);
        mcp_call_release(call);
    }

    mcp_mem_free(&lookup->worker->env->mem, lookup);
}


/* Starts a cluster operation for the session of a request. Returns MCP_AGAIN if
 * the request has to wait. Returns MCP_OK if there is no operation to wait for,
 * because there is no cluster, Redis cannot be reached or there is no
 * memory. */
static int
mcp_upstream_cluster_start(mcp_request_t *req, mcp_operation_session_e what,
    mcp_str_t text)
{
    mcp_worker_t           *worker;
    mcp_operation_spec_t    spec;
    mcp_upstream_lookup_t  *lookup;

    worker = req->call->worker;

    if (worker->cluster == NULL) {
        return MCP_OK;
    }

    lookup = mcp_mem_calloc(&worker->env->mem, sizeof(mcp_upstream_lookup_t));
    if (lookup == NULL) {
        return MCP_OK;
    }

    lookup->worker = worker;
    lookup->what = what;

    mcp_upstream_cluster_spec(&spec, what, req->session->key, text);
    spec.session.found = &lookup->found;

    if (mcp_operation_send(worker, &spec, mcp_upstream_cluster_done, lookup)
        != MCP_AGAIN)
    {
        mcp_mem_free(&worker->env->mem, lookup);
        return MCP_OK;
    }

    lookup->session = req->session;
    req->session->lookup = lookup;
    req->session->wait_until = mcp_call_now(req->call) + MCP_OPERATION_TIME;

    return MCP_AGAIN;
}


int
mcp_upstream_cluster_find(mcp_request_t *req)
{
    if (req->session->looked_up) {
        return MCP_OK;
    }

    req->session->looked_up = 1;

    return mcp_upstream_cluster_start(req, MCP_OPERATION_SESSION_GET,
                                      mcp_null_str);
}


int
mcp_upstream_cluster_take(mcp_request_t *req)
{
    return mcp_upstream_cluster_start(req, MCP_OPERATION_SESSION_TAKE,
                                      mcp_null_str);
}


int
mcp_upstream_cluster_put(mcp_request_t *req)
{
    int                      rc;
    char                     text[MCP_STORE_TEXT_MAX];
    mcp_upstream_session_t  *session;

    session = req->session;

    if (!session->is_new) {
        return MCP_OK;
    }

    session->is_new = 0;

    rc = mcp_upstream_cluster_start(req, MCP_OPERATION_SESSION_PUT,
                                    mcp_upstream_session_text(session, text));

    if (rc == MCP_OK) {
        mcp_upstream_session_keep(req);
    }

    return rc;
}


int
mcp_upstream_cluster_timeout(mcp_request_t *req)
{
    if (req->session->lookup == NULL) {
        return 0;
    }

    mcp_call_log(req->call, MCP_LOG_WARN,
                 "continues with a session at the MCP server for this node "
                 "alone",
                 "Redis did not reply within 1 s");
    mcp_upstream_cluster_result(req->session, req->session->lookup->what,
                                mcp_null_str);

    return 1;
}

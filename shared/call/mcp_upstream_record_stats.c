/* SPDX-License-Identifier: Apache-2.0 */

#include "call/mcp_upstream_record_stats.h"

#include "call/mcp_upstream_session.h"
#include "worker/mcp_upstream_stats_find_row.h"


void
mcp_upstream_status_begin(mcp_request_t *req)
{
    if (req->upstream == MCP_STORE_UPSTREAM_NONE) {
        req->upstream = mcp_upstream_stats_find(req->call->worker,
                                                req->call->endpoint,
                                                req->target);
    }
}


/*
 * Stores a fault as the server's last error, and whether the server is up. A
 * server that has refused a request is up, because it has responded. So is a
 * server that has begun to respond and then timed out: one of its tools may be
 * slow.
 */
static void
mcp_upstream_status_failed(mcp_request_t *req, mcp_fault_e fault,
    const char *why)
{
    mcp_store_t        *store;
    mcp_upstream_up_e   up;

    up = MCP_UPSTREAM_UP;

    switch (fault) {

    case MCP_FAULT_BACKEND_FAILED:
    case MCP_FAULT_BACKEND_OUTPUT:
    case MCP_FAULT_UPSTREAM_STATUS:
        up = MCP_UPSTREAM_DOWN;
        break;

    case MCP_FAULT_BACKEND_TIMEOUT:
        up = req->responds ? MCP_UPSTREAM_UP : MCP_UPSTREAM_DOWN;
        break;

    case MCP_FAULT_BACKEND_TOO_LARGE:
    case MCP_FAULT_UPSTREAM_AUTH:
    case MCP_FAULT_UPSTREAM_HOST:
    case MCP_FAULT_UPSTREAM_VERSION:
    case MCP_FAULT_UPSTREAM_SESSION:
        break;

    default:

        /* stores nothing, because the fault is an error of this server and not
         * of the MCP server */

        return;
    }

    store = req->call->worker->store;
    mcp_store_upstream_up(store, req->upstream, up);
    mcp_store_upstream_failed(store, req->upstream, mcp_reason_of_fault(fault),
                              (mcp_str_t) { why, strlen(why) },
                              mcp_call_now(req->call));
}


void
mcp_upstream_status_message(mcp_request_t *req, const mcp_backend_msg_t *msg)
{
    if (msg->kind != MCP_BACKEND_FAULT) {
        mcp_store_upstream_up(req->call->worker->store, req->upstream,
                              MCP_UPSTREAM_UP);

    } else if (msg->detail) {
        mcp_upstream_status_failed(req, msg->fault, msg->detail);
    }
}


/* Returns 1 if the running backend request is initialize. */
static int
mcp_upstream_status_initializes(const mcp_request_t *req)
{
    return req->session ? req->session->step == MCP_UPSTREAM_STEP_OPEN
                        : req->method->id == MCP_METHOD_INITIALIZE;
}


void
mcp_upstream_status_timeout(mcp_request_t *req)
{
    if (mcp_upstream_status_initializes(req)) {
        mcp_upstream_status_initialized(req, 0);
    }

    mcp_upstream_status_failed(req, MCP_FAULT_BACKEND_TIMEOUT,
                               "the MCP server sent no response in time");
}


/* Returns a member of an object as text, empty if it is not a string. */
static mcp_str_t
mcp_upstream_status_text(mcp_request_t *req, const mcp_json_value_t *object,
    mcp_str_t name)
{
    mcp_str_t         text;
    mcp_json_value_t  value;

    value = mcp_json_get(object, name);

    return value.type == MCP_JSON_STRING
           && mcp_json_unescape(&req->call->arena, value.raw, &text) == MCP_OK
           ? text : mcp_null_str;
}


void
mcp_upstream_status_describe(mcp_request_t *req, mcp_str_t result,
    mcp_str_t version)
{
    mcp_store_t       *store;
    mcp_json_value_t   value, info;

    store = req->call->worker->store;
    value = (mcp_json_value_t) { MCP_JSON_OBJECT, result };
    info = (mcp_json_value_t) { MCP_JSON_OBJECT,
                                mcp_upstream_about_info(&value) };

    if (version.len) {
        mcp_store_upstream_revision(store, req->upstream,
                                    mcp_revision_find(version));
    }

    if (info.raw.len) {
        mcp_store_upstream_describe(store, req->upstream,
                                    mcp_upstream_status_text(req, &info,
                                                       mcp_str("name")),
                                    mcp_upstream_status_text(req, &info,
                                                       mcp_str("version")));
    }
}


void
mcp_upstream_status_form(mcp_request_t *req, mcp_upstream_e form,
    mcp_revision_e revision)
{
    mcp_store_upstream_form(req->call->worker->store, req->upstream, form);
    mcp_store_upstream_revision(req->call->worker->store, req->upstream,
                                revision);
}


void
mcp_upstream_status_initialized(mcp_request_t *req, int ok)
{
    mcp_store_upstream_initialized(req->call->worker->store, req->upstream, ok);
}

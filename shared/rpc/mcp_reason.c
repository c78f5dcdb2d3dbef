/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/mcp_reason.h"


/* docs/operations.md has a table with the same rows as this table;
 * mcp_reason_test.c compares them. */

#define mcp_reason_row(name, text, remedy)                                    \
    { mcp_str(name), mcp_str(text), mcp_str(remedy) }

static const mcp_reason_t  mcp_reasons[MCP_REASON_COUNT] = {

    [MCP_REASON_NONE] = mcp_reason_row("", "", ""),

    [MCP_REASON_TOOL_ERROR] = mcp_reason_row("tool_error",
        "The tool returned an error",
        "Read the tool's own log for this call"),
    [MCP_REASON_RPC_ERROR] = mcp_reason_row("rpc_error",
        "The backend answered with a JSON-RPC error",
        "Read the backend's log for this call"),
    [MCP_REASON_STATUS] = mcp_reason_row("backend_status",
        "The backend answered with an HTTP status of 400 or more",
        "Read the status in the error log, then check the backend's log, and "
        "the limits and access rules of the backend's location"),
    [MCP_REASON_BACKEND_FAILED] = mcp_reason_row("backend_failed",
        "The backend could not be reached, or closed the connection",
        "Check that the backend runs and listens at the configured address; "
        "the error log has the cause"),
    [MCP_REASON_BACKEND_TIMEOUT] = mcp_reason_row("backend_timeout",
        "The backend did not answer in time",
        "Find out why the backend is slow, or raise mcp_call_timeout and the "
        "timeouts of the backend's location"),
    [MCP_REASON_BACKEND_OUTPUT] = mcp_reason_row("backend_output",
        "The backend's response was malformed",
        "Read the reason in the error log; the backend must not write debug "
        "output to standard output"),
    [MCP_REASON_BACKEND_TOO_LARGE] = mcp_reason_row("backend_too_large",
        "The backend's response was too large",
        "Split the answer into pages, or raise mcp_max_message"),
    [MCP_REASON_NO_BACKEND] = mcp_reason_row("no_backend",
        "No backend is configured for the item",
        "Set mcp_route or mcp_backend for the item, or remove the item from "
        "the catalog"),
    [MCP_REASON_INPUT_TIMEOUT] = mcp_reason_row("input_timeout",
        "The client did not answer a request for input in time",
        "No action if the user was absent; otherwise raise mcp_input_timeout"),
    [MCP_REASON_CAPABILITY] = mcp_reason_row("capability",
        "The tool needs a capability that the client lacks",
        "Let the tool check MCP_CLIENT_CAPABILITIES before it requests input "
        "from the client"),
    [MCP_REASON_ZONE_FULL] = mcp_reason_row("zone_full", "The zone is full",
        "Enlarge the zone, or lower mcp_max_wait, mcp_linger or "
        "mcp_stream_buffer"),
    [MCP_REASON_QUOTA] = mcp_reason_row("quota",
        "The caller has too many streams, too many bytes in streams, too many "
        "stored values or, in Apache, too many threads",
        "Identify the caller. If the load is legitimate, raise the limit: "
        "mcp_quota_streams, mcp_quota_listeners, mcp_quota_bytes, "
        "mcp_quota_values, mcp_max_session_streams or MCPThreads"),
    [MCP_REASON_UNKNOWN] = mcp_reason_row("unknown",
        "The client requested an item that does not exist or that the caller "
        "may not use",
        "Check the catalog and mcp_allow. If the catalog has the item and "
        "mcp_allow permits it, the client's list is outdated"),
    [MCP_REASON_CANCELLED] = mcp_reason_row("cancelled",
        "The client cancelled the call",
        "No action. If it happens often, find out why the tool is slow"),
    [MCP_REASON_EXPIRED] = mcp_reason_row("expired",
        "No client resumed the call in time",
        "Raise mcp_max_wait, or find out why clients do not resume"),
    [MCP_REASON_LOST] = mcp_reason_row("lost",
        "The server process that ran the call ended",
        "Look for the cause in the error log. Clients can repeat the call"),
    [MCP_REASON_REQUEST] = mcp_reason_row("bad_request",
        "The client's request was invalid",
        "Report it to the author of the client. The error log at level info "
        "has the details"),
    [MCP_REASON_INTERNAL] = mcp_reason_row("internal", "An internal error "
                                                       "occurred in the "
                                                       "server",
        "Look for the cause in the error log, usually a lack of memory. If "
        "the log does not show the cause, report a bug"),
    [MCP_REASON_LEFT] = mcp_reason_row("left",
        "A client of revision 2026-07-28 closed its connection before the "
        "call ended, which cancels the call",
        "No action if the user cancelled. If connections break, set "
        "mcp_resume_stateless all, or let the client declare "
        "resumableRequests"),
    [MCP_REASON_UPSTREAM_AUTH] = mcp_reason_row("upstream_auth",
        "The MCP server behind this one refused the credentials of this "
        "server",
        "Set the Authorization header in the location of the backend, or "
        "renew the token in it"),
    [MCP_REASON_UPSTREAM_HOST] = mcp_reason_row("upstream_host",
        "The MCP server behind this one refused the header Host or Origin",
        "Set Host in the location of the backend to a name that the server "
        "accepts"),
    [MCP_REASON_UPSTREAM_VERSION] = mcp_reason_row("upstream_version",
        "The MCP server behind this one does not support the protocol version "
        "that mcp_upstream sets",
        "Set mcp_upstream to another value: auto, modern, stateless or "
        "session"),
    [MCP_REASON_UPSTREAM_SESSION] = mcp_reason_row("upstream_session",
        "The MCP server behind this one did not open a session, or rejected "
        "the session that it had just opened",
        "Read the log of that server. If it has several processes or nodes, "
        "send all requests of a session to the same one")
};


const mcp_reason_t *
mcp_reason(unsigned reason)
{
    return &mcp_reasons[reason < MCP_REASON_COUNT ? reason : MCP_REASON_NONE];
}


mcp_reason_e
mcp_reason_of_fault(mcp_fault_e fault)
{
    switch (fault) {

    case MCP_FAULT_NONE:
        return MCP_REASON_NONE;
    case MCP_FAULT_BACKEND_FAILED:
        return MCP_REASON_BACKEND_FAILED;
    case MCP_FAULT_BACKEND_TIMEOUT:
        return MCP_REASON_BACKEND_TIMEOUT;
    case MCP_FAULT_BACKEND_OUTPUT:
        return MCP_REASON_BACKEND_OUTPUT;
    case MCP_FAULT_BACKEND_TOO_LARGE:
        return MCP_REASON_BACKEND_TOO_LARGE;
    case MCP_FAULT_NO_BACKEND:
        return MCP_REASON_NO_BACKEND;
    case MCP_FAULT_UPSTREAM_STATUS:
        return MCP_REASON_STATUS;
    case MCP_FAULT_UPSTREAM_AUTH:
        return MCP_REASON_UPSTREAM_AUTH;
    case MCP_FAULT_UPSTREAM_HOST:
        return MCP_REASON_UPSTREAM_HOST;
    case MCP_FAULT_UPSTREAM_VERSION:
        return MCP_REASON_UPSTREAM_VERSION;
    case MCP_FAULT_UPSTREAM_SESSION:
        return MCP_REASON_UPSTREAM_SESSION;
    case MCP_FAULT_CAPABILITY:
        return MCP_REASON_CAPABILITY;
    case MCP_FAULT_STORE_FULL:
    case MCP_FAULT_CALL_FULL:
        return MCP_REASON_ZONE_FULL;
    case MCP_FAULT_TOO_MANY_STREAMS:
    case MCP_FAULT_TOO_MANY_VALUES:
    case MCP_FAULT_CALL_LIMIT:
        return MCP_REASON_QUOTA;
    case MCP_FAULT_TOOL_UNKNOWN:
    case MCP_FAULT_PROMPT_UNKNOWN:
    case MCP_FAULT_RESOURCE_UNKNOWN:
        return MCP_REASON_UNKNOWN;
    case MCP_FAULT_OWNER_DIED:
        return MCP_REASON_LOST;
    case MCP_FAULT_INTERNAL:
        return MCP_REASON_INTERNAL;
    default:
        return MCP_REASON_REQUEST;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/mcp_reason.h"


/* docs/operations.md has the same rows; mcp_reason_test.c compares them. */

static const mcp_reason_t  mcp_reasons[MCP_REASON_COUNT] = {

    [MCP_REASON_NONE] =
        { mcp_str(""), mcp_str(""), mcp_str("") },

    [MCP_REASON_TOOL_ERROR] =
        { mcp_str("tool_error"),
          mcp_str("The tool returned an error"),
          mcp_str("Read the tool's own log for this call") },
    [MCP_REASON_RPC_ERROR] =
        { mcp_str("rpc_error"),
          mcp_str("The backend answered with a JSON-RPC error"),
          mcp_str("Read the backend's log for this call") },
    [MCP_REASON_STATUS] =
        { mcp_str("backend_status"),
          mcp_str("The backend answered with an HTTP status of 400 or more"),
          mcp_str("Read the status in the error log, then check the backend's "
                  "log, and the limits and access rules of the backend's "
                  "location") },
    [MCP_REASON_BACKEND_FAILED] =
        { mcp_str("backend_failed"),
          mcp_str("The backend could not be reached, or closed the connection"),
          mcp_str("Check that the backend runs and listens at the configured "
                  "address; the error log has the cause") },
    [MCP_REASON_BACKEND_TIMEOUT] =
        { mcp_str("backend_timeout"),
          mcp_str("The backend did not answer in time"),
          mcp_str("Find out why the backend is slow, or raise "
                  "mcp_call_timeout and the timeouts of the backend's "
                  "location") },
    [MCP_REASON_BACKEND_OUTPUT] =
        { mcp_str("backend_output"),
          mcp_str("The backend's answer was malformed"),
          mcp_str("Read the reason in the error log; the backend must not "
                  "write debug output to standard output") },
    [MCP_REASON_BACKEND_TOO_LARGE] =
        { mcp_str("backend_too_large"),
          mcp_str("The backend's answer was too large"),
          mcp_str("Split the answer into pages, or raise mcp_max_message") },
    [MCP_REASON_NO_BACKEND] =
        { mcp_str("no_backend"),
          mcp_str("No backend is configured for the name"),
          mcp_str("Set mcp_route or mcp_backend for the name, or remove the "
                  "name from the catalog") },
    [MCP_REASON_INPUT_TIMEOUT] =
        { mcp_str("input_timeout"),
          mcp_str("The client did not answer a question in time"),
          mcp_str("No action if the user was absent; otherwise raise "
                  "mcp_input_timeout") },
    [MCP_REASON_CAPABILITY] =
        { mcp_str("capability"),
          mcp_str("The tool needs a capability that the client lacks"),
          mcp_str("Let the tool check MCP_CLIENT_CAPABILITIES before it asks "
                  "the client") },
    [MCP_REASON_ZONE_FULL] =
        { mcp_str("zone_full"),
          mcp_str("The zone is full"),
          mcp_str("Enlarge the zone, or lower mcp_max_wait, mcp_linger or "
                  "mcp_stream_buffer") },
    [MCP_REASON_QUOTA] =
        { mcp_str("quota"),
          mcp_str("The caller has too many streams, or too many bytes in them"),
          mcp_str("Identify the caller. If the load is legitimate, raise "
                  "mcp_quota_streams or mcp_quota_bytes") },
    [MCP_REASON_UNKNOWN] =
        { mcp_str("unknown"),
          mcp_str("The client asked for an item that does not exist or that it "
                  "may not use"),
          mcp_str("Check the catalog and mcp_allow; if both have the item, the "
                  "client's list is outdated") },
    [MCP_REASON_CANCELLED] =
        { mcp_str("cancelled"),
          mcp_str("The client cancelled the call"),
          mcp_str("No action, unless it happens often: then the tool is too "
                  "slow") },
    [MCP_REASON_EXPIRED] =
        { mcp_str("expired"),
          mcp_str("No client resumed the call in time"),
          mcp_str("Raise mcp_max_wait, or find out why clients do not "
                  "resume") },
    [MCP_REASON_LOST] =
        { mcp_str("lost"),
          mcp_str("The server process of the call ended"),
          mcp_str("Look for the cause in the error log; clients may call "
                  "again") },
    [MCP_REASON_REQUEST] =
        { mcp_str("bad_request"),
          mcp_str("The client's request was invalid"),
          mcp_str("Report it to the client's author; the error log at level "
                  "info has the details") },
    [MCP_REASON_INTERNAL] =
        { mcp_str("internal"),
          mcp_str("The server failed"),
          mcp_str("Look for the cause in the error log, usually a lack of "
                  "memory; if the log has none, report the error") },
    [MCP_REASON_LEFT] =
        { mcp_str("left"),
          mcp_str("The client of revision 2026-07-28 closed its connection "
                  "before the call ended, which cancels the call"),
          mcp_str("No action if the user cancelled. If connections break, set "
                  "mcp_resume_stateless all, or let the client declare "
                  "resumableRequests") }
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

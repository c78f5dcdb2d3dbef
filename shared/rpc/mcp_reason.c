/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/mcp_reason.h"


/* docs/operations.md has the same rows, as mcp_reason_test.c checks. */

static const mcp_reason_t  mcp_reasons[MCP_REASON_COUNT] = {

    [MCP_REASON_NONE] =
        { mcp_str(""), mcp_str(""), mcp_str("") },

    [MCP_REASON_TOOL_ERROR] =
        { mcp_str("tool_error"),
          mcp_str("The tool said that it failed"),
          mcp_str("Read the tool's own log for this call") },
    [MCP_REASON_RPC_ERROR] =
        { mcp_str("rpc_error"),
          mcp_str("The backend answered with a JSON-RPC error"),
          mcp_str("Read the backend's log for this call") },
    [MCP_REASON_STATUS] =
        { mcp_str("backend_status"),
          mcp_str("The backend answered with an HTTP status of 400 or more"),
          mcp_str("The error log names the status; look into the backend's "
                  "log, and at limits and access rules of its location") },
    [MCP_REASON_BACKEND_FAILED] =
        { mcp_str("backend_failed"),
          mcp_str("The backend could not be reached, or broke off"),
          mcp_str("See whether it runs and listens where the configuration "
                  "says; the error log says what happened") },
    [MCP_REASON_BACKEND_TIMEOUT] =
        { mcp_str("backend_timeout"),
          mcp_str("The backend did not answer in time"),
          mcp_str("Find out what it waits for, or raise mcp_call_timeout and "
                  "the timeouts of its location") },
    [MCP_REASON_BACKEND_OUTPUT] =
        { mcp_str("backend_output"),
          mcp_str("The backend answered something that is no answer"),
          mcp_str("The error log shows the place; debug output does not "
                  "belong on standard output") },
    [MCP_REASON_BACKEND_TOO_LARGE] =
        { mcp_str("backend_too_large"),
          mcp_str("The backend answered more than is allowed"),
          mcp_str("Have it answer in pages, or raise mcp_max_message") },
    [MCP_REASON_NO_BACKEND] =
        { mcp_str("no_backend"),
          mcp_str("No backend is configured for the name"),
          mcp_str("Add mcp_route or mcp_backend for it, or take it out of the "
                  "catalog") },
    [MCP_REASON_INPUT_TIMEOUT] =
        { mcp_str("input_timeout"),
          mcp_str("The client did not answer a question in time"),
          mcp_str("Nothing, if its user went away; else raise "
                  "mcp_input_timeout") },
    [MCP_REASON_CAPABILITY] =
        { mcp_str("capability"),
          mcp_str("The tool asked for what the client cannot do"),
          mcp_str("Have the tool look at MCP_CLIENT_CAPABILITIES first") },
    [MCP_REASON_ZONE_FULL] =
        { mcp_str("zone_full"),
          mcp_str("The zone has no room"),
          mcp_str("Make the zone larger, or keep less: mcp_max_wait, "
                  "mcp_linger, mcp_stream_buffer") },
    [MCP_REASON_QUOTA] =
        { mcp_str("quota"),
          mcp_str("The caller has too many streams, or too much in them"),
          mcp_str("See who it is; raise mcp_max_party_streams or "
                  "mcp_max_party_bytes if that is right") },
    [MCP_REASON_UNKNOWN] =
        { mcp_str("unknown"),
          mcp_str("The client asked for what is not there, or not for it"),
          mcp_str("See whether the catalog and the rules of access have it; "
                  "else the client's list is old") },
    [MCP_REASON_CANCELLED] =
        { mcp_str("cancelled"),
          mcp_str("The client cancelled the call, or left"),
          mcp_str("Nothing, unless many do: then the tool is too slow for "
                  "them") },
    [MCP_REASON_EXPIRED] =
        { mcp_str("expired"),
          mcp_str("Nobody came back for the call in time"),
          mcp_str("Raise mcp_max_wait, or see why clients do not resume") },
    [MCP_REASON_LOST] =
        { mcp_str("lost"),
          mcp_str("The server process of the call ended"),
          mcp_str("Find out from the error log why it did; clients may call "
                  "again") },
    [MCP_REASON_REQUEST] =
        { mcp_str("bad_request"),
          mcp_str("The client's request was wrong"),
          mcp_str("Have the client's author look; the error log at info has "
                  "the details") },
    [MCP_REASON_INTERNAL] =
        { mcp_str("internal"),
          mcp_str("The server failed"),
          mcp_str("The error log says why, most often memory; otherwise "
                  "report it") }
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

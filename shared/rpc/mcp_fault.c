/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The table of errors for clients. Other files decide when an error occurs,
 * and which process sends it.
 */


#include "rpc/mcp_fault.h"

#include "rpc/mcp_error.h"


/*
 * JSON-RPC leaves -32000 to -32099 to implementations; MCP assigns -32002, and
 * its SDKs use -32001 for an unknown session. All other errors that have an
 * HTTP status use -32000, because the status is more specific than a code.
 *
 * Revisions without sessions forbid -32000 to -32019 and reserve -32020 to
 * -32099 (2026-07-28, basic/index, "Error Codes"). There, the code of an error
 * with an HTTP status is -32600 if the request caused it, and -32603
 * otherwise.
 */
#define MCP_CODE_SERVER            -32000
#define MCP_CODE_SESSION           -32001
#define MCP_CODE_RESOURCE          -32002
#define MCP_CODE_CALL              -32004
#define MCP_CODE_HEADER            -32020
#define MCP_CODE_VERSION           -32022
#define MCP_CODE_INVALID_REQUEST   -32600
#define MCP_CODE_METHOD            -32601
#define MCP_CODE_PARAMS            -32602
#define MCP_CODE_PARSE             -32700

/*
 * error.data of a rejected resumption. The error has the id of the request
 * that the client wants to resume; without these data the client would take
 * the error for the response to that request.
 */
#define MCP_DATA_REFUSED           "{\"resume\":\"refused\"}"


/*
 * The texts contain no characters that JSON must escape. If an SDK has a text
 * for the error, the same text is used here, so that users find it with a
 * search.
 */

static const mcp_fault_t  mcp_faults[MCP_FAULT_COUNT] = {

    [MCP_FAULT_NONE] = { { 200, 0 }, { 200, 0 }, "" },

    [MCP_FAULT_METHOD_NOT_ALLOWED] =
        { { 405, MCP_CODE_SERVER }, { 405, MCP_CODE_INVALID_REQUEST },
          "Method not allowed" },
    [MCP_FAULT_NOT_ACCEPTABLE] =
        { { 406, MCP_CODE_SERVER }, { 406, MCP_CODE_INVALID_REQUEST },
          "Not Acceptable" },
    [MCP_FAULT_MEDIA_TYPE] =
        { { 415, MCP_CODE_SERVER }, { 415, MCP_CODE_INVALID_REQUEST },
          "Unsupported Media Type: Content-Type must be application/json" },
    [MCP_FAULT_BODY_TOO_LARGE] =
        { { 413, MCP_CODE_SERVER }, { 413, MCP_CODE_INVALID_REQUEST },
          "Request body too large" },
    [MCP_FAULT_ORIGIN] =
        { { 403, MCP_CODE_SERVER }, { 403, MCP_CODE_INVALID_REQUEST },
          "Forbidden: Origin not allowed" },
    [MCP_FAULT_REVISION] =
        { { 400, MCP_CODE_SERVER }, { 400, MCP_CODE_INVALID_REQUEST },
          "Bad Request: Unsupported protocol version" },
    [MCP_FAULT_SESSION_ABSENT] =
        { { 400, MCP_CODE_SERVER }, { 400, MCP_CODE_INVALID_REQUEST },
          "Bad Request: Mcp-Session-Id header is required" },
    [MCP_FAULT_SESSION_UNKNOWN] =
        { { 404, MCP_CODE_SESSION }, { 404, MCP_CODE_INVALID_REQUEST },
          "Session not found" },
    [MCP_FAULT_EVENT_ID_MALFORMED] =
        { { 400, MCP_CODE_SERVER }, { 400, MCP_CODE_INVALID_REQUEST },
          "Bad Request: Invalid event ID format" },
    [MCP_FAULT_EVENT_ID_UNKNOWN] =
        { { 404, MCP_CODE_SERVER }, { 404, MCP_CODE_INVALID_REQUEST },
          "Unknown event ID" },
    [MCP_FAULT_EVENT_PURGED] =
        { { 404, MCP_CODE_SERVER }, { 404, MCP_CODE_INVALID_REQUEST },
          "Events no longer available" },
    [MCP_FAULT_LINK] =
        { { 404, MCP_CODE_SERVER }, { 404, MCP_CODE_INVALID_REQUEST },
          "Unknown stream URL" },
    [MCP_FAULT_LINK_INPUT] =
        { { 400, MCP_CODE_INVALID_REQUEST }, { 400, MCP_CODE_INVALID_REQUEST },
          "Invalid Request: an array of responses to requests of this stream "
          "is expected" },
    [MCP_FAULT_LINK_ANSWERS] =
        { { 400, MCP_CODE_INVALID_REQUEST }, { 400, MCP_CODE_INVALID_REQUEST },
          "Invalid Request: more responses than the stream has open requests" },
    [MCP_FAULT_STORE_FULL] =
        { { 503, MCP_CODE_SERVER }, { 503, MCP_CODE_INTERNAL },
          "Server has no room for another stream" },
    [MCP_FAULT_CLUSTER_UNREACHABLE] =
        { { 503, MCP_CODE_SERVER }, { 503, MCP_CODE_INTERNAL },
          "The cluster cannot be reached now" },
    [MCP_FAULT_TOO_MANY_STREAMS] =
        { { 429, MCP_CODE_SERVER }, { 429, MCP_CODE_INTERNAL },
          "Too many streams, or too many bytes in them" },
    [MCP_FAULT_TOO_MANY_VALUES] =
        { { 429, MCP_CODE_SERVER }, { 429, MCP_CODE_INTERNAL },
          "Too many stored settings or used tokens" },
    [MCP_FAULT_CALL_EARLY] =
        { { 503, MCP_CODE_SERVER }, { 503, MCP_CODE_INTERNAL },
          "Call not detached yet" },
    [MCP_FAULT_CALL_UNKNOWN] =
        { { 404, MCP_CODE_CALL }, { 404, MCP_CODE_INVALID_REQUEST },
          "Call not found, over or expired" },
    [MCP_FAULT_FORBIDDEN] =
        { { 403, MCP_CODE_SERVER }, { 403, MCP_CODE_INVALID_REQUEST },
          "Forbidden" },
    [MCP_FAULT_SCOPE] =
        { { 403, MCP_CODE_SERVER }, { 403, MCP_CODE_INVALID_REQUEST },
          "Forbidden: this needs the scopes" },
    [MCP_FAULT_BAD_REQUEST] =
        { { 400, MCP_CODE_SERVER }, { 400, MCP_CODE_INVALID_REQUEST },
          "Bad Request" },

    /* faults that only revisions without sessions have */
    [MCP_FAULT_HEADER] =
        { { 400, MCP_CODE_HEADER }, { 400, MCP_CODE_HEADER },
          "Header mismatch" },
    [MCP_FAULT_CAPABILITY] =
        { { 400, MCP_CODE_CAPABILITY }, { 400, MCP_CODE_CAPABILITY },
          "Missing required client capability" },
    [MCP_FAULT_VERSION] =
        { { 400, MCP_CODE_VERSION }, { 400, MCP_CODE_VERSION },
          "Unsupported protocol version" },
    [MCP_FAULT_ENVELOPE] =
        { { 400, MCP_CODE_PARAMS }, { 400, MCP_CODE_PARAMS },
          "Invalid params" },
    [MCP_FAULT_ERA] =
        { { 400, MCP_CODE_INVALID_REQUEST }, { 400, MCP_CODE_INVALID_REQUEST },
          "Bad Request: this endpoint has no sessions, it serves" },

    /* faults of messages that were not understood: the HTTP status is an
     * error */
    [MCP_FAULT_PARSE] =
        { { 400, MCP_CODE_PARSE }, { 400, MCP_CODE_PARSE },
          "Parse error" },
    [MCP_FAULT_TOO_DEEP] =
        { { 400, MCP_CODE_PARSE }, { 400, MCP_CODE_PARSE },
          "Parse error: nested too deeply" },
    [MCP_FAULT_INVALID_REQUEST] =
        { { 400, MCP_CODE_INVALID_REQUEST }, { 400, MCP_CODE_INVALID_REQUEST },
          "Invalid Request" },
    [MCP_FAULT_BATCH] =
        { { 400, MCP_CODE_INVALID_REQUEST }, { 400, MCP_CODE_INVALID_REQUEST },
          "Invalid Request: batching is not supported" },
    [MCP_FAULT_BATCH_SIZE] =
        { { 400, MCP_CODE_INVALID_REQUEST }, { 400, MCP_CODE_INVALID_REQUEST },
          "Invalid Request: too many messages in the batch" },
    [MCP_FAULT_ID] =
        { { 400, MCP_CODE_INVALID_REQUEST }, { 400, MCP_CODE_INVALID_REQUEST },
          "Invalid Request: id must be a short string or an integer" },

    /* faults of requests that were understood: an error response with status
     * 200, except an unknown method in revisions without sessions, and an
     * internal error */
    [MCP_FAULT_METHOD_UNKNOWN] =
        { { 200, MCP_CODE_METHOD }, { 404, MCP_CODE_METHOD },
          "Method not found" },
    [MCP_FAULT_PARAMS] =
        { { 200, MCP_CODE_PARAMS }, { 200, MCP_CODE_PARAMS },
          "Invalid params" },
    [MCP_FAULT_TOOL_UNKNOWN] =
        { { 200, MCP_CODE_PARAMS }, { 200, MCP_CODE_PARAMS },
          "Unknown tool" },
    [MCP_FAULT_PROMPT_UNKNOWN] =
        { { 200, MCP_CODE_PARAMS }, { 200, MCP_CODE_PARAMS },
          "Unknown prompt" },
    [MCP_FAULT_RESOURCE_UNKNOWN] =
        { { 200, MCP_CODE_RESOURCE }, { 200, MCP_CODE_PARAMS },
          "Resource not found" },
    [MCP_FAULT_CURSOR] =
        { { 200, MCP_CODE_PARAMS }, { 200, MCP_CODE_PARAMS },
          "Invalid cursor" },
    [MCP_FAULT_LOG_LEVEL] =
        { { 200, MCP_CODE_PARAMS }, { 200, MCP_CODE_PARAMS },
          "Invalid log level" },
    [MCP_FAULT_REQUEST_STATE] =
        { { 200, MCP_CODE_PARAMS }, { 200, MCP_CODE_PARAMS },
          "Invalid or expired request state" },
    [MCP_FAULT_RESUME_TOKEN] =
        { { 200, MCP_CODE_PARAMS }, { 200, MCP_CODE_PARAMS },
          "Unknown or expired resume token" },
    [MCP_FAULT_RESUME_PURGED] =
        { { 200, MCP_CODE_PARAMS }, { 200, MCP_CODE_PARAMS },
          "Events no longer available" },
    [MCP_FAULT_RESUME_BATCH] =
        { { 200, MCP_CODE_INVALID_REQUEST }, { 200, MCP_CODE_INVALID_REQUEST },
          "Invalid Request: a stream in a batch" },
    [MCP_FAULT_TASK] =
        { { 200, MCP_CODE_PARAMS }, { 200, MCP_CODE_PARAMS },
          "Unknown or expired task" },

    [MCP_FAULT_BACKEND_FAILED] =
        { { 200, MCP_CODE_INTERNAL }, { 200, MCP_CODE_INTERNAL },
          "Backend failed" },
    [MCP_FAULT_BACKEND_TIMEOUT] =
        { { 200, MCP_CODE_INTERNAL }, { 200, MCP_CODE_INTERNAL },
          "Backend timed out" },
    [MCP_FAULT_BACKEND_OUTPUT] =
        { { 200, MCP_CODE_INTERNAL }, { 200, MCP_CODE_INTERNAL },
          "Backend sent an invalid response" },
    [MCP_FAULT_BACKEND_TOO_LARGE] =
        { { 200, MCP_CODE_INTERNAL }, { 200, MCP_CODE_INTERNAL },
          "Backend response too large" },
    [MCP_FAULT_NO_BACKEND] =
        { { 200, MCP_CODE_INTERNAL }, { 200, MCP_CODE_INTERNAL },
          "No backend configured" },
    [MCP_FAULT_CALL_FULL] =
        { { 200, MCP_CODE_INTERNAL }, { 200, MCP_CODE_INTERNAL },
          "Call ended after it had begun: there is no room for its stream" },
    [MCP_FAULT_CALL_LIMIT] =
        { { 200, MCP_CODE_INTERNAL }, { 200, MCP_CODE_INTERNAL },
          "Call ended after it had begun: its caller has too many streams, or "
          "too many bytes in them" },
    [MCP_FAULT_OWNER_DIED] =
        { { 200, MCP_CODE_INTERNAL }, { 200, MCP_CODE_INTERNAL },
          "Call lost, its server process ended" },
    [MCP_FAULT_JOINED] =
        { { 200, MCP_CODE_INTERNAL }, { 200, MCP_CODE_INTERNAL },
          "The call that was joined was cancelled, or is gone" },
    [MCP_FAULT_INTERNAL] =
        { { 500, MCP_CODE_INTERNAL }, { 500, MCP_CODE_INTERNAL },
          "Internal error" }
};


const mcp_fault_t *
mcp_fault(mcp_fault_e fault)
{
    if ((unsigned) fault >= MCP_FAULT_COUNT) {
        fault = MCP_FAULT_INTERNAL;
    }

    return &mcp_faults[fault];
}


const mcp_fault_code_t *
mcp_fault_code(mcp_fault_e fault, mcp_revision_e revision)
{
    const mcp_fault_t  *f;

    f = mcp_fault(fault);

    return mcp_revision(revision)->stateless ? &f->stateless : &f->session;
}


static mcp_str_t
mcp_fault_data(mcp_fault_e fault)
{
    switch (fault) {

    case MCP_FAULT_RESUME_TOKEN:
    case MCP_FAULT_RESUME_PURGED:
    case MCP_FAULT_RESUME_BATCH:
        return mcp_str(MCP_DATA_REFUSED);

    default:
        return mcp_null_str;
    }
}


void
mcp_fault_write(mcp_buf_t *buf, mcp_revision_e revision, mcp_str_t id,
    mcp_fault_e fault, mcp_str_t detail, mcp_str_t data)
{
    const mcp_fault_t  *f;

    f = mcp_fault(fault);

    mcp_buf_lit(buf, "{\"jsonrpc\":\"2.0\"");

    if (id.len > 0) {
        mcp_buf_lit(buf, ",\"id\":");
        mcp_buf_str(buf, id);
    }

    mcp_buf_lit(buf, ",\"error\":{\"code\":");
    mcp_buf_int(buf, mcp_fault_code(fault, revision)->code);
    mcp_buf_lit(buf, ",\"message\":\"");
    mcp_buf_add(buf, f->message, strlen(f->message));

    if (detail.len > 0) {
        mcp_buf_lit(buf, ": ");
        mcp_buf_escape(buf, detail);
    }

    mcp_buf_lit(buf, "\"");

    if (data.len == 0) {
        data = mcp_fault_data(fault);
    }

    if (data.len > 0) {
        mcp_buf_lit(buf, ",\"data\":");
        mcp_buf_str(buf, data);
    }

    mcp_buf_lit(buf, "}}");
}

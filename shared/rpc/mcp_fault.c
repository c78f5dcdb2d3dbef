/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The table of errors for clients, and errors of backends. Other files decide
 * when an error occurs, and which process sends it.
 */


#include "json/mcp_json_scan.h"
#include "rpc/mcp_fault.h"


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
 * The table of faults. The texts contain no characters that JSON must escape.
 * If an MCP SDK has a text for an error, the table has the same text, so that
 * users find it with a search.
 *
 * mcp_fault_always() is a row with the same status and code in all revisions.
 * mcp_fault_client() is a row for an error that the request has caused, and
 * mcp_fault_server() is a row for an error of the server.
 */

#define mcp_fault_always(status, code, text)                                  \
    { { status, code }, { status, code }, text }
#define mcp_fault_client(status, text)                                        \
    { { status, MCP_CODE_SERVER }, { status, MCP_CODE_INVALID_REQUEST }, text }
#define mcp_fault_server(status, text)                                        \
    { { status, MCP_CODE_SERVER }, { status, MCP_CODE_INTERNAL }, text }

static const mcp_fault_t  mcp_faults[MCP_FAULT_COUNT] = {

    [MCP_FAULT_NONE] = mcp_fault_always(200, 0, ""),

    [MCP_FAULT_METHOD_NOT_ALLOWED] =
        mcp_fault_client(405, "Method not allowed"),
    [MCP_FAULT_NOT_ACCEPTABLE] = mcp_fault_client(406, "Not Acceptable"),
    [MCP_FAULT_MEDIA_TYPE] = mcp_fault_client(415,
        "Unsupported Media Type: Content-Type must be application/json"),
    [MCP_FAULT_BODY_TOO_LARGE] =
        mcp_fault_client(413, "Request body too large"),
    [MCP_FAULT_ORIGIN] =
        mcp_fault_client(403, "Forbidden: Origin not allowed"),
    [MCP_FAULT_REVISION] =
        mcp_fault_client(400, "Bad Request: Unsupported protocol version"),
    [MCP_FAULT_SESSION_ABSENT] = mcp_fault_client(400,
        "Bad Request: Mcp-Session-Id header is required"),
    [MCP_FAULT_SESSION_UNKNOWN] =
        { { 404, MCP_CODE_SESSION }, { 404, MCP_CODE_INVALID_REQUEST },
          "Session not found" },
    [MCP_FAULT_EVENT_ID_MALFORMED] =
        mcp_fault_client(400, "Bad Request: Invalid event ID format"),
    [MCP_FAULT_EVENT_ID_UNKNOWN] = mcp_fault_client(404, "Unknown event ID"),
    [MCP_FAULT_EVENT_PURGED] =
        mcp_fault_client(404, "Events no longer available"),
    [MCP_FAULT_LINK] = mcp_fault_client(404, "Unknown stream URL"),
    [MCP_FAULT_LINK_INPUT] = mcp_fault_always(400, MCP_CODE_INVALID_REQUEST,
        "Invalid Request: the body must be an array of responses to requests "
        "of this stream"),
    [MCP_FAULT_LINK_ANSWERS] = mcp_fault_always(400, MCP_CODE_INVALID_REQUEST,
        "Invalid Request: more responses than the stream has open requests"),
    [MCP_FAULT_STORE_FULL] =
        mcp_fault_server(503, "Server has no room for another stream"),
    [MCP_FAULT_CLUSTER_UNREACHABLE] =
        mcp_fault_server(503, "The cluster cannot be reached now"),
    [MCP_FAULT_UPSTREAM_DOWN] = mcp_fault_server(503,
        "The MCP server behind this one does not respond now"),
    [MCP_FAULT_TOO_MANY_STREAMS] =
        mcp_fault_server(429, "Too many streams, or too many bytes in them"),
    [MCP_FAULT_TOO_MANY_VALUES] =
        mcp_fault_server(429, "Too many stored log levels or used resume "
                              "tokens"),
    [MCP_FAULT_CALL_EARLY] =
        mcp_fault_server(503, "Call cannot receive messages yet"),
    [MCP_FAULT_CALL_UNKNOWN] =
        { { 404, MCP_CODE_CALL }, { 404, MCP_CODE_INVALID_REQUEST },
          "Call not found, ended or expired" },
    [MCP_FAULT_FORBIDDEN] = mcp_fault_client(403, "Forbidden"),
    [MCP_FAULT_SCOPE] =
        mcp_fault_client(403, "Forbidden: the request needs the scopes"),
    [MCP_FAULT_BAD_REQUEST] = mcp_fault_client(400, "Bad Request"),

    /* faults that only revisions without sessions have */
    [MCP_FAULT_HEADER] =
        mcp_fault_always(400, MCP_CODE_HEADER, "Header mismatch"),
    [MCP_FAULT_CAPABILITY] = mcp_fault_always(400, MCP_CODE_CAPABILITY,
        "Missing required client capability"),
    [MCP_FAULT_VERSION] = mcp_fault_always(400, MCP_CODE_VERSION,
        "Unsupported protocol version"),
    [MCP_FAULT_ENVELOPE] =
        mcp_fault_always(400, MCP_CODE_PARAMS, "Invalid params"),
    [MCP_FAULT_ERA] = mcp_fault_always(400, MCP_CODE_INVALID_REQUEST,
        "Bad Request: this endpoint serves only revisions without sessions"),

    /* faults of messages that were not understood: the HTTP status is an
     * error */
    [MCP_FAULT_PARSE] = mcp_fault_always(400, MCP_CODE_PARSE, "Parse error"),
    [MCP_FAULT_TOO_DEEP] = mcp_fault_always(400, MCP_CODE_PARSE,
        "Parse error: nested too deeply"),
    [MCP_FAULT_INVALID_REQUEST] =
        mcp_fault_always(400, MCP_CODE_INVALID_REQUEST, "Invalid Request"),
    [MCP_FAULT_BATCH] = mcp_fault_always(400, MCP_CODE_INVALID_REQUEST,
        "Invalid Request: batching is not supported"),
    [MCP_FAULT_BATCH_SIZE] = mcp_fault_always(400, MCP_CODE_INVALID_REQUEST,
        "Invalid Request: too many messages in the batch"),
    [MCP_FAULT_ID] = mcp_fault_always(400, MCP_CODE_INVALID_REQUEST,
        "Invalid Request: id must be a short string or an integer"),

    /* faults of requests that were understood: an error response with status
     * 200, except an unknown method in revisions without sessions, and an
     * internal error */
    [MCP_FAULT_METHOD_UNKNOWN] =
        { { 200, MCP_CODE_METHOD }, { 404, MCP_CODE_METHOD },
          "Method not found" },
    [MCP_FAULT_PARAMS] =
        mcp_fault_always(200, MCP_CODE_PARAMS, "Invalid params"),
    [MCP_FAULT_TOOL_UNKNOWN] =
        mcp_fault_always(200, MCP_CODE_PARAMS, "Unknown tool"),
    [MCP_FAULT_PROMPT_UNKNOWN] =
        mcp_fault_always(200, MCP_CODE_PARAMS, "Unknown prompt"),
    [MCP_FAULT_RESOURCE_UNKNOWN] =
        { { 200, MCP_CODE_RESOURCE }, { 200, MCP_CODE_PARAMS },
          "Resource not found" },
    [MCP_FAULT_CURSOR] =
        mcp_fault_always(200, MCP_CODE_PARAMS, "Invalid cursor"),
    [MCP_FAULT_LOG_LEVEL] =
        mcp_fault_always(200, MCP_CODE_PARAMS, "Invalid log level"),
    [MCP_FAULT_REQUEST_STATE] = mcp_fault_always(200, MCP_CODE_PARAMS,
        "Invalid or expired request state"),
    [MCP_FAULT_RESUME_TOKEN] = mcp_fault_always(200, MCP_CODE_PARAMS,
        "Unknown or expired resume token"),
    [MCP_FAULT_RESUME_PURGED] =
        mcp_fault_always(200, MCP_CODE_PARAMS, "Events no longer available"),
    [MCP_FAULT_RESUME_BATCH] = mcp_fault_always(200, MCP_CODE_INVALID_REQUEST,
        "Invalid Request: a method that opens a stream is not allowed in a "
        "batch"),
    [MCP_FAULT_TASK] =
        mcp_fault_always(200, MCP_CODE_PARAMS, "Unknown or expired task"),
    [MCP_FAULT_BACKEND_FAILED] =
        mcp_fault_always(200, MCP_CODE_INTERNAL, "Backend failed"),
    [MCP_FAULT_BACKEND_TIMEOUT] =
        mcp_fault_always(200, MCP_CODE_INTERNAL, "Backend timed out"),
    [MCP_FAULT_BACKEND_OUTPUT] = mcp_fault_always(200, MCP_CODE_INTERNAL,
        "Backend sent an invalid response"),
    [MCP_FAULT_BACKEND_TOO_LARGE] =
        mcp_fault_always(200, MCP_CODE_INTERNAL, "Backend response too large"),
    [MCP_FAULT_NO_BACKEND] =
        mcp_fault_always(200, MCP_CODE_INTERNAL, "No backend configured"),
    [MCP_FAULT_UPSTREAM_STATUS] =
        mcp_fault_always(200, MCP_CODE_INTERNAL, "Upstream failed"),
    [MCP_FAULT_UPSTREAM_AUTH] = mcp_fault_always(200, MCP_CODE_INTERNAL,
        "Upstream refused the credentials of this server"),
    [MCP_FAULT_UPSTREAM_HOST] = mcp_fault_always(200, MCP_CODE_INTERNAL,
        "Upstream refused the Host or Origin of this server"),
    [MCP_FAULT_UPSTREAM_VERSION] = mcp_fault_always(200, MCP_CODE_INTERNAL,
        "Upstream does not support the protocol version"),
    [MCP_FAULT_UPSTREAM_SESSION] = mcp_fault_always(200, MCP_CODE_INTERNAL,
        "Upstream did not open a session"),
    [MCP_FAULT_CALL_FULL] = mcp_fault_always(200, MCP_CODE_INTERNAL,
        "Call ended early: the server has no room for its events"),
    [MCP_FAULT_CALL_LIMIT] = mcp_fault_always(200, MCP_CODE_INTERNAL,
        "Call ended early: the caller has too many streams, or too many bytes "
        "in them"),
    [MCP_FAULT_OWNER_DIED] = mcp_fault_always(200, MCP_CODE_INTERNAL,
        "Call lost: its server process ended"),
    [MCP_FAULT_JOINED] = mcp_fault_always(200, MCP_CODE_INTERNAL,
        "The joined call was cancelled or no longer exists"),
    [MCP_FAULT_INTERNAL] =
        mcp_fault_always(500, MCP_CODE_INTERNAL, "Internal error")
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


/* --- errors of backends --- */


int64_t
mcp_error_code(const mcp_json_value_t *error)
{
    int        negative;
    uint64_t   n;
    mcp_str_t  raw;

    raw = mcp_json_get(error, mcp_str("code")).raw;
    negative = raw.len > 0 && raw.data[0] == '-';
    raw.data += negative;
    raw.len -= (size_t) negative;

    if (mcp_str_uint(raw, &n) != MCP_OK || n > INT32_MAX) {
        return 0;
    }

    return negative ? -(int64_t) n : (int64_t) n;
}


/* Returns the code that a client without a session gets for the code of a
 * backend's error. Its revision reserves -32000 to -32099 for MCP, so only
 * MCP_CODE_CAPABILITY remains in this range. */
static int64_t
mcp_error_allowed(int64_t code)
{
    if (code == MCP_CODE_RESOURCE) {
        return MCP_CODE_PARAMS;
    }

    if (code == MCP_CODE_CAPABILITY || code > -32000 || code < -32099) {
        return code;
    }

    return MCP_CODE_INTERNAL;
}


static void
mcp_error_members(mcp_buf_t *out, mcp_str_t error, int64_t code,
    mcp_str_t uri)
{
    int               data;
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    data = 0;

    mcp_buf_lit(out, "{\"code\":");
    mcp_buf_int(out, code);

    mcp_json_iter_init(&iter, error);

    while (mcp_json_iter_next(&iter, &key, &value)) {
        if (mcp_json_str_eq(key, mcp_str("code"))) {
            continue;
        }

        data |= mcp_json_str_eq(key, mcp_str("data"));

        mcp_json_add_key(out, key);
        mcp_buf_str(out, value.raw);
    }

    if (uri.len && !data) {
        mcp_buf_lit(out, ",\"data\":{\"uri\":");
        mcp_buf_json(out, uri);
        mcp_buf_lit(out, "}");
    }

    mcp_buf_lit(out, "}");
}


int64_t
mcp_error_write(mcp_buf_t *out, mcp_revision_e revision, mcp_str_t id,
    mcp_str_t error, mcp_str_t uri)
{
    int64_t           code, allowed;
    mcp_json_value_t  value;

    value.type = MCP_JSON_OBJECT;
    value.raw = error;

    code = mcp_error_code(&value);
    allowed = mcp_revision(revision)->stateless ? mcp_error_allowed(code)
                                                : code;

    mcp_buf_lit(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    mcp_buf_str(out, id);
    mcp_buf_lit(out, ",\"error\":");

    if (allowed == code) {
        mcp_buf_str(out, error);

    } else {
        mcp_error_members(out, error, allowed,
                          code == MCP_CODE_RESOURCE ? uri : mcp_null_str);
    }

    mcp_buf_lit(out, "}");

    return allowed;
}


/* --- classes of errors --- */

/* The codes of JSON-RPC 2.0, of all revisions of MCP, and of this server. The
 * zone contains positions in this table, so new codes are added at the end. */
static const struct {
    int        code;
    mcp_str_t  name;
} mcp_error_types[] = {
    { -32700, mcp_str("-32700") },
    { -32600, mcp_str("-32600") },
    { -32601, mcp_str("-32601") },
    { -32602, mcp_str("-32602") },
    { -32603, mcp_str("-32603") },
    { -32000, mcp_str("-32000") },
    { -32001, mcp_str("-32001") },
    { -32002, mcp_str("-32002") },
    { -32004, mcp_str("-32004") },
    { -32020, mcp_str("-32020") },
    { -32021, mcp_str("-32021") },
    { -32022, mcp_str("-32022") },
    { -32042, mcp_str("-32042") }
};

#define MCP_ERROR_TYPE_ROWS                                                   \
    (sizeof(mcp_error_types) / sizeof(mcp_error_types[0]))

_Static_assert(MCP_ERROR_TYPE_CODES + MCP_ERROR_TYPE_ROWS
                   <= MCP_ERROR_TYPE_COUNT,
               "number of error types");


mcp_error_type_e
mcp_error_type_of_code(int64_t code)
{
    unsigned  i;

    if (code == 0) {
        return MCP_ERROR_TYPE_NONE;
    }

    for (i = 0; i < MCP_ERROR_TYPE_ROWS; i++) {
        if (mcp_error_types[i].code == code) {
            return (mcp_error_type_e) (MCP_ERROR_TYPE_CODES + i);
        }
    }

    return MCP_ERROR_TYPE_OTHER;
}


mcp_str_t
mcp_error_type_name(unsigned type)
{
    static const mcp_str_t  names[MCP_ERROR_TYPE_CODES] = {
        [MCP_ERROR_TYPE_NONE] = mcp_str(""),
        [MCP_ERROR_TYPE_OTHER] = mcp_str("_OTHER"),
        [MCP_ERROR_TYPE_TOOL] = mcp_str("tool_error"),
        [MCP_ERROR_TYPE_CANCELLED] = mcp_str("cancelled"),
        [MCP_ERROR_TYPE_EXPIRED] = mcp_str("expired")
    };

    if (type < MCP_ERROR_TYPE_CODES) {
        return names[type];
    }

    type -= MCP_ERROR_TYPE_CODES;

    return type < MCP_ERROR_TYPE_ROWS ? mcp_error_types[type].name
                                      : mcp_null_str;
}


/* --- reasons for the operator --- */

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

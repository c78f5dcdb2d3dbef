/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Decodes one message: a response or a notification in its JSON-RPC envelope,
 * or a bare result.  A malformed message becomes a fault.
 */


#include "backend/mcp_backend_internal.h"
#include "rpc/mcp_request_id.h"


static const char *const  mcp_backend_problems[] = {
    [MCP_JSON_BAD_SYNTAX] = "broken JSON",
    [MCP_JSON_BAD_DEPTH] = "the JSON is nested deeper than mcp_max_depth",
    [MCP_JSON_BAD_DUPLICATE] = "the JSON has an object with a duplicate key",
};


/*
 * Indexes of the fields of a message that the decoder reads. A bare result has
 * its members at the root (MCP_BACKEND_F_BARE), a result in an envelope has
 * them in "result" (MCP_BACKEND_F_WRAPPED).
 */
enum {
    MCP_BACKEND_F_JSONRPC = 0,
    MCP_BACKEND_F_ID,
    MCP_BACKEND_F_METHOD,
    MCP_BACKEND_F_PARAMS,
    MCP_BACKEND_F_RESULT,
    MCP_BACKEND_F_ERROR,
    MCP_BACKEND_F_BARE,
    MCP_BACKEND_F_WRAPPED = MCP_BACKEND_F_BARE + MCP_BACKEND_R_COUNT,
    MCP_BACKEND_F_PROGRESS_TOKEN = MCP_BACKEND_F_WRAPPED + MCP_BACKEND_R_COUNT,
    MCP_BACKEND_F_LEVEL,
    MCP_BACKEND_F_URI,
    MCP_BACKEND_F_CODE,
    MCP_BACKEND_F_MESSAGE,
    MCP_BACKEND_F_COUNT
};


static const mcp_json_field_t  mcp_backend_fields[MCP_BACKEND_F_COUNT] = {
    mcp_json_field(MCP_JSON_ROOT, "jsonrpc"),
    mcp_json_field(MCP_JSON_ROOT, "id"),
    mcp_json_field(MCP_JSON_ROOT, "method"),
    mcp_json_object(MCP_JSON_ROOT, "params", MCP_BACKEND_F_PROGRESS_TOKEN),
    mcp_json_object(MCP_JSON_ROOT, "result", MCP_BACKEND_F_WRAPPED),
    mcp_json_object(MCP_JSON_ROOT, "error", MCP_BACKEND_F_CODE),
    mcp_json_field(MCP_JSON_ROOT, "content"),
    mcp_json_field(MCP_JSON_ROOT, "resultType"),
    mcp_json_field(MCP_JSON_ROOT, "inputRequests"),
    mcp_json_field(MCP_JSON_ROOT, "requestState"),
    mcp_json_field(MCP_JSON_ROOT, "isError"),
    mcp_json_field(MCP_JSON_ROOT, "structuredContent"),
    mcp_json_field(MCP_JSON_ROOT, "nextResumeToken"),
    mcp_json_object(MCP_JSON_ROOT, "_meta",
                    MCP_BACKEND_F_BARE + MCP_BACKEND_R_META_NEXT),
    mcp_json_field(MCP_BACKEND_F_BARE + MCP_BACKEND_R_META,
                   "nextResumeToken"),
    mcp_json_field(MCP_BACKEND_F_RESULT, "content"),
    mcp_json_field(MCP_BACKEND_F_RESULT, "resultType"),
    mcp_json_field(MCP_BACKEND_F_RESULT, "inputRequests"),
    mcp_json_field(MCP_BACKEND_F_RESULT, "requestState"),
    mcp_json_field(MCP_BACKEND_F_RESULT, "isError"),
    mcp_json_field(MCP_BACKEND_F_RESULT, "structuredContent"),
    mcp_json_field(MCP_BACKEND_F_RESULT, "nextResumeToken"),
    mcp_json_object(MCP_BACKEND_F_RESULT, "_meta",
                    MCP_BACKEND_F_WRAPPED + MCP_BACKEND_R_META_NEXT),
    mcp_json_field(MCP_BACKEND_F_WRAPPED + MCP_BACKEND_R_META,
                   "nextResumeToken"),
    mcp_json_field(MCP_BACKEND_F_PARAMS, "progressToken"),
    mcp_json_field(MCP_BACKEND_F_PARAMS, "level"),
    mcp_json_field(MCP_BACKEND_F_PARAMS, "uri"),
    mcp_json_field(MCP_BACKEND_F_ERROR, "code"),
    mcp_json_field(MCP_BACKEND_F_ERROR, "message")
};


/*
 * The number of bytes of invalid JSON that are logged, and the number of
 * logged bytes before the first invalid byte.
 */
#define MCP_BACKEND_NEAR    60
#define MCP_BACKEND_BEFORE  20


static void mcp_backend_near(mcp_str_t text, size_t at,
    mcp_backend_msg_t *msg);
static int mcp_backend_envelope(mcp_backend_t *b, mcp_json_value_t root,
    const mcp_json_value_t *v, int stream, mcp_backend_msg_t *msg);
static const char *mcp_backend_envelope_problem(const mcp_backend_t *b,
    const mcp_json_value_t *v, int stream);
static int mcp_backend_is_foreign(const mcp_backend_t *b,
    const mcp_json_value_t *v);
static void mcp_backend_foreign(mcp_backend_t *b, mcp_str_t id, int stream,
    mcp_backend_msg_t *msg);
static int mcp_backend_notification(mcp_backend_t *b, mcp_json_value_t root,
    const mcp_json_value_t *v, mcp_backend_msg_t *msg);
static const char *mcp_backend_notification_problem(const mcp_backend_t *b,
    const mcp_json_value_t *v);
static void mcp_backend_error(const mcp_backend_t *b,
    mcp_json_value_t root, const mcp_json_value_t *v, mcp_backend_msg_t *msg);
static int mcp_backend_server_refuses(const mcp_backend_t *b,
    mcp_json_value_t root, const mcp_json_value_t *v, mcp_backend_msg_t *msg);
static int mcp_backend_result(mcp_backend_t *b, const mcp_json_value_t *result,
    const mcp_json_value_t *r, mcp_backend_msg_t *msg);
static void mcp_backend_input(const mcp_json_value_t *r,
    mcp_backend_msg_t *msg);
static int mcp_backend_is_requests(mcp_json_value_t requests, int *empty);


int
mcp_backend_message(mcp_backend_t *b, mcp_str_t text, mcp_backend_msg_t *msg)
{
    int        rc, status;
    mcp_str_t  id;

    memset(msg, 0, sizeof(mcp_backend_msg_t));
    mcp_arena_reset(&b->scratch);

    if (text.len > b->max) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_TOO_LARGE,
                          "a message is larger than mcp_max_message");
        return MCP_OK;
    }

    /* copies text, because the message may be used after text was freed */

    rc = mcp_backend_copy(b, text);
    if (rc != MCP_OK) {
        return rc;
    }

    text.data = b->out.data;

    /* the HTTP status of the backend's response does not concern a published
     * message, which may have any id */

    status = b->status;
    id = b->id;
    b->status = 0;
    b->id = mcp_null_str;

    rc = mcp_backend_decode(b, text, b->out.data, 1, msg);

    b->status = status;
    b->id = id;

    return rc == MCP_ERR_MEMORY ? rc : MCP_OK;
}


int
mcp_backend_copy(mcp_backend_t *b, mcp_str_t text)
{
    b->out.len = 0;

    if (mcp_buf_reserve(&b->out, text.len + 1) == NULL) {
        return MCP_ERR_MEMORY;
    }

    mcp_buf_str(&b->out, text);

    return MCP_OK;
}


/* Stores in msg the position of invalid JSON, and the text around it for the
 * log. */

static void
mcp_backend_near(mcp_str_t text, size_t at, mcp_backend_msg_t *msg)
{
    size_t  start;

    start = at > MCP_BACKEND_BEFORE ? at - MCP_BACKEND_BEFORE : 0;

    msg->at = at;
    msg->near.data = text.data + start;
    msg->near.len = text.len - start < MCP_BACKEND_NEAR ? text.len - start
                                                        : MCP_BACKEND_NEAR;
}


int
mcp_backend_decode(mcp_backend_t *b, mcp_str_t text, char *writable,
    int stream, mcp_backend_msg_t *msg)
{
    int               rc;
    mcp_json_error_t  error;
    mcp_json_value_t  root, v[MCP_BACKEND_F_COUNT];

    rc = mcp_json_scan(&b->scratch, text, b->max_depth, mcp_backend_fields,
                       MCP_BACKEND_F_COUNT, &root, v, &error);
    if (rc == MCP_ERR_MEMORY) {
        return rc;
    }

    if (rc != MCP_OK) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          mcp_backend_problems[error.problem]);

        if (error.problem == MCP_JSON_BAD_SYNTAX) {
            mcp_backend_near(text, error.offset, msg);
        }

        return MCP_ERR_SYNTAX;
    }

    if (root.type != MCP_JSON_OBJECT) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          "the message is not a JSON object");
        return MCP_ERR_SYNTAX;
    }

    /* the text is valid JSON, so all CR and LF in it are white space and can
     * be overwritten */

    if (writable) {
        mcp_json_one_line(writable, text.len);
    }

    return mcp_backend_envelope(b, root, v, stream, msg);
}


static int
mcp_backend_envelope(mcp_backend_t *b, mcp_json_value_t root,
    const mcp_json_value_t *v, int stream, mcp_backend_msg_t *msg)
{
    const char  *problem;

    problem = mcp_backend_envelope_problem(b, v, stream);

    if (problem) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT, problem);
        return MCP_OK;
    }

    if (v[MCP_BACKEND_F_JSONRPC].type == MCP_JSON_NONE) {
        return mcp_backend_result(b, &root, &v[MCP_BACKEND_F_BARE], msg);
    }

    if (v[MCP_BACKEND_F_METHOD].type != MCP_JSON_NONE) {
        return mcp_backend_notification(b, root, v, msg);
    }

    if (mcp_backend_is_foreign(b, v)) {
        mcp_backend_foreign(b, v[MCP_BACKEND_F_ID].raw, stream, msg);
        return MCP_OK;
    }

    if (v[MCP_BACKEND_F_ERROR].type != MCP_JSON_NONE) {
        mcp_backend_error(b, root, v, msg);
        return MCP_OK;
    }

    return mcp_backend_result(b, &v[MCP_BACKEND_F_RESULT],
                              &v[MCP_BACKEND_F_WRAPPED], msg);
}


/* Returns the reason why the envelope is invalid, or NULL. */

static const char *
mcp_backend_envelope_problem(const mcp_backend_t *b, const mcp_json_value_t *v,
    int stream)
{
    int  method, result, error;

    method = v[MCP_BACKEND_F_METHOD].type != MCP_JSON_NONE;
    result = v[MCP_BACKEND_F_RESULT].type != MCP_JSON_NONE;
    error = v[MCP_BACKEND_F_ERROR].type != MCP_JSON_NONE;

    if (v[MCP_BACKEND_F_JSONRPC].type == MCP_JSON_NONE) {

        /* without "jsonrpc", a body is a bare result, which may have a member
         * "method". In a stream, a message with a method is a notification or a
         * request, which needs an envelope */

        return (stream && method) || b->is_server
               ? "the message has no \"jsonrpc\"" : NULL;
    }

    if (!mcp_str_eq(v[MCP_BACKEND_F_JSONRPC].raw, mcp_str("\"2.0\""))) {
        return "\"jsonrpc\" is not \"2.0\"";
    }

    if (method + result + error != 1) {
        return "the message must have exactly one of \"method\", \"result\" "
               "and \"error\"";
    }

    if (method && !stream) {
        return "the message has a \"method\", so it is not a response";
    }

    return NULL;
}


/* Returns 1 if the raw id of a response is the id of the request as a string.
 * Some servers store ids as strings. The official clients accept that. */

static int
mcp_backend_is_quoted(mcp_str_t raw, mcp_str_t id)
{
    return raw.len == id.len + 2 && raw.data[0] == '"'
           && memcmp(raw.data + 1, id.data, id.len) == 0;
}


/* Returns 1 if a response is not the response to the request of the decoder,
 * see mcp_backend_set_id(). */

static int
mcp_backend_is_foreign(const mcp_backend_t *b, const mcp_json_value_t *v)
{
    mcp_json_value_t  id;

    if (b->status >= 400) {
        return 0;
    }

    if (b->no_response || b->id.len == 0) {
        return b->no_response;
    }

    id = v[MCP_BACKEND_F_ID];

    if (v[MCP_BACKEND_F_ERROR].type != MCP_JSON_NONE
        && (id.type == MCP_JSON_NONE || id.type == MCP_JSON_NULL))
    {
        return 0;
    }

    return !mcp_id_same(b->mem, id.raw, b->id)
           && !mcp_backend_is_quoted(id.raw, b->id);
}


/* Sets msg for a response to another request: in a stream to a message that is
 * ignored, otherwise to a fault. */

static void
mcp_backend_foreign(mcp_backend_t *b, mcp_str_t id, int stream,
    mcp_backend_msg_t *msg)
{
    mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                      "the \"id\" of the response differs from the \"id\" of "
                      "the request");

    msg->foreign = id;
    msg->expected = b->id;

    if (stream) {
        b->foreign = b->id.len != 0;
        msg->kind = MCP_BACKEND_NOTIFICATION;
        msg->fault = MCP_FAULT_NONE;
        msg->ignored = 1;
    }
}


static int
mcp_backend_notification(mcp_backend_t *b, mcp_json_value_t root,
    const mcp_json_value_t *v, mcp_backend_msg_t *msg)
{
    const char  *problem;

    if (b->is_server && !b->questions
        && v[MCP_BACKEND_F_ID].type != MCP_JSON_NONE
        && mcp_json_str_eq(v[MCP_BACKEND_F_METHOD].raw, mcp_str("ping")))
    {
        msg->kind = MCP_BACKEND_NOTIFICATION;
        msg->ignored = 1;
        return MCP_OK;
    }

    problem = mcp_backend_notification_problem(b, v);

    if (problem) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT, problem);
        return MCP_OK;
    }

    msg->kind = MCP_BACKEND_NOTIFICATION;
    msg->body = root.raw;

    if (v[MCP_BACKEND_F_ID].type != MCP_JSON_NONE) {
        msg->kind = MCP_BACKEND_REQUEST;
        msg->id = v[MCP_BACKEND_F_ID];
        msg->params = v[MCP_BACKEND_F_PARAMS];
    }

    if (mcp_json_unescape(&b->scratch, v[MCP_BACKEND_F_METHOD].raw,
                          &msg->method)
        != MCP_OK)
    {
        return MCP_ERR_MEMORY;
    }

    if (msg->kind == MCP_BACKEND_REQUEST) {
        return MCP_OK;
    }

    if (mcp_str_eq(msg->method, mcp_str("notifications/progress"))) {
        msg->progress_token = v[MCP_BACKEND_F_PROGRESS_TOKEN];

    } else if (mcp_str_eq(msg->method, mcp_str("notifications/message"))) {
        msg->level = v[MCP_BACKEND_F_LEVEL];

    } else if (mcp_str_eq(msg->method,
                          mcp_str("notifications/resources/updated")))
    {
        msg->uri = v[MCP_BACKEND_F_URI];
    }

    return MCP_OK;
}


/* Returns the reason why a notification or a request is invalid, or NULL. */

static const char *
mcp_backend_notification_problem(const mcp_backend_t *b,
    const mcp_json_value_t *v)
{
    if (b->questions && v[MCP_BACKEND_F_ID].type != MCP_JSON_NONE
        && v[MCP_BACKEND_F_ID].type != MCP_JSON_STRING
        && v[MCP_BACKEND_F_ID].type != MCP_JSON_NUMBER)
    {
        return "the \"id\" of a request to the client is neither a string nor "
               "a number";
    }

    if (v[MCP_BACKEND_F_ID].type != MCP_JSON_NONE && !b->questions) {
        return b->is_server
               ? "the message is a request to the client, which is allowed "
                 "only to an MCP server with sessions"
               : "the message has an \"id\", so it is a request to the "
                 "client, which is not allowed: return a result with "
                 "\"resultType\": \"input_required\" instead";
    }

    if (v[MCP_BACKEND_F_METHOD].type != MCP_JSON_STRING
        || v[MCP_BACKEND_F_METHOD].raw.len <= 2)
    {
        return "\"method\" is empty or not a string";
    }

    if (v[MCP_BACKEND_F_PARAMS].type != MCP_JSON_NONE
        && v[MCP_BACKEND_F_PARAMS].type != MCP_JSON_OBJECT)
    {
        return "\"params\" is not an object";
    }

    return NULL;
}


/* Returns 1 if text contains "end" at the end of a word. */

static int
mcp_backend_has_word(mcp_str_t text, mcp_str_t end)
{
    char    c;
    size_t  i;

    for (i = 0; i + end.len <= text.len; i++) {
        if (memcmp(text.data + i, end.data, end.len) != 0) {
            continue;
        }

        c = i + end.len < text.len ? text.data[i + end.len] : ' ';

        if (c != '_' && !((c | 0x20) >= 'a' && (c | 0x20) <= 'z')) {
            return 1;
        }
    }

    return 0;
}


/*
 * Returns 1 if the JSON-RPC error of an MCP server reports that it does not
 * know the session of the request. The status of this error should be 404
 * (2025-11-25, basic/transports, "Session Management"). TypeScript SDK 1.x
 * responds with 400 and the codes -32000 or -32001, PHP's SDK with -32600,
 * WordPress with -32005. The same codes count with 401.
 * mcp_backend_server_error() handles a 404 without a JSON-RPC error.
 */

static int
mcp_backend_lacks_session(const mcp_backend_t *b, const mcp_json_value_t *v)
{
    size_t     i;
    mcp_str_t  code, text;

    static const mcp_str_t  codes[] = {
        mcp_str("-32000"), mcp_str("-32001"), mcp_str("-32005"),
        mcp_str("-32600")
    };

    if (b->status != 400 && b->status != 401 && b->status != 404) {
        return 0;
    }

    code = v[MCP_BACKEND_F_CODE].raw;
    text = v[MCP_BACKEND_F_MESSAGE].raw;

    for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (mcp_str_eq(code, codes[i])) {
            return b->status == 404
                   || mcp_backend_has_word(text, mcp_str("ession"))
                   || mcp_str_find(text, mcp_str("not initialized"));
        }
    }

    return 0;
}


/*
 * Handles the JSON-RPC error of an MCP server. If the MCP server has refused
 * the credentials, the protocol version or a header of the request, sets msg to
 * a fault and returns 1: nginx or Apache has caused this error, not the client.
 * Returns 0 for any other error, and sets msg->capability if the client lacks a
 * capability.
 */

static int
mcp_backend_server_refuses(const mcp_backend_t *b, mcp_json_value_t root,
    const mcp_json_value_t *v, mcp_backend_msg_t *msg)
{
    mcp_str_t  code, message;

    code = v[MCP_BACKEND_F_CODE].raw;
    message = v[MCP_BACKEND_F_MESSAGE].raw;

    if (b->status == 401 || b->status == 403) {
        mcp_backend_server_error(b, root.raw, msg);
        return 1;
    }

    /* an unsupported protocol version, which TypeScript SDK 1.x reports as
     * -32000 */

    if (mcp_str_eq(code, mcp_str("-32022"))
        || (b->status == 400 && mcp_str_eq(code, mcp_str("-32000"))
            && mcp_str_find(message, mcp_str("protocol version"))))
    {
        mcp_backend_fault(msg, MCP_FAULT_UPSTREAM_VERSION,
                          "the MCP server does not support the protocol "
                          "version that mcp_upstream sets");
        return 1;
    }

    if (mcp_str_eq(code, mcp_str("-32020"))) {
        mcp_backend_fault(msg, MCP_FAULT_UPSTREAM_STATUS,
                          "the MCP server rejected the request because a "
                          "header differs from the body");
        msg->header = 1;
        msg->body = v[MCP_BACKEND_F_ERROR].raw;
        return 1;
    }

    msg->capability = mcp_str_eq(code, mcp_str("-32021")) != 0;

    return 0;
}


static void
mcp_backend_error(const mcp_backend_t *b, mcp_json_value_t root,
    const mcp_json_value_t *v, mcp_backend_msg_t *msg)
{
    size_t            i;
    mcp_json_value_t  code;

    code = v[MCP_BACKEND_F_CODE];

    if (v[MCP_BACKEND_F_ERROR].type != MCP_JSON_OBJECT
        || v[MCP_BACKEND_F_MESSAGE].type != MCP_JSON_STRING
        || code.type != MCP_JSON_NUMBER)
    {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          "\"error\" is not an object with a number \"code\" "
                          "and a string \"message\"");
        return;
    }

    for (i = 0; i < code.raw.len; i++) {
        if (code.raw.data[i] != '-'
            && (code.raw.data[i] < '0' || code.raw.data[i] > '9'))
        {
            mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                              "\"code\" of \"error\" is not an integer");
            return;
        }
    }

    if (b->is_server && mcp_backend_server_refuses(b, root, v, msg)) {
        msg->no_session = mcp_backend_lacks_session(b, v) != 0;
        return;
    }

    msg->kind = MCP_BACKEND_ERROR;
    msg->body = v[MCP_BACKEND_F_ERROR].raw;
    msg->no_session = b->is_server && mcp_backend_lacks_session(b, v) != 0;
}


/* Handles the result of a response; r has its fields. Sets msg to the result,
 * to a question to the client (input_required), to the message for an HTTP
 * error, or to a fault. */

static int
mcp_backend_result(mcp_backend_t *b, const mcp_json_value_t *result,
    const mcp_json_value_t *r, mcp_backend_msg_t *msg)
{
    if (result->type != MCP_JSON_OBJECT) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          "\"result\" is not an object");
        return MCP_OK;
    }

    msg->body = result->raw;
    msg->is_error = b->want == MCP_WANT_TOOL
                    && mcp_str_eq(r[MCP_BACKEND_R_IS_ERROR].raw,
                                  mcp_str("true"));
    msg->structured = b->want == MCP_WANT_TOOL
                      && r[MCP_BACKEND_R_STRUCTURED].type != MCP_JSON_NONE;
    msg->any_output = b->want == MCP_WANT_TOOL
                      && r[MCP_BACKEND_R_STRUCTURED].type != MCP_JSON_NONE
                      && r[MCP_BACKEND_R_STRUCTURED].type != MCP_JSON_OBJECT;
    msg->is_plain = (r[MCP_BACKEND_R_TYPE].type == MCP_JSON_NONE
                     && r[MCP_BACKEND_R_META].type == MCP_JSON_NONE);
    msg->has_next = (r[MCP_BACKEND_R_NEXT].type != MCP_JSON_NONE
                     || r[MCP_BACKEND_R_META_NEXT].type != MCP_JSON_NONE);

    if (b->status >= 400) {
        return mcp_backend_http_error_result(b, r, msg);
    }

    if (mcp_json_str_eq(r[MCP_BACKEND_R_TYPE].raw,
                        mcp_str("input_required")))
    {
        mcp_backend_input(r, msg);
        return MCP_OK;
    }

    if (r[MCP_BACKEND_R_TYPE].type != MCP_JSON_NONE
        && !mcp_json_str_eq(r[MCP_BACKEND_R_TYPE].raw, mcp_str("complete")))
    {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          "\"resultType\" is neither \"complete\" nor "
                          "\"input_required\"");
        return MCP_OK;
    }

    msg->kind = MCP_BACKEND_RESULT;

    if (b->want == MCP_WANT_TOOL
        && r[MCP_BACKEND_R_CONTENT].type != MCP_JSON_ARRAY)
    {
        msg->warning = r[MCP_BACKEND_R_CONTENT].type == MCP_JSON_NONE
                       ? "a result without \"content\", which clients reject"
                       : "a result whose \"content\" is not an array, which "
                         "clients reject";
    }

    return MCP_OK;
}


static void
mcp_backend_input(const mcp_json_value_t *r, mcp_backend_msg_t *msg)
{
    int               empty;
    mcp_json_value_t  requests, state;

    requests = r[MCP_BACKEND_R_INPUT_REQUESTS];
    state = r[MCP_BACKEND_R_REQUEST_STATE];

    empty = 1;

    if (requests.type != MCP_JSON_NONE
        && !mcp_backend_is_requests(requests, &empty))
    {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          "\"inputRequests\" is not an object whose values "
                          "are requests");
        return;
    }

    if (state.type != MCP_JSON_NONE && state.type != MCP_JSON_STRING) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          "\"requestState\" is not a string");
        return;
    }

    /* a fault, because the next backend request would contain neither an answer
     * nor a request state, and would thus have the same result */

    if (empty && state.type == MCP_JSON_NONE) {
        mcp_backend_fault(msg, MCP_FAULT_BACKEND_OUTPUT,
                          "the \"resultType\" is \"input_required\", but "
                          "\"inputRequests\" has no request, and "
                          "\"requestState\" is absent");
        return;
    }

    msg->kind = MCP_BACKEND_INPUT;
    msg->input_requests = requests;
    msg->request_state = state;
}


static int
mcp_backend_is_requests(mcp_json_value_t requests, int *empty)
{
    mcp_json_iter_t   iter;
    mcp_json_value_t  one;

    if (requests.type != MCP_JSON_OBJECT) {
        return 0;
    }

    mcp_json_iter_init(&iter, requests.raw);

    while (mcp_json_iter_next(&iter, NULL, &one)) {
        *empty = 0;

        if (mcp_json_get(&one, mcp_str("method")).type != MCP_JSON_STRING) {
            return 0;
        }
    }

    return 1;
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The JSON-RPC envelope.  Decides what kind of message a text is and hands
 * its fields out as slices; what a method means is not known here.
 */


#include "rpc/mcp_rpc.h"


/* The order is the scan's: parents before their children, and first what most
 * messages have. */
typedef enum {
    MCP_RPC_F_JSONRPC = 0,
    MCP_RPC_F_ID,
    MCP_RPC_F_METHOD,
    MCP_RPC_F_PARAMS,
    MCP_RPC_F_RESULT,
    MCP_RPC_F_ERROR,

    MCP_RPC_F_NAME,
    MCP_RPC_F_ARGUMENTS,
    MCP_RPC_F_META,
    MCP_RPC_F_URI,
    MCP_RPC_F_CURSOR,
    MCP_RPC_F_LEVEL,
    MCP_RPC_F_REQUEST_ID,
    MCP_RPC_F_REASON,
    MCP_RPC_F_PROTOCOL_VERSION,
    MCP_RPC_F_CAPABILITIES,
    MCP_RPC_F_CLIENT_INFO,
    MCP_RPC_F_REF,
    MCP_RPC_F_NOTIFY_TOKEN,
    MCP_RPC_F_RESUME_TOKEN,
    MCP_RPC_F_KEY,
    MCP_RPC_F_INPUT_RESPONSES,
    MCP_RPC_F_REQUEST_STATE,
    MCP_RPC_F_NOTIFICATIONS,
    MCP_RPC_F_TASK_ID,

    MCP_RPC_F_REF_TYPE,
    MCP_RPC_F_REF_NAME,
    MCP_RPC_F_REF_URI,
    MCP_RPC_F_PROGRESS_TOKEN,
    MCP_RPC_F_META_RESUME_TOKEN,
    MCP_RPC_F_META_KEY,
    MCP_RPC_F_META_VERSION,
    MCP_RPC_F_META_CLIENT_INFO,
    MCP_RPC_F_META_CAPABILITIES,
    MCP_RPC_F_META_LOG_LEVEL,
    MCP_RPC_F_META_TRACEPARENT,
    MCP_RPC_F_META_TRACESTATE,
    MCP_RPC_F_META_BAGGAGE,

    MCP_RPC_F_COUNT
} mcp_rpc_field_e;


#define mcp_rpc_key(text)   { text, sizeof(text) - 1 }
#define mcp_rpc_meta(text)  mcp_rpc_key("io.modelcontextprotocol/" text)


static const mcp_json_field_t  mcp_rpc_fields[MCP_RPC_F_COUNT] = {

    [MCP_RPC_F_JSONRPC] = { MCP_JSON_ROOT, mcp_rpc_key("jsonrpc") },
    [MCP_RPC_F_ID] = { MCP_JSON_ROOT, mcp_rpc_key("id") },
    [MCP_RPC_F_METHOD] = { MCP_JSON_ROOT, mcp_rpc_key("method") },
    [MCP_RPC_F_PARAMS] = { MCP_JSON_ROOT, mcp_rpc_key("params") },
    [MCP_RPC_F_RESULT] = { MCP_JSON_ROOT, mcp_rpc_key("result") },
    [MCP_RPC_F_ERROR] = { MCP_JSON_ROOT, mcp_rpc_key("error") },

    [MCP_RPC_F_NAME] = { MCP_RPC_F_PARAMS, mcp_rpc_key("name") },
    [MCP_RPC_F_URI] = { MCP_RPC_F_PARAMS, mcp_rpc_key("uri") },
    [MCP_RPC_F_CURSOR] = { MCP_RPC_F_PARAMS, mcp_rpc_key("cursor") },
    [MCP_RPC_F_LEVEL] = { MCP_RPC_F_PARAMS, mcp_rpc_key("level") },
    [MCP_RPC_F_REQUEST_ID] = { MCP_RPC_F_PARAMS, mcp_rpc_key("requestId") },
    [MCP_RPC_F_REASON] = { MCP_RPC_F_PARAMS, mcp_rpc_key("reason") },
    [MCP_RPC_F_PROTOCOL_VERSION] =
        { MCP_RPC_F_PARAMS, mcp_rpc_key("protocolVersion") },
    [MCP_RPC_F_CAPABILITIES] =
        { MCP_RPC_F_PARAMS, mcp_rpc_key("capabilities") },
    [MCP_RPC_F_CLIENT_INFO] = { MCP_RPC_F_PARAMS, mcp_rpc_key("clientInfo") },
    [MCP_RPC_F_ARGUMENTS] = { MCP_RPC_F_PARAMS, mcp_rpc_key("arguments") },
    [MCP_RPC_F_REF] = { MCP_RPC_F_PARAMS, mcp_rpc_key("ref") },
    [MCP_RPC_F_META] = { MCP_RPC_F_PARAMS, mcp_rpc_key("_meta") },
    [MCP_RPC_F_NOTIFY_TOKEN] =
        { MCP_RPC_F_PARAMS, mcp_rpc_key("progressToken") },
    [MCP_RPC_F_RESUME_TOKEN] =
        { MCP_RPC_F_PARAMS, mcp_rpc_key("resumeToken") },
    [MCP_RPC_F_KEY] = { MCP_RPC_F_PARAMS, mcp_rpc_key("idempotencyKey") },
    [MCP_RPC_F_INPUT_RESPONSES] =
        { MCP_RPC_F_PARAMS, mcp_rpc_key("inputResponses") },
    [MCP_RPC_F_REQUEST_STATE] =
        { MCP_RPC_F_PARAMS, mcp_rpc_key("requestState") },
    [MCP_RPC_F_NOTIFICATIONS] =
        { MCP_RPC_F_PARAMS, mcp_rpc_key("notifications") },
    [MCP_RPC_F_TASK_ID] = { MCP_RPC_F_PARAMS, mcp_rpc_key("taskId") },

    [MCP_RPC_F_REF_TYPE] = { MCP_RPC_F_REF, mcp_rpc_key("type") },
    [MCP_RPC_F_REF_NAME] = { MCP_RPC_F_REF, mcp_rpc_key("name") },
    [MCP_RPC_F_REF_URI] = { MCP_RPC_F_REF, mcp_rpc_key("uri") },
    [MCP_RPC_F_PROGRESS_TOKEN] =
        { MCP_RPC_F_META, mcp_rpc_key("progressToken") },
    [MCP_RPC_F_META_RESUME_TOKEN] =
        { MCP_RPC_F_META, mcp_rpc_key("resumeToken") },
    [MCP_RPC_F_META_KEY] = { MCP_RPC_F_META, mcp_rpc_key("idempotencyKey") },
    [MCP_RPC_F_META_VERSION] =
        { MCP_RPC_F_META, mcp_rpc_meta("protocolVersion") },
    [MCP_RPC_F_META_CLIENT_INFO] =
        { MCP_RPC_F_META, mcp_rpc_meta("clientInfo") },
    [MCP_RPC_F_META_CAPABILITIES] =
        { MCP_RPC_F_META, mcp_rpc_meta("clientCapabilities") },
    [MCP_RPC_F_META_LOG_LEVEL] =
        { MCP_RPC_F_META, mcp_rpc_meta("logLevel") },
    [MCP_RPC_F_META_TRACEPARENT] =
        { MCP_RPC_F_META, mcp_rpc_key("traceparent") },
    [MCP_RPC_F_META_TRACESTATE] =
        { MCP_RPC_F_META, mcp_rpc_key("tracestate") },
    [MCP_RPC_F_META_BAGGAGE] = { MCP_RPC_F_META, mcp_rpc_key("baggage") }
};


int
mcp_rpc_id_usable(const mcp_json_value_t *id)
{
    size_t  i;

    if (id->raw.len > MCP_RPC_MAX_ID) {
        return 0;
    }

    if (id->type == MCP_JSON_STRING) {
        return 1;
    }

    if (id->type != MCP_JSON_NUMBER) {
        return 0;
    }

    for (i = 0; i < id->raw.len; i++) {
        switch (id->raw.data[i]) {
        case '.':
        case 'e':
        case 'E':
            return 0;
        }
    }

    return 1;
}


static void
mcp_rpc_take_params(mcp_rpc_t *msg, const mcp_json_value_t *values)
{
    msg->name = values[MCP_RPC_F_NAME];
    msg->uri = values[MCP_RPC_F_URI];
    msg->cursor = values[MCP_RPC_F_CURSOR];
    msg->level = values[MCP_RPC_F_LEVEL];
    msg->request_id = values[MCP_RPC_F_REQUEST_ID];
    msg->reason = values[MCP_RPC_F_REASON];
    msg->protocol_version = values[MCP_RPC_F_PROTOCOL_VERSION];
    msg->capabilities = values[MCP_RPC_F_CAPABILITIES];
    msg->client_info = values[MCP_RPC_F_CLIENT_INFO];
    msg->arguments = values[MCP_RPC_F_ARGUMENTS];
    msg->ref = values[MCP_RPC_F_REF];
    msg->ref_type = values[MCP_RPC_F_REF_TYPE];
    msg->ref_name = values[MCP_RPC_F_REF_NAME];
    msg->ref_uri = values[MCP_RPC_F_REF_URI];
    msg->meta = values[MCP_RPC_F_META];
    msg->progress_token = values[MCP_RPC_F_PROGRESS_TOKEN];
    msg->notify_token = values[MCP_RPC_F_NOTIFY_TOKEN];
    msg->resume_token = values[MCP_RPC_F_RESUME_TOKEN];
    msg->meta_resume_token = values[MCP_RPC_F_META_RESUME_TOKEN];
    msg->key = values[MCP_RPC_F_KEY];
    msg->meta_key = values[MCP_RPC_F_META_KEY];
    msg->input_responses = values[MCP_RPC_F_INPUT_RESPONSES];
    msg->request_state = values[MCP_RPC_F_REQUEST_STATE];
    msg->notifications = values[MCP_RPC_F_NOTIFICATIONS];
    msg->task_id = values[MCP_RPC_F_TASK_ID];
    msg->meta_version = values[MCP_RPC_F_META_VERSION];
    msg->meta_client_info = values[MCP_RPC_F_META_CLIENT_INFO];
    msg->meta_capabilities = values[MCP_RPC_F_META_CAPABILITIES];
    msg->meta_log_level = values[MCP_RPC_F_META_LOG_LEVEL];
    msg->meta_traceparent = values[MCP_RPC_F_META_TRACEPARENT];
    msg->meta_tracestate = values[MCP_RPC_F_META_TRACESTATE];
    msg->meta_baggage = values[MCP_RPC_F_META_BAGGAGE];
}


/* What a message with a method, or without one, has to look like. */

static mcp_rpc_kind_e
mcp_rpc_call_kind(const mcp_json_value_t *values)
{
    const mcp_json_value_t  *method;

    method = &values[MCP_RPC_F_METHOD];

    /* an empty string is its two quotes */

    if (method->type != MCP_JSON_STRING || method->raw.len == 2) {
        return MCP_RPC_INVALID;
    }

    if (values[MCP_RPC_F_RESULT].type != MCP_JSON_NONE
        || values[MCP_RPC_F_ERROR].type != MCP_JSON_NONE)
    {
        return MCP_RPC_INVALID;
    }

    return values[MCP_RPC_F_ID].type == MCP_JSON_NONE ? MCP_RPC_NOTIFICATION
                                                      : MCP_RPC_REQUEST;
}


static mcp_rpc_kind_e
mcp_rpc_response_kind(const mcp_json_value_t *values)
{
    int  result, error;

    result = values[MCP_RPC_F_RESULT].type != MCP_JSON_NONE;
    error = values[MCP_RPC_F_ERROR].type != MCP_JSON_NONE;

    if (result == error) {
        return MCP_RPC_INVALID;
    }

    /* schema, JSONRPCResultResponse and JSONRPCErrorResponse: both objects */

    if (error) {
        return values[MCP_RPC_F_ERROR].type == MCP_JSON_OBJECT
               ? MCP_RPC_ERROR : MCP_RPC_INVALID;
    }

    return values[MCP_RPC_F_RESULT].type == MCP_JSON_OBJECT
           && values[MCP_RPC_F_ID].type != MCP_JSON_NONE
           ? MCP_RPC_RESULT : MCP_RPC_INVALID;
}


/* Applies the rules to a text that is an object; sets kind and fault. */
static void
mcp_rpc_check(mcp_rpc_t *msg, const mcp_json_value_t *values,
    uint64_t duplicates)
{
    mcp_rpc_kind_e           kind;
    const mcp_json_value_t  *id, *params;

    id = &values[MCP_RPC_F_ID];
    params = &values[MCP_RPC_F_PARAMS];

    /* first: whatever is wrong, the answer carries an id if there is one */

    if (mcp_rpc_id_usable(id) && !(duplicates >> MCP_RPC_F_ID & 1)) {
        msg->id = id->raw;
    }

    msg->fault = MCP_FAULT_INVALID_REQUEST;

    if (duplicates != 0) {
        return;
    }

    if (!mcp_json_str_eq(values[MCP_RPC_F_JSONRPC].raw, mcp_str("2.0"))) {
        return;
    }

    if (id->type != MCP_JSON_NONE && msg->id.len == 0) {
        msg->fault = MCP_FAULT_ID;
        return;
    }

    if (params->type != MCP_JSON_NONE && params->type != MCP_JSON_OBJECT) {
        return;
    }

    kind = values[MCP_RPC_F_METHOD].type != MCP_JSON_NONE
           ? mcp_rpc_call_kind(values)
           : mcp_rpc_response_kind(values);

    if (kind != MCP_RPC_INVALID) {
        msg->kind = kind;
        msg->fault = MCP_FAULT_NONE;
    }
}


static mcp_fault_e
mcp_rpc_json_fault(const mcp_json_error_t *error)
{
    switch (error->problem) {
    case MCP_JSON_FINE:
    case MCP_JSON_BAD_DUPLICATE:
        return MCP_FAULT_NONE;
    case MCP_JSON_BAD_DEPTH:
        return MCP_FAULT_TOO_DEEP;
    default:
        return MCP_FAULT_PARSE;
    }
}


/* Takes the fields of a valid message. */
static int
mcp_rpc_take(mcp_rpc_t *msg, mcp_arena_t *arena,
    const mcp_json_value_t *values)
{
    msg->params = values[MCP_RPC_F_PARAMS];
    msg->result = values[MCP_RPC_F_RESULT];
    msg->error = values[MCP_RPC_F_ERROR];
    mcp_rpc_take_params(msg, values);

    if (values[MCP_RPC_F_METHOD].type != MCP_JSON_NONE
        && mcp_json_unescape(arena, values[MCP_RPC_F_METHOD].raw,
                             &msg->method)
           != MCP_OK)
    {
        return MCP_ERR_MEMORY;
    }

    msg->row = mcp_method_find(msg->method);

    return MCP_OK;
}


int
mcp_rpc_parse(mcp_arena_t *arena, mcp_str_t text, unsigned max_depth,
    mcp_rpc_t *msg)
{
    int               rc;
    mcp_json_error_t  error;
    mcp_json_value_t  root, values[MCP_RPC_F_COUNT];

    memset(msg, 0, sizeof(mcp_rpc_t));

    msg->raw = text;

    rc = mcp_json_scan(arena, text, max_depth, mcp_rpc_fields,
                       MCP_RPC_F_COUNT, &root, values, &error);

    if (rc != MCP_OK && rc != MCP_ERR_SYNTAX) {
        return rc;
    }

    msg->fault = mcp_rpc_json_fault(&error);

    if (msg->fault != MCP_FAULT_NONE) {
        return MCP_OK;
    }

    msg->raw = root.raw;

    if (root.type != MCP_JSON_OBJECT) {
        msg->fault = root.type == MCP_JSON_ARRAY ? MCP_FAULT_BATCH
                                                 : MCP_FAULT_INVALID_REQUEST;
        return MCP_OK;
    }

    mcp_rpc_check(msg, values, error.duplicates);

    return msg->kind == MCP_RPC_INVALID ? MCP_OK
                                        : mcp_rpc_take(msg, arena, values);
}


/* Counts the elements of an array, up to one more than the limit. */
static size_t
mcp_rpc_count(mcp_str_t array, size_t max_items)
{
    size_t            n;
    mcp_json_iter_t   iter;
    mcp_json_value_t  item;

    mcp_json_iter_init(&iter, array);

    for (n = 0; n <= max_items && mcp_json_iter_next(&iter, NULL, &item); n++) {
        /* void */
    }

    return n;
}


/* Lists n elements of an array in the arena; NULL when out of memory. */
static mcp_str_t *
mcp_rpc_items(mcp_arena_t *arena, mcp_str_t array, size_t n)
{
    size_t            i;
    mcp_str_t        *items;
    mcp_json_iter_t   iter;
    mcp_json_value_t  item;

    items = mcp_arena_alloc(arena, n * sizeof(mcp_str_t));
    if (items == NULL) {
        return NULL;
    }

    mcp_json_iter_init(&iter, array);

    for (i = 0; i < n && mcp_json_iter_next(&iter, NULL, &item); i++) {
        items[i] = item.raw;
    }

    return items;
}


int
mcp_rpc_split(mcp_arena_t *arena, mcp_str_t text, unsigned max_depth,
    size_t max_items, mcp_str_t **items, size_t *n, mcp_fault_e *fault)
{
    int               rc;
    size_t            count;
    mcp_json_value_t  root;
    mcp_json_error_t  error;

    *items = NULL;
    *n = 0;

    /* the batch itself is not counted: a message may be as deep in it */

    rc = mcp_json_scan(arena, text,
                       max_depth + (max_depth < UINT32_MAX ? 1 : 0),
                       NULL, 0, &root, NULL, &error);

    if (rc != MCP_OK && rc != MCP_ERR_SYNTAX) {
        return rc;
    }

    *fault = mcp_rpc_json_fault(&error);

    if (*fault != MCP_FAULT_NONE) {
        return MCP_OK;
    }

    count = root.type == MCP_JSON_ARRAY ? mcp_rpc_count(root.raw, max_items)
                                        : 0;

    if (count == 0 || count > max_items) {
        *fault = count ? MCP_FAULT_BATCH_SIZE : MCP_FAULT_INVALID_REQUEST;
        return MCP_OK;
    }

    *items = mcp_rpc_items(arena, root.raw, count);
    *n = *items ? count : 0;

    return *items ? MCP_OK : MCP_ERR_MEMORY;
}


int
mcp_rpc_is_batch(mcp_str_t text)
{
    size_t  i;

    for (i = 0; i < text.len; i++) {
        if (!mcp_json_is_space(text.data[i])) {
            return text.data[i] == '[';
        }
    }

    return 0;
}

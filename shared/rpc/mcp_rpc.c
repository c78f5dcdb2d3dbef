/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The JSON-RPC envelope. Determines the kind of a message and returns its
 * fields as slices; it does not interpret methods.
 */


#include <stddef.h>
#include <stdio.h>

#include "rpc/mcp_rpc.h"


/* Maximum number of bytes of a client's key that an error shows. */
#define MCP_RPC_SHOWN_KEY  64


/* The index of a member of mcp_rpc_t in the array of fields. */
#define mcp_rpc_at(member)                                                    \
    ((int) ((offsetof(mcp_rpc_t, member) - offsetof(mcp_rpc_t, fields))       \
            / sizeof(mcp_json_value_t)))

_Static_assert(mcp_rpc_at(meta_baggage) + 1 == MCP_RPC_FIELDS, "fields");

#define mcp_rpc_root(text)   mcp_json_field(MCP_JSON_ROOT, text)
#define mcp_rpc_param(text)  mcp_json_field(mcp_rpc_at(params), text)
#define mcp_rpc_ref(text)    mcp_json_field(mcp_rpc_at(ref), text)
#define mcp_rpc_meta(text)   mcp_json_field(mcp_rpc_at(meta), text)
#define mcp_rpc_own(text)    mcp_rpc_meta("io.modelcontextprotocol/" text)


static const mcp_json_field_t  mcp_rpc_fields[MCP_RPC_FIELDS] = {

    [mcp_rpc_at(jsonrpc)] = mcp_rpc_root("jsonrpc"),
    [mcp_rpc_at(id_value)] = mcp_rpc_root("id"),
    [mcp_rpc_at(method_value)] = mcp_rpc_root("method"),
    [mcp_rpc_at(params)] =
        mcp_json_object(MCP_JSON_ROOT, "params", mcp_rpc_at(name)),
    [mcp_rpc_at(result)] = mcp_rpc_root("result"),
    [mcp_rpc_at(error)] = mcp_rpc_root("error"),

    [mcp_rpc_at(name)] = mcp_rpc_param("name"),
    [mcp_rpc_at(uri)] = mcp_rpc_param("uri"),
    [mcp_rpc_at(cursor)] = mcp_rpc_param("cursor"),
    [mcp_rpc_at(level)] = mcp_rpc_param("level"),
    [mcp_rpc_at(request_id)] = mcp_rpc_param("requestId"),
    [mcp_rpc_at(reason)] = mcp_rpc_param("reason"),
    [mcp_rpc_at(protocol_version)] = mcp_rpc_param("protocolVersion"),
    [mcp_rpc_at(capabilities)] = mcp_rpc_param("capabilities"),
    [mcp_rpc_at(client_info)] = mcp_rpc_param("clientInfo"),
    [mcp_rpc_at(arguments)] = mcp_rpc_param("arguments"),
    [mcp_rpc_at(ref)] =
        mcp_json_object(mcp_rpc_at(params), "ref", mcp_rpc_at(ref_type)),
    [mcp_rpc_at(meta)] =
        mcp_json_object(mcp_rpc_at(params), "_meta",
                        mcp_rpc_at(progress_token)),
    [mcp_rpc_at(notify_token)] = mcp_rpc_param("progressToken"),
    [mcp_rpc_at(resume_token)] = mcp_rpc_param("resumeToken"),
    [mcp_rpc_at(key)] = mcp_rpc_param("idempotencyKey"),
    [mcp_rpc_at(input_responses)] = mcp_rpc_param("inputResponses"),
    [mcp_rpc_at(request_state)] = mcp_rpc_param("requestState"),
    [mcp_rpc_at(notifications)] = mcp_rpc_param("notifications"),
    [mcp_rpc_at(task_id)] = mcp_rpc_param("taskId"),

    [mcp_rpc_at(ref_type)] = mcp_rpc_ref("type"),
    [mcp_rpc_at(ref_name)] = mcp_rpc_ref("name"),
    [mcp_rpc_at(ref_uri)] = mcp_rpc_ref("uri"),

    [mcp_rpc_at(progress_token)] = mcp_rpc_meta("progressToken"),
    [mcp_rpc_at(meta_resume_token)] = mcp_rpc_meta("resumeToken"),
    [mcp_rpc_at(meta_key)] = mcp_rpc_meta("idempotencyKey"),
    [mcp_rpc_at(meta_version)] = mcp_rpc_own("protocolVersion"),
    [mcp_rpc_at(meta_client_info)] = mcp_rpc_own("clientInfo"),
    [mcp_rpc_at(meta_capabilities)] = mcp_rpc_own("clientCapabilities"),
    [mcp_rpc_at(meta_log_level)] = mcp_rpc_own("logLevel"),
    [mcp_rpc_at(meta_traceparent)] = mcp_rpc_meta("traceparent"),
    [mcp_rpc_at(meta_tracestate)] = mcp_rpc_meta("tracestate"),
    [mcp_rpc_at(meta_baggage)] = mcp_rpc_meta("baggage")
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


/*
 * mcp_rpc_call_kind() returns the kind of a message with a method,
 * mcp_rpc_response_kind() the kind of a message without one. Both return
 * MCP_RPC_INVALID if the message violates a rule of mcp_rpc_parse().
 */

static mcp_rpc_kind_e
mcp_rpc_call_kind(const mcp_rpc_t *msg)
{
    const mcp_json_value_t  *method;

    method = &msg->method_value;

    /* an empty string consists of its two quotes */

    if (method->type != MCP_JSON_STRING || method->raw.len == 2) {
        return MCP_RPC_INVALID;
    }

    if (msg->result.type != MCP_JSON_NONE || msg->error.type != MCP_JSON_NONE) {
        return MCP_RPC_INVALID;
    }

    return msg->id_value.type == MCP_JSON_NONE ? MCP_RPC_NOTIFICATION
                                               : MCP_RPC_REQUEST;
}


static mcp_rpc_kind_e
mcp_rpc_response_kind(const mcp_rpc_t *msg)
{
    int  result, error;

    result = msg->result.type != MCP_JSON_NONE;
    error = msg->error.type != MCP_JSON_NONE;

    if (result == error) {
        return MCP_RPC_INVALID;
    }

    /* result and error must be objects (schema, JSONRPCResultResponse and
     * JSONRPCErrorResponse) */

    if (error) {
        return msg->error.type == MCP_JSON_OBJECT
               ? MCP_RPC_ERROR : MCP_RPC_INVALID;
    }

    return msg->result.type == MCP_JSON_OBJECT
           && msg->id_value.type != MCP_JSON_NONE
           ? MCP_RPC_RESULT : MCP_RPC_INVALID;
}


/* Sets msg->detail to a text about the member that is present twice, or whose
 * name is only similar to that of a field. Returns MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_rpc_ambiguous(mcp_rpc_t *msg, mcp_arena_t *arena,
    const mcp_json_error_t *error)
{
    int          n, alike;
    char        *text;
    size_t       len;
    const char  *name;

    alike = error->duplicates == 0;
    name = mcp_rpc_fields[alike ? error->alike_field : error->field].key.data;
    len = alike ? error->alike.len : 0;

    if (len > MCP_RPC_SHOWN_KEY) {
        len = MCP_RPC_SHOWN_KEY;
    }

    text = mcp_arena_alloc(arena, MCP_RPC_SHOWN_KEY + 100);
    if (text == NULL) {
        return MCP_ERR_MEMORY;
    }

    n = alike ? snprintf(text, MCP_RPC_SHOWN_KEY + 100,
                         "the member %.*s must be spelled \"%s\"", (int) len,
                         error->alike.data, name)
              : snprintf(text, MCP_RPC_SHOWN_KEY + 100,
                         "duplicate member \"%s\"", name);

    msg->detail = (mcp_str_t) { text, (size_t) n };

    return MCP_OK;
}


/*
 * Makes params, and fields inside params, absent if they are null: some clients
 * write null instead of omitting a member. nulls has a bit for each field that
 * is null.
 */
static void
mcp_rpc_drop_null(mcp_rpc_t *msg, uint64_t nulls)
{
    int  i;

    for (i = 0; nulls != 0; nulls >>= 1, i++) {
        if ((nulls & 1)
            && (i == mcp_rpc_at(params) || i >= mcp_rpc_at(name)))
        {
            msg->fields[i].type = MCP_JSON_NONE;
        }
    }
}


/* Checks a message that is an object against the rules of mcp_rpc_parse();
 * sets kind and fault. */
static void
mcp_rpc_check(mcp_rpc_t *msg, uint64_t duplicates)
{
    mcp_rpc_kind_e           kind;
    const mcp_json_value_t  *id, *params;

    id = &msg->id_value;
    params = &msg->params;

    /* the id is set first, because the error response to an invalid message
     * should have it */

    if (mcp_rpc_id_usable(id) && !(duplicates >> mcp_rpc_at(id_value) & 1)) {
        msg->id = id->raw;
    }

    msg->fault = MCP_FAULT_INVALID_REQUEST;

    if (msg->detail.len > 0) {
        return;
    }

    /* hardly any client writes "2.0" with an escape */

    if (!mcp_str_eq(msg->jsonrpc.raw, mcp_str("\"2.0\""))
        && !mcp_json_str_eq(msg->jsonrpc.raw, mcp_str("2.0")))
    {
        return;
    }

    if (id->type != MCP_JSON_NONE && msg->id.len == 0) {
        msg->fault = MCP_FAULT_ID;
        return;
    }

    if (params->type != MCP_JSON_NONE && params->type != MCP_JSON_OBJECT) {
        msg->detail = mcp_str("params must be an object");
        return;
    }

    kind = msg->method_value.type != MCP_JSON_NONE
           ? mcp_rpc_call_kind(msg) : mcp_rpc_response_kind(msg);

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


/* Sets "method" and "row" of a valid message. Returns MCP_OK or
 * MCP_ERR_MEMORY. */
static int
mcp_rpc_take_method(mcp_rpc_t *msg, mcp_arena_t *arena)
{
    if (msg->method_value.type != MCP_JSON_NONE
        && mcp_json_unescape(arena, msg->method_value.raw, &msg->method)
           != MCP_OK)
    {
        return MCP_ERR_MEMORY;
    }

    msg->row = mcp_method_find(msg->method);

    return MCP_OK;
}


int
mcp_rpc_parse(mcp_arena_t *arena, mcp_str_t text, unsigned max_depth,
    mcp_rpc_from_e from, mcp_rpc_t *msg)
{
    int               rc;
    mcp_json_error_t  error;
    mcp_json_value_t  root;

    memset(msg, 0, offsetof(mcp_rpc_t, fields));

    msg->raw = text;

    rc = from == MCP_RPC_FROM_CLIENT
         ? mcp_json_scan_client(arena, text, max_depth, mcp_rpc_fields,
                                MCP_RPC_FIELDS, &root, msg->fields, &error)
         : mcp_json_scan(arena, text, max_depth, mcp_rpc_fields,
                         MCP_RPC_FIELDS, &root, msg->fields, &error);

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

    if ((error.duplicates != 0 || error.alike.len > 0)
        && mcp_rpc_ambiguous(msg, arena, &error) != MCP_OK)
    {
        return MCP_ERR_MEMORY;
    }

    mcp_rpc_drop_null(msg, error.nulls);
    mcp_rpc_check(msg, error.duplicates);

    if (msg->kind == MCP_RPC_INVALID) {
        memset(msg->fields, 0, sizeof(msg->fields));
        return MCP_OK;
    }

    return mcp_rpc_take_method(msg, arena);
}


const mcp_rpc_t  mcp_rpc_none;


int
mcp_rpc_read(mcp_arena_t *arena, mcp_str_t text, unsigned max_depth,
    const mcp_rpc_t **msg)
{
    int         rc;
    mcp_rpc_t  *read;

    read = mcp_arena_alloc(arena, sizeof(mcp_rpc_t));
    if (read == NULL) {
        return MCP_ERR_MEMORY;
    }

    rc = mcp_rpc_parse(arena, text, max_depth, MCP_RPC_FROM_CLIENT, read);

    if (rc == MCP_OK) {
        *msg = read;
    }

    return rc;
}


/* Appends a copy of text in which "value" replaces each of the n places (1 or
 * 2), which are slices of text. The places may be in any order. */
static void
mcp_rpc_splice(mcp_buf_t *buf, mcp_str_t text,
    const mcp_json_value_t *places, size_t n, mcp_str_t value)
{
    size_t                   i;
    const char              *p;
    const mcp_json_value_t  *order[2];

    order[0] = &places[0];
    order[1] = &places[n - 1];

    if (order[0]->raw.data > order[1]->raw.data) {
        order[0] = &places[1];
        order[1] = &places[0];
    }

    p = text.data;

    for (i = 0; i < n; i++) {
        mcp_buf_add(buf, p, (size_t) (order[i]->raw.data - p));
        mcp_buf_str(buf, value);
        p = order[i]->raw.data + order[i]->raw.len;
    }

    mcp_buf_add(buf, p, (size_t) (text.data + text.len - p));
}


int
mcp_rpc_replace(mcp_arena_t *arena, const mcp_json_value_t *places, size_t n,
    mcp_str_t value, unsigned max_depth, const mcp_rpc_t **msg)
{
    int        rc;
    mcp_buf_t  buf;
    mcp_str_t  text;

    mcp_buf_init(&buf, arena->mem, SIZE_MAX / 2);
    mcp_rpc_splice(&buf, (*msg)->raw, places, n, value);

    text = mcp_arena_take(arena, &buf);

    if (text.data == NULL) {
        return MCP_ERR_MEMORY;
    }

    rc = mcp_rpc_read(arena, text, max_depth, msg);

    return rc == MCP_OK && (*msg)->kind != MCP_RPC_REQUEST ? MCP_ERR_INTERNAL
                                                           : rc;
}


/* Returns the first n elements of an array as a list in the arena; NULL when
 * out of memory. */
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

    /* the array itself does not count: messages in a batch may be as deep as
     * single messages */

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

    count = root.type == MCP_JSON_ARRAY
            ? mcp_json_count(root.raw, max_items + 1) : 0;

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

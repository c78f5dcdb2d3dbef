/* SPDX-License-Identifier: Apache-2.0 */


#include "config/mcp_catalog.h"
#include "config/mcp_catalog_header.h"
#include "exchange/mcp_exchange_session.h"
#include "exchange/mcp_stateless.h"
#include "http/mcp_mirrored_header.h"
#include "worker/mcp_respond.h"


/* The capabilities, apart from tasks, that a client of a revision without
 * sessions can declare: the kinds of questions that it accepts, resumable
 * requests, and resume tokens. */
#define MCP_STATELESS_CLIENT  (MCP_CLIENT_INPUT | MCP_CLIENT_REQUESTS         \
                               | MCP_CLIENT_TOKENS)


typedef struct {
    mcp_fault_e  fault;
    mcp_str_t    detail;
    mcp_str_t    data;
} mcp_stateless_error_t;


int
mcp_stateless_read(mcp_exchange_t *x)
{
    mcp_str_t  name;

    if (x->head.revision_text.data
        && mcp_header_value_plain(x->head.revision_text, &name) == MCP_OK)
    {
        x->head.revision = mcp_revision_find(name);
    }

    x->head.stateless =
        mcp_revision(x->head.revision)->stateless
        && mcp_revision_latest(x->endpoint->revisions, 1) != MCP_REVISION_NONE;

    return x->head.stateless;
}


/* Returns 1 if the endpoint serves only revisions without sessions. */
static int
mcp_stateless_single(const mcp_exchange_t *x)
{
    return mcp_revision_latest(x->endpoint->revisions, 0) == MCP_REVISION_NONE;
}


int
mcp_stateless_era(const mcp_exchange_t *x)
{
    return mcp_stateless_single(x) || x->head.stateless;
}


/* Returns 1 if a message with a version in _meta belongs to a session: its
 * request has an Mcp-Session-Id, and the version is that of a revision with
 * sessions. Clients with sessions may write any members to _meta. */
static int
mcp_stateless_is_session(const mcp_exchange_t *x)
{
    mcp_str_t              raw;
    const mcp_revision_t  *revision;

    raw = x->msg->meta_version.raw;

    if (x->head.session_text.len == 0
        || x->msg->meta_version.type != MCP_JSON_STRING)
    {
        return 0;
    }

    raw.data++;
    raw.len -= 2;
    revision = mcp_revision(mcp_revision_find(raw));

    return revision->name.len && !revision->stateless;
}


/* Returns 1 if the message is a server/discover by which a client finds out
 * which revisions are served: it has no session, it names a revision neither in
 * _meta nor in a header, and the endpoint serves a revision without
 * sessions. */
static int
mcp_stateless_is_probe(const mcp_exchange_t *x)
{
    return x->msg->row->id == MCP_METHOD_SERVER_DISCOVER
           && x->msg->meta_version.type == MCP_JSON_NONE
           && x->head.revision_text.data == NULL
           && x->head.session_text.len == 0
           && mcp_revision_latest(x->endpoint->revisions, 1)
              != MCP_REVISION_NONE;
}


int
mcp_stateless_is(const mcp_exchange_t *x)
{
    if (x->msg->meta_version.type == MCP_JSON_NONE) {
        return x->head.stateless
               || mcp_stateless_is_probe(x)
               || (mcp_stateless_single(x)
                   && x->msg->row->id != MCP_METHOD_INITIALIZE);
    }

    if (mcp_stateless_single(x)) {
        return 1;
    }

    return mcp_revision_latest(x->endpoint->revisions, 1) != MCP_REVISION_NONE
           && !mcp_stateless_is_session(x);
}


void
mcp_stateless_begin(mcp_exchange_t *x)
{
    memset(&x->client, 0, sizeof(mcp_client_t));
    memcpy(x->client.principal, x->head.principal, MCP_DIGEST_LEN);
    x->client.revision = mcp_revision_latest(x->endpoint->revisions, 1);
    x->client.log_level = -1;
}


static int
mcp_stateless_refuse(mcp_stateless_error_t *r, mcp_fault_e fault,
    mcp_str_t detail)
{
    r->fault = fault;
    r->detail = detail;
    r->data = mcp_null_str;

    return MCP_ERR_DENIED;
}


/* Appends the endpoint's revisions without sessions as a JSON array, latest
 * first. */
static void
mcp_stateless_revisions(const mcp_exchange_t *x, mcp_buf_t *out)
{
    uint32_t        left;
    const char     *before;
    mcp_revision_e  revision;

    left = x->endpoint->revisions;
    before = "[";

    while ((revision = mcp_revision_latest(left, 1)) != MCP_REVISION_NONE) {
        mcp_buf_add(out, before, 1);
        mcp_buf_json(out, mcp_revision(revision)->name);
        left &= ~mcp_revision_bit(revision);
        before = ",";
    }

    mcp_buf_lit(out, "]");
}


/* Checks the members of _meta that describe the client, and reads its log level
 * (2026-07-28, basic/index, "_meta", "Per-request protocol fields"). */
static int
mcp_stateless_envelope(mcp_exchange_t *x, mcp_stateless_error_t *r)
{
    mcp_str_t         level;
    const mcp_rpc_t  *msg;

    msg = x->msg;

    if (msg->meta.type != MCP_JSON_OBJECT) {
        return mcp_stateless_refuse(r, MCP_FAULT_ENVELOPE,
                                    mcp_str("\"_meta\" must be an object"));
    }

    if (msg->meta_version.type != MCP_JSON_STRING) {
        return mcp_stateless_refuse(r, MCP_FAULT_ENVELOPE,
                                    mcp_str("protocolVersion in \"_meta\" "
                                            "must be a string"));
    }

    if (msg->meta_capabilities.type != MCP_JSON_OBJECT) {
        return mcp_stateless_refuse(r, MCP_FAULT_ENVELOPE,
                                    mcp_str("clientCapabilities in \"_meta\" "
                                            "must be an object"));
    }

    if (msg->meta_client_info.type != MCP_JSON_NONE
        && msg->meta_client_info.type != MCP_JSON_OBJECT)
    {
        return mcp_stateless_refuse(r, MCP_FAULT_ENVELOPE,
                                    mcp_str("clientInfo in \"_meta\" must be "
                                            "an object"));
    }

    if (msg->meta_log_level.type != MCP_JSON_NONE) {
        if (mcp_routing_string(x, &msg->meta_log_level, &level) == MCP_OK) {
            x->client.log_level = mcp_log_level_find(level);
        }

        if (x->client.log_level < 0) {
            return mcp_stateless_refuse(r, MCP_FAULT_ENVELOPE,
                                        mcp_str("logLevel in \"_meta\" must "
                                                "be debug, info, notice, "
                                                "warning, error, critical, "
                                                "alert or emergency"));
        }
    }

    return MCP_OK;
}


/* Rejects a request because a header is missing or contradicts the body. A
 * missing header is logged, once in each process: a proxy may have removed it,
 * which clients do not report. */
static int
mcp_stateless_mismatch(mcp_exchange_t *x, mcp_stateless_error_t *r,
    mcp_str_t name, mcp_str_t value)
{
    if (value.data == NULL && !x->worker->header_missed) {
        x->worker->header_missed = 1;
        mcp_worker_log(x->worker, MCP_LOG_NOTICE,
                       "a request of a revision without sessions has no "
                       "header %.*s: if a proxy removes it, clients fail or "
                       "use older revisions; let the proxy forward the header",
                       (int) name.len, name.data);
    }

    return mcp_stateless_refuse(r, MCP_FAULT_HEADER, name);
}


/* Sets the fault and error.data for a revision that is not served (2026-07-28,
 * schema, UnsupportedProtocolVersionError). */
static int
mcp_stateless_unsupported(mcp_exchange_t *x, mcp_stateless_error_t *r)
{
    mcp_buf_t  data;

    (void) mcp_stateless_refuse(r, MCP_FAULT_VERSION, mcp_null_str);

    mcp_buf_init(&data, &x->worker->env->mem, SIZE_MAX / 2);
    mcp_buf_lit(&data, "{\"supported\":");
    mcp_stateless_revisions(x, &data);
    mcp_buf_lit(&data, ",\"requested\":");
    mcp_buf_str(&data, x->msg->meta_version.type == MCP_JSON_STRING
                       ? x->msg->meta_version.raw : mcp_str("\"\""));
    mcp_buf_lit(&data, "}");

    r->data = mcp_arena_take(&x->arena, &data);

    return r->data.data ? MCP_ERR_DENIED : MCP_ERR_MEMORY;
}


/* Returns 1 if the MCP-Protocol-Version header is equal to the version in
 * _meta. Parses the header only if its value is not the name of a revision,
 * which x->head.revision contains already. */
static int
mcp_stateless_is_version(const mcp_exchange_t *x, mcp_str_t version)
{
    mcp_str_t  header;

    if (x->head.revision != MCP_REVISION_NONE) {
        return mcp_str_eq(mcp_revision(x->head.revision)->name, version);
    }

    return mcp_header_value_plain(x->head.revision_text, &header) == MCP_OK
           && mcp_str_eq(header, version);
}


/* Checks the MCP-Protocol-Version header against the version in _meta, and
 * then whether the endpoint serves that version (2026-07-28,
 * basic/transports/streamable-http, "Protocol Version Header"). */
static int
mcp_stateless_version(mcp_exchange_t *x, mcp_stateless_error_t *r)
{
    mcp_str_t       version;
    mcp_revision_e  revision;

    if (mcp_json_unescape(&x->arena, x->msg->meta_version.raw, &version)
        != MCP_OK)
    {
        return MCP_ERR_MEMORY;
    }

    if ((x->head.twice & MCP_HEAD_VERSION)
        || !mcp_stateless_is_version(x, version))
    {
        return mcp_stateless_mismatch(x, r, mcp_str("MCP-Protocol-Version"),
                                      x->head.revision_text);
    }

    revision = x->head.revision;

    if (revision == MCP_REVISION_NONE
        || !mcp_revision(revision)->stateless
        || !(x->endpoint->revisions & mcp_revision_bit(revision)))
    {
        return mcp_stateless_unsupported(x, r);
    }

    x->client.revision = revision;

    return MCP_OK;
}


/* Returns 1 if the endpoint offers the extension to which the method belongs,
 * or if the method belongs to no extension. */
static int
mcp_stateless_offers(const mcp_exchange_t *x, const mcp_method_t *method)
{
    return !(method->capability & MCP_CLIENT_TASKS)
           || mcp_endpoint_makes_tasks(x->endpoint);
}


/* Returns 1 if the Mcp-Method header is equal to the method in the body. First
 * compares the header with the name of a known method: this needs no check of
 * the header's characters, because such a name has only valid ones. */
static int
mcp_stateless_is_method(const mcp_exchange_t *x)
{
    mcp_str_t  header;

    header = x->head.method_text;

    if (x->msg->row->name.len && mcp_str_eq(header, x->msg->row->name)) {
        return 1;
    }

    return mcp_header_value_plain(header, &header) == MCP_OK
           && mcp_str_eq(header, x->msg->method);
}


/* Checks that the header Mcp-Method occurs once and has the method of the
 * body, and that the endpoint offers this method without sessions. */
static int
mcp_stateless_method(mcp_exchange_t *x, mcp_stateless_error_t *r,
    const mcp_method_t **method)
{
    if ((x->head.twice & MCP_HEAD_METHOD) || !mcp_stateless_is_method(x)) {
        return mcp_stateless_mismatch(x, r, mcp_str("Mcp-Method"),
                                      x->head.method_text);
    }

    *method = x->msg->row;

    return (*method)->stateless && mcp_stateless_offers(x, *method)
           ? MCP_OK
           : mcp_stateless_refuse(r, MCP_FAULT_METHOD_UNKNOWN, x->msg->method);
}


/* Checks the Mcp-Name header, if the body has a name; a body without a
 * required name is rejected later. */
static int
mcp_stateless_name(mcp_exchange_t *x, mcp_stateless_error_t *r,
    const mcp_method_t *method)
{
    int                      rc;
    mcp_str_t                name, header;
    const mcp_json_value_t  *value;

    switch (method->subject) {

    case MCP_SUBJECT_NONE:
        return MCP_OK;

    case MCP_SUBJECT_NAME:
        value = &x->msg->name;
        break;

    case MCP_SUBJECT_URI:
        value = &x->msg->uri;
        break;

    default:
        value = &x->msg->task_id;
    }

    if (value->type != MCP_JSON_STRING) {
        return MCP_OK;
    }

    if (mcp_json_unescape(&x->arena, value->raw, &name) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    rc = mcp_header_value_decode(&x->arena, x->head.name_text, &header);

    if (rc == MCP_ERR_MEMORY) {
        return rc;
    }

    if (rc != MCP_OK || (x->head.twice & MCP_HEAD_NAME)
        || x->head.name_text.data == NULL || !mcp_str_eq(header, name))
    {
        return mcp_stateless_mismatch(x, r, mcp_str("Mcp-Name"),
                                      x->head.name_text);
    }

    return MCP_OK;
}


/* Reads the client's capabilities from _meta, and checks that the client has
 * declared tasks if the method needs them. */
static int
mcp_stateless_declared(mcp_exchange_t *x, mcp_stateless_error_t *r,
    const mcp_method_t *method)
{
    unsigned  bits, extensions;

    bits = MCP_STATELESS_CLIENT
           & mcp_client_capabilities(&x->msg->meta_capabilities);

    if (mcp_client_extensions(&x->msg->meta_capabilities, &extensions)
        != MCP_OK)
    {
        return mcp_stateless_refuse(r, MCP_FAULT_ENVELOPE,
                                    mcp_str("\"extensions\" in "
                                            "clientCapabilities, or a member "
                                            "of it, occurs twice or differs "
                                            "in case"));
    }

    if (mcp_endpoint_makes_tasks(x->endpoint)) {
        bits |= extensions;
    }

    if (x->endpoint->resume_stateless == MCP_RESUME_STATELESS_ALL) {
        bits |= MCP_CLIENT_IDS;
    }

    x->client.declared = x->msg->meta_capabilities.raw;
    x->client.capabilities = bits;
    mcp_exchange_take_offers(x);

    if (method->capability & MCP_CLIENT_TASKS & ~bits) {
        (void) mcp_stateless_refuse(r, MCP_FAULT_CAPABILITY, mcp_null_str);
        r->data = mcp_str(MCP_CLIENT_TASKS_REQUIRED);
        return MCP_ERR_DENIED;
    }

    return MCP_OK;
}


static int
mcp_stateless_check(mcp_exchange_t *x, mcp_stateless_error_t *r)
{
    int                  rc;
    const mcp_method_t  *method;

    method = NULL;

    if (mcp_stateless_is_probe(x)) {
        return mcp_stateless_unsupported(x, r);
    }

    /* an initialize without a version in _meta belongs to a revision with
     * sessions. It gets here only if its MCP-Protocol-Version header names a
     * revision without sessions, so the header is wrong. */

    if (x->msg->row->id == MCP_METHOD_INITIALIZE
        && x->msg->meta_version.type == MCP_JSON_NONE
        && !mcp_stateless_single(x))
    {
        return mcp_stateless_mismatch(x, r, mcp_str("MCP-Protocol-Version"),
                                      x->head.revision_text);
    }

    rc = mcp_stateless_envelope(x, r);

    if (rc == MCP_OK) {
        rc = mcp_stateless_version(x, r);
    }

    if (rc == MCP_OK) {
        rc = mcp_stateless_method(x, r, &method);
    }

    if (rc == MCP_OK) {
        rc = mcp_stateless_name(x, r, method);
    }

    return rc == MCP_OK ? mcp_stateless_declared(x, r, method) : rc;
}


mcp_next_e
mcp_stateless_enter(mcp_exchange_t *x)
{
    int                      rc;
    mcp_stateless_error_t    r;

    rc = mcp_stateless_check(x, &r);

    if (rc == MCP_ERR_DENIED) {
        return mcp_respond_fault_data(x, r.fault, x->msg->id, r.detail, r.data);
    }

    return rc == MCP_OK ? MCP_NEXT_CONTINUE : MCP_NEXT_ERROR;
}


void
mcp_stateless_discover(const mcp_exchange_t *x, mcp_buf_t *out)
{
    mcp_str_t  instructions;

    mcp_buf_lit(out, "{\"supportedVersions\":");
    mcp_stateless_revisions(x, out);
    mcp_buf_lit(out, ",\"capabilities\":");
    mcp_endpoint_capabilities(x->endpoint, 1, out);

    instructions = mcp_endpoint_instructions(x->endpoint);

    if (instructions.len) {
        mcp_buf_lit(out, ",\"instructions\":");
        mcp_buf_str(out, instructions);
    }

    mcp_buf_lit(out, "}");
}


/* Rejects initialize with an error that contains the endpoint's revisions,
 * because a client may get them only from this error (2026-07-28,
 * basic/versioning, "Backward Compatibility"). */
mcp_next_e
mcp_stateless_initialize(mcp_exchange_t *x)
{
    mcp_buf_t   names;
    mcp_next_e  next;

    mcp_buf_init(&names, &x->worker->env->mem, SIZE_MAX / 2);
    mcp_stateless_revisions(x, &names);

    next = names.failed == MCP_OK
           ? mcp_respond_fault(x, MCP_FAULT_ERA, x->msg->id,
                               (mcp_str_t) { names.data, names.len })
           : MCP_NEXT_ERROR;

    mcp_buf_free(&names);

    return next;
}


/* --- Mcp-Param headers --- */

/* Stores the Mcp-Param-* headers of a request, and checks whether they agree
 * with the arguments of a tool call in the body. */


/* Returns the part of a header's name after "Mcp-Param-"; its data is NULL if
 * the name has another beginning. */
static mcp_str_t
mcp_exchange_param_name(mcp_str_t name)
{
    mcp_str_t  prefix;

    prefix = mcp_tool_param_prefix;

    /* compares the hyphens of "Mcp-Param-" first, because few other header
     * names have hyphens at these two places */

    if (name.len <= prefix.len || name.data[3] != '-' || name.data[9] != '-'
        || !mcp_str_case_eq((mcp_str_t) { name.data, prefix.len }, prefix))
    {
        return mcp_null_str;
    }

    return (mcp_str_t) { name.data + prefix.len, name.len - prefix.len };
}


int
mcp_exchange_param_read(mcp_exchange_t *x, const mcp_head_t *head)
{
    size_t         i, n, size;
    mcp_str_t      name;
    mcp_header_t  *params;

    n = 0;
    size = 0;

    for (i = 0; i < head->n_headers; i++) {
        if (mcp_exchange_param_name(head->headers[i].name).data) {
            n++;
            size += head->headers[i].name.len + head->headers[i].value.len;
        }
    }

    if (n == 0) {
        return MCP_OK;
    }

    if (n > MCP_CATALOG_HEADERS_MAX || size > MCP_TOOL_PARAMS_SIZE) {
        x->head.too_many_params = 1;
        return MCP_OK;
    }

    params = mcp_arena_alloc(&x->arena, n * sizeof(mcp_header_t));
    if (params == NULL) {
        return MCP_ERR_MEMORY;
    }

    x->head.params = params;
    x->head.n_params = n;

    for (i = 0; i < head->n_headers; i++) {
        name = mcp_exchange_param_name(head->headers[i].name);

        if (name.data) {
            params->name = name;
            params->value = head->headers[i].value;
            params++;
        }
    }

    return MCP_OK;
}


/* Returns 1 if an argument has the type of its property, or is null or absent.
 * A value of another type cannot be written to a header, so a rule of the
 * operator about the header would not apply to it. */
static int
mcp_exchange_param_fits(mcp_catalog_type_e type,
    const mcp_json_value_t *value)
{
    switch (value->type) {

    case MCP_JSON_NONE:
    case MCP_JSON_NULL:
        return 1;

    case MCP_JSON_STRING:
        return type == MCP_CATALOG_STRING;

    case MCP_JSON_BOOL:
        return type == MCP_CATALOG_BOOLEAN;

    case MCP_JSON_NUMBER:
        return type == MCP_CATALOG_INTEGER
               && mcp_header_value_is_integer(value->raw);

    default:
        return 0;
    }
}


/*
 * Checks whether the Mcp-Param-* headers with the name of "header" agree with
 * the argument "value" in the body. Headers with "_" for "-" in this name, or
 * "-" for "_", must agree too, because they have the same variable
 * $mcp_param_...; but the argument needs a header with exactly this name.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  a header differs, the header is missing, or "value" has the
 *                   wrong type
 *   MCP_ERR_MEMORY
 */
static int
mcp_exchange_param_compare(mcp_exchange_t *x,
    const mcp_catalog_header_t *header, const mcp_json_value_t *value)
{
    int                  rc;
    size_t               i, lines;
    mcp_str_t            text;
    const mcp_header_t  *param;

    rc = mcp_exchange_param_fits(header->type, value) ? MCP_OK
                                                       : MCP_ERR_SYNTAX;
    lines = 0;

    for (i = 0; rc == MCP_OK && i < x->head.n_params; i++) {
        param = &x->head.params[i];

        if (!mcp_tool_param_alike(param->name, header->name)) {
            continue;
        }

        lines += mcp_str_case_eq(param->name, header->name) ? 1 : 0;
        rc = mcp_header_value_decode(&x->arena, param->value, &text);

        if (rc == MCP_OK && !mcp_header_value_is(text, value)) {
            rc = MCP_ERR_SYNTAX;
        }
    }

    if (rc == MCP_OK && lines == 0 && value->type != MCP_JSON_NONE
        && value->type != MCP_JSON_NULL)
    {
        return MCP_ERR_SYNTAX;
    }

    return rc;
}


int
mcp_exchange_param_check(mcp_exchange_t *x, mcp_str_t tool,
    const mcp_json_value_t *arguments, mcp_str_t *detail)
{
    int                          rc;
    size_t                       i, n;
    mcp_tool_params_t            params;
    const mcp_catalog_header_t  *headers;

    if (x->endpoint->catalog == NULL) {
        return MCP_OK;
    }

    headers = mcp_catalog_headers(x->endpoint->catalog, tool, &n);

    if (n == 0) {
        return MCP_OK;
    }

    if (x->head.too_many_params) {
        *detail = mcp_str("too many Mcp-Param headers");
        return MCP_ERR_SYNTAX;
    }

    mcp_tool_params_read(&params, headers, n, arguments);

    for (i = 0; i < n; i++) {
        rc = params.ambiguous >> i & 1
             ? MCP_ERR_SYNTAX
             : mcp_exchange_param_compare(x, &headers[i], &params.values[i]);

        if (rc == MCP_ERR_SYNTAX
            && mcp_tool_param_name(&x->arena, &headers[i], detail) != MCP_OK)
        {
            return MCP_ERR_MEMORY;
        }

        if (rc != MCP_OK) {
            return rc;
        }
    }

    return MCP_OK;
}

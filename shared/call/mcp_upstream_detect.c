/* SPDX-License-Identifier: Apache-2.0 */

#include "call/mcp_upstream_detect.h"

#include "call/mcp_call_internal.h"
#include "call/mcp_upstream_session.h"
#include "rpc/mcp_revision.h"


/* The value that stores the detected form in the zone and in session->form:
 * mcp_upstream_e in the lowest 8 bits, mcp_revision_e in the bits above. */
#define mcp_upstream_form_value(form, revision)                               \
    ((uint32_t) (form) | (uint32_t) (revision) << 8)
#define mcp_upstream_form_of(value)      ((mcp_upstream_e) ((value) & 0xff))
#define mcp_upstream_form_revision(value)  ((mcp_revision_e) ((value) >> 8))

static const mcp_str_t  mcp_upstream_form_name = mcp_str("form of a server");

static const mcp_str_t  mcp_upstream_get_name =
    mcp_str("GET stream of a server");


/* Sets *key to the key under which the zone stores "property" of the MCP server
 * of a request. */
static int
mcp_upstream_detect_key(const mcp_request_t *req, mcp_str_t property,
    unsigned char key[MCP_DIGEST_LEN])
{
    mcp_str_t              parts[4];
    const mcp_endpoint_t  *endpoint;

    endpoint = req->call->endpoint;

    parts[0] = property;
    parts[1] = endpoint->identity;
    parts[2] = (mcp_str_t) { (const char *) endpoint->catalog_key,
                             MCP_DIGEST_LEN };
    parts[3] = mcp_endpoint_target(endpoint, req->target);

    return mcp_digest(key, parts, 4);
}


/* --- the form --- */

static mcp_upstream_e
mcp_upstream_form_take(uint32_t value, mcp_str_t *version)
{
    mcp_upstream_e  form;

    form = mcp_upstream_form_of(value);

    if (form != MCP_UPSTREAM_SESSION) {
        *version = mcp_revision(mcp_upstream_form_revision(value))->name;
    }

    return form;
}


/* Returns the detected form of a server with "mcp_upstream auto", and sets
 * *version unless the form is "session". Returns MCP_UPSTREAM_AUTO if the form
 * has to be detected first. */
static mcp_upstream_e
mcp_upstream_form_auto(mcp_request_t *req, mcp_str_t *version)
{
    uint32_t       value;
    unsigned char  key[MCP_DIGEST_LEN];

    /* prefers the form that this request itself has detected, because the zone
     * may lack the form if it had no room. A request for the description
     * of a server always detects the form again. */

    if (req->session && req->session->form) {
        return mcp_upstream_form_take(req->session->form, version);
    }

    if (req->call->bare
        || mcp_upstream_detect_key(req, mcp_upstream_form_name, key) != MCP_OK
        || mcp_store_value_get(req->call->worker->store,
                               MCP_VALUE_UPSTREAM_FORM, key,
                               mcp_call_now(req->call), &value)
           != MCP_OK)
    {
        return MCP_UPSTREAM_AUTO;
    }

    return mcp_upstream_form_take(value, version);
}


mcp_upstream_e
mcp_upstream_form(mcp_request_t *req, mcp_str_t *version)
{
    mcp_upstream_e  form;

    form = mcp_endpoint_upstream(req->call->endpoint, req->target);
    *version = mcp_null_str;

    switch (form) {

    case MCP_UPSTREAM_MODERN:
        *version = mcp_upstream_latest();
        break;

    case MCP_UPSTREAM_STATELESS:
        *version = mcp_endpoint_upstream_version(req->call->endpoint,
                                                 req->target);
        break;

    case MCP_UPSTREAM_AUTO:
        form = mcp_upstream_form_auto(req, version);
        break;

    default:
        break;
    }

    return form;
}


static void
mcp_upstream_form_log(mcp_request_t *req, mcp_upstream_e form,
    mcp_str_t version)
{
    mcp_str_t  name;

    static const char *const  names[] = {
        [MCP_UPSTREAM_MODERN] = "modern",
        [MCP_UPSTREAM_STATELESS] = "stateless",
        [MCP_UPSTREAM_SESSION] = "session"
    };

    name = mcp_endpoint_target(req->call->endpoint, req->target);

    mcp_worker_log(req->call->worker, MCP_LOG_NOTICE,
                   "the backend \"%.*s\" was detected as an MCP server of the "
                   "form \"mcp_upstream %s\", revision %.*s",
                   (int) name.len, name.data, names[form], (int) version.len,
                   version.data);
}


void
mcp_upstream_form_found(mcp_request_t *req, mcp_upstream_e form,
    mcp_str_t version)
{
    uint32_t        value, old;
    uint64_t        now;
    mcp_call_t     *call;
    mcp_revision_e  revision;
    unsigned char   key[MCP_DIGEST_LEN];

    call = req->call;
    now = mcp_call_now(call);
    revision = mcp_revision_find(version);
    value = mcp_upstream_form_value(form, revision);
    req->session->form = value;

    mcp_store_upstream_form(call->worker->store, req->upstream, form);
    mcp_store_upstream_revision(call->worker->store, req->upstream, revision);

    if (mcp_upstream_detect_key(req, mcp_upstream_form_name, key) != MCP_OK) {
        return;
    }

    /* reads the value even if it has expired, because only a new form is
     * logged */

    if (mcp_store_value_get(call->worker->store, MCP_VALUE_UPSTREAM_FORM, key,
                            0, &old)
        != MCP_OK || old != value)
    {
        mcp_upstream_form_log(req, form, version);
    }

    (void) mcp_store_value_set(call->worker->store, MCP_VALUE_UPSTREAM_FORM,
                               key, value,
                               now + call->endpoint->targets[req->target].check,
                               NULL);
}


void
mcp_upstream_form_forget(mcp_request_t *req)
{
    unsigned char  key[MCP_DIGEST_LEN];

    req->session->form = 0;

    if (mcp_upstream_detect_key(req, mcp_upstream_form_name, key) == MCP_OK) {
        mcp_store_value_delete(req->call->worker->store,
                               MCP_VALUE_UPSTREAM_FORM, key);
    }
}


/* --- the GET stream --- */

int
mcp_upstream_listen_is_refused(const mcp_request_t *req)
{
    uint32_t       value;
    unsigned char  key[MCP_DIGEST_LEN];

    return mcp_upstream_detect_key(req, mcp_upstream_get_name, key) == MCP_OK
           && mcp_store_value_get(req->call->worker->store,
                                  MCP_VALUE_UPSTREAM_NO_STREAM, key,
                                  mcp_call_now(req->call), &value)
              == MCP_OK;
}


void
mcp_upstream_listen_remember(const mcp_request_t *req)
{
    unsigned char  key[MCP_DIGEST_LEN];

    if (mcp_upstream_detect_key(req, mcp_upstream_get_name, key) == MCP_OK) {
        (void) mcp_store_value_set(req->call->worker->store,
                   MCP_VALUE_UPSTREAM_NO_STREAM, key, 1,
                   mcp_call_now(req->call)
                   + req->call->endpoint->targets[req->target].check, NULL);
    }
}


/* --- statistics --- */

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
 * slow. Stores nothing if the fault is an error of this server and not of the
 * MCP server.
 */
static void
mcp_upstream_status_failed(mcp_request_t *req, mcp_fault_e fault,
    const char *why)
{
    mcp_store_t        *store;
    mcp_upstream_up_e   up;

    if (req->failed_here) {
        return;
    }

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
    if (req->breq.unsent) {
        return;
    }

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
mcp_upstream_status_initialized(mcp_request_t *req, int ok)
{
    if (ok || !req->failed_here) {
        mcp_store_upstream_initialized(req->call->worker->store, req->upstream,
                                       ok);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Handles subscriptions/listen. Each subscription has a separate stream in the
 * store. Other requests cannot find this stream, and it ends with the client's
 * connection. A client that subscribes again does not get the notifications
 * that it has missed, and has to request the lists and resources again. The
 * acknowledgement at the start and the result at the end are written to the
 * connection only.
 */


#include "base/mcp_uri.h"
#include "config/mcp_item_access.h"
#include "exchange/mcp_exchange_internal.h"
#include "exchange/mcp_listen.h"
#include "exchange/mcp_permission.h"
#include "rpc/mcp_result.h"
#include "rpc/mcp_subscription.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_notification.h"
#include "worker/mcp_respond.h"
#include "worker/mcp_resume_hooks.h"


/* Maximum number of events of a subscription that wait to be sent. */
#define MCP_LISTEN_EVENTS  64

/* Time after which the stream of a subscription is freed if it has no reader,
 * because its process has died. */
#define MCP_LISTEN_WAIT    10000       /* ms */

#define MCP_LISTEN_READ    4096


/* --- the filter --- */

/* The filter of subscriptions/listen (2026-07-28,
 * basic/patterns/subscriptions): the requested notifications, reduced to those
 * that the endpoint will send. */
typedef struct {
    unsigned            lists; /* requested lists: bit 1 << mcp_topic_e for each
                                  list */
    mcp_str_t           uris;  /* resources, raw JSON array; empty: none */
    mcp_listen_tasks_t  tasks;
} mcp_listen_filter_t;


#define MCP_LISTEN_URIS  1000


/* Values of mcp_listen_member_t.list for the members of a filter that do not
 * select a list. They follow the values of mcp_topic_e. */
enum {
    MCP_LISTEN_URI = MCP_TOPIC_COUNT,
    MCP_LISTEN_TASK
};


typedef struct {
    mcp_str_t    name;         /* name of the filter's member */
    unsigned     list;         /* list that the member selects, a mcp_topic_e;
                                  or MCP_LISTEN_URI, or MCP_LISTEN_TASK */
    mcp_list_e   kinds[2];     /* the endpoint accepts the member if it offers
                                  items of at least one kind in this array */
} mcp_listen_member_t;


static const mcp_listen_member_t  mcp_listen_members[] = {
    { mcp_str("toolsListChanged"), MCP_TOPIC_TOOLS,
      { MCP_LIST_TOOLS, MCP_LIST_TOOLS } },
    { mcp_str("promptsListChanged"), MCP_TOPIC_PROMPTS,
      { MCP_LIST_PROMPTS, MCP_LIST_PROMPTS } },
    { mcp_str("resourcesListChanged"), MCP_TOPIC_RESOURCES,
      { MCP_LIST_RESOURCES, MCP_LIST_TEMPLATES } },
    { mcp_str("resourceSubscriptions"), MCP_LISTEN_URI,
      { MCP_LIST_RESOURCES, MCP_LIST_TEMPLATES } },
    { mcp_str("taskIds"), MCP_LISTEN_TASK, { MCP_LIST_TOOLS, MCP_LIST_TOOLS } }
};

#define MCP_LISTEN_MEMBERS                                                    \
    (sizeof(mcp_listen_members) / sizeof(mcp_listen_members[0]))


static int
mcp_listen_read_uris(mcp_exchange_t *x, const mcp_json_value_t *value,
    mcp_listen_filter_t *filter)
{
    int               rc;
    size_t            n;
    mcp_str_t         uri;
    mcp_arena_mark_t  mark;
    mcp_json_iter_t   iter;
    mcp_json_value_t  element;

    if (value->type != MCP_JSON_ARRAY) {
        return MCP_ERR_SYNTAX;
    }

    filter->uris = value->raw;
    mcp_json_iter_init(&iter, value->raw);

    for (n = 0; mcp_json_iter_next(&iter, NULL, &element); n++) {
        mark = mcp_arena_mark(&x->arena);
        rc = mcp_routing_string(x, &element, &uri);
        mcp_arena_release(&x->arena, mark);

        if (rc != MCP_OK) {
            return rc;
        }
    }

    return n > MCP_LISTEN_URIS ? MCP_ERR_SYNTAX : MCP_OK;
}


/* Reads the member "taskIds" of a filter. If the endpoint does not create
 * tasks, ignores the member like an unknown one. Returns MCP_OK, MCP_ERR_DENIED
 * if the client has not declared the tasks extension, or an error of
 * mcp_listen_task_filter(). */
static int
mcp_listen_read_tasks(mcp_exchange_t *x, const mcp_json_value_t *value,
    mcp_listen_filter_t *filter)
{
    if (!mcp_endpoint_makes_tasks(x->endpoint)) {
        return MCP_OK;
    }

    return x->client.capabilities & MCP_CLIENT_TASKS
           ? mcp_listen_task_filter(x, value, &filter->tasks)
           : MCP_ERR_DENIED;
}


/* Reads one member of a filter. Returns MCP_OK, MCP_ERR_SYNTAX if the member is
 * invalid, MCP_ERR_DENIED if the client has not declared the tasks extension
 * that the member needs, or another error of mcp_listen_task_filter(). */
static int
mcp_listen_read_member(mcp_exchange_t *x, const mcp_listen_member_t *member,
    const mcp_json_value_t *value, mcp_listen_filter_t *filter)
{
    if (member->list == MCP_LISTEN_URI) {
        return mcp_listen_read_uris(x, value, filter);
    }

    if (member->list == MCP_LISTEN_TASK) {
        return mcp_listen_read_tasks(x, value, filter);
    }

    if (value->type != MCP_JSON_BOOL) {
        return MCP_ERR_SYNTAX;
    }

    if (value->raw.data[0] == 't') {
        filter->lists |= 1u << member->list;
    }

    return MCP_OK;
}


/*
 * Reads the filter in the request of x.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_SYNTAX  *wrong is the name of the invalid member
 *   MCP_ERR_DENIED  the client has not declared the task extension that the
 *                   filter uses
 *   MCP_AGAIN, MCP_ERR_UNREACHABLE, MCP_ERR_MEMORY, MCP_ERR_INTERNAL
 *                   as mcp_listen_task_filter()
 */
static int
mcp_listen_filter_read(mcp_exchange_t *x, mcp_listen_filter_t *filter,
    mcp_str_t *wrong)
{
    int               rc;
    size_t            i;
    unsigned          seen;
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    *wrong = mcp_str("notifications");

    if (x->msg->notifications.type != MCP_JSON_OBJECT) {
        return MCP_ERR_SYNTAX;
    }

    seen = 0;
    mcp_json_iter_init(&iter, x->msg->notifications.raw);

    while (mcp_json_iter_next(&iter, &key, &value)) {

        for (i = 0; i < MCP_LISTEN_MEMBERS; i++) {
            if (mcp_json_str_eq(key, mcp_listen_members[i].name)) {
                break;
            }
        }

        if (i == MCP_LISTEN_MEMBERS) {
            continue;
        }

        *wrong = mcp_listen_members[i].name;

        if (seen & (1u << i)) {
            return MCP_ERR_SYNTAX;
        }

        seen |= 1u << i;
        rc = mcp_listen_read_member(x, &mcp_listen_members[i], &value, filter);

        if (rc != MCP_OK) {
            return rc;
        }
    }

    return MCP_OK;
}


/* Removes the lists and the resources from the filter if the endpoint offers no
 * items of their kinds. */
static void
mcp_listen_filter_honour(const mcp_exchange_t *x, mcp_listen_filter_t *filter)
{
    size_t                      i;
    const mcp_listen_member_t  *member;

    for (i = 0; i < MCP_LISTEN_MEMBERS; i++) {
        member = &mcp_listen_members[i];

        if (mcp_endpoint_offers(x->endpoint, member->kinds[0])
            || mcp_endpoint_offers(x->endpoint, member->kinds[1]))
        {
            continue;
        }

        if (member->list == MCP_LISTEN_URI) {
            filter->uris = mcp_null_str;

        } else if (member->list < MCP_TOPIC_COUNT) {
            filter->lists &= ~(1u << member->list);
        }
    }
}


/* Sorts the requested URIs in raw: appends those that the caller may read to
 * uris, and the scopes that the caller lacks for other URIs to scopes. Returns
 * MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_listen_permit_uris(mcp_exchange_t *x, mcp_str_t raw, mcp_buf_t *uris,
    mcp_buf_t *scopes)
{
    mcp_str_t         uri, scope;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_json_iter_init(&iter, raw);

    while (mcp_json_iter_next(&iter, NULL, &value)) {

        if (mcp_json_unescape(&x->arena, value.raw, &uri) != MCP_OK
            || mcp_uri_normal(&x->arena, uri, &uri) != MCP_OK)
        {
            return MCP_ERR_MEMORY;
        }

        switch (mcp_permission(x, MCP_LIST_RESOURCES, uri, &scope)) {

        case MCP_PERMISSION_UNKNOWN:
            break;

        case MCP_PERMISSION_SCOPE:
            mcp_scope_add(scopes, scope);
            break;

        case MCP_PERMISSION_CALL:
            mcp_buf_lit(uris, ",");
            mcp_buf_str(uris, value.raw);
        }
    }

    if (uris->len) {
        uris->data[0] = '[';
        mcp_buf_lit(uris, "]");
    }

    return uris->failed || scopes->failed ? MCP_ERR_MEMORY : MCP_OK;
}


/* Removes from the filter the resources that the caller may not read. If some
 * were removed because the caller lacks a scope, sets *scope to all scopes that
 * these resources require, otherwise to an empty string. Returns MCP_OK or
 * MCP_ERR_MEMORY. */
static int
mcp_listen_filter_permit(mcp_exchange_t *x, mcp_listen_filter_t *filter,
    mcp_str_t *scope)
{
    int        rc;
    mcp_buf_t  uris, scopes;

    *scope = mcp_null_str;

    if (filter->uris.len == 0 || !mcp_endpoint_restricts(x->endpoint)) {
        return MCP_OK;
    }

    mcp_buf_init(&uris, &x->worker->env->mem, SIZE_MAX / 2);
    mcp_buf_init(&scopes, &x->worker->env->mem, SIZE_MAX / 2);

    rc = mcp_listen_permit_uris(x, filter->uris, &uris, &scopes);

    filter->uris = mcp_null_str;

    if (rc == MCP_OK && uris.len) {
        filter->uris = mcp_arena_dup(&x->arena,
                                     (mcp_str_t) { uris.data, uris.len });
        rc = filter->uris.data ? MCP_OK : MCP_ERR_MEMORY;
    }

    if (rc == MCP_OK && scopes.len) {
        *scope = mcp_arena_dup(&x->arena,
                               (mcp_str_t) { scopes.data, scopes.len });
        rc = scope->data ? MCP_OK : MCP_ERR_MEMORY;
    }

    mcp_buf_free(&uris);
    mcp_buf_free(&scopes);

    return rc;
}


static int
mcp_listen_has(const mcp_listen_filter_t *filter, unsigned list)
{
    switch (list) {

    case MCP_LISTEN_URI:
        return filter->uris.len > 0;

    case MCP_LISTEN_TASK:
        return filter->tasks.n > 0;

    default:
        return (filter->lists & (1u << list)) != 0;
    }
}


/* Appends the filter as a JSON object. */
static void
mcp_listen_filter_write(const mcp_listen_filter_t *filter, mcp_buf_t *out)
{
    size_t                      i;
    const char                 *before;
    const mcp_listen_member_t  *member;

    before = "{\"";

    for (i = 0; i < MCP_LISTEN_MEMBERS; i++) {
        member = &mcp_listen_members[i];

        if (!mcp_listen_has(filter, member->list)) {
            continue;
        }

        mcp_buf_add(out, before, 2);
        mcp_buf_str(out, member->name);
        mcp_buf_lit(out, "\":");
        before = ",\"";

        if (member->list == MCP_LISTEN_URI) {
            mcp_json_add_line(out, filter->uris);

        } else if (member->list == MCP_LISTEN_TASK) {
            mcp_listen_task_ids(&filter->tasks, out);

        } else {
            mcp_buf_lit(out, "true");
        }
    }

    mcp_buf_add(out, "{", before[0] == '{' ? 1 : 0);
    mcp_buf_lit(out, "}");
}


/* --- the stream of a subscription --- */

static int
mcp_listen_create(mcp_exchange_t *x, mcp_stream_ref_t *ref)
{
    int                rc;
    mcp_stream_spec_t  spec;

    memset(&spec, 0, sizeof(mcp_stream_spec_t));

    rc = mcp_worker_random(x->worker, spec.id, MCP_STREAM_ID_LEN);
    if (rc != MCP_OK) {
        return rc;
    }

    spec.kind = MCP_STREAM_LISTEN;
    memcpy(spec.principal, x->client.principal, MCP_DIGEST_LEN);
    spec.revision = x->client.revision;
    spec.max_wait = MCP_LISTEN_WAIT;
    spec.max_events = MCP_LISTEN_EVENTS;
    spec.max_bytes = x->endpoint->stream_buffer;
    mcp_tenant(x->endpoint, x->head.tenant, &spec.tenant);

    return mcp_store_create(x->worker->store, &spec,
                            mcp_worker_now(x->worker), ref);
}


static int
mcp_listen_subscribe_uri(mcp_exchange_t *x, const mcp_stream_ref_t *ref,
    mcp_str_t raw)
{
    int               rc;
    mcp_str_t         uri;
    mcp_arena_mark_t  mark;
    unsigned char     topic[MCP_DIGEST_LEN];

    mark = mcp_arena_mark(&x->arena);
    rc = mcp_json_unescape(&x->arena, raw, &uri);

    if (rc == MCP_OK) {
        rc = mcp_uri_normal(&x->arena, uri, &uri);
    }

    if (rc == MCP_OK) {
        rc = mcp_topic_uri(uri, topic);
    }

    mcp_arena_release(&x->arena, mark);

    return rc == MCP_OK ? mcp_store_subscribe(x->worker->store, ref, topic)
                        : rc;
}


static int
mcp_listen_subscribe(mcp_exchange_t *x, const mcp_listen_filter_t *filter,
    const mcp_stream_ref_t *ref)
{
    int               rc;
    unsigned          list;
    mcp_json_iter_t   iter;
    mcp_json_value_t  uri;

    rc = MCP_OK;

    for (list = 0; rc == MCP_OK && list < MCP_TOPIC_LISTS; list++) {
        if (filter->lists & (1u << list)) {
            rc = mcp_notify_subscribe(x->worker, x->endpoint, ref,
                                      (mcp_topic_e) list);
        }
    }

    mcp_json_iter_init(&iter, filter->uris);

    while (rc == MCP_OK && filter->uris.len
           && mcp_json_iter_next(&iter, NULL, &uri))
    {
        rc = mcp_listen_subscribe_uri(x, ref, uri.raw);
    }

    return rc == MCP_OK ? mcp_listen_task_subscribe(x, &filter->tasks, ref)
                        : rc;
}


/* Writes the first message, which lists the notifications that the endpoint
 * will send. */
static void
mcp_listen_acknowledge(mcp_exchange_t *x, const mcp_listen_filter_t *filter)
{
    mcp_buf_t  *out;

    out = &x->output.out;

    mcp_buf_lit(out, "data: {\"jsonrpc\":\"2.0\",\"method\":"
                     "\"notifications/subscriptions/acknowledged\","
                     "\"params\":{\"_meta\":{\"" MCP_SUBSCRIPTION_ID "\":");
    mcp_buf_str(out, x->msg->id);
    mcp_buf_lit(out, "},\"notifications\":");
    mcp_listen_filter_write(filter, out);
    mcp_buf_lit(out, "}}\n\n");
}


/* --- the connection --- */

/* The state of a subscription, kept with its exchange. "splice" is used to
 * insert the id of the subscription into each notification. */
typedef struct {
    mcp_subscription_splice_t  splice;
    mcp_listen_tasks_t         tasks;
} mcp_listen_state_t;


static int
mcp_listen_read(mcp_exchange_t *x)
{
    int                  rc;
    char                 text[MCP_LISTEN_READ];
    size_t               len;
    mcp_listen_state_t  *state;

    state = mcp_hook_state(x->states, x->resumption);

    if (state->tasks.n) {
        return mcp_listen_task_read(x, &state->tasks, &state->splice);
    }

    rc = mcp_store_read(x->worker->store, &x->reader.ref, x->reader.handle,
                        &x->reader.cursor, x->reader.sent, text, sizeof(text),
                        &len);

    if (rc != MCP_OK) {
        return rc;
    }

    mcp_subscription_splice(&state->splice, x->msg->id,
                            (mcp_str_t) { text, len }, &x->output.out);

    return x->output.out.failed;
}


/* Writes the result, by which a subscription ends normally. Writes nothing if
 * only a part of the last event was sent, which happens if the client reads too
 * slowly. */
static void
mcp_listen_last(mcp_exchange_t *x)
{
    mcp_buf_t     body;
    mcp_result_t  add;

    if (x->reader.cursor.done) {
        return;
    }

    mcp_buf_init(&body, &x->worker->env->mem, SIZE_MAX / 2);
    mcp_buf_lit(&body, "{\"resultType\":\"complete\","
                       "\"_meta\":{\"" MCP_SUBSCRIPTION_ID "\":");
    mcp_buf_str(&body, x->msg->id);
    mcp_buf_lit(&body, "}}");

    if (!body.failed) {
        mcp_buf_lit(&x->output.out, "data: ");
        mcp_result_write(&x->output.out, x->msg->id,
                         (mcp_str_t) { body.data, body.len },
                         mcp_endpoint_result(x->endpoint, &x->client,
                             mcp_method(MCP_METHOD_SUBSCRIPTIONS_LISTEN),
                             mcp_null_str, &add));
        mcp_buf_lit(&x->output.out, "\n\n");
    }

    mcp_buf_free(&body);
}


static const mcp_resume_reader_t  mcp_listen_reader = {
    .read = mcp_listen_read,
    .last = mcp_listen_last
};

/* The functions of a subscription, in the form of a resumption method. This
 * structure is not in the worker's list of methods, because clients cannot
 * resume a subscription. */
static const mcp_resume_method_t  mcp_listen_resume = {
    .name = { "listen", 6 },
    .reader = &mcp_listen_reader
};


static int
mcp_listen_begin(mcp_exchange_t *x, const mcp_listen_filter_t *filter,
    const mcp_stream_ref_t *ref)
{
    int                  rc;
    mcp_listen_state_t  *state;

    x->resumption = &mcp_listen_resume;

    state = mcp_hook_state_create(x, x->resumption, sizeof(mcp_listen_state_t));
    if (state == NULL) {
        return MCP_ERR_MEMORY;
    }

    state->tasks = filter->tasks;

    rc = mcp_listen_subscribe(x, filter, ref);

    if (rc == MCP_OK) {
        rc = mcp_consumer_start(x, ref, 0);
    }

    if (rc != MCP_OK) {
        return rc;
    }

    x->reader.cursor.plain = 1;
    x->reader.listener = 1;
    x->reader.own = 1;
    mcp_listen_acknowledge(x, filter);

    if (x->output.out.failed) {
        mcp_consumer_leave(x);
    }

    return x->output.out.failed;
}


static mcp_next_e
mcp_listen_start(mcp_exchange_t *x, const mcp_listen_filter_t *filter)
{
    int               rc;
    mcp_stream_ref_t  ref;

    rc = mcp_listen_create(x, &ref);

    if (rc == MCP_OK) {
        rc = mcp_listen_begin(x, filter, &ref);

        if (rc != MCP_OK) {
            mcp_store_free(x->worker->store, &ref);
        }
    }

    return rc == MCP_OK ? MCP_NEXT_STREAM
                        : mcp_respond_no_room(x, rc, x->msg->id);
}


/* Handles subscriptions/listen. After returning MCP_NEXT_WAIT, this function
 * runs again when the cluster has replied, see mcp_cluster_operation.h. */
mcp_next_e
mcp_listen(mcp_exchange_t *x)
{
    int                  rc;
    mcp_str_t            wrong, scope;
    mcp_listen_filter_t  filter;

    memset(&filter, 0, sizeof(mcp_listen_filter_t));
    rc = mcp_listen_filter_read(x, &filter, &wrong);

    if (rc == MCP_ERR_SYNTAX) {
        return mcp_respond_fault(x, MCP_FAULT_PARAMS, x->msg->id, wrong);
    }

    if (rc == MCP_ERR_DENIED) {
        return mcp_respond_fault_data(x, MCP_FAULT_CAPABILITY, x->msg->id,
                                      mcp_null_str,
                                      mcp_str(MCP_CLIENT_TASKS_REQUIRED));
    }

    if (rc == MCP_ERR_UNREACHABLE) {
        return mcp_respond_fault(x, MCP_FAULT_CLUSTER_UNREACHABLE, x->msg->id,
                                 mcp_null_str);
    }

    if (rc != MCP_OK) {
        return mcp_operation_next(rc);
    }

    mcp_listen_filter_honour(x, &filter);

    if (mcp_listen_filter_permit(x, &filter, &scope) != MCP_OK) {
        return MCP_NEXT_ERROR;
    }

    if (scope.len) {
        return mcp_permission_refuse(x, scope);
    }

    return mcp_listen_start(x, &filter);
}

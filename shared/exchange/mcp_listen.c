/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each subscription has a stream of its own in the store, which nobody else
 * finds and which goes with its connection: what a client missed it does not
 * get later, it asks for the lists and resources again.  The acknowledgement
 * and the result at the end are the connection's, not in the log.
 */

#include "exchange/mcp_listen.h"
#include "exchange/mcp_permission.h"
#include "rpc/mcp_result.h"
#include "rpc/mcp_scope.h"
#include "rpc/mcp_subscription.h"
#include "worker/mcp_answer.h"
#include "worker/mcp_consumer.h"
#include "worker/mcp_hook.h"
#include "worker/mcp_notify.h"


#define MCP_LISTEN_URIS    1000

/* Events that a connection may be behind. */
#define MCP_LISTEN_EVENTS  64

/* A stream without a reader: its process died. */
#define MCP_LISTEN_WAIT    10000       /* ms */

#define MCP_LISTEN_READ    4096


/* What a client wants to hear of. */
typedef struct {
    unsigned   lists;          /* bits of mcp_topic_e */
    mcp_str_t  uris;           /* a raw array; empty: none */
} mcp_listen_filter_t;


typedef struct {
    mcp_str_t    name;         /* of the filter's member */
    mcp_topic_e  list;         /* COUNT: the URIs */
    mcp_list_e   kinds[2];     /* offered if one of these is */
} mcp_listen_member_t;


static const mcp_listen_member_t  mcp_listen_members[] = {
    { mcp_str("toolsListChanged"), MCP_TOPIC_TOOLS,
      { MCP_LIST_TOOLS, MCP_LIST_TOOLS } },
    { mcp_str("promptsListChanged"), MCP_TOPIC_PROMPTS,
      { MCP_LIST_PROMPTS, MCP_LIST_PROMPTS } },
    { mcp_str("resourcesListChanged"), MCP_TOPIC_RESOURCES,
      { MCP_LIST_RESOURCES, MCP_LIST_TEMPLATES } },
    { mcp_str("resourceSubscriptions"), MCP_TOPIC_COUNT,
      { MCP_LIST_RESOURCES, MCP_LIST_TEMPLATES } }
};

#define MCP_LISTEN_MEMBERS                                                    \
    (sizeof(mcp_listen_members) / sizeof(mcp_listen_members[0]))


/* --- the filter --- */

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
        rc = mcp_verdict_string(x, &element, &uri);
        mcp_arena_release(&x->arena, mark);

        if (rc != MCP_OK) {
            return rc;
        }
    }

    return n > MCP_LISTEN_URIS ? MCP_ERR_SYNTAX : MCP_OK;
}


/* MCP_OK, MCP_ERR_SYNTAX if the member is wrong, or MCP_ERR_MEMORY. */
static int
mcp_listen_read_member(mcp_exchange_t *x, const mcp_listen_member_t *member,
    const mcp_json_value_t *value, mcp_listen_filter_t *filter)
{
    if (member->list == MCP_TOPIC_COUNT) {
        return mcp_listen_read_uris(x, value, filter);
    }

    if (value->type != MCP_JSON_BOOL) {
        return MCP_ERR_SYNTAX;
    }

    if (value->raw.data[0] == 't') {
        filter->lists |= 1u << member->list;
    }

    return MCP_OK;
}


/* What is asked for: MCP_OK, or
 *   MCP_ERR_SYNTAX  *wrong is the member's name
 *   MCP_ERR_MEMORY */
static int
mcp_listen_read_filter(mcp_exchange_t *x, mcp_listen_filter_t *filter,
    mcp_str_t *wrong)
{
    int               rc;
    size_t            i;
    unsigned          seen;
    mcp_str_t         key;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    *wrong = mcp_str("notifications");

    if (x->msg.notifications.type != MCP_JSON_OBJECT) {
        return MCP_ERR_SYNTAX;
    }

    seen = 0;
    mcp_json_iter_init(&iter, x->msg.notifications.raw);

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


/* Takes out what the endpoint does not have. */
static void
mcp_listen_honour(const mcp_exchange_t *x, mcp_listen_filter_t *filter)
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

        if (member->list == MCP_TOPIC_COUNT) {
            filter->uris = mcp_null_str;

        } else {
            filter->lists &= ~(1u << member->list);
        }
    }
}


/* Keeps the URIs that the caller may read, and adds the scopes that it lacks
 * for others.  MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_listen_permit_uris(mcp_exchange_t *x, mcp_str_t raw, mcp_buf_t *uris,
    mcp_buf_t *scopes)
{
    mcp_str_t         uri, scope;
    mcp_json_iter_t   iter;
    mcp_json_value_t  value;

    mcp_json_iter_init(&iter, raw);

    while (mcp_json_iter_next(&iter, NULL, &value)) {

        if (mcp_json_unescape(&x->arena, value.raw, &uri) != MCP_OK) {
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


/* Takes out what is hidden from the caller.  *scope is what it lacks for the
 * rest, empty if nothing.  MCP_OK or MCP_ERR_MEMORY. */
static int
mcp_listen_permit(mcp_exchange_t *x, mcp_listen_filter_t *filter,
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


/* --- the stream --- */

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
    mcp_party(x->endpoint, x->head.party, &spec.party);

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

    return rc;
}


/* The first message: what the endpoint will tell of. */
static void
mcp_listen_acknowledge(mcp_exchange_t *x, const mcp_listen_filter_t *filter)
{
    size_t                      i;
    mcp_buf_t                  *out;
    const char                 *comma;
    const mcp_listen_member_t  *member;

    out = &x->answer.out;
    comma = "";

    mcp_buf_lit(out, "data: {\"jsonrpc\":\"2.0\",\"method\":"
                     "\"notifications/subscriptions/acknowledged\","
                     "\"params\":{\"_meta\":{\"" MCP_SUBSCRIPTION_ID "\":");
    mcp_buf_str(out, x->msg.id);
    mcp_buf_lit(out, "},\"notifications\":{");

    for (i = 0; i < MCP_LISTEN_MEMBERS; i++) {
        member = &mcp_listen_members[i];

        if (member->list == MCP_TOPIC_COUNT
            ? filter->uris.len == 0 : !(filter->lists & (1u << member->list)))
        {
            continue;
        }

        mcp_buf_add(out, comma, strlen(comma));
        mcp_buf_lit(out, "\"");
        mcp_buf_str(out, member->name);
        mcp_buf_lit(out, "\":");
        comma = ",";

        if (member->list == MCP_TOPIC_COUNT) {
            mcp_json_add_line(out, filter->uris);

        } else {
            mcp_buf_lit(out, "true");
        }
    }

    mcp_buf_lit(out, "}}}\n\n");
}


/* --- the connection --- */

static int
mcp_listen_read(mcp_exchange_t *x)
{
    int                         rc;
    char                        text[MCP_LISTEN_READ];
    size_t                      len;
    mcp_subscription_splice_t  *splice;

    splice = mcp_hook_state(x->states, x->face);

    rc = mcp_store_read(x->worker->store, &x->reader.ref, x->reader.handle,
                        &x->reader.cursor, x->reader.sent, text, sizeof(text),
                        &len);

    if (rc != MCP_OK) {
        return rc;
    }

    mcp_subscription_splice(splice, x->msg.id, (mcp_str_t) { text, len },
                            &x->answer.out);

    return x->answer.out.failed;
}


static int
mcp_listen_stays(mcp_exchange_t *x)
{
    (void) x;

    return 0;
}


/* The result ends the subscription in order.  It cannot be written in the
 * middle of a message, where a reader that was too slow may find itself. */
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
    mcp_buf_str(&body, x->msg.id);
    mcp_buf_lit(&body, "}}");

    if (!body.failed) {
        mcp_buf_lit(&x->answer.out, "data: ");
        mcp_result_write(&x->answer.out, x->msg.id,
                         (mcp_str_t) { body.data, body.len },
                         mcp_endpoint_result(x->endpoint, &x->client,
                             mcp_method(MCP_METHOD_SUBSCRIPTIONS_LISTEN),
                             mcp_null_str, &add));
        mcp_buf_lit(&x->answer.out, "\n\n");
    }

    mcp_buf_free(&body);
}


static const mcp_face_reader_t  mcp_listen_reader = {
    .read = mcp_listen_read,
    .stays = mcp_listen_stays,
    .last = mcp_listen_last
};

/* Not one of the worker's: nobody comes back by it. */
static const mcp_face_t  mcp_listen_face = {
    .name = { "listen", 6 },
    .reader = &mcp_listen_reader
};


static int
mcp_listen_begin(mcp_exchange_t *x, const mcp_listen_filter_t *filter,
    const mcp_stream_ref_t *ref)
{
    int  rc;

    x->face = &mcp_listen_face;

    if (mcp_hook_state_create(x, x->face, sizeof(mcp_subscription_splice_t))
        == NULL)
    {
        return MCP_ERR_MEMORY;
    }

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

    return x->answer.out.failed;
}


static int
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

    switch (rc) {

    case MCP_OK:
        return MCP_DONE;

    case MCP_ERR_LIMIT:
        return mcp_answer_fault(x, MCP_FAULT_TOO_MANY_STREAMS, x->msg.id,
                                mcp_null_str);

    case MCP_ERR_FULL:
        return mcp_answer_fault(x, MCP_FAULT_STORE_FULL, x->msg.id,
                                mcp_null_str);

    default:
        return MCP_ERR_MEMORY;
    }
}


int
mcp_listen(mcp_exchange_t *x)
{
    int                  rc;
    mcp_str_t            wrong, scope;
    mcp_listen_filter_t  filter;

    memset(&filter, 0, sizeof(mcp_listen_filter_t));
    rc = mcp_listen_read_filter(x, &filter, &wrong);

    if (rc == MCP_ERR_SYNTAX) {
        return mcp_answer_fault(x, MCP_FAULT_PARAMS, x->msg.id, wrong);
    }

    if (rc != MCP_OK) {
        return rc;
    }

    mcp_listen_honour(x, &filter);

    rc = mcp_listen_permit(x, &filter, &scope);

    if (rc != MCP_OK) {
        return rc;
    }

    if (scope.len) {
        return mcp_permission_refuse(x, scope);
    }

    return mcp_listen_start(x, &filter);
}

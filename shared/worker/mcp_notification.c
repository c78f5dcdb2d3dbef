/* SPDX-License-Identifier: Apache-2.0 */

#include "base/mcp_uri.h"
#include "config/mcp_tenant.h"
#include "rpc/mcp_method.h"
#include "rpc/mcp_subscription.h"
#include "store/mcp_store_replication.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_notification.h"


/* Time for which a broadcast of a notification is valid, ms. */
#define MCP_NOTIFY_GOOD    60000

/* Maximum depth of the JSON of a notification from another node: the highest
 * value of mcp_max_depth. */
#define MCP_NOTIFY_DEPTH   512


/* The members that are read in a notification from another node. */
typedef enum {
    MCP_NOTIFY_METHOD = 0,
    MCP_NOTIFY_PARAMS,
    MCP_NOTIFY_URI,
    MCP_NOTIFY_FIELDS
} mcp_notify_field_e;

static const mcp_json_field_t  mcp_notify_fields[MCP_NOTIFY_FIELDS] = {
    mcp_json_field(MCP_JSON_ROOT, "method"),
    mcp_json_object(MCP_JSON_ROOT, "params", MCP_NOTIFY_URI),
    mcp_json_field(MCP_NOTIFY_PARAMS, "uri")
};


/* The subscribers that get a notification. */
typedef struct {
    mcp_publish_to_t         to;
    const mcp_stream_ref_t  *only;     /* the only stream that gets the
                                          notification, if subscribed; NULL: all
                                          streams that "to" selects */
} mcp_notify_to_t;


/* --- delivery in slices --- */

/* Maximum number of subscribers that get a notification while the store's lock
 * is held once. */
#define MCP_NOTIFY_BUDGET  256

/* Maximum size of the queue of notifications, bytes. If a message would exceed
 * it, mcp_notify_slices() delivers all queued notifications before it
 * returns. */
#define MCP_NOTIFY_QUEUE   (4 * 1024 * 1024)


/* A queued notification, which some subscribers have not got yet. */
struct mcp_notify_entry_s {
    mcp_notify_entry_t  *next;
    unsigned char        topic[MCP_DIGEST_LEN];
    mcp_publish_to_t     to;
    uint64_t             position;     /* see mcp_store_publish() */
    mcp_str_t            message;      /* the text is stored after this
                                          structure */
};


static void mcp_notify_continue(void *data);


/* Delivers a notification to at most *left subscribers, and subtracts their
 * number from *left. Returns MCP_AGAIN if there are more subscribers. */
static int
mcp_notify_serve(mcp_worker_t *worker, mcp_notify_entry_t *entry,
    unsigned *left)
{
    int       rc;
    size_t    n;
    unsigned  budget;

    rc = MCP_AGAIN;

    while (rc == MCP_AGAIN && *left > 0) {
        n = 0;
        budget = *left < MCP_NOTIFY_BUDGET ? *left : MCP_NOTIFY_BUDGET;

        rc = mcp_store_publish(worker->store, entry->topic, entry->message,
                               &entry->to, budget, &entry->position, &n);

        *left -= rc == MCP_AGAIN ? budget : (unsigned) n;
    }

    return rc;
}


static size_t
mcp_notify_size(const mcp_notify_entry_t *entry)
{
    return sizeof(mcp_notify_entry_t) + entry->message.len;
}


/* Frees the first notification of the queue. */
static void
mcp_notify_remove(mcp_worker_t *worker)
{
    mcp_notify_entry_t  *entry;

    entry = worker->notify;
    worker->notify = entry->next;
    worker->notify_size -= mcp_notify_size(entry);

    if (worker->notify == NULL) {
        worker->notify_last = NULL;
        mcp_timer_del(&worker->timers, &worker->notify_timer);
    }

    mcp_mem_free(&worker->env->mem, entry);
}


/* Appends a copy of a notification to the queue. Returns 0 when out of
 * memory. */
static int
mcp_notify_keep(mcp_worker_t *worker, const mcp_notify_entry_t *entry)
{
    char                *text;
    mcp_notify_entry_t  *kept;

    kept = worker->env->mem.alloc(worker->env->mem.ctx, mcp_notify_size(entry));
    if (kept == NULL) {
        return 0;
    }

    *kept = *entry;
    text = (char *) (kept + 1);
    memcpy(text, entry->message.data, entry->message.len);
    kept->message.data = text;
    kept->next = NULL;

    if (worker->notify_last != NULL) {
        worker->notify_last->next = kept;

    } else {
        worker->notify = kept;
        worker->notify_timer.handler = mcp_notify_continue;
        worker->notify_timer.data = worker;
        mcp_timer_set(&worker->timers, &worker->notify_timer,
                      mcp_worker_now(worker) + 1);
    }

    worker->notify_last = kept;
    worker->notify_size += mcp_notify_size(kept);

    return 1;
}


static void
mcp_notify_continue(void *data)
{
    unsigned       left;
    mcp_worker_t  *worker;

    worker = data;
    left = MCP_NOTIFY_SLICE;

    while (worker->notify != NULL
           && mcp_notify_serve(worker, worker->notify, &left) != MCP_AGAIN)
    {
        mcp_notify_remove(worker);
    }

    if (worker->notify != NULL) {
        mcp_timer_set(&worker->timers, &worker->notify_timer,
                      mcp_worker_now(worker) + 1);
    }
}


/* Delivers a notification to all subscribers that have not got it yet. */
static void
mcp_notify_serve_all(mcp_worker_t *worker, mcp_notify_entry_t *entry)
{
    unsigned  left;

    do {
        left = MCP_NOTIFY_SLICE;
    } while (mcp_notify_serve(worker, entry, &left) == MCP_AGAIN);
}


void
mcp_notify_flush(mcp_worker_t *worker)
{
    while (worker->notify != NULL) {
        mcp_notify_serve_all(worker, worker->notify);
        mcp_notify_remove(worker);
    }
}


void
mcp_notify_drop(mcp_worker_t *worker)
{
    while (worker->notify != NULL) {
        mcp_notify_remove(worker);
    }
}


void
mcp_notify_slices(mcp_worker_t *worker,
    const unsigned char topic[MCP_DIGEST_LEN], mcp_str_t message,
    const mcp_publish_to_t *to)
{
    unsigned            left;
    mcp_notify_entry_t  entry;

    left = MCP_NOTIFY_SLICE;
    memset(&entry, 0, sizeof(mcp_notify_entry_t));
    memcpy(entry.topic, topic, MCP_DIGEST_LEN);
    entry.to = *to;
    entry.message = message;

    if (worker->stopping
        || worker->notify_size + message.len > MCP_NOTIFY_QUEUE)
    {
        mcp_notify_flush(worker);
    }

    if (worker->notify != NULL) {

        /* streams that subscribe from now on do not get the message */

        entry.position = mcp_store_publish_start(worker->store);

    } else if (mcp_notify_serve(worker, &entry, &left) != MCP_AGAIN) {
        return;
    }

    if (!worker->stopping && mcp_notify_keep(worker, &entry)) {
        return;
    }

    mcp_notify_flush(worker);
    mcp_notify_serve_all(worker, &entry);
}


/* --- listeners of sessions --- */

int
mcp_notify_listener_id(const unsigned char session[MCP_DIGEST_LEN],
    unsigned char id[MCP_STREAM_ID_LEN])
{
    mcp_str_t  parts[2];

    /* the id is a digest of the session's id, so that the stream is found
     * without an index */

    parts[0] = mcp_str("listen");
    parts[1].data = (const char *) session;
    parts[1].len = MCP_DIGEST_LEN;

    return mcp_digest(id, parts, 2);
}


/* Sets the spec of a session's own stream. */
static int
mcp_notify_spec(const mcp_endpoint_t *endpoint, const mcp_client_t *client,
    const unsigned char tenant[MCP_DIGEST_LEN], mcp_stream_spec_t *spec)
{
    memset(spec, 0, sizeof(mcp_stream_spec_t));
    spec->kind = MCP_STREAM_LISTEN;
    memcpy(spec->session, client->id, MCP_DIGEST_LEN);
    memcpy(spec->principal, client->principal, MCP_DIGEST_LEN);
    spec->revision = client->revision;
    spec->expires = client->expires;
    spec->max_wait = endpoint->max_wait;
    spec->linger = endpoint->linger;
    spec->max_events = endpoint->max_events;
    spec->max_bytes = endpoint->stream_buffer;
    mcp_tenant(endpoint, tenant, &spec->tenant);

    return mcp_notify_listener_id(client->id, spec->id);
}


int
mcp_notify_subscribe(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    const mcp_stream_ref_t *ref, mcp_topic_e list)
{
    int            rc;
    unsigned char  topic[MCP_DIGEST_LEN];

    rc = mcp_topic_list(list, NULL, topic);

    if (rc == MCP_OK) {
        rc = mcp_store_subscribe(worker->store, ref, topic);
    }

    if (rc == MCP_OK) {
        rc = mcp_topic_list(list, endpoint->catalog_key, topic);
    }

    if (rc == MCP_OK) {
        rc = mcp_store_subscribe(worker->store, ref, topic);
    }

    return rc;
}


int
mcp_notify_listener(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    const mcp_client_t *client, const unsigned char tenant[MCP_DIGEST_LEN],
    mcp_stream_info_t *info)
{
    int                rc;
    mcp_stream_ref_t   ref;
    mcp_stream_spec_t  spec;

    rc = mcp_notify_spec(endpoint, client, tenant, &spec);
    if (rc != MCP_OK) {
        return rc;
    }

    /* repeated if another process has created the stream in the meantime */

    do {
        rc = mcp_store_find(worker->store, spec.id, 0, info);
        if (rc != MCP_ERR_NOT_FOUND) {
            return rc;
        }

        rc = mcp_store_create(worker->store, &spec,
                              mcp_worker_now(worker), &ref);

    } while (rc == MCP_ERR_EXISTS);

    if (rc != MCP_OK) {
        return rc;
    }

    mcp_operation_replicate(worker, &ref, 0);

    rc = mcp_notify_subscribe(worker, endpoint, &ref, MCP_TOPIC_LISTS);

    if (rc != MCP_OK) {
        mcp_store_free(worker->store, &ref);
        return rc;
    }

    return mcp_store_info(worker->store, &ref, info);
}


int
mcp_notify_receive_topic(mcp_worker_t *worker,
    const unsigned char session[MCP_DIGEST_LEN],
    const unsigned char topic[MCP_DIGEST_LEN], unsigned subscribe)
{
    unsigned char      id[MCP_STREAM_ID_LEN];
    mcp_stream_info_t  info;

    /* the topic is also added to a mirror, because the mirror may soon be
     * promoted */

    if (mcp_notify_listener_id(session, id) != MCP_OK
        || mcp_store_find(worker->store, id, 0, &info) != MCP_OK
        || info.kind != MCP_STREAM_LISTEN)
    {
        return MCP_OK;
    }

    if (subscribe) {
        return mcp_store_subscribe(worker->store, &info.ref, topic);
    }

    return mcp_store_unsubscribe(worker->store, &info.ref, topic);
}


/* Makes the session's own stream available at this node, for a client that has
 * not named an event. Returns the values of mcp_operation_stream(), or
 * MCP_ERR_MEMORY. After returning MCP_AGAIN, this function runs again when the
 * cluster has replied, see mcp_cluster_operation.h. */
static int
mcp_notify_poll(mcp_exchange_t *x)
{
    mcp_operation_stream_t  stream;

    memset(&stream, 0, sizeof(mcp_operation_stream_t));

    if (mcp_notify_listener_id(x->client.id, stream.id) != MCP_OK) {
        return MCP_ERR_MEMORY;
    }

    memcpy(stream.session, x->client.id, MCP_DIGEST_LEN);
    memcpy(stream.principal, x->client.principal, MCP_DIGEST_LEN);
    stream.listens = 1;

    return mcp_operation_stream(x, MCP_OPERATION_STREAM, &stream);
}


/*
 * Creates the session's own stream at this node because no node has it, and
 * makes it available to other nodes. First frees a mirror whose stream does not
 * exist any more. If another node creates the stream at the same time, Redis
 * decides which node was first (cluster/redis/append.lua).
 *
 * Later runs of the entry function create nothing, because this node may have a
 * mirror of the other node's stream by then. After returning MCP_AGAIN, this
 * function runs again when the cluster has replied, see
 * mcp_cluster_operation.h.
 */
static int
mcp_notify_create(mcp_exchange_t *x, mcp_stream_info_t *info)
{
    int            rc;
    unsigned char  id[MCP_STREAM_ID_LEN];

    if (mcp_operation_once(x)) {

        if (mcp_notify_listener_id(x->client.id, id) == MCP_OK) {
            mcp_store_mirror_forget(x->worker->store, id);
        }

        rc = mcp_notify_listener(x->worker, x->endpoint, &x->client,
                                 x->head.tenant, info);

        if (rc != MCP_OK) {
            return rc;
        }
    }

    rc = mcp_notify_poll(x);

    return rc == MCP_ERR_NOT_FOUND ? MCP_OK : rc;
}


/* After returning MCP_AGAIN, this function runs again when the cluster has
 * replied, see mcp_cluster_operation.h. */
int
mcp_notify_here(mcp_exchange_t *x, mcp_stream_info_t *info)
{
    int            rc;
    unsigned char  id[MCP_STREAM_ID_LEN];

    rc = x->worker->cluster ? mcp_notify_poll(x) : MCP_OK;

    if (rc == MCP_ERR_NOT_FOUND) {
        rc = mcp_notify_create(x, info);
    }

    if (rc == MCP_OK) {
        return mcp_notify_listener(x->worker, x->endpoint, &x->client,
                                   x->head.tenant, info);
    }

    /* the cluster is unreachable: if this node has the stream itself, and not
     * a mirror, the client reads it */

    if (rc == MCP_ERR_UNREACHABLE
        && mcp_notify_listener_id(x->client.id, id) == MCP_OK
        && mcp_store_find(x->worker->store, id, mcp_worker_now(x->worker), info)
           == MCP_OK
        && !info->mirror)
    {
        return MCP_OK;
    }

    return rc == MCP_ERR_DENIED ? MCP_ERR_UNREACHABLE : rc;
}


/* --- notifications --- */

static void
mcp_notify_send(mcp_worker_t *worker, const mcp_notify_to_t *to,
    const unsigned char topic[MCP_DIGEST_LEN], mcp_str_t message)
{
    if (to->only == NULL) {
        mcp_notify_slices(worker, topic, message, &to->to);
        return;
    }

    /* the queued notifications are earlier than this message, so the stream
     * gets them first */

    mcp_notify_flush(worker);
    mcp_store_publish_one(worker->store, to->only, topic, message);
}


static void
mcp_notify_list_to(mcp_worker_t *worker, const mcp_notify_to_t *to,
    mcp_topic_e list, const unsigned char *catalog_key, mcp_str_t message)
{
    mcp_buf_t      form;
    unsigned char  topic[MCP_DIGEST_LEN];

    if (mcp_topic_list(MCP_TOPIC_LISTS, catalog_key, topic) == MCP_OK) {
        mcp_notify_send(worker, to, topic, message);
    }

    mcp_buf_init(&form, &worker->env->mem, SIZE_MAX / 2);
    mcp_subscription_form(&form, mcp_topic_method(list), message);

    if (!form.failed && mcp_topic_list(list, catalog_key, topic) == MCP_OK) {
        mcp_notify_send(worker, to, topic, mcp_buf_text(&form));
    }

    mcp_buf_free(&form);
}


void
mcp_notify_list(mcp_worker_t *worker, mcp_topic_e list,
    const unsigned char *catalog_key, mcp_str_t message)
{
    mcp_notify_to_t  to = { { MCP_PUBLISH_ALL, 0, 0 }, NULL };

    mcp_notify_list_to(worker, &to, list, catalog_key, message);
}


void
mcp_notify_task(mcp_worker_t *worker,
    const unsigned char stream[MCP_STREAM_ID_LEN])
{
    char             mark[1 + MCP_STREAM_TEXT_LEN];
    unsigned char    topic[MCP_DIGEST_LEN];
    mcp_notify_to_t  to = { { MCP_PUBLISH_ALL, 0, 0 }, NULL };

    mark[0] = MCP_NOTIFY_MARK;
    mcp_stream_id_print(mark + 1, stream);

    if (mcp_topic_task(stream, topic) == MCP_OK) {
        mcp_notify_send(worker, &to, topic, (mcp_str_t) { mark, sizeof(mark) });
    }
}


static void
mcp_notify_resource(mcp_worker_t *worker, const mcp_notify_to_t *to,
    mcp_str_t method, mcp_str_t uri, mcp_str_t message)
{
    mcp_buf_t      form;
    mcp_str_t      plain;
    mcp_arena_t    arena;
    unsigned char  topic[MCP_DIGEST_LEN];

    mcp_arena_init(&arena, &worker->env->mem);
    mcp_buf_init(&form, &worker->env->mem, SIZE_MAX / 2);

    if (mcp_json_unescape(&arena, uri, &plain) == MCP_OK
        && mcp_uri_normal(&arena, plain, &plain) == MCP_OK)
    {

        if (mcp_topic_session_uri(plain, topic) == MCP_OK) {
            mcp_notify_send(worker, to, topic, message);
        }

        mcp_subscription_form(&form, method, message);

        if (!form.failed && mcp_topic_uri(plain, topic) == MCP_OK) {
            mcp_notify_send(worker, to, topic, mcp_buf_text(&form));
        }
    }

    mcp_buf_free(&form);
    mcp_arena_destroy(&arena);
}


/* Returns 1 if notifications with this method are for subscribers, 0 if they
 * are for the stream of a call. */
static int
mcp_notify_is(mcp_str_t method)
{
    return mcp_topic_of(method) != MCP_TOPIC_COUNT
           || mcp_str_eq(method, mcp_str("notifications/resources/updated"));
}


/* Delivers a notification to the subscribers at this node that "to" selects.
 * uri is raw JSON, for resources/updated. */
static void
mcp_notify_deliver(mcp_worker_t *worker, const mcp_notify_to_t *to,
    mcp_str_t method, mcp_str_t uri, mcp_str_t message)
{
    mcp_topic_e  list;

    list = mcp_topic_of(method);

    if (list != MCP_TOPIC_COUNT) {
        mcp_notify_list_to(worker, to, list, NULL, message);

    } else if (uri.len >= 2 && uri.data[0] == '"') {
        mcp_notify_resource(worker, to, method, uri, message);
    }
}


/* Sends a notification to all nodes. Returns 1 if this node will receive it as
 * well, 0 if there is no cluster, or the notification is too long or cannot be
 * sent. */
static int
mcp_notify_send_broadcast(mcp_worker_t *worker, mcp_str_t message)
{
    mcp_broadcast_t  broadcast;

    if (worker->cluster == NULL || message.len > MCP_BROADCAST_MESSAGE_MAX) {
        return 0;
    }

    memset(&broadcast, 0, sizeof(mcp_broadcast_t));
    broadcast.what = MCP_BROADCAST_NOTIFICATION;
    broadcast.expires = mcp_worker_now(worker) + MCP_NOTIFY_GOOD;
    broadcast.message = message;

    return mcp_operation_broadcast(worker, &broadcast) == MCP_AGAIN;
}


int
mcp_notify_broadcast(mcp_worker_t *worker, mcp_str_t method, mcp_str_t uri,
    mcp_str_t message)
{
    mcp_notify_to_t  to = { { MCP_PUBLISH_ALL, 0, 0 }, NULL };

    if (!mcp_notify_is(method)) {
        return 0;
    }

    /* delivers the notification now only to streams that are not replicated.
     * Replicated streams get it when this node receives the broadcast, so that
     * subscriptions which were broadcast before take effect first. */

    if (mcp_notify_send_broadcast(worker, message)) {
        to.to.which = MCP_PUBLISH_UNSHARED;
    }

    mcp_notify_deliver(worker, &to, method, uri, message);

    return 1;
}


static void
mcp_notify_receive_to(mcp_worker_t *worker, const mcp_notify_to_t *to,
    mcp_str_t message)
{
    mcp_str_t         method;
    mcp_buf_t         line;
    mcp_arena_t       arena;
    mcp_json_value_t  root, value[MCP_NOTIFY_FIELDS];

    mcp_arena_init(&arena, &worker->env->mem);
    mcp_buf_init(&line, &worker->env->mem, SIZE_MAX / 2);

    if (mcp_json_scan(&arena, message, MCP_NOTIFY_DEPTH, mcp_notify_fields,
                      MCP_NOTIFY_FIELDS, &root, value, NULL)
        == MCP_OK
        && root.type == MCP_JSON_OBJECT
        && value[MCP_NOTIFY_METHOD].type == MCP_JSON_STRING
        && mcp_json_unescape(&arena, value[MCP_NOTIFY_METHOD].raw, &method)
           == MCP_OK
        && mcp_notify_is(method))
    {
        mcp_json_add_line(&line, root.raw);

        if (!line.failed) {
            mcp_notify_deliver(worker, to, method, value[MCP_NOTIFY_URI].raw,
                               mcp_buf_text(&line));
        }
    }

    mcp_buf_free(&line);
    mcp_arena_destroy(&arena);
}


void
mcp_notify_receive(mcp_worker_t *worker, const mcp_broadcast_t *broadcast)
{
    mcp_notify_to_t to = { { MCP_PUBLISH_ALL, broadcast->ms, broadcast->n },
        NULL };

    if (broadcast->own) {
        to.to.which = MCP_PUBLISH_SHARED;
    }

    mcp_notify_receive_to(worker, &to, broadcast->message);
}


void
mcp_notify_receive_for(mcp_worker_t *worker, const mcp_stream_ref_t *ref,
    mcp_str_t message)
{
    mcp_notify_to_t  to = { { MCP_PUBLISH_ALL, 0, 0 }, ref };

    mcp_notify_receive_to(worker, &to, message);
}


/* Returns the minimum level of log messages that the client wants; 0: all,
 * MCP_LOG_LEVELS: none. */
static uint32_t
mcp_notify_log_least(mcp_worker_t *worker, const mcp_client_t *client)
{
    uint32_t  least;

    if (mcp_client_is_stateless(client)) {
        return client->log_level < 0 ? MCP_LOG_LEVELS
                                     : (uint32_t) client->log_level;
    }

    if (mcp_store_value_get(worker->store, MCP_VALUE_LOG_LEVEL, client->id,
                            mcp_worker_now(worker), &least)
        != MCP_OK)
    {
        return 0;
    }

    return least;
}


int
mcp_notify_log_wanted(mcp_worker_t *worker, const mcp_client_t *client,
    mcp_str_t level)
{
    int       n;
    uint32_t  least;

    least = mcp_notify_log_least(worker, client);

    if (least == 0 || least == MCP_LOG_LEVELS) {
        return least == 0;
    }

    if (level.len < 2 || level.data[0] != '"') {
        return 1;
    }

    level.data++;
    level.len -= 2;
    n = mcp_log_level_find(level);

    return n < 0 || (uint32_t) n >= least;
}

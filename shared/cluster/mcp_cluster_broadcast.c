/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Sends and receives broadcasts: messages to all nodes, which contain a value
 * for the store of each node, a change of a subscription
 * (mcp_cluster_session_topic.c), or a notification. Every process sends
 * broadcasts on its own link. The leader of a node receives them on a second
 * connection, on which one command waits for new broadcasts. The position up to
 * which the node has received broadcasts is in the zone.
 *
 * A position can be later than Redis's clock, because that clock was set back,
 * or because Redis is now another server, which has an earlier clock and lacks
 * the broadcasts. The Redis stream may then begin anew with ids below the
 * position, and the node would ignore new entries until the clock has passed
 * the position. So positions are compared with Redis's clock
 * (mcp_position_check()).
 */


#include <stdio.h>

#include "cluster/mcp_cluster_internal.h"
#include "cluster/mcp_cluster_replication.h"
#include "store/mcp_store_own_node.h"


/* Maximum number of messages in one reply. With the longest messages, 1 MiB
 * (redis/client_input.lua), the reply is shorter than MCP_LINK_REPLY_MAX. */
#define MCP_BROADCAST_COUNT  "32"

/* Maximum length of an entry's id in Redis, such as "1700000000000-0". */
#define MCP_BROADCAST_POSITION_MAX  48


/* --- sending broadcasts --- */

void
mcp_broadcast_encode(mcp_cluster_t *cluster, const mcp_operation_spec_t *spec,
    mcp_script_args_t *args)
{
    uint64_t                now;
    const mcp_broadcast_t  *broadcast;

    now = mcp_worker_now(cluster->worker);
    broadcast = &spec->broadcast;

    mcp_args_char(args, (char) broadcast->what);
    mcp_args_digest(args, broadcast->key);
    mcp_args_digest(args, broadcast->session);
    mcp_args_number(args, broadcast->value);
    mcp_args_number(args, broadcast->expires > now ? broadcast->expires - now
                                                   : 0);
    mcp_args_text(args, broadcast->message);
}


/* --- receiving broadcasts --- */

/* Returns the value of a field of an entry, or an empty text. */
static mcp_str_t
mcp_broadcast_field(const mcp_reply_t *fields, char name)
{
    size_t  i;

    for (i = 0; i + 1 < fields->n; i += 2) {
        if (fields->items[i]->text.len == 1
            && fields->items[i]->text.data[0] == name)
        {
            return fields->items[i + 1]->text;
        }
    }

    return mcp_str("");
}


int
mcp_broadcast_read(mcp_cluster_t *cluster, const mcp_reply_t *fields,
    mcp_broadcast_t *broadcast)
{
    uint64_t   value, ends;
    mcp_str_t  key, session, purpose;

    purpose = mcp_broadcast_field(fields, 'p');
    key = mcp_broadcast_field(fields, 'k');
    session = mcp_broadcast_field(fields, 's');

    if (purpose.len != 1 || key.len != MCP_DIGEST_LEN
        || session.len != MCP_DIGEST_LEN
        || mcp_str_uint(mcp_broadcast_field(fields, 'v'), &value) != MCP_OK
        || mcp_str_uint(mcp_broadcast_field(fields, 'e'), &ends) != MCP_OK
        || value > UINT32_MAX || ends > INT64_MAX)
    {
        return 0;
    }

    mcp_broadcast_make(broadcast, (mcp_broadcast_e) purpose.data[0],
                       (const unsigned char *) key.data,
                       (const unsigned char *) session.data, (uint32_t) value,
                       (uint64_t) ((int64_t) ends - cluster->offset));
    broadcast->message = mcp_broadcast_field(fields, 'm');

    return broadcast->message.len <= MCP_BROADCAST_MESSAGE_MAX;
}


int
mcp_broadcast_position(mcp_str_t text, mcp_node_position_t *position)
{
    const char  *dash;
    mcp_str_t    ms, n;

    dash = text.len ? memchr(text.data, '-', text.len) : NULL;

    if (dash == NULL) {
        return 0;
    }

    ms = (mcp_str_t) { text.data, (size_t) (dash - text.data) };
    n = (mcp_str_t) { dash + 1, text.len - ms.len - 1 };

    return mcp_str_uint(ms, &position->ms) == MCP_OK
           && mcp_str_uint(n, &position->n) == MCP_OK;
}


/* Parses the fields of an entry into a broadcast and passes the broadcast to
 * the worker. */
static void
mcp_broadcast_decode(mcp_cluster_t *cluster, const mcp_reply_t *fields,
    const mcp_node_position_t *position)
{
    char             id[MCP_CLUSTER_ID_LEN + 1];
    mcp_str_t        own;
    mcp_broadcast_t  broadcast;

    if (!mcp_broadcast_read(cluster, fields, &broadcast)) {
        return;
    }

    mcp_cluster_id(cluster, id);
    own = (mcp_str_t) { id, MCP_CLUSTER_ID_LEN };
    broadcast.own = mcp_str_eq(mcp_broadcast_field(fields, 'n'), own) != 0;
    broadcast.ms = position->ms;
    broadcast.n = position->n;
    cluster->topics_received += broadcast.what == MCP_BROADCAST_TOPIC;

    /* if this node has sent the broadcast, the sending process has already
     * applied it to the zone, except for a notification */

    if (!broadcast.own || broadcast.what == MCP_BROADCAST_NOTIFICATION) {
        mcp_operation_receive(cluster->worker, &broadcast);
    }
}


static int
mcp_broadcast_is_received(const mcp_node_position_t *position,
    const mcp_node_position_t *before)
{
    return position->ms < before->ms
           || (position->ms == before->ms && position->n <= before->n);
}


/* Processes the new entries of one Redis stream: {{id, {field, value, ...}},
 * ...}. */
static void
mcp_broadcast_receive(mcp_cluster_t *cluster, mcp_node_position_e which,
    const mcp_reply_t *entries)
{
    size_t               i;
    mcp_store_t         *store;
    mcp_node_position_t  position, before;
    const mcp_reply_t   *fields;

    store = cluster->worker->store;
    mcp_store_node_position(store, which, &before);

    for (i = 0; i < entries->n; i++) {

        /* skips an entry that another process of this node has processed when
         * it was the leader */

        if (!mcp_broadcast_position(mcp_reply_item(entries->items[i], 0)->text,
                                    &position)
            || mcp_broadcast_is_received(&position, &before))
        {
            continue;
        }

        fields = mcp_reply_item(entries->items[i], 1);

        if (which == MCP_NODE_QUEUE) {
            mcp_cluster_node_queue(cluster, fields);

        } else {
            mcp_broadcast_decode(cluster, fields, &position);
        }

        mcp_store_node_set_position(store, which, &position);
    }
}


mcp_str_t
mcp_broadcast_key(const mcp_cluster_t *cluster, mcp_node_position_e which,
    char key[MCP_CLUSTER_KEY_MAX])
{
    char  id[MCP_CLUSTER_ID_LEN + 1];

    static const mcp_key_e  kinds[] = {
        [MCP_NODE_LASTING_BROADCASTS] = MCP_KEY_LASTING_BROADCASTS,
        [MCP_NODE_BROADCASTS] = MCP_KEY_BROADCASTS,
        [MCP_NODE_QUEUE] = MCP_KEY_QUEUE
    };

    mcp_cluster_id(cluster, id);

    return mcp_cluster_key(cluster, kinds[which],
                           (mcp_str_t) { id, which == MCP_NODE_QUEUE
                                             ? MCP_CLUSTER_ID_LEN : 0 },
                           key);
}


/* Returns the kind of the Redis stream with this key. Returns
 * MCP_NODE_POSITIONS for the queue of an id that this node no longer has. */
static mcp_node_position_e
mcp_broadcast_kind(const mcp_cluster_t *cluster, mcp_str_t key)
{
    char      name[MCP_CLUSTER_KEY_MAX];
    unsigned  i;

    for (i = 0; i < MCP_NODE_POSITIONS; i++) {
        if (mcp_str_eq(mcp_broadcast_key(cluster, (mcp_node_position_e) i,
                                         name),
                       key)) {
            break;
        }
    }

    return (mcp_node_position_e) i;
}


static void
mcp_broadcast_trimmed(void *data, const mcp_reply_t *reply)
{
    if (reply && reply->type == MCP_REPLY_ERROR) {
        mcp_cluster_unexpected_reply(data, "XTRIM", reply);
    }
}


/* Removes the processed entries from the node queue. */
static void
mcp_broadcast_trim(mcp_cluster_t *cluster)
{
    char                 key[MCP_CLUSTER_KEY_MAX];
    char                 from[MCP_BROADCAST_POSITION_MAX];
    mcp_str_t            argv[4];
    mcp_node_position_t  position;

    mcp_store_node_position(cluster->worker->store, MCP_NODE_QUEUE, &position);

    argv[0] = mcp_str("XTRIM");
    argv[1] = mcp_broadcast_key(cluster, MCP_NODE_QUEUE, key);
    argv[2] = mcp_str("MINID");
    argv[3].data = from;
    argv[3].len = (size_t) snprintf(from, sizeof(from), "%llu-%llu",
                                     (unsigned long long) position.ms,
                                     (unsigned long long) position.n + 1);

    (void) mcp_link_send(&cluster->link, argv, 4, mcp_broadcast_trimmed,
                         cluster);
}


/* Handles the reply to XREAD: {{stream, entries}, ...}, or nil without new
 * entries. */
static void
mcp_broadcast_received(void *data, const mcp_reply_t *reply)
{
    size_t               i;
    mcp_cluster_t       *cluster;
    mcp_node_position_e  which;
    const mcp_reply_t   *stream;

    cluster = data;
    cluster->reading = 0;

    if (reply == NULL) {
        return;
    }

    if (reply->type != MCP_REPLY_ARRAY && reply->type != MCP_REPLY_NIL) {
        mcp_cluster_unexpected_reply(cluster, "XREAD", reply);
        return;
    }

    mcp_link_settled(&cluster->inbound);

    /* another process became the leader while this one was paused: drop the
     * reply */

    if (!mcp_store_node_is_leader(cluster->worker->store)) {
        return;
    }

    for (i = 0; i < reply->n; i++) {
        stream = reply->items[i];

        which = mcp_broadcast_kind(cluster, mcp_reply_item(stream, 0)->text);

        if (which == MCP_NODE_POSITIONS) {
            continue;
        }

        mcp_broadcast_receive(cluster, which, mcp_reply_item(stream, 1));

        if (which == MCP_NODE_QUEUE) {
            mcp_broadcast_trim(cluster);
        }
    }

    mcp_broadcast_listen(cluster);
}


/* Sends XREAD if this node is a member, this process is its leader, and no
 * XREAD is pending. The time limit of XREAD is half of mcp_cluster_timeout, so
 * that the connection is never silent for longer than the link allows. */
void
mcp_broadcast_listen(mcp_cluster_t *cluster)
{
    char                 key[MCP_NODE_POSITIONS][MCP_CLUSTER_KEY_MAX];
    char                 at[MCP_NODE_POSITIONS][MCP_BROADCAST_POSITION_MAX];
    char                 block[20];
    unsigned             i;
    mcp_str_t            argv[6 + 2 * MCP_NODE_POSITIONS], *broadcast;
    mcp_node_position_t  position;

    if (cluster->reading || !cluster->leads
        || cluster->state != MCP_CLUSTER_MEMBER)
    {
        return;
    }

    argv[0] = mcp_str("XREAD");
    argv[1] = mcp_str("COUNT");
    argv[2] = mcp_str(MCP_BROADCAST_COUNT);
    argv[3] = mcp_str("BLOCK");
    argv[4].data = block;
    argv[4].len = (size_t) (mcp_uint_print(block,
                                            cluster->conf->timeout / 2 + 1)
                             - block);
    argv[5] = mcp_str("STREAMS");

    for (i = 0; i < MCP_NODE_POSITIONS; i++) {
        mcp_store_node_position(cluster->worker->store, (mcp_node_position_e) i,
                                &position);

        broadcast = &argv[6 + i];
        broadcast[0] =
            mcp_broadcast_key(cluster, (mcp_node_position_e) i, key[i]);
        broadcast[MCP_NODE_POSITIONS].data = at[i];
        broadcast[MCP_NODE_POSITIONS].len = (size_t) snprintf(at[i],
            sizeof(at[i]), "%llu-%llu", (unsigned long long) position.ms,
            (unsigned long long) position.n);
    }

    cluster->reading =
        mcp_link_send(&cluster->inbound, argv, 6 + 2 * MCP_NODE_POSITIONS,
                      mcp_broadcast_received, cluster)
        == MCP_OK;
}


void
mcp_cluster_listen(mcp_cluster_t *cluster)
{
    if (!cluster->leads) {
        mcp_link_stop(&cluster->inbound);
        return;
    }

    mcp_link_start(&cluster->inbound);
    mcp_broadcast_listen(cluster);
}


void
mcp_broadcast_down(mcp_cluster_t *cluster)
{
    cluster->reading = 0;
}


/* --- positions later than Redis's clock --- */

/*
 * Handles the reply to XINFO STREAM for a Redis stream whose position is later
 * than Redis's clock. If the Redis stream does not exist, or its last id is
 * below the position, the Redis stream has begun anew: sets the position to 0,
 * so that the Redis stream is read from its beginning. Otherwise keeps the
 * position.
 */
static void
mcp_position_checked(void *data, const mcp_reply_t *reply)
{
    size_t                 i;
    mcp_store_t           *store;
    mcp_node_position_e    which;
    mcp_node_position_t    position, last, begin = { 0, 0 };
    mcp_cluster_beyond_t  *beyond;

    beyond = data;
    store = beyond->cluster->worker->store;
    which = (mcp_node_position_e) (beyond - beyond->cluster->beyond);

    mcp_store_node_position(store, which, &position);

    /* keep the position: there is no reply, or the Redis stream exists, because
     * new entries were received since XINFO was sent */

    if (reply == NULL || position.ms != beyond->position.ms
        || position.n != beyond->position.n)
    {
        return;
    }

    if (reply->type == MCP_REPLY_ERROR) {
        if (!mcp_str_eq(reply->text, mcp_str("ERR no such key"))) {
            return;
        }

    } else {
        last = position;

        for (i = 0; i + 1 < reply->n; i += 2) {
            if (mcp_reply_is(reply->items[i], "last-generated-id")) {
                (void) mcp_broadcast_position(reply->items[i + 1]->text, &last);
            }
        }

        if (last.ms > position.ms
            || (last.ms == position.ms && last.n >= position.n)) {
            return;
        }
    }

    mcp_store_node_set_position(store, which, &begin);
}


void
mcp_position_check(mcp_cluster_t *cluster, uint64_t now)
{
    char                 key[MCP_CLUSTER_KEY_MAX];
    unsigned             i;
    mcp_str_t            argv[3];
    mcp_node_position_t  position;

    argv[0] = mcp_str("XINFO");
    argv[1] = mcp_str("STREAM");

    for (i = 0; i < MCP_NODE_POSITIONS; i++) {
        mcp_store_node_position(cluster->worker->store, (mcp_node_position_e) i,
                                &position);

        if (position.ms > now) {
            cluster->beyond[i].cluster = cluster;
            cluster->beyond[i].position = position;
            argv[2] = mcp_broadcast_key(cluster, (mcp_node_position_e) i, key);
            (void) mcp_link_send(&cluster->link, argv, 3, mcp_position_checked,
                                 &cluster->beyond[i]);
        }
    }
}


/* --- notifications --- */

/*
 * Notifications for all nodes. A replicated stream gets a notification only
 * when the stream's node receives the broadcast with the notification, so the
 * broadcast must neither be lost nor be sent twice. If the link was lost before
 * Redis's reply, the broadcast is sent again with the same number. Redis stores
 * the last number of each process, and so detects the repetition. After a
 * minute a notification is no longer useful to other nodes
 * (mcp_notification.c), and this node only delivers the notification locally.
 */


struct mcp_cluster_notification_s {
    mcp_cluster_notification_t  *next;
    mcp_cluster_t               *cluster;
    mcp_operation_spec_t         spec;    /* the broadcast to send */
    uint64_t                     number;  /* number among the notifications of
                                             this process */
    unsigned                     sending:1;
    char                         message[];
};


/* Maximum number of notifications without acknowledgement. */
#define MCP_CLUSTER_NOTIFICATIONS  MCP_LINK_WINDOW


static void mcp_cluster_notification_late(void *data);


void
mcp_cluster_notification_init(mcp_cluster_t *cluster)
{
    cluster->notifications_end = &cluster->notifications;
    cluster->notification_timer.handler = mcp_cluster_notification_late;
    cluster->notification_timer.data = cluster;
}


/* Chooses a random name for this process unless it has a name. By this name
 * Redis distinguishes the notification numbers of this process from those of
 * other processes. Returns 1, or 0 if there are no random bytes. */
static int
mcp_cluster_notification_has_name(mcp_cluster_t *cluster)
{
    return cluster->sender != 0
           || (mcp_worker_random(cluster->worker, &cluster->sender,
                                 sizeof(cluster->sender))
               == MCP_OK
               && cluster->sender != 0);
}


static void
mcp_cluster_notification_free(mcp_cluster_notification_t *notification)
{
    mcp_cluster_t                *cluster;
    mcp_cluster_notification_t  **p;

    cluster = notification->cluster;

    for (p = &cluster->notifications; *p != notification; p = &(*p)->next) {
        /* void */
    }

    *p = notification->next;

    if (cluster->notifications_end == &notification->next) {
        cluster->notifications_end = p;
    }

    cluster->n_notifications--;
    mcp_mem_free(&cluster->worker->env->mem, notification);
}


/* Delivers a notification locally and frees it. It is unknown whether other
 * nodes will receive the notification. */
static void
mcp_cluster_notification_receive(mcp_cluster_notification_t *notification)
{
    notification->spec.broadcast.own = 1;
    mcp_operation_receive(notification->cluster->worker,
        &notification->spec.broadcast);
    mcp_cluster_notification_free(notification);
}


/* Delivers expired notifications locally, oldest first, up to the first one
 * whose reply is pending. */
static void
mcp_cluster_notification_late(void *data)
{
    uint64_t                     now;
    mcp_cluster_t               *cluster;
    mcp_cluster_notification_t  *notification;

    cluster = data;
    now = mcp_worker_now(cluster->worker);

    while ((notification = cluster->notifications) != NULL
           && !notification->sending
           && now >= notification->spec.broadcast.expires)
    {
        mcp_cluster_notification_receive(notification);
    }

    if (notification && !notification->sending) {
        mcp_timer_set(&cluster->worker->timers, &cluster->notification_timer,
                      notification->spec.broadcast.expires);
    }
}


static void
mcp_cluster_notification_sent(void *data, const mcp_reply_t *reply)
{
    mcp_cluster_t               *cluster;
    mcp_cluster_notification_t  *notification;

    notification = data;
    cluster = notification->cluster;
    notification->sending = 0;
    cluster->notifications_sending--;

    if (reply == NULL) {

        /* if mcp_cluster_sync is off, the notification does not wait until
         * Redis can be reached again, but is delivered locally */

        if (cluster->conf->sync == MCP_CLUSTER_SYNC_OFF) {
            mcp_cluster_notification_receive(notification);

        } else {
            mcp_cluster_notification_late(cluster);
        }

        return;
    }

    if (mcp_reply_is(mcp_reply_item(reply, 0), "OK")) {
        mcp_cluster_notification_free(notification);

    } else {
        mcp_cluster_unexpected_reply(cluster, "broadcast", reply);
        mcp_cluster_notification_receive(notification);
    }

    mcp_cluster_notification_resend(cluster);
}


static int
mcp_cluster_notification_send(mcp_cluster_notification_t *notification)
{
    int                 rc;
    char                name[MCP_CLUSTER_ID_LEN + 1];
    mcp_cluster_t      *cluster;
    mcp_script_args_t   args;

    cluster = notification->cluster;

    mcp_args_init(&args);
    mcp_broadcast_encode(cluster, &notification->spec, &args);

    mcp_cluster_node_id(cluster->sender, name);
    mcp_args_text(&args, (mcp_str_t) { name, MCP_CLUSTER_ID_LEN });
    mcp_args_number(&args, notification->number);

    rc = mcp_cluster_run(cluster, MCP_SCRIPT_BROADCAST, args.args, args.n,
                         mcp_cluster_notification_sent, notification);

    if (rc == MCP_OK) {
        notification->sending = 1;
        cluster->notifications_sending++;
    }

    return rc;
}


void
mcp_cluster_notification_resend(mcp_cluster_t *cluster)
{
    mcp_cluster_notification_t  *notification;

    mcp_cluster_notification_late(cluster);

    if (cluster->state != MCP_CLUSTER_MEMBER
        || cluster->notifications_sending == cluster->n_notifications)
    {
        return;
    }

    for (notification = cluster->notifications; notification;
         notification = notification->next)
    {
        if (!notification->sending
            && mcp_cluster_notification_send(notification) != MCP_OK)
        {
            break;
        }
    }
}


int
mcp_cluster_notification_broadcast(mcp_cluster_t *cluster,
    const mcp_broadcast_t *broadcast)
{
    mcp_cluster_notification_t  *notification;

    /* while this process is not a member, a new notification is queued only
     * behind waiting notifications, to keep their order */

    if ((cluster->state != MCP_CLUSTER_MEMBER && cluster->notifications == NULL)
        || cluster->n_notifications == MCP_CLUSTER_NOTIFICATIONS
        || !mcp_cluster_notification_has_name(cluster))
    {
        return MCP_ERR_UNREACHABLE;
    }

    notification = mcp_mem_calloc(&cluster->worker->env->mem,
        sizeof(mcp_cluster_notification_t) + broadcast->message.len);
    if (notification == NULL) {
        return MCP_ERR_UNREACHABLE;
    }

    memcpy(notification->message, broadcast->message.data,
        broadcast->message.len);

    notification->cluster = cluster;
    notification->spec.kind = MCP_OPERATION_BROADCAST;
    notification->spec.broadcast = *broadcast;
    notification->spec.broadcast.message.data = notification->message;
    notification->number = ++cluster->sender_seq;

    *cluster->notifications_end = notification;
    cluster->notifications_end = &notification->next;
    cluster->n_notifications++;

    if (cluster->state == MCP_CLUSTER_MEMBER
        && cluster->notifications_sending == cluster->n_notifications - 1)
    {
        (void) mcp_cluster_notification_send(notification);
    }

    return MCP_AGAIN;
}


void
mcp_cluster_notification_free_all(mcp_cluster_t *cluster)
{
    while (cluster->notifications) {
        mcp_cluster_notification_receive(cluster->notifications);
    }

    mcp_timer_del(&cluster->worker->timers, &cluster->notification_timer);
}

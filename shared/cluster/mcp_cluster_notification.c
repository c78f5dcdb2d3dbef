/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Notifications for all nodes. A replicated stream gets a notification only
 * when the stream's node receives the broadcast with the notification, so the
 * broadcast must neither be lost nor be sent twice. If the link was lost before
 * Redis's reply, the broadcast is sent again with the same number. Redis stores
 * the last number of each process, and so detects the repetition. After a
 * minute a notification is no longer useful to other nodes
 * (mcp_notification.c), and this node only delivers the notification locally.
 */


#include "cluster/mcp_cluster_internal.h"


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

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Membership of the node in its cluster. Each process registers the node with
 * Redis, and Redis accepts or rejects the node. The leader of the node sends
 * the heartbeats. The reply GONE to a heartbeat means that Redis has lost the
 * node's data, and DEAD that the node was declared dead. In both cases the
 * process registers the node again, after DEAD under a new id.
 */


#include <stdio.h>

#include "cluster/mcp_cluster_replication.h"
#include "mcp_version.h"
#include "store/mcp_store_own_node.h"


static void mcp_cluster_up(mcp_cluster_t *cluster);
static void mcp_cluster_down(mcp_cluster_t *cluster);
static void mcp_cluster_reloaded(mcp_cluster_t *cluster);
static void mcp_cluster_tick(void *data);
static void mcp_cluster_check_leader(void *data);
static void mcp_cluster_self_checked(void *data, const mcp_reply_t *reply);


/* The functions by which a worker uses its cluster. */
static const mcp_cluster_hooks_t  mcp_cluster_hooks = {
    .start = mcp_cluster_start,
    .await_replication = mcp_cluster_await_replication,
    .is_unreachable = mcp_cluster_is_unreachable,
    .clock = mcp_cluster_clock,
    .replicate = mcp_cluster_replicate,
    .changed = mcp_replication_changed,
    .check_leader = mcp_cluster_check_leader
};

static const mcp_link_handlers_t  mcp_cluster_link_handlers = {
    .up = mcp_cluster_up,
    .down = mcp_cluster_down,
    .reloaded = mcp_cluster_reloaded,
    .replied = mcp_replication_continue,
    .denied = mcp_cluster_denied
};

static const mcp_link_handlers_t  mcp_cluster_inbound_handlers = {
    .up = mcp_broadcast_listen,
    .down = mcp_broadcast_down,
    .reloaded = mcp_cluster_reloaded,
    .replied = mcp_replication_continue,
    .denied = mcp_cluster_denied
};


/* --- creation and destruction --- */

mcp_cluster_t *
mcp_cluster_create(mcp_worker_t *worker, const mcp_cluster_conf_t *conf)
{
    mcp_cluster_t  *cluster;

    cluster = mcp_mem_calloc(&worker->env->mem, sizeof(mcp_cluster_t));

    if (cluster == NULL) {
        return NULL;
    }

    cluster->worker = worker;
    cluster->conf = conf;
    cluster->low = MCP_CLUSTER_LAYOUT_MIN;
    cluster->high = MCP_CLUSTER_LAYOUT_MAX;
    cluster->unreachable = mcp_worker_now(worker);
    cluster->heartbeat.handler = mcp_cluster_tick;
    cluster->heartbeat.data = cluster;
    cluster->self_checked = mcp_cluster_self_checked;

    mcp_store_node_link(worker->store, MCP_NODE_LINK_LOST, 0);
    mcp_lag_init(cluster);
    mcp_cluster_notification_init(cluster);
    mcp_link_init(&cluster->link, cluster, &mcp_cluster_link_handlers);
    mcp_link_init(&cluster->inbound, cluster, &mcp_cluster_inbound_handlers);
    mcp_link_init(&cluster->probe, cluster, &mcp_probe_handlers);
    mcp_link_start(&cluster->link);

    worker->cluster_hooks = &mcp_cluster_hooks;
    worker->cluster = cluster;

    return cluster;
}


void
mcp_cluster_destroy(mcp_cluster_t *cluster)
{
    if (cluster == NULL) {
        return;
    }

    mcp_store_node_resign(cluster->worker->store);
    mcp_timer_del(&cluster->worker->timers, &cluster->heartbeat);
    mcp_timer_del(&cluster->worker->timers, &cluster->lag);
    mcp_link_free(&cluster->link);
    mcp_link_free(&cluster->inbound);
    mcp_link_free(&cluster->probe);
    mcp_cluster_notification_free_all(cluster);
    mcp_replication_free_all(cluster);
    mcp_token_free_all(cluster);
    mcp_topic_free_all(cluster);
    cluster->worker->cluster = NULL;
    mcp_crypto_cleanse(&cluster->keys, sizeof(cluster->keys));
    mcp_mem_free(&cluster->worker->env->mem, cluster);
}


/*
 * Adds the fingerprint of "kind" and "value" to a set, unless the set contains
 * it.
 *
 * Returns MCP_OK, or
 *   MCP_ERR_LIMIT     the set is full
 *   MCP_ERR_MEMORY
 *   MCP_ERR_INTERNAL  OpenSSL failed
 */
static int
mcp_cluster_fingerprints_add(mcp_cluster_fingerprints_t *fingerprints,
    mcp_str_t kind, mcp_str_t value)
{
    int            rc;
    char           fingerprint[MCP_CLUSTER_FINGERPRINT_LEN + 2];
    size_t         i, len;
    mcp_str_t      parts[2];
    unsigned char  digest[MCP_DIGEST_LEN];

    parts[0] = kind;
    parts[1] = value;
    rc = mcp_digest(digest, parts, 2);

    if (rc != MCP_OK) {
        return rc;
    }

    len = sizeof(fingerprint) - 1;
    snprintf(fingerprint, sizeof(fingerprint), "%016llx,",
             (unsigned long long) mcp_be_get(digest, 8));

    for (i = 0; i < fingerprints->len; i += len) {
        if (memcmp(&fingerprints->text[i], fingerprint, len) == 0) {
            return MCP_OK;
        }
    }

    if (fingerprints->len == sizeof(fingerprints->text)) {
        return MCP_ERR_LIMIT;
    }

    memcpy(fingerprints->text + fingerprints->len, fingerprint, len);
    fingerprints->len += len;

    return MCP_OK;
}


/* Returns the fingerprints of the set as one argument of a script, separated by
 * commas. */
static mcp_str_t
mcp_cluster_fingerprints_text(const mcp_cluster_fingerprints_t *fingerprints)
{
    return (mcp_str_t) { fingerprints->text,
        fingerprints->len ? fingerprints->len - 1 : 0 };
}


int
mcp_cluster_keys(mcp_cluster_t *cluster, const mcp_keys_t *keys)
{
    int        rc;
    unsigned   i;
    mcp_str_t  key;

    for (i = 0; i < keys->n; i++) {
        key.data = (const char *) keys->key[i];
        key.len = sizeof(keys->key[i]);
        rc = mcp_cluster_fingerprints_add(&cluster->keys,
                                          mcp_str("fingerprint of a key"), key);

        if (rc != MCP_OK) {
            return rc;
        }
    }

    return MCP_OK;
}


int
mcp_cluster_endpoint(mcp_cluster_t *cluster, mcp_str_t identity)
{
    int  rc;

    rc = mcp_cluster_fingerprints_add(&cluster->endpoints,
                                      mcp_str("identity of an endpoint"),
                                      identity);

    return rc == MCP_ERR_LIMIT ? MCP_OK : rc;
}


/* --- registration --- */

static void
mcp_cluster_set_state(mcp_cluster_t *cluster, mcp_cluster_state_e state)
{
    static const char *const  names[] = {
        "not a member", "registering", "member"
    };

    mcp_worker_log(cluster->worker, MCP_LOG_DEBUG,
                   "cluster: this node is now \"%s\", was \"%s\"",
                   names[state], names[cluster->state]);

    if (cluster->state == MCP_CLUSTER_MEMBER) {
        cluster->unreachable = mcp_worker_now(cluster->worker);
    }

    cluster->state = state;
}


int
mcp_cluster_is_unreachable(void *data)
{
    mcp_cluster_t  *cluster;

    cluster = data;

    return cluster->state != MCP_CLUSTER_MEMBER
           && cluster->conf->sync != MCP_CLUSTER_SYNC_OFF
           && mcp_worker_now(cluster->worker)
              >= cluster->unreachable + cluster->conf->outage_timeout
           && !mcp_store_node_is_standalone(cluster->worker->store);
}


int
mcp_cluster_clock(void *data)
{
    mcp_store_t    *store;
    mcp_cluster_t  *cluster;

    cluster = data;
    store = cluster->worker->store;

    if (mcp_store_node_is_skewed(store)) {
        return MCP_ERR_DENIED;
    }

    return mcp_store_node_has_joined(store)
                   || mcp_store_node_is_standalone(store)
               ? MCP_OK
               : MCP_ERR_UNREACHABLE;
}


/* Chooses a new id for the node after another node has declared it dead and has
 * taken its streams over. The node then joins again under the new id. */
static void
mcp_cluster_renew_id(mcp_cluster_t *cluster)
{
    uint64_t      id;
    mcp_store_t  *store;

    store = cluster->worker->store;

    /* another process of this node has already chosen a new id: use that id */

    if (mcp_store_node_id(store) != cluster->node) {
        return;
    }

    if (mcp_worker_random(cluster->worker, &id, sizeof(id)) == MCP_OK
        && id != 0)
    {
        mcp_store_node_renew(store, cluster->node, id);
    }

    mcp_store_node_count(store, MCP_NODE_REBORN);
    mcp_cluster_error(cluster,
                      "another node declared this node dead, because "
                      "heartbeats of this node were missing: this node joins "
                      "again with a new id");
}


/* Returns 1 if this process is the leader of its node or has just become the
 * leader. A process that shuts down resigns instead and returns 0, if another
 * process may become the leader: the other process lives longer, and after a
 * reload it has the new configuration. */
static int
mcp_cluster_may_lead(mcp_cluster_t *cluster)
{
    mcp_worker_t  *worker;

    worker = cluster->worker;

    if (worker->stopping && mcp_store_node_has_other(worker->store)) {
        mcp_store_node_resign(worker->store);
        return 0;
    }

    return mcp_store_node_lead(worker->store, mcp_worker_now(worker),
                                    cluster->conf->node_timeout / 2);
}


/* Records in the zone that this process's link is up, the round-trip time of
 * the link, and whether this process may become the leader. */
static void
mcp_cluster_note_link(mcp_cluster_t *cluster)
{
    mcp_store_node_link(cluster->worker->store,
                        cluster->state == MCP_CLUSTER_MEMBER
                        && !cluster->worker->stopping
                        ? MCP_NODE_LINK_LEADS : MCP_NODE_LINK_IS_UP,
                        cluster->link.round_trip);
}


/* Handles a successful registration. The log line has level notice at the
 * start, after an error, and if this process becomes the leader; otherwise it
 * has level info. */
static void
mcp_cluster_joined(mcp_cluster_t *cluster, const mcp_reply_t *reply)
{
    int           news;
    char          id[MCP_CLUSTER_ID_LEN + 1];
    mcp_store_t  *store;

    store = cluster->worker->store;

    mcp_link_settled(&cluster->link);
    mcp_cluster_set_state(cluster, MCP_CLUSTER_MEMBER);
    mcp_cluster_set_run(cluster, mcp_reply_item(reply, 5));
    cluster->reports_loss = 0;
    cluster->emptied = 0;
    cluster->member = cluster->node;
    mcp_store_node_set_skewed(store, 0);
    mcp_store_node_standalone(store, "");
    news = mcp_store_node_well(store);
    mcp_cluster_note_link(cluster);

    if (!cluster->leads && mcp_cluster_may_lead(cluster)) {
        cluster->leads = 1;
        news = 1;
    }

    /* wake the leader: if it is shutting down, it can resign now that this
     * process has joined */

    if (!cluster->leads) {
        mcp_store_node_wake_leader(store);
    }

    mcp_cluster_store_members(cluster, reply);
    mcp_cluster_check_endpoints(cluster, mcp_reply_item(reply, 4));
    mcp_cluster_id(cluster, id);
    mcp_worker_log(cluster->worker, news ? MCP_LOG_NOTICE : MCP_LOG_INFO,
                   "cluster: joined as node %s; the cluster has %llu nodes", id,
                   (unsigned long long) mcp_reply_item(reply, 3)->n);

    if (cluster->leads) {
        mcp_position_check(cluster, mcp_reply_number(mcp_reply_item(reply, 1)));
    }

    mcp_cluster_listen(cluster);
    mcp_replication_link_up(cluster);
    mcp_token_retry(cluster);
    mcp_topic_again(cluster);
    mcp_cluster_notification_resend(cluster);
    mcp_cluster_check_leader(cluster);
}


static void
mcp_cluster_registered(void *data, const mcp_reply_t *reply)
{
    mcp_cluster_t  *cluster;

    cluster = data;

    if (reply == NULL) {
        return;
    }

    if (mcp_reply_is(mcp_reply_item(reply, 0), "OK")
        && mcp_reply_item(reply, 3)->type == MCP_REPLY_ARRAY)
    {
        if (mcp_cluster_reads(cluster, mcp_reply_item(reply, 2))) {
            mcp_cluster_joined(cluster, reply);

        } else {
            mcp_cluster_set_state(cluster, MCP_CLUSTER_APART);
        }

        return;
    }

    mcp_cluster_set_state(cluster, MCP_CLUSTER_APART);

    if (mcp_reply_is(mcp_reply_item(reply, 0), "DEAD")) {
        mcp_cluster_renew_id(cluster);

    } else if (reply->type == MCP_REPLY_ERROR
               && mcp_login_denies(reply->text))
    {
        mcp_login_barred(&cluster->link, "register", reply);

    } else if (!mcp_cluster_refused(cluster, reply)) {
        mcp_cluster_unexpected_reply(cluster, "register", reply);
    }
}


/* Returns 1 if this process must not be the first one that registers at an
 * empty Redis, because its node was rejected and has never joined. If Redis was
 * emptied, the former members can register first: this process waits for two
 * node timeouts. */
static int
mcp_cluster_waits(const mcp_cluster_t *cluster)
{
    mcp_store_t  *store;

    store = cluster->worker->store;

    return mcp_store_node_is_standalone(store)
           && !mcp_store_node_has_joined(store)
           && (cluster->emptied == 0
               || mcp_worker_now(cluster->worker)
                  < cluster->emptied + 2 * cluster->conf->node_timeout);
}


static void
mcp_cluster_register(mcp_cluster_t *cluster)
{
    mcp_script_args_t  args;

    cluster->node = mcp_store_node_id(cluster->worker->store);

    mcp_args_init(&args);
    mcp_args_number(&args, cluster->low);
    mcp_args_number(&args, cluster->high);
    mcp_args_text(&args, (mcp_str_t) { mcp_version, strlen(mcp_version) });
    mcp_args_text(&args, cluster->conf->label);
    mcp_args_text(&args, mcp_cluster_fingerprints_text(&cluster->keys));
    mcp_args_text(&args, cluster->reports_loss ? mcp_str("2")
                         : cluster->member == cluster->node ? mcp_str("1")
                         : mcp_str(""));

    cluster->registered = mcp_worker_now(cluster->worker);

    /* the clock of a zone is steady (mcp_env_t), so once the node has joined,
     * its clock need not be checked again */

    if (mcp_store_node_has_joined(cluster->worker->store)) {
        mcp_args_text(&args, mcp_str(""));

    } else {
        mcp_args_number(&args, cluster->registered);
    }

    mcp_args_text(&args, mcp_cluster_fingerprints_text(&cluster->endpoints));

    if (mcp_cluster_waits(cluster)) {
        mcp_args_text(&args, mcp_str("1"));
    }

    if (mcp_cluster_run(cluster, MCP_SCRIPT_REGISTER, args.args, args.n,
                        mcp_cluster_registered, cluster)
        == MCP_OK)
    {
        mcp_cluster_set_state(cluster, MCP_CLUSTER_REGISTERING);
    }
}


/* --- heartbeats --- */

static void
mcp_cluster_heartbeat_done(void *data, const mcp_reply_t *reply)
{
    mcp_cluster_t      *cluster;
    const mcp_reply_t  *kind;

    cluster = data;
    cluster->heartbeat_pending = 0;

    if (reply == NULL) {
        return;
    }

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "OK")
        && mcp_reply_item(reply, 3)->type == MCP_REPLY_ARRAY)
    {
        if (mcp_cluster_reads(cluster, mcp_reply_item(reply, 2))) {
            mcp_store_node_leader_reply(cluster->worker->store,
                                        mcp_worker_now(cluster->worker));
            mcp_cluster_store_members(cluster, reply);
            mcp_takeover_check_members(cluster, mcp_reply_item(reply, 3));

        } else {
            mcp_cluster_set_state(cluster, MCP_CLUSTER_APART);
        }

    } else if (cluster->state != MCP_CLUSTER_MEMBER) {

        /* this process is no longer a member and registers again in any case,
         * so a reply other than OK is ignored */

    } else if (mcp_reply_is(kind, "GONE")) {
        mcp_cluster_register(cluster);

    } else if (mcp_reply_is(kind, "DEAD")) {
        mcp_cluster_renew_id(cluster);
        mcp_cluster_register(cluster);

    } else if (reply->type == MCP_REPLY_ERROR
               && mcp_login_denies(reply->text))
    {
        mcp_login_barred(&cluster->link, "heartbeat", reply);

    } else {
        mcp_cluster_unexpected_reply(cluster, "heartbeat", reply);
    }
}


static void
mcp_cluster_self_checked(void *data, const mcp_reply_t *reply)
{
    mcp_cluster_t  *cluster;

    cluster = data;
    cluster->self_check = 0;

    if (reply && mcp_reply_is(mcp_reply_item(reply, 0), "DEAD")
        && cluster->state == MCP_CLUSTER_MEMBER)
    {
        mcp_cluster_renew_id(cluster);
        mcp_cluster_register(cluster);
    }
}


static void
mcp_cluster_heartbeat(mcp_cluster_t *cluster)
{
    int           led;
    mcp_store_t  *store;

    store = cluster->worker->store;
    led = cluster->leads;
    cluster->leads = mcp_cluster_may_lead(cluster) != 0;

    if (!cluster->leads) {
        mcp_takeover_forget_members(cluster);

    } else if (!led) {

        /* the earlier leader may have read from another Redis, whose clock was
         * ahead */

        mcp_position_check(cluster,
                           (uint64_t) ((int64_t) mcp_worker_now(cluster->worker)
                                       + cluster->offset));
    }

    /* another process has given the node a new id: register under this id */

    if (cluster->node != mcp_store_node_id(store)) {
        mcp_cluster_register(cluster);
        return;
    }

    if (cluster->leads && !cluster->heartbeat_pending) {
        cluster->registered = mcp_worker_now(cluster->worker);
        cluster->heartbeat_pending =
            mcp_cluster_run(cluster, MCP_SCRIPT_HEARTBEAT, NULL, 0,
                mcp_cluster_heartbeat_done, cluster)
            == MCP_OK;
    }

    mcp_cluster_listen(cluster);
    mcp_probe_set(cluster);
}


static void
mcp_cluster_tick(void *data)
{
    mcp_cluster_t  *cluster;

    cluster = data;

    mcp_cluster_note_link(cluster);

    if (cluster->state == MCP_CLUSTER_MEMBER
        && mcp_probe_is_elsewhere(cluster))
    {
        cluster->reports_loss = 1;
        mcp_link_fail(&cluster->link, "the address now leads to another Redis "
                                      "server, to which this process "
                                      "connects; until "
                                      "mcp_cluster_node_timeout has passed, "
                                      "new calls of tools with "
                                      "\"x-mcp-join\" get 503");
        return;
    }

    if (cluster->state == MCP_CLUSTER_MEMBER) {
        mcp_cluster_heartbeat(cluster);
        mcp_keep_all(cluster);
        mcp_token_retry(cluster);
        mcp_topic_again(cluster);
        mcp_cluster_notification_resend(cluster);

    } else if (cluster->state == MCP_CLUSTER_APART) {
        mcp_cluster_register(cluster);
    }

    mcp_timer_set(&cluster->worker->timers, &cluster->heartbeat,
                  mcp_worker_now(cluster->worker)
                  + cluster->conf->node_timeout / MCP_CLUSTER_HEARTBEATS + 1);
}


/*
 * Changes the leader at once if necessary, instead of at the next heartbeat,
 * because only a leader reads broadcasts and the node queue.
 *
 * - If this process is the leader and is shutting down, it resigns, provided
 *   that another process can become the leader.
 * - If there is no leader, this process becomes the leader. A process that is
 *   shutting down becomes the leader only if no other process can.
 */
static void
mcp_cluster_check_leader(void *data)
{
    int             stops;
    mcp_store_t    *store;
    mcp_cluster_t  *cluster;

    cluster = data;
    store = cluster->worker->store;
    stops = cluster->worker->stopping;

    if (cluster->state != MCP_CLUSTER_MEMBER) {
        return;
    }

    /* record that this process shuts down and cannot become the leader, so that
     * other processes do not resign in its favour */

    if (stops) {
        mcp_cluster_note_link(cluster);
    }

    if (cluster->leads ? stops && mcp_store_node_has_other(store)
                       : mcp_store_node_is_leaderless(store)
                         && !(stops && mcp_store_node_has_other(store)))
    {
        mcp_cluster_tick(cluster);
    }
}


/* --- links --- */

/* Called after scripts that Redis had lost were loaded again. Starts all
 * replications again if this process is a member, and registers the process
 * again if it is not. */
static void
mcp_cluster_reloaded(mcp_cluster_t *cluster)
{
    if (cluster->state == MCP_CLUSTER_MEMBER) {
        mcp_replication_link_up(cluster);

    } else {

        /* the pending command that registers this process was abandoned, like
         * all other commands */

        mcp_cluster_set_state(cluster, MCP_CLUSTER_APART);
    }

    mcp_cluster_tick(cluster);
}


static void
mcp_cluster_up(mcp_cluster_t *cluster)
{
    char  name[MCP_LINK_NAME_MAX];

    mcp_link_name(&cluster->link, name);
    mcp_worker_log(cluster->worker, MCP_LOG_INFO, "cluster: connected to %s",
                   name);

    mcp_cluster_tick(cluster);
}


static void
mcp_cluster_down(mcp_cluster_t *cluster)
{
    mcp_timer_del(&cluster->worker->timers, &cluster->heartbeat);
    mcp_cluster_set_state(cluster, MCP_CLUSTER_APART);
    mcp_store_node_count(cluster->worker->store, MCP_NODE_LINKS_LOST);

    mcp_takeover_forget_members(cluster);

    /* resign: another process of the node may still reach Redis, and can become
     * the leader */

    cluster->leads = 0;
    mcp_cluster_listen(cluster);
    mcp_probe_set(cluster);
    mcp_store_node_resign(cluster->worker->store);
    mcp_store_node_link(cluster->worker->store, MCP_NODE_LINK_LOST, 0);
}

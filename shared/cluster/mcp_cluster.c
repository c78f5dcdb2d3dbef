/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The node in its cluster.  Each process says hello, so that each knows whether
 * the node was let in; the one that speaks for the node beats.
 */


#include <stdarg.h>
#include <stdio.h>

#include "cluster/mcp_cluster_copy.h"
#include "mcp_version.h"
#include "store/mcp_store_node.h"


static void mcp_cluster_up(mcp_cluster_t *cluster);
static void mcp_cluster_down(mcp_cluster_t *cluster);
static void mcp_cluster_tick(void *data);


/* --- its life --- */

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
    cluster->away = mcp_worker_now(worker);
    cluster->beat.handler = mcp_cluster_tick;
    cluster->beat.data = cluster;

    mcp_store_node_link(worker->store, MCP_NODE_LINK_LOST, 0);
    mcp_lag_init(cluster);
    mcp_notice_init(cluster);
    mcp_link_init(&cluster->link, cluster, mcp_cluster_up, mcp_cluster_down);
    mcp_link_init(&cluster->ear, cluster, mcp_cluster_ear_up,
                  mcp_cluster_ear_down);
    mcp_link_start(&cluster->link);

    worker->cluster_hooks = &mcp_cluster_hooks;
    worker->cluster = cluster;

    return cluster;
}


void
mcp_cluster_destroy(mcp_cluster_t *cluster)
{
    const mcp_mem_t  *mem;

    if (cluster == NULL) {
        return;
    }

    mem = &cluster->worker->env->mem;

    mcp_store_node_resign(cluster->worker->store);
    mcp_timer_del(&cluster->worker->timers, &cluster->beat);
    mcp_timer_del(&cluster->worker->timers, &cluster->lag);
    mcp_link_free(&cluster->link);
    mcp_link_free(&cluster->ear);
    mcp_notice_free_all(cluster);
    mcp_copy_free_all(cluster);
    mcp_token_free_all(cluster);
    mcp_topic_free_all(cluster);
    cluster->worker->cluster = NULL;
    mcp_crypto_cleanse(cluster->prints, sizeof(cluster->prints));
    mem->free(mem->ctx, cluster);
}


/* Adds a fingerprint, unless it is there. */
static int
mcp_cluster_print(mcp_cluster_t *cluster,
    const char print[MCP_CLUSTER_PRINT_LEN])
{
    char    *p;
    size_t   i;

    for (i = 0; i < cluster->prints_len; i += MCP_CLUSTER_PRINT_LEN + 1) {
        if (memcmp(&cluster->prints[i], print, MCP_CLUSTER_PRINT_LEN) == 0) {
            return MCP_OK;
        }
    }

    if (cluster->prints_len == sizeof(cluster->prints)) {
        return MCP_ERR_LIMIT;
    }

    p = cluster->prints + cluster->prints_len;
    memcpy(p, print, MCP_CLUSTER_PRINT_LEN);
    p[MCP_CLUSTER_PRINT_LEN] = ',';
    cluster->prints_len += MCP_CLUSTER_PRINT_LEN + 1;

    return MCP_OK;
}


int
mcp_cluster_keys(mcp_cluster_t *cluster, const mcp_keys_t *keys)
{
    int            rc;
    char           print[MCP_CLUSTER_PRINT_LEN + 1];
    unsigned       i;
    mcp_str_t      parts[2];
    unsigned char  digest[MCP_DIGEST_LEN];

    for (i = 0; i < keys->n; i++) {
        parts[0] = mcp_str("fingerprint of a key");
        parts[1].data = (const char *) keys->key[i];
        parts[1].len = sizeof(keys->key[i]);

        rc = mcp_digest(digest, parts, 2);

        if (rc == MCP_OK) {
            snprintf(print, sizeof(print), "%016llx",
                     (unsigned long long) mcp_be_get(digest, 8));
            rc = mcp_cluster_print(cluster, print);
        }

        if (rc != MCP_OK) {
            return rc;
        }
    }

    return MCP_OK;
}


/* --- errors --- */

void
mcp_cluster_error(mcp_cluster_t *cluster, const char *fmt, ...)
{
    char              text[MCP_CLUSTER_ERROR_MAX];
    va_list           args;
    uint64_t          suppressed;
    mcp_log_level_e   level;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);

    level = mcp_store_node_error(cluster->worker->store,
                                 mcp_worker_now(cluster->worker),
                                 MCP_CLUSTER_AGAIN, text, &suppressed)
            ? MCP_LOG_ERROR
            : MCP_LOG_INFO;

    if (suppressed) {
        mcp_worker_log(cluster->worker, level, "cluster: %s (%llu more errors "
                       "since the last line, at level info)", text,
                       (unsigned long long) suppressed);

    } else {
        mcp_worker_log(cluster->worker, level, "cluster: %s", text);
    }
}


/* --- hello --- */

static void
mcp_cluster_set_state(mcp_cluster_t *cluster, mcp_cluster_state_e state)
{
    static const char *const  names[] = { "apart", "asking", "member" };

    mcp_worker_log(cluster->worker, MCP_LOG_DEBUG, "cluster: %s, was %s",
                   names[state], names[cluster->state]);

    if (cluster->state == MCP_CLUSTER_MEMBER) {
        cluster->away = mcp_worker_now(cluster->worker);
    }

    cluster->state = state;
}


int
mcp_cluster_is_away(void *data)
{
    mcp_cluster_t  *cluster;

    cluster = data;

    return cluster->state != MCP_CLUSTER_MEMBER
           && cluster->conf->sync != MCP_CLUSTER_SYNC_OFF
           && mcp_worker_now(cluster->worker)
              >= cluster->away + cluster->conf->patience
           && !mcp_store_node_is_alone(cluster->worker->store);
}


/* The node was declared dead, and others have what was its: it goes on as
 * another one. */
static void
mcp_cluster_reborn(mcp_cluster_t *cluster)
{
    uint64_t      id;
    mcp_store_t  *store;

    store = cluster->worker->store;

    /* another process may have found that out */

    if (mcp_store_node_id(store) != cluster->node) {
        return;
    }

    if (mcp_worker_random(cluster->worker, &id, sizeof(id)) == MCP_OK
        && id != 0)
    {
        mcp_store_node_renew(store, cluster->node, id);
    }

    mcp_store_node_count(store, MCP_NODE_REBORN);
    mcp_cluster_error(cluster, "this node was taken for dead by others");
}


void
mcp_cluster_strange(mcp_cluster_t *cluster, const char *script,
    const mcp_reply_t *reply)
{
    mcp_str_t    text;
    const char  *kind;

    text = reply->text;
    mcp_store_node_count(cluster->worker->store, MCP_NODE_STRANGE);

    /* commands are in capital letters */

    kind = script[0] >= 'A' && script[0] <= 'Z' ? "" : "script ";

    if (reply->type == MCP_REPLY_ERROR) {
        mcp_cluster_error(cluster, "%s%s: %.*s", kind, script,
                          (int) (text.len < 100 ? text.len : 100), text.data);

    } else {
        mcp_cluster_error(cluster, "%s%s: not a reply of it", kind, script);
    }
}


/* Whether this process speaks for the node.  One that stops leaves that to
 * those that do not: they may have another configuration, and live longer. */
static int
mcp_cluster_may_speak(mcp_cluster_t *cluster)
{
    mcp_worker_t  *worker;

    worker = cluster->worker;

    if (worker->stopping && mcp_store_node_has_other(worker->store)) {
        mcp_store_node_resign(worker->store);
        return 0;
    }

    return mcp_store_node_speaks(worker->store, mcp_worker_now(worker),
                                 cluster->conf->dead_after / 2);
}


/* The log has it once, at its start and after an error, and at info of each
 * process. */
static void
mcp_cluster_join(mcp_cluster_t *cluster, const mcp_reply_t *reply)
{
    int           news;
    char          id[MCP_CLUSTER_ID_LEN + 1];
    mcp_store_t  *store;

    store = cluster->worker->store;

    mcp_link_settled(&cluster->link);
    mcp_cluster_set_state(cluster, MCP_CLUSTER_MEMBER);
    cluster->member = cluster->node;
    mcp_store_node_alone(store, "");
    news = mcp_store_node_well(store);

    if (!cluster->speaks && mcp_cluster_may_speak(cluster)) {
        cluster->speaks = 1;
        news = 1;
    }

    mcp_cluster_note(cluster, reply);
    mcp_cluster_id(cluster, id);
    mcp_worker_log(cluster->worker, news ? MCP_LOG_NOTICE : MCP_LOG_INFO,
                   "cluster: joined as node %s, one of %llu", id,
                   (unsigned long long) mcp_reply_item(reply, 3)->n);

    if (cluster->speaks) {
        mcp_place_check(cluster, mcp_reply_number(mcp_reply_item(reply, 1)));
    }

    mcp_cluster_listen(cluster);
    mcp_copy_up(cluster);
    mcp_token_again(cluster);
    mcp_topic_again(cluster);
    mcp_notice_again(cluster);
}


static void
mcp_cluster_greeted(void *data, const mcp_reply_t *reply)
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
            mcp_cluster_join(cluster, reply);

        } else {
            mcp_cluster_set_state(cluster, MCP_CLUSTER_APART);
        }

        return;
    }

    mcp_cluster_set_state(cluster, MCP_CLUSTER_APART);

    if (mcp_reply_is(mcp_reply_item(reply, 0), "DEAD")) {
        mcp_cluster_reborn(cluster);

    } else if (reply->type == MCP_REPLY_ERROR
               && mcp_greet_denies(reply->text))
    {
        mcp_cluster_barred(&cluster->link, "hello", reply);

    } else if (!mcp_cluster_refused(cluster, reply)) {
        mcp_cluster_strange(cluster, "hello", reply);
    }
}


static void
mcp_cluster_hello(mcp_cluster_t *cluster)
{
    char       low[20], high[20];
    mcp_str_t  args[6];

    args[0].data = low;
    args[0].len = (size_t) (mcp_uint_print(low, cluster->low) - low);
    args[1].data = high;
    args[1].len = (size_t) (mcp_uint_print(high, cluster->high) - high);
    args[2] = (mcp_str_t) { mcp_version, strlen(mcp_version) };
    args[3] = cluster->conf->label;
    args[4].data = cluster->prints;
    args[4].len = cluster->prints_len ? cluster->prints_len - 1 : 0;

    cluster->node = mcp_store_node_id(cluster->worker->store);
    args[5] = cluster->member == cluster->node ? mcp_str("1") : mcp_str("");

    cluster->asked = mcp_worker_now(cluster->worker);

    if (mcp_cluster_run(cluster, MCP_SCRIPT_HELLO, args, 6,
                        mcp_cluster_greeted, cluster)
        == MCP_OK)
    {
        mcp_cluster_set_state(cluster, MCP_CLUSTER_ASKING);
    }
}


/* --- beats --- */

static void
mcp_cluster_beaten(void *data, const mcp_reply_t *reply)
{
    mcp_cluster_t      *cluster;
    const mcp_reply_t  *kind;

    cluster = data;
    cluster->beating = 0;

    if (reply == NULL) {
        return;
    }

    kind = mcp_reply_item(reply, 0);

    if (mcp_reply_is(kind, "OK")
        && mcp_reply_item(reply, 3)->type == MCP_REPLY_ARRAY)
    {
        if (mcp_cluster_reads(cluster, mcp_reply_item(reply, 2))) {
            mcp_store_node_spoke(cluster->worker->store,
                                 mcp_worker_now(cluster->worker));
            mcp_cluster_note(cluster, reply);
            mcp_cluster_pulse(cluster, mcp_reply_item(reply, 3));

        } else {
            mcp_cluster_set_state(cluster, MCP_CLUSTER_APART);
        }

    } else if (cluster->state != MCP_CLUSTER_MEMBER) {

        /* it knows by now, and is asking */

    } else if (mcp_reply_is(kind, "GONE")) {
        mcp_cluster_hello(cluster);

    } else if (mcp_reply_is(kind, "DEAD")) {
        mcp_cluster_reborn(cluster);
        mcp_cluster_hello(cluster);

    } else if (reply->type == MCP_REPLY_ERROR
               && mcp_greet_denies(reply->text))
    {
        mcp_cluster_barred(&cluster->link, "beat", reply);

    } else {
        mcp_cluster_strange(cluster, "beat", reply);
    }
}


static void
mcp_cluster_doubted(void *data, const mcp_reply_t *reply)
{
    mcp_cluster_t  *cluster;

    cluster = data;
    cluster->doubts = 0;

    if (reply && mcp_reply_is(mcp_reply_item(reply, 0), "DEAD")
        && cluster->state == MCP_CLUSTER_MEMBER)
    {
        mcp_cluster_reborn(cluster);
        mcp_cluster_hello(cluster);
    }
}


/* It goes on as a member meanwhile: mostly it was one stream that another node
 * has got. */
void
mcp_cluster_doubt(mcp_cluster_t *cluster)
{
    if (cluster->state == MCP_CLUSTER_MEMBER && !cluster->doubts) {
        cluster->doubts = mcp_cluster_run(cluster, MCP_SCRIPT_BEAT, NULL, 0,
                                          mcp_cluster_doubted, cluster)
                          == MCP_OK;
    }
}


static void
mcp_cluster_beat(mcp_cluster_t *cluster)
{
    mcp_store_t  *store;

    store = cluster->worker->store;
    cluster->speaks = mcp_cluster_may_speak(cluster) != 0;

    if (!cluster->speaks) {
        mcp_cluster_blind(cluster);
    }

    /* another process has given the node another id */

    if (cluster->node != mcp_store_node_id(store)) {
        mcp_cluster_hello(cluster);
        return;
    }

    if (cluster->speaks && !cluster->beating) {
        cluster->asked = mcp_worker_now(cluster->worker);
        cluster->beating = mcp_cluster_run(cluster, MCP_SCRIPT_BEAT, NULL, 0,
                                           mcp_cluster_beaten, cluster)
                           == MCP_OK;
    }

    mcp_cluster_listen(cluster);
}


static void
mcp_cluster_tick(void *data)
{
    mcp_cluster_t  *cluster;

    cluster = data;

    mcp_store_node_link(cluster->worker->store,
                        cluster->state == MCP_CLUSTER_MEMBER
                        && !cluster->worker->stopping
                        ? MCP_NODE_LINK_SPEAKS : MCP_NODE_LINK_IS_UP,
                        cluster->link.round_trip);

    if (cluster->state == MCP_CLUSTER_MEMBER) {
        mcp_cluster_beat(cluster);
        mcp_token_again(cluster);
        mcp_topic_again(cluster);
        mcp_notice_again(cluster);

    } else if (cluster->state == MCP_CLUSTER_APART) {
        mcp_cluster_hello(cluster);
    }

    mcp_timer_set(&cluster->worker->timers, &cluster->beat,
                  mcp_worker_now(cluster->worker)
                  + cluster->conf->dead_after / MCP_CLUSTER_BEATS + 1);
}


/* --- the link --- */

void
mcp_cluster_reloaded(mcp_cluster_t *cluster)
{
    if (cluster->state == MCP_CLUSTER_MEMBER) {
        mcp_copy_up(cluster);

    } else {

        /* "hello" was given up, too */

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
    mcp_timer_del(&cluster->worker->timers, &cluster->beat);
    mcp_cluster_set_state(cluster, MCP_CLUSTER_APART);
    mcp_store_node_count(cluster->worker->store, MCP_NODE_LINKS_LOST);

    mcp_cluster_blind(cluster);

    /* another process may reach Redis */

    cluster->speaks = 0;
    mcp_cluster_listen(cluster);
    mcp_store_node_resign(cluster->worker->store);
    mcp_store_node_link(cluster->worker->store, MCP_NODE_LINK_LOST, 0);
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Announces changes of lists after a reload. The zone outlives a configuration,
 * and stores a digest of each list of each endpoint. Each process of a new
 * configuration compares its lists with these digests when it starts. The first
 * process that detects a changed list replaces the digest and notifies the
 * listeners. When no process of the new configuration is comparing lists any
 * more, all changes are announced.
 *
 * A process of the old configuration that shuts down waits until then, because
 * its listeners have to get the notifications. Without this wait, it could end
 * before the first process of the new configuration has started.
 */

#include "worker/mcp_call_stats.h"
#include "worker/mcp_cluster_operation.h"
#include "worker/mcp_notification.h"
#include "worker/mcp_worker_upstream.h"


#define MCP_CATALOG_CHANGE_STAY   5000  /* maximum time for which a process that
                                           shuts down waits until all changes
                                           are announced, ms */
#define MCP_CATALOG_CHANGE_CHECK  50    /* time between two checks whether all
                                           changes are announced, ms */

/* Maximum number of digests in the zone. If there are more, the oldest ones are
 * removed. */
#define MCP_CATALOG_CHANGE_LISTS  3072


/* Key of a value in the store: the number of the last configuration that has
 * announced all its changes. */
static const unsigned char  mcp_catalog_change_announced[MCP_DIGEST_LEN] =
    { 1 };

/* For each list whose changes are announced: the kinds of catalog items in the
 * list. */
static const mcp_list_e  mcp_catalog_change_kinds[MCP_TOPIC_LISTS][2] = {
    { MCP_LIST_TOOLS, MCP_LIST_TOOLS },
    { MCP_LIST_PROMPTS, MCP_LIST_PROMPTS },
    { MCP_LIST_RESOURCES, MCP_LIST_TEMPLATES }
};


/* Sets *tenant to an artificial tenant. The digests of all lists count towards
 * its quota of values, which is MCP_CATALOG_CHANGE_LISTS. */
static void
mcp_catalog_change_tenant(mcp_tenant_t *tenant)
{
    memset(tenant, 0, sizeof(mcp_tenant_t));
    memcpy(tenant->id, "lists of catalogs", MCP_DIGEST_LEN);

    tenant->values = MCP_CATALOG_CHANGE_LISTS;
}


/* Sets *value to the first 32 bits of the digest of a list, or to 0 if the
 * endpoint has no catalog, because the backend then has the list. Returns
 * MCP_OK or the error of mcp_digest(). */
static int
mcp_catalog_change_digest(const mcp_endpoint_t *endpoint, mcp_topic_e list,
    uint32_t *value)
{
    int            rc;
    unsigned       i;
    mcp_str_t      parts[2];
    unsigned char  digest[MCP_DIGEST_LEN];

    *value = 0;

    if (endpoint->catalog == NULL) {
        return MCP_OK;
    }

    for (i = 0; i < 2; i++) {
        parts[i].data = (const char *)
                        mcp_catalog_digest(endpoint->catalog,
                                           mcp_catalog_change_kinds[list][i]);
        parts[i].len = MCP_DIGEST_LEN;
    }

    rc = mcp_digest(digest, parts, 2);
    *value = (uint32_t) mcp_be_get(digest, 4);

    return rc;
}


static void
mcp_catalog_change_publish(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    mcp_topic_e list)
{
    mcp_buf_t  message;

    mcp_buf_init(&message, &worker->env->mem, SIZE_MAX / 2);
    mcp_buf_lit(&message, "{\"jsonrpc\":\"2.0\",\"method\":\"");
    mcp_buf_str(&message, mcp_topic_method(list));
    mcp_buf_lit(&message, "\"}");

    if (!message.failed) {
        mcp_notify_list(worker, list, endpoint->catalog_key,
                        mcp_buf_text(&message));
    }

    mcp_buf_free(&message);
}


/* Sets "key" to the key under which the process in this slot stores a value
 * while it announces changes. The value is the number of the process's
 * configuration. */
static void
mcp_catalog_change_slot(unsigned slot, unsigned char key[MCP_DIGEST_LEN])
{
    memset(key, 0, MCP_DIGEST_LEN);
    key[0] = 2;
    mcp_be_put(key + 1, slot, 4);
}


void
mcp_worker_begin(mcp_worker_t *worker, uint32_t number)
{
    unsigned char  key[MCP_DIGEST_LEN];

    worker->configuration = number;
    mcp_store_upstream_begin(worker->store, number);

    /* the value expires, because a process that dies does not call
     * mcp_worker_begun(), which deletes it */

    mcp_catalog_change_slot(worker->store->slot, key);
    (void) mcp_store_value_set(worker->store, MCP_VALUE_CONFIGURATION, key,
                               number,
                               mcp_worker_now(worker) + MCP_CATALOG_CHANGE_STAY,
                               NULL);
}


void
mcp_worker_offer(mcp_worker_t *worker, const mcp_endpoint_t *endpoint)
{
    unsigned       list;
    uint32_t       value, old;
    mcp_tenant_t   tenant;
    unsigned char  topic[MCP_DIGEST_LEN];

    mcp_call_stats_offer(worker, endpoint);
    mcp_upstream_stats_offer(worker, endpoint);
    mcp_catalog_change_tenant(&tenant);

    for (list = 0; list < MCP_TOPIC_LISTS; list++) {

        if (mcp_topic_list((mcp_topic_e) list, endpoint->catalog_key, topic)
            != MCP_OK
            || mcp_catalog_change_digest(endpoint, (mcp_topic_e) list, &value)
               != MCP_OK)
        {
            return;
        }

        /* MCP_ERR_NOT_FOUND: the zone had no digest of this list, so the list
         * is new and has no listeners */

        if (mcp_store_value_swap(worker->store, MCP_VALUE_LIST, topic, value,
                                 &tenant, &old)
            == MCP_OK && old != value)
        {
            mcp_catalog_change_publish(worker, endpoint, (mcp_topic_e) list);
        }
    }
}


/* Returns 1 if any process with the configuration of this worker is still
 * announcing changes. */
static int
mcp_catalog_change_continues(mcp_worker_t *worker)
{
    unsigned       slot;
    uint32_t       number;
    uint64_t       now;
    unsigned char  key[MCP_DIGEST_LEN];

    now = mcp_worker_now(worker);

    for (slot = 0; slot < MCP_STORE_SLOTS; slot++) {
        mcp_catalog_change_slot(slot, key);

        if (mcp_store_value_get(worker->store, MCP_VALUE_CONFIGURATION, key,
                                now, &number)
            == MCP_OK && number == worker->configuration)
        {
            return 1;
        }
    }

    return 0;
}


/* Sends the queued notifications, and then deletes the value by which other
 * processes see that this process announces changes. If no other process of the
 * configuration has such a value, stores that all changes are announced.
 * Because each process first deletes its own value, at least the last one finds
 * no other value. */
void
mcp_worker_begun(mcp_worker_t *worker)
{
    unsigned char  key[MCP_DIGEST_LEN];

    mcp_notify_flush(worker);

    mcp_catalog_change_slot(worker->store->slot, key);
    mcp_store_value_delete(worker->store, MCP_VALUE_CONFIGURATION, key);

    if (!mcp_catalog_change_continues(worker)) {
        (void) mcp_store_value_set(worker->store, MCP_VALUE_CONFIGURATION,
                                   mcp_catalog_change_announced,
                                   worker->configuration, 0, NULL);
    }
}


/* Returns 1 if a configuration other than that of this worker has announced all
 * its changes. */
static int
mcp_catalog_change_is_done(mcp_worker_t *worker, uint64_t now)
{
    uint32_t  number;

    return mcp_store_value_get(worker->store, MCP_VALUE_CONFIGURATION,
                               mcp_catalog_change_announced, now, &number)
           == MCP_OK && number != worker->configuration;
}


/* Calls the "stop" function of each object that has a handle. The function ends
 * its object unless the object may continue while the process shuts down. */
static void
mcp_catalog_change_start(mcp_worker_t *worker)
{
    uint32_t       i;
    mcp_handle_t  *h;

    for (i = 1; i < worker->n_handles; i++) {
        h = &worker->handles[i];

        if (h->object && h->stop) {
            h->stop(h->object);
        }
    }
}


static void
mcp_catalog_change_check(void *data)
{
    uint64_t       now;
    mcp_worker_t  *worker;

    worker = data;
    now = mcp_worker_now(worker);

    if (now < worker->stay_until && !mcp_catalog_change_is_done(worker, now)) {
        mcp_timer_set(&worker->timers, &worker->stay,
                      now + MCP_CATALOG_CHANGE_CHECK);
        return;
    }

    worker->leaving = 1;
    mcp_catalog_change_start(worker);
}


void
mcp_worker_stop(mcp_worker_t *worker, int at_once)
{
    uint64_t  now;

    now = mcp_worker_now(worker);

    if (worker->stopping && !at_once) {
        return;
    }

    worker->ending |= at_once != 0;
    worker->stay_until = at_once ? now : now + MCP_CATALOG_CHANGE_STAY;

    if (!worker->stopping) {
        worker->stopping = 1;
        mcp_notify_flush(worker);
        worker->stay.handler = mcp_catalog_change_check;
        worker->stay.data = worker;
        mcp_catalog_change_start(worker);

        if (worker->cluster) {
            worker->cluster_hooks->check_leader(worker->cluster);
        }
    }

    mcp_catalog_change_check(worker);
}

/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The store outlives a configuration, and keeps a digest of each list by the
 * place where it stood.  The first process of the next configuration replaces
 * it, and publishes the change.  A process of the old configuration that winds
 * up stays until that has happened, so that its listeners hear of it: it may
 * be told to go before the new configuration is even read.
 */

#include "worker/mcp_notify.h"
#include "worker/mcp_tally.h"


#define MCP_RELOAD_STAY   2000         /* ms */
#define MCP_RELOAD_LOOK   50

/* Digests that are kept: of places that are no more, the oldest are
 * forgotten. */
#define MCP_RELOAD_LISTS  3072


/* Of the configuration that has begun, and of the one that has told all. */
static const unsigned char  mcp_reload_begun[MCP_DIGEST_LEN] = { 1 };
static const unsigned char  mcp_reload_told[MCP_DIGEST_LEN] = { 2 };

/* The catalog's kinds that a list is made of. */
static const mcp_list_e  mcp_reload_kinds[MCP_TOPIC_LISTS][2] = {
    { MCP_LIST_TOOLS, MCP_LIST_TOOLS },
    { MCP_LIST_PROMPTS, MCP_LIST_PROMPTS },
    { MCP_LIST_RESOURCES, MCP_LIST_TEMPLATES }
};


/* Who pays for digests: one party, in all zones. */
static void
mcp_reload_party(mcp_party_t *party)
{
    memset(party, 0, sizeof(mcp_party_t));
    memcpy(party->id, "lists of catalogs", MCP_DIGEST_LEN);

    party->values = MCP_RELOAD_LISTS;
}


/* What is compared: a part of the digest, 0 for a list of the backend's. */
static int
mcp_reload_digest(const mcp_endpoint_t *endpoint, mcp_topic_e list,
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
                                           mcp_reload_kinds[list][i]);
        parts[i].len = MCP_DIGEST_LEN;
    }

    rc = mcp_digest(digest, parts, 2);
    *value = (uint32_t) mcp_be_get(digest, 4);

    return rc;
}


static void
mcp_reload_publish(mcp_worker_t *worker, const mcp_endpoint_t *endpoint,
    mcp_topic_e list)
{
    mcp_buf_t  message;

    mcp_buf_init(&message, &worker->env->mem, SIZE_MAX / 2);
    mcp_buf_lit(&message, "{\"jsonrpc\":\"2.0\",\"method\":\"");
    mcp_buf_str(&message, mcp_topic_method(list));
    mcp_buf_lit(&message, "\"}");

    if (!message.failed) {
        mcp_notify_list(worker, list, endpoint->place,
                        (mcp_str_t) { message.data, message.len });
    }

    mcp_buf_free(&message);
}


void
mcp_worker_begin(mcp_worker_t *worker, uint32_t number)
{
    int       rc;
    uint32_t  old;

    worker->configuration = number;

    rc = mcp_store_value_swap(worker->store, MCP_VALUE_CONFIGURATION,
                              mcp_reload_begun, number, NULL, &old);

    worker->announces = (rc == MCP_ERR_NOT_FOUND
                         || (rc == MCP_OK && old != number));
}


void
mcp_worker_offer(mcp_worker_t *worker, const mcp_endpoint_t *endpoint)
{
    unsigned       list;
    uint32_t       value, old;
    mcp_party_t    party;
    unsigned char  topic[MCP_DIGEST_LEN];

    mcp_tally_offer(worker, endpoint);
    mcp_reload_party(&party);

    for (list = 0; list < MCP_TOPIC_LISTS; list++) {

        if (mcp_topic_list((mcp_topic_e) list, endpoint->place, topic)
            != MCP_OK
            || mcp_reload_digest(endpoint, (mcp_topic_e) list, &value)
               != MCP_OK)
        {
            return;
        }

        /* a place that was not there had no listeners */

        if (mcp_store_value_swap(worker->store, MCP_VALUE_LIST, topic, value,
                                 &party, &old)
            == MCP_OK && old != value)
        {
            mcp_reload_publish(worker, endpoint, (mcp_topic_e) list);
        }
    }
}


/* Other processes compare lists, too, should the first one die half-way.  But
 * only the first one knows when all is published. */
void
mcp_worker_begun(mcp_worker_t *worker)
{
    if (worker->announces) {
        (void) mcp_store_value_set(worker->store, MCP_VALUE_CONFIGURATION,
                                   mcp_reload_told, worker->configuration, 0,
                                   NULL);
    }
}


/* Whether processes of another configuration have published its changes. */
static int
mcp_reload_is_done(mcp_worker_t *worker, uint64_t now)
{
    uint32_t  number;

    return mcp_store_value_get(worker->store, MCP_VALUE_CONFIGURATION,
                               mcp_reload_told, now, &number)
           == MCP_OK && number != worker->configuration;
}


/* Asks all objects to look whether they are to end. */
static void
mcp_reload_ask(mcp_worker_t *worker)
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
mcp_reload_look(void *data)
{
    uint64_t       now;
    mcp_worker_t  *worker;

    worker = data;
    now = mcp_worker_now(worker);

    if (now < worker->stay_until && !mcp_reload_is_done(worker, now)) {
        mcp_timer_set(&worker->timers, &worker->stay, now + MCP_RELOAD_LOOK);
        return;
    }

    worker->leaving = 1;
    mcp_reload_ask(worker);
}


void
mcp_worker_stop(mcp_worker_t *worker, int at_once)
{
    uint64_t  now;

    now = mcp_worker_now(worker);

    if (worker->stopping && !at_once) {
        return;
    }

    worker->stay_until = at_once ? now : now + MCP_RELOAD_STAY;

    if (!worker->stopping) {
        worker->stopping = 1;
        worker->stay.handler = mcp_reload_look;
        worker->stay.data = worker;
        mcp_reload_ask(worker);
    }

    mcp_reload_look(worker);
}

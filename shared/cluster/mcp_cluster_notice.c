/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Notifications that all nodes are told.
 *
 * Streams that nodes share get one when their node hears it, so it must not be
 * lost, nor told twice: one whose reply was lost with the link is told again,
 * under its number, of which Redis keeps the last that it has.  After a minute
 * it is of no use to others (mcp_notify.c), and this node has it by itself.
 */


#include "cluster/mcp_cluster_parts.h"


struct mcp_notice_s {
    mcp_notice_t   *next;
    mcp_cluster_t  *cluster;
    mcp_word_t      word;
    uint64_t        number;    /* among those of this process */
    unsigned        sending:1;
    char            message[];
};


/* So many wait at most. */
#define MCP_NOTICES  MCP_LINK_WINDOW


static void mcp_notice_late(void *data);


void
mcp_notice_init(mcp_cluster_t *cluster)
{
    cluster->notices_end = &cluster->notices;
    cluster->notices_late.handler = mcp_notice_late;
    cluster->notices_late.data = cluster;
}


/* Gives this process a name, by which Redis tells its numbers from those of
 * others; 0: there is no randomness. */
static int
mcp_notice_has_name(mcp_cluster_t *cluster)
{
    return cluster->notices_of != 0
           || (mcp_worker_random(cluster->worker, &cluster->notices_of,
                                 sizeof(cluster->notices_of))
               == MCP_OK
               && cluster->notices_of != 0);
}


static void
mcp_notice_free(mcp_notice_t *notice)
{
    mcp_cluster_t     *cluster;
    mcp_notice_t     **p;
    const mcp_mem_t   *mem;

    cluster = notice->cluster;

    for (p = &cluster->notices; *p != notice; p = &(*p)->next) {
        /* void */
    }

    *p = notice->next;

    if (cluster->notices_end == &notice->next) {
        cluster->notices_end = p;
    }

    cluster->n_notices--;
    mem = &cluster->worker->env->mem;
    mem->free(mem->ctx, notice);
}


/* Nobody knows whether it will be heard. */
static void
mcp_notice_hear(mcp_notice_t *notice)
{
    notice->word.own = 1;
    mcp_ask_hear(notice->cluster->worker, &notice->word);
    mcp_notice_free(notice);
}


/* Has this node hear those that are too old. */
static void
mcp_notice_late(void *data)
{
    uint64_t        now;
    mcp_cluster_t  *cluster;
    mcp_notice_t   *notice;

    cluster = data;
    now = mcp_worker_now(cluster->worker);

    while ((notice = cluster->notices) != NULL
           && !notice->sending && now >= notice->word.expires)
    {
        mcp_notice_hear(notice);
    }

    if (notice && !notice->sending) {
        mcp_timer_set(&cluster->worker->timers, &cluster->notices_late,
                      notice->word.expires);
    }
}


static void
mcp_notice_told(void *data, const mcp_reply_t *reply)
{
    mcp_cluster_t  *cluster;
    mcp_notice_t   *notice;

    notice = data;
    cluster = notice->cluster;
    notice->sending = 0;
    cluster->notices_sending--;

    if (reply == NULL) {

        /* without sync nothing waits for Redis */

        if (cluster->conf->sync == MCP_CLUSTER_SYNC_OFF) {
            mcp_notice_hear(notice);

        } else {
            mcp_notice_late(cluster);
        }

        return;
    }

    if (mcp_tell_taken(cluster, reply) == MCP_OK) {
        mcp_notice_free(notice);

    } else {
        mcp_notice_hear(notice);
    }

    mcp_notice_again(cluster);
}


static int
mcp_notice_send(mcp_notice_t *notice)
{
    int             rc;
    char            name[MCP_CLUSTER_ID_LEN + 1], number[20];
    mcp_str_t       as[2];
    mcp_cluster_t  *cluster;

    cluster = notice->cluster;

    mcp_cluster_node_id(cluster->notices_of, name);
    as[0] = (mcp_str_t) { name, MCP_CLUSTER_ID_LEN };
    as[1].data = number;
    as[1].len = (size_t) (mcp_uint_print(number, notice->number) - number);

    rc = mcp_tell_run(cluster, &notice->word, as, mcp_notice_told, notice);

    if (rc == MCP_OK) {
        notice->sending = 1;
        cluster->notices_sending++;
    }

    return rc;
}


void
mcp_notice_again(mcp_cluster_t *cluster)
{
    mcp_notice_t  *notice;

    mcp_notice_late(cluster);

    if (cluster->state != MCP_CLUSTER_MEMBER
        || cluster->notices_sending == cluster->n_notices)
    {
        return;
    }

    for (notice = cluster->notices; notice; notice = notice->next) {
        if (!notice->sending && mcp_notice_send(notice) != MCP_OK) {
            break;
        }
    }
}


int
mcp_notice_tell(mcp_cluster_t *cluster, const mcp_word_t *word)
{
    const mcp_mem_t  *mem;
    mcp_notice_t     *notice;

    /* behind others that wait, all wait */

    if ((cluster->state != MCP_CLUSTER_MEMBER && cluster->notices == NULL)
        || cluster->n_notices == MCP_NOTICES
        || !mcp_notice_has_name(cluster))
    {
        return MCP_ERR_AWAY;
    }

    mem = &cluster->worker->env->mem;
    notice = mem->alloc(mem->ctx, sizeof(mcp_notice_t) + word->message.len);
    if (notice == NULL) {
        return MCP_ERR_AWAY;
    }

    memset(notice, 0, sizeof(mcp_notice_t));
    memcpy(notice->message, word->message.data, word->message.len);

    notice->cluster = cluster;
    notice->word = *word;
    notice->word.message.data = notice->message;
    notice->number = ++cluster->notices_told;

    *cluster->notices_end = notice;
    cluster->notices_end = &notice->next;
    cluster->n_notices++;

    if (cluster->state == MCP_CLUSTER_MEMBER
        && cluster->notices_sending == cluster->n_notices - 1)
    {
        (void) mcp_notice_send(notice);
    }

    return MCP_AGAIN;
}


void
mcp_notice_free_all(mcp_cluster_t *cluster)
{
    while (cluster->notices) {
        mcp_notice_hear(cluster->notices);
    }

    mcp_timer_del(&cluster->worker->timers, &cluster->notices_late);
}

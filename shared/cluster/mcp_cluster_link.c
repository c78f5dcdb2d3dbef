/* SPDX-License-Identifier: Apache-2.0 */

/* One connection to Redis. It must open within a timeout, is checked while it
 * is up, and is opened again when it is lost. The next attempt uses the next
 * seed, after a random delay that grows with the number of failed attempts. A
 * redirection is followed without a delay. */


#include <stdarg.h>
#include <stdio.h>

#include "cluster/mcp_cluster_internal.h"


static void mcp_link_taken(mcp_queued_action_t *queued, mcp_action_t *action);
static void mcp_link_timeout(void *data);


static const char *const  mcp_link_states[] = {
    [MCP_LINK_DOWN] = "down",
    [MCP_LINK_OPENING] = "opening",
    [MCP_LINK_LOGIN] = "login",
    [MCP_LINK_UP] = "up",
    [MCP_LINK_CLOSING] = "closing"
};


/* --- creation and destruction --- */

static void
mcp_link_set_state(mcp_link_t *link, mcp_link_state_e state)
{
    mcp_worker_log(link->cluster->worker, MCP_LOG_DEBUG,
                   "cluster: link to Redis is now %s, was %s",
                   mcp_link_states[state], mcp_link_states[link->state]);

    link->state = state;
}


static void
mcp_link_set_timer(mcp_link_t *link, uint64_t delay)
{
    mcp_worker_t  *worker;

    worker = link->cluster->worker;
    mcp_timer_set(&worker->timers, &link->timer,
                  mcp_worker_now(worker) + delay);
}


void
mcp_link_init(mcp_link_t *link, mcp_cluster_t *cluster,
    const mcp_link_handlers_t *handlers)
{
    unsigned  i;

    link->cluster = cluster;
    link->handlers = handlers;
    link->queued.taken = mcp_link_taken;
    link->queued.action.link = link;
    link->timer.handler = mcp_link_timeout;
    link->timer.data = link;

    for (i = 0; i < 2; i++) {
        mcp_buf_init(&link->out[i], &cluster->worker->env->mem, SIZE_MAX / 2);
    }
}


void
mcp_link_queue(mcp_link_t *link, mcp_action_e type)
{
    mcp_worker_t  *worker;

    worker = link->cluster->worker;

    if (link->queued.action.type != type) {
        mcp_worker_unqueue(worker, &link->queued);
        link->queued.action.type = type;
    }

    mcp_worker_queue(worker, &link->queued);
}


/* Sets link->target, the address to which the link connects next, to the next
 * seed. After a redirection, keeps the address that mcp_link_redirect() has
 * set. */
static void
mcp_link_aim(mcp_link_t *link)
{
    const mcp_cluster_conf_t  *conf;

    conf = link->cluster->conf;

    if (link->redirected) {
        link->at_sentinel = 0;
        return;
    }

    link->target = conf->seeds[link->seed % conf->n_seeds];
    link->at_sentinel = conf->sentinel.len != 0;
}


static void
mcp_link_open(mcp_link_t *link)
{
    link->at_once = 0;
    mcp_link_aim(link);
    mcp_link_set_state(link, MCP_LINK_OPENING);
    mcp_link_set_timer(link, link->cluster->conf->timeout);
    mcp_link_queue(link, MCP_ACT_CONNECT);
}


void
mcp_link_start(mcp_link_t *link)
{
    link->rests = 0;

    if (link->state == MCP_LINK_DOWN && !mcp_timer_armed(&link->timer)) {
        mcp_link_open(link);
    }
}


/* Returns the delay before the next attempt to connect, ms. The delay grows
 * each time all seeds were tried, and is random, so that processes do not
 * connect at the same time. */
static uint64_t
mcp_link_delay(mcp_link_t *link)
{
    uint16_t  random;
    uint64_t  delay;
    unsigned  rounds;

    if (link->at_once) {
        return 0;
    }

    rounds = link->attempts / (unsigned) link->cluster->conf->n_seeds;
    delay = rounds < 6 ? (uint64_t) MCP_LINK_DELAY_MIN << rounds
                       : MCP_LINK_DELAY_MAX;
    random = 0;

    (void) mcp_worker_random(link->cluster->worker, &random, sizeof(random));

    return delay / 2 + delay * random / 0x20000;
}


/* Frees the buffers of a closed connection and schedules the next attempt. */
static void
mcp_link_rest(mcp_link_t *link)
{
    uint64_t  delay;

    mcp_wire_free(link->wire);
    link->wire = NULL;
    mcp_buf_free(&link->out[0]);
    mcp_buf_free(&link->out[1]);
    link->writing = 0;
    link->written = 0;
    link->replicated = 0;
    link->skips = 0;
    link->reloads = 0;

    delay = mcp_link_delay(link);

    if (!link->at_once) {
        link->attempts++;
        link->seed++;
        link->redirected = 0;
        link->redirects = 0;
    }

    mcp_link_set_state(link, MCP_LINK_DOWN);

    if (!link->rests) {
        mcp_link_set_timer(link, delay);
    }
}


/* Calls the handlers of all pending commands with NULL instead of a reply. */
static void
mcp_link_abandon(mcp_link_t *link)
{
    unsigned             n;
    mcp_link_pending_t  *p;

    /* commands that the handlers send are rejected: the link is not up */

    for (n = link->n_pending; n; n--) {
        p = &link->pending[link->first];
        link->first = (link->first + 1) % MCP_LINK_WINDOW;
        link->n_pending--;
        p->handler(p->data, NULL);
    }
}


void
mcp_link_free(mcp_link_t *link)
{
    mcp_worker_t  *worker;

    worker = link->cluster->worker;

    link->state = MCP_LINK_DOWN;
    mcp_link_abandon(link);

    mcp_worker_unqueue(worker, &link->queued);
    mcp_timer_del(&worker->timers, &link->timer);
    mcp_wire_free(link->wire);
    mcp_buf_free(&link->out[0]);
    mcp_buf_free(&link->out[1]);
}


/* Ends the link: calls the handlers of its pending commands with NULL, and
 * queues MCP_ACT_DISCONNECT for the glue. "gone" is 1 if the connection is
 * closed already, so that there is nothing to disconnect. */
static void
mcp_link_end(mcp_link_t *link, int gone)
{
    int  was_up, unknown;

    was_up = link->state == MCP_LINK_UP || link->reloads;
    unknown = link->queued.link
              && link->queued.action.type == MCP_ACT_CONNECT;

    mcp_timer_del(&link->cluster->worker->timers, &link->timer);
    mcp_worker_unqueue(link->cluster->worker, &link->queued);
    mcp_link_set_state(link, MCP_LINK_CLOSING);
    mcp_link_abandon(link);

    if (was_up) {
        link->handlers->down(link->cluster);
    }

    /* the connection is closed already, or the glue has not yet pulled
     * MCP_ACT_CONNECT: there is no connection to close */

    if (gone || unknown) {
        mcp_link_rest(link);

    } else {
        mcp_link_queue(link, MCP_ACT_DISCONNECT);
    }
}


void
mcp_link_stop(mcp_link_t *link)
{
    link->rests = 1;

    if (link->state == MCP_LINK_DOWN) {
        mcp_timer_del(&link->cluster->worker->timers, &link->timer);

    } else if (link->state != MCP_LINK_CLOSING) {
        mcp_link_end(link, 0);
    }
}


static void
mcp_link_taken(mcp_queued_action_t *queued, mcp_action_t *action)
{
    if (action->type == MCP_ACT_DISCONNECT) {
        mcp_link_rest((mcp_link_t *) ((char *) queued
                                      - offsetof(mcp_link_t, queued)));
    }
}


/* Logs why a link ends. The end of a link that only queries Redis, such as the
 * probe, is not an error of the cluster: the node remains a member. */
static void
mcp_link_report(mcp_link_t *link, const char *why)
{
    char  name[MCP_LINK_NAME_MAX];

    mcp_link_name(link, name);

    if (link->handlers->query) {
        mcp_worker_log(link->cluster->worker, MCP_LOG_INFO, "cluster: %s: %s",
                       name, why);

    } else {
        mcp_cluster_error(link->cluster, "%s: %s", name, why);
    }
}


void
mcp_link_fail(mcp_link_t *link, const char *fmt, ...)
{
    char     why[MCP_LINK_REASON_MAX];
    va_list  args;

    if (link->state == MCP_LINK_DOWN || link->state == MCP_LINK_CLOSING) {
        return;
    }

    va_start(args, fmt);
    vsnprintf(why, sizeof(why), fmt, args);
    va_end(args);

    mcp_link_report(link, why);
    mcp_link_end(link, 0);
}


void
mcp_link_redirect(mcp_link_t *link, mcp_str_t host, mcp_str_t port)
{
    uint64_t  number;

    if (mcp_str_uint(port, &number) != MCP_OK || number == 0 || number > 65535
        || host.len > MCP_LINK_HOST_MAX
        || memchr(host.data, '\0', host.len) != NULL)
    {
        mcp_link_fail(link, "Redis redirects to an invalid address");
        return;
    }

    if (++link->redirects > MCP_LINK_REDIRECTS) {
        link->redirects = 0;
        mcp_link_fail(link, "too many redirections between Redis servers");
        return;
    }

    /* a redirection without a host leads to another port of the same host */

    if (host.len) {
        memcpy(link->host, host.data, host.len);
        link->host[host.len] = '\0';
        link->target.host.data = link->host;
        link->target.host.len = host.len;
    }

    link->target.path = mcp_null_str;
    link->target.port = (unsigned) number;
    link->redirected = 1;
    link->at_once = 1;

    mcp_link_end(link, 0);
}


void
mcp_link_name(const mcp_link_t *link, char name[MCP_LINK_NAME_MAX])
{
    const mcp_cluster_seed_t  *target;

    target = &link->target;

    if (target->path.len) {
        snprintf(name, MCP_LINK_NAME_MAX, "%.*s", (int) target->path.len,
                 target->path.data);

    } else {
        snprintf(name, MCP_LINK_NAME_MAX, "%.*s:%u", (int) target->host.len,
                 target->host.data, target->port);
    }
}


/* --- scripts and login --- */

int
mcp_link_reload(mcp_link_t *link)
{
    uint64_t  now;

    now = mcp_worker_now(link->cluster->worker);

    if (link->state != MCP_LINK_UP
        || (link->reloaded
            && now < link->reloaded + link->cluster->conf->timeout))
    {
        return 0;
    }

    mcp_worker_log(link->cluster->worker, MCP_LOG_NOTICE,
                   "cluster: Redis has lost its scripts: loading them again");

    link->reloaded = now;
    link->reloads = 1;
    link->skips += link->n_pending - 1;
    link->pinged = 0;
    link->pings = 0;

    mcp_link_set_state(link, MCP_LINK_LOGIN);
    mcp_link_set_timer(link, link->cluster->conf->timeout);
    mcp_link_abandon(link);
    mcp_link_send_scripts(link);

    return 1;
}


int
mcp_link_is_open(const mcp_link_t *link)
{
    return link->state == MCP_LINK_LOGIN || link->state == MCP_LINK_UP;
}


void
mcp_link_logged_in(mcp_link_t *link)
{
    mcp_link_set_state(link, MCP_LINK_UP);
    mcp_link_set_timer(link, link->cluster->conf->timeout);

    if (link->reloads) {
        link->reloads = 0;
        link->handlers->reloaded(link->cluster);

    } else {
        link->handlers->up(link->cluster);
    }
}


void
mcp_link_settled(mcp_link_t *link)
{
    link->attempts = 0;
    link->redirects = 0;
}


/* --- timeouts of a connection --- */

static void
mcp_link_pong(void *data, const mcp_reply_t *reply)
{
    mcp_link_t  *link;

    link = data;

    if (reply) {
        link->round_trip = mcp_worker_now(link->cluster->worker)
                           - link->pinged;
    }

    link->pinged = 0;
    link->pings = 0;
}


/* Sends a PING to a silent server, and fails the link if the server does not
 * answer within the timeout. */
static void
mcp_link_check(mcp_link_t *link)
{
    uint64_t   now, timeout;
    mcp_str_t  ping = mcp_str("PING");

    now = mcp_worker_now(link->cluster->worker);
    timeout = link->cluster->conf->timeout;

    /* the PING could not be sent, because the window was full, but bytes were
     * received since then: the server is not silent */

    if (!link->pings && link->received >= link->pinged) {
        link->pinged = 0;
    }

    if (now < link->received + timeout) {
        mcp_link_set_timer(link, link->received + timeout - now);
        return;
    }

    if (link->pinged && now >= link->pinged + timeout) {
        mcp_link_fail(link, "Redis sent no reply for %llu ms",
                      (unsigned long long) (now - link->received));
        return;
    }

    /* if the PING cannot be sent, because the window is full, wait for the
     * bytes of another reply instead, with the same timeout */

    if (link->pinged == 0) {
        link->pinged = now;
        link->pings = mcp_link_send(link, &ping, 1, mcp_link_pong, link)
                      == MCP_OK;
    }

    mcp_link_set_timer(link, link->pinged + timeout - now);
}


static void
mcp_link_timeout(void *data)
{
    mcp_link_t  *link;

    link = data;

    switch (link->state) {
    case MCP_LINK_DOWN:
        mcp_link_open(link);
        return;
    case MCP_LINK_OPENING:
        mcp_link_fail(link,
                      "no connection within %llu ms (mcp_cluster_timeout)",
                      (unsigned long long) link->cluster->conf->timeout);
        return;
    case MCP_LINK_LOGIN:
        mcp_link_fail(link, "Redis sent no reply within %llu ms "
                            "(mcp_cluster_timeout)",
                      (unsigned long long) link->cluster->conf->timeout);
        return;
    case MCP_LINK_UP:
        mcp_link_check(link);
        return;
    case MCP_LINK_CLOSING:
        return;
    }
}


/* --- reports of the glue --- */

const mcp_cluster_seed_t *
mcp_link_target(const mcp_link_t *link)
{
    return &link->target;
}


void
mcp_link_set_glue(mcp_link_t *link, void *glue)
{
    link->glue = glue;
}


void *
mcp_link_glue(const mcp_link_t *link)
{
    return link->glue;
}


void
mcp_link_opened(mcp_link_t *link)
{
    mcp_worker_t  *worker;

    if (link->state != MCP_LINK_OPENING) {
        return;
    }

    worker = link->cluster->worker;
    link->wire = mcp_wire_create(&worker->env->mem, MCP_LINK_REPLY_MAX);

    if (link->wire == NULL) {
        mcp_link_fail(link, "no memory");
        return;
    }

    link->answered = 0;
    link->received = mcp_worker_now(worker);
    link->pinged = 0;
    link->pings = 0;

    mcp_link_set_state(link, MCP_LINK_LOGIN);
    mcp_link_set_timer(link, link->cluster->conf->timeout);
    mcp_link_register(link);
}


void
mcp_link_input(mcp_link_t *link, const char *data, size_t len)
{
    int                 rc;
    const mcp_reply_t  *reply;

    if (!mcp_link_is_open(link)) {
        return;
    }

    link->received = mcp_worker_now(link->cluster->worker);

    /* instead of a reply, the server has sent a TLS alert, which begins with
     * this byte */

    if (!link->answered && len && data[0] == 0x15) {
        mcp_link_fail(link, "the port requires TLS: write rediss:// instead of "
                      "redis://");
        return;
    }

    link->answered = 1;

    if (mcp_wire_feed(link->wire, data, len) != MCP_OK) {
        mcp_link_fail(link, "no memory");
        return;
    }

    do {
        rc = mcp_wire_next(link->wire, &reply);

        if (rc == MCP_OK) {
            mcp_link_reply(link, reply);
        }

    } while (rc == MCP_OK && mcp_link_is_open(link));

    if (rc < 0) {
        mcp_link_fail(link, rc == MCP_ERR_LIMIT
                            ? "Redis sent a reply that is too long"
                            : "Redis sent an invalid reply");
    }

    link->handlers->replied(link->cluster);
}


void
mcp_link_closed(mcp_link_t *link, const char *why)
{
    char  name[MCP_LINK_NAME_MAX];

    if (link->state == MCP_LINK_DOWN) {
        return;
    }

    if (link->state == MCP_LINK_CLOSING) {
        mcp_worker_unqueue(link->cluster->worker, &link->queued);
        mcp_link_rest(link);
        return;
    }

    /* at a port that requires TLS, Redis closes a connection without TLS
     * without sending anything */

    if (link->state == MCP_LINK_LOGIN && !link->answered
        && !link->target.tls && link->target.path.len == 0
        && link->handlers->query == NULL)
    {
        mcp_link_name(link, name);
        mcp_cluster_error(link->cluster, "%s: %s before Redis sent a "
                                         "reply: if the port requires TLS, "
                                         "write rediss:// instead of redis://",
                          name, why);

    } else {
        mcp_link_report(link, why);
    }

    mcp_link_end(link, 1);
}
